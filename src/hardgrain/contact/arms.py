"""What follows from an arm: the torque of a force at its end, and the velocity of that end.

In 2D bodies rotate about the third axis alone, so that spins and torques have one component; in 3D
they have three. All functions take arrays of vectors, whose last axis holds the components.
"""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Contacts, Floats, Ints

__all__ = ["closing", "surface_velocity", "torque", "turning"]


def torque(arm: Floats, force: Floats) -> Floats:
    """arm × force, shape (…, ns); with a momentum in place of the force, angular momentum."""
    if arm.shape[-1] == 3:
        return np.cross(arm, force)
    about: Floats = arm[..., 0] * force[..., 1] - arm[..., 1] * force[..., 0]
    return about[..., None]


def turning(spin: Floats, arm: Floats) -> Floats:
    """ω × arm, the velocity that rotation gives to the end of an arm, shape (…, dim)."""
    if arm.shape[-1] == 3:
        return np.cross(spin, arm)
    around: Floats = spin * np.stack([-arm[..., 1], arm[..., 0]], axis=-1)
    return around


def surface_velocity(velocity: Floats, spin: Floats, body: Ints, arm: Floats) -> Floats:
    """v + ω × arm of the bodies that are named, one for each arm, shape (m, dim)."""
    there: Floats = velocity[body] + turning(spin[body], arm)
    return there


def closing(contacts: Contacts, velocity: Floats, spin: Floats) -> Floats:
    """Normal velocities of the contact points, for velocities and spins of bodies, shape (m,)."""
    v = surface_velocity(velocity, spin, contacts.second, contacts.arm_second)
    v -= surface_velocity(velocity, spin, contacts.first, contacts.arm_first)
    speed: Floats = np.einsum("ka,ka->k", v, contacts.normal)
    return speed
