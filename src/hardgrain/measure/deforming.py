"""The periodic cell over time: its sides and tilts, its motion, and the stress that it bears.

A cell that is sheared on and on leans ever more. A state keeps all of that tilt, so that moments
can be compared; measurements of a single one take whole periods off (`Snapshot.cell`), which
changes no grain: b − a serves as well as b does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.cell import PLACES, Cell, voigt
from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import CELL
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Run, Snapshot
from hardgrain.measure.stress import stress_units

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["cell_load", "components", "unsheared"]


def components(dim: int) -> list[str]:
    """Labels of the numbers of a cell, in their order."""
    return [f"{'xyz'[a]}{'xyz'[b]}" for a, b in PLACES[dim]]


def cell_load(snap: Snapshot) -> Floats:
    """Σ F ⊗ l over contacts between grains, as the numbers of a cell are: its stress × volume."""
    between = snap.contacts.second < snap.n
    load = np.einsum("ka,kb->ab", snap.force[between], snap.branch[between])
    return voigt(load)


# ---------------------------------------------------------------------- from moment to moment
def unsheared(run: Run, frames: Sequence[int]) -> dict[int, Floats] | None:
    """What takes places in each frame (dim, dim) to where they would be in the cell of the first.

    None: the cell does not deform.
    """
    kind = run.model["wall_kind"]
    if not kind.size or kind[-1] != CELL:
        return None
    cells = [Cell(run[k].cell) for k in frames]
    full = [cell.matrix + np.diag(np.where(cell.repeats, 0.0, 1.0)) for cell in cells]
    return {k: full[0] @ np.linalg.inv(h) for k, h in zip(frames, full)}


# ---------------------------------------------------------------------- by name
@of_frame("cell", "the periodic cell: its periods and tilts, how it deforms, the stress it bears")
def _cell(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    cell, units = snap.cell, stress_units(snap.dim)
    data: dict[str, Any] = {
        "cell": ("entry", cell.numbers, about("length", "periods and tilts of the cell")),
        "rate": ("entry", voigt(snap.gradient), about("1/time", "velocity gradient of the cell")),
    }
    if not cell.repeats.all():
        return xr.Dataset(data, {"entry": components(snap.dim)})
    data["volume"] = ((), cell.volume, about(f"length^{snap.dim}", "volume of the cell"))
    if snap.stored:
        borne = cell_load(seen(snap)) / cell.volume
        data["stress"] = ("entry", borne, about(units, "stress that contacts bear in the cell"))
    return xr.Dataset(data, {"entry": components(snap.dim)})
