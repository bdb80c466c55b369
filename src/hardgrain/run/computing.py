"""What a run computes on, and how fast it is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["computes_on", "throughput"]


def computes_on(sim: Simulation) -> str:
    """The name of the GPU that makes the steps, or how many cores do."""
    gpu: str | None = getattr(sim.engine, "gpu", None)
    if gpu is not None:
        return gpu
    solver, cores = sim.scenario.solver, 1
    if sim.scenario.engine.solves and getattr(solver, "order", "") in ("tiles", "coloured"):
        import numba

        with solver.cores():
            cores = numba.get_num_threads()
    many = f"{sim.here.size} processes of " if sim.here.size > 1 else ""
    return f"{many}{cores} core{'s' * (cores != 1)}"


def throughput(sim: Simulation) -> str:
    """Contact updates a second of solver time, and what they run on; empty before the first."""
    solving = sim.engine.seconds.get("solve", 0.0)
    if not (solving > 0.0 and sim.updates > 0.0):
        return ""
    what = sim.scenario.engine.counts.removeprefix("contact ")
    return f"{sim.updates / solving / 1e6:.3g} million {what}/s on {computes_on(sim)}"
