"""Energy and momentum: how much there is, and where it came from and went to over a run.

Which contacts took it is told by `measure.losses`, what walls gave by `measure.wall_energy`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.contact.arms import torque
from hardgrain.contact.pairs import rotate
from hardgrain.core.model import Floats
from hardgrain.cpu.ledger import kinetic_energy as total_energy
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame, of_run, only_run, rotation_axes
from hardgrain.measure.snapshot import Run, Snapshot, Source, snapshot
from hardgrain.step.loads import turned

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Balance", "angular_momentum", "balance", "granular_temperature", "kinetic_energy", "momentum",
    "potential_energy", "rotational_energy",
]  # fmt: skip


def kinetic_energy(source: Source, frame: int = -1) -> float:
    """½ Σ m v² of whatever can move, pistons too; prescribed motion counts as nothing."""
    snap = snapshot(source, frame)
    m, s = snap.model, snap.state
    return float(total_energy(s.velocity, 0.0 * s.spin, m.inv_mass, m.inv_inertia))


def rotational_energy(source: Source, frame: int = -1) -> float:
    """½ Σ ω·I ω of whatever can turn."""
    snap = snapshot(source, frame)
    s = snap.state
    m = turned(snap.model, s.orientation)
    return float(total_energy(0.0 * s.velocity, s.spin, m.inv_mass, m.inv_inertia))


def potential_energy(source: Source, frame: int = -1) -> float:
    """−Σ m g·x of the grains, zero at the origin; where periodic, of the unwrapped positions.

    In a step the ledger has the work m g·v̄ dt, and the grains move by v⁺ dt: the sum of all work
    differs from the loss of potential energy by dt/2 m g·(v − v₀), which vanishes at rest.
    """
    snap = snapshot(source, frame)
    return 0.0 - float(snap.mass @ (snap.position @ snap.model.gravity))  # 0, not −0, without g


def momentum(source: Source, frame: int = -1) -> Floats:
    """Σ m v of the grains, shape (dim,); where the cell deforms, relative to its affine motion."""
    snap = snapshot(source, frame)
    total: Floats = snap.mass @ snap.velocity
    return total


def angular_momentum(source: Source, frame: int = -1) -> Floats:
    """Σ m x × v + I ω of the grains about the origin, shape (ns,).

    Positions are not wrapped; velocities are relative to a cell that deforms.
    """
    snap = snapshot(source, frame)
    orbital = snap.mass @ torque(snap.position, snap.velocity)
    total: Floats = orbital + own_momentum(snap).sum(axis=0)
    return total


def own_momentum(snap: Snapshot) -> Floats:
    """I ω of each grain, shape (n, ns)."""
    m, n = snap.model, snap.n
    if not len(m.moments):
        return m.inertia[:n, None] * snap.spin
    turn = snap.state.orientation[:n]
    found: Floats = rotate(turn, m.moments[:n] * rotate(turn * [-1.0, -1.0, -1.0, 1.0], snap.spin))
    return found


def granular_temperature(source: Source, frame: int = -1, length: float | None = None) -> float:
    """Σ m (v − V)² / (dim Σ m) of the grains [length²/time²].

    V is the velocity of the centre of mass or, with ``length``, that of the grains around each
    within this distance, itself among them: z grains around one that move on their own then show
    the share 1 − 1/z of their temperature, and a gradient of V adds to it.
    """
    snap = snapshot(source, frame)
    m, v = snap.mass, snap.velocity
    if not snap.n:
        return math.nan
    away = v - (momentum(snap) / m.sum() if length is None else _around(snap, length))
    return float(m @ (away**2).sum(axis=1) / (snap.dim * m.sum()))


def _around(snap: Snapshot, length: float) -> Floats:
    """(n, dim) mean velocity of the mass within a distance of each grain."""
    period, m = snap.cell.period, snap.mass
    if not length > 0.0 or (length > 0.5 * period[period > 0.0]).any():
        raise InputError(f"length is {length:g} but must be positive and at most half a period")
    i, j = snap.near.pairs(length).T
    mass, flow = m.copy(), m[:, None] * snap.velocity
    for a, b in ((i, j), (j, i)):
        mass += np.bincount(a, m[b], minlength=snap.n)
        for k in range(snap.dim):
            flow[:, k] += np.bincount(a, m[b] * snap.velocity[b, k], minlength=snap.n)
    mean: Floats = flow / mass[:, None]
    return mean


# ---------------------------------------------------------------------- work over time
@dataclass(frozen=True, eq=False)
class Balance:
    """Where energy came from and went to since the first frame, by step; all (steps,)."""

    time: Floats
    kinetic: Floats  # of translation and rotation
    elastic: Floats  # in the springs of soft contacts, or in grains that deform
    work_external: Floats  # of gravity, forces, torques and the loads on pistons, up to then
    work_driven: Floats  # of bodies with a prescribed motion, up to then
    dissipated: Floats  # in the contacts, up to then
    inserted: Floats  # kinetic energy that grains brought in, up to then
    removed: Floats  # kinetic and elastic energy that grains took out, up to then
    error: Floats  # what the energy gained exceeds what it should have


def balance(run: Run) -> Balance:
    """The energy balance over time; its error is rounding, whatever the solver left undone.

    For soft particles it is the error of their explicit steps.
    """
    h, first = run.history, run[0].scalars
    flows = ("work_external", "work_driven", "dissipated")
    work, driven, lost = (np.cumsum(h[name]) for name in flows)
    start = first["kinetic_start"] + first["elastic_start"]
    # a file may begin in the middle of a run
    start += first["work_external"] + first["work_driven"] - first["dissipated"]
    kinetic, elastic = h["kinetic"], h["elastic"]
    came, went = np.zeros_like(kinetic), np.zeros_like(kinetic)
    if "kinetic_inserted" in h:  # grains come or go
        came = np.cumsum(h["kinetic_inserted"])
        went = np.cumsum(h["kinetic_removed"] + h["elastic_removed"])
        start += first["kinetic_inserted"] - first["kinetic_removed"] - first["elastic_removed"]
    error = kinetic + elastic - start - work - driven + lost - came + went
    return Balance(h["time"], kinetic, elastic, work, driven, lost, came, went, error)


# ---------------------------------------------------------------------- by name
@of_frame("energy", "kinetic, rotational and potential energy, and that of deformed grains")
def _energy(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    data: dict[str, Any] = {
        "translation": ((), kinetic_energy(snap), about("energy", "kinetic energy of motion")),
        "rotation": ((), rotational_energy(snap), about("energy", "rotational energy")),
        "potential": ((), potential_energy(snap), about("energy", "potential energy")),
    }
    if snap.mesh is not None:
        strain = float(snap.mesh.at_rest @ snap.mesh.energy)
        data["strain"] = ((), strain, about("energy", "elastic energy of deformed grains"))
    return xr.Dataset(data)


@of_run("energy-balance", "work, dissipation and the error of the energy balance over all steps")
def _balance(source: Source, frames: Sequence[int] | None) -> xr.Dataset:
    import xarray as xr

    b = balance(only_run(source, "energy-balance"))
    names = {
        "kinetic": "kinetic energy",
        "elastic": "elastic energy",
        "work_external": "work of external loads",
        "work_driven": "work of driven bodies",
        "dissipated": "energy dissipated",
        "inserted": "energy brought in by grains",
        "removed": "energy taken out by grains",
        "error": "error of the energy balance",
    }
    data = {k: ("time", getattr(b, k), about("energy", name)) for k, name in names.items()}
    return xr.Dataset(data, {"time": ("time", b.time, about("time", "time"))})


@of_frame("momentum", "momentum and angular momentum of the grains")
def _momentum(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    return xr.Dataset(
        {
            "momentum": ("component", momentum(snap), about("mass length/time", "momentum")),
            "angular_momentum": (
                "axis",
                angular_momentum(snap),
                about("mass length^2/time", "angular momentum about the origin"),
            ),
        },
        {"component": axes(snap.dim), "axis": rotation_axes(snap.dim)},
    )


@of_frame(
    "granular-temperature", "velocity fluctuations; length = …: about the flow around a grain"
)
def _temperature(snap: Snapshot, length: float | None = None) -> xr.Dataset:
    import xarray as xr

    value = granular_temperature(snap, length=length)
    what = about("length^2/time^2", "granular temperature")
    return xr.Dataset({"granular_temperature": ((), value, what)})
