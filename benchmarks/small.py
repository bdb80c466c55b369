"""Cost of a step where grains and sweeps are few: many steps at one go, against one at a time.

100 disks at rest in a box, 10 sweeps a step. A function of the user's that sees every step makes
the engine pause after each; otherwise it makes steps until a frame, a look at the contact network
or the end of the run is due. Both take turns, and the CPU time of `Simulation.run` counts.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import hardgrain as hg
from benchmarks.measure import Figure, best
from benchmarks.packings import DT, FRICTION, SPREAD
from hardgrain.errors import SoftRunWarning

COUNT, SWEEPS = 100, 10


def run(quick: bool) -> list[Figure]:
    settle, steps, turns = (50, 50, 1) if quick else (3000, 2000, 5)
    width = round(math.sqrt(0.9 * COUNT))
    box: dict[str, Any] = {"min": [0, 0], "max": [width, 2 * width]}
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=FRICTION)],
        grains=[hg.Grains(count=COUNT, diameter=SPREAD, place=hg.Loose(**box))],
        walls=[hg.Box(**box, open=["top"])],
    )
    sim = hg.Simulation(scene, dt=DT, solver=hg.GaussSeidel(sweeps=SWEEPS))

    def go_on(steps: int, progress: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SoftRunWarning)  # ten sweeps are few on purpose
            sim.run(sim.state.step + steps, progress=progress)

    go_on(settle, False)
    took = best(
        {
            "many at one go": lambda: go_on(steps, False),
            "one at a time": lambda: go_on(steps, lambda sim, report: None),
        },
        turns,
    )
    gain = took["one at a time"] / took["many at one go"]
    return [
        Figure(
            f"step of {COUNT} disks, {SWEEPS} sweeps, {how}",
            1e6 * seconds / steps,
            unit="µs",
            detail=f"{gain:.2f} times as fast" if how == "many at one go" else "",
        )
        for how, seconds in took.items()
    ]
