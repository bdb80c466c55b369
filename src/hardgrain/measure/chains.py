"""Force chains (Peters, Muthuswamy, Wibowo & Tordesillas 2005).

A grain is highly stressed if its major principal stress σ_1 (`stress.grain_stress`) exceeds the
mean over all grains that bear a force. Two such grains in contact are links of a chain if the line
between their centres lies within an angle α of the major directions of both. A chain goes on from a
grain ahead and behind, each time to the neighbour that lies best along its direction, if that one
chooses it as well: chains do not branch. Three grains or more make a chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, moments, of_frame, of_run
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import grain_stress, invariants

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["LEAST", "force_chains"]

# [grains] Length of the shortest chain. Two grains that touch have no direction to keep, so every
# strong contact would be a chain; a larger number leaves out short chains that are real.
LEAST = 3
Numbers = NDArray[np.int64]


def force_chains(source: Source, frame: int = -1, angle: float = 45.0) -> list[Numbers]:
    """The chains, the longest first, each the numbers of its grains from one end to the other.

    ``angle``: α [degrees], above 0 and below 90.
    """
    if not 0.0 < angle < 90.0:
        raise InputError(f"angle is {angle}; give a number of degrees above 0 and below 90")
    snap = snapshot(source, frame)
    chains = _follow(_neighbours(snap, math.cos(math.radians(angle))))
    return sorted(chains, key=lambda chain: (-chain.size, chain[0]))


def _neighbours(snap: Snapshot, cosine: float) -> Numbers:
    """The next grain behind and ahead of each grain, shape (n, 2), or −1 if there is none."""
    snap = seen(snap)
    c, n = snap.contacts, snap.n
    found = invariants(grain_stress(snap))
    major, e = found.principal[:, 0], found.directions[:, 0]
    bears = np.zeros(n, bool)
    pair = snap.loaded & (c.second < n)
    bears[c.first[snap.loaded]] = bears[c.second[pair]] = True
    high = bears & (major > (major[bears].mean() if bears.any() else 0.0))
    pair &= high[c.first] & high[np.minimum(c.second, n - 1)]
    i, j, line = c.first[pair], c.second[pair], c.normal[pair]
    if not snap.model.round:  # the line between centres need not be along the normal
        line = snap.branch[pair]
        line = line / np.linalg.norm(line, axis=1, keepdims=True)
    along = [np.einsum("ka,ka->k", e[g], line) for g in (i, j)]
    straight = (np.abs(along[0]) >= cosine) & (np.abs(along[1]) >= cosine)
    i, j = i[straight].astype(np.int64), j[straight].astype(np.int64)
    # how j lies as seen from i, and i as seen from j
    ahead, behind = along[0][straight], -along[1][straight]
    # Each link is listed from both ends: the grain, its side, the other grain, how well aligned it
    # is.
    grain, other = np.concatenate([i, j]), np.concatenate([j, i])
    lies = np.concatenate([ahead, behind])
    slot = 2 * grain + (lies > 0.0)
    order = np.lexsort((other, -np.abs(lies), slot))
    best, first = np.unique(slot[order], return_index=True)
    chosen = np.full((n, 2), -1, np.int64)
    chosen.ravel()[best] = other[order[first]]
    mutual = (chosen[chosen] == np.arange(n)[:, None, None]).any(axis=2)
    neighbours: Numbers = np.where((chosen >= 0) & mutual, chosen, -1)
    return neighbours


def _follow(next_to: Numbers) -> list[Numbers]:
    """Chains from the grains' neighbours, followed at once from their ends; rings are cut."""
    links = (next_to >= 0).sum(axis=1)
    left = links > 0
    chains: list[Numbers] = []
    while left.any():
        ends = np.flatnonzero(left & (links == 1))
        if ends.size == 0:  # only rings through periodic boundaries are left
            ends = np.flatnonzero(left)[:1]
        paths, last, now = [ends], np.full(ends.size, -1), ends
        seen = np.zeros(left.size, bool)
        while now.size and (now >= 0).any():
            seen[now[now >= 0]] = True
            choice = np.where(now[:, None] >= 0, next_to[now], -1)
            back = (choice == last[:, None]) | (choice < 0)
            step = np.where(~back[:, 0], choice[:, 0], np.where(~back[:, 1], choice[:, 1], -1))
            step = np.where(step == ends, -1, step)  # the ring is closed
            paths.append(step)
            last, now = now, step
        table = np.stack(paths, axis=1)
        size = (table >= 0).sum(axis=1)
        far = table[np.arange(len(table)), size - 1]
        # each chain once, and not from both ends
        for row, count in zip(table[ends <= far], size[ends <= far]):
            if count >= LEAST:
                chains.append(row[:count])
        left &= ~seen
    return chains


# ---------------------------------------------------------------------- labelled
@of_frame("force-chains", "chain and place in it of every grain", small=False, contacts=True)
def _force_chains(snap: Snapshot, angle: float = 45.0) -> xr.Dataset:
    import xarray as xr

    chains = force_chains(snap, angle=angle)
    number, place = np.full((2, snap.n), -1)
    for k, chain in enumerate(chains):
        number[chain], place[chain] = k, np.arange(chain.size)
    sizes = np.array([chain.size for chain in chains])
    data: dict[str, Any] = {
        "chain": ("grain", number, about("1", "number of the chain, -1: none")),
        "place": ("grain", place, about("1", "place in the chain, -1: none")),
        "chains": ((), len(chains), about("1", "chains")),
        "share": ((), sizes.sum() / snap.n, about("1", "share of grains in them")),
        "mean_length": (
            (), sizes.mean() if chains else math.nan,
            about("1", "mean number of grains in a chain"),
        ),
        "longest": ((), sizes.max(initial=0), about("1", "grains in the longest")),
    }  # fmt: skip
    return xr.Dataset(data, {"grain": snap.id})


@of_run("chain-lengths", "how long force chains are, over all frames", contacts=True)
def _chain_lengths(
    source: Source, frames: Sequence[int] | None = None, angle: float = 45.0
) -> xr.Dataset:
    import xarray as xr

    counts, seen = np.zeros(LEAST), 0
    for snap in moments(source, frames, contacts=True):
        found = np.bincount([chain.size for chain in force_chains(snap, angle=angle)])
        if found.size > counts.size:
            counts = np.pad(counts, (0, found.size - counts.size))
        counts[: found.size] += found
        seen += 1
    counts = counts[LEAST:]
    total = max(float(counts.sum()), 1.0)
    data: dict[str, Any] = {
        "share": ("length", counts / total, about("1", "share of chains")),
        "share_error": (
            "length", np.sqrt(np.maximum(counts, 1.0)) / total,
            about("1", "its standard error (Poisson)"),
        ),
        "chains": ("length", counts / seen, about("1", "chains a frame")),
    }  # fmt: skip
    length = ("length", np.arange(counts.size) + LEAST, about("1", "grains"))
    return xr.Dataset(data, {"length": length}, {"frames": seen})
