"""The algorithm of the review, equation by equation: one contact (1–34), and walls.

Hundreds of pairs, each for itself, are stepped by the engine, and what comes out is held against
the review's formulas, worked out here anew with NumPy. The sliding contact whose normal and
tangents are coupled (28–32) is solved here by another method: a search over the direction of slip.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import block_diag, csr_array

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.papers.unger2002.stability import Kept
from hardgrain.papers.unger2003.shock_pairs import (
    APART,
    DT,
    GRAVITY,
    MU,
    ONE,
    ROUNDING,
    SpherePairs,
    shock_law,
    to_rounding,
)
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Cylinder, Drum, Grains, Piston, Plane
from hardgrain.solve.assembly import global_form
from hardgrain.solve.matrices import LocalForm
from hardgrain.step.contact_dynamics import ContactDynamics

__all__ = ["EXPERIMENT"]


def _of_pairs(count: int) -> tuple[list[Claim], dict[str, Any]]:
    """Collisions at random: the scheme (34), Coulomb's cone, what is conserved."""
    pairs = SpherePairs.draw(count, (0.0, 0.05), seed=1)
    rng = np.random.default_rng(2)
    velocity, spin = rng.normal(size=(2, count, 2, 3))
    sim = pairs.simulation(velocity, spin)
    sim.step()
    found = pairs.impulses(sim)
    u = pairs.contact_velocity(velocity, spin)  # gravity is the same for both
    expected, slides = shock_law(pairs, u)
    new = pairs.contact_velocity(pairs.both(sim.state.velocity), pairs.both(sim.state.spin))
    n = pairs.normal
    p_n = np.sum(found * n, axis=1)
    p_t = found - p_n[:, None] * n
    tangential = np.linalg.norm(p_t, axis=1)
    v_t = new - np.sum(new * n, axis=1)[:, None] * n
    cosine = np.sum(v_t * p_t, axis=1)[slides] / (
        np.linalg.norm(v_t, axis=1)[slides] * tangential[slides]
    )
    closed = p_n > 0.0
    sticks = closed & ~slides
    momentum = np.sum(pairs.mass[:, :, None] * pairs.both(sim.state.velocity), axis=1)
    before = np.sum(pairs.mass[:, :, None] * (velocity + DT * np.array(GRAVITY)), axis=1)
    scale = float(np.abs(found).max())
    what = f"{count} pairs of spheres at random: "
    kinds = f"{np.sum(~closed)} stay open, {np.sum(sticks)} stick, {np.sum(slides)} slide"
    claims = [
        Claim(
            f"{what}impulse, largest deviation from the scheme (34) [largest impulse]",
            float(np.abs(found - expected).max()) / scale,
            paper=to_rounding(0.0, "(17), (18), (22)–(34)"),
            note=kinds,
        ),
        Claim(
            f"{what}largest |R_t| / (µ R_n)",
            float((tangential[closed] / (MU * p_n[closed])).max()),
            paper=Expected(1.0, ROUNDING, "rounding", "Coulomb's cone (29)", side="at most"),
        ),
        Claim(
            f"{what}largest slip of contacts inside the cone",
            float(np.linalg.norm(v_t[sticks], axis=1).max()),
            paper=to_rounding(0.0, "no slip (27)"),
        ),
        Claim(
            f"{what}cosine of friction and slip of sliding contacts, the largest",
            float(cosine.max()),
            paper=to_rounding(-1.0, "parallel, of opposite direction (31)"),
        ),
        Claim(
            f"{what}|R_t| / (µ R_n) of sliding contacts, the smallest",
            float((tangential / (MU * np.where(closed, p_n, 1.0)))[slides].min()),
            paper=to_rounding(1.0, "(32)"),
        ),
        Claim(
            f"{what}change of momentum beside gravity's, the largest",
            float(np.abs(momentum - before).max()),
            theory=to_rounding(0.0, "reaction forces (6)", scale),
        ),
    ]
    table = {"normal_impulse": p_n, "tangential_impulse": tangential, "slides": slides}
    return claims, table


