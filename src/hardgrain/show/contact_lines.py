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
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot

__all__ = ["Lines", "WholeContacts", "bent_lines", "force_lines", "whole_contacts"]


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
class WholeContacts:
    """Forces of face contacts as wholes, in the order of contacts."""

    first: Ints  # (m,)
    second: Ints  # (m,)
    arm: Floats  # (m, dim) from the centre of the first body to the centre of force [length]
    beyond: Floats  # (m, dim) from there to the centre of the second body, zero for walls [length]
    normal_force: Floats  # (m,) [force]
    tangential_force: Floats  # (m, dim) [force]
    limit: Floats  # (m,) largest friction of all points together [force]
    normal: Floats  # (m, dim)


def whole_contacts(snap: Snapshot) -> WholeContacts:
    """The contacts of a snapshot, with the points of each face contact taken together."""
    pairs = seen(snap, "pair")
    c, force = pairs.contacts, pairs.normal_force
    beyond = np.where((c.second < snap.n)[:, None], pairs.branch - c.arm_first, 0.0)
    return WholeContacts(
        c.first, c.second, c.arm_first, beyond, force, pairs.tangential_force,
        pairs.friction * np.abs(force), c.normal,
    )  # fmt: skip


def force_lines(snap: Snapshot, friction: bool = False) -> Lines:
    """The contacts that bear a force, coloured by it or by ``friction``: T/(µN).

    In 2D friction has a sign, positive where it rotates both grains clockwise.
    """
    if not snap.model.round:
        r = whole_contacts(snap)
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
