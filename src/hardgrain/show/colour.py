"""Grains in the colour of a field: what fields there are, and which colours suit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import Quantity, quantities
from hardgrain.measure.chains import force_chains
from hardgrain.measure.deformed import Deformed
from hardgrain.measure.snapshot import Run, Snapshot
from hardgrain.measure.stress import grain_stress, stress_units
from hardgrain.measure.structure import clusters, contact_numbers
from hardgrain.scene.grain_shape import frames, longest, sides
from hardgrain.show.style import COLOURS, colour_map

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

__all__ = [
    "FIELDS", "NONE", "PLAIN", "Bytes", "Field", "GrainField", "as_bytes", "field_map",
    "fields_of", "grain_field", "levels", "limits", "name_key", "paint", "table_of",
]  # fmt: skip

Bytes = NDArray[np.uint8]

PLAIN = "plain"
NONE = "#d9d5cc"  # colour of grains whose value is not known, or that have no name
OTHERS = "#969696"  # colour shared by the names that are too many for one of their own
SEEN = (0.22, 1.0)  # part of viridis that is bright enough for dark lines
# share of the values that the colours span; the few beyond would hide differences of the rest
TRIM = 0.99


@dataclass(frozen=True)
class Field:
    """A number for each grain, by name."""

    about: str
    unit: str
    kind: str  # "size": from zero; "value": as it comes; "signed": about zero; "name": a number
    compute: Callable[[Snapshot], Floats]
    contacts: bool = False  # whether the field needs contacts
    # what varies within grains that deform, by element; `compute` gives its mean over each of them
    inside: Callable[[Deformed], Floats] | None = None
    label: str = ""  # beside a colour bar; default: the name


@dataclass(frozen=True, eq=False)
class GrainField:
    """Values of a field in a frame."""

    value: Floats  # (n,)
    label: str
    unit: str
    kind: str
    inside: Floats | None = None  # (e,) by element of grains that deform; None: one value a grain

    @property
    def drawn(self) -> Floats:
        """The values that colours stand for."""
        return self.value if self.inside is None else self.inside


def _along(axis: int) -> Callable[[Snapshot], Floats]:
    """Velocities along an axis, in space where the cell deforms."""

    def velocity(snap: Snapshot) -> Floats:
        return snap.in_space(snap.wrapped)[:, axis]

    return velocity


def _speed(snap: Snapshot) -> Floats:
    speed: Floats = np.linalg.norm(snap.in_space(snap.wrapped), axis=1)
    return speed


def _spin(snap: Snapshot) -> Floats:
    spin: Floats = snap.spin[:, 0] if snap.dim == 2 else np.linalg.norm(snap.spin, axis=1)
    return spin


def _force(snap: Snapshot) -> Floats:
    c = snap.contacts
    both = np.concatenate([c.first, c.second])
    total = np.bincount(both, np.tile(snap.normal_force, 2), minlength=snap.model.bodies)
    return total[: snap.n].astype(float)


def _pressure(snap: Snapshot) -> Floats:
    pressure: Floats = np.trace(grain_stress(snap), axis1=1, axis2=2) / snap.dim
    return pressure


def _cluster(snap: Snapshot) -> Floats:
    """Number of a grain's cluster, the largest 0; single grains have none, −1."""
    number = clusters(snap)
    shown: Floats = np.where(np.bincount(number)[number] > 1, number, -1.0)
    return shown


def _chain(snap: Snapshot) -> Floats:
    """Number of a grain's force chain, the longest 0; grains in none have −1."""
    number = np.full(snap.n, -1.0)
    for k, chain in enumerate(force_chains(snap)):
        number[chain] = k
    return number


def _heading(snap: Snapshot) -> Floats:
    """Direction of a grain's long axis, or of the first axis of its own frame if it has none.

    In 2D it is the angle to x, from 0 to 180°; in 3D that to the last axis, from 0 to 90°.
    """
    turned = snap.state.orientation[: snap.n]
    if snap.dim == 2:
        long = np.zeros(snap.n)
        if not snap.model.round:
            along = longest(snap.model.solids, snap.dim)[:, :2]
            long = np.arctan2(along[:, 1], along[:, 0])[snap.model.solids.shape]
        heading: Floats = np.mod(np.degrees(turned[:, 0] + long), 180.0)
        return heading
    own = np.eye(3)[:1]
    if not snap.model.round:
        own = longest(snap.model.solids, snap.dim)[snap.model.solids.shape]
    axis = np.einsum("iab,ib->ia", frames(turned), np.broadcast_to(own, (snap.n, 3)))
    tilt: Floats = np.degrees(np.arccos(np.clip(np.abs(axis[:, 2]), 0.0, 1.0)))
    return tilt


