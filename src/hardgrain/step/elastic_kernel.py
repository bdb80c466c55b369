"""Compiled parts of a step of deformable grains; derived in `hardgrain.step.elastic_dynamics`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import Floats, Ints
from hardgrain.kernels import device, jit, scalar
from hardgrain.point.frame import make_frame
from hardgrain.point.inertia import make_inertia

__all__ = [
    "Bodies", "Matrices", "Sides", "contact_velocities", "couple", "deformation_energy", "fastest",
    "free_rates", "kick_bodies", "kick_nodes", "sides_of", "speed_up",
]  # fmt: skip

_frame, _inertia = make_frame(scalar), make_inertia(scalar)
cross, tangent, entry = _frame.cross, _frame.tangent, _inertia.entry


class Matrices(NamedTuple):
    """Stiffness and compliance of all forms, one after the other; dof: nodes times axes."""

    form: Ints  # (n,) row of each grain's form, −1: rigid
    start: Ints  # (n + 1,) where the nodes of each grain begin
    first_node: Ints  # (forms + 1,)
    mass: Floats  # (k,) of nodes
    damping: Floats  # (forms, 2) Rayleigh's, of mass and stiffness
    begin: NDArray[np.int64]  # (forms + 1,) where the compliance of each form begins
    compliance: Floats  # dof² for each form: what impulses on nodes give to rates
    rows: Ints  # dof + 1 for each form: where the rows of its stiffness begin in `column`
    first_row: Ints  # (forms + 1,) where its rows begin
    column: Ints
    value: Floats


class Bodies(NamedTuple):
    """How easily bodies are moved, and how they are turned."""

    inv_mass: Floats  # (nb, dim)
    inv_inertia: Floats  # (nb, ns) or (nb, 6)
    turned: Floats  # (n, dim, dim) own axes into space


class Sides(NamedTuple):
    """The two sides of contact points: what an impulse does to either body."""

    first: Ints
    second: Ints
    axes: Floats  # (m, dim, dim) unit vectors of each contact, the normal first
    lever: Floats  # (m, 2, dim, ns) arm × axis
    own: Floats  # (m, 2, dim, dim) the axes along the own axes of the two bodies
    node: Ints  # (m, 2, dim)
    weight: Floats  # (m, 2, dim)


@jit
def stiff(m, f, x, out):  # type: ignore[no-untyped-def]
    """out ← K x, both (dof,)."""
    first = m.first_row[f]
    for a in range(out.size):
        total = 0.0
        for s in range(m.rows[first + a], m.rows[first + a + 1]):
            total += m.value[s] * x[m.column[s]]
        out[a] = total


@jit
def comply(m, f, x, out):  # type: ignore[no-untyped-def]
    """out ← D x, both (dof,)."""
    n, begin = out.size, m.begin[f]
    for a in range(n):
        # a slice of its own, so that no index is tested for its sign: six times as fast
        total, row = 0.0, m.compliance[begin + a * n : begin + (a + 1) * n]
        for b in range(n):
            total += row[b] * x[b]
        out[a] = total


@jit
def free_rates(m, displacement, rate, theta, dt):  # type: ignore[no-untyped-def]
    """Rates after the step if no contact acts, shape (k, dim)."""
    dim = rate.shape[1]
    free = rate.copy()
    for i in range(m.form.size):
        f, start = m.form[i], m.start[i]
        if f < 0:
            continue
        n = m.start[i + 1] - start
        x, force, change = np.empty(n * dim), np.empty(n * dim), np.empty(n * dim)
        alpha, beta = m.damping[f, 0], m.damping[f, 1]
        ahead = (2.0 * theta - 1.0) * dt + beta
        for a in range(n):
            for b in range(dim):
                x[a * dim + b] = displacement[start + a, b] + ahead * rate[start + a, b]
        stiff(m, f, x, force)
        for a in range(n):
            for b in range(dim):
                slow = alpha * m.mass[m.first_node[f] + a] * rate[start + a, b]
                force[a * dim + b] = -dt * (force[a * dim + b] + slow)
        comply(m, f, force, change)
        for a in range(n):
            for b in range(dim):
                free[start + a, b] += change[a * dim + b]
    return free


@jit
def deformation_energy(m, displacement, rate, lag):  # type: ignore[no-untyped-def]
    """Energy of strain and of vibration; lag: (1 − θ) dt, by which displacements are ahead."""
    dim, total = rate.shape[1], 0.0
    for i in range(m.form.size):
        f, start = m.form[i], m.start[i]
        if f < 0:
            continue
        n = m.start[i + 1] - start
        x, force = np.empty(n * dim), np.empty(n * dim)
        for a in range(n):
            for b in range(dim):
                x[a * dim + b] = displacement[start + a, b] - lag * rate[start + a, b]
        stiff(m, f, x, force)
        for a in range(n):
            for b in range(dim):
                total += x[a * dim + b] * force[a * dim + b]
                total += m.mass[m.first_node[f] + a] * rate[start + a, b] ** 2
    return 0.5 * total


@jit
def fastest(surface, form, start, rate):  # type: ignore[no-untyped-def]
    """Largest rate of a surface node of each grain, shape (n,)."""
    most = np.zeros(form.size)
    for i in range(form.size):
        if form[i] < 0:
            continue
        for a in range(start[i], start[i] + surface[form[i]]):
            square = 0.0
            for b in range(rate.shape[1]):
                square += rate[a, b] ** 2
            most[i] = max(most[i], square)
        most[i] = np.sqrt(most[i])
    return most


@jit
def sides_of(points, turned):  # type: ignore[no-untyped-def]
    """The sides of contact points (`contact.surfaces.Points`), with a frame for each."""
    m, dim = points.normal.shape
    n, ns = turned.shape[0], 1 if dim == 2 else 3
    axes, lever = np.empty((m, dim, dim)), np.empty((m, 2, dim, ns))
    own = np.zeros((m, 2, dim, dim))
    for k in range(m):
        normal = points.normal[k]
        for b in range(dim):
            axes[k, 0, b] = normal[b]
        if dim == 2:
            axes[k, 1, 0], axes[k, 1, 1] = -normal[1], normal[0]
        else:
            t = tangent(normal[0], normal[1], normal[2])
            s = cross(normal[0], normal[1], normal[2], t[0], t[1], t[2])
            for b in range(3):
                axes[k, 1, b], axes[k, 2, b] = t[b], s[b]
        for side in range(2):
            body = points.first[k] if side == 0 else points.second[k]
            arm = points.arm_first[k] if side == 0 else points.arm_second[k]
            for a in range(dim):
                e = axes[k, a]
                if dim == 2:
                    lever[k, side, a, 0] = arm[0] * e[1] - arm[1] * e[0]
                else:
                    c = cross(arm[0], arm[1], arm[2], e[0], e[1], e[2])
                    for b in range(3):
                        lever[k, side, a, b] = c[b]
                if body < n and points.node[k, side, 0] >= 0:
                    for b in range(dim):
                        for c in range(dim):
                            own[k, side, a, b] += e[c] * turned[body, c, b]
    return Sides(points.first, points.second, axes, lever, own, points.node, points.weight)


@jit
def contact_velocities(sides, velocity, spin, rate):  # type: ignore[no-untyped-def]
    """Velocity of the second side relative to the first, along the contact's axes, (m, dim)."""
    m, dim = sides.first.size, velocity.shape[1]
    found = np.zeros((m, dim))
    for k in range(m):
        for side in range(2):
            body = sides.first[k] if side == 0 else sides.second[k]
            sign = -1.0 if side == 0 else 1.0
            for a in range(dim):
                total = 0.0
                for b in range(dim):
                    total += sides.axes[k, a, b] * velocity[body, b]
                for b in range(spin.shape[1]):
                    total += sides.lever[k, side, a, b] * spin[body, b]
                for c in range(dim):
                    node = sides.node[k, side, c]
                    if node >= 0:
                        for b in range(dim):
                            moved = sides.weight[k, side, c] * rate[node, b]
                            total += moved * sides.own[k, side, a, b]
                found[k, a] += sign * total
    return found


