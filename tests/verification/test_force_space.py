"""Which forces are possible: against sums by hand, closed forms, and other solvers' answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import hardgrain as hg
from hardgrain.errors import InputError, RunError
from hardgrain.forces import Packing, force_space
from hardgrain.forces import bounds as bounds_module
from hardgrain.forces import extremal as extremal_module
from hardgrain.forces import rank as rank_module
from hardgrain.forces.edges import Start, walk_edges
from hardgrain.forces.packing import packing
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.mcnamara2004.settled import settled
from hardgrain.run.scenario import Output
from hardgrain.theory import wedge as theory

from .helpers import Floats, cross, floor, grains, start, steps, up

pytestmark = pytest.mark.rounding

TIGHT = 1e-12
SOLVED = 1e-8  # by which two solvers of linear programs may differ [mean weight]
CONIC = 1e-6  # accuracy of the conic solver [mean weight]


@cache
def settling(dim: int, friction: float = 0.3, seed: int = 0, count: int = 24) -> hg.Simulation:
    """Grains heaped up in a box, not quite at rest: what is unbalanced is kept as a load."""
    size = [3.2, 12.0] if dim == 2 else [2.2, 2.2, 12.0]
    sim = start(
        dim,
        hg.Grains(
            count=count,
            diameter=hg.Uniform(min=0.6, max=1.0),
            place=hg.Loose(min=[0.0] * dim, max=size),
        ),
        law={"friction": friction},
        gravity=up(dim, -1.0),
        walls=[hg.Box(min=[0.0] * dim, max=size, open=["top"])],
        dt=0.02,
        seed=seed,
        solver=hg.GaussSeidel(sweeps=100, order="sequential"),
    )
    steps(sim, 400)
    return sim


def at_rest(count: int) -> hg.Simulation:
    """Disks in a narrow box, ready to fall and to come to rest."""
    d = np.random.default_rng(3).uniform(0.7, 1.0, count)
    places = [[0.5 + 0.8 * (k % 2) + 0.01 * k, 0.6 + 1.05 * k] for k in range(count)]
    return start(
        2,
        [grains(x, diameter=w) for x, w in zip(places, d)],
        law={"friction": 0.3},
        gravity=[0.0, -1.0],
        walls=[hg.Box(min=[0.0, 0.0], max=[1.9, 12.0], open=["top"])],
        dt=0.02,
        solver=hg.GaussSeidel(sweeps=2000),
    )


def on_walls(
    normals: Sequence[Sequence[float]],
    friction: float | Sequence[float],
    radius: float = 1.0,
    weight: float = 1.0,
    turns: bool = True,
) -> Packing:
    """One grain, at rest on walls in the directions ``normals``, under its weight."""
    normal = np.array(normals, dtype=float)
    m, dim = normal.shape
    spins = 1 if dim == 2 else 3
    free = np.zeros((1 + m, dim + spins), dtype=bool)
    free[0] = [True] * dim + [turns] * spins
    external = np.zeros(free.shape)
    external[0, dim - 1] = -weight
    return Packing(
        radius=np.array([radius]),
        free=free,
        first=np.zeros(m, dtype=np.intp),
        second=1 + np.arange(m),
        normal=normal / np.linalg.norm(normal, axis=1)[:, None],
        friction=np.broadcast_to(np.array(friction, dtype=float), m).copy(),
        force=np.zeros((m, dim)),
        unit=weight,
        external=external,
    )


def wedge(angle: float, mu: float, **keys: Any) -> Packing:
    """A disk on two walls, which touch it at ``angle`` from its lowest point."""
    s, c = math.sin(angle), math.cos(angle)
    return on_walls([(-s, -c), (s, -c)], mu, **keys)


def side_by_side(*packings: Packing) -> Packing:
    """Several packings of one grain each as one."""
    n = len(packings)
    walls = np.cumsum([n] + [p.contacts for p in packings])
    outside = [p.external for p in packings if p.external is not None]
    return Packing(
        radius=np.concatenate([p.radius for p in packings]),
        free=np.concatenate([p.free[:1] for p in packings] + [p.free[1:] for p in packings]),
        first=np.concatenate([p.first + k for k, p in enumerate(packings)]),
        second=np.concatenate([p.second - 1 + w for p, w in zip(packings, walls)]),
        normal=np.concatenate([p.normal for p in packings]),
        friction=np.concatenate([p.friction for p in packings]),
        force=np.concatenate([p.force for p in packings]),
        unit=packings[0].unit,
        external=np.concatenate([e[:1] for e in outside] + [e[1:] for e in outside]),
    )


def loaded(p: Packing) -> ForceSpace:
    return force_space(p, balance="loads")


def dense_rank(a: csr_array) -> int:
    values = np.linalg.svd(a.toarray(), compute_uv=False)
    return int((values > 1e-10 * values[0]).sum())


# ---------------------------------------------------------------------- the contact matrix
def by_hand(sim: hg.Simulation) -> Floats:
    """What contacts exert on every body, summed one by one (nb, dim + ns)."""
    c, n, x, r = sim.state.contacts, sim.model.n, sim.state.position, sim.model.radius
    dim = x.shape[1]
    total = np.zeros((x.shape[0], dim + sim.model.inv_inertia.shape[1]))
    for k in range(len(c)):
        i, j, f = c.first[k], c.second[k], c.impulse[k] / sim.dt
        total[i, :dim] -= f
        total[j, :dim] += f
        total[i, dim:] -= cross(r[i] * c.normal[k], f)
        if j < n:
            total[j, dim:] += cross(-r[j] * c.normal[k], f)
    return total


@pytest.mark.parametrize("dim", [2, 3])
def test_contact_matrix_sums_forces_and_torques(dim: int) -> None:
    sim = settling(dim)
    p = force_space(sim).packing
    expected = by_hand(sim).ravel()[p.rows]
    assert p.rows.size == 3 * (dim - 1) * p.grains
    np.testing.assert_allclose(p.load, expected, atol=TIGHT * np.abs(expected).max())


def pressed(dim: int) -> hg.Simulation:
    """A piston on locked and free grains."""
    lid = hg.Plane(
        point=up(dim, 2.2), normal=up(dim, -1.0), piston=hg.Piston(mass=2.0, force=3.0), name="lid"
    )
    lock = ["x", "rotation"] if dim == 2 else ["x", "ry"]
    one, two = [0.0] * dim, [0.0] * dim
    one[-1], two[-1], two[0] = 0.6, 1.69, 0.2
    sim = start(
        dim,
        [grains(one, diameter=1.2, lock=lock), grains(two, diameter=1.0)],
        gravity=up(dim, -1.0),
        walls=[floor(dim), lid],
        law={"friction": 0.5},
    )
    steps(sim, 30)
    return sim


@pytest.mark.parametrize("dim", [2, 3])
def test_pistons_and_locked_grains_have_fewer_equations(dim: int) -> None:
    sim = pressed(dim)
    p = force_space(sim).packing
    free = p.free[p.rows // p.free.shape[1], p.rows % p.free.shape[1]]
    assert free.all()
    assert p.free.sum(axis=1).tolist() == ([1, 3, 0, 1] if dim == 2 else [4, 6, 0, 1])
    assert p.rows.size == p.free.sum()
    assert p.residual < 1e-9  # with the force on the piston and on what is locked
    expected = by_hand(sim).ravel()[p.rows]
    np.testing.assert_allclose(p.load, expected, atol=TIGHT * np.abs(expected).max())


@pytest.mark.parametrize(("dim", "friction"), [(2, 0.3), (3, 0.3), (2, 0.0)])
def test_nullity_is_that_of_singular_values(
    dim: int, friction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = force_space(settling(dim, friction)).packing
    expected = dim * p.contacts - dense_rank(p.matrix)
    assert force_space(p).nullity == expected
    monkeypatch.setattr(rank_module, "_DENSE", 0)  # as for large packings
    assert force_space(p).nullity == expected
    z = rank_module.null_vectors(p.matrix, 2)
    assert np.abs(p.matrix @ z).max() < TIGHT


def test_equations_that_follow_from_others_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sphere with one contact is not turned about it."""
    p = on_walls([(0.1, 0.2, -1.0)], 0.3)
    for dense in (rank_module._DENSE, 0):
        monkeypatch.setattr(rank_module, "_DENSE", dense)
        a = force_space(replace(p, force=p.normal)).polytope()[0]
        assert a.shape[0] == dense_rank(a) == dense_rank(p.matrix)
        assert loaded(p).empty  # it rolls off; what contradicts is kept


