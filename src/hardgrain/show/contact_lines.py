"""Contacts as lines: from the centre of one body to the contact and on to the centre of the other.

Where grains are round, that is one straight line from centre to centre. Otherwise it has a kink at
the contact. The points of two faces that lie on each other share their force in a way that is not
determined; what is, their resultant, is drawn instead, at the centre of force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Ints
from hardgrain.measure.snapshot import Snapshot

__all__ = ["Lines", "Resultants", "bent_lines", "force_lines", "resultants"]

# Cosine of the angle between the normals of two points of one face contact; those of a clump whose
# parts touch in different places differ by more.
SAME_FACE = 0.99


@dataclass(frozen=True, eq=False)
class Lines:
    """Contacts as lines from the first body, with their force and colour."""

    first: NDArray[np.int32]  # (m,) grain at which they begin
    arm: Floats  # (m, dim) to the centre of the second body, or to the wall [length]
    force: Floats  # (m,) normal force, negative: tension [force]
    value: Floats  # (m,) value that gives their colour
    # (m, dim) from the centre of that grain to where they begin [length]; None: at the centre
    offset: Floats | None = None


@dataclass(frozen=True, eq=False)
class Resultants:
    """Forces of face contacts as wholes, in the order of contacts."""

    first: Ints  # (m,)
    second: Ints  # (m,)
    arm: Floats  # (m, dim) from the centre of the first body to the centre of force [length]
    beyond: Floats  # (m, dim) from there to the centre of the second body, zero for walls [length]
    normal_force: Floats  # (m,) [force]
    tangential_force: Floats  # (m, dim) [force]
    limit: Floats  # (m,) largest friction of all points together [force]
    normal: Floats  # (m, dim)


def resultants(snap: Snapshot) -> Resultants:
    """The contacts of a snapshot, with the points of each face contact taken together."""
    c, force = snap.contacts, snap.normal_force
    fresh = np.ones(len(c), bool)
    alike = np.einsum("ka,ka->k", c.normal[1:], c.normal[:-1]) > SAME_FACE
    fresh[1:] = (np.diff(c.first) != 0) | (np.diff(c.second) != 0) | ~alike
    begin = np.flatnonzero(fresh)
    if not begin.size:
        none, vectors = np.zeros(0), np.zeros((0, snap.dim))
        return Resultants(c.first, c.second, vectors, vectors, none, vectors, none, vectors)
    weight = np.abs(force)
    total = np.add.reduceat(weight, begin)
    of = np.cumsum(fresh) - 1
    count = np.bincount(of)
    share = np.where(total[of] > 0.0, weight / np.maximum(total[of], 1e-300), 1.0 / count[of])

    def mean(arms: Floats) -> Floats:
        found: Floats = np.add.reduceat(share[:, None] * arms, begin, axis=0)
        return found

    grain = (c.second < snap.n)[:, None]
    beyond = np.where(grain, snap.branch - c.arm_first, 0.0)
    return Resultants(
        c.first[begin], c.second[begin], mean(c.arm_first), mean(beyond),
        np.add.reduceat(force, begin), np.add.reduceat(snap.tangential_force, begin, axis=0),
        np.add.reduceat(snap.friction * weight, begin), c.normal[begin],
    )  # fmt: skip


def force_lines(snap: Snapshot, friction: bool = False) -> Lines:
    """The contacts that bear a force, coloured by it or by ``friction``: T/(µN).

    In 2D friction has a sign, positive where it rotates both grains clockwise.
    """
    if not snap.model.round:
        r = resultants(snap)
        drawn = _bearing(r.normal_force)
        value = r.normal_force
        if friction:
            value = _mobilised(r.normal, r.tangential_force, r.limit)
        return bent_lines(
            r.first[drawn], r.arm[drawn], r.beyond[drawn], r.normal_force[drawn], value[drawn]
        )
    c, force = snap.contacts, snap.normal_force
    drawn = _bearing(force)
    value = force
    if friction:
        value = _mobilised(c.normal, snap.tangential_force, snap.friction * np.abs(force))
    # The normal points to the nearest image, while positions do not tell which that is.
    return Lines(c.first[drawn], snap.branch[drawn], force[drawn], value[drawn])


def bent_lines(first: Ints, arm: Floats, beyond: Floats, force: Floats, value: Floats) -> Lines:
    """Lines to the contacts, and after them those from there to second bodies that are grains."""
    on = np.flatnonzero(beyond.any(axis=1))
    return Lines(
        np.concatenate([first, first[on]]), np.concatenate([arm, beyond[on]]),
        np.concatenate([force, force[on]]), np.concatenate([value, value[on]]),
        np.concatenate([np.zeros_like(arm), arm[on]]),
    )  # fmt: skip


def _bearing(force: Floats) -> NDArray[np.intp]:
    return np.flatnonzero(np.abs(force) > 1e-9 * np.abs(force).max(initial=0.0))


def _mobilised(normal: Floats, tangent: Floats, limit: Floats) -> Floats:
    """Friction over its limit, with its sign in 2D."""
    size: Floats = np.linalg.norm(tangent, axis=1)
    if normal.shape[1] == 2:
        size = tangent[:, 1] * normal[:, 0] - tangent[:, 0] * normal[:, 1]
    share: Floats = np.divide(size, limit, out=np.zeros_like(size), where=limit > 0.0)
    return share
