"""Which grain or contact lies under the pointer, and its numbers."""

from __future__ import annotations

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import grain_stress
from hardgrain.measure.structure import contact_numbers
from hardgrain.measure.visible import outlines, surfaces
from hardgrain.scene.grain_shape import grain_shapes
from hardgrain.show.contact_lines import whole_contacts
from hardgrain.show.view.picture import ForceNetwork, centres

__all__ = [
    "Facts", "contact_arm", "contact_at", "contact_facts", "find_contact", "grain_at",
    "grain_facts",
]  # fmt: skip

Facts = list[tuple[str, str]]
NEAR = 0.5  # [smaller radius] distance along its line at which a contact can be picked
LEAST = 0.06  # [mean diameter] distance from a thin line at which it can be picked


def grain_at(snap: Snapshot, origin: Floats, direction: Floats) -> int | None:
    """Number of the first grain that a ray meets, (3,) each; a disc lies in the plane z = 0."""
    x = centres(snap)
    if not snap.model.round:
        return _solid_at(snap, x, origin, direction)
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


def _solid_at(snap: Snapshot, x: Floats, origin: Floats, direction: Floats) -> int | None:
    """The same for grains of any shape: as they are drawn, so that what is hit is what is seen."""
    if snap.dim == 2:
        at = _in_plane(origin, direction)[:2]
        near = np.flatnonzero(np.linalg.norm(x[:, :2] - at, axis=1) <= snap.bound)
        found, owner, _ = outlines(snap.of(snap.id[near]), [0, 1])
        if found is None:  # no grain is near
            return None
        for k, i in enumerate(near[owner]):
            if sum(_winding(loop, at - x[i, :2]) for loop in found.loops(k)) != 0:
                return int(snap.id[i])
        return None
    unit = direction / np.linalg.norm(direction)
    to = x - origin
    miss = np.linalg.norm(to - (to @ unit)[:, None] * unit, axis=1)
    near = np.flatnonzero((miss <= snap.bound) & (to @ unit > -snap.bound))
    if not near.size:
        return None
    s, _ = surfaces(snap.of(snap.id[near]), x[near])
    # Polygons are convex and flat: a ray that crosses their plane meets them if it passes all sides
    # on the same hand.
    cell = np.repeat(np.arange(len(s.grain)), np.diff(s.offsets))
    after = np.arange(len(cell)) + 1
    after[s.offsets[1:] - 1] = s.offsets[:-1]
    a, b = s.points[s.connectivity], s.points[s.connectivity[after % max(len(cell), 1)]]
    hand = np.cross(a - origin, b - origin) @ unit
    begin = s.offsets[:-1]
    met = (np.maximum.reduceat(hand, begin) <= 0.0) | (np.minimum.reduceat(hand, begin) >= 0.0)
    one, two, three = (s.points[s.connectivity[begin + k]] for k in range(3))
    normal = np.cross(two - one, three - one)
    slope = normal @ unit
    depth = np.einsum("ka,ka->k", one - origin, normal) / np.where(slope != 0.0, slope, np.nan)
    depth = np.where(met & (depth > 0.0), depth, np.inf)
    best = int(np.argmin(np.nan_to_num(depth, nan=np.inf)))
    return int(snap.id[near[s.grain[best]]]) if np.isfinite(depth[best]) else None


def _winding(loop: Floats, at: Floats) -> int:
    """How often a loop runs around a point, clockwise negative."""
    a = loop - at
    b = np.roll(a, -1, axis=0)
    left = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    up = (a[:, 1] <= 0.0) & (b[:, 1] > 0.0) & (left > 0.0)
    down = (a[:, 1] > 0.0) & (b[:, 1] <= 0.0) & (left < 0.0)
    return int(up.sum()) - int(down.sum())


def contact_at(
    snap: Snapshot, net: ForceNetwork, origin: Floats, direction: Floats
) -> tuple[int, int] | None:
    """Numbers of the bodies of the contact whose line the ray meets near the point of contact."""
    if not len(net):
        return None
    radius = snap.radius[net.first]
    point = net.begin + np.minimum(radius, net.length)[:, None] * net.along
    if net.point is not None:
        point = net.point
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


