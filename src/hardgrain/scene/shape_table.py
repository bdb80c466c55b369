"""All shapes of a scene in one table, made from its sets of grains and the seed alone.

Files keep the row of each grain in this table, and make the table again from the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from hardgrain.core.model import Floats, Ints
from hardgrain.core.solids import Solids
from hardgrain.errors import InputError
from hardgrain.scene.place import Voronoi
from hardgrain.scene.polytope import ball
from hardgrain.scene.shapes import Shape
from hardgrain.scene.solid import Solid
from hardgrain.scene.spec import Grains
from hardgrain.scene.tessellation import tessellation

__all__ = ["ShapeTable", "shape_table", "stored_solids"]

_SHAPE: TypeAdapter[Shape] = TypeAdapter(Shape)


@dataclass(frozen=True)
class ShapeTable:
    """Shapes by row, and which rows belong to which set of grains."""

    solid: tuple[Solid, ...]
    first: tuple[int, ...]  # first row of each set
    count: tuple[int, ...]  # number of its rows

    def rows(self, k: int, count: int, rng: np.random.Generator) -> Ints:
        """A row for each grain of set k, drawn where it has several."""
        if self.count[k] == 1:
            return np.full(count, self.first[k], np.int32)
        return (self.first[k] + rng.integers(self.count[k], size=count)).astype(np.int32)

    def all_rows(self, k: int) -> Ints:
        """The rows of set k, in their order."""
        return np.arange(self.first[k], self.first[k] + self.count[k], dtype=np.int32)

    def guess(self, group: Ints) -> Ints:
        """A row for each grain of which nothing but the set is known: the rows of it in turn."""
        rows = np.zeros(group.size, np.int32)
        for k, (first, count) in enumerate(zip(self.first, self.count, strict=True)):
            mine = group == k
            rows[mine] = first + np.arange(np.count_nonzero(mine)) % count
        return rows

    def radius(self, rows: Ints, diameter: Floats | None, by: str) -> Floats:
        """Bounding radius of each grain; without a diameter, that of the shapes as given."""
        bound = np.array([solid.bound for solid in self.solid])
        if diameter is None:
            return bound[rows]
        if by == "circumscribed":
            return 0.5 * diameter
        some = {k: self.solid[k] for k in np.unique(rows).tolist()}
        size = np.ones(len(self.solid))
        for k, solid in some.items():
            size[k] = solid.sieve if by == "sieve" else solid.as_ball
        return np.asarray(diameter * (bound / size)[rows])

    def turned(self, rows: Ints, orientation: Floats) -> Floats:
        """Orientations of the own frames of grains, given those of the frames of their user.

        A point x of the own frame is R x in the frame in which the shape was given, where the
        columns of R are the own axes, and Q R x in space.
        """
        unusual = [k for k, s in enumerate(self.solid) if (s.axes != np.eye(3)).any()]
        mine = np.isin(rows, unusual)
        if orientation.shape[1] == 1 or not mine.any():
            return orientation
        from scipy.spatial.transform import Rotation

        axes = np.array([self.solid[k].axes for k in rows[mine]])
        found = orientation.copy()
        turn = Rotation.from_quat(orientation[mine]) * Rotation.from_matrix(axes)
        found[mine] = turn.as_quat()
        return found

    def solids(self, rows: Ints, radius: Floats) -> Solids:
        """The shapes of grains as flat arrays; their sizes follow from their bounding radii."""
        parts = [part for solid in self.solid for part in solid.part]
        corners = _starts([len(part.corner) for part in parts])
        faces = _starts([len(part.face) for part in parts])
        edges = _starts([len(part.edge) for part in parts])
        rims = [[corners[k] + c for c in rim] for k, p in enumerate(parts) for rim in p.face]
        edge = [part.edge + corners[k] for k, part in enumerate(parts)]
        beside = [
            np.where(part.edge_face < 0, -1, part.edge_face + faces[k])
            for k, part in enumerate(parts)
        ]
        bound = np.array([solid.bound for solid in self.solid])
        return Solids(
            shape=rows.astype(np.int32),
            size=radius / bound[rows],
            part_start=_starts([len(solid.part) for solid in self.solid]),
            volume=np.array([solid.volume for solid in self.solid]),
            bound=bound,
            width=np.array([solid.width for solid in self.solid]),
            moments=np.array([solid.moments for solid in self.solid]),
            radius=np.array([float(part.radius) for part in parts]),
            corner_start=corners,
            face_start=faces,
            edge_start=edges,
            corner=np.vstack([part.corner for part in parts]),
            face_normal=np.vstack([part.normal for part in parts]),
            rim_start=_starts([len(rim) for rim in rims]),
            rim=np.array([c for rim in rims for c in rim], np.int32),
            edge=np.vstack(edge).astype(np.int32),
            edge_face=np.vstack(beside).astype(np.int32),
        )


def _starts(counts: Sequence[int]) -> Ints:
    """Where the rows of each thing begin, and behind the last one their number."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def shape_table(sets: Sequence[Grains], dim: int, seed: int) -> ShapeTable | None:
    """The table of a scene; None if all its grains are round."""
    if not any(spec.shaped for spec in sets):
        return None
    solids: list[Solid] = []
    first, count = [], []
    for k, spec in enumerate(sets):
        cells = spec.place if isinstance(spec.place, Voronoi) else None
        text = None if spec.shape is None else spec.shape.model_dump_json()
        try:
            if cells is None:
                mine = _solids_of(text, dim, seed)
            else:
                mine = _cells_of(cells.model_dump_json(), spec.count, dim, seed)
        except InputError as error:
            raise InputError(f"scene.grains[{k}].{error}") from None
        first.append(len(solids))
        count.append(len(mine))
        solids += mine
    return ShapeTable(tuple(solids), tuple(first), tuple(count))


def stored_solids(scenario: Mapping[str, Any], rows: Ints, radius: Floats) -> Solids:
    """The shapes of grains of a run, from its scenario as a file holds it, in nested tables."""
    scene = scenario["scene"]
    sets = [
        Grains(**{name: one.get(name) for name in ("count", "shape", "place")})
        for one in scene["grains"]
    ]
    table = shape_table(sets, scene["dimension"], scenario["seed"])
    if table is None or rows.max() >= len(table.solid):
        raise ValueError("shape")
    return table.solids(rows, radius)


@lru_cache(maxsize=64)
def _solids_of(shape: str | None, dim: int, seed: int) -> tuple[Solid, ...]:
    """A shape, written as JSON, as solids; made once, since a scene is built many times.

    They depend on nothing but the seed, so that a scene with other sets can have the same ones.
    """
    if shape is None:  # a disk or a ball of radius one
        return (Solid.of([ball(np.zeros(3), 1.0)], dim),)
    spec = _SHAPE.validate_json(shape)
    return tuple(spec.solids(dim, np.random.default_rng([seed, 1])))


@lru_cache(maxsize=8)
def _cells_of(place: str, count: int | None, dim: int, seed: int) -> tuple[Solid, ...]:
    """Cells that fill a region, which is written as JSON; made once likewise."""
    return tuple(tessellation(Voronoi.model_validate_json(place), count, dim, seed))
