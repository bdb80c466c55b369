"""Contact updates for problems given as a matrix, u = W r + q, without any bodies.

Contact k sees U_k = q_k + Σ_j W_kj r_j without its own impulse and answers with the general law
(`law/coupled.py`) for its own block W_kk. That law needs a symmetric matrix. Where W_kk is not
symmetric (in some imported problems, by 10⁻³), the law gets its symmetric part, and the rest acts
with the impulse that the contact has: U_k then includes (W_kk − W_kkᵀ)/2 r_k. What the sweeps
converge to then obeys the matrix as it is.

The five functions are those of `point.lean_2d` and its like; an update writes nothing but the
contact's own impulse, and costs one block for each neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.coupled import make_coupled

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


@cache
def make_blocks_2d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact of a `Blocks2D`."""
    coupled_2d = make_coupled(jit).coupled_2d

    @jit
    def velocity(p: Blocks2D, k: int) -> tuple[float, float]:
        """Contact velocity without the contact's own impulse (but for the odd part of W_kk)."""
        u_n = p.c[k, 2] + p.c[k, 8] * p.c[k, 1]
        u_t = p.c[k, 3] - p.c[k, 8] * p.c[k, 0]
        for s in range(p.first[k], p.second[k]):
            j = p.other[s]
            r_n, r_t = p.c[j, 0], p.c[j, 1]
            u_n += p.b[s, 0] * r_n + p.b[s, 1] * r_t
            u_t += p.b[s, 2] * r_n + p.b[s, 3] * r_t
        return u_n, u_t

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
    def set_impulse(p: Blocks2D, k: int, q: Components) -> None:
        """Give contact k the impulse q."""
        p.c[k, 0], p.c[k, 1] = q[0], q[1]

    @jit
    def relax_contact(p: Blocks2D, k: int) -> None:
        """One contact update: take the impulse that the law asks for."""
        set_impulse(p, k, wanted(p, k))

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
        for s in range(p.first[k], p.second[k]):
            j = p.other[s]
            r_n, r_t, r_s = p.c[j, 0], p.c[j, 1], p.c[j, 2]
            u_n += p.b[s, 0] * r_n + p.b[s, 1] * r_t + p.b[s, 2] * r_s
            u_t += p.b[s, 3] * r_n + p.b[s, 4] * r_t + p.b[s, 5] * r_s
            u_s += p.b[s, 6] * r_n + p.b[s, 7] * r_t + p.b[s, 8] * r_s
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
    def set_impulse(p: Blocks3D, k: int, q: Components) -> None:
        """Give contact k the impulse q."""
        p.c[k, 0], p.c[k, 1], p.c[k, 2] = q[0], q[1], q[2]

    @jit
    def relax_contact(p: Blocks3D, k: int) -> None:
        """One contact update: take the impulse that the law asks for."""
        set_impulse(p, k, wanted(p, k))

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
