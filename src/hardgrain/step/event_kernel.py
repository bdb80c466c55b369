"""Hard grains from collision to collision: the loop over the events of a step.

Each grain has its next event in the calendar (`event_queue`). When its time comes, what was planned
(`event_plans`) happens, or is planned again if the other grain has collided meanwhile.

Grains are moved when they collide, not before: what is kept of a grain is where it was and when.

Inelastic collapse. Where grains lose energy, infinitely many collisions may fall into a finite time
(McNamara & Young 1992; a ball that comes to rest on a floor is the simplest case). Their intervals
shrink like a geometric series until time, a double, no longer advances; or the speeds at which
three or more grains meet shrink until they cannot be told from rounding. Two bodies that have
collided `MOST` times in a row without a moment passing end the run, and so do two that approach by
rounding alone though one of them has met a third since they last met. Contacts that lose no energy
cannot do so, which is the remedy of Luding & McNamara (1998): with a contact time t_c > 0, a
collision of a grain that collided less than t_c before is elastic and without friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.geometry import min_image
from hardgrain.core.lawtable import E_NORMAL, E_SPEED, E_TANGENT, MU_DYNAMIC, MU_STATIC
from hardgrain.core.wall_kinds import INSIDE, PLANE
from hardgrain.kernels import jit, scalar
from hardgrain.law.collision import make_collision
from hardgrain.law.restitution import make_restitution
from hardgrain.point.turning import make_turning
from hardgrain.step.event_ahead import ahead
from hardgrain.step.event_cells import (
    CELL,
    CROWD,
    HITS,
    INV_INERTIA,
    INV_MASS,
    KIND,
    LANDS,
    LAST,
    MATE,
    MEETS,
    MET,
    STAMP,
    TURNED,
    WALL,
    WAY,
    R,
    T,
    V,
    X,
    enter,
    leave,
)
from hardgrain.step.event_plans import next_of, others, plan, plan_leaving, plan_meeting
from hardgrain.step.event_queue import first, new_year, put

__all__ = ["COLLAPSE", "DONE", "FULL", "Log", "begin", "fly"]

# How a flight ends: at the end of the step, with no room for further collisions in the log, or in
# a collapse.
DONE, FULL, COLLAPSE = 0, 1, 2
# [1] Collisions of a grain that follow each other within the rounding of time before this is called
# a collapse. Grains that all touch hand on a shock in some tens.
MOST = 1000
# [step] Rounding of time within a step.
INSTANT = 16 * 2.2e-16
# [1] Grains that approach more slowly than this share of their speeds do so by rounding alone. If
# they have just met each other, without rebound, they part as slowly, whatever the law.
SLOW = 2.0**-50

# Columns of `Log.sums`
DISSIPATED, DRIVEN, WORST, DEEPEST = 0, 1, 2, 3
# Columns of `Log.tally`: collisions in the step, rows of the log; the two bodies of a collapse, −1
# if there is none, walls as −1 − w; cells left; plans made again
COLLISIONS, ROWS, ONE, OTHER, CROSSED, AGAIN = 0, 1, 2, 3, 4, 5

collision = make_collision(scalar)
normal_impulse, drag = collision.normal_impulse, collision.drag
coefficient = make_restitution(scalar).coefficient
turn_body = make_turning(scalar).turn_body


class Log(NamedTuple):
    """What is told of a step."""

    sums: np.ndarray  # (4,)
    tally: np.ndarray  # (6,)
    push: np.ndarray  # (w, 6) impulse and torque impulse of the grains on each wall
    # (rows, 2) bodies of each collision, walls as −1 − w; no rows: it is not asked for
    pair: np.ndarray
    rows: np.ndarray  # (rows, 6) impulse on the second: its normal part, and all of it


# ---------------------------------------------------------------------- what happens
@scalar
def _leave(gas, i, now):
    """Let grain i pass into the next cell, and plan to meet those who are new beyond it."""
    way = gas.note[i, WAY]
    a, up = way >> 1, way & 1
    c = (gas.note[i, CELL + 2] * gas.cells[1] + gas.note[i, CELL + 1]) * gas.cells[0]
    leave(gas.room, gas.note, c + gas.note[i, CELL], i)
    c = gas.note[i, CELL + a] + 2 * up - 1
    if c < 0 or c >= gas.cells[a]:  # along a periodic axis
        gas.image[i, a] += 2 * up - 1
        gas.body[i, X + a] -= (2 * up - 1) * gas.period[a]
        c += gas.cells[a] * (1 - 2 * up)
    gas.note[i, CELL + a] = c
    c = (gas.note[i, CELL + 2] * gas.cells[1] + gas.note[i, CELL + 1]) * gas.cells[0]
    enter(gas.room, gas.note, c + gas.note[i, CELL], i)
    h, side = gas.reach[2], 2 * up - 1
    if a == 0:
        t, mate = others(gas, i, now, (side, side, -1, 1, -h, h))
    elif a == 1:
        t, mate = others(gas, i, now, (-1, 1, side, side, -h, h))
    else:
        t, mate = others(gas, i, now, (-1, 1, -1, 1, side, side))
    if t < gas.plan[i, MEETS]:
        gas.plan[i, MEETS], gas.note[i, MATE] = t, mate
        gas.note[i, STAMP] = gas.note[mate, HITS]
    plan_leaving(gas, i, now)


@scalar
def _bring(gas, i, now):
    """Move grain i to where it is now."""
    flown = now - gas.body[i, T]
    for a in range(3):
        gas.body[i, X + a] += gas.body[i, V + a] * flown
    gas.body[i, T] = now


@scalar
def _turn(gas, i, now):
    """Turn grain i to how it stands now, before its spin changes."""
    if gas.orientation.shape[1] == 1:
        gas.orientation[i, 0] += gas.spin[i, 2] * (now - gas.plan[i, TURNED])
    else:
        turn_body(gas.orientation, gas.spin, now - gas.plan[i, TURNED], i)
    gas.plan[i, TURNED] = now


@scalar
def _since(gas, i, now, instant):
    """Time since the last collision of grain i, which collides now; count those at once."""
    passed = now - gas.plan[i, LAST]
    gas.plan[i, LAST] = now
    gas.note[i, HITS] += 1
    gas.note[i, CROWD] = gas.note[i, CROWD] + 1 if passed <= instant else 0
    return passed


@scalar
def _kick(gas, i, now, sign, impulse, torque, turns):
    """Give grain i an impulse times a sign, and an angular one, −R n × P, on either side."""
    px, py, pz = impulse
    tx, ty, tz = torque
    m = sign * gas.plan[i, INV_MASS]
    gas.body[i, V] += m * px
    gas.body[i, V + 1] += m * py
    gas.body[i, V + 2] += m * pz
    inverse = gas.plan[i, INV_INERTIA]
    if turns and inverse > 0.0:
        _turn(gas, i, now)
        inverse *= -gas.body[i, R]
        gas.spin[i, 0] += inverse * tx
        gas.spin[i, 1] += inverse * ty
        gas.spin[i, 2] += inverse * tz


@scalar
def _strike(gas, out, log, i, j, now, normal, u):
    """Let grain i collide with grain j, or with wall −1 − j; return the impulse on the other.

    normal: from i; u: velocity of the wall's surface in the falling frame. See `law.collision`.
    """
    nx, ny, nz = normal
    vx, vy, vz = u
    instant = INSTANT * out.dt
    passed, speed = _since(gas, i, now, instant), 0.0
    radius, mass = gas.body[i, R], gas.plan[i, INV_MASS]
    lever = radius * radius * gas.plan[i, INV_INERTIA]
    wx, wy, wz = radius * gas.spin[i, 0], radius * gas.spin[i, 1], radius * gas.spin[i, 2]
    material = out.material[-1 - j] if j < 0 else gas.note[j, KIND]
    if j >= 0:
        passed = min(passed, _since(gas, j, now, instant))
        vx, vy, vz = gas.body[j, V], gas.body[j, V + 1], gas.body[j, V + 2]
        other = gas.body[j, R]
        mass += gas.plan[j, INV_MASS]
        lever += other * other * gas.plan[j, INV_INERTIA]
        wx, wy, wz = (
            wx + other * gas.spin[j, 0], wy + other * gas.spin[j, 1], wz + other * gas.spin[j, 2]
        )  # fmt: skip
    speed = abs(vx) + abs(vy) + abs(vz)
    ox, oy, oz = gas.body[i, V], gas.body[i, V + 1], gas.body[i, V + 2]
    speed += abs(ox) + abs(oy) + abs(oz)
    vx, vy, vz = vx - ox, vy - oy, vz - oz
    v_n = vx * nx + vy * ny + vz * nz
    mass_n, mass_t = 1.0 / mass, 1.0 / (mass + lever)
    a = gas.note[i, KIND]
    elastic = passed < out.contact_time
    e = coefficient(out.laws[a, material, E_NORMAL], out.laws[a, material, E_SPEED], -v_n)
    slow = -v_n < SLOW * speed
    crowded = gas.note[i, CROWD] >= MOST
    if j >= 0:
        crowded &= gas.note[j, CROWD] >= MOST
        again = gas.note[i, MET] == j + 1 and gas.note[j, MET] == i + 1
        crowded |= slow and not (elastic or again)
        gas.note[j, MET] = i + 1
    gas.note[i, MET] = j + 1
    if crowded:
        log.tally[ONE], log.tally[OTHER] = i, j
    if elastic or slow:
        e = 1.0
    p_n = max(normal_impulse(e, mass_n, v_n), 0.0)
    px, py, pz = p_n * nx, p_n * ny, p_n * nz
    lost = -p_n * v_n * 0.5 * (1.0 - e)
    mu = out.laws[a, material, MU_STATIC]
    turns = False
    tx, ty, tz = 0.0, 0.0, 0.0
    if mu > 0.0 and not elastic:
        # what surfaces do across the normal: V − (R_i ω_i + R_j ω_j) × n, less its normal part
        sx = vx - v_n * nx - (wy * nz - wz * ny)
        sy = vy - v_n * ny - (wz * nx - wx * nz)
        sz = vz - v_n * nz - (wx * ny - wy * nx)
        slip = math.sqrt(sx * sx + sy * sy + sz * sz)
        k = drag(
            out.laws[a, material, E_TANGENT], mu, out.laws[a, material, MU_DYNAMIC], p_n, mass_t,
            slip,
        )  # fmt: skip
        if k > 0.0:
            turns = True
            lost += k * slip * slip * (1.0 - 0.5 * k / mass_t)
            sx, sy, sz = -k * sx, -k * sy, -k * sz
            tx, ty, tz = ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
            px, py, pz = px + sx, py + sy, pz + sz
    _kick(gas, i, now, -1.0, (px, py, pz), (tx, ty, tz), turns)
    if j >= 0:
        _kick(gas, j, now, 1.0, (px, py, pz), (tx, ty, tz), turns)
    log.sums[DISSIPATED] += lost
    log.tally[COLLISIONS] += 1
    if log.pair.shape[0] > 0:
        k = log.tally[ROWS]
        log.tally[ROWS] = k + 1
        log.pair[k, 0], log.pair[k, 1] = i, j
        log.rows[k, 0], log.rows[k, 1], log.rows[k, 2] = p_n * nx, p_n * ny, p_n * nz
        log.rows[k, 3], log.rows[k, 4], log.rows[k, 5] = px, py, pz
    return px, py, pz


@scalar
def _overlap(log, depth, width):
    log.sums[WORST] = max(log.sums[WORST], depth)
    log.sums[DEEPEST] = max(log.sums[DEEPEST], depth / width)


@scalar
def _meet(gas, out, log, i, j, now):
    """Let grains i and j collide."""
    _bring(gas, i, now)
    _bring(gas, j, now)
    rx = min_image(gas.body[j, X] - gas.body[i, X], gas.period[0])
    ry = min_image(gas.body[j, X + 1] - gas.body[i, X + 1], gas.period[1])
    rz = min_image(gas.body[j, X + 2] - gas.body[i, X + 2], gas.period[2])
    distance = math.sqrt(rx * rx + ry * ry + rz * rz)
    one, two = gas.body[i, R], gas.body[j, R]
    _overlap(log, one + two - distance, 2.0 * min(one, two))
    normal = (rx / distance, ry / distance, rz / distance)
    _strike(gas, out, log, i, j, now, normal, (0.0, 0.0, 0.0))


@scalar
def _land(gas, out, log, i, w, now):
    """Let grain i collide with wall w, and tell what the wall felt and did."""
    _bring(gas, i, now)
    fall, radius = 0.5 * now * now, gas.body[i, R]
    x = gas.body[i, X] + fall * out.gravity[0]
    y = gas.body[i, X + 1] + fall * out.gravity[1]
    z = gas.body[i, X + 2] + fall * out.gravity[2]
    rx = x - out.point[w, 0] - out.velocity[w, 0] * now
    ry = y - out.point[w, 1] - out.velocity[w, 1] * now
    rz = z - out.point[w, 2] - out.velocity[w, 2] * now
    ax, ay, az = out.axis[w, 0], out.axis[w, 1], out.axis[w, 2]
    if out.kind[w] == PLANE:
        nx, ny, nz = -ax, -ay, -az
        gap = rx * ax + ry * ay + rz * az - radius
    else:
        along = rx * ax + ry * ay + rz * az
        rx, ry, rz = rx - along * ax, ry - along * ay, rz - along * az
        distance = math.sqrt(rx * rx + ry * ry + rz * rz)
        nx, ny, nz = rx / distance, ry / distance, rz / distance
        gap = out.radius[w] - distance - radius
        if out.kind[w] != INSIDE:
            nx, ny, nz, gap = -nx, -ny, -nz, distance - out.radius[w] - radius
    _overlap(log, -gap, 2.0 * radius)
    # from the wall's pivot to the contact point, and the velocity of its surface there
    lx = x + radius * nx - out.pivot[w, 0] - out.velocity[w, 0] * now
    ly = y + radius * ny - out.pivot[w, 1] - out.velocity[w, 1] * now
    lz = z + radius * nz - out.pivot[w, 2] - out.velocity[w, 2] * now
    ux = out.velocity[w, 0] + out.spin[w, 1] * lz - out.spin[w, 2] * ly
    uy = out.velocity[w, 1] + out.spin[w, 2] * lx - out.spin[w, 0] * lz
    uz = out.velocity[w, 2] + out.spin[w, 0] * ly - out.spin[w, 1] * lx
    falling = (
        ux - out.gravity[0] * now, uy - out.gravity[1] * now, uz - out.gravity[2] * now
    )  # fmt: skip
    px, py, pz = _strike(gas, out, log, i, -1 - w, now, (nx, ny, nz), falling)
    log.sums[DRIVEN] -= px * ux + py * uy + pz * uz
    log.push[w, 0] += px
    log.push[w, 1] += py
    log.push[w, 2] += pz
    log.push[w, 3] += ly * pz - lz * py
    log.push[w, 4] += lz * px - lx * pz
    log.push[w, 5] += lx * py - ly * px


# ---------------------------------------------------------------------- the loop
@jit
def begin(gas, out, queue):
    """Plan the first event of every grain."""
    for i in range(gas.row.size):
        plan(gas, out, i, 0.0)
        queue.key[i] = next_of(gas, i)
    new_year(queue, 0.0, out.dt)


@jit
def fly(gas, out, log, queue):
    """Let happen what happens up to the end of the step, or until it must pause; say which."""
    slot = -1
    while True:
        if log.tally[ROWS] == log.pair.shape[0] > 0:
            return FULL
        i = first(queue, out.dt)
        if i < 0:
            break
        now = queue.key[i]
        if queue.tally[0] != slot:
            slot = queue.tally[0]
            ahead(gas, queue)
        if gas.plan[i, MEETS] <= now:
            j = gas.note[i, MATE]
            if gas.note[j, HITS] != gas.note[i, STAMP]:
                log.tally[AGAIN] += 1
                plan_meeting(gas, i, now)
            else:
                _meet(gas, out, log, i, j, now)
                plan(gas, out, i, now)
                plan(gas, out, j, now)
                put(queue, j, next_of(gas, j))
        elif gas.plan[i, LANDS] <= now:
            w = gas.note[i, WALL]
            _land(gas, out, log, i, w, now)
            plan(gas, out, i, now)
        else:
            log.tally[CROSSED] += 1
            _leave(gas, i, now)
        if log.tally[ONE] >= 0:
            queue.clock[0] = now
            return COLLAPSE
        put(queue, i, next_of(gas, i))
    for i in range(gas.row.size):
        _turn(gas, i, out.dt)
    return DONE
