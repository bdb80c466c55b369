"""Samples of F, the set of all forces possible in a packing: uniform, or by the engine's solver.

**Hit-and-run** draws a direction in the affine hull of F, then a point on the chord of F through
the present one, uniformly; in the long run all of a bounded convex set is visited uniformly. The
hull: equilibrium, and what holds in every member (contacts that must be open or must slide,
`hardgrain.forces.members`). Chords end at the round cones themselves, in 3D as in 2D.

F is a thousand times longer in some directions than in others, and steps of equal length in all of
them would be short. Directions are drawn with the covariance of F. A first guess of it is the
ellipsoid of the logarithmic barrier at its centre, which fits into F and, enlarged, around it; a
short walk then gives an estimate. Directions are a fixed pool of a few random frames, so that a
step costs no matrix product (`hardgrain.forces.walk`).

**Perturb** is the Monte Carlo of the paper (III B 4): the forces are multiplied by random factors
and the solver of contact dynamics finds its way back into F, with all grains held where they are.
Nothing makes these samples uniform.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from hardgrain.errors import InputError, RunError
from hardgrain.forces.members import interior
from hardgrain.forces.space import ForceSpace
from hardgrain.parallel import pmap
from hardgrain.scene import lawtable
from hardgrain.scene.model import Floats
from hardgrain.solve.problem import Problem

__all__ = ["Body", "Factors", "Method", "Sample", "affine_hull", "mixing", "sample"]

Method = Literal["hit-and-run", "perturb"]
Factors = Literal["contact", "global"]

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
# [1] A chain has mixed if R̂ is below the first and it holds as many independent samples as the
# second. Looser limits call samples uniform that still remember where they began; stricter ones
# cost steps.
_AGREE, _ENOUGH = 1.05, 100
# [1] Sweeps of the solver between two looks at the unbalanced forces, and looks after which a
# sample is given up. With fewer in all, samples are dropped that would have come to rest, which
# biases the rest.
_SWEEPS = 200
_PATIENCE = 500
# [unbalanced force] Residual of the laws below which the contacts obey them while the grains move:
# such a state will never come to rest and is dropped at once. A larger one drops states that still
# would.
_OBEYS = 1e-6


@dataclass(frozen=True, eq=False)
class Sample:
    """Members of F, how well they obey equilibrium, and how well they stand for the whole."""

    method: Method
    states: Floats  # (count, m, dim) R first, then T [force]
    residual: Floats  # (count,) largest unbalanced force of each [unit]
    unit: float  # of force: the mean weight of a grain
    spread: Floats  # (m, dim) split R̂ of each component: 1 if all chains agree
    effective: Floats  # (m, dim) independent samples that tell as much of its mean as the walks
    dropped: int = 0  # samples that did not get back into F
    steps: int = 0  # of all walks, or sweeps of all solves

    @cached_property
    def mean(self) -> Floats:
        """F_∘ of (38), (m, dim)."""
        mean: Floats = self.states.mean(axis=0)
        return mean

    @cached_property
    def radius(self) -> float:
        """(38), the root mean square distance from the mean, in mean weights."""
        away = np.square(self.states - self.mean).sum(axis=(1, 2))
        return float(np.sqrt(away.mean()) / self.unit)

    @property
    def warning(self) -> str:
        """Empty, or what speaks against taking the sample for the whole."""
        words = []
        worst, fewest = float(self.spread.max()), float(self.effective.min())
        if not worst < _AGREE:
            words.append(f"chains disagree: R̂ is up to {worst:.3f}, not below {_AGREE}")
        if not fewest >= _ENOUGH:
            words.append(f"a component has only {fewest:.0f} independent samples, not {_ENOUGH}")
        if self.dropped:
            words.append(f"{self.dropped} samples out of equilibrium were dropped")
        return "; ".join(words)

    def __str__(self) -> str:
        return (
            f"{len(self.states)} states by {self.method}: radius {self.radius:.4g} mean weights,"
            f" residual up to {self.residual.max():.1e}, R̂ {np.median(self.spread):.3f} (worst"
            f" {self.spread.max():.3f}), independent {np.median(self.effective):.0f} (fewest"
            f" {self.effective.min():.0f}){'; ' if self.warning else ''}{self.warning}"
        )


def sample(
    space: ForceSpace,
    count: int,
    seed: int = 0,
    method: Method = "hit-and-run",
    *,
    chains: int = 4,
    thin: int | None = None,
    processes: int | None = 1,
    factors: Factors = "contact",
    chained: bool = True,
    tolerance: float = 1e-6,
) -> Sample:
    """``count`` members of F; the same for the same seed, whatever the number of processes.

    Hit-and-run: in ``chains`` walks with ``thin`` steps between states (default: d²/2, at least
    20, in d dimensions). Perturb: factors in [0.5, 1.5] for each contact or a ``"global"`` one, of
    the last member (``chained``) or always of the state found. A sample is resolved until its
    largest unbalanced force is below ``tolerance`` mean weights, or dropped: the laws of contact
    also allow that some grains start to move.
    """
    for name, value, least in (("count", count, 1), ("chains", chains, 1), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} is {value}; give at least {least}")
    if thin is not None and thin < 1:
        raise InputError(f"thin is {thin}; give at least 1")
    if not space.contacts:
        raise InputError("the packing has no contacts, so there are no forces to sample")
    if method == "hit-and-run":
        return _hit_and_run(space, count, seed, chains, thin, processes)
    if method == "perturb":
        if factors not in ("contact", "global"):
            raise InputError(f"factors is {factors!r}; give contact or global")
        return _perturb(space, count, seed, factors, chained, tolerance)
    raise InputError(f"there is no method {method!r}; give hit-and-run or perturb")


# ---------------------------------------------------------------------- uniform
@dataclass(frozen=True, eq=False)
class Body:
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


def affine_hull(space: ForceSpace) -> Body:
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
    return Body(origin, np.ascontiguousarray(q[:, rank:].T), p.friction, counts == 0, edge)


def _hit_and_run(
    space: ForceSpace, count: int, seed: int, chains: int, thin: int | None, processes: int | None
) -> Sample:
    p = space.packing
    if (n := int(space.unbounded.sum())) > 0:
        raise InputError(
            f"{n} contacts can bear forces without limit, so no distribution is uniform"
        )
    body = affine_hull(space)
    d = len(body.basis)
    thin = max(20, d * d // 2) if thin is None else thin
    each = -(-count // chains)
    records = max(each, _RECORDS)
    total = records + records // 5  # the first are left out
    y, steps = np.zeros((chains, records, 0)), 0
    if d > 0:
        root, pilot = _learn(body, seed)
        # the farthest of each stretch: chains that start apart and agree have mixed
        far = np.square(np.linalg.solve(root, (pilot - pilot.mean(axis=0)).T)).sum(axis=0)
        starts = [i[far[i].argmax()] for i in np.array_split(np.arange(len(pilot)), chains)]
        y = _walks(body, root, pilot[starts], total, thin, (seed, 1), processes)[:, -records:]
        steps = chains * total * thin
    states = body.origin + y @ body.basis
    spread, effective = mixing(states)
    evenly = np.arange(each) * records // each
    chosen = states[:, evenly].swapaxes(0, 1).reshape(-1, p.contacts, p.dim)[:count]
    return Sample(
        method="hit-and-run",
        states=p.unit * chosen,
        residual=_residual(space, chosen),
        unit=p.unit,
        spread=spread.reshape(p.contacts, p.dim),
        effective=effective.reshape(p.contacts, p.dim),
        steps=steps,
    )


def _learn(body: Body, seed: int) -> tuple[Floats, Floats]:
    """A root of the covariance of F (d, d), and the walk that it was learnt from (records, d)."""
    d = len(body.basis)
    centre, hessian = _centre(body)
    root = np.linalg.inv(np.linalg.cholesky(hessian)).T
    pilot = _walks(body, root, centre[None], 20 * d + 100, 4 * d, (seed, 0))[0]
    # corrects the guess: the covariance itself may be too thin for its digits
    rounded = np.atleast_2d(np.cov(np.linalg.solve(root, pilot.T)))
    return root @ np.linalg.cholesky(rounded), pilot


def _centre(body: Body) -> tuple[Floats, Floats]:
    """The centre of the barrier −Σ ln s − Σ ln ⟨w, w⟩ (d,) by Newton's method, and its Hessian."""
    slack, cone = (x[0] for x in body.walls(body.origin[None]))
    by_slack, by_cone = body.walls(body.basis)
    sign = np.array([1.0, -1.0, -1.0])  # of ⟨w, w⟩ = w₀² − w₁² − w₂²
    y = np.zeros(len(body.basis))
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
    body: Body,
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
    at = body.walls(body.origin + starts @ body.basis)
    slopes = body.walls(directions @ body.basis)
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


