"""Measurements side by side: each in a process of its own, on one core, with a limit of time.

A measurement is a function of a module, called with its arguments and with a `Desk`, which tells
how much time is left and on which it lays what it has found so far. Whoever overruns the limit is
ended, and what lay on the desk then counts. So a job ends when it was said to end, however long a
solver takes, and no measurement is lost with another.

Threads are pinned to one, so that CPU times compare; with no more processes than cores, the clock
and the CPU time of a process agree.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardgrain.io.whole import whole
from hardgrain.parallel import cores

THREADS = ("NUMBA", "OPENBLAS", "OMP", "MKL")  # NUMBA_NUM_THREADS and so on
GRACE = 20.0  # [s] beyond its limit, after which a process is ended
LOOK = 0.2  # [s] between two looks at what has ended
OFTEN = 1.0  # [s] what is laid on the desk is written no more often

Row = dict[str, Any]


class Desk:
    """Where a measurement lays what it has found, and reads how much time it has left."""

    def __init__(self, path: Path, limit: float) -> None:
        self.path, self.began, self.limit = path, time.perf_counter(), limit
        self._written = -OFTEN
        self.held: Row = {}

    @property
    def spent(self) -> float:
        """Share of the limit that is over."""
        return (time.perf_counter() - self.began) / self.limit

    def lay(self, **found: Any) -> None:
        """Add to what was found, and write it now and then."""
        self.held.update(found)
        if time.perf_counter() - self.began - self._written >= OFTEN:
            self.write()

    def write(self) -> None:
        self._written = time.perf_counter() - self.began
        with whole(self.path) as part:
            part.write_text(json.dumps(self.held))


@dataclass
class _Running:
    at: int  # which job it is
    process: subprocess.Popen[bytes]
    path: Path
    until: float  # [s] by the clock


def measured(work: str, jobs: list[list[Any]], limit: float, within: float = math.inf) -> list[Row]:
    """What ``work`` (a function, as "module:name") finds for each job, in their order.

    Jobs begin in this order, as many at once as there are cores. ``limit`` is that of each, and
    ``within`` that of all together [s]: whoever begins late gets what is left of it. The entry
    "ended" of a row says "whole", "cut" (its time was up), "not begun" or how it failed.
    """
    rows: list[Row] = [{"ended": "not begun"} for _ in jobs]
    over = time.perf_counter() + within
    waiting, running = deque(range(len(jobs))), list[_Running]()
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in THREADS}
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                while waiting and len(running) < cores():
                    at, left = waiting.popleft(), min(limit, over - time.perf_counter())
                    if left <= 0.0:
                        continue
                    path = Path(folder) / f"{at}.json"
                    command = [sys.executable, "-m", "benchmarks.side_by_side", work]
                    command += [json.dumps(jobs[at]), str(path), str(left)]
                    with path.with_suffix(".said").open("w") as said:
                        process = subprocess.Popen(command, env=environment, stderr=said)
                    end = time.perf_counter() + left + GRACE
                    running.append(_Running(at, process, path, end))
                time.sleep(LOOK)
                for one in list(running):
                    if one.process.poll() is None and time.perf_counter() < one.until:
                        continue
                    running.remove(one)
                    rows[one.at] = _ended(one)
                    print(f"  {' '.join(map(str, jobs[one.at]))}: {rows[one.at]['ended']}")
        finally:
            for one in running:
                one.process.kill()
                one.process.wait()
    return rows


def _ended(one: _Running) -> Row:
    """What a process left, and how it ended."""
    cut = one.process.poll() is None
    if cut:
        one.process.kill()
    one.process.wait()
    said = one.path.with_suffix(".said").read_text().strip().splitlines()
    row: Row = json.loads(one.path.read_text()) if one.path.exists() else {}
    how = "whole" if one.process.returncode == 0 else f"failed: {said[-1] if said else ''}"
    return row | {"ended": "cut" if cut else how}


def main() -> None:
    work, job, path, limit = sys.argv[1:]
    module, name = work.split(":")
    desk = Desk(Path(path), float(limit))
    getattr(importlib.import_module(module), name)(desk, *json.loads(job))
    desk.write()


if __name__ == "__main__":
    main()
