"""A run file as frames to look at: read as they are asked for, growing while its run goes on."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from hardgrain.core.model import Contacts, Floats
from hardgrain.errors import InputError
from hardgrain.io.runfile import RunFile
from hardgrain.measure.snapshot import Snapshot, model_of, snapshot

__all__ = ["LiveRun"]

PATIENCE = 0.7  # [s] time between two looks at a file that grows
OUTLIERS = 0.002  # [1] share of the grains that may lie outside of the stage on each side


class LiveRun:
    """The frames of a run file; all methods may be called by several threads."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._run = RunFile(self.path)
        self._first = snapshot(self._run, 0)
        self._everyone = model_of(self._run)
        self._looked = time.monotonic()
        self._history: tuple[int, dict[str, Floats]] | None = None
        self.live = self._run.live
        self.finished = self._run.finished
        self.times: Floats = self._run.time
        self.low, self.high = self._stage()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def dim(self) -> int:
        return self._first.dim

    @property
    def n(self) -> int:
        """Number of grains, those that are not always there included."""
        return self._everyone.n

    @property
    def radius(self) -> Floats:
        """Radii of all grains, by their numbers, shape (n,)."""
        return self._everyone.radius

    @property
    def wall_names(self) -> tuple[str, ...]:
        return self._first.model.wall_names

    @property
    def round(self) -> bool:
        """Whether all grains are disks or balls."""
        return self._everyone.round

    @property
    def rigid(self) -> bool:
        """Whether no grain deforms."""
        return self._everyone.elastic is None

    @property
    def diameter(self) -> float:
        """Mean diameter of the grains [length]."""
        return 2.0 * float(self._everyone.radius.mean())

    def at(self, k: int, contacts: bool = True) -> Snapshot:
        """Frame k; its contacts are only read if asked for."""
        with self._lock:
            frame = self._run[k]
            rows = self._run.contacts(k) if contacts else None
        none = Contacts.none(self.dim)
        state = frame.state(none if rows is None else rows, self._everyone)
        return replace(
            self._first,
            model=self._everyone.only(frame.id),
            state=state,
            stored=rows is not None,
            wall_force=frame.wall_force,
            wall_torque=frame.wall_torque,
        )

    def history(self) -> dict[str, Floats]:
        """Columns of the history up to the last frame."""
        with self._lock:
            if self._history is None or self._history[0] != len(self):
                self._history = len(self), self._run.history
            return self._history[1]

    def look(self) -> bool:
        """Read what a run that goes on has added, and return whether there is anything new."""
        with self._lock:
            if self.finished or time.monotonic() - self._looked < PATIENCE:
                return False
            self._looked, before = time.monotonic(), (len(self), self.live)
            if not (self.live or self._run.live):  # it was interrupted and has not been resumed
                return False
            try:
                self._run.refresh()
                self.live, self.finished = self._run.live, self._run.finished
                self.times = self._run.time
            except InputError:  # the file was replaced or cut short
                self.live = False
            return (len(self), self.live) != before

    def close(self) -> None:
        """Close the run file."""
        with self._lock:
            self._run.close()

    def _stage(self) -> tuple[Floats, Floats]:
        """Corners of the box to which walls are cut, shape (dim,) each [length].

        It holds the grains of the first and the last frame but for outliers, the walls that have
        an end, and the periodic cell.
        """
        snaps = [self.at(k, contacts=False) for k in {0, len(self) - 1}]
        ends = [snap.wrapped for snap in snaps]
        ends = [x for x in ends if len(x)] or [np.zeros((1, self.dim))]
        share = [OUTLIERS, 1.0 - OUTLIERS]
        box = np.array([np.quantile(x, share, axis=0) for x in ends])
        reach = float(self._everyone.radius.max())
        low, high = box[:, 0].min(axis=0) - reach, box[:, 1].max(axis=0) + reach
        for wall in self._first.wall_shapes:
            seen = wall.ends()
            low, high = np.min([low, *seen], axis=0), np.max([high, *seen], axis=0)
        if not self._first.cell.repeats.any():
            return low, high
        cell = np.concatenate([snap.cell_edges.reshape(-1, self.dim) for snap in snaps])
        low = np.where(self._first.cell.repeats, cell.min(axis=0), low)
        return low, np.where(self._first.cell.repeats, cell.max(axis=0), high)