def _of_steps(count: int) -> list[Claim]:
    """Head-on: the integration of motion (1, 2), and a collision in two steps."""
    pairs = SpherePairs.draw(count, (0.01, 0.03), seed=3)
    rng = np.random.default_rng(4)
    common = rng.normal(size=(count, 1, 3))
    closing = rng.uniform(1.0, 2.0, (count, 1)) * pairs.normal
    velocity = common + np.stack([0.5 * closing, -0.5 * closing], axis=1)
    sim = pairs.simulation(velocity, np.zeros_like(velocity))
    sim.step()
    x = pairs.both(sim.state.position)
    gap = np.linalg.norm(x[:, 1] - x[:, 0], axis=1) - pairs.radius.sum(axis=1)
    speed = np.sum(pairs.contact_velocity(pairs.both(sim.state.velocity), 0.0 * velocity)
                   * pairs.normal, axis=1)  # fmt: skip
    sim.step()
    relative = pairs.contact_velocity(pairs.both(sim.state.velocity), 0.0 * velocity)
    m = pairs.mass[:, :, None]
    joint = np.sum(m * velocity, axis=1) / np.sum(m, axis=1) + 2 * DT * np.array(GRAVITY)
    after = pairs.both(sim.state.velocity)
    what = f"{count} head-on collisions: "
    fall = Scene(
        dimension=3, gravity=list(GRAVITY), grains=[Grains(place=At(positions=((0, 0, 0),)))]
    )
    free = Simulation(fall, dt=DT, solver=ONE)
    steps = 7
    for _ in range(steps):
        free.step()
    g = np.array(GRAVITY)
    return [
        Claim(
            f"free fall over {steps} steps, largest deviation from g dt² n (n + 1)/2",
            float(np.abs(free.state.position[0] - g * DT**2 * steps * (steps + 1) / 2).max()),
            paper=to_rounding(0.0, "implicit Euler (1), (2)"),
        ),
        Claim(
            f"{what}gap after the first step, the largest",
            float(np.abs(gap).max()),
            # on places of the order of the row's length
            paper=to_rounding(0.0, "the gap closes (26)", APART * count),
        ),
        Claim(
            f"{what}normal velocity after the first step, largest deviation from −g/dt",
            float(np.abs(speed + pairs.gap / DT).max()),
            paper=to_rounding(0.0, "reduced, not set to zero (28)", APART * count),
        ),
        Claim(
            f"{what}relative velocity after the second step, the largest",
            float(np.abs(relative).max()),
            paper=to_rounding(0.0, "vanishes completely: no restitution", APART * count / DT),
        ),
        Claim(
            f"{what}velocity after the second step, largest deviation from the common one",
            float(np.abs(after - joint[:, None, :]).max()),
            theory=to_rounding(0.0, "momentum is conserved", APART * count / DT),
        ),
    ]


def _of_overlaps(count: int) -> list[Claim]:
    """Overlaps that are there: g⁺ (33) keeps them, g removes them and pays in energy."""
    pairs = SpherePairs.draw(count, (-0.02, -0.005), seed=5)
    still = np.zeros((count, 2, 3))
    claims = []
    for shock, words in (("g+", "not eliminated, only their growth is inhibited (33)"),
                         ("g", "immediately eliminated by the first version")):  # fmt: skip
        sim = pairs.simulation(still, still, shock=shock)
        sim.step()
        x, v = pairs.both(sim.state.position), pairs.both(sim.state.velocity)
        gap = np.linalg.norm(x[:, 1] - x[:, 0], axis=1) - pairs.radius.sum(axis=1)
        kept = pairs.gap if shock == "g+" else np.zeros(count)
        name = "max(g, 0)" if shock == "g+" else "g"
        claims.append(
            Claim(
                f"{count} overlaps at rest, one step with {name}: gap, largest deviation from"
                f" {'the old one' if shock == 'g+' else 'zero'}",
                float(np.abs(gap - kept).max()),
                paper=to_rounding(0.0, words, APART * count),
            )
        )
        speed = np.sum((v[:, 1] - v[:, 0]) * pairs.normal, axis=1)
        pumped = 0.5 * pairs.normal_mass * speed**2
        expected = 0.5 * pairs.normal_mass * (0.0 if shock == "g+" else pairs.gap / DT) ** 2
        claims.append(
            Claim(
                f"{count} overlaps at rest, one step with {name}: kinetic energy of the pairs,"
                f" largest deviation from {'zero' if shock == 'g+' else '½ m_n (g/dt)²'}",
                float(np.abs(pumped - expected).max()),
                paper=to_rounding(
                    0.0, "rid of the correcting impulses" if shock == "g+" else
                    "pumps kinetic energy into the system", APART * count,
                ),
            )
        )  # fmt: skip
    return claims


