"""The progress line: what it says, how often, and that compilation is announced."""

import os
import shutil
import subprocess
import sys

import pytest

import hardgrain as hg
from hardgrain import parallel
from hardgrain.cli import starter, warmup
from hardgrain.kernels import cache_folder
from hardgrain.run.progress import PERIOD, Progress, duration

from ..warm import warmed


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599.6, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_duration(seconds, words):
    assert duration(seconds) == words


@pytest.fixture
def sim(scenario):
    return hg.Simulation(hg.load(scenario))


def test_line_tells_the_state_and_the_time_left(sim):
    progress = Progress([hg.Steps(steps=10), hg.Time(time=100.0)])
    progress._first = 0.0, 0
    for _ in range(5):
        report = sim.step()
    line = progress.line(sim, report, 20.0)
    assert " 50%" in line
    for part in (
        "step 5",
        "time 0.05",
        "20 s left",
        f"{report.sweeps} sweeps",
        "kinetic",
        "residual",
        "overlap",
    ):
        assert part in line


def test_at_rest_has_no_time_left_or_at_most_one(sim):
    report = sim.step()
    free = Progress([hg.AtRest()])
    free._first = 0.0, 0
    assert "left" not in free.line(sim, report, 20.0)
    capped = Progress([hg.AtRest(), hg.Steps(steps=2)])
    capped._first = 0.0, 0
    assert "at most 20 s left" in capped.line(sim, report, 20.0)


def test_live_line_in_a_terminal_is_not_redrawn_at_every_step(hardgrain, scenario, monkeypatch):
    hardgrain("run", scenario, "--quiet")  # compiles
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    result = hardgrain("run", scenario, "--overwrite")
    assert "step 1 " in result.err
    assert result.err.count("step ") < 2.0 + 5.0 / PERIOD  # 30 steps; the run takes well below 5 s


def test_compilation_is_announced_once_where_there_is_no_terminal(capsys):
    with Progress() as progress:
        progress.compiling("relax", 1)
        progress.compiling("residual", 2)
    err = capsys.readouterr().err
    assert err.count("compiling kernels, first run only") == err.count("\n") == 1
    with Progress(quiet=True) as progress:
        progress.compiling("relax", 1)
    assert capsys.readouterr().err == ""


ALL_STARTERS = """
import tomllib
import warnings

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.kernels import announce
from hardgrain.run.scenario import parse

warnings.simplefilter("ignore")
runs = 0
with announce(lambda name, count: print("compiled:", name)):
    for name in starter.names():
        data = tomllib.loads(starter.text(name))
        for change in ({}, {"order": "coloured"}, {"stop": "residual"}):
            data["solver"] |= {"sweeps": 5, **change}
            hg.Simulation(parse(data)).run(2)
            runs += 1
    for name in ("settling-box", "drum"):
        data = tomllib.loads(starter.text(name))
        data["engine"] = {"kind": "soft-particles", "stiffness": 1e-3}
        hg.Simulation(parse(data)).run(2)
        runs += 1
print(runs, "runs")
"""


def test_warmup_leaves_nothing_to_compile(tmp_path):
    """A new process that finds only what a warm-up has left compiles nothing for any starter."""
    cache = shutil.copytree(warmed(), tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, "-c", ALL_STARTERS],
        env=os.environ | {"HARDGRAIN_CACHE": str(cache)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{3 * len(starter.names()) + 2} runs\n"


def test_warmup_says_when_it_is_done(hardgrain, monkeypatch):
    """With one small run in place of all, and no other processes."""
    one = next(warmup._small_runs())
    monkeypatch.setattr(warmup, "_small_runs", lambda: iter([one]))
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    result = hardgrain("warmup")
    assert result.code == 0
    assert f"all kernels are ready, in {cache_folder()} (" in result.out
