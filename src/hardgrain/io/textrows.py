"""Tables of text: columns written as lines, and lines read as columns, with errors by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.io.foreign import Foreign
from hardgrain.measure.snapshot import Run

__all__ = ["Row", "TextFile", "at_line", "grains_of", "lines_of", "split_rows", "whole_number"]

Row = tuple[int, list[str]]  # the number of a line, from 1, and its cells

_DIGITS = 18  # digits of a number that fits into 64 bits

# Names under which files give the same thing; the first one present counts.
_POSITION = (("xu", "yu", "zu"), ("x", "y", "z"))
_VELOCITY = (("vx", "vy", "vz"),)
_SPIN = (("omegax", "omegay", "omegaz"), ("wx", "wy", "wz"), ("", "", "spin"))


class TextFile:
    """A file of text to which frames are added."""

    def __init__(self, path: Path, run: Run) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    @staticmethod
    def files(path: Path, run: Run) -> list[Path]:
        """The files that are written for a path."""
        return [path]

    def close(self) -> None:
        """Complete the file and close it."""
        self._file.close()

    abandon = close


def lines_of(columns: Sequence[NDArray[Any] | Sequence[str]]) -> str:
    """Columns as lines of text; every float is written so that it is read back exactly."""
    lists = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in columns]
    cells = ["%s" if c and isinstance(c[0], str) else "%r" for c in lists]
    line = " ".join(cells) + "\n"
    return (line * len(lists[0])) % tuple(chain.from_iterable(zip(*lists)))


def at_line(path: Path, line: int, what: str) -> InputError:
    """An error that names the line of a text file."""
    return InputError(f"{path}, line {line}: {what}")


def whole_number(text: str) -> int | None:
    """A whole number, or None; `isdigit` would accept ², and `int` fails at 5000 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def split_rows(
    path: Path, lines: Sequence[tuple[int, str]], width: int, separator: str | None = None
) -> list[Row]:
    """Cut numbered lines into cells; all lines must have the same number of them."""
    rows = [(number, line.split(separator)) for number, line in lines]
    for number, cells in rows:
        if len(cells) != width:
            raise at_line(path, number, f"{len(cells)} values for {width} columns")
    return rows


def grains_of(path: Path, names: Sequence[str], rows: Sequence[Row], header: int) -> Foreign:
    """Grains of a table with named columns, in the order of ``id`` if there is one.

    ``header`` is the line of the names.
    """
    column = {name: k for k, name in enumerate(names)}

    def number(name: str) -> Floats:
        cells = [cells[column[name]] for _, cells in rows]
        try:
            return np.array(cells, float)
        except ValueError:
            for line, row in rows:
                text = row[column[name]].strip()
                try:
                    float(text)
                except ValueError:
                    raise at_line(path, line, f"{name} is {text!r}, not a number") from None
            raise

    def vector(choices: Sequence[Sequence[str]]) -> Floats:
        full = np.zeros((len(rows), 3))
        for choice in choices:
            if any(name in column for name in choice):
                for k, name in enumerate(choice):
                    if name in column:
                        full[:, k] = number(name)
                break
        return full

    if not any({x, y} <= set(names) for x, y, _ in _POSITION):
        raise at_line(path, header, f"the columns are {', '.join(names)}; x and y are needed")
    if "radius" in column:
        radius = number("radius")
    elif "diameter" in column:
        radius = 0.5 * number("diameter")
    else:
        raise at_line(
            path, header, f"the columns are {', '.join(names)}; radius or diameter is needed"
        )
    order = np.argsort(number("id"), kind="stable") if "id" in column else np.arange(len(rows))
    kind = np.zeros(len(rows), np.int32)
    if "type" in column:
        kind = _ranks([cells[column["type"]] for _, cells in rows])
    dimension = None if {"z", "zu"} & set(names) else 2
    position, velocity, spin = (vector(names) for names in (_POSITION, _VELOCITY, _SPIN))
    return Foreign(
        path, position[order], radius[order], velocity[order], spin[order], kind[order], dimension
    )


def _ranks(types: Sequence[str]) -> NDArray[np.int32]:
    """Ranks from 0: numbers are ranked by size, names by where they occur first."""
    known: Mapping[str, int] = {name: k for k, name in enumerate(dict.fromkeys(types))}
    if all(whole_number(name) is not None for name in known):
        known = {name: k for k, name in enumerate(sorted(known, key=int))}
    return np.array([known[name] for name in types], np.int32)
