"""Which contacts took energy out of the grains, and by what: impact, sliding, rolling, torsion.

With v̄ = (v⁺ + v⁻)/2, the change of kinetic energy in a step is the identity of `step.ledger`, and
−P·V̄ is what a contact dissipated, V̄ its mean velocity. A frame holds v⁺ and all impulses but not
v⁻, which follows from them,

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.contact.arms import surface_velocity, torque
from hardgrain.core.cell import Cell, voigt
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.inertia import kicked, rotate
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.step.cell_loads import CellLoads
from hardgrain.step.glue import Glue
from hardgrain.step.loads import Loads, turned

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Dissipation", "dissipation"]

# Rounds in which the velocities before a step are found where its loads depend on them. Each leaves
# about dt × rate of strain of the error, so that a few are enough.
ROUNDS = 8


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
        """What each contact dissipated in all, shape (m,)."""
        return self.inelastic + self.sliding + self.rolling + self.torsion

    @property
    def kinds(self) -> dict[str, float]:
        """What all contacts together dissipated, by kind."""
        names = ("inelastic", "sliding", "rolling", "torsion")
        return {name: float(getattr(self, name).sum()) for name in names}


def dissipation(source: Source, frame: int = -1) -> Dissipation:
    """What each contact dissipated in the step that led to a frame; nothing before the first."""
    snap = snapshot(source, frame)
    if snap.engine != "contact-dynamics":
        raise InputError(
            f"engine.kind is {snap.engine!r}; which contact dissipated how much is known for"
            " 'contact-dynamics' only, whose steps have one impulse a contact"
        )
    if snap.mesh is not None:
        raise InputError(
            "grains of this run deform, and files do not keep how their nodes moved before a step;"
            " what was dissipated in all is in energy-balance"
        )
    s, dt, model = snap.state, snap.dt, snap.whole
    if s.step == 0:
        return Dissipation(snap.contacts, *np.zeros((4, len(snap.contacts))))
    before = replace(s.copy(), step=s.step - 1, position=s.position - dt * s.velocity)
    before.position[: snap.n] = snap.before(snap.position)
    model = model.at((before.step + 0.5) * dt)
    if len(model.moments):  # the spin before the free rotation, which can be undone
        rotate(before.orientation, before.spin, model.moments, model.inv_inertia, -dt)
    loads = CellLoads(model, dt) if model.cell >= 0 else Loads(model, dt)
    force, moment = loads.at(before)
    model = turned(model, before.orientation)
    c, rows, _ = Glue(model).contacts(before.position, snap.contacts)
    push, twist = np.zeros_like(force), np.zeros_like(moment)
    np.add.at(push, c.second, c.impulse)
    np.subtract.at(push, c.first, c.impulse)
    np.add.at(twist, c.second, torque(c.arm_second, c.impulse) + c.torque)
    np.subtract.at(twist, c.first, torque(c.arm_first, c.impulse) + c.torque)
    cell, between = model.cell, c.second < snap.n
    if cell >= 0:  # it feels the impulse P ⊗ l (`point.cell`)
        felt = voigt(np.einsum("ka,kb->ab", c.impulse[between], snap.branch[rows][between]))
        push[cell] += felt[: snap.dim]
        twist[cell] += felt[snap.dim :]
        force, moment = _before_the_kick(loads, before, model, push, twist)
    push += dt * force
    twist += dt * moment
    velocity = kicked(s.velocity, model.inv_mass, push, -0.5)
    spin = kicked(before.spin, model.inv_inertia, twist, -0.5)
    slip = surface_velocity(velocity, spin, c.second, c.arm_second)
    slip -= surface_velocity(velocity, spin, c.first, c.arm_first)
    if cell >= 0:
        rate = model.gradient_in(replace(s, velocity=velocity, spin=spin))
        slip[between] += snap.branch[rows][between] @ rate.T
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


def _before_the_kick(
    loads: Loads, before: State, model: Model, push: Floats, twist: Floats
) -> tuple[Floats, Floats]:
    """Loads at the start of a step in a cell, which depend on the velocities that it began with.

    These are found from those at its end, in ``before``, less what loads and impulses gave.
    """
    dt = loads.dt
    back = np.linalg.inv(np.eye(model.dim) + dt * model.gradient_in(before)).astype(float)
    began = replace(before, cell=voigt(back @ Cell(before.cell).matrix))
    for _ in range(ROUNDS):
        force, moment = loads.at(began)
        velocity = kicked(before.velocity, model.inv_mass, push + dt * force, -1.0)
        spin = kicked(before.spin, model.inv_inertia, twist + dt * moment, -1.0)
        began = replace(began, velocity=velocity, spin=spin)
    return loads.at(began)


# ---------------------------------------------------------------------- by name
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