# ---------------------------------------------------------------------- closed forms
@pytest.mark.parametrize("mu", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("angle", [0.01, 0.2, 0.5, 0.85])
def test_a_disk_on_two_walls_has_the_closed_form(angle: float, mu: float) -> None:
    """(35) and (37), whatever the units of length and force."""
    assert math.tan(angle) < 1.0 / mu
    for radius, weight in ((1.0, 1.0), (1e-6, 1e-9), (1e3, 1e5)):
        space = loaded(wedge(angle, mu, radius=radius, weight=weight))
        b = space.bounds()
        assert (space.contacts, space.grains, space.nullity, space.dimension) == (2, 1, 1, 1)
        assert space.expected == 1
        normal, tangential = b.normal_max - b.normal_min, b.tangential_max - b.tangential_min
        np.testing.assert_allclose(normal / weight, theory.delta_normal(angle, mu), atol=TIGHT)
        np.testing.assert_allclose(
            tangential / weight, theory.delta_tangential(angle, mu), atol=TIGHT
        )


def test_a_wedged_disk_has_forces_without_limit_and_its_neighbour_has_not() -> None:
    mu, angle = 0.8, 1.0
    assert math.tan(angle) > 1.0 / mu
    both = loaded(side_by_side(wedge(0.5, mu), wedge(angle, mu), wedge(0.5, mu)))
    assert both.unbounded.tolist() == [False, False, True, True, False, False]
    b, alone = both.bounds(), loaded(wedge(0.5, mu)).bounds()
    assert np.isinf(b.normal_max).tolist() == both.unbounded.tolist()
    assert np.isfinite(b.normal_min).all()
    for at in (slice(0, 2), slice(4, 6)):  # solved before and after
        np.testing.assert_allclose(b.low[at], alone.low, atol=TIGHT)
        np.testing.assert_allclose(b.high[at], alone.high, atol=TIGHT)
    least = theory.least(angle, mu)
    np.testing.assert_allclose(b.normal_min[2:4], theory.normal(angle, least), atol=TIGHT)
    # T of one wall grows, of the other falls
    assert sorted(np.isinf(b.tangential_max[2:4])) == [False, True]
    assert (np.isinf(b.tangential_max[2:4]) != np.isinf(b.tangential_min[2:4])).all()
    e = both.extremal()
    assert np.isnan(e.normal[2:4]).all()
    assert np.isfinite(e.distance[[0, 1, 4, 5]]).all()


@pytest.mark.parametrize("steeper", [-1e-3, 0.0, 1e-3])
def test_a_block_on_an_incline_sticks_must_slide_or_cannot_rest(steeper: float) -> None:
    mu = 0.4
    angle = math.atan(mu) + steeper
    block = on_walls([(-math.sin(angle), -math.cos(angle))], mu, turns=False)
    space = loaded(block)
    b = space.bounds()
    if steeper > 0.0:
        assert space.empty
        assert space.dimension == -1
        assert np.isnan(b.low).all()
        assert np.isnan(b.high).all()
        return
    assert not space.empty
    assert space.dimension == 0
    assert space.always.tolist() == [1 if steeper == 0.0 else 0]
    np.testing.assert_allclose(b.low, b.high, atol=1e-9)
    np.testing.assert_allclose(b.normal_min, math.cos(angle), atol=1e-9)


def test_a_contact_that_nothing_pushes_must_be_open() -> None:
    """A disk on a smooth floor, beside a rough wall."""
    space = loaded(on_walls([(0.0, -1.0), (1.0, 0.0)], [0.0, 0.5]))
    assert space.always.tolist() == [1, 2]  # without friction T = µ R always
    assert space.dimension == 0
    np.testing.assert_allclose(space.bounds().high, [[1.0, 0.0], [0.0, 0.0]], atol=1e-9)
    # rough on both sides the wall may push, once its friction exceeds its push
    rough = loaded(on_walls([(0.0, -1.0), (1.0, 0.0)], 1.5))
    assert rough.always.tolist() == [0, 0]
    assert rough.dimension == rough.nullity == 1


def test_a_grain_that_nothing_carries_cannot_rest() -> None:
    space = loaded(on_walls([(1.0, 0.0)], 0.5))
    assert space.empty
    assert np.isnan(space.bounds().normal_max).all()


def test_the_state_counts_as_in_the_paper() -> None:
    """A contact that slides once, one that transmits nothing twice."""
    p = on_walls([(0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)], 0.5)
    force = np.array([[0.5, -1.0], [0.0, 0.0], [-1.0, 0.1]])
    space = force_space(replace(p, force=force))
    assert space.slides().tolist() == [1, 2, 0]
    assert space.sliding == 3


# ---------------------------------------------------------------------- against another solver
TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")


class Cold:
    """Programs over F, each a call of its own, in R and T [mean weight] and inequalities."""

    def __init__(self, space: ForceSpace) -> None:
        p, m = space.packing, space.contacts
        rows = np.repeat(np.arange(2 * m), 2)
        columns = np.tile(np.arange(2 * m).reshape(m, 2), (1, 2)).ravel()
        value = np.stack([-p.friction, np.ones(m), -p.friction, -np.ones(m)], axis=1)
        self.cone = csr_array((value.ravel(), (rows, columns)), shape=(2 * m, 2 * m))
        self.a, self.b = csr_array(p.matrix / p.arms[:, None]), p.load / p.arms / p.unit
        self.free = [(0.0, None), (None, None)] * m

    def least(self, cost: Floats, within: dict[int, tuple[float, float]] | None = None) -> float:
        """The least of cost · F, with some components in narrower bounds."""
        bounds = list(self.free)
        for k, ends in (within or {}).items():
            bounds[k] = ends
        found = linprog(
            cost,
            A_ub=self.cone,
            b_ub=np.zeros(self.cone.shape[0]),
            A_eq=self.a,
            b_eq=self.b,
            bounds=bounds,
            options=dict.fromkeys(TOLERANCES, 1e-10),
        )
        assert found.success
        return float(found.fun)

    def bounds(self) -> tuple[Floats, Floats]:
        """(m, 2) each."""
        every = np.eye(self.cone.shape[1])
        low = [self.least(e) for e in every]
        high = [-self.least(-e) for e in every]
        return np.reshape(low, (-1, 2)), np.reshape(high, (-1, 2))


@pytest.mark.parametrize(("friction", "seed", "count"), [(0.3, 0, 24), (0.0, 1, 16), (1.0, 2, 16)])
def test_bounds_agree_with_programs_solved_one_by_one(
    friction: float, seed: int, count: int
) -> None:
    space = force_space(settling(2, friction, seed, count))
    b, unit = space.bounds(), space.packing.unit
    low, high = Cold(space).bounds()
    np.testing.assert_allclose(b.low / unit, low, atol=SOLVED)
    np.testing.assert_allclose(b.high / unit, high, atol=SOLVED)
    assert b.programs <= 4 * space.contacts
    if friction == 0.0:
        assert not b.tangential_max.any()
        assert space.always.all()
        normal = space.packing.matrix[:, ::2]
        closed = space.always == 1
        assert space.dimension == closed.sum() - dense_rank(normal[:, closed])


@pytest.mark.parametrize("seed", range(5))
def test_forces_found_lie_within_their_bounds(seed: int) -> None:
    space = force_space(settling(2, seed=seed, count=16))
    assert space.nullity > 3
    b, c, unit = space.bounds(), space.packing.components, space.packing.unit
    assert (c > b.low - 1e-9 * unit).all()
    assert (c < b.high + 1e-9 * unit).all()
    assert space.dimension <= space.nullity
    assert space.nullity >= space.expected


def test_bounds_do_not_depend_on_the_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_module, "_SHARE", 12)
    space = force_space(settling(2))
    with hg.parallel.workers():
        one, two = space.bounds(processes=1), space.bounds(processes=2)
        assert np.array_equal(one.low, two.low)
        assert np.array_equal(one.high, two.high)
        assert (one.programs, one.pivots) == (two.programs, two.pivots)
        for choice in ("nearest", "vertex", "random"):
            a = space.extremal(choice, seed=1)
            b = space.extremal(choice, seed=1, processes=2)
            assert np.array_equal(a.low, b.low)
            assert np.array_equal(a.high, b.high)


