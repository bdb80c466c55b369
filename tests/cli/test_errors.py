"""Bad input ends in one sentence that names the field, the value and what is valid; exit code 2."""

import copy
import errno
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.io.layout import _keep, _text
from hardgrain.run.scenario import change, parse

BASE = tomllib.loads((Path(__file__).parent / "scenario.toml").read_text())
NAN = float("nan")


def changed(path: str, value: Any) -> dict[str, Any]:
    """The base scenario with one value put in; ... takes it out."""
    data = copy.deepcopy(BASE)
    *way, last = (int(part) if part.isdigit() else part for part in path.split("."))
    here: Any = data
    for part in way:
        here = here[part]
    if value is ...:
        del here[last]
    else:
        here[last] = value
    return data


GRAINS, WALL = "scene.grains.0", "scene.walls.0"

BAD = [
    (f"{GRAINS}.diameter", -1, ["scene.grains[0].diameter is -1", "greater than 0"]),
    (f"{GRAINS}.diameter", [1.0, -0.5], ["scene.grains[0].diameter[1] is -0.5", "greater than 0"]),
    (f"{GRAINS}.diameter", NAN, ["diameter is nan", "finite number"]),
    (f"{GRAINS}.diameter", "big", ["diameter is 'big'", "a number, a list of numbers, or a table"]),
    (f"{GRAINS}.diameter", 1e-200, ["diameter is 1e-200", "other units"]),
    (f"{GRAINS}.count", 10**8, ["count", "100000000"]),
    (f"{GRAINS}.count", 1.5, ["scene.grains[0].count is 1.5", "a whole number"]),
    (f"{GRAINS}.count", True, ["scene.grains[0].count is true", "a whole number"]),
    (f"{GRAINS}.count", "20", ["scene.grains[0].count is '20'", "a whole number"]),
    (f"{GRAINS}.diameter", 5e-324, ["scene.grains[0].diameter is 4.94066e-324", "1e-100"]),
    (f"{GRAINS}.diameter", 1e200, ["scene.grains[0].diameter is 1e+200", "1e+100"]),
    (f"{GRAINS}.velocity", [1, 2, 3], ["scene.grains[0].velocity", "dimension 2 takes 2"]),
    (f"{GRAINS}.spin", "fast", ["scene.grains[0].spin is 'fast'", "a number or a list"]),
    (f"{GRAINS}.place", ..., ["scene.grains[0].place is missing", "'grid'"]),
    (f"{GRAINS}.place", {"kind": "lose"}, ["place.kind is 'lose'", "did you mean 'loose'?"]),
    (f"{GRAINS}.place", {}, ["place.kind is missing", "grid, deposit, loose, at"]),
    (f"{GRAINS}.place.max", [6, NAN], ["scene.grains[0].place.max[1] is nan", "finite"]),
    (f"{GRAINS}.lock", ["z"], ["scene.grains[0].lock holds 'z'", "'x', 'y' and 'rotation'"]),
    (f"{GRAINS}.colour", "red", ["scene.grains[0].colour is not a known key", "known keys are"]),
    (f"{GRAINS}.cuont", 3, ["scene.grains[0].cuont is not a known key", "did you mean 'count'?"]),
    ("scene.grains", {}, ["scene.grains is a table", "[[scene.grains]]"]),
    ("scene.grains", [], ["scene.grains is empty", "at least one grain"]),
    ("scene.gravity", [0, NAN], ["scene.gravity[1] is nan", "a finite number"]),
    ("scene.gravity", ["0", "-1"], ["scene.gravity[0] is '0'", "a number"]),
    ("scene.allow_overlaps", "yes", ["scene.allow_overlaps is 'yes'", "true or false"]),
    (f"{WALL}.name", "a\0b", ["scene.walls[0].name is 'a\\x00b'", "without invisible"]),
    (f"{WALL}.name", "ä" * 128, ["scene.walls[0].name is 'ä", "at most 255 bytes"]),
    ("output.file", "a" * 300, ["output.file is 'a", "at most 255 bytes"]),
    ("start", {"file": "a\0.h5"}, ["start.file is 'a\\x00.h5'", "without invisible"]),
    (
        "engine",
        {"kind": "soft-particles", "stiffness": 1, "substeps": 10**8},
        ["engine.substeps is 100000000", "at most 1e+06"],
    ),
    ("scene.gravity", [0, -1, 0], ["scene.gravity", "dimension 2 takes 2"]),
    ("scene.dimension", 3, ["scene.gravity is [0.0, -1.0]", "dimension 3 takes 3"]),
    ("scene.dimension", 4, ["scene.dimension is 4", "2 or 3"]),
    ("scene.periodic", {"x": [1, 0]}, ["scene.periodic.x is [1, 0]", "low < high"]),
    ("scene.contacts.0.friction", -0.1, ["scene.contacts[0].friction is -0.1", "at least 0"]),
    ("scene.contacts.0.restitution", 2, ["scene.contacts[0].restitution is 2", "at most 1"]),
    ("scene.contacts.0.between", ["a", "grain"], ["between is 'a'", "materials are 'grain'"]),
    ("scene.contacts.0.torsion", 0.1, ["scene.contacts[0].torsion is 0.1", "only in 3D"]),
    ("scene.materials", {"a": {"density": 0}}, ["scene.materials.a.density is 0", "than 0"]),
    (f"{WALL}.kind", "bocks", ["scene.walls[0].kind is 'bocks'", "box"]),
    (f"{WALL}.open", ["up"], ["scene.walls[0] names the side 'up'", "left, right, bottom, top"]),
    (f"{WALL}.max", [1, 8], ["leaves room for 0 of 12 grains", "that no wall cuts"]),
    (f"{WALL}.pistons", {"right": {"mass": 1}}, ["pistons.right", "force or pressure"]),
    (
        f"{WALL}.pistons",
        {"right": {"mass": 1, "force": "sni(t)"}},
        ["scene.walls[0].pistons.right.force", "'sni(t)'", "did you mean 'sin'?"],
    ),
    ("dt", 0, ["dt is 0", "greater than 0"]),
    ("dt", -1, ["dt is -1", "greater than 0"]),
    ("dt", 1e300, ["dt is 1e+300", "at most 1e+100"]),
    ("dt", 1e-300, ["dt is 1e-300", "at least 1e-100"]),
    ("dt", NAN, ["dt is nan", "finite"]),
    ("dt", True, ["dt is true", "a number"]),
    ("dt", "0.1", ["dt is '0.1'", "a number"]),
    ("dt", ..., ["dt is missing", "greater than 0"]),
    ("seed", -1, ["seed is -1", "at least 0"]),
    ("scene", ..., ["scene is missing", "[scene]"]),
    ("scene", 7, ["scene is 7", "a table"]),
    ("stop", ..., ["stop is missing", "steps, time or at_rest"]),
    ("stop", {}, ["stop is empty", "steps, time or at_rest"]),
    ("stop.at_rest", {"sped": 1}, ["stop.at_rest.sped", "did you mean 'speed'?"]),
    ("solver.order", "randon", ["solver.order is 'randon'", "'random'"]),
    ("solver.sweeps", 0, ["solver.sweeps is 0", "at least 1"]),
    ("solver.tolerance", 1e-6, ["solver", "tolerance is 1e-06", "stop = 'residual'"]),
    ("solver.kind", "gauss-siedel", ["solver.kind", "did you mean 'gauss-seidel'?"]),
    ("outptu", {}, ["outptu is not a known key", "did you mean 'output'?"]),
    ("start", {"file": "none.h5"}, ["none.h5 does not exist"]),
]