def _inner(
    about: str, unit: str, kind: str, label: str, inside: Callable[[Deformed], Floats]
) -> Field:
    """A field that varies within grains that deform; rigid ones have none, NaN."""

    def mean(snap: Snapshot) -> Floats:
        mesh = snap.mesh
        if mesh is None:
            return np.full(snap.n, np.nan)
        weight = mesh.of_grains(mesh.at_rest, snap.n)
        total = mesh.of_grains(mesh.at_rest * inside(mesh), snap.n)
        return total / np.where(weight > 0.0, weight, np.nan)

    return Field(about, unit, kind, mean, False, inside, label)


def _sides(snap: Snapshot) -> Floats:
    return np.zeros(snap.n) if snap.model.round else sides(snap.model.solids).astype(float)


def _shape(snap: Snapshot) -> Floats:
    return np.zeros(snap.n) if snap.model.round else snap.model.solids.shape.astype(float)


FIELDS: dict[str, Field] = {
    "speed": Field("magnitude of the velocity", "length/time", "size", _speed),
    "velocity-x": Field("velocity along x", "length/time", "signed", _along(0)),
    "velocity-y": Field("velocity along y", "length/time", "signed", _along(1)),
    "velocity-z": Field("velocity along z", "length/time", "signed", _along(2)),
    "spin": Field("angular velocity (3D: its magnitude)", "radian/time", "signed", _spin),
    "force": Field("sum of the normal forces on a grain", "force", "size", _force, True),
    "pressure": Field("mean stress in a grain", "stress", "size", _pressure, True),
    "stress": _inner(
        "von Mises stress within grains that deform",
        "stress",
        "size",
        "von Mises stress",
        lambda mesh: mesh.von_mises,
    ),
    "inner-pressure": _inner(
        "mean stress within grains that deform",
        "stress",
        "signed",
        "pressure within grains",
        lambda mesh: mesh.pressure,
    ),
    "strain-energy": _inner(
        "density of elastic energy within grains that deform",
        "stress",
        "size",
        "elastic energy density",
        lambda mesh: mesh.energy,
    ),
    "coordination": Field(
        "contacts that bear a force", "1", "size", lambda s: contact_numbers(s).astype(float), True
    ),
    "cluster": Field(
        "cluster of contacts that bear a force, largest first", "1", "name", _cluster, True
    ),
    "chain": Field("force chain, longest first", "1", "name", _chain, True),
    "radius": Field(
        "radius, of the smallest ball that holds a grain", "length", "value", lambda s: s.radius
    ),
    "heading": Field(
        "direction of the long axis (2D: angle to x, 3D: to z)", "degree", "value", _heading
    ),
    "sides": Field("straight sides, in 3D flat faces", "1", "value", _sides),
    "shape": Field("shape, as a row of the table of shapes", "1", "name", _shape),
    "mass": Field("mass", "mass", "value", lambda s: s.mass),
    "id": Field("number of the grain", "1", "value", lambda s: s.id.astype(float)),
    "set": Field(
        "set of grains, in the order of the scenario",
        "1",
        "name",
        lambda s: s.model.group.astype(float),
    ),
    "material": Field("material", "1", "name", lambda s: s.model.material[: s.n].astype(float)),
}
_SHAPED = {"heading", "sides", "shape"}  # fields that say nothing about disks and balls
_ALIAS = {
    "von-mises": "stress",
    "velocity": "speed",
    "rotation": "spin",
    "group": "set",
    "orientation": "heading",
}


def fields_of(dim: int, round: bool = True, rigid: bool = True) -> list[str]:
    """Names of the fields that grains have in a dimension; shapes and what deforms have more."""
    without = {"velocity-z"} if dim == 2 else set()
    without |= _SHAPED if round else set()
    without |= {name for name in FIELDS if FIELDS[name].inside} if rigid else set()
    return [name for name in FIELDS if name not in without]


