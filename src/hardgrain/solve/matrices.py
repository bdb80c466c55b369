"""Contact problems as matrices, where steps of this package and imported problems meet.

**Global form**, in velocities and impulses:

    M v = f + hᵀ r,    u = h v + w

**Local form**, in impulses alone, with W = h M⁻¹ hᵀ (Delassus) and q = h M⁻¹ f + w:

    u = W r + q

In both, contact k owns the rows dim·k … dim·k + dim − 1, the normal first, and

    K* ∋ u + µ |u_T| e_N   ⊥   r ∈ K = {|r_T| ≤ µ r_N}

which is Signorini's and Coulomb's law at every contact. The names are FCLIB's, except that h is the
transpose of its H: a row of h says how a contact velocity follows from the bodies' velocities.

**One step as matrices** (`global_form`). Only what can move is a component of v; what is prescribed
(walls, driven and locked grains) is part of w, and so are the biases: gap speed and rebounds.
Cohesion shifts the cone, P ∈ K − c e_N (see `law/coupled.py`); with r = P + c e_N it is K again and
the pull −c e_N goes into f. A contact that nothing can push along its normal never bears an impulse
in this package; its rows are zero here, in w too, so that r = 0 solves it.

All dim rows of a contact have the same columns, the movable components of its first and then of its
second body, stored zeros included: a contact is one dense block of h, in order of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from hardgrain.errors import InputError
from hardgrain.kernels import jit, scalar
from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import BLOCKED
from hardgrain.point.frame import make_frame
from hardgrain.scene.lawtable import MU_DYNAMIC, MU_STATIC, ROLLING, TORSION
from hardgrain.solve.problem import Floats, Ints, Problem, Stage

__all__ = [
    "ContactFrames", "GlobalForm", "LocalForm", "MatrixSolution", "coulomb_residual", "global_form",
]  # fmt: skip

_law, _frame = make_contact(scalar), make_frame(scalar)
normal_shift, tangent_shift = _law.normal_shift, _law.tangent_shift
friction, cohesion = _law.friction, _law.cohesion
cross, tangent = _frame.cross, _frame.tangent

BODY = 64  # [rows] largest block of M that is inverted as a dense matrix; larger: sparse factors
COLUMNS = 512  # columns of hᵀ that are solved for at a time where M has large blocks


@dataclass(frozen=True, eq=False)
class LocalForm:
    """u = W r + q."""

    dim: int
    delassus: csr_array  # (m·dim, m·dim) W [1/mass]; need not be symmetric
    q: Floats  # (m·dim,) contact velocities without impulses
    mu: Floats  # (m,)
    start: Floats | None = None  # (m·dim,) impulses to start from; None: zero

    def __post_init__(self) -> None:
        rows = self.q.size
        _check(self.dim, rows, self.mu, self.start)
        _shape("W", self.delassus, rows, rows)

    @property
    def contacts(self) -> int:
        return self.mu.size

    def local(self) -> LocalForm:
        """The form itself."""
        return self

    def contact_velocity(self, r: Floats) -> Floats:
        """u, shape (m·dim,)."""
        u: Floats = self.delassus @ r + self.q
        return u


@dataclass(frozen=True, eq=False)
class GlobalForm:
    """M v = f + hᵀ r,  u = h v + w."""

    dim: int
    mass: csc_array  # (n, n) M, symmetric and positive definite
    h: csr_array  # (m·dim, n)
    f: Floats  # (n,) momentum without impulses: M v*
    w: Floats  # (m·dim,) contact velocities of what is prescribed, and biases
    mu: Floats  # (m,)
    start: Floats | None = None  # (m·dim,) impulses to start from; None: zero

    def __post_init__(self) -> None:
        rows = self.w.size
        _check(self.dim, rows, self.mu, self.start)
        _shape("M", self.mass, self.f.size, self.f.size)
        _shape("h", self.h, rows, self.f.size)

    @property
    def contacts(self) -> int:
        return self.mu.size

    def local(self) -> LocalForm:
        """The same problem in impulses alone; made once."""
        return self._local

    def velocity(self, r: Floats) -> Floats:
        """v = M⁻¹ (f + hᵀ r), shape (n,)."""
        v: Floats = self._solve(self.f + self.h.T @ r)
        return v

    def contact_velocity(self, r: Floats) -> Floats:
        """u, shape (m·dim,)."""
        u: Floats = self.h @ self.velocity(r) + self.w
        return u

    @cached_property
    def _local(self) -> LocalForm:
        inverse = self._inverse
        w = self._by_columns() if inverse is None else self.h @ inverse @ self.h.T
        w = csr_array(w)
        w.sort_indices()
        q = self.h @ self._solve(self.f) + self.w
        return LocalForm(self.dim, w, q, self.mu, self.start)

    @cached_property
    def _inverse(self) -> csr_array | None:
        """M⁻¹ where M is made of small blocks, one for each body; otherwise None."""
        n, mass = self.f.size, self.mass
        mass.sum_duplicates()
        own = np.arange(n + 1)
        if np.array_equal(mass.indptr, own) and np.array_equal(mass.indices, own[:n]):
            if n and not mass.data.min() > 0.0:
                raise InputError(_NOT_POSITIVE)
            return csr_array((1.0 / mass.data, mass.indices, mass.indptr), shape=(n, n))
        count, body = connected_components(mass, directed=False)
        sizes = np.bincount(body, minlength=count)
        if sizes.max() > BODY:
            return None
        order = np.argsort(body, kind="stable")
        place = np.empty(n, np.intp)  # of each row within its block
        begin = np.cumsum(sizes) - sizes
        place[order] = np.arange(n) - np.repeat(begin, sizes)
        entry = mass.tocoo()
        rows: list[Any] = []
        columns: list[Any] = []
        values: list[Floats] = []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            number = np.full(count, -1)
            number[chosen] = np.arange(chosen.size)
            mine = number[body[entry.row]]
            here = mine >= 0
            block = np.zeros((chosen.size, size, size))
            block[mine[here], place[entry.row[here]], place[entry.col[here]]] = entry.data[here]
            try:
                np.linalg.cholesky(block)
            except np.linalg.LinAlgError:
                raise InputError(_NOT_POSITIVE) from None
            index = order[begin[chosen][:, None] + np.arange(size)]
            rows.append(np.repeat(index, size, axis=1).ravel())
            columns.append(np.tile(index, (1, size)).ravel())
            values.append(np.linalg.inv(block).ravel())
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_array(entries, shape=(n, n))

    @cached_property
    def _solve(self) -> Callable[[Any], Any]:
        """M⁻¹ as a function."""
        inverse = self._inverse
        if inverse is not None:
            return lambda right: inverse @ right
        from scipy.sparse.linalg import splu

        try:
            solve: Callable[[Any], Any] = splu(
                csc_array(self.mass), options={"SymmetricMode": True}, diag_pivot_thresh=0.0,
                permc_spec="MMD_AT_PLUS_A",
            ).solve  # fmt: skip
        except RuntimeError:  # singular
            raise InputError(_NOT_POSITIVE) from None
        return solve

    def _by_columns(self) -> csc_array:
        """h M⁻¹ hᵀ where M⁻¹ is not sparse, some columns at a time."""
        from scipy.sparse import hstack

        transpose = csc_array(self.h.T)
        parts = [
            csc_array(self.h @ self._solve(transpose[:, at : at + COLUMNS].toarray()))
            for at in range(0, transpose.shape[1], COLUMNS)
        ]
        return hstack(parts, format="csc")


@dataclass(frozen=True)
class MatrixSolution:
    """Velocities and impulses of a form, and how far they can be trusted."""

    u: Floats  # (m·dim,) contact velocities
    r: Floats  # (m·dim,) impulses
    v: Floats | None  # (n,) velocities, of a global form
    sweeps: int
    converged: bool  # the solver's own criterion was met
    residual: float  # largest violation of the laws, see point/residual.py [1]
    residual_rms: float  # the same, root mean square [1]
    history: tuple[Stage, ...] = ()  # how it came about


@dataclass(frozen=True)
class ContactFrames:
    """How a step's global form lies in space: what maps r and v back to the step."""

    axes: Floats  # (m, dim, dim) unit vectors of each contact, the normal first
    dofs: Ints  # (n,) which components of (velocity, spin), shape (nb, dim + ns), are v
    shift: Floats  # (m,) c of cohesion: r_N = P_N + c [mass × speed]

    def impulse(self, r: Floats) -> Floats:
        """Impulses on the second bodies, shape (m, dim)."""
        part = r.reshape(self.axes.shape[:2]).copy()
        part[:, 0] -= self.shift
        p: Floats = np.matmul(part[:, None, :], self.axes)[:, 0]
        return p

    def components(self, impulse: Floats) -> Floats:
        """r of given impulses, shape (m·dim,)."""
        r = np.matmul(self.axes, impulse[:, :, None])[..., 0]
        r[:, 0] += self.shift
        flat: Floats = r.ravel()
        return flat

    def motion(self, problem: Problem, v: Floats) -> tuple[Floats, Floats]:
        """Velocities and spins of all bodies, shapes (nb, dim) and (nb, ns)."""
        both = np.concatenate((problem.velocity, problem.spin), axis=1)
        both.ravel()[self.dofs] = v
        return both[:, : problem.dim].copy(), both[:, problem.dim :].copy()


