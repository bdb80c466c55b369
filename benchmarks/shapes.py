"""Grains of any shape: pentagons against pymunk and Box2D, boxes against pybullet and MuJoCo.

All get the same packing at rest in a box, and first run until their contacts are their own. A step
counts whole, detection included, in CPU time on one core. What is compared is the time of a step
with the same number of sweeps (of MuJoCo: of iterations, at most), some steps at one go. Beside it
stand the updates a second, where each counts the contact points that it sweeps over: peers those
that touch, hardgrain all that could close within the step, which is more work a step.

Then the cost of a contact point: of boxes against spheres that roll with resistance, which take the
same path through the sweeps; and as packings grow, which lie on a periodic floor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.measure import Absent, Figure, best
from benchmarks.packings import Steps, Stride, in_box, on_floor, resisted
from benchmarks.shape_peers import Peer, box2d_of, mujoco_of, pybullet_of, pymunk_of
from hardgrain.core.model import Model, State

ORDER = "sequential"


def run(quick: bool) -> list[Figure]:
    sizes = [100, 200] if quick else [10**3, 10**4, 10**5]
    return [
        *_beside(
            in_box("pentagons", 60 if quick else 1000),
            [pymunk_of, box2d_of],
            {"pymunk": "≥ 1.0", "Box2D": "≥ 1.0"},
            [10] if quick else [10, 50],
            quick,
        ),
        *_beside(
            in_box("boxes", 30 if quick else 2000),
            [pybullet_of, mujoco_of],
            {"pybullet": "≥ 3.0", "MuJoCo": "≥ 1.0"},
            [10] if quick else [50],
            quick,
        ),
        _full_path(sizes[0], quick),
        *(_growing(kind, sizes, quick) for kind in ("pentagons", "boxes")),
    ]


def _beside(
    packing: tuple[Model, State],
    makers: Sequence[Callable[[Model, State], Peer]],
    targets: dict[str, str],
    iterations: list[int],
    quick: bool,
) -> list[Figure]:
    """Step times of peers over ours."""
    model, state = packing
    peers: list[Peer] = []
    for make in makers:
        try:
            peers.append(make(model, state))
        except Absent as what:
            print(f"  skipped: {what} is not here")
    figures = []
    for sweeps in iterations:
        for peer in peers:
            peer.sweeps(sweeps)
            for _ in range(2 if quick else 20):
                peer.step()
        steps = 1 if quick else max(1, 400 // sweeps // (1 if model.dim == 2 else 4))
        own = Stride(model, state, sweeps, ORDER, steps)
        calls = {"": own, **{p.name: _several(p.step, steps) for p in peers}}
        times = best(calls, repeat=2 if quick else 10)
        times = {name: seconds / steps for name, seconds in times.items()}
        counts = {"": own.contacts, **{p.name: p.points() for p in peers}}
        rate = {name: counts[name] * sweeps / times[name] / 1e6 for name in times}
        kind = "pentagons" if model.dim == 2 else "boxes"
        for program, target in targets.items():
            if program not in times:
                continue
            figures.append(
                Figure(
                    f"{program}'s step time / ours, {model.n} {kind}, {sweeps} sweeps",
                    times[program] / times[""],
                    target=target,
                    detail=f"{1e3 * times['']:.3g} ms against {1e3 * times[program]:.3g} ms,"
                    f" {counts['']} and {counts[program]} contact points;"
                    f" updates a second {rate[''] / rate[program]:.2f} × as many",
                )
            )
    return figures


def _several(step: Callable[[], object], steps: int) -> Callable[[], object]:
    """Some steps at one go, as a run makes them."""

    def call() -> None:
        for _ in range(steps):
            step()

    return call


def _full_path(count: int, quick: bool) -> Figure:
    """Cost of a contact point in a sweep: that of boxes over that of spheres on the full path."""
    sweeps, steps = (5, 10) if quick else (50, 100)
    cost, sizes = {}, {}
    runs: dict[str, Steps] = {}
    for kind in ("boxes", "spheres"):
        model, state = on_floor(kind, count, tile=count)
        if kind == "spheres":
            model = resisted(model)
        for many in (sweeps, steps):
            runs[f"{kind} {many}"] = Steps(model, state, many, ORDER, 1)
    times = best(dict(runs), repeat=2 if quick else 20)
    for kind in ("boxes", "spheres"):
        sizes[kind] = runs[f"{kind} {steps}"].contacts
        more = times[f"{kind} {steps}"] - times[f"{kind} {sweeps}"]
        cost[kind] = more / (steps - sweeps) / sizes[kind]
    whole = [times[f"{k} {sweeps}"] / sweeps / sizes[k] for k in ("boxes", "spheres")]
    return Figure(
        f"cost of a contact point in a sweep, {count} boxes / spheres on the full path",
        cost["boxes"] / cost["spheres"],
        target="≤ 1.5",
        detail=f"{1e9 * cost['boxes']:.3g} and {1e9 * cost['spheres']:.3g} ns;"
        f" whole step of {sweeps} sweeps {whole[0] / whole[1]:.2f} ×, {1e9 * whole[0]:.3g} and"
        f" {1e9 * whole[1]:.3g} ns a point and sweep;"
        f" {sizes['boxes']} and {sizes['spheres']} points",
    )


def _growing(kind: str, sizes: list[int], quick: bool) -> Figure:
    """Exponent of a step's time over its contact points, as packings grow."""
    points, seconds = [], []
    sweeps = 20
    for count in sizes:
        model, state = on_floor(kind, count, tile=sizes[0])
        steps = max(1, 10**4 // count)
        own = Steps(model, state, sweeps, ORDER, steps)
        seconds.append(best({"": own}, repeat=2 if quick else 5)[""] / steps)
        points.append(own.contacts)
    exponent = np.polyfit(np.log(points), np.log(seconds), 1)[0]
    each = ", ".join(
        f"{count:.0e}: {1e9 * t / m / sweeps:.3g} ns"
        for count, t, m in zip(sizes, seconds, points, strict=True)
    )
    return Figure(
        f"exponent of a step's time in contact points, {kind}",
        float(exponent),
        unit="",
        target="< 1.05",
        detail=f"{sweeps} sweeps, CPU time a point and sweep: {each}",
    )
