"""A large study whose workers are killed at random ends with the bits of an undisturbed one.

    python -m tests.fuzz.studies [POINTS [SEED]]

runs so many points twice: one after the other in one process, and by workers of which every fifth
is killed (SIGKILL) with a point in hand, at a moment that the seed decides. Now and then the whole
sweep is killed too, and begun again. Then every file of every point is compared.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import hardgrain as hg
from hardgrain.study.folder import Folder

from ..determinism.study_cases import Killer, begun, differ, undisturbed
from ..until import started, until

SEEDS = 10


def kill_sweeps(folder: Folder, chance: random.Random, count: int) -> None:
    """Begin sweeps and kill them, with all their workers, once some points are done."""

    def far_enough(goal: int, sweep: subprocess.Popen[bytes]) -> bool:
        return folder.status().done >= goal or sweep.poll() is not None

    for _ in range(count):
        command = [sys.executable, "-m", "hardgrain.cli", "sweep", str(folder.path), "--quiet"]
        with started(command) as sweep:
            goal = folder.status().done + chance.randrange(1, 12)
            until(partial(far_enough, goal, sweep), "some points are done")
            time.sleep(chance.uniform(0.0, 0.1))
            sweep.send_signal(signal.SIGKILL)


def main(points: int = 1000, seed: int = 0) -> None:
    values = max(2, points // SEEDS)
    with tempfile.TemporaryDirectory() as place:
        calm = undisturbed(Path(place) / "calm", values, SEEDS)
        print(f"undisturbed: {calm.status()}", flush=True)
        folder = begun(Path(place) / "disturbed", values, SEEDS)
        kill_sweeps(folder, random.Random(seed), 10)
        print(f"after ten sweeps killed: {folder.status()}", flush=True)
        killer = Killer(0.2, seed, delay=0.12)
        lost = 0

        def watch(event: object) -> None:
            nonlocal lost
            lost += getattr(event, "state", "") == "lost"
            killer(event)  # type: ignore[arg-type]

        status = hg.Study(folder.path).run(watch=watch)
        wrong = differ(folder, calm)
    print(
        f"{status}; {killer.kills} workers killed, {lost} with a point in hand, and 10 sweeps, seed"
        f" {seed}: {len(wrong)} differ {wrong}"
    )
    sys.exit(bool(wrong) or status.done != status.points)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
