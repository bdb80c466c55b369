"""Is my packing rigid? Disks at rest in a box get ten per cent more gravity.

Scaled with their load, the forces that held them hold them again: rigid grains stay where they are.
With a few sweeps a step they sag and ring instead, as the run has foretold.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain.papers.fit import Ringing, damped_sine
from hardgrain.run.summary import Summary
from hardgrain.show.style import COLOURS, new_figure, save, style

DT = 0.01
SOFT, RIGID = hg.GaussSeidel(sweeps=10), hg.RigidSolver()


def box(count: int, gravity: float) -> hg.Scene:
    """Disks in an open box, about as high as it is wide once they have settled."""
    wide = count**0.5
    return hg.Scene(
        gravity=[0, -gravity],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Deposit(min=[0, 0], max=[wide, 2 * wide]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[wide, 2 * wide], open=["top"])],
    )


def settled(count: int) -> hg.Simulation:
    """The packing, brought to rest by the rigid solver."""
    sim = hg.Simulation(box(count, gravity=1.0), dt=DT, solver=RIGID, seed=1)
    print(sim.run(until=hg.AtRest(steps=100)))
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
    return sim


def load(
    packing: hg.Simulation, solver: hg.GaussSeidel | hg.RigidSolver, steps: int = 200
) -> tuple[np.ndarray, Summary]:
    """More gravity: the height of the centre of mass after each step, and the run's own words."""
    n = packing.model.n
    mass = packing.model.mass[:n]
    sim = hg.Simulation(box(n, gravity=1.1), dt=DT, solver=solver, seed=1, start=packing.state)
    height = []

    def watch(sim: hg.Simulation) -> bool:  # a stop condition that never holds
        height.append(mass @ sim.state.position[:n, 1] / mass.sum())
        return False

    summary = sim.run(until=[watch, hg.Steps(steps=steps)])
    print(summary)
    return np.array(height), summary


def ringing(time: np.ndarray, height: np.ndarray, damping_time: float) -> Ringing:
    """Faster modes die first; after two damping times the slowest is left."""
    late = time > 2.0 * damping_time
    return damped_sine(time[late], height[late])


def main(quick: bool = False, folder: Path = Path("results/is_it_rigid")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    packing = settled(100 if quick else 300)
    soft, said = load(packing, SOFT)
    rigid, also = load(packing, RIGID)
    told, time = said.rigidity, DT * np.arange(soft.size)
    heard = ringing(time, soft, told.damping_time)
    print(f"ω = {heard.frequency:.4g}, foretold {told.frequency:.4g}")
    print(f"τ = {heard.damping_time:.3g}, foretold {told.damping_time:.3g}")
    draw(time, soft, rigid, heard, folder / "is_it_rigid.png")

    assert not told.rigid
    assert also.rigidity.rigid
    assert abs(heard.frequency / told.frequency - 1.0) < 0.1
    assert abs(heard.damping_time / told.damping_time - 1.0) < 0.25
    assert np.ptp(rigid) < 0.01 * np.ptp(soft)


def draw(time: np.ndarray, soft: np.ndarray, rigid: np.ndarray, heard: Ringing, path: Path) -> None:
    """How far the centre of mass goes down."""
    late = time > time[-1] * 0.2
    with style():
        figure, axes = new_figure(width=5.2)
        axes.plot(time, 1e3 * (rigid - rigid[0]), color=COLOURS[1], label="rigid solver")
        axes.plot(time, 1e3 * (soft - soft[0]), ".", color=COLOURS[2], label="10 sweeps a step")
        fit = 1e3 * (heard(time[late]) - soft[0])
        axes.plot(time[late], fit, color=COLOURS[0], label="damped sine")
        axes.set_xlabel(r"time since the load, $t\,\sqrt{g/d}$")
        axes.set_ylabel(r"centre of mass [$10^{-3}\,d$]")
        axes.legend()
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
