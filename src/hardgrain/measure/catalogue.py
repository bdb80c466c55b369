"""The measurements by name, with labelled data for tables, files and notebooks.

A module of measurements holds plain functions of a `Snapshot` or a run, and names them here with
``@of_frame`` (one frame gives one dataset; over several they are joined along ``time``) or
``@of_run`` (the whole trajectory gives one dataset).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.measure.snapshot import Run, Snapshot, Source, snapshot, snapshots

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Quantity",
    "about",
    "axes",
    "axis_number",
    "ends",
    "find",
    "measure",
    "moments",
    "of_frame",
    "of_run",
    "only_run",
    "quantities",
    "rotation_axes",
]

# The modules that name measurements, in the order of the list that users see.
_MODULES: tuple[str, ...] = (
    "energy",
    "losses",
    "wall_energy",
    "overlaps",
    "structure",
    "correlation",
    "order",
    "voronoi",
    "fabric",
    "orientation",
    "stress",
    "inner_stress",
    "mohr",
    "deforming",
    "membrane",
    "element",
    "cycles",
    "force_statistics",
    "resultants",
    "chains",
    "wall_forces",
    "track",
    "surface",
    "segregation",
    "janssen",
    "flow",
    "displacement",
)


@dataclass(frozen=True)
class Quantity:
    """A measurement with a name."""

    name: str
    about: str  # one line that says what it is
    whole: bool  # whether it needs a whole run, and not just a frame
    # whether it has few numbers a frame, so that all frames are measured by default, else the last
    small: bool
    contacts: bool  # whether it needs frames whose contacts are stored
    compute: Callable[..., xr.Dataset]

    @property
    def options(self) -> dict[str, Any]:
        """Names of the options and their defaults."""
        parameters = inspect.signature(self.compute).parameters.values()
        return {
            p.name: p.default for p in parameters if p.default is not p.empty and p.name != "frames"
        }

    def default(self, option: str) -> str:
        """The default of an option, in words."""
        value = self.options[option]
        if value is None or value == "":
            words = _UNLESS_GIVEN.get((self.name, option)) or _UNLESS_GIVEN.get(("", option))
            return words or "may be left out"
        return f"by default {str(value).lower() if isinstance(value, bool) else value}"


# Options whose default is not a value: what happens without them, in general or for one
# measurement.
_UNLESS_GIVEN = {
    ("", "region"): "two corners; by default the space between the walls",
    ("", "grid"): "cells along each axis; by default about one a mean diameter",
    ("", "width"): "of the kernel; by default a mean diameter, or a cell where cells are larger",
    ("", "axis"): "x, y or z; by default that of gravity",
    ("", "wall"): "required: the name of a wall",
    ("", "by"): "pair or point: contacts of two bodies, by default, or points of these",
    (
        "",
        "along",
    ): "xy: shear along x across y; y: compression along y; by default what the test does",
    ("cycles", "period"): "time of a cycle; by default that of the cell, or between reversals",
    ("orientations", "fold"): "k of psi_k; by default that of the grains' own symmetry",
    ("", "body"): "required: the name of a wall, or the number of a grain",
    ("granular-temperature", "length"): (
        "around each grain, within which the mean velocity is taken; by default all grains"
    ),
    ("pair-correlation", "reach"): "by default five mean diameters, or what fits",
    ("pair-correlation", "margin"): "a rim without centres; by default the smallest radius",
    ("d2min", "reach"): "of neighbours; by default 2.5 mean diameters, at most half a period",
    ("flow-rate", "at"): "required, unless region is given: where the plane lies along the axis",
    ("flow-rate", "region"): "required, unless at is given: two corners of what mass leaves",
    ("flow-rate", "within"): "two corners in the plane; by default all of it",
}

_known: dict[str, Quantity] = {}

Dataset = Callable[..., "xr.Dataset"]


def of_frame(
    name: str, about: str, *, small: bool = True, contacts: bool = False
) -> Callable[[Dataset], Dataset]:
    """Name a function (Snapshot, **options) → Dataset."""

    def named(compute: Dataset) -> Dataset:
        _known[name] = Quantity(name, about, False, small, contacts, compute)
        return compute

    return named


def of_run(name: str, about: str, *, contacts: bool = False) -> Callable[[Dataset], Dataset]:
    """Name a function (source, frames, **options) → Dataset."""

    def named(compute: Dataset) -> Dataset:
        _known[name] = Quantity(name, about, True, True, contacts, compute)
        return compute

    return named


def quantities() -> dict[str, Quantity]:
    """All measurements by name."""
    for module in _MODULES:
        importlib.import_module(f"hardgrain.measure.{module}")
    # the order is that of the list, whichever modules were imported before
    place = {f"hardgrain.measure.{module}": k for k, module in enumerate(_MODULES)}
    return dict(sorted(_known.items(), key=lambda item: place[item[1].compute.__module__]))


def measure(
    source: Source, name: str, frames: Sequence[int] | None = None, **options: Any
) -> xr.Dataset:
    """A measurement by name as labelled data, joined along ``time`` where frames are several.

    ``frames`` are given by their numbers. By default all frames of a run are measured, or the last
    for what has many values a frame.
    """
    needed("xarray")
    import xarray as xr

    quantity = find(name)
    options = {option: _checked(quantity, option, value) for option, value in options.items()}
    if quantity.whole:
        return quantity.compute(source, frames, **options)
    if frames is None and not quantity.small:
        frames = (-1,)
    parts = [
        quantity.compute(snap, **options).expand_dims(time=[snap.time])
        for snap in moments(source, frames, contacts=quantity.contacts)
    ]
    joined = xr.concat(
        parts,
        "time",
        data_vars="all",
        coords="different",
        compat="equals",
        join="outer",
        combine_attrs="override",
    )
    joined.time.attrs = about("time", "simulated time")
    return joined


def find(name: str) -> Quantity:
    """A measurement by its name; near ones are suggested."""
    known = quantities()
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "hardgrain measure --list shows all"
        )
        raise InputError(f"there is no measurement {name!r}; {hint}")
    return known[name]


# What an option may be, by the annotation of the parameter.
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda x: isinstance(x, int) and not isinstance(x, bool), "a whole number"),
    "float": (lambda x: isinstance(x, int | float) and not isinstance(x, bool), "a number"),
    "bool": (lambda x: isinstance(x, bool), "true or false"),
    "str": (lambda x: isinstance(x, str), "a word"),
    "Sequence[int]": (
        lambda x: isinstance(x, Sequence) and all(isinstance(k, int) for k in x),
        "whole numbers such as 20x30",
    ),
    "Sequence[Sequence[float]]": (
        lambda x: isinstance(x, Sequence) and not isinstance(x, str),
        "two corners such as 0,0:20,10",
    ),
}


def _checked(quantity: Quantity, option: str, value: Any) -> Any:
    """An option's value, if the measurement has the option and the value makes sense for it."""
    known = quantity.options
    if option not in known:
        has = f"its options are {', '.join(known)}" if known else "it has none"
        raise InputError(f"{quantity.name} has no option {option!r}; {has}")
    annotation = str(inspect.signature(quantity.compute).parameters[option].annotation)
    kind = annotation.removesuffix(" | None")
    if kind not in _TYPES or (value is None and kind != annotation):
        return value
    fits, words = _TYPES[kind]
    if not fits(value):
        raise InputError(f"{option} is {value!r}; give {words}")
    return value


