"""Coulomb's law with one coefficient (C1) or two (C2), at all contacts of an array at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hardgrain.errors import InputError, RunError
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, Floats, States
from hardgrain.papers.radjai1997.exact.flip import flip
from hardgrain.papers.radjai1997.exact.pivot import complementary
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

__all__ = ["RULES", "Coulomb"]

RULES = ("stick", "slide", "random")
Rule = Literal["stick", "slide", "random"]


@dataclass(frozen=True, eq=False)
class Coulomb:
    """A contact that slides has T = ±µ_d N, one that sticks |T| ≤ µ_s N.

    If µ_s = µ_d (C1) there is as a rule one solution, found by pivoting. If µ_s > µ_d (C2) there
    are several, and a rule picks one:

    stick   first all are held with µ_s; of those that give way the fastest slides with µ_d from
            then on, and so forth until none gives way (should that go round in a circle:
            slide; should it find no forces: random)
    slide   the solution of C1 with µ_d, which is always one of C2
    random  trial and error from random states, Appendix A of the paper; for C1 it is a second way
            to the same solution
    """

    slide: Floats  # µ_d of each contact (2 L + 1,)
    stick: Floats  # µ_s of each contact (2 L + 1,)
    rule: Rule = "stick"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InputError(f"rule is {self.rule!r}; give one of {', '.join(RULES)}")
        if (self.stick < self.slide).any():
            k = int(np.flatnonzero(self.stick < self.slide)[0])
            raise InputError(
                f"a static coefficient of friction is {self.stick[k]:g}; it must be at least the"
                f" dynamic one, {self.slide[k]:g}"
            )

    def solve(self, array: Array, given: States, rng: np.random.Generator) -> ArraySolution:
        """Forces, accelerations and states, where ``given`` is the direction of each slip."""
        if self.rule == "random":
            found = flip(array, self.slide, self.stick, given, rng)
            if found is None:
                raise RunError("trial and error found no contact states; give another rule")
            x, states = found
        else:
            plain = self.rule == "slide" or np.array_equal(self.slide, self.stick)
            try:
                if plain:
                    x, states = complementary(array, self.slide, given)
                else:
                    x, states = self._stick(array, given)
            except RunError:
                found = flip(array, self.slide, self.stick, given, rng)
                if found is None:
                    raise
                x, states = found
        return ArraySolution.checked(array, x, states, self.slide, self.stick, given)

    def _stick(self, array: Array, given: States) -> tuple[Floats, States]:
        decided = given.copy()  # ±1 means that it slides that way, with µ_d
        met: set[bytes] = set()
        while decided.tobytes() not in met:
            met.add(decided.tobytes())
            mu = np.where(decided == 0, self.stick, self.slide)
            x, states = complementary(array, mu, decided)
            rate = array.slip @ x
            small = 1e-12 * np.abs(x).max()
            # these would stop, so they may stick again
            back = (given == 0) & (decided * rate < -small)
            give_way = (decided == 0) & (states != STICKS) & (np.abs(rate) > small)
            if back.any():
                decided[np.argmin(np.where(back, decided * rate, 0.0))] = 0
            elif give_way.any():
                fastest = np.argmax(np.where(give_way, np.abs(rate), 0.0))
                decided[fastest] = np.sign(rate[fastest])
            else:
                return x, states
        # It goes round in a circle: a contact that gives way under µ_s sticks again once it slides
        # with µ_d.
        return complementary(array, self.slide, given)
