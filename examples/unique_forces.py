"""Are my forces unique? The range of every contact force in a packing at rest."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain.forces import force_space
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.space import ForceSpace
from hardgrain.show.forces import draw_indeterminacy


def settled(count: int, friction: float, file: Path) -> None:
    """Disks at rest in a box."""
    wide = count**0.5
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=friction)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Deposit(min=[0, 0], max=[wide, 2 * wide]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[wide, 2 * wide], open=["top"])],
    )
    sim = hg.Simulation(
        scene,
        dt=0.01,
        solver=hg.RigidSolver(),
        seed=1,
        title="How far contact forces are open",
        units="length: mean grain diameter; density: that of the grains; acceleration: gravity",
    )
    print(sim.run(until=hg.AtRest(), output=file, overwrite=True).unique)


def possible(file: Path) -> tuple[ForceSpace, Bounds]:
    """All forces that equilibrium, Signorini and Coulomb allow; the ends of each by programs."""
    with hg.RunFile(file) as run:
        space = force_space(run)
    bounds = space.bounds()
    width = (bounds.normal_max - bounds.normal_min) / space.packing.unit
    print(
        f"M = {space.contacts} contacts, N = {space.grains} disks, {space.dimension} dimensions;"
        f" normal forces vary by {np.median(width):.2g} mean weights in the median"
    )
    return space, bounds


def check(space: ForceSpace, bounds: Bounds) -> None:
    """What must hold whatever the packing."""
    found, slack = space.packing.components, 1e-6 * space.packing.unit
    # The run found one member of the set: its forces lie within the bounds …
    assert (found >= bounds.low - slack).all()
    assert (found <= bounds.high + slack).all()
    # … and so do others, drawn at random, which balance the same weight.
    matrix, load = space.equations()
    for state in space.sample(10, seed=1).states:
        assert np.abs(matrix @ state.ravel() / space.packing.unit - load).max() < 1e-6
        assert (state >= bounds.low - slack).all()
        assert (state <= bounds.high + slack).all()
    # 2M force components, 3N equations of equilibrium; dependent equations leave more open.
    assert space.nullity >= 2 * space.contacts - 3 * space.grains
    assert space.dimension <= space.nullity


def main(quick: bool = False, folder: Path = Path("results/unique_forces")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count = 40 if quick else 150
    file = folder / "rough.h5"
    settled(count, friction=0.3, file=file)
    space, bounds = possible(file)
    draw_indeterminacy(file, space, bounds, path=folder / "unique_forces.png")
    assert space.dimension > 0
    check(space, bounds)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
