"""Walls that are meshes: what touches them moves as on the surface that the triangles make."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

import hardgrain as hg

# Places and velocities of order one, over a thousand steps whose rounding errors add up at most.
ROUNDED = 1e-11

BOX = {"kind": "box", "sides": [1.0, 1.2, 0.8]}
GRAINS = {
    "ball": ({"diameter": 1.0}, 0.5),
    "box": ({"shape": BOX}, 0.4),
    "rounded box": ({"shape": BOX | {"rounding": 0.3}}, 0.4),
    "capsule": ({"shape": "capsule", "diameter": 1.0}, 0.25),
    "icosahedron that falls": ({"shape": "icosahedron", "diameter": 1.0}, 0.6),
}


def sheet(file: Path, seed: int, points: int = 150, half: float = 6.0) -> str:
    """A square in the plane z = 0, cut into triangles at random."""
    rng = np.random.default_rng(seed)
    ends = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    x = np.vstack([rng.uniform(-half, half, (points, 2)), ends])
    mesh = trimesh.Trimesh(np.column_stack([x, 0.0 * x[:, 0]]), Delaunay(x).simplices)
    mesh.export(file)
    return str(file)


def moved(wall: Any, grain: dict[str, Any], steps: int = 600, **more: Any) -> np.ndarray:
    """Places, velocities and spins of one grain, in a row for each step."""
    law = hg.ContactLaw(friction=more.pop("friction", 0.0))
    gravity = more.pop("gravity", [0.0, 0.0, -10.0])
    scene = hg.Scene(
        dimension=3, gravity=gravity, contacts=[law], grains=[hg.Grains(**grain)], walls=[wall]
    )
    sim = hg.Simulation(scene, dt=more.pop("dt", 0.008), **more)
    rows = []
    for _ in range(steps):
        sim.step()
        s = sim.state
        rows.append(np.concatenate([s.position[0], s.velocity[0], s.spin[0]]))
    return np.array(rows)


@pytest.mark.parametrize("friction", [0.0, 0.2])
@pytest.mark.parametrize("name", GRAINS)
def test_triangles_of_a_plane_are_a_plane(name: str, friction: float, tmp_path: Path) -> None:
    """No kick at any of the hundred inner edges and corners that a grain passes."""
    shape, height = GRAINS[name]
    place = hg.At(positions=[[-2.5, -2.0, height]])
    grain = {**shape, "place": place, "velocity": [1.0, 0.73, 0.0], "spin": [0.0, 0.0, 0.3]}
    mesh = hg.MeshWall(file=sheet(tmp_path / "sheet.ply", 1))
    plane = hg.Plane(point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0])
    on_mesh, on_plane = (moved(w, grain, friction=friction) for w in (mesh, plane))
    assert np.linalg.norm(on_plane[-1, :3] - on_plane[0, :3]) > (2.0 if friction == 0.0 else 0.2)
    np.testing.assert_allclose(on_mesh, on_plane, rtol=0.0, atol=ROUNDED)


@pytest.mark.parametrize("name", ["ball", "box"])
def test_a_plane_that_is_turned_any_way(name: str, tmp_path: Path) -> None:
    """Turned by ``turn``, the sheet leans; the grain slides down along straight lines."""
    turn = Rotation.from_rotvec([0.3, -0.4, 0.8])
    shape, height = GRAINS[name]
    at = turn.apply([-1.0, 1.0, height]) + np.array([0.3, 0.2, 0.1])
    own: dict[str, Any] = {**shape, "place": hg.At(positions=[at.tolist()])}
    own |= {"orientation": turn.as_rotvec().tolist()} if "shape" in shape else {}
    own["velocity"] = turn.apply([0.5, 0.2, 0.0]).tolist()
    file = sheet(tmp_path / "sheet.ply", 2)
    mesh = hg.MeshWall(file=file, turn=turn.as_rotvec().tolist(), move=[0.3, 0.2, 0.1])
    plane = hg.Plane(point=[0.3, 0.2, 0.1], normal=turn.apply([0.0, 0.0, 1.0]).tolist())
    on_mesh, on_plane = (moved(w, own, 150, friction=0.1) for w in (mesh, plane))
    np.testing.assert_allclose(on_mesh, on_plane, rtol=0.0, atol=ROUNDED)


def test_edges_that_end_within_others_are_not_felt(tmp_path: Path) -> None:
    """Strips of a plane whose triangles share no corner with those of the next strip."""
    corners, triangles = [], []
    for k in range(12):
        cuts = np.sort(np.random.default_rng(k).uniform(-4.0, 4.0, 5 + k % 3))
        cuts = np.concatenate([[-5.0], cuts, [5.0]])
        low, high = -3.0 + 0.5 * k, -2.5 + 0.5 * k
        for a, b in pairwise(cuts.tolist()):
            n = len(corners)
            corners += [[a, low, 0.0], [b, low, 0.0], [b, high, 0.0], [a, high, 0.0]]
            triangles += [[n, n + 1, n + 2], [n, n + 2, n + 3]]
    trimesh.Trimesh(corners, triangles, process=False).export(tmp_path / "strips.ply")
    place = hg.At(positions=[[-2.0, -2.0, 0.5]])
    grain = {"diameter": 1.0, "place": place, "velocity": [0.6, 0.9, 0.0]}
    mesh = hg.MeshWall(file=str(tmp_path / "strips.ply"))
    plane = hg.Plane(point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0])
    on_mesh, on_plane = (moved(w, grain, 500, friction=0.2) for w in (mesh, plane))
    np.testing.assert_allclose(on_mesh, on_plane, rtol=0.0, atol=ROUNDED)


def trough(file: Path, facets: int, radius: float = 3.0) -> str:
    """The lower half of a tube along y, of flat strips, around it, cut into triangles."""
    angle = np.linspace(-math.pi, 0.0, facets + 1)
    radius /= math.cos(0.5 * (angle[1] - angle[0]))  # its faces touch the tube
    ring = radius * np.column_stack([np.cos(angle), 0.0 * angle, np.sin(angle)])
    along = np.array([0.0, 3.0, 0.0])
    corners = np.vstack([ring - along, ring + along])
    k, n = np.arange(facets), facets + 1
    triangles = np.vstack(
        [np.stack([k, k + 1, n + k + 1], axis=1), np.stack([k, n + k + 1, n + k], axis=1)]
    )
    trimesh.Trimesh(corners, triangles).export(file)
    return str(file)


def test_a_trough_of_many_strips_becomes_a_tube(tmp_path: Path) -> None:
    """A ball slides down a tube; each hollow bend costs a share of its velocity.

    In a bend by the angle δ the velocity becomes cos δ of it, and there are 1/δ bends. So the way
    differs by an amount of order δ; from a hundred facets to four hundred it falls to a quarter.
    """
    grain = {"diameter": 1.0, "place": hg.At(positions=[[2.4, 0.0, 0.0]])}
    tube = hg.Cylinder(point=[0.0, 0.0, 0.0], axis=[0.0, 1.0, 0.0], radius=3.0)
    exact = moved(tube, grain, 500, dt=0.002)
    off = []
    for facets in (100, 400):
        wall = hg.MeshWall(file=trough(tmp_path / "trough.ply", facets))
        found = moved(wall, grain, 500, dt=0.002)
        assert np.abs(found[:, 1]).max() < 1e-12  # nothing pushes it along the tube
        off.append(np.abs(found[:, :3] - exact[:, :3]).max())
    assert exact[-1, 0] < 0.3  # down to the bottom
    assert off[1] < 0.5 * off[0]
    assert off[1] < 0.02


@pytest.mark.parametrize("name", ["ball", "box"])
def test_a_slightly_bent_sheet_is_followed(name: str, tmp_path: Path) -> None:
    """Over a hill of radius 200, whose facets bend by some 1e-3, nothing jumps.

    Without friction a grain that stays on the hill has v²/2 + g z for ever, but for what the bends
    cost: less than the square of a bend each time, 1e-6 of the energy.
    """
    rng = np.random.default_rng(5)
    x = np.vstack(
        [rng.uniform(-6, 6, (400, 2)), 6.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])]
    )
    z = -(x**2).sum(axis=1) / 400.0
    trimesh.Trimesh(np.column_stack([x, z]), Delaunay(x).simplices).export(tmp_path / "hill.ply")
    shape, height = GRAINS[name]
    place = hg.At(positions=[[-2.0, -1.0, height + 0.001]])
    grain = {**shape, "place": place, "velocity": [0.8, 0.5, 0.0]}
    rows = moved(hg.MeshWall(file=str(tmp_path / "hill.ply")), grain, 600, dt=0.008)[20:]
    energy = 0.5 * (rows[:, 3:6] ** 2).sum(axis=1) + 10.0 * rows[:, 2]
    if name == "ball":
        assert np.abs(energy - energy[0]).max() < 0.01
    jump = np.abs(np.diff(rows[:, 3:5], axis=0)).max()
    assert jump < 0.01  # a kick at an edge would turn a velocity of one by what it likes
    assert np.abs(rows[:, 2] - height + (rows[:, :2] ** 2).sum(axis=1) / 400.0).max() < 0.02


def test_a_ball_at_rest_in_a_corner_has_three_contacts(tmp_path: Path) -> None:
    """Three planes at right angles, which all lean alike: each bears m g/√3.

    The file holds seven digits.
    """
    corners = 3.0 * np.vstack([np.zeros(3), np.eye(3)])
    lean = Rotation.align_vectors([[0.0, 0.0, 1.0]], [np.ones(3) / math.sqrt(3.0)])[0]
    triangles = [[0, 1, 2], [0, 2, 3], [0, 3, 1]]
    trimesh.Trimesh(lean.apply(corners), triangles).export(tmp_path / "corner.ply")
    grain = hg.Grains(diameter=1.0, place=hg.At(positions=[[0.0, 0.0, 0.5 * math.sqrt(3.0)]]))
    scene = hg.Scene(
        dimension=3, gravity=[0.0, 0.0, -10.0], grains=[grain],
        contacts=[hg.ContactLaw(friction=0.0)],
        walls=[hg.MeshWall(file=str(tmp_path / "corner.ply"))],
    )  # fmt: skip
    sim = hg.Simulation(scene, dt=0.01, solver=hg.RigidSolver(tolerance=1e-12))
    for _ in range(20):
        sim.step()
    weight = 10.0 * math.pi / 6.0
    force = sim.state.contacts.normal_impulse() / sim.dt
    np.testing.assert_allclose(force, weight / math.sqrt(3.0), rtol=1e-6)
    assert force.size == 3
    np.testing.assert_allclose(sim.state.velocity[0], 0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["ball", "box"])
def test_a_plate_that_rises_lifts_a_grain(name: str, tmp_path: Path) -> None:
    """The plate is a closed box of triangles; a grain stays on its top and moves with it.

    It goes to the side too: a box goes with it, and a ball that rolls has 2/7 of its velocity.
    """
    trimesh.creation.box((4.0, 4.0, 1.0)).export(tmp_path / "plate.stl")
    shape, height = GRAINS[name]
    grain = {**shape, "place": hg.At(positions=[[0.3, 0.2, 0.5 + height]])}
    wall = hg.MeshWall(file=str(tmp_path / "plate.stl"), velocity=[0.1, 0.0, 0.5])
    rows = moved(wall, grain, 200, dt=0.01, friction=0.5)
    np.testing.assert_allclose(rows[-1, 2], 0.5 + height + 0.5 * 2.0, atol=1e-9)
    aside = 0.1 if name != "ball" else 0.1 * 2.0 / 7.0
    np.testing.assert_allclose(rows[-1, [3, 5]], [aside, 0.5], atol=1e-9)


def test_a_drum_of_triangles_turns_as_a_drum_does(tmp_path: Path) -> None:
    """A closed cylinder, its inside free, takes a ball along, which then swings as it rolls.

    The facets, bent by 2π/256, lie up to R (π/256)²/2 = 1.5e-4 within the round drum and shake the
    ball by a share of its velocity like the bend; the way of a ball that swings by 0.25 differs by
    less than a tenth of that.
    """
    drum = trimesh.creation.cylinder(radius=2.0, height=3.0, sections=256)
    drum.apply_transform(trimesh.transformations.rotation_matrix(0.5 * math.pi, [1, 0, 0]))
    drum.export(tmp_path / "drum.stl")
    spin = [0.0, 1.0, 0.0]
    wall = hg.MeshWall(file=str(tmp_path / "drum.stl"), side="inside", spin=spin)
    tube = hg.Cylinder(point=[0.0, 0.0, 0.0], axis=[0.0, 1.0, 0.0], radius=2.0, spin=spin)
    grain = {"diameter": 1.0, "place": hg.At(positions=[[0.0, 0.0, -1.4]])}
    rows, exact = (moved(w, grain, 700, dt=0.005, friction=0.5) for w in (wall, tube))
    assert exact[:, 0].min() < -0.25
    np.testing.assert_allclose(rows[:, :3], exact[:, :3], atol=0.03)
    assert exact[200:, 7].min() > 2.0
    np.testing.assert_allclose(rows[:, 7], exact[:, 7], atol=0.3)


def test_a_ball_meets_the_rim_and_the_corner_of_a_solid(tmp_path: Path) -> None:
    """Thrown at an edge, or a corner, of a box along the bisector it comes back the same way."""
    trimesh.creation.box((2.0, 2.0, 2.0)).export(tmp_path / "box.stl")
    wall = hg.MeshWall(file=str(tmp_path / "box.stl"))
    for out in ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0]):
        along = np.array(out) / np.linalg.norm(out)
        at = np.array(out) + 0.6 * along
        law = hg.ContactLaw(friction=0.3, restitution=1.0)
        grain = hg.Grains(
            diameter=1.0, place=hg.At(positions=[at.tolist()]), velocity=(-along).tolist()
        )
        scene = hg.Scene(dimension=3, contacts=[law], grains=[grain], walls=[wall])
        sim = hg.Simulation(scene, dt=0.01)
        for _ in range(40):
            sim.step()
        np.testing.assert_allclose(sim.state.velocity[0], along, atol=1e-12)


def test_grains_in_a_hopper_do_not_depend_on_their_order(tmp_path: Path) -> None:
    """Balls and cubes fall into an open cone; held in another order, they have the same bits.

    So it is until many touch at once, where sweeps end within their tolerance, in another order.
    """
    ring = np.linspace(0.0, 2.0 * math.pi, 24, endpoint=False)
    around = np.column_stack([np.cos(ring), np.sin(ring)])
    corners = np.vstack([np.c_[0.3 * around, np.zeros(24)], np.c_[4.0 * around, np.full(24, 4.0)]])
    k, l = np.arange(24), (np.arange(24) + 1) % 24
    faces = np.vstack([np.stack([k, l, 24 + l], axis=1), np.stack([k, 24 + l, 24 + k], axis=1)])
    trimesh.Trimesh(corners, faces).export(tmp_path / "cone.ply")
    place = {"kind": "deposit", "min": [-1.6, -1.6, 2.4], "max": [1.6, 1.6, 5.0]}
    grains = [hg.Grains(count=12, diameter=0.7, place=place)]
    grains.append(hg.Grains(count=8, shape="cube", diameter=0.8, orientation="random", place=place))
    wall = hg.MeshWall(file=str(tmp_path / "cone.ply"), name="hopper")
    scene = hg.Scene(dimension=3, gravity=[0.0, 0.0, -10.0], grains=grains, walls=[wall])
    ends = []
    for order in (None, np.random.default_rng(1).permutation(20).tolist()):
        sim = hg.Simulation(scene, dt=0.004)
        if order is not None:
            sim.sort(order)
        for _ in range(130):
            sim.step()
        ends.append(sim.state.position[:20][np.argsort(sim.model.id)])
        touching = sim.state.contacts.second >= 20
        assert np.count_nonzero(sim.state.contacts.impulse[touching].any(axis=1)) > 1
    assert np.array_equal(ends[1], ends[0])
    away = np.linalg.norm(ends[0][:, :2], axis=1)
    assert (away < np.maximum(ends[0][:, 2], 0.3)).all()  # none has passed the wall
