"""Possible forces of grains with faces: points share a face's force, resultants are physics."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import force_facts
from hardgrain.forces import force_space
from hardgrain.io.json_text import json_text
from hardgrain.run.unique import count

from .helpers import floor, up
from .shapes_by_hand import CUBE, SQUARE, shaped, table

pytestmark = pytest.mark.rounding

SOLVED = 1e-8  # accuracy of linear programs [mean weight]


def tower(dim: int, boxes: int, friction: float):
    """Boxes on a floor, one on the other, each of weight one, whose corners share it evenly."""
    corners = np.array(SQUARE if dim == 2 else CUBE)
    low = corners[corners[:, -1] < 0.0]
    own = table([[(corners, 0.0)]], np.zeros(boxes, int))
    x = np.array([up(dim, i + 0.5) for i in range(boxes)])
    rows = []
    for i in range(boxes):  # the joint above box i, and the floor below the first
        if i + 1 < boxes:
            for p in low:
                point = p + up(dim, i + 1.5)
                load = up(dim, -(boxes - i - 1) / len(low))
                rows.append((i, i + 1, up(dim, 1.0), point, -np.array(load)))
        if i == 0:
            for p in low:
                press = up(dim, -boxes / len(low))
                rows.append((0, boxes, up(dim, -1.0), p + up(dim, 0.5), press))
    law = hg.ContactLaw(friction=friction)
    keys = {"gravity": up(dim, -1.0), "walls": [floor(dim)], "contacts": [law]}
    return shaped(x, own, rows=rows, **keys)


def test_a_box_on_four_points_without_friction():
    """One dimension of normal forces is open; their sum is the weight, its torque is none."""
    space = force_space(tower(3, 1, 0.0), balance="loads")
    assert (space.contacts, space.pairs) == (4, 1)
    assert space.residual < 1e-12
    assert (space.dimension, space.resultant_dimension) == (1, 0)
    points = space.bounds()
    # 1/4 + s, 1/4 − s at opposite corners: up to a half, down to nothing
    assert points.normal_min == pytest.approx(np.zeros(4), abs=SOLVED)
    assert points.normal_max == pytest.approx(np.full(4, 0.5), abs=SOLVED)
    for exact in (False, True):
        pair = space.pair_bounds(points, exact=exact)
        assert pair.points.tolist() == [4]
        weight = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert pair.low[0] == pytest.approx(weight, abs=10 * SOLVED)
        assert pair.high[0] == pytest.approx(weight, abs=10 * SOLVED)
        assert pair.found[0] == pytest.approx(weight, abs=1e-12)


@pytest.mark.parametrize(("dim", "within"), [(2, 1), (3, 6)])
def test_two_boxes_with_friction_have_unique_resultants(dim, within):
    """Each face leaves its points open (2D: 4 components, 3 resultants; 3D: 12 and 6)."""
    space = force_space(tower(dim, 2, 0.5), balance="loads")
    assert space.pairs == 2
    assert space.within == 2 * within
    assert (space.nullity, space.resultant_nullity) == (2 * within, 0)
    assert (space.dimension, space.resultant_dimension) == (2 * within, 0)
    pair = space.pair_bounds()
    assert pair.low[:, 0] == pytest.approx([1.0, 2.0], abs=SOLVED)
    assert pair.high[:, 0] == pytest.approx([1.0, 2.0], abs=SOLVED)
    assert (pair.high - pair.low).max() < SOLVED
    counted = count(space)
    assert (counted.verdict, counted.resultants) == ("no", "yes")
    text = f"{2 * within} of them within faces, whose resultants (K = 2 contacts) are the only"
    assert text in str(counted)


def test_points_of_two_faces_in_the_plane():
    """The two corners of a square's side bear half its weight each, but may squeeze the floor."""
    space = force_space(tower(2, 1, 0.5), balance="loads")
    points = space.bounds()
    assert points.normal_min == pytest.approx([0.5, 0.5], abs=SOLVED)
    assert points.normal_max == pytest.approx([0.5, 0.5], abs=SOLVED)
    assert points.tangential_max == pytest.approx([0.25, 0.25], abs=SOLVED)  # µ R, and back
    pair = space.pair_bounds(points)
    assert pair.high[0] == pytest.approx([1.0, 0.0, 0.0], abs=SOLVED)
    assert pair.low[0] == pytest.approx([1.0, 0.0, 0.0], abs=SOLVED)


