"""The run file: one HDF5 file that holds a run's input, trajectory, contacts and solver history.

Layout (T frames, nb bodies of which w are walls, m contact rows, all floats are float64):

    /header/<name>       text: scenario, seed, versions, units, ...
    /model/<name>        what does not change: radius, inverse masses, materials, ...
    /frames/<name>       (T, ...): step, time, position, orientation, velocity, spin, wall forces,
                         scalars; and which contact and history rows belong to the frame
    /contacts/<name>     (m, ...): first, second, normal, gap, impulse, torque, frame after frame;
                         spring where contacts have one (soft particles)
    /history             (k,) table with one row per step and named columns
    /committed/frames    number of complete frames: trust these and nothing beyond

With plain h5py:

    f = h5py.File("run.h5", swmr=True)                 # swmr: also while the run goes on
    t = f["frames/time"][:f["committed/frames"][()]]
    table = pandas.DataFrame(f["history"][:])
    frames = xarray.open_dataset("run.h5", group="frames", engine="h5netcdf")  # of a closed file
    start, count = f["frames/contact_offset"][k], f["frames/contact_count"][k]
    gap = f["contacts/gap"][start:start + count]

The file is laid out in full under another name and then renamed, so it is never seen half made.
From then on HDF5 writes it in SWMR mode (single writer, multiple readers), in which whatever is on
disk is consistent at every moment. A frame is appended in three moves, each flushed before the
next: its data, `committed/bytes`, `committed/frames`. The last is one aligned 8-byte word, so a
process killed anywhere leaves either the old count or the new one.

Locks: HDF5's own are switched off, since they let a reader stop a writer. The writer holds a lock
of its own on the file, which only another writer looks at.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError, RunError
from hardgrain.scene.model import Contacts, State

if sys.platform != "win32":
    import fcntl

__all__ = ["SLACK", "Checkpoint", "Frame", "RunFile", "RunWriter", "reserve"]

Array = NDArray[Any]

_FORMAT = 1
_MARK = "hardgrain_run_file"  # root attribute that makes an HDF5 file a run file; holds _FORMAT

# Chunks [bytes]. Small rows share a chunk: 16 KiB keeps a file of ten grains below 1 MB, and the
# chunk that grows is rewritten with every frame. Large rows are split at 1 MiB.
_SMALL_CHUNK = 16 << 10
_LARGE_CHUNK = 1 << 20

# Room [bytes] kept for HDF5's own bookkeeping, on top of 1/16 of the data, when space is reserved.
SLACK = 256 << 10

_COMMITTED = ("frames", "bytes", "finished")
_ROW_KEYS = ("contact_offset", "contact_count", "history_end")

_LIBVER = ("v110", "v110")  # the first HDF5 with SWMR, so that any later one reads the file
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK = struct.Struct("<8xB2xB16xQ")  # version, open for writing, end of file; version 3


@dataclass(frozen=True)
class Frame:
    """State of all bodies after `step` steps."""

    step: int
    time: float
    position: Array  # (nb, dim) [length]
    orientation: Array  # (nb, 1) [rad] or (nb, 4) unit quaternion (x, y, z, w)
    velocity: Array  # (nb, dim) [length/time]
    spin: Array  # (nb, ns) [rad/time]
    wall_force: Array  # (w, dim) [force], by the grains on each wall
    wall_torque: Array  # (w, ns) [force × length]
    scalars: Mapping[str, float]  # sums that an exact resume needs

    def state(self, contacts: Contacts) -> State:
        """The state of a run at this frame."""
        bodies = (self.position, self.velocity, self.spin, self.orientation)
        return State(self.step, self.time, *bodies, contacts)


@dataclass(frozen=True)
class Checkpoint:
    """All that a run file knows about the frame from which the run goes on."""

    frame: Frame
    contacts: Contacts
    header: dict[str, str]
    model: dict[str, Array]


# Unit in words and meaning of every dataset.
_ABOUT = {
    "frames/step": ("count", "steps done"),
    "frames/time": ("time", "simulated time"),
    "frames/position": ("length", "centre of each body, not wrapped at periodic boundaries"),
    "frames/orientation": ("radian (2D) or none (3D)", "angle, or unit quaternion (x, y, z, w)"),
    "frames/velocity": ("length / time", "velocity of each body"),
    "frames/spin": ("radian / time", "angular velocity of each body"),
    "frames/wall_force": ("force", "total force of the grains on each wall"),
    "frames/wall_torque": ("force length", "total torque of the grains on each wall"),
    "frames/scalars": ("mixed", "running sums needed for an exact resume"),
    "frames/contact_offset": ("row", "first row of this frame in /contacts"),
    "frames/contact_count": ("count", "contact rows of this frame, -1: contacts not stored"),
    "frames/history_end": ("row", "rows of /history up to and including this frame"),
    "contacts/first": ("index", "grain on which -impulse acts"),
    "contacts/second": ("index", "grain or wall body on which +impulse acts"),
    "contacts/normal": ("none", "unit vector from first to second at the start of the last step"),
    "contacts/gap": ("length", "gap at the start of the last step, negative: overlap"),
    "contacts/impulse": (
        "force time",
        "impulse of the last step on second, zero if it stayed open; divide by dt: force",
    ),
    "contacts/torque": ("force length time", "torque impulse of the last step on second"),
    "contacts/spring": ("length", "tangential elongation of a soft contact, on second"),
    "history": ("mixed", "solver history, one row per step"),
    "committed/frames": ("count", "complete frames: trust these and nothing beyond"),
    "committed/bytes": ("byte", "length that the complete frames need, 0: that in the superblock"),
    "committed/finished": ("flag", "1 once the run has reached its end"),
    "model/radius": ("length", "radius of each grain"),
    "model/inv_mass": ("1 / mass", "inverse mass per axis of each body, 0: axis locked or driven"),
    "model/inv_inertia": ("1 / (mass length^2)", "inverse moment of inertia of each body"),
    "model/material": ("index", "material of each body"),
    "model/periodic": ("length", "period along each axis, 0: not periodic"),
}


class RunWriter:
    """Writes a run file, frame by frame; use as a context manager."""

    def __init__(self, path: Path, h5: Any, lock: IO[bytes], last: Frame | None = None) -> None:
        """Take over a laid-out file in SWMR mode; callers use `create` or `resume`."""
        self.path = path
        self._h5 = h5
        self._lock: IO[bytes] | None = lock  # open as long as the writer is
        self._data = {name: _Rows(data) for name, data in _growing(h5).items()}
        self._committed = {name: h5["committed"][name] for name in _COMMITTED}
        self._end = _ends(h5, int(self._committed["frames"][()]))
        self._scalars = _columns(h5, "frames/scalars")
        self._last = last
        self._committed["finished"][()] = 0
        self._commit(self._end["frames"])

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        header: Mapping[str, str],
        model: Mapping[str, Array],
        columns: Sequence[str],
        wall_names: Sequence[str],
        springs: bool = False,
        scalars: Sequence[str] = (),
        overwrite: bool = False,
    ) -> RunWriter:
        """Start a new run file.

        `model` must hold radius (n,), inv_mass (nb, dim) and inv_inertia (nb, ns): they give the
        sizes. `columns` names the history columns, `scalars` the keys of `Frame.scalars`; with
        `springs`, contacts have an elongation.
        """
        path = Path(path)
        if path.is_dir():
            raise InputError(f"{path} is a folder; give a file name such as {path / 'run.h5'}.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file; choose another name.")
        if path.exists() and not overwrite:
            raise InputError(f"{path} exists already; choose another name or ask to overwrite it.")
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} does not exist; create it first.")

        def fill(h5: Any) -> None:
            _lay_out(h5, header, model, columns, wall_names, scalars, springs)

        room = sum(len(text) for text in header.values())
        room += sum(np.asarray(array).nbytes for array in model.values())
        with _claim(path) if path.exists() else contextlib.nullcontext():
            return cls(path, *_build(path, fill, room))

    @classmethod
    def resume(cls, path: str | Path) -> tuple[RunWriter, Checkpoint]:
        """Go on after the last frame whose contacts are stored; later frames are dropped.

        A cleanly closed file is continued in place. A killed one is copied up to that frame, and
        the copy takes its place in one move.
        """
        path = Path(path)
        RunFile(path).close()  # says what is wrong with the file, if anything
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(_claim(path))
            with RunFile(path) as run:
                last = run._last_with_contacts()
                contacts = run.contacts(last)
                assert contacts is not None
                checkpoint = Checkpoint(run[last], contacts, run.header, run.model)
                whole = last == len(run) - 1
            h5 = _reopen(path, lock) if whole else None
            if h5 is not None:
                stack.pop_all()  # the writer keeps the lock
            else:
                with RunFile(path) as run:
                    h5, lock = _build(path, *run._copier(last + 1))
            return cls(path, h5, lock, checkpoint.frame), checkpoint

    def append(self, frame: Frame, history: Array, contacts: Contacts | None = None) -> None:
        """Add one frame, the history rows (k, columns) since the last one, and its contacts."""
        if self._lock is None:
            raise RunError(f"{self.path} is closed and takes no more frames.")
        blocks = self._blocks(frame, history, contacts)
        begin = {name: self._end[_table(name)] for name in blocks}
        end = self._end | {_table(name): begin[name] + len(rows) for name, rows in blocks.items()}
        need = sum(self._data[n].growth(begin[n], len(rows)) for n, rows in blocks.items())
        try:
            reserve(self._lock, self._h5.id.get_filesize() + need + need // 16 + SLACK)
        except OSError as error:  # HDF5 has not been touched and closes cleanly
            message = self._cannot(error, need)
            with contextlib.suppress(RunError):
                self.close()
            raise RunError(message) from None
        try:
            for name, rows in blocks.items():
                self._data[name].write(begin[name], rows)
            self._commit(end["frames"])
        except (OSError, RuntimeError) as error:  # h5py raises either when a write fails
            message = self._cannot(error, need)
            self._abandon()
            raise RunError(message) from None
        self._end, self._last = end, frame

    def close(self, *, finished: bool = False) -> None:
        """Close the file; `finished` records that the run reached its end. Harmless when closed."""
        if self._lock is None:
            return
        try:
            self._committed["finished"][()] = int(finished)
            self._committed["bytes"][()] = 0  # closing, HDF5 may shorten the file
            self._h5.flush()
            self._h5.close()
        except (OSError, RuntimeError) as error:
            message = self._cannot(error, 0)
            self._abandon()
            raise RunError(message) from None
        with contextlib.suppress(OSError):  # give back the room reserved beyond the end
            self._lock.seek(0)
            _, _, end = _SUPERBLOCK.unpack(self._lock.read(_SUPERBLOCK.size))
            os.ftruncate(self._lock.fileno(), end)
        self._lock.close()
        self._lock = None

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of complete frames."""
        return self._end["frames"]

    def _blocks(self, frame: Frame, history: Array, contacts: Contacts | None) -> dict[str, Array]:
        """New rows of every dataset that grows."""
        one: dict[str, Any] = vars(frame) | {
            "scalars": [frame.scalars[name] for name in self._scalars],
            "contact_offset": self._end["contacts"],
            "contact_count": -1 if contacts is None else len(contacts.first),
            "history_end": self._end["history"] + len(history),
        }
        rows = {f"frames/{name}": [value] for name, value in one.items()}
        rows["history"] = history  # type: ignore[assignment]
        if contacts is not None:
            rows |= {f"contacts/{name}": value for name, value in vars(contacts).items()}
            if contacts.spring.shape[1] == 0:  # not stretched yet
                rows["contacts/spring"] = np.zeros_like(contacts.normal)  # type: ignore[assignment]
        return {n: data.block(rows[n]) for n, data in self._data.items() if n in rows}

    def _commit(self, frames: int) -> None:
        """Flush the data, then say that they are there."""
        assert self._lock is not None
        self._h5.flush()
        length = min(self._h5.id.get_filesize(), os.fstat(self._lock.fileno()).st_size)
        for name, value in (("bytes", length), ("frames", frames)):
            self._committed[name][()] = value
            self._committed[name].flush()

    def _cannot(self, error: Exception, need: int) -> str:
        """One sentence on a failed write."""
        free = shutil.disk_usage(self.path.parent).free
        done = "it holds no complete frame"
        if self._last is not None:
            step, time = self._last.step, self._last.time
            done = f"it is intact up to frame {len(self) - 1} (step {step}, time {time:g})"
        return (
            f"{self.path} cannot take frame {len(self)}, which needs {_words(need)} "
            f"where {_words(free)} are free ({_reason(error)}); {done}."
        )

    def _abandon(self) -> None:
        """Let go of the file after a failed write, leaving on disk what is there."""
        _drop(self._h5, [*self._data.values(), *self._committed.values()])
        if self._lock is not None:
            self._lock.close()
        self._lock = None


