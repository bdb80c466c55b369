"""A run that is killed, interrupted or continued ends with the bits of one that never stopped."""

from __future__ import annotations

import os
import random
import runpy
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import pytest

import hardgrain as hg
from hardgrain.io.runfile import RunFile

from ..until import LAST
from .cases import frames, scenario

SCRIPT = Path(__file__).with_name("cases.py")
FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(["hardgrain.run.simulation", "hardgrain.io.runfile"])
STOPPED = [
    "box_2d", "drum_3d", "pistons_2d", "soft_3d", "rigid_2d", "turned_2d", "hopper_2d", "plates_3d",
    "polygons_2d", "boxes_3d", "events_2d", "events_3d",
]  # fmt: skip
SIGNALS = [("box_2d", signal.SIGINT), ("drum_3d", signal.SIGTERM), ("pistons_2d", signal.SIGINT)]

pytestmark = [
    pytest.mark.rounding,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Files of uninterrupted runs, each made once."""
    folder = tmp_path_factory.mktemp("never-stopped")

    def find(name: str) -> Path:
        path: Path = folder / f"{name}.h5"
        if not path.exists():
            hg.Simulation(scenario(name)).run(output=path)
        return path

    return find


def same(name: str, path: Path, other: Path) -> None:
    """All regular frames, the last frame and the history agree to the last bit."""
    every = scenario(name).output.every
    a, b = frames(path, every), frames(other, every)
    assert a.keys() == b.keys()
    for step in b:
        # where a run has paused there are contacts, whether a regular frame has them or not
        assert a[step].keys() >= b[step].keys(), step
        for field in b[step]:
            assert a[step][field] == b[step][field], (step, field)
    assert finished(path)


def last_step(name: str) -> int:
    last = scenario(name).stop.steps  # type: ignore[union-attr]
    assert last is not None
    return last


def finished(path: Path) -> bool:
    with h5py.File(path, "r", swmr=True, locking=False) as h5:
        return bool(h5["committed/finished"][()])


def stop_at(action: str, name: str, path: Path, step: int, number: int, delay: float) -> str:
    """Start or resume a run in a process of its own, send it a signal after a step; its last word.

    The process is forked from one that has imported the package and done nothing else.
    """
    reader, writer = FORKED.Pipe(duplex=False)
    arguments = action, name, str(path), "{}", str(last_step(name) - 1), writer.send
    script = str(SCRIPT), {"ARGUMENTS": arguments}, "__main__"
    child = FORKED.Process(target=runpy.run_path, args=script)
    signalled = path.with_name("signalled")
    child.start()
    writer.close()
    try:
        while int(reader.recv().removeprefix("step ")) < step:
            pass
        time.sleep(delay)  # into a step or a write
        assert child.pid is not None
        os.kill(child.pid, number)
        signalled.touch()
        said = ""
        with suppress(EOFError, OSError):  # the end, or half a word
            while True:
                said = reader.recv()
        child.join(LAST)
    finally:
        child.kill()
    signalled.unlink()
    assert child.exitcode == (-number if number == signal.SIGKILL else 0)
    return said


@pytest.mark.parametrize("name", STOPPED)
def test_killed_again_and_again(
    name: str, tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    """SIGKILL at random moments, of a new run and of a resumed one, within steps and writes."""
    path = tmp_path / "run.h5"
    chance = random.Random(name)
    last = last_step(name)
    action = "run"
    for step in sorted(chance.sample(range(1, int(0.8 * last)), 2)):
        stop_at(action, name, path, step, signal.SIGKILL, chance.uniform(0.0, 0.004))
        with RunFile(path) as run:
            assert run[-1].step < last
        action = "resume"
    hg.Simulation.resume(path)
    same(name, path, never_stopped(name))


@pytest.mark.parametrize(("name", "number"), SIGNALS)
def test_interrupted(
    name: str, number: int, tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    """Ctrl-C and a polite kill end the run after the step in hand, with a frame of that step."""
    path = tmp_path / "run.h5"
    said = stop_at("run", name, path, 100, number, 0.001)
    assert said.startswith("interrupted")
    with RunFile(path) as run:
        assert run[-1].step == int(said.split()[-1])
        assert run[-1].step == run.history["step"][-1]
        assert run.contacts(-1) is not None
    assert not finished(path)
    _, summary = hg.Simulation.resume(path)
    assert summary.finished
    same(name, path, never_stopped(name))


@pytest.mark.parametrize("name", STOPPED)
def test_resuming_a_finished_run_changes_nothing(
    name: str, tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    path = tmp_path / "run.h5"
    path.write_bytes(never_stopped(name).read_bytes())
    for _ in range(2):
        sim, summary = hg.Simulation.resume(path)
        assert summary.finished
        assert summary.steps == sim.state.step == scenario(name).stop.steps  # type: ignore[union-attr]
        assert frames(path, 1) == frames(never_stopped(name), 1)
        assert finished(path)
    with RunFile(path) as run:
        assert run.contacts(-1) is not None  # whatever contacts_every says


@pytest.mark.parametrize("name", STOPPED)
def test_a_finished_run_can_go_on(
    name: str, tmp_path: Path, never_stopped: Callable[[str], Path]
) -> None:
    """Ended early, then continued to the same end."""
    path = tmp_path / "run.h5"
    hg.Simulation(scenario(name)).run(until=123, output=path)
    assert finished(path)
    hg.Simulation.resume(path)
    same(name, path, never_stopped(name))


def test_stop_conditions_remember(tmp_path: Path) -> None:
    """At rest for some steps in a row: those before the interruption count."""
    at_rest = hg.AtRest(speed=0.05, steps=40)
    whole = hg.Simulation(scenario("box_2d"))
    end = whole.run(until=[at_rest, 3000], output=tmp_path / "whole.h5")
    assert end.ended == "at rest"
    path = tmp_path / "run.h5"
    hg.Simulation(scenario("box_2d")).run(until=end.steps - 10, output=path)
    _, resumed = hg.Simulation.resume(path, until=[at_rest, 3000])
    assert resumed.steps == end.steps
    same("box_2d", path, tmp_path / "whole.h5")


def test_functions_given_in_python(tmp_path: Path) -> None:
    """A run driven by a Python function goes on when it is given the scene again, else says why."""

    def shake(t: float) -> float:
        return 0.3 * (1 if int(2 * t) % 2 else -1)

    def make() -> hg.Scene:
        scene: Any = scenario("box_2d").scene
        floor = hg.Plane(point=[0, -1], normal=[0, 1], name="floor", velocity=[0, shake])
        return scene.model_copy(update={"walls": [*scene.walls, floor]})  # type: ignore[no-any-return]

    files = [tmp_path / "whole.h5", tmp_path / "run.h5"]
    for path, steps in zip(files, (200, 90), strict=True):
        hg.Simulation(make(), dt=0.02, seed=5).run(until=steps, output=path, every=7)
    with pytest.raises(hg.InputError, match=r"shake.*was given in Python"):
        hg.Simulation.resume(files[1], until=200)
    hg.Simulation.resume(files[1], until=200, scene=make())
    same("box_2d", files[1], files[0])


def test_resume_in_another_folder(tmp_path: Path, never_stopped: Callable[[str], Path]) -> None:
    """A copied file of a run that is still going resumes by itself and harms nothing."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    stop_at("run", "box_2d", first / "run.h5", 200, signal.SIGKILL, 0.0)
    before = (first / "run.h5").read_bytes()
    (second / "run.h5").write_bytes(before)
    here = os.getcwd()
    try:
        os.chdir(second)
        hg.Simulation.resume("run.h5")
    finally:
        os.chdir(here)
    same("box_2d", second / "run.h5", never_stopped("box_2d"))
    assert (first / "run.h5").read_bytes() == before