def sentence(data: dict[str, Any]) -> str:
    with pytest.raises(hg.InputError) as caught:
        hg.Simulation(parse(data))
    return str(caught.value)


@pytest.mark.parametrize(("path", "value", "words"), BAD, ids=[f"{p}={v}" for p, v, _ in BAD])
def test_bad_value(path, value, words):
    said = sentence(changed(path, value))
    assert "\n" not in said
    for word in words:
        assert word in said


def test_number_that_python_does_not_write():
    said = sentence(changed(f"{GRAINS}.count", 10**5000))
    assert "scene.grains[0].count is too large a number; give" in said


def leaves(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*way, key))
        else:
            yield (*way, key), value


DRIVEN = {"spin", "force", "pressure", "velocity", "torque", "stress"}  # a text: over time


@pytest.mark.parametrize("name", starter.names())
def test_no_number_may_be_a_text_or_a_truth(name):
    """Of every number in every starter."""
    data = tomllib.loads(starter.text(name))
    for way, value in leaves(data):
        if isinstance(value, str):
            continue
        texts = () if DRIVEN.intersection(way) else ("x", str(value))
        for junk in (1 if isinstance(value, bool) else True, *texts):
            bad = copy.deepcopy(data)
            change(bad, ".".join(map(str, way)), junk)
            with pytest.raises(hg.InputError):
                parse(bad)