# ---------------------------------------------------------------------- where the load comes from
def test_the_residual_is_kept_or_the_loads_are() -> None:
    sim = at_rest(8)
    sim.run(until=hg.AtRest(steps=20))
    kept, loads = force_space(sim), force_space(sim, balance="loads")
    assert 0.0 < kept.residual < 1e-6
    assert kept.residual == loads.residual
    assert (kept.nullity, kept.dimension) == (loads.nullity, loads.dimension)
    one, two = kept.bounds(), loads.bounds()
    apart = max(np.abs(one.low - two.low).max(), np.abs(one.high - two.high).max())
    assert apart < 1e3 * max(kept.residual, 1e-9) * kept.packing.unit


def test_a_run_file_tells_the_same_as_the_simulation(tmp_path: Path) -> None:
    sim = at_rest(4)
    sim.run(until=hg.AtRest(steps=20), output=tmp_path / "run.h5")
    with hg.RunFile(tmp_path / "run.h5") as run:
        ours, theirs = force_space(sim), force_space(run)
    for name in ("matrix", "load", "components", "friction", "unit", "residual"):
        a, b = getattr(ours.packing, name), getattr(theirs.packing, name)
        if name == "matrix":
            a, b = a.toarray(), b.toarray()
        np.testing.assert_array_equal(a, b, err_msg=name)
    assert np.array_equal(ours.bounds().high, theirs.bounds().high)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a path; open it first"):
        force_space(str(tmp_path / "run.h5"))  # type: ignore[arg-type]
    sim = start(2, grains([0.0, 0.5]), gravity=[0.0, -1.0], walls=[floor(2)])
    with pytest.raises(InputError, match="a State knows no radii"):
        force_space(sim.state)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="step is 3, but a simulation has its present state only"):
        force_space(sim, step=3)
    rarely = Output(**{**sim.scenario.output.model_dump(), "contacts_every": 4})
    sim.scenario = sim.scenario.model_copy(update={"output": rarely})
    sim.run(until=6, output=tmp_path / "run.h5", every=1)
    with hg.RunFile(tmp_path / "run.h5") as run, pytest.raises(InputError, match="without its con"):
        force_space(run, step=1)
    for law, name in (
        ({"cohesion": 0.1}, "cohesion"),
        ({"friction": 0.3, "rolling": 0.1}, "rolling resistance"),
    ):
        sticky = start(2, grains([0.0, 0.5]), gravity=[0.0, -1.0], walls=[floor(2)], law=law)
        steps(sticky, 2)
        with pytest.raises(InputError, match=name):
            force_space(sticky)
    p = wedge(0.5, 0.3)
    with pytest.raises(InputError, match="give state or loads"):
        force_space(p, balance="zero")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="does not know its loads"):
        force_space(replace(p, external=None), balance="loads")
    unknown = np.full(p.free.shape, np.nan)
    with pytest.raises(InputError, match="not all of them are known"):
        force_space(replace(p, external=unknown), balance="loads")
    for wrong, says in (
        ({"first": p.second}, "first body"),
        ({"second": p.second + 2}, "second body"),
        ({"friction": -p.friction}, "from 0"),
        ({"friction": p.friction[:1]}, "as many"),
        ({"normal": 2.0 * p.normal}, "unit vectors"),
        ({"force": np.nan * p.force}, "finite"),
        ({"free": p.free[:, :2]}, "3 degrees"),
    ):
        with pytest.raises(InputError, match=says):
            replace(p, **wrong)
    with pytest.raises(InputError, match="nearest, vertex or random"):
        loaded(p).extremal("any")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="inside or outside"):
        loaded(p).bounds(side="above")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least 3"):
        force_space(on_walls([(0.0, 0.0, -1.0)], 0.3), faces=2).bounds()


