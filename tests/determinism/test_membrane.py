"""A run under a membrane goes on from its file with the same bits, whatever the order of grains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.io.runfile import RunFile

KEPT = ("position", "orientation", "velocity", "spin", "wall_force", "wall_torque")


def pressed(steps: int, **solver: Any) -> hg.Scenario:
    """Disks between two platens that approach each other, under a membrane."""
    walls = [{
        "kind": "box", "min": [0, 0], "max": [7, 7], "open": ["left", "right"],
        "y": {"velocity": -0.5},
    }]  # fmt: skip
    scene = {
        "walls": walls,
        "membrane": {"pressure": "5 + 5 * ramp(t, 0, 1)", "radius": 1.5},
        "grains": [{
            "count": 25, "diameter": {"kind": "uniform", "min": 0.8, "max": 1.1},
            "place": {"kind": "deposit", "min": [0, 0], "max": [7, 7]},
        }],
    }  # fmt: skip
    given: dict[str, Any] = {
        "dt": 0.01, "seed": 2, "scene": scene, "on_implausible": "report",
        "solver": {"kind": "gauss-seidel", "sweeps": 30, **solver},
        "output": {"every": 10, "contacts_every": 1}, "stop": {"steps": steps},
    }  # fmt: skip
    return hg.Scenario.model_validate(given)


@pytest.mark.filterwarnings("ignore")
def test_a_run_under_a_membrane_is_resumed_with_the_same_bits(tmp_path):
    whole, parts = tmp_path / "whole.h5", tmp_path / "parts.h5"
    hg.Simulation(pressed(120)).run(output=whole, progress=False)
    hg.Simulation(pressed(50)).run(output=parts, progress=False)
    hg.Simulation.resume(parts, 120, progress=False)
    with RunFile(whole) as one, RunFile(parts) as other:
        assert len(one) == len(other)
        for a, b in zip(one, other):
            for name in KEPT:
                assert getattr(a.record, name).tobytes() == getattr(b.record, name).tobytes(), name


@pytest.mark.filterwarnings("ignore")
def test_the_order_of_grains_is_not_seen():
    """Jacobi's sweeps show it in rounding alone, which collisions make larger."""
    found = []
    for turned in (False, True):
        jacobi = {"kind": "jacobi", "relaxation": 0.2}
        sim = hg.Simulation(pressed(60, **jacobi))
        if turned:
            sim.sort(np.arange(sim.model.n)[::-1].copy())
        sim.run(progress=False)
        found.append(sim.state.position[np.argsort(sim.model.id)])
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)
