"""``python -m benchmarks [NAME…] [--quick]``: measure, print a table, keep the figures as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape

from benchmarks.measure import RESULTS, Absent, Figure

# name -> module; the threads last, since a pool of threads that waits may cost CPU time
BENCHMARKS = {
    "pymunk": "against_pymunk",
    "shapes": "shapes",
    "siconos": "against_siconos",
    "lammps": "against_lammps",
    "soft": "soft",
    "events": "events",
    "deformable": "deformable",
    "array": "array",
    "forces": "forces",
    "scaling": "scaling",
    "rigid": "rigid",
    "rigid-sizes": "rigid_sizes",
    "hard-steps": "hard_steps",
    "overhead": "overhead",
    "small": "small",
    "cell": "cell",
    "bulk": "bulk",
    "advise": "advise",
    "default": "default",
    "size": "size",
    "how-big": "how_big",
    "earlier": "earlier",
    "gpu": "gpu",
    "fronts": "fronts",
    "threads": "threads",
    "mpi": "mpi",
}
# measured only when they are named: they take minutes to hours or many cores, and one writes a page
ON_REQUEST = {"bulk", "rigid-sizes", "how-big"}
VERDICT = {True: "[green]met[/]", False: "[red]MISSED[/]", None: ""}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    console = Console(highlight=False, soft_wrap=True)
    load = os.getloadavg()[0]
    if load > 0.3:
        console.print(f"[yellow]This machine is busy (load {load:.2f}): figures may be off.[/]")
    figures: dict[str, list[Figure]] = {}
    absent: dict[str, str] = {}
    for name in options.names or (n for n in BENCHMARKS if n not in ON_REQUEST):
        module = importlib.import_module(f"benchmarks.{BENCHMARKS[name]}")
        console.print(f"\n[bold]{name}[/]: {escape((module.__doc__ or '').splitlines()[0])}")
        try:
            figures[name] = module.run(options.quick)
        except Absent as what:
            absent[name] = str(what)
            console.print(f"  skipped: {what} is not here")
            continue
        for figure in figures[name]:
            _show(console, figure, options.quick)
    path = _keep(figures, absent, options.quick, load)
    missed = [f.what for some in figures.values() for f in some if f.met is False]
    console.print(f"\n{path}")
    if options.quick or not missed:
        return 0
    console.print("[red]missed:[/] " + "; ".join(missed))
    return 1


def _show(console: Console, figure: Figure, quick: bool) -> None:
    verdict = "" if quick else VERDICT[figure.met]
    console.print(
        f"  {figure.what:<76} {figure.value:>8.3g} {figure.unit:<3} {figure.target:<6} {verdict}"
    )
    if figure.detail:
        console.print(f"    [dim]{escape(figure.detail)}[/]")


def _keep(
    figures: dict[str, list[Figure]], absent: dict[str, str], quick: bool, load: float
) -> str:
    import numba
    import numpy

    import hardgrain

    record = {
        "hardgrain": hardgrain.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [load, os.getloadavg()[0]],  # at the start, at the end
        "quick": quick,
        "absent": absent,
        "figures": {
            name: [{**asdict(f), "met": f.met} for f in some] for name, some in figures.items()
        },
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / time.strftime("%Y-%m-%d-%H%M%S.json")
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False))
    return os.path.relpath(path)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