class RunFile:
    """Reads a run file: while the run goes on, after a kill, after a clean end.

    `len(run)` frames, `run[k]` a `Frame` (k < 0 counts from the end), `for frame in run`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._h5: Any = None
        self.refresh()

    def refresh(self) -> None:
        """See the frames that were added since."""
        self.close()
        self._h5 = _open(self.path)
        try:
            with self._reading("its state"):
                self._frames = int(self._h5["committed/frames"][()])
                length = int(self._h5["committed/bytes"][()])
                self._data = _growing(self._h5)
                self._shape = {n: self._h5["model"][n].shape for n in ("inv_mass", "inv_inertia")}
            if self._frames <= 0:
                raise InputError(f"{self.path} holds no complete frame yet.")
            _check_length(self.path, length)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file. Harmless when closed."""
        if self._h5 is not None:
            self._h5.close()
            self._h5 = None

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._frames

    def __getitem__(self, k: int) -> Frame:
        k = self._index(k)
        with self._reading(f"frame {k}"):
            value = {f.name: _row(self._data, f"frames/{f.name}", k) for f in fields(Frame)}
            value["step"], value["time"] = int(value["step"]), float(value["time"])
            # without walls there is no dataset: HDF5 has no chunks of size 0
            value["wall_force"] = value["wall_force"].reshape(-1, self._shape["inv_mass"][1])
            value["wall_torque"] = value["wall_torque"].reshape(-1, self._shape["inv_inertia"][1])
            names = _columns(self._data, "frames/scalars")
            value["scalars"] = {name: float(value["scalars"][name]) for name in names}
            return Frame(**value)

    def __iter__(self) -> Iterator[Frame]:
        return (self[k] for k in range(len(self)))

    def contacts(self, k: int) -> Contacts | None:
        """Contacts of frame k, None where they were not stored."""
        k = self._index(k)
        with self._reading(f"frame {k}"):
            begin, count = (int(self._data[f"frames/contact_{w}"][k]) for w in ("offset", "count"))
            if count < 0:
                return None
            rows = slice(begin, begin + count)
            found = ((f.name, self._data.get(f"contacts/{f.name}")) for f in fields(Contacts))
            return Contacts(**{name: data[rows] for name, data in found if data is not None})

    @property
    def header(self) -> dict[str, str]:
        """Texts: scenario, seed, versions, units."""
        with self._reading("the header"):
            return {name: text[()].decode() for name, text in self._h5["header"].items()}

    @property
    def model(self) -> dict[str, Array]:
        """Arrays that do not change during the run."""
        with self._reading("the model"):
            return {name: data[()] for name, data in self._h5["model"].items()}

    @property
    def history(self) -> dict[str, Array]:
        """Columns of the per-step history up to the last complete frame, each (k,)."""
        with self._reading("the history"):
            rows = self._data["history"][: _ends(self._h5, len(self))["history"]]
            return {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names}

    @property
    def step(self) -> Array:
        """Steps done at each frame, shape (frames,)."""
        with self._reading("its steps"):
            return np.asarray(self._data["frames/step"][: len(self)])

    @property
    def time(self) -> Array:
        """Simulated time of each frame, shape (frames,) [time]."""
        with self._reading("its times"):
            return np.asarray(self._data["frames/time"][: len(self)])

    @property
    def wall_names(self) -> list[str]:
        """Names of the walls, in the order of `Frame.wall_force`."""
        with self._reading("its wall names"):
            return [str(name) for name in self._h5["frames"].attrs["wall_names"]]

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        with self._reading("its state"):
            return bool(self._h5["committed/finished"][()])

    @property
    def live(self) -> bool:
        """Whether a run is writing the file now."""
        with self.path.open("rb") as file:
            return _is_locked(file)

    def _index(self, k: int) -> int:
        if not -len(self) <= k < len(self):
            raise IndexError(f"frame {k} of {len(self)} in {self.path}")
        return k % len(self)

    @contextlib.contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn whatever HDF5 says about a damaged file into one sentence."""
        if self._h5 is None:
            raise RunError(f"{self.path} has been closed.")
        try:
            yield
        except Exception as error:
            raise InputError(f"{self.path} is damaged: {what} cannot be read.") from error

    def _last_with_contacts(self) -> int:
        with self._reading("its contacts"):
            stored = np.flatnonzero(self._data["frames/contact_count"][: len(self)] >= 0)
        if stored.size == 0:
            raise InputError(f"{self.path} stores no contacts, so it cannot be resumed.")
        return int(stored[-1])

    def _copier(self, frames: int) -> tuple[Callable[[Any], None], int]:
        """Function that writes the first `frames` frames to another file, and their size."""
        with self._reading("its state"):
            data, end = self._data, _ends(self._h5, frames)
            history, scalars = (_columns(data, name) for name in ("history", "frames/scalars"))
        header, model, walls = self.header, self.model, self.wall_names
        room = sum(_Rows(data[name]).growth(0, end[_table(name)]) for name in data)
        room += sum(array.nbytes for array in model.values())

        def fill(target: Any) -> None:
            _lay_out(target, header, model, history, walls, scalars, "contacts/spring" in data)
            for name, new in _growing(target).items():
                rows, copy = end[_table(name)], _Rows(new)
                block = math.ceil((64 << 20) / (new.dtype.itemsize * math.prod(new.shape[1:])))
                for a in range(0, rows, block):
                    with self._reading(name):
                        part = data[name][a : min(a + block, rows)]
                    copy.write(a, part)
            target["committed/frames"][()] = frames

        return fill, room


# --- layout -------------------------------------------------------------------------------------


def _lay_out(
    h5: Any,
    header: Mapping[str, str],
    model: Mapping[str, Array],
    columns: Sequence[str],
    wall_names: Sequence[str],
    scalars: Sequence[str],
    springs: bool,
) -> None:
    """Create every group and dataset of an empty run file."""
    n, (nb, dim), ns = len(model["radius"]), model["inv_mass"].shape, model["inv_inertia"].shape[1]
    w = len(wall_names)
    h5.attrs[_MARK] = _FORMAT
    for name, text in header.items():
        code = text.encode()
        h5.create_dataset(
            f"header/{name}", data=code, dtype=h5py.string_dtype("utf-8", max(1, len(code)))
        )
    for name, array in model.items():
        h5.create_dataset(f"model/{name}", data=np.asarray(array))
    for name in _COMMITTED:
        h5.create_dataset(f"committed/{name}", data=np.int64(0))

    def table(names: Sequence[str]) -> list[tuple[str, str]]:
        return [(name, "f8") for name in names]

    frames: dict[str, tuple[Any, tuple[int, ...]]] = {
        "step": ("i8", ()),
        "time": ("f8", ()),
        "position": ("f8", (nb, dim)),
        "orientation": ("f8", (nb, 1 if dim == 2 else 4)),
        "velocity": ("f8", (nb, dim)),
        "spin": ("f8", (nb, ns)),
        "wall_force": ("f8", (w, dim)),
        "wall_torque": ("f8", (w, ns)),
        "scalars": (table(scalars), ()),
        "contact_offset": ("i8", ()),
        "contact_count": ("i8", ()),
        "history_end": ("i8", ()),
    }
    contacts: dict[str, tuple[Any, tuple[int, ...]]] = {
        "first": ("i4", ()),
        "second": ("i4", ()),
        "normal": ("f8", (dim,)),
        "gap": ("f8", ()),
        "impulse": ("f8", (dim,)),
        "torque": ("f8", (ns,)),
    }
    if springs:
        contacts["spring"] = ("f8", (dim,))
    for name, (kind, row) in frames.items():
        if 0 not in row and kind != []:
            _create(h5, f"frames/{name}", kind, row)
    h5["frames"].attrs["wall_names"] = np.array(wall_names, dtype=h5py.string_dtype())
    for name, (kind, row) in contacts.items():
        _create(h5, f"contacts/{name}", kind, row, rows=min(max(n, 512), 1 << 14))
    _create(h5, "history", table(columns), (), rows=256)
    for name, (unit, about) in _ABOUT.items():
        if name in h5:
            h5[name].attrs["unit"], h5[name].attrs["description"] = unit, about


def _create(h5: Any, name: str, kind: Any, row: tuple[int, ...], rows: int | None = None) -> None:
    """Dataset that grows along its first axis, by `rows` at a time if given."""
    kind = np.dtype(kind)
    size = kind.itemsize * math.prod(row)
    if size > _LARGE_CHUNK:
        part = math.ceil(row[0] / math.ceil(size / _LARGE_CHUNK))
        chunks = (1, part, *row[1:])
    else:
        chunks = (rows or max(1, _SMALL_CHUNK // size), *row)
    h5.create_dataset(name, (0, *row), kind, maxshape=(None, *row), chunks=chunks)


def _growing(h5: Any) -> dict[str, Any]:
    """The datasets to which frames are appended, by path."""
    nested = {f"{g}/{name}": data for g in ("frames", "contacts") for name, data in h5[g].items()}
    return nested | {"history": h5["history"]}


def _table(name: str) -> str:
    """frames, contacts or history: datasets of one table have equally many rows."""
    return name.split("/")[0]


def _ends(h5: Any, frames: int) -> dict[str, int]:
    """Rows of each table that belong to the first `frames` frames."""
    if frames == 0:
        return {"frames": 0, "contacts": 0, "history": 0}
    get = {name: int(h5[f"frames/{name}"][frames - 1]) for name in _ROW_KEYS}
    contacts = get["contact_offset"] + max(get["contact_count"], 0)
    return {"frames": frames, "contacts": contacts, "history": get["history_end"]}


def _columns(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Column names of a table; a table of no columns does not exist."""
    return data[name].dtype.names if name in data else ()


