"""Energy and momentum: how much there is, where it came from, and which contacts took it.

What a contact took. With v̄ = (v⁺ + v⁻)/2, the change of kinetic energy in a step is the identity of
`step.ledger`, and −P·V̄ is what a contact dissipated, V̄ its mean velocity. A frame holds v⁺ and all
impulses but not v⁻, which follows from them,

    v⁻ = v⁺ − M⁻¹ (H P + dt F),

F the external loads at the middle of the step (`step.loads`), made again from the scenario. Along
an axis that is locked or driven M⁻¹ is zero and v⁻ = v⁺, as the step had it. Arms to walls are
those at the start of the step, x⁻ = x − dt v⁺. With P = P_n n + P_t, and τ the torque on both,

    −P·V̄ = −P_n V̄_n  −  P_t·V̄_t  −  τ_t·Ω̄_t  −  τ_n Ω̄_n

are the parts of inelastic impact (and of cohesion), of sliding, of rolling and of torsion, with
Ω̄ = ω̄_j − ω̄_i. Their sum over all contacts is `dissipated` in the history, to rounding. A part may
be negative: with gravity, or where a contact gives back what another one lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame, of_run, only_run, turns
from hardgrain.measure.snapshot import Run, Snapshot, Source, snapshot
from hardgrain.scene.model import Contacts, Floats, Ints
from hardgrain.step.glue import Glue, carried
from hardgrain.step.loads import Loads

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Dissipation",
    "angular_momentum",
    "balance",
    "dissipation",
    "granular_temperature",
    "kinetic_energy",
    "momentum",
    "potential_energy",
    "rotational_energy",
    "wall_loads",
    "wall_power",
    "wall_work",
]


# ---------------------------------------------------------------------- energy and momentum
def kinetic_energy(source: Source, frame: int = -1) -> float:
    """½ Σ m v² of whatever can move, pistons too; prescribed motion counts as nothing."""
    snap = snapshot(source, frame)
    return _quadratic(snap.state.velocity, snap.model.inv_mass)


def rotational_energy(source: Source, frame: int = -1) -> float:
    """½ Σ I ω² of whatever can turn."""
    snap = snapshot(source, frame)
    return _quadratic(snap.state.spin, snap.model.inv_inertia)


def potential_energy(source: Source, frame: int = -1) -> float:
    """−Σ m g·x of the grains, zero at the origin; where periodic, of the unwrapped positions.

    In a step the ledger has the work m g·v̄ dt, and the grains move by v⁺ dt: the sum of all work
    differs from the loss of potential energy by dt/2 m g·(v − v₀), which vanishes at rest.
    """
    snap = snapshot(source, frame)
    return 0.0 - float(snap.mass @ (snap.position @ snap.model.gravity))  # 0, not −0, without g


def momentum(source: Source, frame: int = -1) -> Floats:
    """Σ m v of the grains, shape (dim,)."""
    snap = snapshot(source, frame)
    total: Floats = snap.mass @ snap.velocity
    return total


def angular_momentum(source: Source, frame: int = -1) -> Floats:
    """Σ m x × v + I ω of the grains about the origin, shape (ns,)."""
    snap = snapshot(source, frame)
    orbital = snap.mass @ _cross(snap.position, snap.velocity)
    total: Floats = orbital + snap.model.inertia[: snap.n] @ snap.spin
    return total


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
    period, m = snap.model.periodic, snap.mass
    if not length > 0.0 or (length > 0.5 * period[period > 0.0]).any():
        raise InputError(f"length is {length:g} but must be positive and at most half a period")
    i, j = snap.tree.query_pairs(length, output_type="ndarray").T
    mass, flow = m.copy(), m[:, None] * snap.velocity
    for a, b in ((i, j), (j, i)):
        mass += np.bincount(a, m[b], minlength=snap.n)
        for k in range(snap.dim):
            flow[:, k] += np.bincount(a, m[b] * snap.velocity[b, k], minlength=snap.n)
    mean: Floats = flow / mass[:, None]
    return mean


def _quadratic(v: Floats, inverse: Floats) -> float:
    """½ Σ v²/inverse over what can move."""
    free = inverse > 0.0
    return 0.5 * float(np.sum(v[free] ** 2 / inverse[free]))


def _cross(a: Floats, b: Floats) -> Floats:
    """a × b, shape (…, 1) in 2D and (…, 3) in 3D."""
    if a.shape[-1] == 2:
        turn: Floats = (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])[..., None]
        return turn
    return np.cross(a, b)


# ---------------------------------------------------------------------- work over time
@dataclass(frozen=True, eq=False)
class Balance:
    """Where energy came from and went to since the first frame, by step; all (steps,)."""

    time: Floats
    kinetic: Floats  # of translation and rotation
    elastic: Floats  # in the springs of soft contacts
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


# ---------------------------------------------------------------------- dissipation
@dataclass(frozen=True, eq=False)
class Dissipation:
    """What each contact dissipated in a step, by kind; all (m,) [energy]."""

    contacts: Contacts  # those that touch, as `Snapshot.contacts`
    inelastic: Floats  # along the normal
    sliding: Floats  # across it
    rolling: Floats  # by relative spin across the normal
    torsion: Floats  # by relative spin about it, 3D

    @property
    def total(self) -> Floats:
        """(m,) of all kinds."""
        return self.inelastic + self.sliding + self.rolling + self.torsion

    @property
    def kinds(self) -> dict[str, float]:
        """Of all contacts, by kind."""
        names = ("inelastic", "sliding", "rolling", "torsion")
        return {name: float(getattr(self, name).sum()) for name in names}


def dissipation(source: Source, frame: int = -1) -> Dissipation:
    """What each contact dissipated in the step that led to a frame; nothing before the first."""
    snap = snapshot(source, frame)
    if snap.substeps:
        raise InputError(
            "engine.kind is 'soft-particles'; which contact dissipated how much is known for"
            " 'contact-dynamics' only, whose steps have one impulse a contact"
        )
    s, dt, model = snap.state, snap.dt, snap.whole
    if s.step == 0:
        return Dissipation(snap.contacts, *np.zeros((4, len(snap.contacts))))
    before = replace(s, step=s.step - 1, position=s.position - dt * s.velocity)
    model = model.at((before.step + 0.5) * dt)
    force, torque = Loads(model, dt).at(before)
    c, rows, _ = Glue(model).contacts(before.position, snap.contacts)
    arms = c.arm_first, c.arm_second
    turns = [_cross(arm, c.impulse) + c.torque for arm in arms]
    push, twist = dt * force, dt * torque
    np.add.at(push, c.second, c.impulse)
    np.subtract.at(push, c.first, c.impulse)
    np.add.at(twist, c.second, turns[1])
    np.subtract.at(twist, c.first, turns[0])
    velocity = s.velocity - 0.5 * model.inv_mass * push
    spin = s.spin - 0.5 * model.inv_inertia * twist
    slip = _surface(velocity, spin, c.second, arms[1]) - _surface(velocity, spin, c.first, arms[0])
    p_n, v_n = c.normal_impulse(), np.einsum("ka,ka->k", slip, c.normal)
    across = c.impulse - p_n[:, None] * c.normal
    relative = spin[c.second] - spin[c.first]
    worked = np.einsum("ka,ka->k", c.torque, relative)
    twisted = np.zeros(len(c))
    if snap.dim == 3:
        twisted = np.einsum("ka,ka->k", c.torque, c.normal)
        twisted *= np.einsum("ka,ka->k", relative, c.normal)
    sliding = -np.einsum("ka,ka->k", across, slip)
    parts = np.empty((4, len(c)))
    parts[:, rows] = -p_n * v_n, sliding, twisted - worked, -twisted
    return Dissipation(snap.contacts, *parts)


def _surface(velocity: Floats, spin: Floats, body: Ints, arm: Floats) -> Floats:
    """(m, dim) v + ω × arm."""
    if arm.shape[1] == 2:
        turn = spin[body] * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    else:
        turn = np.cross(spin[body], arm)
    return velocity[body] + turn


# ---------------------------------------------------------------------- walls
def wall_loads(source: Source, frame: int = -1) -> tuple[Floats, Floats]:
    """Force (w, dim) and torque (w, ns) of the grains on each wall in the last step.

    Torques are about the point a wall turns about.
    """
    snap = snapshot(source, frame)
    if snap.wall_force is not None and snap.wall_torque is not None:
        return snap.wall_force, snap.wall_torque
    n, s = snap.n, snap.state
    c = carried(snap.model, s.position - snap.dt * s.velocity, snap.contacts)
    walls = snap.model.bodies - n
    force, torque = np.zeros((walls, snap.dim)), np.zeros((walls, s.spin.shape[1]))
    on = c.second >= n
    np.add.at(force, c.second[on] - n, c.impulse[on] / snap.dt)
    np.add.at(torque, c.second[on] - n, (_cross(c.arm_second, c.impulse) + c.torque)[on] / snap.dt)
    return force, torque


def wall_power(source: Source, frame: int = -1) -> Floats:
    """−(F·v + τ·ω) of each wall, shape (w,): the power at which it does work on the grains.

    Of a driven wall this is the share of `work_driven` a time; a piston gives what its load does
    on it, less what it keeps as kinetic energy.
    """
    snap = snapshot(source, frame)
    (force, torque), s, n = wall_loads(snap), snap.state, snap.n
    gained: Floats = np.einsum("wa,wa->w", force, s.velocity[n:])
    gained += np.einsum("wa,wa->w", torque, s.spin[n:])
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
@of_frame("energy", "kinetic, rotational and potential energy")
def _energy(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    return xr.Dataset(
        {
            "translation": ((), kinetic_energy(snap), about("energy", "kinetic energy of motion")),
            "rotation": ((), rotational_energy(snap), about("energy", "rotational energy")),
            "potential": ((), potential_energy(snap), about("energy", "potential energy")),
        }
    )


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
        {"component": axes(snap.dim), "axis": turns(snap.dim)},
    )


@of_frame(
    "granular-temperature", "velocity fluctuations; length = …: about the flow around a grain"
)
def _temperature(snap: Snapshot, length: float | None = None) -> xr.Dataset:
    import xarray as xr

    value = granular_temperature(snap, length=length)
    what = about("length^2/time^2", "granular temperature")
    return xr.Dataset({"granular_temperature": ((), value, what)})


@of_frame("dissipation", "dissipation by kind in the step before each frame", contacts=True)
def _kinds(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    rates = {kind: lost / snap.dt for kind, lost in dissipation(snap).kinds.items()}
    data: dict[str, Any] = {
        kind: ((), rate, about("energy/time", f"{kind} loss")) for kind, rate in rates.items()
    }
    data["total"] = ((), math.fsum(rates.values()), about("energy/time", "dissipation"))
    return xr.Dataset(data)


@of_frame("contact-dissipation", "dissipation of each contact by kind", small=False, contacts=True)
def _contact_dissipation(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    d = dissipation(snap)
    data: dict[str, Any] = {
        name: ("contact", snap.model.number[getattr(d.contacts, name)], about("1", f"{name} body"))
        for name in ("first", "second")
    }
    for kind in d.kinds:
        data[kind] = ("contact", getattr(d, kind) / snap.dt, about("energy/time", f"{kind} loss"))
    return xr.Dataset(data, {"contact": np.arange(len(d.contacts))})


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
