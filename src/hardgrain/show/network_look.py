"""The look of a force network: what widths and colours stand for, and their scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.forces.packing import Packing
from hardgrain.io.runfile import RunFile
from hardgrain.measure.snapshot import Snapshot
from hardgrain.show import plane
from hardgrain.show.colour import (
    PLAIN,
    GrainField,
    grain_field,
    limits,
)
from hardgrain.show.contact_lines import Lines, bent_lines, force_lines

if TYPE_CHECKING:
    pass

__all__ = ["LINES", "Look", "Scale", "Shade", "scale"]

STRONG = 0.99  # quantile of the forces that gets the widest line; larger ones would dwarf the rest

# [largest radius] arms of contacts that are less off the normal belong to round grains
STRAIGHT = 1e-9

LINES = {
    "force": "width and colour give the normal force",
    "friction": "width gives the normal force, colour friction over its limit, with its sign in 2D",
    "none": "no lines",
}


@dataclass(frozen=True)
class Shade:
    """Contacts, all of them, in the colour of something other than the force that they bear."""

    packing: Packing
    value: Floats  # (m,) zero and infinity have colours of their own
    label: str
    zero: str  # what a value of zero means
    infinite: str

    def lines(self) -> Lines:
        p = self.packing
        to_grain = (p.second < p.radius.size)[:, None]
        along = np.einsum("ka,ka->k", p.arm_first, p.normal)[:, None] * p.normal
        if np.abs(p.arm_first - along).max(initial=0.0) > STRAIGHT * p.radius.max(initial=0.0):
            beyond = np.where(to_grain, -p.arm_second, 0.0)
            first = p.first.astype(np.int32)
            return bent_lines(first, p.arm_first, beyond, p.components[:, 0], self.value)
        reach = p.radius[p.first]
        grains = p.second < p.radius.size
        reach[grains] += p.radius[p.second[grains]]
        return Lines(
            p.first.astype(np.int32), reach[:, None] * p.normal, p.components[:, 0], self.value
        )


@dataclass(frozen=True)
class Look:
    """What colours and lines stand for."""

    colour: str = PLAIN  # field of the grains, see `hardgrain.show.colour`
    lines: str = "force"  # one of LINES
    shade: Shade | None = None
    run: RunFile | None = None  # needed for colours that show motion from frame to frame

    def __post_init__(self) -> None:
        if self.lines not in LINES:
            raise InputError(f"lines is {self.lines!r}; known are: {', '.join(LINES)}")

    def seen(self, snap: Snapshot) -> Lines | None:
        if self.shade is not None:
            return self.shade.lines()
        return None if self.lines == "none" else force_lines(snap, self.lines == "friction")

    def field(self, snap: Snapshot) -> GrainField | None:
        return None if self.colour == PLAIN else grain_field(snap, self.colour, self.run)


@dataclass(frozen=True, eq=False)
class Scale:
    """What stays the same from frame to frame: the view, and what widths and colours mean."""

    box: Floats  # (2, 2) lower and upper corner of the view [length]
    force: float  # force of the widest lines
    value: float  # value at the end of the lines' colours
    field: tuple[float, float]  # values at the ends of the grains' colours


def scale(snaps: Iterable[Snapshot], look: Look, box: Floats | None = None) -> Scale:
    """The scale that fits these frames; only the values of each are kept.

    Forces are scaled for the typical frame, as impacts would make all others thin.
    """
    corners, forces, values, fields = [], [], [], []
    field: GrainField | None = None
    for snap in snaps:
        corners.append(np.array(plane.bounds(snap)) if box is None else box)
        lines = look.seen(snap) if snap.stored else None
        if lines is not None and lines.force.size:
            forces.append(_strong(lines.force))
            values.append(_strong(lines.value))
        if (field := look.field(snap)) is not None:
            fields.append(field.drawn)
    low, high = np.min([c[0] for c in corners], axis=0), np.max([c[1] for c in corners], axis=0)
    return Scale(
        np.array([low, high]),
        float(np.median(forces)) if forces else 0.0,
        1.0 if look.lines == "friction" else float(np.median(values)) if values else 0.0,
        (0.0, 1.0) if field is None else limits(field, np.concatenate(fields)),
    )


def _strong(values: Floats) -> float:
    size = np.abs(values[np.isfinite(values)])
    return float(np.quantile(size, STRONG)) if size.size else 0.0
