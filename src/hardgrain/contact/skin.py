"""The surfaces of deformable grains in a state, and how far they overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.nodes import place_nodes, rotations
from hardgrain.contact.pairs import PairList, wall_geometry
from hardgrain.contact.surface_rows import Flat, Points, Skin
from hardgrain.contact.surfaces import contact_points
from hardgrain.core.deformation import Deformable, Form
from hardgrain.core.model import Floats, Ints, Model, State
from hardgrain.core.wall_kinds import Walls

__all__ = ["deepest_point", "find_points", "flat_forms", "skin_of"]


def flat_forms(model: Model) -> Flat:
    """The forms of a model as flat arrays."""
    elastic = model.elastic
    assert elastic is not None
    forms = elastic.forms
    return Flat(
        model.radius, elastic.form, _starts(elastic.nodes),
        np.array([form.surface for form in forms], np.int32),
        _starts([len(form.node) for form in forms]),
        np.concatenate([form.node for form in forms]),
        np.concatenate([_outward(form) for form in forms]),
        _starts([len(form.facet) for form in forms]),
        np.concatenate([form.facet for form in forms]),
    )  # fmt: skip


def _outward(form: Form) -> Floats:
    """Unit vectors away from the surface at its nodes, (k, dim), the mean of the facets there."""
    x = form.node[form.facet]
    side = x[:, 1:] - x[:, :1]
    if x.shape[2] == 2:
        normal = np.stack([side[:, 0, 1], -side[:, 0, 0]], axis=1)
    else:
        normal = np.cross(side[:, 0], side[:, 1])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    total = np.zeros_like(form.node)
    for a in range(x.shape[1]):
        np.add.at(total, form.facet[:, a], normal)
    length = np.linalg.norm(total, axis=1)[:, None]
    unit: Floats = np.divide(total, length, out=np.zeros_like(total), where=length > 0.0)
    return unit


def _starts(counts: Ints | list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def skin_of(model: Model, state: State, flat: Flat, walls: Walls) -> tuple[Skin, Floats]:
    """The surfaces as they lie in a state; and what turns own axes into space, (n, dim, dim)."""
    assert state.deformation is not None
    turned = rotations(state.orientation, model.n)
    nodes = place_nodes(state.position, turned, flat, state.deformation.displacement)
    skin = Skin(
        state.position, model.radius, model.number, model.periodic, walls, flat.form, flat.start,
        flat.surface, flat.facet_start, flat.facet, *nodes,
    )  # fmt: skip
    return skin, turned


def find_points(skin: Skin, first: Ints, second: Ints, limit: Floats, room: int) -> Points:
    """Contact points of these pairs with gaps below the sum of the limits (nb,) of their bodies.

    room: how many are expected.
    """
    dim = skin.position.shape[1]
    while True:
        out = Points.room(room, dim)
        count = contact_points(first, second, skin, limit, out)
        if count <= room:
            return out.chosen(slice(count))
        room = count


def deepest_point(
    model: Model, state: State, known: NDArray[np.bool_] | None = None
) -> tuple[float, int, int]:
    """Worst overlap relative to the smaller grain's width, and its bodies; 0, −1, −1: none.

    known: bodies (nb,) whose overlaps with each other do not count.
    """
    assert isinstance(model.elastic, Deformable)
    walls, none, n = wall_geometry(model, state), np.zeros(model.bodies), model.n
    skin, _ = skin_of(model, state, flat_forms(model), walls)
    bulge = np.concatenate([np.maximum(skin.bound - model.radius, 0.0), none[n:]])
    pairs = PairList(model)
    pairs.make(state.position, walls, bulge, bulge)
    found = find_points(skin, pairs.first, pairs.second, none, 4 * pairs.first.size + 16)
    if known is not None:
        found = found.chosen(~(known[found.first] & known[found.second]))
    if not found.gap.size:
        return 0.0, -1, -1
    other = np.where(found.second < n, model.width[np.minimum(found.second, n - 1)], np.inf)
    share = -found.gap / np.minimum(model.width[found.first], other)
    k = int(share.argmax())
    return float(share[k]), int(found.first[k]), int(found.second[k])
