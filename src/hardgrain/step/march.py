"""Many steps in one compiled call; each is the step of the review.

    free      v* = v + dt F/m
    detect    contacts that may close (`contact.search`)
    solve     impulses by sweeps (`cpu.relaxation`), once more if they close another pair
    account   the energy ledger, overlaps, forces on walls (`step.account`)
    move      x ← x + dt v, and turn freely

A step is made whole or not at all: a march ends *before* a step whose pair list is stale, so that
the list can be made anew, and before one that gives no numbers. It ends *after* a step as
`step.pause` says. Where it ends changes no bit of the trajectory.
"""

from __future__ import annotations

import math
import platform
from typing import NamedTuple

import numpy as np

from hardgrain.addresses import Address, address_of, by_address
from hardgrain.contact.search import Found, Place, find, overlooked
from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.inertia import inverses_in_space, kicked, rotate, turn
from hardgrain.cpu.relaxation import RELAXED, RELAXED_IN_CELL
from hardgrain.kernels import inlined, intrinsic, jit, scalar, types
from hardgrain.point.cell import GivenInCell
from hardgrain.point.given import Given, Motion
from hardgrain.point.sweeping import Sweeping
from hardgrain.step.account import (
    CANDIDATES,
    LOADED,
    SPEED,
    SWEEPS,
    Solved,
    World,
    account,
    clear,
    put,
)
from hardgrain.step.cell_kernel import begin_step, deform, is_lost, stay_straight
from hardgrain.step.loads import move
from hardgrain.step.numbers import first_unfit
from hardgrain.step.pause import look_due

__all__ = [
    "LOST", "PAUSED", "PHASES", "ROUNDS", "STALE", "UNFIT", "WRONG", "Course", "Kernels", "Told",
    "march",
]  # fmt: skip

# A step is solved this often at most to include pairs that its own impulses close; a second time is
# rare. The n-th round looks 2ⁿ grains ahead, so that a push reaches a hundred within one step.
ROUNDS = 7

PAUSED, STALE, WRONG, UNFIT, LOST = range(5)  # why a march ended
PHASES = ("detect", "solve", "account", "move")
DETECT, SOLVE, ACCOUNT, MOVE = range(4)

# Other processors may forbid programs to read their clock, which would end the process.
CLOCK = platform.machine().lower() in ("x86_64", "amd64")

find_at, overlooked_at = by_address(find), by_address(overlooked)
relaxed_at = by_address(*RELAXED.values())  # of the kind that the address is for
relaxed_in_cell_at = by_address(*RELAXED_IN_CELL.values())
account_at = by_address(account)
inverses_at, rotate_at = by_address(inverses_in_space), by_address(rotate)
due = scalar(look_due)


class Kernels(NamedTuple):
    """Where the compiled code of the phases lies; each is compiled once, on its own."""

    find: Address
    overlooked: Address
    relaxed: Address
    account: Address
    inverses: Address  # none where all bodies are balls
    rotate: Address

    @classmethod
    def like(cls, kind, world, listed, how, moving, last, outcome, cell):
        """The kernels of a march with arguments like these; `kind` is one that `RELAXED` knows."""
        rows, feature = last
        x, turned, v, w = moving.position, moving.orientation, moving.velocity, moving.spin
        shapes, place = world.shapes, Place(x, turned, w, v, world.dt)
        points = np.zeros((shapes.wall_kind.size, x.shape[1]))
        walls = Walls(shapes.wall_kind, points, points, shapes.wall_size, points)
        found = Found(False, np.zeros(len(x)), rows, feature, walls, shapes.wall_size)
        motion = Motion(v, w, v, w, world.inv_mass, world.inv_inertia)
        given = Given(rows, motion, world.laws, world.dt, world.remove_overlaps)
        relaxed = RELAXED
        if cell is not None:
            relaxed = RELAXED_IN_CELL
            given = GivenInCell(*given, shapes.radius.size, x, shapes.periodic)
        return cls(
            address_of(find, shapes, listed, place, rows, feature),
            address_of(overlooked, shapes, listed, place, found, 0),
            address_of(relaxed[kind], given, how, 0),
            address_of(
                account, world, moving, (v, w), Solved(v, w, rows, 0, True, 0.0, 0.0),
                rows, outcome, 0, 0,
            ),
            *cls._turning(world, turned, w),
        )  # fmt: skip

    @staticmethod
    def _turning(world, orientation, spin):
        """The two kernels that turn bodies that are no balls, or none where all are."""
        if not len(world.moments):
            return Address(0, 0), Address(0, 0)
        moments, free = world.moments, world.free
        return (
            address_of(inverses_in_space, orientation, moments, free, world.inv_inertia),
            address_of(rotate, orientation, spin, moments, free, 0.0),
        )


class Course(NamedTuple):
    """All that a march follows and leaves as it is."""

    kernels: Kernels
    world: World
    how: Sweeping


class Told(NamedTuple):
    """What a march tells besides its outcome."""

    wrong: Floats  # (nb, dim) velocities of a step that gave no numbers
    reach: Floats  # (nb,) that the pair list has no room for
    clock: Floats  # (4,) ticks of the processor that each of PHASES took

    def parts(self) -> dict[str, float]:
        """How the time is shared among phases; all is the solver's where no clock can be read."""
        return dict(zip(PHASES, self.clock.tolist())) if self.clock.any() else {"solve": 1.0}


