"""Shapes of grains that come from an earlier run: their sets have, or get, the same shapes."""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Ints
from hardgrain.errors import InputError
from hardgrain.run.scenario import Scenario
from hardgrain.scene.scene import GrainArrays, Scene
from hardgrain.scene.shape_table import ShapeTable, shape_table
from hardgrain.scene.spec import Grains

__all__ = ["take_shapes"]


def take_shapes(
    scene: Scene, seed: int, group: Ints, old: Scenario, grains: GrainArrays
) -> tuple[Scene, Ints]:
    """The scene, whose sets without a shape get that of their grains, and its rows of shapes (n,).

    ``group`` (n,) are the new sets of the grains. Rows of the old table become rows of the new one,
    which must have the same shapes.
    """
    assert grains.shape is not None
    sets = list(scene.grains)
    pairs = sorted({*zip(grains.group.tolist(), group.tolist())})
    for g, k in pairs:
        if sets[k].shape is None and old.scene.grains[g].shape is not None:
            sets[k] = sets[k].model_copy(update={"shape": old.scene.grains[g].shape})
    former = shape_table(old.scene.grains, old.scene.dimension, old.seed)
    table = shape_table(sets, scene.dimension, seed)
    assert former is not None
    assert table is not None
    rows = grains.shape.copy()
    for g, k in pairs:
        mine = grains.group == g
        here, there = _rows(table, k), _rows(former, g)
        if not _same(table, here, former, there):
            raise InputError(_why(k, sets[k], g, old))
        rows[mine] = grains.shape[mine] - there.start + here.start
    return scene.model_copy(update={"grains": sets}), rows


def _rows(table: ShapeTable, k: int) -> range:
    return range(table.first[k], table.first[k] + table.count[k])


def _same(table: ShapeTable, here: range, former: ShapeTable, there: range) -> bool:
    """Whether two lists of shapes are the same bit by bit."""
    if len(here) != len(there):
        return False
    for i, j in zip(here, there, strict=True):
        a, b = table.solid[i].part, former.solid[j].part
        if len(a) != len(b) or not all(
            p.radius == q.radius and np.array_equal(p.corner, q.corner)
            for p, q in zip(a, b, strict=True)
        ):
            return False
    return True


def _why(k: int, spec: Grains, g: int, old: Scenario) -> str:
    shape = old.scene.grains[g].shape
    if shape is not None and shape == spec.shape:
        return (
            f"scene.grains[{k}].shape is random, and its grains come from a run with the seed"
            f" {old.seed}; give seed = {old.seed}, so that they keep their shapes"
        )
    return (
        f"scene.grains[{k}].shape differs from that of its grains in the start, of set {g} there;"
        " leave shape out, or give each shape a set of its own"
    )
