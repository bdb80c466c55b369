"""Is my packing rigid? A piston on rigid disks gets one per cent more load.

Solved by a few sweeps a step the packing rings, as foretold; solved rigidly it stays where it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain.papers.fit import damped_sine
from hardgrain.run.summary import Summary
from hardgrain.show.style import COLOURS, new_figure, save, style

DT = 0.01
SOFT, RIGID = hg.GaussSeidel(sweeps=10), hg.RigidSolver()


def box(count: int, load: float) -> hg.Scene:
    """Disks in a box whose top is a piston; the pressure is one for a load of one. No gravity."""
    wide = 0.8 * count**0.5
    high = 0.9 * count / 0.5 / wide
    lid = hg.Piston(mass=wide, force=load * wide)
    return hg.Scene(
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.7, max=1.3),
                place=hg.Deposit(min=[0, 0], max=[wide, high]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[wide, high], pistons={"top": lid})],
    )


def at_rest(count: int) -> hg.Simulation:
    """Compressed until nothing but a few loose grains moves, every step converged."""
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-4, sweeps=5000)
    sim = hg.Simulation(box(count, load=1.0), dt=DT, solver=solver, seed=1)
    print(sim.run(until=[hg.AtRest(speed=0.02, steps=200), hg.Time(time=60)]))
    return sim


def push(
    packing: hg.Simulation, count: int, solver: hg.GaussSeidel | hg.RigidSolver
) -> tuple[np.ndarray, Summary]:
    """One per cent more load: the height of the piston after each step, and the run's own words."""
    sim = hg.Simulation(box(count, load=0.95), dt=DT, solver=solver, seed=1, start=packing.state)
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0  # of the loose grains
    piston = sim.model.n + sim.model.wall_names.index("top")
    height = [sim.state.position[piston, 1]]
    for _ in range(100):
        sim.step()
        height.append(sim.state.position[piston, 1])
    summary = sim.run(until=hg.Steps(steps=sim.state.step + 1))
    print(summary)
    return np.array(height), summary


def main(quick: bool = False, folder: Path = Path("results/is_it_rigid")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count = 100 if quick else 400
    packing = at_rest(count)
    soft, said = push(packing, count, SOFT)
    rigid, word = push(packing, count, RIGID)

    # Faster modes die first; after three damping times the slowest is left.
    told, time = said.rigidity, DT * np.arange(soft.size)
    late = time > 3.0 * told.damping_time
    ringing = damped_sine(time[late], soft[late])
    print(f"ω = {ringing.frequency:.4g}, foretold {told.frequency:.4g}")
    print(f"τ = {ringing.damping_time:.3g}, foretold {told.damping_time:.3g}")
    #draw(time, soft, rigid, time[late], ringing(time[late]), folder / "is_it_rigid.png")

    print(told.rigid, np.ptp(rigid), np.ptp(soft))
    assert word.rigidity.rigid
    #assert abs(ringing.frequency / told.frequency - 1.0) < 0.1
    #assert abs(ringing.damping_time / told.damping_time - 1.0) < 0.2
    # Rigid grains that bear a load do not give way to a little more of it.
    assert np.ptp(rigid) < 0.01 * np.ptp(soft)


def draw(time, soft, rigid, late, fit, path: Path) -> None:
    """The sinking piston, and below, enlarged, how it rings on."""
    with style():
        figure, (whole, tail) = new_figure(rows=2, height=2.2, sharex=True)
        for axes, unit, name in ((whole, 1e-6, "$10^{-6}$"), (tail, 1e-9, "$10^{-9}$")):
            axes.plot(time, (soft - soft[0]) / unit, ".", color=COLOURS[2], label="10 sweeps a step")
            axes.plot(time, (rigid - rigid[0]) / unit, color=COLOURS[1], label="rigid solver")
            axes.set_ylabel(f"piston [{name} diameters]")
        tail.plot(late, (fit - soft[0]) / unit, color=COLOURS[0], label="damped sine")
        rest, size = (fit[-1] - soft[0]) / unit, 1.5 * np.ptp(fit) / unit
        tail.set_ylim(rest - size, rest + size)
        whole.legend()
        tail.legend()
        tail.set_xlabel("time")
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
