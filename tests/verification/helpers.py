"""Small scenes and independent numpy physics shared by the verification tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hardgrain as hg
from hardgrain.core.model import Model, State
from hardgrain.solve.problem import Problem, Solution

Floats = NDArray[np.float64]

# Sweeps until the laws hold to rounding; the cap is an error, so no test passes unconverged.
EXACT = hg.GaussSeidel(stop="residual", tolerance=1e-12, sweeps=100_000, on_cap="error")


def up(dim: int, x: float) -> list[float]:
    """The vector of length x along the last axis."""
    return [0.0] * (dim - 1) + [x]


def floor(dim: int, **keys: Any) -> hg.Plane:
    """The plane at height zero, free above."""
    return hg.Plane(name="floor", point=[0.0] * dim, normal=up(dim, 1.0), **keys)


def grains(*positions: Sequence[float], **keys: Any) -> hg.Grains:
    """Grains at given points."""
    return hg.Grains(place=hg.At(positions=[list(map(float, x)) for x in positions]), **keys)


def start(
    dim: int,
    sets: hg.Grains | Sequence[hg.Grains],
    *,
    dt: float = 0.01,
    solver: hg.GaussSeidel | hg.Jacobi = EXACT,
    seed: int = 0,
    law: dict[str, Any] | None = None,
    **keys: Any,
) -> hg.Simulation:
    """A simulation with one contact law for all materials; friction 0 unless given."""
    if "contacts" not in keys:
        keys["contacts"] = [hg.ContactLaw(**{"friction": 0.0, **(law or {})})]
    sets = [sets] if isinstance(sets, hg.Grains) else list(sets)
    scene = hg.Scene(dimension=dim, grains=sets, **keys)
    return hg.Simulation(scene, dt=dt, solver=solver, seed=seed)


def steps(sim: hg.Simulation, count: int) -> None:
    """Make ``count`` steps."""
    for _ in range(count):
        sim.step()


def weight(sim: hg.Simulation) -> Floats:
    """Total weight of the grains, shape (dim,)."""
    return sim.model.mass[: sim.model.n].sum() * sim.model.gravity


def cross(a: Floats, b: Floats) -> Floats:
    """a × b, shape (…, 1) in 2D and (…, 3) in 3D."""
    if a.shape[-1] == 2:
        return (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])[..., None]
    return np.cross(a, b)


def turn(spin: Floats, arm: Floats) -> Floats:
    """ω × l, shape (…, dim)."""
    if arm.shape[-1] == 2:
        return spin * np.stack([-arm[..., 1], arm[..., 0]], axis=-1)
    return np.cross(spin, arm)


def momentum(sim: hg.Simulation) -> Floats:
    """Σ m v of the grains, shape (dim,)."""
    n = sim.model.n
    return sim.model.mass[:n] @ sim.state.velocity[:n]


def angular_momentum(sim: hg.Simulation) -> Floats:
    """Σ m x × v + I ω of the grains about the origin, shape (ns,)."""
    n, m, s = sim.model.n, sim.model, sim.state
    orbital = m.mass[:n] @ cross(s.position[:n], s.velocity[:n])
    return orbital + m.inertia[:n] @ s.spin[:n]


def slip(sim: hg.Simulation) -> Floats:
    """Relative velocity at every contact, second minus first, shape (m, dim)."""
    s, c, n, r = sim.state, sim.state.contacts, sim.model.n, sim.model.radius
    arm_1 = r[c.first, None] * c.normal
    arm_2 = s.position[c.first] + arm_1 - s.position[c.second]
    grain = c.second < n
    arm_2[grain] = -r[c.second[grain], None] * c.normal[grain]
    return (
        s.velocity[c.second]
        + turn(s.spin[c.second], arm_2)
        - s.velocity[c.first]
        - turn(s.spin[c.first], arm_1)
    )


def cluster(dim: int, count: int, seed: int, gap: float = 0.0) -> tuple[Floats, Floats]:
    """Positions and diameters of a random compact cluster; each grain touches an earlier one.

    ``gap`` is the distance left at each such contact [length].
    """
    rng = np.random.default_rng(seed)
    d = rng.uniform(0.7, 1.3, count)
    x = np.zeros((count, dim))
    for k in range(1, count):
        best = None
        for _ in range(200):
            j = rng.integers(k)
            e = rng.normal(size=dim)
            e /= np.linalg.norm(e)
            y = x[j] + (0.5 * (d[j] + d[k]) + gap) * e
            away = np.linalg.norm(x[:k] - y, axis=1) - 0.5 * (d[:k] + d[k]) - gap
            away[j] = 0.0
            if away.min() >= 0.0 and (best is None or y @ y < best @ best):
                best = y
        assert best is not None
        x[k] = best
    return x, d


# ---------------------------------------------------------------------- the contact problem, dense
@dataclass
class Recorder:
    """A solver that keeps the problem and the solution of the last step."""

    solver: hg.GaussSeidel | hg.Jacobi
    start: str = "previous"
    on_cap: str = "report"
    problem: Problem | None = None
    solution: Solution | None = None

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        self.problem = problem
        self.solution = self.solver.solve(problem, seed=seed, step=step)
        return self.solution


def record(sim: hg.Simulation) -> Recorder:
    """Make the simulation's solver keep its problems."""
    recorder = Recorder(sim.engine.solver, sim.engine.solver.start)  # type: ignore[arg-type]
    sim.engine.solver = recorder  # type: ignore[assignment]
    return recorder


