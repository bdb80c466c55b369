"""Members and samples of the set of possible forces: known moments, optima and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from scipy.spatial import ConvexHull, Delaunay, HalfspaceIntersection
from scipy.stats import kstest

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.forces import Packing, compare, force_space
from hardgrain.forces.members import interior
from hardgrain.forces.sample import mixing
from hardgrain.forces.space import ForceSpace

from .helpers import Floats, floor, grains, start, steps

pytestmark = pytest.mark.rounding


def on_walls(
    normals: Sequence[Sequence[float]],
    friction: float | Sequence[float],
    load: Sequence[float] | None = None,
) -> ForceSpace:
    """A grain of radius and weight 1 that touches walls in the given directions."""
    normal = np.array(normals, dtype=float)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    m, dim = normal.shape
    dofs = 3 if dim == 2 else 6
    free = np.zeros((m + 1, dofs), dtype=bool)
    free[0] = True
    external = np.zeros((m + 1, dofs))
    external[0, :dim] = [0.0] * (dim - 1) + [-1.0] if load is None else load
    packing = Packing(
        radius=np.ones(1),
        free=free,
        first=np.zeros(m, dtype=np.intp),
        second=np.arange(1, m + 1),
        normal=normal,
        friction=np.broadcast_to(np.asarray(friction, dtype=float), (m,)).copy(),
        force=np.zeros((m, dim)),
        unit=1.0,
        external=external,
    )
    return ForceSpace(packing, balance="loads")


def wedge(angle: float, friction: float) -> ForceSpace:
    """The paper's disk on two walls (Sec. II H), each inclined by the angle."""
    s, c = math.sin(angle), math.cos(angle)
    return on_walls([[-s, -c], [s, -c]], friction)


def squeeze(angle: float, friction: float) -> tuple[float, float]:
    """Least and greatest a of the wedge: R = cos φ/2 + a sin φ, |T| = |sin φ/2 − a cos φ|."""
    theta = math.atan(friction)
    return 0.5 * math.tan(angle - theta), 0.5 * math.tan(angle + theta)


def slack(space: ForceSpace, states: Floats) -> Floats:
    """µ R − |T|, shape (…, m)."""
    return space.packing.friction * states[..., 0] - np.linalg.norm(states[..., 1:], axis=-1)


@pytest.fixture(scope="module")
def pile() -> ForceSpace:
    """A dozen disks that were dropped into a box."""
    rng = np.random.default_rng(3)
    places = [
        (1.1 + 2.1 * i + 0.04 * rng.normal(), 1.1 + 2.1 * j) for j in range(4) for i in range(3)
    ]
    sides = [
        hg.Plane(name="left", point=[0.0, 0.0], normal=[1.0, 0.0]),
        hg.Plane(name="right", point=[6.4, 0.0], normal=[-1.0, 0.0]),
    ]
    sim = start(
        2,
        grains(*places, diameter=rng.uniform(1.5, 2.0, 12).tolist()),
        dt=0.05,
        walls=[floor(2), *sides],
        gravity=[0.0, -1.0],
        law={"friction": 0.4},
        solver=hg.GaussSeidel(sweeps=300),
    )
    steps(sim, 400)
    return force_space(sim)


@pytest.fixture(scope="module")
def corner() -> ForceSpace:
    """A sphere on three walls, pressed into their corner: three dimensions, round cones."""
    return on_walls([[1, 0, -0.8], [-0.6, 0.9, -1], [-0.5, -1, -0.9]], [0.5, 0.3, 0.7])


