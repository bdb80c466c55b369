"""Which grain or contact lies under the pointer, and its numbers."""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import grain_stress
from hardgrain.measure.structure import contact_numbers
from hardgrain.show.view.picture import ForceNetwork, centres

__all__ = ["Facts", "contact_at", "contact_facts", "find_contact", "grain_at", "grain_facts"]

Facts = list[tuple[str, str]]
NEAR = 0.5  # [smaller radius] distance along its line at which a contact can be picked
LEAST = 0.06  # [mean diameter] distance from a thin line at which it can be picked


def grain_at(snap: Snapshot, origin: Floats, direction: Floats) -> int | None:
    """Number of the first grain that a ray meets, (3,) each; a disc lies in the plane z = 0."""
    x = centres(snap)
    if snap.dim == 2:
        at = _in_plane(origin, direction)
        miss = np.linalg.norm(x - at, axis=1) / snap.radius
        best = int(np.argmin(miss)) if snap.n else 0
        return int(snap.id[best]) if snap.n and miss[best] <= 1.0 else None
    unit = direction / np.linalg.norm(direction)
    to = x - origin
    ahead = to @ unit
    inside = snap.radius**2 - (np.einsum("ia,ia->i", to, to) - ahead**2)
    entry = np.where(
        (inside >= 0.0) & (ahead > 0.0), ahead - np.sqrt(np.maximum(inside, 0.0)), np.inf
    )
    best = int(np.argmin(entry)) if snap.n else 0
    return int(snap.id[best]) if snap.n and np.isfinite(entry[best]) else None


def contact_at(
    snap: Snapshot, net: ForceNetwork, origin: Floats, direction: Floats
) -> tuple[int, int] | None:
    """Numbers of the bodies of the contact whose line the ray meets near the point of contact."""
    if not len(net):
        return None
    radius = snap.radius[net.first]
    point = net.begin + np.minimum(radius, net.length)[:, None] * net.along
    near = radius.copy()
    grains = net.second < snap.n
    near[grains] = np.minimum(near[grains], snap.radius[net.second[grains]])
    if snap.dim == 2:
        off = _in_plane(origin, direction) - point
        depth = np.zeros(len(net))
    else:  # the point of the ray that is closest to the given point
        unit = direction / np.linalg.norm(direction)
        depth = (point - origin) @ unit
        off = origin + depth[:, None] * unit - point
    along = np.einsum("ka,ka->k", off, net.along)
    across = np.linalg.norm(off - along[:, None] * net.along, axis=1)
    wide = np.maximum(0.5 * net.width, LEAST * snap.diameter)
    hit = np.flatnonzero((np.abs(along) < NEAR * near) & (across < wide) & (depth >= 0.0))
    if not hit.size:
        return None
    best = hit[np.lexsort((across[hit], depth[hit]))[0]]
    first, second = snap.model.number[[net.first[best], net.second[best]]].tolist()
    return first, second


def _in_plane(origin: Floats, direction: Floats) -> Floats:
    """The point at which a ray meets z = 0, or one far away if it does not."""
    if direction[2] == 0.0:
        return np.full(3, np.inf)
    met: Floats = origin - direction * (origin[2] / direction[2])
    return met


def find_contact(snap: Snapshot, pair: tuple[int, int]) -> int | None:
    """Row of the contact of two bodies, given by their numbers."""
    first, second = (snap.row(number) for number in pair)
    found = np.flatnonzero((snap.contacts.first == first) & (snap.contacts.second == second))
    return int(found[0]) if found.size else None


def grain_facts(snap: Snapshot, number: int) -> Facts:
    """Figures of a grain, with names."""
    i = snap.row(number)
    if i is None:
        return [("grain", str(number)), ("state", "not there in this frame")]
    facts = [
        ("grain", str(number)),
        ("position", _vector(snap.wrapped[i])),
        ("velocity", _vector(snap.velocity[i])),
        ("spin", _vector(snap.spin[i])),
        ("radius", _number(snap.radius[i])),
        ("mass", _number(snap.mass[i])),
    ]
    if not snap.stored:
        return [*facts, ("contacts", "not stored in this frame")]
    return [
        *facts,
        ("contacts", f"{contact_numbers(snap)[i]} bear a force"),
        ("pressure", _number(np.trace(grain_stress(snap)[i]) / snap.dim)),
    ]


def contact_facts(snap: Snapshot, pair: tuple[int, int]) -> Facts:
    """Figures of a contact, with names; those that change only if the contact still exists."""
    facts = [("contact", f"{body_name(snap, pair[0])}, {body_name(snap, pair[1])}")]
    if not snap.stored:
        return [*facts, ("state", "not stored in this frame")]
    k = find_contact(snap, pair)
    if k is None:
        return [*facts, ("state", "open in this frame")]
    normal, shear = float(snap.normal_force[k]), float(np.linalg.norm(snap.tangential_force[k]))
    limit = float(snap.friction[k]) * normal
    return [
        *facts,
        ("normal force", _number(normal)),
        ("tangential force", _number(shear)),
        (
            "mobilisation",
            f"{shear / limit:.3f} of friction {snap.friction[k]:g}" if limit > 0.0 else "none",
        ),
        ("gap", _number(snap.contacts.gap[k])),
        ("normal", _vector(snap.contacts.normal[k])),
    ]


def body_name(snap: Snapshot, number: int) -> str:
    """The number of a grain, or the name of a wall."""
    wall = number - snap.model.everyone
    return f"grain {number}" if wall < 0 else f"wall {snap.model.wall_names[wall]}"


def _number(x: float) -> str:
    return f"{x:.5g}"


def _vector(x: Floats) -> str:
    return ", ".join(map(_number, x))