def test_a_square_between_two_walls_has_open_resultants():
    """Held by friction between two walls: the pressing force is open, and no face is why."""
    own = table([[(SQUARE, 0.0)]], [0])
    left = hg.Plane(point=[-0.5, 0.0], normal=[1.0, 0.0])
    right = hg.Plane(point=[0.5, 0.0], normal=[-1.0, 0.0])
    rows = [
        (0, 1 + k, [side, 0.0], [0.5 * side, y], [0.5 * side, -0.25])
        for k, side in enumerate((-1.0, 1.0))
        for y in (-0.5, 0.5)
    ]
    law = hg.ContactLaw(friction=1.0)
    keys = {"gravity": [0.0, -1.0], "walls": [left, right], "contacts": [law]}
    space = force_space(shaped([[0.0, 0.0]], own, rows=rows, **keys), balance="loads")
    # 8 components, 3 equations; 3 resultants a face
    assert (space.nullity, space.within, space.resultant_nullity) == (5, 2, 3)
    assert (space.dimension, space.resultant_dimension) == (5, 3)
    pair = space.pair_bounds()
    assert np.isinf(pair.high[:, 0]).all()  # wedged
    # both walls press alike and bear the weight together by no more than µ N each
    assert pair.low[:, 0] == pytest.approx([0.5, 0.5], abs=SOLVED)
    assert count(space).resultants == "no"


class Frames:
    """As much of a run file as the command asks for."""

    path, model = "boxes.h5", {"gravity": np.array([0.0, 0.0, -1.0])}

    def __getitem__(self, k: int):
        return SimpleNamespace(step=7, time=0.5)

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("cone", ["inside", "outside", "round"])
def test_what_the_command_says_of_boxes(cone):
    space = force_space(tower(3, 2, 0.5), balance="loads")
    facts = force_facts.count(Frames(), 0, space)
    assert facts["resultants"] == {"unique": "yes", "null_space": 0, "within_faces": 12}
    facts |= force_facts.possible(space)
    bounds = space.bounds(exact=cone == "round", side="inside" if cone == "round" else cone)
    facts["local"] = force_facts.local(space, bounds, cone)
    facts |= force_facts.resultants(space, bounds, cone)
    assert facts["local_resultants"]["share_with_none"] == 1.0
    assert facts["pairs"]["normal_max"] == pytest.approx([1.0, 2.0], abs=10 * SOLVED)
    text = force_facts.as_text(facts)
    assert "2 grains, N = 2 of them in contact, M = 8 points of K = 2 contacts" in text
    assert "resultants:   unique? yes: dimension 0, null space 0, besides 12 within faces" in text
    assert json_text(facts)
    table = force_facts.columns(space, bounds)
    assert table["contact"] == [0] * 4 + [1] * 4


def test_a_disk_is_as_it_was():
    """One point a pair: resultants are the forces, and nothing is said of faces."""
    scene = hg.Scene(
        dimension=2,
        grains=[hg.Grains(place=hg.At(positions=[[0.0, 0.5]]))],
        walls=[floor(2)],
        gravity=[0.0, -1.0],
    )
    sim = hg.Simulation(scene, dt=0.01)
    sim.step()
    space = force_space(sim)
    assert space.packing.round
    assert (space.pairs, space.within) == (space.contacts, 0)
    points, pair = space.bounds(), space.pair_bounds()
    assert pair.low[:, :2] == pytest.approx(points.low)
    assert pair.high[:, :2] == pytest.approx(points.high)
    assert "faces" not in str(count(space))