def moments(space: ForceSpace) -> tuple[Floats, Floats]:
    """Mean and covariance of the components over a polytope, exactly: from a triangulation."""
    p = space.packing
    c, load = space.equations()
    fixed = np.eye(2 * p.contacts)[1::2][p.friction == 0.0]  # T without friction
    rows = np.vstack([c.toarray(), fixed])
    origin = np.linalg.lstsq(rows, np.append(load, np.zeros(len(fixed))), rcond=None)[0]
    _, values, v = np.linalg.svd(rows)
    basis = v[(values > 1e-9).sum() :]
    walls = np.vstack(
        [np.eye(2 * p.contacts)[::2] * p.friction[:, None] + s * np.eye(2 * p.contacts)[1::2]
         for s in (1.0, -1.0)] + [np.eye(2 * p.contacts)[::2]]
    )  # fmt: skip
    walls = walls[np.abs(walls @ basis.T).max(axis=1) > 1e-12]
    inside = (interior(space)[0].ravel() / p.unit - origin) @ basis.T
    halves = np.column_stack([-walls @ basis.T, -walls @ origin])
    corners = HalfspaceIntersection(halves, inside).intersections
    corners = corners[ConvexHull(corners).vertices]
    cells = corners[Delaunay(corners).simplices]  # (cells, d + 1, d)
    volume = np.abs(np.linalg.det(cells[:, 1:] - cells[:, :1]))
    volume /= volume.sum()
    d = basis.shape[0]
    mean = volume @ cells.mean(axis=1)
    # of a simplex: ∫ x xᵀ = (Σ v vᵀ + (Σ v)(Σ v)ᵀ)/((d + 1)(d + 2)) of its volume
    total = cells.sum(axis=1)
    second = np.einsum("c,cia,cib->ab", volume, cells, cells)
    second += np.einsum("c,ca,cb->ab", volume, total, total)
    covariance = second / ((d + 1) * (d + 2)) - np.outer(mean, mean)
    return origin + mean @ basis, basis.T @ covariance @ basis


# ---------------------------------------------------------------------- uniform samples
def test_the_wedge_is_sampled_uniformly() -> None:
    space = wedge(0.7, 0.3)
    low, high = squeeze(0.7, 0.3)
    sample = space.sample(4000, seed=1)
    a = (sample.states[:, :, 0] - 0.5 * math.cos(0.7)) / math.sin(0.7)
    assert np.allclose(a[:, 0], a[:, 1], atol=1e-12)
    assert kstest((a[:, 0] - low) / (high - low), "uniform").pvalue > 0.01
    # R and T of both contacts move with a: |ΔF|² = 2 Δa²
    assert sample.radius == pytest.approx(math.sqrt(2.0 / 12.0) * (high - low), rel=0.03)
    assert sample.residual.max() < 1e-12
    assert sample.warning == ""


@pytest.mark.parametrize("friction", [0.5, [0.2, 0.6, 0.4], [0.4, 0.0, 0.5]])
def test_moments_on_polytopes(friction: float | list[float]) -> None:
    # a disk on three walls: three dimensions, two if one has no friction
    space = on_walls([[-0.6, -1.0], [1.0, -0.9], [0.2, -1.0]], friction, load=[0.2, -3.0])
    mean, covariance = moments(space)
    sample = space.sample(20_000, seed=2)
    states = sample.states.reshape(len(sample.states), -1)
    scale = np.sqrt(np.trace(covariance))
    assert np.abs(states.mean(axis=0) - mean).max() < 4.0 * scale / math.sqrt(
        sample.effective.min()
    )
    assert np.abs(np.cov(states.T) - covariance).max() < 0.03 * scale**2
    assert slack(space, sample.states).min() > -1e-12


def test_moments_of_a_pile(pile: ForceSpace) -> None:
    mean, covariance = moments(pile)
    sample = pile.sample(20_000, seed=3)
    states = sample.states.reshape(len(sample.states), -1) / pile.packing.unit
    scale = np.sqrt(np.trace(covariance))
    assert np.abs(states.mean(axis=0) - mean).max() < 4.0 * scale / math.sqrt(
        sample.effective.min()
    )
    assert np.abs(np.cov(states.T) - covariance).max() < 0.03 * scale**2
    assert sample.radius == pytest.approx(scale, rel=0.02)
    assert sample.warning == ""


def test_moments_with_round_cones(corner: ForceSpace) -> None:
    # against points drawn in a box around the set: nothing in common but the laws
    c, load = corner.equations()
    mu, m = corner.packing.friction, corner.contacts
    inside = interior(corner)[0].ravel()
    basis = np.linalg.svd(c.toarray())[2][np.linalg.matrix_rank(c.toarray()) :]
    sample = corner.sample(20_000, seed=4)
    y = (sample.states.reshape(-1, 3 * m) - inside) @ basis.T
    room = 0.3 * np.ptp(y, axis=0)
    rng = np.random.default_rng(5)
    drawn = rng.uniform(y.min(axis=0) - room, y.max(axis=0) + room, (1_000_000, len(basis)))
    f = (inside + drawn @ basis).reshape(-1, m, 3)
    drawn = drawn[(mu * f[..., 0] >= np.linalg.norm(f[..., 1:], axis=2)).all(axis=1)]
    assert len(drawn) > 20_000
    # walls of the set were found all around: nothing of it touches the box
    assert (np.abs(drawn.mean(axis=0) - y.mean(axis=0)) < 0.03 * drawn.std(axis=0)).all()
    assert np.allclose(np.cov(y.T), np.cov(drawn.T), atol=0.03 * np.var(drawn, axis=0).max())
    assert np.allclose(y.min(axis=0), drawn.min(axis=0), atol=0.1 * np.ptp(drawn))
    assert np.abs(c @ sample.states.reshape(-1, 3 * m).T - load[:, None]).max() < 1e-12
    assert sample.warning == ""


