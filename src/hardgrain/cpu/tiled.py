"""One step's contacts relaxed tile by tile: pack, sweep, judge, unpack; see `cpu.tile_sweeps`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.cpu.exact import rounded_all
from hardgrain.cpu.ledger_blocks import pieces
from hardgrain.cpu.packing import LAYOUTS
from hardgrain.cpu.relaxation import ROUNDING
from hardgrain.cpu.sweep import met, next_check
from hardgrain.cpu.tile_packing import (
    count_ghosts,
    fill,
    fill_levers,
    ghostly_bodies,
    give_impulses,
    give_rest,
    heavy_problem,
    join_copies,
    packing_room,
    read_out,
    true_masses,
)
from hardgrain.cpu.tile_sweeps import (
    Orders,
    change_in_tiles,
    colour_orders,
    fastest,
    judged,
    residual_in_tiles,
    sweep_tiles,
)
from hardgrain.cpu.tiles import Plan, plan_tiles, with_copies
from hardgrain.point.stopping import GLOBAL, LOCAL, SWEEPS, Until
from hardgrain.processes import ALONE

__all__ = ["Relaxing", "relaxed_in_tiles"]

STRETCH = 1000  # sweeps at a time, at most, which bounds the memory of their orders of colours


class Relaxing:
    """One step's contacts, while they are relaxed tile by tile."""

    others: Any = ALONE  # that sweep the rest of the contacts

    def __init__(self, key: tuple[bool, int], given: Any, how: Any, tiling: Any) -> None:
        self.given, self.until, self.visits = given, how.until, how.visits
        position, shared, cells = tiling
        self._pack(LAYOUTS[key], *plan_tiles(given, cells, position, shared))
        self._begin()

    def _pack(self, layout: Any, plan: Plan, first: Any, second: Any) -> None:
        """Fill the packed problem; first, second: of contacts, with copies of shared bodies."""
        given = self.given
        copied = with_copies(given, plan, first, second)
        m = given.rows.first.size
        self.plan, self.counted = plan, m  # stored rows that are judged here
        rows, motion, laws, dt, remove_overlaps = copied
        turning = ghostly_bodies(motion)
        ghosts, self.paths = count_ghosts(plan, rows.second, rows.width, turning, dt)
        self.packed = packing_room(layout, m, len(motion.velocity), int(ghosts[-1]))
        for colour in range(plan.colours):
            fill_levers(self.packed, plan, rows, colour * plan.tiles, (colour + 1) * plan.tiles)
            self._exchange_levers(colour)
        rest = plan.starts.size - 2
        fill_levers(self.packed, plan, rows, rest, rest + 1)
        how_far = dt, remove_overlaps
        fill(self.packed, plan, rows, motion, laws, how_far, turning, ghosts)
        self.sums = np.zeros((plan.body.size, 6))
        self.heavy = heavy_problem(layout, self.packed, plan, given, self.paths)
        self.light = np.zeros(0, np.bool_)
        if plan.heavy.size:
            self.light = np.ones(m, np.bool_)
            self.light[plan.heavy] = False

    def _begin(self) -> None:
        """Give bodies the impulses that contacts start from."""
        for colour in range(self.plan.colours):
            give_impulses(self.packed, self.plan, np.array([colour]))
            self._exchange(colour)
            join_copies(self.packed, self.plan, colour, self.sums)
        self._hear()
        give_rest(self.packed, self.plan)
        hidden = ROUNDING * float(self.others.most(fastest(self.given.rows, self.given.motion)))
        self.unseen = hidden * hidden
        self.contacts = np.arange(self.given.rows.first.size, dtype=np.uint32)

    def _exchange(self, colour: int) -> None:
        """Tell other processes what the tiles of a colour changed, where there are any."""

    def _exchange_levers(self, colour: int) -> None:
        """As `_exchange`, of the lengths of arms."""

    def _hear(self) -> None:
        """Learn from other processes how bodies of contacts in no tile move."""

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
        many = pieces(self.counted, 4)
        largest, sums = residual_in_tiles(
            self.packed, self.light, self.counted, self.unseen, self.paths, many
        )
        if path.size:
            true = true_masses(some, own, self.packed, self.plan, self.given)
            every = np.zeros(0, np.bool_)
            most, more = residual_in_tiles(true, every, path.size, self.unseen, path, 1)
            largest, sums = np.maximum(largest, most), sums + more
        largest, sums = self.others.most(largest), self.others.total(sums)
        worst, rms = judged(largest, rounded_all(sums), self.unseen)
        return worst, rms

    def _change(self, before: Any, until: Until) -> tuple[float, float]:
        """Contacts that break the local rule, and the sum of |P|."""
        sums = change_in_tiles(self.packed, before, self.counted, until, pieces(self.counted, 2))
        broken, total = rounded_all(self.others.total(sums))
        return broken, total

    def relax(self) -> tuple[int, bool]:
        """Sweep until the rule is met; returns (sweeps done, rule met)."""
        until: Until = self.until._replace(unseen=self.unseen)
        if until.rule == SWEEPS:
            self.sweep(0, until.sweeps)
            return until.sweeps, True
        watch = until.rule in (LOCAL, GLOBAL)
        before, total, done = np.zeros((self.paths.size if watch else 0, 7)), 0.0, 0
        if watch:
            _, total = self._change(before, until)
        while done < until.sweeps:
            ahead = 1 if watch or done == 0 else next_check.py_func(done)
            now = min(ahead if watch else ahead - done, until.sweeps - done)
            self.sweep(done, now)
            done += now
            if watch:
                last = total
                broken, total = self._change(before, until)
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
