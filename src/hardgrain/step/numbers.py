"""Are the numbers of a state numbers? Asked of every state that a step makes or a run begins with.

A NaN compares false with everything: a grain that has one touches nothing, falls through all walls
and spoils no sum that is not over itself, so that energies, residuals and overlaps may look well. A
position far from the origin loses its digits in the same silence: doubles near x lie ε |x| apart.
"""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import HardgrainError
from hardgrain.kernels import jit, scalar
from hardgrain.point.fit import LARGEST, make_fit

__all__ = ["farthest", "refuse_unfit"]

# [half the width of a grain, its radius if it is round] How finely the place of a grain must be
# resolved. Gaps of a packing at rest are right to about 1e-9 of it at the origin; beyond this,
# rounding opens and closes contacts.
RESOLVED = 1e-6

is_fit = make_fit(scalar).is_fit


def farthest(model: Model) -> Floats:
    """How far from the origin each body may be, shape (nb,) [length]; walls: as small grains."""
    half = np.full(model.bodies, 0.5 * float(model.width.min(initial=np.inf)))
    half[: model.n] = 0.5 * model.width
    limit: Floats = half * (RESOLVED / float(np.finfo(np.float64).eps))
    return limit


@jit
def first_unfit(position, velocity, spin, orientation, limit):  # type: ignore[no-untyped-def]
    """The first body one of whose numbers is NaN or too large, else −1."""
    for i in range(position.shape[0]):
        if not is_fit(position, velocity, spin, orientation, limit, i):
            return i
    return -1


def refuse_unfit(
    model: Model, state: State, limit: Floats, kind: type[HardgrainError], what: str, more: str = ""
) -> None:
    """Raise an error of a kind that names the first body whose numbers cannot be used.

    ``what`` begins the sentence: "step 7 gave". ``limit``: see `farthest`.
    """
    i = int(first_unfit(state.position, state.velocity, state.spin, state.orientation, limit))
    if i < 0:
        return
    for name in ("position", "velocity", "spin", "orientation"):
        row = getattr(state, name)[i]
        if not (np.abs(row) <= LARGEST).all():
            break
    else:
        name, row = "position", state.position[i]
    values = ", ".join(f"{x:g}" for x in row)
    why = "which is not a number or has no square that is one"
    if np.isfinite(row).all() and name == "position":
        why = (
            f"so far from the origin that its place is rounded by more than {RESOLVED:g} of the"
            " radius; at most"
            f" {limit[i]:.2g} is valid"
        )
    raise kind(f"{what} {model.body_name(i)} the {name} ({values}), {why}{more}")
