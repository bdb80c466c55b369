"""What a periodic cell that deforms costs, beside a plain periodic box with the same grains.

All take steps of a packing that was pressed together in a cell, whose contacts are the same. The
cell is held, so that L is prescribed, or pressed, so that every contact moves it. Twice as many
sweeps cost as much more as the sweeps do, which gives the cost of an update apart from that of a
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hardgrain as hg
from benchmarks.measure import Figure, best
from hardgrain.core.model import State
from hardgrain.step.pause import Pause

SWEEPS = 100
STEPS = 10  # in a row


CELLS = {"plain": None, "held": hg.MixedControl(), "pressed": hg.Isotropic(pressure=1.0)}


def run(quick: bool) -> list[Figure]:
    figures = []
    for dim, count in [(2, 100)] if quick else [(2, 2000), (2, 10_000), (3, 2000), (3, 10_000)]:
        once, twice = _spent(dim, count, 2 if quick else 5)
        what = f"{count} {'disks' if dim == 2 else 'spheres'}"
        for name in ("held", "pressed"):
            step = once[name] / once["plain"]
            update = (twice[name] - once[name]) / (twice["plain"] - once["plain"])
            words = (
                f"{once[name] / STEPS * 1e3:.3g} ms against {once['plain'] / STEPS * 1e3:.3g} ms"
            )
            figures += [
                Figure(f"a step in a {name} cell, {what}", step, target="≤ 1.05", detail=words),
                Figure(f"a contact update in a {name} cell, {what}", update, target="≤ 1.05"),
            ]
    return figures


def _spent(dim: int, count: int, repeat: int) -> tuple[dict[str, float], dict[str, float]]:
    """CPU time of some steps in each kind of cell, with some sweeps and with twice as many."""
    pressed = _pressed(dim, count)

    def steps(cell: Any, sweeps: int) -> Callable[[], object]:
        scene = _scene(dim, pressed.state, pressed.model.radius.tolist(), cell)
        sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=sweeps))
        sim.run(STEPS)

        def march() -> None:  # without looks at the contact network, which only loaded ones cost
            end = sim.state.step + STEPS
            while sim.state.step < end:
                sim.engine.march(sim.state, Pause(end - sim.state.step, work=math.inf))

        return march

    found = best(
        {f"{name} {n}": steps(cell, n * SWEEPS) for name, cell in CELLS.items() for n in (1, 2)},
        repeat=repeat,
    )
    return {name: found[f"{name} 1"] for name in CELLS}, {
        name: found[f"{name} 2"] for name in CELLS
    }


def _pressed(dim: int, count: int) -> hg.Simulation:
    """Grains of two sizes pressed together from all sides."""
    side = float((2.0 * count) ** (1.0 / dim))
    place = hg.Deposit(min=[0.0] * dim, max=[side] * dim)
    scene = hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys("xyz"[:dim], (0.0, side)),
        cell=hg.Isotropic(pressure=1.0),
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[hg.Grains(count=count, diameter=hg.Uniform(min=0.8, max=1.2), place=place)],
    )
    sim = hg.Simulation(scene, dt=0.05, solver=hg.GaussSeidel(sweeps=50))
    sim.run(300)
    return sim


def _scene(dim: int, state: State, radius: list[float], cell: Any) -> hg.Scene:
    """The same grains at rest in a straight cell of the same size."""
    places = state.position[: len(radius)].tolist()
    periods = {"xyz"[a]: (0.0, float(state.cell[a])) for a in range(dim)}
    grains = hg.Grains(diameter=[2.0 * r for r in radius], place=hg.At(positions=places))
    return hg.Scene(
        dimension=dim,
        periodic=periods,
        cell=cell,
        allow_overlaps=True,
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[grains],
    )