def grain_field(snap: Snapshot, name: str, run: Run | None = None) -> GrainField:
    """A field by name: one of ``FIELDS``, or any measurement that gives a number for each grain.

    Where a measurement gives several, one is chosen by a dot: ``voronoi.volume``. Measurements of
    motion, such as ``d2min``, need the ``run`` and are from the frame before this one.
    """
    name = _ALIAS.get(name, name)
    if name in FIELDS:
        field = FIELDS[name]
        if name == "velocity-z" and snap.dim == 2:
            raise InputError("colour is 'velocity-z', but the run is in 2D")
        kind = "size" if name == "spin" and snap.dim == 3 else field.kind
        unit = stress_units(snap.dim) if field.unit == "stress" else field.unit
        words = field.about if name == unit else field.label or name.replace("-", " ")
        inside = None
        if field.inside is not None:
            if snap.mesh is None:
                raise InputError(
                    f"colour is {name!r}, but no grain of the run deforms; 'pressure' is the mean"
                    " stress in rigid ones"
                )
            inside = field.inside(snap.mesh)
        return GrainField(field.compute(snap), words, unit, kind, inside)
    measurement, _, variable = name.partition(".")
    known = quantities()
    if measurement not in known or (known[measurement].whole and run is None):
        near = get_close_matches(name, [PLAIN, *FIELDS, *_ALIAS, *known], n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are: {', '.join([PLAIN, *FIELDS])}"
        raise InputError(f"colour is {name!r}, which is no field of grains; {hint}")
    data = _measured(known[measurement], snap, run)
    per_grain = [str(v) for v in data.data_vars if data[v].dims == ("grain",)]
    if not per_grain or (variable and variable not in per_grain):
        choice = f"choose from: {', '.join(per_grain)}" if per_grain else "it has one of the whole"
        raise InputError(
            f"colour is {name!r}; {measurement} gives no such number a grain, {choice}"
        )
    chosen: Any = data[variable or per_grain[0]]
    words = str(chosen.attrs.get("long_name", chosen.name)).replace("_", " ")
    words += ", since the frame before" * known[measurement].whole
    value, numbers = np.full(snap.n, np.nan), np.asarray(data["grain"])
    here = np.isin(numbers, snap.id)  # only grains that were there before have moved
    value[np.searchsorted(snap.id, numbers[here])] = chosen.to_numpy()[here]
    return GrainField(value, words, str(chosen.attrs.get("units", "")), "value")


def _measured(quantity: Quantity, snap: Snapshot, run: Run | None) -> Any:
    """A measurement of a frame; motion is that since the frame before, or to the second."""
    if not quantity.whole:
        return quantity.compute(snap)
    assert run is not None
    frame = int(np.searchsorted(run.step, snap.state.step))
    last = max(frame, 1)
    return quantity.compute(run, [last - 1, last] if len(run) > 1 else [0])


def limits(field: GrainField, value: Floats) -> tuple[float, float]:
    """Ends of the colour scale for these values of a field, which may be of several frames."""
    some = value[np.isfinite(value)]
    if some.size == 0:
        return 0.0, 1.0
    if field.kind == "signed":
        top = float(np.quantile(np.abs(some), TRIM)) or 1.0
        return -top, top
    low, high = (float(np.quantile(some, q)) for q in (1.0 - TRIM, TRIM))
    if field.kind == "size":
        low, high = 0.0, high if high > 0.0 else float(some.max())
    return (low, high) if high > low else (low, low + 1.0)


def field_map(kind: str) -> Colormap:
    """The map of a kind of field: viridis, or blue to red, pale in the middle, for signs."""
    return colour_map("coolwarm") if kind == "signed" else colour_map("viridis", SEEN)


def name_key(field: GrainField, names: Sequence[str] = ()) -> list[tuple[str, Floats]]:
    """What the colours of a field of names mean: a word and a colour, (3,) from 0 to 1, each."""
    table = table_of("name") / 255.0
    found = np.unique(field.value[np.isfinite(field.value)]).astype(int)
    own = [k for k in found if 0 <= k < len(table) - 2]
    word = field.label.partition(",")[0]
    key = [(names[k] if k < len(names) else f"{word} {k}", table[k]) for k in own]
    if found.size and found[-1] >= len(table) - 2:
        key.append(("all others", table[-2]))
    if found.size and found[0] < 0:
        key.append(("none", table[-1]))
    return key


def as_bytes(colours: Colormap) -> Bytes:
    """The 256 colours of a map, (256, 3)."""
    table: Bytes = (255.0 * colours(np.arange(256))[:, :3]).astype(np.uint8)
    return table


@cache
def table_of(kind: str) -> Bytes:
    """Colours of a kind of field (k, 3), from its map or names; the last is that of no value."""
    from matplotlib.colors import to_rgb

    def rows(*names: str) -> Bytes:
        return np.rint([[255.0 * x for x in to_rgb(name)] for name in names]).astype(np.uint8)

    first = rows(*COLOURS[1:], OTHERS) if kind == "name" else as_bytes(field_map(kind))
    return np.vstack([first, rows(NONE)])


def levels(field: GrainField, span: tuple[float, float], inside: bool = False) -> NDArray[np.intp]:
    """The row of each grain, or of each element inside of grains, in ``table_of(field.kind)``."""
    last, given = len(table_of(field.kind)) - 1, field.drawn if inside else field.value
    known = np.isfinite(given)
    value = np.where(known, given, -1.0)
    if field.kind == "name":
        return np.where(value < 0.0, last, np.minimum(value, last - 1)).astype(np.intp)
    low, high = span
    share = np.clip((value - low) / (high - low), 0.0, 1.0)
    return np.where(known, np.minimum(share * last, last - 1), last).astype(np.intp)


def paint(field: GrainField, span: tuple[float, float], inside: bool = False) -> Floats:
    """Colours (n, 3) of the grains, or (e, 3) of the elements inside of them, from 0 to 1."""
    painted: Floats = table_of(field.kind)[levels(field, span, inside)] / 255.0
    return painted
