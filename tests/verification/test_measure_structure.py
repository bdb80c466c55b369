"""Density, contacts, correlations, order, cells and fabric: closed forms, lattices, other codes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import hardgrain as hg
from hardgrain.core.model import Contacts
from hardgrain.forces.packing import packing as force_problem
from hardgrain.measure import structure
from hardgrain.measure.catalogue import measure
from hardgrain.measure.correlation import _chance, pair_correlation
from hardgrain.measure.fabric import fabric, force_fabric
from hardgrain.measure.order import bond_order, steinhardt
from hardgrain.measure.region import Ball, Block, Tube, content, natural_region
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.measure.voronoi import cells, local_packing_fraction

from .helpers import EXACT, floor, grains, packing, start, steps, up

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
WHOLE = {2: np.pi, 3: 4.0 / 3.0 * np.pi}


def state(
    x: Any,
    diameter: Any = 1.0,
    *,
    period: float | None = None,
    walls: Sequence[Any] = (),
    links: Sequence[tuple[int, int]] = (),
    force: Any = None,
    **keys: Any,
) -> Snapshot:
    """Grains made by hand, in a periodic cube or between walls, with contacts where given."""
    x = np.asarray(x, dtype=float)
    n, dim = x.shape
    periodic = {} if period is None else dict.fromkeys("xyz"[:dim], (0.0, period))
    scene = hg.Scene(
        dimension=dim,
        grains=[hg.Grains(place=hg.At(positions=x.tolist()))],
        periodic=periodic,
        walls=list(walls),
        allow_overlaps=True,
        **keys,
    )
    snap = snapshot(hg.Simulation(scene, dt=1.0))
    model = replace(snap.model, radius=np.broadcast_to(0.5 * np.asarray(diameter), n).astype(float))
    first, second = np.array(links, np.int32).reshape(-1, 2).T
    contacts = Contacts.none(dim)
    if len(links):
        normal = np.zeros((len(links), dim))
        for k, (i, j) in enumerate(links):
            d = x[j] - x[i] if j < n else -snap.walls[2][j - n]
            d = d if period is None or j >= n else d - period * np.round(d / period)
            normal[k] = d / np.linalg.norm(d)
        impulse = normal if force is None else np.asarray(force, dtype=float)
        torque = np.zeros((len(links), 1 if dim == 2 else 3))
        contacts = Contacts(first, second, normal, np.zeros(len(links)), impulse, torque)
    return replace(snap, model=model, state=replace(snap.state, contacts=contacts))


def lattice(count: int, dim: int, *basis: Sequence[float]) -> np.ndarray:
    """Points of a cubic lattice with the spacing 1 and a basis."""
    cells = np.stack(np.meshgrid(*[np.arange(float(count))] * dim), -1).reshape(-1, dim)
    return np.concatenate([cells + np.array(b) for b in basis or ([0.0] * dim,)])


FCC = ([0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5])


def triangular(rows: int) -> tuple[np.ndarray, dict[str, tuple[float, float]]]:
    """A triangular lattice with the spacing 1 and its periodic cell."""
    x = [[i + 0.5 * (j % 2), j * np.sqrt(0.75)] for i in range(rows) for j in range(rows)]
    return np.array(x), {"x": (0.0, float(rows)), "y": (0.0, rows * np.sqrt(0.75))}


# ---------------------------------------------------------------------- regions
def inside_by_counting(region: Any, x: np.ndarray, r: float, rng: np.random.Generator) -> float:
    """Volume of a grain in a region by points drawn in the grain."""
    p = rng.uniform(-1.0, 1.0, (200_000, x.size))
    p = p[(p**2).sum(axis=1) < 1.0]
    share: float = region.holds(x + r * p).mean()
    return share * WHOLE[x.size] * r**x.size


@pytest.mark.parametrize(
    ("dim", "kind"), [(2, "block"), (2, "ball"), (3, "block"), (3, "ball"), (3, "tube")]
)
def test_overlap_with_a_region_against_counting_points(dim, kind):
    rng = np.random.default_rng(5)
    region = {
        "block": Block(np.array([-1.0, -0.8, -0.6])[:dim], np.array([0.7, 1.0, 0.9])[:dim]),
        "ball": Ball(np.full(dim, 0.1), 1.1),
        "tube": Tube(np.zeros(3), np.array([0.0, 0.6, 0.8]), 0.9, 1.4),
    }[kind]
    x, r = rng.uniform(-1.3, 1.3, (20, dim)), rng.uniform(0.2, 1.6, 20)
    found = region.covered(x, r)
    for k in range(20):
        counted = inside_by_counting(region, x[k], r[k], rng)
        assert found[k] == pytest.approx(counted, abs=5 * WHOLE[dim] * r[k] ** dim * 0.5 / 300)


def test_sphere_and_block_against_cross_sections():
    """The closed form in 3D against the integral of that in 2D, to 12 digits."""
    rng = np.random.default_rng(6)
    low, high = np.array([-0.5, -0.7, -0.4]), np.array([0.6, 0.3, 0.8])
    flat = Block(low[:2], high[:2])
    for x, r in zip(rng.uniform(-0.8, 0.8, (12, 3)), rng.uniform(0.3, 1.2, 12)):

        def section(z: float, x: np.ndarray = x, r: float = r) -> float:
            rho = np.sqrt(max(r * r - (z - x[2]) ** 2, 0.0))
            return float(flat.covered(x[None, :2], np.array([rho]))[0]) if rho > 0 else 0.0

        corners = [abs(c - x[a]) for a in range(2) for c in (low[a], high[a])]
        corners += [np.hypot(p, q) for p in corners[:2] for q in corners[2:]]
        ends = max(low[2], x[2] - r), min(high[2], x[2] + r)
        if ends[0] >= ends[1]:
            continue
        kinks = [x[2] + s * np.sqrt(r * r - c * c) for c in corners if c < r for s in (-1, 1)]
        cuts = sorted({*ends, *(z for z in kinks if ends[0] < z < ends[1])})
        area = sum(
            quad(section, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in itertools.pairwise(cuts)
        )
        found = Block(low, high).covered(x[None], np.array([r]))[0]
        assert found == pytest.approx(area, abs=1e-11)


@pytest.mark.parametrize("dim", DIMS)
def test_a_partition_holds_each_grain_once(dim):
    rng = np.random.default_rng(7)
    x, r = rng.uniform(-1.0, 1.0, (50, dim)), rng.uniform(0.05, 1.5, 50)
    cuts = np.array([-np.inf, -1.0, -0.3, 0.0, 0.6, np.inf])
    total = np.zeros(50)
    for corner in itertools.product(range(5), repeat=dim):
        low, high = (np.array([cuts[i + s] for i in corner]) for s in (0, 1))
        total += Block(low, high).covered(x, r)
    np.testing.assert_allclose(total, WHOLE[dim] * r**dim, rtol=1e-13)


def test_closed_forms():
    """Halves, quarters, eighths, caps; Viviani-like: a sphere that a wide tube holds half."""
    one, zero = np.ones(1), np.zeros((1, 3))
    free = np.full(3, np.inf)
    for fixed in range(1, 4):
        low = np.where(np.arange(3) < fixed, 0.0, -np.inf)
        assert Block(low, free).covered(zero, one)[0] == pytest.approx(WHOLE[3] / 2**fixed)
    cap = Block(np.array([0.4, -np.inf, -np.inf]), free).covered(zero, one)[0]
    assert cap == pytest.approx(np.pi * 0.6**2 * (3 - 0.6) / 3, rel=1e-13)
    assert Ball(np.zeros(3), 0.5).covered(zero, one)[0] == pytest.approx(WHOLE[3] / 8)
    lens = Ball(np.array([1.0, 0.0]), 1.0).covered(np.zeros((1, 2)), one)[0]
    assert lens == pytest.approx(2 * np.pi / 3 - np.sqrt(3) / 2, rel=1e-13)
    # a sphere with a hole through its middle keeps the volume of one as high as the hole
    drilled = WHOLE[3] - Tube(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.6, 9.0).covered(zero, one)
    assert drilled[0] == pytest.approx(WHOLE[3] * 0.8**3, rel=1e-12)
    # Viviani's window: a tube of half the radius that goes through the middle
    window = Tube(np.array([0.5, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), 0.5, 9.0)
    assert window.covered(zero, one)[0] == pytest.approx(2 * np.pi / 3 - 8 / 9, rel=1e-11)


# ---------------------------------------------------------------------- packing fraction
@pytest.mark.parametrize("dim", DIMS)
def test_packing_fraction_of_periodic_cells(dim):
    """All images of a grain: any region as large as a cell holds the same, wherever it lies."""
    rng = np.random.default_rng(8)
    snap = state(rng.uniform(-20.0, 20.0, (30, dim)), rng.uniform(0.3, 1.2, 30), period=4.0)
    whole = snap.volume.sum() / 4.0**dim
    assert structure.packing_fraction(snap) == pytest.approx(whole, rel=1e-13)
    low = rng.uniform(-30.0, 30.0, dim)
    for cells_along in (1, 2, 3):
        corners = low, low + 4.0 * cells_along
        assert structure.packing_fraction(snap, region=corners) == pytest.approx(whole, rel=1e-12)
    parts = [
        content(snap, Block(low + 2.0 * np.array(c), low + 2.0 * np.array(c) + 2.0)).sum()
        for c in itertools.product((0, 1), repeat=dim)
    ]
    assert sum(parts) == pytest.approx(snap.volume.sum(), rel=1e-12)


def test_natural_regions():
    box = hg.Box(min=[0, 0], max=[4, 6], open=["top"])
    snap = state([[1, 0.5], [2.5, 3.0]], walls=[box])
    found = natural_region(snap)
    assert isinstance(found, Block)
    np.testing.assert_allclose(found.bounds, [[0, 0], [4, 3.5]])
    assert structure.packing_fraction(snap) == pytest.approx(2 * np.pi / 4 / 14)
    # half a unit from all sides: half of the grain below and all of the other but its cap
    assert structure.packing_fraction(snap, margin=0.5) == pytest.approx(np.pi / 4 / 7.5)
    drum = state([[0, -1.0]], walls=[hg.Drum(center=[0, 0], radius=2.0)])
    assert structure.packing_fraction(drum) == pytest.approx(1 / 16)
    solid = state([[0, 0, -1.0]], walls=[hg.Drum(center=[0, 0, 0], radius=2.0, length=3.0)])
    assert structure.packing_fraction(solid) == pytest.approx((np.pi / 6) / (12 * np.pi))
    assert structure.packing_fraction(state([[3.0, 2.0]])) == pytest.approx(np.pi / 4)
    slope = state([[0, 1.0]], walls=[hg.Plane(name="slope", point=[0, 0], normal=[1, 2])])
    with pytest.raises(hg.InputError, match="'slope' is not along an axis"):
        structure.packing_fraction(slope)
    for bad in ([[0, 0], [0, 1]], [[0, 0, 0], [1, 1, 1]], 3, "x"):
        with pytest.raises(hg.InputError, match="region"):
            structure.packing_fraction(snap, region=bad)
    with pytest.raises(hg.InputError, match="margin is 3, which leaves nothing"):
        structure.packing_fraction(snap, margin=3.0)
    assert structure.packing_fraction(snap, region=[[10, 10], [11, 11]]) == 0.0


# ---------------------------------------------------------------------- contacts
def test_coordination_and_rattlers_by_hand():
    """A triangle, a pair that hangs on it, one alone: what is loose goes, and what it held."""
    x = [[0, 0], [1, 0], [0.5, 0.87], [1.5, 0.87], [2.5, 0.87], [9, 9]]
    links = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]
    snap = state(x, links=links)  # friction 0.3: two contacts are needed
    np.testing.assert_array_equal(structure.contact_numbers(snap), [2, 2, 3, 2, 1, 0])
    np.testing.assert_array_equal(structure.rattlers(snap), [0, 0, 0, 1, 1, 1])
    assert structure.coordination(snap) == pytest.approx(10 / 6)
    assert structure.coordination(snap, with_rattlers=False) == pytest.approx(2.0)
    smooth = state(x, links=links, contacts=[hg.ContactLaw(friction=0.0)])
    assert structure.rattlers(smooth).all()
    assert structure.coordination(smooth, with_rattlers=False) == 0.0
    assert structure.rattlers(smooth, least=2).sum() == 3
    np.testing.assert_array_equal(structure.clusters(snap), [0, 0, 0, 0, 0, 1])
    # without friction, under gravity: two contacts and the weight
    valley = state(
        [[0.5, 0.5]], links=[(0, 1), (0, 2)], contacts=[hg.ContactLaw(friction=0.0)],
        gravity=[0, -1], walls=[floor(2), hg.Plane(point=[0, 0], normal=[1, 0])],
    )  # fmt: skip
    assert not structure.rattlers(valley).any()
    assert structure.rattlers(
        replace(valley, model=replace(valley.model, gravity=np.zeros(2)))
    ).all()


def test_clusters_are_sorted_by_size():
    x = [[float(k), 0.0] for k in range(7)]
    labels = structure.clusters(state(x, links=[(0, 1), (2, 3), (3, 4)]))
    np.testing.assert_array_equal(labels, [1, 1, 0, 0, 0, 2, 3])


def test_isostaticity_by_hand():
    """Counts that can be done on one's fingers."""
    smooth = [hg.ContactLaw(friction=0.0)]
    corner = [floor(2), hg.Plane(point=[0, 0], normal=[1, 0])]
    one = {"links": [(0, 1), (0, 2)], "gravity": [0, -1], "walls": corner}
    assert structure.isostaticity(state([[0.5, 0.5]], contacts=smooth, **one)).excess == 0
    rough = structure.isostaticity(state([[0.5, 0.5]], **one))
    assert (rough.unknowns, rough.equations) == (4, 3)
    # one of the two slides: |T| = µ N
    force = [[0.3, -1.0], [-1.0, 0.1]]
    slides = structure.isostaticity(state([[0.5, 0.5]], force=force, **one))
    assert (slides.sliding, slides.excess) == (1, 0)
    triangle = [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]]
    links = [(0, 1), (0, 2), (1, 2)]
    free = structure.isostaticity(state(triangle, links=links))
    assert (free.unknowns, free.equations) == (6, 9 - 3)
    # squares with periods: two contacts a grain, and all may move together along x and y
    x = lattice(4, 2)
    links = [(i, j) for i, j in itertools.combinations(range(16), 2)
             if np.isclose(np.linalg.norm((x[j] - x[i] + 2) % 4 - 2), 1.0)]  # fmt: skip
    square = structure.isostaticity(state(x, links=links, period=4.0, contacts=smooth))
    assert (square.contacts, square.unknowns, square.equations) == (32, 32, 30)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_isostaticity_of_packings_against_the_rank_of_the_contact_matrix(dim, mu):
    """No force state of its own is lost or counted twice: unknowns − rank = excess.

    Rattlers in the matrix have as many equations as unknowns or fewer, so that they are left out by
    hand.
    """
    sim = packing(dim, {"friction": mu}, count=14)
    steps(sim, 400)
    snap = snapshot(sim)
    count = structure.isostaticity(snap, tolerance=0.0)
    out = structure.rattlers(snap)
    problem = force_problem(sim)
    matrix = problem.matrix.toarray()
    gone = np.append(out, np.zeros(snap.model.bodies - snap.n, dtype=bool))
    loaded = problem.force.any(axis=1)
    use = loaded & ~gone[problem.first] & ~gone[problem.second]
    columns = np.arange(dim * use.size).reshape(-1, dim)[use]
    columns = columns[:, :1] if mu == 0.0 else columns
    part = matrix[:, columns.ravel()]
    rank = np.linalg.matrix_rank(part, tol=1e-9)
    assert use.sum() == count.contacts > 5
    assert part.shape[1] == count.unknowns + count.sliding
    touched = np.count_nonzero(part.any(axis=1))
    assert touched == count.equations
    assert part.shape[1] - rank >= count.excess
    if count.excess >= 0:
        assert part.shape[1] - rank == count.excess + count.sliding


