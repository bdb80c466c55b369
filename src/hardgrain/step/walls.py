"""The work of walls on the grains."""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import jit

__all__ = ["wall_work"]


@jit
def wall_work(mean, velocity, spin, inv_mass, force, torque, dt):  # type: ignore[no-untyped-def]
    """Work of each wall on the grains in a step, −dt (F·v̄ + τ·ω), shape (w,) [energy].

    mean: velocities of all bodies, taken before and after the step and averaged; velocity, spin:
    those after it. v̄ is the mean velocity of a piston; driven walls have only one velocity.
    Pistons of soft particles have this work up to changes of force and speed within the step.
    """
    n = velocity.shape[0] - force.shape[0]
    work = np.zeros(force.shape[0])
    for k in range(work.size):
        power = 0.0
        for a in range(velocity.shape[1]):
            v = mean[n + k, a] if inv_mass[n + k, a] > 0.0 else velocity[n + k, a]
            power += force[k, a] * v
        for a in range(spin.shape[1]):
            power += torque[k, a] * spin[n + k, a]
        work[k] = -dt * power
    return work
