"""Where a step takes its geometry, at its start or at its end: closed forms, and orders in dt.

Mostly a frictionless disk whose centre runs on a circle of radius ρ. Orders are exponents between
two steps dt and dt/2: log2 of the ratio of their errors.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.run.scenario import parse

Geometry = Literal["start", "end"]
RHO, TIME = 4.5, 8.0


def engine(geometry: Geometry) -> hg.RigidGrains:
    return hg.RigidGrains(geometry=geometry)


def in_drum(
    geometry: Geometry, dt: float, gravity: float = 0.0, speed: float = 1.0, angle: float = 0.0
) -> hg.Simulation:
    """A disk that slides in a hollow cylinder, ``angle`` from the lowest point."""
    scene = hg.Scene(
        gravity=[0, -gravity],
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[
            hg.Grains(
                place=hg.At(positions=[[RHO * math.sin(angle), -RHO * math.cos(angle)]]),
                velocity=[speed * math.cos(angle), speed * math.sin(angle)],
            )
        ],
        walls=[hg.Drum(center=[0, 0], radius=RHO + 0.5)],
        allow_overlaps=True,  # of rounding
    )
    return hg.Simulation(scene, dt=dt, engine=engine(geometry), solver=hg.GaussSeidel(sweeps=2))


def polar(sim: hg.Simulation) -> tuple[float, float, float]:
    """Distance of the disk's centre from that of the circle, its angle and its speed."""
    (x, y), v = sim.state.position[0], sim.state.velocity[0]
    return math.hypot(x, y), math.atan2(x, -y), math.hypot(*v)


# ---------------------------------------------------------------------- hollow: a drum
def test_start_goes_along_tangents() -> None:
    """v ← v cos θ, ρ² ← ρ² + (v dt)²: exactly, and nothing is taken back of the overlap."""
    dt = 0.08
    sim, speed, rho = in_drum("start", dt), 1.0, RHO
    theta = 0.0
    for _ in range(round(TIME / dt)):
        sim.step()
        speed *= math.cos(theta)
        theta = math.atan2(speed * dt, rho)
        rho = math.hypot(rho, speed * dt)
        # rounding of a hundred steps, of numbers of size 5
        assert polar(sim)[0] == pytest.approx(rho, abs=1e-13)
        assert polar(sim)[2] == pytest.approx(speed, abs=1e-13)


def test_end_goes_along_chords() -> None:
    """Onto the circle along the normal there: tan θ' = sin θ/(2 − cos θ), v = 2ρ sin(θ/2)/dt."""
    dt = 0.08
    sim, angle = in_drum("end", dt), 0.0
    theta = 0.0
    for k in range(round(TIME / dt)):
        assert sim.step().settled
        # the first step starts along the tangent, the others along the last chord
        theta = math.atan2(dt, RHO) if k == 0 else math.atan2(math.sin(theta), 2 - math.cos(theta))
        angle += theta
        rho, at, speed = polar(sim)
        # each step may be off by the tolerance, 10⁻⁹ radii; a hundred of them
        assert rho == pytest.approx(RHO, abs=5e-10)
        assert at == pytest.approx(angle, abs=5e-8)
        assert speed == pytest.approx(2 * RHO * math.sin(theta / 2) / dt, abs=5e-8)


def test_orders_in_a_drum() -> None:
    """Overlap v² t dt/2ρ at the start, none at the end; speed and angle of first order in both.

    Leading terms: the speed falls by v³ t dt/2ρ², twice that at the end of the step.
    """
    steps = np.array([0.08, 0.04, 0.02])
    for geometry, loss in (("start", 0.5), ("end", 1.0)):
        errors = []
        for dt in steps:
            sim = in_drum(geometry, dt)
            sim.run(until=round(TIME / dt), progress=False)
            rho, at, speed = polar(sim)
            errors.append((rho - RHO, TIME / RHO - at, 1.0 - speed))
        overlap, angle, slower = np.array(errors).T
        # v' = −(loss dt/ρ²) v³ has v = (1 + 2ε)^(−1/2) = 1 − ε + 3ε²/2 …, with ε the leading term:
        # exponents are below one by 3ε/(4 ln 2). As much comes from ρ, which grows meanwhile at the
        # start, and dt/t from the first step, which begins along the tangent.
        leading = loss * TIME * steps / RHO**2
        bound = 2 * TIME * steps[0] / RHO**2
        for error in (angle, slower):
            assert np.log2(error[:-1] / error[1:]) == pytest.approx(1.0, abs=bound)
        assert slower == pytest.approx(leading, rel=2 * bound)
        if geometry == "end":
            assert np.abs(overlap).max() < 5e-10
        else:
            assert overlap == pytest.approx(TIME * steps / (2 * RHO), rel=2 * bound)
            assert np.log2(overlap[:-1] / overlap[1:]) == pytest.approx(1.0, abs=bound)


