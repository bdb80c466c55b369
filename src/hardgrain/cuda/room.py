"""How many grains the memory of a GPU holds, said where it is too small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hardgrain.core.model import Model
from hardgrain.cuda.present import free_memory, name
from hardgrain.errors import HardgrainError

__all__ = ["grains_that_fit", "roomy"]

# [byte] What a grain of a dense packing takes, by whether laws and bodies are simple, and by
# dimension. Counted from the arrays of `cuda.stepper`: a body with its place in the tiles has
# 1.1 kB in 2D and 1.6 kB in 3D, a contact with a quarter in reserve 0.53 kB and 0.74 kB (0.68 and
# 1.0 if not simple), of which there are 2.2 and 3.2 a grain; the rest is the pair list.
BYTES = {(True, 2): 2500, (True, 3): 4100, (False, 2): 2700, (False, 3): 5100}


def grains_that_fit(memory: float, lean: bool, dim: int) -> int:
    """How many grains so much memory [byte] holds, to two digits."""
    return int(float(f"{memory / BYTES[lean, dim]:.1e}"))


@contextmanager
def roomy(model: Model, memory: int, kind: type[HardgrainError]) -> Iterator[None]:
    """Within the context, memory of the GPU that runs out is one sentence.

    memory: what was free before the run took any [byte].
    """
    try:
        yield
    except Exception as error:  # CuPy has its own kind of MemoryError, Numba a number in a text
        if not isinstance(error, MemoryError) and "OUT_OF_MEMORY" not in str(error):
            raise
        fit = min(grains_that_fit(memory, model.lean, model.dim), int(0.9 * model.n))
        of = f"{memory / 2**30:.3g} GiB that were free, of {free_memory()[1] / 2**30:.3g} in all"
        raise kind(
            f"the memory of the GPU ({name()}, {of}) does not hold {model.n} grains; about {fit}"
            " like these would fit, or device = 'cpu' makes the steps in the memory of the machine"
        ) from None
