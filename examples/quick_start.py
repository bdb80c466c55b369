"""Quick start: disks settle in a box; their walls carry their weight."""

from __future__ import annotations

import os
from pathlib import Path

import hardgrain as hg
from hardgrain import measure


def box(count: int) -> hg.Scene:
    """A gas of disks above the floor of an open box, 20 diameters wide."""
    high = 0.1 * count
    return hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Loose(min=[0, 0], max=[20, high]),
                speed=0.3,
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[20, high], open=["top"])],
    )


def settle(count: int, file: Path) -> None:
    """Step until nothing moves, and write a run file."""
    sim = hg.Simulation(
        box(count),
        dt=0.01,
        seed=1,
        title="Disks settled in a box",
        units="length: mean grain diameter; density: that of the grains; acceleration: gravity",
    )
    summary = sim.run(until=hg.AtRest(), output=file, overwrite=True)
    print(summary)
    assert summary.loose == 0  # converged in every step
    assert summary.rigid


def look(file: Path, picture: Path) -> None:
    """Measure the last frame, hold it against what must be, draw it."""
    with hg.RunFile(file) as run:
        filled = measure.packing_fraction(run, margin=2.0)
        z = measure.coordination(run)
        force = measure.measure(run, "wall-force", frames=[-1]).force
        weight = sum(run.model["mass"])
        hg.draw_network(run, path=picture)
    print(f"packing fraction {filled:.3f}, contacts a grain {z:.2f}")
    print(force.squeeze("time").to_pandas())

    # What presses on the floor and rubs on the sides is the weight of all grains, g = 1;
    # what presses on one side presses on the other.
    total = force.sum("wall").squeeze()
    assert abs(total.sel(component="y") + weight) < 1e-3 * weight
    assert abs(total.sel(component="x")) < 1e-3 * weight


def main(quick: bool = False, folder: Path = Path("results/quick_start")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    settle(count=100 if quick else 500, file=folder / "settled.h5")
    look(folder / "settled.h5", folder / "quick_start.png")


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
