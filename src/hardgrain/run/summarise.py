"""The closing word on a simulation: its figures, and what a user should be warned of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hardgrain.kernels import compile_seconds
from hardgrain.measure.deformed import largest_strain
from hardgrain.measure.outline import equivalent_radius
from hardgrain.measure.rigidity import Rigidity
from hardgrain.run.computing import computes_on
from hardgrain.run.exchange import FLOWS, Flow
from hardgrain.run.monitor import CLOSING, SHARE, watched
from hardgrain.run.plausible import may_create
from hardgrain.run.stop import AtRest, Condition
from hardgrain.run.summary import OVERLAP, Summary
from hardgrain.run.unique import uniqueness
from hardgrain.step.engine import EventDriven

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["summarise"]

# Energy that contacts may create by rounding and unfinished sweeps before it is worth a warning,
# as a share of what the run began with and loads brought.
_CREATED = 1e-3
# [collisions of a grain] To begin a step of events costs about as much as one collision of each
# grain does (`benchmarks/README.md`). With fewer than the first in a step most time goes there,
# which is worth a word if there are so many grains; with the second, little does.
_FEW, _SUITED, _MANY = 0.2, 2.0, 100


def summarise(
    sim: Simulation, ended: str | None, conditions: list[Condition], path: str | None
) -> Summary:
    """Look at the last state once more, and say what the run did."""
    t, solver, steps = sim.totals, sim.scenario.solver, sim.state.step
    diameter = 2.0 * float(sim.exchange.everyone.radius.mean())
    if not sim.model.round and sim.model.n:
        diameter = 2.0 * float(equivalent_radius(sim.model).mean())
    report, found, unique = sim.report, None, None
    kind = sim.scenario.engine
    if watched(kind, sim.model):
        with sim.engine.seconds.of("watch"):
            found = sim.monitor.verdict(sim.state)
    # forces between grains that fly are no balance, and those between soft ones are determined
    steady = kind.kind != "event-driven" and sim.model.elastic is None
    if sim.implausible is None and steady and _at_rest(sim, conditions):
        with sim.engine.seconds.of("watch"):
            unique = uniqueness(sim, max(CLOSING, SHARE * sim.updates))
    return Summary(
        ended=ended or ("stopped, not plausible" if sim.stopped else "interrupted"),
        finished=ended is not None,
        steps=steps,
        time=sim.state.time,
        grains=sim.model.n,
        contacts=0 if report is None else report.loaded,
        criterion=solver.criterion,
        residual=0.0 if report is None else report.residual,
        worst_residual=t.worst_residual,
        capped=int(t.capped),
        unsettled=int(t.unsettled),
        loose=int(t.loose),
        rigidity=found,
        implausible=sim.implausible,
        worst_overlap=max(t.deepest, sim.deepest),
        mean_overlap=0.0 if report is None else report.mean_overlap / diameter,
        kinetic_start=t.kinetic_start,
        elastic_start=t.elastic_start,
        kinetic=sim.kinetic,
        elastic=t.elastic_start if report is None else report.elastic,
        work_external=t.work_external,
        work_driven=t.work_driven,
        dissipated=t.dissipated,
        created=t.created,
        seconds=dict(sim.engine.seconds),
        compile_seconds=compile_seconds() - sim.compiled,
        updates=sim.updates,
        computed_on=computes_on(sim),
        output=path,
        softness=sim.engine.softness,
        counts=kind.counts,
        strain=largest_strain(sim.model, sim.state),
        unique=unique,
        warnings=tuple(_warnings(sim, found)),
        flow=Flow(**{name: getattr(t, name) for name in FLOWS}),
        waiting=sim.exchange.waiting(max(sim.state.time - sim.dt, 0.0))[0],
        removed_by=dict(zip(sim.exchange.titles, sim.exchange.removed_by())),
    )


def _at_rest(sim: Simulation, conditions: list[Condition]) -> bool:
    """The condition of rest of this run or its scenario, or the usual one under gravity."""
    stop = sim.scenario.stop
    known = [*conditions, *(stop.conditions() if stop else ())]
    if sim.model.gravity.any():
        known.append(AtRest())
    return any(c(sim) for c in known if isinstance(c, AtRest))


def _warnings(sim: Simulation, found: Rigidity | None) -> Iterator[str]:
    t = sim.totals
    if sim.moved:
        yield sim.moved
    if sim.monitor.soft_at and found is not None and found.rigid:
        yield f"the run was soft at step {sim.monitor.soft_at}, before it was rigid again"
    scale = t.kinetic_start + abs(t.work_external) + abs(t.work_driven) + t.kinetic_inserted
    if t.created > _CREATED * scale:
        why = may_create(sim.model) or ("more sweeps would converge better" if t.loose else "")
        yield f"contacts created energy, {t.created:.3g} in all{'; ' if why else ''}{why}"
    soft, deepest = sim.engine.softness, max(t.deepest, sim.deepest)
    if deepest > OVERLAP:
        finer = f"{'more sweeps or ' if t.loose else ''}a smaller dt"
        yield (
            f"grains overlapped by up to {deepest:.2g} of the smaller one's diameter; use"
            f" {finer if soft is None else 'a larger engine.stiffness'}"
        )
    step = sim.dt if soft is None else soft.step
    smallest, what = 2.0 * float(sim.exchange.everyone.radius.min()), "diameter"
    if not sim.model.round and sim.model.n:
        smallest, what = float(sim.model.width.min()), "width"
    travel = t.fastest * step / smallest
    if isinstance(sim.scenario.engine, EventDriven):
        yield from _short(sim)
    elif travel > 0.5:
        yield (
            f"a grain moved {travel:.2g} of the smallest {what} in one step and may have"
            " passed through another; use a smaller dt"
        )


def _short(sim: Simulation) -> Iterator[str]:
    """Word on steps of events that are shorter than pays, if nothing asks for short ones."""
    hits, n = 0 if sim.report is None else sim.report.candidates, sim.model.n
    asked = sim.exchange.changes or any(not d.constant for d in sim.model.drives)
    if asked or n < _MANY or not 0 < 2 * hits < _FEW * n:
        return
    longer = _SUITED * n / (2 * hits)
    yield (
        f"dt is shorter than pays: each grain collided {2 * hits / n:.2g} times in the last step,"
        f" and beginning a step costs more; dt = {sim.dt * longer:.2g} would do, with output.every"
        " to match"
    )
