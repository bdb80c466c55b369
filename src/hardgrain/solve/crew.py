"""Who eliminates what where threads share a factorisation (`solve.elimination`).

Branches of the tree of fronts do not touch each other, so each is eliminated by one thread. What is
left near the root are few fronts, but large ones, and in 3D they are half of the work: there all
threads share each front, tile by tile. Branches and tiles follow from the pattern alone, so that
no bit depends on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hardgrain.solve.dissection import Fronts, Longs
from hardgrain.solve.front import TILE
from hardgrain.solve.problem import Floats, Ints

__all__ = ["Crew", "crew", "room"]

# [1] A branch of the tree is eliminated by one thread if it has no more than this share of all
# operations; fronts above branches are shared. Many small branches spread evenly over many threads,
# but leave more fronts to be shared.
BRANCH = 1.0 / 48.0


class Crew(NamedTuple):
    """Who eliminates what where threads share a factorisation: branches first, then the others."""

    fronts: Ints  # fronts, branch after branch, and at last those that are shared
    starts: Ints  # (branches + 1,) where each branch begins in `fronts`
    stacked: Longs  # (fronts,) where each Schur complement waits [blocks]
    sign: Floats  # (branches,)
    schur: Floats  # (branches, …) these and the following: the memory of each branch, see `Store`
    rows: Floats
    tiles: Floats
    runs: Ints


def room(p: Longs, b: Longs, *, together: bool) -> tuple[int, int]:
    """Room for packed operands of products, and for these products and, by one thread, both."""
    packed = np.maximum(TILE * (p + 2 * b), p * b)
    wide = TILE * (2 * TILE + np.maximum(TILE, p))
    if not together:
        return 0, int((wide + packed).max(initial=0))
    at_once = np.maximum(2 * -(-p // TILE) * (3 * TILE * TILE), -(-b // TILE) * wide)
    return int(packed.max(initial=0)), int(at_once.max(initial=0))


def _stacked(f: Fronts, parent: Any, branches: list[Any], shared: Ints) -> tuple[Longs, int]:
    """Where each Schur complement waits, and the height of all stacks [blocks].

    Each branch has a stack of its own; those of fronts that are shared lie side by side.
    """
    size = np.diff(f.edges) ** 2
    stacked, height = np.zeros(size.size, np.int64), 0
    for fronts in branches:
        base = height
        waiting: list[int] = []
        for t in fronts:
            while waiting and parent[waiting[-1]] == t:
                waiting.pop()  # this front takes it from the stack
            stacked[t] = stacked[waiting[-1]] + size[waiting[-1]] if waiting else base
            height = max(height, int(stacked[t] + size[t]))
            waiting.append(t)
    stacked[shared] = height + np.cumsum(size[shared]) - size[shared]
    return stacked, height + int(size[shared].sum())


def crew(f: Fronts, work: Floats, p: Longs, b: Longs) -> tuple[Crew, Ints, int]:
    """Branches of about the same work, none of which needs another one; and all other fronts.

    Also returns the latter alone, and the height of the stacks.
    """
    fronts = work.size
    parent, branch = np.full(fronts, -1), np.arange(fronts)
    for t in range(fronts):
        c = f.child[t]
        while c >= 0:
            parent[c], c = t, f.sibling[c]
    total = work.copy()  # of each front and all below it
    for t in range(fronts):
        if parent[t] >= 0:
            total[parent[t]] += total[t]
    small = total <= BRANCH * work.sum()
    for t in range(fronts - 1, -1, -1):  # parents come after their children
        if parent[t] >= 0 and small[parent[t]]:
            branch[t] = branch[parent[t]]
    heads = np.unique(branch[small])
    heads = heads[np.argsort(-total[heads], kind="stable")]  # the longest first
    listed = [np.flatnonzero(small & (branch == head)) for head in heads]
    shared = np.flatnonzero(~small).astype(np.int32)
    inside = np.flatnonzero(small)
    each, p, b = len(heads), p[inside], b[inside]
    stacked, height = _stacked(f, parent, listed, shared)
    found = Crew(
        fronts=np.concatenate([*listed, shared]).astype(np.int32),
        starts=np.cumsum([0, *map(len, listed)]).astype(np.int32),
        stacked=stacked,
        sign=np.empty(each),
        schur=np.empty((each, int((b * b).max(initial=0)))),
        rows=np.empty((each, TILE * int(p.max(initial=0)))),
        tiles=np.empty((each, room(p, b, together=False)[1])),
        runs=np.empty((each, f.order.size + 1), np.int32),
    )
    return found, shared, height
