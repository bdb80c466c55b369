"""What a run file holds: name, type, shape, unit and meaning of every dataset, in one place.

Files are made by this layout and checked against it. Those of format 1, in which `/history` had a
column for each component of each wall, are read as if they had it.

Every array has a checksum, CRC-32. That of an array which never changes is its attribute
`checksum`. Those of the arrays that grow are in `/frames/checksum`, a column for each: all rows up
to and including the frame, so `crc32(rows of frame k, checksum of frame k - 1)` is that of frame
k, and any frame can be checked alone. HDF5's own checksums are of whole chunks, which are written
anew whenever a row is added; a run killed within that write would lose earlier frames with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import PLACES
from hardgrain.core.lawtable import N_PARAMETERS
from hardgrain.io.former import former_tables

__all__ = [
    "ABOUT", "COMMITTED", "FORMAT", "FORMATS", "HEADER", "MARK", "MODEL", "SENTENCE", "VERDICT",
    "Layout", "Rows", "checksum", "datasets", "ends", "seal", "starts", "table", "unseal",
    "wall_names",
]  # fmt: skip

Array = NDArray[Any]

FORMAT = 2  # version of the format that is written; it rises when old programs could not read it
FORMATS = (1, 2)  # versions of the format that can be read
MARK = "hardgrain_run_file"  # root attribute by which a run file is recognised; it holds the format

# [bytes] Sizes of chunks. Small rows share one: 16 KiB keeps a file of ten grains below 1 MB, and
# the chunk that grows is rewritten with every frame. Large rows are split at 1 MiB.
_SMALL_CHUNK = 16 << 10
_LARGE_CHUNK = 1 << 20

COMMITTED = ("frames", "bytes", "finished")
# A text that says why the run is not plausible, with its checksum; it is empty if the run is.
VERDICT, SENTENCE = "committed/verdict", 1000
_GROWING = ("frames", "contacts", "history", "walls")
_ROW_KEYS = ("contact_offset", "contact_count", "history_end")

# Texts that every run of a scenario writes; there may be others.
HEADER = ("scenario", "hardgrain", "python", "numpy", "numba", "units")

# Arrays that do not change during a run: type, and shape in sizes of `Layout.model`. They and the
# scenario give `core.model.Model` back.
MODEL = {
    "radius": ("f8", "n"),
    "inv_mass": ("f8", "b d"),
    "inv_inertia": ("f8", "b s"),
    "mass": ("f8", "b"),
    "inertia": ("f8", "b"),
    "moments": ("f8", "t a"),
    "material": ("i4", "b"),
    "group": ("i4", "n"),
    "shape": ("i4", "q"),
    "laws": ("f8", "m m p"),
    "named_laws": ("f8", "k p"),
    "periodic": ("f8", "d"),
    "gravity": ("f8", "d"),
    "wall_kind": ("i4", "w"),
    "wall_axis": ("f8", "w d"),
    "wall_size": ("f8", "w"),
    "wall_offset": ("f8", "w d"),
    "wall_side": ("f8", "w d"),
    "carrier": ("i4", "b"),
}

# Those that a file has only if there are any: laws for a rule, unequal moments, shapes of grains.
MODEL_MAY_LACK = ("named_laws", "moments", "shape")

# Unit in words and meaning of every dataset.
ABOUT = {
    "frames/step": ("count", "steps done"),
    "frames/time": ("time", "simulated time"),
    "frames/position": ("length", "centre of each body, not wrapped at periodic boundaries"),
    "frames/orientation": ("radian (2D) or none (3D)", "angle, or unit quaternion (x, y, z, w)"),
    "frames/velocity": ("length / time", "velocity of each body"),
    "frames/spin": ("radian / time", "angular velocity of each body"),
    "frames/status": ("none", "0: there, -1: not yet, k > 0: taken out by the k-th removal"),
    "frames/order": ("index", "numbers of the grains in the order in which the run holds them"),
    "frames/collided": ("time", "when each grain last collided"),
    "frames/cell": ("length", "periods and tilts of the cell: xx, yy, xy; xx, yy, zz, yz, xz, xy"),
    "frames/displacement": ("length", "of nodes of deformable grains, along the axes of a grain"),
    "frames/rate": ("length / time", "how fast the displacement of nodes changes"),
    "frames/wall_force": ("force", "total force of the grains on each wall"),
    "frames/wall_torque": ("force length", "total torque of the grains on each wall"),
    "frames/scalars": ("mixed", "running sums needed for an exact resume"),
    "frames/contact_offset": ("row", "first row of this frame in /contacts"),
    "frames/contact_count": ("count", "contact rows of this frame, -1: contacts not stored"),
    "frames/history_end": ("row", "rows of /history and /walls up to and including this frame"),
    "frames/checksum": ("none", "CRC-32 of all rows up to this frame, of each growing dataset"),
    "contacts/first": ("index", "grain on which -impulse acts"),
    "contacts/second": ("index", "grain or wall body on which +impulse acts"),
    "contacts/normal": ("none", "unit vector from first to second at the start of the last step"),
    "contacts/gap": ("length", "gap at the start of the last step, negative: overlap"),
    "contacts/impulse": (
        "force time",
        "impulse of the last step on second, zero if it stayed open; divide by dt: force",
    ),
    "contacts/torque": ("force length time", "torque impulse of the last step on second"),
    "contacts/law": ("row", "law of materials a <= b: a x their number + b; then the named ones"),
    "contacts/feature": ("none", "which of the contact points of its two bodies it is"),
    "contacts/arm_first": ("length", "from the centre of first to the contact, at its start"),
    "contacts/arm_second": ("length", "from the centre of second, or a wall's pivot, likewise"),
    "contacts/spring": ("length", "tangential elongation of a soft contact, on second"),
    "history": ("mixed", "solver history, one row per step"),
    "walls/force": ("force", "total force of the grains on each wall, one row per step"),
    "walls/work": ("energy", "work of each wall on the grains, one row per step"),
    "walls/name": ("none", "names of the walls, in the order of all arrays of walls"),
    "committed/frames": ("count", "complete frames: trust these and nothing beyond"),
    "committed/bytes": ("byte", "length that the complete frames need, 0: that in the superblock"),
    "committed/finished": ("flag", "1 once the run has reached its end"),
    "committed/verdict": ("text", "why the run is not plausible, empty if it is"),
    "model/radius": ("length", "radius of each grain, or of the smallest ball around its shape"),
    "model/inv_mass": ("1 / mass", "inverse mass per axis of each body, 0: axis locked or driven"),
    "model/inv_inertia": ("1 / (mass length^2)", "inverse moment of inertia of each body"),
    "model/moments": ("mass length^2", "principal moments of inertia, about the axes of a body"),
    "model/shape": ("row", "shape of each grain, in the table that the scenario and the seed give"),
    "model/named_laws": ("mixed", "laws that no pair of materials has, for a rule to choose"),
    "model/material": ("index", "material of each body"),
    "model/periodic": ("length", "period along each axis, 0: not periodic"),
    "model/carrier": ("index", "the body that each is glued to, itself where it is to none"),
}


@dataclass(frozen=True)
class Rows:
    """A dataset that grows along its first axis: type and shape of a row, and chunks."""

    kind: Any  # type of the values, a NumPy dtype
    row: tuple[int, ...]
    chunks: tuple[int, ...]

    @classmethod
    def of(cls, kind: Any, row: tuple[int, ...] = (), rows: int | None = None) -> Rows:
        """Rows in chunks of `rows`, or of as many as fit."""
        kind = np.dtype(kind)
        size = kind.itemsize * math.prod(row)
        if size > _LARGE_CHUNK:
            part = math.ceil(row[0] / math.ceil(size / _LARGE_CHUNK))
            return cls(kind, row, (1, part, *row[1:]))
        return cls(kind, row, (rows or max(1, _SMALL_CHUNK // max(size, 1)), *row))

    @property
    def size(self) -> int:
        """Size of a row [bytes]."""
        return int(self.kind.itemsize * math.prod(self.row))

    def block(self, values: Any) -> Array:
        """Values in the type and row shape of the dataset; columns become fields of a table."""
        if self.kind.names:
            flat = np.ascontiguousarray(values, self.kind[0]).reshape(-1, len(self.kind.names))
            return np.asarray(flat.view(self.kind)).reshape(-1)
        array: Array = np.ascontiguousarray(values, self.kind)
        return array.reshape(len(array), *self.row)

    def growth(self, start: int, rows: int) -> int:
        """Space in whole chunks that `rows` more rows take [bytes]."""
        first, *rest = self.chunks
        new = math.ceil((start + rows) / first) - math.ceil(start / first)
        across = math.prod(math.ceil(n / c) for n, c in zip(self.row, rest, strict=True))
        return int(new * across * math.prod(self.chunks) * self.kind.itemsize)


@dataclass(frozen=True)
class Layout:
    """The sizes and names on which the layout of a run file depends."""

    grains: int
    bodies: int
    dim: int
    spins: int  # number of components of a spin
    walls: tuple[str, ...]
    columns: tuple[str, ...]  # names of the columns of the history
    scalars: tuple[str, ...]
    springs: bool  # whether contacts have an elongation
    status: bool  # whether grains may be absent
    order: bool  # whether grains are held in another order than that of their numbers
    cell: bool  # whether the periodic cell deforms
    collided: bool  # whether frames say when grains last collided
    named_laws: int = 0  # laws that a rule chooses; if there are any, contacts keep their law
    moments: bool = False  # whether some grains have unequal moments of inertia
    shapes: bool = False  # whether some grains are not round; contacts then keep feature and arms
    nodes: int = 0  # of all grains that deform

    @classmethod
    def of(
        cls,
        model: Mapping[str, Any],
        walls: Sequence[str],
        columns: Sequence[str],
        scalars: Sequence[str],
        kinds: tuple[bool, bool, bool, bool, bool],  # springs, status, order, cell, collided
        nodes: int = 0,
    ) -> Layout:
        """The layout for a model, with the sizes of its radius, inv_mass and inv_inertia."""
        (nb, dim), ns = model["inv_mass"].shape, model["inv_inertia"].shape[1]
        names = tuple(walls), tuple(columns), tuple(scalars)
        named, moments, shape = (model.get(k) for k in ("named_laws", "moments", "shape"))
        laws = 0 if named is None else len(named)  # without a rule there are none
        uneven = moments is not None and len(moments) > 0
        shaped = shape is not None and len(shape) > 0
        sizes = len(model["radius"]), nb, dim, ns
        return cls(*sizes, *names, *kinds, laws, uneven, shaped, nodes)

    def model(self, materials: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """Type and shape of each array of the model."""
        size = {
            "n": self.grains, "b": self.bodies, "d": self.dim, "s": self.spins,
            "w": len(self.walls), "m": materials, "k": self.named_laws, "p": N_PARAMETERS,
            "t": self.bodies if self.moments else 0, "a": 3, "q": self.grains if self.shapes else 0,
        }  # fmt: skip
        return {
            name: (np.dtype(kind), tuple(size[letter] for letter in shape.split()))
            for name, (kind, shape) in MODEL.items()
        }

    def rows(self) -> dict[str, Rows]:
        """All datasets that grow, by path; what would have no columns does not exist."""
        nb, dim, ns, w = self.bodies, self.dim, self.spins, len(self.walls)
        some = min(max(self.grains, 512), 1 << 14)
        found = {
            "frames/step": Rows.of("i8"),
            "frames/time": Rows.of("f8"),
            "frames/position": Rows.of("f8", (nb, dim)),
            "frames/orientation": Rows.of("f8", (nb, 1 if dim == 2 else 4)),
            "frames/velocity": Rows.of("f8", (nb, dim)),
            "frames/spin": Rows.of("f8", (nb, ns)),
            "frames/wall_force": Rows.of("f8", (w, dim)),
            "frames/wall_torque": Rows.of("f8", (w, ns)),
            "frames/scalars": Rows.of(_columns(self.scalars)),
            "frames/contact_offset": Rows.of("i8"),
            "frames/contact_count": Rows.of("i8"),
            "frames/history_end": Rows.of("i8"),
            "frames/collided": Rows.of("f8", (nb, int(self.collided))),
            "frames/cell": Rows.of("f8", (len(PLACES[dim]) * self.cell,)),
            "contacts/first": Rows.of("i4", (), some),
            "contacts/second": Rows.of("i4", (), some),
            "contacts/normal": Rows.of("f8", (dim,), some),
            "contacts/gap": Rows.of("f8", (), some),
            "contacts/impulse": Rows.of("f8", (dim,), some),
            "contacts/torque": Rows.of("f8", (ns,), some),
            "contacts/spring": Rows.of("f8", (dim * self.springs,), some),
            "history": Rows.of(_columns(self.columns), (), 256),
            "walls/force": Rows.of("f8", (w, dim)),
            "walls/work": Rows.of("f8", (w,)),
        }
        for name in ("status", "order"):
            if getattr(self, name):
                found[f"frames/{name}"] = Rows.of("i4", (self.grains,))
        for name in ("displacement", "rate"):
            found[f"frames/{name}"] = Rows.of("f8", (self.nodes, dim))
        if self.shapes:
            found["contacts/feature"] = Rows.of("i4", (), some)
            found["contacts/arm_first"] = Rows.of("f8", (dim,), some)
            found["contacts/arm_second"] = Rows.of("f8", (dim,), some)
        if self.named_laws:
            found["contacts/law"] = Rows.of("i4", (), some)
        found = {n: r for n, r in found.items() if 0 not in r.row and r.kind.itemsize}
        return found | {"frames/checksum": Rows.of(_columns(found, "u4"))}

    def make(self, h5: Any, header: Mapping[str, str], model: Mapping[str, Array]) -> None:
        """Create every group and dataset of an empty run file."""
        h5.attrs[MARK] = FORMAT
        for name, text in header.items():
            _keep(h5, f"header/{name}", _text(text))
        h5["header"].attrs["names"] = len(header)
        for name, array in model.items():
            if name in MODEL_MAY_LACK and not len(array):
                continue
            _keep(h5, f"model/{name}", np.asarray(array))
        _keep(h5, "walls/name", _text(self.walls))
        for name in COMMITTED:
            h5.create_dataset(f"committed/{name}", data=np.int64(0))
        h5.create_dataset(VERDICT, data=b"", dtype=h5py.string_dtype("utf-8", SENTENCE))
        for name, r in self.rows().items():
            shape, most = (0, *r.row), (None, *r.row)
            h5.create_dataset(name, shape, r.kind, maxshape=most, chunks=r.chunks)
        h5.require_group("contacts")
        for name, (unit, about) in ABOUT.items():
            if name in h5:
                h5[name].attrs["unit"], h5[name].attrs["description"] = unit, about


def _columns(names: Sequence[str] | Mapping[str, Any], kind: str = "f8") -> Any:
    return np.dtype([(name, kind) for name in names])


def _text(text: str | Sequence[str]) -> Array:
    """Texts as UTF-8 of a fixed length; HDF5 stores others where no checksum of ours reaches."""
    code = [t.encode() for t in ([text] if isinstance(text, str) else text)]
    length = max(map(len, code), default=1) or 1
    array = np.array(code, dtype=h5py.string_dtype("utf-8", length))
    return array.reshape(()) if isinstance(text, str) else array


def _keep(h5: Any, name: str, array: Array) -> None:
    """An array that will not change, with its checksum."""
    data = h5.create_dataset(name, data=array, dtype=array.dtype)
    data.attrs["checksum"] = np.uint32(checksum(array))


def datasets(h5: Any, parts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The datasets that grow, by path, as if the file were of the present format."""
    if parts is None:
        groups = ("frames", "contacts", "walls")
        parts = {f"{group}/{name}": data for group in groups for name, data in h5[group].items()}
    found = {name: data for name, data in parts.items() if table(name) in _GROWING}
    found.pop("walls/name", None)
    return found | (
        former_tables(h5, wall_names(h5))
        if int(h5.attrs[MARK]) == 1
        else {"history": h5["history"]}
    )


