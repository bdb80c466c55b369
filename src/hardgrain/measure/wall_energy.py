"""What walls give to the grains: the loads they bear, their power, and their work over a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.contact.arms import torque
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame, of_run, only_run
from hardgrain.measure.deforming import cell_load
from hardgrain.measure.snapshot import Run, Snapshot, Source, snapshot
from hardgrain.step.glue import carried

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["wall_loads", "wall_power", "wall_work"]


def wall_loads(source: Source, frame: int = -1) -> tuple[Floats, Floats]:
    """Force (w, dim) and torque (w, ns) of the grains on each wall in the last step.

    Torques are about the point a wall turns about. Of a cell that deforms they are its stress times
    its volume.
    """
    snap = snapshot(source, frame)
    if snap.wall_force is not None and snap.wall_torque is not None:
        return snap.wall_force, snap.wall_torque
    n, s = snap.n, snap.state
    c = carried(snap.model, s.position - snap.dt * s.velocity, snap.contacts)
    walls = snap.model.bodies - n
    push, twist = np.zeros((walls, snap.dim)), np.zeros((walls, s.spin.shape[1]))
    c = c.chosen(c.second >= n)
    np.add.at(push, c.second - n, c.impulse / snap.dt)
    np.add.at(twist, c.second - n, (torque(c.arm_second, c.impulse) + c.torque) / snap.dt)
    if snap.model.cell >= 0:
        load = cell_load(snap)
        push[-1], twist[-1] = load[: snap.dim], load[snap.dim :]
    return push, twist


def wall_power(source: Source, frame: int = -1) -> Floats:
    """−(F·v + τ·ω) of each wall, shape (w,): the power at which it does work on the grains.

    Of a driven wall this is the share of `work_driven` a time; a piston gives what its load does
    on it, less what it keeps as kinetic energy.
    """
    snap = snapshot(source, frame)
    (push, twist), s, n = wall_loads(snap), snap.state, snap.n
    gained: Floats = np.einsum("wa,wa->w", push, s.velocity[n:])
    gained += np.einsum("wa,wa->w", twist, s.spin[n:])
    return -gained


def wall_work(run: Run) -> dict[str, Floats]:
    """Work that each wall, piston and drum has done on the grains, by its name, after each step.

    Of all driven walls together it is `work_driven`, where no grains are driven. A piston passes on
    what its load does, less what it keeps as kinetic energy.
    """
    h = run.history
    missing = [name for name in run.wall_names if f"work_by_{name}" not in h]
    if missing:
        raise InputError(
            f"the run file does not hold the work of the wall {missing[0]!r}: an earlier hardgrain"
            " wrote it; run again, or measure wall-power in its frames"
        )
    return {name: np.cumsum(h[f"work_by_{name}"]) for name in run.wall_names}


# ---------------------------------------------------------------------- by name
@of_frame("wall-power", "work a time that each wall, piston and drum does on the grains")
def _power(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    power = ("wall", wall_power(snap), about("energy/time", "power of the wall"))
    return xr.Dataset({"power": power}, {"wall": list(snap.model.wall_names)})


@of_run("wall-work", "work that each wall, piston and drum has done on the grains, over all steps")
def _work(source: Source, frames: Sequence[int] | None) -> xr.Dataset:
    import xarray as xr

    run = only_run(source, "wall-work")
    work, time = wall_work(run), run.history["time"]
    data = np.reshape([*work.values()], (-1, time.size))
    return xr.Dataset(
        {"work": (("wall", "time"), data, about("energy", "work of the wall"))},
        {"wall": [*work], "time": ("time", time, about("time", "time"))},
    )
