"""One step of this package as matrices: M v = f + hᵀ r, u = h v + w (`solve.matrices`).

Only what can move is a component of v; what is prescribed (walls, driven and locked grains) is part
of w, and so are the biases: gap speed and rebounds. Cohesion shifts the cone, P ∈ K − c e_N (see
`law/coupled.py`); with r = P + c e_N it is K again and the pull −c e_N goes into f. A contact that
nothing can push along its normal, but for the cell, never bears an impulse in this package; its
rows are zero here, in w too, so that r = 0 solves it.

The spin of a body with a whole tensor of inertia has the coordinates y = A⁻¹ ω in which its inertia
is 1 (`point.inertia`), so that M is diagonal for all bodies.

All rows of a contact (`solve.rows`) have the same columns, the movable components of its first and
then of its second body, stored zeros included: a contact is one dense block of h, in order of the
columns.
Where the periodic cell deforms, contacts between two grains have those of the cell too, the last
body (`point.cell`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from hardgrain.core.lawtable import MU_DYNAMIC, MU_STATIC, ROLLING, TORSION
from hardgrain.errors import InputError
from hardgrain.kernels import jit, scalar
from hardgrain.law.contact import make_contact
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.solve.matrices import GlobalForm
from hardgrain.solve.problem import Floats, Ints, Problem
from hardgrain.solve.rows import can_push, cell_rows, contact_axes, contact_rows, spin_rows

__all__ = ["ContactFrames", "StepForm", "global_form", "step_form"]

_law, _inertia = make_contact(scalar), make_inertia(scalar)
normal_shift, tangent_shift = _law.normal_shift, _law.tangent_shift
friction, cohesion, resistance = _law.friction, _law.cohesion, _law.resistance
root, turns = _inertia.root, _inertia.turns


@dataclass(frozen=True)
class ContactFrames:
    """How a step's global form lies in space: what maps r and v back to the step."""

    axes: Floats  # (m, dim, dim) unit vectors of each contact, the normal first
    dofs: Ints  # (n,) which components of (velocity, spin), shape (nb, dim + ns), are v
    shift: Floats  # (m,) c of cohesion: r_N = P_N + c [mass × speed]
    rows: int  # of h, for each contact: dim, and more where relative spins are resisted
    roll: Floats  # (m,) the levers of their torques [length]

    def impulse(self, r: Floats) -> Floats:
        """Impulses on the second bodies, shape (m, dim)."""
        part = r.reshape(-1, self.rows)[:, : self.axes.shape[1]].copy()
        part[:, 0] -= self.shift
        p: Floats = np.matmul(part[:, None, :], self.axes)[:, 0]
        return p

    def torque(self, r: Floats) -> Floats:
        """Torque impulses on the second bodies, shape (m, ns); zero where none is resisted."""
        m, dim, _ = self.axes.shape
        if self.rows == dim:
            return np.zeros((m, 2 * dim - 3))
        part = r.reshape(m, self.rows)[:, dim:] * self.roll[:, None]
        t: Floats = part if dim == 2 else np.matmul(part[:, None, :], self.axes)[:, 0]
        return t

    def components(self, impulse: Floats, torque: Floats | None = None) -> Floats:
        """r of given impulses and torque impulses, shape (m·rows,)."""
        r = np.matmul(self.axes, impulse[:, :, None])[..., 0]
        r[:, 0] += self.shift
        if self.rows > impulse.shape[1]:
            part = np.zeros((len(r), self.rows - r.shape[1])) if torque is None else torque
            part = np.divide(
                part, self.roll[:, None], out=np.zeros_like(part), where=self.roll[:, None] > 0.0
            )
            if impulse.shape[1] == 3:
                part = np.matmul(self.axes, part[:, :, None])[..., 0]
            r = np.concatenate([r, part], axis=1)
        flat: Floats = r.ravel()
        return flat

    def motion(self, problem: Problem, v: Floats) -> tuple[Floats, Floats]:
        """Velocities and spins of all bodies, shapes (nb, dim) and (nb, ns)."""
        both = np.concatenate((problem.velocity, problem.spin), axis=1)
        both.ravel()[self.dofs] = v
        velocity, spin = both[:, : problem.dim].copy(), both[:, problem.dim :].copy()
        if problem.inv_inertia.shape[1] == TENSOR:
            in_space(problem.inv_inertia, spin)
        return velocity, spin


class StepForm(NamedTuple):
    """One step as matrices, with the members of `GlobalForm`."""

    mass: csc_array
    h: csr_array  # (m·rows, n)
    f: Floats
    w: Floats  # (m·rows,)
    # (m,), or (m, 2 or 3) coefficients of friction and of rolling (2D), of friction, torsion and
    # rolling (3D), where relative spins are resisted
    mu: Floats
    start: Floats  # (m·rows,)


def global_form(problem: Problem) -> tuple[GlobalForm, ContactFrames]:
    """One step of this package as matrices; it starts from the problem's impulses.

    Coulomb's law with one coefficient, restitution and cohesion can be said so; contacts with
    another law are refused.
    """
    _refuse(problem, problem.turning)
    form, frames = step_form(problem)
    return GlobalForm(problem.dim, *form), frames


