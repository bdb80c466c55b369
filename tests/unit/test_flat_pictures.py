"""Flat walls of 3D as pictures, exports and the viewer see them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.geometry import make_wall_gap
from hardgrain.core.wall_kinds import PLANE
from hardgrain.io.wall_surfaces import wall_surfaces
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.scene.wall_shape import EDGES, WallShape
from hardgrain.show import plane
from hardgrain.show.view import shapes

FLATS = {
    "rectangle": hg.Rectangle(corner=[-2, -1, 0], sides=([4, 0, 0], [0, 2, 0])),
    "plate": hg.Rectangle(corner=[-2, -1, 0], sides=([4, 0, 0], [0, 2, 0]), hole=0.7),
    "triangle": hg.Triangle(corners=[[0, 0, 0], [3, 0, 1], [0, 2, 1]]),
    "disk": hg.Disk(center=[0, 0, 0], normal=[0, 0, 1], radius=2),
    "ring": hg.Disk(center=[0, 0, 0], normal=[0, 0, 1], radius=2, hole=0.7),
}
CIRCLE = EDGES / 2 * math.sin(2 * math.pi / EDGES)  # area of a polygon in a circle of radius 1
AREAS = {"rectangle": 8.0, "triangle": math.sqrt(4 + 9 + 36) / 2, "disk": 4 * CIRCLE}
AREAS["ring"] = (4 - 0.49) * CIRCLE
wall_gap = make_wall_gap(lambda f: f)


def seen(kind: str) -> Snapshot:
    grain = hg.Grains(place=hg.At(positions=[[0, 0, 5]]))
    scene = hg.Scene(dimension=3, grains=[grain], walls=[FLATS[kind]])
    return snapshot(hg.Simulation(scene, dt=0.01))


def on_the_wall(snap: Snapshot, points: np.ndarray) -> bool:
    gaps = [wall_gap(points, i, 0.0, np.zeros(3), snap.walls, 0)[0] for i in range(len(points))]
    return bool(np.max(np.abs(gaps)) < 1e-12)


@pytest.mark.parametrize("kind", FLATS)
def test_an_export_holds_the_wall_itself(kind: str) -> None:
    snap = seen(kind)
    found = wall_surfaces(snap)
    assert on_the_wall(snap, found.points)
    area = 0.0
    for begin, end in zip(found.offsets, found.offsets[1:]):
        corner = found.points[found.connectivity[begin:end]]
        fan = np.cross(corner[1:-1] - corner[0], corner[2:] - corner[0])
        area += 0.5 * float(np.linalg.norm(fan.sum(axis=0)))
    if kind == "plate":  # its hole is a polygon with corners at unequal angles
        assert 8.0 - 0.49 * math.pi <= area <= 8.0 - 0.49 * 0.99 * math.pi
    else:
        assert area == pytest.approx(AREAS[kind], rel=1e-12)


@pytest.mark.parametrize("kind", FLATS)
def test_the_viewer_shows_the_wall_itself(kind: str) -> None:
    snap = seen(kind)
    mesh = shapes.walls(snap, np.full(3, -9.0), np.full(3, 9.0))
    assert len(mesh.faces) > 0
    assert on_the_wall(snap, mesh.vertices[np.unique(mesh.faces)])


@pytest.mark.parametrize(("kind", "lines"), [("rectangle", 1), ("plate", 2), ("ring", 2)])
def test_a_picture_from_the_edge_shows_the_hole_as_a_gap(kind: str, lines: int) -> None:
    snap = seen(kind)
    found = plane.walls(snap, *plane.bounds(snap))
    assert len(found) == lines
    ends = np.sort(np.concatenate([line[:, 0] for line in found]))
    hole = [-0.7, 0.7] if lines == 2 else []
    # the corners of a drawn circle may miss its outermost point
    np.testing.assert_allclose(ends, [-2.0, *hole, 2.0], atol=0.01)


def test_a_picture_of_a_slanting_wall_shows_its_rim() -> None:
    snap = seen("triangle")
    assert len(plane.walls(snap, *plane.bounds(snap))) == 3


def test_a_plane_that_misses_a_box_has_no_surface_in_it() -> None:
    for dim in (2, 3):
        normal = np.eye(dim)[0]
        wall = WallShape(PLANE, 2.0 * normal, normal, 0.0, np.zeros(dim))
        assert not wall.surface(np.zeros(dim), np.ones(dim)).cells
        face = wall.surface(np.zeros(dim), np.full(dim, 2.0))  # on a side of the box: all of it
        assert len(face.points) == 2 ** (dim - 1)
        np.testing.assert_array_equal(np.ptp(face.points, axis=0), 2.0 * (1.0 - normal))


@pytest.mark.parametrize("kind", FLATS)
def test_triangles_fill_the_polygons_of_a_wall(kind: str) -> None:
    (wall,) = WallShape.all(seen(kind).walls)
    found = wall.surface(np.zeros(3), np.ones(3))
    a, b, c = found.points[found.triangles.T]
    area = 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
    if kind in AREAS:
        assert area == pytest.approx(AREAS[kind], rel=1e-12)
    assert on_the_wall(seen(kind), (a + b + c) / 3.0)
