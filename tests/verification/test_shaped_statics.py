"""Grains that are not round, at rest and on the point of moving: what statics says, they do.

All scenes are solved until the laws hold to 1e-11, so that what is judged is geometry and statics.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hardgrain as hg

G = 1.0  # gravity
PRECISE = hg.RigidSolver(tolerance=1e-11)


def on_floor(grains: list[hg.Grains], friction: float, tilt: float = 0.0, **more: Any) -> Any:
    """Grains on a plane; gravity leans by an angle towards +x, as if the plane were an incline."""
    dim = len(grains[0].place.positions[0])  # type: ignore[union-attr]
    down = [0.0] * dim
    down[0], down[-1] = G * math.sin(tilt), -G * math.cos(tilt)
    up = [0.0] * dim
    up[-1] = 1.0
    floor = hg.Plane(point=[0.0] * dim, normal=up, name="floor")
    scene = hg.Scene(
        dimension=dim, gravity=down, grains=grains, walls=[floor, *more.pop("walls", [])],
        contacts=[hg.ContactLaw(friction=friction)],
    )  # fmt: skip
    return hg.Simulation(scene, **{"dt": 0.01, "solver": PRECISE} | more)


def block(sides: list[float], at: list[float] | None = None, **more: Any) -> hg.Grains:
    """One box, by default with its lower face on the plane."""
    place = at or [*(0.0 for _ in sides[:-1]), 0.5 * sides[-1]]
    shape = {"kind": "box", "sides": sides}
    return hg.Grains(shape=shape, place=hg.At(positions=[place]), **more)


def march(sim: Any, steps: int) -> Any:
    for _ in range(steps):
        sim.step()
    return sim


SIDES = {2: [1.0, 0.5], 3: [1.0, 0.8, 0.5]}


@pytest.mark.parametrize("dim", [2, 3])
def test_a_block_slides_at_the_angle_of_friction(dim: int) -> None:
    """tan θ = µ: a millionth below it stays, a millionth above it slides as friction lets it."""
    mu, steps = 0.4, 20  # tan θ = 0.4 is below that of tipping, 1.0/0.5
    for sign in (-1.0, 1.0):
        theta = math.atan(mu * (1.0 + 1e-6 * sign))
        sim = march(on_floor([block(SIDES[dim])], mu, theta), steps)
        v = sim.state.velocity[0]
        slide = max(G * (math.sin(theta) - mu * math.cos(theta)), 0.0) * steps * sim.dt
        # The residual leaves 1e-11 of the largest velocity that impulses give, g dt, in each step.
        assert v[0] == pytest.approx(slide, abs=1e-10 * G * sim.dt * steps)
        assert (slide > 0.0) == (sign > 0.0)
        np.testing.assert_allclose(v[1:], 0.0, atol=1e-10)
        np.testing.assert_allclose(sim.state.spin[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_block_tips_over_its_edge_at_the_angle_of_its_diagonal(dim: int) -> None:
    """tan θ = w/h: beyond it the block turns about its lower edge with its moment of inertia there.

    Implicit Euler gives the spin of one step exactly: I_edge ω = dt m g (h sin θ − w cos θ)/2.
    """
    sides = [0.5, 1.0] if dim == 2 else [0.5, 0.8, 1.0]
    w, h = sides[0], sides[-1]
    for sign in (-1.0, 1.0):
        theta = math.atan(w / h * (1.0 + 1e-4 * sign))
        sim = march(on_floor([block(sides)], 5.0, theta), 1)
        about_edge = (w**2 + h**2) / 3.0  # over the mass
        spin = sim.dt * G * 0.5 * (h * math.sin(theta) - w * math.cos(theta)) / about_edge
        turning = -sim.state.spin[0, 0] if dim == 2 else sim.state.spin[0, 1]  # towards +x
        assert turning == pytest.approx(max(spin, 0.0), abs=1e-9 * G * sim.dt)
        assert (spin > 0.0) == (sign > 0.0)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_box_at_rest_stays_where_it_is(dim: int) -> None:
    """Ten thousand steps, no motion: not by a billionth of its size."""
    sim = on_floor([block(SIDES[dim], **({"orientation": 0.0} if dim == 2 else {}))], 0.5)
    before = sim.state.copy()
    sim.run(10_000, progress=False)
    assert np.abs(sim.state.position - before.position).max() < 1e-9
    assert np.abs(sim.state.orientation - before.orientation).max() < 1e-9
    assert sim.state.contacts.impulse[:, -1].sum() == pytest.approx(-sim.model.mass[0] * sim.dt)


@pytest.mark.parametrize("dim", [2, 3])
def test_each_box_of_a_stack_bears_the_weight_above_it(dim: int) -> None:
    """Twenty boxes, one on the other: k contacts below the top, k weights, by statics alone."""
    count, sides = 20, [1.0, 0.5] if dim == 2 else [1.0, 1.0, 0.5]
    places = [[*(0.0 for _ in sides[:-1]), 0.25 + 0.5 * k] for k in range(count)]
    grains = hg.Grains(
        shape={"kind": "box", "sides": sides}, place=hg.At(positions=places), count=count
    )
    sim = march(on_floor([grains], 0.5), 3)
    c, weight = sim.state.contacts, sim.model.mass[0] * G * sim.dt
    assert len(c) == count * (2 if dim == 2 else 4)
    for k in range(count):  # the contact below box k
        below = (c.first == k) & (c.second == (count if k == 0 else -1))
        if k:
            below = (c.first == k - 1) & (c.second == k)
        up = c.impulse[below].sum(axis=0)
        up = -up if k == 0 else up
        # The residual is relative to the largest impulse, that of twenty weights.
        expected = np.zeros(dim)
        expected[-1] = (count - k) * weight
        np.testing.assert_allclose(up, expected, atol=1e-7 * count * weight)
    assert np.abs(sim.state.velocity).max() < 1e-8


def leaning(friction: float, alpha: float = 0.4) -> tuple[Any, float]:
    """A card between a rough floor and a smooth wall, and the friction at which it begins to slip.

    The wall pushes with H at the height y of the upper corner, the floor bears the weight at the
    lower one: H y = m g (x_c − x_foot), and the floor must give H ≤ µ m g.
    """
    length, thick = 2.0, 0.05
    c, s = math.cos(alpha), math.sin(alpha)
    corners = 0.5 * np.array(
        [[-thick, -length], [thick, -length], [thick, length], [-thick, length]]
    )
    turned = corners @ np.array([[c, -s], [s, c]])  # leans towards +x, by turning clockwise
    low, right = turned[turned[:, 1].argmin()], turned[turned[:, 0].argmax()]
    card = block([thick, length], at=[0.0, -low[1]], orientation=-alpha)
    wall = hg.Plane(point=[right[0], 0.0], normal=[-1.0, 0.0], name="wall", material="smooth")
    floor = hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0], name="floor")
    scene = hg.Scene(
        gravity=[0.0, -G],
        grains=[card],
        walls=[floor, wall],
        materials={"rough": hg.Material(), "smooth": hg.Material()},
        contacts=[
            hg.ContactLaw(friction=friction),
            hg.ContactLaw(between=("rough", "smooth"), friction=0.0),
        ],
    )
    needed = -low[0] / (right[1] - low[1])
    return hg.Simulation(scene, dt=0.01, solver=PRECISE), needed


def test_a_leaning_card_stands_or_slips_as_statics_says() -> None:
    needed = leaning(1.0)[1]
    assert 0.15 < needed < 0.25  # tan(0.4)/2 of a card without thickness
    stands, slips = leaning(1.001 * needed)[0], leaning(0.999 * needed)[0]
    march(stands, 20)
    march(slips, 20)
    assert np.abs(stands.state.velocity[0]).max() < 1e-9
    assert slips.state.velocity[0, 1] < -1e-5
    assert slips.state.spin[0, 0] < 0.0


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_house_of_two_cards(factor: float) -> None:
    """Two cards with round ends that lean on each other: they stand if µ > H/(m g).

    H y = m g (x_foot − x_c) about the foot of either, with y the height of the upper ends.
    """
    alpha, aspect = 0.35, 21.0
    length = 2.0  # from end to end
    r = 0.5 * length / aspect
    core = length - 2.0 * r
    c, s = math.cos(alpha), math.sin(alpha)
    top, foot = -r, -r - core * s  # x of the ends of the left core
    middle = 0.5 * (top + foot)
    needed = (middle - foot) / (r + core * c)  # horizontal lever over the height of the contact
    places = [[middle, r + 0.5 * core * c], [-middle, r + 0.5 * core * c]]
    cards = [
        hg.Grains(
            shape={"kind": "capsule", "aspect": aspect},
            diameter=length,
            place=hg.At(positions=[place]),
            orientation=0.5 * math.pi + sign * alpha,
        )
        for place, sign in zip(places, (-1.0, 1.0), strict=True)
    ]
    sim = march(on_floor(cards, factor * needed), 20)
    if factor > 1.0:
        assert np.abs(sim.state.velocity).max() < 1e-9
    else:
        assert sim.state.velocity[:2, 1].max() < -1e-5


def test_a_box_that_comes_down_tilted_lands_on_all_its_corners() -> None:
    """No corner sinks in, and it comes to rest flat."""
    box = block([1.0, 1.0, 0.5], at=[0.0, 0.0, 0.6], orientation=[0.11, -0.07, 0.3])
    sim = on_floor([box], 0.5, solver=hg.GaussSeidel(sweeps=500, stop="residual", tolerance=1e-9))
    worst = 0.0
    for _ in range(400):
        worst = max(worst, sim.step().worst_overlap)
    assert np.abs(sim.state.velocity[0]).max() < 1e-8
    assert np.abs(sim.state.spin[0]).max() < 1e-8
    assert sim.state.position[0, 2] == pytest.approx(0.25, abs=1e-3)
    # A step neglects that arms turn by θ = ω dt, at most some 0.02 here: (θ²/2) of half a diagonal.
    assert worst < 1e-3