def step_form(problem: Problem) -> tuple[StepForm, ContactFrames]:
    """The same for laws that may resist relative spins, with rows for these where any does."""
    _refuse(problem, problem.laws[:, MU_STATIC] != problem.laws[:, MU_DYNAMIC])
    of, rows = components(problem.motion), problem.dim
    if problem.resists:
        rows += 2 * problem.dim - 3
    made = assemble(
        problem.rows, of, problem.inv_inertia, problem.laws, problem.dt, problem.remove_overlaps,
        problem.grains, rows,
    )  # fmt: skip
    n = of.dofs.size
    all_of_v = np.arange(n + 1, dtype=np.int32)
    form = StepForm(
        csc_array((1.0 / of.inverse.ravel()[of.dofs], all_of_v[:n], all_of_v), shape=(n, n)),
        csr_array((made.data, made.columns, made.rows), shape=(made.w.size, n)),
        made.f, made.w, made.mu if rows > problem.dim else made.mu.ravel(), made.start,
    )  # fmt: skip
    return form, ContactFrames(made.axes, of.dofs, made.shift, rows, problem.roll)


def _refuse(problem: Problem, beyond: NDArray[np.bool_]) -> None:
    """Refuse contacts with the laws of these rows."""
    refused = np.flatnonzero(beyond[problem.law])
    if refused.size:
        k = refused[0]
        raise InputError(
            f"the contact of bodies {problem.first[k]} and {problem.second[k]} has"
            f" {_beyond(problem.laws[problem.law[k]])}, which matrices with Coulomb's law cannot"
            " hold; use a Gauss–Seidel solver on the step itself"
        )


def _beyond(law: Floats) -> str:
    """What of a law is more than Coulomb's."""
    if law[MU_STATIC] != law[MU_DYNAMIC]:
        return f"friction {law[MU_STATIC]:g} and friction_dynamic {law[MU_DYNAMIC]:g}"
    name, value = ("rolling", law[ROLLING]) if law[ROLLING] > 0.0 else ("torsion", law[TORSION])
    return f"{name} resistance {value:g}"


class Components(NamedTuple):
    """The components of (velocity, spin) of all bodies, and which of them are v."""

    free: Floats  # (nb, dim + ns) without impulses
    before: Floats  # (nb, dim + ns) at the start of the step
    inverse: Floats  # (nb, dim + ns) inverse masses and moments of inertia; 0: prescribed
    column: Ints  # (nb, dim + ns) the place in v, or −1
    dofs: Ints  # (n,) the components of v, as `ContactFrames.dofs`


class Assembled(NamedTuple):
    """The parts of a global form and of its frames; h by rows (CSR)."""

    data: Floats
    columns: Ints
    rows: Ints  # (m·rows + 1,) where each row begins
    f: Floats
    w: Floats
    mu: Floats  # (m, 1), or (m, 2 or 3) as in `StepForm`
    start: Floats
    axes: Floats
    shift: Floats


@scalar
def in_own(inverse, i, both):
    """Write the spin of body i, the last three components, in the coordinates of inertia 1."""
    xx, yx, yy, zx, zy, zz = root(inverse, i)
    x = both[i, 3] / xx
    y = (both[i, 4] - yx * x) / yy
    both[i, 3], both[i, 4], both[i, 5] = x, y, (both[i, 5] - zx * x - zy * y) / zz


@jit
def in_space(inverse, spin):
    """Write the spins of bodies with a whole tensor in space, given in those coordinates."""
    for i in range(spin.shape[0]):
        if turns(inverse, i):
            xx, yx, yy, zx, zy, zz = root(inverse, i)
            x, y, z = spin[i, 0], spin[i, 1], spin[i, 2]
            spin[i, 0], spin[i, 1], spin[i, 2] = xx * x, yx * x + yy * y, zx * x + zy * y + zz * z


@scalar
def own_levers(inverse, i, part, at):
    """Write the levers l of body i, three columns, in the coordinates of inertia 1: l·A."""
    if inverse.shape[1] != TENSOR or not turns(inverse, i):
        return
    xx, yx, yy, zx, zy, zz = root(inverse, i)
    for e in range(part.shape[0]):
        x, y, z = part[e, at], part[e, at + 1], part[e, at + 2]
        part[e, at], part[e, at + 1] = xx * x + yx * y + zx * z, yy * y + zy * z
        part[e, at + 2] = zz * z