@jit
def contacts_of(sides, moves):  # type: ignore[no-untyped-def]
    """Contacts of each body that can move, twice their number if it is second: starts, entries."""
    m, start = sides.first.size, np.zeros(moves.size + 1, np.int64)
    for k in range(m):
        if moves[sides.first[k]]:
            start[sides.first[k] + 1] += 1
        if moves[sides.second[k]]:
            start[sides.second[k] + 1] += 1
    for i in range(moves.size):
        start[i + 1] += start[i]
    entries, at = np.empty(start[-1], np.int64), start.copy()
    for k in range(m):
        for side in range(2):
            body = sides.first[k] if side == 0 else sides.second[k]
            if moves[body]:
                entries[at[body]] = 2 * k + side
                at[body] += 1
    return start, entries


@device
def through_body(bodies, m, sides, body, x, y, block):  # type: ignore[no-untyped-def]
    """Add to a block what the impulse of entry y on a body does to the velocity of entry x."""
    k, s, j, t = x // 2, x % 2, y // 2, y % 2
    dim, ns = sides.axes.shape[1], sides.lever.shape[3]
    sign = 1.0 if s == t else -1.0
    for a in range(dim):
        for b in range(dim):
            total = 0.0
            for c in range(dim):
                total += bodies.inv_mass[body, c] * sides.axes[k, a, c] * sides.axes[j, b, c]
            for c in range(ns):
                for d in range(ns):
                    total += (
                        sides.lever[k, s, a, c]
                        * entry(bodies.inv_inertia, body, c, d)
                        * sides.lever[j, t, b, d]
                    )
            block[a, b] += sign * total
    if sides.node[k, s, 0] < 0:
        return
    f = m.form[body]
    n = (m.start[body + 1] - m.start[body]) * dim
    for c in range(dim):
        p = sides.node[k, s, c] - m.start[body]
        if sides.weight[k, s, c] == 0.0:
            continue
        for d in range(dim):
            q = sides.node[j, t, d] - m.start[body]
            share = sign * sides.weight[k, s, c] * sides.weight[j, t, d]
            if share == 0.0:
                continue
            for e in range(dim):
                begin = m.begin[f] + (p * dim + e) * n + q * dim
                for g in range(dim):
                    between = share * m.compliance[begin + g]
                    for a in range(dim):
                        for b in range(dim):
                            block[a, b] += sides.own[k, s, a, e] * between * sides.own[j, t, b, g]


