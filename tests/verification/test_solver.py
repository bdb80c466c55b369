"""The iterative solver keeps its promises: orders, paths, stopping rules, starts.

Sweeps are numbered and their permutations keyed by (seed, step, sweep), so a solve with N − 1
sweeps is the first part of one with N, and each rule can be checked from outside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cpu.sweep import BLOCK
from hardgrain.solve.problem import Problem, Solution
from hardgrain.step.contact_dynamics import ContactDynamics

from .helpers import EXACT, cluster, grains, packing, record, start, steps, velocities

pytestmark = pytest.mark.rounding

FRICTION = {"friction": 0.3}
EVERY = {"friction": 0.4, "friction_dynamic": 0.4, "cohesion": 0.005, "rolling": 0.05}


def problem(dim: int, law: dict[str, Any]) -> Problem:
    """A contact problem of a packing that has not come to rest."""
    sim = packing(dim, law)
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    return kept.problem


def solve(p: Problem, **keys: Any) -> Solution:
    return hg.GaussSeidel(**keys).solve(p, seed=1, step=7)


def sizes(s: Solution) -> np.ndarray:
    """|P| of every contact, torques included as the solver counts them, shape (m,)."""
    return np.sqrt(np.sum(s.impulse**2, axis=1) + np.sum(s.torque**2, axis=1))


# ---------------------------------------------------------------------- orders and paths
def determinate(dim: int, law: dict[str, Any]) -> Problem:
    """Grains that fly into each other: so few contacts that all impulses are unique.

    Where they are not, sliding friction and rolling resistance follow normal impulses that are not
    unique either, and even velocities may differ between two exact solutions.
    """
    x, d = cluster(dim, 10, 6)
    v = np.random.default_rng(0).normal(size=x.shape) - x
    sets = [grains(x[k], diameter=d[k], velocity=v[k].tolist()) for k in range(len(x))]
    sim = start(dim, sets, law=law)
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    return kept.problem


@pytest.mark.parametrize(
    ("make", "dim", "law"),
    [
        (problem, 2, FRICTION),
        (problem, 3, FRICTION),
        (problem, 2, EVERY),
        (determinate, 2, EVERY),
        (determinate, 3, EVERY),
    ],
)
def test_all_orders_agree_on_velocities(make, dim, law):
    p = make(dim, law)
    rule = {"stop": "residual", "tolerance": 1e-11, "sweeps": 100_000}
    found = {
        order: solve(p, order=order, **rule)
        for order in ("random", "drawn", "sequential", "symmetric", "coloured", "tiles")
    }
    found["jacobi"] = hg.Jacobi(relaxation=0.2, **rule).solve(p, seed=1, step=7)
    assert np.count_nonzero(sizes(found["random"])) > 5
    for name, s in found.items():
        assert s.converged, name
        # a residual of 10⁻¹¹ leaves errors of (slowest mode's sweeps) × 10⁻¹¹
        np.testing.assert_allclose(
            velocities(s), velocities(found["random"]), atol=1e-8, err_msg=name
        )


# ---------------------------------------------------------------------- beyond one block
@pytest.fixture(scope="module", params=[2, 3])
def large(request) -> Problem:
    """Cold contacts in more than one block, of grains near a lattice that fly inwards.

    Only here do colours, residual and change of impulses run on several threads.
    """
    dim = request.param
    count = 2500 if dim == 2 else 1728
    side = round(count ** (1 / dim))
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * dim), axis=-1).reshape(-1, dim)
    rng = np.random.default_rng(0)
    x += 0.02 * rng.random(x.shape)
    d = np.full(count, 0.98)
    v = 0.2 * rng.normal(size=x.shape) - 0.02 * (x - x.mean(axis=0))
    scene = hg.Scene(
        dimension=dim,
        contacts=[hg.ContactLaw(**FRICTION)],
        grains=[hg.Grains(place=hg.At(positions=x), diameter=d, velocity=[0.0] * dim)],
    )
    sim = hg.Simulation(scene, dt=0.2, solver=hg.GaussSeidel(sweeps=1))
    sim.state.velocity[:] = v
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    assert kept.problem.first.size > BLOCK
    return replace(kept.problem, impulse=np.zeros_like(kept.problem.impulse))


def coloured(p: Problem, threads: int = 1, **keys: Any) -> Solution:
    """On one thread, the same code as on several, no time is lost waiting for busy cores."""
    return solve(p, order="coloured", threads=threads, **keys)


def test_coloured_order_agrees_with_random_beyond_one_block(large):
    rule = {"stop": "residual", "tolerance": 1e-9, "sweeps": 20_000}
    one, other = coloured(large, **rule), solve(large, **rule)
    assert one.converged
    assert other.converged
    assert np.count_nonzero(sizes(one)) > 1000
    np.testing.assert_allclose(velocities(one), velocities(other), atol=1e-6)


@pytest.mark.parametrize("stop", ["sweeps", "local", "global", "residual"])
def test_coloured_order_gives_the_same_bits_on_any_number_of_threads(large, stop):
    keys = {"sweeps": 30} if stop == "sweeps" else {"sweeps": 2000, "tolerance": 1e-3}
    one, two = (coloured(large, threads, stop=stop, **keys) for threads in (1, 2))
    assert one.converged
    assert one.sweeps == two.sweeps
    assert (one.residual, one.residual_rms) == (two.residual, two.residual_rms)
    np.testing.assert_array_equal(velocities(one), velocities(two))
    np.testing.assert_array_equal(one.impulse, two.impulse)


def test_coloured_order_honours_every_stopping_rule_beyond_one_block(large):
    def after(sweeps: int) -> Solution:
        return coloured(large, sweeps=sweeps)

    assert after(7).sweeps == 7

    eps, delta = 1e-3, 1e-2
    s = coloured(large, stop="local", tolerance=eps, cutoff=delta, sweeps=5000)
    new, old, older = (after(s.sweeps - k).impulse for k in range(3))
    np.testing.assert_array_equal(new, s.impulse)

    def broken(new: np.ndarray, old: np.ndarray) -> int:
        change, size = (np.linalg.norm(a, axis=1) for a in (new - old, new))
        return int(np.sum(change > eps * size + delta * large.dt))

    assert s.converged
    assert broken(new, old) == 0 < broken(old, older)

    s = coloured(large, stop="global", tolerance=eps, sweeps=5000)
    mean = [sizes(after(s.sweeps - k)).mean() for k in range(3)]
    assert s.converged
    assert abs(mean[0] - mean[1]) <= eps * mean[0]
    assert abs(mean[1] - mean[2]) > eps * mean[1]

    s = coloured(large, stop="residual", tolerance=eps, sweeps=5000)
    checks = [1]
    while checks[-1] < s.sweeps:
        checks.append(checks[-1] + max(5, checks[-1] // 20))
    assert s.converged
    assert checks[-1] == s.sweeps
    assert after(checks[-1]).residual <= eps < after(checks[-2]).residual


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_lean_and_full_paths_give_the_same_run(dim, e):
    """Plain laws through the fast path and through the general law: rounding apart."""
    sim = packing(dim, {"friction": 0.3, "restitution": e})
    assert sim.model.lean
    one, two = sim.state.copy(), sim.state.copy()
    solver = hg.GaussSeidel(sweeps=50)
    lean = ContactDynamics(sim.model, solver, sim.dt, 0)
    full = ContactDynamics(replace(sim.model, lean=False), solver, sim.dt, 0)
    for _ in range(30):
        a, b = lean.advance(one), full.advance(two)
    assert a.residual == pytest.approx(b.residual, rel=1e-3)
    np.testing.assert_allclose(two.velocity, one.velocity, atol=1e-9)
    np.testing.assert_allclose(two.spin, one.spin, atol=1e-9)
    np.testing.assert_allclose(full.wall_force, lean.wall_force, atol=1e-7)


@pytest.mark.parametrize("dim", [2, 3])
def test_lean_and_full_paths_agree_with_pistons_and_turning_walls(dim):
    flat = dim == 2
    box = hg.Box(
        min=[-3.0] * dim, max=[3.0] * dim, open=["left"],
        pistons={"top": hg.Piston(mass=2.0, force=5.0)},
    )  # fmt: skip
    paddle = hg.Plane(
        name="paddle", point=[-3.0] + [0.0] * (dim - 1), normal=[1.0] + [0.0] * (dim - 1),
        spin=0.4 if flat else [0.0, 0.3, 0.4],
    )  # fmt: skip
    x, d = cluster(dim, 14, 2, gap=0.01)
    sets = [grains(x[k], diameter=d[k], velocity=(-x[k]).tolist()) for k in range(len(x))]
    sim = start(
        dim,
        sets,
        law=FRICTION,
        gravity=[-1.0] * dim,
        walls=[box, paddle],
        solver=hg.GaussSeidel(sweeps=50),
    )
    assert sim.model.lean
    two = sim.state.copy()
    full = ContactDynamics(replace(sim.model, lean=False), sim.engine.solver, sim.dt, 0)
    for _ in range(150):
        sim.step()
        full.advance(two)
    forces = np.abs(sim.engine.wall_force).max(axis=1)
    assert forces[sim.model.wall_names.index("paddle")] > 0.0
    np.testing.assert_allclose(two.velocity, sim.state.velocity, atol=1e-8)
    np.testing.assert_allclose(full.wall_force, sim.engine.wall_force, atol=1e-5)
    np.testing.assert_allclose(full.wall_torque, sim.engine.wall_torque, atol=1e-5)


# ---------------------------------------------------------------------- stopping rules
@pytest.mark.parametrize("law", [FRICTION, EVERY], ids=["plain", "every"])
@pytest.mark.parametrize("order", ["random", "drawn", "symmetric", "coloured"])
def test_fixed_number_of_sweeps(law, order):
    p = problem(2, law)
    s = solve(p, sweeps=17, order=order)
    assert s.sweeps == 17
    assert s.converged


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", [FRICTION, EVERY], ids=["plain", "every"])
@pytest.mark.parametrize("order", ["random", "sequential", "coloured"])
def test_local_criterion_holds_at_the_last_sweep_and_not_before(dim, law, order):
    """(35): |ΔP| ≤ ε |P| + δ dt at every contact."""
    p = problem(dim, law)
    eps, delta = 1e-3, 1e-4
    s = solve(p, stop="local", tolerance=eps, cutoff=delta, sweeps=5000, order=order)
    assert s.converged
    assert 2 < s.sweeps < 5000
    last = [solve(p, sweeps=s.sweeps - k, order=order) for k in range(3)]
    np.testing.assert_array_equal(last[0].impulse, s.impulse)

    def broken(new: Solution, old: Solution) -> int:
        change = np.sqrt(
            np.sum((new.impulse - old.impulse) ** 2, axis=1)
            + np.sum((new.torque - old.torque) ** 2, axis=1)
        )
        return int(np.sum(change > eps * sizes(new) + delta * p.dt))

    assert broken(last[0], last[1]) == 0
    assert broken(last[1], last[2]) > 0


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("order", ["random", "sequential", "coloured"])
def test_global_criterion_holds_at_the_last_sweep_and_not_before(dim, order):
    """(36): the mean |P| changes by at most ε of itself."""
    p = problem(dim, FRICTION)
    p = replace(p, impulse=np.zeros_like(p.impulse))
    eps = 1e-3
    s = solve(p, stop="global", tolerance=eps, sweeps=5000, order=order)
    assert s.converged
    assert 1 < s.sweeps < 5000
    mean = [
        sizes(solve(p, sweeps=s.sweeps - k, order=order)).mean() if s.sweeps > k else 0.0
        for k in range(3)
    ]
    assert abs(mean[0] - mean[1]) <= eps * mean[0]
    assert abs(mean[1] - mean[2]) > eps * mean[1]


@pytest.mark.parametrize("order", ["random", "coloured"])
def test_residual_criterion_holds_at_the_last_check_and_not_before(order):
    """The residual is looked at after the first sweep, then after every fifth or more."""
    p = problem(2, FRICTION)
    s = solve(p, stop="residual", tolerance=1e-5, sweeps=5000, order=order)
    assert s.converged
    assert s.residual <= 1e-5
    check = 1
    while check < s.sweeps:
        assert solve(p, sweeps=check, order=order).residual > 1e-5
        check += max(5, check // 20)
    assert check == s.sweeps


@pytest.mark.parametrize("rule", ["local", "global", "residual"])
def test_cap_is_counted_and_can_be_an_error(rule):
    keys: dict[str, Any] = {"stop": rule, "tolerance": 1e-15, "sweeps": 3, "start": "zero"}
    sim = packing(2, FRICTION)
    sim.engine.solver = hg.GaussSeidel(**keys)
    before = sim.totals.capped
    steps(sim, 4)
    assert not sim.report.converged
    assert sim.report.sweeps == 3
    assert sim.totals.capped - before == 4
    summary = sim.run(until=sim.state.step)
    assert summary.capped == 4
    assert "reached the cap" in str(summary)
    sim.engine.solver = hg.GaussSeidel(**keys, on_cap="error")
    with pytest.raises(hg.RunError, match="after 3 sweeps, not converged"):
        sim.step()


# ---------------------------------------------------------------------- where to start
@pytest.mark.parametrize(
    ("dim", "law"), [(2, FRICTION), (2, EVERY), (3, {"friction": 0.0})], ids=["2D", "every", "3D"]
)
def test_warm_start_is_nearer_and_ends_at_the_same_velocities(dim, law):
    sim = packing(dim, law)
    steps(sim, 100)
    kept = record(sim)
    kept.solver = EXACT.model_copy(update={"tolerance": 1e-11})
    steps(sim, 2)
    p = kept.problem
    assert np.abs(p.impulse).max() > 0.0
    cold = replace(p, impulse=np.zeros_like(p.impulse), torque=np.zeros_like(p.torque))
    assert solve(p, sweeps=1).residual < 0.1 * solve(cold, sweeps=1).residual
    rule = {"stop": "residual", "tolerance": 1e-11, "sweeps": 100_000}
    warm, fresh = solve(p, **rule), solve(cold, **rule)
    assert warm.sweeps < fresh.sweeps
    np.testing.assert_allclose(velocities(warm), velocities(fresh), atol=1e-8)


@pytest.mark.parametrize("slope", [0.3, 1.0])
@pytest.mark.parametrize("friction", [0.1, 0.8])
def test_one_sweep_solves_one_contact_whose_directions_are_coupled(slope, friction):
    """A grain that cannot move along x on an oblique wall: pushed along n, it also moves along t.

    One contact alone has no neighbours to wait for, so its first update is its solution. A wrong
    coupling W_nt would still converge, sweep by sweep, and nothing else would tell.
    """
    n = np.array([-np.sin(slope), np.cos(slope)])
    scene = hg.Scene(
        gravity=[0.0, -1.0],
        contacts=[hg.ContactLaw(friction=friction)],
        grains=[hg.Grains(place=hg.At(positions=[0.5 * n]), lock=["x"])],
        walls=[hg.Plane(point=[0.0, 0.0], normal=n)],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=1))
    report = sim.step()
    assert sim.state.contacts.impulse.any()
    assert report.residual < 1e-13


def test_start_from_zero_forgets_the_last_step():
    """start = "zero": the same solution as that of a state without contacts."""
    sim = packing(2, FRICTION)
    zero = hg.GaussSeidel(sweeps=5, order="sequential", start="zero")
    one, two = sim.state.copy(), sim.state.copy()
    two.contacts.impulse[:] = 0.0
    ContactDynamics(sim.model, zero, sim.dt, 0).advance(one)
    warm = zero.model_copy(update={"start": "previous"})
    ContactDynamics(sim.model, warm, sim.dt, 0).advance(two)
    np.testing.assert_array_equal(one.velocity, two.velocity)


def test_start_from_a_given_state_goes_on_as_if_never_stopped():
    sim = packing(2, FRICTION)
    other = hg.Simulation(
        sim.scenario.scene, dt=sim.dt, solver=sim.scenario.solver, start=sim.state
    )
    assert other.state.step == 0
    for _ in range(10):
        sim.step()
        other.step()
    # sequential sweeps do not ask for the step's number: the same bits
    np.testing.assert_array_equal(other.state.position, sim.state.position)
    np.testing.assert_array_equal(other.state.contacts.impulse, sim.state.contacts.impulse)


def test_relaxed_parallel_update_is_stable_and_the_full_one_is_not():
    """The review's warning: an unrelaxed parallel update of a packing blows up."""
    p = problem(2, FRICTION)
    p = replace(p, impulse=np.zeros_like(p.impulse))
    residual = {
        r: hg.Jacobi(sweeps=300, relaxation=r).solve(p, seed=0, step=0).residual for r in (0.3, 1.0)
    }
    assert residual[0.3] < 1e-3
    assert residual[1.0] > 0.1


def test_residual_counts_what_is_borne_and_what_is_wanted():
    """Two grains in a column, swept once from above: by hand.

    The upper contact is met first, with nothing to do; the floor then stops the lower grain, on
    which the upper one goes on falling, at v. That contact bears nothing and wants W P* = v; the
    floor bears W P = v and wants no more. So V² = mean(v², v²), the largest ΔV is v, and the mean
    of its squares v²/2.
    """
    sets = [hg.Grains(diameter=1.0, place=hg.At(positions=[[0.0, 0.5], [0.0, 1.5]]))]
    walls = [hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0])]
    scene = hg.Scene(gravity=[0.0, -1.0], grains=sets, walls=walls)
    solver = hg.GaussSeidel(sweeps=1, order="sequential")
    report = hg.Simulation(scene, dt=0.01, solver=solver).step()
    assert report.residual == pytest.approx(1.0, rel=1e-12)
    assert report.residual_rms == pytest.approx(0.5**0.5, rel=1e-12)