@intrinsic
def ticks(typing_context):
    """The processor's own clock; it only serves to share a measured time among phases."""
    from llvmlite import ir

    def code(context, builder, signature, args):
        if not CLOCK:
            return ir.IntType(64)(0)
        clock = builder.module.declare_intrinsic(
            "llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), [])
        )
        return builder.call(clock, [])

    return types.int64(), code


@jit
def lap(clock, phase, began):
    """Add the time since ``began`` to a phase, and return the time now."""
    now = ticks()
    clock[phase] += now - began
    return now


@inlined
def solve(course, cell, listed, step, moving, free, found, clock):
    """Contacts with their impulses, and the motion that they give.

    Solved again, from the impulses found, if they would close a pair that was no candidate.
    """
    kernels, world, how = course
    sweeps, began = 0, ticks()
    motion = Motion(
        free[0], free[1], moving.velocity, moving.spin, world.inv_mass, world.inv_inertia
    )
    for n in range(ROUNDS):
        rows = found.rows
        if world.afresh:
            clear(rows.impulse)
            clear(rows.torque)
        asked = rows, motion, world.laws, world.dt, world.remove_overlaps
        if cell is None:
            v, w, impulse, torque, more, met, residual, rms = relaxed_at(
                kernels.relaxed, (Given(*asked), how, step)
            )
        else:
            within = world.shapes.radius.size, moving.position, world.shapes.periodic
            v, w, impulse, torque, more, met, residual, rms = relaxed_in_cell_at(
                kernels.relaxed, (GivenInCell(*asked, *within), how, step)
            )
        put(rows.impulse, impulse, 1.0)
        put(rows.torque, torque, 1.0)
        sweeps += more
        began = lap(clock, SOLVE, began)
        if n == ROUNDS - 1 or not math.isfinite(residual):
            break
        place = Place(moving.position, moving.orientation, w, v, world.dt)
        closes, again = overlooked_at(
            kernels.overlooked, (world.shapes, listed, place, found, 2**n - 1)
        )
        began = lap(clock, DETECT, began)
        if not closes and not again.stale:
            break
        found = again
        if found.stale:
            break
    return Solved(v, w, rows, sweeps, met, residual, rms), found


@jit
def note_reach(told, reach):
    """Tell which reach the pair list has no room for."""
    for i in range(reach.size):
        told.reach[i] = reach[i]
    return STALE


@jit
def march(course, cell, listed, pause, step, moving, last, tells):
    """Make steps in place until there is a reason to pause.

    cell: an `InCell`, or None where it does not deform; step: number of steps made before; last:
    rows and features of the contacts of the last one; tells: what is told of each step, and
    `Told`. Returns the number of steps made, why they ended, and the last contacts.
    """
    kernels, world = course.kernels, course.world
    outcome, told = tells
    since, rested, work, clock = pause.look.since, pause.rested, 0.0, told.clock
    rows, feature = last
    uneven = world.moments.shape[0] > 0
    why, done = np.int64(PAUSED), np.int64(0)
    while done < pause.steps and why == PAUSED:
        began = ticks()
        if cell is not None:
            begin_step(cell, world, listed, moving)
        if uneven:
            args = (moving.orientation, world.moments, world.free, world.inv_inertia)
            inverses_at(kernels.inverses, args)
        free = (
            kicked(moving.velocity, world.inv_mass, world.force, world.dt),
            kicked(moving.spin, world.inv_inertia, world.torque, world.dt),
        )
        place = Place(moving.position, moving.orientation, free[1], free[0], world.dt)
        found = find_at(kernels.find, (world.shapes, listed, place, rows, feature))
        lap(clock, DETECT, began)
        if found.stale:
            why = note_reach(told, found.reach)
            break
        solved, found = solve(course, cell, listed, step + done, moving, free, found, clock)
        if found.stale:
            why = note_reach(told, found.reach)
            break
        began, v, w = ticks(), solved.velocity, solved.spin
        seen = world, moving, free, solved, solved.rows
        if not account_at(kernels.account, (*seen, outcome, done, step + done)):
            put(told.wrong, v, 1.0)
            why = WRONG
            break
        began = lap(clock, ACCOUNT, began)
        put(moving.velocity, v, 1.0)
        put(moving.spin, w, 1.0)
        if cell is not None:
            deform(moving.position, cell.form, v, w, world.mass.size, world.dt)
        move(moving.position, v, world.dt)
        if uneven:
            turning = moving.orientation, moving.spin, world.moments, world.free, world.dt
            rotate_at(kernels.rotate, turning)
        else:
            turn(moving.orientation, w, world.dt)
        if cell is not None:
            stay_straight(moving.orientation)
            why = LOST if is_lost(cell, v, w, world.dt) else why
        if first_unfit(moving.position, v, moving.spin, moving.orientation, world.farthest) >= 0:
            why = UNFIT
        lap(clock, MOVE, began)
        rows, feature = found.rows, found.feature
        report = outcome.reports[done]
        done += 1
        sweeps, candidates = report[SWEEPS], report[CANDIDATES]
        loaded, speed = report[LOADED], report[SPEED]
        work += sweeps * candidates
        since += sweeps * candidates + pause.look.step
        rested = rested + 1 if speed < pause.rest_speed else 0
        if work >= pause.work or due(pause.look, since, candidates, loaded):
            break
        if pause.rest_speed > 0.0 and rested >= pause.rest_steps:
            break
        if pause.strict and not solved.met:
            break
    return done, why, rows, feature
