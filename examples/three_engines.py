"""One scene, three engines: where they agree, and which of them a flow is for.

Disks on a floor that shakes. Shaken hard they are a gas: contact dynamics, soft particles and
events must give the same height and the same energy, within the error over seeds. Shaken ever more
gently they become a bed: what a unit of time then costs each engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain.show.style import COLOURS, new_figure, save, style

Engine = hg.RigidGrains | hg.SoftParticles | hg.EventDriven
ENGINES = ("events", "contact dynamics", "soft particles")
CONTACT_TIMES = (1e-3, 1e-5)  # of events


def engines(dt: float, contact_time: float = 0.0) -> dict[str, tuple[Engine, float]]:
    """The three engines, each with its step; e = 0.9, frictionless."""
    return {
        "events": (hg.EventDriven(contact_time=contact_time), dt),
        "contact dynamics": (hg.RigidGrains(), dt / 10),
        "soft particles": (hg.SoftParticles(stiffness=1e5, restitution=0.9, substeps=20), dt / 5),
    }


def shaken(engine: Engine, dt: float, seed: int, count: int, speed: float = 2.0) -> hg.Simulation:
    """Disks above a floor that moves up and down, in a column open to the sky."""
    e = 0.0 if isinstance(engine, hg.SoftParticles) else 0.9  # theirs is in the engine
    floor = hg.Plane(
        name="floor", point=[0, 0], normal=[0, 1], velocity=[0, f"{speed:g}*cos(20*t)"]
    )
    scene = hg.Scene(
        gravity=[0, -1],
        periodic={"x": (0, 20)},
        contacts=[hg.ContactLaw(friction=0, restitution=e)],
        grains=[hg.Grains(count=count, speed=1.0, place=hg.Loose(min=[0, 1], max=[20, 12]))],
        walls=[floor],
    )
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-4, sweeps=1000)
    return hg.Simulation(scene, dt=dt, engine=engine, solver=solver, seed=seed)


def steady(sim: hg.Simulation, begin: float, end: float) -> tuple[float, float]:
    """Means over time of the height of a grain and of its kinetic energy."""
    n, found = sim.model.n, []

    def watch(sim: hg.Simulation) -> bool:
        if sim.state.time > begin:
            found.append((sim.state.position[:n, 1].mean(), sim.kinetic / n))
        return False

    sim.run(until=[watch, hg.Time(time=end)], progress=False)
    height, energy = np.mean(found, axis=0)
    return float(height), float(energy)


def cost(
    engine: Engine, dt: float, speed: float, count: int, begin: float, end: float
) -> tuple[float, float]:
    """Share of space that the bed fills, and CPU seconds for a unit of time, once it is steady."""
    sim = shaken(engine, dt, 1, count, speed)
    for _ in range(round(begin / dt)):
        sim.step()
    start, height = time.process_time(), []
    for _ in range(round((end - begin) / dt)):
        sim.step()
        height.append(sim.state.position[:count, 1].mean())
    spent = (time.process_time() - start) / (end - begin)
    # as high as twice the centre of mass
    return float(count * np.pi / 4.0 / (20.0 * 2.0 * np.mean(height))), spent


def collapses(speed: float, count: int, end: float) -> bool:
    """Whether the same by events, without a contact time, ends in an inelastic collapse."""
    sim = shaken(hg.EventDriven(), 0.05, 1, count, speed)
    try:
        for _ in range(round(end / 0.05)):
            sim.step()
    except hg.RunError as told:
        print(f"shaken with {speed:g}: {told}")
        return True
    return False


def main(quick: bool = False, folder: Path = Path("results/three_engines")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    seeds, count, begin, end = (3, 20, 2.0, 4.0) if quick else (6, 60, 20.0, 80.0)
    found = {
        name: np.array(
            [steady(shaken(engine, dt, seed, count), begin, end) for seed in range(seeds)]
        )
        for name, (engine, dt) in engines(0.02).items()
    }
    mean = {name: each.mean(axis=0) for name, each in found.items()}
    error = {name: each.std(axis=0, ddof=1) / seeds**0.5 for name, each in found.items()}
    for name in ENGINES:
        (h, e), (dh, de) = mean[name], error[name]
        print(f"{name}: height {h:.3f} ± {dh:.3f}, energy of a grain {e:.3f} ± {de:.3f}")
    speeds = (2.0, 0.5) if quick else (4.0, 2.0, 1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.0)
    since, until = (0.5, 1.0) if quick else (20.0, 24.0)
    # a contact time lets events outlive the collapse of a bed
    chosen = {f"events, t_c = {tc:g}": engines(0.05, tc)["events"] for tc in CONTACT_TIMES}
    chosen |= {name: engines(0.05)[name] for name in ENGINES[1:]}
    for how in chosen.values():  # what must be compiled for a bed at rest is compiled now
        cost(*how, 0.0, count, since, until)
    costs = {
        name: np.array([cost(*how, v, count, since, until) for v in speeds])
        for name, how in chosen.items()
    }
    long, short, contact_dynamics, _ = costs.values()
    for k, speed in enumerate(speeds):
        each = ", ".join(f"{name} {1e3 * found[k, 1]:.3g} ms" for name, found in costs.items())
        print(f"shaken with {speed:g}, filled to {long[k, 0]:.2f}: {each}")
    lost = [long[k, 0] for k, v in enumerate(speeds) if collapses(v, count, until)]
    draw(folder, mean, error, costs, lost)
    for name in ENGINES[1:]:
        apart = np.abs(mean[name] - mean["events"])
        # four standard errors, and what steps of finite length do to collisions
        allowed = 4.0 * np.hypot(error[name], error["events"]) + 0.03 * mean["events"]
        assert (apart < allowed).all(), (name, apart, allowed)
    if not quick:
        assert short[0, 1] < 0.5 * contact_dynamics[0, 1]  # a gas is for events
        assert short[0, 1] < 2.0 * long[0, 1]  # whatever the contact time,
        assert short[-1, 1] > 5.0 * long[-1, 1]  # which alone bounds the cost of a bed at rest;
        assert lost  # without one, events end there


def draw(
    folder: Path,
    mean: Mapping[str, np.ndarray],
    error: Mapping[str, np.ndarray],
    costs: Mapping[str, np.ndarray],
    lost: list[float],
) -> None:
    """The gas by all three engines, and what a denser bed costs each of them."""
    with style():
        figure, (left, right) = new_figure(columns=2)
        for k, name in enumerate(ENGINES):
            for a, mark in enumerate("os"):
                left.errorbar(
                    [a + 0.12 * (k - 1)], mean[name][a] / mean["events"][a],
                    error[name][a] / mean["events"][a], fmt=mark, color=COLOURS[k],
                )  # fmt: skip
        for k, name in enumerate(costs):
            right.semilogy(*costs[name].T, "o-", color=COLOURS[max(k - 1, 0)], label=name)
            right.lines[-1].set_linestyle("--" if k == 0 else "-")
        left.set_xticks([0, 1], ["height", "kinetic energy"])
        left.set_xlim(-0.5, 1.5)
        left.set_ylabel("over that by events")
        left.set_title("shaken hard: means and errors")
        if lost:
            right.axvspan(min(lost), max(lost) + 0.02, color="0.9", zorder=0)
            right.text(min(lost) - 0.05, 6e-3, "collapse without\na contact time ", ha="right")
        right.set_xlabel("share of space that the disks fill")
        right.set_ylabel("CPU seconds a unit of time")
        right.set_title("shaken less and less: cost")
        right.legend()
        save(figure, folder / "three_engines.png")


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
