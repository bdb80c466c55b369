"""Waiting for what happens, not for seconds: a loaded machine takes longer and is not wrong."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

LAST = 600.0  # [s], for something that never happens: no test passes or fails by a smaller figure


def until(happened: Callable[[], T], what: str, process: subprocess.Popen[Any] | None = None) -> T:
    """Wait until ``happened()`` is true, and return it; a ``process`` must go on meanwhile."""
    end = time.monotonic() + LAST
    while not (found := happened()):
        assert process is None or process.poll() is None, f"the process ended before {what}"
        assert time.monotonic() < end, f"not within {LAST:.0f} s: {what}"
        time.sleep(0.01)
    return found


@contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that does not outlive the test."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