# A row of W has a block for each contact that shares a movable body. Both bodies list theirs in
# increasing order, so that the row is their union, in order too. W is symmetric: what is above its
# diagonal is written below it as well, where rows come to their columns in order again.
@jit
def couple(bodies, m, sides, moves):  # type: ignore[no-untyped-def]
    """W in blocks: starts of rows, columns and blocks (b, dim, dim)."""
    many, dim = sides.first.size, sides.axes.shape[1]
    start, entries = contacts_of(sides, moves)
    rows = np.zeros(many + 1, np.int32)
    for k in range(many):
        i, j = sides.first[k], sides.second[k]
        p, q, count = start[i], start[j], 0
        while p < start[i + 1] or q < start[j + 1]:
            x = entries[p] // 2 if p < start[i + 1] else many
            y = entries[q] // 2 if q < start[j + 1] else many
            p, q, count = p + (x <= y), q + (y <= x), count + 1
        rows[k + 1] = rows[k] + count
    columns, blocks = np.empty(rows[-1], np.int32), np.zeros((rows[-1], dim, dim))
    free = rows[:-1].copy()  # the next block of each row that is not written yet
    for k in range(many):
        i, j = sides.first[k], sides.second[k]
        p, q = start[i], start[j]
        while p < start[i + 1] or q < start[j + 1]:
            x = entries[p] // 2 if p < start[i + 1] else many
            y = entries[q] // 2 if q < start[j + 1] else many
            column, at = min(x, y), free[k]
            if column >= k:
                columns[at] = column
                free[k] += 1
                if x <= y:
                    through_body(bodies, m, sides, i, 2 * k, entries[p], blocks[at])
                if y <= x:
                    through_body(bodies, m, sides, j, 2 * k + 1, entries[q], blocks[at])
            if column > k:
                below = free[column]
                columns[below] = k
                free[column] += 1
                for a in range(dim):
                    for b in range(dim):
                        blocks[below, a, b] = blocks[at, b, a]
            p, q = p + (x <= y), q + (y <= x)
    return rows, columns, blocks


@jit
def kick_bodies(bodies, sides, impulse, velocity, spin):  # type: ignore[no-untyped-def]
    """Let impulses r (m, dim), along the contact's axes, act on the rigid motion of bodies."""
    dim, ns = velocity.shape[1], spin.shape[1]
    for k in range(sides.first.size):
        for side in range(2):
            body = sides.first[k] if side == 0 else sides.second[k]
            sign = -1.0 if side == 0 else 1.0
            for a in range(dim):
                r = sign * impulse[k, a]
                for b in range(dim):
                    velocity[body, b] += bodies.inv_mass[body, b] * sides.axes[k, a, b] * r
                for c in range(ns):
                    for d in range(ns):
                        turn = entry(bodies.inv_inertia, body, c, d) * sides.lever[k, side, a, d]
                        spin[body, c] += turn * r


@jit
def kick_nodes(sides, impulse, nodes):  # type: ignore[no-untyped-def]
    """Impulses of contacts on nodes along the own axes of their grains, shape (nodes, dim)."""
    dim = sides.axes.shape[1]
    kick = np.zeros((nodes, dim))
    for k in range(sides.first.size):
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            for c in range(dim):
                node = sides.node[k, side, c]
                if node < 0:
                    continue
                share = sign * sides.weight[k, side, c]
                for a in range(dim):
                    for b in range(dim):
                        kick[node, b] += share * impulse[k, a] * sides.own[k, side, a, b]
    return kick


@jit
def speed_up(m, surface, kick, rate):  # type: ignore[no-untyped-def]
    """Rates after impulses on nodes of surfaces have acted, shape (k, dim)."""
    dim = rate.shape[1]
    after = rate.copy()
    for i in range(m.form.size):
        f, start = m.form[i], m.start[i]
        if f < 0:
            continue
        n = m.start[i + 1] - start
        for a in range(surface[f]):
            for b in range(dim):
                p = kick[start + a, b]
                if p == 0.0:
                    continue
                begin = m.begin[f] + (a * dim + b) * n * dim
                row = m.compliance[begin : begin + n * dim]
                for c in range(n):
                    for d in range(dim):
                        after[start + c, d] += p * row[c * dim + d]
    return after
