"""The rigid solver: no static problem that it fails at, and the laws of Gauss–Seidel in each step.

Small problems are often done by sweeps before the rest of the cascade is asked. So most tests run
twice: as it comes, and with all contacts solved at once from the beginning.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

import hardgrain as hg
from hardgrain.papers.unger2002.row import forces, row
from hardgrain.solve import rigid
from hardgrain.solve.elimination import Elimination
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.shared_task import DISSECTION, SharedTask
from hardgrain.solve.task import StepTask

from .helpers import Dense, Floats, floor, grains, packing, record, start, steps, up
from .helpers import velocities as all_velocities
from .test_dense import de_saxce, gauss
from .test_matrices import SCENES, one_step
from .test_statics import pyramid

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
SOLVER = hg.RigidSolver()
TIGHT = hg.RigidSolver(tolerance=1e-10, on_cap="error")
# The same, from sweeps alone.
SWEPT = hg.GaussSeidel(stop="residual", tolerance=1e-10, sweeps=500_000, on_cap="error")


@pytest.fixture(params=["as it comes", "at once"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether sweeps may do it."""
    if request.param == "at once":
        monkeypatch.setattr(rigid._Search, "_swept", lambda *_: False)
        monkeypatch.setattr(rigid._Search, "_onward", lambda *_: iter(()))
    return str(request.param)


def captured(sim: hg.Simulation) -> Problem:
    """The problem of a simulation's next step."""
    sim.engine.solver = hg.GaussSeidel(sweeps=1)  # type: ignore[union-attr]
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    return kept.problem


def solve(problem: Problem, solver: Any = SOLVER) -> Solution:
    found: Solution = solver.solve(problem, seed=0, step=0)
    return found


def violation(p: Problem, s: Solution) -> float:
    """How far a solution is from the laws, by the assembled problem: max |W (P* − P)| / rms W P.

    Independent of the package, but for the definition of `hardgrain.point.residual`: friction and
    inelastic shocks only.
    """
    if p.first.size == 0:
        return 0.0
    dense, dim = Dense.of(p), p.dim
    frame = dense.h.reshape(-1, dim, dense.inv_mass.size)
    own = np.einsum("kap,p,kap->ka", frame, dense.inv_mass, frame)
    # the impulses in the frames of `Dense`: rows of H on the second body are its unit vectors
    nb, size = p.velocity.shape[0], dim + p.spin.shape[1]
    axes = frame.reshape(len(frame), dim, nb, size)[np.arange(len(frame)), :, p.second, :dim]
    r = np.einsum("kab,kb->ka", axes, s.impulse)
    q = dense.free + dense.inv_mass * (dense.h.T @ r.ravel())
    speed = float(np.abs(dense.free).max())
    most = float(max(np.abs(p.impulse).max(), np.abs(s.impulse).max()) * dense.inv_mass.max())
    np.testing.assert_allclose(q, all_velocities(s), atol=1e-9 * speed + 1e-12 * most)
    u = (dense.h @ q + dense.bias).reshape(r.shape)
    want = np.zeros_like(r)
    want[:, 0] = np.maximum(r[:, 0] - u[:, 0] / own[:, 0], 0.0)
    turn = own[:, 1:2]
    t = r[:, 1:] - np.divide(u[:, 1:], turn, out=np.zeros_like(u[:, 1:]), where=turn > 0.0)
    size_t = np.linalg.norm(t, axis=1)
    share = np.divide(dense.mu * want[:, 0], size_t, out=np.ones_like(size_t), where=size_t > 0.0)
    want[:, 1:] = np.minimum(share, 1.0)[:, None] * t * (turn > 0.0)
    missed, scale = np.linalg.norm(own * (want - r), axis=1), np.linalg.norm(own * want, axis=1)
    scale = np.maximum(scale, np.linalg.norm(own * r, axis=1))
    # what drowns in the rounding of the velocities
    missed = np.where(missed > 1e-14 * speed, missed, 0.0)
    loaded = np.count_nonzero(scale > 1e-14 * speed)
    if not missed.any():
        return 0.0
    return float(missed.max() / math.sqrt(np.sum(scale**2) / max(loaded, 1)))


