"""Runs with grains that deform, for tests of what is measured, drawn and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hardgrain as hg

__all__ = ["elastic_run"]


def elastic_run(path: Path, dim: int = 2, shape: str | None = None, steps: int = 150) -> Path:
    """Two elastic grains on each other, pressed by a piston, and a rigid disk or ball aside.

    In 3D it is behind them as pictures see it.
    """
    up = [0.0] * (dim - 1)
    soft: dict[str, Any] = {
        "diameter": 1.0,
        "elastic": {"young": 100.0, "elements": 3, "damping": {"stiffness": 0.02}},
        "place": {"kind": "at", "positions": [[*up, 0.51], [0.1, *up[1:], 1.55]]},
    }
    if shape is not None:
        soft["shape"] = shape
    stiff = {
        "diameter": 0.6,
        "place": {"kind": "at", "positions": [[0.95, *[0.3] * (dim - 2), 0.4]]},
    }
    box = {
        "kind": "box", "min": [-1.0] * (dim - 1) + [0.0], "max": [1.5] * (dim - 1) + [2.2],
        "pistons": {"top": {"mass": 1.0, "force": 4.0}},
    }  # fmt: skip
    scene = hg.Scene(
        dimension=dim, grains=[soft, stiff], walls=[box], gravity=[*up, -1.0],
        contacts=[{"friction": 0.3}],
    )  # fmt: skip
    output, stop = {"every": 50}, {"steps": steps}
    scenario = hg.Scenario(title="two soft grains", scene=scene, dt=0.01, output=output, stop=stop)
    hg.Simulation(scenario).run(output=path, progress=False)
    return path
