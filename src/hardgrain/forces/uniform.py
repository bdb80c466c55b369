"""Hit-and-run: random walks that visit all of F, the set of possible forces, uniformly.

A step draws a direction in the affine hull of F, then a point on the chord of F through the present
one, uniformly; in the long run all of a bounded convex set is visited uniformly. The hull:
equilibrium, and what holds in every member (contacts that must be open or must slide,
`hardgrain.forces.members`). Chords end at the round cones themselves, in 3D as in 2D.

F is a thousand times longer in some directions than in others, and steps of equal length in all of
them would be short. Directions are drawn with the covariance of F. A first guess of it is the
ellipsoid of the logarithmic barrier at its centre, which fits into F and, enlarged, around it; a
short walk then gives an estimate. Directions are a fixed pool of a few random frames, so that a
step costs no matrix product (`hardgrain.forces.walk`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from hardgrain.core.model import Floats
from hardgrain.errors import InputError, RunError
from hardgrain.forces.members import interior
from hardgrain.forces.space import ForceSpace
from hardgrain.parallel import pmap

__all__ = ["Hull", "affine_hull", "uniform_walks"]

# [1] Random frames in the pool of directions. With one, walks may mix badly along directions that
# it happens to lack; more of them take memory and time to prepare.
_FRAMES = 4
# [1] Steps of a walk whose random numbers are drawn at a time; it bounds memory, and changes no
# result.
_STEPS = 1_000_000
# [1] States that a chain records at least. With fewer, R̂ could not tell whether it has mixed.
_RECORDS = 250
# [largest pivot] Equations with a smaller pivot follow from the others and are dropped. Rounding
# leaves pivots near machine precision; a limit that is too large drops true equations, and samples
# are then out of balance.
_DEPENDENT = 1e-10
# [1] Newton decrement at which the centre of the barrier counts as found. It shapes the first guess
# of the covariance only, which the walk corrects.
_CENTRED = 1e-6


@dataclass(frozen=True, eq=False)
class Hull:
    """F in coordinates of its affine hull, F = origin + basis y, in the unit of force."""

    origin: Floats  # (dim m,) well inside
    basis: Floats  # (d, dim m), orthonormal
    friction: Floats  # (m,)
    inner: NDArray[np.bool_]  # (m,) contacts whose force can be inside its cone
    edge: NDArray[np.bool_]  # (m,) those that only slide, or have no friction

    def walls(self, f: Floats) -> tuple[Floats, Floats]:
        """What must be positive (n, s) and what must be in round cones (n, c, 3), of f (n, dim m).

        Both are linear in f: what holds for states holds for directions.
        """
        f = f.reshape(len(f), self.friction.size, -1)
        limit, t = self.friction[self.inner] * f[:, self.inner, 0], f[:, self.inner, 1:]
        slack = [f[:, self.edge, 0]]
        if f.shape[2] == 2:
            slack += [limit + t[..., 0], limit - t[..., 0]]
            cone = np.zeros((len(f), 0, 3))
        else:
            cone = np.concatenate([limit[..., None], t], axis=2)
        return np.ascontiguousarray(np.concatenate(slack, axis=1)), np.ascontiguousarray(cone)


def affine_hull(space: ForceSpace) -> Hull:
    """The affine hull of F, with a point well inside of F as its origin."""
    p = space.packing
    m, dim = p.contacts, p.dim
    inside, counts = interior(space)
    x = inside / p.unit
    edge = counts == 1
    # equations of the hull: c F = load; F = 0 if open; T = µ R e along e if it must slide
    every = np.eye(dim * m).reshape(m, dim, dim * m)
    size = np.linalg.norm(x[edge, 1:], axis=1)
    along = (p.friction[edge] / np.where(size > 0.0, size, 1.0))[:, None] * x[edge, 1:]
    slides = every[edge, 1:] - along[:, :, None] * every[edge, :1]
    fixed = np.concatenate([every[counts == 2].reshape(-1, dim * m), slides.reshape(-1, dim * m)])
    c, load = space.equations()
    rows = np.concatenate([c.toarray(), fixed])
    right = np.concatenate([load, np.zeros(len(fixed))])
    q, r, order = qr(rows.T, pivoting=True)
    pivots = np.abs(np.diag(r))
    rank = int((pivots > _DEPENDENT * pivots.max(initial=0.0)).sum())
    if dim * m - rank != space.dimension:
        raise RunError(
            f"F has {space.dimension} dimensions, but {dim * m - rank} were found to walk in: its"
            " forces are of too different sizes"
        )
    miss = (right - rows @ x.ravel())[order[:rank]]
    origin = x.ravel() + q[:, :rank] @ solve_triangular(r[:rank, :rank], miss, trans="T")
    return Hull(origin, np.ascontiguousarray(q[:, rank:].T), p.friction, counts == 0, edge)


def uniform_walks(
    space: ForceSpace, each: int, seed: int, chains: int, thin: int | None, processes: int | None
) -> tuple[Floats, int]:
    """States of walks (chains, records, dim m) in the unit of force, and the steps of all walks.

    A chain records at least ``each`` states, with ``thin`` steps between them.
    """
    if (n := int(space.unbounded.sum())) > 0:
        raise InputError(
            f"{n} contacts can bear forces without limit, so no distribution is uniform"
        )
    hull = affine_hull(space)
    d = len(hull.basis)
    thin = max(20, d * d // 2) if thin is None else thin
    records = max(each, _RECORDS)
    total = records + records // 5  # the first are left out
    y, steps = np.zeros((chains, records, 0)), 0
    if d > 0:
        root, pilot = _learn(hull, seed)
        # the farthest of each stretch: chains that start apart and agree have mixed
        far = np.square(np.linalg.solve(root, (pilot - pilot.mean(axis=0)).T)).sum(axis=0)
        starts = [i[far[i].argmax()] for i in np.array_split(np.arange(len(pilot)), chains)]
        y = _walks(hull, root, pilot[starts], total, thin, (seed, 1), processes)[:, -records:]
        steps = chains * total * thin
    return hull.origin + y @ hull.basis, steps


def _learn(hull: Hull, seed: int) -> tuple[Floats, Floats]:
    """A root of the covariance of F (d, d), and the walk that it was learnt from (records, d)."""
    d = len(hull.basis)
    centre, hessian = _centre(hull)
    root = np.linalg.inv(np.linalg.cholesky(hessian)).T
    pilot = _walks(hull, root, centre[None], 20 * d + 100, 4 * d, (seed, 0))[0]
    # corrects the guess: the covariance itself may be too thin for its digits
    rounded = np.atleast_2d(np.cov(np.linalg.solve(root, pilot.T)))
    return root @ np.linalg.cholesky(rounded), pilot


def _centre(hull: Hull) -> tuple[Floats, Floats]:
    """The centre of the barrier −Σ ln s − Σ ln ⟨w, w⟩ (d,) by Newton's method, and its Hessian."""
    slack, cone = (x[0] for x in hull.walls(hull.origin[None]))
    by_slack, by_cone = hull.walls(hull.basis)
    sign = np.array([1.0, -1.0, -1.0])  # of ⟨w, w⟩ = w₀² − w₁² − w₂²
    y = np.zeros(len(hull.basis))
    for _ in range(500):
        s = slack + y @ by_slack
        w = cone + np.einsum("k,kce->ce", y, by_cone)
        square = (sign * w * w).sum(axis=1)
        along = np.einsum("kce,ce->kc", by_cone, sign * w) / square  # half of d ln ⟨w, w⟩
        flat, bent = by_slack / s, by_cone / np.sqrt(square)[:, None]
        gradient = -flat.sum(axis=1) - 2.0 * along.sum(axis=1)
        hessian = flat @ flat.T + 4.0 * along @ along.T
        hessian -= 2.0 * np.einsum("kce,e,lce->kl", bent, sign, bent, optimize=True)
        step = -np.linalg.solve(hessian, gradient)
        decrement = float(np.sqrt(-gradient @ step))
        if decrement < _CENTRED:
            return y, hessian
        y = y + step / (1.0 + decrement)  # stays inside: the barrier is self-concordant
    raise RunError("the centre of F was not found: it may be unbounded")


