"""Tiles: whom they share, what they visit, and that sweeps over them are sweeps over contacts."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cpu.packing import LAYOUTS, pack
from hardgrain.cpu.relaxation import RELAXED, ROUNDING
from hardgrain.cpu.sweep import fastest, residual
from hardgrain.cpu.tile_packing import read_out
from hardgrain.cpu.tile_sweeps import Orders, colour_orders, sweep_tiles
from hardgrain.cpu.tiled import Relaxing
from hardgrain.cpu.tiles import plan_tiles
from hardgrain.errors import InputError
from hardgrain.point.order import SEQUENTIAL, Visits
from hardgrain.point.stopping import SWEEPS, Until
from hardgrain.point.sweeping import Sweeping
from hardgrain.point.tiles import Tiling, cut, make_tiles, shared_bodies
from hardgrain.run.scenario import Scenario
from hardgrain.solve.problem import Problem
from hardgrain.solve.solver import MANY
from hardgrain.step.device_dynamics import refuse_on_device

PLAIN = make_tiles(lambda function: function)  # as plain Python


# ---------------------------------------------------------------------- who shares what
def near_pairs(x: np.ndarray, reach: np.ndarray, period: np.ndarray) -> np.ndarray:
    """All pairs of grains closer than the sum of their reaches, by brute force; shape (m, 2)."""
    apart = x[:, None] - x[None]
    wrap = np.where(period > 0.0, period, 1.0)
    apart -= np.where(period > 0.0, wrap * np.round(apart / wrap), 0.0)
    near = np.linalg.norm(apart, axis=-1) < reach[:, None] + reach[None]
    return np.argwhere(np.triu(near, 1))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("sizes", ["alike", "few large", "broad", "fast"])
def test_tiles_of_one_colour_share_no_grain(dim: int, periodic: bool, sizes: str) -> None:
    rng = np.random.default_rng(dim)
    n, side = 500, 22.0 if dim == 2 else 8.0
    x = rng.uniform(-3.0 * side, 3.0 * side, (n, dim)) if periodic else rng.random((n, dim)) * side
    x[:2] *= 50.0  # two have flown far away
    r = rng.uniform(0.4, 0.6, n)
    if sizes == "few large":
        r[7:11] = 3.0
    elif sizes == "broad":
        r = 0.1 * 9.0 ** rng.random(n)
    reach = r.copy()
    if sizes == "fast":  # gaps that close within the step, beyond half a tile
        reach[:20] = 4.0
    period = np.full(dim, side) if periodic else np.zeros(dim)
    shared, largest = shared_bodies(r, n + 1)
    assert shared[n]  # a wall
    assert shared[:n].sum() == (4 if sizes == "few large" else 0)
    pairs = near_pairs(x, reach, period)
    tiling = cut(x, largest, period, len(pairs))
    assert all(k == 1 or k % 2 == 0 for k in tiling.count)
    colours, tiles = PLAIN.colours(tiling)
    owner: dict[tuple[int, int], int] = {}
    rest = 0
    for i, j in pairs:
        tile = PLAIN.home(tiling, x, shared, i, j)
        assert -1 <= tile < colours * tiles
        rest += tile < 0
        for body in (i, j):
            if tile >= 0 and not shared[body]:
                assert owner.setdefault((body, tile // tiles), tile) == tile
    assert colours > 1  # else nothing has been tested
    # Those of ordinary grains that do not fly all have tiles; large ones touch each other, too.
    assert rest == 0 or sizes in ("fast", "few large")


def test_space_is_cut_along_few_axes_and_for_many_threads() -> None:
    rng = np.random.default_rng(0)
    for dim, extent, axes in (
        (3, [50.0, 50.0, 50.0], 2),
        (3, [900.0, 9.0, 9.0], 1),
        (2, [600.0] * 2, 2),
    ):
        volume = math.prod(extent)
        n = int(volume)
        tiling = cut(rng.random((n, dim)) * extent, 0.5, np.zeros(dim), 3 * n)
        assert np.count_nonzero(tiling.count > 1) == axes
        assert tiling.width.min() >= 2.0  # two grains lie within half a tile
        assert tiling.count.prod() >= 64 * 2**axes
        assert 3 * n / tiling.count.prod() <= 2000


def test_one_grain_far_away_does_not_change_the_tiles() -> None:
    x = np.random.default_rng(0).random((3000, 2)) * 60.0
    far = np.vstack([x, [[1e7, -1e7]]])
    tilings = [cut(y, 0.5, np.zeros(2), 6000) for y in (x, far)]
    assert abs(tilings[1].count.prod() / tilings[0].count.prod() - 1.0) < 0.2


# ---------------------------------------------------------------------- problems
# one coefficient of friction, since with two of them a step may have no solution at all
EVERY = {"friction": 0.4, "friction_dynamic": 0.4, "rolling": 0.1}
KINDS = {
    "disks": {"dim": 2},
    "spheres": {"dim": 3},
    "disks, every law": {"dim": 2, "law": EVERY},
    "spheres, every law": {"dim": 3, "law": EVERY},
    "piston": {"dim": 2, "piston": 5.0},
    "light piston": {"dim": 3, "piston": 0.05},
    "periodic": {"dim": 2, "periodic": True},
    "large grain": {"dim": 2, "large": True},
    "polygons": {"dim": 2, "shape": "pentagon"},
}


def scene(dim: int, law: Any = None, piston: float = 0.0, periodic: bool = False,
          large: bool = False, shape: str | None = None) -> hg.Scene:  # fmt: skip
    """Grains near a lattice, loosely, that fly about between walls."""
    side = 16 if dim == 2 else 7
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * dim), axis=-1).reshape(-1, dim) + 0.5
    d = np.full(len(x), 0.98)
    if large:
        middle = np.abs(x - 0.5 * side).max(axis=1) < 3.2
        x = np.vstack([x[~middle], [[0.5 * side] * dim]])
        d = np.append(d[: len(x) - 1], 5.9)
    low, high = [0.0] * dim, [float(side)] * dim
    keys: dict[str, Any] = {"walls": [hg.Box(min=low, max=high)]}
    if piston:
        push = hg.Piston(mass=piston, force=20.0)
        keys["walls"] = [hg.Box(min=low, max=high, pistons={"top": push})]
    if periodic:
        keys = {"walls": [], "periodic": {"x": (0, side)}}
    if shape:
        keys["allow_overlaps"] = True
    more = {"shape": shape, "orientation": "random"} if shape else {}
    return hg.Scene(
        dimension=dim,
        contacts=[hg.ContactLaw(**(law or {"friction": 0.3}))],
        grains=[hg.Grains(place=hg.At(positions=x), diameter=d, speed=0.3, **more)],
        **keys,
    )


class Kept(hg.GaussSeidel):
    """Keeps the problem that it solves."""

    def _solve(self, problem: Any, seed: int, step: int) -> Any:
        KEPT.append(problem)
        return super()._solve(problem, seed, step)


KEPT: list[Problem] = []


@pytest.fixture(scope="module", params=list(KINDS))
def problem(request: pytest.FixtureRequest) -> Problem:
    sim = hg.Simulation(scene(**KINDS[request.param]), dt=0.1, solver=Kept(sweeps=20), seed=1)
    for _ in range(4):
        sim.step()
    p = KEPT[-1]
    assert p.first.size > 150
    return p


def relaxing(p: Problem, sweeps: int = 1) -> Relaxing:
    assert p.radius is not None
    assert p.periodic is not None
    shared, largest = shared_bodies(p.radius, len(p.position))
    tiling = cut(p.position[: p.radius.size], largest, p.periodic, p.first.size)
    how = Sweeping(Visits(0, 1, 7), Until(SWEEPS, sweeps, 1.0, 0.0, 0.0))
    return Relaxing((p.lean, p.dim), p.given, how, (p.position, shared, tiling))


def solve(p: Problem, threads: int = 1, **keys: Any) -> Any:
    return hg.GaussSeidel(order="tiles", threads=threads, **keys).solve(p, seed=1, step=7)


def test_each_contact_has_one_place_and_each_tile_its_own_bodies(problem: Problem) -> None:
    p = problem
    assert p.radius is not None
    assert p.periodic is not None
    shared, largest = shared_bodies(p.radius, len(p.position))
    tiling = cut(p.position[: p.radius.size], largest, p.periodic, p.first.size)
    plan, first, second = plan_tiles(p.given, tiling, p.position, shared)
    assert np.array_equal(np.sort(plan.stored), np.arange(p.first.size))
    assert (np.diff(plan.starts) >= 0).all()
    assert plan.starts[-1] == p.first.size
    assert plan.colours > 1
    assert (np.diff(plan.starts)[:-1] > 0).sum() > plan.colours
    users: dict[tuple[int, int], int] = {}
    for t, (low, high) in enumerate(pairwise(plan.starts[:-1])):
        rows = plan.stored[low:high]
        assert (np.diff(rows) > 0).all()  # in the order of the list
        for body in np.union1d(first[rows], second[rows]):
            assert users.setdefault((int(body), t // plan.tiles), t) == t
    copies = np.maximum(first, second) >= len(p.position)
    true = np.where(first >= len(p.position), first, second)[copies] - len(p.position)
    was = np.where(first >= len(p.position), p.first, p.second)[copies]
    assert np.array_equal(plan.body[true], was)


def test_sweeps_visit_each_contact_once_in_an_order_of_their_own(problem: Problem) -> None:
    step = relaxing(problem)
    plan, orders = step.plan, []
    for sweep in range(3):
        step.sweep(sweep, 1)
        orders.append(step.contacts.copy())
        for low, high in pairwise(plan.starts):
            assert np.array_equal(np.sort(orders[-1][low:high]), np.arange(low, high))
    assert not np.array_equal(orders[0], orders[1])
    colours = colour_orders(step.visits, 0, 200, plan.colours)[0]
    assert (np.sort(colours, axis=1) == np.arange(plan.colours)).all()
    # each comes first in 1/k of the sweeps; five standard deviations
    share, k = (colours[:, 0] == 0).mean(), plan.colours
    assert abs(share - 1 / k) < 5 * math.sqrt((1 - 1 / k) / k / 200)


def test_a_sweep_is_one_over_contacts_in_the_order_of_tiles(problem: Problem) -> None:
    """One contact after the other, in the order that tiles are visited in, gives the same."""
    p, step = problem, relaxing(problem)
    if step.plan.heavy.size:
        pytest.skip("with copies of a movable body it is not")
    found = solve(p, sweeps=1)
    step.sweep(0, 1)
    colours, _ = colour_orders(step.visits, 0, 1, step.plan.colours)
    tiles = [c * step.plan.tiles + t for c in colours[0] for t in range(step.plan.tiles)]
    tiles.append(len(step.plan.starts) - 2)
    visited = np.concatenate(
        [step.contacts[step.plan.starts[t] : step.plan.starts[t + 1]] for t in tiles]
    )
    stored = step.plan.stored[visited]
    how = Sweeping(Visits(SEQUENTIAL, 1, 7), Until(SWEEPS, 1, 1.0, 0.0, 0.0), stored)
    velocity, spin, impulse, *_ = RELAXED[p.lean, p.dim](p.given, how, 7)
    # the same operations, which two kernels may round differently, ~100 in a row
    np.testing.assert_allclose(found.velocity, velocity, atol=1e-12)
    np.testing.assert_allclose(found.spin, spin, atol=1e-12)
    np.testing.assert_allclose(found.impulse, impulse, atol=1e-12)


def test_threads_do_not_show(problem: Problem) -> None:
    """However many claim tiles, and whoever comes first."""
    found = []
    for threads in (1, 2, 3, 7):
        step = relaxing(problem)
        colours, rank = colour_orders(step.visits, 0, 5, step.plan.colours)
        orders = Orders(1, 7, 0, colours, rank, step.contacts)
        sweep_tiles(step.packed, step.plan, orders, step.sums, threads)
        p = problem
        out = [np.zeros_like(v) for v in (p.velocity, p.spin, p.impulse, p.torque)]
        read_out(step.packed, step.plan, *out)
        found.append((*(a.tobytes() for a in out), *step.residual()))
    assert all(f == found[0] for f in found)


def test_impulses_and_velocities_belong_together(problem: Problem) -> None:
    """v = v* + M⁻¹ H P, whatever bodies share."""
    p, s = problem, solve(problem, sweeps=7)
    change = np.zeros_like(p.velocity)
    np.add.at(change, p.second, s.impulse)
    np.add.at(change, p.first, -s.impulse)
    expected = p.velocity + p.inv_mass * change
    # about ten contacts a body and 7 sweeps, each rounding by 2⁻⁵³ of speeds of order one
    np.testing.assert_allclose(s.velocity, expected, atol=1e-12)


def test_the_residual_is_that_of_the_true_masses(problem: Problem) -> None:
    p, s = problem, solve(problem, sweeps=30)
    given = replace(p, impulse=s.impulse, torque=s.torque).given
    m = p.first.size
    packed = pack(LAYOUTS[p.lean, p.dim], given, np.arange(m, dtype=np.int32))
    unseen = (ROUNDING * fastest(p.rows, p.motion)) ** 2
    found = residual(packed, None, unseen, p.paths)
    # velocities are made of all impulses anew, and the residual is a difference of those
    np.testing.assert_allclose((s.residual, s.residual_rms), found, rtol=1e-6, atol=1e-12)


def test_tiles_converge_to_what_other_orders_do(problem: Problem) -> None:
    # rolling resistance converges slowly, in any order
    rule = {"stop": "residual", "tolerance": 1e-9 if problem.lean else 1e-5, "sweeps": 30_000}
    one, other = solve(problem, **rule), hg.GaussSeidel(**rule).solve(problem, seed=1, step=7)
    assert one.converged
    assert other.converged
    # no worse than random order, up to chance: which mode is slowest does not depend on the order
    assert one.sweeps <= 1.5 * other.sweeps
    if problem.lean:
        # Velocities of these loose grains are unique where friction is one number.
        np.testing.assert_allclose(one.velocity, other.velocity, atol=1e-5)


@pytest.mark.parametrize("stop", ["local", "global"])
def test_rules_end_the_sweeps(stop: str) -> None:
    sim = hg.Simulation(scene(2), dt=0.1, solver=Kept(sweeps=20), seed=1)
    sim.step()
    p = KEPT[-1]
    s = solve(p, stop=stop, tolerance=1e-3, sweeps=5000)
    assert s.converged
    assert 1 < s.sweeps < 5000
    before, after = (solve(p, sweeps=k).impulse for k in (s.sweeps - 1, s.sweeps))
    size, change = np.linalg.norm(after, axis=1), np.linalg.norm(after - before, axis=1)
    if stop == "local":
        assert (change <= 1e-3 * size).all()
    else:
        total = [np.linalg.norm(q, axis=1).sum() for q in (before, after)]
        assert abs(total[1] - total[0]) <= 1e-3 * total[1]


def q_of_a_chain(contacts: int) -> float:
    """The number q of tiles with so many contacts of a chain each, see `theory.chain.Q`."""
    q = 0.5
    for r in range(1, 20):
        for first in range(contacts):  # where in its tile the path begins
            a = min(r + 1, contacts - first)
            b = min(r + 1 - a, contacts)
            tiles = 0.5 if b else 1.0
            if a + b == r + 1:  # no path leads through a third tile, which has the first's colour
                share = tiles / (math.factorial(a) * math.factorial(b))
                q += share / (2**r * contacts)
    return q


def test_q_is_that_of_random_sweeps() -> None:
    """Measured as for all orders: by the slowest mode of chains, whose ends act like 1/n."""
    from hardgrain.papers.unger2002.relaxation import _endless, _q

    assert math.isclose(q_of_a_chain(10_000), hg.theory.chain.Q["random"], rel_tol=1e-4)
    lengths = (30, 60, 90)
    found = [
        _endless(np.array(lengths, float), np.array([_q(("tiles", n, seed)) for n in lengths]))[0]
        for seed in range(4)
    ]
    # Tiles of 2.2 diameters have two contacts, or three. Seeds scatter by 0.002 or 0.003.
    assert abs(np.mean(found) - q_of_a_chain(2)) < 0.008
    assert hg.GaussSeidel(order="tiles").q == hg.GaussSeidel().q
    assert abs(hg.GaussSeidel(order="tiles").q / np.mean(found) - 1.0) < 0.04


# ---------------------------------------------------------------------- whole runs
def test_a_run_in_tiles_conserves_and_is_told_as_any_other() -> None:
    """What all threads sum up of a step is what one thread would tell of it."""
    from hardgrain.step import contact_dynamics
    from hardgrain.step.account import account

    sims = []
    for told in (contact_dynamics.account_together, account):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contact_dynamics, "account_together", told)
            solver = hg.GaussSeidel(order="tiles", sweeps=30, threads=1)
            sim = hg.Simulation(scene(2, piston=5.0), dt=0.05, solver=solver, seed=1)
            sims.append([sim.step() for _ in range(5)])
    for one, other in zip(*sims):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_resumed_run_has_the_same_bits(tmp_path: Path) -> None:
    """Tiles follow from where grains are, not from what a run did before."""
    solver = hg.GaussSeidel(order="tiles", sweeps=10, threads=1)
    keys: dict[str, Any] = {"dt": 0.05, "solver": solver, "seed": 1}
    whole = hg.Simulation(scene(2, piston=5.0), **keys)
    whole.run(until=8, output=tmp_path / "whole.h5", every=4)
    hg.Simulation(scene(2, piston=5.0), **keys).run(until=4, output=tmp_path / "two.h5", every=4)
    resumed, _ = hg.Simulation.resume(tmp_path / "two.h5", until=8)
    assert resumed.state.step == 8
    for name in ("position", "velocity", "spin"):
        assert np.array_equal(getattr(resumed.state, name), getattr(whole.state, name)), name
    assert np.array_equal(resumed.state.contacts.impulse, whole.state.contacts.impulse)


@pytest.mark.parametrize("dim", [2, 3])
def test_contacts_found_together_are_those_found_alone(dim: int) -> None:
    sim = hg.Simulation(scene(dim), dt=0.1, solver=hg.GaussSeidel(sweeps=5), seed=1)
    for _ in range(3):
        sim.step()
    found = []
    v = sim.state.velocity
    for together in (False, True):
        detector = sim.engine.detector
        detector.together = together
        first = detector.find(sim.state, 3.0 * v)
        assert detector.overlooked(sim.state, first, v, 0) is None  # slower than foreseen
        found.append((first, detector.overlooked(sim.state, first, 40.0 * v, 1)))
    for one, other in zip(*found):
        assert one is not None
        assert other is not None
        assert len(one) == len(other) > 100
        for name in one.rows._fields:
            a, b = getattr(one, name), getattr(other, name)
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14, err_msg=name)
        assert one.impulse.any()
    assert len(found[0][1]) > len(found[0][0])


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="order"):
        hg.GaussSeidel(order="tile")
    with pytest.raises(InputError, match="threads"):
        hg.GaussSeidel(order="tiles", threads=0)


def test_a_step_without_contacts_is_free_fall() -> None:
    sim = hg.Simulation(
        hg.Scene(dimension=2, gravity=[0, -1], grains=[hg.Grains(place=hg.At(positions=[[0, 0]]))]),
        dt=0.1, solver=hg.GaussSeidel(order="tiles"),
    )  # fmt: skip
    assert sim.step().candidates == 0
    assert math.isclose(sim.state.velocity[0, 1], -0.1)


def test_tilings_are_functions_of_places_alone() -> None:
    x = np.random.default_rng(0).random((3000, 3)) * 30.0
    one, other = (cut(y, 0.5, np.zeros(3), 6000) for y in (x, x.copy()))
    assert isinstance(one, Tiling)
    for a, b in zip(one, other):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("count", "given", "order"),
    [(30, {}, "random"), (MANY, {}, "tiles"), (MANY, {"order": "random"}, "random")],
)
def test_many_grains_are_swept_in_tiles_unless_told_otherwise(count, given, order):
    """The number of grains alone decides, so that a run file says which order it had."""
    place = hg.Grid(min=[0.0, 0.0, 0.0], max=[45.0, 45.0, 45.0])
    scene = hg.Scene(dimension=3, grains=[hg.Grains(count=count, diameter=1.0, place=place)])
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(**given))
    assert sim.scenario.solver.order == order


def test_the_rigid_solver_takes_tiles_for_many_grains_unless_told_otherwise() -> None:
    """And no solver does in a cell that deforms, which refuses them."""
    periodic, shear = {"x": (0, 9), "y": (0, 9)}, {"x": {"rate": -0.1}}
    still = hg.Scene(dimension=2, periodic=periodic)
    deforming = still.model_copy(update={"cell": hg.MixedControl.model_validate(shear)})
    solvers = (hg.RigidSolver(), hg.RigidSolver(order="sequential"), hg.GaussSeidel())

    def orders(scene: hg.Scene, grains: int) -> list[str]:
        scenarios = [Scenario(scene=scene, dt=0.1, solver=solver) for solver in solvers]
        return [getattr(s.suited_to(grains).solver, "order", "") for s in scenarios]

    assert orders(still, MANY - 1) == ["sequential", "sequential", "random"]
    assert orders(still, MANY) == ["tiles", "sequential", "tiles"]
    assert orders(deforming, MANY) == ["sequential", "sequential", "random"]


def test_a_gpu_refuses_resistance_to_rolling_in_the_rigid_solver() -> None:
    place = hg.Grid(min=[0.0, 0.0], max=[4.0, 4.0])
    grains, law = [hg.Grains(count=4, place=place)], hg.ContactLaw(rolling=0.1)
    model, _ = hg.Scene(dimension=2, grains=grains, contacts=[law]).build(0)
    solver = hg.RigidSolver(order="tiles")
    with pytest.raises(hg.InputError, match="resistance to rolling or torsion"):
        refuse_on_device(model, solver, hg.RigidGrains(device="cuda"))
