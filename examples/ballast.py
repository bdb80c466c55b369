"""A heap of broken stones: how densely they lie, how they touch, and which forces are unique."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain.forces import force_space
from hardgrain.measure import coordination, packing_fraction
from hardgrain.measure.resultants import KINDS, resultants
from hardgrain.show.network import draw_network


def poured(count: int, file: Path) -> hg.Simulation:
    """Random polyhedra that fall into a box; sizes are those of sieves."""
    wide = 4.0
    size = [wide, wide, 0.3 * count + 4.0]
    scene = hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[
            hg.Grains(
                count=count,
                shape={"kind": "polyhedron", "corners": 12, "random": True},
                diameter=hg.Uniform(min=0.8, max=1.2),
                size_by="sieve",
                orientation="random",
                place=hg.Deposit(min=[0, 0, 0], max=size),
            )
        ],
        walls=[hg.Box(min=[0, 0, 0], max=size, open=["top"])],
    )
    sim = hg.Simulation(
        scene,
        dt=0.005,
        solver=hg.GaussSeidel(stop="residual", tolerance=2e-4, sweeps=20_000),
        seed=2,
        title="Ballast",
        units="length: mean size of a stone; density: that of the stones; acceleration: gravity",
    )
    summary = sim.run(until=hg.AtRest(), output=file, overwrite=True)
    print(summary)
    assert summary.ended == "at rest"
    return sim


def contacts(sim: hg.Simulation) -> None:
    """Stones touch in points, along edges and in faces; resultants are what they do together."""
    found = resultants(sim)
    print(f"packing fraction {packing_fraction(sim):.3f}")
    print(f"coordination {coordination(sim):.2f}, in points {coordination(sim, by='point'):.2f}")
    for k, name in enumerate(KINDS):
        here = found.kind == k
        share = found.normal_force[here].sum() / found.normal_force.sum()
        print(f"{here.sum()} contacts in a {name} bear {100 * share:.0f} % of all normal forces")
    # The bottom bears the weight that the walls do not: friction there may hold some of it.
    n, weight = sim.model.n, float(sim.model.mass[: sim.model.n].sum())
    on_walls = found.force[found.second >= n].sum(axis=0)
    np.testing.assert_allclose(on_walls, [0.0, 0.0, -weight], atol=0.01 * weight)
    # Loose, since the heap is but a few stones wide and high: walls and its top leave holes.
    assert 0.2 < packing_fraction(sim) < 0.75
    assert coordination(sim, by="point") >= coordination(sim)


def unique(sim: hg.Simulation) -> None:
    """How many dimensions of forces equilibrium leaves open, and how many of resultants."""
    space = force_space(sim)
    print(
        f"M = {space.contacts} points of K = {space.pairs} contacts, N = {space.grains} stones:"
        f" {space.nullity} dimensions of forces are open, {space.within} of them within faces and"
        f" edges, {space.resultant_nullity} of resultants"
    )
    assert space.nullity >= 3 * space.contacts - 6 * space.grains
    assert space.nullity == space.within + space.resultant_nullity
    assert space.pairs < space.contacts


def main(quick: bool = False, folder: Path = Path("results/ballast")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "ballast.h5"
    sim = poured(15 if quick else 50, file)
    contacts(sim)
    unique(sim)
    draw_network(sim, path=folder / "ballast.png")


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
