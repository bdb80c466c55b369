"""What a run that several processes share agrees on; one process agrees with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.errors import InputError
from hardgrain.run.stop import Condition, name_of

if TYPE_CHECKING:
    from hardgrain.run.interrupt import Interrupt
    from hardgrain.run.simulation import Simulation

__all__ = ["agreed", "refuse_exchange"]


def refuse_exchange(sim: Simulation) -> None:
    """Refuse grains that come and go where several processes would share them."""
    if sim.here.size > 1 and sim.exchange.changes:
        raise InputError(
            "several processes cannot share scene.remove or grains that are inserted; run it"
            " without mpiexec"
        )


def agreed(
    sim: Simulation, conditions: list[Condition], interrupt: Interrupt
) -> tuple[str | None, bool]:
    """Why the run ends, as the first process sees it, and whether any was asked to end it."""
    if sim.here.size > 1:  # its engine makes many steps at a time
        sim.engine.hurry = lambda: interrupt.asked  # type: ignore[union-attr]

    def reason() -> str | None:
        return next((name_of(c) for c in conditions if c(sim)), None)

    return sim.here.on_first(reason), sim.here.any(interrupt.asked)
