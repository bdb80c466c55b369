"""Walls that are meshes: input, the nearest point, files, pictures, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.contact.detect import refuse_overlaps
from hardgrain.contact.pairs import wall_geometry
from hardgrain.contact.points import NarrowPhase
from hardgrain.cpu.points import contact_points
from hardgrain.io.runfile import RunFile
from hardgrain.io.wall_surfaces import wall_surfaces
from hardgrain.measure.snapshot import snapshot
from hardgrain.scene.mesh_table import as_text, from_text
from hardgrain.show import plane


def scene(file: Path, positions: Any, diameter: float = 1.0, **wall: Any) -> hg.Scene:
    grains = hg.Grains(diameter=diameter, place=hg.At(positions=np.asarray(positions).tolist()))
    return hg.Scene(
        dimension=3, grains=[grains], walls=[hg.MeshWall(file=str(file), **wall)],
        allow_overlaps=True,
    )  # fmt: skip


def contacts(made: hg.Scene, limit: float) -> tuple[Any, ...]:
    """Contact points of all grains of a scene with its only wall."""
    model, state = made.build(0)
    n, walls = model.n, wall_geometry(model, state)
    first, second = np.arange(n, dtype=np.int32), np.full(n, n, np.int32)
    reach = np.append(np.full(n, limit), 0.0)
    bodies = NarrowPhase.of(model).bodies(state.position, state.orientation, model.periodic, walls)
    found = contact_points(first, second, bodies, reach)
    return (*found, state.position[n])


def closest(points: Any, triangles: Any) -> tuple[Any, Any]:
    """Nearest points of a mesh by trimesh, triangle by triangle, and their distances."""
    n, t = len(points), len(triangles)
    every = np.tile(triangles, (n, 1, 1)), np.repeat(points, t, axis=0)
    found = trimesh.triangles.closest_point(*every).reshape(n, t, 3)
    away = np.linalg.norm(found - points[:, None], axis=2)
    k = away.argmin(axis=1)
    return found[np.arange(n), k], away[np.arange(n), k]


MESHES = {
    "box": lambda: trimesh.creation.box((4.0, 3.0, 2.0)),
    "ball": lambda: trimesh.creation.icosphere(subdivisions=2, radius=2.0),
    "ring": lambda: trimesh.creation.torus(2.0, 0.8, major_sections=16, minor_sections=8),
    "cone": lambda: trimesh.creation.cone(1.5, 3.0, sections=9),
}


@pytest.mark.parametrize("name", MESHES)
def test_the_nearest_point_is_that_of_trimesh(name: str, tmp_path: Path) -> None:
    """For grains outside of a solid, of all contacts the one with the smallest gap.

    Convex solids have no other. Files hold seven digits, and so does the comparison, since trimesh
    reads the file too.
    """
    MESHES[name]().export(tmp_path / "mesh.stl")
    mesh = trimesh.load(tmp_path / "mesh.stl")
    points = np.random.default_rng(3).uniform(-3.5, 3.5, (400, 3))
    near, away = closest(points, mesh.triangles)
    index, _, normal, gap, arm, on_wall, pivot = contacts(
        scene(tmp_path / "mesh.stl", points), 20.0
    )
    solid = mesh.convex_hull
    behind = (points @ solid.face_normals.T <= np.einsum(
        "ka,ka->k", solid.face_normals, solid.triangles[:, 0])).all(axis=1)  # fmt: skip
    looked = 0
    for i in np.flatnonzero(~behind):
        mine = np.flatnonzero(index == i)
        k = mine[gap[mine].argmin()]
        assert gap[k] + 0.5 == pytest.approx(away[i], abs=1e-9)
        np.testing.assert_allclose(points[i] + arm[k] + gap[k] * normal[k], near[i], atol=1e-6)
        np.testing.assert_allclose(pivot + on_wall[k], near[i], atol=1e-6)
        assert name == "ring" or mine.size == 1
        looked += 1
    assert looked > 200


@pytest.mark.parametrize("name", ["ball", "cube"])
def test_a_corner_that_sticks_out_is_met_from_all_sides(name: str, tmp_path: Path) -> None:
    """Over the top of an irregular pyramid, along any normal between those of its faces.

    Its place has no short decimals, so that rounding errors are as anywhere.
    """
    rng = np.random.default_rng(8)
    angle = np.sort(rng.uniform(0.0, 0.9, 7)) + np.arange(7) * 2.0 * np.pi / 7.0
    top = rng.normal(size=3)
    foot = np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(-0.9, -0.7, 7)])
    k = np.arange(7)
    faces = np.stack([np.zeros(7, int), 1 + k, 1 + (k + 1) % 7], axis=1)
    mesh = trimesh.Trimesh(np.vstack([top, top + 3.0 * foot]), faces, process=False)
    mesh.export(tmp_path / "pyramid.ply")
    top = trimesh.load(tmp_path / "pyramid.ply", process=False).vertices[0]
    lean = 0.3 * rng.normal(size=(500, 2)).clip(-1.0, 1.0)
    out = np.column_stack([lean, np.ones(500)])
    out /= np.linalg.norm(out, axis=1)[:, None]
    apart = rng.uniform(1e-3, 0.1, 500)
    grain: dict[str, Any] = {"diameter": 1.0}
    place = hg.At(positions=(top + (0.5 + apart)[:, None] * out).tolist())
    if name == "cube":
        across = np.cross([0.0, 0.0, 1.0], out)
        sine = np.linalg.norm(across, axis=1)[:, None]
        turn = Rotation.from_rotvec(across / sine * np.arcsin(sine))
        twist = Rotation.from_rotvec(rng.uniform(0.0, 6.0, (500, 1)) * [0.0, 0.0, 1.0])
        turned = (turn * twist).as_rotvec().tolist()
        grain = {"shape": {"kind": "box", "sides": [1.0, 1.0, 1.0]}}
        place = place.changed(orientations=turned)
    made = scene(tmp_path / "pyramid.ply", [[0.0, 0.0, 0.0]]).changed(
        grains=[hg.Grains(place=place, **grain)]
    )
    index, _, normal, gap, _, _, _ = contacts(made, 0.2)
    order = np.lexsort((gap, index))  # a cube may come near the pyramid's faces besides
    index, first = np.unique(index[order], return_index=True)
    assert index.tolist() == list(range(500))
    np.testing.assert_allclose(gap[order][first], apart, atol=1e-12)
    np.testing.assert_allclose(normal[order][first], -out, atol=1e-9)


def test_the_word_of_a_mesh_gives_it_back_and_is_short() -> None:
    """Ten thousand triangles fit into a quarter of a megabyte."""
    mesh = trimesh.creation.icosphere(subdivisions=5)
    mesh.vertices += np.random.default_rng(0).normal(size=mesh.vertices.shape)
    word = as_text(mesh.vertices, mesh.faces)
    corner, triangle = from_text(word)
    assert np.array_equal(corner, mesh.vertices)
    assert np.array_equal(triangle, mesh.faces)
    assert len(word) < 25 * len(mesh.faces)


def test_a_run_needs_the_file_only_once(tmp_path: Path) -> None:
    """Written, looked at, drawn, and gone on with, when the mesh's file is no more."""
    file = tmp_path / "plate.stl"
    trimesh.creation.box((6.0, 6.0, 1.0)).export(file)
    made = scene(file, [[-1.0, 0.0, 1.2], [1.0, 0.3, 1.1]]).changed(gravity=[0.0, 0.0, -10.0])
    whole, half = tmp_path / "whole.h5", tmp_path / "half.h5"
    given = hg.Scenario(scene=made, dt=0.01, output={"every": 10})
    hg.Simulation(given).run(60, output=whole, progress=False)
    hg.Simulation(given).run(30, output=half, progress=False)
    file.unlink()
    hg.Simulation.resume(half, 60, progress=False)
    with RunFile(whole) as a, RunFile(half) as b:
        assert np.array_equal(a[-1].position, b[-1].position)
        assert np.array_equal(a.contacts(-1).impulse, b.contacts(-1).impulse)
    with RunFile(whole) as run:
        snap = snapshot(run, -1)
    assert snap.model.meshes.triangle.shape == (12, 3)
    assert len(snap.contacts) == 2
    surface = wall_surfaces(snap)
    assert len(surface.wall) == 12
    np.testing.assert_allclose(np.ptp(surface.points, axis=0), [6.0, 6.0, 1.0])
    drawn = plane.walls(snap, *plane.bounds(snap))
    assert len(drawn) == 12  # the edges of the box, and not those within its faces


