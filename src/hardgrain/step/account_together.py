"""What `step.account` tells of a step, summed up by all threads and processes."""

from __future__ import annotations

import math

from hardgrain.core.model import ContactRows, Floats
from hardgrain.cpu import ledger_blocks as sums
from hardgrain.cpu.exact import rounded_all
from hardgrain.cpu.ledger_blocks import (
    Bodies,
    bodies_in_blocks,
    contacts_in_blocks,
    midway_in_blocks,
    pieces,
)
from hardgrain.point.ledger import Means
from hardgrain.processes import ALONE, Alone
from hardgrain.step.account import MarchRows, Moving, Solved, World
from hardgrain.step.loads import pace
from hardgrain.step.report import StepReport
from hardgrain.step.walls import wall_work

__all__ = ["account_together"]


def account_together(
    w: World,
    before: Moving,
    free: tuple[Floats, Floats],
    now: Solved,
    borne: ContactRows,
    out: MarchRows,
    s: int,
    step: int,
    *,
    others: Alone = ALONE,
) -> bool:
    """As `step.account.account`, for the same arguments; others: that share the grains."""
    dt, v, dim = w.dt, now.velocity, now.velocity.shape[1]
    mean_v, mean_w = midway_in_blocks(before.velocity, v), midway_in_blocks(before.spin, now.spin)
    kick_v, kick_w = midway_in_blocks(free[0], v), midway_in_blocks(free[1], now.spin)
    means = Means(mean_v, mean_w, kick_v, kick_w, w.inv_mass, w.inv_inertia)
    some = w.pushed.copy()
    walls, m = out.wall_force.shape[1], borne.first.size
    wide = dim + now.spin.shape[1]
    many = pieces(m, sums.WALLS + walls * wide)
    found, most = contacts_in_blocks(borne, means, some, walls, many)
    c, most = rounded_all(others.total(found)), others.most(most)
    on_walls = c[sums.WALLS :].reshape(walls, wide)
    others.raise_flags(some)
    bodies = Bodies(
        v, now.spin, mean_v, mean_w, w.force, w.torque, w.inv_mass, w.inv_inertia, w.mass
    )
    found, fastest = bodies_in_blocks(bodies, others.own(len(v)), some, pieces(len(v), 5))
    b = rounded_all(others.total(found))
    kinetic, total, bearing = 0.5 * b[sums.KINETIC], b[sums.MASS], b[sums.BEARING]
    if not math.isfinite(kinetic + now.residual):
        return False
    out.wall_force[s], out.wall_torque[s] = on_walls[:, :dim] / dt, on_walls[:, dim:] / dt
    out.wall_work[s] = wall_work(
        mean_v, v, now.spin, w.inv_mass, out.wall_force[s], out.wall_torque[s], dt
    )
    speeds, r = (before.velocity, free[0], before.spin, free[1]), w.shapes.radius
    if before.spin[r.size :].any():  # walls that turn sweep grains along
        at, _ = others.box(before.position, before.spin, r.size)
        paces = pace(*speeds, at, r, w.inv_mass, w.inv_inertia)
    else:
        paces = sums.pace(*speeds, r, w.inv_mass, w.inv_inertia)
    out.paces[s] = others.most(paces)
    speed = math.sqrt(2.0 * kinetic / total) if total > 0.0 else 0.0
    if bearing < total < 2.0 * bearing:
        speed = math.sqrt(b[sums.ENERGY] / bearing)
    loaded = int(c[sums.LOADED])
    out.reports[s] = StepReport(
        step=step + 1,
        time=(step + 1) * dt,
        sweeps=now.sweeps,
        converged=now.met,
        residual=now.residual,
        residual_rms=now.residual_rms,
        candidates=int(others.total(m)),
        loaded=loaded,
        worst_overlap=most[sums.WORST],
        mean_overlap=c[sums.DEPTH] / max(loaded, 1),
        fastest=math.sqrt(others.most(fastest)),
        kinetic=kinetic,
        work_external=dt * b[sums.POWER],
        work_driven=c[sums.DRIVEN],
        dissipated=c[sums.DISSIPATED],
        created=max(-c[sums.TAKEN], 0.0),
        speed=speed,
        deepest=most[sums.DEEPEST],
    )
    return True
