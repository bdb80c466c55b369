"""Sets of grains with a shape: their sizes and orientations, and what is refused with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.core.model import Floats, Ints
from hardgrain.core.solids import ROUND_GRAINS, Solids
from hardgrain.core.wall_kinds import DISK, RECTANGLE
from hardgrain.errors import InputError
from hardgrain.scene._checks import orientations, spin_vector
from hardgrain.scene.place import At, Voronoi
from hardgrain.scene.scene_checks import check_sizes
from hardgrain.scene.shape_table import ShapeTable, shape_table
from hardgrain.scene.sizes import draw
from hardgrain.scene.spec import Grains
from hardgrain.scene.walls import WallRow

if TYPE_CHECKING:
    from hardgrain.scene.scene import GrainArrays

__all__ = ["cells_at", "check_shapes", "in_order_of", "orientations_of", "sizes_of", "solids_of"]

# [1] Grains, or the room that they are given, are never so much larger than a shape that is meant
# so: lengths were written in two units. Silt among boulders would need a larger number.
_UNITS = 1000.0


def sizes_of(
    spec: Grains, k: int, table: ShapeTable | None, rng: np.random.Generator, dim: int
) -> tuple[Ints, Floats]:
    """Row in the table of shapes and bounding radius of each grain of set k."""
    if isinstance(spec.place, Voronoi):
        assert table is not None
        rows = table.all_rows(k)
        return rows, table.radius(rows, None, "circumscribed")
    diameters = draw(1.0 if spec.diameter is None else spec.diameter, spec.size, rng, dim)
    check_sizes(diameters)
    if table is None:
        return np.zeros(diameters.size, np.int32), 0.5 * diameters
    rows = table.rows(k, diameters.size, rng)
    if spec.shape is None:
        return rows, 0.5 * diameters
    given = None if spec.diameter is None else diameters
    return rows, table.radius(rows, given, spec.size_by or "circumscribed")


def cells_at(table: ShapeTable, rows: Ints, place: Voronoi, periodic: Floats) -> Floats:
    """Centres of the cells that fill a region (n, dim)."""
    dim = periodic.size
    for name in place.periodic:
        axis = "xyz".index(name)
        length = place.max[axis] - place.min[axis]
        if abs(length - periodic[axis]) > 1e-9 * length:
            raise InputError(
                f"place.periodic holds {name!r}, and the region is {length:g} long there; the scene"
                + (f" repeats after {periodic[axis]:g}" if periodic[axis] else " does not repeat")
            )
    return np.array([table.solid[row].centre[:dim] for row in rows])


def in_order_of(placed: Floats, drawn: Floats, rows: Ints) -> Ints:
    """The rows of grains in the order in which they were placed, which their radii tell."""
    found = np.empty_like(rows)
    found[np.argsort(placed, kind="stable")] = rows[np.argsort(drawn, kind="stable")]
    return found


def orientations_of(spec: Grains, n: int, dim: int, at: str, rng: np.random.Generator) -> Floats:
    """How the axes of a user are turned in space, for each grain of a set."""
    given = spec.place.orientations if isinstance(spec.place, At) else None
    if given is None:
        return orientations(spec.orientation, n, dim, f"{at}.orientation", rng)
    if len(given) != n:
        raise InputError(
            f"{at}.place.orientations lists {len(given)} for {n} grains; give one per grain"
        )
    if spec.orientation is not None:
        raise InputError(f"{at}.orientation and place.orientations are given; leave out one")
    each = [list(q) if isinstance(q, tuple) else q for q in given]
    path = f"{at}.place.orientations"
    turned = np.array([spin_vector(q, dim, f"{path}[{k}]") for k, q in enumerate(each)])
    if dim == 2:
        return turned
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(turned).as_quat())


def solids_of(sets: Sequence[Grains], dim: int, seed: int, grains: GrainArrays) -> Solids:
    """The shapes of all grains as flat arrays; none, if all are round."""
    table = shape_table(sets, dim, seed)
    if table is None:
        return ROUND_GRAINS
    rows = table.guess(grains.group) if grains.shape is None else grains.shape
    return table.solids(rows, grains.radius)


def check_shapes(
    sets: Sequence[Grains], radius: Floats, group: Ints, walls: Sequence[WallRow]
) -> None:
    """Refuse walls that shapes cannot touch, and lengths in different units."""
    shaped = [k for k, spec in enumerate(sets) if spec.shaped]
    if not shaped:
        return
    for wall in walls:
        if wall.kind == DISK or (wall.kind == RECTANGLE and wall.size > 0.0):
            what = "is a disk" if wall.kind == DISK else "has a round hole"
            raise InputError(
                f"{wall.at} {what}, whose round edge only spheres can touch; build it of triangles"
                " or rectangles where grains have a shape"
            )
    middle = {k: float(np.median(radius[group == k])) for k in np.unique(group).tolist()}
    for k in shaped:
        for other, size in middle.items():
            if k in middle and not 1.0 / _UNITS < middle[k] / size < _UNITS:
                raise InputError(
                    f"scene.grains[{k}].shape makes grains with a diameter of {2 * middle[k]:g},"
                    f" and those of scene.grains[{other}] have {2 * size:g}; write all lengths in"
                    " the same unit"
                )
        place = sets[k].place
        low, high = getattr(place, "min", None), getattr(place, "max", None)
        if k not in middle or low is None or high is None:
            continue
        across = min(b - a for a, b in zip(low, high)) / (2.0 * middle[k])
        many = np.count_nonzero(group == k) ** (1.0 / len(low))
        if across > _UNITS * many:
            raise InputError(
                f"scene.grains[{k}].shape makes grains with a diameter of {2 * middle[k]:g} in a"
                f" region that is {across:.3g} times as wide; write all lengths in the same unit"
            )