def test_a_wall_that_turns_is_drawn_and_met_where_it_is(tmp_path: Path) -> None:
    """A plank turned by a right angle about its end: its corners are there, and a grain on it."""
    file = tmp_path / "plank.stl"
    trimesh.creation.box((4.0, 1.0, 1.0)).export(file)
    made = scene(
        file, [[-2.0, 3.2, 0.0]], move=[0.0, 0.0, 0.0], pivot=[-2.0, 0.0, 0.0],
        spin=[0.0, 0.0, float(0.5 * np.pi)],
    )  # fmt: skip
    sim = hg.Simulation(made, dt=0.01)
    for _ in range(100):
        sim.step()
    ends = wall_surfaces(snapshot(sim)).points
    np.testing.assert_allclose(ends.min(axis=0), [-2.5, 0.0, -0.5], atol=1e-6)
    np.testing.assert_allclose(ends.max(axis=0), [-1.5, 4.0, 0.5], atol=1e-6)
    # Swept aside; a wall that turns by 0.016 in a step goes by 4 × 0.016²/2 beside its tangent.
    assert sim.state.position[0, 0] == pytest.approx(-3.0, abs=0.01)


def test_grains_are_placed_beside_the_mesh_and_not_in_it(tmp_path: Path) -> None:
    """Inside of a ball, then around it, though the box around it holds them all."""
    file = tmp_path / "ball.stl"
    trimesh.creation.icosphere(subdivisions=3, radius=4.0).export(file)
    for side in ("inside", "outside"):
        for kind in ("deposit", "grid"):
            place = {"kind": kind, "min": [-5, -5, -5], "max": [5, 5, 5]}
            grains = hg.Grains(count=40, diameter=1.0, place=place)
            wall = hg.MeshWall(file=str(file), side=side)  # type: ignore[arg-type]
            model, state = hg.Scene(dimension=3, grains=[grains], walls=[wall]).build(1)
            refuse_overlaps(model, state)
            away = np.linalg.norm(state.position[:40], axis=1)
            assert (away < 3.5).all() if side == "inside" else (away > 4.4).all()


