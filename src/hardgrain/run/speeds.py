"""The speed of a run as a whole after each step, by which it is decided whether it is at rest."""

from __future__ import annotations

import math
from array import array

import numpy as np
from numpy.typing import NDArray

from hardgrain.scene.model import Floats, Model, State
from hardgrain.step.ledger import kinetic_energy

__all__ = ["Speeds"]


class Speeds:
    """Root-mean-square speeds after every step, of what bears a force or is pushed; see `AtRest`.

    Grains that neither bear a force nor are pushed, such as rattlers without gravity, do not count
    as long as the others make up more than half of the mass.
    """

    def __init__(self, model: Model) -> None:
        self._past = array("d")
        self.weigh(model)

    def weigh(self, model: Model) -> None:
        """Take note of which grains are there now, and of their mass."""
        self._model = model
        self._pushed = _pushed(model)
        self.mass = float(model.mass[: model.n].sum())

    def note(self, state: State, kinetic: float) -> float:
        """Add the speed after a step that left the given kinetic energy."""
        self._past.append(self._of(state, kinetic))
        return self._past[-1]

    def forget(self) -> None:
        """Undo the last step."""
        self._past.pop()

    def recall(self, history: dict[str, Floats]) -> None:
        """Take the speeds of earlier steps from a file; earlier versions kept only the energy."""
        found = history.get("speed", np.zeros(0))
        if "speed" not in history:
            found = np.sqrt(2.0 * history["kinetic"] / self.mass)
        self._past = array("d", found.tolist())

    def below(self, speed: float, steps: int) -> bool:
        """Whether all of the last ``steps`` were below a speed."""
        return len(self._past) >= steps and max(self._past[-steps:]) < speed

    def _of(self, s: State, kinetic: float) -> float:
        m, mass = self._model, self.mass
        if not self._pushed[: m.n].all():
            c, some = s.contacts, self._pushed.copy()
            loaded = c.impulse.any(axis=1)
            some[c.first[loaded]] = some[c.second[loaded]] = True
            bearing = float(m.mass[: m.n][some[: m.n]].sum())
            if 2.0 * bearing > mass:
                mass = bearing
                kinetic = float(
                    kinetic_energy(
                        s.velocity[some], s.spin[some], m.inv_mass[some], m.inv_inertia[some]
                    )
                )
        return math.sqrt(2.0 * kinetic / mass) if mass > 0.0 else 0.0


def _pushed(model: Model) -> NDArray[np.bool_]:
    """Which bodies gravity or a force may ever push, or a drive move; shape (nb,)."""
    found = np.zeros(model.bodies, dtype=bool)
    found[: model.n] = model.gravity.any()
    for bodies in [*(d.bodies for d in model.drives), *(p.body for p in model.pressures)]:
        found[bodies] = True
    return found
