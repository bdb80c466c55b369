"""Gases of hard grains by events, against kinetic theory: pressure, cooling, collapse."""

import math

import numpy as np
import pytest
from scipy.spatial import cKDTree

import hardgrain as hg
from hardgrain.measure import pair_correlation, stress_tensor
from hardgrain.theory import gas as theory

from .test_events import at, events, gas

# [1] How well Henderson's and Carnahan and Starling's χ are known to agree with simulations of
# elastic grains below freezing.
KNOWN = 0.005

pytestmark = pytest.mark.rounding


def mean_and_error(values):
    """Mean over seeds, and its standard error."""
    values = np.array(values)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


def temperature(sim):
    """m ⟨v'²⟩ / d of equal grains, with the motion of the whole taken out."""
    n, dim = sim.model.n, sim.model.dim
    v = sim.state.velocity[:n]
    v = v - v.mean(axis=0)
    return sim.model.mass[0] * float((v**2).sum()) / (dim * (n - 1))


# ---------------------------------------------------------------------- elastic
@pytest.mark.parametrize(
    ("dim", "fraction"), [(2, 0.1), (2, 0.4), (2, 0.6), (3, 0.1), (3, 0.3), (3, 0.45)]
)
def test_pressure_collisions_and_contact_value_of_an_elastic_gas(dim, fraction):
    """Z from the impulses of collisions, ω from their number, χ from places alone."""
    n, seeds = 500, 5
    rate = theory.collision_rate(fraction, dim, 1.0)
    dt = 1.0 / rate
    found = []
    for seed in range(seeds):
        sim = gas(dim, n, fraction, seed=seed, dt=dt)
        for _ in range(40):  # places are random after so many collisions of each
            sim.step()
        t, z, hits, count = temperature(sim), [], 0, np.zeros(len(EDGES) - 1)
        volume = float(sim.model.periodic.prod())
        for _ in range(100):
            hits += sim.step().candidates
            z.append(np.trace(stress_tensor(sim)) / dim * volume / (n * t))
            count += near_pairs(sim)
        thermal = math.sqrt(t / sim.model.mass[0])
        found.append(
            (np.mean(z), 2.0 * hits / n / (100 * dt) / thermal, g_at_contact(count / 100, sim))
        )
    (z, omega, chi), (z_error, omega_error, chi_error) = mean_and_error(found)
    expected = theory.compressibility(fraction, dim)
    assert z == pytest.approx(expected, abs=4.0 * z_error + KNOWN * expected)
    assert omega == pytest.approx(rate, abs=4.0 * omega_error + KNOWN * rate)
    known = theory.contact_value(fraction, dim)
    # a parabola through g on [1, 1.16] leaves out its third derivative: at the densest, where g
    # falls as exp(−5 (r − 1)) or so, that is (5 × 0.16)³/6 of it, times the 1/16 of a best parabola
    assert chi == pytest.approx(known, abs=4.0 * chi_error + (KNOWN + 0.006) * known)
    assert max(z_error / z, omega_error / omega) < 0.01


EDGES = np.linspace(1.0, 1.16, 9)


def near_pairs(sim):
    """How many pairs are as far apart as each bin says."""
    side = sim.model.periodic
    tree = cKDTree(sim.state.position[: sim.model.n] % side, boxsize=side)
    # two that touch may be closer than a diameter by rounding
    return np.diff(tree.count_neighbors(tree, [0.9, *EDGES[1:]])) / 2.0


def g_at_contact(count, sim):
    """g(1⁺) from a parabola through g over the first part of a diameter; count: of each bin."""
    n, dim = sim.model.n, sim.model.dim
    shell = (math.pi if dim == 2 else 4.0 / 3.0 * math.pi) * np.diff(EDGES**dim)
    g = count / (0.5 * n * (n - 1) / float(sim.model.periodic.prod()) * shell)
    middle = 0.5 * (EDGES[1:] + EDGES[:-1])
    return float(np.polynomial.Polynomial.fit(middle, g, 2, w=np.sqrt(count) / g)(1.0))


def test_the_measured_pair_correlation_jumps_to_the_contact_value():
    """`hardgrain measure pair-correlation` of a gas; one frame of 1600 grains, so 10 % or so."""
    sim = gas(2, 1600, 0.4, dt=1.0)
    for _ in range(20):
        sim.step()
    measured = pair_correlation(sim, bins=75, reach=3.0)
    first = (measured.r > 1.0) & (measured.r < 1.08)
    pairs = measured.pairs[first].sum()
    # g falls by a tenth over these two bins (its slope at contact is about −χ²)
    chi = theory.contact_value(0.4, 2)
    assert measured.g[first].mean() == pytest.approx(0.95 * chi, rel=4.0 / math.sqrt(pairs) + 0.05)
    assert not measured.g[measured.r < 0.98].any()