# ---------------------------------------------------------------------- three dimensions
def test_pyramids_bound_round_cones_from_both_sides() -> None:
    space = force_space(settling(3, 0.2, count=10))
    unit, m = space.packing.unit, space.contacts
    exact = space.bounds(exact=True)
    c = space.packing.components
    assert (c > exact.low - CONIC * unit).all()
    assert (c < exact.high + CONIC * unit).all()
    gaps = []
    for faces in (4, 16):
        some = replace(space, faces=faces)
        inner, outer = some.bounds(side="inside"), some.bounds(side="outside")
        for tight, wide in ((inner, exact), (exact, outer)):
            assert (tight.low >= wide.low - CONIC * unit).all()
            assert (tight.high <= wide.high + CONIC * unit).all()
        # what slides is on an edge of its pyramid
        assert (c > inner.low - 1e-9 * unit).all()
        assert (c < inner.high + 1e-9 * unit).all()
        wide, tight = outer.high - outer.low, inner.high - inner.low
        true = exact.high - exact.low
        gaps.append([(wide - true).mean(), (true - tight).mean()])
    assert m > 10
    # the pyramids' error is that of cos π/k: a sixteenth, or less where faces happen to fit
    assert (np.array(gaps[1]) < 0.15 * np.array(gaps[0])).all()


