"""Copies of a run file up to a frame, for killed runs and files of an earlier format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.io.layout import VERDICT, Rows, checksum, seal, table
from hardgrain.io.runfile import RunFile

__all__ = ["Growing", "copier"]

Array = NDArray[Any]

# [bytes] Data held in memory while a file is copied.
_COPIED = 64 << 20


def copier(run: RunFile, frames: int) -> tuple[Callable[[Any], None], int]:
    """A function that writes the first `frames` frames to another file, and their size [bytes]."""
    header, model, verdict = run.header, run.model, seal(run.verdict)
    layout = run._layout
    rows = {n: r for n, r in layout.rows().items() if n != "frames/checksum"}
    if not rows.keys() <= run._data.keys():
        raise InputError(
            f"{run.path} was written by hardgrain {header.get('hardgrain')}, which kept less"
            " in its file; start a new run from its last frame."
        )
    room = sum(r.growth(0, int(run._starts[table(n)][frames])) for n, r in rows.items())
    room += sum(array.nbytes for array in model.values())

    def fill(target: Any) -> None:
        layout.make(target, header, model)
        sums = np.empty((frames, len(rows)), np.uint32)
        for name, column in zip(rows, sums.T):
            copy, total, begin = Growing(target[name]), 0, run._starts[table(name)]
            size = rows[name].kind.itemsize * math.prod(rows[name].row)
            for first, end in _blocks(begin[: frames + 1], _COPIED // size):
                part = run._rows(name, first, end)
                copy.write(begin[first], part)
                for k in range(first, end):
                    here = part[begin[k] - begin[first] : begin[k + 1] - begin[first]]
                    column[k] = total = checksum(here, total)
        copy = Growing(target["frames/checksum"])
        copy.write(0, copy.rows.block(sums))
        target["committed/frames"][()] = frames
        target[VERDICT][()] = verdict

    return fill, room


def _blocks(begin: Array, rows: int) -> Iterator[tuple[int, int]]:
    """Frames in groups that have at most so many rows together, or are single frames."""
    first, frames = 0, len(begin) - 1
    while first < frames:
        end = int(np.searchsorted(begin, begin[first] + rows, side="right")) - 1
        end = min(max(end, first + 1), frames)
        yield first, end
        first = end


class Growing:
    """A dataset to append to; its sizes are looked up once, since h5py is slow at it."""

    def __init__(self, data: Any) -> None:
        self.id, self.rows = data.id, Rows(data.dtype, data.shape[1:], data.chunks)

    def write(self, start: int, block: Array) -> None:
        """Put a block at row `start`, which becomes the end of the dataset."""
        if len(block):
            self.id.set_extent((start + len(block), *self.rows.row))
            space = self.id.get_space()
            space.select_hyperslab((start, *(0 for _ in self.rows.row)), block.shape)
            self.id.write(h5py.h5s.create_simple(block.shape), space, block)
