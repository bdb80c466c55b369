"""Contact updates for problems given as a matrix, u = W r + q, without any bodies.

Contact k sees U_k = q_k + Σ_j W_kj r_j without its own impulse and answers with the general law
(`law/coupled.py`) for its own block W_kk. That law needs a symmetric matrix. Where W_kk is not
symmetric (in some imported problems, by 10⁻³), the law gets its symmetric part, and the rest acts
with the impulse that the contact has: U_k then includes (W_kk − W_kkᵀ)/2 r_k. What the sweeps
converge to then obeys the matrix as it is.

The five functions are those of `solve.lean` and `solve.full`; an update writes nothing but the
contact's own impulse, and costs one block for each neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.full import coupled_2d, coupled_3d
from hardgrain.solve.problem import Floats, Ints

if TYPE_CHECKING:
    from hardgrain.solve.matrices import LocalForm

Components = tuple[float, float, float, float, float, float, float]


class Blocks2D(NamedTuple):
    """Packed rows of W in 2D."""

    first: np.ndarray  # (m,) uint32 first block of each row
    second: np.ndarray  # (m,) uint32 one past the last block of each row
    c: np.ndarray  # (m, 9): r_n r_t  q_n q_t  µ  W_nn W_nt W_tt, (W_nt − W_tn)/2
    b: np.ndarray  # (blocks, 4): W_kj by rows, j ≠ k
    other: np.ndarray  # (blocks,) uint32 j


class Blocks3D(NamedTuple):
    """Packed rows of W in 3D."""

    first: np.ndarray  # (m,) uint32 first block of each row
    second: np.ndarray  # (m,) uint32 one past the last block of each row
    c: np.ndarray  # (m, 16): r (3) q (3) µ  W: nn nt ns tt ts ss, its odd part: nt ns ts
    b: np.ndarray  # (blocks, 9): W_kj by rows, j ≠ k
    other: np.ndarray  # (blocks,) uint32 j


@device
def velocity_2d(p: Blocks2D, k: int) -> tuple[float, float]:
    """Contact velocity without the contact's own impulse (but for the odd part of W_kk)."""
    u_n = p.c[k, 2] + p.c[k, 8] * p.c[k, 1]
    u_t = p.c[k, 3] - p.c[k, 8] * p.c[k, 0]
    for s in range(p.first[k], p.second[k]):
        j = p.other[s]
        r_n, r_t = p.c[j, 0], p.c[j, 1]
        u_n += p.b[s, 0] * r_n + p.b[s, 1] * r_t
        u_t += p.b[s, 2] * r_n + p.b[s, 3] * r_t
    return u_n, u_t


@device
def wanted_2d(p: Blocks2D, k: int) -> Components:
    u_n, u_t = velocity_2d(p, k)
    mu = p.c[k, 4]
    r_n, r_t = coupled_2d(u_n, u_t, p.c[k, 5], p.c[k, 6], p.c[k, 7], mu, mu, 0.0)
    return r_n, r_t, 0.0, 0.0, 0.0, 0.0, 0.0


@device
def present_2d(p: Blocks2D, k: int) -> Components:
    return p.c[k, 0], p.c[k, 1], 0.0, 0.0, 0.0, 0.0, 0.0


@device
def set_impulse_2d(p: Blocks2D, k: int, q: Components) -> None:
    p.c[k, 0], p.c[k, 1] = q[0], q[1]


@device
def relax_contact_2d(p: Blocks2D, k: int) -> None:
    set_impulse_2d(p, k, wanted_2d(p, k))


@device
def speed_squared_2d(p: Blocks2D, k: int, q: Components) -> float:
    x = p.c[k, 5] * q[0] + p.c[k, 6] * q[1]
    y = p.c[k, 6] * q[0] + p.c[k, 7] * q[1]
    return x * x + y * y  # type: ignore[no-any-return]


@device
def velocity_3d(p: Blocks3D, k: int) -> tuple[float, float, float]:
    """Contact velocity without the contact's own impulse (but for the odd part of W_kk)."""
    r_n, r_t, r_s = p.c[k, 0], p.c[k, 1], p.c[k, 2]
    nt, ns, ts = p.c[k, 13], p.c[k, 14], p.c[k, 15]
    u_n = p.c[k, 3] + nt * r_t + ns * r_s
    u_t = p.c[k, 4] - nt * r_n + ts * r_s
    u_s = p.c[k, 5] - ns * r_n - ts * r_t
    for s in range(p.first[k], p.second[k]):
        j = p.other[s]
        r_n, r_t, r_s = p.c[j, 0], p.c[j, 1], p.c[j, 2]
        u_n += p.b[s, 0] * r_n + p.b[s, 1] * r_t + p.b[s, 2] * r_s
        u_t += p.b[s, 3] * r_n + p.b[s, 4] * r_t + p.b[s, 5] * r_s
        u_s += p.b[s, 6] * r_n + p.b[s, 7] * r_t + p.b[s, 8] * r_s
    return u_n, u_t, u_s