@pytest.mark.parametrize("dim", DIMS)
def test_a_smooth_packing_at_rest_is_isostatic(dim):
    """Without friction and with sizes that fit nowhere twice, forces are just determined."""
    size = [3.0] * (dim - 1)
    sets = hg.Grains(
        count=10 if dim == 2 else 16,
        diameter=hg.Uniform(min=0.7, max=1.1),
        place=hg.Loose(min=[0.0] * dim, max=[*size, 9.0]),
    )
    sim = start(
        dim, sets, gravity=up(dim, -1.0), dt=0.02, seed=3, solver=EXACT,
        walls=[hg.Box(min=[0.0] * dim, max=[*size, 9.0], open=["top"])],
    )  # fmt: skip
    sim.run(until=[hg.AtRest(), 6000], progress=False)
    assert structure.isostaticity(sim).excess == 0


# ---------------------------------------------------------------------- pair correlation
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("window", ["periodic", "box", "mixed", "ball"])
def test_points_by_chance_have_g_of_one(dim, window):
    """In any window, at every distance, within errors that the points themselves give."""
    rng = np.random.default_rng(9)
    sums, errors = [], []
    for _ in range(8):
        x = rng.uniform(0.0, 6.0, (400, dim))
        if window == "ball":
            x = x[np.linalg.norm(x - 3.0, axis=1) < 3.0]
            found = pair_correlation(
                state(x), bins=6, reach=5.0, region=Ball(np.full(dim, 3.0), 3.0), margin=0.0
            )
        elif window == "periodic":
            found = pair_correlation(state(x, period=6.0), bins=6, reach=3.0)
        else:
            snap = state(x)
            if window == "mixed":
                period = np.zeros(dim)
                period[0] = 6.0
                snap = replace(snap, model=replace(snap.model, periodic=period))
            found = pair_correlation(
                snap, bins=6, reach=3.0, region=[[0.0] * dim, [6.0] * dim], margin=0.0
            )
        assert found.grains == len(x)
        sums.append(found.g)
        errors.append(found.error)
    mean, spread = np.mean(sums, axis=0), np.std(sums, axis=0) / np.sqrt(7)
    assert (np.abs(mean - 1.0) < 4.0 * spread + 2.0 * np.mean(errors, axis=0) / np.sqrt(8)).all()
    assert (spread < 0.1).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("periods", [0, 1, 2])