def _walks(
    hull: Hull,
    root: Floats,
    starts: Floats,
    records: int,
    every: int,
    seed: tuple[int, ...],
    processes: int | None = 1,
) -> Floats:
    """Walks from ``starts`` (w, d), recorded each ``every`` steps (w, records, d).

    root (d, d): of the covariance with which directions are drawn. Matrices are multiplied here and
    not by the processes that walk, as the last bits depend on how many threads BLAS has.
    """
    d = len(root)
    frames = np.random.default_rng(seed).normal(size=(_FRAMES, d, d))
    directions = np.linalg.qr(frames)[0].reshape(-1, d) @ root.T
    at = hull.walls(hull.origin + starts @ hull.basis)
    slopes = hull.walls(directions @ hull.basis)
    jobs = [(slack, cone, (*seed, k)) for k, (slack, cone) in enumerate(zip(*at))]
    gone = pmap(partial(_follow, *slopes, records, every), jobs, processes)
    y: Floats = starts[:, None] + np.cumsum(gone, axis=1) @ directions
    return y


def _follow(
    slack_slope: Floats,
    cone_slope: Floats,
    records: int,
    every: int,
    job: tuple[Floats, Floats, tuple[int, ...]],
) -> Floats:
    """How far one walk goes along each direction between two records (records, k)."""
    from hardgrain.forces.walk import walk

    slack, cone, seed = job
    rng, k = np.random.default_rng(seed), len(slack_slope)
    gone = np.empty((records, k))
    block = max(1, _STEPS // every)
    for i in range(0, records, block):
        steps = every * min(block, records - i)
        pick, at = rng.integers(k, size=steps), rng.random(steps)
        gone[i : i + block], ends = walk(slack, cone, slack_slope, cone_slope, pick, at, every)
        if not ends:
            raise RunError("a force without limit was met, so no distribution is uniform")
    return gone
