"""What `benchmarks.mpi` has each process do: some steps of a packing, or messages and nothing else.

``python -m benchmarks.mpi_program steps SMALL FILE SWEEPS STEPS`` or ``messages``, alone or under
mpiexec; the first process prints what all of them tell as JSON.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.packings import DT
from hardgrain.core.grain_rows import only_walls
from hardgrain.core.model import Contacts, Model, State
from hardgrain.processes import Processes, world
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import RigidGrains, make_engine
from hardgrain.step.pause import Pause

SIZES = [8 * 8**k for k in range(7)]  # of messages [byte]
SECONDS = 0.2  # for which each kind of message is sent again and again, at least
COLLECTIVES = {"allreduce", "Allreduce", "bcast", "allgather", "Allgather", "Allgatherv"}
TRADES = {"Alltoall", "Alltoallv"}


def main(what: str, *given: str) -> None:
    here = world()
    if what == "messages":
        told = messages(here)
    else:
        small, path, sweeps, number = given
        told = steps(here, Path(small), Path(path), int(sweeps), int(number))
    if here.leads:
        print(json.dumps(told))


# ---------------------------------------------------------------------- steps
def steps(here: Any, small: Path, path: Path, sweeps: int, number: int) -> dict[str, Any]:
    """What steps of a packing cost each process, after one that divides it; small: another one."""
    _march(here, small, sweeps, 2)  # compiled and loaded
    before = _peak()
    return _march(here, path, sweeps, number, before)


def _march(here: Any, path: Path, sweeps: int, number: int, before: int = 0) -> dict[str, Any]:
    model, state = _packing(here, path)
    n = here.first(model.n)
    solver = GaussSeidel(order="tiles", sweeps=sweeps, threads=1)
    engine: Any = make_engine(RigidGrains(), model, state, solver, DT, 1)
    spent = {"pause": 0.0, "mpi": 0.0}
    if here.size > 1:
        for name in ("_take", "_give"):
            _timed(here, engine, name, spent)
    began = time.perf_counter()
    reports = _steps(engine, state, 1)
    divided = time.perf_counter() - began
    calls = _counted(here)
    spent.update(pause=0.0, mpi=0.0)
    began = time.perf_counter()
    reports = _steps(engine, state, number)
    seconds = (time.perf_counter() - began - spent["pause"]) / number
    own = {
        "seconds": seconds,  # of a step, apart from pauses
        "pause": spent["pause"],  # to tell the first process of all, and take it up again
        "first_step": divided,  # with a new pair list, and the grains handed out
        "memory_before": before,  # peaks of what is resident [byte]
        "memory": _peak(),
    }
    if here.size > 1:
        part, whole = engine._part, engine._whole
        tiling = whole.tiling
        own |= {
            "working": seconds - (here.waited - spent["mpi"]) / number,  # not in MPI [s]
            "sweep_bytes": here.sweep_bytes / number / sweeps,
            "sweep_messages": here.sweep_messages / number / sweeps,
            "rest_bytes": (here.bytes - here.sweep_bytes) / number,
            "rest_messages": (here.messages - here.sweep_messages) / number,
            "collectives": calls["collectives"] / number,
            "trades": calls["trades"] / number,
            "added_bytes": calls["added"] / number,  # in arrays that all add up
            "own_grains": int(part.mine.size),
            "grains_known": int(part.grains),
            "contacts": int(whole.weight[whole.owner == here.rank].sum()),
        }
        shape = {"tiles": int(tiling.count.prod()), "axes": int((tiling.count > 1).sum())}
        every = here.comm.gather(own)
    else:
        shape, every = {}, [own]
    if not here.leads:
        return {}
    bits = hashlib.sha256(np.ascontiguousarray(state.velocity).tobytes()).hexdigest()
    return {
        "grains": n, "dim": model.dim, "contacts": reports[-1].candidates, "sweeps": sweeps,
        "steps": number, "processes": every, "bits": bits, **shape,
    }  # fmt: skip


def _packing(here: Any, path: Path) -> tuple[Model, State]:
    """A packing in the first process, and its walls in the others."""
    if here.leads:
        model, state = pickle.loads(path.read_bytes())
    walls = None
    if here.size > 1 and here.leads:
        bare = only_walls(model, state)
        walls = bare[0], replace(bare[1], contacts=Contacts.none(model.dim))
    walls = here.first(walls)
    return (model, state) if here.leads else walls


def _steps(engine: Any, state: State, number: int) -> list[Any]:
    """Some steps, at a stretch as far as the engine makes them so."""
    found: list[Any] = []
    while len(found) < number:
        pause = Pause(steps=number - len(found), work=float("inf"))
        found += engine.march(state, pause).reports
    return found


def _timed(here: Any, engine: Any, name: str, spent: dict[str, float]) -> None:
    """Let a method of an engine add up the time that it takes, and how much of it is in MPI."""
    method = getattr(engine, name)

    def timed(*given: Any) -> None:
        began, waited = time.perf_counter(), here.waited
        method(*given)
        spent["pause"] += time.perf_counter() - began
        spent["mpi"] += here.waited - waited

    setattr(engine, name, timed)


def _counted(here: Any) -> dict[str, int]:
    """Count the calls of MPI in which all take part, from now on; and begin all counts anew."""
    calls = {"collectives": 0, "trades": 0, "added": 0}
    if not isinstance(here, Processes):
        return calls
    here.comm.Barrier()
    here.sweep_bytes = here.sweep_messages = here.bytes = here.messages = 0
    here.waited = 0.0

    def call(function: Callable[..., Any], *args: Any) -> Any:
        name = getattr(function, "__name__", "")
        calls["collectives"] += name in COLLECTIVES
        calls["trades"] += name in TRADES
        calls["added"] += args[1].nbytes if name == "Allreduce" else 0
        return Processes.call(here, function, *args)

    here.call = call  # type: ignore[method-assign]
    return calls


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---------------------------------------------------------------------- messages
def messages(here: Any) -> dict[str, Any]:
    """How long messages take that are sent as a run sends them, by size and number of processes."""
    comm, found = here.comm, {"pairs": [], "allreduce": [], "trade": []}
    partner = here.rank ^ 1
    for size in SIZES:
        own, room = np.zeros(size // 8), np.empty(size // 8)

        def swap(own: Any = own, room: Any = room) -> None:
            asked = [comm.Irecv(room, partner, 1), comm.Isend(own, partner, 1)]
            here.mpi.Request.Waitall(asked)

        if partner < here.size:
            found["pairs"].append({"bytes": size, "seconds": _mean(comm, swap)})
    many = 2
    while many <= here.size:
        some = comm.Split(int(here.rank < many), here.rank)
        if here.rank < many:  # the others wait
            _together(here, some, found)
        comm.Barrier()
        many *= 2
    return found


def _together(here: Any, some: Any, found: dict[str, Any]) -> None:
    """How long calls take in which some processes take part."""
    many = some.Get_size()
    for size in SIZES[::3]:
        own = np.zeros(size // 8)

        def add_up(own: Any = own) -> None:
            some.Allreduce(here.mpi.IN_PLACE, own, here.mpi.SUM)

        seconds = _mean(some, add_up)
        found["allreduce"].append({"processes": many, "bytes": size, "seconds": seconds})

    def trade() -> None:
        sent, got = np.zeros(many, np.int64), np.empty(many, np.int64)
        some.Alltoall(sent, got)
        some.Alltoallv([np.zeros(0), sent], [np.zeros(0), got])

    found["trade"].append({"processes": many, "seconds": _mean(some, trade)})


def _mean(comm: Any, send: Callable[[], object]) -> float:
    """Mean time of one call, which all processes make equally often [s]."""
    times, took = 8, 0.0
    while took < SECONDS:
        times *= 2
        comm.Barrier()
        began = time.perf_counter()
        for _ in range(times):
            send()
        took = comm.bcast(time.perf_counter() - began)
    return took / times


if __name__ == "__main__":
    main(*sys.argv[1:])
