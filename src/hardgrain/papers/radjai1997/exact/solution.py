"""What is found at one instant: forces, accelerations, contact states, and how certain they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.errors import RunError
from hardgrain.papers.radjai1997.exact.array import HELD, STICKS, Array, Floats, States
from hardgrain.papers.radjai1997.exact.flip import flip
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, all_states, with_states
from hardgrain.papers.radjai1997.exact.pivot import at_rest, traced

__all__ = ["ArraySolution"]

_ROUNDING = 1e-9  # [largest unknown] rounding of a force or an acceleration
_WAYS = 8  # [attempts] to find other solutions; where there are two, each finds either as often
_SHORT = 4  # [disks] in arrays up to this length all contact states are searched
_SEARCHED = 2e-6  # error that the search may have
_WEIGHT = 1e-15  # [weight of a disk] rounding that remains if all unknowns vanish


@dataclass(frozen=True, eq=False)
class ArraySolution:
    """Forces and accelerations of an array; side contacts are 0 … L, disks and planes 1 … L.

    The paper's signs: ω̇ > 0 rolls forward, T > 0 resists a forward slip.
    """

    array: Array
    x: Floats  # all unknowns, in the order of `Array`
    states: States  # (2 L + 1,) 0: sticks, ±1: slides, 2: held; contacts in the order of `Array`
    slide: Floats  # (2 L + 1,) dynamic coefficients µ_d
    stick: Floats  # (2 L + 1,) static coefficients µ_s
    given: States  # (2 L + 1,) direction of the slip before, 0 if there was none

    @classmethod
    def checked(
        cls, array: Array, x: Floats, states: States, slide: Floats, stick: Floats, given: States
    ) -> ArraySolution:
        """Make and check a solution; a contact whose slip does not change sticks, by (1)."""
        rest = np.abs(array.slip @ x) <= _ROUNDING * np.abs(x).max() + _WEIGHT
        still = (given == 0) & rest & (states != HELD)
        # Without friction the state is only the direction of the slip.
        loose = (given == 0) & (slide == 0.0) & ~rest & (states != HELD)
        states = np.where(still, STICKS, np.where(loose, np.sign(array.slip @ x), states))
        found = cls(array, x, states.astype(np.int8), slide, stick, given)
        found._check()
        return found

    def __repr__(self) -> str:
        held = f", held closed: {', '.join(self.lost)}" if self.lost else ""
        return (
            f"<{self.array.particles} disks driven by {self.array.drive:g}: µ_g ="
            f" {self.friction:.12g}, v̇ = {self.acceleration:.12g}, modes {self.modes}{held}>"
        )

    # ------------------------------------------------------------------ forces and accelerations
    @property
    def acceleration(self) -> float:
        """The acceleration v̇ of the array."""
        return float(self.x[self.array.at_v[0]])

    @property
    def angular_acceleration(self) -> Floats:
        """The angular acceleration ω̇ of each disk, shape (L,)."""
        return self.x[self.array.at_omega]

    @property
    def tangential(self) -> Floats:
        """The tangential forces T_0 … T_L of the sides, shape (L + 1,)."""
        return self.x[self.array.at_tangential[0::2]]

    @property
    def tangential_plane(self) -> Floats:
        """The tangential forces T'_1 … T'_L on the plane, shape (L,)."""
        return self.x[self.array.at_tangential[1::2]]

    @cached_property
    def normals(self) -> Floats:
        """The normal forces of all contacts, in the order of `Array`, shape (2 L + 1,)."""
        normals: Floats = self.array.normal @ self.x + self.array.normal_0
        return normals

    @property
    def normal(self) -> Floats:
        """The normal forces N_0 … N_L of the sides, shape (L + 1,)."""
        return self.normals[0::2]

    @property
    def normal_plane(self) -> Floats:
        """The normal forces N'_1 … N'_L on the plane, shape (L,)."""
        return self.normals[1::2]

    @property
    def friction(self) -> float:
        """The collective friction µ_g: the plane's friction on the array over its weight."""
        return float(self.tangential_plane.mean())

    @cached_property
    def slip_rate(self) -> Floats:
        """The rates of slip u̇ of all contacts, shape (2 L + 1,)."""
        rate: Floats = self.array.slip @ self.x
        return rate

    # ------------------------------------------------------------------ states
    @cached_property
    def modes(self) -> tuple[int, int, int]:
        """The numbers L_1, L_2, L_3 of disks in each domain, from the braking block on.

        For an array that moves forward. In the first all roll on the plane; the third begins with
        the first disk behind it that rolls on a neighbour (or rests on a block) and reaches to the
        driving block.
        """
        sticks = self.states == STICKS
        rolls, counter = sticks[1::2], sticks[0:-1:2] | sticks[2::2]
        n = rolls.size
        first = n if rolls.all() else int(rolls.argmin())
        later = counter[first:]
        second = n - first if not later.any() else int(later.argmax())
        return first, second, n - first - second

    @cached_property
    def lost(self) -> list[str]:
        """The contacts that would open, and are kept closed by a pull."""
        return [self.array.name(int(k)) for k in np.flatnonzero(self.states == HELD)]

    def _check(self) -> None:
        """Check all laws at all contacts, whatever way the solution was found."""
        a, x = self.array, self.x
        size = _ROUNDING * np.abs(x).max() + _WEIGHT
        held, sticks = self.states == HELD, self.states == STICKS
        slides = ~held & ~sticks
        pressed = np.where(held, 0.0, self.normals)
        tangential = x[a.at_tangential]
        if (np.abs(a.dynamics @ x - a.right)[a.motion] > size).any():
            raise RunError("an equation of motion does not hold in what was found")
        rate = np.where(self.given == 0, self.slip_rate, self.given)
        wrong = {
            "a contact is held that presses": held & (self.normals > size),
            "a contact sticks that slips": sticks & (np.abs(rate) > size),
            "a normal force pulls": pressed < -size,
            "friction exceeds Coulomb's limit": np.abs(tangential)
            > np.where(sticks, self.stick, self.slide) * pressed + size,
            "a contact slides with less than its friction": slides
            & (np.abs(tangential - self.states * self.slide * pressed) > size),
            "a contact slides along its friction": slides & (rate * self.states < 0),
        }
        for what, where in wrong.items():
            if where.any():
                k = int(np.flatnonzero(where)[0])
                raise RunError(f"{what} in what was found ({a.name(k)})")

    # ------------------------------------------------------------------ how certain
    @cached_property
    def redundant(self) -> int:
        """The number of sticking contacts beyond those that fix the rates of slip.

        They are edges of a graph: bodies i and i + 1 counter-rotate, a disk rolls on the plane, a
        disk does not rotate on a block. A component in which all these agree leaves one rate open,
        a frustrated one none; a double cover of the graph tells them apart.
        """
        n = self.array.particles
        sticks = self.states == STICKS
        plane, block = n, n + 1  # nodes after the disks
        i = np.arange(n - 1)[sticks[2:-1:2]]
        j = np.flatnonzero(sticks[1::2])
        ends = np.array([0, n - 1])[sticks[[0, -1]]]
        one = np.concatenate([i, j, ends, [block]])
        two = np.concatenate([i + 1, np.full(j.size, plane), np.full(ends.size, block), [block]])
        minus = np.concatenate([np.ones(i.size), np.zeros(j.size), np.zeros(ends.size), [1]]) > 0
        nodes = n + 2
        start = np.concatenate([one, one + nodes])
        stop = np.concatenate([two + nodes * minus, two + nodes * ~minus])
        graph = coo_array((np.ones(start.size), (start, stop)), shape=(2 * nodes, 2 * nodes))
        _, label = connected_components(graph, directed=False)
        balanced = {
            frozenset((label[k], label[k + nodes]))
            for k in range(nodes)
            if label[k] != label[k + nodes]
        }
        return int(sticks.sum()) - (n + 1 - len(balanced))

    @cached_property
    def _polytope(self) -> Polytope:
        return with_states(self.array, self.states, self.slide, self.stick, self.given)

    @cached_property
    def determinate(self) -> bool:
        """Whether these contact states leave but one set of forces and accelerations."""
        return self.redundant == 0 or self._polytope.is_point(_ROUNDING * np.abs(self.x).max())

    @cached_property
    def others(self) -> list[ArraySolution]:
        """Solutions with other contact states, as far as other ways to one have found any.

        They are found by paths that start elsewhere and, under C2, by trial and error.
        """
        a, given = self.array, self.given
        found = [traced(a, self.slide, given, k) for k in range(_WAYS)]
        found.append(at_rest(a, self.stick, given))
        if not np.array_equal(self.slide, self.stick):
            for k in range(_WAYS):
                rng = np.random.default_rng(k)
                found.append(flip(a, self.slide, self.stick, given, rng, trials=500))
        different: list[ArraySolution] = []
        for x, states in filter(None, found):
            other = ArraySolution.checked(a, x, states, self.slide, self.stick, given)
            if len(other.lost) > len(self.lost):
                continue
            if all(not np.array_equal(other.states, s.states) for s in (self, *different)):
                different.append(other)
        size = _ROUNDING * np.abs(self.x).max()
        return [s for s in different if np.abs(s.x - self.x).max() > size]

    @cached_property
    def unique(self) -> bool:
        """Whether no other forces obey the law, as far as was found.

        The contact states leave one set, and other ways to a solution lead to the same. Of short
        arrays all states are searched; of longer ones `exhaustive_range` does so.
        """
        if not self.determinate or self.others:
            return False
        low, high = self.acceleration_range
        return high - low <= _SEARCHED

    def _range(self, rows: Any, constant: Floats | float = 0.0) -> Floats:
        """Least and greatest value of some linear functions of the unknowns (n, 2)."""
        shift = np.reshape(constant, (-1, 1))
        found = []
        for s in (self, *self.others):  # each solution is a member, whatever the rounding
            found += [(rows @ s.x)[:, None] + shift] * 2
            if not s.determinate:
                found.append(s._polytope.extremes(rows) + shift)
        low, high = np.min([f[:, 0] for f in found], 0), np.max([f[:, -1] for f in found], 0)
        if self.array.particles <= _SHORT and not self.lost:
            try:
                least, greatest = self._exhaustive(rows).T + shift.T
            except RunError:  # the tolerances of the search may hide a single solution
                least, greatest = low, high
            # The search is exact to `_SEARCHED` only.
            low = np.where(least < low - _SEARCHED, least, low)
            high = np.where(greatest > high + _SEARCHED, greatest, high)
        return np.stack([low, high], axis=1)

    @cached_property
    def acceleration_range(self) -> tuple[float, float]:
        """The least and the greatest v̇ of all solutions found."""
        low, high = self._range(self.array.unknown(self.array.at_v[:1]))[0]
        return float(low), float(high)

    def exhaustive_range(self) -> tuple[float, float]:
        """The least and the greatest v̇ over all contact states, by branch and bound, to 10⁻⁶.

        For arrays of some twenty disks at most: ten take a second, twenty a minute.
        """
        low, high = self._exhaustive(self.array.unknown(self.array.at_v[:1]))[0]
        return float(low), float(high)

    def _exhaustive(self, rows: Any) -> Floats:
        return all_states(self.array, self.slide, self.stick, self.given, rows)

    @cached_property
    def friction_range(self) -> tuple[float, float]:
        """The least and the greatest µ_g; the array's motion ties it to v̇."""
        low, high = self.acceleration_range
        a = self.array
        share = 1.0 + 2.0 * a.block_mass / a.particles
        return self.friction - share * (high - self.acceleration), self.friction + share * (
            self.acceleration - low
        )

    @cached_property
    def normal_range(self) -> Floats:
        """Least and greatest value of N_0 … N_L, shape (L + 1, 2)."""
        return self._range(self.array.normal[0::2], self.array.normal_0[0::2])

    @cached_property
    def normal_plane_range(self) -> Floats:
        """Least and greatest value of N'_1 … N'_L, shape (L, 2)."""
        return self._range(self.array.normal[1::2], self.array.normal_0[1::2])

    @cached_property
    def tangential_range(self) -> Floats:
        """Least and greatest value of T_0 … T_L, shape (L + 1, 2)."""
        return self._range(self.array.tangential[0::2])

    @cached_property
    def tangential_plane_range(self) -> Floats:
        """Least and greatest value of T'_1 … T'_L, shape (L, 2)."""
        return self._range(self.array.tangential[1::2])

    @cached_property
    def angular_acceleration_range(self) -> Floats:
        """Least and greatest value of ω̇ of each disk, shape (L, 2)."""
        return self._range(self.array.unknown(self.array.at_omega))
