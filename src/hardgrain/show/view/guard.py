"""The viewer answers only its own pages.

Any page that is open in a browser may ask an address of this machine for data. Two headers, which
no script can forge, tell where it comes from:

- Host, the address that the browser believes to be speaking to. A foreign name that was made to
  point here (DNS rebinding) is refused: only numbers, localhost and names of this machine will do.
- Origin, the page that asks. It must be one that came from this very address.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

__all__ = ["LARGEST", "guarded", "welcome"]

# [bytes] Largest message that a browser may send. The largest is a screenshot of 1440 rows as PNG;
# controls send some hundred bytes.
LARGEST = 16 << 20


def welcome(host: str, headers: Any) -> bool:
    """Whether a request to a server at `host` comes from a page of its own, or from no page."""
    asked = headers.get_all("Host")
    origins = headers.get_all("Origin")
    if len(asked) != 1 or len(origins) > 1 or not _of_this_machine(asked[0], host):
        return False
    return not origins or urlsplit(origins[0]).netloc.lower() == asked[0].lower()


def _of_this_machine(address: str, host: str) -> bool:
    try:
        name = urlsplit(f"//{address}").hostname or ""
        if name in {"localhost", host.lower(), socket.gethostname().lower()}:
            return True
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def guarded(host: str) -> Iterator[None]:
    """Make a server of websockets started in this context refuse others and long messages.

    viser has no setting for either, so the function by which it starts its server is replaced.
    """
    from websockets.asyncio import server
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    serve = server.serve

    def guard(*arguments: Any, process_request: Any, **settings: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            if not welcome(host, request.headers):
                status = http.HTTPStatus.FORBIDDEN
                return Response(status, status.phrase, Headers(), b"This page is not for you.")
            return process_request and process_request(connection, request)

        return serve(*arguments, process_request=check, **settings | {"max_size": LARGEST})

    server.serve = guard  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]
