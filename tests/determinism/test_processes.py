"""One run that several processes share has the bits of the same run in one process."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg

from ..until import LAST, started, until

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
MPIEXEC = shutil.which("mpiexec", path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")

needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="mpi4py and mpiexec are not installed",
)
# Open MPI refuses to be run by root, and to start more processes than there are cores, unless told.
ENV = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "NUMBA_NUM_THREADS": "2",
}


# [s] Kernels may have to be compiled first, 100 s of a core, and others may use the cores.
COLD = 3.0 * LAST


def mpiexec(processes: int, *command: str, **keys: object) -> subprocess.CompletedProcess[str]:
    """Run a command in several processes; with none, without mpiexec."""
    start = [str(MPIEXEC), "-n", str(processes)] if processes else []
    return subprocess.run(
        [*start, sys.executable, *command],
        env=ENV, capture_output=True, text=True, timeout=COLD, **keys,  # type: ignore[call-overload]
    )  # fmt: skip


def told(processes: int) -> dict[str, Any]:
    out = mpiexec(processes, str(HERE / "shared_cases.py"))
    assert out.returncode == 0, out.stderr
    return dict(json.loads(out.stdout.splitlines()[-1]))


@needs_mpi
def test_no_bit_shows_how_many_processes_share_a_run() -> None:
    alone = told(0)
    assert alone.pop("processes") == 1
    shared = told(4)
    assert shared.pop("processes") == 4
    assert shared == alone
    stages = [
        stage for name, found in alone.items() if name.startswith("rigid") for stage in found[1]
    ]
    assert {method for method, _, _ in stages} == {"sweeps", "gradients", "walk", "path"}


SCENARIO = """
dt = 0.05
seed = 3
stop.steps = 12
output.every = 2
[scene]
dimension = 2
gravity = [0, -1]
[[scene.grains]]
count = 120
diameter = { kind = "uniform", min = 0.8, max = 1.2 }
speed = 0.3
place = { kind = "loose", min = [0, 0], max = [16, 16] }
[[scene.contacts]]
friction = 0.4
[[scene.walls]]
kind = "box"
min = [0, 0]
max = [16, 16]
[solver]
kind = "gauss-seidel"
order = "tiles"
sweeps = 20
"""


@needs_mpi
def test_what_a_process_holds_falls_with_the_number_of_processes() -> None:
    """All but the first hold as much if twice as many share twice as much, and know walls alone."""

    def held(processes: int) -> dict[str, list[Any]]:
        out = mpiexec(processes, str(HERE / "shared_memory.py"), "3000")
        assert out.returncode == 0, out.stderr
        return dict(json.loads(out.stdout.splitlines()[-1]))

    few, many = held(2), held(4)
    assert few["known"] == [[6000, 6004, few["known"][0][2]], [0, 4, 0]]
    assert many["known"] == [[12000, 12004, many["known"][0][2]], *[[0, 4, 0]] * 3]
    # Domains in the middle have ghosts on two sides, those of the two processes on one. If a fifth
    # of what is held were replicated, four processes would hold that much more.
    assert max(many["peaks"][1:]) < 1.2 * few["peaks"][1]
    assert few["peaks"][0] > few["peaks"][1]  # the first one has all of the run besides


@needs_mpi
def test_a_run_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    (tmp_path / "heap.toml").write_text(SCENARIO)
    main = "from hardgrain.cli import main; main()"
    first = mpiexec(
        2, "-c", main, "run", "heap.toml", "--set", "stop.steps=6", "-o", "shared.h5", cwd=tmp_path
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("all steps done") == 1  # one process tells
    more = mpiexec(3, "-c", main, "resume", "shared.h5", "--steps", "12", cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    alone = mpiexec(0, "-c", main, "run", "heap.toml", "-o", "alone.h5", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    with hg.RunFile(tmp_path / "shared.h5") as a, hg.RunFile(tmp_path / "alone.h5") as b:
        assert len(a) == len(b) == 7
        for k in range(len(a)):
            one, other = a.contacts(k), b.contacts(k)
            for name in ("position", "velocity", "spin", "orientation"):
                assert np.array_equal(getattr(a[k], name), getattr(b[k], name)), name
            for name in ("first", "second", "impulse", "normal", "gap"):
                assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert set(a.history) == set(b.history)
        for name in a.history:
            np.testing.assert_array_equal(a.history[name], b.history[name], err_msg=name)


@needs_mpi
def test_what_cannot_be_shared_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "heap.toml").write_text(SCENARIO)
    main = "from hardgrain.cli import main; main()"
    refused = mpiexec(
        2, "-c", main, "run", "heap.toml", "--set", "solver.order=random", cwd=tmp_path
    )
    assert refused.returncode == 2
    said = [line for line in refused.stderr.splitlines() if line.startswith("error")]
    assert said == [
        "error: several processes cannot share solver.order = 'random'; give [solver] with kind ="
        " 'gauss-seidel', sweeps = 20 and order = 'tiles', or run it without mpiexec"
    ]
    assert not (tmp_path / "heap.h5").exists()


@needs_mpi
def test_one_process_that_fails_ends_all(tmp_path: Path) -> None:
    (tmp_path / "heap.toml").write_text(SCENARIO)
    script = textwrap.dedent("""
        import hardgrain as hg
        from hardgrain.processes import world
        sim = hg.Simulation(hg.load("heap.toml"))
        sim.run(2)
        if world().rank == 1:
            raise RuntimeError("the second process has had enough")
        sim.run(4)
    """)
    failed = mpiexec(2, "-c", script, cwd=tmp_path)
    assert failed.returncode != 0
    assert failed.stderr.count("RuntimeError: the second process has had enough") == 1


@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_from_outside_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    """mpiexec passes signals on, and kills what takes long; either way the file is intact.

    In a terminal Ctrl-C reaches mpiexec alone: it lets its processes have groups of their own.
    """
    (tmp_path / "heap.toml").write_text(SCENARIO)
    path, main = tmp_path / "heap.h5", "from hardgrain.cli import main; main()"
    command = [str(MPIEXEC), "-n", "2", sys.executable, "-c", main, "run", "heap.toml", "--quiet"]
    command += ["--set", "stop.steps=1000000"]

    def frames() -> int:
        try:
            with hg.RunFile(path) as file:
                return len(file)
        except (hg.InputError, hg.RunError):  # not there yet
            return 0

    with started(command, env=ENV, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        until(lambda: frames() > 2, "frames are written", process)
        process.send_signal(number)
        assert process.wait(LAST) != 0
    with hg.RunFile(path) as file:
        assert not file.finished
        step = file[-1].step
    resumed, _ = hg.Simulation.resume(path, until=step + 2)
    assert resumed.state.step == step + 2


def test_without_mpiexec_nobody_imports_mpi() -> None:
    script = (
        "import sys, hardgrain as hg\n"
        "from hardgrain.processes import ALONE, world\n"
        "import hardgrain.run.simulation, hardgrain.step.contact_dynamics\n"
        "assert world() is ALONE\n"
        "assert 'mpi4py' not in sys.modules"
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    subprocess.run([sys.executable, "-c", script], check=True, env=env)
