"""One step's contacts relaxed in one compiled call: pack, sweep, judge, unpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.cpu.packing import LAYOUTS, LAYOUTS_IN_CELL, in_space, pack, read_out
from hardgrain.cpu.sweep import fastest, relax, residual
from hardgrain.kernels import jit, overload
from hardgrain.point.cell import GivenInCell
from hardgrain.point.order import Visits
from hardgrain.point.stopping import Until

__all__ = ["RELAXED", "RELAXED_IN_CELL", "ROUNDING"]

# Rounding of a contact velocity, a sum of about ten products [velocity of the bodies].
ROUNDING = 16 * float(np.finfo(np.float64).eps)


@jit
def as_it_is(given, stored):
    """A problem whose velocities are in space, and the order in which its contacts are stored."""
    if stored is None:
        order = np.empty(given.rows.first.size, np.int32)
        for k in range(order.size):
            order[k] = k
        return given, order
    else:
        return given, stored


def seen(given, stored):
    """A problem with velocities in space, and the order in which its contacts are stored."""
    raise NotImplementedError("compiled code alone can call this")


# Chosen by the type of the problem: a kernel that had one of these two among its own variables
# could not be found again in the cache, since these bear another number in each process.
@overload(seen, strict=False)
def _(given, stored):
    kernel = in_space if given.instance_class is GivenInCell else as_it_is

    def call(given, stored):
        return kernel(given, stored)

    return call


def _make(layout: Any) -> Any:
    """The kernel for problems of the kind of an empty one (`packing.LAYOUTS`)."""

    @jit
    def relaxed(given, how, step):
        """Velocities, spins, impulses and torques; sweeps, whether the rule was met, residuals.

        how: see `hardgrain.point.sweeping`.
        """
        rows, motion = given.rows, given.motion
        velocity, spin = motion.velocity.copy(), motion.spin.copy()
        m = rows.first.size
        impulse, torque = np.empty((m, velocity.shape[1])), np.zeros((m, spin.shape[1]))
        if m == 0:
            return velocity, spin, impulse, torque, 0, True, 0.0, 0.0
        space, stored = seen(given, how.stored)
        order, paths = np.empty(m, np.uint32), np.empty(m)
        for k in range(m):
            order[k], paths[k] = k, (given.dt / rows.width[stored[k]]) ** 2
        packed = pack(layout, space, stored)
        hidden, u = ROUNDING * fastest(rows, space.motion), how.until
        until = Until(u.rule, u.sweeps, u.tolerance, u.cutoff, hidden * hidden)
        visits = Visits(how.visits.scheme, how.visits.seed, step)
        sweeps, met = relax(packed, order, how.starts, how.relaxation, visits, until, paths)
        worst, rms = residual(packed, how.starts, until.unseen, paths)
        read_out(packed, stored, velocity, spin, impulse, torque)
        return velocity, spin, impulse, torque, sweeps, met, worst, rms

    return relaxed


# By whether laws and bodies are simple, and by dimension.
RELAXED = {key: _make(layout) for key, layout in LAYOUTS.items()}
# The same, where the cell deforms.
RELAXED_IN_CELL = {key: _make(layout) for key, layout in LAYOUTS_IN_CELL.items()}
