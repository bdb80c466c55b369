"""Points of a study run by an array of Slurm jobs: a script is written, and handed to sbatch.

Task k of n takes points k, k + n, k + 2n and so on, and passes over those that are done. So the
same script goes on with a study whose jobs were ended by their time limit, or that has grown.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hardgrain.errors import InputError, RunError
from hardgrain.show.page import write_whole
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder

__all__ = ["run_share", "share_of", "submit", "write_script"]

MOST_TASKS = 1000  # [1] Slurm's own limit unless an administrator has raised it


def write_script(folder: Folder, tasks: int | None = None, options: Sequence[str] = ()) -> Path:
    """Write the script of a job array to the folder of the study."""
    count = len(folder.points)
    n = min(tasks or MOST_TASKS, count)
    for option in options:
        if not option.startswith("-") or "\n" in option:
            raise InputError(
                f"--sbatch is {option!r}; give an option of sbatch, such as --sbatch=--time=2:00:00"
            )
    home = folder.path.absolute()
    try:
        (home / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{home} cannot be written to: {error.strerror}") from None
    # a name with spaces is not for such a line; sbatch is then called from within the folder
    where = "" if any(c.isspace() for c in str(home)) else f"{home}/"
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={folder.path.absolute().name.replace(' ', '-')}",
        f"#SBATCH --array=0-{n - 1}",
        f"#SBATCH --output={where}logs/%A_%a.log",
        "#SBATCH --ntasks=1",
        *(f"#SBATCH {option}" for option in options),
        "",
        "# One thread a run, unless --cpus-per-task asks for more; no result depends on it.",
        'export NUMBA_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}" OMP_NUM_THREADS=1',
        f"exec {shlex.quote(sys.executable)} -m hardgrain.cli sweep {shlex.quote(str(home))} \\",
        f'    --share "$SLURM_ARRAY_TASK_ID/{n}"',
    ]
    path = folder.path / "slurm.sh"
    write_whole(path, "\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


def submit(script: Path) -> str | None:
    """Hand the script to sbatch, if there is one; what it says."""
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        return None
    try:
        done = subprocess.run(
            [sbatch, script.name], cwd=script.parent, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(
            f"sbatch does not answer ({error}); the script is written: sbatch {script}"
        ) from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        said = said.removeprefix("sbatch: ").removeprefix("error: ").rstrip(".")
        raise RunError(f"sbatch refused {script}: {said}")
    return done.stdout.strip()


def share_of(folder: Folder, share: str) -> list[str]:
    """The points of a task, given as K/N."""
    k, slash, n = share.partition("/")
    if not (slash and k.isdecimal() and n.isdecimal() and int(k) < int(n)):
        raise InputError(f"--share is {share!r}; give K/N with K from 0 to N - 1, such as 0/4")
    return list(folder.points)[int(k) :: int(n)]


def run_share(folder: Folder, keys: Sequence[str], retry: bool = False) -> Iterator[Event]:
    """Run points in this process, one after the other."""
    from hardgrain.study.work import work

    final = ("done",) if retry else ("done", "failed")
    states = folder.states()
    for key in keys:
        if key in states and states[key]["state"] in final:
            continue
        yield Event(key, "running", pid=os.getpid())
        outcome = work(folder, folder.points[key], retry=retry)
        yield Event(key, outcome.state, 1.0, outcome.seconds, outcome.why, os.getpid())