def test_what_chance_gives_in_a_block(dim, periods):
    """∫ γ(h) dh over a shell, by Gauss and Legendre over the directions of an octant."""
    length = np.array([3.0, 4.0, 5.0])[:dim]
    period = np.where(np.arange(dim) < periods, length, 0.0)
    snap = state(np.ones((1, dim)))
    snap = replace(snap, model=replace(snap.model, periodic=period))
    edges = np.array([0.3, 0.9, 1.5])
    found = _chance(snap, Block(np.zeros(dim), length), edges)
    node, weight = np.polynomial.legendre.leggauss(30)
    node, weight = 0.5 * (node + 1.0), 0.5 * weight
    angle = 0.5 * np.pi * node
    for k in range(2):
        r = edges[k] + (edges[k + 1] - edges[k]) * node
        if dim == 2:
            u = np.stack([np.cos(angle), np.sin(angle)])  # (2, directions)
            share = 2 * np.pi * weight
        else:
            across, height = np.sin(angle), np.cos(angle)
            u = np.stack([
                np.outer(across, np.cos(angle)), np.outer(across, np.sin(angle)),
                np.outer(height, np.ones(30)),
            ]).reshape(3, -1)  # fmt: skip
            share = 4 * np.pi * np.outer(0.5 * np.pi * weight * across, weight).ravel()
        away = np.where((period > 0.0)[:, None, None], 0.0, u[:, None] * r[None, :, None])
        gamma = np.prod(length[:, None, None] - away, axis=0) @ share
        total = (edges[k + 1] - edges[k]) * (weight * r ** (dim - 1)) @ gamma
        assert found[k] == pytest.approx(total, rel=1e-12)


