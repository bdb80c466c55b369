"""What a grain in flight does next: whom it meets, where it lands, when it leaves its cell.

A grain's next event is the first of three: it meets another grain, it meets a wall, or its centre
leaves its cell, beyond which there are others to meet. A plan to meet holds as long as the other
one has not collided since, which its count of collisions tells. No meeting is missed: whichever of
two grains planned last knows of it, or has an event before it after which it plans again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.wall_kinds import INSIDE, PLANE
from hardgrain.kernels import scalar
from hardgrain.point.flight import make_flight
from hardgrain.step.event_cells import (
    BEHIND,
    CELL,
    HITS,
    LANDS,
    LEAVES,
    MATE,
    MEETS,
    ROOM,
    STAMP,
    WALL,
    WAY,
    R,
    T,
    V,
    X,
)

__all__ = ["Surroundings", "next_of", "others", "plan", "plan_leaving", "plan_meeting"]

flight = make_flight(scalar)
time_to_meet, time_to_land = flight.time_to_meet, flight.time_to_land
time_to_reach = flight.time_to_reach


class Surroundings(NamedTuple):
    """What does not change within a step."""

    kind: np.ndarray  # (w,) of walls
    point: np.ndarray  # (w, 3) of a wall at the start of the step
    axis: np.ndarray  # (w, 3)
    radius: np.ndarray  # (w,) of a cylinder
    pivot: np.ndarray  # (w, 3) the point that it turns about, at the start of the step
    velocity: np.ndarray  # (w, 3)
    spin: np.ndarray  # (w, 3)
    material: np.ndarray  # (w,)
    laws: np.ndarray  # (materials, materials, parameters)
    gravity: np.ndarray  # (3,)
    dt: float
    contact_time: float


# Who flies towards another one (b < 0) and does not miss it (b² ≥ v² c, see `point.flight`) has
# v² c + b |b| < 0. This is one test for both, which nearly always fails, so that a processor
# guesses it right; b < 0 alone, true of every other grain, it could not guess. Grains that touch
# (c ≤ 0) may pass it though they part; they have no time to meet. Of itself a grain has b = v = 0.
@scalar
def _sooner(gas, j, image, flown, here, soonest, mate):
    """Whom a grain meets first, this image of grain j or whom it has found before, and when."""
    x, y, z, vx, vy, vz, radius = here
    k, s = np.uintp(j), np.uintp(image)  # indices that Numba need not test for their signs
    ux, uy, uz = gas.body[k, V], gas.body[k, V + 1], gas.body[k, V + 2]
    rx = gas.body[k, X] + ux * flown + gas.shift[s, 0] - x
    ry = gas.body[k, X + 1] + uy * flown + gas.shift[s, 1] - y
    rz = gas.body[k, X + 2] + uz * flown + gas.shift[s, 2] - z
    ux, uy, uz = ux - vx, uy - vy, uz - vz
    b = rx * ux + ry * uy + rz * uz
    width = radius + gas.body[k, R]
    v2, c = ux * ux + uy * uy + uz * uz, rx * rx + ry * ry + rz * rz - width * width
    if v2 * c + b * abs(b) < 0.0:
        t = time_to_meet(b, v2, c)
        if t < soonest or (t == soonest and j < mate):
            soonest, mate = t, j
    return soonest, mate


# How many grains a cell has cannot be guessed. So whatever it has room for is noted, and the number
# then says how many of the notes count. The times of all are read before anything is computed from
# them, so that a processor waits for all of that memory at once.
@scalar
def others(gas, i, now, about):
    """When and whom grain i meets first of those in some cells about its own.

    about: how far these lie below and above its own along x, y and z.
    """
    lx, hx, ly, hy, lz, hz = about
    ago = now - gas.body[i, T]
    vx, vy, vz = gas.body[i, V], gas.body[i, V + 1], gas.body[i, V + 2]
    here = (
        gas.body[i, X] + vx * ago, gas.body[i, X + 1] + vy * ago, gas.body[i, X + 2] + vz * ago,
        vx, vy, vz, gas.body[i, R],
    )  # fmt: skip
    cx, cy, cz = gas.note[i, CELL], gas.note[i, CELL + 1], gas.note[i, CELL + 2]
    mx, my, mz = gas.cells[0], gas.cells[1], gas.cells[2]
    soonest, mate, many = math.inf, -1, 0
    for z in range(cz + lz, cz + hz + 1):
        layer = 13  # see `Gas.shift`
        if z < 0 or z >= mz:
            if gas.period[2] == 0.0:
                continue
            layer += -9 if z < 0 else 9
            z += mz if z < 0 else -mz
        for y in range(cy + ly, cy + hy + 1):
            line, first = layer, (z * my + y) * mx
            if y < 0 or y >= my:
                if gas.period[1] == 0.0:
                    continue
                line += -3 if y < 0 else 3
                first += mx * my if y < 0 else -mx * my
            for x in range(cx + lx, cx + hx + 1):
                image, c = line, first + x
                if x < 0 or x >= mx:
                    if gas.period[0] == 0.0:
                        continue
                    image += -1 if x < 0 else 1
                    c += mx if x < 0 else -mx
                cell, k = np.uintp(c), np.uintp(many)
                for s in range(ROOM):
                    gas.near[k + np.uintp(s), 0] = gas.room[cell, s + 1]
                    gas.near[k + np.uintp(s), 1] = image
                crowd = gas.room[cell, 0]
                many += min(crowd, ROOM)
                if crowd > ROOM:
                    j = gas.note[gas.room[cell, ROOM], BEHIND]
                    while j >= 0:
                        ago = now - gas.body[j, T]
                        soonest, mate = _sooner(gas, j, image, ago, here, soonest, mate)
                        j = gas.note[j, BEHIND]
    for s in range(many):
        k = np.uintp(s)
        gas.flown[k] = now - gas.body[np.uintp(gas.near[k, 0]), T]
    for s in range(many):
        k = np.uintp(s)
        j, image = gas.near[k, 0], gas.near[k, 1]
        soonest, mate = _sooner(gas, j, image, gas.flown[k], here, soonest, mate)
    return now + soonest, mate


@scalar
def plan_meeting(gas, i, now):
    """Whom grain i meets next, of all around it."""
    h = gas.reach[2]
    t, mate = others(gas, i, now, (-1, 1, -1, 1, -h, h))
    gas.plan[i, MEETS], gas.note[i, MATE] = t, mate
    gas.note[i, STAMP] = gas.note[mate, HITS] if mate >= 0 else 0


# The distance from walls in the falling frame: with τ the time in the step, the wall's point is at
# p + U τ − g τ²/2, so that seen from it a grain has the place x − p − U τ + g τ²/2, the velocity
# v − U + g τ and the acceleration g.
@scalar
def _plan_landing(gas, out, i, now):
    """Which wall grain i meets next."""
    flown, left = now - gas.body[i, T], out.dt - now
    radius = gas.body[i, R]
    soonest, wall = math.inf, -1
    for w in range(out.kind.size):
        fall = 0.5 * now * now
        r0, r1 = 0.0, 0.0
        for a in range(3):
            x = gas.body[i, X + a] + gas.body[i, V + a] * flown + fall * out.gravity[a]
            r0 += out.axis[w, a] * (x - out.point[w, a] - out.velocity[w, a] * now)
            v = gas.body[i, V + a] + out.gravity[a] * now
            r1 += out.axis[w, a] * (v - out.velocity[w, a])
        r2 = 0.0
        for a in range(3):
            r2 += out.axis[w, a] * out.gravity[a]
        if out.kind[w] == PLANE:
            t = time_to_land(r0 - radius, r1, r2)
        else:
            # the parts across the axis: their squares and products
            xx, xv, vv, xg, vg, gg = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for a in range(3):
                x = gas.body[i, X + a] + gas.body[i, V + a] * flown + fall * out.gravity[a]
                x -= out.point[w, a] + out.velocity[w, a] * now + r0 * out.axis[w, a]
                v = gas.body[i, V + a] + out.gravity[a] * now - out.velocity[w, a]
                v -= r1 * out.axis[w, a]
                g = out.gravity[a] - r2 * out.axis[w, a]
                xx, xv, vv = xx + x * x, xv + x * v, vv + v * v
                xg, vg, gg = xg + x * g, vg + v * g, gg + g * g
            inside = out.kind[w] == INSIDE
            s = out.radius[w] - radius if inside else out.radius[w] + radius
            sign = -1.0 if inside else 1.0
            c0, c1, c2 = sign * (xx - s * s), sign * 2.0 * xv, sign * (vv + xg)
            if gg == 0.0:
                t = time_to_land(c0, c1, 2.0 * c2)
            else:
                t = time_to_reach(c0, c1, c2, sign * vg, 0.25 * sign * gg, left)
        if t < soonest:
            soonest, wall = t, w
    gas.plan[i, LANDS], gas.note[i, WALL] = now + soonest, wall


@scalar
def plan_leaving(gas, i, now):
    """Where and when grain i leaves its cell."""
    soonest, way = math.inf, -1
    for a in range(3):
        v, c = gas.body[i, V + a], gas.note[i, CELL + a]
        up = 1 if v > 0.0 else 0
        if v == 0.0 or (
            gas.period[a] == 0.0 and ((up == 1 and c == gas.cells[a] - 1) or (up == 0 and c == 0))
        ):
            continue
        edge = gas.low[a] + (c + up) * gas.size[a]
        t = gas.body[i, T] + (edge - gas.body[i, X + a]) / v
        if t < soonest:
            soonest, way = t, 2 * a + up
    gas.plan[i, LEAVES], gas.note[i, WAY] = max(soonest, now), way


@scalar
def next_of(gas, i):
    return min(gas.plan[i, MEETS], min(gas.plan[i, LANDS], gas.plan[i, LEAVES]))


@scalar
def plan(gas, out, i, now):
    """All that grain i does next."""
    plan_meeting(gas, i, now)
    _plan_landing(gas, out, i, now)
    plan_leaving(gas, i, now)