def contact_arm(snap: Snapshot, k: int) -> Floats:
    """From the centre of its first body to a contact; of faces, to the centre of force."""
    c = snap.contacts
    if snap.model.round:
        arm: Floats = snap.radius[c.first[k]] * c.normal[k]
        return arm
    r = whole_contacts(snap)
    same = (r.first == c.first[k]) & (r.second == c.second[k])
    arm = r.arm[np.flatnonzero(same)[0]]
    return arm


def grain_facts(snap: Snapshot, number: int) -> Facts:
    """Figures of a grain, with names."""
    i = snap.row(number)
    if i is None:
        return [("grain", str(number)), ("state", "not there in this frame")]
    facts = [
        ("grain", str(number)),
        ("position", _vector(snap.wrapped[i])),
        ("velocity", _vector(snap.in_space(snap.wrapped)[i])),
        ("spin", _vector(snap.spin[i])),
        *_shape_facts(snap, i),
        *_strain_facts(snap, i),
        ("mass", _number(snap.mass[i])),
    ]
    if not snap.stored:
        return [*facts, ("contacts", "not stored in this frame")]
    return [
        *facts,
        ("contacts", f"{contact_numbers(snap)[i]} bear a force"),
        ("pressure", _number(np.trace(grain_stress(snap)[i]) / snap.dim)),
    ]


def _shape_facts(snap: Snapshot, i: int) -> Facts:
    """What shape a grain has, and how large it is."""
    if snap.model.round:
        return [("radius", _number(snap.radius[i]))]
    own = snap.model.solids
    shape = grain_shapes(own, snap.dim)[own.shape[i]]
    return [
        ("shape", shape.name),
        ("sides" if snap.dim == 2 else "faces", str(shape.sides)),
        ("size", _number(own.size[i])),
        ("width", _number(snap.model.width[i])),
        ("radius around it", _number(snap.radius[i])),
    ]


def _strain_facts(snap: Snapshot, i: int) -> Facts:
    """How far a grain is deformed, if it can be."""
    mesh = snap.mesh
    if mesh is None or not (mesh.grain == i).any():
        return []
    mine = mesh.grain == i
    return [
        ("volume" if snap.dim == 3 else "area", _number(snap.volume[i])),
        ("von Mises stress", f"up to {_number(mesh.von_mises[mine].max())}"),
        ("elastic energy", _number((mesh.at_rest * mesh.energy)[mine].sum())),
    ]


def contact_facts(snap: Snapshot, pair: tuple[int, int]) -> Facts:
    """Figures of a contact, with names; those that change only if the contact still exists."""
    facts = [("contact", f"{body_name(snap, pair[0])}, {body_name(snap, pair[1])}")]
    if not snap.stored:
        return [*facts, ("state", "not stored in this frame")]
    k = find_contact(snap, pair)
    if k is None:
        return [*facts, ("state", "open in this frame")]
    c = snap.contacts
    rows = np.flatnonzero((c.first == c.first[k]) & (c.second == c.second[k]))
    if len(rows) > 1:  # whose force is the resultant
        facts.append(("points", str(len(rows))))
    normal = float(snap.normal_force[rows].sum())
    shear = float(np.linalg.norm(snap.tangential_force[rows].sum(axis=0)))
    limit = float((snap.friction * snap.normal_force)[rows].sum())
    return [
        *facts,
        ("normal force", _number(normal)),
        ("tangential force", _number(shear)),
        (
            "mobilisation",
            f"{shear / limit:.3f} of friction {snap.friction[k]:g}" if limit > 0.0 else "none",
        ),
        ("gap", _number(c.gap[rows].min())),
        ("normal", _vector(c.normal[k])),
    ]


def body_name(snap: Snapshot, number: int) -> str:
    """The number of a grain, or the name of a wall."""
    wall = number - snap.model.everyone
    return f"grain {number}" if wall < 0 else f"wall {snap.model.wall_names[wall]}"


def _number(x: float) -> str:
    return f"{x:.5g}"


def _vector(x: Floats) -> str:
    return ", ".join(map(_number, x))