# ---------------------------------------------------------------------- two hundred problems
@cache
def settled(dim: int, ratio: float, seed: int) -> hg.Simulation:
    """Grains at rest under a piston, sizes spread by a factor; some of them rattle."""
    size = [5.0, 16.0] if dim == 2 else [2.8, 2.8, 16.0]
    if ratio > 4.0:
        size = [0.75 * x for x in size]
    sets = hg.Grains(
        count=40 if dim == 2 else 60,
        diameter=hg.Uniform(min=1.0 / ratio, max=1.0),
        place=hg.Deposit(min=[0.0] * dim, max=size),
        speed=0.3,
    )
    top = hg.Piston(mass=5.0, force=5.0)
    sim = start(
        dim,
        sets,
        walls=[hg.Box(min=[0.0] * dim, max=size, pistons={"top": top})],
        law={"friction": 0.2},
        gravity=up(dim, -0.5),
        dt=0.02,
        seed=seed,
        solver=hg.GaussSeidel(sweeps=50),
    )
    steps(sim, 500)
    return sim


def again(
    sim: hg.Simulation, friction: float, force: float, gravity: float = 0.0, **keys: Any
) -> hg.Simulation:
    """The grains of such a box where they are, at rest, with other loads."""
    dim, n = sim.model.dim, sim.model.n
    top = float(sim.state.position[n + sim.model.wall_names.index("top"), -1])
    piston = hg.Piston(mass=5.0, force=force)
    (box,) = sim.scenario.scene.walls
    return start(
        dim,
        grains(*sim.state.position[:n], diameter=tuple(2.0 * sim.model.radius)),
        walls=[hg.Box(min=[0.0] * dim, max=[*box.max[:-1], top], pistons={"top": piston})],  # type: ignore[union-attr]
        law={"friction": friction},
        gravity=up(dim, -gravity),
        allow_overlaps=True,
        **{"dt": 3e-4, **keys},
    )


Make = Callable[[np.random.Generator, int, float, float], hg.Simulation]


