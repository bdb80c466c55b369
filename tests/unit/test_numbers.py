"""No state with a number that is none is begun with, gone on from or made without a word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.io.runwriter import RunWriter
from hardgrain.run.observers import Recorder
from hardgrain.scene.scene import GrainArrays

ENGINES = (hg.RigidGrains(), hg.SoftParticles(stiffness=1e3, substeps=20))
ARRAYS = ("position", "velocity", "spin", "orientation")


def scene(**more: object) -> hg.Scene:
    keys: dict[str, object] = {
        "gravity": [0.0, -1.0],
        "grains": [hg.Grains(place=hg.At(positions=[[0.0, 0.5], [1.5, 0.5]]))],
        "walls": [hg.Plane(name="floor", point=[0.0, 0.0], normal=[0.0, 1.0])],
    }
    return hg.Scene(**{**keys, **more})


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("body", [1, 2])
def test_a_state_that_is_set_is_tested_whole(name: str, body: int) -> None:
    sim = hg.Simulation(scene(), dt=0.01)
    state = sim.state.copy()
    getattr(state, name)[body, 0] = np.nan
    who = "grain 1" if body == 1 else "wall 'floor'"
    with pytest.raises(hg.InputError, match=rf"{who} the {name} \(nan.*not a number"):
        sim.state = state
    with pytest.raises(hg.InputError, match="shape"):
        sim.state = replace(sim.state, position=np.zeros((2, 2)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ARRAYS)
def test_a_step_that_makes_nan_ends_the_run(engine: object, name: str) -> None:
    sim = hg.Simulation(scene(), dt=0.01, engine=engine)  # type: ignore[arg-type]
    sim.step()
    getattr(sim.state, name)[1, 0] = np.nan  # behind the back of the setter
    with pytest.raises(hg.RunError, match=r"not (a )?number.*the last frame written is intact"):
        sim.step()


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_wall_that_turns_too_fast_is_told(dimension: int) -> None:
    """The drum's angle has no digits left, or none at all; the grains would fall through."""
    drum = hg.Drum(center=[0.0] * dimension, radius=5.0, spin=1e160)
    grains = [hg.Grains(place=hg.At(positions=[[0.0] * dimension]))]
    gravity = [0.0] * (dimension - 1) + [-1.0]
    made = scene(dimension=dimension, gravity=gravity, grains=grains, walls=[drum])
    with pytest.raises(hg.RunError, match=r"step 1 gave.*no"):
        hg.Simulation(made, dt=0.01).run(10, progress=False)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_file_with_nan_is_neither_gone_on_with_nor_started_from(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "run.h5"
    sim = hg.Simulation(scene(), dt=0.01)
    sim.run(2, output=path, progress=False)
    with RunWriter.resume(path)[0] as writer:
        getattr(sim.state, name)[1, 0] = np.nan  # which no step would have let pass
        sim.state.step += 1
        Recorder(sim, writer).write(with_contacts=True)
    with pytest.raises(hg.InputError, match="number"):
        hg.Simulation.resume(path, 4, progress=False)
    start = hg.Scenario(dt=0.01, scene=scene(), start={"file": str(path)})
    with pytest.raises(hg.InputError, match="number"):
        hg.Simulation(start)


@pytest.mark.parametrize("name", ["position", "radius", "velocity", "spin"])
def test_grains_with_nan_are_refused(name: str) -> None:
    arrays = {
        "position": np.array([[0.0, 0.5], [1.5, 0.5]]),
        "radius": np.full(2, 0.5),
        "velocity": np.zeros((2, 2)),
        "spin": np.zeros((2, 1)),
        "group": np.zeros(2, np.int32),
    }
    arrays[name][1] = np.nan
    with pytest.raises(hg.InputError):
        hg.Simulation(scene(), dt=0.01, start=GrainArrays(**arrays))


@pytest.mark.parametrize("radius", [0.0, -0.5])
def test_grains_without_size_are_refused(radius: float) -> None:
    sizes = np.array([0.5, radius])
    grains = GrainArrays(
        np.array([[0.0, 0.5], [1.5, 0.5]]), sizes, np.zeros((2, 2)), np.zeros((2, 1)),
        np.zeros(2, np.int32),
    )  # fmt: skip
    with pytest.raises(hg.InputError, match="grain 1 has the radius"):
        hg.Simulation(scene(), dt=0.01, start=grains)


def test_a_scene_where_places_cannot_be_resolved_is_refused() -> None:
    """Doubles near 10¹⁵ lie an eighth of a grain apart."""
    far = hg.Grains(place=hg.At(positions=[[1e15, 0.5]]))
    with pytest.raises(hg.InputError, match=r"grain 0 the position \(1e\+15.*far from the origin"):
        hg.Simulation(scene(grains=[far]), dt=0.01)


def test_a_grain_that_flies_so_far_ends_the_run() -> None:
    fast = hg.Grains(place=hg.At(positions=[[0.0, 0.5]]), velocity=[1e12, 0.0])
    sim = hg.Simulation(scene(grains=[fast]), dt=0.01)
    with pytest.raises(hg.RunError, match="far from the origin"):
        sim.run(10, progress=False)