@dataclass(frozen=True)
class Dense:
    """A contact problem as matrices: V = H q + bias, q = q* + M⁻¹ Hᵀ P over all velocities q."""

    h: Floats  # (m·dim, dofs) rows: normal, then tangents of each contact
    inv_mass: Floats  # (dofs,)
    free: Floats  # (dofs,)
    bias: Floats  # (m·dim,) g⁺/dt on the normals
    mu: Floats  # (m,)
    dim: int = field(default=2)

    @classmethod
    def of(cls, p: Problem) -> Dense:
        """Assemble from the definition: arms to the contact point, unit vectors, lever arms."""
        nb, dim, ns = p.velocity.shape[0], p.dim, p.spin.shape[1]
        m = p.first.size
        h = np.zeros((m, dim, nb, dim + ns))
        mu = np.zeros(m)
        for k in range(m):
            i, j, normal = p.first[k], p.second[k], p.normal[k]
            mu[k] = p.laws[p.law[k], 0]
            frame = np.linalg.svd(normal[None])[2]  # any tangents will do
            frame[0] = normal
            arm = {i: p.arm_first[k], j: p.arm_second[k]}
            for body, sign in ((i, -1.0), (j, 1.0)):
                h[k, :, body, :dim] = sign * frame
                h[k, :, body, dim:] = sign * cross(np.tile(arm[body], (dim, 1)), frame)
        bias = np.zeros((m, dim))
        bias[:, 0] = np.maximum(p.gap, 0.0) / p.dt
        return cls(
            h.reshape(m * dim, -1),
            np.hstack([p.inv_mass, p.inv_inertia]).ravel(),
            np.hstack([p.velocity, p.spin]).ravel(),
            bias.ravel(),
            mu,
            dim,
        )


def velocities(solution: Solution | State) -> Floats:
    """All velocity components in the order of `Dense`, shape (dofs,)."""
    return np.hstack([solution.velocity, solution.spin]).ravel()


def angle_of(model: Model, state: State, center: Sequence[float]) -> float:
    """Angle of grain 0 from straight below ``center`` in the x–last plane, along +x [rad]."""
    x = state.position[0] - np.asarray(center)
    return float(np.arctan2(x[0], -x[-1]))


def packing(dim: int, law: dict[str, Any], seed: int = 0, count: int = 30) -> hg.Simulation:
    """Grains that fall into a box, shortly after the first have landed: contacts of every kind."""
    size = [5.0, 12.0] if dim == 2 else [2.6, 2.6, 8.0]
    sets = hg.Grains(
        count=count,
        diameter=hg.Uniform(min=0.6, max=1.0),
        place=hg.Loose(min=[0.0] * dim, max=size),
        speed=0.5,
    )
    sim = start(
        dim,
        sets,
        law=law,
        gravity=up(dim, -1.0),
        walls=[hg.Box(min=[0.0] * dim, max=size, open=["top"])],
        dt=0.02,
        seed=seed,
        solver=hg.GaussSeidel(sweeps=100, order="sequential"),
    )
    steps(sim, 150)
    return sim