def global_form(problem: Problem) -> tuple[GlobalForm, ContactFrames]:
    """One step of this package as matrices; it starts from the problem's impulses.

    Coulomb's law with one coefficient, restitution and cohesion can be said so; contacts with
    another law are refused.
    """
    data, columns, rows, dofs, mass, f, w, mu, shift, axes, start, refused = assemble(
        problem.rows, problem.motion, problem.laws, problem.dt, problem.remove_overlaps
    )
    if refused >= 0:
        i, j = int(problem.first[refused]), int(problem.second[refused])
        law = problem.laws[problem.law[refused]]
        raise InputError(
            f"the contact of bodies {i} and {j} has {_beyond(law)}, which matrices with Coulomb's"
            " law cannot hold; use a Gauss–Seidel solver on the step itself"
        )
    n = dofs.size
    all_of_v = np.arange(n + 1, dtype=np.int32)
    form = GlobalForm(
        problem.dim,
        csc_array((mass, all_of_v[:n], all_of_v), shape=(n, n)),
        csr_array((data, columns, rows), shape=(w.size, n)),
        f, w, mu, start,
    )  # fmt: skip
    return form, ContactFrames(axes, dofs, shift)


@np.errstate(over="ignore", invalid="ignore")  # impulses that ran away give inf or nan
def coulomb_residual(form: GlobalForm | LocalForm, r: Floats) -> float:
    """How far impulses r are from solving a form, by the natural map, as a pure number.

    ‖r − P_K(r − ρ (u + µ |u_T| e_N))‖ / (ρ ‖q‖), with 1/ρ the mean diagonal element of W: the
    velocity that contacts still want, relative to what they would have without impulses. Zero
    exactly where Signorini's and Coulomb's laws hold. With ρ far from that scale, some wrong
    answers look converged.
    """
    local = form.local()
    if local.contacts == 0:
        return 0.0
    rho = 1.0 / (float(local.delassus.diagonal().mean()) or 1.0)
    p = r.reshape(local.contacts, local.dim)
    u = local.contact_velocity(r).reshape(p.shape)
    x = p - rho * u
    x[:, 0] -= rho * local.mu * np.linalg.norm(u[:, 1:], axis=1)
    missed = float(np.linalg.norm(p - _on_cone(x, local.mu))) / rho
    scale = float(np.linalg.norm(local.q))
    return missed / scale if scale > 0.0 else (0.0 if missed == 0.0 else math.inf)


