"""Biaxial compression: stress, strain and dilation of a dense packing, with the rigid solver."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.ndimage import uniform_filter1d

import hardgrain as hg
from hardgrain import measure
from hardgrain.show.style import COLOURS, GREY, new_figure, save, style

RATE = 3e-3  # of axial strain: inertial number RATE d √(ρ/p), small


def scene(count: int, friction: float, **walls: dict) -> hg.Scene:
    """Disks in a box of smooth walls; what moves the right and the top wall is given."""
    side = 1.35 * count**0.5
    sides = {"left": [1, 0], "right": [-1, 0], "bottom": [0, 1], "top": [0, -1]}
    corner = {"right": [side, 0], "top": [0, side]}
    return hg.Scene(
        materials={"grain": hg.Material(), "wall": hg.Material()},
        contacts=[
            hg.ContactLaw(friction=friction),
            hg.ContactLaw(between=("grain", "wall"), friction=0.0),
        ],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.7, max=1.3),
                place=hg.Deposit(min=[0, 0], max=[side, side]),
            )
        ],
        walls=[
            hg.Plane(
                name=name,
                point=corner.get(name, [0, 0]),
                normal=normal,
                material="wall",
                **walls.get(name, {}),
            )
            for name, normal in sides.items()
        ],
    )


def pressure(*between: str) -> dict:
    """A piston that presses with the pressure one on the span between two walls."""
    return {"piston": hg.Piston(mass=20, pressure=1.0, between=[between])}


def compress(count: int, file: Path) -> None:
    """The same pressure from both sides. Without friction, for a dense packing."""
    sim = hg.Simulation(
        scene(count, 0.0, right=pressure("bottom", "top"), top=pressure("left", "right")),
        dt=0.02,
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-3, sweeps=3000),
        seed=1,
    )
    rest = hg.AtRest(speed=0.01, steps=200)
    print(sim.run(until=[rest, hg.Time(time=100)], output=file, overwrite=True))


def shear(count: int, strain: float, start: Path, file: Path) -> None:
    """The top comes down at a steady rate; the right wall gives way at constant pressure."""
    with hg.RunFile(start) as run:
        height = _size(run, -1)[1]
    down = {"velocity": [0, f"{-RATE * height} * ramp(t, 0, 2)"]}
    scenario = hg.Scenario(
        title="Biaxial compression",
        units="length: mean grain diameter; pressure: that of the side; density: of the grains",
        scene=scene(count, 0.5, right=pressure("bottom", "top"), top=down),
        start={"file": str(start)},
        dt=0.04,
        solver=hg.RigidSolver(),
        output={"every": 2},
    )
    sim = hg.Simulation(scenario)
    print(sim.run(until=hg.Time(time=strain / RATE), output=file, overwrite=True))


def _size(run: hg.RunFile, frame: int) -> np.ndarray:
    """Width and height between the walls."""
    left, right, bottom, top = (
        run[frame].walls[name].position for name in ("left", "right", "bottom", "top")
    )
    return np.array([right[0] - left[0], top[1] - bottom[1]])


@dataclass(frozen=True)
class Curves:
    """What a biaxial test gives, frame by frame."""

    strain: np.ndarray  # axial, ε = ln(H₀/H)
    dilation: np.ndarray  # ln(V/V₀)
    side: np.ndarray  # pressure on the right wall, σ₃
    top: np.ndarray  # pressure on the top wall, σ₁
    bulk: np.ndarray  # (k, 2) σ_xx and σ_yy from the contacts

    def sine(self, window: int = 50) -> np.ndarray:
        """sin φ = (σ₁ − σ₃)/(σ₁ + σ₃) of Mohr's circle, stresses averaged over some frames."""
        low, high = (uniform_filter1d(x, window, mode="mirror") for x in (self.side, self.top))
        return (high - low) / (high + low)


def read(file: Path) -> Curves:
    """Strains from the walls' places, stresses from their forces and, again, from the contacts."""
    with hg.RunFile(file) as run:
        frames = range(1, len(run))
        begin, size = _size(run, 0), np.array([_size(run, k) for k in frames])
        force = measure.measure(run, "wall-force", frames=frames).force
        side = force.sel(wall="right", component="x").values / size[:, 1]
        top = force.sel(wall="top", component="y").values / size[:, 0]
        bulk = [np.diag(measure.stress_tensor(run, k)) for k in frames]
    strain, dilation = np.log(begin[1] / size[:, 1]), np.log(size.prod(axis=1) / begin.prod())
    return Curves(strain, dilation, side, top, np.array(bulk))


def main(quick: bool = False, folder: Path = Path("results/biaxial")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count, strain = (80, 0.03) if quick else (400, 0.15)
    compress(count, folder / "compressed.h5")
    shear(count, strain, folder / "compressed.h5", folder / "sheared.h5")
    test = read(folder / "sheared.h5")
    late = test.strain > 0.5 * strain
    sine = test.sine()
    onset, steady = sine[test.strain < 0.01].mean(), sine[late].mean()
    side, top, (xx, yy) = test.side[late].mean(), test.top[late].mean(), test.bulk[late].mean(0)
    print(f"sin φ = {onset:.3f} at first, {steady:.3f} later; dilation {test.dilation[-1]:.4f}")
    print(f"late: walls {side:.3f} and {top:.3f}, contacts {xx:.3f} and {yy:.3f}")
    draw(test, sine, steady, folder / "biaxial.png")

    # The contacts carry what the walls give; the side wall gives the pressure it was told to.
    assert abs(yy / top - 1.0) < (0.1 if quick else 0.03)
    assert abs(side - 1.0) < (0.25 if quick else 0.05)
    # A dense packing dilates as it yields, and is stronger at first than later, when it flows.
    assert test.dilation[-1] > 0.0
    assert quick or onset > steady
    # Rough disks: friction angles between some 12 and 40 degrees.
    assert 0.2 < steady < (0.65 if quick else 0.4)


def draw(test: Curves, sine: np.ndarray, steady: float, path: Path) -> None:
    """Stress ratio and volume over axial strain."""
    with style():
        figure, (upper, lower) = new_figure(rows=2, height=2.4, sharex=True)
        upper.plot(test.strain, sine, color=COLOURS[1])
        upper.axhline(steady, color=GREY, linestyle="--")
        upper.set_ylim(bottom=0.0)
        upper.set_ylabel(r"$(\sigma_1 - \sigma_3)/(\sigma_1 + \sigma_3) = \sin\phi$")
        lower.plot(test.strain, test.dilation, color=COLOURS[2])
        lower.set_ylabel(r"volumetric strain $\ln(V/V_0)$")
        lower.set_xlabel(r"axial strain $\ln(H_0/H)$")
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