def _row(data: Mapping[str, Any], name: str, k: int) -> Any:
    return data[name][k] if name in data else np.empty(0)


class _Rows:
    """A dataset that grows along its first axis. Sizes are looked up once: h5py is slow at it."""

    def __init__(self, data: Any) -> None:
        self.id, self.kind, self.row, self.chunks = data.id, data.dtype, data.shape[1:], data.chunks

    def block(self, values: Any) -> Array:
        """Values in the type and row shape of the dataset; columns become fields of a table."""
        if self.kind.names:
            table = np.ascontiguousarray(values, float).reshape(-1, len(self.kind.names))
            return np.asarray(table.view(self.kind)).reshape(-1)
        array: Array = np.ascontiguousarray(values, self.kind)
        return array.reshape(len(array), *self.row)

    def write(self, start: int, block: Array) -> None:
        """Put a block at row `start`, which becomes the end of the dataset."""
        if len(block):
            self.id.set_extent((start + len(block), *self.row))
            space = self.id.get_space()
            space.select_hyperslab((start, *(0 for _ in self.row)), block.shape)
            self.id.write(h5py.h5s.create_simple(block.shape), space, block)

    def growth(self, start: int, rows: int) -> int:
        """Space in whole chunks that `rows` more rows take [bytes]."""
        first, *rest = self.chunks
        new = math.ceil((start + rows) / first) - math.ceil(start / first)
        across = math.prod(math.ceil(n / c) for n, c in zip(self.row, rest, strict=True))
        return int(new * across * math.prod(self.chunks) * self.kind.itemsize)


