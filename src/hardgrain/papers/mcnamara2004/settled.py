"""Grains dropped into a box and brought to rest: packings of any size, friction and dimension.

As the paper's CD-1, in units of the largest radius, the acceleration of gravity and the density of
the grains: radii spread evenly in [0.7, 1], a jittered grid to start from, a fall, a packing. A box
for 95 disks is 12.25 wide (the width that matches the paper's mean normal force); others have the
same shape, and spheres stand in one about as high as wide.
"""

from __future__ import annotations

import math
from typing import Any

from hardgrain.errors import RunError
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import Grid
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import Box, ContactLaw, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = ["DT", "at_rest", "settled"]

DT = 0.04  # [√(r/g)]
SWEEPS = 100  # sweeps a step of the fall, for which the worst overlap is some 10⁻³ r
# [√(g r)] Root-mean-square speeds that end the fall, that are worth a tight solution, and that are
# rest.
SLOW, CALM, STILL = 1e-2, 1e-7, 1e-9
# Grains roll on a floor or swing between two others for ever: all velocities are set to zero each
# time that the kinetic energy falls. What swings is then where it would come to rest.
QUIET, MOST = 50, 20_000  # steps of rest, and most steps until then
APART, TOUCH = 100, 1e-6  # steps that remove overlaps, and what is left of them [r]
LOOSE = GaussSeidel(sweeps=SWEEPS)
STIFF = GaussSeidel(stop="residual", tolerance=1e-9, sweeps=2000)
TIGHT = GaussSeidel(stop="residual", tolerance=1e-11, sweeps=20_000)


def settled(count: int, mu: float, seed: int, dim: int = 2) -> Simulation:
    """A simulation that has come to rest, its forces converged."""
    pitch = 2.1  # spacing of the grid
    width = 12.25 * math.sqrt(count / 95.0) if dim == 2 else (4.3 * count) ** (1.0 / 3.0)
    rows = math.ceil(count / math.floor(width / pitch) ** (dim - 1))
    low, high = [0.0] * dim, [width] * (dim - 1) + [pitch * (rows + 0.5)]
    scene = Scene(
        dimension=2 if dim == 2 else 3,
        gravity=[0.0] * (dim - 1) + [-1.0],
        contacts=[ContactLaw(friction=mu)],
        grains=[
            Grains(
                count=count,
                diameter=Uniform(min=1.4, max=2.0),
                place=Grid(min=tuple(low), max=tuple(high), jitter=1.0),
            )
        ],
        walls=[Box(min=low, max=high, open=["top"])],
        allow_overlaps=True,  # those that the run itself has made
    )
    sim = Simulation(scene, dt=DT, solver=LOOSE, seed=seed)
    while not sim.quiet(SLOW, QUIET):
        sim.step()
    return at_rest(sim)


def at_rest(sim: Simulation) -> Simulation:
    """A packing that hardly moves, brought to rest without overlaps, its forces converged.

    Overlaps would count: without friction, disks that touch have no more than two contacts each,
    disks that overlap may have more.
    """
    scene: Scene = sim.scenario.scene
    given: dict[str, Any] = {"dt": sim.dt, "seed": sim.scenario.seed}
    apart = scene.model_copy(update={"shock": "g"})  # it pushes overlapping grains apart
    quiet, state = QUIET, sim.state
    for _ in range(MOST):
        if quiet == QUIET:
            loose = Simulation(apart, **given, solver=STIFF, start=state)
            for _ in range(APART):
                _damped(loose)
            loose = Simulation(scene, **given, solver=STIFF, start=loose.state)
        _damped(loose)
        quiet = quiet % QUIET + 1 if loose.quiet(CALM, 1) else 0
        if quiet == QUIET:
            tight = Simulation(scene, **given, solver=TIGHT, start=loose.state)
            tight.state.velocity[:], tight.state.spin[:] = 0.0, 0.0
            tight.step()
            state = tight.state
            if tight.quiet(STILL, 1) and state.contacts.gap.min() > -TOUCH:
                return tight
    raise RunError(f"the packing with seed {sim.scenario.seed} did not come to rest")


def _damped(sim: Simulation) -> None:
    """Make a step, from rest if the last one has lost kinetic energy."""
    before = sim.kinetic
    if sim.step().kinetic <= before:
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
