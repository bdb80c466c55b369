"""Spheres on rectangles, triangles and disks: as on a plane, over seams, and through holes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg

from .helpers import EXACT, floor, grains, start, steps

FLOORS = {
    "rectangle": [hg.Rectangle(corner=[-9, -9, 0], sides=([18, 0, 0], [0, 18, 0]))],
    "triangle": [hg.Triangle(corners=[[-9, -9, 0], [30, -9, 0], [-9, 30, 0]])],
    "disk": [hg.Disk(center=[0, 0, 0], normal=[0, 0, -1], radius=9)],
}


@pytest.mark.parametrize("kind", FLOORS)
def test_a_sphere_slides_and_rolls_as_on_a_plane(kind: str) -> None:
    def run(walls: list[hg.Plane]) -> hg.Simulation:
        ball = grains([0.0, 0.0, 0.5], velocity=[1.0, 0.5, 0.0])
        sim = start(3, ball, walls=walls, gravity=[0, 0, -1], law={"friction": 0.2})
        steps(sim, 200)
        return sim

    on_plane, on_flat = run([floor(3)]), run(FLOORS[kind])
    for name in ("position", "velocity", "spin"):
        a, b = (getattr(sim.state, name)[0] for sim in (on_plane, on_flat))
        np.testing.assert_allclose(b, a, atol=1e-12)


@pytest.mark.parametrize("geometry", ["start", "end"])
@pytest.mark.parametrize("parts", ["rectangles", "triangles"])
def test_a_sphere_rolls_over_a_seam(parts: str, geometry: str) -> None:
    """Two coplanar walls are a floor: a rolling sphere goes on, and does not jump.

    Before the seam the far wall's nearest point is its edge, δ ahead at the height of the floor.
    With the normals of the start of a step, the edge is met where v dt δ/r exceeds its distance
    δ²/2r, so for δ < 2 v dt, in at most three steps. It pushes upwards by at most v² dt/2r, and
    bears the weight, g dt, both along a normal that leans back by δ/r. At the end of the step the
    sphere touches the face: no such push.
    """
    if parts == "rectangles":
        walls = [
            hg.Rectangle(corner=[-2, -2, 0], sides=([2, 0, 0], [0, 4, 0])),
            hg.Rectangle(corner=[0, -2, 0], sides=([2, 0, 0], [0, 4, 0])),
        ]
    else:
        walls = [
            hg.Triangle(corners=[[-2, -2, 0], [0, -2, 0], [0, 4, 0]]),
            hg.Triangle(corners=[[0, -2, 0], [2, -2, 0], [0, 4, 0]]),
        ]
    v, r, g, dt = 1.0, 0.5, 1.0, 0.01
    ball = grains([-0.507, 0.0, r], velocity=[v, 0.0, 0.0], spin=[0.0, v / r, 0.0])
    scene = hg.Scene(
        dimension=3, gravity=[0, 0, -g], grains=[ball], walls=walls,
        contacts=[hg.ContactLaw(friction=0.5)],
    )  # fmt: skip
    engine = hg.RigidGrains(geometry=geometry)
    sim = hg.Simulation(scene, dt=dt, solver=EXACT, engine=engine)
    highest = 0.0
    for _ in range(100):
        sim.step()
        highest = max(highest, sim.state.position[0, 2] - r)
    lost = v - sim.state.velocity[0, 0]  # nothing ever speeds it up
    jump = v**2 * dt / (2 * r)
    bound, high = 1e-9, 1e-9
    if geometry == "start":
        bound, high = 3 * (jump + g * dt) * 2 * v * dt / r, 3 * jump * dt
    assert -1e-12 <= lost <= bound
    assert highest <= high
    assert sim.state.position[0, 0] == pytest.approx(0.493, abs=100 * dt * bound + 1e-9)
    assert abs(sim.state.position[0, 1]) <= 1e-9


def test_a_sphere_leans_on_an_edge() -> None:
    """Rests on the rim of a hole and on another sphere's push: forces along the line to the rim."""
    plate = hg.Rectangle(corner=[-3, -3, 0], sides=([6, 0, 0], [0, 6, 0]), hole=1.0)
    x, z = 0.7, math.sqrt(0.25 - 0.09)
    walls = [plate, hg.Plane(name="stop", point=[x - 0.5, 0, 0], normal=[1, 0, 0])]
    sim = start(3, grains([x, 0.0, z]), walls=walls, gravity=[0, 0, -1])
    steps(sim, 50)
    weight = math.pi / 6
    np.testing.assert_allclose(sim.engine.wall_force[0], [weight * 0.3 / z, 0, -weight], atol=1e-9)
    np.testing.assert_allclose(sim.state.position[0], [x, 0.0, z], atol=1e-9)


@pytest.mark.parametrize("shape", ["rectangle", "disk"])
def test_spheres_flow_through_a_hole_and_nowhere_else(shape: str) -> None:
    hole = 1.3
    if shape == "rectangle":
        plate = hg.Rectangle(corner=[-2, -2, 0], sides=([4, 0, 0], [0, 4, 0]), hole=hole)
        walls = [plate, hg.Box(min=[-2, -2, 0], max=[2, 2, 9], open=["top", "bottom"])]
        place = hg.Grid(min=[-2, -2, 0], max=[2, 2, 9])
    else:
        plate = hg.Disk(center=[0, 0, 0], normal=[0, 0, 1], radius=2.0, hole=hole)
        walls = [plate, hg.Cylinder(name="tube", point=[0, 0, 0], radius=2.0)]
        place = hg.Deposit(min=[-2, -2, 0], max=[2, 2, 9])  # only what the tube holds is used
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[hg.Grains(count=40, diameter=0.8, place=place)],
        walls=walls,
    )
    sim = hg.Simulation(scene, dt=0.02, solver=hg.GaussSeidel(sweeps=200))
    before = sim.state.position[:40].copy()
    for _ in range(400):
        sim.step()
        x = sim.state.position[:40]
        through = (before[:, 2] > 0.0) & (x[:, 2] <= 0.0)
        # a centre at the height of the plate lies in the hole, a radius away from its rim
        rho = np.hypot(x[through, 0], x[through, 1])
        assert (rho < hole - 0.4 + 0.02).all()
        before = x.copy()
    out = np.count_nonzero(before[:, 2] < -0.4)
    assert 0 < out < 40  # some flow out, and some lie on the plate


def test_a_tilting_tray_carries_its_load_along() -> None:
    """A disk-shaped tray that turns about x: the sphere at rest on it starts to roll down."""
    tray = hg.Disk(center=[0, 0, 0], normal=[0, 0, 1], radius=3.0, spin=["0.1*step(1 - t)", 0, 0])
    sim = start(3, grains([0.0, 0.0, 0.5]), walls=[tray], gravity=[0, 0, -1], law={"friction": 0.5})
    steps(sim, 200)
    normal = [0.0, -math.sin(0.1), math.cos(0.1)]
    # it touches the tilted face, up to g dt of one step
    assert sim.state.position[0] @ normal == pytest.approx(0.5, abs=1e-3)
    down = -5.0 / 7.0 * math.sin(0.1) * math.cos(0.1)  # acceleration of a rolling sphere along y
    v = sim.state.velocity[0, 1]
    steps(sim, 50)
    assert (sim.state.velocity[0, 1] - v) / 0.5 == pytest.approx(down, rel=1e-3)
