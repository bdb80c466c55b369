"""An array of disks on a plane between two blocks: its equations while all contacts stay closed.

Disks of unit mass, radius and weight, numbered 1 … L against the motion, which is towards +x; the
braking block touches disk 1, the driving block disk L (Radjai et al. 1997, Fig. 1). ω > 0 rolls
forward. Contact i is between disks i and i + 1, 0 and L are those with the blocks; a prime means
the plane. For each disk

    I ω̇_i = T'_i − T_i − T_{i−1},   v̇_i = N_i − N_{i−1} − T'_i,   N'_i = 1 + T_i − T_{i−1},

with slips u_i = ω_i + ω_{i+1} (blocks do not rotate) and u'_i = v − ω_i: friction that resists a
slip u > 0 has T > 0. Contacts stay closed: v̇_i = v̇_{i+1}. Blocks of mass m_b take their share:
N_0 = brake + m_b v̇, N_L = drive − m_b v̇.

Coulomb's law in the dynamic sense, (1) of the paper, is one more equation for each of the 2 L + 1
contacts, and its state says which: T = ±µ N where it slides, u̇ = 0 where it sticks. With unknowns
and equations in the order of the array the matrix has three diagonals on either side of the main
one, so LAPACK solves it in a time proportional to L.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dgbsv
from scipy.sparse import csr_array

from hardgrain.errors import InputError, RunError

__all__ = ["HELD", "STICKS", "Array", "Floats", "States", "Undetermined", "not_negative"]

Floats = NDArray[np.float64]
States = NDArray[np.int8]

# The states of a contact; besides these, +1 and −1 mean that it slides with T = ±µ N.
STICKS = 0
HELD = 2  # it would open, but is kept closed by a pull N < 0 and bears no friction

_BAND = 3  # number of diagonals above the main one, and below it


class Array:
    """The equations of one array; contacts are in the order 0, 1', 1, 2', 2, …, L', L."""

    def __init__(
        self,
        particles: int,
        drive: float,
        brake: float,
        *,
        inertia: float = 0.5,
        block_mass: float = 0.0,
    ) -> None:
        if isinstance(particles, bool) or not isinstance(particles, int | np.integer):
            raise InputError(f"particles is {particles!r}; it must be a whole number")
        if particles < 1:
            raise InputError(f"particles is {particles}; at least 1 is needed")
        self.particles = n = int(particles)
        self.drive = not_negative("drive", drive)
        self.brake = not_negative("brake", brake)
        self.inertia = not_negative("inertia", inertia)
        if self.inertia == 0.0:
            raise InputError("inertia is 0; it must be above 0")
        self.block_mass = not_negative("block_mass", block_mass)
        self.contacts = 2 * n + 1

        # Unknowns: T_0, then v̇, ω̇, T', N, T of each disk. Equations: for each disk its contact
        # i − 1, x, its contact with the plane, rotation, the link to the next; then contact L.
        first = 5 * np.arange(n)
        self.size = 5 * n + 1
        self.at_v, self.at_omega = first + 1, first + 2
        self.at_tangential = np.empty(self.contacts, dtype=np.intp)
        self.at_tangential[0::2], self.at_tangential[1::2] = 5 * np.arange(n + 1), first + 3
        self.line = np.empty(self.contacts, dtype=np.intp)  # the equation of each contact
        self.line[0::2], self.line[1::2] = 5 * np.arange(n + 1), first + 2
        self.motion = np.ones(self.size, dtype=bool)  # the others, the equations of motion
        self.motion[self.line] = False
        self._maps(first)
        self._dynamics(first)

    def _maps(self, first: NDArray[np.intp]) -> None:
        """Make the maps N = normal x + normal_0 and u̇ = slip x of all contacts."""
        side, plane = np.arange(0, self.contacts, 2), np.arange(1, self.contacts, 2)
        shape = (self.contacts, self.size)
        self.normal = _sparse(shape, [
            (side[1:], first + 4, 1.0), (side[:1], self.at_v[:1], self.block_mass),
            (plane, first + 5, 1.0), (plane, first, -1.0),
        ])  # fmt: skip
        self.normal_0 = np.zeros(self.contacts)
        self.normal_0[plane] = 1.0
        self.normal_0[0] = self.brake
        self.slip = _sparse(shape, [
            (side[:-1], self.at_omega, 1.0), (side[1:], self.at_omega, 1.0),
            (plane, self.at_v, 1.0), (plane, self.at_omega, -1.0),
        ])  # fmt: skip
        # All entries of the contacts' equations: the contact, the column, and its
        # coefficients in T, N and u̇.
        self.tangential = self.unknown(self.at_tangential)
        maps = (self.tangential, self.normal, self.slip)
        either = sum(abs(m) for m in maps).tocoo()
        self._contact, column = either.row, either.col
        self._in_t, self._in_n, self._in_a = (m.toarray()[self._contact, column] for m in maps)
        self._place = (2 * _BAND + self.line[self._contact] - column, column)

    def _dynamics(self, first: NDArray[np.intp]) -> None:
        """The equations of motion, and their right side."""
        x, rotation, link = first + 1, first + 3, first + 4
        self.dynamics = _sparse((self.size, self.size), [
            (x, first + 1, 1.0), (x, first + 3, 1.0), (x, first + 4, -1.0),  # v̇ + T' − N_i
            (x[1:], first[1:] - 1, 1.0), (x[:1], self.at_v[:1], self.block_mass),  # + N_{i−1} = 0
            (rotation, first + 2, self.inertia), (rotation, first + 3, -1.0),  # I ω̇ − T'
            (rotation, first + 5, 1.0), (rotation, first, 1.0),  # + T_i + T_{i−1} = 0
            (link[:-1], self.at_v[:-1], 1.0), (link[:-1], self.at_v[1:], -1.0),  # v̇_i = v̇_{i+1}
            (link[-1:], first[-1:] + 4, 1.0), (link[-1:], self.at_v[-1:], self.block_mass),
        ])  # fmt: skip
        self.right = np.zeros(self.size)
        self.right[1] = -self.brake
        self.at_drive = int(link[-1])  # N_L + m_b v̇ = drive
        self.right[self.at_drive] = self.drive
        entries = self.dynamics.tocoo()
        self._band = np.zeros((3 * _BAND + 1, self.size), order="F")
        self._band[2 * _BAND + entries.row - entries.col, entries.col] = entries.data

    def coefficients(
        self, mu: ArrayLike, mu_plane: ArrayLike, mu_block: ArrayLike, kind: str = ""
    ) -> Floats:
        """Coefficients of all contacts (2 L + 1,), from a number or an array for each kind.

        ``kind`` is the end of their names in a message about wrong ones.
        """
        every = np.empty(self.contacts)
        every[[0, -1]] = _many(f"mu_block{kind}", mu_block, 2)
        every[1::2] = _many(f"mu_plane{kind}", mu_plane, self.particles)
        every[2:-1:2] = _many(f"mu{kind}", mu, self.particles - 1)
        return every

    def name(self, contact: int) -> str:
        """The name of a contact for a reader: what it is between."""
        i = int(contact) // 2
        if contact % 2:
            return f"disk {i + 1} and the plane"
        if i == 0:
            return "disk 1 and the braking block"
        if i == self.particles:
            return f"disk {i} and the driving block"
        return f"disks {i} and {i + 1}"

    def slips(self, omega: Floats, v: float) -> Floats:
        """The slips u of all contacts at these velocities, shape (2 L + 1,)."""
        x = np.zeros(self.size)
        x[self.at_omega], x[self.at_v] = omega, v
        u: Floats = self.slip @ x
        return u

    def unknown(self, columns: NDArray[np.intp]) -> csr_array:
        """The matrix that picks unknowns (n, 5 L + 1)."""
        return _sparse((columns.size, self.size), [(np.arange(columns.size), columns, 1.0)])

    def solve(
        self, states: States, mu: Floats, push: Floats | None = None, load: float = 0.0
    ) -> Floats:
        """The unknowns if every contact is in the given state (5 L + 1, 2).

        The second column is how they change with a parameter that makes sticking contacts slip at
        the rate −``push`` and adds ``load`` to the driving force. RunError if there is no one
        solution.
        """
        sticks = states == STICKS
        pressed = np.where(np.abs(states) == 1, states * mu, 0.0)
        c = self._contact
        band = self._band.copy(order="F")
        band[self._place] = np.where(sticks[c], self._in_a, self._in_t - pressed[c] * self._in_n)
        right = np.zeros((self.size, 2), order="F")
        right[:, 0] = self.right
        right[self.line, 0] = pressed * self.normal_0
        if push is not None:
            right[self.line, 1] = np.where(sticks, -push, 0.0)
        right[self.at_drive, 1] = load
        _, _, x, info = dgbsv(_BAND, _BAND, band, right, overwrite_ab=1, overwrite_b=1)
        if info != 0 or not np.isfinite(x).all():
            raise Undetermined("these contact states leave the forces undetermined")
        unknowns: Floats = x
        return unknowns


class Undetermined(RunError):
    """The equations of a set of contact states are singular."""


def _sparse(shape: tuple[int, int], parts: list[tuple[Any, Any, float]]) -> csr_array:
    rows = np.concatenate([np.atleast_1d(r) for r, _, _ in parts])
    columns = np.concatenate([np.atleast_1d(c) for _, c, _ in parts])
    data = np.concatenate([np.full(np.size(r), value) for r, _, value in parts])
    return csr_array((data, (rows, columns)), shape=shape)


def not_negative(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; it must be a number") from None
    if not (math.isfinite(number) and number >= 0.0):
        raise InputError(f"{name} is {number:g}; it must be a number from 0 up")
    return number


def _many(name: str, value: ArrayLike, count: int) -> Floats:
    """An array of ``count`` numbers, not negative, from one for all or one for each."""
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=float), (count,))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; give a number, or {count} of them") from None
    bad = numbers[~(np.isfinite(numbers) & (numbers >= 0.0))]
    if bad.size:
        raise InputError(f"{name} has {bad[0]:g}; coefficients of friction are numbers from 0 up")
    return numbers
