"""Bodies kicked, moved and turned on all threads; see `cpu.inertia` and `step.loads`."""

from __future__ import annotations

import numpy as np

from hardgrain.cpu.inertia import times, turn_body
from hardgrain.kernels import pjit, prange

__all__ = ["kicked_together", "moved_together"]


@pjit
def kicked_together(velocity, inverse, load, dt):
    """As `cpu.inertia.kicked`."""
    free = np.empty_like(velocity)
    for i in prange(velocity.shape[0]):
        for a in range(velocity.shape[1]):
            free[i, a] = velocity[i, a] + dt * times(inverse, i, load, a)
    return free


@pjit
def moved_together(position, orientation, velocity, spin, dt):
    """Move all bodies, and turn them about their spins, by one step."""
    for i in prange(position.shape[0]):
        for a in range(position.shape[1]):
            position[i, a] += velocity[i, a] * dt
        turn_body(orientation, spin, dt, i)