def test_pendulum() -> None:
    """Released in a bowl: v² = 2gρ (cos φ − cos φ₀). Of first order in both, overlap in one."""
    start, g = 1.0, 1.0
    for geometry in ("start", "end"):
        errors = []
        for dt in (0.02, 0.01, 0.005):
            sim = in_drum(geometry, dt, gravity=g, speed=0.0, angle=start)
            sim.run(until=round(6.0 / dt), progress=False)
            rho, at, speed = polar(sim)
            energy = 0.5 * speed**2 + g * RHO * (math.cos(start) - math.cos(at))
            errors.append((rho - RHO, energy))
        overlap, energy = np.array(errors).T
        # θ = v dt/ρ is at most 0.01
        assert np.log2(energy[:-1] / energy[1:]) == pytest.approx(1.0, abs=0.05)
        if geometry == "start":
            assert np.log2(overlap[:-1] / overlap[1:]) == pytest.approx(1.0, abs=0.05)
            assert overlap[-1] > 1e-4
        else:
            assert np.abs(overlap).max() < 5e-10


# ---------------------------------------------------------------------- bulging: a fixed disk
def off_a_disk(geometry: Geometry, dt: float) -> tuple[float, float]:
    """A disk that slides down from another: largest gap on the way, cosine where it leaves."""
    tilt = 0.3
    top = [[4.0 * math.sin(tilt), 4.0 * math.cos(tilt)]]
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[
            hg.Grains(place=hg.At(positions=[[0, 0]]), diameter=7.0, lock=["x", "y", "rotation"]),
            hg.Grains(place=hg.At(positions=top), diameter=1.0),
        ],
        allow_overlaps=True,  # of rounding
    )
    sim = hg.Simulation(scene, dt=dt, engine=engine(geometry), solver=hg.GaussSeidel(sweeps=2))
    widest, last = 0.0, 0
    while sim.state.step - last < 5:
        gap = math.hypot(*sim.state.position[1]) - 4.0
        if sim.step().loaded:
            widest, last = max(widest, gap), sim.state.step
            leaves = sim.state.position[1, 1] / math.hypot(*sim.state.position[1])
    return widest, leaves


def test_orders_on_a_disk() -> None:
    """Leaves where cos φ = (2/3) cos φ₀, to first order; until then apart by (v dt)²/2ρ, or not."""
    exact = 2.0 / 3.0 * math.cos(0.3)
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    gaps, errors = {}, {}
    for geometry in ("start", "end"):
        gaps[geometry], leaves = np.array([off_a_disk(geometry, dt) for dt in steps]).T
        errors[geometry] = np.abs(leaves - exact)
        assert (errors[geometry] < 2.0 * steps).all()  # v sin φ/ρ < 0.4, a few steps
    # v² = ρ g cos φ where it leaves; it does so between two steps, and errors are of order dt
    assert gaps["start"] == pytest.approx(0.5 * exact * steps**2, rel=0.1)
    assert np.log2(gaps["start"][:-1] / gaps["start"][1:]) == pytest.approx(2.0, abs=0.1)
    assert gaps["end"].max() < 5e-9


# ---------------------------------------------------------------------- walls that turn
def test_a_paddle_throws_a_disk_outwards() -> None:
    """A wall that turns by ω, and a disk that slides out on it without friction: r'' = ω² r.

    It starts with r' = u along the wall, fast enough that it is pressed on (2 r' > ω times the
    radius): r = r₀ cosh ωt + (u/ω) sinh ωt.
    """
    spin, r0, u, t = 0.5, 2.0, 1.0, 2.0
    exact = r0 * math.cosh(spin * t) + u / spin * math.sinh(spin * t)
    found: dict[str, Any] = {"start": [], "end": []}
    for geometry, errors in found.items():
        for dt in (0.04, 0.02, 0.01):
            scene = hg.Scene(
                contacts=[hg.ContactLaw(friction=0.0)],
                grains=[
                    hg.Grains(
                        place=hg.At(positions=[[r0, 0.5]]), velocity=[u - 0.5 * spin, spin * r0]
                    )
                ],
                walls=[hg.Segment(start=[0, 0], end=[20, 0], pivot=[0, 0], spin=spin)],
                allow_overlaps=True,  # of rounding
            )
            sim = hg.Simulation(
                scene, dt=dt, engine=engine(geometry), solver=hg.GaussSeidel(sweeps=2)
            )
            sim.run(until=round(t / dt), progress=False)
            c, s = math.cos(spin * t), math.sin(spin * t)
            x, y = sim.state.position[0]
            errors.append((-s * x + c * y - 0.5, c * x + s * y))
    gap, _ = np.array(found["end"]).T
    assert np.abs(gap).max() < 5e-10
    # first order; the next terms are relative ω dt, at most 0.02, times small numbers
    for geometry in ("start", "end"):
        gap, r = np.array(found[geometry]).T
        error = np.abs(r - exact)
        assert np.log2(error[:-1] / error[1:]) == pytest.approx(1.0, abs=0.1)
    gap, _ = np.array(found["start"]).T
    assert (np.abs(gap) > 1e-5).all()