def test_samples_repeat_whatever_the_processes(corner: ForceSpace) -> None:
    one = corner.sample(60, seed=7, thin=5)
    assert np.array_equal(one.states, corner.sample(60, seed=7, thin=5, processes=None).states)
    assert not np.array_equal(one.states, corner.sample(60, seed=8, thin=5).states)
    assert one.states.shape == (60, 3, 3)


def test_what_holds_in_every_member() -> None:
    # beside a wall: to push it off, friction at the floor would need the wall to turn the disk
    beside = on_walls([[0, -1], [1, 0]], 0.3)
    sample = beside.sample(10)
    assert interior(beside)[1].tolist() == [0, 2]
    assert np.allclose(sample.states, [[1.0, 0.0], [0.0, 0.0]], atol=1e-7)
    # a brick, not a disk, on a slope of the angle of friction: here a disk held from turning
    slope = on_walls([[math.sin(0.3), -math.cos(0.3)]], math.tan(0.3))
    held = replace(slope.packing, free=slope.packing.free & [True, True, False])
    counts = interior(ForceSpace(held, balance="loads"))[1]
    assert counts.tolist() == [1]
    # and one wall without friction leaves a wedge no choice
    assert np.ptp(on_walls([[-1, -1], [1, -1]], [0.0, 0.5]).sample(5).states, axis=0).max() < 1e-9


def test_no_uniform_samples_without_limit_or_member() -> None:
    with pytest.raises(InputError, match="without limit"):
        wedge(1.3, 0.5).sample(10)
    with pytest.raises(InputError, match="no forces"):
        on_walls([[0.0, 1.0]], 0.3).sample(10)


def test_mixing_diagnostics() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 2000, 3))
    spread, effective = mixing(noise)
    assert spread.max() < 1.005
    assert effective == pytest.approx(8000, rel=0.2)
    walk = noise.copy()  # x_t = 0.9 x_(t−1) + noise: (1 − 0.9)/(1 + 0.9) of the samples count
    for t in range(1, 2000):
        walk[:, t] += 0.9 * walk[:, t - 1]
    assert mixing(walk)[1] == pytest.approx(8000 / 19, rel=0.3)
    noise[0] += 1.0
    spread, effective = mixing(noise)
    assert spread.min() > 1.05
    assert effective.max() < 100
    assert mixing(np.ones((4, 10, 2)))[0] == pytest.approx(1.0)


# ---------------------------------------------------------------------- perturb and resolve
@pytest.mark.parametrize(
    "options", [{}, {"factors": "global"}, {"chained": False}], ids=["chain", "global", "restart"]
)
def test_perturbed_states_are_members(pile: ForceSpace, options: dict[str, object]) -> None:
    sample = pile.sample(30, 1, "perturb", tolerance=1e-9, **options)
    assert sample.states.shape == (30, pile.contacts, 2)
    assert sample.residual.max() <= 1e-9
    assert slack(pile, sample.states).min() > -1e-12
    assert np.array_equal(
        sample.states, pile.sample(30, 1, "perturb", tolerance=1e-9, **options).states
    )
    bounds, unit = pile.bounds(), pile.packing.unit
    # equilibrium to 10⁻⁹: a member but for what the weakest direction makes of it
    assert (sample.states > bounds.low - 1e-6 * unit).all()
    assert (sample.states < bounds.high + 1e-6 * unit).all()
    assert sample.radius > 0.1


