"""Advice before a run: what it foresees, and that it does not promise what it cannot know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hardgrain as hg
from hardgrain.run.scenario import Start, Stop


def box(solver: hg.GaussSeidel, **options: Any) -> hg.Scenario:
    """400 disks that fall into a box, 20 wide."""
    walls = [hg.Box(min=[0, 0], max=[20, 40], open=["top"])]
    grains = [hg.Grains(count=400, place=hg.Loose(min=[0, 0], max=[20, 38]), speed=0.1)]
    scene = hg.Scene(gravity=[0, options.pop("gravity", -1)], grains=grains, walls=walls)
    given: dict[str, Any] = {"dt": 0.01, "stop": Stop(steps=2000), **options}
    return hg.Scenario(scene=scene, solver=solver, **given)


def test_soft_run_is_predicted_with_a_remedy() -> None:
    advice = hg.advise(box(hg.GaussSeidel(sweeps=20)))
    r = advice.rigidity
    assert advice.foreseen
    assert advice.rigid is False
    assert r.length == pytest.approx(20, rel=0.1)
    text = str(advice)
    assert "20, soft: sound crosses in " in text
    assert f"use about {r.needed} sweeps" in text
    assert "halve both, dt = 0.005 and 10 sweeps" in text
    assert advice.rigid_step_seconds > advice.step_seconds > 0.0
    better = hg.advise(box(hg.GaussSeidel(sweeps=r.needed)))
    assert better.rigid is True
    assert "halve" not in str(better)
    json.dumps(better.as_dict(), allow_nan=False)


def test_foreseen_packing_is_the_one_that_comes(tmp_path: Path) -> None:
    """Length, κ and needed sweeps within the factor of two that the help speaks of."""
    path, solver = tmp_path / "settled.h5", hg.GaussSeidel(sweeps=60)
    scenario = box(solver, stop=Stop(time=30))
    before = hg.advise(scenario).rigidity
    after = hg.Simulation(scenario).run(output=path, progress=False).rigidity
    assert after is not None
    for name in ("length", "stiffness", "needed", "frequency", "sag"):
        assert 0.5 < getattr(before, name) / getattr(after, name) < 2.0, name
    again = hg.advise(box(solver, start=Start(file=str(path))))
    assert not again.foreseen
    assert again.rigidity.frequency == pytest.approx(after.frequency, rel=0.01)


def test_criterion_is_rigid_if_it_sees_the_slowest_wave() -> None:
    """With a tolerance that is fine enough, and with a cap that is not too low."""
    asks = "as many as the criterion asks for, at most 5000; "
    needs = hg.advise(box(hg.GaussSeidel())).rigidity.tolerance
    for stop in ("residual", "local"):
        fine = hg.advise(box(hg.GaussSeidel(stop=stop, tolerance=0.9 * needs, sweeps=5000)))
        assert fine.rigid is True
        assert f"{asks}rigid: enough for a residual of {needs:.1g}" in str(fine)
        assert "does not see swings of up to" in str(fine)
        loose = hg.advise(box(hg.GaussSeidel(stop=stop, tolerance=1.2 * needs, sweeps=5000)))
        assert loose.rigid is False
        assert f"{asks}soft: sound crosses in " in str(loose)
        assert f"use a residual of {needs:.1g} or less" in str(loose)
    # what the global rule leaves is not known before
    assert hg.advise(box(hg.GaussSeidel(stop="global", sweeps=5000))).rigid is False
    capped = hg.advise(box(hg.GaussSeidel(stop="residual", tolerance=1e-6, sweeps=10)))
    assert capped.rigid is False
    assert "at most 10; soft: " in str(capped)
    assert capped.step_seconds < capped.rigid_step_seconds


def test_step_is_judged_by_the_speeds_to_come() -> None:
    assert "dt = 0.01 fits" in str(hg.advise(box(hg.GaussSeidel())))
    assert "dt = 0.5 is too long" in str(hg.advise(box(hg.GaussSeidel(), dt=0.5)))
    drum = hg.Scene(
        gravity=[0, -1],
        grains=[hg.Grains(count=50, place=hg.Loose(min=[-5, -5], max=[5, 5]))],
        walls=[hg.Drum(center=[0, 0], radius=12.0, spin=20.0)],
    )
    spun = hg.advise(hg.Scenario(scene=drum, dt=0.01, stop=Stop(steps=10)))
    assert spun.speed == pytest.approx(240.0)
    assert spun.longest_dt is not None
    assert spun.dt > spun.longest_dt


def test_nothing_that_moves() -> None:
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0], [3, 0]]))])
    advice = hg.advise(hg.Scenario(scene=scene, dt=0.01, stop=Stop(steps=10)))
    assert advice.longest_dt is None
    assert "nothing will move" in str(advice)
    json.dumps(advice.as_dict(), allow_nan=False)


def test_a_row_is_as_long_as_its_grains() -> None:
    places = [[0.5 + i, 0.0] for i in range(50)]
    grains = hg.Grains(place=hg.At(positions=places), lock=["y", "rotation"], force=[-0.01, 0])
    walls = [hg.Plane(point=[0, 0], normal=[1, 0])]
    scene = hg.Scene(grains=[grains], walls=walls)
    advice = hg.advise(hg.Scenario(scene=scene, dt=1.0, stop=Stop(steps=10)))
    assert advice.rigidity.length == pytest.approx(50.0)
    assert advice.rigidity.needed == pytest.approx(784, abs=1)


def test_what_a_run_would_refuse_is_refused() -> None:
    with pytest.raises(hg.InputError, match=r"stop.at_rest.speed is missing"):
        hg.advise(box(hg.GaussSeidel(), gravity=0.0, stop=Stop(at_rest=hg.AtRest())))
    soft = hg.SoftParticles(stiffness=1e4, substeps=20)
    with pytest.raises(hg.InputError, match=r"engine.kind is 'soft-particles'"):
        hg.advise(box(hg.GaussSeidel(), engine=soft))