def wall_names(h5: Any) -> list[str]:
    """Names of the walls, in the order of all arrays of walls."""
    if int(h5.attrs[MARK]) == 1:
        return [str(name) for name in h5["frames"].attrs["wall_names"]]
    return [name.decode() for name in h5["walls/name"][()]]


def seal(text: str) -> bytes:
    """A text together with its checksum, as VERDICT holds it."""
    code = text.encode()[: SENTENCE - 9]
    return b"%08x %s" % (crc32(code), code) if code else b""


def unseal(sealed: bytes) -> str | None:
    """The text of a seal, or None if it is not what was written."""
    code = sealed[9:]
    intact = not sealed or sealed[:9] == b"%08x " % crc32(code)
    return code.decode(errors="ignore") if intact else None


def checksum(rows: Array, before: int = 0) -> int:
    """CRC-32 of rows that follow others of the checksum `before`."""
    return crc32(np.ascontiguousarray(rows).data, before)


def table(name: str) -> str:
    """The table of a dataset (frames, contacts, history, walls), which share a number of rows."""
    return name.split("/")[0]


def ends(data: Mapping[str, Any], frames: int) -> dict[str, int]:
    """Rows of each table that belong to the first `frames` frames."""
    if frames == 0:
        return dict.fromkeys(_GROWING, 0)
    return {name: int(rows[-1]) for name, rows in starts(data, frames).items()}


def starts(data: Mapping[str, Any], frames: int) -> dict[str, Array]:
    """Rows of each table at which the frames begin, and at which the last one ends."""
    offset, count, steps = (data[f"frames/{name}"][:frames] for name in _ROW_KEYS)
    contacts = np.append(offset, offset[-1] + max(count[-1], 0))
    history = np.append(0, steps)
    return {
        "frames": np.arange(frames + 1), "contacts": contacts, "history": history, "walls": history
    }  # fmt: skip
