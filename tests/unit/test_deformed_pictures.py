"""Grains that deform as they are drawn: outlines, triangles in colours, lines, the viewer."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.measure.cut import area
from hardgrain.measure.resultants import resultants
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.measure.structure import contact_numbers
from hardgrain.measure.visible import outlines, patches, surfaces
from hardgrain.scene.grain_outline import BEGIN, CLOSE
from hardgrain.show import plane
from hardgrain.show.colour import fields_of, grain_field, limits, paint
from hardgrain.show.movie import Film
from hardgrain.show.network import draw_network
from hardgrain.show.player import film_data
from hardgrain.show.view import pick, solids
from hardgrain.show.view.fields import coloured, names
from hardgrain.show.view.live_run import LiveRun
from hardgrain.show.view.picture import centres, force_network

from ..elastic import elastic_run

ROUNDING = 1e-12  # of sums of a few hundred areas of the order of one


@pytest.fixture(scope="module", params=["disks", "balls", "polygons", "boxes"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two elastic grains of a kind and a rigid disk or ball, in the middle of being pressed."""
    kind = {
        "disks": (2, None),
        "balls": (3, None),
        "polygons": (2, "hexagon"),
        "boxes": (3, "cube"),
    }
    path = elastic_run(tmp_path_factory.mktemp("soft") / "run.h5", *kind[request.param])
    with hg.RunFile(path) as file:
        yield file


def turned(snap: Snapshot) -> Snapshot:
    """The same, with every grain turned in a way of its own."""
    state = snap.state
    if snap.dim == 2:
        orientation = state.orientation + np.arange(len(state.orientation))[:, None]
    else:
        some = Rotation.random(len(state.orientation), np.random.default_rng(1))
        orientation = some.as_quat()
    return replace(snap, state=replace(state, orientation=orientation))


def test_outlines_enclose_what_is_seen_of_a_grain(run: hg.RunFile) -> None:
    snap = turned(snapshot(run))
    keep = list(plane.plane_of(snap))
    found, grain, _ = outlines(snap, keep)
    filled, mesh = patches(snap, keep), snap.mesh
    assert found is not None
    assert filled is not None
    assert mesh is not None
    assert sorted(grain) == list(range(snap.n))
    for k, g in enumerate(grain):
        inside = sum(area(loop) for loop in found.loops(k))
        mine = filled.corner[filled.grain == g]
        if g == 2:  # the rigid one, as a polygon of 64 sides
            assert not len(mine)
            assert inside == pytest.approx(0.5 * 64 * np.sin(2.0 * np.pi / 64) * 0.3**2)
            continue
        # all triangles face the eye, and together they cover what the loops enclose; none of these
        # grains is so bent that it hides a part of itself
        triangles = np.array([area(corner) for corner in mine])
        assert (triangles > 0.0).all()
        assert triangles.sum() == pytest.approx(inside, rel=ROUNDING)
        if snap.dim == 2:
            assert inside == pytest.approx(mesh.of_grains(mesh.volume, snap.n)[g], rel=ROUNDING)
    assert (mesh.grain[filled.element] == filled.grain).all()


def test_a_box_shows_its_edges_and_a_ball_does_not(tmp_path: Path) -> None:
    for shape, lines in ((None, 0), ("cube", 3)):
        with hg.RunFile(elastic_run(tmp_path / f"{shape}.h5", 3, shape, steps=0)) as run:
            snap = turned(snapshot(run))
        found, grain, _ = outlines(snap, [0, 2])
        assert found is not None
        for k, g in enumerate(grain):
            pen = found.pen[found.start[k] : found.start[k + 1]]
            strokes = (pen == BEGIN).sum() - (pen == CLOSE).sum()
            sides = 3 if shape else 0  # elements along an edge, at least
            assert strokes == 0 if g == 2 or not lines else strokes % lines == 0
            assert g == 2 or strokes >= lines * min(sides, 1)