def sheet(path: Path) -> Path:
    trimesh.Trimesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0]], [[0, 1, 2], [1, 3, 2]]).export(
        path
    )
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"file": "none.stl"}, "'none.stl', which does not exist"),
        ({"file": "mesh.step"}, "a mesh is read from .stl, .obj, .ply files"),
        ({"scale": 0.0}, "scale"),
        ({"scale": 1e6}, r"a mesh 4e\+06 long, and grains have a diameter of 1; .* or give scale"),
        ({"scale": 1e-3}, "is a mesh 0.004 long"),
        ({"side": "outside"}, "side is 'outside', but the surface is not closed"),
        ({"surface": "AAAA"}, "surface is not the text of a mesh"),
        ({"piston": {"mass": 1.0, "force": 1.0}}, "piston"),
        ({"move": [0.0, 0.0]}, "move is .*2 component"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_mesh_is_said_in_a_sentence(
    change: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sheet(tmp_path / "sheet.ply")
    given = {"file": "sheet.ply"} | change
    with pytest.raises(hg.InputError, match=words):
        scene(positions=[[1.0, 1.0, 1.0]], **given).build(0)  # type: ignore[arg-type]


def test_meshes_that_are_no_walls_are_refused(tmp_path: Path) -> None:
    empty, thin = tmp_path / "empty.obj", tmp_path / "thin.ply"
    empty.write_text("v 0 0 0\n")
    with pytest.raises(hg.InputError, match=r"cannot be read as a mesh|holds no surface"):
        hg.MeshWall(file=str(empty))
    trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3]]).export(
        thin
    )
    with pytest.raises(hg.InputError, match=r"1 triangle\(s\) without an area, such as number 0"):
        scene(thin, [[1.0, 1.0, 1.0]]).build(0)
    flat = hg.Scene(
        grains=[hg.Grains(place=hg.At(positions=[[0.0, 3.0]]))],
        walls=[hg.MeshWall(file=str(sheet(tmp_path / "sheet.ply")))],
    )
    with pytest.raises(hg.InputError, match="meshes exist only in 3D"):
        flat.build(0)
    repeated = scene(tmp_path / "sheet.ply", [[1.0, 1.0, 1.0]]).changed(periodic={"x": (0, 5)})
    with pytest.raises(hg.InputError, match="needs 6 along x"):
        repeated.build(0)


def test_grains_within_a_solid_are_refused_at_the_start(tmp_path: Path) -> None:
    """Cut by its surface, or so deep inside that they do not touch it."""
    file = tmp_path / "box.stl"
    trimesh.creation.box((8.0, 8.0, 8.0)).export(file)
    for x, words in ((4.2, "is cut by wall 'mesh0' by 0.3"), (0.0, "lies inside of the closed")):
        made = scene(file, [[x, 0.0, 0.0]]).changed(allow_overlaps=False)
        with pytest.raises(hg.InputError, match=words):
            hg.Simulation(made, dt=0.01)
