"""Writes a run file, frame by frame, such that a kill at any moment leaves whole frames.

The layout of the file, and how frames are committed, is explained in `hardgrain.io.runfile`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Contacts
from hardgrain.errors import InputError, RunError
from hardgrain.io.frame import Record
from hardgrain.io.layout import (
    COMMITTED,
    FORMAT,
    VERDICT,
    Layout,
    checksum,
    datasets,
    ends,
    seal,
    table,
)
from hardgrain.io.lock import claim
from hardgrain.io.runcopy import Growing, copier
from hardgrain.io.runfile import Checkpoint, RunFile
from hardgrain.io.swmr import (
    SLACK,
    build,
    drop,
    end_of_file,
    reason,
    reopen,
    reserve,
    sync,
    words,
)
from hardgrain.io.whole import check_target

__all__ = ["RunWriter", "StepRows"]

Array = NDArray[Any]

# [1] Share of a run's time that may be spent on waiting for the disk. To write two blocks durably
# takes some 15 ms on a solid-state disk: a run that writes without pause does it every second.
WAIT = 0.02


@dataclass(frozen=True)
class StepRows:
    """What is kept of each of the k steps since the last frame."""

    table: Array  # (k, columns)
    wall_force: Array  # (k, w, dim) force of the grains on each wall [force]
    wall_work: Array  # (k, w) work of each wall on the grains [energy]


class RunWriter:
    """Writes a run file, frame by frame; use as a context manager."""

    def __init__(self, path: Path, h5: Any, lock: IO[bytes], last: Record | None = None) -> None:
        """Take over a laid-out file in SWMR mode; callers use `create` or `resume`."""
        self.durable = True  # whether to wait for the disk at frames with contacts, see WAIT
        self._begun, self._waited = perf_counter(), 0.0
        self.news: str | None = None  # what the user should know and has not been told yet
        self._take(path, h5, lock, last)

    def _take(self, path: Path, h5: Any, lock: IO[bytes], last: Record | None) -> None:
        self.path = path
        self._h5 = h5
        self._lock: IO[bytes] | None = lock  # it stays open as long as the writer
        data = datasets(h5)
        self._data = {name: Growing(d) for name, d in data.items()}
        self._committed = {name: h5["committed"][name] for name in COMMITTED}
        if VERDICT in h5:  # files of an earlier version do not have it
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
        order: bool = False,
        cell: bool = False,
        collided: bool = False,
        nodes: int = 0,
        scalars: Sequence[str] = (),
        overwrite: bool = False,
    ) -> RunWriter:
        """Start a new run file.

        `model` holds the arrays of `layout.MODEL`. `columns` names the history columns, `scalars`
        the keys of `Record.scalars`; with `springs`, contacts have an elongation; with `status`,
        grains may be absent; with `order`, they are not held by their numbers; with `cell`, the
        periodic cell deforms; with `collided`, frames say when grains last collided; `nodes` are
        those of all grains that deform.
        """
        path = Path(path)
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is not a regular file; choose another name")
        check_target(path, overwrite=overwrite)
        kinds = springs, status, order, cell, collided
        layout = Layout.of(model, wall_names, columns, scalars, kinds, nodes)

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
        RunFile(path).close()  # it raises an error if something is wrong with the file
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(claim(path))
            with RunFile(path) as run:
                last = run.last_with_contacts()
                checkpoint = run.checkpoint(last)
                assert checkpoint is not None
                whole = last == len(run) - 1 and run.format == FORMAT
            h5 = reopen(path, lock) if whole else None
            if h5 is not None:
                stack.pop_all()  # the writer keeps the lock
            else:
                with RunFile(path) as run:
                    h5, lock = build(path, *copier(run, last + 1), durable=True)
            return cls(path, h5, lock, checkpoint.record), checkpoint

    def append(self, frame: Record, steps: StepRows, contacts: Contacts | None = None) -> None:
        """Add one frame, the steps since the last one, and its contacts."""
        if self._lock is None:
            raise RunError(f"{self.path} is closed and takes no more frames.")
        if "frames/order" not in self._data and (np.diff(frame.order) < 0).any():
            raise RunError(
                f"{self.path} was begun with its grains in the order of their numbers; sort them"
                " before the run begins, so that it can be resumed."
            )
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
        """Keep in the file why the run is not plausible, whatever happens to it later."""
        if VERDICT in self._committed:
            self._committed[VERDICT][()] = seal(verdict)
            self._committed[VERDICT].flush()

    def close(self, *, finished: bool = False) -> None:
        """Close the file, if it is open; `finished` records that the run reached its end."""
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
            self._committed["bytes"][()] = 0  # when it closes the file, HDF5 may shorten it
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
        """Go on under a new name if the file was removed or replaced.

        What was written exists as long as the file is open here, though it has no name any more.
        """
        assert self._lock is not None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), self.path.stat()):
                return
        gone, last, old = self.path, self._last, self._lock
        self._close_hdf5(finished=False)
        self._lock = None  # it is closed, unless the run goes on
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

    def _blocks(
        self, frame: Record, steps: StepRows, contacts: Contacts | None
    ) -> dict[str, Array]:
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
            if contacts.spring.shape[1] == 0:  # the springs have not been stretched yet
                rows["contacts/spring"] = np.zeros_like(contacts.normal)
        return {n: data.rows.block(rows[n]) for n, data in self._data.items() if n in rows}

    def _commit(self, frames: int, durable: bool = False) -> None:
        """Flush the data, then count them as complete; with `durable`, wait for the disk."""
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
        """Whether to wait until this frame is on the disk."""
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
        """Close the file after a failed write, and leave on the disk what is there."""
        drop(self._h5, [*self._data.values(), *self._committed.values()])
        if self._lock is not None:
            self._lock.close()
        self._lock = None


def _columns(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Column names of a table; a table of no columns does not exist."""
    return data[name].dtype.names if name in data else ()
