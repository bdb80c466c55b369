"""The structure of a packing: its density, its contacts, and whether these are just enough.

A contact counts if it bears a force. Fixed grains, which nothing can push, are part of the walls:
they are no rattlers and not among those over which the mean coordination is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.contact.arms import torque
from hardgrain.core import lawtable
from hardgrain.core.model import Floats, Ints
from hardgrain.errors import InputError
from hardgrain.measure import contact_network
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.region import as_region, content
from hardgrain.measure.resultants import By
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Isostaticity",
    "clusters",
    "contact_numbers",
    "coordination",
    "isostaticity",
    "packing_fraction",
    "rattlers",
    "sliding",
]

# [arm] A normal that misses the centre of its grain by less does not turn it, up to rounding. Less:
# rounding counts for a lever; more: grains that are all but round would count as round.
LEVER = 1e-9
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


# ---------------------------------------------------------------------- density
def packing_fraction(
    source: Source, frame: int = -1, region: Any = None, margin: float = 0.0
) -> float:
    """Share of a region that grains fill, each with exactly the part of it that lies inside.

    ``region`` is two corners, a `Block`, `Ball` or `Tube`, or nothing: the space between the walls,
    over the whole of a period and, where a side is open, up to the outermost grain. ``margin``
    takes a rim of this width away, to leave out walls and the free surface. Where grains overlap
    they count twice.
    """
    snap = snapshot(source, frame)
    where = as_region(snap, region, margin)
    if not np.isfinite(where.volume):
        raise InputError("region is infinite; a packing fraction needs a finite one")
    return float(content(snap, where).sum() / where.volume)


# ---------------------------------------------------------------------- contacts
def contact_numbers(source: Source, frame: int = -1, by: By = "pair") -> Counts:
    """Number of contacts of each grain that bear a force, those with walls included, shape (n,).

    By "pair" it is the number of bodies that a grain touches, by "point" that of contact points,
    which is larger where grains have faces.
    """
    snap = snapshot(source, frame)
    return _count(snap, snap.loaded, by)


def rattlers(source: Source, frame: int = -1, least: int | None = None) -> Mask:
    """Which grains the force network does without, shape (n,).

    A rattler has fewer than ``least`` contacts that bear a force; it is taken away together with
    them, and so on until none is left. By default as many as keep a grain in place: with friction
    two, in either dimension; without friction one more than the axes along which it can move, and
    one less under gravity, where the weight is a force too. Contacts are bodies that it touches;
    under gravity they are points, as a grain can rest on a face.
    """
    snap = snapshot(source, frame)
    c, n, loaded = snap.contacts, snap.n, snap.loaded
    free = snap.model.inv_mass[:n] > 0.0
    heavy = (free & (snap.model.gravity != 0.0)).any(axis=1)
    if least is None:
        rough = _count(snap, loaded & (snap.friction > 0.0)) > 0
        need = np.where(rough, 2, free.sum(axis=1) + 1 - heavy)
    else:
        need = np.full(n, least)
    out = np.zeros(snap.model.bodies, dtype=bool)  # walls are never taken away
    while True:
        left = loaded & ~out[c.first] & ~out[c.second]
        held = _count(snap, left)
        if least is None and not snap.model.round:
            held = np.where(heavy, _count(snap, left, "point"), held)
        new = free.any(axis=1) & ~out[:n] & (held < need)
        if not new.any():
            return out[:n]
        out[:n] |= new


def coordination(
    source: Source, frame: int = -1, with_rattlers: bool = True, by: By = "pair"
) -> float:
    """Mean number of contacts of a grain; zero if there are no grains.

    Without rattlers it is the mean over the grains that are left, counting the contacts that are
    left. By "pair" these are bodies that it touches, by "point" the points in which it does.
    """
    snap = snapshot(source, frame)
    mobile = (snap.model.inv_mass[: snap.n] > 0.0).any(axis=1)
    if with_rattlers:
        z, asked = contact_numbers(snap, by=by), mobile
    else:
        out = rattlers(snap)
        z, asked = _count(snap, _backbone(snap, out), by), mobile & ~out
    return float(z[asked].mean()) if asked.any() else 0.0


def clusters(source: Source, frame: int = -1) -> Ints:
    """Cluster of each grain (n,), the largest first: grains linked by contacts that bear a force.

    Walls do not link grains. A grain without contacts is a cluster of its own.
    """
    snap = snapshot(source, frame)
    labels = contact_network.clusters(snap.model, snap.contacts)
    rank = np.empty(labels.max(initial=-1) + 1, np.int32)
    rank[np.argsort(-np.bincount(labels), kind="stable")] = np.arange(rank.size)
    ordered: Ints = rank[labels]
    return ordered


def sliding(source: Source, frame: int = -1, tolerance: float = 1e-6) -> Mask:
    """Which contacts slide (m,), so that |T| = µ (N + cohesion) within the tolerance."""
    snap = snapshot(source, frame)
    c, law = snap.contacts, snap.laws
    near = c.gap <= law[:, lawtable.COHESION_RANGE]
    pressed = snap.normal_force + np.where(near, law[:, lawtable.COHESION], 0.0)
    used = np.linalg.norm(snap.tangential_force, axis=1)
    static, dynamic = (law[:, k] * pressed for k in (lawtable.MU_STATIC, lawtable.MU_DYNAMIC))
    at_limit = (used >= (1.0 - tolerance) * static) | (
        np.abs(used - dynamic) <= tolerance * dynamic
    )
    slides: Mask = at_limit & snap.loaded & (snap.friction > 0.0)
    return slides


def _count(snap: Snapshot, which: Mask, by: str = "pair") -> Counts:
    """How many of the given contacts each grain has, by pairs of bodies or by points, (n,)."""
    c, n = snap.contacts, snap.n
    if by not in ("pair", "point"):
        raise InputError(f"by is {by!r}; give 'pair' or 'point'")
    first, second = c.first[which], c.second[which]
    if by == "pair" and not snap.model.round and first.size:
        first, second = np.unique(np.stack([first, second]), axis=1)
    both = np.concatenate([first, second])
    return np.bincount(both, minlength=snap.model.bodies)[:n]


def _backbone(snap: Snapshot, out: Mask) -> Mask:
    """Which contacts bear a force and belong to no rattler, shape (m,)."""
    c = snap.contacts
    gone = np.append(out, np.zeros(snap.model.bodies - snap.n, dtype=bool))
    left: Mask = snap.loaded & ~gone[c.first] & ~gone[c.second]
    return left


# ---------------------------------------------------------------------- isostaticity
@dataclass(frozen=True)
class Isostaticity:
    """Unknown forces against equations of equilibrium, rattlers left out."""

    grains: int  # number of grains that are no rattlers
    contacts: int
    sliding: int  # number of contacts that slide
    unknowns: int  # components of contact forces and torques, less one for each sliding contact
    equations: int  # balances of forces and torques, less those of motions that meet no resistance

    @property
    def excess(self) -> int:
        """Unknowns less equations: 0 is isostatic, more hyperstatic, less cannot be at rest."""
        return self.unknowns - self.equations


def isostaticity(source: Source, frame: int = -1, tolerance: float = 1e-6) -> Isostaticity:
    """Maxwell's count, generalised to friction (Shundyak, van Hecke and van Saarloos 2007).

    A contact without friction has one unknown, one with friction as many as dimensions, and one
    less where it slides, since |T| = µ N is one more equation; rolling resistance adds one (2D) or
    two, torsion one. What can move and has contacts gives equations; those of torques only where
    some contact has friction or resists rolling. A cluster that nothing holds along an axis, or
    that nothing holds at all, moves or rotates without resistance, and as many equations say
    nothing new. Every point of a face counts, and torques of shaped grains always do, where
    normals miss the centre. A cell that deforms under a stress has an equation for each component
    of that.
    """
    snap = snapshot(source, frame)
    if snap.mesh is not None:
        raise InputError(
            "grains of this run deform, and their forces follow from that; isostaticity counts the"
            " equations of rigid grains alone"
        )
    c, model, dim = snap.contacts, snap.model, snap.dim
    out = rattlers(snap)
    used = _backbone(snap, out)
    first, second = c.first[used], c.second[used]
    laws = snap.laws[used]
    rough = laws[:, lawtable.MU_STATIC] > 0.0
    rolls, twists = laws[:, lawtable.ROLLING] > 0.0, laws[:, lawtable.TORSION] > 0.0
    slides = sliding(snap, tolerance=tolerance)[used]
    unknowns = used.sum() + (dim - 1) * rough.sum() - slides.sum()
    unknowns += (dim - 1) * rolls.sum() + (twists.sum() if dim == 3 else 0)

    pushed, turned = (np.zeros(model.bodies, dtype=bool) for _ in range(2))
    pushed[first] = pushed[second] = True
    turning = rough | rolls | twists
    turned[first[turning]] = turned[second[turning]] = True
    if not model.round:
        for body, arm in ((first, c.arm_first[used]), (second, c.arm_second[used])):
            lever = np.linalg.norm(torque(arm, c.normal[used]), axis=1)
            turned[body[lever > LEVER * np.linalg.norm(arm, axis=1)]] = True
    equations = ((model.inv_mass > 0.0) & pushed[:, None]).sum()
    equations += ((model.inv_inertia > 0.0) & turned[:, None]).sum()
    if model.cell >= 0 and (first.size and second.min() < snap.n):  # a cell that yields to stress
        equations += (model.inv_mass[model.cell] > 0.0).sum()
        equations += (model.inv_inertia[model.cell] > 0.0).sum()
    equations -= _idle(snap, first, second, c.normal[used], turning)
    return Isostaticity(
        int((~out).sum()), int(used.sum()), int(slides.sum()), int(unknowns), int(equations)
    )


def _idle(snap: Snapshot, first: Ints, second: Ints, normal: Floats, rough: Mask) -> int:
    """Motions of whole clusters that no contact resists.

    Let all that can move along an axis move there together. A contact resists where one body can
    and the other cannot, if it faces the axis or has friction. A cluster of free grains alone can
    rotate, too, unless a period holds it.
    """
    bodies, free = snap.model.bodies, snap.model.inv_mass > 0.0
    mobile = np.asarray(free.any(axis=1))
    link = mobile[first] & mobile[second]
    graph = coo_array(
        (np.ones(link.sum(), np.int8), (first[link], second[link])), shape=(bodies, bodies)
    )
    count, label = connected_components(graph, directed=False)
    able, held = np.zeros((2, count, snap.dim), dtype=bool)
    alone = np.zeros(count, dtype=bool)
    cluster = label[np.where(mobile[first], first, second)]
    alone[cluster] = True
    resists = (free[first] != free[second]) & ((np.abs(normal) > 1e-9) | rough[:, None])
    np.logical_or.at(held, cluster, resists)
    np.logical_or.at(able, cluster, free[first] | free[second])
    np.logical_and.at(alone, cluster, free[first].all(axis=1) & free[second].all(axis=1))
    turns = 0 if (snap.model.periodic > 0.0).any() else (1 if snap.dim == 2 else 3)
    return int((able & ~held).sum()) + turns * int(alone.sum())


# ---------------------------------------------------------------------- by name
@of_frame("packing-fraction", "share of space filled; region = two corners, margin = rim left out")
def _fraction(snap: Snapshot, region: Any = None, margin: float = 0.0) -> xr.Dataset:
    import xarray as xr

    value = packing_fraction(snap, region=region, margin=margin)
    return xr.Dataset({"packing_fraction": ((), value, about("1", "packing fraction"))})


@of_frame("coordination", "contacts a grain, with and without rattlers", contacts=True)
def _coordination(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    out = rattlers(snap)
    data: dict[str, Any] = {
        "all": ((), coordination(snap), about("1", "coordination number")),
        "without_rattlers": (
            (),
            coordination(snap, with_rattlers=False),
            about("1", "coordination number without rattlers"),
        ),
        "rattlers": ((), float(out.mean()), about("1", "share of rattlers")),
    }
    if not snap.model.round:  # by pairs of bodies above, and by points
        for name, every in (("points", True), ("points_without_rattlers", False)):
            data[name] = (
                (),
                coordination(snap, with_rattlers=every, by="point"),
                about("1", f"contact points a grain{'' if every else ' without rattlers'}"),
            )
    return xr.Dataset(data)


@of_frame(
    "contact-numbers", "contacts of each grain, and is it a rattler", small=False, contacts=True
)
def _numbers(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    data: dict[str, Any] = {
        "contacts": ("grain", contact_numbers(snap), about("1", "contacts of a grain")),
        "rattler": ("grain", rattlers(snap), about("1", "rattler")),
    }
    if not snap.model.round:
        points = contact_numbers(snap, by="point")
        data["points"] = ("grain", points, about("1", "contact points of a grain"))
    return xr.Dataset(data, {"grain": snap.id})


@of_frame("clusters", "contact clusters: how many, and how large", contacts=True)
def _clusters(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    sizes = np.bincount(clusters(snap))
    data: dict[str, Any] = {
        "clusters": ((), int((sizes > 1).sum()), about("1", "clusters of two grains or more")),
        "largest": ((), int(sizes.max(initial=0)), about("1", "grains in the largest cluster")),
        "single": ((), int((sizes == 1).sum()), about("1", "grains without contacts to others")),
    }
    return xr.Dataset(data)


@of_frame("isostaticity", "unknown contact forces against equations of equilibrium", contacts=True)
def _isostaticity(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    count = isostaticity(snap)
    names = {
        "contacts": "contacts without those of rattlers",
        "sliding": "contacts that slide",
        "unknowns": "components of contact forces",
        "equations": "equations of equilibrium",
        "excess": "unknowns in excess of equations",
    }
    return xr.Dataset({k: ((), getattr(count, k), about("1", v)) for k, v in names.items()})
