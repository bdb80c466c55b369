"""Many steps at one go are the same steps: no bit depends on where the engine pauses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.model import State
from hardgrain.errors import ImplausibleRunWarning
from hardgrain.io.runfile import RunFile
from hardgrain.run.plausible import OVERLAP
from hardgrain.step.pause import Pause
from hardgrain.step.report import Stride

from .cases import scenario

# lean in 2D and 3D, all laws with a drum and changing drives, pistons with rolling resistance
CASES = [
    "box_2d", "turned_2d", "drum_3d", "pistons_2d", "plates_3d", "polygons_2d", "boxes_3d",
    "events_3d",
]  # fmt: skip


class Counted:
    """Counts how often Python hands over to an engine."""

    def __init__(self, sim: hg.Simulation) -> None:
        self.calls, self._march = 0, sim.engine.march
        sim.engine.march = self  # type: ignore[method-assign]

    def __call__(self, state: State, pause: Pause) -> Stride:
        self.calls += 1
        return self._march(state, pause)


def settling(**law: Any) -> hg.Scene:
    """Disks that fall into a box."""
    return hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.5, **law)],
        grains=[hg.Grains(count=40, place=hg.Loose(min=[0, 0], max=[6, 12]), speed=0.5)],
        walls=[hg.Box(min=[0, 0], max=[6, 12], open=["top"])],
    )


def bits(sim: hg.Simulation) -> list[bytes]:
    """All numbers of a state."""
    s, c = sim.state, sim.state.contacts
    arrays = (s.position, s.velocity, s.spin, s.orientation, c.first, c.second, c.impulse, c.torque)
    return [a.tobytes() for a in arrays]


@pytest.mark.parametrize("name", CASES)
def test_a_march_is_its_steps(name: str, tmp_path: Path) -> None:
    marched, stepped = hg.Simulation(scenario(name)), hg.Simulation(scenario(name))
    marched.run(150, output=tmp_path / "marched.h5", progress=False)
    # a function of the user's sees every step, so that the engine pauses after each
    seen: list[int] = []
    stepped.run(
        150, output=tmp_path / "stepped.h5", progress=lambda sim, report: seen.append(report.step)
    )
    assert seen == list(range(1, 151))
    assert bits(marched) == bits(stepped)
    assert marched.totals == stepped.totals
    with RunFile(tmp_path / "marched.h5") as a, RunFile(tmp_path / "stepped.h5") as b:
        assert a.history.keys() == b.history.keys()
        for column in a.history:
            np.testing.assert_array_equal(a.history[column], b.history[column], column)


@pytest.mark.parametrize("law", [{}, {"rolling": 0.1}], ids=["lean", "full"])
@pytest.mark.parametrize("stop", ["sweeps", "local", "global", "residual"])
def test_whatever_ends_its_sweeps(stop: Any, law: dict[str, float]) -> None:
    given: dict[str, float] = {} if stop == "sweeps" else {"tolerance": 1e-3}
    solver = hg.GaussSeidel(sweeps=30, stop=stop, **given)  # type: ignore[arg-type]
    marched = hg.Simulation(settling(**law), dt=0.02, solver=solver)
    stepped = hg.Simulation(settling(**law), dt=0.02, solver=solver)
    calls = Counted(marched)
    marched.run(200, progress=False)
    for _ in range(200):
        stepped.step()
    assert bits(marched) == bits(stepped)
    assert calls.calls < 100


def test_python_sees_a_run_at_rest_only_when_it_must(tmp_path: Path) -> None:
    sim = hg.Simulation(settling(), dt=0.02, solver=hg.GaussSeidel(sweeps=50))
    sim.run(1000, progress=False)
    calls = Counted(sim)
    sim.run(2000, output=tmp_path / "rest.h5", every=100, progress=False)
    frames, looks = 10, calls.calls - 10
    assert calls.calls >= frames
    assert looks <= 20  # at the contact network, for new pair lists, and for the user to be heard


def test_it_ends_with_the_step_that_comes_to_rest() -> None:
    marched = hg.Simulation(settling(), dt=0.02, solver=hg.GaussSeidel(sweeps=100))
    stepped = hg.Simulation(settling(), dt=0.02, solver=hg.GaussSeidel(sweeps=100))
    rest = hg.AtRest(speed=1e-3, steps=30)
    summary = marched.run([rest, 5000], progress=False)
    assert summary.ended == "at rest"
    while not rest(stepped):
        stepped.step()
    assert stepped.state.step == marched.state.step
    assert bits(marched) == bits(stepped)


def test_a_step_that_cannot_be_is_found_among_many() -> None:
    """The limit of overlaps is set to what the first steps reach: the run ends with the next."""
    solver = hg.GaussSeidel(sweeps=20)
    free = hg.Simulation(settling(), dt=0.02, solver=solver)
    deepest = np.array([free.step().deepest for _ in range(400)])
    limit = deepest[:60].max()
    first = int(np.argmax(deepest > limit))
    assert first > 60

    def ended(progress: Any) -> hg.Simulation:
        sim = hg.Simulation(settling(), dt=0.02, solver=solver)
        sim.totals.overlap_start = limit - OVERLAP
        with pytest.warns(ImplausibleRunWarning, match="overlap"):
            sim.run(400, progress=progress)
        return sim

    marched, stepped = ended(False), ended(lambda sim, report: None)
    assert marched.implausible == stepped.implausible
    assert marched.state.step == stepped.state.step == first
    assert bits(marched) == bits(stepped)
    assert marched.totals == stepped.totals


def test_arrays_of_any_layout_can_be_set() -> None:
    sim = hg.Simulation(settling(), dt=0.02, solver=hg.GaussSeidel(sweeps=20))
    other = hg.Simulation(settling(), dt=0.02, solver=hg.GaussSeidel(sweeps=20))
    sim.run(50, progress=False)
    other.run(50, progress=False)
    s = sim.state
    s.position, s.velocity = np.asfortranarray(s.position), np.asfortranarray(s.velocity)
    s.spin.flags.writeable = False
    c = s.contacts
    c.normal, c.impulse = np.asfortranarray(c.normal), np.asfortranarray(c.impulse)
    sim.run(100, progress=False)
    other.run(100, progress=False)
    assert bits(sim) == bits(other)


CELLS: dict[str, tuple[int, Any, dict[str, float]]] = {
    "sheared": (2, hg.SimpleShear(rate=1.0, pressure=5.0), {}),
    "pressed": (3, hg.Isotropic(pressure=5.0), {}),
    "rolling": (2, hg.Isotropic(pressure=5.0), {"rolling": 0.1}),
    "changing": (2, hg.SimpleShear(rate="sin(t)", pressure="5 + t"), {}),
}


@pytest.mark.parametrize("name", list(CELLS))
@pytest.mark.filterwarnings("ignore")
def test_a_march_in_a_cell_that_deforms_is_its_steps(name: str) -> None:
    dim, cell, law = CELLS[name]
    sims = []
    for _ in range(2):
        scene = hg.Scene(
            dimension=dim,
            periodic=dict.fromkeys("xyz"[:dim], (0.0, 6.0)),
            cell=cell,
            contacts=[hg.ContactLaw(friction=0.5, **law)],  # type: ignore[arg-type]
            grains=[
                hg.Grains(count=30, place=hg.Loose(min=[0.0] * dim, max=[6.0] * dim), speed=0.5)
            ],
        )
        sims.append(hg.Simulation(scene, dt=0.02, solver=hg.GaussSeidel(sweeps=20)))
    marched, stepped = sims
    calls, seen = Counted(marched), [marched.state.cell]
    marched.run(150, progress=False)
    for _ in range(150):
        stepped.step()
    assert bits(marched) == bits(stepped)
    assert marched.state.cell.tobytes() == stepped.state.cell.tobytes()
    assert (calls.calls == 150) == (name == "changing")  # which Python is asked about in each step
    assert not np.array_equal(seen[0], marched.state.cell)  # nobody's array was changed in place