# ---------------------------------------------------------------------- coupled contacts
def _slide(w: Floats, u: Floats) -> Floats:
    """A sliding contact with a full matrix W (30–32), by the direction of its slip; shape (3,).

    Friction µ R_n e(θ); R_n from V_n = 0; what is left of the slip across e must vanish, and the
    slip along e must be against it.
    """

    def at(theta: float) -> tuple[Floats, Floats]:
        e = np.array([0.0, math.cos(theta), math.sin(theta)])
        direction = np.array([1.0, 0.0, 0.0]) + MU * e
        r = -u[0] / (w[0] @ direction) * direction
        return r, w @ r + u

    def across(theta: float) -> float:
        _, v = at(theta)
        return float(-math.sin(theta) * v[1] + math.cos(theta) * v[2])

    thetas = np.linspace(0.0, 2.0 * math.pi, 361)
    values = [across(t) for t in thetas]
    for a, b, low, high in zip(thetas, thetas[1:], values, values[1:]):
        if low * high < 0.0:
            theta = brentq(across, a, b, xtol=1e-14, rtol=1e-14)
            r, v = at(theta)
            if v[1] * math.cos(theta) + v[2] * math.sin(theta) < 0.0 and r[0] > 0.0:
                return r
    raise ValueError("no sliding solution")


def _of_coupled(count: int) -> list[Claim]:
    """Contacts whose normal and tangents are coupled, as those of bodies that are no spheres."""
    rng = np.random.default_rng(6)
    blocks: list[Floats] = []
    velocities: list[Floats] = []
    while len(blocks) < count:
        a = rng.normal(size=(3, 3))
        w = np.eye(3) + 0.15 * (a + a.T)
        u = rng.normal(size=3) * np.array([1.0, 3.0, 3.0])
        u[0] = -abs(u[0])
        stick = -np.linalg.solve(w, u)
        if np.linalg.eigvalsh(w)[0] > 0.2 and np.hypot(*stick[1:]) > MU * stick[0]:
            blocks.append(w)
            velocities.append(u)
    form = LocalForm(
        3, csr_array(block_diag(blocks, format="csr")), np.concatenate(velocities),
        np.full(count, MU),
    )  # fmt: skip
    found = ONE.solve(form, seed=0, step=0).r.reshape(count, 3)
    expected = np.array([_slide(w, u) for w, u in zip(blocks, velocities)])
    return [
        Claim(
            f"{count} sliding contacts with coupled normal and tangents: impulse, largest deviation"
            " from a search over the direction of slip [largest impulse]",
            float(np.abs(found - expected).max() / np.abs(expected).max()),
            paper=Expected(0.0, 1e-9, "accuracy of the search, in an angle", "(28)–(32)"),
        )
    ]


# ---------------------------------------------------------------------- walls
def effective_masses(scene: Scene, speed: float) -> Floats:
    """Masses 1/W of a scene's only contact, along normal and tangents; W must be diagonal."""
    sim = Simulation(scene, dt=DT)
    sim.state.velocity[0, 2] = -speed
    kept = Kept(sweeps=1)
    ContactDynamics(sim.model, kept, DT, 0).advance(sim.state.copy())
    form, _ = global_form(kept._problems[0])
    w = form.local().delassus.toarray()
    assert np.allclose(w, np.diag(np.diag(w)))
    masses: Floats = 1.0 / np.diag(w)
    return masses