def test_pair_correlation_of_a_lattice_and_against_freud():
    freud = pytest.importorskip("freud")
    x, periodic = triangular(12)
    snap = replace(state(x), low=np.zeros(2))
    period = np.array([periodic[a][1] for a in "xy"])
    snap = replace(snap, model=replace(snap.model, periodic=period))
    found = pair_correlation(snap, bins=40, reach=4.0)
    shells = {1.0: 6, np.sqrt(3): 6, 2.0: 6, np.sqrt(7): 12, 3.0: 6}
    per_grain = 2 * found.pairs / 144
    for distance, neighbours in shells.items():
        near = np.abs(found.edges[:-1] - distance) < 0.11
        assert per_grain[near].sum() == pytest.approx(neighbours)
    for dim in DIMS:
        rng = np.random.default_rng(1)
        x = rng.uniform(0.0, 8.0, (500, dim))
        found = pair_correlation(state(x, period=8.0), bins=20, reach=3.9)
        box = freud.box.Box.square(8.0) if dim == 2 else freud.box.Box.cube(8.0)
        points = np.zeros((500, 3))
        points[:, :dim] = x - 4.0
        rdf = freud.density.RDF(bins=20, r_max=3.9, normalization_mode="finite_size")
        rdf.compute((box, points))
        np.testing.assert_allclose(found.g, rdf.rdf, rtol=2e-3, atol=2e-3)  # single precision there


