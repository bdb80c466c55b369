"""The one import of CUDA, so that a change of the package that provides it is a change here.

Without a GPU, Numba's simulator runs the same kernels in Python threads (NUMBA_ENABLE_CUDASIM=1),
slowly, for tests. NumPy then stands in for CuPy, whose sorts the pair list needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardgrain.errors import InputError

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for it, NumPy 2.5 dropped it
    np.row_stack = np.vstack  # type: ignore[attr-defined] # noqa: NPY201

from numba import config, cuda, types

__all__ = ["F8", "I4", "SIMULATED", "U8", "blocks_for", "cuda", "device", "kernel", "require", "xp"]

F8, I4, U8 = types.float64, types.int32, types.uint64  # of numbers in shared memory
SIMULATED = bool(config.ENABLE_CUDASIM)

xp: Any  # CuPy: arrays on the device
if SIMULATED:
    xp = np
else:
    try:
        import cupy as xp
    except ImportError:
        xp = None


def require() -> None:
    """Say in one sentence what is missing, if no GPU can be used."""
    if SIMULATED:
        return
    if not cuda.is_available():
        raise InputError(
            "engine.device is 'cuda' but no usable NVIDIA GPU was found; it needs a GPU with its"
            " driver and pip install 'hardgrain[cuda]', else device = 'cpu' is valid"
        )
    if xp is None:
        raise InputError(
            "engine.device is 'cuda' but CuPy is not installed; pip install 'hardgrain[cuda]'"
        )


def device(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call."""
    if SIMULATED:
        return cuda.jit(device=True)(function)
    return cuda.jit(device=True, forceinline=True)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that the host launches on a grid of threads."""
    return cuda.jit(function)


def blocks_for(launched: Any, threads: int) -> int:
    """How many blocks of a compiled kernel the device runs at once, so that they can wait."""
    if SIMULATED:
        return 1  # the simulator lets the threads of one block wait for each other, not more
    (one,) = launched.overloads.values()
    return int(one.max_cooperative_grid_blocks(threads))
