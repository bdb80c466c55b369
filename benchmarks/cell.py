"""What a periodic cell that deforms costs, beside a plain periodic box with the same grains.

Both take steps of a packing that was pressed together in a cell, whose contacts are the same. Twice
as many sweeps cost as much more as the sweeps do, which gives the cost of an update apart from that
of a step.
"""

from __future__ import annotations

from collections.abc import Callable

import hardgrain as hg
from benchmarks.measure import Figure, best
from hardgrain.core.model import State

SWEEPS = 100
STEPS = 10  # in a row


def run(quick: bool) -> list[Figure]:
    figures = []
    for dim, count in [(2, 100)] if quick else [(2, 2000), (2, 10_000), (3, 2000), (3, 10_000)]:
        spent = _spent(dim, count, 2 if quick else 5)
        plain, cell = spent["plain"], spent["cell"]
        updates = [spent[f"{name} twice"] - spent[name] for name in ("plain", "cell")]
        what = f"{count} {'disks' if dim == 2 else 'spheres'}"
        words = f"{cell / STEPS * 1e3:.3g} ms against {plain / STEPS * 1e3:.3g} ms"
        figures += [
            Figure(f"a step in a cell, {what}", cell / plain, target="≤ 1.05", detail=words),
            Figure(f"a contact update in a cell, {what}", updates[1] / updates[0]),
        ]
    return figures


def _spent(dim: int, count: int, repeat: int) -> dict[str, float]:
    """CPU time of some steps with and without a cell, with some sweeps and with twice as many."""
    pressed = _pressed(dim, count)

    def steps(cell: hg.MixedControl | None, sweeps: int) -> Callable[[], object]:
        scene = _scene(dim, pressed.state, pressed.model.radius.tolist(), cell)
        sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=sweeps))
        sim.run(STEPS)
        return lambda: sim.run(sim.state.step + STEPS)

    held = hg.MixedControl()
    return best(
        {
            "plain": steps(None, SWEEPS),
            "cell": steps(held, SWEEPS),
            "plain twice": steps(None, 2 * SWEEPS),
            "cell twice": steps(held, 2 * SWEEPS),
        },
        repeat=repeat,
    )


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


def _scene(dim: int, state: State, radius: list[float], cell: hg.MixedControl | None) -> hg.Scene:
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
