"""Pictures, films and the viewer show grains of any shape as they are."""

from __future__ import annotations

import itertools
import json
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardgrain.core.model import Contacts
from hardgrain.forces.packing import Packing
from hardgrain.measure.snapshot import Snapshot
from hardgrain.scene.grain_outline import outlines_2d
from hardgrain.scene.grain_shape import frames, grain_shapes
from hardgrain.scene.grain_surface import grain_surfaces
from hardgrain.show import plane
from hardgrain.show.colour import fields_of, grain_field
from hardgrain.show.contact_lines import force_lines, whole_contacts
from hardgrain.show.movie import Film
from hardgrain.show.network import draw_network
from hardgrain.show.network_look import Shade
from hardgrain.show.player import film_data
from hardgrain.show.view import pick, solids
from hardgrain.show.view.picture import force_network

from ..shapes import FLAT, pressed, run_of, scattered

DIMENSIONS = pytest.mark.parametrize("dim", [2, 3])


# ---------------------------------------------------------------------- pictures
def pixels(snap: Snapshot, **look: Any) -> Any:
    """The picture as pixels, and a function from places to rows and columns in it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw_network(snap, lines="none", **look)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    axes = figure.axes[0]

    def at(x: Any) -> Any:
        column, row = axes.transData.transform(x).T
        return image[len(image) - 1 - row.astype(int), column.astype(int)]

    return at


def test_pixels_lie_within_the_true_outlines() -> None:
    snap = scattered(2, 12)
    at = pixels(snap, colour="id")
    own, turn, rng = snap.model.solids, frames(snap.state.orientation), np.random.default_rng(1)
    for g in range(snap.n):
        x = snap.position[g] + rng.uniform(-1, 1, (200, 2)) * snap.radius[g]
        local = np.pad(x - snap.position[g], ((0, 0), (0, 1))) @ turn[g] / own.size[g]
        height = depth(local, grain_shapes(own, 2)[own.shape[g]])
        clear = np.abs(height) > 0.06  # which is more than a rim or a pixel
        white = (at(x) == 255).all(axis=1)
        np.testing.assert_array_equal(white[clear], (height > 0.0)[clear])


def depth(points: Any, shape: Any) -> Any:
    """How far points lie outside of a shape in 2D, negative inside; exact near straight sides."""
    out = np.full(len(points), np.inf)
    for part in shape.parts:
        corner = part.corner[:, :2]
        sides = list(zip(corner, np.roll(corner, -1, axis=0)))
        away = np.min([_to_line(points[:, :2], a, b) for a, b in sides], axis=0)
        if len(corner) > 2:
            normals = part.normal[:, :2]
            to = points[:, None, :2] - corner
            inside = (np.einsum("pka,ka->pk", to, normals) <= 0.0).all(axis=1)
            away = np.where(inside, -away, away)
        out = np.minimum(out, away - part.radius)
    return out


def _to_line(points: Any, a: Any, b: Any) -> Any:
    along, length = b - a, max(float((b - a) @ (b - a)), 1e-300)
    share = np.clip((points - a) @ along / length, 0.0, 1.0)
    return np.linalg.norm(points - a - share[:, None] * along, axis=1)


@DIMENSIONS
def test_lines_meet_at_the_centre_of_force(dim: int) -> None:
    lines = force_lines(pressed(dim))
    # 2, 1 (and 1, 2) at x = −1, 1: the centre is at −1/3
    np.testing.assert_allclose(lines.force, [3.0, 3.0] if dim == 2 else [6.0, 6.0])
    np.testing.assert_allclose(lines.arm[0, [0, -1]], [-1 / 3, 1.0], atol=1e-12)
    assert lines.offset is not None
    np.testing.assert_allclose(lines.offset[1], lines.arm[0])
    np.testing.assert_allclose((lines.offset + lines.arm)[1], np.eye(dim)[-1] * 2.0, atol=1e-12)
    seen = plane.see(pressed(dim), lines)
    np.testing.assert_allclose(seen.lines[:, :, 1], [[0.0, 1.0], [1.0, 2.0]], atol=1e-12)


def test_a_view_holds_the_outlines_and_not_the_circles_around_them() -> None:
    low, high = plane.bounds(pressed(2))
    margin = plane.BAND * pressed(2).diameter
    np.testing.assert_allclose(low, [-1.0 - margin, -1.0 - margin])
    np.testing.assert_allclose(high, [1.0 + margin, 3.0 + margin])


@DIMENSIONS
def test_lines_in_other_colours_go_through_the_contacts_too(dim: int) -> None:
    snap = pressed(dim)
    c = snap.contacts
    m = len(c)
    packing = Packing(
        snap.radius, np.ones((2, 3 * dim - 3), bool), c.first, c.second, c.normal, np.zeros(m),
        snap.force, 1.0, arm_first=c.arm_first, arm_second=c.arm_second,
    )  # fmt: skip
    lines = Shade(packing, np.arange(m) + 1.0, "", "", "").lines()
    assert lines.offset is not None
    assert len(lines.first) == 2 * m
    ends = lines.offset + lines.arm
    np.testing.assert_allclose(ends[:m], c.arm_first)
    np.testing.assert_allclose(ends[m:], np.tile(2.0 * np.eye(dim)[-1], (m, 1)), atol=1e-12)


def test_points_with_other_normals_are_other_contacts() -> None:
    snap = pressed(2)
    c = snap.contacts
    turned = replace(c, normal=np.array([[0.0, 1.0], [1.0, 0.0]]))
    apart = replace(snap, state=replace(snap.state, contacts=turned))
    assert len(whole_contacts(apart).first) == 2
    none = replace(snap, state=replace(snap.state, contacts=Contacts.none(2)))
    assert len(force_lines(none).first) == 0


def test_a_picture_tells_contacts_and_points() -> None:
    (text,) = [
        t.get_text() for t in draw_network(pressed(2)).axes[0].texts if "grains" in t.get_text()
    ]
    assert "1 contact bears a force in 2 points" in text


@DIMENSIONS
def test_grains_across_a_periodic_end_are_seen_at_both(dim: int) -> None:
    snap = scattered(dim, 4)
    period = np.zeros(dim)
    period[0] = 3.0
    at = snap.position.copy()
    at[:, 0] = 0.1
    snap = replace(
        snap, model=replace(snap.model, periodic=period), state=replace(snap.state, position=at)
    )
    seen = plane.see(snap)
    assert seen.outlines is not None
    parts = len(seen.outline) // 2
    assert sorted(seen.grain) == sorted(np.tile(np.sort(seen.grain)[::2], 2))
    assert (np.bincount(seen.outline) == 2).all()
    assert parts >= 4
    draw_network(snap, lines="none")


def test_fields_of_shapes() -> None:
    snap = scattered(2, 6)
    assert grain_field(snap, "sides").value.tolist() == [5, 5, 2, 4, 0, 0]
    assert grain_field(snap, "shape").value.tolist() == [0, 1, 2, 3, 4, 5]
    # the rectangle's long side is its own x
    heading = grain_field(snap, "heading").value[3]
    assert heading == pytest.approx(np.degrees(snap.state.orientation[3, 0]) % 180.0)
    assert {"sides", "shape", "heading"} <= set(fields_of(2, round=False))
    assert not {"sides", "shape", "heading"} & set(fields_of(3))


# ---------------------------------------------------------------------- films
def frames_of(dim: int, patch: pytest.MonkeyPatch) -> Any:
    base = scattered(dim)
    others = [scattered(dim, seed=k).state.orientation for k in (4, 5)]
    moved = [
        replace(base, state=replace(base.state, step=k, time=0.1 * k, orientation=turned))
        for k, turned in enumerate(others, 1)
    ]
    return run_of([base, *moved], patch)


@DIMENSIONS
def test_the_film_of_a_report_has_shapes_once_and_angles_in_each_frame(
    dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = frames_of(dim, monkeypatch)
    film = json.loads(film_data(run) or "")
    own = run.solids
    assert film["shape"] == own.shape.tolist()
    np.testing.assert_allclose(film["size"], own.size, rtol=1e-5)
    for told, shape in zip(film["shapes"], grain_shapes(own, dim), strict=True):
        for (radius, *corners), part in zip(told, shape.parts, strict=True):
            assert radius == pytest.approx(part.radius, rel=1e-4)
            np.testing.assert_allclose(corners, part.corner[:, :dim].ravel(), atol=1e-4)
    data, at, n = b64decode(film["data"]), 0, own.shape.size
    for k, frame in enumerate(film["frames"]):
        assert frame["n"] == n
        number = np.frombuffer(data, "<u2", n, at + 4 * n)
        at += 9 * n + 9 * frame["m"]
        turned = run[k].orientation[number]
        if dim == 2:
            angle = np.frombuffer(data, "<u2", n, at) * (2 * np.pi / 65536)
            np.testing.assert_allclose(np.exp(1j * angle), np.exp(1j * turned[:, 0]), atol=1e-4)
        else:
            q = np.frombuffer(data, np.int8, 4 * n, at).reshape(n, 4) / 127.0
            np.testing.assert_allclose(q, turned, atol=0.5 / 127 + 1e-9)
        at += film["turning"] * n
    assert at == len(data)


@DIMENSIONS
def test_a_film_moves_the_shapes(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = frames_of(dim, monkeypatch)
    film = Film(run, size=240, lines="none")
    images = [image.copy() for image in film]
    assert len(images) == 3
    assert np.abs(images[0].astype(int) - images[1]).max() > 50


# ---------------------------------------------------------------------- viewer
@DIMENSIONS
def test_a_ray_picks_the_grain_whose_shape_it_meets(dim: int) -> None:
    snap = scattered(dim, 12 if dim == 2 else 14)
    own, turn = snap.model.solids, frames(snap.state.orientation)
    rng = np.random.default_rng(3)
    low, high = snap.box
    hits = 0
    for _ in range(200):
        at = np.pad(rng.uniform(low, high), (0, 3 - dim))
        way = np.array([0.0, 0.0, -1.0]) if dim == 2 else rng.normal(size=3)
        found = pick.grain_at(snap, at - 20.0 * way, way)
        if dim == 2:
            out = [
                float(depth((at - np.pad(snap.position[g], (0, 1)))[None] @ turn[g] / own.size[g],
                      grain_shapes(own, 2)[own.shape[g]])[0])
                for g in range(snap.n)
            ]  # fmt: skip
            nearest = int(np.argmin(out))
            if abs(out[nearest]) > 0.01:
                assert found == (nearest if out[nearest] < 0.0 else None)
        else:
            assert found == first_met(snap, at - 20.0 * way, way)
        hits += found is not None
    assert hits > 15


def first_met(snap: Snapshot, origin: Any, way: Any) -> int | None:
    """The first grain that a ray meets, from the equation of each triangle."""
    s = grain_surfaces(snap.model.solids, snap.state.orientation, snap.position)
    cells = [s.connectivity[i:j] for i, j in itertools.pairwise(s.offsets)]
    fans = [(c[0], c[k], c[k + 1]) for c in cells for k in range(1, len(c) - 1)]
    grain = np.repeat(s.grain, [len(c) - 2 for c in cells])
    a, b, c = s.points[np.array(fans)].transpose(1, 0, 2)
    matrix = np.stack([b - a, c - a, np.broadcast_to(-way, a.shape)], axis=2)
    beside = np.abs(np.linalg.det(matrix)) < 1e-12  # it runs along the ray
    matrix[beside] = np.eye(3)
    u, v, t = np.linalg.solve(matrix, (origin - a)[..., None])[..., 0].T
    met = (np.minimum(u, v) >= 0.0) & (u + v <= 1.0) & (t > 0.0) & ~beside
    if not met.any():
        return None
    return int(grain[np.argmin(np.where(met, t, np.inf))])


def test_what_was_picked_has_a_name() -> None:
    facts = dict(pick.grain_facts(scattered(2), 1))
    assert facts["shape"] == "rounded pentagon"
    assert facts["sides"] == "5"
    np.testing.assert_allclose(pick.contact_arm(pressed(3), 2), [-1 / 3, 0.0, 1.0], atol=1e-12)
    facts = dict(pick.contact_facts(pressed(3), (0, 1)))
    assert facts["points"] == "4"
    assert facts["normal force"] == "6"


@DIMENSIONS
def test_the_network_goes_through_the_contacts(dim: int) -> None:
    snap = pressed(dim)
    net = force_network(snap)
    assert net.bearing == net.drawn == 1
    ends = net.begin + net.length[:, None] * net.along
    np.testing.assert_allclose(ends[0], net.begin[1], atol=1e-12)
    assert net.point is not None
    np.testing.assert_allclose(net.point[0], ends[0], atol=1e-12)
    origin = net.point[0] - np.array([0.0, 0.0, 9.0] if dim == 2 else [0.0, 9.0, 0.0])
    assert pick.contact_at(snap, net, origin, net.point[0] - origin) == (0, 1)


@DIMENSIONS
def test_meshes_of_shapes_have_their_size(dim: int) -> None:
    snap = scattered(dim)
    own = snap.model.solids
    for k in range(len(own.bound)):
        mesh = solids.grain_mesh(own, dim, k, snap.n)
        reach = np.linalg.norm(mesh.vertices[np.unique(mesh.faces)], axis=1).max()
        assert reach == pytest.approx(own.bound[k], rel=0.02)
        if dim == 2:
            rim = solids.rim_mesh(own, k)
            assert np.linalg.norm(rim.vertices, axis=1).max() <= own.bound[k] + 1e-12


@DIMENSIONS
def test_pieces_cover_the_grains(dim: int) -> None:
    snap = scattered(dim)
    centre = np.pad(snap.position, ((0, 0), (0, 3 - dim)))
    copies = solids.in_pieces(snap, centre)
    covered = np.bincount(copies.grain, 0.5 * copies.size[:, 0] * copies.size[:, 1])
    s = grain_surfaces(snap.model.solids, snap.state.orientation, snap.position, 1, convex=True)
    area = np.zeros(snap.n)
    for cell, grain in enumerate(s.grain):
        corner = s.points[s.connectivity[s.offsets[cell] : s.offsets[cell + 1]]]
        fan = np.cross(corner[1:-1] - corner[0], corner[2:] - corner[0])
        area[grain] += 0.5 * np.linalg.norm(fan, axis=1).sum()
    if dim == 2:  # smaller by the rim, larger by the seams
        area *= ((1.0 - solids.RIM) * (1.0 + 2.0 * solids.SEAM)) ** 2
    np.testing.assert_allclose(covered, area, rtol=1e-9)
    far = np.linalg.norm(copies.centre - centre[copies.grain], axis=1)
    assert (far <= snap.radius[copies.grain]).all()


def test_a_hole_in_a_clump_is_not_picked() -> None:
    snap = scattered(2, 1, shapes=[FLAT["clump of 3 disks"]])
    assert len(outlines_2d(snap.model.solids, snap.state.orientation).loops(0)) == 2
    above = np.array([*snap.position[0], 5.0])
    assert pick.grain_at(snap, above, np.array([0.0, 0.0, -1.0])) is None
