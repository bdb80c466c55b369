"""A progress line for work that is counted, such as frames."""

from __future__ import annotations

import time
from typing import Self

from hardgrain.run.progress import StatusLine, bar, duration

__all__ = ["Bar"]


class Bar(StatusLine):
    """Shows how far work has come.

    with Bar("frame") as bar:
        for k in range(100):
            bar(k + 1, 100)
    """

    def __init__(self, what: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self.what = what

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        return super().__enter__()

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done, and of how much."""
        now = time.perf_counter()
        if not self.due(now):
            return
        line = f"{bar(done / total)}  {self.what} {done} of {total}"
        spent = now - self._start
        if spent > 1.0:
            line += f"  {duration(spent / done * (total - done))} left"
        self.show(line)