def test_pair_correlation_says_what_it_needs():
    snap = state([[1, 1], [2, 2]], period=4.0)
    with pytest.raises(hg.InputError, match="reach is 3"):
        pair_correlation(snap, reach=3.0)
    with pytest.raises(hg.InputError, match="bins is 0"):
        pair_correlation(snap, bins=0)
    assert not pair_correlation(state([[1, 1]], period=4.0), bins=3).g.any()


# ---------------------------------------------------------------------- order
def test_crystals_have_their_order():
    x, periodic = triangular(6)
    snap = state(x)
    period = np.array([periodic[a][1] for a in "xy"])
    snap = replace(snap, model=replace(snap.model, periodic=period))
    for neighbours in ("voronoi", "facets"):
        psi = bond_order(snap, neighbours=neighbours)
        np.testing.assert_allclose(np.abs(psi), 1.0, rtol=1e-12)
    square = state(lattice(5, 2), period=5.0)
    np.testing.assert_allclose(np.abs(bond_order(square, k=4)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(bond_order(square, k=6), 0.0, atol=1e-12)
    # Mickel et al. 2013, table I
    fcc = state(lattice(3, 3, *FCC), 0.7, period=3.0)
    np.testing.assert_allclose(steinhardt(fcc, l=6), np.sqrt(169 / 512), rtol=1e-12)
    np.testing.assert_allclose(steinhardt(fcc, l=4), np.sqrt(7 / 192), rtol=1e-12)
    cubic = state(lattice(4, 3), period=4.0)
    np.testing.assert_allclose(steinhardt(cubic, l=6), np.sqrt(1 / 8), rtol=1e-12)
    np.testing.assert_allclose(steinhardt(cubic, l=4), np.sqrt(7 / 12), rtol=1e-12)
    np.testing.assert_allclose(steinhardt(cubic, l=0), 1.0)
    touching = state([[0, 0], [1, 0], [5, 5]], links=[(0, 1)])
    np.testing.assert_allclose(np.abs(bond_order(touching, neighbours="contacts")), [1, 1, 0])


@pytest.mark.parametrize("weighted", [False, True])
def test_order_against_freud(weighted):
    freud = pytest.importorskip("freud")
    rng = np.random.default_rng(2)
    neighbours: Any = "facets" if weighted else "voronoi"
    for dim in DIMS:
        x = rng.uniform(0.0, 6.0, (150, dim))
        snap = state(x, period=6.0)
        box = freud.box.Box.square(6.0) if dim == 2 else freud.box.Box.cube(6.0)
        points = np.zeros((150, 3))
        points[:, :dim] = x - 3.0
        system = (box, points)
        nlist = freud.locality.Voronoi().compute(system).nlist
        if dim == 2:
            theirs = freud.order.Hexatic(k=5, weighted=weighted).compute(system, neighbors=nlist)
            ours: Any = np.abs(bond_order(snap, k=5, neighbours=neighbours))
            found = np.abs(theirs.particle_order)
        else:
            theirs = freud.order.Steinhardt(l=6, weighted=weighted)
            found = theirs.compute(system, neighbors=nlist).particle_order
            ours = steinhardt(snap, l=6, neighbours=neighbours)
        # a facet as small as single precision may be there for one and not for the other
        same = np.abs(ours - found) < 1e-4
        assert same.mean() > (0.999 if weighted else 0.95)


# ---------------------------------------------------------------------- cells
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("count", [1, 2, 5, 200])
def test_cells_fill_their_region(dim, count):
    """Whatever the sizes, with walls or periods or both; each facet is seen from both sides."""
    rng = np.random.default_rng(count)
    x, d = rng.uniform(0.0, 7.0, (count, dim)), rng.uniform(0.1, 0.5, count)
    box = [hg.Box(min=[0.0] * dim, max=[7.0] * dim)]
    period = np.zeros(dim)
    period[-1] = 7.0
    mixed = state(x, d)
    mixed = replace(mixed, model=replace(mixed.model, periodic=period))
    for snap in (state(x, d, period=7.0), state(x, d, walls=box), mixed):
        found = cells(snap)
        assert found.volume.sum() == pytest.approx(found.region.volume, rel=1e-12)
        assert (found.volume >= 0.0).all()
        # a closed cell: its facets, as vectors, add up to nothing
        u = found.branch / np.linalg.norm(found.branch, axis=1, keepdims=True)
        total = np.zeros((count, dim))
        np.add.at(total, found.first, found.area[:, None] * u)
        inner = found.second >= 0
        np.subtract.at(total, found.second[inner], (found.area[:, None] * u)[inner])
        np.testing.assert_allclose(total, 0.0, atol=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_cells_hold_the_points_of_least_power(dim):
    """Counted with points by chance, in a mixture of very different sizes."""
    rng = np.random.default_rng(4)
    x, d = rng.uniform(0.0, 5.0, (40, dim)), rng.choice([0.2, 1.5], 40)
    snap = state(x, d, period=5.0)
    p = rng.uniform(0.0, 5.0, (40_000, dim))
    apart = p[:, None] - x
    apart -= 5.0 * np.round(apart / 5.0)
    owner = ((apart**2).sum(axis=2) - (0.5 * d) ** 2).argmin(axis=1)
    share = np.bincount(owner, minlength=40) / len(p)
    found = cells(snap).volume / 5.0**dim
    assert (np.abs(share - found) < 5 * np.sqrt(found / len(p)) + 1e-12).all()


@pytest.mark.parametrize("dim", DIMS)
def test_cells_against_freud(dim):
    freud = pytest.importorskip("freud")
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, 6.0, (200, dim))
    found = cells(state(x, period=6.0))
    points = np.zeros((200, 3))
    points[:, :dim] = x - 3.0
    box = freud.box.Box.square(6.0) if dim == 2 else freud.box.Box.cube(6.0)
    theirs = freud.locality.Voronoi().compute((box, points))
    np.testing.assert_allclose(found.volume, theirs.volumes, atol=2e-5)
    assert found.area.sum() == pytest.approx(np.sum(theirs.nlist.weights) / 2, rel=1e-5)


def test_cells_of_crystals():
    """More than d + 1 cells meet in a point, and yet nothing is lost."""
    np.testing.assert_allclose(cells(state(lattice(4, 3), period=4.0)).volume, 1.0, rtol=1e-12)
    found = cells(state(lattice(3, 3, *FCC), 0.7, period=3.0))
    np.testing.assert_allclose(found.volume, 0.25, rtol=1e-12)
    np.testing.assert_array_equal(found.neighbours, 12)
    box = [hg.Box(min=[0.0, 0.0], max=[4.0, 4.0])]
    inside = state(lattice(4, 2, [0.5, 0.5]), walls=box)
    np.testing.assert_allclose(local_packing_fraction(inside), np.pi / 4, rtol=1e-12)
    assert np.isnan(local_packing_fraction(inside, region=[[0, 0], [4, 2]])).sum() == 8


def test_cells_in_a_drum():
    """Grains at the bottom of it: the cells go up to the wall above, and little further."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-4.5, 4.5, (300, 2))
    x = x[(np.linalg.norm(x, axis=1) < 4.5) & (x[:, 1] < -1.0)]
    found = cells(state(x, 0.2, walls=[hg.Drum(center=[0, 0], radius=5.0)]))
    assert 1.0 < found.volume.sum() / (25 * np.pi) < 1.01
    assert found.volume.min() > 0.0
    # one grain alone; two in a drum without ends, along a period
    alone = cells(state([[0.0, -2.0]], walls=[hg.Drum(center=[0, 0], radius=5.0)]))
    assert alone.volume[0] == pytest.approx(25 * np.pi, rel=1e-2)
    scene = hg.Scene(
        dimension=3,
        grains=[grains([0, 1.9, -1], [0, 0.2, -1.2])],
        walls=[hg.Drum(center=[0, 0, 0], radius=2.0)],
        periodic={"y": (0, 2)},
        allow_overlaps=True,
    )
    snap = snapshot(hg.Simulation(scene, dt=0.1))
    assert structure.packing_fraction(snap) == pytest.approx(2 * (np.pi / 6) / (8 * np.pi))
    assert cells(snap).volume.sum() == pytest.approx(8 * np.pi, rel=1e-2)


# ---------------------------------------------------------------------- fabric
def fan(a_c: float, theta_c: float, count: int = 4000) -> np.ndarray:
    """Angles of contacts with the density (1 + a_c cos 2(θ − θ_c)) / 2π, evenly."""
    grid = np.linspace(0.0, 2.0 * np.pi, 200_001)
    cumulative = (grid + 0.5 * a_c * np.sin(2.0 * grid)) / (2.0 * np.pi)
    angle: np.ndarray = theta_c + np.interp((np.arange(count) + 0.5) / count, cumulative, grid)
    return angle


def contacts_along(normal: np.ndarray, force: np.ndarray) -> Snapshot:
    """Two grains and many contacts in the directions given."""
    snap = state(np.zeros((2, normal.shape[1])))
    m = len(normal)
    c = Contacts(
        np.zeros(m, np.int32), np.ones(m, np.int32), normal, np.zeros(m), force,
        np.zeros((m, 1 if normal.shape[1] == 2 else 3)),
    )  # fmt: skip
    return replace(snap, state=replace(snap.state, contacts=c))


def test_fabric_recovers_a_known_distribution():
    """Contacts, normal and tangential forces with axes of their own, large anisotropy."""
    a_c, a_n, a_t, t_c, t_n, t_t, f = 0.4, 0.7, 0.3, 0.3, 1.2, -0.6, 2.5
    angle = fan(a_c, t_c)
    n = np.column_stack([np.cos(angle), np.sin(angle)])
    t = np.column_stack([-n[:, 1], n[:, 0]])
    normal = f * (1 + a_n * np.cos(2 * (angle - t_n)))
    tangential = -f * a_t * np.sin(2 * (angle - t_t))
    found = fabric(contacts_along(n, normal[:, None] * n + tangential[:, None] * t))
    assert (found.contacts.size, found.contacts.angle) == pytest.approx((a_c, t_c), abs=1e-6)
    assert (found.normal.size, found.normal.angle) == pytest.approx((a_n, t_n), rel=1e-9)
    assert (found.tangential.size, found.tangential.angle) == pytest.approx((a_t, t_t), rel=1e-9)
    assert found.force == pytest.approx(f, rel=1e-9)
    assert np.trace(found.tensor) == pytest.approx(1.0)


def test_stress_from_fabric():
    """q/p = (a_c + a_n + a_t)/2 where all are small and share their axes."""
    a = 1e-3
    angle = fan(a, 0.4)
    n = np.column_stack([np.cos(angle), np.sin(angle)])
    t = np.column_stack([-n[:, 1], n[:, 0]])
    turn = 2 * (angle - 0.4)
    force = (1 + 2 * a * np.cos(turn))[:, None] * n - (3 * a * np.sin(turn))[:, None] * t
    snap = contacts_along(n, force)
    found = fabric(snap)
    stress = force.T @ n  # branches of length one
    low, high = np.linalg.eigvalsh(0.5 * (stress + stress.T))
    sizes = found.contacts.size + found.normal.size + found.tangential.size
    assert (high - low) / (high + low) == pytest.approx(0.5 * sizes, rel=1e-2)
    assert sizes == pytest.approx(6 * a, rel=1e-3)
    shares = np.linalg.eigvalsh(force_fabric(snap))
    assert 2 * (shares[1] - shares[0]) == pytest.approx(3 * a, rel=1e-2)


def test_fabric_in_3d():
    """Directions spread evenly, thinned by 1 + n·A n; forces with tensors of their own."""
    k = np.arange(20_000) + 0.5
    z, turn = 1 - 2 * k / k.size, np.pi * (1 + np.sqrt(5)) * k
    rho = np.sqrt(1 - z * z)
    n = np.column_stack([rho * np.cos(turn), rho * np.sin(turn), z])
    even = fabric(contacts_along(n, n))
    assert even.contacts.size < 1e-3
    assert even.normal.size < 1e-9
    a_c, a_n, a_t = np.diag([0.2, -0.5, 0.3]), np.diag([-0.1, -0.2, 0.3]), np.diag([0.1, 0.1, -0.2])
    a_n[0, 1] = a_n[1, 0] = 0.15
    chance = 1 + np.einsum("ka,ab,kb->k", n, a_c, n)
    kept = np.random.default_rng(0).uniform(size=k.size) < chance / 2
    n = n[kept]
    along = 3 * (1 + np.einsum("ka,ab,kb->k", n, a_n, n))
    across = 3 * (n @ a_t - np.einsum("ka,ab,kb->k", n, a_t, n)[:, None] * n)
    found = fabric(contacts_along(n, along[:, None] * n + across))
    np.testing.assert_allclose(found.contacts.tensor, a_c, atol=0.08)
    np.testing.assert_allclose(found.normal.tensor, a_n, atol=1e-9)
    np.testing.assert_allclose(found.tangential.tensor, a_t, atol=1e-9)
    np.testing.assert_allclose(found.contacts.direction, [0, 0, 1], atol=0.1)
    axial = fabric(contacts_along(n, (1 + 0.6 * n[:, 2] ** 2 - 0.2)[:, None] * n))
    assert axial.normal.size == pytest.approx(0.6, rel=1e-9)


def around(a_c: float, count: int = 20_000) -> np.ndarray:
    """Directions with the density (1 + a_c (z² − 1/3)) / 4π, evenly in z and about it."""
    grid = np.linspace(-1.0, 1.0, 200_001)
    cumulative = 0.5 * (grid + 1.0 + a_c * (grid**3 - grid) / 3.0)
    z = np.interp((np.arange(count) + 0.5) / count, cumulative, grid)
    turn, rho = np.pi * (1 + np.sqrt(5)) * np.arange(count), np.sqrt(1 - z * z)
    return np.column_stack([rho * np.cos(turn), rho * np.sin(turn), z])


@pytest.mark.parametrize("along", ["normal", "branch"])
@pytest.mark.parametrize("dim", DIMS)
def test_stress_force_and_fabric(dim, along):
    """Four anisotropies about one axis are found again, and q/p follows from them to first order.

    In 2D q/p = (a_c + a_n + a_t + a_l)/2, in 3D 2/5 (a_c + a_n + 3/2 a_t + a_l), for p the mean
    and q = (σ_1 − σ_2)/2 or σ_1 − σ_3; products of two of them are left out.
    """
    a_c, a_n, a_t, a_l = 1e-3 * np.array([1.0, 2.0, 3.0, 0.5])
    axial = np.diag([0.5, -0.5]) * 2 if dim == 2 else np.diag([-1.0, -1.0, 2.0]) / 3
    if dim == 2:
        angle = fan(a_c, 0.0)
        n = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        n = around(a_c)
    even = np.einsum("ka,ab,kb->k", n, axial, n)
    across = n @ axial - even[:, None] * n
    force = 3.0 * ((1 + a_n * even)[:, None] * n + a_t * across)
    snap = contacts_along(n, force)
    # grains of diameter one; what is missing to the length of the branch is a gap
    gap = 2.0 * (1 + a_l * even) - 1.0
    snap = replace(snap, state=replace(snap.state, contacts=replace(snap.state.contacts, gap=gap)))
    found = fabric(snap, along=along)
    sizes = [found.contacts, found.normal, found.tangential, found.branches]
    assert [one.size for one in sizes] == pytest.approx([a_c, a_n, a_t, a_l], rel=1e-3)
    expected = 0.5 * (a_c + a_n + a_t + a_l) if dim == 2 else 0.4 * (a_c + a_n + 1.5 * a_t + a_l)
    assert found.ratio_of_fabric == pytest.approx(expected, rel=1e-3)
    stress = force.T @ (2.0 * (1 + a_l * even)[:, None] * n)
    value = np.linalg.eigvalsh(0.5 * (stress + stress.T))
    q = 0.5 * (value[-1] - value[0]) if dim == 2 else value[-1] - value[:2].mean()
    assert found.ratio == pytest.approx(q / value.mean(), rel=1e-3)
    assert found.ratio == pytest.approx(expected, rel=1e-2)


def test_anisotropies_of_branches_are_found_again():
    """Branches and forces with given harmonics, whatever the normals; q/p follows, as of disks."""
    a_c, a_l, a_n, a_t = 0.08, 0.02, 0.06, 0.04
    angle = fan(a_c, 0.0)
    along = np.column_stack([np.sin(angle), np.cos(angle)])  # angles are those from the vertical
    left = np.column_stack([-along[:, 1], along[:, 0]])
    cosine, sine = np.cos(2 * angle), np.sin(2 * angle)
    branch = 1.7 * (1 + a_l * cosine)[:, None] * along
    force = 3.0 * ((1 + a_n * cosine)[:, None] * along + (a_t * sine)[:, None] * left)
    off = angle + np.random.default_rng(0).uniform(-0.5, 0.5, angle.size)
    snap = contacts_along(np.column_stack([np.sin(off), np.cos(off)]), force)
    c = snap.contacts
    arm = branch + c.arm_second - c.gap[:, None] * c.normal
    snap = replace(snap, state=replace(snap.state, contacts=replace(c, arm_first=arm)))
    found = fabric(snap, along="branch")
    parts = [found.contacts, found.branches, found.normal, found.tangential]
    # the distribution function is interpolated; yy is the signed anisotropy of a vertical axis
    assert [one.tensor[1, 1] for one in parts] == pytest.approx([a_c, a_l, a_n, a_t], abs=1e-5)
    stress = force.T @ branch
    ratio = (stress[1, 1] - stress[0, 0]) / (stress[1, 1] + stress[0, 0])
    assert found.ratio == pytest.approx(ratio, rel=1e-3)
    # products of two anisotropies are left out of the first order
    assert ratio == pytest.approx(found.ratio_of_fabric, abs=0.01)
    assert found.ratio_of_fabric == pytest.approx(0.5 * (a_c + a_l + a_n + a_t), abs=1e-4)


def test_the_relation_of_stress_and_fabric_needs_no_common_axes():
    """Anisotropies of quite different directions are summed as tensors."""
    a, (t_c, t_n, t_t) = 1e-3, (0.2, 1.1, -0.7)
    angle = fan(a, t_c)
    n = np.column_stack([np.cos(angle), np.sin(angle)])
    t = np.column_stack([-n[:, 1], n[:, 0]])
    force = (1 + 2 * a * np.cos(2 * (angle - t_n)))[:, None] * n
    force -= (3 * a * np.sin(2 * (angle - t_t)))[:, None] * t
    found = fabric(contacts_along(n, force))
    assert found.ratio == pytest.approx(found.ratio_of_fabric, rel=1e-2)
    sizes = found.contacts.size + found.normal.size + found.tangential.size
    assert found.ratio < 0.9 * 0.5 * sizes
    with pytest.raises(hg.InputError, match="along is 'x'; give 'normal' or 'branch'"):
        fabric(contacts_along(n, force), along="x")


def test_too_few_contacts_have_no_fabric():
    found = fabric(state([[0, 0], [1, 0]], links=[(0, 1)]))
    assert found.count == 1
    assert np.isnan([found.contacts.size, found.normal.angle, found.force]).all()


# ---------------------------------------------------------------------- by name
@pytest.mark.parametrize("dim", DIMS)
def test_by_name(dim):
    """Every measurement of structure, of a packing: labelled, with units."""
    sim = packing(dim, {"friction": 0.3})
    names = (
        "packing-fraction", "coordination", "contact-numbers", "clusters", "isostaticity",
        "pair-correlation", "bond-order", "voronoi", "fabric",
    )  # fmt: skip
    for name in names:
        data = measure(sim, name)
        assert data.sizes["time"] == 1
        assert all(v.attrs["units"] and v.attrs["long_name"] for v in data.data_vars.values())