@jit
def components(motion):
    """The components of all bodies, those of v in order."""
    (nb, dim), ns = motion.velocity.shape, motion.spin.shape[1]
    size = dim + ns
    free, before, inverse = np.empty((nb, size)), np.empty((nb, size)), np.empty((nb, size))
    free[:, :dim], free[:, dim:] = motion.velocity, motion.spin
    before[:, :dim], before[:, dim:] = motion.velocity_before, motion.spin_before
    inverse[:, :dim], inverse[:, dim:] = motion.inv_mass, motion.inv_inertia[:, :ns]
    if motion.inv_inertia.shape[1] == TENSOR:
        for i in range(nb):
            if turns(motion.inv_inertia, i):
                in_own(motion.inv_inertia, i, free)
                in_own(motion.inv_inertia, i, before)
                inverse[i, 3], inverse[i, 4], inverse[i, 5] = 1.0, 1.0, 1.0
    column = np.full((nb, size), -1, np.int32)
    dofs = np.empty(nb * size, np.int32)
    count = 0
    for i in range(nb):
        for a in range(size):
            if inverse[i, a] > 0.0:
                column[i, a] = count
                dofs[count] = i * size + a
                count += 1
    return Components(free, before, inverse, column, dofs[:count].copy())


@jit
def row_starts(first, second, column, each, grains):
    """Where each row of h begins: it has the movable components of the bodies of its contact.

    each: rows of a contact.
    """
    movable = np.zeros(len(column), np.int32)
    for i in range(len(column)):
        for a in range(column.shape[1]):
            movable[i] += column[i, a] >= 0
    rows = np.zeros(each * first.size + 1, np.int32)
    for k in range(first.size):
        for e in range(each):
            row = each * k + e
            rows[row + 1] = rows[row] + movable[first[k]] + movable[second[k]]
            if second[k] < grains:
                rows[row + 1] += movable[-1]
    return rows


@jit
def assemble(points, of, inertia, laws, dt, remove_overlaps, grains, each):
    """Everything of a step's global form but M, and its contact frames.

    inertia: inverse inertias of all bodies, see `point.inertia`. grains: contacts whose second body
    is one of so many grains feel the periodic cell, the last body; 0: it stays as it is. each: rows
    of a contact, see `ContactFrames`.
    """
    # Bound here, once: within the loop Numba would count references.
    first, second, normal, gap = points.first, points.second, points.normal, points.gap
    arm_first, arm_second, which_law = points.arm_first, points.arm_second, points.law
    impulse, torque, roll = points.impulse, points.torque, points.roll
    free, before, inverse, column, dofs = of
    (m, dim), size = normal.shape, free.shape[1]
    rows = row_starts(first, second, column, each, grains)
    data, columns = np.empty(rows[-1]), np.empty(rows[-1], np.int32)
    f = np.empty(dofs.size)
    for c in range(f.size):
        i, a = divmod(dofs[c], size)
        f[c] = 1.0 / inverse[i, a] * free[i, a]
    w, start = np.zeros(each * m), np.zeros(each * m)
    mu = np.empty((m, 1 if each == dim else dim))
    shift, axes = np.zeros(m), np.empty((m, dim, dim))
    axis, part = np.empty((3, 3)), np.empty((each, 3 * size))
    for k in range(m):
        i, j, law = first[k], second[k], laws[which_law[k]]
        mu[k, 0] = friction(law)[1]
        contact_axes(normal, k, axis)
        contact_rows(arm_first, arm_second, k, axis, part)
        if each > dim:
            mu[k, dim - 1], torsion = resistance(law, 1.0)
            if dim == 3:
                mu[k, 1] = torsion
            spin_rows(roll[k], axis, part)
        own_levers(inertia, i, part, dim)
        own_levers(inertia, j, part, size + dim)
        felt = j < grains
        if felt:
            cell_rows(points, k, axis, part)
            own_levers(inertia, len(free) - 1, part, 2 * size + dim)
        live = can_push(part, inverse, i, j)
        if live:
            shift[k] = cohesion(law, gap[k], dt)
        for e in range(dim):
            for a in range(dim):
                axes[k, e, a] = axis[e, a]
        for e in range(each):
            row = each * k + e
            u_free, u_before, fixed = 0.0, 0.0, 0.0
            at = rows[row]
            for a in range(3 * size if felt else 2 * size):
                body, which = (i, a) if a < size else (j, a - size)
                if which >= size:
                    body, which = len(free) - 1, which - size
                u_free += part[e, a] * free[body, which]
                u_before += part[e, a] * before[body, which]
                c = column[body, which]
                if c < 0:
                    fixed += part[e, a] * free[body, which]
                    continue
                data[at], columns[at] = part[e, a] if live else 0.0, c
                at += 1
                if live and e == 0:
                    f[c] -= part[e, a] * shift[k]
            if not live:
                continue
            if e >= dim:
                w[row] = fixed
                for a in range(2 * dim - 3):
                    x = 1.0 if dim == 2 else axis[e - dim, a]
                    start[row] += x * torque[k, a] / roll[k] if roll[k] > 0.0 else 0.0
                continue
            if e == 0:
                bias = normal_shift(law, gap[k], u_free, u_before, dt, remove_overlaps)
                start[row] = shift[k]
            else:
                bias = tangent_shift(law, u_before)
            w[row] = fixed + bias
            for a in range(dim):
                start[row] += axis[e, a] * impulse[k, a]
    return Assembled(data, columns, rows, f, w, mu, start, axes, shift)