def test_dimension_in_3d_is_that_of_round_cones() -> None:
    """Many contacts slide here; pyramids of few faces would have them do so in every member."""
    space = force_space(settling(3, 0.3, 3, 14))
    p, exact = space.packing, space.bounds(exact=True)
    assert space.sliding > 5
    same = (exact.high - exact.low < CONIC * p.unit).all(axis=1)
    assert same[space.always > 0].all()  # only what slides in the state and never changes
    assert replace(space, faces=4).dimension == space.dimension == space.nullity


def test_a_sphere_in_a_groove_has_the_closed_form() -> None:
    """In the plane across the groove it is the disk on two walls; along it nothing pushes."""
    angle, mu = 0.5, 0.3
    s, c = math.sin(angle), math.cos(angle)
    space = loaded(on_walls([(-s, 0.0, -c), (s, 0.0, -c)], mu))
    b = space.bounds(exact=True)
    np.testing.assert_allclose(
        b.normal_max - b.normal_min, theory.delta_normal(angle, mu), atol=CONIC
    )
    assert (space.nullity, space.expected) == (1, 0)
    wedged = loaded(on_walls([(-0.95, 0.0, -0.3), (0.95, 0.0, -0.3)], 0.8))
    assert wedged.unbounded.all()
    assert np.isinf(wedged.bounds(exact=True).normal_max).all()
    assert np.isinf(wedged.bounds(side="outside").normal_max).all()
    falls = loaded(on_walls([(1.0, 0.0, 0.0)], 0.5))
    assert falls.empty
    assert np.isnan(falls.bounds(exact=True).high).all()


