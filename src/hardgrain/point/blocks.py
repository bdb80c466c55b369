"""Contact updates for problems given as a matrix, u = W r + q, without any bodies.

Contact k sees U_k = q_k + Σ_j W_kj r_j, j ≠ k, and answers with the general law
(`law/coupled.py`) for its own block W_kk. That law needs a symmetric matrix. Where W_kk is not
symmetric (in some imported problems, by 10⁻³), the law gets its symmetric part, and the rest acts
with the impulse that the contact has: U_k then includes (W_kk − W_kkᵀ)/2 r_k. What the sweeps
converge to then obeys the matrix as it is.

**Who tells whom.** Each contact keeps its U_k. One whose impulse changes by δ adds W_jk δ to that
of every neighbour j, and one that stays open does nothing. Of the contact points of grains that
deform two thirds are open and each has some fifty neighbours, so that this costs half as much as
summing U_k in every update. Rounding adds to U_k of the order of 10⁻¹⁶ of what was told.

**Pairs.** Contact points between the same two bodies hinder each other most: nodes of one surface
on facets of the other, and the other way round, say nearly the same twice. A visit is to a pair.
Its points are relaxed in turn until they agree among themselves, telling only each other; then all
other contacts are told, once. Of 1400 points of a hundred disks, in 220 pairs, this takes 3 to 5
sweeps where sweeps over single points take 50 to 190, in a seventh of the time. A problem that
names no pairs has one contact in each.

The five functions are those of `point.lean_2d` and its like, where ``relax_contact`` has the number
of a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.coupled import make_coupled

Components = tuple[float, float, float, float, float, float, float]

# [updates] Each point of a pair is relaxed so often in a visit, at most. With 10 and 20, twice as
# many sweeps are needed as with 40; few pairs need more.
PASSES = 40
# [1] A visit ends when the impulses of a pair change by so small a share of what they have changed
# since it began. With 0.1, up to twice as many sweeps are needed; 0.001 takes longer in all.
AGREED = 0.01


class Blocks2D(NamedTuple):
    """Packed columns of W in 2D."""

    first: np.ndarray  # (m,) uint32 first block of each column; those of its own pair come first
    second: np.ndarray  # (m,) uint32 one past the last block of each column
    c: np.ndarray  # (m, 11): r_n r_t  U_n U_t  µ  W_nn W_nt W_tt, (W_nt − W_tn)/2, r others know
    b: np.ndarray  # (blocks, 4): W_jk by rows, j ≠ k
    other: np.ndarray  # (blocks,) uint32 j
    own: np.ndarray  # (m,) uint32 one past the last block of the contact's own pair
    pair: np.ndarray  # (pairs + 1,) uint32 first contact of each pair


class Blocks3D(NamedTuple):
    """Packed columns of W in 3D."""

    first: np.ndarray  # (m,) uint32 first block of each column; those of its own pair come first
    second: np.ndarray  # (m,) uint32 one past the last block of each column
    c: np.ndarray  # (m, 19): r (3) U (3) µ  W: nn nt ns tt ts ss, odd: nt ns ts, r others know (3)
    b: np.ndarray  # (blocks, 9): W_jk by rows, j ≠ k
    other: np.ndarray  # (blocks,) uint32 j
    own: np.ndarray  # (m,) uint32 one past the last block of the contact's own pair
    pair: np.ndarray  # (pairs + 1,) uint32 first contact of each pair


def _make_visit(jit: Callable[..., Any], wanted: Any, take: Any, since: Any, told: Any) -> Any:
    """The visit to a pair, in either dimension."""

    @jit
    def visit(p: Any, i: int) -> None:
        """Relax the points of pair i until they agree, then tell all others."""
        low, high = p.pair[i], p.pair[i + 1]
        for _ in range(PASSES):
            last, total = 0.0, 0.0
            for k in range(low, high):
                last += take(p, k, wanted(p, k))
                total += since(p, k)
            if high - low == 1 or last <= AGREED * AGREED * total:
                break
        for k in range(low, high):
            told(p, k)

    return visit


@cache
def make_blocks_2d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact of a `Blocks2D`."""
    coupled_2d = make_coupled(jit).coupled_2d

    @jit
    def velocity(p: Blocks2D, k: int) -> tuple[float, float]:
        """Contact velocity without the contact's own impulse (but for the odd part of W_kk)."""
        odd = p.c[k, 8]
        return p.c[k, 2] + odd * p.c[k, 1], p.c[k, 3] - odd * p.c[k, 0]

    @jit
    def wanted(p: Blocks2D, k: int) -> Components:
        """The impulse that the law would have now, padded to seven components."""
        u_n, u_t = velocity(p, k)
        mu = p.c[k, 4]
        r_n, r_t = coupled_2d(u_n, u_t, p.c[k, 5], p.c[k, 6], p.c[k, 7], mu, mu, 0.0)
        return r_n, r_t, 0.0, 0.0, 0.0, 0.0, 0.0

    @jit
    def present(p: Blocks2D, k: int) -> Components:
        """The impulse that contact k has, padded to seven components."""
        return p.c[k, 0], p.c[k, 1], 0.0, 0.0, 0.0, 0.0, 0.0

    @jit
    def tell(p: Blocks2D, low: int, high: int, d_n: float, d_t: float) -> None:
        """Add the velocities that a change of impulse causes, block by block."""
        for s in range(low, high):
            j = p.other[s]
            p.c[j, 2] += p.b[s, 0] * d_n + p.b[s, 1] * d_t
            p.c[j, 3] += p.b[s, 2] * d_n + p.b[s, 3] * d_t

    @jit
    def take(p: Blocks2D, k: int, q: Components) -> Any:
        """Give contact k the impulse q and tell its own pair; the square of the change."""
        d_n, d_t = q[0] - p.c[k, 0], q[1] - p.c[k, 1]
        if d_n == 0.0 and d_t == 0.0:
            return 0.0
        p.c[k, 0], p.c[k, 1] = q[0], q[1]
        tell(p, p.first[k], p.own[k], d_n, d_t)
        return d_n * d_n + d_t * d_t

    @jit
    def tell_others(p: Blocks2D, k: int) -> None:
        """Tell all other pairs of the impulse that contact k has now."""
        d_n, d_t = p.c[k, 0] - p.c[k, 9], p.c[k, 1] - p.c[k, 10]
        if d_n == 0.0 and d_t == 0.0:
            return
        p.c[k, 9], p.c[k, 10] = p.c[k, 0], p.c[k, 1]
        tell(p, p.own[k], p.second[k], d_n, d_t)

    @jit
    def since(p: Blocks2D, k: int) -> Any:
        """Square of the change of an impulse since other pairs were told of it."""
        d_n, d_t = p.c[k, 0] - p.c[k, 9], p.c[k, 1] - p.c[k, 10]
        return d_n * d_n + d_t * d_t

    @jit
    def set_impulse(p: Blocks2D, k: int, q: Components) -> None:
        """Give contact k the impulse q, and all its neighbours what the change causes."""
        take(p, k, q)
        tell_others(p, k)

    relax_contact = _make_visit(jit, wanted, take, since, tell_others)

    @jit
    def speed_squared(p: Blocks2D, k: int, q: Components) -> Any:
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        x = p.c[k, 5] * q[0] + p.c[k, 6] * q[1]
        y = p.c[k, 6] * q[0] + p.c[k, 7] * q[1]
        return x * x + y * y

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared,
    )  # fmt: skip


