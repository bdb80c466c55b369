"""Colours of the grains of a frame with their legend, as any client can show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.measure.snapshot import Snapshot
from hardgrain.show.colour import (
    FIELDS,
    NONE,
    PLAIN,
    Bytes,
    fields_of,
    grain_field,
    levels,
    limits,
    table_of,
)

__all__ = ["Colours", "Legend", "coloured", "names", "needs_contacts"]

STONE = "#cec9be"  # colour of grains without a field


@dataclass(frozen=True)
class Legend:
    """The legend: what the colours mean."""

    label: str = ""
    unit: str = ""
    kind: str = ""  # kind of the field; empty if all grains have one colour
    low: float = 0.0
    high: float = 1.0  # largest value; for names, how many there are
    below: bool = False  # whether some values lie beyond the ends
    above: bool = False
    note: str = ""


@dataclass(frozen=True)
class Colours:
    """Colours as rows of a table, which a client may adapt to its screen."""

    level: NDArray[np.intp]  # (n,)
    table: Bytes  # (k, 3)
    legend: Legend
    # (e,) of each element of grains that deform, where the field varies within them
    inside: NDArray[np.intp] | None = None


def names(dim: int, round: bool = True, rigid: bool = True) -> tuple[str, ...]:
    """Names of the fields by which grains can be coloured; shapes and what deforms have more."""
    return (PLAIN, *fields_of(dim, round, rigid))


def needs_contacts(name: str) -> bool:
    """Whether a field is known only in frames with contacts."""
    return name != PLAIN and FIELDS[name].contacts


def coloured(snap: Snapshot, name: str, span: tuple[float, float] | None = None) -> Colours:
    """Colours of all grains by a field; its range is that of the frame unless it is given."""
    if name == PLAIN:
        return _even(snap, STONE)
    if needs_contacts(name) and not snap.stored:
        return _even(snap, NONE, "not known: this frame was stored without its contacts")
    field = grain_field(snap, name)
    legend = Legend(FIELDS[name].about, field.unit, field.kind)
    value = field.drawn
    low, high = span or limits(field, value)
    if field.kind == "name":
        found = len(np.unique(field.value[field.value >= 0]))
        legend = replace(legend, high=float(found))
    else:
        slack = 1e-9 * max(abs(low), abs(high))
        below, above = (bool(x.any()) for x in (value < low - slack, value > high + slack))
        legend = replace(legend, low=low, high=high, below=below, above=above)
    inside = None if field.inside is None else levels(field, (low, high), inside=True)
    return Colours(levels(field, (low, high)), table_of(field.kind), legend, inside)


def _even(snap: Snapshot, colour: str, note: str = "") -> Colours:
    """One colour for all grains."""
    table = np.array([list(bytes.fromhex(colour[1:]))], np.uint8)
    return Colours(np.zeros(snap.n, np.intp), table, Legend(note=note))
