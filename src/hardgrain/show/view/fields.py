"""What grains can be coloured by, and the colours: even in lightness, told apart by all eyes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import grain_stress, stress_units
from hardgrain.measure.structure import clusters, contact_numbers
from hardgrain.scene.model import Floats

__all__ = ["FIELDS", "Colours", "Field", "Legend", "colour_table", "coloured", "table_of"]

Bytes = NDArray[np.uint8]

PLAIN = (206, 201, 190)  # grains without a field
UNKNOWN = (225, 225, 225)  # grains whose value is not known
STRONG = 0.99  # quantile that gets the last colour; the few beyond would dwarf the rest
# Okabe and Ito's colours, for the largest clusters; all further ones share the last
CLUSTERS = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0),
    (240, 228, 66), (150, 150, 150),
)  # fmt: skip
SINGLE = (225, 225, 225)  # a grain without contacts
MANY, AROUND, PLAINLY, GROUPS = "viridis", "coolwarm", "", "clusters"


@dataclass(frozen=True)
class Field:
    """Something that every grain has."""

    label: str
    unit: str
    contacts: bool  # whether it needs them
    values: Callable[[Snapshot], Floats]  # (n,)
    table: str = MANY
    whole: bool = False  # whole numbers


@dataclass(frozen=True)
class Legend:
    """What the colours mean."""

    label: str
    unit: str
    low: float
    high: float
    table: str
    below: bool = False  # whether some values lie beyond the ends
    above: bool = False
    note: str = ""


@dataclass(frozen=True)
class Colours:
    """Colours as rows of a table, which a client may adapt to its screen."""

    level: NDArray[np.intp]  # (n,)
    table: Bytes  # (k, 3)
    legend: Legend


def _speed(snap: Snapshot) -> Floats:
    speed: Floats = np.linalg.norm(snap.velocity, axis=1)
    return speed


def _along(axis: int) -> Callable[[Snapshot], Floats]:
    def component(snap: Snapshot) -> Floats:
        return snap.velocity[:, axis]

    return component


def _spin(snap: Snapshot) -> Floats:
    """Signed in 2D, its size in 3D."""
    if snap.dim == 2:
        return snap.spin[:, 0]
    size: Floats = np.linalg.norm(snap.spin, axis=1)
    return size


def _force(snap: Snapshot) -> Floats:
    """Sum of the normal forces that press on a grain."""
    c, n = snap.contacts, snap.n
    both = np.concatenate([c.first, c.second])
    total = np.bincount(both, np.tile(snap.normal_force, 2), minlength=snap.model.bodies)
    return total[:n].astype(float)


def _pressure(snap: Snapshot) -> Floats:
    pressure: Floats = np.trace(grain_stress(snap), axis1=1, axis2=2) / snap.dim
    return pressure


def _clusters(snap: Snapshot) -> Floats:
    """Clusters by size, −1: a grain by itself."""
    number = clusters(snap)
    size = np.bincount(number)
    return np.where(size[number] > 1, number, -1).astype(float)


def _fields(dim: int) -> dict[str, Field]:
    rate = "length/time"
    spin = Field("spin", "1/time", False, _spin, AROUND if dim == 2 else MANY)
    found = {
        "plain": Field("", "", False, lambda snap: np.zeros(snap.n), PLAINLY),
        "speed": Field("speed", rate, False, _speed),
        **{
            f"velocity {x}": Field(f"velocity along {x}", rate, False, _along(k), AROUND)
            for k, x in enumerate("xyz"[:dim])
        },
        "spin": spin,
        "force": Field("sum of normal forces", "force", True, _force),
        "coordination": Field(
            "contacts that bear a force",
            "",
            True,
            lambda s: contact_numbers(s).astype(float),
            MANY,
            True,
        ),
        "pressure": Field("pressure", stress_units(dim), True, _pressure),
        "cluster": Field("cluster, largest first", "", True, _clusters, GROUPS, True),
        "id": Field(
            "number of the grain", "", False, lambda s: np.arange(s.n, dtype=float), MANY, True
        ),
        "diameter": Field("diameter", "length", False, lambda snap: 2.0 * snap.radius),
    }
    return found


FIELDS = {dim: _fields(dim) for dim in (2, 3)}


def coloured(snap: Snapshot, name: str, span: tuple[float, float] | None = None) -> Colours:
    """Colours of all grains by a field; its range is that of the frame unless it is given."""
    field = FIELDS[snap.dim][name]
    legend = Legend(field.label, field.unit, 0.0, 1.0, field.table)
    same = np.zeros(snap.n, np.intp)
    if field.contacts and not snap.stored:
        note = "not known: this frame was stored without its contacts"
        return Colours(same, _table(UNKNOWN), replace(legend, table=PLAINLY, note=note))
    if field.table == PLAINLY:
        return Colours(same, _table(PLAIN), legend)
    value = field.values(snap)
    if field.table == GROUPS:
        number = np.minimum(value.astype(np.intp), len(CLUSTERS) - 1)  # −1: the last of the table
        found = len(np.unique(value[value >= 0]))
        return Colours(number, _table(*CLUSTERS, SINGLE), replace(legend, high=float(found)))
    low, high = span or _span(value, field)
    if high <= low:  # all the same: the first colour, or that of zero
        high = low + 1.0
        low -= 1.0 if field.table == AROUND else 0.0
    inside = (value - low) / (high - low)
    level = np.clip(np.nan_to_num(255.0 * inside), 0, 255).astype(np.intp)
    slack = 1e-9 * max(abs(low), abs(high))
    legend = replace(
        legend,
        low=low,
        high=high,
        below=bool((value < low - slack).any()),
        above=bool((value > high + slack).any()),
    )
    return Colours(level, table_of(field.table), legend)


def _span(value: Floats, field: Field) -> tuple[float, float]:
    if not value.size:
        return 0.0, 1.0
    if field.table == AROUND:
        top = float(np.quantile(np.abs(value), STRONG))
        return -top, top
    if field.whole or field.label == "diameter":
        return float(value.min()), float(value.max())
    return min(0.0, float(value.min())), float(np.quantile(value, STRONG))


def _table(*rgb: tuple[int, int, int]) -> Bytes:
    return np.array(rgb, np.uint8)


def table_of(name: str) -> Bytes:
    """Colours of a field: of viridis the part on which dark lines are seen."""
    return colour_table(name, *((0.22, 1.0) if name == MANY else (0.0, 1.0)))


@cache
def colour_table(name: str, begin: float = 0.0, end: float = 1.0) -> Bytes:
    """256 colours of one of matplotlib's maps, or of a part of it, shape (256, 3)."""
    from matplotlib import colormaps

    table: Bytes = (255.0 * colormaps[name](np.linspace(begin, end, 256))[:, :3]).astype(np.uint8)
    return table