# ---------------------------------------------------------------------- extremal states
def test_extremal_states_are_members_at_the_bounds() -> None:
    space = force_space(settling(2, count=12))
    p, b = space.packing, space.bounds()
    m, at = p.contacts, np.arange(p.contacts)
    distance = {}
    for choice, accuracy in (("nearest", CONIC), ("vertex", SOLVED), ("random", SOLVED)):
        e = space.extremal(choice)
        for states, ends in ((e.low, b.low), (e.high, b.high)):
            flat = states.reshape(2 * m, 2 * m)
            off = (p.matrix @ flat.T - p.load[:, None]) / p.arms[:, None]
            assert np.abs(off).max() < accuracy * p.unit
            assert (p.friction * states[..., 0] - np.abs(states[..., 1])).min() > -SOLVED * p.unit
            for k in range(2):
                own = states[at, k, at, k]
                np.testing.assert_allclose(own, ends[:, k], atol=accuracy * p.unit)
        distance[choice] = e.distance
        assert e.vanishing.shape == (m, 2, 2)
        assert 0.5 < e.flat <= 1.0
    local = (b.high - b.low) / p.unit
    assert (distance["nearest"] > local - CONIC).all()
    for choice in ("vertex", "random"):
        assert (distance["nearest"] < distance[choice] + CONIC).all()
    assert distance["random"].mean() > distance["nearest"].mean()


