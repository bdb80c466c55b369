"""The measurements by name, with labelled data for tables, files and notebooks.

A module of measurements holds plain functions of a `Snapshot` or a run, and names them here with
``@of_frame`` (one frame gives one dataset; over several they are joined along ``time``) or
``@of_run`` (the whole trajectory gives one dataset).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from hardgrain.errors import InputError
from hardgrain.measure.snapshot import Run, Source, snapshot, snapshots

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Quantity", "measure", "of_frame", "of_run", "quantities"]

# The modules that name measurements, in the order of the list that users see.
_MODULES: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quantity:
    """A measurement with a name."""

    name: str
    about: str  # one line for humans
    whole: bool  # of a whole run, not of a frame
    small: bool  # a few numbers a frame: measured in all frames unless told; else in the last
    contacts: bool  # needs frames whose contacts are stored
    compute: Callable[..., xr.Dataset]


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
    """Name a function (run, frames, **options) → Dataset."""

    def named(compute: Dataset) -> Dataset:
        _known[name] = Quantity(name, about, True, True, contacts, compute)
        return compute

    return named


def quantities() -> dict[str, Quantity]:
    """All measurements by name."""
    for module in _MODULES:
        importlib.import_module(f"hardgrain.measure.{module}")
    return _known


def measure(
    source: Source, name: str, frames: Sequence[int] | None = None, **options: Any
) -> xr.Dataset:
    """A measurement by name as labelled data, joined along ``time`` where frames are several."""
    import xarray as xr

    known = quantities()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "hardgrain measure --list shows all"
        raise InputError(f"there is no measurement {name!r}; {hint}")
    quantity = known[name]
    if not hasattr(source, "__len__"):  # a simulation or a snapshot
        if quantity.whole:
            raise InputError(f"{name} needs a run file: it follows grains over time")
        snap = snapshot(source)
        return quantity.compute(snap, **options).expand_dims(time=[snap.time])
    run: Run = source  # type: ignore[assignment]
    if frames is None:
        frames = range(len(run)) if quantity.small else (len(run) - 1,)
    if quantity.whole:
        return quantity.compute(run, frames, **options)
    parts = (
        quantity.compute(snap, **options).expand_dims(time=[snap.time])
        for snap in snapshots(run, frames)
        if snap.stored or not quantity.contacts or not quantity.small
    )
    found = list(parts)
    if not found:
        raise InputError(
            f"{name} needs contacts, and none of these frames stored them; run again with"
            " output.contacts_every = 1"
        )
    return xr.concat(found, "time", combine_attrs="override")