def mixing(x: Floats) -> tuple[Floats, Floats]:
    """Split R̂ and effective sample size of each quantity (q,), from chains (chains, n, q).

    Gelman et al., Bayesian Data Analysis, 3rd ed., sec. 11.4 and 11.5, with Geyer's monotone sums
    of autocorrelations. A quantity that does not vary has 1 and all samples.
    """
    n = x.shape[1] // 2
    if n < 2:
        return np.full(x.shape[2], np.nan), np.ones(x.shape[2])
    x = np.concatenate([x[:, :n], x[:, n : 2 * n]])
    mean = x.mean(axis=1)
    deviation = x - mean[:, None]
    spectrum = np.fft.rfft(deviation, 2 * n, axis=1)
    lagged = np.fft.irfft(np.square(np.abs(spectrum)), axis=1)[:, :n].mean(axis=0) / (n - 1)
    within = lagged[0]
    total = (n - 1) / n * within + mean.var(axis=0, ddof=1)
    still = total <= np.square(1e-12 * np.abs(x).max(axis=(0, 1)))
    within, total = np.where(still, 1.0, within), np.where(still, 1.0, total)
    correlation = 1.0 - (within - lagged) / total
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(pairs, axis=0).clip(min=0.0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0)
    size = float(len(x) * n)
    return np.sqrt(total / within), np.where(still, size, size / time)


