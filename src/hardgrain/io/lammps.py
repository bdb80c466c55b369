"""LAMMPS dumps (text), for LAMMPS, LIGGGHTS and OVITO: written, and read as packings.

Columns id, type (the set of grains, from 1), radius, mass, x y z (in the periodic cell), xu yu zu
(not wrapped), vx vy vz, omegax omegay omegaz. Along axes that are not periodic (``ff``) the box
holds all grains of the frame and some room. A tilted cell has the bounds of a triclinic box; where
it deforms, velocities are those relative to its affine motion. Disks lie in a box as LAMMPS has it
in two dimensions, periodic along z from −0.5 to 0.5. Every number is written so that it is read
back exactly.

Grains that are not round have six columns more: quatw quati quatj quatk (the orientation), shape
(the row of the run's table of shapes, from 1) and size (the unit of length of that shape). The
shapes themselves have no place in a dump, and radius is that of the smallest ball around the grain;
OVITO draws such grains as balls unless it is given a mesh for them. GSD and VTKHDF hold the shapes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.io.foreign import Foreign, pick_frame
from hardgrain.io.solid import box_of, cell_numbers, quaternion, spins, xyz
from hardgrain.io.textrows import (
    TextFile,
    at_line,
    grains_of,
    lines_of,
    split_rows,
    whole_number,
)
from hardgrain.measure.snapshot import Snapshot

__all__ = ["LammpsDump", "read_lammps"]

_COLUMNS = "id type radius mass x y z xu yu zu vx vy vz omegax omegay omegaz"
_SHAPED = " quatw quati quatj quatk shape size"


class LammpsDump(TextFile):
    """Writes snapshots as the frames of a dump."""

    def append(self, snap: Snapshot) -> None:
        """Add one frame to the file."""
        box, n = box_of(snap), snap.n
        x = xyz(snap.position)
        flags = ["pp" if p else "ff" for p in box.periodic]
        if snap.dim == 2:
            flags[2] = "pp"
        ends, tilts = np.stack([box.low, box.high], axis=1), box.tilts
        if tilts.any():
            ends = np.column_stack([ends + _beyond(tilts), tilts])
            flags = ["xy", "xz", "yz", *flags]
        bounds = "".join(" ".join(map(repr, row)) + "\n" for row in ends.tolist())
        columns = [
            snap.id + 1, snap.model.group + 1, snap.radius, snap.mass,
            *box.inside(snap).T, *x.T,
            *xyz(snap.velocity).T, *spins(snap.spin).T,
        ]  # fmt: skip
        names = _COLUMNS
        if not snap.model.round:
            own = snap.model.solids
            columns += [*quaternion(snap.state.orientation[:n]).T, own.shape + 1, own.size]
            names += _SHAPED
        self._file.write(
            f"ITEM: TIMESTEP\n{snap.state.step}\nITEM: NUMBER OF ATOMS\n{n}\n"
            f"ITEM: BOX BOUNDS {' '.join(flags)}\n{bounds}ITEM: ATOMS {names}\n"
        )
        self._file.write(lines_of(columns))


def _beyond(tilts: Floats) -> Floats:
    """How far a tilted box reaches beyond its ends without tilts, below and above, shape (3, 2)."""
    xy, xz, yz = tilts.tolist()
    far = [(0.0, xy, xz, xy + xz), (0.0, yz), (0.0,)]
    return np.array([(min(some), max(some)) for some in far])


def read_lammps(path: Path, frame: int) -> Foreign:
    """Grains of a frame of a dump."""
    with path.open("rb") as file:
        starts = _starts(file)
        if not starts:
            raise InputError(f"{path} is not a LAMMPS dump in text: it has no ITEM: TIMESTEP")
        offset, line = starts[pick_frame(path, frame, len(starts))]
        file.seek(offset)
        return _read_frame(path, file, line)


def _starts(file: BinaryIO) -> list[tuple[int, int]]:
    """Where each frame begins: its offset [byte] and its line, counted from 1."""
    starts, offset = [], 0
    for number, line in enumerate(file, 1):
        if line.startswith(b"ITEM: TIMESTEP"):
            starts.append((offset, number))
        offset += len(line)
    return starts


def _read_frame(path: Path, file: BinaryIO, line: int) -> Foreign:
    count: int | None = None
    low, edges = np.zeros(3), np.eye(3)
    cell: Floats | None = None
    while True:
        item = file.readline().decode(errors="replace").split()
        here, line = line, line + 1
        if item[:1] != ["ITEM:"]:
            raise at_line(path, here, f"{' '.join(item)!r} stands where an ITEM: is expected")
        match item[1:]:
            case ["NUMBER", "OF", "ATOMS"]:
                text = file.readline().decode(errors="replace").strip()
                count = whole_number(text)
                if count is None:
                    raise at_line(path, line, f"the number of atoms is {text[:40]!r}")
                line += 1
            case ["BOX", "BOUNDS", *flags]:
                if flags[:1] == ["abc"]:
                    raise at_line(path, here, "the box is turned; its first edge must lie along x")
                tilted = flags[:3] == ["xy", "xz", "yz"]
                numbers = np.zeros((3, 3))
                for k in range(3):
                    ends = file.readline().decode(errors="replace").split()
                    try:
                        low_end, high_end, *tilt = map(float, ends)
                        numbers[k, : 2 + tilted] = [low_end, high_end, *tilt]
                    except ValueError:
                        what = "the two ends of the box" + " and its tilt" * tilted
                        raise at_line(path, line, f"{' '.join(ends)!r} stands for {what}") from None
                    line += 1
                ends_of_box = numbers[:, :2] - _beyond(numbers[:, 2])
                low, edges = ends_of_box[:, 0], np.diag(np.diff(ends_of_box)[:, 0])
                edges[[0, 0, 1], [1, 2, 2]] = numbers[:, 2]
                repeats = [flag == "pp" for flag in flags[-3:]]
                cell = cell_numbers(edges, repeats) if len(repeats) == 3 else None
            case ["ATOMS", *names]:
                if count is None:
                    raise at_line(path, here, "ITEM: NUMBER OF ATOMS is missing before the atoms")
                found = _read_atoms(path, file, here, names, count, low, edges)
                return replace(found, cell=cell)
            case _:  # one line that does not matter here: TIMESTEP, TIME, UNITS
                file.readline()
                line += 1


def _read_atoms(
    path: Path,
    file: BinaryIO,
    header: int,
    names: list[str],
    count: int,
    low: Floats,
    edges: Floats,
) -> Foreign:
    text = [line.decode(errors="replace") for line in islice(file, count)]
    if len(text) < count:
        raise at_line(path, header + len(text), f"the file ends after {len(text)} of {count} atoms")
    rows = split_rows(path, list(enumerate(text, header + 1)), len(names))
    scaled = {"xs": "x", "ys": "y", "zs": "z", "xsu": "xu", "ysu": "yu", "zsu": "zu"}
    grains = grains_of(path, [scaled.get(name, name) for name in names], rows, header)
    if not any(name in scaled for name in names):
        return grains
    return grains.moved(low, edges)