@cache
def make_blocks_3d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact of a `Blocks3D`."""
    coupled_3d = make_coupled(jit).coupled_3d

    @jit
    def velocity(p: Blocks3D, k: int) -> tuple[float, float, float]:
        """Contact velocity without the contact's own impulse (but for the odd part of W_kk)."""
        r_n, r_t, r_s = p.c[k, 0], p.c[k, 1], p.c[k, 2]
        nt, ns, ts = p.c[k, 13], p.c[k, 14], p.c[k, 15]
        u_n = p.c[k, 3] + nt * r_t + ns * r_s
        u_t = p.c[k, 4] - nt * r_n + ts * r_s
        u_s = p.c[k, 5] - ns * r_n - ts * r_t
        return u_n, u_t, u_s

    @jit
    def wanted(p: Blocks3D, k: int) -> Components:
        """The impulse that the law would have now, padded to seven components."""
        w = p.c[k, 7], p.c[k, 8], p.c[k, 9], p.c[k, 10], p.c[k, 11], p.c[k, 12]
        mu = p.c[k, 6]
        r_n, r_t, r_s = coupled_3d(velocity(p, k), w, mu, mu, 0.0)
        return r_n, r_t, r_s, 0.0, 0.0, 0.0, 0.0

    @jit
    def present(p: Blocks3D, k: int) -> Components:
        """The impulse that contact k has, padded to seven components."""
        return p.c[k, 0], p.c[k, 1], p.c[k, 2], 0.0, 0.0, 0.0, 0.0

    @jit
    def tell(p: Blocks3D, low: int, high: int, d_n: float, d_t: float, d_s: float) -> None:
        """Add the velocities that a change of impulse causes, block by block."""
        for s in range(low, high):
            j = p.other[s]
            p.c[j, 3] += p.b[s, 0] * d_n + p.b[s, 1] * d_t + p.b[s, 2] * d_s
            p.c[j, 4] += p.b[s, 3] * d_n + p.b[s, 4] * d_t + p.b[s, 5] * d_s
            p.c[j, 5] += p.b[s, 6] * d_n + p.b[s, 7] * d_t + p.b[s, 8] * d_s

    @jit
    def take(p: Blocks3D, k: int, q: Components) -> Any:
        """Give contact k the impulse q and tell its own pair; the square of the change."""
        d_n, d_t, d_s = q[0] - p.c[k, 0], q[1] - p.c[k, 1], q[2] - p.c[k, 2]
        if d_n == 0.0 and d_t == 0.0 and d_s == 0.0:
            return 0.0
        p.c[k, 0], p.c[k, 1], p.c[k, 2] = q[0], q[1], q[2]
        tell(p, p.first[k], p.own[k], d_n, d_t, d_s)
        return d_n * d_n + d_t * d_t + d_s * d_s

    @jit
    def tell_others(p: Blocks3D, k: int) -> None:
        """Tell all other pairs of the impulse that contact k has now."""
        c = p.c[k]
        d_n, d_t, d_s = c[0] - c[16], c[1] - c[17], c[2] - c[18]
        if d_n == 0.0 and d_t == 0.0 and d_s == 0.0:
            return
        c[16], c[17], c[18] = c[0], c[1], c[2]
        tell(p, p.own[k], p.second[k], d_n, d_t, d_s)

    @jit
    def since(p: Blocks3D, k: int) -> Any:
        """Square of the change of an impulse since other pairs were told of it."""
        d_n, d_t, d_s = p.c[k, 0] - p.c[k, 16], p.c[k, 1] - p.c[k, 17], p.c[k, 2] - p.c[k, 18]
        return d_n * d_n + d_t * d_t + d_s * d_s

    @jit
    def set_impulse(p: Blocks3D, k: int, q: Components) -> None:
        """Give contact k the impulse q, and all its neighbours what the change causes."""
        take(p, k, q)
        tell_others(p, k)

    relax_contact = _make_visit(jit, wanted, take, since, tell_others)

    @jit
    def speed_squared(p: Blocks3D, k: int, q: Components) -> Any:
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        x = p.c[k, 7] * q[0] + p.c[k, 8] * q[1] + p.c[k, 9] * q[2]
        y = p.c[k, 8] * q[0] + p.c[k, 10] * q[1] + p.c[k, 11] * q[2]
        z = p.c[k, 9] * q[0] + p.c[k, 11] * q[1] + p.c[k, 12] * q[2]
        return x * x + y * y + z * z

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared,
    )  # fmt: skip
