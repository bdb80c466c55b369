"""Forces on walls: in all, and along a wall.

Signs: the force of the grains on the wall; its pressure is positive where they press, and its
shear, along an axis of space, is the part of the force per area that does not press.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.contact.geometry import PLANE
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import ends, moments, of_frame, of_run
from hardgrain.measure.energy import wall_loads
from hardgrain.measure.region import as_region
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import AXES, axes, lines, stress_units
from hardgrain.scene.model import Floats

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
    contacts: Floats  # (bins,) a frame


def wall_profile(
    source: Source,
    wall: str,
    frames: Sequence[int] | None = None,
    *,
    axis: str | None = None,
    bins: int = 20,
    width: float = 1.0,
) -> WallProfile:
    """Pressure and shear along a wall, averaged over frames; the last unless told.

    ``axis``: x, y or z; else that of gravity, or the last along which the wall extends. ``width``:
    in 3D, that of the wall across the axis, by which forces are divided too [length].
    """
    if bins < 1:
        raise InputError(f"bins is {bins}; give at least 1")
    if not width > 0.0:
        raise InputError(f"width is {width}; give a positive length")
    which = (-1,) if frames is None else frames
    moment = ends(source, which)
    names = moment[0].model.wall_names
    if wall not in names:
        raise InputError(f"wall is {wall!r}; the scene has {', '.join(names) or 'no walls'}")
    w = names.index(wall)
    a = _axis(moment[0], w, axis)
    bounds = np.array([as_region(snap).bounds for snap in moment])[:, :, a]
    edges = np.linspace(bounds.min(), bounds.max(), bins + 1)
    sums, count = np.zeros((bins, moment[0].dim + 2)), 0
    for snap in moments(source, which, contacts=True):
        sums += _slices(snap, w, a, edges)
        count += 1
    area = width * float(edges[1] - edges[0])
    sums /= count
    return WallProfile(edges, sums[:, 0] / area, sums[:, 1:-1] / area, sums[:, -1])


def _slices(snap: Snapshot, w: int, a: int, edges: Floats) -> Floats:
    """Pressing force, force along each axis that does not press, and contacts, (bins, dim + 2)."""
    on = snap.contacts.second == snap.n + w
    begin, branch, force = (part[on] for part in lines(snap))
    bins = edges.size - 1
    slot = np.clip(np.digitize((begin + branch)[:, a], edges) - 1, 0, bins - 1)
    normal = snap.contacts.normal[on]
    press = np.einsum("ka,ka->k", force, normal)
    along = force - press[:, None] * normal
    columns = [press, *along.T, np.ones(press.size)]
    sums: Floats = np.stack([np.bincount(slot, f, bins) for f in columns], axis=1).astype(float)
    return sums


def _axis(snap: Snapshot, w: int, axis: str | None) -> int:
    """Along which to slice a wall."""
    if axis is not None:
        if axis not in AXES[: snap.dim]:
            raise InputError(f"axis is {axis!r}; give one of {', '.join(AXES[: snap.dim])}")
        return AXES.index(axis)
    kind, _, direction, _ = snap.walls
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
    spins = ["z"] if snap.dim == 2 else axes(snap)
    data: dict[str, Any] = {
        "force": (("wall", "component"), force, {"units": "force", "long_name": "force on it"}),
        "torque": (
            ("wall", "about"), torque,
            {"units": "force length", "long_name": "torque about the wall's own point"},
        ),
    }  # fmt: skip
    coords = {"wall": list(snap.model.wall_names), "component": axes(snap), "about": spins}
    return xr.Dataset(data, coords)


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
    units = {"units": stress_units(dim)}
    data: dict[str, Any] = {
        "pressure": ("place", found.pressure, units | {"long_name": "pressure on the wall"}),
        "shear": (("place", "component"), found.shear, units | {"long_name": "shear on the wall"}),
        "contacts": ("place", found.contacts, {"units": "1", "long_name": "contacts a frame"}),
    }
    middle = 0.5 * (found.edges[1:] + found.edges[:-1])
    place = ("place", middle, {"units": "length", "long_name": "along the wall"})
    return xr.Dataset(data, {"place": place, "component": list(AXES[:dim])}, {"wall": wall})
