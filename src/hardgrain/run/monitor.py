"""Watches a run for the softness that its sweeps give it (`measure.rigidity`).

A look at the contact network costs as much as some hundred sweeps. It is taken only when the run
has done more than a hundred times that work since the last one, so that looks stay below 1 %. Hasty
looks, which take the packing for a bundle of chains, come sooner, whenever a run is four times as
old. Work is counted in contact updates, not in seconds: a run looks at the same steps whenever it
is repeated or resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from hardgrain.measure.rigidity import (
    OVERHEAD,
    SET_UP,
    Network,
    Rigidity,
    fine,
    network,
    rigidity,
)
from hardgrain.run.summary import Totals
from hardgrain.scene.model import Model, State
from hardgrain.solve.solver import Solver
from hardgrain.step.report import StepReport

__all__ = ["COLUMNS", "SCALARS", "Monitor", "look_work"]

SHARE = 0.008  # of a run's work that looks may cost
STEP_WORK = 5e3  # work of a step besides its sweeps [contact updates]
LOOK_WORK = 500.0  # of a look for each contact, before any has told [contact updates]
CLOSING = 2e6  # work that the closing look may take, 0.05 s
LENIENT = 2.0  # how much more than asked for now a step may have been forgiven [1]
ROUGH = 0.01  # share of steps that may be rough in a run that counts as converged

# What a run's history keeps of each look, at every step until the next.
COLUMNS = (
    "grains", "length", "diffusion_length", "sound_speed", "frequency", "damping_time", "stiffness",
    "damping", "sag", "swing",
)  # fmt: skip


def look_work(report: StepReport) -> float:
    """What a look after a step may cost, before any has told [contact updates]."""
    return OVERHEAD + SET_UP * report.candidates + LOOK_WORK * report.loaded


@dataclass
class _Tally:
    """What frames keep besides network and totals, so that a resumed run goes on with it."""

    before: float = 0.0  # work done before the last look [contact updates]
    since: float = 0.0  # and since then
    rough: float = 0.0  # steps in which the longest wave was not solved to a tenth
    soft_at: float = 0.0  # step of the first look at which the run was soft; 0: it never was
    # Since the last look, and between that and the one before:
    steps: float = 0.0  # with contacts
    inverse: float = 0.0  # sum of 1/N over them
    worst: float = 0.0  # residual
    last_steps: float = 0.0
    last_inverse: float = 0.0
    last_worst: float = 0.0
    converged: float = 1.0  # when last looked


SCALARS = tuple(f"monitor_{f.name}" for kind in (Network, _Tally) for f in fields(kind))


class Monitor:
    """The verdict of the last look, and when the next is due.

    Looks judge the steps since the last one, the closing word those since the last but one.
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
        self.everyone = model  # lengths are in mean diameters of all grains that ever are
        self.model = model  # of those that are there
        self._network, self._tally = Network(), _Tally()
        if scalars is not None:  # as it was when a frame was written
            a, b = (
                {f.name: scalars[f"monitor_{f.name}"] for f in fields(kind)}
                for kind in (Network, _Tally)
            )
            self._network, self._tally = Network(**a), _Tally(**b)
        self._judge()

    def due(self, report: StepReport) -> bool:
        """Take note of a step that the totals hold already; whether it is time to look."""
        t = self._tally
        if report.sweeps:
            t.rough += report.residual > self._fine
            t.steps += 1.0
            t.inverse += 1.0 / report.sweeps
            t.worst = max(t.worst, report.residual)
        t.since += report.sweeps * report.candidates + STEP_WORK
        hasty = OVERHEAD + SET_UP * report.candidates
        cost = max(self._network.work, look_work(report))
        return report.step == 1 or t.since >= min(cost, max(hasty, 3.0 * SHARE * t.before)) / SHARE

    def look(self, state: State) -> str | None:
        """Judge a state; the verdict, if the run has turned soft."""
        t = self._tally
        self._network = self._look(state, 0.0)
        t.converged = float(self._converged(self._network, t.worst))
        t.before, t.since = t.before + t.since, 0.0
        if t.steps:
            t.last_steps, t.last_inverse, t.last_worst = t.steps, t.inverse, t.worst
            t.steps = t.inverse = t.worst = 0.0
        self._judge()
        if self.found.rigid or t.soft_at:
            return None
        t.soft_at = float(state.step)
        return str(self.found)

    def verdict(self, state: State) -> Rigidity:
        """The closing word on a state; changes nothing, so that a run that goes on is the same."""
        t, found = self._tally, self._look(state, CLOSING)
        steps, inverse = t.last_steps + t.steps, t.last_inverse + t.inverse
        worst = max(t.last_worst, t.worst)
        return self._rigidity(found, steps, inverse, worst, self._converged(found, worst))

    @property
    def soft_at(self) -> int:
        """Step of the first look at which the run was soft; 0 if it never was."""
        return int(self._tally.soft_at)

    def _look(self, state: State, least: float) -> Network:
        model = self.model.at(state.time - 0.5 * self.dt)  # as its locks had it in the last step
        return network(model, state, self.dt, max(least, SHARE * self._tally.since))

    def _converged(self, found: Network, worst: float) -> bool:
        """Whether hardly a step was rough; all of late, where they were counted too leniently."""
        asked = fine(self._rate(found))
        return self._tally.rough <= ROUGH * self.totals.steps and (
            worst <= asked or self._fine <= LENIENT * asked
        )

    def _rate(self, found: Network) -> float:
        return 2.0 * self.solver.q * found.rate

    def _rigidity(
        self, found: Network, steps: float, inverse: float, worst: float, converged: bool
    ) -> Rigidity:
        solver = self.solver
        return rigidity(
            self.everyone, found, steps / inverse if steps else 0.0, solver.q, self.dt,
            residual=max(solver.leaves, worst), converged=converged, adaptive=solver.adaptive,
            at_once=solver.at_once,
        )  # fmt: skip

    def _judge(self) -> None:
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
