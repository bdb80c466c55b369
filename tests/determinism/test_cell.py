"""A run whose periodic cell deforms goes on from its file with the same bits."""

from __future__ import annotations

from typing import Any

import pytest

import hardgrain as hg
from hardgrain.io.runfile import RunFile

ENGINES: dict[str, dict[str, Any]] = {
    "rigid": {},
    "soft": {"kind": "soft-particles", "stiffness": 2e4, "restitution": 0.5, "substeps": 50},
}
KEPT = ("position", "orientation", "velocity", "spin", "wall_force", "wall_torque", "cell")


def sheared(steps: int, engine: str) -> hg.Scenario:
    """Disks in a cell that is sheared under a pressure."""
    scene = {
        "periodic": {"x": (-1.0, 7.0), "y": (0.5, 6.5)},
        "cell": {"kind": "simple-shear", "rate": 2.0, "pressure": 10.0},
        "grains": [{
            "count": 30, "diameter": {"kind": "uniform", "min": 0.8, "max": 1.1},
            "place": {"kind": "loose", "min": [-1.0, 0.5], "max": [7.0, 6.5]},
        }],
    }  # fmt: skip
    given: dict[str, Any] = {
        "dt": 0.01, "seed": 2, "scene": scene, "on_implausible": "report",
        "solver": {"kind": "gauss-seidel", "sweeps": 30, "order": "random"},
        "output": {"every": 10, "contacts_every": 1}, "stop": {"steps": steps},
    }  # fmt: skip
    if ENGINES[engine]:
        given["engine"] = ENGINES[engine]
    return hg.Scenario.model_validate(given)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.filterwarnings("ignore")
def test_a_run_in_a_cell_that_deforms_is_resumed_with_the_same_bits(tmp_path, engine):
    whole, parts = tmp_path / "whole.h5", tmp_path / "parts.h5"
    hg.Simulation(sheared(120, engine)).run(output=whole, progress=False)
    hg.Simulation(sheared(50, engine)).run(output=parts, progress=False)
    hg.Simulation.resume(parts, 120, progress=False)
    with RunFile(whole) as one, RunFile(parts) as other:
        assert len(one) == len(other)
        for a, b in zip(one, other):
            for name in KEPT:
                assert getattr(a.record, name).tobytes() == getattr(b.record, name).tobytes(), name
        tilt, period = one[-1].cell[2], one[-1].cell[0]
    assert tilt > 0.5 * period  # so far that another image of the cell is the straighter one
