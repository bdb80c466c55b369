"""Checks that a run file is what its layout says, made before any of its arrays is read.

HDF5 opens a file whose arrays have other names, types or lengths than ours, that leads to other
files, or that declares more than it holds. Compiled code checks no lengths, so all that is decided
here: `structure` and `check_tables` for the file, the others for the numbers in what is read.
What is wrong is said in a few words (`Damaged`); the reader adds the name of the file.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import Cell
from hardgrain.core.lawtable import FORMER_PARAMETERS
from hardgrain.core.model import Contacts
from hardgrain.core.wall_kinds import CELL, KINDS
from hardgrain.io.layout import (
    COMMITTED,
    HEADER,
    MARK,
    MODEL,
    MODEL_MAY_LACK,
    SENTENCE,
    VERDICT,
    Layout,
    checksum,
    datasets,
    table,
    unseal,
    wall_names,
)

__all__ = [
    "Damaged", "as_written", "check_cell", "check_contacts", "check_finite", "check_model",
    "check_order", "check_tables", "structure",
]  # fmt: skip

Array = NDArray[Any]

# Datasets that a file has only if there is something for them, see `Layout.of`.
KINDS_OF_ROWS = (
    "contacts/spring", "frames/status", "frames/order", "frames/cell", "frames/collided",
)  # fmt: skip


class Damaged(Exception):
    """What is wrong with a file, in a few words."""


# ---------------------------------------------------------------------- the file
def structure(h5: Any, size: int) -> tuple[Layout, dict[str, Any]]:
    """Layout and growing datasets of a file of `size` bytes; raises `Damaged` if in doubt."""
    former = int(h5.attrs[MARK]) == 1
    if former:
        _check_heaps(Path(h5.filename))
    parts = _parts(h5, ("header", "model", "frames", "contacts", "committed"))
    if not former:
        parts |= _parts(h5, ("walls",))
    for name in COMMITTED:
        _compare(parts, f"committed/{name}", np.dtype("i8"), ())
    if VERDICT in parts:  # files of an earlier version do not have it
        _compare(parts, VERDICT, np.dtype(f"S{SENTENCE}"), ())
        if unseal(bytes(parts[VERDICT][()])) is None:
            raise Damaged(f"{VERDICT} is not what was written (wrong checksum)")
    for name in (*(name for name in parts if table(name) == "header"), "walls/name"):
        if name in parts and (parts[name].dtype.kind, parts[name].ndim) != ("S", name[0] == "w"):
            raise Damaged(f"{name} is not text of a fixed length")
    texts = sum(table(name) == "header" for name in parts)
    if texts != (len(HEADER) if former else h5["header"].attrs["names"]):
        raise Damaged("a part of its header is missing")
    data = datasets(h5, parts)
    layout = _layout(h5, parts, data)
    for name, (kind, shape) in layout.model(len(parts["model/laws"])).items():
        if name in MODEL_MAY_LACK and f"model/{name}" not in parts:
            continue
        if name in ("laws", "named_laws"):  # they gain columns from version to version
            columns = parts[f"model/{name}"].shape[-1]
            shape = (*shape[:-1], min(max(columns, FORMER_PARAMETERS), shape[-1]))
        if not (former and name in ("wall_side", "carrier")):
            _compare(parts, f"model/{name}", kind, shape)
    if CELL in parts["model/wall_kind"][()] and not layout.cell:
        raise Damaged("frames/cell is missing")
    for name, rows in layout.rows().items():
        if not (former and name in ("frames/checksum", "walls/force", "walls/work")):
            _compare(data, name, rows.kind, (len(data.get(name, ())), *rows.row))
    declared = sum(part.size * part.dtype.itemsize for part in parts.values())
    if declared > size:
        raise Damaged(f"its arrays declare {declared} bytes, more than the whole file has")
    return layout, data


def _parts(h5: Any, groups: Sequence[str]) -> dict[str, Any]:
    """All datasets of these groups and the history, each a part of the file itself."""
    _refuse_links(h5, (*groups, "history"))
    found = {"history": h5["history"]}
    for name in groups:
        if not isinstance(h5[name], h5py.Group):
            raise Damaged(f"{name} is not a group")
        _refuse_links(h5[name], list(h5[name]))
        found |= {f"{name}/{part}": data for part, data in h5[name].items()}
    for name, data in found.items():
        if not isinstance(data, h5py.Dataset):
            raise Damaged(f"{name} is not a dataset")
        how = data.id.get_create_plist()
        if how.get_external_count() or how.get_nfilters() or how.get_layout() == h5py.h5d.VIRTUAL:
            raise Damaged(f"{name} is stored as run files never are")
    return found


def _check_heaps(path: Path) -> None:
    """Check the heaps of texts, since HDF5 would never return from a damaged one.

    Only format 1 has texts that are read from there, the names of its walls.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        begin = data.find(_HEAP)
        while begin >= 0:
            end = begin + int.from_bytes(data[begin + 8 : begin + 16], "little")
            at = begin + 16
            while at + 16 <= min(end, len(data)):
                number = int.from_bytes(data[at : at + 2], "little")
                size = int.from_bytes(data[at + 8 : at + 16], "little")
                size = 16 + (size + 7) // 8 * 8 if number else size  # number 0 is the free rest
                if not 0 < size <= end - at:
                    raise Damaged("its texts cannot be read")
                at += size
            begin = data.find(_HEAP, begin + 1)


_HEAP = b"GCOL\1\0\0\0"  # signature and version of a heap


