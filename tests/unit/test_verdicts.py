"""What a run says about itself, and what it refuses before it begins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hardgrain as hg
from hardgrain.run import unique
from hardgrain.run.scenario import Output
from hardgrain.run.summary import Summary
from hardgrain.theory import chain

COUNT = 20


def column(solver: hg.GaussSeidel | hg.Jacobi | hg.RigidSolver, steps: int) -> Summary:
    """A column of grains that stands on a floor."""
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(
                place=hg.At(positions=[[0, k + 0.5] for k in range(COUNT)]), lock=["x", "rotation"]
            )
        ],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1])],
    )
    return hg.Simulation(scene, dt=0.01, solver=solver).run(steps, progress=False)


def line(summary: Summary, name: str) -> str:
    return next(f"{key + ':':<12} {text}" for key, text in summary.lines if key == name)


def test_converged_run_is_rigid_although_its_sweeps_were_few() -> None:
    """The first step takes many sweeps, the others start from its forces: few on average."""
    summary = column(hg.GaussSeidel(stop="residual", tolerance=1e-4, sweeps=100_000), 200)
    r = summary.rigidity
    assert r is not None
    assert r.length == pytest.approx(COUNT, rel=1e-3)
    assert summary.loose == 0
    assert r.converged
    assert r.rigid
    assert summary.as_dict()["rigid"] is True
    assert line(summary, "rigid?").split()[1] == "yes:"
    assert line(summary, "converged?").split()[1] == "yes:"


def test_soft_run_says_so_and_names_the_sweeps_that_would_do() -> None:
    summary = column(hg.GaussSeidel(sweeps=5, start="zero"), 10)
    needed = summary.rigidity.needed  # the column is a chain
    assert needed == pytest.approx(chain.sweeps_for_rigidity(summary.rigidity.length, 1.0), abs=2)
    assert not summary.rigidity.rigid
    text = line(summary, "rigid?")
    assert "NO, soft: sound crosses in " in text
    assert f"use about {needed} sweeps (now 5; l_diff" in text
    assert "slowest mode ω = " in line(summary, "softness")
    assert f"NO in {summary.loose} of 10 steps: 5 sweeps a step" in line(summary, "converged?")
    assert summary.loose == 10


def test_a_tolerance_too_coarse_for_the_longest_wave_is_told_with_one_that_is_not() -> None:
    """The residual that is named is one with which the run would have been rigid."""
    text = line(column(hg.RigidSolver(tolerance=1e-2), 10), "rigid?")
    found = re.search(r"NO, soft: steps were left with a residual above (\S+), so that", text)
    assert found is not None, text
    fine = column(hg.RigidSolver(tolerance=float(found[1])), 10)
    assert fine.rigidity.rigid
    assert float(found[1]) <= fine.rigidity.tolerance


def test_enough_sweeps_are_rigid_even_where_a_step_is_not_converged() -> None:
    summary = column(hg.GaussSeidel(sweeps=150), 5)
    assert summary.loose > 0
    assert summary.rigidity.rigid
    assert line(summary, "rigid?").split()[1:3] == ["yes:", "l_diff"]


@pytest.mark.parametrize("relaxation", [0.1, 0.4])
def test_q_of_the_parallel_update_is_in_proportion_to_its_relaxation(relaxation: float) -> None:
    solver = hg.Jacobi(relaxation=relaxation, sweeps=9)
    assert solver.q == relaxation * chain.Q["parallel"]
    r = column(solver, 3).rigidity
    assert r.diffusion_length == pytest.approx(2.0 * (9 * 0.5 * relaxation) ** 0.5)


# ---------------------------------------------------------------------- other forces
def resting(walls: list[hg.Plane], until: Any = None, **law: Any) -> Summary:
    """A disk that lies on walls."""
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(**{"friction": 0.5, **law})],
        grains=[hg.Grains(place=hg.At(positions=[[0, 0]]))],
        walls=walls,
    )
    return hg.Simulation(scene, dt=0.01).run(until or hg.AtRest(), progress=False)


FLOOR = [hg.Plane(point=[0, -0.5], normal=[0, 1])]
WEDGE = [hg.Plane(point=[-s * 0.4, -0.3], normal=[s * 0.8, 0.6]) for s in (1.0, -1.0)]


def test_forces_of_a_run_at_rest_are_counted() -> None:
    on_floor, in_wedge = resting(FLOOR), resting(WEDGE)
    assert line(on_floor, "unique?").split()[1] == "yes:"
    assert "(2M − 3N = -1, contacts that touch M = 1, grains N = 1)" in line(on_floor, "unique?")
    u = in_wedge.unique
    assert u is not None
    assert (u.contacts, u.grains, u.least, u.nullity, u.sliding) == (2, 1, 1, 1, 0)
    text = (
        "no: equilibrium leaves 1 dimension of contact forces open (2M − 3N = 1, contacts that"
        " touch M = 2, grains N = 1)"
    )
    assert line(in_wedge, "unique?").endswith(f"{text}; sliding contacts M_s = 0 of at most 1")
    kept = json.loads(json.dumps(in_wedge.as_dict(), allow_nan=False))["unique"]
    assert (kept["nullity"], kept["verdict"]) == (1, "no")


def test_what_is_locked_and_what_is_more_than_grains_is_counted() -> None:
    """A column whose grains can only go up and down: all friction is left open."""
    summary = column(hg.GaussSeidel(stop="residual", tolerance=1e-6, sweeps=100_000), 100)
    u = summary.unique
    assert u is not None
    assert u.formula == f"2M − 3N + {2 * COUNT}"
    assert u.least == u.nullity == COUNT


def test_without_friction_contacts_slide_and_counting_does_not_tell() -> None:
    """All is determined here, but not by the null space alone."""
    u = resting(WEDGE, friction=0.0).unique
    assert u is not None
    assert (u.nullity, u.sliding, u.verdict) == (1, 2, "not known")
    assert str(u).endswith("M_s = 2")


def test_a_large_packing_is_counted_without_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(unique.RANK_WORK, 2, 1e9)
    u = resting(WEDGE).unique
    assert u is not None
    assert u.nullity is None
    assert u.verdict == "no"
    assert "leaves at least 2M − 3N = 1 dimensions" in str(u)


def test_laws_that_the_count_does_not_cover_are_named() -> None:
    text = line(resting(WEDGE, cohesion=1.0), "unique?")
    assert text.split()[1:3] == ["not", "known:"]
    assert "cohesion" in text


def test_only_rest_asks_for_other_forces() -> None:
    assert resting(WEDGE, 3).unique is None  # too short to tell
    assert resting(WEDGE, 60).unique is not None


# ---------------------------------------------------------------------- before a run begins
def falling(**options: Any) -> hg.Scene:
    return hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0]]))], **options)


def test_rest_without_gravity_needs_a_speed(tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    for until in (hg.AtRest(), hg.Stop(steps=3, at_rest=hg.AtRest()), [3, hg.AtRest()]):
        with pytest.raises(hg.InputError, match=r"at_rest\.speed is missing; without gravity"):
            hg.Simulation(falling(), dt=0.1).run(until, output=file, progress=False)
        assert not file.exists()
    sim = hg.Simulation(falling(), dt=0.1)
    assert sim.run(hg.AtRest(speed=1e-3, steps=4), progress=False).steps == 4


def pressed(loose: int, **motion: Any) -> hg.Scene:
    """Three grains between a floor and a piston, and some that nothing touches; no gravity."""
    lid = hg.Plane(name="lid", point=[0, 3], normal=[0, -1], piston=hg.Piston(mass=1.0, force=1.0))
    column = hg.Grains(place=hg.At(positions=[[0, 0.5 + k] for k in range(3)]), lock=["x"])
    apart = hg.Grains(place=hg.At(positions=[[5.0 + 2 * k, 1.5] for k in range(loose)]), **motion)
    return hg.Scene(grains=[column, apart], walls=[hg.Plane(point=[0, 0], normal=[0, 1]), lid])


def test_a_loose_grain_that_spins_does_not_keep_a_packing_awake(tmp_path: Path) -> None:
    """Also where the run is stopped and goes on; but a gas beside three that touch is not at rest,
    and one that a force pushes counts as well."""
    rest, file = hg.AtRest(speed=1e-3, steps=50), tmp_path / "run.h5"
    sim = hg.Simulation(pressed(1, spin=3.0), dt=0.01)
    ended = sim.run([rest, 200], output=file, every=10, progress=False)
    assert (ended.ended, ended.steps) == ("at rest", 50)
    assert sim.kinetic > 0.1
    hg.Simulation(pressed(1, spin=3.0), dt=0.01).run(
        25, output=file, every=10, overwrite=True, progress=False
    )
    _, resumed = hg.Simulation.resume(file, [rest, 200], progress=False)
    assert (resumed.ended, resumed.steps) == ("at rest", 50)
    for awake in (pressed(4, spin=3.0), pressed(1, spin=3.0, force=[1e-9, 0.0])):
        assert hg.Simulation(awake, dt=0.01).run([rest, 100], progress=False).steps == 100


@pytest.mark.parametrize(
    "twice",
    [{"dt": 0.1}, {"seed": 2}, {"solver": hg.GaussSeidel()}, {"title": "a"}, {"units": "SI"}],
)
def test_what_the_scenario_holds_is_not_given_twice(twice: dict[str, Any]) -> None:
    scenario = hg.Scenario(dt=0.1, scene=falling())
    with pytest.raises(hg.InputError, match="part of the scenario"):
        hg.Simulation(scenario, **twice)


def test_every_given_to_run_keeps_the_rest_of_the_output(tmp_path: Path) -> None:
    output = Output(every=100, contacts_every=3)
    scenario = hg.Scenario(dt=0.1, scene=falling(), output=output)
    sim = hg.Simulation(scenario)
    sim.run(14, output=tmp_path / "run.h5", every=2, progress=False)
    assert sim.scenario.output == Output(every=2, contacts_every=3)
    with hg.RunFile(tmp_path / "run.h5") as file:
        assert [file[k].step for k in range(len(file))] == [0, 2, 4, 6, 8, 10, 12, 14]
        kept = [k for k in range(len(file)) if file.contacts(k) is not None]
    assert kept == [0, 3, 6, 7]  # and the last


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: hg.Grains(count=-1, place=hg.Grid(min=[0, 0], max=[1, 1])),
            "count is -1; give a number of at least 1",
        ),
        (lambda: hg.Simulation(falling(), dt="a"), "dt is 'a'; give a number"),  # type: ignore[arg-type]
        (lambda: hg.Simulation(falling(), dt=0.1).run(-1), "steps is -1; give a number of at lea"),
        (lambda: hg.GaussSeidel(sweeps=0), "sweeps is 0; give a number of at least 1"),
        (lambda: hg.Jacobi(relaxation=1.5), "relaxation is 1.5; give a number of at most 1"),
    ],
)
def test_bad_values_in_python_are_explained_too(make: Any, sentence: str) -> None:
    with pytest.raises(hg.InputError) as refused:
        make()
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)