def test_walks_along_edges_end_where_linear_programs_do() -> None:
    """And more contacts slide than F has dimensions where grains are alone on the floor."""
    odd = 0
    for seed in range(3):
        p = packing(settled(14, 0.3, seed))
        space = loaded(p)
        b = space.bounds()
        starts: tuple[Start, ...] = ("last", "first")
        for e in (walk_edges(space, begin) for begin in starts):
            np.testing.assert_allclose(e.low, b.low, atol=SOLVED * p.unit)
            np.testing.assert_allclose(e.high, b.high, atol=SOLVED * p.unit)
            assert e.expected == space.dimension + space.always.sum()
            np.testing.assert_array_equal(e.sliding, e.expected + e.alone)
            assert (e.distance > (b.high - b.low) / p.unit - SOLVED).all()
            odd += int(e.alone.sum())
    assert odd > 0  # else nothing was shown


def test_edges_of_a_segment_are_its_ends() -> None:
    """Between two walls; if they are alike, both contacts slide at once, one more than expected."""
    angle, mu = 0.5, 0.3
    e = walk_edges(loaded(wedge(angle, mu)))
    ends = [theory.normal(angle, a) for a in (theory.least(angle, mu), theory.greatest(angle, mu))]
    np.testing.assert_allclose(e.low[:, 0], ends[0], atol=TIGHT)
    np.testing.assert_allclose(e.high[:, 0], ends[1], atol=TIGHT)
    assert e.expected == 1
    assert (e.sliding == 2).all()
    assert e.unexpected == 1.0
    s, c = math.sin(angle), math.cos(angle)
    e = walk_edges(loaded(on_walls([(-s, -c), (math.sin(0.3), -math.cos(0.3))], mu)))
    assert (e.sliding == 1).all()
    assert e.unexpected == 0.0


def test_edges_without_end_and_spheres_are_refused() -> None:
    with pytest.raises(RunError, match="has no end"):
        walk_edges(loaded(wedge(1.4, 0.3)))
    with pytest.raises(InputError, match="packing of disks"):
        walk_edges(force_space(settling(3, count=12)))
    with pytest.raises(InputError, match="give first or last"):
        walk_edges(loaded(wedge(0.5, 0.3)), "any")  # type: ignore[arg-type]


def test_only_what_must_change_counts_between_the_nearest_states() -> None:
    """Two disks, each on two walls: to move one leaves the other alone."""
    angle, mu = 0.5, 0.3
    one, two = wedge(angle, mu), wedge(0.2, mu)
    e = loaded(side_by_side(one, two)).extremal()
    change = theory.greatest(angle, mu) - theory.least(angle, mu)
    expected = change * np.linalg.norm(theory.null_vector(angle))
    np.testing.assert_allclose(e.distance[:2], expected, atol=CONIC)
    assert e.flat == 1.0
    alone = loaded(one).extremal()
    np.testing.assert_allclose(alone.distance, expected, atol=TIGHT)
    assert alone.flat == 0.0  # both ends are points


def test_the_nearest_states_are_found_in_coordinates_of_the_faces_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the first way had led nowhere."""
    space = force_space(settling(2, seed=1, count=12))
    expected, quadratic = space.extremal().distance, extremal_module._quadratic

    def second_only(p: Any, q: Any, a: csr_array, *rest: Any) -> Floats | None:
        return quadratic(p, q, a, *rest) if a.shape[0] == 0 else None

    monkeypatch.setattr(extremal_module, "_quadratic", second_only)
    np.testing.assert_allclose(space.extremal().distance, expected, atol=CONIC)


def test_the_nearest_states_are_nearest() -> None:
    """D is the shortest difference if D · (F⁺ − F⁻) ≥ D² for all F⁺, F⁻ of the two faces."""
    space = force_space(settling(2, seed=1, count=12))
    e, b, unit, cold = space.extremal(), space.bounds(), space.packing.unit, Cold(space)
    low, high = b.low.ravel() / unit, b.high.ravel() / unit
    d = ((e.high - e.low) / unit).reshape(low.size, low.size)
    room = 1e-8  # for a face, which else might be missed
    for k in np.flatnonzero(high - low > 1e-3):
        ahead = cold.least(d[k], {k: (high[k] - room, high[k])})
        behind = -cold.least(-d[k], {k: (low[k], low[k] + room)})
        assert ahead - behind > d[k] @ d[k] * (1.0 - 1e-5)
