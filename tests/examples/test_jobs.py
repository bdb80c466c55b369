"""Scenarios of the kind that research asks for: they end with yes to all questions, rightly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure import stress_tensor
from hardgrain.measure.surface import surface
from hardgrain.run.summary import Summary

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.rounding


def trusted(summary: Summary) -> bool:
    """Whether it ended, converged in every step, rigid, and without a warning."""
    r = summary.rigidity
    rigid = r is not None and r.rigid
    return summary.finished and rigid and not summary.loose and not summary.warnings


@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_a_heap_comes_to_rest_and_slopes_to_its_open_side(friction: float) -> None:
    """How steep it is with 70 grains scatters by 5° from seed to seed: no angle is judged here."""
    scenario = hg.load(EXAMPLES / "angle_of_repose.toml")
    law, *others = scenario.scene.contacts
    laws = [law.model_copy(update={"friction": friction}), *others]
    scene = scenario.scene.model_copy(update={"contacts": laws})
    sim = hg.Simulation(scenario.model_copy(update={"scene": scene}))
    assert trusted(sim.run(progress=False))
    assert -70.0 < math.degrees(surface(sim).angle) < 0.0  # it falls along x
    on_the_table = sim.state.position[: sim.model.n, 1] > 0.0
    assert 0 < np.count_nonzero(on_the_table) < sim.model.n


def test_isotropic_compression_and_shear() -> None:
    """Each wall carries the pressure of the piston that faces it, so that the mean stress of the
    packing is known: σ_xx = 1 ∓ 0.15 along x and y, within what is left of the motion, 10⁻³."""
    sim = hg.Simulation(hg.load(EXAMPLES / "isotropic_shear.toml"))
    sim.run(until=hg.Time(time=20.0), progress=False)
    isotropic = stress_tensor(sim)
    assert trusted(sim.run(progress=False))
    sheared = stress_tensor(sim)
    assert [isotropic[0, 0], isotropic[1, 1]] == pytest.approx([1.0, 1.0], rel=1e-3)
    assert [sheared[0, 0], sheared[1, 1]] == pytest.approx([0.85, 1.15], rel=1e-3)
