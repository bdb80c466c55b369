"""A progress line for work that is counted, such as frames."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

__all__ = ["Bar"]


class Bar:
    """Shows how far work has come, on the standard error stream and in a terminal only.

    with Bar("frame") as bar:
        for k in range(100):
            bar(k + 1, 100)
    """

    def __init__(self, what: str, quiet: bool = False) -> None:
        self.what = what
        self.quiet = quiet
        self._live: Live | None = None
        self._next = 0.0

    def __enter__(self) -> Bar:
        from rich.console import Console
        from rich.live import Live

        self._start = time.perf_counter()
        self._open = ExitStack()
        console = Console(stderr=True, highlight=False)
        if console.is_terminal and not self.quiet:
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._open.enter_context(self._live)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def __call__(self, done: int, total: int) -> None:
        """Take note of what is done."""
        if self._live is None or (now := time.perf_counter()) < self._next:
            return
        from rich.text import Text

        from hardgrain.run.progress import BAR, PERIOD, duration

        self._next, filled = now + PERIOD, round(BAR * done / total)
        line = "━" * filled + "╌" * (BAR - filled) + f" {done / total:4.0%}"
        line += f"  {self.what} {done} of {total}"
        spent = now - self._start
        if spent > 1.0:
            line += f"  {duration(spent / done * (total - done))} left"
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
