"""The rim of convex polygons that overlap: the outline of a clump in 2D."""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Floats

__all__ = ["SAME", "once", "rim_of_all"]

SAME = 1e-9  # [extent of the shape] distance of two points that is rounding


def once(loop: Floats) -> Floats:
    """A loop without points that repeat the one before."""
    step = np.linalg.norm(loop - np.roll(loop, 1, axis=0), axis=1)
    kept = loop[step > SAME * np.ptp(loop, axis=0).max()]
    return kept if len(kept) else loop[:1]


def rim_of_all(parts: list[Floats]) -> list[Floats]:
    """The rim of convex polygons (k, 2) that overlap or touch, as loops.

    Loops run counter-clockwise, those around holes clockwise.
    Of each side, what lies in another polygon is cut away, and what is left is joined end to end.
    Where two polygons share a part of a side, it stays once if both lie on the same side of it and
    vanishes if they face each other.
    """
    extent = max(float(np.ptp(np.concatenate(parts), axis=0).max()), 1e-300)
    chains: list[Floats] = []
    for number, loop in enumerate(parts):
        others = [(k < number, other) for k, other in enumerate(parts) if k != number]
        pieces = [
            np.array([a + s * (b - a), a + t * (b - a)])
            for a, b in zip(loop, np.roll(loop, -1, axis=0))
            for s, t in _outside(a, b, others, SAME * extent)
        ]
        chains += _joined(pieces, 10.0 * SAME * extent)
    return _rings(chains)


def _outside(
    a: Floats, b: Floats, others: list[tuple[bool, Floats]], tiny: float
) -> list[tuple[float, float]]:
    """Shares (s, t) of the side from a to b that lie in no other polygon."""
    left = [(0.0, 1.0)]
    along = b - a
    length = float(np.hypot(*along))
    out = np.array([along[1], -along[0]]) / max(length, 1e-300)
    for earlier, loop in others:
        side = np.roll(loop, -1, axis=0) - loop
        normal = np.stack([side[:, 1], -side[:, 0]], axis=1)
        normal /= np.linalg.norm(side, axis=1, keepdims=True)
        height, rise = np.einsum("ka,ka->k", normal, a - loop), normal @ along
        # a side that both have on the same line belongs to the first of them
        shared = (normal @ out > 1.0 - SAME) & (np.abs(height) <= tiny)
        room = np.where(shared & (not earlier), -tiny, tiny)
        flat = np.abs(rise) <= SAME * length
        if (flat & (height > room)).any():
            continue
        steep = np.where(flat, 1.0, rise)
        cross = np.where(flat, 0.0, (room - height) / steep)
        enter = float(np.where(~flat & (rise < 0.0), cross, 0.0).max())
        leave = float(np.where(~flat & (rise > 0.0), cross, 1.0).min())
        if enter < leave:
            left = [
                (s, t)
                for low, high in left
                for s, t in ((low, min(high, enter)), (max(low, leave), high))
                if (t - s) * length > 4.0 * tiny
            ]
    return left


def _joined(pieces: list[Floats], near: float) -> list[Floats]:
    """Pieces of one polygon's rim, in order, as chains of points without gaps."""
    chains: list[list[Floats]] = []
    for begin, end in pieces:
        if chains and np.hypot(*(chains[-1][-1] - begin)) <= near:
            chains[-1].append(end)
        else:
            chains.append([begin, end])
    if len(chains) > 1 and np.hypot(*(chains[-1][-1] - chains[0][0])) <= near:
        chains[0] = chains.pop() + chains[0][1:]
    return [np.array(chain) for chain in chains]


def _rings(chains: list[Floats]) -> list[Floats]:
    """Chains of points joined to loops: each goes on where the next one begins."""
    rings, free = [], list(chains)
    while free:
        ring = [free.pop(0)]
        while free:
            end, home = ring[-1][-1], float(np.hypot(*(ring[-1][-1] - ring[0][0])))
            gaps = [float(np.hypot(*(chain[0] - end))) for chain in free]
            nearest = int(np.argmin(gaps))
            if home <= gaps[nearest]:
                break
            ring.append(free.pop(nearest))
        rings.append(once(np.concatenate(ring)))
    return rings
