"""Extended XYZ, for OVITO, ASE and scripts: written, and read as packings.

A frame is a line with the number of grains, a line with ``Lattice`` (the edges of the box, aslant
where the periodic cell is tilted), ``Origin``, ``pbc``, ``Properties``, ``Time`` and ``Step``, and
a line for each grain: id, type (the material), radius, mass, pos (in the periodic cell), unwrapped,
velo, omega, coordination. Along axes that are not periodic the box holds all grains of the frame
and some room. Where the cell deforms, velocities are those relative to its affine motion. Every
number is written so that it is read back exactly.

Grains that are not round have three properties more: orientation (a quaternion x, y, z, w, as OVITO
has them), shape (the row of the run's table of shapes, from 1) and size (the unit of length of that
shape). The shapes themselves have no place here; GSD and VTKHDF hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.io.foreign import Foreign, pick_frame
from hardgrain.io.solid import (
    box_of,
    cell_numbers,
    coordination,
    kinds,
    quaternion,
    spins,
    xyz,
)
from hardgrain.io.textrows import (
    TextFile,
    at_line,
    grains_of,
    lines_of,
    split_rows,
    whole_number,
)
from hardgrain.measure.snapshot import Run, Snapshot

__all__ = ["ExtendedXyz", "read_xyz"]

_PROPERTIES = (
    "id:I:1:type:S:1:radius:R:1:mass:R:1:pos:R:3:unwrapped:R:3:velo:R:3:omega:R:3:coordination:I:1"
)
_SHAPED = ":orientation:R:4:shape:I:1:size:R:1"
# Our names for the properties of a file, one for each of their columns.
_KNOWN = {
    "id": ("id",),
    "species": ("type",),
    "type": ("type",),
    "radius": ("radius",),
    "diameter": ("diameter",),
    "pos": ("x", "y", "z"),
    "unwrapped": ("xu", "yu", "zu"),
    "velo": ("vx", "vy", "vz"),
    "vel": ("vx", "vy", "vz"),
    "velocities": ("vx", "vy", "vz"),
    "omega": ("omegax", "omegay", "omegaz"),
}


_MOST = 1000  # [columns] limit against damaged files, since each column becomes a name


class ExtendedXyz(TextFile):
    """Writes snapshots as the frames of an extended XYZ file."""

    def __init__(self, path: Path, run: Run) -> None:
        self._kinds = [re.sub(r"\s+", "_", name) for name in kinds(run)]
        super().__init__(path, run)

    def append(self, snap: Snapshot) -> None:
        """Add one frame to the file."""
        box, n, x = box_of(snap), snap.n, xyz(snap.position)
        columns = [
            snap.id + 1, [self._kinds[k] for k in snap.model.group.tolist()],
            snap.radius, snap.mass, *box.inside(snap).T, *x.T,
            *xyz(snap.velocity).T, *spins(snap.spin).T, coordination(snap),
        ]  # fmt: skip
        names = _PROPERTIES
        if not snap.model.round:
            own, turned = snap.model.solids, quaternion(snap.state.orientation[:n])
            columns += [*turned[:, [1, 2, 3, 0]].T, own.shape + 1, own.size]
            names += _SHAPED
        origin = " ".join(map(repr, box.low.tolist()))
        lattice = " ".join(map(repr, box.edges.T.ravel().tolist()))
        pbc = " ".join("FT"[int(p)] for p in box.periodic)
        self._file.write(
            f'{n}\nLattice="{lattice}" Origin="{origin}"'
            f' pbc="{pbc}" Properties={names} Time={snap.time!r} Step={snap.state.step}\n'
        )
        self._file.write(lines_of(columns))


def read_xyz(path: Path, frame: int) -> Foreign:
    """Grains of a frame of an extended XYZ file."""
    with path.open("rb") as file:
        starts = list(_starts(path, file))
        offset, line, count = starts[pick_frame(path, frame, len(starts))]
        file.seek(offset)
        comment = file.readline().decode(errors="replace")
        text = [row.decode(errors="replace") for row in islice(file, count)]
    found = re.search(r'Properties="?([^\s"]+)', comment)
    if found is None:
        raise at_line(
            path, line, "there are no Properties=…; plain XYZ has no radii, extended XYZ is needed"
        )
    names = _columns(path, line, found[1])
    rows = split_rows(path, list(enumerate(text, line + 1)), len(names))
    return replace(grains_of(path, names, rows, line), cell=_cell(comment))


def _cell(comment: str) -> Floats | None:
    """The periodic cell that a comment tells, as far as it is one of ours."""
    lattice = re.search(r'Lattice="([^"]*)"', comment)
    pbc = re.search(r'pbc="\s*([TF])\s+([TF])\s+([TF])\s*"', comment)
    try:
        edges = np.array((lattice[1] if lattice else "").split(), float).reshape(3, 3).T
    except ValueError:
        return None
    return cell_numbers(edges, [flag == "T" for flag in pbc.groups()] if pbc else [True] * 3)


def _starts(path: Path, file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Offset [byte] and line of the comment of each frame, and its number of grains."""
    offset, line = 0, 0
    while head := file.readline():
        line += 1
        if not head.strip():
            offset += len(head)
            continue
        text = head.decode(errors="replace").strip()
        count = whole_number(text)
        if count is None:
            raise at_line(path, line, f"{text[:40]!r} stands where a number of grains is expected")
        offset += len(head)
        yield offset, line + 1, count
        size = [len(row) for row in islice(file, count + 1)]
        if len(size) < count + 1:
            raise InputError(
                f"{path} ends at line {line + len(size)}; the frame there needs {count} grains"
            )
        offset, line = offset + sum(size), line + len(size)


def _columns(path: Path, line: int, text: str) -> list[str]:
    """Names of all columns."""
    parts = text.split(":")
    widths = [whole_number(width) for width in parts[2::3]]
    if len(parts) % 3 or not all(widths) or sum(filter(None, widths)) > _MOST:
        raise at_line(path, line, f"Properties={text[:80]} is not a list of name:kind:columns")
    names: list[str] = []
    for name, width in zip(parts[::3], filter(None, widths)):
        known = _KNOWN.get(name.lower(), ())
        names += known if len(known) == width else [f"{name}.{k}" for k in range(width)]
    return names
