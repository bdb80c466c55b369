"""A study whose workers are killed ends with the bits of one that nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import hardgrain as hg
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder
from hardgrain.study.slurm import run_share, write_script

from ..until import started, until
from .study_cases import Killer, begun, bits, differ, undisturbed

pytestmark = [
    pytest.mark.rounding,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]

VALUES, SEEDS = 2, 4
KILLS = int(os.environ.get("HARDGRAIN_KILLS", "1"))  # of workers of Dask


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The study that nobody disturbs."""
    return undisturbed(tmp_path_factory.mktemp("calm") / "study", VALUES, SEEDS)


def test_workers_killed_at_random(tmp_path: Path, calm: Folder) -> None:
    """Processes on this machine; each point is done once, and none is lost."""
    begun(tmp_path / "study", VALUES, SEEDS)
    study = hg.Study(tmp_path / "study")
    killer, seen = Killer(0.4, seed=3, delay=0.04, most=2), Counter[str]()

    def watch(event: Event) -> None:
        seen[event.state] += 1
        killer(event)

    status = study.run(workers=2, watch=watch)
    assert killer.kills >= 1
    assert (status.done, status.left, status.failed) == (VALUES * SEEDS, 0, 0)
    assert seen["done"] == VALUES * SEEDS
    assert not differ(Folder.opened(study.folder), calm)


def test_a_sweep_that_is_killed_leaves_no_workers_and_goes_on(tmp_path: Path, calm: Folder) -> None:
    """The parent is killed: its workers end by themselves, and the next sweep does the rest."""
    folder = begun(tmp_path / "study", VALUES, SEEDS)
    command = [sys.executable, "-m", "hardgrain.cli", "sweep", str(folder.path), "--workers", "1"]
    with started(command, stderr=subprocess.DEVNULL) as sweep:
        until(lambda: folder.status().done, "a point is done", sweep)
        sweep.send_signal(signal.SIGKILL)
        sweep.wait()
    until(lambda: not folder.status().running, "the worker has ended")
    before = folder.status()
    assert 0 < before.done < before.points
    done = [key for key, row in folder.states().items() if row["state"] == "done"]
    times = {key: (folder.of(key) / "run.h5").stat().st_mtime_ns for key in done}
    for event in run_share(folder, folder.to_do()):
        assert event.state in ("running", "done")
    assert folder.status().done == before.points
    for key, written in times.items():  # what was done was not done again
        assert (folder.of(key) / "run.h5").stat().st_mtime_ns == written
    assert not differ(folder, calm)


def test_dask_workers_killed_at_random(tmp_path: Path, calm: Folder) -> None:
    """A real cluster of several processes, whose nannies replace those that are killed."""
    pytest.importorskip("distributed")
    from hardgrain.study.dask import connected, run_with

    folder = begun(tmp_path / "study", VALUES, SEEDS)
    states, keys, chance = Counter[str](), folder.to_do(), random.Random(1)
    kills = chance.sample(range(1, len(keys) - 3), KILLS)
    before = os.environ.get("NUMBA_NUM_THREADS")
    with connected("local", 2, len(keys)) as client:
        assert set(client.run(os.getenv, "NUMBA_NUM_THREADS").values()) == {before or "1"}
        for event in run_with(client, folder, keys, retry=False):
            states[event.state] += 1
            if event.state == "done" and states["done"] in kills:
                until(lambda: folder.status().running, "a point is running")
                pids = sorted(client.run(os.getpid).values())
                os.kill(chance.choice(pids), signal.SIGKILL)
    # Numba refuses another number of threads in a process that has begun with one.
    assert os.environ.get("NUMBA_NUM_THREADS") == before
    assert states["done"] == len(keys)
    assert folder.status().done == len(keys)
    assert not differ(folder, calm)


def test_tasks_of_a_job_array(tmp_path: Path, calm: Folder) -> None:
    """The script that Slurm would run, by bash: a task does its share, no more and no less."""
    folder = begun(tmp_path / "a study", VALUES, SEEDS)
    script = write_script(folder, tasks=2, options=["--time=10"])
    lines = script.read_text().splitlines()
    assert "#SBATCH --array=0-1" in lines
    assert "#SBATCH --time=10" in lines
    environment = os.environ | {"SLURM_ARRAY_TASK_ID": "1"}
    subprocess.run(["bash", str(script)], env=environment, check=True, capture_output=True)
    mine = list(folder.points)[1::2]
    assert [key for key in folder.points if key in folder.states()] == mine
    for key in mine:
        assert bits(folder, key) == bits(calm, key)
