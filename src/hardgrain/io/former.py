"""Files of format 1, whose history had a column for each component of each wall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["former_tables"]

Array = NDArray[Any]


@dataclass(frozen=True)
class _Fields:
    """Some columns of a table, which can be read like a dataset of their own."""

    data: Any
    dtype: Any
    names: tuple[str, ...]
    row: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.data), *self.row)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: slice) -> Array:
        found = self.data[rows]
        if self.dtype.names:
            part = np.empty(len(found), self.dtype)
            for name in self.names:
                part[name] = found[name]
            return part
        columns = np.array([found[name] for name in self.names]).reshape(-1, len(found))
        return np.ascontiguousarray(columns.T).reshape(len(found), *self.row)


def former_tables(h5: Any, walls: list[str]) -> dict[str, Any]:
    """History and walls of a file of format 1, which kept both in one table."""
    data, dim = h5["history"], h5["model/inv_mass"].shape[1]
    force = tuple(f"force_{name}_{axis}" for name in walls for axis in "xyz"[:dim])
    work = tuple(f"work_by_{name}" for name in walls)
    rest = tuple(name for name in data.dtype.names if name not in {*force, *work})
    found = {"history": _Fields(data, np.dtype([(name, "f8") for name in rest]), rest, ())}
    if walls and {*force, *work} <= {*data.dtype.names}:
        found["walls/force"] = _Fields(data, np.dtype("f8"), force, (len(walls), dim))
        found["walls/work"] = _Fields(data, np.dtype("f8"), work, (len(walls),))
    return found
