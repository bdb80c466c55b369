"""1000 disks at rest in a box: contact updates a second of the whole step, against pymunk.

pymunk (Chipmunk, C, float64) is the nearest peer in 2D: the same impulses, swept in list order.
Both get the same packing, both first run until their contacts are their own. A step counts whole,
detection included, in CPU time. Each counts the contacts it sweeps over: pymunk those that overlap,
hardgrain all that could close within the step; the ratio of plain step times is given too.
"""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Absent, Figure, best
from benchmarks.packings import DT, FRICTION, Steps, disks
from hardgrain.core.model import Model, State

ORDERS = {"sequential": "≥ 1.5", "random": "≥ 1.0"}  # with their targets


def run(quick: bool) -> list[Figure]:
    try:
        import pymunk  # noqa: F401
    except ImportError:
        raise Absent("pymunk (in the environment: pip install pymunk)") from None
    model, state = disks(100 if quick else 1000)
    space = _space(model, state)
    for _ in range(20 if quick else 300):
        space.step(DT)
    pairs = _contacts(space)
    figures = []
    for iterations in [50] if quick else [10, 50, 200]:
        space.iterations = iterations
        steps = 400 // iterations

        def step_pymunk(steps: int = steps) -> None:
            for _ in range(steps):
                space.step(DT)

        runs = {order: Steps(model, state, iterations, order, steps) for order in ORDERS}
        times = best({"pymunk": step_pymunk, **runs}, repeat=2 if quick else 15)
        for order, target in ORDERS.items():
            swept = runs[order].contacts
            ratio = swept / times[order] / (pairs / times["pymunk"])
            per_second = {
                name: count * iterations * steps / times[which] / 1e6
                for name, count, which in [("hardgrain", swept, order), ("pymunk", pairs, "pymunk")]
            }
            detail = ", ".join(f"{name} {v:.1f} M/s" for name, v in per_second.items())
            figures.append(
                Figure(
                    f"updates a second / pymunk's, {order}, {iterations} sweeps",
                    ratio,
                    target=target if iterations == 50 else "",
                    detail=f"{detail}; {swept} and {pairs} contacts;"
                    f" step time {times[order] / times['pymunk']:.2f} × pymunk's",
                )
            )
    return figures


def _space(model: Model, state: State) -> Any:
    import pymunk

    space = pymunk.Space()
    space.gravity = tuple(model.gravity)
    space.collision_slop = 1e-3  # [d]; the default, 0.1, is made for pixels
    for x, r, m, inertia in zip(state.position, model.radius, model.mass, model.inertia):
        body = pymunk.Body(m, inertia)
        body.position = tuple(x)
        disk = pymunk.Circle(body, r)
        disk.friction = FRICTION**0.5  # pymunk multiplies the two
        space.add(body, disk)
    top = float(state.position[: model.n, 1].max()) + 10.0
    at = dict(zip(model.wall_names, state.position[model.n :]))
    left, right = at["left"][0], at["right"][0]
    for a, b in [((left, top), (left, 0)), ((left, 0), (right, 0)), ((right, 0), (right, top))]:
        wall = pymunk.Segment(space.static_body, a, b, 0.0)
        wall.friction = FRICTION**0.5
        space.add(wall)
    return space


def _contacts(space: Any) -> int:
    """Number of contacts that pymunk sweeps over."""
    pairs: set[frozenset[int]] = set()

    def note(arbiter: Any) -> None:
        pairs.add(frozenset(id(shape) for shape in arbiter.shapes))

    for body in space.bodies:
        body.each_arbiter(note)
    return len(pairs)