def _on_cone(x: Floats, mu: Floats) -> Floats:
    """The nearest points of the cones |x_T| ≤ µ x_N, shape (m, dim)."""
    side = np.linalg.norm(x[:, 1:], axis=1)
    along = np.maximum(x[:, 0] + mu * side, 0.0) / (1.0 + mu * mu)  # nearest on the cone's line
    inside = side <= mu * x[:, 0]
    near = np.empty_like(x)
    near[:, 0] = np.where(inside, x[:, 0], along)
    share = np.divide(mu * along, side, out=np.zeros_like(side), where=side > 0.0)
    near[:, 1:] = np.where(inside, 1.0, share)[:, None] * x[:, 1:]
    return near


_NOT_POSITIVE = "M is not positive definite; give the mass matrix of bodies that can move"


def _check(dim: int, rows: int, mu: Floats, start: Floats | None) -> None:
    if dim not in (2, 3):
        raise InputError(f"the space of a contact problem is {dim}; it must be 2 or 3")
    if rows != dim * mu.size:
        raise InputError(f"{mu.size} contacts in {dim}D have {dim * mu.size} rows, not {rows}")
    if mu.size and not mu.min() >= 0.0:
        k = int(np.flatnonzero(~(mu >= 0.0))[0])
        raise InputError(f"µ of contact {k} is {mu[k]:g}; it must not be negative")
    if start is not None and start.shape != (rows,):
        raise InputError(f"start has shape {start.shape}; it must be ({rows},)")


