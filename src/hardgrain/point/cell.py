"""The periodic cell as one more body of the contact problem (Shaebani, Unger and Kertész 2008).

A cell that deforms carries all grains along: a grain at x moves with c + L x, where L is the
velocity gradient of the cell, an upper triangle as its matrix h is (`hardgrain.core.cell`), so that
ḣ = L h. Velocities c are those relative to the cell. The image of a grain that is s = h m away has
the same c, and moves with c + L (x + s). Two grains whose nearest images are l apart, from centre
to centre, approach with

    V = c_j − c_i + ω_j × arm_j − ω_i × arm_i + L l,

whichever images these are. So an impulse P at the contact gives the cell the impulse P ⊗ l, in the
components of L, whose sum over a step is the stress that the contacts bear, Σ P ⊗ l = dt V σ. Each
component of L has an inertia, or is prescribed; an external stress pulls at it as a force pulls at
a piston. The equations of stress are thus solved together with the contact laws, and no servo has
a gain to be tuned.

L has as many components as a rigid body has, three in 2D and six in 3D, in the order of Voigt. They
are kept where another body has its velocity and its spin: (xx, yy | xy) and (xx, yy, zz | yz, xz,
xy). The cell is the last body, and no contact names it: a contact between two grains feels it as a
third body, with levers P_a l_b for the component ab.

**Sweeps.** A problem in a cell is a packed problem of one of the usual kinds whose grains have
velocities in space, u = c + L x, with x their places in the cell. Two grains that meet there, and
not across a face of the cell, approach with u_j − u_i: their update is that of a plain box, and
knows nothing of the cell. The few others, told by s = l − (x_j − x_i) ≠ 0, approach with L s
besides, as do contacts with walls and with grains that cannot move freely, for which x = 0 is as
good as any other place.

The cell moves after a sweep or two, by what all contacts gave it. Nobody has to add that up contact
by contact: those within the cell gave it what they gave to the momenta of the grains, so that

    Σ P ⊗ l = Σ m (c − c*) ⊗ x + Σ P ⊗ s,

the first sum over all grains, the second over the few contacts. With ΔL all u change by ΔL x.

As long as L stays the same, a sweep answers to what the last ΔL gave each contact, ΔL l, with the
impulse −m_k ΔL l, m_k being the mass that the contact moves, and all contacts together with
−Σ m_k l²/(d W) of ΔL, if they have all directions. So L overshoots if it waits for so many contacts
that this sum exceeds 1, and diverges beyond 2. (In the terms of Gauss and Seidel: the cell's part
K = l W⁻¹ lᵀ of the matrix is left to the right-hand side, and their method converges still if what
is on the left, D + Dᵀ less the whole, is positive definite, that is, if D − K is.) With the usual
inertia a sweep amounts to about a half. Lighter cells move several times a sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.point.cell_motion import (
    BEFORE,
    CHANGE,
    FREE,
    INVERSE,
    MOMENT,
    RATE,
    START,
    make_motion,
)
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D

__all__ = [
    "CELLED", "CellFull2D", "CellFull3D", "CellLean2D", "CellLean3D", "GivenInCell", "GivenInSpace",
    "make_celled",
]  # fmt: skip

# Numbers: of contacts that are swept before the cell moves, and of those since it did; of
# components of L that are free.
MOST, SINCE, LOOSE, NUMBERS = range(4)

# [1] Σ m_k l_k²/(d W) of the contacts that are swept before the cell moves, see above; and the
# sweeps after which it moves in any case, which heavy cells would wait for without need.
SHARE, LONGEST = 1.0, 2


class GivenInCell(NamedTuple):
    """What a contact problem in a cell is packed from; see `point.given.Given`."""

    rows: Any
    motion: Any  # the last body is the cell
    laws: np.ndarray
    dt: float
    remove_overlaps: bool
    grains: int
    position: np.ndarray  # (nb, dim)
    cell: np.ndarray  # (dim (dim + 1) / 2,) with tilts of at most half a period, see `core.cell`


class GivenInSpace(NamedTuple):
    """The same with velocities in space."""

    rows: Any
    motion: Any
    laws: np.ndarray
    dt: float
    remove_overlaps: bool
    grains: int
    x: np.ndarray  # (nb, dim) places in the cell, zero where a body has none
    q: np.ndarray  # (grains, dim) m x
    s: np.ndarray  # (f, dim) of the contacts that have one, which are stored last


def _celled(name: str, *more: str) -> Any:
    """A packed problem in a cell: the fields of another kind, and what is known of the cell.

    cell, counts: the rows and numbers above; x: (bodies + ghosts, dim) places; q: (grains, dim)
    m x; u: (bodies, dim) velocities in space without contacts; s: (f, dim) of the last f contacts,
    the others have none; beyond: (1 + f, dim) a row of zeros, for all of those, and L s.
    """
    own = ("cell", "counts", "x", "q", "u", "s", "beyond")
    fields = ("first", "second", "c", "b", *more, *own)
    return NamedTuple(name, [(field, np.ndarray) for field in fields])


CellLean2D, CellLean3D = _celled("CellLean2D", "r"), _celled("CellLean3D", "r")
CellFull2D, CellFull3D = _celled("CellFull2D"), _celled("CellFull3D")
# By whether laws and bodies are simple, and by dimension.
KIND_OF = {(True, 2): Lean2D, (True, 3): Lean3D, (False, 2): Full2D, (False, 3): Full3D}
CELLED = {Lean2D: CellLean2D, Lean3D: CellLean3D, Full2D: CellFull2D, Full3D: CellFull3D}


def make_celled(
    jit: Callable[..., Any],
    ordered: Callable[..., Any],
    make: Callable[..., SimpleNamespace],
    dim: int,
    lean: bool,
) -> SimpleNamespace:
    """Compile with ``jit`` what is done in a cell with a contact or body of a kind.

    ordered: see `make_motion`; make: makes the functions of the kind; lean: whether these can be
    told how the image of the second body moves beyond it. Others are shown a first body that moves
    the other way, for as long as an update takes.
    """
    motion_of = make_motion(jit, ordered, dim)
    momenta, carry, product = motion_of.momenta, motion_of.carry, motion_of.product
    dyad, plus, times = motion_of.dyad, motion_of.plus, motion_of.times
    base, last = make(jit), dim - 1
    relax, want, pack = base.relax_contact, base.wanted, base.pack_contact
    if lean:
        relax, want = base.relax_with_image, base.wanted_with_image
    impulse_of, pack_one, unpack_one = base.impulse_of, base.pack_body, base.unpack_body

    @ordered
    def changed(x, now, then):
        """x with the change of something else, and exactly x if that has none."""
        return x + (now - then)

    @jit
    def is_near(p, k):
        """Whether contact k has no s; asked of numbers that a loop keeps in registers."""
        return k < p.first.size - p.s.shape[0]

    # No branch asks which contacts have an s: in a random order a processor would guess wrong now
    # and then, which takes longer than to read a zero and add it.
    @jit
    def beyond(p, k):
        """L s of contact k, zero where it has no s."""
        near = p.first.size - p.s.shape[0]
        f = max(k + 1, near) - near
        return p.beyond[f, 0], p.beyond[f, 1], p.beyond[f, last]

    # Lean contacts.
    @jit
    def relax_2d(p, k):
        """One contact update in a cell."""
        x, y, _ = beyond(p, k)
        relax(p, k, x, y)

    @jit
    def relax_3d(p, k):
        """The same in 3D."""
        x, y, z = beyond(p, k)
        relax(p, k, x, y, z)

    @jit
    def wanted_2d(p, k):
        """The impulse that the law would have now."""
        x, y, _ = beyond(p, k)
        return want(p, k, x, y)

    @jit
    def wanted_3d(p, k):
        """The same in 3D."""
        x, y, z = beyond(p, k)
        return want(p, k, x, y, z)

    # Others are shown a first body that moves as it does seen from the image of the second.
    @jit
    def show(p, k):
        """Let the first body of contact k move by L s less; return how it moved."""
        i, less = p.first[k], beyond(p, k)
        was = p.b[i, 0], p.b[i, 1], p.b[i, last]
        for a in range(dim):
            p.b[i, a] = was[a] - less[a]
        return was

    @jit
    def hide(p, k, was):
        """Let it move as before, and by what it got meanwhile."""
        i, less = p.first[k], beyond(p, k)
        for a in range(dim):
            p.b[i, a] = changed(was[a], p.b[i, a], was[a] - less[a])

    @jit
    def relax_shown(p, k):
        """One contact update in a cell."""
        if is_near(p, k):
            relax(p, k)
        else:
            was = show(p, k)
            relax(p, k)
            hide(p, k, was)

    @jit
    def wanted_shown(p, k):
        """The impulse that the law would have now."""
        if is_near(p, k):
            return want(p, k)
        was = show(p, k)
        found = want(p, k)
        hide(p, k, was)
        return found

    relax_contact, wanted = relax_shown, wanted_shown
    if lean:
        relax_contact, wanted = (relax_2d, wanted_2d) if dim == 2 else (relax_3d, wanted_3d)

    @jit
    def carry_images(p):
        """Write L s of the contacts that have an s."""
        for f in range(p.s.shape[0]):
            found = times(p.cell, RATE, p.s[f, 0], p.s[f, 1], p.s[f, last])
            for a in range(dim):
                p.beyond[1 + f, a] = found[a]

    @jit
    def settle(p):
        """Let the cell move by what all contacts gave it, and carry the grains along."""
        p.counts[SINCE] = 0
        if p.counts[LOOSE] == 0:
            return
        for c in range(p.cell.shape[1]):
            p.cell[CHANGE, c] = p.cell[RATE, c] - p.cell[FREE, c]
        now, moved = momenta(p), product(p, CHANGE, MOMENT)
        for c in range(p.cell.shape[1]):
            p.cell[CHANGE, c] = now[c] - p.cell[START, c] - moved[c]
        near, given = p.first.size - p.s.shape[0], dyad(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for f in range(p.s.shape[0]):
            x, y, z = impulse_of(p, near + f)
            given = plus(given, dyad(x, y, z, p.s[f, 0], p.s[f, 1], p.s[f, last]))
        for c in range(p.cell.shape[1]):
            rate = p.cell[FREE, c] + p.cell[INVERSE, c] * (p.cell[CHANGE, c] + given[c])
            p.cell[CHANGE, c] = rate - p.cell[RATE, c]
            p.cell[RATE, c] = rate
        carry(p)
        carry_images(p)
        for c in range(p.cell.shape[1]):
            p.cell[CHANGE, c] = p.cell[RATE, c] - p.cell[FREE, c]

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i, or those of the cell, which is the last one."""
        pack_one(p, i, motion)
        if i < motion.velocity.shape[0] - 1:
            return
        for a in range(dim):
            p.cell[RATE, a], p.cell[INVERSE, a] = motion.velocity[i, a], motion.inv_mass[i, a]
            p.cell[BEFORE, a] = motion.velocity_before[i, a]
        for a in range(motion.spin.shape[1]):
            p.cell[RATE, dim + a] = motion.spin[i, a]
            p.cell[INVERSE, dim + a] = motion.inv_inertia[i, a]
            p.cell[BEFORE, dim + a] = motion.spin_before[i, a]
        now = momenta(p)
        for c in range(p.cell.shape[1]):
            p.cell[FREE, c], p.cell[START, c] = p.cell[RATE, c], now[c]
            p.counts[LOOSE] += p.cell[INVERSE, c] > 0.0
        for k in range(p.q.shape[0]):
            own = dyad(p.x[k, 0], p.x[k, 1], p.x[k, last], p.q[k, 0], p.q[k, 1], p.q[k, last])
            for c in range(p.cell.shape[1]):
                p.cell[MOMENT, c] += own[c]
        carry_images(p)

    # The law of a contact is told how fast it closes; so while it is packed its first body moves,
    # before the step and freely, as it does seen from the image of the second.
    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        if is_near(p, s):
            pack(p, s, k, rows, motion, laws, dt, remove_overlaps)
            return
        i, f, v = rows.first[k], s - (p.first.size - p.s.shape[0]), motion.velocity_before
        less = times(p.cell, BEFORE, p.s[f, 0], p.s[f, 1], p.s[f, last])
        old, was = (v[i, 0], v[i, 1], v[i, last]), show(p, s)
        for a in range(dim):
            v[i, a] = old[a] - less[a]
        pack(p, s, k, rows, motion, laws, dt, remove_overlaps)
        for a in range(dim):
            v[i, a] = old[a]
        hide(p, s, was)

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and spin of body i, or L, where the last body, the cell, has these.

        velocity: the free ones, relative to the cell; what nothing pushed keeps it to the last bit.
        """
        free = velocity[i, 0], velocity[i, 1], velocity[i, last]
        unpack_one(p, i, velocity, spin)
        if i == velocity.shape[0] - 1:
            for a in range(dim):
                velocity[i, a] = p.cell[RATE, a]
            for a in range(spin.shape[1]):
                spin[i, a] = p.cell[RATE, dim + a]
        else:
            affine = times(p.cell, CHANGE, p.x[i, 0], p.x[i, 1], p.x[i, last])
            for a in range(dim):
                velocity[i, a] = changed(free[a], p.b[i, a], p.u[i, a]) - affine[a]

    return SimpleNamespace(
        relax_contact=relax_contact, settle=settle, wanted=wanted, present=base.present,
        set_impulse=base.set_impulse, speed_squared=base.speed_squared, pack_body=pack_body,
        pack_contact=pack_contact, start=base.start, unpack_body=unpack_body,
        unpack_contact=base.unpack_contact,
    )  # fmt: skip
