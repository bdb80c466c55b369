"""The speed of a state as a whole, by which it is decided whether it is at rest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Model
from hardgrain.cpu.ledger import twice_energy
from hardgrain.kernels import jit

__all__ = ["pushed_bodies", "rms_speed"]


def pushed_bodies(model: Model) -> NDArray[np.bool_]:
    """Which bodies gravity or a force may ever push, or a drive move; shape (nb,)."""
    found = np.zeros(model.bodies, dtype=bool)
    found[: model.n] = model.gravity.any()
    for bodies in [*(d.bodies for d in model.drives), *(p.body for p in model.pressures)]:
        found[bodies] = True
    return found


@jit
def rms_speed(rows, velocity, spin, inv_mass, inv_inertia, mass, pushed, kinetic):  # type: ignore[no-untyped-def]
    """√(2 T / m) of the grains that bear a force or are pushed; see `run.stop.AtRest`.

    Grains that neither bear a force nor are pushed, such as rattlers without gravity, do not count
    as long as the others make up more than half of the mass. mass: (n,), pushed: (nb,); kinetic:
    that of all bodies.
    """
    some, total, bearing, energy = pushed.copy(), 0.0, 0.0, 0.0
    for k in range(rows.first.size):
        loaded = False
        for a in range(rows.impulse.shape[1]):
            loaded |= rows.impulse[k, a] != 0.0
        if loaded:
            some[rows.first[k]] = some[rows.second[k]] = True
    for i in range(velocity.shape[0]):
        if i < mass.size:
            total += mass[i]
            bearing += mass[i] if some[i] else 0.0
        if some[i]:
            energy += twice_energy(velocity, inv_mass, i) + twice_energy(spin, inv_inertia, i)
    if bearing < total and 2.0 * bearing > total:
        return math.sqrt(energy / bearing)
    return math.sqrt(2.0 * kinetic / total) if total > 0.0 else 0.0
