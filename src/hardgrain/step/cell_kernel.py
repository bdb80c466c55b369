"""What a step of rigid grains asks of a cell that deforms, compiled; see `step.cell_loads`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.pairs import carry, place_walls
from hardgrain.core.model import Floats
from hardgrain.cpu.cell import gradient, matrix, put_numbers, reduce_tilts
from hardgrain.kernels import jit
from hardgrain.step.loads import pace

__all__ = [
    "InCell",
    "account_cell",
    "begin_step",
    "deform",
    "is_lost",
    "load_cell",
    "on_cell",
    "pace_in_cell",
    "stay_straight",
]  # fmt: skip


# [1] Strain that a cell may get in a step. If it is sheared by more than half a period, nobody can
# tell which image of a grain is the one that was near before the step, or turned the cell over.
FARTHEST = 0.5


class InCell(NamedTuple):
    """The cell in a march, what it is pressed with, and the pair list as it was made."""

    form: Floats  # (dim (dim + 1) / 2,) its numbers with all of its tilt, changed in each step
    force: Floats  # (nb, dim) loads besides those of the cell
    stress: Floats  # (dim (dim + 1) / 2,) that is put on it, zero where its rate is given
    between: np.ndarray  # (k, 3) wall, wall and axis, along each axis that is not periodic
    made: tuple[Floats, Floats]  # origins and safeties of the list, see `contact.pairs.carry`
    then: Floats  # (dim, dim) matrix of the cell when it was made
    least: float  # length of a cell in which no grain meets two images of another


@jit
def begin_step(cell, world, listed, moving):
    """Take the cell as it is now: its tilts, the pair list, and the loads in it."""
    shapes = world.shapes
    reduce_tilts(cell.form, shapes.periodic)
    carry(listed, cell.made, shapes.radius, cell.then, cell.form)
    point = place_walls(
        moving.position, moving.orientation, shapes.wall_offset, shapes.wall_axis, shapes.wall_side
    )[0]
    load_cell(cell, (moving.velocity, moving.spin), world.mass, point, world.force, world.torque)


@jit
def load_cell(cell, motion, mass, point, force, torque):
    """Write the loads on all grains and on the cell.

    motion: velocities and spins of all bodies; mass: (n,); point: (w, dim) where walls are.
    """
    velocity, spin = motion
    last, dim = velocity.shape[0] - 1, velocity.shape[1]
    rate, kinetic, load = gradient(velocity, spin), np.zeros((dim, dim)), np.empty(cell.form.size)
    for i in range(mass.size):
        for a in range(dim):
            drag = 0.0
            for b in range(a, dim):
                drag += rate[a, b] * velocity[i, b]
                kinetic[a, b] += mass[i] * velocity[i, a] * velocity[i, b]
            force[i, a] = cell.force[i, a] - mass[i] * drag
    volume = 1.0
    for a in range(dim):
        if cell.form[a] > 0.0:
            volume *= cell.form[a]
    for k in range(cell.between.shape[0]):
        low, high, axis = cell.between[k, 0], cell.between[k, 1], cell.between[k, 2]
        volume *= abs(point[high, axis] - point[low, axis])
    pressed = matrix(cell.stress)
    for a in range(dim):
        for b in range(a, dim):
            kinetic[a, b] -= volume * pressed[a, b]
    put_numbers(kinetic, load)
    for a in range(dim):
        force[last, a] = load[a]
    for a in range(torque.shape[1]):
        torque[last, a] = load[dim + a]


# A place is changed component by component from the first, and L x of each takes later ones alone.
@jit
def deform(position, form, velocity, spin, n, dt):
    """Carry n grains, not yet moved, along with the cell: x ← x + dt L x, and h ← h + dt L h."""
    rate, h = gradient(velocity, spin), matrix(form)
    dim = rate.shape[0]
    for i in range(n):
        for a in range(dim):
            for b in range(a, dim):
                position[i, a] += dt * rate[a, b] * position[i, b]
    for a in range(dim):
        for b in range(a, dim):
            grown = 0.0
            for c in range(a, b + 1):
                grown += rate[a, c] * h[c, b]
            h[a, b] += dt * grown
    put_numbers(h, form)


@jit
def stay_straight(orientation):
    """Undo what the spin of the cell, which is none, did to the orientation that it has not."""
    last, ns = orientation.shape[0] - 1, orientation.shape[1]
    for a in range(ns):
        orientation[last, a] = 1.0 if a == 3 else 0.0


@jit
def is_lost(cell, velocity, spin, dt):
    """Whether the cell is too small after a step, or was strained too far in it."""
    dim, last, lost = velocity.shape[1], velocity.shape[0] - 1, False
    for a in range(dim):
        lost |= cell.form[a] != 0.0 and not cell.form[a] >= cell.least
        lost |= not abs(velocity[last, a]) * dt <= FARTHEST
    for a in range(spin.shape[1]):
        lost |= not abs(spin[last, a]) * dt <= FARTHEST
    return lost


@jit
def on_cell(rows, n):
    """Σ P ⊗ l of the contacts among n grains, (dim (dim + 1) / 2,) in the order of Voigt."""
    dim = rows.normal.shape[1]
    total, numbers = np.zeros((dim, dim)), np.empty(dim * (dim + 1) // 2)
    for k in range(rows.first.size):
        if rows.second[k] >= n:
            continue
        for b in range(dim):
            line = rows.arm_first[k, b] - rows.arm_second[k, b] + rows.gap[k] * rows.normal[k, b]
            for a in range(b + 1):
                total[a, b] += rows.impulse[k, a] * line
    put_numbers(total, numbers)
    return numbers


@jit
def account_cell(rows, means, n, dt, force, torque, work):
    """What the contacts do to the cell, the last body and wall, in a step.

    Writes its force, torque and work, and returns what it adds to the energy that contacts
    dissipate, to the work of what is driven, and to what contacts take from the free motion.
    """
    push, dim, wall, last = on_cell(rows, n), force.shape[1], work.size - 1, n + work.size - 1
    done, driven, taken = 0.0, 0.0, 0.0
    for c in range(push.size):
        if c < dim:
            mean, kicked = means.velocity[last, c], means.velocity_kick[last, c]
            inverse = means.inv_mass[last, c]
            force[wall, c] = push[c] / dt
        else:
            mean, kicked = means.spin[last, c - dim], means.spin_kick[last, c - dim]
            inverse = means.inv_inertia[last, c - dim]
            torque[wall, c - dim] = push[c] / dt
        done, taken = done - push[c] * mean, taken - push[c] * kicked
        driven -= push[c] * mean if inverse == 0.0 else 0.0
    work[wall] = done
    return done, driven, taken


@jit
def pace_in_cell(before, free, position, radius, inverse, size):
    """What makes the grains fast, as `Pace` has it; the cell counts as it is at its farthest.

    before, free: velocities and spins before the step, and those without contacts; inverse: masses
    and inertias; size: of the cell.
    """
    last = position.shape[0] - 1
    loads, driven = pace(
        before[0][:last], free[0][:last], before[1][:last], free[1][:last], position[:last], radius,
        inverse[0][:last], inverse[1][:last],
    )  # fmt: skip
    pulled, given = 0.0, 0.0
    for old, new, of in (
        (before[0][last], free[0][last], inverse[0][last]),
        (before[1][last], free[1][last], inverse[1][last]),
    ):
        for a in range(old.size):
            pulled += (new[a] - old[a]) ** 2
            given += old[a] ** 2 if of[a] == 0.0 else 0.0
    return loads + size * math.sqrt(pulled), driven + size * math.sqrt(given)
