"""Contact candidates of a step: the pair list, kept as long as it is safe, and the narrow phase.

A pair is a candidate if it could close within the step. Two bodies approach by no more than the sum
of their travels, and a grain at rest may be hit within the step and then move as fast as the
grains around it, up to a radius. So each body's reach is dt times its own free speed or the largest
among its near neighbours, plus a small share of its radius:

    near_i  = 0.1 r_i + dt |v*_i|                                    (who is a near neighbour)
    reach_i = 0.005 r_i + max(dt |v*_i|, min(r_i, dt max |v*_j|, j near i))
                                                        (candidates: gap < reach_i + reach_j)

(plus the range of cohesion, where there is any, and plus 1.2 r_i dt |L| in a cell that deforms by
L, where two grains that are l apart approach by up to |L| l dt besides). A grain that crosses many
diameters in a step has all that lie that near for neighbours; were its reach theirs, each would
look at each. Pushes that are passed on through several grains, rebounds, and hits by such a grain
can make a grain faster than its reach says. Once the impulses are known, `overlooked` looks again
with the velocities that they give, and the step is solved once more if a pair would close that was
no candidate.

Grains that are not round turn their corners towards each other too: to their speed is added that of
the farthest point of their surface about the centre. Near neighbours are told by the balls that
hold the grains, candidates by their true shapes, point by point (`cpu.points`).

Both rules look at the present state only and the list of pairs (`contact.pairs`) is sorted, so the
candidates and their order do not depend on when the list was made: a resumed run has the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.pairs import place_walls, safe, turning_speed
from hardgrain.contact.points import contact_points_at, placed_at
from hardgrain.contact.rows import round_rows
from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.geometry import Floats, Ints
from hardgrain.core.wall_kinds import CELL, Walls
from hardgrain.cpu.cell import gradient, strain_norm
from hardgrain.cpu.contacts import candidates, neighbourhood_max, sizes
from hardgrain.kernels import device, jit, scalar
from hardgrain.point.given import Sites
from hardgrain.point.placed import ShapedBodies
from hardgrain.point.reach import NEAR, make_reach

__all__ = ["Found", "Place", "find", "overlooked"]

# [1] Reach that the deforming cell gives to a grain, over its radius and the strain of the step.
# The branch of a contact is longer than both radii by its gap; with less than that, more steps are
# solved a second time, and with more, sweeps visit more open contacts.
STRETCHED = 1.2

_reach = make_reach(scalar)
speed_of, travel = _reach.speed_of, _reach.travel


class Place(NamedTuple):
    """Where bodies are, and how they will move if no contact acts."""

    position: Floats  # (nb, dim)
    orientation: Floats  # (nb, 1) or (nb, 4)
    spin: Floats  # (nb, ns)
    velocity: Floats  # (nb, dim)
    dt: float


class Found(NamedTuple):
    """Contacts that may close in a step; or, if the list is stale, the reach that it lacks."""

    stale: bool  # whether the pair list must be made anew before contacts can be found
    reach: Floats  # (nb,) how far each body may come in the step [length]
    rows: ContactRows
    feature: Ints  # (m,)
    walls: Walls
    turning: Floats  # (w,) see `pairs.turning_speed`


@jit
def find(shapes, listed, place, old, feature):  # type: ignore[no-untyped-def]
    """The contacts of a step, by the rules above; ``old``, ``feature``: those of the last one."""
    n, position, dt = shapes.radius.size, place.position, place.dt
    point, axis, side = place_walls(
        position, place.orientation, shapes.wall_offset, shapes.wall_axis, shapes.wall_side
    )
    walls = Walls(shapes.wall_kind, point, axis, shapes.wall_size, side)
    turning = turning_speed(position, place.spin, walls, shapes.wall_offset)
    for w in range(turning.size):
        listed.turned[w] += dt * turning[w]
    speed = speeds(place, shapes, turning)
    reach = np.empty(speed.size)
    for i in range(speed.size):
        reach[i] = dt * speed[i] + (NEAR * shapes.radius[i] if i < n else 0.0)
    stale = not safe(position, listed, reach)
    if not stale:
        near = reach
        index = within(shapes, listed, position, walls, near)[0]
        around = neighbourhood_max(pick(listed.first, index), pick(listed.second, index), speed, n)
        reach = travels(speed, around, shapes.radius, dt)
        more = stretch(shapes, place)
        for i in range(n):
            reach[i] += shapes.margin[i] + more * shapes.radius[i]
        most = larger(near, reach)
        stale = not safe(position, listed, most)
        if stale:
            reach = most
    return candidate_rows(shapes, listed, place, (stale, reach, walls, turning), (old, feature))


@jit
def overlooked(shapes, listed, place, known, spread):  # type: ignore[no-untyped-def]
    """Whether the velocities close a pair that is not among the known ones; and all within reach.

    ``known``: what `find` found; ``spread``: see `Detector.overlooked`.
    """
    n, position, dt, radius = shapes.radius.size, place.position, place.dt, shapes.radius
    speed = speeds(place, shapes, known.turning)
    around, reach, slower, more = speed, np.empty(speed.size), True, stretch(shapes, place)
    for i in range(reach.size):
        reach[i] = dt * speed[i] + (shapes.margin[i] + more * radius[i] if i < n else 0.0)
        slower &= reach[i] <= known.reach[i]
        reach[i] = max(reach[i], known.reach[i])
    if slower:
        return False, known
    stale = not safe(position, listed, reach)
    for _ in range(spread):
        if stale:
            break
        index = within(shapes, listed, position, known.walls, reach)[0]
        around = neighbourhood_max(pick(listed.first, index), pick(listed.second, index), around, n)
        reach = larger(reach, travels(speed, around, radius, dt))
        stale = not safe(position, listed, reach)
    how = (stale, reach, known.walls, known.turning)
    found = candidate_rows(shapes, listed, place, how, (known.rows, known.feature))
    turns = shapes.narrow.solids.shape.size > 0
    rate = gradient(place.velocity, place.spin) if deforms(shapes) else np.zeros((0, 0))
    return not stale and closes_more(place, known, found, n, turns, rate), found


@jit
def deforms(shapes):  # type: ignore[no-untyped-def]
    """Whether the last body is a periodic cell that deforms."""
    w = shapes.wall_kind.size
    return w > 0 and shapes.wall_kind[w - 1] == CELL


@jit
def stretch(shapes, place):  # type: ignore[no-untyped-def]
    """Reach that the cell gives to a grain in a step, over its radius."""
    if not deforms(shapes):
        return 0.0
    return STRETCHED * place.dt * strain_norm(gradient(place.velocity, place.spin))


@jit
def closes_more(place, known, found, n, turns, rate):  # type: ignore[no-untyped-def]
    """Whether a contact that was found and not known closes within the step, or may do so.

    turns: whether normals may pass beside the centres of grains, so that spins close gaps; rate: L
    of a cell that deforms, else empty.
    """
    old, new, o = known.rows, found.rows, 0
    for k in range(new.first.size):
        i, j, f = new.first[k], new.second[k], found.feature[k]
        while o < old.first.size and precedes(
            old.first[o], old.second[o], known.feature[o], i, j, f
        ):
            o += 1
        if o < old.first.size and not precedes(
            i, j, f, old.first[o], old.second[o], known.feature[o]
        ):
            continue
        if j >= n and known.turning[j - n] > 0.0:
            return True
        approach = 0.0
        for a in range(new.normal.shape[1]):
            approach += new.normal[k, a] * (place.velocity[j, a] - place.velocity[i, a])
            if turns:
                approach += new.normal[k, a] * swing(place.spin, j, new.arm_second, k, a)
                approach -= new.normal[k, a] * swing(place.spin, i, new.arm_first, k, a)
        for a in range(rate.shape[0] if j < n else 0):
            for b in range(a, rate.shape[0]):
                line = new.arm_first[k, b] - new.arm_second[k, b] + new.gap[k] * new.normal[k, b]
                approach += new.normal[k, a] * rate[a, b] * line
        if new.gap[k] + place.dt * approach < 0.0:
            return True
    return False


@device
def swing(spin, body, arm, k, a):  # type: ignore[no-untyped-def]
    """Component a of ω × arm, the velocity that its spin gives to a body's end of contact k."""
    if spin.shape[1] == 1:
        return -spin[body, 0] * arm[k, 1] if a == 0 else spin[body, 0] * arm[k, 0]
    b, c = (a + 1) % 3, (a + 2) % 3
    return spin[body, b] * arm[k, c] - spin[body, c] * arm[k, b]


