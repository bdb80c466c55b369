"""Serves the viewer of a run file, on this machine only unless told otherwise.

Pages come from viser's own client, a single file in its package; nothing is fetched from elsewhere,
and no other file is ever served: data reach a page through its socket alone, as arrays.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import socket
import warnings
from pathlib import Path
from typing import Any

from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.show.view.canvas import light
from hardgrain.show.view.guard import guarded
from hardgrain.show.view.live_run import LiveRun
from hardgrain.show.view.page import Page

__all__ = ["HOST", "PORT", "Viewer"]

HOST, PORT = "127.0.0.1", 8080  # by default the pages can be opened on this machine only
TRIED = 50  # [ports] how many are tried, from PORT on, if the user asks for none


class Viewer:
    """A server that shows a run file to browsers, until it is closed.

    with Viewer("run.h5") as viewer:
        print(viewer.address)
        input("Enter ends it. ")
    """

    def __init__(self, path: str | Path, host: str = HOST, port: int | None = None) -> None:
        self.run = LiveRun(path)
        try:
            self.port = _free_port(host, port)
            self.host = host
            self.pages: dict[int, Page] = {}
            self._server = _start(host, self.port, self.run)
        except BaseException:
            self.run.close()
            raise
        self._server.on_client_connect(self._came)
        self._server.on_client_disconnect(self._left)

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        anywhere = self.host in ("0.0.0.0", "::", "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{'localhost' if anywhere else host}:{self.port}"

    def close(self) -> None:
        """Stop the server."""
        for page in list(self.pages.values()):
            page.close()
        with _quiet():
            self._server.stop()
        self.run.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _came(self, client: Any) -> None:
        page = self.pages[client.client_id] = Page(client, self.run)
        # the client has left in the meantime
        if client.client_id not in self._server.get_clients():
            page.close()
            self.pages.pop(client.client_id, None)

    def _left(self, client: Any) -> None:
        page = self.pages.pop(client.client_id, None)
        if page is not None:
            page.close()


def _start(host: str, port: int, run: LiveRun) -> Any:
    viser = needed("viser")
    # Connections that a browser opens and does not use, and closed pages, are not worth a message.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection")
    with _quiet(), guarded(host):
        server = viser.ViserServer(host=host, port=port, label=run.path.name, verbose=False)
    if server.get_port() != port:  # another program has taken it since
        with _quiet():
            server.stop()
        raise InputError(f"port {port} is in use; choose another with --port")
    server.request_share_url = _keep_private
    server.gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, brand_color=(0, 114, 178)
    )
    server.gui.main_panel.dock_right()
    light(server.scene, flat=run.dim == 2)
    return server


def _keep_private(verbose: bool = True) -> str | None:
    """Refuse the tunnel to the internet that viser opens for any page that asks for it."""
    return None


def _free_port(host: str, port: int | None) -> int:
    """The port that is asked for, if it is free, or else the first that is."""
    if port is not None and not 1 <= port <= 65535:
        raise InputError(f"port is {port}; it must be between 1 and 65535")
    for candidate in range(PORT, PORT + TRIED) if port is None else (port,):
        try:
            family, kind, _, _, address = socket.getaddrinfo(
                host or None, candidate, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(address)
            return candidate
        except socket.gaierror:
            raise InputError(f"host is {host!r}, which is no address of this machine") from None
        except PermissionError:
            raise InputError(
                f"port {candidate} may not be used; choose one above 1023 with --port"
            ) from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InputError(f"host is {host!r}, which is no address of this machine") from None
    if port is None:
        raise InputError(f"ports {PORT} to {PORT + TRIED - 1} are in use; choose one with --port")
    raise InputError(f"port {port} is in use; choose another with --port, or leave it out")


@contextlib.contextmanager
def _quiet() -> Any:
    """Silence what viser prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
