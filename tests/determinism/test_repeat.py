"""The same input gives the same bits: in another process, on any threads, watched or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hardgrain as hg
from hardgrain.io.runfile import RunFile
from hardgrain.run.scenario import Output

from ..until import LAST
from .cases import frames, scenario

pytestmark = pytest.mark.rounding

SCRIPT = Path(__file__).with_name("cases.py")


def run(name: str, path: Path, changes: str = "{}", **environment: str) -> dict[int, Any]:
    """Run a case in a fresh process; all its data."""
    subprocess.run(
        [sys.executable, str(SCRIPT), "run", name, str(path), changes],
        env=os.environ | environment, check=True, timeout=LAST, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return frames(path, 1)


def state_bits(sim: hg.Simulation) -> dict[str, bytes]:
    s, c = sim.state, sim.state.contacts
    arrays = vars(c) | {n: getattr(s, n) for n in ("position", "velocity", "spin", "orientation")}
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("name", ["box_2d", "drum_3d", "soft_3d", "rigid_2d", "turned_2d"])
def test_two_processes(name: str, tmp_path: Path) -> None:
    """Neither hash seeds nor what else the process did may show."""
    one = run(name, tmp_path / "one.h5", PYTHONHASHSEED="1")
    hg.Simulation(scenario(name)).run(output=tmp_path / "two.h5")
    assert frames(tmp_path / "two.h5", 1) == one


def test_another_seed_is_another_run() -> None:
    """The seed decides on places and on the order of the sweeps."""
    sims = [hg.Simulation(scenario("box_2d", seed=seed)) for seed in (5, 6, 5)]
    starts = [state_bits(sim)["position"] for sim in sims]
    assert starts[0] == starts[2] != starts[1]
    # the same grains, swept in another order
    sims[1].state = sims[0].state.copy()
    sims[1].model = sims[1].engine.model = sims[0].model
    sims[1].engine = type(sims[1].engine)(sims[0].model, sims[1].scenario.solver, 0.02, seed=6)
    for sim in sims:
        sim.run(until=150)
    ends = [state_bits(sim)["position"] for sim in sims]
    assert ends[0] == ends[2] != ends[1]


@pytest.mark.parametrize("name", ["coloured_2d", "coloured_3d", "tiles_2d", "tiles_3d"])
def test_threads_do_not_show(name: str, tmp_path: Path) -> None:
    """Colours and tiles on one thread, on two, and where Numba has but one."""
    two = run(name, tmp_path / "two.h5", '{"threads": 2}', NUMBA_NUM_THREADS="2")
    for changes, threads in (('{"threads": 1}', "2"), ("{}", "1")):
        path = tmp_path / f"{threads}{len(changes)}.h5"
        assert run(name, path, changes, NUMBA_NUM_THREADS=threads) == two
    with RunFile(tmp_path / "two.h5") as file:
        assert file.history["candidates"].min() > 4096  # enough for several blocks and threads


def test_threads_do_not_show_in_any_stopping_rule() -> None:
    """Ten blocks and more, which threads share unevenly: what is summed over them has one order."""
    counts = ("1", "2", "3", "4", "7")
    child = subprocess.run(
        [sys.executable, str(SCRIPT), "threads", *counts],
        env=os.environ | {"NUMBA_NUM_THREADS": counts[-1]},
        check=True, timeout=LAST, capture_output=True, text=True,
    )  # fmt: skip
    told = json.loads(child.stdout)
    for rule in ("sweeps", "local", "global", "residual"):
        runs = [t for t in told if t["stop"] == rule]
        assert [str(t.pop("threads")) for t in runs] == list(counts)
        assert min(runs[0]["candidates"]) > 10 * 4096
        assert any(runs[0]["converged"])  # the rule ended the sweeps, not only their cap
        assert all(t == runs[0] for t in runs), rule


def test_threads_do_not_show_in_the_rigid_solver(tmp_path: Path) -> None:
    """Neither those of Numba nor those of the linear algebra below SciPy."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    one, two = (
        run("rigid_2d", tmp_path / f"{n}.h5", **dict.fromkeys(names, n)) for n in ("1", "2")
    )
    assert one == two


def test_output_does_not_show(tmp_path: Path) -> None:
    """Written often, rarely or never, with or without contacts, watched or not: the same run."""
    ends = []
    for k, output in enumerate((None, Output(every=1), Output(every=7, contacts_every=3))):
        case = scenario("pistons_2d", **({} if output is None else {"output": output}))
        sim = hg.Simulation(case)
        if output is None:
            sim.run(until=150)
        else:
            seen: list[hg.Simulation] = []
            sim.run(
                until=150, output=tmp_path / f"{k}.h5", progress=lambda s, _, to=seen: to.append(s)
            )
            assert len(seen) == 150
        ends.append(state_bits(sim))
    assert ends[0] == ends[1] == ends[2]
    often, rarely = (frames(tmp_path / f"{k}.h5", 1) for k in (1, 2))
    assert often[-1] == rarely[-1]
    common = (often.keys() & rarely.keys()) - {-1}
    assert len(common) == 150 // 7 + 2  # with the first and the last frame
    for step in common:
        # contacts are stored in the rarer file only now and then
        assert {k: often[step][k] for k in rarely[step]} == rarely[step]


def test_a_run_in_pieces_is_the_same_run() -> None:
    """Steps one by one, in several calls of run, or all at once."""
    whole = hg.Simulation(scenario("box_2d"))
    whole.run(until=100)
    pieces = hg.Simulation(scenario("box_2d"))
    for _ in range(10):
        pieces.step()
    for steps in (11, 50, 100):
        pieces.run(until=steps)
    assert state_bits(pieces) == state_bits(whole)
    assert pieces.totals == whole.totals