def _of_walls() -> list[Claim]:
    radius, heavy = 0.5, 2.0
    ball = [Grains(diameter=2.0 * radius, place=At(positions=((0.0, 0.0, 0.0),)))]
    mass = 4.0 / 3.0 * math.pi * radius**3
    floor: dict[str, Any] = {"point": [0.0, 0.0, -radius], "normal": [0.0, 0.0, 1.0]}
    wall_mt = 1.0 / (1.0 / mass + 2.5 / mass)
    scenes: dict[str, tuple[Any, float, float]] = {
        "a plane": (Plane(**floor), mass, wall_mt),
        "the inside of a cylinder": (
            Cylinder(point=[0.0, 0.0, 2.5], axis=[0.0, 1.0, 0.0], radius=3.0), mass, wall_mt
        ),
        "a cylinder's outside": (
            Cylinder(point=[0.0, 0.0, -3.5], axis=[0.0, 1.0, 0.0], radius=3.0, side="outside"),
            mass, wall_mt,
        ),
        "a turning drum": (Drum(center=[0.0, 0.0, 2.5], radius=3.0, spin=0.2), mass, wall_mt),
    }  # fmt: skip
    claims = []
    for name, (wall, mn, mt) in scenes.items():
        found = effective_masses(Scene(dimension=3, grains=ball, walls=[wall]), 1.0)
        off = np.abs(found / np.array([mn, mt, mt]) - 1.0)
        claims.append(
            Claim(
                f"a sphere and {name}: m_n and m_t, largest relative deviation",
                float(off.max()),
                paper=to_rounding(0.0, "(17), (18) without the term l₁²/I₁"),
            )
        )
    piston = Plane(**floor, piston=Piston(mass=heavy, force=0.0))
    found = effective_masses(Scene(dimension=3, grains=ball, walls=[piston]), 1.0)
    m_n = 1.0 / (1.0 / mass + 1.0 / heavy)
    claims.append(
        Claim(
            f"a sphere and a piston of {heavy / mass:.3g} times its mass: m_n [mass of the sphere]",
            float(found[0]) / mass,
            paper=to_rounding(m_n / mass, "(17)"),
        )
    )
    claims.append(
        Claim(
            f"a sphere and a piston of {heavy / mass:.3g} times its mass: m_t [mass of the sphere]",
            float(found[1]) / mass,
            paper=to_rounding(1.0 / (mass / m_n + 2.5), "(18) without the term l₁²/I₁"),
            theory=to_rounding(wall_mt / mass, "a piston moves along its normal alone"),
            differs="(18) takes the wall as free to move sideways; a piston moves along its normal"
            " alone, so that across it the sphere's mass and inertia are all there is",
        )
    )
    return claims


# ---------------------------------------------------------------------- the experiment
def run(quick: bool) -> Outcome:
    """Judge all of it, which takes seconds, also in full."""
    claims, table = _of_pairs(200)
    claims += [*_of_steps(50), *_of_overlaps(50), *_of_coupled(60), *_of_walls()]
    return Outcome(claims, {"pairs": table}, {"cone": _figure(table)}, TEXT, range(1, 7))


def _figure(table: dict[str, Any]) -> Any:
    figure, axes = new_figure(width=5.0, height=4.0)
    slides = table["slides"]
    for mine, colour, label in ((~slides, COLOURS[1], "stick"), (slides, COLOURS[2], "slide")):
        axes.plot(table["normal_impulse"][mine], table["tangential_impulse"][mine], ".",
                  color=colour, label=label)  # fmt: skip
    most = float(table["normal_impulse"].max())
    axes.plot([0.0, most], [0.0, MU * most], color=GREY, lw=0.8, label="Coulomb's cone")
    axes.set(xlabel="normal impulse", ylabel="tangential impulse")
    axes.legend()
    return figure


TEXT = """\
The engine's contact law is the review's, to rounding: the masses of a contact, the three cases of
the shock law, the collision that takes two steps, overlaps that stay but do not grow. Where normal
and tangents are coupled, as for bodies that are no spheres, a search over the direction of slip
finds the same impulses. Only a piston differs from the letter of (18): it moves along its normal
alone."""

EXPERIMENT = Experiment("shock", "The shock law: one contact, and walls (1–34)", run)
