"""Bytes that a sweep on a GPU must move, counted from its rows: the roofline of `gpu`.

In a visit to a tile every contact's row is read once and its impulse written; every body that the
tile touches is read once into shared memory, and its velocity written back if it is a grain. What
caches keep from visit to visit is not taken off, nor is added what a cache line holds besides.
Where all tiles are swept together there is no shared memory, and each update reads and writes both
bodies.

`python -m benchmarks.gpu_traffic` counts without a GPU, for packings cut as those of 10⁶ grains
are, and sets beside it the updates a second that were measured.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.packings import on_floor
from hardgrain.cuda.cutting import cut
from hardgrain.cuda.sweeping import LAYOUTS

__all__ = ["BANDWIDTH", "said", "traffic"]

# [byte/s] of its memory, as NVIDIA's data sheet has it.
BANDWIDTH = {"NVIDIA H200": 4.8e12}
NUMBER, PLACE, ROW = 8, 2, 4  # [byte] a number, a body's place in its tile, a body's row
IMPULSE = {(True, 2): 2, (True, 3): 4, (False, 2): 3, (False, 3): 6}  # numbers that are written
# [updates/s] of the sweeps alone, as `benchmarks/README.md` has them for one H200.
MEASURED = {"spheres": 5.48e9, "disks": 9.87e9}


def traffic(kind: tuple[bool, int], contacts: int, members: int, grains: int) -> float:
    """Bytes a contact update, tile by tile.

    kind: whether laws and bodies are simple, and the dimension; members, grains: bodies and grains
    that tiles touch, each counted once for each tile.
    """
    columns, body, moving = LAYOUTS[kind][2:5]
    contact = NUMBER * (columns + IMPULSE[kind]) + 2 * PLACE
    bodies = members * (ROW + NUMBER * body) + grains * NUMBER * moving
    return contact + bodies / contacts


def together(kind: tuple[bool, int]) -> float:
    """The same where all tiles are swept together."""
    columns, body, moving = LAYOUTS[kind][2:5]
    return NUMBER * (columns + IMPULSE[kind] + 2 * (body + moving)) + 2 * ROW


def of(own: Any) -> float:
    """Bytes a contact update of the step that a stepper has just made."""
    from hardgrain.cuda.api import host
    from hardgrain.cuda.arrays import TILES

    kind = own.model.lean, own.model.dim
    if own._cut.together:
        return together(kind)
    tiles = int(own._seen[TILES])
    members, number = host(own.tiles.members[:tiles]), host(own.tiles.number[:tiles])
    there = np.arange(members.shape[1]) < number[:, None]
    grains = int((there & (members < own.model.n)).sum())
    return traffic(kind, own.contacts, int(number.sum()), grains)


def said(gpu: str, bytes_an_update: float, updates: float) -> str:
    """Bytes an update, and their share of the bandwidth at so many updates a second, in words."""
    known = [wide for name, wide in BANDWIDTH.items() if gpu.startswith(name)]
    share = f", {bytes_an_update * updates / known[0]:.0%} of the bandwidth" if known else ""
    return f"{bytes_an_update:.0f} bytes an update by its rows{share}"


def _counted(kind: str) -> tuple[float, float, float]:
    """Bytes an update of a packing cut as 10⁶ grains are; contacts and members of a tile."""
    model, state = on_floor(kind, 64_000)
    many = SimpleNamespace(n=10**6, dim=model.dim, radius=model.radius, periodic=model.periodic)
    wide = cut(many).tiling.width  # type: ignore[arg-type]
    c = state.contacts
    place = np.floor(state.position[c.first] / wide).astype(np.int64)
    place -= place.min(axis=0)
    tile = np.ravel_multi_index(tuple(place.T), tuple(place.max(axis=0) + 1))
    ends = np.concatenate([np.stack([tile, c.first]), np.stack([tile, c.second])], axis=1)
    touched = np.unique(ends, axis=1)
    tiles, members, grains = np.unique(tile).size, touched.shape[1], (touched[1] < model.n).sum()
    found = traffic((model.lean, model.dim), c.first.size, members, int(grains))
    return found, c.first.size / tiles, members / tiles


if __name__ == "__main__":
    for name, updates in MEASURED.items():
        found, contacts, members = _counted(name)
        print(
            f"{name}: {contacts:.0f} contacts and {members:.0f} bodies a tile,"
            f" {said('NVIDIA H200', found, updates)} at {updates:.3g} updates/s"
        )