@jit
def within(shapes, listed, position, walls, reach):  # type: ignore[no-untyped-def]
    """Listed pairs whose gap is below the sum of their reaches; see `candidates`."""
    sites = Sites(position, shapes.radius, shapes.periodic, walls)
    return candidates(listed.first, listed.second, sites, reach)


@jit
def candidate_rows(shapes, listed, place, how, last):  # type: ignore[no-untyped-def]
    """All pairs within reach as rows, with the impulses that they have in ``last``.

    how: the other fields of `Found`; last: rows and features of contacts. None, if it is stale.
    """
    stale, reach, walls, turning = how
    position = place.position
    old, old_feature = last
    limit = np.empty(reach.size)
    for i in range(reach.size):
        limit[i] = -np.inf if stale else reach[i]
    if shapes.narrow.solids.shape.size > 0:
        f = shapes.narrow
        bodies = ShapedBodies(
            position, f.number, shapes.periodic, walls, f.solids,
            placed_at(f.placed, (f.solids, place.orientation, walls)), f.features, f.meshes,
            f.mesh_rows,
        )  # fmt: skip
        index, feature, normal, gap, arm_first, arm_second = contact_points_at(
            f.contact_points, (listed.first, listed.second, bodies, limit)
        )
        first, second = pick(listed.first, index), pick(listed.second, index)
        width, roll, law = sizes(
            first, second, shapes.half_width, shapes.material, shapes.materials
        )
    else:
        index, normal, gap = within(shapes, listed, position, walls, limit)
        first, second = pick(listed.first, index), pick(listed.second, index)
        feature = np.zeros(first.size, np.int32)
        arm_first, arm_second, width, roll, law = round_rows(
            first, second, normal, position, shapes.radius, shapes.periodic, shapes.material,
            shapes.materials,
        )  # fmt: skip
    impulse, torque = carry_over(
        old.first, old.second, old_feature, old.impulse, old.torque, first, second, feature
    )
    rows = ContactRows(
        first, second, normal, gap, arm_first, arm_second, width, roll, law, impulse, torque
    )
    return Found(stale, reach, rows, feature, walls, turning)


