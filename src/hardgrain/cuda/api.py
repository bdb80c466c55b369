"""The one import of CUDA, so that a change of the package that provides it is a change here.

Without a GPU, Numba's simulator runs the same kernels in Python threads (NUMBA_ENABLE_CUDASIM=1),
slowly, for tests. NumPy then stands in for CuPy, whose sorts the pair list needs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for it, NumPy 2.5 dropped it
    np.row_stack = np.vstack  # noqa: NPY201

from numba import config, cuda, types

__all__ = [
    "F8", "I4", "SIMULATED", "U2", "U8", "Graph", "Launch", "cuda", "device", "host", "intrinsic",
    "kernel", "slim", "types", "xp",
]  # fmt: skip

# types of numbers in shared memory
F8, I4, U2, U8 = types.float64, types.int32, types.uint16, types.uint64
SIMULATED = bool(config.ENABLE_CUDASIM)


def _arrays() -> Any:
    """The package of arrays on the device: CuPy, or NumPy for the simulator; None: not here."""
    try:
        return np if SIMULATED else import_module("cupy")
    except ImportError:
        return None


xp = _arrays()


def device(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call."""
    if SIMULATED:
        return cuda.jit(device=True)(function)
    return cuda.jit(device=True, forceinline=True)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that the host launches on a grid of threads."""
    return cuda.jit(function)


# [1] Registers that a thread of a sweeping kernel may use. Fewer make it keep numbers in memory,
# more let fewer threads run at once, and sweeps live on waiting for memory in many threads.
REGISTERS = 128


def slim(function: Callable[..., Any]) -> Any:
    """Compile a kernel of which as many threads as possible shall run at once."""
    if SIMULATED:
        return cuda.jit(function)
    return cuda.jit(max_registers=REGISTERS)(function)


intrinsic: Any = None if SIMULATED else import_module("numba.cuda.extending").intrinsic


def host(array: Any) -> Any:
    """A copy of an array on the host."""
    return array.copy() if isinstance(array, np.ndarray) else array.get()


class Launch:
    """A kernel on as many blocks as the device runs at once, so that they can wait for each other.

    blocks: another number, for kernels that do not wait; most: blocks for which there is work,
    since waiting takes longer the more there are.
    """

    def __init__(
        self, kernel: Any, threads: int, blocks: int | None = None, most: int | None = None
    ) -> None:
        self.kernel, self.threads, self.blocks, self.most = kernel, threads, blocks, most
        self._ready: Any = None
        self._known: dict[int, tuple[Any, Any]] = {}  # records, and what the device knows them as

    def __call__(self, *args: Any) -> None:
        if SIMULATED:
            self.kernel[self.blocks or 1, self.threads](*args)
            return
        there = tuple(self._there(a) for a in args)
        if self._ready is None:
            self._ready = self.kernel.specialize(*there)
            if self.blocks is None:
                (one,) = self._ready.overloads.values()
                self.blocks = int(one.max_cooperative_grid_blocks(self.threads))
                self.blocks = min(self.blocks, self.most or self.blocks)
        self._ready[self.blocks, self.threads, _stream()](*there)

    def _there(self, a: Any) -> Any:
        """An argument with its arrays as Numba's own, which are quicker to pass."""
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            known = self._known.get(id(a))
            if known is None or known[0] is not a:
                known = a, type(a)(*(self._there(x) for x in a))
                self._known = {id(a): known} | dict(list(self._known.items())[-5:])
            return known[1]
        return cuda.as_cuda_array(a, sync=False) if isinstance(a, xp.ndarray) else a


class Graph:
    """Kernels that are launched as one: what a function launches is recorded once for each key."""

    # [graphs] as many are kept: contacts go back and forth between buffers.
    KEEP = 8

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def __call__(self, records: tuple[Any, ...], what: Any, launches: Callable[[], None]) -> None:
        """Launch all that ``launches`` does with these records, with ``what`` besides them."""
        if SIMULATED:
            launches()
            return
        key = (*map(id, records), what)
        if key not in self._made:  # kernels are compiled when they are first launched
            kept = list(self._made.items())[1 - self.KEEP :]
            self._made = dict(kept) | {key: (records, None)}  # a record that lives keeps its id
            launches()
            return
        graph = self._made[key][1]
        if graph is None:
            stream = own_stream()
            stream.begin_capture()
            launches()
            graph = stream.end_capture()
            self._made[key] = records, graph
        graph.launch(own_stream())


_STREAMS: dict[str, Any] = {}


def own_stream() -> Any:
    """CuPy's stream on which all of a run is done, since the default one records no graphs."""
    if "cupy" not in _STREAMS:
        _STREAMS["cupy"] = xp.cuda.Stream(non_blocking=True)
        _STREAMS["cupy"].use()
        _STREAMS["numba"] = cuda.external_stream(_STREAMS["cupy"].ptr)
    return _STREAMS["cupy"]


def _stream() -> Any:
    """The same stream as Numba knows it."""
    own_stream()
    return _STREAMS["numba"]
