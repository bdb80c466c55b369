"""Ctrl-C and SIGTERM during a run: answered at once, obeyed after the present step.

Python calls a handler only between two of its own instructions, and a step may spend minutes in one
compiled call. So the system also writes every signal into a socket, where a thread waits that can
answer at once, since kernels leave the interpreter free. No exception is raised within a step or a
write, where it would leave work half done.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Interrupt"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Listens while a run goes on; ``asked`` becomes true when the run should end.

    ``heard(count)`` is called at once, from another thread, with the number of signals so far. A
    caller who was asked more than once gets a KeyboardInterrupt, after the run has ended cleanly.
    """

    def __init__(self, heard: Callable[[int], object]) -> None:
        self.heard = heard
        self.asked = False
        self._count = 0
        # Python receives signals only in its main thread.
        self._listens = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._listens:
            self._ear, self._wire = socket.socketpair()
            self._wire.setblocking(False)
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
            self._wire_before = signal.set_wakeup_fd(self._wire.fileno(), warn_on_full_buffer=False)
            self._before = {s: signal.signal(s, self._ask) for s in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._listens:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wire_before)
        self._wire.close()
        self._thread.join()
        self._ear.close()
        if kind is None and self._count > 1:
            raise KeyboardInterrupt

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def _listen(self) -> None:
        while numbers := self._ear.recv(64):
            for number in numbers:
                if number in SIGNALS:
                    self.asked = True
                    self._count += 1
                    self.heard(self._count)
