"""The run file: one HDF5 file that holds a run's input, trajectory, contacts and solver history.

Layout (T frames, nb bodies of which w are walls, m contact rows, k steps, floats are float64):

    /header/<name>       text: scenario, seed, versions, units, ...
    /model/<name>        what does not change: radius, inverse masses, materials, ...
    /frames/<name>       (T, ...): step, time, position, orientation, velocity, spin, wall forces,
                         scalars; and which contact and history rows belong to the frame;
                         status (T, n) where grains come or go; order (T, n) where a run
                         holds its grains in another one than that of their numbers; cell
                         (T, 3 or 6) where the periodic cell deforms, see `core.cell`; collided
                         (T, nb, 1) where an engine must know when grains last collided;
                         displacement and rate (T, k, dim) of the nodes of deformable grains
    /contacts/<name>     (m, ...): first, second, normal, gap, impulse, torque, frame after frame;
                         spring where contacts have one (soft particles); law where a rule of the
                         user's chooses it
    /history             (k,) table with one row per step and named columns
    /walls/<name>        (k, w, ...) one row per step: force on each wall, work of each wall;
                         name (w,): their names
    /committed/frames    number of complete frames: trust these and nothing beyond

`io.layout` has every dataset with its type, shape, unit and checksum. With plain h5py:

    f = h5py.File("run.h5", swmr=True)                 # swmr: also while the run goes on
    t = f["frames/time"][:f["committed/frames"][()]]
    table = pandas.DataFrame(f["history"][:])
    frames = xarray.open_dataset("run.h5", group="frames", engine="h5netcdf")  # of a closed file
    start, count = f["frames/contact_offset"][k], f["frames/contact_count"][k]
    gap = f["contacts/gap"][start:start + count]

Rows of bodies are the grains by their number, then the walls in the order of `walls/name`. Where
grains come or go, every grain has its row from the first frame on; those that are not there (a
status other than 0) stand where they left, or are not placed yet.

The file is laid out in full under another name and then renamed, so it is never seen half made.
From then on HDF5 writes it in SWMR mode (single writer, multiple readers), in which whatever is on
disk is consistent at every moment. A frame is appended in three moves, each flushed before the
next: its data, `committed/bytes`, `committed/frames`. The last is one aligned 8-byte word, so a
process killed anywhere leaves either the old count or the new one. At frames with contacts the
writer also waits until data and count are on the disk, one after the other, for a power cut.

Locks: HDF5's own are switched off, since they let a reader stop a writer. The writer holds a lock
of its own on the file, which only another writer looks at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.lawtable import N_PARAMETERS
from hardgrain.core.model import Contacts, some_bodies
from hardgrain.errors import InputError, RunError
from hardgrain.io.frame import Frame, Record
from hardgrain.io.layout import FORMATS, MARK, MODEL, VERDICT, checksum, starts, table, unseal
from hardgrain.io.lock import is_locked
from hardgrain.io.swmr import check_length, open_to_read
from hardgrain.io.verify import (
    Damaged,
    as_written,
    check_cell,
    check_contacts,
    check_finite,
    check_model,
    check_order,
    check_tables,
    structure,
)

__all__ = ["Checkpoint", "Frame", "Record", "RunFile"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Checkpoint:
    """All that a run file knows about the frame from which the run goes on."""

    record: Record
    contacts: Contacts  # bodies are numbered by the rows of the record
    header: dict[str, str]
    model: dict[str, Array]


class RunFile:
    """Reads a run file: while the run goes on, after a kill, after a clean end.

    `len(run)` frames, `run[k]` a `Frame` (k < 0 counts from the end), `for frame in run`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._h5: Any = None
        self.refresh()

    def refresh(self) -> None:
        """Read the frames that were added since the last look."""
        self.close()
        self._h5 = open_to_read(self.path)
        try:
            self.format = self._known_format()
            with self._reading("its structure"):
                # In a file that grows, read the count first, and then what was written before it.
                self._frames = self._committed("frames")
                self._layout, self._data = structure(self._h5, self.path.stat().st_size)
                if self.format > 1:
                    self._kept(self._h5["walls/name"])
                length = self._committed("bytes")
            if self._frames <= 0:
                raise InputError(f"{self.path} holds no complete frame yet.")
            check_length(self.path, length)
            with self._reading("its frames"):
                written = len(self._data["frames/step"])
                if self._frames > written or (length == 0 and self._committed("frames") < written):
                    raise Damaged(f"it counts {self._frames} frames where {written} are")
                self._starts = starts(self._data, self._frames)
                check_tables(self._starts, self._data)
                sums = self._data.get("frames/checksum")
                self._sums = None if sums is None else sums[: self._frames]
                self._stored = self._rows("frames/contact_count", 0, self._frames) >= 0
                for name in ("frames/contact_offset", "frames/history_end"):
                    self._rows(name, 0, self._frames)
        except BaseException:
            self.close()
            raise

    def _known_format(self) -> int:
        with self._reading("its format"):
            found = self._h5.attrs.get(MARK)
        if found is None:
            raise InputError(f"{self.path} is an HDF5 file, but not a run file of hardgrain.")
        if found not in FORMATS:
            raise InputError(
                f"{self.path} has run-file format {found}; this version reads"
                f" {' and '.join(map(str, FORMATS))}."
            )
        return int(found)

    def close(self) -> None:
        """Close the file; a file that is closed stays so."""
        if self._h5 is not None:
            self._h5.close()
            self._h5 = None

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._frames

    def __repr__(self) -> str:
        if self._h5 is None:
            return f"<RunFile {self.path}, closed>"
        state = "finished" if self.finished else "running now" if self.live else "interrupted"
        return (
            f"<RunFile {self.path}: {len(self)} frames, step {self.step[0]} to {self.step[-1]},"
            f" time {self.time[0]:.6g} to {self.time[-1]:.6g}, {state}>"
        )

    def __getitem__(self, k: int) -> Frame:
        return Frame(self._record(k), self.wall_names)

    def _record(self, k: int) -> Record:
        k, at = self._index(k), self._layout
        value: dict[str, Any] = {}
        for f in fields(Record):
            name = f"frames/{f.name}"  # without walls there is no dataset: HDF5 has no empty chunks
            value[f.name] = self._rows(name, k)[0] if name in self._data else np.empty(0)
        with self._reading(f"frame {k}"):
            value["step"], value["time"] = int(value["step"]), float(value["time"])
            value["wall_force"] = value["wall_force"].reshape(-1, at.dim)
            value["wall_torque"] = value["wall_torque"].reshape(-1, at.spins)
            value["scalars"] = {name: float(value["scalars"][name]) for name in at.scalars}
            for name in ("status", "order", "cell", "collided", "displacement", "rate"):
                if not getattr(at, name, at.nodes):
                    del value[name]
            for name, numbers in value.items():
                if name != "scalars":
                    check_finite(f"{name} of frame {k}", numbers)
                if name == "order":
                    check_order(f"{name} of frame {k}", numbers)
                if name == "cell":
                    check_cell(f"{name} of frame {k}", numbers)
        return Record(**value)

    def __iter__(self) -> Iterator[Frame]:
        return (self[k] for k in range(len(self)))

    def contacts(self, k: int) -> Contacts | None:
        """Contacts of frame k, None where they were not stored.

        Bodies are the rows of the frame, and after its n grains n + 0, n + 1, … the walls.
        """
        found = self._contacts(k)
        if found is None or not self._layout.status:
            return found
        status = self._rows("frames/status", self._index(k))[0]
        bodies = some_bodies(np.flatnonzero(status == 0), len(status), self._layout.bodies)
        return found.among(bodies[1])

    def checkpoint(self, k: int) -> Checkpoint | None:
        """All that a run needs to go on from frame k, None where its contacts were not stored."""
        contacts = self._contacts(k)
        if contacts is None:
            return None
        return Checkpoint(self._record(k), contacts, self.header, self.model)

    def _contacts(self, k: int) -> Contacts | None:
        """Contacts of a frame, with bodies numbered by their rows in the file."""
        k = self._index(k)
        if not self._stored[k]:
            return None
        names = [f.name for f in fields(Contacts) if f"contacts/{f.name}" in self._data]
        found = Contacts(**{name: self._rows(f"contacts/{name}", k) for name in names})
        with self._reading(f"frame {k}"):
            laws = len(self._h5["model/laws"]) ** 2 + self._layout.named_laws
            check_contacts(found, self._layout, laws)
        return found

    @property
    def header(self) -> dict[str, str]:
        """Texts: scenario, seed, versions, units."""
        with self._reading("the header"):
            texts = self._h5["header"].items()
            return {name: self._kept(text).item().decode() for name, text in texts}

    @property
    def model(self) -> dict[str, Array]:
        """Arrays that do not change during the run, grains by their number, then walls."""
        with self._reading("the model"):
            held = self._h5["model"]
            arrays = {name: self._kept(held[name]) for name in MODEL if name in held}
            if self.format == 1:  # that format had neither flat walls nor glue
                bodies = np.arange(len(arrays["inv_mass"]), dtype=np.int32)
                arrays |= {"wall_side": 0.0 * arrays["wall_axis"], "carrier": bodies}
            arrays.setdefault("named_laws", np.zeros((0, N_PARAMETERS)))
            arrays.setdefault("moments", np.zeros((0, 3)))
            arrays.setdefault("shape", np.zeros(0, np.int32))
            for name in ("laws", "named_laws"):  # what the version that wrote them did not know
                unknown = N_PARAMETERS - arrays[name].shape[-1]
                before = [(0, 0)] * (arrays[name].ndim - 1)
                arrays[name] = np.pad(arrays[name], (*before, (0, unknown)))
            check_model(arrays)
            return arrays

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the history keeps of each step; the rest belongs to walls."""
        return self._layout.columns

    @property
    def history(self) -> dict[str, Array]:
        """Columns of the per-step history up to the last complete frame, each (k,)."""
        table = self._rows("history", 0, len(self))
        found = {name: np.ascontiguousarray(table[name]) for name in self.columns}
        names, axes = self.wall_names, "xyz"[: self._layout.dim]
        forces = [f"force_{name}_{axis}" for name in names for axis in axes]
        works = [f"work_by_{name}" for name in names]
        for name, columns in (("walls/force", forces), ("walls/work", works)):
            if name in self._data:
                rows = self._rows(name, 0, len(self)).reshape(len(table), len(columns))
                found |= dict(zip(columns, np.ascontiguousarray(rows.T)))
        for name, column in found.items():
            if np.isnan(column).any():
                raise InputError(f"{self.path} is damaged: {name} of its history is not a number.")
        return found

    @property
    def step(self) -> Array:
        """Steps done at each frame, shape (frames,)."""
        return self._rows("frames/step", 0, len(self))

    @property
    def time(self) -> Array:
        """Simulated time of each frame, shape (frames,) [time]."""
        return self._rows("frames/time", 0, len(self))

    @property
    def wall_names(self) -> list[str]:
        """Names of the walls, in the order of `Frame.wall_force`."""
        return list(self._layout.walls)

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        with self._reading("its state"):
            return bool(self._h5["committed/finished"][()])

    @property
    def verdict(self) -> str:
        """Why the run is not plausible; empty if it is."""
        with self._reading("its state"):
            sealed = self._h5[VERDICT][()] if VERDICT in self._h5 else b""
            return unseal(bytes(sealed)) or ""

    @property
    def live(self) -> bool:
        """Whether a run is writing the file now."""
        with self.path.open("rb") as file:
            return is_locked(file)

    def _index(self, k: int) -> int:
        if not -len(self) <= k < len(self):
            raise IndexError(f"frame {k} of {len(self)} in {self.path}")
        return k % len(self)

    @contextlib.contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn any error of HDF5 about a damaged file into one sentence."""
        if self._h5 is None:
            raise RunError(f"{self.path} has been closed.")
        try:
            yield
        except InputError:
            raise
        except Damaged as error:
            raise InputError(f"{self.path} is damaged: {error}.") from None
        except Exception as error:
            raise InputError(f"{self.path} is damaged: {what} cannot be read.") from error

    def _committed(self, name: str) -> int:
        return int(self._h5[f"committed/{name}"][()])

    def _kept(self, data: Any) -> Array:
        return as_written(data, former=self.format == 1)

    def last_with_contacts(self) -> int:
        """The last frame that a run can go on from."""
        stored = np.flatnonzero(self._stored)
        if stored.size == 0:
            raise InputError(f"{self.path} stores no contacts, so it cannot be resumed.")
        return int(stored[-1])

    def _rows(self, name: str, first: int, end: int | None = None) -> Array:
        """Rows of a dataset that belong to frame `first`, or to those from it up to `end`."""
        end = first + 1 if end is None else end
        begin, stop = self._starts[table(name)][[first, end]]
        with self._reading(name):
            rows: Array = self._data[name][begin:stop]
            if self._sums is not None:
                before = self._sums[name][first - 1] if first else 0
                if checksum(rows, int(before)) != self._sums[name][end - 1]:
                    raise Damaged(
                        f"{name} of {_of_frames(first, end)} is not what was written (wrong"
                        " checksum)"
                    )
        return rows


def _of_frames(first: int, end: int) -> str:
    return f"frame {first}" if end == first + 1 else f"frames {first} to {end - 1}"