def _refuse_links(group: Any, names: Sequence[str]) -> None:
    """Refuse links, which could lead to other files, or to nothing."""
    for name in names:
        if name not in group:
            raise Damaged(f"{name} is missing")
        if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
            raise Damaged(f"{name} is a link to elsewhere")


def _layout(h5: Any, parts: Mapping[str, Any], data: Mapping[str, Any]) -> Layout:
    """The layout that a file's sizes and names ask for."""
    model = {name: parts.get(f"model/{name}") for name in MODEL}
    axes = [
        getattr(model[name], "ndim", 0) for name in ("radius", "inv_mass", "inv_inertia", "laws")
    ]
    may = {name: len(MODEL[name][1].split()) for name in MODEL_MAY_LACK}
    if axes != [1, 2, 2, 3] or any(getattr(model[k], "ndim", n) != n for k, n in may.items()):
        raise Damaged("its model lacks arrays, or they have another shape")
    scalars = data["frames/scalars"].dtype.names if "frames/scalars" in data else ()
    columns = data["history"].dtype.names
    if columns is None or scalars is None:
        raise Damaged("its history or its scalars are no table")
    springs, status, order, cell, collided = (name in data for name in KINDS_OF_ROWS)
    nodes = data["frames/displacement"].shape if "frames/displacement" in data else (0, 0, 0)
    if len(nodes) != 3:
        raise Damaged("frames/displacement has another shape")
    kinds = springs, status, order, cell, collided
    layout = Layout.of(model, wall_names(h5), columns, scalars, kinds, nodes[1])
    if (layout.dim, layout.spins) not in ((2, 1), (3, 3)):
        raise Damaged(f"its model has {layout.dim} dimensions")
    if layout.bodies != layout.grains + len(layout.walls) or layout.grains == 0:
        raise Damaged(
            f"its {layout.bodies} bodies are not {layout.grains} grains and {len(layout.walls)}"
            " walls"
        )
    return layout


def _compare(found: Mapping[str, Any], name: str, kind: Any, shape: tuple[int, ...]) -> None:
    if name not in found:
        raise Damaged(f"{name} is missing")
    data = found[name]
    if data.dtype != kind or data.shape != shape:
        raise Damaged(
            f"{name} holds {data.dtype.name} {data.shape} in place of {kind.name} {shape}"
        )


def check_tables(starts: Mapping[str, Array], data: Mapping[str, Any]) -> None:
    """Check that the rows of every frame exist, each frame's behind those of the one before."""
    for name, rows in starts.items():
        there = min((len(d) for n, d in data.items() if table(n) == name), default=None)
        if there is None:
            continue
        if rows[0] != 0 or (np.diff(rows) < 0).any() or rows[-1] > there:
            raise Damaged(f"its frames lay claim to rows of /{name} that are not there")


# ---------------------------------------------------------------------- numbers
def as_written(data: Any, *, former: bool) -> Array:
    """Read an array that never changes, and check it against its checksum."""
    array: Array = np.asarray(data[()])
    if not former and checksum(array) != data.attrs["checksum"]:
        raise Damaged(f"{data.name[1:]} is not what was written (wrong checksum)")
    return array


def check_finite(name: str, values: Any) -> None:
    """Refuse what is not a finite number."""
    if not np.isfinite(values).all():
        raise Damaged(f"{name} has a value that is not a finite number")


def check_order(name: str, order: Array) -> None:
    """Refuse an order that does not have every grain once."""
    if not np.array_equal(np.sort(order), np.arange(order.size)):
        raise Damaged(f"{name} does not have every grain once")


def check_cell(name: str, numbers: Array) -> None:
    """Refuse a cell of negative periods, or tilted along an axis that is open."""
    cell = Cell(numbers)
    if (cell.period < 0.0).any() or cell.matrix[:, ~cell.repeats].any():
        raise Damaged(f"{name} is no periodic cell")


def check_model(arrays: Mapping[str, Array]) -> None:
    """Check that indices are in range, and that masses and sizes are possible."""
    for name, array in arrays.items():
        check_finite(f"model/{name}", array)
    for name in (
        "inv_mass", "inv_inertia", "mass", "inertia", "moments", "periodic", "wall_size", "group",
        "shape",
    ):  # fmt: skip
        if (arrays[name] < 0).any():
            raise Damaged(f"model/{name} has a negative value")
    if (arrays["radius"] <= 0.0).any():
        raise Damaged("model/radius has a value that is not positive")
    bodies = len(arrays["inv_mass"])
    for name, count in (
        ("material", len(arrays["laws"])), ("wall_kind", KINDS), ("carrier", bodies),
        ("group", len(arrays["radius"])),
    ):  # fmt: skip
        if ((arrays[name] < 0) | (arrays[name] >= count)).any():
            raise Damaged(f"model/{name} has a number beyond {count - 1}")


def check_contacts(rows: Contacts, layout: Layout, laws: int) -> None:
    """Check that contacts are between bodies that exist, each pair once and in order.

    ``laws``: the number of laws that contacts can have.
    """
    for f in fields(rows):
        check_finite(f"contacts/{f.name}", getattr(rows, f.name))
    first, second = rows.first, rows.second
    if (first < 0).any() or (first >= second).any() or (second >= layout.bodies).any():
        raise Damaged("its contacts are between bodies that do not exist")
    if (first >= layout.grains).any() or not rows.in_order:
        raise Damaged("its contacts are not in order")
    if ((rows.law < 0) | (rows.law >= laws)).any():
        raise Damaged("its contacts have laws that do not exist")
