"""The speed of a run as a whole after each step, by which it is decided whether it is at rest."""

from __future__ import annotations

from array import array

import numpy as np

from hardgrain.core.model import Floats, Model
from hardgrain.processes import Alone

__all__ = ["Speeds"]


class Speeds:
    """Root-mean-square speeds after every step, of what bears a force or is pushed."""

    def __init__(self, model: Model, here: Alone) -> None:
        self._past = array("d")
        self.weigh(model, here)

    def weigh(self, model: Model, here: Alone) -> None:
        """Take note of the mass of the grains that are there now, which the first process knows."""
        self.mass = here.first(float(model.mass[: model.n].sum()))

    def note(self, speed: float) -> None:
        """Add the speed after a step."""
        self._past.append(speed)

    def __len__(self) -> int:
        """Number of steps so far."""
        return len(self._past)

    def forget(self, steps: int) -> None:
        """Forget all but the first steps."""
        del self._past[steps:]

    def recall(self, history: dict[str, Floats]) -> None:
        """Take the speeds of earlier steps from a file; earlier versions kept only the energy."""
        found = history.get("speed", np.zeros(0))
        if "speed" not in history:
            found = np.sqrt(2.0 * history["kinetic"] / self.mass)
        self._past = array("d", found.tolist())

    def slow(self, speed: float, steps: int) -> int:
        """How many of the last ``steps`` were below a speed, up to the present one in a row."""
        count = 0
        for past in reversed(self._past[-steps:]):
            if not past < speed:
                break
            count += 1
        return count

    def below(self, speed: float, steps: int) -> bool:
        """Whether all of the last ``steps`` were below a speed."""
        return self.slow(speed, steps) == steps
