"""Can it have happened? What no solver may do, however well it says that it converged.

A run is plausible as long as, in every step,

- no two bodies overlap by more than a tenth of the smaller one's diameter, beyond what they did at
  the start (soft particles: by more than half of it);
- no grain is a thousand times faster than loads and drives could have made it. That pace is the
  largest speed at the start, plus the largest change of speed that forces alone gave in each step,
  plus the largest speed that was prescribed. Collisions pass speed on: a light grain between heavy
  ones, or one squeezed out of a wedge, may be several times faster, but not by orders of magnitude;
- all contacts together gave no energy, nor is there any that the ledger cannot account for, up to
  a tenth of all that came in or went out, or that loads would have given in each step if contacts
  had not taken it at once. (Contacts that few sweeps make elastic give back what
  they took, so that single steps tell nothing. Unequal restitution coefficients, and a shock law
  that pushes overlaps apart, may give any amount, by choice.)

NaN in a state ends the step that made it (`step.numbers`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.core import lawtable
from hardgrain.core.model import Model, State
from hardgrain.run.driven import closing_speed
from hardgrain.step.report import StepReport

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["first_pace", "implausible", "may_create", "overlap_limit", "take_as_it_is", "too_deep"]

# If any of these limits is smaller, runs that are merely coarse are stopped; if it is larger, runs
# that went wrong go on and are believed.

# [smaller diameter] Overlap of rigid grains, well above what coarse steps and few sweeps leave.
OVERLAP = 0.1
# [smaller diameter] Overlap of soft particles, at which their springs are far from linear.
SOFT_OVERLAP = 0.5
# [1] Speed relative to the pace that loads and drives can give. Light grains and wedges may
# multiply a speed several times; where rounding takes over, it grows by many orders of magnitude.
JUMP = 1e3
# [1] Relative change of the kinetic energy between two steps that rounding cannot have made: the
# velocities were set by hand, and count as a new start.
SET = 1e-9
# [1] Energy from nowhere, relative to all that came in or went out, well above what explicit steps
# of soft particles gain in long runs.
ENERGY = 0.1


def implausible(sim: Simulation, report: StepReport) -> str | None:
    """What is wrong with the step just made, with the worst offender by name; None if nothing.

    Whether something is wrong is told by the report alone, by all processes that share a run; names
    are right if the state is that after the step, and the first process tells them.
    """
    at = f"step {report.step}"
    return (
        _too_deep_step(sim, report, at)
        or _too_fast(sim, report, at)
        or _too_much_energy(sim, report, at)
    )


def too_deep(sim: Simulation, share: float, i: int, j: int, at: str) -> str | None:
    """What is wrong if bodies i and j overlap by more than is plausible, else None."""
    if share <= overlap_limit(sim):
        return None
    return sim.here.on_first(lambda: _overlapping(sim, share, i, j, at))


def _overlapping(sim: Simulation, share: float, i: int, j: int, at: str) -> str:
    one, other = (sim.model.body_name(k) for k in sorted((i, j), key=sim.model.number.item))
    return (
        f"{one} and {other} overlap by {share:.2g} of the smaller one's diameter in"
        f" {at}{_driven_together(sim, i, j)}"
    )


def _driven_together(sim: Simulation, i: int, j: int) -> str:
    """Why two bodies overlap, if their prescribed motion in the last step leaves no way out."""
    state, model = sim.state, sim.model.at(sim.state.time - 0.5 * sim.dt)
    first, second = np.array([[i], [j]], np.int32)
    normal = None
    if not model.round:  # that of the deepest point of the two
        c = state.contacts
        points = np.flatnonzero((c.first == i) & (c.second == j))
        if not points.size:
            return ""
        normal = c.normal[points[c.gap[points].argmin()]][None]
    speed = closing_speed(model, state, first, second, normal)[0]
    if speed == 0.0:
        return ""
    return (
        f": their prescribed motion drives them into each other with the speed {speed:.3g}, and no"
        " force can keep them apart"
    )


def overlap_limit(sim: Simulation) -> float:
    """Largest overlap that is plausible [smaller diameter]."""
    more = OVERLAP if sim.engine.softness is None else SOFT_OVERLAP
    return sim.totals.overlap_start + more


def first_pace(model: Model, state: State, elastic: float) -> float:
    """Largest speed that a state holds: of centres and surfaces, and what its springs may give."""
    n = model.n
    v, w = state.velocity, state.spin[:n]
    speed = math.sqrt(float(np.einsum("ia,ia->i", v, v).max(initial=0.0)))
    turning = float((model.radius * np.sqrt(np.einsum("ia,ia->i", w, w))).max(initial=0.0))
    lightest = float(model.mass[:n].min(initial=np.inf))
    return speed + turning + math.sqrt(max(2.0 * elastic / lightest, 0.0))


def take_as_it_is(sim: Simulation) -> None:
    """Velocities that someone has set since the last step are no jump: they count as the start."""
    t, report = sim.totals, sim.report
    if report is None and sim.state.step > 0:  # the state was read from a file
        return
    known = t.kinetic_start if report is None else report.kinetic
    now, pace = sim.here.on_first(lambda: (sim.kinetic, first_pace(sim.model, sim.state, 0.0)))
    if abs(now - known) > SET * (now + known):
        t.kinetic_start += now - known
        t.pace = max(t.pace, pace)


def may_create(model: Model) -> str | None:
    """The reason why contacts may create energy by definition, or None if they must not."""
    e = model.law_table[:, [lawtable.E_NORMAL, lawtable.E_TANGENT]]
    if e.min() != e.max() or model.law_table[:, lawtable.E_SPEED].any():
        return "unequal restitution coefficients can create energy"
    if model.remove_overlaps:
        return "the shock law with g pushes overlaps apart"
    return None


def _too_deep_step(sim: Simulation, report: StepReport, at: str) -> str | None:
    if report.deepest <= overlap_limit(sim):
        return None

    def words() -> str:
        c = sim.state.contacts
        share = -c.gap / c.width
        k = int(share.argmax())
        return _overlapping(sim, float(share[k]), int(c.first[k]), int(c.second[k]), at)

    return sim.here.on_first(words)


def _too_fast(sim: Simulation, report: StepReport, at: str) -> str | None:
    t = sim.totals
    pace = t.pace + t.driven
    if report.fastest <= JUMP * pace:
        return None

    def words() -> str:
        v = sim.state.velocity[: sim.model.n]
        i = int(np.einsum("ia,ia->i", v, v).argmax())
        return (
            f"{sim.model.body_name(i)} has the speed {report.fastest:.2g} after {at}, where loads"
            f" and drives could have given {pace:.2g}"
        )

    return sim.here.on_first(words)


def _too_much_energy(sim: Simulation, report: StepReport, at: str) -> str | None:
    t, now = sim.totals, report.kinetic + report.elastic
    start = t.kinetic_start + t.elastic_start
    came, went = t.kinetic_inserted, t.kinetic_removed + t.elastic_removed
    error = now + went - came - start - t.work_external - t.work_driven + t.dissipated
    turnover = now + went + came + start + t.kicked
    turnover += abs(t.work_external) + abs(t.work_driven) + abs(t.dissipated)
    gained = abs(error)
    # Where a packing rests, lawful impulses may be booked as giving what the loads would have given
    # without them: the ledger takes the mean of the velocities before and after (`step.ledger`).
    if -t.dissipated > t.kicked and not may_create(sim.model):
        gained -= t.dissipated + t.kicked
    if gained <= ENERGY * turnover:
        return None
    return (
        f"by {at} the energy {gained:.2g} came from nowhere, where {turnover:.2g} came in and went"
        " out"
    )
