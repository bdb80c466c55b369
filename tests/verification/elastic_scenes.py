"""Small scenes of deformable grains, shared by the tests of their physics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain.core.model import Floats
from hardgrain.run.scenario import Scenario

# The tolerance of the solver is far below every error that is judged.
FINE = {"kind": "gauss-seidel", "stop": "residual", "tolerance": 1e-11, "sweeps": 50_000}


def simulation(scene: dict[str, Any], dt: float, theta: float = 0.5, **more: Any) -> hg.Simulation:
    """A simulation of a scene, solved finely."""
    engine = {"kind": "contact-dynamics", "theta": theta}
    data = {"dt": dt, "scene": scene, "engine": engine, "solver": FINE} | more
    return hg.Simulation(Scenario.model_validate(data))


def grain(place: list[float], elastic: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A set of one grain."""
    at = {"kind": "at", "positions": [place]}
    own = {} if elastic is None else {"elastic": elastic}
    return {"count": 1, "place": at} | own | more


def deform(sim: hg.Simulation, displacement: Floats) -> None:
    """Give the nodes of a simulation these displacements, at rest."""
    now = sim.state.deformation
    assert now is not None
    sim.state.deformation = replace(
        now, displacement=displacement, rate=np.zeros_like(displacement)
    )