# --- HDF5 files ---------------------------------------------------------------------------------


def _build(path: Path, fill: Callable[[Any], None], room: int) -> tuple[Any, IO[bytes]]:
    """Make a file with `fill`, start SWMR mode, and put it in the place of `path` in one move."""
    real = Path(os.path.realpath(path))
    part = real.with_name(f".{real.name}.part")
    lock = _claim(part, create=True, told=path)
    with contextlib.ExitStack() as undo:
        undo.callback(lock.close)
        undo.callback(part.unlink)
        try:
            # align: the counts in /committed must not straddle two 8-byte words
            align = {"alignment_threshold": 1, "alignment_interval": 8}
            h5 = h5py.File(part, "w", libver=_LIBVER, locking=False, **align)
            undo.callback(_drop, h5)
            reserve(lock, room + room // 16 + 4 * SLACK)
            fill(h5)
            h5.swmr_mode = True
            h5.flush()
            os.replace(part, real)
        except (OSError, RuntimeError) as error:
            free = shutil.disk_usage(real.parent).free
            raise RunError(
                f"{path} cannot be written: it needs {_words(room)} where {_words(free)} are free "
                f"({_reason(error)})."
            ) from None
        undo.pop_all()
    return h5, lock


def _reopen(path: Path, lock: IO[bytes]) -> Any:
    """Open a cleanly closed file for more frames, in SWMR mode from the start, or give None."""
    with contextlib.suppress(OSError):
        reserve(lock, path.stat().st_size + SLACK)
    try:
        return _open_swmr(path, h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE)
    except OSError:  # left open by a killed writer, or read at this moment by this process
        return None


def _open_swmr(path: Path, flags: int) -> Any:
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_file_locking(False, True)
    # A reader that meets a wrong checksum supposes a write in progress and tries again, after a
    # pause that doubles each time. HDF5 does so 100 times, which outlasts the universe; 26 times
    # take 0.1 s. h5py has no name for the setting.
    with contextlib.suppress(OSError, AttributeError):
        set_attempts = ctypes.CDLL(h5py.h5p.__file__).H5Pset_metadata_read_attempts
        set_attempts(ctypes.c_int64(access.id), ctypes.c_uint(26))
    return h5py.File(h5py.h5f.open(os.fsencode(path), flags, access))


def _open(path: Path) -> Any:
    """Open a run file for reading, or say in one sentence why not."""
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the run file in it, such as {path / 'run.h5'}.")
    try:
        with path.open("rb") as file:
            head = file.read(_SUPERBLOCK.size)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    if not head:
        raise InputError(f"{path} is empty.")
    if not head.startswith(_SIGNATURE):
        raise InputError(f"{path} is not an HDF5 file, so it is not a run file.")
    if len(head) < _SUPERBLOCK.size:
        raise InputError(f"{path} is cut short after {len(head)} bytes.")
    version, opened, end = _SUPERBLOCK.unpack(head)
    if version == 3 and not opened:  # while it is open for writing, the file may lag behind
        _check_length(path, end)
    try:
        h5 = _open_swmr(path, h5py.h5f.ACC_RDONLY | h5py.h5f.ACC_SWMR_READ)
        form = h5.attrs.get(_MARK)
    except Exception:  # h5py has many
        raise InputError(f"{path} is damaged: HDF5 cannot open it.") from None
    if form != _FORMAT:
        h5.close()
        if form is None:
            raise InputError(f"{path} is an HDF5 file, but not a run file of hardgrain.")
        raise InputError(f"{path} has run-file format {form}; this version reads {_FORMAT}.")
    return h5


def _check_length(path: Path, expected: int) -> None:
    """HDF5 reads zeros beyond the end of a file that it shares with a writer: check ourselves."""
    length = path.stat().st_size
    if length < expected:
        raise InputError(
            f"{path} is cut short: {length} of at least {expected} bytes are there; copy it again."
        )


def _drop(h5: Any, handles: Sequence[Any] = ()) -> None:
    """Close a file that HDF5 could not write, without writing to it any more.

    HDF5 keeps the failed blocks and tries them again on closing and at exit; failing there, it
    crashes. With its descriptor turned to the null device, it finishes in peace.
    """
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(null, h5.id.get_vfd_handle())
        h5.close()
    except (OSError, RuntimeError):
        for handle in (h5, *handles):  # leave them to the end of the process
            handle.id.locked = True
    finally:
        os.close(null)


def reserve(file: IO[bytes], size: int) -> None:
    """Allocate the file up to `size` bytes, so that HDF5 cannot run out of space in mid-write."""
    descriptor = file.fileno()
    now = os.fstat(descriptor).st_size
    if size <= now:
        return
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, now, size - now)
        else:
            if shutil.disk_usage(Path(file.name).parent).free < size - now:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(descriptor, size)
    except OSError:
        os.ftruncate(descriptor, now)
        raise


