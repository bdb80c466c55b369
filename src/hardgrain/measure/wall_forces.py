"""Forces on walls: their sum, and how they are distributed along a wall.

Forces are those of the grains on the wall. The pressure is positive where they press, and the
shear, along an axis of space, is the part of the force per area that does not press.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hardgrain.core.geometry import PLANE
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import (
    about,
    axes,
    axis_number,
    ends,
    moments,
    of_frame,
    of_run,
    rotation_axes,
)
from hardgrain.measure.region import as_region
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import stress_units
from hardgrain.measure.wall_energy import wall_loads

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["WallProfile", "wall_force", "wall_profile"]


def wall_force(source: Source, frame: int = -1) -> dict[str, Floats]:
    """Force of the grains on each wall, by its name, (dim,); torques: `energy.wall_loads`."""
    snap = snapshot(source, frame)
    return dict(zip(snap.model.wall_names, wall_loads(snap)[0]))


# ---------------------------------------------------------------------- along a wall
@dataclass(frozen=True)
class WallProfile:
    """Force per area on slices of a wall along an axis."""

    edges: Floats  # (bins + 1,) along the axis [length]
    pressure: Floats  # (bins,) [force/area]
    shear: Floats  # (bins, dim)
    contacts: Floats  # (bins,) number of contacts in a frame


def wall_profile(
    source: Source,
    wall: str,
    frames: Sequence[int] | None = None,
    *,
    axis: str | None = None,
    bins: int = 20,
    width: float = 1.0,
) -> WallProfile:
    """Pressure and shear along a wall, averaged over frames, by default the last frame only.

    ``axis`` is x, y or z, by default that of gravity, or the last along which the wall extends.
    ``width`` is, in 3D, that of the wall across the axis, by which forces are divided as well
    [length].
    """
    if bins < 1:
        raise InputError(f"bins is {bins}; give at least 1")
    if not width > 0.0:
        raise InputError(f"width is {width}; give a positive length")
    which = (-1,) if frames is None else frames
    moment = ends(source, which)
    names = moment[0].model.wall_names[: _true_walls(moment[0])]
    if wall not in names:
        raise InputError(f"wall is {wall!r}; the scene has {', '.join(names) or 'no walls'}")
    w = names.index(wall)
    a = _axis(moment[0], w, axis)
    bounds = np.array([as_region(snap).bounds for snap in moment])[:, :, a]
    edges = np.linspace(bounds.min(), bounds.max(), bins + 1)
    sums, count = np.zeros((bins, moment[0].dim + 2)), 0
    for snap in moments(source, which, contacts=True):
        sums += slices(snap, w, lambda x: x[:, a], edges)
        count += 1
    area = width * float(edges[1] - edges[0])
    sums /= count
    return WallProfile(edges, sums[:, 0] / area, sums[:, 1:-1] / area, sums[:, -1])


def slices(
    snap: Snapshot, walls: ArrayLike, place: Callable[[Floats], Floats], edges: Floats
) -> Floats:
    """Sums over slices of walls (bins, dim + 2): pressing force, other components, contacts.

    ``place`` maps points (k, dim) to coordinates that are compared with the edges; points beyond
    count in the outermost slices. Faces press in the centre of their force.
    """
    snap = seen(snap)
    on = np.isin(snap.contacts.second - snap.n, walls)
    press, along = snap.normal_force[on], snap.tangential_force[on]
    bins = edges.size - 1
    slot = np.clip(np.digitize(place((snap.origin + snap.branch)[on]), edges) - 1, 0, bins - 1)
    columns = [press, *along.T, np.ones(press.size)]
    sums: Floats = np.stack([np.bincount(slot, f, bins) for f in columns], axis=1).astype(float)
    return sums


def _axis(snap: Snapshot, w: int, axis: str | None) -> int:
    """The axis along which to slice a wall."""
    if axis is not None:
        return axis_number(axis, snap.dim)
    kind, _, direction, _, _ = snap.walls
    g, across = snap.model.gravity, np.abs(direction[w])
    free = across < 0.9 if kind[w] == PLANE else np.ones(snap.dim, bool)
    if g.any() and free[np.abs(g).argmax()]:
        return int(np.abs(g).argmax())
    return int(np.flatnonzero(free)[-1])


# ---------------------------------------------------------------------- labelled
@of_frame("wall-force", "force and torque of the grains on each wall")
def _wall_force(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    force, torque = wall_loads(snap)
    w = _true_walls(snap)
    data: dict[str, Any] = {
        "force": (("wall", "component"), force[:w], about("force", "force on it")),
        "torque": (
            ("wall", "about"), torque[:w],
            about("force length", "torque about the wall's own point"),
        ),
        "point": (
            ("wall", "component"), snap.state.position[snap.n : snap.n + w],
            about("length", "the wall's own point, which it turns about"),
        ),
    }  # fmt: skip
    along = {"component": axes(snap.dim), "about": rotation_axes(snap.dim)}
    return xr.Dataset(data, {"wall": list(snap.model.wall_names[:w]), **along})


def _true_walls(snap: Snapshot) -> int:
    """Number of walls without the cell that deforms, which is the last (`measure.deforming`)."""
    return len(snap.model.wall_names) - (snap.model.cell >= 0)


@of_frame("wall-position", "where each wall is and how it moves")
def _wall_position(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    s, n, w = snap.state, snap.n, _true_walls(snap)
    words = (
        ("position", s.position, "component", "length", "point that the wall turns about"),
        ("velocity", s.velocity, "component", "length / time", "velocity of that point"),
        ("spin", s.spin, "about", "rad / time", "angular velocity"),
    )
    data = {
        name: (("wall", along), x[n : n + w], about(units, text))
        for name, x, along, units, text in words
    }
    along = {"component": axes(snap.dim), "about": rotation_axes(snap.dim)}
    return xr.Dataset(data, {"wall": list(snap.model.wall_names[:w]), **along})


@of_run(
    "wall-profile", "pressure and shear along a wall (wall = its name); last frame", contacts=True
)
def _wall_profile(
    source: Source,
    frames: Sequence[int] | None = None,
    wall: str = "",
    axis: str | None = None,
    bins: int = 20,
    width: float = 1.0,
) -> xr.Dataset:
    import xarray as xr

    found = wall_profile(source, wall, frames, axis=axis, bins=bins, width=width)
    dim = found.shear.shape[1]
    units = stress_units(dim)
    data: dict[str, Any] = {
        "pressure": ("place", found.pressure, about(units, "pressure on the wall")),
        "shear": (("place", "component"), found.shear, about(units, "shear on the wall")),
        "contacts": ("place", found.contacts, about("1", "contacts a frame")),
    }
    middle = 0.5 * (found.edges[1:] + found.edges[:-1])
    place = ("place", middle, about("length", "along the wall"))
    return xr.Dataset(data, {"place": place, "component": axes(dim)}, {"wall": wall})