@device
def wanted_3d(p: Blocks3D, k: int) -> Components:
    u_n, u_t, u_s = velocity_3d(p, k)
    mu = p.c[k, 6]
    r_n, r_t, r_s = coupled_3d(
        u_n, u_t, u_s, p.c[k, 7], p.c[k, 8], p.c[k, 9], p.c[k, 10], p.c[k, 11], p.c[k, 12],
        mu, mu, 0.0,
    )  # fmt: skip
    return r_n, r_t, r_s, 0.0, 0.0, 0.0, 0.0


@device
def present_3d(p: Blocks3D, k: int) -> Components:
    return p.c[k, 0], p.c[k, 1], p.c[k, 2], 0.0, 0.0, 0.0, 0.0


@device
def set_impulse_3d(p: Blocks3D, k: int, q: Components) -> None:
    p.c[k, 0], p.c[k, 1], p.c[k, 2] = q[0], q[1], q[2]


@device
def relax_contact_3d(p: Blocks3D, k: int) -> None:
    set_impulse_3d(p, k, wanted_3d(p, k))


@device
def speed_squared_3d(p: Blocks3D, k: int, q: Components) -> float:
    x = p.c[k, 7] * q[0] + p.c[k, 8] * q[1] + p.c[k, 9] * q[2]
    y = p.c[k, 8] * q[0] + p.c[k, 10] * q[1] + p.c[k, 11] * q[2]
    z = p.c[k, 9] * q[0] + p.c[k, 11] * q[1] + p.c[k, 12] * q[2]
    return x * x + y * y + z * z  # type: ignore[no-any-return]


@jit
def split(  # type: ignore[no-untyped-def]
    order, starts, columns, blocks, q, mu, r
):
    """Arrays of a packed problem from the block rows of W; row s holds contact ``order[s]``."""
    m, dim = mu.size, blocks.shape[1]
    row_of = np.empty(m, np.uint32)
    for row in range(m):
        row_of[order[row]] = row
    first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
    c = np.zeros((m, 9 if dim == 2 else 16))
    b = np.empty((columns.size, dim * dim))
    other = np.empty(columns.size, np.uint32)
    at = 0
    for row in range(m):
        k = order[row]
        for a in range(dim):
            c[row, a], c[row, dim + a] = r[dim * k + a], q[dim * k + a]
        c[row, 2 * dim] = mu[k]
        first[row] = at
        for s in range(starts[k], starts[k + 1]):
            if columns[s] != k:
                other[at] = row_of[columns[s]]
                for a in range(dim):
                    for d in range(dim):
                        b[at, dim * a + d] = blocks[s, a, d]
                at += 1
                continue
            even = 2 * dim + 1
            odd = even + dim * (dim + 1) // 2
            for a in range(dim):
                for d in range(a, dim):
                    c[row, even] = 0.5 * (blocks[s, a, d] + blocks[s, d, a])
                    even += 1
                    if d > a:
                        c[row, odd] = 0.5 * (blocks[s, a, d] - blocks[s, d, a])
                        odd += 1
        second[row] = at
    return first, second, c, b[:at].copy(), other[:at].copy()


@jit
def colours(starts: Ints, columns: Ints) -> Ints:
    """Greedy colouring in list order: no two contacts of one colour see each other, shape (m,).

    The pattern must be symmetric. Contacts for which 63 colours do not suffice get the colour 63.
    """
    most = 63
    of = np.full(starts.size - 1, -1, np.int32)
    one = np.uint64(1)
    for k in range(of.size):
        taken = np.uint64(0)
        for s in range(starts[k], starts[k + 1]):
            if 0 <= of[columns[s]] < most:
                taken |= one << np.uint64(of[columns[s]])
        c = 0
        while c < most and taken & (one << np.uint64(c)):
            c += 1
        of[k] = c
    return of


def by_colour(form: LocalForm) -> tuple[Ints, Ints]:
    """Contacts sorted by colour and the start of each colour, as `solve.order.colour` has them."""
    pattern = abs(form.delassus)
    seen = (pattern + pattern.T).tobsr((form.dim, form.dim))
    of = colours(seen.indptr, seen.indices)
    order = np.argsort(of, kind="stable").astype(np.int32)
    number = int(of[of < 63].max(initial=-1)) + 1
    starts = np.searchsorted(of[order], [*range(number + 1), 64]).astype(np.int32)
    return order, starts


def pack(form: LocalForm, order: Ints, r: Floats) -> Blocks2D | Blocks3D:
    """Fill a packed problem that starts from the impulses r; row s holds contact ``order[s]``."""
    rows = form.delassus.tobsr((form.dim, form.dim))
    rows.sum_duplicates()
    parts = split(order, rows.indptr, rows.indices, rows.data, form.q, form.mu, r)
    return Blocks2D(*parts) if form.dim == 2 else Blocks3D(*parts)


def unpack(p: Blocks2D | Blocks3D, order: Ints, dim: int) -> Floats:
    """Impulses of a relaxed problem, shape (m·dim,)."""
    r = np.empty((order.size, dim))
    r[order] = p.c[:, :dim]
    return r.ravel()
