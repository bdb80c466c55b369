"""What each of the processes that share a run holds at most, in bytes for each grain of the run.

Run by `test_processes.py` under mpiexec with the number of grains of each process. Counted are the
arrays of NumPy and the objects of Python, and not compiled code or buffers of MPI.
"""

from __future__ import annotations

import json
import sys
import tracemalloc

import hardgrain as hg
from hardgrain.processes import Processes, world


def scene(columns: int, rows: int) -> hg.Scene:
    """Disks in a wide box, row upon row, which fall onto each other."""
    low, high = [0.0, 0.0], [float(columns), float(rows)]
    grid = hg.Grid(spacing=0.0, min=low, max=high)
    return hg.Scene(
        dimension=2,
        gravity=[0.0, -1.0],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[hg.Grains(count=columns * rows, place=grid, diameter=1.0, speed=0.2)],
        walls=[hg.Box(min=[0.0, 0.0], max=[float(columns), float(rows + 1)])],
    )


def main(grains: int) -> None:
    here = world()
    assert isinstance(here, Processes)
    rows = 25
    wide = scene(grains * here.size // rows, rows)
    solver = hg.GaussSeidel(order="tiles", sweeps=5)
    hg.Simulation(scene(200, rows), dt=0.05, solver=solver).run(2, progress=False)  # compiled
    tracemalloc.start()
    sim = hg.Simulation(wide, dt=0.05, solver=solver)
    sim.run(6, progress=False)
    peaks = here.comm.gather(tracemalloc.get_traced_memory()[1])
    known = here.comm.gather((sim.model.n, len(sim.state.position), len(sim.state.contacts)))
    if here.leads:
        print(json.dumps({"peaks": peaks, "known": known}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