def pressed(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """A packing with or without weight, from no forces or from those of another load."""
    before = settled(dim, float(rng.choice([1.01, 2.0, 10.0])), int(rng.integers(3)))
    sim = again(before, mu, load, gravity=float(rng.integers(2)))
    if rng.random() < 0.5:
        c = before.state.contacts
        sim.state.contacts = replace(c, impulse=c.impulse * sim.dt / before.dt)
    return sim


def weighted(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """A pile of grains whose weights differ by six decades."""
    before = settled(dim, float(rng.choice([1.01, 10.0])), int(rng.integers(3)))
    m, s = before.model, before.state
    (box,) = before.scenario.scene.walls
    sets = [
        grains(x, diameter=2.0 * r, force=up(dim, -float(10.0 ** rng.uniform(-3, 3))))
        for x, r in zip(s.position[: m.n], m.radius, strict=True)
    ]
    box = hg.Box(min=[0.0] * dim, max=box.max, open=["top"])  # type: ignore[union-attr]
    return start(dim, sets, walls=[box], law={"friction": mu}, dt=3e-4, allow_overlaps=True)


def chain(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """Grains in a row, straight or nearly, pushed against a wall."""
    n = int(rng.integers(2, 60))
    d = rng.uniform(0.1, 1.0, n)
    x = np.zeros((n, dim))
    x[:, 0] = np.cumsum(d) - 0.5 * d
    if rng.random() < 0.5:
        x[:, -1] = rng.normal(size=n) * 1e-3 * d
    push = [-load] + [0.0] * (dim - 1)
    sets = [
        grains(*x[:-1], diameter=tuple(d[:-1])),
        grains(x[-1], diameter=float(d[-1]), force=push),
    ]
    wall = hg.Plane(point=[0.0] * dim, normal=[1.0] + [0.0] * (dim - 1))
    return start(dim, sets, walls=[wall], law={"friction": mu}, dt=1e-3, allow_overlaps=True)


def single(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """One grain on a slope, below, at or beyond its friction angle; or another on top of it."""
    g = load * np.array([rng.choice([0.0, 0.5, 1.0, 2.0]) * mu] + [0.0] * (dim - 2) + [-1.0])
    d = float(rng.uniform(0.1, 1.0))
    sets = [grains(up(dim, 0.5 * d), diameter=d, lock=["rotation"] if rng.random() < 0.5 else [])]
    if rng.random() < 0.5:
        sets.append(grains(up(dim, d + 0.5)))
    return start(dim, sets, walls=[floor(dim)], law={"friction": mu}, gravity=g.tolist())


def redundant(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """A lattice, disturbed by next to nothing, on a floor that is there twice, between pistons."""
    side = int(rng.integers(2, 8 if dim == 2 else 5))
    off = 10.0 ** rng.uniform(-16, -4)
    x = np.stack(np.meshgrid(*[np.arange(side) + 0.5] * dim), axis=-1).reshape(-1, dim)
    if dim == 2 and rng.random() < 0.5:
        k, j = np.divmod(np.arange(side * side), side)
        x = np.stack([j + 0.5 + 0.5 * (k % 2), 0.5 + k * math.sqrt(0.75)], axis=-1)
    x = x + off * rng.normal(size=x.shape)
    box = hg.Box(
        min=[0.0] * dim,
        max=(x.max(axis=0) + 0.5).tolist(),
        pistons={"top": hg.Piston(mass=1.0, force=load), "right": hg.Piston(mass=1.0, force=1.0)},
    )
    twice = hg.Plane(name="again", point=[0.0] * dim, normal=[off] + [0.0] * (dim - 2) + [1.0])
    keys = {"walls": [box, twice], "gravity": up(dim, -1.0), "allow_overlaps": True}
    return start(dim, grains(*x), law={"friction": mu}, dt=1e-3, **keys)


def apart(rng: np.random.Generator, dim: int, mu: float, load: float) -> hg.Simulation:
    """Grains that touch without pushing, or do not touch at all, and all fall alike."""
    x = np.zeros((int(rng.integers(1, 10)), dim))
    x[:, 0] = np.arange(len(x)) * rng.choice([1.0, 3.0])
    return start(dim, grains(*x, force=[0.0] * (dim - 1) + [load]), law={"friction": mu})


KINDS: dict[Make, int] = {pressed: 40, weighted: 20, chain: 12, single: 10, redundant: 12, apart: 6}


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_no_static_problem_resists(make: Make, dim: int) -> None:
    """µ from 0 to 1, size ratios up to 10, loads over six decades: solved, and without a word."""
    missed = []
    for k in range(KINDS[make]):
        rng = np.random.default_rng([k, dim])
        mu = float(rng.choice([0.0, 0.05, 0.3, 1.0, rng.random()]))
        problem = captured(make(rng, dim, mu, float(10.0 ** rng.uniform(-3, 3))))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            s = solve(problem)
        assert np.isfinite(s.velocity).all()
        assert np.isfinite(s.impulse).all()
        if not (s.converged and s.residual <= 1e-6 and violation(problem, s) <= 1.1e-6):
            missed.append((k, mu, s.status))
    assert not missed


# ---------------------------------------------------------------------- closed forms
@pytest.mark.parametrize("dim", DIMS)
def test_block_on_a_slope(way: str, dim: int) -> None:
    """At rest up to tan α = µ; beyond, a = g (sin α − µ cos α)."""
    mu, dt = 0.4, 0.01
    for slope, slides in ((mu * (1 - 1e-9), False), (mu * (1 + 1e-4), True), (2.0 * mu, True)):
        gravity = [slope] + [0.0] * (dim - 2) + [-1.0]
        block = grains(up(dim, 0.5), lock=["rotation"])
        keys = {"walls": [floor(dim)], "law": {"friction": mu}, "gravity": gravity}
        sim = start(dim, block, solver=TIGHT, dt=dt, **keys)
        steps(sim, 20)
        v = (slope - mu) * sim.state.time if slides else 0.0
        assert sim.state.velocity[0, 0] == pytest.approx(v, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_disk_and_sphere_roll_or_slip(way: str, dim: int) -> None:
    """a = g sin α/(1 + κ) up to tan α = (1 + 1/κ) µ; beyond, a = g (sin α − µ cos α)."""
    mu, kappa = 0.2, {2: 0.5, 3: 0.4}[dim]
    limit = (1.0 + 1.0 / kappa) * mu
    for slope in (0.5 * limit, 0.999 * limit, 1.5 * limit):
        gravity = [slope] + [0.0] * (dim - 2) + [-1.0]
        keys = {"walls": [floor(dim)], "law": {"friction": mu}, "gravity": gravity}
        sim = start(dim, grains(up(dim, 0.5)), solver=TIGHT, **keys)
        steps(sim, 20)
        a = slope / (1.0 + kappa) if slope <= limit else slope - mu
        assert sim.state.velocity[0, 0] == pytest.approx(a * sim.state.time, rel=1e-9)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("count", [1, 5, 60])
def test_stack_bears_the_weight_above(way: str, dim: int, count: int) -> None:
    d = np.random.default_rng(count).uniform(0.3, 1.3, count)
    height = np.cumsum(d) - 0.5 * d
    sets = [grains(up(dim, h), diameter=x) for h, x in zip(height, d, strict=True)]
    keys = {"walls": [floor(dim)], "law": {"friction": 0.3}, "gravity": up(dim, -2.0)}
    sim = start(dim, sets, solver=TIGHT, **keys)
    steps(sim, 3)
    c = sim.state.contacts
    on = np.where(c.second == count, c.first, c.second)  # the grain that it bears
    above = 2.0 * np.cumsum(sim.model.mass[:count][::-1])[::-1]
    # grains beside the floor touch nothing: all contacts are of the stack
    np.testing.assert_allclose(c.normal_impulse()[np.argsort(on)] / sim.dt, above, rtol=1e-6)
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-8)


@pytest.mark.parametrize("particles", [2, 50, 1000])
def test_a_pushed_chain_bears_the_push_everywhere(particles: int) -> None:
    """From no forces at all, in its first step; Gauss–Seidel would take some n² sweeps."""
    sim = hg.Simulation(row(particles, 0.7), dt=1.0, solver=TIGHT)
    report = sim.step()
    np.testing.assert_allclose(forces(sim), 0.7, rtol=1e-3)
    assert report.residual <= 1e-10


@pytest.mark.parametrize(("share", "stands"), [(1.0 - 1e-3, False), (1.0 + 1e-3, True)])
def test_three_disks_stand_from_the_friction_of_half_their_angle(
    way: str, share: float, stands: bool
) -> None:
    """A wedge: µ ≥ tan(α/2) at all contacts, or the upper disk drives the lower ones apart."""
    angle = math.radians(35.0)
    s, c = math.sin(angle), math.cos(angle)
    points = [-s, 0.5], [s, 0.5], [0.0, 0.5 + c]
    law = {"friction": share * math.tan(0.5 * angle)}
    keys = {"gravity": [0, -1], "walls": [floor(2)], "law": law}
    sim = start(2, grains(*points), solver=TIGHT, **keys)
    steps(sim, 20)
    assert (sim.kinetic < 1e-16) == stands


def test_frictionless_pyramid_has_the_forces_of_statics(way: str) -> None:
    """Two contacts under each disk, two equations for each: Σ n P = weight."""
    x, base = pyramid(12, 1.1), 12
    sets = [grains(*x[:base], lock=["x", "y", "rotation"]), grains(*x[base:])]
    sim = start(2, sets, gravity=[0, -1], solver=TIGHT)
    sim.step()
    c, n = sim.state.contacts, sim.model.n
    on = np.zeros((n, 2))
    np.add.at(on, c.second, c.impulse / sim.dt)
    np.add.at(on, c.first, -c.impulse / sim.dt)
    weight = np.tile([0.0, sim.model.mass[0]], (n - base, 1))
    np.testing.assert_allclose(on[base:], weight, atol=1e-7)
    assert np.count_nonzero(c.normal_impulse()) == 2 * (n - base)
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-9)


# ---------------------------------------------------------------------- independent methods
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_frictionless_velocities_are_those_of_gauss(way: str, dim: int, seed: int) -> None:
    """The nearest admissible velocities, found by non-negative least squares."""
    sim = packing(dim, {"friction": 0.0}, seed)
    for _ in range(3):
        steps(sim, 10)
        problem = captured(sim)
        s = solve(problem, TIGHT)
        assert np.count_nonzero(s.impulse[:, 0]) > 5
        np.testing.assert_allclose(all_velocities(s), gauss(Dense.of(problem)), atol=1e-8)
        np.testing.assert_allclose(
            all_velocities(s), all_velocities(solve(problem, SWEPT)), atol=1e-8
        )


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("mu", [0.02, 0.1, 0.3])
def test_velocities_with_friction_are_those_of_other_methods(way: str, dim: int, mu: float) -> None:
    """A De Saxcé projection method on the dense matrix, and Gauss–Seidel."""
    sim = packing(dim, {"friction": mu}, seed=2, count=20)
    for _ in range(2):
        steps(sim, 10)
        problem = captured(sim)
        s = solve(problem, TIGHT)
        assert violation(problem, s) <= 1.1e-10
        np.testing.assert_allclose(all_velocities(s), de_saxce(Dense.of(problem)), atol=1e-8)
        np.testing.assert_allclose(
            all_velocities(s), all_velocities(solve(problem, SWEPT)), atol=1e-8
        )


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", SCENES)
def test_every_law_and_body_is_that_of_gauss_seidel(way: str, name: str, dim: int) -> None:
    """Pistons, driven walls, drums, locked axes, periods, cohesion, restitution."""
    problem = one_step(name, dim)
    a, b = solve(problem, TIGHT), solve(problem, SWEPT)
    assert a.converged
    speed = np.abs(b.velocity).max()
    assert speed > 0.0
    np.testing.assert_allclose(all_velocities(a), all_velocities(b), atol=1e-7 * speed)


@pytest.mark.parametrize("dim", DIMS)
def test_overlaps_are_removed_or_kept_as_asked(way: str, dim: int) -> None:
    """Shock law with g: an overlap is gone after a step; with g⁺ it stays as it is."""
    x = np.zeros((3, dim))
    x[:, -1] = 0.45, 1.4, 2.35
    for shock, gap in (("g", 0.0), ("g+", -0.05)):
        keys = {"walls": [floor(dim)], "allow_overlaps": True, "shock": shock}
        sim = start(dim, grains(*x), gravity=up(dim, -1.0), solver=TIGHT, **keys)
        steps(sim, 2)
        np.testing.assert_allclose(sim.state.contacts.gap, gap, atol=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_gaps_close_and_no_more(way: str, dim: int) -> None:
    """A grain comes to rest in touch with the floor, whatever the gap."""
    sim = start(
        dim,
        grains(up(dim, 0.537)),
        walls=[floor(dim)],
        gravity=up(dim, -1.0),
        solver=TIGHT,
        dt=0.02,
    )
    steps(sim, 30)
    assert sim.state.position[0, -1] == pytest.approx(0.5, abs=1e-10)


# ---------------------------------------------------------------------- energy, rest
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("law", [{"friction": 0.0}, {"friction": 0.5}, {"friction": 1.0}])
def test_energy_is_never_created(way: str, dim: int, law: dict[str, float]) -> None:
    """A box of grains with random velocities: every step takes some, none gives any."""
    sim = packing(dim, law, seed=3)
    rng = np.random.default_rng(0)
    sim.state.velocity[: sim.model.n] = rng.normal(size=(sim.model.n, dim))
    sim.engine.solver = hg.RigidSolver(tolerance=1e-8, on_cap="error")  # type: ignore[union-attr]
    taken = 0.0
    for _ in range(20):
        report = sim.step()
        assert report.created <= 1e-12 * (1.0 + report.kinetic)
        taken += report.dissipated
    assert taken > 0.0


@pytest.mark.parametrize("dim", DIMS)
def test_a_packing_at_rest_stays_so(dim: int) -> None:
    """Nothing creeps, nothing sags, from no forces or from those of the last step."""
    before = settled(dim, 2.0, {2: 2, 3: 0}[dim])
    sim = again(before, 0.5, 5.0, solver=hg.RigidSolver(tolerance=1e-9), dt=0.01)
    sim.step()
    x = sim.state.position.copy()
    for start_from in ("previous", "zero"):
        sim.engine.solver = hg.RigidSolver(tolerance=1e-9, start=start_from)  # type: ignore[union-attr]
        for _ in range(10):
            assert sim.step().converged
            assert np.abs(sim.state.velocity).max() <= 1e-9
    np.testing.assert_allclose(sim.state.position, x, atol=1e-9)


# ---------------------------------------------------------------------- sweeps in tiles
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("stage", rigid.STAGES)
def test_every_stage_obeys_the_laws_in_tiles(
    stage: str, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage goes through what several processes do, with one; there is no walk in 3D."""
    monkeypatch.setattr(rigid._Search, "_swept", lambda *_: False)
    monkeypatch.setattr(rigid._Search, "_onward", lambda *_: iter(()))
    monkeypatch.setattr(rigid, "EARLY", 0)
    problem = captured(again(settled(dim, 2.0, 1), 0.5, 5.0, dt=0.01))
    v = problem.velocity.copy()
    v[-1] *= 1.1  # more on the piston, so that there is something to do
    problem = replace(problem, impulse=solve(problem).impulse, velocity=v)
    solver = hg.RigidSolver(order="tiles", tolerance=1e-8)
    found = rigid.search(solver, problem, 1, 0, stages=(stage,))
    assert isinstance(found, Solution)
    assert found.converged
    assert violation(problem, found) <= 1.1e-8
    if (stage, dim) != ("walk", 3):
        assert {"rest": "gradients"}.get(stage, stage) in {s.method for s in found.history}


@pytest.mark.parametrize("dim", DIMS)
def test_gradients_in_tiles_find_what_those_of_one_process_find(dim: int) -> None:
    """At rest there is one velocity, zero, whatever forces hold the grains."""
    problem = captured(again(settled(dim, 2.0, 1), 0.5, 5.0, dt=0.01))
    for task in (StepTask(problem), SharedTask(problem)):
        found = task.descended(None, 1e-9, 20_000)
        assert found is not None
        assert found[1] <= 1e-9
        swept = hg.GaussSeidel(sweeps=1).solve(replace(problem, impulse=found[0]), seed=0, step=0)
        assert swept.residual <= 1e-7
        assert np.abs(swept.velocity[:-1]).max() <= 1e-8


@pytest.mark.parametrize(("dim", "side"), [(2, 17), (2, 63), (3, 7), (3, 14)])
def test_the_nominal_cost_of_factors_is_near_the_counted_one(dim: int, side: int) -> None:
    """Nested dissection takes m^(3/2) and m² operations; grains of a grid, moved at random."""
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(*[np.arange(float(side))] * dim), axis=-1).reshape(-1, dim)
    x = grid + rng.uniform(-0.35, 0.35, grid.shape)
    _, near = cKDTree(x).query(x, k=3 * dim)
    pairs = np.stack([np.repeat(np.arange(len(x)), 3 * dim - 1), near[:, 1:].ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    some = np.sort(rng.permutation(len(pairs))[: dim * len(x)])
    first, second = pairs[some].T.astype(np.int32)
    counted = Elimination(x, first, second, 3 * dim - 3).flops
    number, power = DISSECTION[dim]
    assert counted == pytest.approx(number * float(first.size) ** power, rel=0.2)


# ---------------------------------------------------------------------- history of the forces
def change(a: Floats, b: Floats) -> float:
    return float(np.linalg.norm(b - a) / np.linalg.norm(a))


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_forces_follow_the_load_as_gently_as_with_gauss_seidel(dim: int, seed: int) -> None:
    """Load + 1 %, from converged forces: many networks would do; a near one is asked for."""
    sim = again(settled(dim, 2.0, seed), 0.5, 5.0, dt=0.01, solver=hg.RigidSolver(tolerance=1e-9))
    steps(sim, 10)
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
    same = captured(sim)
    rest = solve(same, hg.RigidSolver(tolerance=1e-9))
    # once more: nothing has happened, nothing moves
    twice = solve(replace(same, impulse=rest.impulse), hg.RigidSolver(tolerance=1e-8))
    assert change(rest.impulse, twice.impulse) < 1e-6
    assert twice.sweeps == 1
    # one percent more on the piston
    v = same.velocity.copy()
    v[-1] *= 1.01
    more = replace(same, impulse=rest.impulse, velocity=v)
    ours = solve(more)
    swept = solve(more, SWEPT.model_copy(update={"tolerance": 1e-6}))
    assert ours.converged
    assert change(rest.impulse, swept.impulse) < 0.015
    assert change(rest.impulse, ours.impulse) < 0.02


def test_a_cold_start_forgets() -> None:
    """With ``start = "zero"`` the forces are those of no history, whatever was given."""
    problem = captured(again(settled(2, 2.0, 2), 0.5, 5.0, dt=0.01))
    cold = hg.RigidSolver(start="zero")
    other = replace(problem, impulse=np.ones_like(problem.impulse))
    a, b = solve(problem, cold), solve(other, cold)
    assert a.impulse.tobytes() == b.impulse.tobytes()
    assert a.velocity.tobytes() == b.velocity.tobytes()


# ---------------------------------------------------------------------- what a solution says
def test_the_same_bits_twice(way: str) -> None:
    problem = captured(again(settled(3, 10.0, 1), 0.5, 5.0, gravity=0.5))
    a, b = solve(problem), solve(problem)
    for name in ("velocity", "spin", "impulse"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert [s[:3] for s in a.history] == [s[:3] for s in b.history]


def test_a_solution_tells_how_it_came_about(way: str) -> None:
    problem = captured(again(settled(2, 2.0, 0), 0.3, 5.0, gravity=1.0))
    s = solve(problem, hg.RigidSolver(tolerance=1e-7))
    assert s.converged
    assert s.status.startswith("converged by sweeps")
    assert {stage.method for stage in s.history} <= {"sweeps", "path", "walk", "springs"}
    assert s.sweeps == sum(stage.number for stage in s.history if stage.method == "sweeps")
    seconds = [stage.seconds for stage in s.history]
    assert seconds == sorted(seconds)
    assert s.history[-1].residual == s.residual <= 1e-7
    assert s.residual_rms <= s.residual
    if way == "at once":
        assert "path" in s.status or "walk" in s.status or "springs" in s.status


def test_a_problem_without_contacts_is_solved() -> None:
    s = solve(captured(start(2, grains([0, 0], [3, 0]))))
    assert s.converged
    assert s.sweeps == 0
    assert s.impulse.shape == (0, 2)


def crushed(dim: int, solver: Any = SOLVER) -> hg.Simulation:
    """A grain between a floor and a lid that comes down on it: no impulses keep them apart."""
    end = [0.0] * (dim - 1)
    floor_and_lid = [
        hg.Plane(point=[*end, 0.0], normal=[*end, 1.0]),
        hg.Plane(point=[*end, 1.0], normal=[*end, -1.0], velocity=[*end, -1.0]),
    ]
    one = grains([*end, 0.5])
    return start(dim, one, walls=floor_and_lid, law={"friction": 0.3}, dt=0.01, solver=solver)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_miss_is_never_silent(dim: int) -> None:
    """There is no solution, and the last resort is one sweep or several portions of them."""
    for sweeps in (1, 2500):
        hopeless = hg.RigidSolver(sweeps=sweeps)
        s = solve(captured(crushed(dim)), hopeless)
        assert not s.converged
        assert s.status.startswith(f"not converged: residual {s.residual:.2g}, unbalanced ")
        assert np.isfinite(s.velocity).all()
        # the best of all that was tried
        assert s.residual == min(stage.residual for stage in s.history if stage.method == "sweeps")
    assert not crushed(dim, hopeless).step().converged
    assert crushed(dim, hopeless).run(1).capped == 1
    strict = hopeless.model_copy(update={"on_cap": "error"})
    with pytest.raises(hg.RunError, match=r"not converged: residual .*on_cap is 'error'"):
        crushed(dim, strict).step()


@pytest.mark.parametrize(
    ("residual", "portions"),
    [
        (lambda k: 0.5**k, 20),  # they get on, until springs would have cost as much
        (lambda k: 0.97**k, 20),  # slowly: a tenth takes four portions
        (lambda k: 0.98**k, 4),  # too slowly
        (lambda k: 1.0 + k % 2, 4),  # they are stuck
        (lambda k: 0.5 ** (k // 4), 20),  # they pause three times and go on
        (lambda k: 0.5 ** (k // 4) if k < 8 else 0.25, 12),
    ],
)
def test_sweeps_go_on_as_long_as_they_get_on(
    residual: Callable[[int], float], portions: int
) -> None:
    numbers = count(1)

    def sweep(impulse: Any, most: int) -> Any:
        search.sweeps += most
        return SimpleNamespace(residual=residual(next(numbers)), r=impulse)

    last = SimpleNamespace(residual=residual(0), r=None)
    patience = 20 * rigid.PORTION * rigid.PATIENCE[3] / rigid.ONWARD
    search = SimpleNamespace(
        last=last, sweeps=0, solver=hg.RigidSolver(), _patience=patience, _sweep=sweep
    )
    asked = sum(1 for _ in rigid._Search._onward(search))  # type: ignore[arg-type]
    assert asked == search.sweeps / rigid.PORTION == portions


@pytest.mark.parametrize("dim", [2, 3])
def test_a_solve_never_ends_worse_than_it_began(dim: int) -> None:
    """It begins with impulses that are right to rounding, and is told that they are not enough."""
    problem = captured(again(settled(dim, 2.0, 0), 0.3, 5.0, gravity=1.0))
    right = solve(problem, hg.RigidSolver(tolerance=1e-9))
    assert right.converged
    began = replace(problem, impulse=right.impulse)
    s = solve(began, hg.RigidSolver(tolerance=1e-300, sweeps=2500))
    looks = [stage.residual for stage in s.history if stage.method == "sweeps"]
    assert s.residual == min(looks) <= looks[0] <= 1e-9


# ---------------------------------------------------------------------- unbalanced forces
def test_a_small_residual_may_hide_a_load_that_is_not_handed_on() -> None:
    """A pushed chain: the slowest mode of n contacts relaxes by ~ (π/2n)² a sweep.

    At a residual of ε, forces are wrong by ε (2n/π)². The criterion makes the solver go on.
    """
    n, push = 200, 0.01
    swept = hg.GaussSeidel(stop="residual", tolerance=1e-6, sweeps=1_000_000, order="sequential")
    wrong = {}
    for share in (None, 1e-3, 1e-4):
        solver = swept.model_copy(update={"unbalanced": share})
        sim = hg.Simulation(row(n, push), dt=1.0, solver=solver)
        problem = captured(sim)
        s = solve(problem, solver)
        assert s.converged
        assert s.residual <= 1e-6
        # net force on the disks, from the impulses alone
        net = np.zeros(n + 1)
        np.add.at(net, problem.second, s.impulse[:, 0])
        np.add.at(net, problem.first, -s.impulse[:, 0])
        net[n - 1] -= push
        mean = np.abs(s.impulse[:, 0]).mean()
        assert s.unbalanced == pytest.approx(np.abs(net[:n]).max() / mean, rel=1e-6)
        assert share is None or s.unbalanced <= share
        wrong[share] = float(np.abs(np.abs(s.impulse[:, 0]) / push - 1.0).max())
    assert wrong[None] > 2e-3
    assert wrong[1e-4] < 0.2 * wrong[None]


def test_an_unbalanced_force_that_is_an_acceleration_is_no_miss_of_the_residual() -> None:
    """A grain that is pushed along has a net force for good: the step is solved, and flagged."""
    keys = {"walls": [floor(2)], "gravity": [1.0, -1.0]}
    sim = start(2, grains([0, 0.5]), **keys)
    problem = captured(sim)
    s = solve(problem, hg.RigidSolver(unbalanced=1e-3))
    assert s.residual <= 1e-6
    assert s.unbalanced == pytest.approx(1.0)
    assert not s.converged
    assert "unbalanced 1" in s.status