def test_overlapping_grains_name_the_worst_pair():
    data = changed(f"{GRAINS}.place", {"kind": "at", "positions": [[1, 1], [3, 1], [3.2, 1]]})
    del data["scene"]["grains"][0]["count"]
    said = sentence(data)
    assert "grain 1 at (3, 1) overlaps grain 2 by 0.8" in said
    assert "allow_overlaps" in said


def test_segment_in_3d():
    data = changed("scene.dimension", 3)
    data["scene"] |= {
        "gravity": [0, 0, -1],
        "walls": [{"kind": "segment", "start": [0, 0], "end": [1, 1]}],
    }
    data["scene"]["grains"][0]["place"] = {"kind": "loose", "min": [0, 0, 0], "max": [9, 9, 9]}
    assert "scene.walls[0] is a segment; segments exist only in 2D" in sentence(data)


# ---------------------------------------------------------------------- files, on the command line
def refused(result, *words: str) -> None:
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1, "one sentence"
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err


def test_bad_scenario_on_the_command_line(hardgrain, scenario):
    scenario.write_text(scenario.read_text().replace("diameter = 1.0", "diameter = -1.0"))
    refused(hardgrain("run", scenario), "scene.grains[0].diameter is -1.0", "greater than 0")


def test_missing_scenario(hardgrain):
    refused(hardgrain("run", "none.toml"), "none.toml does not exist")


def test_scenario_that_is_no_toml(hardgrain, scenario):
    scenario.write_text("dt = = 3\n")
    refused(hardgrain("run", scenario), "test.toml is not valid TOML", "line 1")


def test_number_with_thousands_of_digits(hardgrain, scenario):
    scenario.write_text(scenario.read_text().replace("seed = 3", "seed = " + "9" * 5000))
    refused(hardgrain("run", scenario), "test.toml is not valid TOML", "digits")


@pytest.mark.parametrize("command", ["run -o", "new silo -o", "info", "plot", "advise"])
def test_name_too_long_for_a_file(hardgrain, scenario, command):
    first, *rest = command.split()
    told = [scenario] if first == "run" else []
    refused(hardgrain(first, *told, *rest, "a" * 300), "aaaa", "File name too long")


def test_scenario_that_is_no_text(hardgrain, scenario):
    scenario.write_bytes(b"\xff\xfe\x00dt")
    refused(hardgrain("run", scenario), "not a text file")


def test_scenario_that_is_a_folder(hardgrain, tmp_path):
    refused(hardgrain("run", tmp_path), "is a folder")


@pytest.mark.parametrize("command", ["info", "resume", "picture"])
def test_not_a_run_file(hardgrain, scenario, command):
    refused(hardgrain(command, "none.h5"), "none.h5 does not exist")
    refused(hardgrain(command, scenario), "test.toml", "not")
    Path("empty.h5").touch()
    refused(hardgrain(command, "empty.h5"), "empty.h5")