# --- locks --------------------------------------------------------------------------------------
# Linux: a lock of the open file description on one byte far beyond the end. HDF5 (flock) does not
# see it, and it ends with the process, however that ends. Elsewhere: flock.

_LOCK = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, length, pid
_LOCK_AT = 1 << 62


def _try_lock(file: IO[bytes]) -> bool:
    """Take the writer's lock; False if another writer has it."""
    try:
        if sys.platform == "linux":
            request = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCK_AT, 1, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, request)
        elif sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # a file system without locks is not an obstacle
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def _is_locked(file: IO[bytes]) -> bool:
    """Whether a writer holds the lock."""
    if sys.platform == "linux":
        request = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCK_AT, 1, 0)
        with contextlib.suppress(OSError):
            answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, request)
            return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)
        return False
    return not _try_lock(file)


def _claim(path: Path, *, create: bool = False, told: Path | None = None) -> IO[bytes]:
    """Open `path` with the writer's lock on it, held until the file object is closed."""
    told = told or path
    while True:
        try:
            file = path.open("a+b" if create else "r+b", buffering=0)
        except OSError as error:
            raise InputError(f"{told} cannot be written ({error.strerror}).") from None
        if not _try_lock(file):
            file.close()
            raise InputError(
                f"{told} is being written by another run; wait for its end or choose another file."
            )
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # renamed or replaced in between


def _reason(error: Exception) -> str:
    """Cause of a failed write; h5py gives the system's error number only now and then."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else "a write failed"


def _words(size: int) -> str:
    """A size in bytes for humans."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:.3g} GB"
