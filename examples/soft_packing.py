"""Soft packing: elastic disks are compressed beyond jamming; how dense, and how many contacts?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain import measure
from hardgrain.measure.deformed import largest_strain
from hardgrain.measure.resultants import resultants
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.show.style import save, style

YOUNG, POISSON = 1000.0, 0.3
SPEED = 0.02  # of each wall [diameter/time]; sound needs 1/30 of a unit of time for a diameter


def scene(pairs: int, side: float, stop: float) -> hg.Scene:
    """Disks of two sizes in a box whose four walls close in, until a given time."""
    ends = {"kind": "table", "time": [0.0, stop, stop * (1.0 + 1e-9), 1e9], "value": [1, 1, 0, 0]}

    def wall(name: str, axis: int, sign: float) -> dict[str, Any]:
        point, normal = [0.5 * side, 0.5 * side], [0.0, 0.0]
        point[axis] -= 0.5 * sign * side
        normal[axis] = sign
        moves: list[Any] = [0.0, 0.0]
        moves[axis] = ends | {"value": [sign * SPEED * v for v in ends["value"]]}
        return {"kind": "plane", "name": name, "point": point, "normal": normal, "velocity": moves}

    elastic = hg.Elastic(
        young=YOUNG, poisson=POISSON, elements=4, damping=hg.Damping(stiffness=0.01)
    )
    place = {"kind": "deposit", "min": [0.0, 0.0], "max": [side, side]}
    return hg.Scene.model_validate(
        {
            "contacts": [{"friction": 0.0}],
            "grains": [
                {"count": pairs, "diameter": d, "elastic": elastic, "place": place}
                for d in (1.0, 1.0 / 1.4)
            ],
            "walls": [
                wall("left", 0, 1.0), wall("right", 0, -1.0),
                wall("bottom", 1, 1.0), wall("top", 1, -1.0),
            ],
        }
    )  # fmt: skip


def compress(pairs: int, file: Path, seed: int) -> None:
    """Close the box slowly, from a gas to a packing whose contacts are flat."""
    area = 0.25 * np.pi * pairs * (1.0 + 1.0 / 1.4**2)
    loose, dense = np.sqrt(area / 0.5), np.sqrt(area / 0.87)
    stop = 0.5 * float(loose - dense) / SPEED
    sim = hg.Simulation(
        scene(pairs, float(loose), stop),
        dt=0.005,
        seed=seed,
        engine=hg.RigidGrains(theta=1.0),
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-3, sweeps=20_000),
        title="Elastic disks beyond jamming",
        units="length: diameter of the large disks; density: that of the disks",
    )
    steps = round(stop / 0.005)
    print(sim.run(steps, every=max(steps // 200, 1), output=file, overwrite=True))


def contacts_a_grain(snap: Snapshot) -> float:
    """Twice the number of contacts over that of grains, rattlers left out.

    A wall gives a grain as many constraints as another grain does, so that contacts with walls
    count as all others: a packing that is just rigid then has 4.
    """
    pairs, loose = resultants(snap), measure.rattlers(snap)
    borne = (pairs.normal_force > 0.0) & ~loose[pairs.first]
    grain = pairs.second < snap.n
    borne &= ~(grain & loose[np.where(grain, pairs.second, 0)])
    return 2.0 * float(borne.sum()) / max(float((~loose).sum()), 1.0)


def curve(file: Path) -> dict[str, np.ndarray]:
    """Packing fraction, contacts a grain without rattlers, and pressure, frame by frame."""
    found: dict[str, list[float]] = {"phi": [], "z": [], "pressure": [], "strain": []}
    with hg.RunFile(file) as run:
        for k in range(len(run)):
            snap = snapshot(run, k)
            walls = run[k].walls
            wide = walls["right"].position[0] - walls["left"].position[0]
            tall = walls["top"].position[1] - walls["bottom"].position[1]
            press = [abs(walls[name].force[axis]) / length
                     for name, axis, length in (("left", 0, tall), ("right", 0, tall),
                                                ("bottom", 1, wide), ("top", 1, wide))]  # fmt: skip
            found["phi"].append(float(snap.volume.sum() / (wide * tall)))
            found["pressure"].append(float(np.mean(press)) / YOUNG)
            found["z"].append(contacts_a_grain(snap))
            found["strain"].append(largest_strain(snap.model, snap.state) or 0.0)
    return {name: np.array(values) for name, values in found.items()}


def jamming(found: dict[str, np.ndarray]) -> tuple[float, float]:
    """φ_c and z₀ of z = z_c + z₀ √(φ − φ_c) with z_c = 4, from frames that are jammed."""
    some = (found["pressure"] > 1e-3) & (found["z"] > 4.0)
    # (z − 4)² = z₀² (φ − φ_c) is a straight line
    slope, offset = np.polyfit(found["phi"][some], (found["z"][some] - 4.0) ** 2, 1)
    return -offset / slope, float(np.sqrt(slope))


def look(file: Path, picture: Path) -> None:
    """Draw contacts and pressure against the packing fraction, and hold the law against them."""
    from matplotlib.figure import Figure

    found = curve(file)
    critical, factor = jamming(found)
    print(f"jammed at {critical:.3f}; z = 4 + {factor:.2f} sqrt(phi - {critical:.3f})")
    pressed = found["pressure"] > 1e-4
    with style():
        figure = Figure(figsize=(9.0, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(found["phi"], found["z"], ".", label="elastic disks")
        phi = np.linspace(critical, found["phi"].max(), 100)
        left.plot(phi, 4.0 + factor * np.sqrt(phi - critical), label="square root, fitted")
        left.plot(phi, 4.0 + 3.6 * np.sqrt(phi - critical), "--", label="O'Hern et al. 2003")
        left.set(xlabel="packing fraction", ylabel="contacts a grain")
        left.legend()
        right.plot(found["phi"][pressed], found["pressure"][pressed], ".")
        right.set(xlabel="packing fraction", ylabel="pressure over Young's modulus")
        save(figure, picture)
    with hg.RunFile(file) as run:
        hg.draw_network(run, path=picture.with_name("soft_packing_stress.png"), colour="stress")

    # Disks of two sizes jam at random close packing, 0.84, in a wide box. Flat walls make room:
    # they leave a seam of about a tenth of a diameter along a box of five to ten diameters.
    assert 0.73 < critical < 0.86
    # Before that a gas that walls stir presses on them with ρ v², next to nothing.
    assert found["pressure"][found["phi"] < critical - 0.1].max() < 1e-4
    # Then contacts grow as a square root. O'Hern et al. have 3.6 ± 0.5 for overlapping disks in
    # periodic cells; ours are elastic, and one small packing between walls.
    assert 2.0 < factor < 7.0
    # The pressure grows with every frame but for rearrangements.
    rise = np.diff(found["pressure"][pressed])
    assert rise[rise > 0.0].sum() > 5.0 * -rise[rise < 0.0].sum()


def main(quick: bool = False, folder: Path = Path("results/soft_packing")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    compress(pairs=12 if quick else 50, file=folder / "compressed.h5", seed=1)
    look(folder / "compressed.h5", folder / "soft_packing.png")


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
