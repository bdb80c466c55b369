"""The progress line: what it says, how often, and that compilation is announced."""

import os
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest

import hardgrain as hg
from hardgrain import parallel
from hardgrain.cli import starter, warmup
from hardgrain.kernels import cache_folder
from hardgrain.run.computing import throughput
from hardgrain.run.progress import PERIOD, Progress, duration, span

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


def paced(until, clock):
    """A progress of a run whose k-th step was done at clock[k] [s]."""
    progress = Progress(until)
    for step, now in enumerate(clock):
        progress.pace.note(now, step)
    return progress


def test_line_tells_the_state_and_the_time_left(sim):
    progress = paced([hg.Steps(steps=10), hg.Time(time=100.0)], [4.0 * k for k in range(6)])
    for _ in range(5):
        report = sim.step()
    line = progress.line(sim, report)
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


def test_line_tells_how_many_cores_share_the_work(scenario):
    loaded = hg.load(scenario, {"solver.order": "tiles", "solver.threads": 1})
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        solver = loaded.solver.model_copy(update={"threads": threads})
        sim = hg.Simulation(loaded.model_copy(update={"solver": solver}))
        assert not throughput(sim)  # before the first step
        while not sim.updates:
            sim.step()
        assert throughput(sim).endswith(f"on {threads} core{'s' * (threads > 1)}")
        assert throughput(sim) in Progress().line(sim, sim.report)
    sim.engine.gpu = "NVIDIA H200"
    assert throughput(sim).endswith("on NVIDIA H200")


def test_at_rest_has_no_time_left_or_at_most_one(sim):
    report = sim.step()
    assert "left" not in paced([hg.AtRest()], [0.0, 20.0]).line(sim, report)
    capped = paced([hg.AtRest(), hg.Steps(steps=2)], [0.0, 20.0]).line(sim, report)
    assert "about 20 s left unless at rest before" in capped


@pytest.mark.parametrize("columns", [80, 60])
def test_line_fits_the_terminal_with_its_residual(sim, columns):
    """Even of a long run that is hard to foresee."""
    for _ in range(5):
        report = sim.step()
    report = report._replace(step=1_234_567, time=12345.678, sweeps=100_000, residual=1e-4)
    clock = [0.0, *(3600.0 + 7200.0 * k for k in range(9))]
    progress = paced([hg.Steps(steps=50)], clock)
    line = progress.line(sim, report, columns)
    assert len(line) <= columns
    assert "residual 1e-04" in line
    assert "step 1234567" in line
    assert columns == 60 or " left" in line


@pytest.mark.parametrize("growth", [-0.8, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("done", [0.1, 0.3, 0.7])
def test_time_left_is_within_what_was_said(growth, done):
    """Of a run whose steps take the longer the later they are, or the shorter."""
    steps = 2000
    cost = 0.1 * (1.0 + growth * np.arange(steps) / steps)
    clock = np.concatenate([[0.0], np.cumsum(cost)])
    now = int(done * steps)
    low, high = paced([], clock[: now + 1]).pace.left(steps - now)
    true = clock[-1] - clock[now]
    assert low * 0.99 <= true <= high * 1.01  # halves of whole steps, and marks every 0.1 s
    assert high / low < 3.0  # and it says something


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (50, 58, "about 54 s"),
        (20 * 60, 46 * 60, "20 to 46 min"),
        (3600, 9000, "60 to 150 min"),
        (8, 90, "8 s to 1 min 30 s"),
    ],
)
def test_span(low, high, words):
    assert span(low, high) == words


def test_a_log_gets_lines_ever_more_seldom(sim, capsys, monkeypatch):
    clock = iter(np.arange(0.0, 3600.0, 0.5))
    monkeypatch.setattr("hardgrain.run.progress.time.perf_counter", lambda: next(clock))
    report = sim.step()
    with Progress([hg.Steps(steps=10)]) as progress:
        for _ in range(7000):
            progress(sim, report)
    lines = capsys.readouterr().err.splitlines()
    assert 20 < len(lines) < 60
    assert all("step 1 " in line and "residual" in line for line in lines)
    with Progress(quiet=True) as progress:
        for _ in range(100):
            progress(sim, report)
    assert capsys.readouterr().err == ""


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
        orders = [] if "cell" in data["scene"] else [{"order": "coloured"}]
        for change in ({}, *orders, {"stop": "residual"}):
            data["solver"] = {"sweeps": 5, **change}
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
    cells = sum(
        "cell = " in starter.text(name) or ".cell]" in starter.text(name)
        for name in starter.names()
    )
    assert done.stdout == f"{3 * len(starter.names()) - cells + 2} runs\n"


def test_warmup_says_when_it_is_done(hardgrain, monkeypatch):
    """With one small run in place of all, and no other processes."""
    one, asked = next(warmup._small_runs()), []

    def small_runs(orders):
        asked.append(orders)
        return iter([one])

    monkeypatch.setattr(warmup, "_small_runs", small_runs)
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    for options in ([], ["--tiles"]):
        result = hardgrain("warmup", *options)
        assert result.code == 0
        assert f"all kernels are ready, in {cache_folder()} (" in result.out
        assert ("tiles" in asked[-1]) == bool(options)


def test_warmup_knows_tiles_if_asked():
    names = [name for name, _, _ in warmup._small_runs((*warmup.ORDERS, "tiles"))]
    assert sum(name.endswith("tiles order") for name in names) == 4  # 2D and 3D, plain and all laws
    assert not any(name.endswith("tiles order") for name, _, _ in warmup._small_runs())