def test_colours_are_those_of_the_stress_where_it_is(run: hg.RunFile) -> None:
    """The middle of a triangle, as drawn, has the colour that its element's stress stands for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    snap = snapshot(run)
    mesh, keep = snap.mesh, list(plane.plane_of(snap))
    assert mesh is not None
    figure = draw_network(run, colour="stress", lines="none")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[:, :, :3].astype(float)
    field = grain_field(snap, "stress")
    assert field.label == "von Mises stress"
    np.testing.assert_array_equal(field.drawn, mesh.von_mises)
    assert np.isnan(field.value[2])  # the rigid one bears no such stress
    assert (field.value[:2] > 0.0).all()
    seen = plane.see(snap)
    nearest = int(seen.grain[-1])  # which nothing hides
    filled = seen.patches
    assert filled is not None
    mine = np.flatnonzero(filled.grain == nearest)
    # larger than a few pixels, so that the middle is off the lines around
    large = [t for t in mine if area(filled.corner[t]) > 3e-3]
    assert len(large) > 3
    middle = filled.corner[large].mean(axis=1) + snap.wrapped[nearest][keep]
    column, row = figure.axes[0].transData.transform(middle).T
    shown = image[len(image) - 1 - row.astype(int), column.astype(int)]
    colour = paint(field, limits(field, field.drawn), inside=True)[filled.element[large]]
    # near things are not faded, of which this is the first; a level of 256 for rounding
    assert np.abs(shown - 255.0 * colour).max() < 2.0


def test_contacts_of_two_grains_are_one_line(run: hg.RunFile) -> None:
    """As many lines as bodies that press on each other, though these touch in many points."""
    snap = snapshot(run)
    c = snap.contacts
    pairs = {(i, j) for i, j, f in zip(c.first, c.second, snap.loaded) if f}
    assert snap.loaded.sum() >= len(pairs)
    found = resultants(snap)
    assert {*zip(found.first, found.second, strict=True)} == {*zip(c.first, c.second, strict=True)}
    assert np.abs(np.linalg.norm(found.normal, axis=1) - 1.0).max() < ROUNDING
    for k, (i, j) in enumerate(zip(found.first, found.second)):
        mine = (c.first == i) & (c.second == j)
        np.testing.assert_allclose(found.force[k], snap.force[mine].sum(axis=0), atol=1e-9)
    assert contact_numbers(snap)[:2].sum() == sum(int(i < 2) + int(j < 2) for i, j in pairs)
    net = force_network(snap)
    assert net.drawn == net.bearing == len(pairs)


def test_what_has_no_stress_within_is_refused(tmp_path: Path) -> None:
    scene = hg.Scene(grains=[{"place": {"kind": "at", "positions": [[0.0, 0.0]]}}])
    snap = snapshot(hg.Simulation(scene, dt=0.1))
    with pytest.raises(InputError, match="colour is 'stress', but no grain of the run deforms"):
        grain_field(snap, "stress")
    assert "stress" not in fields_of(2)
    assert {"stress", "inner-pressure", "strain-energy"} <= set(names(2, True, rigid=False))


def test_a_film_moves(run: hg.RunFile) -> None:
    images = [image.copy() for image in Film(run, size=240, colour="inner-pressure")]
    assert len(images) == len(run)
    assert not np.array_equal(images[0], images[-1])


# ---------------------------------------------------------------------- the viewer
def test_the_viewer_gets_triangles_in_colours(run: hg.RunFile) -> None:
    live = LiveRun(run.path)
    assert not live.rigid
    snap = live.at(len(live) - 1)
    assert snap.mesh is not None
    mesh = snap.mesh
    np.testing.assert_array_equal(mesh.offset, snapshot(run).mesh.offset)  # type: ignore[union-attr]
    copies = solids.in_pieces(snap, centres(snap))
    drawn = 0.5 * copies.size[:, 0] * copies.size[:, 1]
    _, element = surfaces(snap, snap.wrapped)
    assert (copies.element >= 0).sum() == 2 * (element >= 0).sum()
    assert (mesh.grain[copies.element[copies.element >= 0]] < 2).all()
    soft = np.bincount(copies.element[copies.element >= 0], drawn[copies.element >= 0])
    if snap.dim == 2:  # drawn a little smaller, with triangles that overlap
        shrunk = ((1.0 - solids.RIM) * (1.0 + 2.0 * solids.SEAM)) ** 2
        np.testing.assert_allclose(soft, shrunk * mesh.volume, rtol=1e-9)
    else:
        a, b, c = mesh.offset[mesh.facet].transpose(1, 0, 2)
        own = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        np.testing.assert_allclose(soft, np.bincount(mesh.beneath, own, len(soft)), rtol=1e-9)
    colours = coloured(snap, "stress")
    assert colours.inside is not None
    assert len(colours.inside) == len(mesh.grain)
    assert colours.level[2] == len(colours.table) - 1  # the colour of no value
    assert colours.legend.high == pytest.approx(
        limits(grain_field(snap, "stress"), mesh.von_mises)[1]
    )
    for g in range(snap.n):  # seen from the side on which none hides another
        eye = centres(snap)[g] + (np.array([0.0, 0.0, 9.0]) if snap.dim == 2 else [0.0, -9.0, 0.0])
        assert pick.grain_at(snap, eye, centres(snap)[g] - eye) == g
    told = dict(pick.grain_facts(snap, 0))
    assert told["von Mises stress"] == f"up to {mesh.von_mises[mesh.grain == 0].max():.5g}"
    live.close()


# ---------------------------------------------------------------------- the film in a report
def test_the_film_of_a_report_holds_outlines(run: hg.RunFile) -> None:
    text = film_data(run)
    assert text is not None
    film = json.loads(text)
    assert film["outlines"]
    assert "shapes" not in film
    data, at = b64decode(film["data"]), 0
    low, high = np.array(film["low"]), np.array(film["high"])
    for k, frame in enumerate(film["frames"]):
        n, m, points = frame["n"], frame["m"], frame["k"]
        number = np.frombuffer(data, "<u2", n, at + 4 * n)
        at += 9 * n + 9 * m
        count = np.frombuffer(data, "<u2", n, at)
        ends = np.frombuffer(data, "<u2", 2 * points, at + 2 * n).reshape(-1, 2)
        at += 2 * n + 4 * points
        assert count.sum() == points
        place = low + (ends / 65535.0 * 3.0 - 1.0) * (high - low)
        snap = snapshot(run, k)
        found, grain, _ = outlines(snap, list(plane.plane_of(snap)))
        assert found is not None
        for g, loop in zip(number, np.split(place, np.cumsum(count)[:-1])):
            if g == 2:
                assert not len(loop)
                continue
            longest = max(found.loops(grain.tolist().index(g)), key=len)
            # a step of 16 bits over three views, along the rim of the outline
            close = 3.0 / 65535.0 * float((high - low).max()) * 4.0
            assert area(loop) == pytest.approx(area(longest), abs=close)
    assert at == len(data)