def test_perturbed_spheres_and_unequal_friction(corner: ForceSpace) -> None:
    state = corner.member("least")
    p = corner.packing
    space = ForceSpace(replace(p, force=np.einsum("kea,ke->ka", p.frame, state)), balance="loads")
    sample = space.sample(50, 2, "perturb")
    assert sample.residual.max() <= 1e-6
    assert slack(space, sample.states).min() > -1e-12
    assert sample.radius > 0.0


# ---------------------------------------------------------------------- members
def solved_by_scipy(space: ForceSpace, weight: Floats, target: Floats) -> Floats:
    """The least of Σ weight (F − target)² over F, by sequential quadratic programming."""
    p = space.packing
    c, load = space.equations()
    shape = (p.contacts, p.dim)

    def friction(x: Floats) -> Floats:
        f = x.reshape(shape)
        return p.friction**2 * f[:, 0] ** 2 - np.square(f[:, 1:]).sum(axis=1)

    found = minimize(
        lambda x: float(np.sum(weight * (x.reshape(shape) - target) ** 2)),
        interior(space)[0].ravel() / p.unit,
        jac=lambda x: 2.0 * (weight * (x.reshape(shape) - target)).ravel(),
        method="SLSQP",
        constraints=[
            LinearConstraint(c.toarray(), load, load),
            LinearConstraint(np.eye(p.contacts * p.dim)[:: p.dim], 0.0, np.inf),
            NonlinearConstraint(friction, 0.0, np.inf),
        ],
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return found.x.reshape(shape) * p.unit


@pytest.mark.parametrize("where", ["pile", "corner"])
def test_members_against_another_solver(where: str, request: pytest.FixtureRequest) -> None:
    space: ForceSpace = request.getfixturevalue(where)
    p = space.packing
    one = np.ones((p.contacts, p.dim))
    soft = one.copy()
    soft[:, 1:] /= 0.3
    away = np.random.default_rng(1).normal(2.0, 2.0, one.shape)
    for found, weight, target in (
        (space.member("least"), one, 0.0 * one),
        (space.member("elastic", stiffness=0.3), soft, 0.0 * one),
        (space.member("nearest", to=p.unit * away), one, away),
    ):
        assert np.abs(found - solved_by_scipy(space, weight, target)).max() < 1e-5 * p.unit
        assert slack(space, found).min() > -1e-8 * p.unit


@pytest.mark.parametrize("where", ["pile", "corner"])
def test_members_are_optimal(where: str, request: pytest.FixtureRequest) -> None:
    # on a convex set x is the minimum if and only if the slope towards all others is ≥ 0
    space: ForceSpace = request.getfixturevalue(where)
    p = space.packing
    others = space.sample(1000, seed=1).states
    weight = np.ones((p.contacts, p.dim))
    weight[:, 1:] /= 0.5
    target = 3.0 * others.mean(axis=0) - 2.0 * others[0]
    least, elastic = space.member("least"), space.member("elastic", stiffness=0.5)
    near = space.member("nearest", to=target)
    for x, slope in ((least, least), (elastic, weight * elastic), (near, near - target)):
        towards = np.einsum("nke,ke->n", others - x, slope)
        assert towards.min() > -1e-7 * np.linalg.norm(slope) * np.linalg.norm(others - x)
    assert np.allclose(space.member("nearest", to=others[0]), others[0], atol=1e-6 * p.unit)


def test_the_elastic_wedge_in_closed_form() -> None:
    for angle, k in ((0.5, 1.0), (0.5, 0.5), (0.3, 0.2)):
        s, c = math.sin(angle), math.cos(angle)
        # R² + T²/k with R = c/2 + a s, T = s/2 − a c is least at
        a = 0.5 * s * c * (1.0 / k - 1.0) / (s * s + c * c / k)
        a = np.clip(a, *squeeze(angle, 0.4))
        found = wedge(angle, 0.4).member("elastic", stiffness=k)
        assert found[:, 0] == pytest.approx(0.5 * c + a * s, abs=1e-8)
        assert np.abs(found[:, 1]) == pytest.approx(abs(0.5 * s - a * c), abs=1e-8)


def test_springs_that_neither_open_nor_slide_are_a_linear_network(corner: ForceSpace) -> None:
    rough = replace(corner.packing, friction=np.full(3, 5.0))
    space = ForceSpace(rough, balance="loads")
    c, load = space.equations()
    spring = np.tile([1.0, 0.4, 0.4], 3)  # k_n, k_t, k_t
    moved = np.linalg.lstsq((c * spring).toarray() @ c.T, load, rcond=None)[0]
    forces = (spring * (c.T @ moved)).reshape(3, 3)
    assert slack(space, forces).min() > 0.1
    assert space.member("elastic", stiffness=0.4) == pytest.approx(forces, abs=1e-8)


def test_members_that_are_not() -> None:
    space = wedge(0.5, 0.4)
    with pytest.raises(InputError, match="no member"):
        on_walls([[0.0, 1.0]], 0.3).member("least")
    for call in (
        lambda: space.member("most"),  # type: ignore[arg-type]
        lambda: space.member("elastic", stiffness=0.0),
        lambda: space.member("least", to=np.zeros((2, 2))),
        lambda: space.member("nearest", to=np.zeros((3, 2))),
        lambda: space.sample(10, method="guess"),  # type: ignore[arg-type]
        lambda: space.sample(0),
    ):
        with pytest.raises(InputError):
            call()


# ---------------------------------------------------------------------- comparisons
def test_starred_forces(pile: ForceSpace) -> None:
    bounds, unit = pile.bounds(), pile.packing.unit
    assert np.nanmax(np.abs(compare.starred(bounds.low, bounds, unit))) == 0.0
    assert np.nanmin(compare.starred(bounds.high, bounds, unit)) == 1.0
    share = compare.starred(pile.packing.components, bounds, unit)
    known = ~np.isnan(share)
    assert known.any()
    assert ((share[known] >= -1e-6) & (share[known] <= 1.0 + 1e-6)).all()
    assert np.isnan(compare.starred(bounds.low, replace(bounds, high=bounds.low), unit)).all()


def test_distance_with_unequal_contacts(pile: ForceSpace) -> None:
    a = pile.packing
    assert compare.distance(a, a) == 0.0
    few = np.arange(a.contacts) != 3
    b = a.chosen(few)
    lost = float(np.linalg.norm(a.force[3])) / a.unit
    assert compare.distance(a, b) == pytest.approx(lost, rel=1e-12)
    assert compare.distance(b, a) == pytest.approx(lost, rel=1e-12)
    # told in another order, and between grains from the other side
    i = np.random.default_rng(0).permutation(a.contacts)
    flip = (a.second < a.radius.size)[i]
    sign = np.where(flip, -1.0, 1.0)[:, None]
    turned = replace(
        a,
        first=np.where(flip, a.second[i], a.first[i]),
        second=np.where(flip, a.first[i], a.second[i]),
        normal=sign * a.normal[i],
        friction=a.friction[i],
        force=sign * a.force[i],
        arm_first=np.where(flip[:, None], a.arm_second[i], a.arm_first[i]),
        arm_second=np.where(flip[:, None], a.arm_first[i], a.arm_second[i]),
    )
    assert compare.distance(a, turned) == 0.0
    assert sum(compare.strong(a.components)) == sum(a.components[:, 0] > a.components[:, 0].mean())


def test_densities_and_tails() -> None:
    rng = np.random.default_rng(4)
    groups = [rng.exponential(3.0, 400) for _ in range(50)]
    edges = np.linspace(0.0, 15.0, 16)
    found = compare.density(groups, edges)
    exact = -np.diff(np.exp(-edges / 3.0)) / np.diff(edges)
    assert (np.abs(found.value - exact) < 4.0 * found.error).all()
    assert np.square((found.value - exact) / found.error).mean() == pytest.approx(1.0, abs=0.9)
    alone = compare.density(np.concatenate(groups), edges)
    assert np.array_equal(alone.value, found.value)
    assert alone.error == pytest.approx(found.error, rel=0.5)
    for values in (groups, np.concatenate(groups)):
        fit = compare.tail(values, 4.0)
        assert abs(fit.length - 3.0) < 4.0 * fit.error < 0.5
        assert abs(fit.variation - 1.0) < 4.0 * fit.variation_error < 0.3
    # groups that differ have larger errors than their values alone would tell
    differing = [g * rng.uniform(0.5, 1.5) for g in groups]
    assert (
        compare.tail(differing, 4.0).error
        > 2.0 * compare.tail(np.concatenate(differing), 4.0).error
    )
    with pytest.raises(InputError, match="at least 2"):
        compare.tail(groups, 1e6)
