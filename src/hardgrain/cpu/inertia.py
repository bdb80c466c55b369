"""Bodies that turn: what loads do to them, and their free rotation over a step."""

from __future__ import annotations

from hardgrain.kernels import jit, scalar
from hardgrain.law.rotation import make_rotation
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.point.turning import make_turning

__all__ = ["TENSOR", "inverses_in_space", "kicked", "rotate", "turn"]

_inertia, _rotation = make_inertia(scalar), make_rotation(scalar)
inverse_in_space, times = _inertia.inverse_in_space, _inertia.times
uneven, turns = _inertia.uneven, _inertia.turns
free_rotation = _rotation.free_rotation
turn_body = make_turning(scalar).turn_body


@jit
def kicked(velocity, inverse, load, dt):
    """Velocities after forces have acted for a step, or spins after torques have."""
    free = velocity.copy()
    for i in range(velocity.shape[0]):
        for a in range(velocity.shape[1]):
            free[i, a] += dt * times(inverse, i, load, a)
    return free


@jit
def inverses_in_space(orientation, moments, free, out):
    """Write the inverse tensors (nb, 6) of all bodies; see `hardgrain.point.inertia`."""
    for i in range(free.shape[0]):
        inverse_in_space(orientation, moments, free, i, out)


@jit
def turn(orientation, spin, dt):
    """Orientations turn about ω by |ω| dt, exactly."""
    for i in range(spin.shape[0]):
        turn_body(orientation, spin, dt, i)


@jit
def rotate(orientation, spin, moments, free, dt):
    """Free rotation over a step: a body with unequal moments changes its spin while it turns.

    free: (nb, 3), zero about the axes that a body cannot turn about. One that turns about a single
    axis keeps its spin, for whatever holds it takes the gyroscopic torque.
    """
    for i in range(spin.shape[0]):
        if not (uneven(moments, i) and turns(free, i)):
            turn_body(orientation, spin, dt, i)
            continue
        q = (orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3])
        w = (spin[i, 0], spin[i, 1], spin[i, 2])
        q, w = free_rotation(q, w, (moments[i, 0], moments[i, 1], moments[i, 2]), dt)
        orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3] = q
        spin[i, 0], spin[i, 1], spin[i, 2] = w