@jit
def speeds(place, shapes, turning):  # type: ignore[no-untyped-def]
    """Speed of each body, with what turning adds for walls and grains not round, shape (nb,)."""
    velocity, spin = place.velocity, place.spin
    speed = np.empty(velocity.shape[0])
    n, turns = speed.size - turning.size, shapes.narrow.solids.shape.size > 0
    for i in range(speed.size):
        speed[i] = speed_of(velocity, turning, i)
        if turns and i < n:
            square = 0.0
            for a in range(spin.shape[1]):
                square += spin[i, a] ** 2
            speed[i] += shapes.radius[i] * math.sqrt(square)
    return speed


@jit
def pick(values, index):  # type: ignore[no-untyped-def]
    """Some of the values, by their places."""
    some = np.empty(index.size, values.dtype)
    for k in range(index.size):
        some[k] = values[index[k]]
    return some


@jit
def larger(a, b):  # type: ignore[no-untyped-def]
    """The larger of each two numbers."""
    most = np.empty(a.size)
    for i in range(a.size):
        most[i] = max(a[i], b[i])
    return most


@jit
def travels(own, around, radius, dt):  # type: ignore[no-untyped-def]
    """Way of each body in a step, see `point.reach`, shape (nb,)."""
    far = np.empty(own.size)
    for i in range(own.size):
        far[i] = travel(own, around, radius, dt, i)
    return far


@device
def precedes(i, j, f, first, second, feature):  # type: ignore[no-untyped-def]
    """Whether the contact (i, j, f) comes before another in the order of contacts."""
    if i != first:
        return i < first
    if j != second:
        return j < second
    return f < feature


@jit
def carry_over(  # type: ignore[no-untyped-def]
    old_first, old_second, old_feature, old_impulse, old_torque, first, second, feature
):
    """Impulses of last step's contacts for those that are candidates again; both lists sorted."""
    m, dim, ns = first.size, old_impulse.shape[1], old_torque.shape[1]
    impulse, torque = np.zeros((m, dim)), np.zeros((m, ns))
    o = 0
    for k in range(m):
        i, j, f = first[k], second[k], feature[k]
        while o < old_first.size and precedes(old_first[o], old_second[o], old_feature[o], i, j, f):
            o += 1
        if o < old_first.size and old_first[o] == i and old_second[o] == j and old_feature[o] == f:
            for a in range(dim):
                impulse[k, a] = old_impulse[o, a]
            for a in range(ns):
                torque[k, a] = old_torque[o, a]
    return impulse, torque
