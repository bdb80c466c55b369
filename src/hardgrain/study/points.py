"""The points of a study: which runs it consists of, what each is called, and its seed.

A point is one value of every parameter and the number of a seed. It is called by a hash of these,
so that its name does not depend on which other points there are; the seed of its run is another
hash of the same. Whoever runs a point, whenever and wherever, runs the same scenario.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hardgrain.study.spec import Plan

__all__ = ["Point", "canonical", "points_of"]


@dataclass(frozen=True)
class Point:
    """One run of a study."""

    key: str  # its name, a hash
    place: tuple[int, ...]  # numbers of its values along the axes of a grid; (k,) if drawn
    values: dict[str, Any]  # of the parameters, by name
    number: int  # of its seed, from 0
    seed: int | None  # of its run; None if a parameter gives it

    def __str__(self) -> str:
        words = ", ".join(f"{name} {text_of(value)}" for name, value in self.values.items())
        return f"{words}{', ' if words else ''}seed {self.number}"


def text_of(value: Any) -> str:
    """A value for a reader."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else canonical(value)


def canonical(value: Any) -> str:
    """JSON that is the same for the same value: keys sorted, 1.0 written as 1."""
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def points_of(plan: Plan) -> Iterator[Point]:
    """All points, those of one combination of values together, in an order that never changes."""
    gives_seed = any("seed" in one.fields for one in plan.parameters.values())
    fields = {name: canonical(one.fields) for name, one in plan.parameters.items()}
    for place, values in _combinations(plan):
        # a drawn combination may come twice, a combination of a grid does not
        drawn = "" if plan.design == "grid" else f"{place[0]};"
        named = drawn + ",".join(sorted(f"{fields[n]}:{canonical(v)}" for n, v in values.items()))
        for number in range(plan.seeds):
            digest = hashlib.sha256(f"{plan.seed};{number};{named}".encode()).digest()
            seed = None if gives_seed else int.from_bytes(digest[16:24]) >> 1  # below 2^63
            yield Point(digest[:8].hex(), place, values, number, seed)


def _combinations(plan: Plan) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    names = list(plan.parameters)
    if plan.design == "grid":
        steps = [plan.parameters[name].steps() for name in names]
        for place in itertools.product(*(range(len(values)) for values in steps)):
            yield place, {n: v[k] for n, v, k in zip(names, steps, place)}
        return
    for k, shares in enumerate(_shares(plan, len(names))):
        yield (k,), {name: plan.parameters[name].at(s) for name, s in zip(names, shares)}


def _shares(plan: Plan, dimensions: int) -> list[list[float]]:
    """Places in the unit cube. More random points leave the first as they are."""
    import numpy as np

    assert plan.points is not None
    rng = np.random.default_rng(plan.seed)
    if plan.design == "random":
        found: list[list[float]] = rng.random((plan.points, dimensions)).tolist()
        return found
    from scipy.stats import qmc

    cube = qmc.LatinHypercube(dimensions, seed=rng).random(plan.points)
    spread: list[list[float]] = cube.tolist()
    return spread
