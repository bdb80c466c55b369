"""One run over several processes: against as many copies, against one; bytes and messages a sweep.

Weak scaling: n processes share a packing n times as large, against n copies of the one-process
program, each on its own packing, all at the same time: the copies have no one to wait for, but
share memory and its bandwidth. Strong scaling: n processes share a packing, against one. Every
process has one thread. What is told of messages is of the first process, whose neighbours are as
many as those of any other where the floor is periodic.

Times are wall times of steps as a run makes them, and mean something on a quiet machine alone. The
CPU time of all processes together is told besides, without what they spend in MPI, where they wait
for each other: it does not see others on the machine, and says how much work the sharing adds.
`BENCHMARK_GRAINS` gives another number of grains, of each process and of all.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, Absent, Figure
from benchmarks.packings import DT, on_floor
from hardgrain.parallel import cores

# grains of each process in weak, and of all in strong scaling; sweeps, steps
CASES, QUICK = ((62_500, 1_000_000), 100, 2), ((1000, 2000), 5, 1)
TARGETS = "≥ 0.85", "≥ 0.75"
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "NUMBA_NUM_THREADS": "1",
}


def run(quick: bool) -> list[Figure]:
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise Absent("mpiexec (pip install 'hardgrain[mpi]')")
    n, figures = cores(), []
    if n < 2:
        raise Absent("a second core")
    (weak, strong), sweeps, steps = QUICK if quick else CASES
    weak, strong = (
        int(os.environ.get("BENCHMARK_GRAINS", x)) // 1000 * 1000 for x in (weak, strong)
    )
    for grains in (weak, weak * n, strong):  # made once, by one process
        RESULTS.mkdir(parents=True, exist_ok=True)
        _path(grains).write_bytes(pickle.dumps(on_floor("spheres", grains)))
    (shared,) = _told([[mpiexec, "-n", str(n)]], weak * n, sweeps, steps)
    copies = _told([[]] * n, weak, sweeps, steps)
    together = sum(1.0 / told["step"] for told in copies)
    figures.append(
        Figure(
            f"{n} processes / {n} copies, {weak} spheres each, whole steps",
            n / shared["step"] / together,
            target=TARGETS[0],
            detail=_detail(shared, sweeps),
        )
    )
    (shared,) = _told([[mpiexec, "-n", str(n)]], strong, sweeps, steps)
    (alone,) = _told([[]], strong, sweeps, steps)
    same = "same bits" if shared["bits"] == alone["bits"] else "DIFFERENT BITS"
    figures.append(
        Figure(
            f"{n} processes / 1, {strong} spheres, speed over {n}",
            alone["step"] / shared["step"] / n,
            target=TARGETS[1],
            detail=f"{alone['step']:.3g} s a step by one process, {alone['cpu']:.3g} s CPU,"
            f" {alone['memory'] / 2**20:.0f} MiB; {_detail(shared, sweeps)}; {same}",
        )
    )
    return figures


def _path(grains: int) -> Path:
    return RESULTS / f"mpi-{grains}.pickle"


def _detail(told: dict[str, Any], sweeps: int) -> str:
    return (
        f"{told['step']:.3g} s a step, {told['cpu']:.3g} s CPU of all outside of MPI;"
        f" {told['sweep_bytes'] / 1e3:.3g} kB in {told['sweep_messages']:.3g} messages a sweep,"
        f" {told['rest_bytes'] / 1e6:.3g} MB in {told['rest_messages']:.3g} a step besides;"
        f" {told['memory'] / 2**20:.0f} MiB a process at most"
    )


def _told(commands: list[list[str]], grains: int, sweeps: int, steps: int) -> list[dict[str, Any]]:
    """What programs tell that run at the same time."""
    what = [sys.executable, "-m", "benchmarks.mpi", str(grains), str(sweeps), str(steps)]
    running = [
        subprocess.Popen(
            [*start, *what], env={**os.environ, **SETTINGS}, stdout=subprocess.PIPE, text=True
        )
        for start in commands
    ]
    found = []
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{what} ended with exit code {process.returncode}")
        found.append(json.loads(out.splitlines()[-1]))
    return found


def main(grains: int, sweeps: int, steps: int) -> None:
    """Some steps of one process or of several that share them; the first one tells."""
    import hashlib

    import numpy as np

    from hardgrain.processes import Processes, world
    from hardgrain.solve.gauss_seidel import GaussSeidel
    from hardgrain.step.engine import RigidGrains, make_engine
    from hardgrain.step.pause import Pause

    here = world()
    model, state = pickle.loads(_path(grains).read_bytes())
    solver = GaussSeidel(order="tiles", sweeps=sweeps, threads=1)
    engine = make_engine(RigidGrains(), model, state, solver, DT, 1)

    def march(number: int) -> None:
        while number > 0:
            number -= len(engine.march(state, Pause(steps=number, work=float("inf"))).reports)

    march(2)  # compiled, divided, and warm
    if isinstance(here, Processes):
        here.comm.Barrier()
        here.sweep_bytes = here.sweep_messages = here.bytes = here.messages = 0
        here.waited = 0.0
    began, cpu = time.perf_counter(), time.process_time()
    march(steps)
    step, cpu = (time.perf_counter() - began) / steps, (time.process_time() - cpu) / steps
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bits = hashlib.sha256(np.ascontiguousarray(state.velocity).tobytes()).hexdigest()
    told: dict[str, Any] = {"step": step, "cpu": cpu, "memory": memory, "bits": bits}
    told |= dict.fromkeys(("sweep_bytes", "sweep_messages", "rest_bytes", "rest_messages"), 0.0)
    if isinstance(here, Processes):
        told["cpu"] = here.comm.allreduce(cpu - here.waited / steps)
        told["memory"] = here.comm.allreduce(memory, here.mpi.MAX)
        for name in ("bytes", "messages"):
            sent = getattr(here, f"sweep_{name}")
            told[f"sweep_{name}"] = sent / steps / sweeps
            told[f"rest_{name}"] = (getattr(here, name) - sent) / steps
    if here.leads:
        print(json.dumps(told))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
