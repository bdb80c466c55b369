"""5000 spheres at rest: CPU time of a step of 100 sweeps, against soft spheres in LAMMPS.

LAMMPS runs the same packing for the same simulated time with its granular package: linear
spring–dashpot contacts with k_n = 10⁵ mg/d and tangential history, and an explicit step of a
fiftieth of a collision, so about 70 steps for one of ours. Its own timer is used, as CPU time:
neither start-up nor reading counts. Both have pair lists and seldom make them anew at rest.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import Absent, Figure, best
from benchmarks.packings import DT, FRICTION, Steps, spheres
from hardgrain.core.model import Model, State

STIFFNESS = 1e5  # k_n [m g / d] of a sphere with the mean diameter
PER_COLLISION = 50  # explicit steps
SWEEPS = 100

INPUT = """
units lj
atom_style sphere
boundary p p f
newton off
comm_modify vel yes
read_data packing.data
neighbor 0.1 bin
neigh_modify delay 0 every 10 check yes
pair_style gran/hooke/history {k_n} NULL {gamma} NULL {mu} 1
pair_coeff * *
timestep {dt}
fix 1 all nve/sphere
fix 2 all gravity 1.0 vector 0 0 -1
fix 3 all wall/gran hooke/history {k_n} NULL {gamma} NULL {mu} 1 zplane 0.0 NULL
thermo {steps}
thermo_modify lost error
run {settle}
run {steps}
"""


def run(quick: bool) -> list[Figure]:
    model, state = spheres(100, tile=100) if quick else spheres(5000)
    ours = 2 if quick else 10  # steps at a time
    settings = lammps_settings(ours, settle=2 if quick else 20)
    steps = settings["steps"] // ours
    spent: list[float] = []
    runs = {order: Steps(model, state, SWEEPS, order, ours) for order in ("sequential", "random")}
    times = best(
        {"LAMMPS": lambda: spent.append(lammps(model, state, settings)), **runs},
        repeat=2 if quick else 5,
    )
    peer = min(spent)
    return [
        Figure(
            f"CPU time of a step / LAMMPS', {order}",
            times[order] / peer,
            target="≤ 1",
            detail=f"hardgrain {times[order] / ours * 1e3:.1f} ms ({SWEEPS} sweeps),"
            f" LAMMPS {peer / ours * 1e3:.1f} ms ({steps} explicit steps), {model.n} spheres,"
            f" {runs[order].contacts} contacts",
        )
        for order in runs
    ]


def lammps_settings(steps: int, settle: int) -> dict[str, Any]:
    """Soft spheres for as long as ``steps`` steps of ours, after ``settle`` of them unmeasured."""
    if shutil.which("lmp") is None:
        raise Absent("LAMMPS (Debian: apt install lammps)")
    # A collision of two equal spheres lasts π √(m_eff / k_n), m_eff = m/2.
    dt = math.pi * math.sqrt(0.5 / STIFFNESS) / PER_COLLISION
    explicit = round(DT / dt)
    return {
        "k_n": STIFFNESS * math.pi / 6.0,
        "gamma": math.sqrt(STIFFNESS),  # of the force γ m_eff v: restitution 0.4
        "mu": FRICTION,
        "dt": dt,
        "settle": settle * explicit,
        "steps": steps * explicit,
    }


def lammps(model: Model, state: State, settings: dict[str, Any]) -> float:
    """CPU time of the last run of the input [s]."""
    with tempfile.TemporaryDirectory() as folder:
        _write(model, state, Path(folder) / "packing.data")
        (Path(folder) / "in.packing").write_text(INPUT.format(**settings))
        command = ["lmp", "-in", "in.packing", "-log", "none"]
        # One process, no threads; a container's root may start MPI.
        alone = {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=os.environ | alone
        )
    loop = re.findall(r"Loop time of (\S+) on 1 procs", done.stdout)
    share = re.findall(r"([\d.]+)% CPU use", done.stdout)
    if done.returncode or len(loop) < 2:
        raise RuntimeError(f"LAMMPS failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return float(loop[-1]) * float(share[-1]) / 100.0


def _write(model: Model, state: State, path: Path) -> None:
    n = model.n
    x = state.position[:n].copy()
    x[:, :2] %= model.periodic[:2]
    top = x[:, 2].max() + 5.0
    with path.open("w") as file:
        print(f"\n\n{n} atoms\n1 atom types\n", file=file)
        for name, length in zip("xy", model.periodic):
            print(0, length, f"{name}lo {name}hi", file=file)
        print(f"0 {top} zlo zhi\n\nAtoms # sphere\n", file=file)
        for k in range(n):
            print(k + 1, 1, 2.0 * model.radius[k], 1.0, *x[k], file=file)
