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

**Sweeps.** A problem in a cell is a packed problem of one of the usual kinds; its rows hold the
branches besides, and a field what is known of the cell. An update sees the second body move as its
image does and hands the change of the impulse on to the cell. If each contact waited for the cell
to have moved, no processor could work on two of them at a time; so what the cell gets is gathered
over some contacts, few enough that together they would hardly move it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D
from hardgrain.point.widths import WIDTHS

__all__ = [
    "CELLED", "CellFull2D", "CellFull3D", "CellLean2D", "CellLean3D", "GivenInCell", "make_celled",
]  # fmt: skip

# Rows of what is known of the cell, a column for each component: L, its inverse inertia, the
# impulse that was gathered since L was changed, L at the start of the step; and a row of numbers:
# how many contacts are gathered at most, and the number of grains.
RATE, INVERSE, GATHERED, BEFORE, COUNTS = range(5)
MOST, GRAINS = range(2)

# Contacts that are gathered at most, and the share of the velocity that an impulse gives to a
# contact through its grains, up to which they may give it through the cell. More contacts leave the
# processor freer; a larger share, and sweeps overshoot in small or light cells.
LONGEST, SHARE = 32, 0.05


class GivenInCell(NamedTuple):
    """What a contact problem in a cell is packed from; see `point.given.Given`."""

    rows: Any
    motion: Any  # the last body is the cell
    laws: np.ndarray
    dt: float
    remove_overlaps: bool
    grains: int


def _celled(name: str, *more: str) -> Any:
    """A packed problem in a cell: the fields of another kind, and what is known of the cell."""
    fields = ("first", "second", "c", "b", *more, "cell")
    return NamedTuple(name, [(field, np.ndarray) for field in fields])


CellLean2D, CellLean3D = _celled("CellLean2D", "r"), _celled("CellLean3D", "r")
CellFull2D, CellFull3D = _celled("CellFull2D"), _celled("CellFull3D")
# By whether laws and bodies are simple, and by dimension.
KIND_OF = {(True, 2): Lean2D, (True, 3): Lean3D, (False, 2): Full2D, (False, 3): Full3D}
CELLED = {Lean2D: CellLean2D, Lean3D: CellLean3D, Full2D: CellFull2D, Full3D: CellFull3D}
# Columns of a contact in a cell behind those of its kind: its branch, along the normal or not.
MORE = {Lean2D: 1, Lean3D: 1, Full2D: 2, Full3D: 3}


@cache
def make_third(jit: Callable[..., Any], dim: int, lean: bool) -> SimpleNamespace:
    """Compile with ``jit`` how a contact and the cell act on each other."""
    column = WIDTHS[KIND_OF[lean, dim]][0]  # the first one behind those of the kind itself

    # Branches of round grains lie along the normal, which is what a lean contact begins with.
    @jit
    def along(p, k):
        """The branch of contact k, from its length."""
        l = p.c[k, column]
        return l * p.c[k, 0], l * p.c[k, 1], l * p.c[k, 2]

    @jit
    def anywhere(p, k):
        """The branch of contact k, from its components."""
        return p.c[k, column], p.c[k, column + 1], p.c[k, column + dim - 1]

    branch = along if lean else anywhere

    @jit
    def carried_2d(p, k, row):
        """L l of contact k, with the components of L in a row of the cell."""
        x, y, _ = branch(p, k)
        return p.cell[row, 0] * x + p.cell[row, 2] * y, p.cell[row, 1] * y, 0.0

    @jit
    def carried_3d(p, k, row):
        """The same in 3D."""
        x, y, z = branch(p, k)
        return (
            p.cell[row, 0] * x + p.cell[row, 5] * y + p.cell[row, 4] * z,
            p.cell[row, 1] * y + p.cell[row, 3] * z,
            p.cell[row, 2] * z,
        )

    @jit
    def gather_2d(p, k, x, y, z):
        """Add the impulse (x, y) of contact k to what the cell gets."""
        u, v, _ = branch(p, k)
        p.cell[GATHERED, 0] += x * u
        p.cell[GATHERED, 1] += y * v
        p.cell[GATHERED, 2] += x * v

    @jit
    def gather_3d(p, k, x, y, z):
        """The same in 3D."""
        u, v, w = branch(p, k)
        p.cell[GATHERED, 0] += x * u
        p.cell[GATHERED, 1] += y * v
        p.cell[GATHERED, 2] += z * w
        p.cell[GATHERED, 3] += y * w
        p.cell[GATHERED, 4] += x * w
        p.cell[GATHERED, 5] += x * v

    carried, gather = (carried_2d, gather_2d) if dim == 2 else (carried_3d, gather_3d)

    @jit
    def settle(p):
        """Let the cell move by what it got."""
        for a in range(p.cell.shape[1]):
            p.cell[RATE, a] += p.cell[INVERSE, a] * p.cell[GATHERED, a]
            p.cell[GATHERED, a] = 0.0

    return SimpleNamespace(
        branch=branch, carried=carried, gather=gather, settle=settle, column=column
    )


