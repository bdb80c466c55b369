"""Which forces are possible in a packing of rigid grains (McNamara and Herrmann 2004).

    import hardgrain as hg

    with hg.RunFile("silo.h5") as run:
        space = hg.forces.force_space(run)   # of the last frame
        print(space.dimension)               # 0: the forces found are the only ones

Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy

# For each public name, the module that defines it.
_PUBLIC = {"ForceSpace": "space", "Packing": "packing", "force_space": "space"}

__all__ = [*_PUBLIC]

__getattr__ = lazy(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.forces.packing import Packing as Packing
    from hardgrain.forces.space import ForceSpace as ForceSpace
    from hardgrain.forces.space import force_space as force_space
