"""Resultants: the force, its centre and the moment with which two bodies act on each other.

Grains with faces touch in several points. How these share the force between them is not determined
by anything: only what they do together matters to the two bodies. The points of two convex parts
have a normal in common; all of them together are one contact here.

With normal forces N_p and tangential ones T_p at the places x_p,

    force   F = Σ F_p,        centre   c = Σ N_p x_p / Σ N_p,        moment   M = Σ (x_p − c) × F_p.

The centre lies between the points as long as these press. The normal forces have no moment about
it, and that of the tangential forces lies along the normal: in 2D there is none, in 3D it is the
torsion that a face can bear. Where nothing presses, the centre is the middle of the points.

Grains that deform touch each other in a patch, whose points have normals of their own: the mean of
these, weighted as the centre is, stands for them, and what is left of the moment is in M. There the
points do share the force in a determined way.

Two grains with a single point have it as their centre. So have round grains, and for them all of
this is what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.arms import torque
from hardgrain.core.model import Contacts, Floats, Rows
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame, rotation_axes
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["KINDS", "By", "Resultants", "contact_of_point", "resultants", "seen", "summed"]

By = Literal["pair", "point"]
KINDS = ("point", "line", "face")

# [1] Normals of two points that differ by less are those of one pair of parts. Less: rounding tells
# points of a face apart; more: a clump that lies in a shallow dent touches it in one contact only.
SAME_NORMAL = 1e-9
# [least width] A point with a smaller gap touches, as far as the kind of a contact is concerned:
# a face that rests on four points may well bear its load with three of them. Less: rounding makes
# edges of faces; more: grains that lean at a small angle count as lying flat.
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Resultants:
    """What pairs of bodies do to each other, one row for each contact of two bodies."""

    first: NDArray[np.int32]  # (k,) a grain
    second: NDArray[np.int32]  # (k,) a grain with a larger number, or a wall
    normal: Floats  # (k, dim) from first to second
    force: Floats  # (k, dim) on second [force]
    moment: Floats  # (k, ns) on second, about the centre, with rolling and torsion [force × length]
    centre: Floats  # (k, dim) where the force acts, near the first grain in the cell [length]
    points: NDArray[np.int64]  # (k,) number of points in which they touch
    kind: NDArray[np.int8]  # (k,) 0: a point, 1: a line (in 3D), 2: a face; see KINDS

    @property
    def normal_force(self) -> Floats:
        """(k,) positive: pressing."""
        along: Floats = np.einsum("ka,ka->k", self.force, self.normal)
        return along


def resultants(source: Source, frame: int = -1) -> Resultants:
    """The resultants of all contacts that touch."""
    snap = snapshot(source, frame)
    pairs, points, _ = _pairs(snap)
    ns = snap.model.inv_inertia.shape[1]
    moment = pairs.contacts.torque / snap.dt if len(pairs.contacts) else np.zeros((0, ns))
    c = pairs.contacts
    face = points > (1 if snap.dim == 2 else 2)
    kind = np.where(face, 2, np.where(points > 1, 1, 0)).astype(np.int8)
    centre = pairs.origin + c.arm_first + 0.5 * c.gap[:, None] * c.normal
    return Resultants(c.first, c.second, c.normal, pairs.force, moment, centre, points, kind)


def seen(snap: Snapshot, by: str | None = None) -> Snapshot:
    """The moment with contacts as they are to be counted: by "pair" of bodies, or by "point".

    By default shaped grains are seen by pairs. Round ones have one point a pair, so that either is
    the same. Seen by pairs, each row of the contacts is a resultant: its impulse acts at the end of
    its arms, and its torque is the moment about that place.
    """
    if by not in (None, "pair", "point"):
        raise InputError(f"by is {by!r}; give 'pair' or 'point'")
    if snap.model.round or by == "point":
        return snap
    return _pairs(snap)[0]


def summed(snap: Snapshot, values: Floats, by: str | None = None) -> Floats:
    """Sums of what the points that touch (m,) have, for each contact as it is seen (k,)."""
    if snap.model.round or by == "point":
        return values
    pairs, _, group = _pairs(snap)
    total: Floats = np.bincount(group, values, len(pairs.contacts)).astype(float)
    return total


def contact_of_point(first: Rows, second: Rows, normal: Floats) -> NDArray[np.intp]:
    """Which contact of two bodies each of some points in order belongs to, shape (m,).

    Points that follow each other belong together if they have both bodies and the normal in common.
    """
    if not len(first):
        return np.zeros(0, np.intp)
    other = (np.diff(first) != 0) | (np.diff(second) != 0)
    other |= (np.abs(np.diff(normal, axis=0)) > SAME_NORMAL).any(axis=1)
    return np.concatenate([[0], np.cumsum(other)])


def _pairs(snap: Snapshot) -> tuple[Snapshot, NDArray[np.int64], NDArray[np.intp]]:
    """The moment with a row for each contact of two bodies, and the number of points in each.

    At last the row of each point that touches (`Snapshot.contacts`).
    """
    c = snap.candidates
    touches = (c.gap <= 0.0) | c.impulse.any(axis=1)
    near = touches | (c.gap <= NEAR * c.width)
    points, touches = c.chosen(near), touches[near]
    group = _group(snap, points)
    count = int(group[-1]) + 1 if group.size else 0
    some = np.bincount(group, touches, count) > 0.0
    keep = some[group]
    points, touches = points.chosen(keep), touches[keep]
    group = (np.cumsum(some) - 1)[group[keep]]
    k = int(some.sum())
    pushes = points.normal_impulse()
    total = np.bincount(group, pushes, k)
    # weights by which the centre is the mean of the points
    size = np.bincount(group, np.abs(pushes), k)
    pressed = total > 0.5 * size
    bears = np.bincount(group, touches, k)
    even = touches / np.where(bears > 0.0, bears, 1.0)[group]
    weight = np.where(pressed[group], pushes / np.where(pressed, total, 1.0)[group], even)

    def total_of(values: Floats) -> Floats:
        out = np.zeros((k, *values.shape[1:]))
        np.add.at(out, group, values)
        return out

    def mean(values: Floats) -> Floats:
        return total_of(weight.reshape(-1, *[1] * (values.ndim - 1)) * values)

    begin = np.searchsorted(group, np.arange(k))
    arms = mean(points.arm_first)
    moment = total_of(torque(points.arm_first - arms[group], points.impulse) + points.torque)
    impulse = total_of(points.impulse)
    normal = points.normal[begin]
    if snap.mesh is not None:
        whole_normal = mean(points.normal)
        length = np.linalg.norm(whole_normal, axis=1, keepdims=True)
        normal = np.divide(whole_normal, length, out=normal, where=length > 0.0)
    whole = replace(
        points.chosen(begin),
        normal=normal,
        # a contact without force touches where any of its points does
        gap=np.where(impulse.any(axis=1), mean(points.gap), np.minimum(mean(points.gap), 0.0)),
        impulse=impulse,
        torque=moment,
        spring=mean(points.spring),
        arm_first=arms,
        arm_second=mean(points.arm_second),
    )
    pairs = replace(snap, state=replace(snap.state, contacts=whole))
    return pairs, np.bincount(group, minlength=k), group[touches]


def _group(snap: Snapshot, points: Contacts) -> NDArray[np.intp]:
    """Which contact of two bodies each of some points belongs to, shape (m,)."""
    normal = points.normal
    if snap.mesh is not None:  # grains that deform are convex, and meet in one patch
        normal = np.zeros_like(normal)
    return contact_of_point(points.first, points.second, normal)


# ---------------------------------------------------------------------- labelled
@of_frame(
    "resultants",
    "force, its centre and moment between two bodies, and how they touch",
    small=False,
    contacts=True,
)
def _resultants(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    found, number = resultants(snap), snap.model.number
    vector, pair = ("pair", "component"), "pair"
    data: dict[str, Any] = {
        "first": (pair, number[found.first], about("1", "first body")),
        "second": (pair, number[found.second], about("1", "second body")),
        "kind": (pair, np.array(KINDS)[found.kind], about("1", "how they touch")),
        "points": (pair, found.points, about("1", "points in which they touch")),
        "normal_force": (pair, found.normal_force, about("force", "normal force")),
        "force": (vector, found.force, about("force", "force on the second body")),
        "centre": (vector, found.centre, about("length", "centre of the force")),
        "normal": (vector, found.normal, about("1", "normal, from first to second")),
        "moment": (
            ("pair", "rotation"), found.moment,
            about("force length", "moment on the second body about the centre"),
        ),
    }  # fmt: skip
    coords = {
        "pair": np.arange(found.first.size),
        "component": axes(snap.dim),
        "rotation": rotation_axes(snap.dim),
    }
    return xr.Dataset(data, coords)