# ---------------------------------------------------------------------- inelastic
@pytest.mark.parametrize(("dim", "fraction", "e"), [(2, 0.1, 0.9), (2, 0.3, 0.95), (3, 0.1, 0.9)])
def test_a_gas_cools_by_haff_s_law(dim, fraction, e):
    """√(T₀/T) = 1 + t/τ: a straight line, whose slope Enskog's theory gives.

    Later, or in larger boxes, vortices grow, whose energy collisions do not take: cooling is slower
    then. So the gas is followed until T is 0.6 T₀.
    """
    n, seeds, end = 3000, 8, 0.3
    slopes, bends = [], []
    for seed in range(seeds):
        sim = gas(dim, n, fraction, seed=seed, dt=10.0 / theory.collision_rate(fraction, dim, 1.0))
        sim.step()  # elastic, until places are random
        sim.step()
        t0, m = temperature(sim), sim.model.mass[0]
        dt = 0.5 * end / theory.cooling_rate(e, fraction, dim, math.sqrt(t0 / m))
        sim = gas(dim, n, fraction, law={"restitution": e}, seed=seed, dt=dt, start=sim.state)
        root = []
        for _ in range(2):
            sim.step()
            root.append(math.sqrt(t0 / temperature(sim)) - 1.0)
        slopes.append(root[1] / end)
        bends.append((root[1] - 2.0 * root[0]) / end)
    slope, error = mean_and_error(slopes)
    # χ is known to `KNOWN`; a₂ changes the rate by half a percent, from zero on in the first few of
    # the 6 to 13 collisions of each grain, and is right to its first order alone
    assert slope == pytest.approx(1.0, abs=4.0 * error + KNOWN + 0.005)
    bend, bend_error = mean_and_error(bends)
    assert bend == pytest.approx(0.0, abs=4.0 * bend_error + 0.01)
    assert error < 0.01


# ---------------------------------------------------------------------- collapse
def row(e, **engine):
    """A grain runs into two that rest, at gaps of 0.5 and 0.3."""
    sets = [at([0.0, 0.0], [1.0, 0.0]), at([1.5, 0.0], [0.0, 0.0]), at([2.8, 0.0], [0.0, 0.0])]
    return events(2, sets, law={"restitution": e}, dt=50.0, engine=engine)


@pytest.mark.parametrize("e", [0.0, 0.02, 0.05, 0.0717])
def test_three_grains_in_a_row_collapse_below_seven_minus_four_root_three(e):
    assert e < theory.COLLAPSE
    assert theory.collisions_in_a_row(e) > 1000
    with pytest.raises(hg.RunError, match=r"grain . and grain . collide without end"):
        row(e).step()


@pytest.mark.parametrize("e", [0.075, 0.08, 0.09, 0.15, 0.3, 0.6, 1.0])
def test_three_grains_in_a_row_part_above_it_after_as_many_collisions_as_the_map_says(e):
    assert e > theory.COLLAPSE
    sim = row(e)
    expected = theory.collisions_in_a_row(e)
    assert expected < 25  # of more, the speeds fall below the rounding of the velocities
    assert sim.step().candidates == expected


@pytest.mark.parametrize(
    ("law", "engine"),
    [({"restitution": 0.05}, {"contact_time": 1e-6}),
     ({"restitution": 0.05, "restitution_speed": 1.0}, {})],
)  # fmt: skip
def test_both_remedies_let_the_row_go_on(law, engine):
    sets = [at([0.0, 0.0], [1.0, 0.0]), at([1.5, 0.0], [0.0, 0.0]), at([2.8, 0.0], [0.0, 0.0])]
    sim = events(2, sets, law=law, dt=50.0, engine=engine)
    report = sim.step()
    assert report.candidates < 200
    lost = report.dissipated / (0.5 * sim.model.mass[0])
    assert lost == pytest.approx(2.0 / 3.0, rel=0.1)  # nearly all that momentum allows
    assert report.kinetic + report.dissipated == pytest.approx(0.5 * sim.model.mass[0], rel=1e-14)


def test_a_gas_that_collapses_goes_on_with_either_remedy():
    """Dense disks of e = 0.3: they collapse; with e(v) or a contact time they do not."""

    def cool(law, **engine):
        sim = gas(2, 400, 0.5, law=law, engine=engine, dt=2.0)
        for _ in range(40):
            sim.step()
        return sim

    with pytest.raises(hg.RunError, match="inelastic collapse"):
        cool({"restitution": 0.3})
    for law, engine in (
        ({"restitution": 0.3}, {"contact_time": 1e-3}),
        ({"restitution": 0.3, "restitution_speed": 1.0}, {}),
    ):
        sim = cool(law, **engine)
        assert sim.kinetic < 0.05 * sim.totals.kinetic_start
        assert sim.totals.deepest < 1e-12
