"""The run file: one HDF5 file that holds a run's input, trajectory, contacts and solver history.

Layout (T frames, nb bodies of which w are walls, m contact rows, k steps, floats are float64):

    /header/<name>       text: scenario, seed, versions, units, ...
    /model/<name>        what does not change: radius, inverse masses, materials, ...
    /frames/<name>       (T, ...): step, time, position, orientation, velocity, spin, wall forces,
                         scalars; and which contact and history rows belong to the frame;
                         status (T, n) where grains come or go
    /contacts/<name>     (m, ...): first, second, normal, gap, impulse, torque, frame after frame;
                         spring where contacts have one (soft particles)
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
import itertools
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError, RunError
from hardgrain.io.frame import Frame, Record
from hardgrain.io.layout import (
    COMMITTED,
    FORMAT,
    FORMATS,
    MARK,
    MODEL,
    VERDICT,
    Layout,
    Rows,
    checksum,
    datasets,
    ends,
    seal,
    starts,
    table,
    unseal,
)
from hardgrain.io.lock import claim, is_locked
from hardgrain.io.swmr import (
    SLACK,
    build,
    check_length,
    drop,
    end_of_file,
    open_to_read,
    reason,
    reopen,
    reserve,
    sync,
    words,
)
from hardgrain.io.verify import (
    Damaged,
    as_written,
    check_contacts,
    check_finite,
    check_model,
    check_tables,
    structure,
)
from hardgrain.scene.model import Contacts, some_bodies

__all__ = ["Checkpoint", "Frame", "Record", "RunFile", "RunWriter", "Steps"]

Array = NDArray[Any]


# Share of a run's time that may be spent on waiting for the disk. To write two blocks for good
# takes some 15 ms on a solid-state disk: a run that writes without pause does it every second.
WAIT = 0.02


@dataclass(frozen=True)
class Steps:
    """What is kept of each of the k steps since the last frame."""

    table: Array  # (k, columns)
    wall_force: Array  # (k, w, dim) [force], by the grains on each wall
    wall_work: Array  # (k, w) [energy], of each wall on the grains


@dataclass(frozen=True)
class Checkpoint:
    """All that a run file knows about the frame from which the run goes on."""

    record: Record
    contacts: Contacts  # bodies by the rows of the record
    header: dict[str, str]
    model: dict[str, Array]


class RunWriter:
    """Writes a run file, frame by frame; use as a context manager."""

    def __init__(self, path: Path, h5: Any, lock: IO[bytes], last: Record | None = None) -> None:
        """Take over a laid-out file in SWMR mode; callers use `create` or `resume`."""
        self.durable = True  # wait for the disk at frames with contacts, see WAIT
        self._begun, self._waited = perf_counter(), 0.0
        self.news: str | None = None  # what the user should know, until it is told
        self._take(path, h5, lock, last)

    def _take(self, path: Path, h5: Any, lock: IO[bytes], last: Record | None) -> None:
        self.path = path
        self._h5 = h5
        self._lock: IO[bytes] | None = lock  # open as long as the writer is
        data = datasets(h5)
        self._data = {name: _Growing(d) for name, d in data.items()}
        self._committed = {name: h5["committed"][name] for name in COMMITTED}
        if VERDICT in h5:  # not in a file of an earlier version
            self._committed[VERDICT] = h5[VERDICT]
        frames = int(self._committed["frames"][()])
        self._end = ends(data, frames)
        self._sums = dict.fromkeys(data["frames/checksum"].dtype.names, 0)
        if frames:
            self._sums = dict(zip(self._sums, data["frames/checksum"][frames - 1].tolist()))
        self._scalars = _columns(data, "frames/scalars")
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
        status: bool = False,
        scalars: Sequence[str] = (),
        overwrite: bool = False,
    ) -> RunWriter:
        """Start a new run file.

        `model` holds the arrays of `layout.MODEL`. `columns` names the history columns, `scalars`
        the keys of `Record.scalars`; with `springs`, contacts have an elongation; with `status`,
        grains may be absent.
        """
        path = Path(path)
        if path.is_dir():
            raise InputError(f"{path} is a folder; give a file name such as {path / 'run.h5'}.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file; choose another name.")
        if path.exists() and not overwrite:
            raise InputError(
                f"{path} exists already; add --overwrite (in Python overwrite=True) to replace it,"
                " or choose another name."
            )
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} does not exist; create it first.")

        layout = Layout.of(model, wall_names, columns, scalars, springs, status)

        def fill(h5: Any) -> None:
            layout.make(h5, header, model)

        room = sum(len(text) for text in header.values())
        room += sum(np.asarray(array).nbytes for array in model.values())
        with claim(path) if path.exists() else contextlib.nullcontext():
            return cls(path, *build(path, fill, room))

    @classmethod
    def resume(cls, path: str | Path) -> tuple[RunWriter, Checkpoint]:
        """Go on after the last frame whose contacts are stored; later frames are dropped.

        A cleanly closed file is continued in place. A killed one, or one of an earlier format, is
        copied up to that frame, and the copy takes its place in one move.
        """
        path = Path(path)
        RunFile(path).close()  # says what is wrong with the file, if anything
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(claim(path))
            with RunFile(path) as run:
                last = run._last_with_contacts()
                checkpoint = run.checkpoint(last)
                assert checkpoint is not None
                whole = last == len(run) - 1 and run.format == FORMAT
            h5 = reopen(path, lock) if whole else None
            if h5 is not None:
                stack.pop_all()  # the writer keeps the lock
            else:
                with RunFile(path) as run:
                    h5, lock = build(path, *run._copier(last + 1), durable=True)
            return cls(path, h5, lock, checkpoint.record), checkpoint

    def append(self, frame: Record, steps: Steps, contacts: Contacts | None = None) -> None:
        """Add one frame, the steps since the last one, and its contacts."""
        if self._lock is None:
            raise RunError(f"{self.path} is closed and takes no more frames.")
        self._stay_in_sight()
        blocks = self._blocks(frame, steps, contacts)
        sums = self._sums | {
            name: checksum(rows, self._sums[name]) for name, rows in blocks.items()
        }
        blocks["frames/checksum"] = self._data["frames/checksum"].rows.block([*sums.values()])
        begin = {name: self._end[table(name)] for name in blocks}
        end = self._end | {table(name): begin[name] + len(rows) for name, rows in blocks.items()}
        need = sum(self._data[n].rows.growth(begin[n], len(rows)) for n, rows in blocks.items())
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
            self._commit(end["frames"], durable=contacts is not None and self._may_wait())
        except (OSError, RuntimeError) as error:  # h5py raises either when a write fails
            message = self._cannot(error, need)
            self._abandon()
            raise RunError(message) from None
        self._end, self._sums, self._last = end, sums, frame

    def tell(self, verdict: str) -> None:
        """Keep the word on a run gone wrong, whatever becomes of it after this."""
        if VERDICT in self._committed:
            self._committed[VERDICT][()] = seal(verdict)
            self._committed[VERDICT].flush()

    def close(self, *, finished: bool = False) -> None:
        """Close the file; `finished` records that the run reached its end. Harmless when closed."""
        if self._lock is None:
            return
        self._stay_in_sight()
        self._close_hdf5(finished)
        self._lock.close()
        self._lock = None

    def _close_hdf5(self, finished: bool) -> None:
        """Close the file but keep the lock."""
        assert self._lock is not None
        try:
            self._committed["finished"][()] = int(finished)
            self._committed["bytes"][()] = 0  # closing, HDF5 may shorten the file
            self._h5.flush()
            self._h5.close()
            if self.durable:
                sync(self._lock)
        except (OSError, RuntimeError) as error:
            message = self._cannot(error, 0)
            self._abandon()
            raise RunError(message) from None
        with contextlib.suppress(OSError):  # give back the room reserved beyond the end
            os.ftruncate(self._lock.fileno(), end_of_file(self._lock))

    def _stay_in_sight(self) -> None:
        """Go on under a new name where the file was removed or another took its place.

        What was written is still there as long as it is open here, though nobody else finds it.
        """
        assert self._lock is not None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), self.path.stat()):
                return
        gone, last, old = self.path, self._last, self._lock
        self._close_hdf5(finished=False)
        self._lock = None  # closed, unless it goes on
        try:
            with old:
                path, lock = self._copied(old)
            self._take(path, reopen(path, lock), lock, last)
        except (OSError, AttributeError, InputError) as error:
            raise RunError(
                f"{gone} was removed during the run, and nothing can be written beside it"
                f" ({getattr(error, 'strerror', None) or error})."
            ) from None
        self.news = f"{gone} was removed or replaced during the run, which is now written to {path}"

    def _copied(self, old: IO[bytes]) -> tuple[Path, IO[bytes]]:
        """All that was written, under a name beside the old one that is free."""
        numbers = itertools.count(2)
        path = self.path
        while path == self.path or os.path.lexists(path):
            path = self.path.with_stem(f"{self.path.stem}-{next(numbers)}")
        lock = claim(path, create=True)
        old.seek(0)
        with open(lock.fileno(), "ab", closefd=False) as copy:
            shutil.copyfileobj(old, copy, 1 << 20)
        return path, lock

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of complete frames."""
        return self._end["frames"]

    def _blocks(self, frame: Record, steps: Steps, contacts: Contacts | None) -> dict[str, Array]:
        """New rows of every dataset that grows."""
        one: dict[str, Any] = vars(frame) | {
            "scalars": [frame.scalars[name] for name in self._scalars],
            "contact_offset": self._end["contacts"],
            "contact_count": -1 if contacts is None else len(contacts.first),
            "history_end": self._end["history"] + len(steps.table),
        }
        rows: dict[str, Any] = {f"frames/{name}": [value] for name, value in one.items()}
        rows |= {"history": steps.table}
        rows |= {"walls/force": steps.wall_force, "walls/work": steps.wall_work}
        if contacts is not None:
            rows |= {f"contacts/{name}": value for name, value in vars(contacts).items()}
            if contacts.spring.shape[1] == 0:  # not stretched yet
                rows["contacts/spring"] = np.zeros_like(contacts.normal)
        return {n: data.rows.block(rows[n]) for n, data in self._data.items() if n in rows}

    def _commit(self, frames: int, durable: bool = False) -> None:
        """Flush the data, then say that they are there; with `durable`, wait for the disk."""
        assert self._lock is not None
        self._h5.flush()
        if durable:
            self._wait()
        length = min(self._h5.id.get_filesize(), os.fstat(self._lock.fileno()).st_size)
        for name, value in (("bytes", length), ("frames", frames)):
            self._committed[name][()] = value
            self._committed[name].flush()
        if durable:
            self._wait()

    def _may_wait(self) -> bool:
        """Whether this frame is one to wait for until it is on the disk."""
        return self.durable and self._waited <= WAIT * (perf_counter() - self._begun)

    def _wait(self) -> None:
        assert self._lock is not None
        before = perf_counter()
        sync(self._lock)
        self._waited += perf_counter() - before

    def _cannot(self, error: Exception, need: int) -> str:
        """One sentence on a failed write."""
        free = shutil.disk_usage(self.path.parent).free
        done = "it holds no complete frame"
        if self._last is not None:
            step, time = self._last.step, self._last.time
            done = f"it is intact up to frame {len(self) - 1} (step {step}, time {time:g})"
        return (
            f"{self.path} cannot take frame {len(self)}, which needs {words(need)} "
            f"where {words(free)} are free ({reason(error)}); {done}."
        )

    def _abandon(self) -> None:
        """Let go of the file after a failed write, leaving on disk what is there."""
        drop(self._h5, [*self._data.values(), *self._committed.values()])
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
        self._h5 = open_to_read(self.path)
        try:
            self.format = self._known_format()
            with self._reading("its structure"):
                # of a file that grows: the count first, then what was written before it
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
            value["wall_torque"] = value["wall_torque"].reshape(-1, at.turns)
            value["scalars"] = {name: float(value["scalars"][name]) for name in at.scalars}
            if not at.status:
                del value["status"]
            for name, numbers in value.items():
                if name != "scalars":
                    check_finite(f"{name} of frame {k}", numbers)
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
        """The same with all bodies by their rows in the file."""
        k = self._index(k)
        if not self._stored[k]:
            return None
        names = [f.name for f in fields(Contacts) if f"contacts/{f.name}" in self._data]
        found = Contacts(**{name: self._rows(f"contacts/{name}", k) for name in names})
        with self._reading(f"frame {k}"):
            check_contacts(found, self._layout)
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
            if self.format == 1:  # which knew neither flat walls nor glue
                bodies = np.arange(len(arrays["inv_mass"]), dtype=np.int32)
                arrays |= {"wall_side": 0.0 * arrays["wall_axis"], "carrier": bodies}
            check_model(arrays)
            return arrays

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what the history keeps of a step as a whole; the rest is of its walls."""
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
        """Turn whatever HDF5 says about a damaged file into one sentence."""
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

    def _last_with_contacts(self) -> int:
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

    def _copier(self, frames: int) -> tuple[Callable[[Any], None], int]:
        """Function that writes the first `frames` frames to another file, and their size."""
        header, model, verdict = self.header, self.model, seal(self.verdict)
        layout = self._layout
        rows = {n: r for n, r in layout.rows().items() if n != "frames/checksum"}
        if not rows.keys() <= self._data.keys():
            raise InputError(
                f"{self.path} was written by hardgrain {header.get('hardgrain')}, which kept less"
                " in its file; start a new run from its last frame."
            )
        room = sum(r.growth(0, int(self._starts[table(n)][frames])) for n, r in rows.items())
        room += sum(array.nbytes for array in model.values())

        def fill(target: Any) -> None:
            layout.make(target, header, model)
            sums = np.empty((frames, len(rows)), np.uint32)
            for name, column in zip(rows, sums.T):
                copy, total, begin = _Growing(target[name]), 0, self._starts[table(name)]
                size = rows[name].kind.itemsize * math.prod(rows[name].row)
                for first, end in _blocks(begin[: frames + 1], _COPIED // size):
                    part = self._rows(name, first, end)
                    copy.write(begin[first], part)
                    for k in range(first, end):
                        here = part[begin[k] - begin[first] : begin[k + 1] - begin[first]]
                        column[k] = total = checksum(here, total)
            copy = _Growing(target["frames/checksum"])
            copy.write(0, copy.rows.block(sums))
            target["committed/frames"][()] = frames
            target[VERDICT][()] = verdict

        return fill, room


# Data held in memory while a file is copied [bytes].
_COPIED = 64 << 20


def _blocks(begin: Array, rows: int) -> Iterator[tuple[int, int]]:
    """Frames in groups that have at most so many rows together, or are single frames."""
    first, frames = 0, len(begin) - 1
    while first < frames:
        end = int(np.searchsorted(begin, begin[first] + rows, side="right")) - 1
        end = min(max(end, first + 1), frames)
        yield first, end
        first = end


def _of_frames(first: int, end: int) -> str:
    return f"frame {first}" if end == first + 1 else f"frames {first} to {end - 1}"


def _columns(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Column names of a table; a table of no columns does not exist."""
    return data[name].dtype.names if name in data else ()


class _Growing:
    """A dataset to append to. Sizes are looked up once: h5py is slow at it."""

    def __init__(self, data: Any) -> None:
        self.id, self.rows = data.id, Rows(data.dtype, data.shape[1:], data.chunks)

    def write(self, start: int, block: Array) -> None:
        """Put a block at row `start`, which becomes the end of the dataset."""
        if len(block):
            self.id.set_extent((start + len(block), *self.rows.row))
            space = self.id.get_space()
            space.select_hyperslab((start, *(0 for _ in self.rows.row)), block.shape)
            self.id.write(h5py.h5s.create_simple(block.shape), space, block)