@pytest.mark.parametrize("command", ["info", "resume", "picture"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_truncated_run_file(hardgrain, scenario, command, share):
    hardgrain("run", scenario)
    whole = Path("test.h5").read_bytes()
    Path("cut.h5").write_bytes(whole[: int(share * len(whole))])
    refused(hardgrain(command, "cut.h5"), "cut.h5")


@pytest.mark.parametrize("command", ["info", "resume", "picture"])
def test_run_file_of_another_version(hardgrain, scenario, command):
    """Its scenario has a key that is not known here."""
    hardgrain("run", scenario)
    with h5py.File("test.h5", "r+") as h5:
        stored = json.loads(h5["header/scenario"][()])
        stored["scene"]["magnets"] = 3
        for name, text in (("scenario", json.dumps(stored)), ("hardgrain", "9.9")):
            del h5[f"header/{name}"]
            _keep(h5, f"header/{name}", _text(text))
    refused(hardgrain(command, "test.h5"), "test.h5 holds a scenario", "does not understand", "9.9")


def test_unwritable_folder(hardgrain, scenario):
    def last_line(result):
        """Without the start line."""
        lines = result.err.splitlines(keepends=True)
        return type(result)(result.code, result.out, lines[-1])

    refused(last_line(hardgrain("run", scenario, "-o", "nowhere/a.h5")), "nowhere does not exist")
    refused(last_line(hardgrain("run", scenario, "-o", "/proc/a.h5")), "/proc/a.h5")
    refused(hardgrain("demo", "-o", "/proc/demo"), "/proc/demo")
    refused(hardgrain("new", "silo", "-o", "nowhere/a.toml"), "nowhere/a.toml")


def test_no_starter_is_left_half_written(hardgrain, monkeypatch):
    def full(self, *args, **kwargs):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = hardgrain("new", "silo")
    assert (result.code, result.err) == (
        1, "error: silo.toml cannot be written: No space left on device\n"
    )  # fmt: skip
    assert list(Path().iterdir()) == []


COMMAND = [sys.executable, "-m", "hardgrain.cli"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("arguments", [["new", "--list"], ["--help"]])
def test_output_that_cannot_be_written(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "error: the output: No space left on device\n"


def test_terminal_without_unicode(tmp_path):
    """Signs that it cannot show are written with letters."""
    done = subprocess.run(
        [*COMMAND, "measure", "--list"], cwd=tmp_path, capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"|T|/(muN)" in done.stdout
    assert b"Falk-Langer" in done.stdout
    said = "−1·10⁻⁶ ≤ √2 … café ☃".encode("ascii", "plainly")
    assert said == b"-1*10-6 <= sqrt2 ... cafe ?"


def test_errors_of_a_run_that_has_begun_are_not_the_inputs(hardgrain, scenario, monkeypatch):
    def fails(self, state):
        raise hg.InputError("length is 3.95e+151; give less")

    monkeypatch.setattr("hardgrain.run.monitor.Monitor.look", fails)
    result = hardgrain("run", scenario)
    assert result.code == 1
    assert "error: the run failed after step 1: length is 3.95e+151" in result.err


def test_work_beyond_the_range_of_numbers_is_told(scenario):
    sim = hg.Simulation(hg.load(scenario))
    march = sim.engine.march

    def fast(state, pause):
        stride = march(state, pause)
        return replace(stride, wall_work=np.full_like(stride.wall_work, np.inf))

    sim.engine.march = fast
    with pytest.raises(hg.RunError, match="work of wall 'left' in step 1 is beyond the range"):
        sim.step()


def test_threads_beyond_the_machine(hardgrain, scenario):
    refused(hardgrain("run", scenario, "--threads", 100_000), "--threads is 100000", "cores")
