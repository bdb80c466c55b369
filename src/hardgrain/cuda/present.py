"""Is there a GPU that can be used? Asked before anything of CUDA is imported for good."""

from __future__ import annotations

from functools import cache

__all__ = ["usable"]


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
    if not api.cuda.is_available():
        return "no NVIDIA GPU with a working driver was found here"
    if api.xp is None:
        return f"CuPy is not installed, {install}"
    return None
