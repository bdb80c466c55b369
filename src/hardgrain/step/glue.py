"""Walls and grains glued to a wall: one body that moves as the wall does.

A contact with a glued body is a contact with the wall that carries it: the solver is told so, with
the geometry of the glued body. The arm of a wall reaches from the point that it turns about to the
contact, wherever that lies, so nothing is approximated. Normals, gaps and names of contacts stay
those of the bodies that touch.

What is glued has no mass of its own: that of grains is part of their wall's (`scene.scene`), and
their weight acts on it (`step.loads`). After each step they are where the motion of their wall, a
translation and a rotation about its point, has taken them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.arms import surface_velocity
from hardgrain.contact.pairs import rotate
from hardgrain.core.model import Contacts, Floats, Model
from hardgrain.cpu.inertia import turn

__all__ = ["Glue", "carried"]


def carried(model: Model, position: Floats, contacts: Contacts) -> Contacts:
    """The contacts between the bodies that move: walls in place of what is glued to them."""
    glue = Glue(model)
    return glue.contacts(position, contacts)[0] if glue.bodies.size else contacts


class Glue:
    """All that is glued to the walls of a model."""

    def __init__(self, model: Model) -> None:
        self.carrier = model.carrier
        self.bodies = np.flatnonzero(model.carrier != np.arange(model.bodies))
        self._by = model.carrier[self.bodies]
        self._free = model.carrier < model.n  # grains that move by themselves

    def contacts(self, position: Floats, c: Contacts) -> tuple[Contacts, NDArray[np.int64], Floats]:
        """The contacts between the bodies that carry, sorted; which rows they were, and signs.

        A contact whose first grain is glued is seen from the other side: its sign is −1. Arms of
        what is glued begin at the point that its wall turns about, from where bodies are now.
        """
        first, second = self.carrier[c.first], self.carrier[c.second]
        arm_first = c.arm_first + position[c.first] - position[first]
        arm_second = c.arm_second + position[c.second] - position[second]
        turned = ~self._free[c.first]
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        side = turned[:, None]
        arm_first, arm_second = (
            np.where(side, arm_second, arm_first),
            np.where(side, arm_first, arm_second),
        )
        rows = np.lexsort((c.feature, second, first))
        sign = np.where(turned[rows], -1.0, 1.0)[:, None]
        seen = replace(
            c.chosen(rows),
            first=first[rows],
            second=second[rows],
            arm_first=arm_first[rows],
            arm_second=arm_second[rows],
        )
        for name in ("normal", "impulse", "torque"):
            setattr(seen, name, sign * getattr(seen, name))
        return seen, rows, sign

    def carry(self, position: Floats, velocity: Floats, spin: Floats) -> None:
        """Give what is glued the velocity and spin that its wall has there, in place."""
        if not self.bodies.size:
            return
        by, arm = self._by, position[self.bodies] - position[self._by]
        velocity[self.bodies] = surface_velocity(velocity, spin, by, arm)
        spin[self.bodies] = spin[by]

    def place(self, before: Floats, position: Floats, spin: Floats, dt: float) -> None:
        """Put what is glued to a turning wall where that took it from ``before``, in place."""
        mine = np.flatnonzero(spin[self._by].any(axis=1))
        if not mine.size:
            return
        bodies, by = self.bodies[mine], self._by[mine]
        orientation = np.zeros((mine.size, 1 if spin.shape[1] == 1 else 4))
        if spin.shape[1] == 3:
            orientation[:, 3] = 1.0
        turn(orientation, spin[by], dt)
        position[bodies] = position[by] + rotate(orientation, before[bodies] - before[by])
