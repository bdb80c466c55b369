"""How thin may an arch be? Stones that hold each other up, and the hinges about which they fall."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from matplotlib.patches import Polygon

import hardgrain as hg
from hardgrain.forces import force_space
from hardgrain.measure import outline
from hardgrain.measure.resultants import resultants
from hardgrain.show.style import COLOURS, new_figure, save, style
from hardgrain.theory.arch import centre_of_stone, thinnest_arch


def arch(stones: int, thickness: float) -> hg.Simulation:
    """A semicircle of equal stones with radial joints, on the ground; lengths in mean radii."""
    angle = math.pi / stones
    centre = centre_of_stone(thickness, angle)
    sine, cosine = math.sin(0.5 * angle), math.cos(0.5 * angle)
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    corners = [  # of the keystone, about its centre of mass
        [side * sine * r, cosine * r - centre]
        for side, r in ((-1, outer), (-1, inner), (1, inner), (1, outer))
    ]
    at = (np.arange(stones) + 0.5) * angle
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=1.0)],
        grains=[
            hg.Grains(
                count=stones,
                shape={"kind": "polygon", "corners": corners},
                place=hg.At(
                    positions=(centre * np.column_stack([np.cos(at), np.sin(at)])).tolist(),
                    orientations=(at - 0.5 * math.pi).tolist(),
                ),
            )
        ],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1], name="ground")],
    )
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-8, sweeps=20_000)
    return hg.Simulation(
        scene, dt=0.01, solver=solver, title="A masonry arch",
        units="length: mean radius; density: that of the stones; acceleration: gravity",
    )  # fmt: skip


def can_stand(stones: int, thickness: float) -> bool:
    """Whether any forces in the joints balance the weights: a linear program knows."""
    sim = arch(stones, thickness)
    sim.step()
    return not force_space(sim, balance="loads").empty


def thinnest(stones: int) -> float:
    """The least thickness for which there are such forces, by bisection."""
    low, high = 0.09, 0.13
    while high - low > 1e-5:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if can_stand(stones, middle) else (middle, high)
    return 0.5 * (low + high)


def watched(stones: int, thickness: float, time: float) -> hg.Simulation:
    """The same question put to a simulation: let go, and look."""
    sim = arch(stones, thickness)
    print(sim.run(until=hg.Time(time=time)))
    return sim


def opened(sim: hg.Simulation) -> np.ndarray:
    """By how much each joint has opened, from the right to the left springing [rad]."""
    upright = np.linspace(0.0, math.pi, sim.model.n + 1)
    turned = sim.state.orientation[: sim.model.n, 0] - 0.5 * (upright[1:] + upright[:-1])
    turned = np.concatenate([[0.0], turned + 0.5 * math.pi, [0.0]])
    return np.abs(np.diff(turned))


def main(quick: bool = False, folder: Path = Path("results/masonry_arch")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # How the least thickness depends on the number of stones.
    found = {n: thinnest(n) for n in ((10, 20) if quick else (10, 20, 40, 80))}
    for n, t in found.items():
        print(f"{n} stones: t/R = {t:.5f}, limit analysis {thinnest_arch(n).thickness:.5f}")
        assert abs(t - thinnest_arch(n).thickness) < 2e-5
    assert abs(found[20] / 0.1075 - 1.0) < 0.01  # Milankovitch 1907

    # A hundredth thicker it stands, a hundredth thinner it falls, about the hinges of the theory.
    stones = 20
    thin = thinnest_arch(stones)
    stands = watched(stones, 1.01 * thin.thickness, time=1.0)
    falls = watched(stones, 0.99 * thin.thickness, time=2.0)
    assert np.abs(stands.state.velocity).max() < 1e-6
    assert falls.state.position[stones // 2, 1] < 0.98
    haunch = round(thin.hinge / math.pi * stones)
    hinges = [0, stones // 2 - haunch, stones // 2, stones // 2 + haunch, stones]
    assert sorted(np.argsort(opened(falls))[-5:].tolist()) == hinges
    draw(stands, falls, hinges, found, folder / "masonry_arch.png")


def draw(
    stands: hg.Simulation, falls: hg.Simulation, hinges: list[int], found: dict[int, float],
    path: Path,
) -> None:  # fmt: skip
    """The thrust in the thinnest arch, the fall of one still thinner, and many stones."""
    with style():
        figure, axes = new_figure(1, 3, width=3.6, height=2.5, width_ratios=[4, 4, 3])
        for panel, sim in zip(axes, (stands, falls), strict=False):
            n = sim.model.n
            corner = outline.corners(sim.model, sim.state.orientation)
            for k in range(n):
                place = corner.place[corner.owner == k] + sim.state.position[k]
                panel.add_patch(Polygon(place, facecolor="0.88", edgecolor="0.4", linewidth=0.8))
            panel.plot([-1.25, 1.25], [0.0, 0.0], color="0.4", linewidth=0.8)
            panel.set_aspect("equal")
            panel.set(xlim=(-1.25, 1.25), ylim=(-0.12, 1.2))
            panel.set_axis_off()
        force = resultants(stands)
        order = np.argsort(np.arctan2(np.abs(force.centre[:, 1]), force.centre[:, 0]))
        axes[0].plot(*force.centre[order].T, color=COLOURS[1], linewidth=1.8)
        thickness = thinnest_arch(stands.model.n).thickness
        axes[0].text(0.0, 0.35, f"t/R = {1.01 * thickness:.4f}\nthe thrust", ha="center")
        turns = resultants(falls)
        joint = np.where(turns.second < falls.model.n, np.maximum(turns.first, turns.second), 0)
        joint[(turns.second >= falls.model.n) & (turns.first > 0)] = falls.model.n
        at = np.isin(joint, hinges)
        axes[1].plot(*turns.centre[at].T, "o", color=COLOURS[1], markersize=6)
        axes[1].text(0.0, 0.35, f"t/R = {0.99 * thickness:.4f}\nfive hinges", ha="center")
        many = np.arange(8, 101, 2)
        axes[2].plot(many, [thinnest_arch(n).thickness for n in many], color="0.6", linewidth=1.0)
        axes[2].plot(list(found), list(found.values()), "o", color=COLOURS[0])
        axes[2].axhline(thinnest_arch().thickness, color="0.3", linestyle=":", linewidth=1.0)
        axes[2].set(xlabel="stones", ylabel="least t/R")
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