def _shape(name: str, matrix: Any, rows: int, columns: int) -> None:
    if matrix.shape != (rows, columns):
        given = " × ".join(map(str, matrix.shape))
        raise InputError(f"{name} is {given}; it must be {rows} × {columns}")


def _beyond(law: Floats) -> str:
    """What of a law is more than Coulomb's."""
    if law[MU_STATIC] != law[MU_DYNAMIC]:
        return f"friction {law[MU_STATIC]:g} and friction_dynamic {law[MU_DYNAMIC]:g}"
    name, value = ("rolling", law[ROLLING]) if law[ROLLING] > 0.0 else ("torsion", law[TORSION])
    return f"{name} resistance {value:g}"


@jit
def assemble(points, motion, laws, dt, remove_overlaps):  # type: ignore[no-untyped-def]
    """Everything of a step's global form and its frame, as flat arrays; h by rows (CSR).

    The last number returned is a contact whose law cannot be expressed, or −1. A contact velocity
    along e is e·(v_j − v_i) + (l_j × e)·ω_j − (l_i × e)·ω_i, with arms l. In 2D
    vectors have a third component zero, and of a turn only the third is there.
    """
    first, second, normal, gap = points.first, points.second, points.normal, points.gap
    velocity, spin = motion.velocity, motion.spin
    velocity_before, spin_before = motion.velocity_before, motion.spin_before
    inv_mass, inv_inertia = motion.inv_mass, motion.inv_inertia
    m, nb, dim, ns = first.size, velocity.shape[0], normal.shape[1], spin.shape[1]
    size = dim + ns
    free, before, inverse = np.empty((nb, size)), np.empty((nb, size)), np.empty((nb, size))
    column = np.full((nb, size), -1, np.int32)
    dofs = np.empty(nb * size, np.int32)
    count = 0
    for i in range(nb):
        for a in range(size):
            if a < dim:
                free[i, a], before[i, a] = velocity[i, a], velocity_before[i, a]
                inverse[i, a] = inv_mass[i, a]
            else:
                free[i, a], before[i, a] = spin[i, a - dim], spin_before[i, a - dim]
                inverse[i, a] = inv_inertia[i, a - dim]
            if inverse[i, a] > 0.0:
                column[i, a] = count
                dofs[count] = i * size + a
                count += 1
    dofs = dofs[:count].copy()
    mass, f = np.empty(count), np.empty(count)
    for i in range(nb):
        for a in range(size):
            c = column[i, a]
            if c >= 0:
                mass[c] = 1.0 / inverse[i, a]
                f[c] = mass[c] * free[i, a]

    movable = np.zeros(nb, np.int32)
    for i in range(nb):
        for a in range(size):
            movable[i] += column[i, a] >= 0
    rows = np.zeros(dim * m + 1, np.int32)
    for k in range(m):
        for e in range(dim):
            row = dim * k + e
            rows[row + 1] = rows[row] + movable[first[k]] + movable[second[k]]
    data, columns = np.empty(rows[-1]), np.empty(rows[-1], np.int32)

    w, mu, shift = np.empty(dim * m), np.empty(m), np.zeros(m)
    axes, start = np.empty((m, dim, dim)), np.zeros(dim * m)
    refused = -1
    axis, part = np.zeros((3, 3)), np.empty((3, 2 * size))
    inert = np.empty(2 * size)
    for k in range(m):
        i, j = first[k], second[k]
        law = laws[points.law[k]]
        if law[MU_STATIC] != law[MU_DYNAMIC] or law[ROLLING] > 0.0:
            refused = k
        elif dim == 3 and law[TORSION] > 0.0:
            refused = k
        if refused >= 0:
            break
        mu[k] = friction(law)[1]
        nx, ny = normal[k, 0], normal[k, 1]
        nz = normal[k, 2] if dim == 3 else 0.0
        tx, ty, tz = -ny, nx, 0.0
        if dim == 3:
            tx, ty, tz = tangent(nx, ny, nz)
        sx, sy, sz = cross(nx, ny, nz, tx, ty, tz)
        axis[0, 0], axis[0, 1], axis[0, 2] = nx, ny, nz
        axis[1, 0], axis[1, 1], axis[1, 2] = tx, ty, tz
        axis[2, 0], axis[2, 1], axis[2, 2] = sx, sy, sz

        ix, iy, iz = points.arm_first[k, 0], points.arm_first[k, 1], 0.0
        jx, jy, jz = points.arm_second[k, 0], points.arm_second[k, 1], 0.0
        if dim == 3:
            iz, jz = points.arm_first[k, 2], points.arm_second[k, 2]
        for a in range(size):
            inert[a], inert[size + a] = inverse[i, a], inverse[j, a]

        # the rows over all components of both bodies, and W_kk
        w_nn, w_tt = 0.0, 0.0
        for e in range(dim):
            ex, ey, ez = axis[e, 0], axis[e, 1], axis[e, 2]
            for a in range(dim):
                axes[k, e, a] = axis[e, a]
                part[e, a], part[e, size + a] = -axis[e, a], axis[e, a]
            ax, ay, az = cross(ix, iy, iz, ex, ey, ez)
            bx, by, bz = cross(jx, jy, jz, ex, ey, ez)
            if dim == 3:
                part[e, 3], part[e, 4], part[e, 5] = -ax, -ay, -az
                part[e, 9], part[e, 10], part[e, 11] = bx, by, bz
            else:
                part[e, 2], part[e, 5] = -az, bz
            s = 0.0
            for a in range(2 * size):
                s += inert[a] * part[e, a] * part[e, a]
            if e == 0:
                w_nn = s
            else:
                w_tt += s
        live = w_nn > BLOCKED * w_tt
        if live:
            shift[k] = cohesion(law, gap[k], dt)

        for e in range(dim):
            row = dim * k + e
            u_free, u_before, fixed = 0.0, 0.0, 0.0
            at = rows[row]
            for a in range(2 * size):
                body, which = (i, a) if a < size else (j, a - size)
                u_free += part[e, a] * free[body, which]
                u_before += part[e, a] * before[body, which]
                c = column[body, which]
                if c < 0:
                    fixed += part[e, a] * free[body, which]
                else:
                    data[at] = part[e, a] if live else 0.0
                    columns[at] = c
                    at += 1
                    if live and e == 0:
                        f[c] -= part[e, a] * shift[k]
            if e == 0:
                bias = normal_shift(law, gap[k], u_free, u_before, dt, remove_overlaps)
            else:
                bias = tangent_shift(law, u_before)
            w[row] = fixed + bias if live else 0.0
            if live:
                for a in range(dim):
                    start[row] += axis[e, a] * points.impulse[k, a]
                if e == 0:
                    start[row] += shift[k]
    return data, columns, rows, dofs, mass, f, w, mu, shift, axes, start, refused
