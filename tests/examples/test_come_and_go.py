"""The scenarios of examples/ in which grains come, go, or are added to those of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.run.scenario import Output, Start
from hardgrain.run.summary import Summary

FOLDER = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.rounding


def trusted(summary: Summary) -> None:
    """Every step was solved, grains were rigid, and no energy is missing but by rounding."""
    assert summary.loose == 0
    assert summary.rigidity is not None
    assert summary.rigidity.rigid
    assert abs(summary.balance_error) < 1e-10 * summary.dissipated


def test_hopper_with_two_outlets() -> None:
    """Its first steps: grains come in as they are due, and leave by both outlets."""
    scenario = hg.load(FOLDER / "two_outlets.toml")
    sim = hg.Simulation(scenario)
    whole = sim.exchange.everyone.mass
    start = whole[sim.model.id].sum()
    summary = sim.run(until=300, progress=False)
    trusted(summary)
    flow, taken = summary.flow, summary.removed_by
    insert = scenario.scene.grains[1].insert
    assert insert is not None
    assert flow.inserted + summary.waiting == insert.due(sim.state.time - sim.dt, 500) > 70
    assert taken.keys() == {"left", "right"}
    assert min(taken.values()) > 0
    assert sum(taken.values()) == flow.removed
    there = whole[sim.model.id].sum()
    assert there == pytest.approx(start + flow.mass_inserted - flow.mass_removed, rel=1e-12)
    assert summary.grains == 110 + flow.inserted - flow.removed
    assert sim.frame.position[:, 1].min() > -4.0  # nobody falls on below the regions


def test_impact_on_a_bed(tmp_path: Path) -> None:
    """With a third of the bed, to be quick: the ball hits it, digs in, and all comes to rest."""
    bed, impact = (hg.load(FOLDER / f"{name}.toml") for name in ("settled_bed", "impact"))
    few = bed.scene.grains[0].changed(count=40)
    box = bed.scene.walls[0].changed(max=[8, 16])
    place = hg.Deposit(min=[0, 0], max=[8, 12])
    bed = bed.changed(scene=bed.scene.changed(grains=[few.changed(place=place)], walls=[box]))
    path = tmp_path / "settled_bed.h5"
    trusted(hg.Simulation(bed).run(output=path, progress=False))
    with hg.RunFile(path) as run:
        top = float((run[-1].position[:, 1] + run.model["radius"]).max())
    ball = impact.scene.grains[1].changed(place=hg.At(positions=[[4, top + 1.6]]))
    scene = impact.scene.changed(grains=[impact.scene.grains[0], ball], walls=[box])
    sim = hg.Simulation(
        impact.changed(scene=scene, start=Start(file=str(path)), output=Output(track=[40]))
    )
    assert (sim.model.n, sim.from_start) == (41, 40)
    energy = 0.5 * sim.model.mass[40] * 25.0
    summary = sim.run(output=tmp_path / "impact.h5", progress=False)
    assert summary.ended == "at rest"
    trusted(summary)
    assert summary.kinetic_start == pytest.approx(energy, rel=1e-6)
    with hg.RunFile(tmp_path / "impact.h5") as run:
        height = run.history["position_grain40_y"]
    assert height[0] == pytest.approx(top + 1.6 - 0.05, abs=1e-3)
    assert height[-1] < top + 0.5  # its lower end is more than one grain deep
    assert np.diff(height).min() == pytest.approx(-0.05, rel=0.05)
