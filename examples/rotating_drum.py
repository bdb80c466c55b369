"""A rotating drum: the angle of repose against friction, and the power that turns the drum."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import hardgrain as hg
from hardgrain import measure
from hardgrain.show.style import COLOURS, new_figure, save, style

SPIN = 0.05  # spin² radius / g = 0.025: slow
START = 25.0  # the drum has turned by more than a radian, and the beginning is forgotten


def drum(friction: float, radius: float) -> hg.Scene:
    """Disks of any friction in a drum that is always rough, a good third of it full."""
    side = 0.68 * radius
    return hg.Scene(
        gravity=[0, -1],
        materials={"grain": hg.Material(), "rubber": hg.Material()},
        contacts=[
            hg.ContactLaw(friction=friction),
            hg.ContactLaw(between=("grain", "rubber"), friction=0.8),
        ],
        grains=[
            hg.Grains(
                count=round(1.15 * radius**2),
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Deposit(min=[-side, -side], max=[side, side]),
            )
        ],
        walls=[hg.Drum(center=[0, 0], radius=radius, spin=SPIN, material="rubber")],
    )


def turn(friction: float, radius: float, time: float, file: Path) -> None:
    """Run the drum; a frame every ten steps."""
    scenario = hg.Scenario(
        title=f"Drum of disks with friction {friction:g}",
        units="length: mean grain diameter; density: that of the grains; acceleration: gravity",
        seed=1,
        dt=0.02,
        scene=drum(friction, radius),
        solver=hg.RigidSolver(tolerance=1e-6),
        output={"every": 10},
    )
    summary = hg.Simulation(scenario).run(until=hg.Time(time=time), output=file, overwrite=True)
    assert summary.loose == 0  # converged in every step
    assert summary.rigid


@dataclass(frozen=True)
class Turning:
    """What was measured in a drum, over all frames after the start."""

    angle: float  # of repose, mean over time [degree]
    error: float  # of that mean, by the scatter of ten blocks of time
    spread: float  # standard deviation over time: avalanches
    power: float  # of the drum, from the work of every step
    lifted: float  # what it takes to hold the weight off the centre: SPIN M g ⟨x⟩
    stored: float  # what the pile's angular momentum, which comes and goes, can add or take


def look(file: Path) -> Turning:
    """A pile with a straight surface has its centre of mass below the middle of the surface, along
    its normal: the angle of repose is that by which the centre of mass is turned away from below.
    """
    with hg.RunFile(file) as run:
        late = np.flatnonzero(run.time >= START)
        snaps = [(s.mass @ s.position, turning(s)) for s in measure.snapshots(run, late)]
        work = run.history["work_driven"][run.step[late[0]] :]
        time = run.time[-1] - run.time[late[0]]
    moment, momentum = (np.array(values) for values in zip(*snaps))
    x, y = moment.T
    angle = np.degrees(np.arctan2(x, -y))
    blocks = [block.mean() for block in np.array_split(angle, 10)]
    return Turning(
        angle.mean(),
        np.std(blocks, ddof=1) / np.sqrt(10),
        angle.std(),
        work.sum() / time,
        SPIN * x.mean(),
        SPIN * np.ptp(momentum) / time,
    )


def turning(snap: measure.Snapshot) -> float:
    """Angular momentum of the pile about the axis of the drum."""
    (x, y), (vx, vy) = snap.position.T, snap.velocity.T
    inertia = 0.5 * snap.mass * snap.radius**2
    return float(snap.mass @ (x * vy - y * vx) + inertia @ snap.spin[:, 0])


def main(quick: bool = False, folder: Path = Path("results/rotating_drum")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    friction = [0.0, 0.5] if quick else [0.0, 0.1, 0.2, 0.4, 0.8]
    radius, time = (7.0, 50.0) if quick else (10.0, 105.0)
    found = []
    for mu in friction:
        file = folder / f"friction-{mu:g}.h5"
        turn(mu, radius, time, file)
        found.append(look(file))
        print(f"µ = {mu:g}: {found[-1].angle:.1f} ± {found[-1].error:.1f} degrees")
    draw(np.array(friction), found, folder / "rotating_drum.png")
    hg.draw_network(file, path=folder / "rotating_drum_pile.png")

    # Grains without friction among each other cannot resist the torque of the wall, they spin: the
    # pile lies at the bottom, to half a grain. With friction it rises, the more the rougher.
    assert abs(found[0].angle) < np.degrees(0.5 / radius)
    for less, more in pairwise(found):
        assert more.angle > less.angle - 3.0 * np.hypot(less.error, more.error)
    assert found[-1].angle - found[0].angle > 5.0 * np.hypot(found[0].error, found[-1].error)
    # The drum's torque lifts the weight, M g x, but for what the pile's angular momentum takes up.
    for one in found:
        assert abs(one.power - one.lifted) < one.stored


def draw(friction: np.ndarray, found: list[Turning], path: Path) -> None:
    """The angle over friction, and how far avalanches let it swing."""
    angle, error, spread = (
        np.array([getattr(one, name) for one in found]) for name in ("angle", "error", "spread")
    )
    with style():
        figure, axes = new_figure()
        axes.fill_between(
            friction, angle - spread, angle + spread, color=COLOURS[6], alpha=0.3, lw=0,
            label="swing of avalanches",
        )  # fmt: skip
        axes.errorbar(friction, angle, error, fmt="o-", color=COLOURS[1], label="mean")
        axes.set_xlabel("friction coefficient of the grains")
        axes.set_ylabel("angle of repose [degree]")
        axes.legend()
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