# ---------------------------------------------------------------------- for measurements
def about(units: str, name: str) -> dict[str, str]:
    """Attributes of labelled data that say what a value is."""
    return {"units": units, "long_name": name}


def axes(dim: int) -> list[str]:
    """Labels of the components of a vector."""
    return list("xyz"[:dim])


def rotation_axes(dim: int) -> list[str]:
    """Labels of the components of a torque or spin."""
    return ["z"] if dim == 2 else axes(dim)


def axis_number(name: str, dim: int) -> int:
    """An axis by its label."""
    if name not in axes(dim):
        raise InputError(f"axis is {name!r}; give one of {', '.join(axes(dim))}")
    return axes(dim).index(name)


def moments(
    source: Source, frames: Sequence[int] | None = None, *, contacts: bool = False
) -> Iterator[Snapshot]:
    """The snapshots to measure, one at a time: frames of a run, or the only one that there is.

    Without a choice of frames, those that have grains and, with ``contacts``, stored contacts.
    """
    if not hasattr(source, "__len__"):
        yield snapshot(source)
        return
    run: Run = source  # type: ignore[assignment]
    some = False
    for snap in snapshots(run, frames):
        if not snap.n and frames is not None:
            raise InputError(f"no grain is there at step {snap.state.step}; choose other frames")
        if snap.n and (snap.stored or not contacts or frames is not None):
            some = True
            yield snap
    if not some:
        raise InputError(
            "none of the frames stored contacts; run again with output.contacts_every = 1"
            if frames is None
            else "frames names no frame of the run"
        )


def ends(source: Source, frames: Sequence[int] | None = None) -> list[Snapshot]:
    """The first and the last of the snapshots to measure."""
    if not hasattr(source, "__len__"):
        return [snapshot(source)]
    return [snapshot(source, k) for k in ((0, -1) if frames is None else (frames[0], frames[-1]))]


def only_run(source: Source, name: str) -> Run:
    """A source that must be a run file."""
    if not hasattr(source, "__len__"):
        raise InputError(f"{name} needs a run file: it follows grains over time")
    return source  # type: ignore[return-value]
