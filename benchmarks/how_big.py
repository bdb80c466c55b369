"""How big can I go? Time and memory of a step with 100 sweeps, from 10³ to 10⁷ grains.

Disks and spheres on a floor, ten layers deep, in ``order = "tiles"``: on one core (CPU time), on
all cores and on a GPU where there is one (both by the clock, on a quiet machine alone). Each size
is measured in a process of its own. Sizes that would not fit into the memory that is free, or
would take longer than anybody waits, are left out.

What is found goes to `docs/how-big.json`, machine by machine; the table of `docs/how-big.md` and
its picture are written from there. A machine that is measured again replaces its own figures.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import runpy
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure import Figure
from benchmarks.packings import DT, Steps, on_floor
from hardgrain.cuda.present import free_memory, name, usable
from hardgrain.solve.gauss_seidel import GaussSeidel

DOCS = Path(__file__).parents[1] / "docs"
DATA, PAGE = DOCS / "how-big.json", DOCS / "how-big.md"
# in the page; what stands between them is written here
BEGIN, END = "<!-- written by benchmarks/how_big.py -->", "<!-- end of what it wrote -->"
SWEEPS = 100
SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
KINDS = ("disks", "spheres")
LONGEST = 100.0  # [s] a step that would take longer is not measured
# [1] Share of the free memory that steps of a size may take. Making the packing takes more for a
# moment, and other programs shall go on.
SPARE = 0.5
QUIET = 0.3  # [1] load beyond which nothing is measured by the clock
GIB = 2.0**30
Row = dict[str, Any]


def run(quick: bool) -> list[Figure]:
    for kind in KINDS:
        on_floor(kind, 1000)  # settles here, once
    rows: list[Row] = []
    for where in ["1 core"] if quick else _places():
        for kind in KINDS:
            rows += _sizes(kind, where, SIZES[:1] if quick else SIZES)
    if not quick:
        keep(rows)
    return [
        Figure(
            f"a step of {row['grains']} {row['kind']} on {row['on']}",
            row["seconds"],
            unit="s",
            detail=f"{row['memory'] / GIB:.2f} GiB, {row['contacts']} contacts,"
            f" {SWEEPS * row['contacts'] / row['seconds'] / 1e6:.3g} million updates/s",
        )
        for row in rows
    ]


# ---------------------------------------------------------------------- measure
def _places() -> list[str]:
    """What can be measured here: one core, all cores, a GPU."""
    found, cores = ["1 core"], len(os.sched_getaffinity(0))
    if (load := os.getloadavg()[0]) > QUIET:
        print(f"  the load is {load:.2f}: only one core is measured, by its CPU time")
        return found
    if cores > 1:
        found.append(f"{cores} cores")
    if usable() is None:
        found.append(name())
    return found


def _sizes(kind: str, where: str, sizes: tuple[int, ...]) -> list[Row]:
    """Rows of all sizes that fit into memory and time, judged by the one before."""
    rows: list[Row] = []
    for count in sizes:
        if rows:
            takes = rows[-1]["seconds"] * count / rows[-1]["grains"]
            wants = _expected_memory(rows[-2:], count)
            free = SPARE * (_free() if "core" in where else free_memory()[0])
            if wants > free or takes > LONGEST:
                why = f"{wants / GIB:.3g} GiB and {takes:.3g} s a step are expected"
                print(f"  {count} {kind} on {where} are left out: {why}")
                break
        if not rows:
            _in_process(kind, count, where)  # compiles, which takes memory
        rows.append(_in_process(kind, count, where))
    return rows


def _in_process(kind: str, count: int, where: str) -> Row:
    command = [sys.executable, "-m", "benchmarks.how_big", kind, str(count), where]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def _expected_memory(rows: list[Row], count: int) -> float:
    """Memory of so many grains [byte], on a line through what the last sizes took."""
    last, before = rows[-1], rows[0] if len(rows) > 1 else {"memory": 0, "grains": 0}
    each = (last["memory"] - before["memory"]) / (last["grains"] - before["grains"])
    return float(last["memory"] + max(each, 0.0) * (count - last["grains"]))


def _free() -> float:
    """Memory that processes may still take [byte]."""
    with open("/proc/meminfo") as file:
        return next(1024.0 * int(line.split()[1]) for line in file if "MemAvailable" in line)


def _measured(kind: str, count: int, where: str) -> Row:
    """A row: the shortest time of a step [s], and the most memory that steps take [byte]."""
    model, state = on_floor(kind, count)
    gc.collect()
    steps = min(20, max(1, 10**5 // count))
    if "core" in where:
        alone = where == "1 core"
        made: Any = Steps(model, state, SWEEPS, "tiles", steps, threads=1 if alone else None)
        clock = time.process_time if alone else time.perf_counter
    else:
        made, clock = _OnDevice(model, state, steps), time.perf_counter
    made()  # compiles
    _forget_peak()
    taken = []
    for _ in range(3):
        began = clock()
        made()
        taken.append((clock() - began) / steps)
    memory = _peak() if "core" in where else made.memory()
    return {
        "kind": kind, "grains": count, "on": where, "seconds": min(taken), "memory": memory,
        "contacts": made.contacts,
    }  # fmt: skip


class _OnDevice:
    """Some steps of a packing at rest on a GPU, as a run makes them."""

    def __init__(self, model: Any, state: Any, steps: int) -> None:
        from hardgrain.step.device_dynamics import DeviceDynamics

        self._free, self._least = free_memory()[0], free_memory()[0]
        self.engine = DeviceDynamics(model, GaussSeidel(order="tiles", sweeps=SWEEPS), DT, 1)
        self.state, self.steps, self.contacts = state.copy(), steps, 0

    def __call__(self) -> None:
        from hardgrain.step.pause import Pause

        left = self.steps
        while left > 0:
            reports = self.engine.march(self.state, Pause(steps=left, work=float("inf"))).reports
            left -= len(reports)
            self.contacts = reports[-1].candidates
        self._least = min(self._least, free_memory()[0])

    def memory(self) -> int:
        return self._free - self._least


def _forget_peak() -> None:
    """Let the peak of resident memory begin anew, where the system can; what was built counts."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak() -> int:
    """Peak of resident memory [byte]."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---------------------------------------------------------------------- keep
def keep(rows: list[Row]) -> None:
    """Add the rows of this machine to the data, and show them."""
    from benchmarks.__main__ import _processor

    cores = len(os.sched_getaffinity(0))
    gpu = f", {name()}" if usable() is None else ""
    whole = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    whole[f"{_processor()}, {cores} cores{gpu}"] = {
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 2),
        "rows": rows,
    }
    DATA.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    show()


def show() -> None:
    """Write table and picture from the data."""
    whole = json.loads(DATA.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    new = f"{BEGIN}\n\n{table(whole)}\n{END}"
    PAGE.write_text(
        re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: new, text, flags=re.S),
        encoding="utf-8",
    )
    runpy.run_path(str(DOCS / "draw.py"))["renew"]("how-big")


def table(whole: dict[str, Any]) -> str:
    """All machines as Markdown, each with its places."""
    lines: list[str] = []
    for machine, found in whole.items():
        busy = f", while other programs ran (load {found['load']:.0f})"
        busy = busy if found["load"] > QUIET else ""
        lines += [f"{machine}; measured on {found['date']}{busy}:", ""]
        lines += ["| grains | on | disks: a step | memory | spheres: a step | memory |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        places = dict.fromkeys(row["on"] for row in found["rows"])
        for place in places:
            here = [row for row in found["rows"] if row["on"] == place]
            for count in dict.fromkeys(sorted(row["grains"] for row in here)):
                cells = [f"10{_power(count)}", place]
                for kind in KINDS:
                    of = [r for r in here if (r["kind"], r["grains"]) == (kind, count)]
                    cells += [_time(of[0]["seconds"]), _size(of[0]["memory"])] if of else ["–", "–"]
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _power(count: int) -> str:
    return str(len(str(count)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _time(seconds: float) -> str:
    number, unit = (1e3 * seconds, "ms") if seconds < 1.0 else (seconds, "s")
    return f"{number:.1f} {unit}" if number < 10.0 else f"{number:.0f} {unit}"


def _size(memory: float) -> str:
    return f"{memory / GIB:.2f} GiB" if memory < 10 * GIB else f"{memory / GIB:.0f} GiB"


def draw(path: Path) -> None:
    """Time of a step and memory over the number of grains, all machines."""
    from hardgrain.papers.figures import COLOURS, new_figure, style

    whole = json.loads(DATA.read_text(encoding="utf-8"))
    lines: dict[tuple[str, str], list[Row]] = {}
    for found in whole.values():
        for row in found["rows"]:
            lines.setdefault((row["kind"], row["on"]), []).append(row)
    with style():
        figure, panels = new_figure(1, 2, width=4.2, height=3.4)
        places = list(dict.fromkeys(on for _, on in lines))
        for (kind, on), rows in lines.items():
            grains = [row["grains"] for row in rows]
            look = {"color": COLOURS[1 + places.index(on)], "label": f"{kind}, {on}"}
            mark = "o--" if kind == "disks" else "s-"
            panels[0].plot(grains, [row["seconds"] for row in rows], mark, **look)
            panels[1].plot(grains, [row["memory"] / GIB for row in rows], mark, **look)
        for axes, label in zip(panels, (f"time of a step, {SWEEPS} sweeps [s]", "memory [GiB]")):
            axes.set(xscale="log", yscale="log", xlabel="grains", ylabel=label)
        panels[0].legend(loc="upper left")
        panels[1].set_ylim(0.1, None)
        figure.savefig(path, dpi=160)


if __name__ == "__main__":  # without arguments: table and picture of what is known already
    if len(sys.argv) == 1:
        show()
        sys.exit()
    print(json.dumps(_measured(sys.argv[1], int(sys.argv[2]), " ".join(sys.argv[3:]))))
