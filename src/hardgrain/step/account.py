"""What is told of a step: energies, overlaps, forces on walls, and how fast it all is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.search import deforms
from hardgrain.contact.shapes import Shapes
from hardgrain.core.model import ContactRows, Floats
from hardgrain.cpu.ledger import (
    contact_work,
    kinetic_energy,
    largest_speed,
    load_work,
    overlaps,
)
from hardgrain.kernels import jit
from hardgrain.point.ledger import Means
from hardgrain.step.cell_kernel import account_cell, pace_in_cell
from hardgrain.step.loads import pace
from hardgrain.step.report import StepReport
from hardgrain.step.rest import rms_speed
from hardgrain.step.walls import wall_work

__all__ = ["MarchRows", "Moving", "Solved", "World", "account", "clear", "put"]


class World(NamedTuple):
    """All that stays as it is during a march."""

    shapes: Shapes
    inv_mass: Floats
    inv_inertia: Floats  # (nb, ns), or (nb, 6) written anew in each step, see `point.inertia`
    moments: Floats  # (nb, 3) principal moments, (0, 3) where all bodies are balls
    free: Floats  # (nb, ns) zero about axes that a body cannot turn about
    mass: Floats  # (n,) of grains
    pushed: np.ndarray  # (nb,) bodies that count in any case, see `step.rest`
    force: Floats  # (nb, dim) loads
    torque: Floats  # (nb, ns)
    laws: Floats
    farthest: Floats  # (nb,) see `step.numbers`
    dt: float
    remove_overlaps: bool
    afresh: bool  # impulses start from zero


class Moving(NamedTuple):
    """What a march changes in place."""

    position: Floats
    velocity: Floats
    spin: Floats
    orientation: Floats


class Solved(NamedTuple):
    """The solution of a step."""

    velocity: Floats  # (nb, dim)
    spin: Floats  # (nb, ns)
    rows: ContactRows  # with their impulses
    sweeps: int
    met: bool  # whether the solver's rule was met
    residual: float
    residual_rms: float


class MarchRows(NamedTuple):
    """Arrays that a march fills, a row for each step."""

    reports: Floats  # (steps, fields of StepReport)
    paces: Floats  # (steps, 2)
    wall_force: Floats  # (steps, w, dim)
    wall_torque: Floats  # (steps, w, ns)
    wall_work: Floats  # (steps, w)

    @classmethod
    def of(cls, steps: int, dim: int, walls: int, ns: int) -> MarchRows:
        """Room for so many steps of a scene with so many walls."""
        return cls(
            reports=np.empty((steps, len(StepReport._fields))),
            paces=np.empty((steps, 2)),
            wall_force=np.empty((steps, walls, dim)),
            wall_torque=np.empty((steps, walls, ns)),
            wall_work=np.empty((steps, walls)),
        )


@jit
def midway(a, b):
    """Mean of two arrays."""
    mean = np.empty(a.shape)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            mean[i, k] = 0.5 * (a[i, k] + b[i, k])
    return mean


@jit
def clear(target):
    """Set an array to zero."""
    for i in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[i, k] = 0.0


@jit
def put(target, source, factor):
    """Write an array times a factor into another one."""
    for i in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[i, k] = factor * source[i, k]


# Columns of a report: the fields of `StepReport`, in their order.
(
    STEP, TIME, SWEEPS, CONVERGED, RESIDUAL, RESIDUAL_RMS, CANDIDATES, LOADED, WORST_OVERLAP,
    MEAN_OVERLAP, FASTEST, KINETIC, WORK_EXTERNAL, WORK_DRIVEN, DISSIPATED, CREATED, ELASTIC,
    SETTLED, SPEED, DEEPEST,
) = range(20)  # fmt: skip


@jit
def account(world, moving, free, solved, borne, outcome, s, step):
    """Fill row s of the outcome with the figures of a step; return whether they are numbers.

    free: velocities and spins that the loads alone would give; borne: the contacts once more, with
    walls in place of what is glued to them; step: number of steps before.
    """
    free_v, free_w, v, w, rows = free[0], free[1], solved.velocity, solved.spin, solved.rows
    dt, inv_mass, inv_inertia = world.dt, world.inv_mass, world.inv_inertia
    mean_v, mean_w = midway(moving.velocity, v), midway(moving.spin, w)
    wall_force, wall_torque = outcome.wall_force[s], outcome.wall_torque[s]
    clear(wall_force)
    clear(wall_torque)
    means = Means(mean_v, mean_w, midway(free_v, v), midway(free_w, w), inv_mass, inv_inertia)
    dissipated, driven, taken = contact_work(borne, means, wall_force, wall_torque)
    put(wall_force, wall_force, 1.0 / dt)
    put(wall_torque, wall_torque, 1.0 / dt)
    kinetic = kinetic_energy(v, w, inv_mass, inv_inertia)
    if not math.isfinite(kinetic + solved.residual):
        return False
    work = load_work(world.force, world.torque, mean_v, mean_w, inv_mass, inv_inertia)
    worst, deepest, mean, loaded = overlaps(rows)
    work_of = wall_work(mean_v, v, w, inv_mass, wall_force, wall_torque, dt)
    if deforms(world.shapes):
        more = account_cell(rows, means, world.mass.size, dt, wall_force, wall_torque, work_of)
        dissipated, driven, taken = dissipated + more[0], driven + more[1], taken + more[2]
        size = math.sqrt((world.shapes.periodic[: v.shape[1]] ** 2).sum())
        outcome.paces[s, 0], outcome.paces[s, 1] = pace_in_cell(
            (moving.velocity, moving.spin), free, moving.position, world.shapes.radius,
            (inv_mass, inv_inertia), size,
        )  # fmt: skip
    else:
        outcome.paces[s, 0], outcome.paces[s, 1] = pace(
            moving.velocity, free_v, moving.spin, free_w, moving.position, world.shapes.radius,
            inv_mass, inv_inertia,
        )  # fmt: skip
    for k in range(work_of.size):
        outcome.wall_work[s, k] = work_of[k]
    r = outcome.reports[s]
    r[STEP], r[TIME], r[SWEEPS], r[CONVERGED] = step + 1, (step + 1) * dt, solved.sweeps, solved.met
    r[RESIDUAL], r[RESIDUAL_RMS] = solved.residual, solved.residual_rms
    r[CANDIDATES], r[LOADED] = rows.first.size, loaded
    r[WORST_OVERLAP], r[MEAN_OVERLAP], r[DEEPEST] = worst, mean, deepest
    r[FASTEST], r[KINETIC] = largest_speed(v, world.mass.size), kinetic
    r[WORK_EXTERNAL], r[WORK_DRIVEN] = dt * work, driven
    r[DISSIPATED], r[CREATED] = dissipated, max(-taken, 0.0)
    r[ELASTIC], r[SETTLED] = 0.0, 1.0  # rigid, with the geometry at the start of the step
    r[SPEED] = rms_speed(rows, v, w, inv_mass, inv_inertia, world.mass, world.pushed, kinetic)
    return True
