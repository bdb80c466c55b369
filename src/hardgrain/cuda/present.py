"""Is there a GPU that can be used? Asked before anything of CUDA is imported for good."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["describe", "free_memory", "name", "usable"]

# Version of CUDA that the packages of hardgrain[cuda] are made for, and the first driver of NVIDIA
# that knows it.
NEEDED, DRIVER = (13, 0), 580
LONGEST = 120  # [characters] of what a driver says; some explain themselves at length


@cache
def usable() -> str | None:
    """What is lacking, as the end of a sentence that says what to install; None: nothing is."""
    install = "install it with pip install 'hardgrain[cuda]'"
    try:
        from hardgrain.cuda import api
    except ImportError as error:
        return f"the package that compiles for it cannot be imported ({error}), {install}"
    if api.SIMULATED:
        return None
    lacking = _driver(api.cuda)
    if lacking is not None:
        return lacking
    if not api.cuda.is_available():
        return f"the compiler of CUDA is not installed, {install}"
    if api.xp is None:
        return f"CuPy is not installed, {install}"
    return None


def _driver(cuda: Any) -> str | None:
    """What is wrong with the GPU or its driver; None: nothing is."""
    install = f"install NVIDIA's driver {DRIVER} or later"
    try:
        cuda.get_current_device()
    except Exception as error:  # the packages of CUDA have many kinds of them
        said = " ".join(str(error).split())[:LONGEST]
        if "cannot be found" in said:
            return f"no driver of an NVIDIA GPU was found here, {install} if there is such a GPU"
        if "NO_DEVICE" in said:
            return "the driver finds no NVIDIA GPU here"
        return f"the driver of the GPU does not work ({said or type(error).__name__}), {install}"
    try:
        version = tuple(cuda.cudadrv.driver.driver.get_version())
    except Exception:  # a package that does not tell; a driver that is too old then fails later
        return None
    if version < NEEDED:
        knows = ".".join(map(str, version))
        return f"the driver of the GPU knows CUDA up to {knows} and not {NEEDED[0]}, {install}"
    return None


def name() -> str:
    """The name of the GPU, where one is usable."""
    from hardgrain.cuda.api import SIMULATED, cuda

    if SIMULATED:
        return "Numba's simulator"
    said = cuda.get_current_device().name
    return said.decode() if isinstance(said, bytes) else str(said)


def free_memory() -> tuple[int, int]:
    """Memory of the GPU that is free, and all of it [byte]; of the simulator zero."""
    from hardgrain.cuda.api import SIMULATED, cuda

    if SIMULATED:
        return 0, 0
    memory = cuda.current_context().get_memory_info()
    return int(memory.free), int(memory.total)


def describe() -> str:
    """The GPU and its memory in words."""
    free, total = free_memory()
    return f"{name()}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free" if total else name()
