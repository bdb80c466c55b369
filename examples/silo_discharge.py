"""Silo discharge: the flow rate through orifices of several widths, against Beverloo's law."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

import hardgrain as hg
from hardgrain import measure
from hardgrain.measure.flow import FlowRate
from hardgrain.show.style import COLOURS, new_figure, save, style
from hardgrain.theory.silo import beverloo

WIDE = 30.0  # of the silo [mean diameter]
SWEEPS = hg.GaussSeidel(stop="residual", tolerance=1e-3, sweeps=5000)


def silo(count: int, orifice: float | None) -> hg.Scene:
    """Two walls and a floor at y = 0, whole or with an orifice in its middle."""
    x = WIDE / 2
    walls: list[hg.Plane | hg.Segment] = [
        hg.Plane(name="left", point=[-x, 0], normal=[1, 0]),
        hg.Plane(name="right", point=[x, 0], normal=[-1, 0]),
    ]
    if orifice is None:
        walls.append(hg.Plane(name="floor", point=[0, 0], normal=[0, 1]))
    else:
        walls.append(hg.Segment(name="floor-left", start=[-x, 0], end=[-orifice / 2, 0]))
        walls.append(hg.Segment(name="floor-right", start=[orifice / 2, 0], end=[x, 0]))
    grains = hg.Grains(
        count=count,
        diameter=hg.Uniform(min=0.8, max=1.2),
        place=hg.Deposit(min=[-x, 0], max=[x, 1.8 * count / WIDE]),
    )
    return hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.4)],
        grains=[grains],
        walls=walls,
        allow_overlaps=True,  # unfinished sweeps let grains sink into the floor a little
    )


def fill(count: int, file: Path) -> None:
    """Grains fall onto the closed floor and come to rest."""
    sim = hg.Simulation(silo(count, orifice=None), dt=0.02, solver=SWEEPS, seed=1)
    print(sim.run(until=hg.AtRest(speed=0.01), output=file, overwrite=True))


def discharge(count: int, orifice: float, out: tuple[int, int], full: Path, file: Path) -> FlowRate:
    """Open the orifice; the flow while the first to the last of the grains ``out`` leave."""
    scenario = hg.Scenario(
        title=f"Silo with an orifice of {orifice:g} diameters",
        units="length: mean grain diameter; density: that of the grains; acceleration: gravity",
        scene=silo(count, orifice),
        start={"file": str(full)},
        dt=0.02,
        solver=SWEEPS,
        output={"every": 25},
    )

    def empty_enough(sim: hg.Simulation) -> bool:
        return int((sim.state.position[:count, 1] < 0.0).sum()) >= out[1]

    sim = hg.Simulation(scenario)
    sim.run(until=[empty_enough, hg.Time(time=300)], output=file, overwrite=True)
    with hg.RunFile(file) as run:
        gone = measure.flow_rate(run, at=0.0).grains
        return measure.flow_rate(run, np.flatnonzero(gone >= out[0]), at=0.0)


def fit(orifice: np.ndarray, rate: np.ndarray) -> tuple[float, float]:
    """C ρ √g and k ≥ 0 of W = C ρ √g (D − k d)^(3/2): W^(2/3) is a straight line over D."""
    line = np.stack([orifice, -np.ones_like(orifice)], axis=1)
    (slope, zero), _ = nnls(line, rate ** (2 / 3))
    return float(slope**1.5), float(zero / slope)


def main(quick: bool = False, folder: Path = Path("results/silo_discharge")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    count, out = (400, (60, 150)) if quick else (2000, (150, 750))
    orifice = np.array([8.0, 12.0] if quick else [8.0, 10.0, 12.0, 14.0])
    fill(count, folder / "full.h5")
    flows: list[FlowRate] = []
    for d in orifice:
        flow = discharge(count, d, out, folder / "full.h5", folder / f"orifice-{d:g}.h5")
        print(f"D = {d:g}: W = {flow.mean:.3g} ± {flow.error:.2g}")
        flows.append(flow)
    rate = np.array([flow.mean for flow in flows])
    c, k = fit(orifice, rate)
    law = beverloo(orifice, diameter=1.0, density=1.0, gravity=1.0, dim=2, c=c, k=k)
    print(f"C ρ √g = {c:.3f}, k = {k:.2f}; off the law by {np.round(rate / law - 1.0, 3)}")
    draw(orifice, flows, c, k, folder / "silo_discharge.png")
    flowing = folder / f"orifice-{orifice[-1]:g}.h5"
    look = {"colour": "speed", "lines": "none", "box": np.array([[-16, -8], [16, 24]])}
    hg.draw_network(flowing, 10, folder / "silo_discharge_flow.png", **look)

    # Through wider orifices more runs out, by more than their width: grains fall from higher up.
    assert (np.diff(rate / orifice) > 0.0).all()
    if quick:
        return
    # One law for all orifices, with an empty rim of about a grain …
    assert np.abs(rate / law - 1.0).max() < 0.1
    assert 1.0 < k < 3.0
    # … and sand is no water: the rate does not follow the height of the filling.
    halves = [[half.mean() for half in np.array_split(flow.rate, 2)] for flow in flows]
    change = np.mean([first / last for first, last in halves])
    print(f"first half over second half: {change:.3f}")
    assert abs(change - 1.0) < 0.06


def draw(orifice: np.ndarray, flows: list[FlowRate], c: float, k: float, path: Path) -> None:
    """The rate over the orifice, with the fit."""
    rate, error = [flow.mean for flow in flows], [flow.error for flow in flows]
    with style():
        figure, axes = new_figure()
        d = np.linspace(0.5, 1.05 * orifice[-1], 200)
        law = beverloo(d, diameter=1.0, density=1.0, gravity=1.0, dim=2, c=c, k=k)
        axes.plot(d, law, color=COLOURS[0], label=rf"${c:.2f}\,(D - {k:.1f}\,d)^{{3/2}}$")
        axes.errorbar(orifice, rate, error, fmt="o", color=COLOURS[2], label="measured")
        axes.set_xlabel("orifice $D/d$")
        axes.set_ylabel(r"flow rate $W / \rho \sqrt{g d^3}$")
        axes.legend()
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
