"""Single members of F that stand out: each is the one solution of a convex program.

F is the set of all components (R, T) with c F = load and |T| ≤ µ R. Clarabel, an interior-point
method that knows round cones, minimises a quadratic form over it; where the form is definite, the
minimum is unique.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, csr_array, diags_array, eye_array

from hardgrain.core.model import Floats
from hardgrain.errors import InputError, RunError
from hardgrain.extras import later
from hardgrain.forces.conic import equations, settings
from hardgrain.forces.space import ForceSpace

clarabel = later("clarabel")

__all__ = ["Which", "interior", "member"]

Which = Literal["least", "nearest", "elastic"]

# [1] Largest λ: a slack that never exceeds 1/λ of the unit of force counts as none. Where numbers
# of such different sizes are too much for the solver, the next is tried.
_SCALES = (1e6, 1e5, 1e4, 1e3)
# [1, unit of force] Accuracy that a member must have; 10⁻¹² is asked for. If it is smaller, some
# packings have no member that is good enough.
_WORST = 1e-8


def member(
    space: ForceSpace, which: Which = "least", to: Floats | None = None, stiffness: float = 1.0
) -> Floats:
    """Components (m, dim) of a member of F.

    - ``"least"``: the member of least norm, Σ R² + T². - ``"nearest"``: the member nearest to the
    components ``to`` (m, dim), by default the state found. - ``"elastic"``: the member of least
    complementary energy, Σ R²/k_n + T²/k_t, k_t/k_n = ``stiffness``.

    The reason for the last is this. Let every contact be a spring along the normal and one across.
    As they get stiffer the grains move less and less, in the limit c stays as it is, and among all
    forces that balance the load the springs take those of least complementary energy (Castigliano):
    only these come from displacements of the grains. This leaves out the history. Springs start
    relaxed and are loaded at once and in proportion; a packing that was built grain by grain, that
    slid or was shaken keeps elongations from then, and is elsewhere in F. And where |T| = µ R the
    minimum has a contact slip along the normal of the cone, opening as it slides, while Coulomb's
    slip is tangential: it is exact if nothing slides.
    """
    m, dim = space.contacts, space.packing.dim
    weight, target = np.ones((m, dim)), np.zeros((m, dim))
    if which == "nearest":
        target = space.packing.components if to is None else np.asarray(to, dtype=float)
        if target.shape != (m, dim):
            raise InputError(f"the state has shape {target.shape}; give R and T, {(m, dim)}")
    elif which == "elastic":
        if not stiffness > 0.0:
            raise InputError(f"stiffness is {stiffness:g}; give k_t/k_n > 0")
        weight[:, 1:] /= stiffness
    elif which != "least":
        raise InputError(f"there is no member {which!r}; give least, nearest or elastic")
    if to is not None and which != "nearest":
        raise InputError(f"a state to be near to is given, but the member is {which!r}")
    c, load, shape = equations(space)
    pull = (weight * shape).ravel()
    y = _minimise(
        diags_array(pull * shape.ravel()),
        -pull * target.ravel() / space.packing.unit,
        block_array([[c], [-eye_array(dim * m)]]),
        np.concatenate([load, np.zeros(dim * m)]),
        [clarabel.ZeroConeT(load.size), *[clarabel.SecondOrderConeT(dim)] * m],
        worst=_WORST,
    )
    if y is None:
        raise RunError(f"Clarabel found no member to within {_WORST:g}")
    return space.packing.unit * shape * y.reshape(m, dim)


def interior(space: ForceSpace) -> tuple[Floats, NDArray[np.int8]]:
    """A member as far inside F as possible (m, dim), and what contacts count in all members.

    The latter (m,) is as in `ForceSpace.always`, but for round cones: 2 must be open, 1 must slide.
    A contact that must slide does so in one direction, since halfway between two members with
    different directions it would not.

    max Σ y + z with 0 ≤ y, z ≤ 1, z ≤ R, |T| ≤ µ (R − y), c F = λ load, λ ≥ 1. A member inside,
    times a λ large enough, has y = z = 1 wherever that is possible (Freund, Roundy and Todd).
    """
    p = space.packing
    m, dim = p.contacts, p.dim
    c, load, shape = equations(space)
    one, k = eye_array(m), np.arange(m)
    normal = csr_array((np.ones(m), (dim * k, k)), shape=(dim * m, m))  # the columns of all R
    rows = block_array(  # the columns are (R, T/µ), y, z and λ
        [
            [c, None, None, -load[:, None]],
            [None, -one, None, None],
            [None, one, None, None],
            [None, None, -one, None],
            [None, None, one, None],
            [-normal.T, None, one, None],
            [None, None, None, np.array([[-1.0], [1.0]])],
            [-eye_array(dim * m), normal, None, None],
        ]
    )
    n = rows.shape[1]
    gain = np.concatenate([np.zeros(dim * m), -np.ones(2 * m), [0.0]])
    zero, full = np.zeros(m), np.ones(m)
    for scale in _SCALES:
        limits = np.concatenate([zero, full, zero, full, zero, [-1.0, scale]])
        right = np.concatenate([np.zeros(load.size), limits, np.zeros(dim * m)])
        cones = [
            clarabel.ZeroConeT(load.size),
            clarabel.NonnegativeConeT(limits.size),
            *[clarabel.SecondOrderConeT(dim)] * m,
        ]
        x = _minimise(csc_array((n, n)), gain, rows, right, cones, worst=1e-3)
        if x is not None:
            break
    else:
        raise RunError("Clarabel found no member inside F")
    y, z = x[dim * m : -1].reshape(2, m)
    slides = (y < 0.5) | (p.friction == 0.0)
    counts = np.where(z < 0.5, 2, np.where(slides, 1, 0)).astype(np.int8)
    return p.unit / x[-1] * shape * x[: dim * m].reshape(m, dim), counts


def _minimise(
    form: Any, linear: Floats, rows: Any, right: Floats, cones: list[Any], worst: float
) -> Floats | None:
    """The x at which ½ x·form x + linear·x is least among those with right − rows x in the cones.

    It is None if it was not found to within ``worst``.
    """
    for accuracy in (1e-12, 1e-10, worst):  # too fine an accuracy may give no result at all
        solver = clarabel.DefaultSolver(
            csc_array(form), linear, csc_array(rows), right, cones, settings(accuracy, worst)
        )
        solution = solver.solve()
        status = str(solution.status)
        if status == "PrimalInfeasible":
            raise InputError("no forces balance the load of this packing, so F has no member")
        if status in ("Solved", "AlmostSolved"):
            return np.array(solution.x)
    return None
