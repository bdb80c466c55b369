"""Samples in a periodic cell that deforms, as run files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hardgrain as hg

__all__ = ["cell_run"]


def cell_run(
    path: Path,
    cell: Any,
    time: float,
    *,
    count: int = 40,
    every: int = 10,
    dt: float = 0.02,
    side: tuple[float, float] = (7.5, 9.0),
) -> Path:
    """Disks with friction that are pressed and sheared as ``cell`` says, for a time."""
    grains = hg.Grains(
        count=count,
        diameter=hg.Uniform(min=0.8, max=1.2),
        place=hg.Loose(min=[0, 0], max=list(side)),
    )
    scene = hg.Scene(
        periodic={"x": (0.0, side[0]), "y": (0.0, side[1])},
        cell=cell,
        contacts=[hg.ContactLaw(friction=0.4)],
        grains=[grains],
    )
    scenario = hg.Scenario(
        scene=scene, dt=dt, seed=1, solver=hg.RigidSolver(tolerance=1e-6),
        output={"every": every}, stop={"time": time},
    )  # fmt: skip
    hg.Simulation(scenario).run(output=path, progress=False)
    return path
