"""The path of one body: at every step if the run followed it (``output.track``), else by frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import CELL
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_run, only_run
from hardgrain.measure.snapshot import Run, Source, snapshots

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["track"]


def track(
    run: Run, body: int | str, frames: Sequence[int] | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Times (k,) and position, velocity and force (k, dim) of a wall by name or a grain by number.

    The force is that of all contacts on it in the last step, without gravity. Values are given at
    every step if the run followed the body and no frames are named, else at frames that hold
    contacts.
    """
    name = body if isinstance(body, str) else f"grain{body}"
    kinds, labels = run.model["wall_kind"].tolist(), axes(len(run.model["periodic"]))
    walls = [wall for wall, kind in zip(run.wall_names, kinds) if kind != CELL]
    if body in run.wall_names and body not in walls:
        raise InputError(
            f"body is {body!r}, the periodic cell, which is nowhere; hardgrain measure RUN cell"
            " tells how it deforms and what it bears"
        )
    known = body in walls or (isinstance(body, int) and 0 <= body < len(run.model["radius"]))
    if not known:
        raise InputError(
            f"body is {body!r}; give the name of a wall ({', '.join(walls) or 'there is none'}) or"
            f" the number of a grain, 0 to {len(run.model['radius']) - 1}"
        )
    history = run.history
    if frames is None and f"position_{name}_{labels[0]}" in history:
        found = {
            what: np.stack([history[f"{what}_{name}_{axis}"] for axis in labels], axis=1)
            for what in ("position", "velocity", "force")
        }
        return history["time"], found
    return _from_frames(run, body, frames)


def _from_frames(
    run: Run, body: int | str, frames: Sequence[int] | None
) -> tuple[Floats, dict[str, Floats]]:
    times, rows = [], []
    for snap in snapshots(run, frames):
        if isinstance(body, str):
            assert snap.wall_force is not None
            wall = run.wall_names.index(body)
            row, force = snap.n + wall, snap.wall_force[wall]
        else:
            at = snap.row(body)
            if at is None or not snap.stored:
                continue
            row = at
            c = snap.candidates
            force = (
                c.impulse[c.second == row].sum(axis=0) - c.impulse[c.first == row].sum(axis=0)
            ) / snap.dt
        times.append(snap.time)
        rows.append((snap.state.position[row], snap.state.velocity[row], force))
    if not rows:
        raise InputError(f"body is {body}, a grain that is in none of the frames with contacts")
    parts = (np.array(part) for part in zip(*rows))
    return np.array(times), dict(zip(("position", "velocity", "force"), parts))


@of_run("track", "position, velocity and force of one wall or grain (body = its name or number)")
def _track(source: Source, frames: Sequence[int] | None = None, body: int | str = "") -> xr.Dataset:
    import xarray as xr

    time, found = track(only_run(source, "track"), body, frames)
    units = {"position": "length", "velocity": "length / time", "force": "force"}
    words = {"position": "where it is", "velocity": "velocity", "force": "force of its contacts"}
    data: dict[str, Any] = {
        name: (("time", "component"), x, about(units[name], words[name]))
        for name, x in found.items()
    }
    when = ("time", time, about("time", "simulated time"))
    some = {"time": when, "component": axes(found["position"].shape[1])}
    return xr.Dataset(data, some, {"body": body})