# ---------------------------------------------------------------------- by the engine's solver
def _perturb(
    space: ForceSpace,
    count: int,
    seed: int,
    factors: Factors,
    chained: bool,
    tolerance: float,
) -> Sample:
    from hardgrain.solve.gauss_seidel import GaussSeidel

    p = space.packing
    solver = GaussSeidel(sweeps=_SWEEPS)
    problem = _problem(space)
    rng = np.random.default_rng(seed)
    states: list[Floats] = []
    residuals: list[float] = []
    sweeps = dropped = 0
    last = problem.impulse
    while len(states) < count:
        size = (p.contacts, 1) if factors == "contact" else (1, 1)
        guess = (last if chained else problem.impulse) * rng.uniform(0.5, 1.5, size)
        rounds, out, moves = 0, np.inf, False
        while rounds < _PATIENCE and not (out <= tolerance or moves):
            step = _PATIENCE * (len(states) + dropped) + rounds
            solution = solver.solve(replace(problem, impulse=guess), seed=seed, step=step)
            guess, sweeps, rounds = solution.impulse, sweeps + _SWEEPS, rounds + 1
            state = np.einsum("kea,ka->ke", p.frame, guess)
            out = float(_residual(space, state[None])[0])
            moves = solution.residual < _OBEYS * out
        if out <= tolerance:
            last = guess
            states.append(state)
            residuals.append(out)
        elif (dropped := dropped + 1) > count:
            raise RunError(
                f"{dropped} of {dropped + len(states)} perturbed states did not come to rest within"
                f" {_PATIENCE * _SWEEPS} sweeps: unbalanced forces of {out:.1e} mean weights"
            )
    found = np.array(states)
    spread, effective = mixing(found.reshape(1, count, -1))
    return Sample(
        method="perturb",
        states=p.unit * found,
        residual=np.array(residuals),
        unit=p.unit,
        spread=spread.reshape(p.contacts, p.dim),
        effective=effective.reshape(p.contacts, p.dim),
        dropped=dropped,
        steps=sweeps,
    )


def _problem(space: ForceSpace) -> Problem:
    """The contacts as a solver meets them, at rest, for a time of 1, with forces in their unit.

    Masses go with size, the mean is 1. They do not decide what is possible, only the way there.
    """
    p = space.packing
    n, (bodies, dofs), dim = p.radius.size, p.free.shape, p.dim
    mass, inertia = np.ones(bodies), np.ones(bodies)
    mass[:n] = p.radius**dim / (p.radius**dim).mean()
    inertia[:n] = (0.5 if dim == 2 else 0.4) * mass[:n] * p.radius**2
    inverse = p.free / np.concatenate(
        [np.repeat(mass[:, None], dim, axis=1), np.repeat(inertia[:, None], dofs - dim, axis=1)],
        axis=1,
    )
    load = np.zeros(p.free.size)
    load[p.rows] = -p.arms * space.equations()[1]
    velocity = inverse * load.reshape(p.free.shape)
    laws = np.zeros((p.contacts, lawtable.N_PARAMETERS))  # one for each contact
    for column in (lawtable.MU_STATIC, lawtable.MU_DYNAMIC):
        laws[:, column] = p.friction
    still = np.zeros((bodies, dim)), np.zeros((bodies, dofs - dim))
    equal = p.free[:n] == p.free[:n, :1]
    return Problem(
        dt=1.0,
        first=p.first.astype(np.int32),
        second=p.second.astype(np.int32),
        normal=p.normal,
        gap=np.zeros(p.contacts),
        arm_first=p.arm_first,
        arm_second=p.arm_second,
        width=np.full(p.contacts, 2.0 * p.radius.min(initial=np.inf)),
        roll=np.zeros(p.contacts),
        law=np.arange(p.contacts, dtype=np.int32),
        impulse=p.force / p.unit,
        torque=np.zeros((p.contacts, dofs - dim)),
        velocity=np.ascontiguousarray(velocity[:, :dim]),
        spin=np.ascontiguousarray(velocity[:, dim:]),
        velocity_before=still[0],
        spin_before=still[1],
        position=still[0] if p.position is None else p.position,
        inv_mass=np.ascontiguousarray(inverse[:, :dim]),
        inv_inertia=np.ascontiguousarray(inverse[:, dim:]),
        laws=laws,
        remove_overlaps=False,
        lean=bool(equal.all()),
    )


def _residual(space: ForceSpace, states: Floats) -> Floats:
    """The largest unbalanced force of each state (n,), torques at the surface; all in the unit."""
    c, load = space.equations()
    out = c @ states.reshape(len(states), -1).T - load[:, None]
    worst: Floats = np.abs(out).max(axis=0, initial=0.0)
    return worst