# ---------------------------------------------------------------------- overlaps that are there
@pytest.mark.parametrize("shock", ["g+", "g"])
def test_overlaps_stay_unless_they_are_to_be_removed(shock: Any) -> None:
    scene = hg.Scene(
        shock=shock,
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[hg.Grains(place=hg.At(positions=[[0, -RHO - 0.01]]), velocity=[1, 0])],
        walls=[hg.Drum(center=[0, 0], radius=RHO + 0.5)],
        allow_overlaps=True,
    )
    sim = hg.Simulation(scene, dt=0.05, engine=engine("end"), solver=hg.GaussSeidel(sweeps=2))
    for _ in range(20):
        sim.step()
        if shock == "g+":
            assert polar(sim)[0] == pytest.approx(RHO + 0.01, abs=5e-9)
    if shock == "g":
        assert polar(sim)[0] < RHO + 5e-9


# ---------------------------------------------------------------------- many grains
def crowd(geometry: Geometry, dim: int = 2) -> hg.Simulation:
    scene = hg.Scene(
        dimension=2 if dim == 2 else 3,
        gravity=[*[0] * (dim - 1), -1],
        periodic={} if dim == 2 else {"y": (0, 3)},
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=20,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Loose(min=[-3.0, *[0] * (dim - 2), -3.0], max=[3.0, *[3] * (dim - 2), 3]),
            )
        ],
        walls=[hg.Drum(center=[0] * dim, radius=5.0, spin=1.0)],
    )
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-8, sweeps=100_000)
    return hg.Simulation(scene, dt=0.02, engine=engine(geometry), solver=solver, seed=1)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_drum_of_grains(dim: int) -> None:
    """Every law holds and every step is settled; overlaps stay what the solver leaves.

    A residual of 10⁻⁸ and a geometry of 10⁻⁹ radii leave less than 10⁻⁸ a step, and a contact
    keeps its overlap for 300 steps at most; turning normals make several hundredths.
    """
    start, end = crowd("start", dim), crowd("end", dim)
    kept = start.run(until=300, progress=False)
    done = end.run(until=300, progress=False)
    assert done.unsettled == 0
    assert done.capped == 0
    assert done.worst_overlap < 3e-6
    assert kept.worst_overlap > 1e-3
    # the ledger is an identity, whichever normals the impulses have
    scale = done.work_external + abs(done.work_driven) + done.dissipated
    assert abs(done.balance_error) < 1e-10 * scale


def test_a_step_that_does_not_settle_is_told() -> None:
    sim = crowd("start")
    settings = hg.RigidGrains(geometry="end", iterations=1, tolerance=1e-12)
    told = hg.Simulation(sim.scenario.scene, dt=0.02, engine=settings, solver=sim.scenario.solver)
    summary = told.run(until=200, progress=False)
    assert summary.unsettled > 0
    assert f"{summary.unsettled} steps did not find the geometry at their end" in str(summary)
    strict = sim.scenario.solver.model_copy(update={"on_cap": "error"})
    told = hg.Simulation(sim.scenario.scene, dt=0.02, engine=settings, solver=strict)
    with pytest.raises(hg.RunError, match="without the geometry at its end, after 1 iterations"):
        told.run(until=200, progress=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"geometry": "middle"}, "engine.geometry is 'middle'"),
        ({"geometry": "end", "iterations": 0}, "engine.iterations is 0"),
        ({"tolerance": 1e-6}, "tolerance goes with geometry = 'end'"),
    ],
)
def test_settings_are_checked(given: dict[str, Any], sentence: str) -> None:
    data = {
        "dt": 0.01,
        "engine": {"kind": "contact-dynamics", **given},
        "scene": {"grains": [{"place": {"kind": "at", "positions": [[0, 0]]}}]},
        "stop": {"steps": 1},
    }
    with pytest.raises(hg.InputError, match=sentence):
        parse(data)
