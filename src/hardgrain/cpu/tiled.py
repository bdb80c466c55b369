"""One step's contacts relaxed tile by tile: pack, sweep, judge, unpack; see `cpu.tile_sweeps`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.cpu.packing import LAYOUTS
from hardgrain.cpu.relaxation import ROUNDING
from hardgrain.cpu.sweep import change_blocks, met, next_check
from hardgrain.cpu.tile_packing import (
    count_ghosts,
    fill,
    ghostly_bodies,
    give_impulses,
    heavy_problem,
    packing_room,
    read_out,
    true_masses,
)
from hardgrain.cpu.tile_sweeps import (
    Orders,
    colour_orders,
    fastest,
    residual_in_tiles,
    sweep_tiles,
)
from hardgrain.cpu.tiles import plan_tiles, with_copies
from hardgrain.point.stopping import GLOBAL, LOCAL, SWEEPS, Until

__all__ = ["relaxed_in_tiles"]

STRETCH = 1000  # sweeps at a time, at most, which bounds the memory of their orders of colours


class Relaxing:
    """One step's contacts, while they are relaxed tile by tile."""

    def __init__(self, key: tuple[bool, int], given: Any, how: Any, tiling: Any) -> None:
        layout = LAYOUTS[key]
        self.given, self.until = given, how.until
        position, shared, cells = tiling
        plan, first, second = plan_tiles(given, cells, position, shared)
        copied = with_copies(given, plan, first, second)
        m = given.rows.first.size
        self.plan = plan
        rows, motion, laws, dt, remove_overlaps = copied
        turning = ghostly_bodies(motion)
        ghosts, self.paths = count_ghosts(plan, rows.second, rows.width, turning, dt)
        self.packed = packing_room(layout, m, len(motion.velocity), int(ghosts[-1]))
        how_far = dt, remove_overlaps
        fill(self.packed, plan, rows, motion, laws, how_far, turning, ghosts)
        self.sums = np.zeros((plan.body.size, 6))
        self.heavy = heavy_problem(layout, self.packed, plan, given, self.paths)
        self.light = np.zeros(0, np.bool_)
        if plan.heavy.size:
            self.light = np.ones(m, np.bool_)
            self.light[plan.heavy] = False
        give_impulses(self.packed, plan, self.sums)
        hidden = ROUNDING * fastest(given.rows, given.motion)
        self.unseen, self.visits = hidden * hidden, how.visits
        self.contacts = np.arange(m, dtype=np.uint32)

    def sweep(self, done: int, more: int) -> None:
        """Some more sweeps, after so many."""
        import numba

        threads = numba.get_num_threads()
        while more > 0:
            now = min(more, STRETCH)
            colours, rank = colour_orders(self.visits, done, now, self.plan.colours)
            orders = Orders(self.visits.seed, self.visits.step, done, colours, rank, self.contacts)
            sweep_tiles(self.packed, self.plan, orders, self.sums, threads)
            done, more = done + now, more - now

    def residual(self) -> tuple[float, float]:
        """Residual and residual_rms, with the true masses of all bodies."""
        some, own, path = self.heavy
        true = true_masses(some, own, self.packed, self.plan, self.given)
        worst, rms = residual_in_tiles(self.packed, true, path, self.light, self.unseen, self.paths)
        return worst, rms

    def relax(self) -> tuple[int, bool]:
        """Sweep until the rule is met; returns (sweeps done, rule met)."""
        until: Until = self.until._replace(unseen=self.unseen)
        if until.rule == SWEEPS:
            self.sweep(0, until.sweeps)
            return until.sweeps, True
        watch = until.rule in (LOCAL, GLOBAL)
        before, total, done = np.zeros((self.paths.size if watch else 0, 7)), 0.0, 0
        if watch:
            _, total = change_blocks(self.packed, before, until)
        while done < until.sweeps:
            ahead = 1 if watch or done == 0 else next_check.py_func(done)
            now = min(ahead if watch else ahead - done, until.sweeps - done)
            self.sweep(done, now)
            done += now
            if watch:
                last = total
                broken, total = change_blocks(self.packed, before, until)
                if met.py_func(until, broken, total, last):
                    return done, True
            elif self.residual()[0] <= until.tolerance:
                return done, True
        return done, False


def relaxed_in_tiles(key: tuple[bool, int], given: Any, how: Any, tiling: Any) -> tuple[Any, ...]:
    """Velocities, spins, impulses and torques; sweeps, whether the rule was met, residuals.

    key: of `packing.LAYOUTS`; how: a `Sweeping`; tiling: places of bodies (nb, dim), which are
    shared (nb,), and how space is cut.
    """
    rows, motion = given.rows, given.motion
    velocity, spin = motion.velocity.copy(), motion.spin.copy()
    m = rows.first.size
    impulse, torque = np.empty((m, velocity.shape[1])), np.zeros((m, spin.shape[1]))
    if m == 0:
        return velocity, spin, impulse, torque, 0, True, 0.0, 0.0
    step = Relaxing(key, given, how, tiling)
    sweeps, rule = step.relax()
    worst, rms = step.residual()
    read_out(step.packed, step.plan, velocity, spin, impulse, torque)
    return velocity, spin, impulse, torque, sweeps, rule, worst, rms
