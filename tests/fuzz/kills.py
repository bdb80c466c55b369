"""Runs that are killed and resumed end with the bits of runs that never stopped.

    python -m tests.fuzz.kills [KILLS [SEED]]

goes through the kinds of runs below in turn. Each is killed (SIGKILL) once within some step or some
write, at a moment that the seed decides, is resumed in a fresh process, and must agree with the run
that was never stopped in every frame, every contact and the whole history.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..determinism.cases import CASES, frames, scenario

SCRIPT = Path(__file__).parents[1] / "determinism" / "cases.py"
RARELY: dict[str, Any] = {"output": {"every": 13, "contacts_every": 3}}
OFTEN: dict[str, Any] = {"output": {"every": 1}}

# Every case as it is, with frames at every step, and with few frames and fewer contacts.
KINDS = [
    (name, changes)
    for changes in ({}, OFTEN, RARELY)
    for name in CASES
    if not (changes and name.startswith("coloured"))
]


def started(action: str, name: str, path: Path, changes: dict[str, Any]) -> Any:
    command = [sys.executable, str(SCRIPT), action, name, str(path), json.dumps(changes)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes)


def finish(action: str, name: str, path: Path, changes: dict[str, Any]) -> None:
    child = started(action, name, path, changes)
    _, error = child.communicate()
    if child.returncode:
        raise RuntimeError(error)


def kill(name: str, path: Path, changes: dict[str, Any], chance: random.Random) -> int:
    """Begin a run and kill it after some step; the step it was at."""
    stop = scenario(name).stop
    assert stop is not None
    assert stop.steps is not None
    step, at = chance.randrange(1, max(2, stop.steps - 1)), 0
    with started("run", name, path, changes) as child:
        for line in child.stdout:
            at = int(line.split()[1]) if line.startswith("step") else at
            if at >= step:
                break
        time.sleep(chance.uniform(0.0, 0.004))  # into a step or a write
        child.send_signal(signal.SIGKILL)
    return at


def main(kills: int = 200, seed: int = 0) -> None:
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        folder, ends = Path(place), {}
        for number in range(kills):
            name, changes = KINDS[number % len(KINDS)]
            kind = f"{name} {json.dumps(changes)}"
            if kind not in ends:
                finish("run", name, folder / "whole.h5", changes)
                ends[kind] = frames(folder / "whole.h5", 1)
                (folder / "whole.h5").unlink()
            path = folder / "run.h5"
            path.unlink(missing_ok=True)
            at = kill(name, path, changes, random.Random(f"{seed}-{number}"))
            try:
                finish("resume", name, path, changes)
                same = frames(path, 1) == ends[kind]
            except Exception as error:
                same = False
                print(error)
            if not same:
                wrong.append(number)
            print(f"kill {number}, {kind}, step {at}: {'same bits' if same else 'NOT THE SAME'}")
    print(f"{kills} kills over {len(ends)} kinds of runs, seed {seed}: {len(wrong)} differ {wrong}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
