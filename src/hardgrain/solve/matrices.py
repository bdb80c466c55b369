"""Contact problems as matrices, where steps of this package and imported problems meet.

**Global form**, in velocities and impulses:

    M v = f + hᵀ r,    u = h v + w

**Local form**, in impulses alone, with W = h M⁻¹ hᵀ (Delassus) and q = h M⁻¹ f + w:

    u = W r + q

In both, contact k owns the rows dim·k … dim·k + dim − 1, the normal first, and

    K* ∋ u + µ |u_T| e_N   ⊥   r ∈ K = {|r_T| ≤ µ r_N}

which is Signorini's and Coulomb's law at every contact. The names are FCLIB's, except that h is the
transpose of its H: a row of h says how a contact velocity follows from the bodies' velocities.
Steps of this package are written so by `solve.assembly`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import bsr_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from hardgrain.errors import InputError
from hardgrain.solve.problem import Floats, Ints, Stage

__all__ = [
    "GlobalForm", "LocalForm", "MatrixSolution", "block_diagonal", "coulomb_residual", "lu_factors",
]  # fmt: skip

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
    pair: Ints | None = None  # (pairs + 1,) first contact of each pair of bodies; None: not known

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


def block_diagonal(d: Floats) -> bsr_array:
    """One sparse matrix with the blocks d (m, dim, dim) on its diagonal."""
    m = len(d)
    index = np.arange(m + 1)
    return bsr_array((d, index[:m], index), shape=(m * d.shape[1], m * d.shape[2]))


def lu_factors(k: csc_array) -> tuple[Any, float]:
    """Factors of a matrix and the sign of its determinant; none and 0 if it is singular."""
    from scipy.sparse.linalg import splu

    try:
        lu = splu(
            k, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options={"SymmetricMode": True}
        )
    except RuntimeError:
        return None, 0.0
    sign = np.prod(np.sign(lu.U.diagonal())) * _parity(lu.perm_r) * _parity(lu.perm_c)
    return lu, float(sign)


def _parity(permutation: Ints) -> float:
    """+1 for an even permutation, −1 for an odd one; n minus its cycles is even or odd with it."""
    n = permutation.size
    graph = csr_array((np.ones(n), permutation, np.arange(n + 1)), shape=(n, n))
    cycles = connected_components(graph, directed=False)[0]
    return -1.0 if (n - cycles) % 2 else 1.0
