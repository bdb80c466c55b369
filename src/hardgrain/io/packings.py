"""Packings of other codes as starts of a run."""

from __future__ import annotations

import importlib
from pathlib import Path

from hardgrain.core.cell import Cell
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.io.foreign import Foreign
from hardgrain.scene.scene import GrainArrays

__all__ = ["is_packing", "read_cell", "read_packing"]

_READERS = {
    ".gsd": "gsdfile.read_gsd",
    ".dump": "lammps.read_lammps",
    ".lammpstrj": "lammps.read_lammps",
    ".xyz": "xyz.read_xyz",
    ".extxyz": "xyz.read_xyz",
    ".csv": "csvfile.read_csv",
    ".tsv": "csvfile.read_csv",
    ".txt": "csvfile.read_csv",
}


def is_packing(path: str | Path) -> bool:
    """Whether the name of a file is that of a packing, and not of a run file."""
    return Path(path).suffix.lower() in _READERS


def read_packing(path: str | Path, frame: int = -1, dimension: int | None = None) -> GrainArrays:
    """Grains of a GSD file, LAMMPS dump, extended XYZ file or CSV table; see docs/formats.md.

    Positions, radii, velocities and spins come along, and types as numbers of the grains' sets.
    Without ``dimension`` it is that of the file, or 2 if all grains lie in one plane z.

        grains = hg.read_packing("packing.gsd")
        sim = hg.Simulation(scene, dt=0.01, start=grains)
    """
    packing = _read(path, frame)
    grains = packing.grains(dimension)
    cell = packing.cell_in(grains.position.shape[1])
    if cell is not None and Cell(cell).reduced().tilted:
        raise InputError(
            f"{path} has a tilted cell, which grains alone do not tell; begin with the file itself,"
            " start.file in a scenario whose scene.cell deforms"
        )
    return grains


def read_grains(path: str | Path, frame: int, dimension: int) -> GrainArrays:
    """The same, whatever the cell of the file, which `read_cell` gives."""
    return _read(path, frame).grains(dimension)


def read_cell(path: str | Path, frame: int, dimension: int) -> Floats | None:
    """Periods and tilts (`core.cell`) of the periodic cell of such a file; None: it has none."""
    return _read(path, frame).cell_in(dimension)


def _read(path: str | Path, frame: int) -> Foreign:
    path = Path(path)
    if not is_packing(path):
        raise InputError(f"{path} is not a packing by its name; known are {', '.join(_READERS)}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file in it")
    module, reader = _READERS[path.suffix.lower()].split(".")
    read = getattr(importlib.import_module(f"hardgrain.io.{module}"), reader)
    try:
        return read(path, frame)  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
