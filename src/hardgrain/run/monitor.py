"""Watches a run for the softness that its sweeps give it (`measure.rigidity`).

A look at the contact network costs as much as some hundred sweeps. It is taken only when the run
has done more than a hundred times that work since the last look, so that looks take less than 1 %
of it. Hasty looks, which treat the packing as a bundle of chains, come earlier: whenever a run has
become four times as old. Work is counted in contact updates and not in seconds, so that a run looks
at the same steps whenever it is repeated or resumed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from hardgrain.core.model import Model, State
from hardgrain.measure.contact_network import OVERHEAD, SET_UP, ContactNetwork, contact_network
from hardgrain.measure.rigidity import Rigidity, fine, rate_of, rigidity
from hardgrain.run.summary import Totals
from hardgrain.solve.solver import Solver
from hardgrain.step.engine import Engine
from hardgrain.step.pause import NextLook, look_due
from hardgrain.step.report import StepReport

__all__ = ["CLOSING", "COLUMNS", "LATER", "SCALARS", "Monitor", "watched"]

_log = logging.getLogger(__name__)

# [1] Share of a run's work that looks may cost. If it is larger, runs become slower; if it is
# smaller, a run that turns soft is noticed later.
SHARE = 0.008
# [contact updates] Work of a step besides its sweeps. It lets runs without contacts be looked at,
# too; if it is wrong, the share of the looks in the time of short steps is.
STEP_WORK = 5e3
# [contact updates] Estimate of the work of a look for each contact that bears a force, used until a
# look has been made. If it is too small, the first looks cost more than their share.
LOOK_WORK = 500.0
# [contact updates] Work that the closing look may take in any case, about 0.05 s. With less, short
# runs are judged as bundles of chains only.
CLOSING = 2e6
# [1] Steps are judged by the network of the last look. If that allowed a residual of no more than
# this factor above what the present network asks for, its count of rough steps still stands;
# otherwise the worst residual since then decides. If it is larger, rough steps may pass as
# converged.
LENIENT = 2.0
# [1] Share of steps that may be rough in a run that counts as converged. It forgives single
# impacts; if it is larger, whole phases of a run may be soft and the verdict still be "rigid".
ROUGH = 0.01

# The figures of the last look that the history of a run holds at every step.
COLUMNS = (
    "grains", "length", "diffusion_length", "sound_speed", "frequency", "damping_time", "stiffness",
    "damping", "sag", "swing",
)  # fmt: skip


def watched(engine: Engine, model: Model) -> bool:
    """Whether a solver might make rigid grains soft, so that their network is looked at."""
    return engine.solves and model.elastic is None


@dataclass
class _Tally:
    """Counters that frames keep besides network and totals, for a run that is resumed."""

    before: float = 0.0  # work done before the last look [contact updates]
    since: float = 0.0  # work done since the last look [contact updates]
    rough: float = 0.0  # number of steps in which the longest wave was not solved to a tenth
    soft_at: float = 0.0  # step of the first look at which the run was soft; 0: it never was
    # These three count since the last look, ...
    steps: float = 0.0  # number of steps with contacts
    inverse: float = 0.0  # sum of 1/N over them
    worst: float = 0.0  # their worst residual
    # ... and these between the last look and the one before.
    last_steps: float = 0.0
    last_inverse: float = 0.0
    last_worst: float = 0.0
    converged: float = 1.0  # whether the steps were converged at the last look


SCALARS = tuple(f"monitor_{f.name}" for kind in (ContactNetwork, _Tally) for f in fields(kind))

LATER = {"monitor_onward"}  # not in files of versions before 0.2.0, which took it for a chain's


class Monitor:
    """Holds the verdict of the last look, and says when the next is due.

    A look judges the steps since the last one; the closing verdict judges those since the last but
    one, so that it never rests on a few steps.
    """

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        totals: Totals,
        scalars: Mapping[str, float] | None = None,
    ) -> None:
        self.solver, self.dt, self.totals = solver, dt, totals
        self.everyone = model  # all grains that ever are: their mean diameter is the unit of length
        self.model = model  # the grains that are there now
        self._network, self._tally = ContactNetwork(), _Tally()
        if scalars is not None:  # as it was when a frame was written
            a, b = (
                {
                    f.name: scalars[f"monitor_{f.name}"]
                    for f in fields(kind)
                    if f"monitor_{f.name}" not in LATER or f"monitor_{f.name}" in scalars
                }
                for kind in (ContactNetwork, _Tally)
            )
            self._network, self._tally = ContactNetwork(**a), _Tally(**b)
        self._judge()

    def due(self, report: StepReport) -> bool:
        """Take note of a step that the totals include; return whether it is time to look."""
        t = self._tally
        if report.sweeps:
            t.rough += report.residual > self._fine
            t.steps += 1.0
            t.inverse += 1.0 / report.sweeps
            t.worst = max(t.worst, report.residual)
        t.since += report.sweeps * report.candidates + STEP_WORK
        due = look_due(self.next_look, t.since, report.candidates, report.loaded)
        return report.step == 1 or due

    @property
    def next_look(self) -> NextLook:
        """What decides when it is time to look again."""
        t = self._tally
        return NextLook(
            t.since, t.before, self._network.work, STEP_WORK, OVERHEAD, SET_UP, LOOK_WORK, SHARE
        )

    def look(self, state: State) -> str | None:
        """Judge a state; return the verdict if the run has just become soft, else None."""
        t = self._tally
        self._network = self._look(state, 0.0)
        t.converged = float(self._converged(self._network, t.worst))
        t.before, t.since = t.before + t.since, 0.0
        if t.steps:
            t.last_steps, t.last_inverse, t.last_worst = t.steps, t.inverse, t.worst
            t.steps = t.inverse = t.worst = 0.0
        self._judge()
        _log.info("Looked at the contact network at step %d: %s.", state.step, self.found)
        if self.found.rigid or t.soft_at:
            return None
        t.soft_at = float(state.step)
        return str(self.found)

    def verdict(self, state: State) -> Rigidity:
        """The closing verdict on a state. It changes nothing, so a run may go on after it."""
        t, found = self._tally, self._look(state, CLOSING)
        steps, inverse = t.last_steps + t.steps, t.last_inverse + t.inverse
        worst = max(t.last_worst, t.worst)
        return self._rigidity(found, steps, inverse, worst, self._converged(found, worst))

    @property
    def soft_at(self) -> int:
        """Step of the first look at which the run was soft; 0 if it never was."""
        return int(self._tally.soft_at)

    def _look(self, state: State, least: float) -> ContactNetwork:
        """The network of a state, found with work that is at least ``least`` [contact updates]."""
        model = self.model.at(state.time - 0.5 * self.dt)  # as its locks had it in the last step
        return contact_network(model, state, self.dt, max(least, SHARE * self._tally.since))

    def _converged(self, found: ContactNetwork, worst: float) -> bool:
        """Whether hardly any step was rough.

        Where rough steps were counted too leniently, the worst residual since then must do, too.
        """
        asked = fine(self._rate(found))
        return self._tally.rough <= ROUGH * self.totals.steps and (
            worst <= asked or self._fine <= LENIENT * asked
        )

    def _rate(self, found: ContactNetwork) -> float:
        """µ of the slowest mode, for the order in which the solver sweeps [1]."""
        return rate_of(found, self.solver.q)

    def _rigidity(
        self, found: ContactNetwork, steps: float, inverse: float, worst: float, converged: bool
    ) -> Rigidity:
        solver = self.solver
        return rigidity(
            self.everyone, found, steps / inverse if steps else 0.0, solver.q, self.dt,
            residual=max(solver.leaves, worst), converged=converged, adaptive=solver.adaptive,
            at_once=solver.at_once,
        )  # fmt: skip

    def _judge(self) -> None:
        """Make the verdict, its columns and the limit of rough steps from the last look."""
        t = self._tally
        last = t.last_steps, t.last_inverse, t.last_worst
        self.found = self._rigidity(self._network, *last, bool(t.converged))
        self.columns = [float(getattr(self.found, name)) for name in COLUMNS]
        self._fine = fine(self._rate(self._network))

    @property
    def scalars(self) -> dict[str, float]:
        """All that a resumed run needs, as numbers."""
        kept = {**asdict(self._network), **asdict(self._tally)}
        return {f"monitor_{name}": float(value) for name, value in kept.items()}
