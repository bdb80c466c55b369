"""All that is drawn of a frame, as plain arrays: any client can show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Ints
from hardgrain.measure.snapshot import Snapshot
from hardgrain.show.colour import Bytes, as_bytes
from hardgrain.show.contact_lines import whole_contacts
from hardgrain.show.style import colour_map

__all__ = [
    "ForceNetwork",
    "centres",
    "force_network",
    "force_table",
    "from_x",
    "no_force_network",
    "orientations",
    "size_classes",
]

MOST = 60_000  # [lines] only the strongest are drawn; more would hide one another
WIDEST = 0.32  # [mean diameter] width of the strongest lines
STRONG = 0.99  # quantile of the forces from which on lines have that width
FORCE_MAP = ("inferno_r", (0.22, 0.95))  # the part of the map that is seen on pale grains
TENSION = (0, 114, 178)  # colour of pulling contacts, blue beside the warm colours of the map


@dataclass(frozen=True, eq=False)
class ForceNetwork:
    """Lines from centre to centre, or to the wall, of contacts that bear a force."""

    begin: Floats  # (m, 3) [length]
    along: Floats  # (m, 3) unit vectors
    length: Floats  # (m,)
    width: Floats  # (m,)
    force: Floats  # (m,) normal force, negative: tension
    level: NDArray[np.intp]  # (m,) rows of `force_table`
    first: Ints  # (m,)
    second: Ints  # (m,)
    bearing: int = 0  # contacts of the frame that bear a force
    mean: float = 0.0  # their mean normal force
    top: float = 0.0  # force of the last colour
    known: bool = True  # whether the frame has its contacts
    # (m, 3) points of contact, where lines have a kink there and so are two for each contact
    point: Floats | None = None

    def __len__(self) -> int:
        return len(self.length)

    @property
    def drawn(self) -> int:
        """Number of contacts that are drawn."""
        if self.point is None:
            return len(self)
        return len(np.unique(np.column_stack([self.first, self.second, self.point]), axis=0))


def deep(vectors: Floats) -> Floats:
    """Vectors in space, with z = 0 in 2D, shape (…, 3)."""
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1])))


def centres(snap: Snapshot) -> Floats:
    """Centres of the grains in the periodic cell, shape (n, 3)."""
    return deep(snap.wrapped if snap.model.periodic.any() else snap.position)


def orientations(snap: Snapshot) -> Floats:
    """Orientations as quaternions (w, x, y, z), shape (n, 4)."""
    q = snap.state.orientation[: snap.n]
    if snap.dim == 3:
        return np.roll(q, 1, axis=1)
    half, zero = 0.5 * q[:, 0], np.zeros(snap.n)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)


def no_force_network(known: bool = True) -> ForceNetwork:
    """A network without any lines."""
    v, s, i = np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.int32)
    return ForceNetwork(v, v, s, s, s, np.zeros(0, np.intp), i, i, known=known)


def force_table() -> Bytes:
    """Colours of pressing forces, weak to strong, and last that of tension; shape (257, 3)."""
    return np.vstack([as_bytes(colour_map(*FORCE_MAP)), np.array([TENSION], np.uint8)])


def force_network(snap: Snapshot, threshold: float = 0.0, most: int = MOST) -> ForceNetwork:
    """Lines of all contacts whose normal force exceeds ``threshold`` times the mean, weakest first.

    Width and colour give the force.
    """
    if not snap.stored:
        return no_force_network(known=False)
    if not snap.model.round:
        return _bent_network(snap, threshold, most)
    c = snap.contacts
    bears = np.flatnonzero(snap.normal_force != 0.0)
    if not bears.size:
        return no_force_network()
    size = np.abs(snap.normal_force[bears])
    mean, top = float(size.mean()), float(np.quantile(size, STRONG))
    drawn = np.flatnonzero(size > threshold * mean)
    drawn = drawn[np.argsort(size[drawn], kind="stable")][-most:]
    share = np.minimum(size[drawn] / top, 1.0)
    keep = bears[drawn]
    force = snap.normal_force[keep]
    length = np.linalg.norm(snap.branch[keep], axis=1)
    branch = deep(snap.branch[keep])
    return ForceNetwork(
        begin=deep(snap.wrapped[c.first[keep]]),
        along=branch / np.maximum(length, 1e-300)[:, None],
        length=length,
        width=WIDEST * snap.diameter * share,
        force=force,
        level=np.where(force < 0.0, 256, (255.0 * share).astype(np.intp)),
        first=c.first[keep],
        second=c.second[keep],
        bearing=int(bears.size),
        mean=mean,
        top=top,
    )


def _bent_network(snap: Snapshot, threshold: float, most: int) -> ForceNetwork:
    """The same by way of the contacts, for grains that are not round; face contacts as wholes."""
    r = whole_contacts(snap)
    bears = np.flatnonzero(r.normal_force != 0.0)
    if not bears.size:
        return no_force_network()
    size = np.abs(r.normal_force[bears])
    mean, top = float(size.mean()), float(np.quantile(size, STRONG))
    drawn = np.flatnonzero(size > threshold * mean)
    drawn = drawn[np.argsort(size[drawn], kind="stable")][-(most // 2) :]
    keep = bears[drawn]
    on = keep[r.beyond[keep].any(axis=1)]
    both = np.concatenate([keep, on])
    both_lines = np.concatenate([r.arm[keep], r.beyond[on]])
    start = snap.wrapped[r.first[both]] + np.concatenate([0.0 * r.arm[keep], r.arm[on]])
    order = np.argsort(np.abs(r.normal_force[both]), kind="stable")
    both, line, start = both[order], deep(both_lines[order]), deep(start[order])
    length = np.linalg.norm(line, axis=1)
    force = r.normal_force[both]
    share = np.minimum(np.abs(force) / top, 1.0)
    return ForceNetwork(
        begin=start,
        along=line / np.maximum(length, 1e-300)[:, None],
        length=length,
        width=WIDEST * float(snap.model.width.mean()) * share,
        force=force,
        level=np.where(force < 0.0, 256, (255.0 * share).astype(np.intp)),
        first=r.first[both],
        second=r.second[both],
        bearing=int(bears.size),
        mean=mean,
        top=top,
        point=deep(snap.wrapped[r.first[both]] + r.arm[both]),
    )


def from_x(along: Floats) -> Floats:
    """Quaternions (w, x, y, z) that rotate x̂ into unit vectors the shortest way, shape (m, 4)."""
    q = np.zeros((len(along), 4))
    q[:, 0] = 1.0 + along[:, 0]
    q[:, 2], q[:, 3] = -along[:, 2], along[:, 1]
    back = q[:, 0] < 1e-9
    q[back] = (0.0, 0.0, 0.0, 1.0)
    turned: Floats = q / np.linalg.norm(q, axis=1, keepdims=True)
    return turned


def size_classes(radius: Floats, classes: int = 6) -> list[tuple[float, NDArray[np.int64]]]:
    """Classes of grains by size, as pairs of a radius and the grains of the class."""
    edges = np.unique(np.quantile(radius, np.linspace(0.0, 1.0, classes + 1)[1:-1]))
    number = np.searchsorted(edges, radius, side="right")
    found = (np.flatnonzero(number == k) for k in range(len(edges) + 1))
    return [(float(radius[which].mean()), which) for which in found if which.size]
