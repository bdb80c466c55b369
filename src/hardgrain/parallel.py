"""Independent runs on all cores."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from hardgrain.errors import SoftRunWarning

__all__ = ["as_worker", "cores", "pmap", "shared_out", "workers"]

A = TypeVar("A")
B = TypeVar("B")

_in_worker = False
_open = False  # within `workers`
_pool: ProcessPoolExecutor | None = None
_elsewhere: Callable[..., list[Any]] | None = None  # maps in place of processes here, see below


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers() -> Iterator[None]:
    """Keep the worker processes of all `pmap` within; an exception ends them at once."""
    global _open, _pool
    if _open:
        yield
        return
    _open = True
    try:
        yield
        if _pool is not None:
            _pool.shutdown()
    except BaseException:
        # do not wait for it: a worker that dies may hold the lock of the others
        if _pool is not None:
            processes = list(_pool._processes.values())
            _pool.shutdown(wait=False)
            for process in processes:
                process.kill()
        raise
    finally:
        _open, _pool = False, None


@contextmanager
def shared_out(by: Callable[..., list[Any]]) -> Iterator[None]:
    """Let ``by(f, items)`` do what `pmap` does within, such as by the workers of a cluster."""
    global _elsewhere
    before, _elsewhere = _elsewhere, by
    try:
        yield
    finally:
        _elsewhere = before


def as_worker(f: Callable[[A], B], item: A) -> B:
    """f(item) by a process that is itself one of many: it asks for no others."""
    global _in_worker
    before, _in_worker = _in_worker, True
    try:
        return f(item)
    finally:
        _in_worker = before


def pmap(f: Callable[[A], B], items: Iterable[A], processes: int | None = None) -> list[B]:
    """The list [f(x) for x in items], on all cores, or in this process alone if ``processes`` is 1.

    ``f`` is a function of a module, or a `functools.partial` of one.
    """
    global _pool
    items = list(items)
    if _elsewhere is not None and not _in_worker and processes != 1 and len(items) > 1:
        return _elsewhere(f, items)
    if _in_worker or min(processes or cores(), cores()) == 1 or len(items) < 2:
        return [f(x) for x in items]
    with workers():
        if _pool is None:
            # Workers are not forked, since threads of Numba and BLAS would not survive it.
            _pool = ProcessPoolExecutor(cores(), get_context("spawn"), _start)
        futures = [_pool.submit(f, x) for x in items]  # `map` would cancel, which `kill` may cross
        return [future.result() for future in futures]


def _start() -> None:
    """Prepare a new worker: it has one thread, ignores Ctrl-C, and ends with its parent."""
    global _in_worker
    _in_worker = True
    warnings.simplefilter("ignore", SoftRunWarning)  # soft on purpose
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    # the script has imported it, and Numba refuses another number of threads now
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(1)
    else:
        os.environ["NUMBA_NUM_THREADS"] = "1"


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers, which would wait for work for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
