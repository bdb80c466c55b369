"""Several processes that share one run: who they are, and what they tell each other.

Under ``mpiexec`` every process runs the same program. `world` says how many there are; nothing else
in the package imports mpi4py, and without mpiexec nobody does. What is added up is whole numbers
(`hardgrain.cpu.exact`) and what is compared are maxima, so that no result depends on who told what
first.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import cache, cached_property
from multiprocessing import parent_process
from typing import Any, TypeVar

from hardgrain.errors import InputError

__all__ = ["ALONE", "Alone", "Processes", "end_all", "world"]

A = TypeVar("A")

# Set by mpiexec of Open MPI; of MPICH, Intel MPI and Slurm's PMI: the number of processes.
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
# [s] How long a process that fails waits for the others to fail likewise before it ends them all.
# More: others are left waiting for longer. Less: where all fail for the same reason, some of them
# may say so, too.
LIKEWISE = 3.0
# [rows] So many are handed over at a time. More: the first process, which has all grains when a run
# begins, needs more room for them; fewer: more messages are sent.
PORTION = 1 << 15
TOLD, DEALT = 97, 98  # tags of messages


class Alone:
    """One process that has nobody to tell anything."""

    rank, size = 0, 1
    leads = True  # whether this process writes files and prints
    bytes = messages = 0  # sent so far

    def any(self, flag: Any) -> bool:
        """Whether a flag is up in any process."""
        return bool(flag)

    def most(self, values: A) -> A:
        """The largest of all processes, number by number; what is not a number counts as ∞."""
        return values

    def total(self, numbers: A) -> A:
        """The sum over all processes of whole numbers."""
        return numbers

    def first(self, value: A) -> A:
        """What the first process has."""
        return value

    def on_first(self, work: Callable[[], A]) -> A:
        """What the first process alone finds or raises, for all."""
        return work()

    # ------------------------------------------------------------------ where each has some grains
    def own(self, bodies: int) -> Any:
        """(bodies,) those that are counted here."""
        import numpy as np

        return np.ones(bodies, np.bool_)

    def exchange(self, *values: Any) -> None:
        """Let rows (nb, …) of bodies that others own be as they are there, in place."""

    def raise_flags(self, flags: Any) -> None:
        """Raise flags (nb,) that are up in any process, in place."""

    def owned(self, listed: A) -> A:
        """The pairs of a list whose first grain is owned here."""
        return listed

    def box(self, position: A, spin: A, n: int) -> tuple[A, A]:
        """Places and spins of bodies, of which n grains have the box of all grains around them."""
        return position, spin

    def list_anew(self, reach: Any) -> None:
        """Say that the pair list lacks pairs of bodies with this reach (nb,)."""


ALONE = Alone()


class Processes(Alone):
    """The processes that mpiexec has started."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self.mpi, self.comm = MPI, comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.leads = self.rank == 0
        self.bytes = self.messages = 0
        self.sweep_bytes = self.sweep_messages = 0  # among them those of sweeps
        self.waited = 0.0  # time in MPI, most of it spent on waiting for others [s]

    @cached_property
    def beside(self) -> int:
        """How many processes share this machine."""
        return int(self.comm.Split_type(self.mpi.COMM_TYPE_SHARED).Get_size())

    def any(self, flag: Any) -> bool:
        return bool(self.call(self.comm.allreduce, bool(flag), self.mpi.LOR))

    def most(self, values: Any) -> Any:
        import numpy as np

        own = np.array(values, np.float64)
        own[np.isnan(own)] = np.inf
        self.call(self.comm.Allreduce, self.mpi.IN_PLACE, own, self.mpi.MAX)
        return own

    def total(self, numbers: Any) -> Any:
        import numpy as np

        own = np.array(numbers)
        self.count(own.nbytes)
        self.call(self.comm.Allreduce, self.mpi.IN_PLACE, own, self.mpi.SUM)
        return own

    def first(self, value: Any) -> Any:
        return self.call(self.comm.bcast, value if self.leads else None)

    def on_first(self, work: Callable[[], Any]) -> Any:
        found, error = None, None
        if self.leads:
            try:
                found = work()
            except Exception as raised:  # all processes end for the same reason
                error = raised
        found, error = self.call(self.comm.bcast, (found, error) if self.leads else None)
        if error is not None:
            raise error
        return found

    def gathered(self, rows: Any) -> Any:
        """The rows (k, …) of all processes, one process after the other."""
        import numpy as np

        own = np.ascontiguousarray(rows)
        many = np.array(self.call(self.comm.allgather, len(own)))
        found = np.empty((int(many.sum()), *own.shape[1:]), own.dtype)
        self.count(own.nbytes)
        many = many * int(np.prod(own.shape[1:]))
        self.call(self.comm.Allgatherv, own, [found, many])
        return found

    def told_first(self, rows: Any, take: Callable[[Any], object]) -> None:
        """Let the first process take the rows (k, …) of all, those of one process at a time."""
        import numpy as np

        own = np.ascontiguousarray(rows)
        many = self.call(self.comm.gather, len(own))
        if not self.leads:
            self.count(own.nbytes)
            self.call(self.comm.Send, own, 0, TOLD)
            return
        take(own)
        for q in range(1, self.size):
            room = np.empty((many[q], *own.shape[1:]), own.dtype)
            self.call(self.comm.Recv, room, q, TOLD)
            take(room)

    def dealt(self, part: Callable[[int], Any], room: Any) -> None:
        """Fill rows (k, …) with those that the first process has for each; part: makes them."""
        if not self.leads:
            self.call(self.comm.Recv, room, 0, DEALT)
            return
        for q in range(1, self.size):
            sent = part(q)
            self.count(sent.nbytes)
            self.call(self.comm.Send, sent, q, DEALT)
        room[...] = part(0)

    def handed_over(self, to: Any, written: Callable[[Any], Any]) -> Any:
        """Rows that others have for this process, in return for those (k,) that go to each.

        written: makes the rows of numbers with these places among the k. They travel in portions,
        so that a process which has many need not hold all of them twice.
        """
        import numpy as np

        rounds = int(self.most(np.array([-(-len(to) // PORTION)], np.float64))[0])
        found = []
        for k in range(rounds):
            some = np.arange(min(k * PORTION, len(to)), min((k + 1) * PORTION, len(to)))
            order = np.argsort(to[some], kind="stable")
            ends = np.cumsum(np.bincount(to[some], minlength=self.size))
            found += self.traded(np.split(written(some[order]), ends[:-1]))
        return np.concatenate(found) if found else written(np.zeros(0, np.int64))

    def traded(self, parts: list[Any]) -> list[Any]:
        """Rows for each process, in return for those of each process for this one."""
        import numpy as np

        own = np.concatenate(parts)
        width = int(np.prod(own.shape[1:]))
        sent = np.array([len(part) for part in parts])
        got = np.empty_like(sent)
        self.call(self.comm.Alltoall, sent, got)
        found = np.empty((int(got.sum()), *own.shape[1:]), own.dtype)
        self.count(own.nbytes - parts[self.rank].nbytes, int((sent > 0).sum()))
        self.call(self.comm.Alltoallv, [own, sent * width], [found, got * width])
        return list(np.split(found, np.cumsum(got)[:-1]))

    def wait(self, requests: list[Any]) -> None:
        """Wait until messages have been sent and received."""
        if requests:
            self.call(self.mpi.Request.Waitall, requests)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of MPI, and take note of the time it takes."""
        began = time.perf_counter()  # CPU time would be asked of the system, which takes longer
        found = function(*args)
        self.waited += time.perf_counter() - began
        return found

    def count(self, size: int, messages: int = 1) -> None:
        """Take note of what is sent."""
        self.bytes, self.messages = self.bytes + size, self.messages + messages

    def count_sweep(self, size: int, messages: int = 1) -> None:
        """Take note of what is sent in a sweep."""
        self.count(size, messages)
        self.sweep_bytes += size
        self.sweep_messages += messages


@cache
def world() -> Alone:
    """All processes that share this run; `ALONE` unless mpiexec has started several."""
    known = [os.environ[name] for name in SIZES if name in os.environ]
    if parent_process() is not None or not any(size.isdigit() and int(size) > 1 for size in known):
        return ALONE
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # the package, or the library that it loads
        raise InputError(
            "mpiexec has started several processes, and mpi4py, by which they share a run, cannot"
            f" be imported ({error}); install it with: pip install 'hardgrain[mpi]'"
        ) from None
    found = Processes(MPI.COMM_WORLD.Dup())
    if found.size == 1:
        return ALONE
    _end_on_errors()
    return found


def end_all(code: int, say: Callable[[], object]) -> None:
    """End all processes with an exit code; one of them says why.

    Where all of them fail, as with a scenario that is refused, the first one speaks for them.
    """
    here = world()
    if isinstance(here, Processes) and code:
        asked, began = here.comm.Ibarrier(), time.monotonic()
        while time.monotonic() - began < LIKEWISE:
            if asked.Test():
                if here.leads:
                    say()
                return
            time.sleep(0.01)
        say()
        sys.stdout.flush()
        sys.stderr.flush()
        here.comm.Abort(code)
    say()


def _end_on_errors() -> None:
    """Let an error that nobody catches in one process end all of them."""
    before = sys.excepthook

    def hook(*raised: Any) -> None:
        end_all(1, lambda: before(*raised))

    sys.excepthook = hook