def make_celled(
    jit: Callable[..., Any], make: Callable[..., SimpleNamespace], dim: int, lean: bool
) -> SimpleNamespace:
    """Compile with ``jit`` what is done in a cell with a contact or body of a kind.

    make: makes the functions of the kind; lean: whether these can be told how the image of the
    second body moves beyond it. Others are shown a second body that moves, for as long as an update
    takes, as its image does.
    """
    third = make_third(jit, dim, lean)
    branch, carried, gather, settle = third.branch, third.carried, third.gather, third.settle
    column = third.column
    base = make(jit)
    solid = dim - 2
    relax, want, pack, begin = base.relax_contact, base.wanted, base.pack_contact, base.start
    if lean:
        relax, want = base.relax_with_image, base.wanted_with_image
    put, impulse_of = base.set_impulse, base.impulse_of
    pack_one, unpack_one = base.pack_body, base.unpack_body

    # An update in which the image of the second body moves by (u, v, w) beyond it; the change of P.
    @jit
    def told_2d(p, k, u, v, w):
        """Of a lean contact, in 2D."""
        return relax(p, k, u, v)

    @jit
    def shown(p, k, u, v, w):
        """Of any other, which is shown the image in place of the body."""
        j, last = p.second[k], 1 + solid
        x, y, z = p.b[j, 0], p.b[j, 1], p.b[j, last]
        ax, ay, az = x + u, y + v, z + w
        p.b[j, 0], p.b[j, 1] = ax, ay
        if solid:
            p.b[j, last] = az
        px, py, pz = impulse_of(p, k)
        relax(p, k)
        p.b[j, 0], p.b[j, 1] = x + (p.b[j, 0] - ax), y + (p.b[j, 1] - ay)
        if solid:
            p.b[j, last] = z + (p.b[j, last] - az)
        x, y, z = impulse_of(p, k)
        return x - px, y - py, z - pz

    relaxed = (relax if dim == 3 else told_2d) if lean else shown

    @jit
    def relax_contact(p, k):
        """One contact update in a cell."""
        u, v, w = carried(p, k, RATE)
        x, y, z = relaxed(p, k, u, v, w)
        gather(p, k, x, y, z)
        settle(p)

    # L does not change while impulses are gathered. Both stay in registers: bodies are written in
    # between, and a compiler must assume that these writes might change what it has read.
    @jit
    def sweep_2d(p, order):
        """One sweep over all contacts in the given order."""
        s, m = 0, order.size
        while s < m:
            end = min(s + int(p.cell[COUNTS, MOST]), m)
            l_xx, l_yy, l_xy = p.cell[RATE, 0], p.cell[RATE, 1], p.cell[RATE, 2]
            xx = yy = xy = 0.0
            for at in range(s, end):
                k = order[at]
                u, v, _ = branch(p, k)
                x, y, _ = relaxed(p, k, l_xx * u + l_xy * v, l_yy * v, 0.0)
                xx, yy, xy = xx + x * u, yy + y * v, xy + x * v
            s = end
            p.cell[GATHERED, 0], p.cell[GATHERED, 1], p.cell[GATHERED, 2] = xx, yy, xy
            settle(p)

    @jit
    def sweep_3d(p, order):
        """The same in 3D."""
        s, m = 0, order.size
        while s < m:
            end = min(s + int(p.cell[COUNTS, MOST]), m)
            l_xx, l_yy, l_zz = p.cell[RATE, 0], p.cell[RATE, 1], p.cell[RATE, 2]
            l_yz, l_xz, l_xy = p.cell[RATE, 3], p.cell[RATE, 4], p.cell[RATE, 5]
            xx = yy = zz = yz = xz = xy = 0.0
            for at in range(s, end):
                k = order[at]
                u, v, w = branch(p, k)
                beyond = l_xx * u + l_xy * v + l_xz * w, l_yy * v + l_yz * w, l_zz * w
                x, y, z = relaxed(p, k, beyond[0], beyond[1], beyond[2])
                xx, yy, zz = xx + x * u, yy + y * v, zz + z * w
                yz, xz, xy = yz + y * w, xz + x * w, xy + x * v
            s = end
            p.cell[GATHERED, 0], p.cell[GATHERED, 1], p.cell[GATHERED, 2] = xx, yy, zz
            p.cell[GATHERED, 3], p.cell[GATHERED, 4], p.cell[GATHERED, 5] = yz, xz, xy
            settle(p)

    # The impulse that the law would have now.
    @jit
    def wanted_2d(p, k):
        """Of a lean contact, in 2D."""
        u, v, _ = carried(p, k, RATE)
        return want(p, k, u, v)

    @jit
    def wanted_3d(p, k):
        """The same in 3D."""
        u, v, w = carried(p, k, RATE)
        return want(p, k, u, v, w)

    @jit
    def wanted_shown(p, k):
        """Of any other contact, the second body being shown as its image."""
        j, last = p.second[k], 1 + solid
        u, v, w = carried(p, k, RATE)
        x, y, z = p.b[j, 0], p.b[j, 1], p.b[j, last]
        p.b[j, 0], p.b[j, 1] = x + u, y + v
        if solid:
            p.b[j, last] = z + w
        found = want(p, k)
        p.b[j, 0], p.b[j, 1] = x, y
        if solid:
            p.b[j, last] = z
        return found

    wanted = (wanted_3d if dim == 3 else wanted_2d) if lean else wanted_shown

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies and the cell the difference."""
        px, py, pz = impulse_of(p, k)
        put(p, k, q)
        x, y, z = impulse_of(p, k)
        gather(p, k, x - px, y - py, z - pz)
        settle(p)

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i, or those of the cell, which is the last one."""
        pack_one(p, i, motion)
        if i == motion.velocity.shape[0] - 1:
            for a in range(dim):
                p.cell[RATE, a], p.cell[INVERSE, a] = motion.velocity[i, a], motion.inv_mass[i, a]
                p.cell[BEFORE, a] = motion.velocity_before[i, a]
            for a in range(motion.spin.shape[1]):
                p.cell[RATE, dim + a] = motion.spin[i, a]
                p.cell[INVERSE, dim + a] = motion.inv_inertia[i, a]
                p.cell[BEFORE, dim + a] = motion.spin_before[i, a]

    # The law of a contact is told how fast it closes; so while it is packed its second body moves,
    # before the step and freely, as its image does.
    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        j = rows.second[k]
        felt, length = j < p.cell[COUNTS, GRAINS], 0.0
        for a in range(dim):
            n = rows.normal[k, a]
            line = rows.arm_first[k, a] - rows.arm_second[k, a] + rows.gap[k] * n
            length += line * n
            if lean:
                p.c[s, a] = n  # what the branch is told by
            else:
                p.c[s, column + a] = line if felt else 0.0
        if lean:
            p.c[s, column] = length if felt else 0.0
        v, other, last = motion.velocity_before, p.second[s], dim - 1
        was = v[j, 0], v[j, 1], v[j, last]
        is_free = p.b[other, 0], p.b[other, 1], p.b[other, last]
        before, free = carried(p, s, BEFORE), carried(p, s, RATE)
        for a in range(dim):
            v[j, a], p.b[other, a] = was[a] + before[a], is_free[a] + free[a]
        pack(p, s, k, rows, motion, laws, dt, remove_overlaps)
        for a in range(dim):
            v[j, a], p.b[other, a] = was[a], is_free[a]

    @jit
    def start(p, s):
        """Give the bodies and the cell the impulse that row s was packed with."""
        begin(p, s)
        x, y, z = impulse_of(p, s)
        gather(p, s, x, y, z)
        settle(p)

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and spin of body i, or L, where the last body, the cell, has these."""
        unpack_one(p, i, velocity, spin)
        if i == velocity.shape[0] - 1:
            for a in range(dim):
                velocity[i, a] = p.cell[RATE, a]
            for a in range(spin.shape[1]):
                spin[i, a] = p.cell[RATE, dim + a]

    return SimpleNamespace(
        relax_contact=relax_contact, sweep=sweep_2d if dim == 2 else sweep_3d,
        wanted=wanted, present=base.present, set_impulse=set_impulse,
        speed_squared=base.speed_squared, pack_body=pack_body, pack_contact=pack_contact,
        start=start, unpack_body=unpack_body, unpack_contact=base.unpack_contact,
    )  # fmt: skip
