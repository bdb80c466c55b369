"""From the scene that a user writes to the arrays that a step works on."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hardgrain.errors import InputError
from hardgrain.scene import lawtable as table
from hardgrain.scene._base import Finite, Flag, Name
from hardgrain.scene.brief import brief
from hardgrain.scene.drive import TimeFunction, compile_function, is_constant
from hardgrain.scene.model import (
    FORCE,
    SPIN,
    TORQUE,
    VELOCITY,
    Contacts,
    Drive,
    Floats,
    Ints,
    Model,
    Pressure,
    State,
)
from hardgrain.scene.place import entrances, place
from hardgrain.scene.region import Region
from hardgrain.scene.sizes import draw
from hardgrain.scene.spec import (
    Box,
    ContactLaw,
    Cylinder,
    Drum,
    Grains,
    Material,
    Piston,
    Plane,
    Remove,
    Segment,
    Spec,
    Wall,
)

__all__ = ["GrainArrays", "Scene"]

AXES = "xyz"
_KINDS = {"plane": 0, "segment": 1, "inside": 2, "outside": 3}
_PER_GRAIN = 2048  # memory that a run needs for each grain and its contacts [byte]
_SMALLEST = 1e-100  # diameter [length]: squares, and cells of that size, are still numbers
_COHESION_RANGE = 1e-4  # of the mean diameter: far above rounding, far below any gap that matters


@brief
@dataclass(frozen=True)
class GrainArrays:
    """Placed grains: what preparation yields, and what a run file keeps of it."""

    position: Floats  # (n, dim)
    radius: Floats  # (n,)
    velocity: Floats  # (n, dim)
    spin: Floats  # (n, ns)
    group: Ints  # (n,) number of the grain set


class Scene(Spec):
    """Everything there is: grains, walls, materials, gravity, periods."""

    dimension: Literal[2, 3] = 2  # 2 for disks in the plane x, y; 3 for spheres
    # acceleration of gravity, a number for each axis [length/time²]; default: none
    gravity: list[Finite] | None = None
    # axes along which the scene repeats, each with its lower and upper end [length]
    periodic: dict[Literal["x", "y", "z"], tuple[Finite, Finite]] = {}
    # what grains and walls are made of, by name
    materials: dict[Name, Material] = Field(default_factory=lambda: {"grain": Material()})
    # contact laws; of several for a pair of materials the last one holds; without any: friction 0.3
    contacts: list[ContactLaw] = []
    grains: list[Grains] = []  # sets of grains
    # walls: planes, boxes, cylinders and the like, each a table with its kind
    walls: list[Wall] = []
    # what happens to an overlap: "g+" keeps it, "g" removes it within a step, which adds energy
    shock: Literal["g+", "g"] = "g+"
    allow_overlaps: Flag = False  # whether grains may overlap each other or walls at the start
    regions: dict[Name, Region] = {}  # regions of space, by name
    # where grains are taken out: when their centre enters or leaves a region
    remove: list[Remove] = []

    # ------------------------------------------------------------------ preparation
    def place_grains(
        self, seed: int, start: GrainArrays | None = None, theirs: Sequence[int] = ()
    ) -> GrainArrays:
        """Draw sizes, places and velocities; the same for the same seed.

        After the grains of ``start``, whose sets are ``theirs`` and not placed. Grains that are yet
        to be inserted have a number, a size and a velocity, but no place to rely on.
        """
        dim, ns = self.dimension, _spins(self.dimension)
        periodic = self._periods()
        position, radius = np.zeros((0, dim)), np.zeros(0)
        velocity, spin, group = np.zeros((0, dim)), np.zeros((0, ns)), np.zeros(0, np.int32)
        if start is not None:
            position, radius, group = start.position, start.radius, start.group
            velocity, spin = start.velocity, start.spin
        there = np.ones(radius.size, bool)
        for k, spec in enumerate(self.grains):
            if k in theirs:
                continue
            rng = np.random.default_rng([seed, k])
            at = f"scene.grains[{k}]"
            if spec.place is None:
                raise InputError(
                    f"{at}.place is missing; give a table with the kind 'grid', 'deposit', 'loose'"
                    " or 'at', or take the grains from a file with [start]"
                )
            try:
                diameters = draw(spec.diameter, spec.size, rng)
                _check_sizes(diameters)
                if spec.insert is None:
                    taken = position[there], radius[there]
                    x, r = place(spec.place, 0.5 * diameters, rng, dim, periodic, *taken)
                else:
                    x, r = entrances(spec.place, 0.5 * diameters, dim), 0.5 * diameters
            except InputError as error:  # say which set of grains it is about
                raise InputError(f"{at}.{error}") from None
            v = np.tile(_vector(spec.velocity, dim, f"{at}.velocity"), (r.size, 1))
            v += rng.normal(size=v.shape) * spec.speed
            w = np.tile(_spin_vector(spec.spin, dim, f"{at}.spin"), (r.size, 1))
            position, radius = np.vstack([position, x]), np.concatenate([radius, r])
            velocity, spin = np.vstack([velocity, v]), np.vstack([spin, w])
            group = np.concatenate([group, np.full(r.size, k, np.int32)])
            there = np.append(there, np.full(r.size, spec.insert is None))
        return GrainArrays(position, radius, velocity, spin, group)

    # ------------------------------------------------------------------ the arrays of a run
    def build(self, seed: int, grains: GrainArrays | None = None) -> tuple[Model, State]:
        """The model and its first state; ``grains`` stands in for those that would be placed."""
        if not self.grains and grains is None:
            raise InputError("scene.grains is empty; a scene needs at least one grain")
        dim, ns = self.dimension, _spins(self.dimension)
        gravity = _vector(self.gravity, dim, "scene.gravity")
        periodic = self._periods()
        if not self.materials:
            raise InputError("scene.materials is empty; give at least one material")
        self._check_removals()
        names = list(self.materials)
        if grains is None:
            _check_memory(sum(spec.count or 0 for spec in self.grains))
        g = self.place_grains(seed) if grains is None else grains
        walls = _Walls(self, names)
        n, w = g.radius.size, len(walls.rows)
        _check_periods(periodic, g.radius)
        _check_images(periodic, g.radius, walls.rows)

        material = np.zeros(n + w, np.int32)
        inv_mass, inv_inertia = np.zeros((n + w, dim)), np.zeros((n + w, ns))
        mass, inertia = np.zeros(n + w), np.zeros(n + w)
        drives: list[Drive] = []
        for k, spec in enumerate(self.grains):
            at = f"scene.grains[{k}]"
            mine = np.flatnonzero(g.group == k)
            m = _material(spec.material, names, f"{at}.material")
            r = g.radius[mine]
            density = self.materials[names[m]].density
            material[mine] = m
            with np.errstate(all="ignore"):
                mass[mine] = density * (np.pi * r**2 if dim == 2 else 4 / 3 * np.pi * r**3)
                inertia[mine] = (0.5 if dim == 2 else 0.4) * mass[mine] * r**2
                inv_mass[mine] = 1.0 / mass[mine, None]
                inv_inertia[mine] = 1.0 / inertia[mine, None]
            if not all(np.isfinite(a[mine]).all() for a in (mass, inertia, inv_mass, inv_inertia)):
                raise InputError(
                    f"{at}.diameter is {2 * r.min():g} to {2 * r.max():g} with the density"
                    f" {density:g}, which gives masses or moments of inertia beyond the range of"
                    " numbers; use other units"
                )
            _lock(spec, dim, at, mine, inv_mass, inv_inertia)
            bodies: slice | np.ndarray = mine
            if mine.size and mine[-1] - mine[0] + 1 == mine.size:
                bodies = slice(int(mine[0]), int(mine[-1]) + 1)
            for drive in _grain_drives(spec, dim, at, bodies):
                drives.append(drive)
                if drive.what == VELOCITY:
                    inv_mass[mine, drive.axis] = 0.0
                elif drive.what == SPIN:
                    inv_inertia[mine, drive.axis] = 0.0

        position = np.vstack([g.position, np.zeros((w, dim))])
        offset, axis = np.zeros((w, dim)), np.zeros((w, dim))
        for k, row in enumerate(walls.rows):
            body = n + k
            material[body] = row.material
            position[body] = row.pivot
            offset[k], axis[k] = row.point - row.pivot, row.axis
            drives.extend(
                Drive(d.what, slice(body, body + 1), d.axis, d.value, d.constant)
                for d in row.drives
            )
            if row.piston is not None:
                free = int(np.flatnonzero(row.axis)[0])
                inv_mass[body, free] = 1.0 / row.piston.mass
                mass[body] = row.piston.mass
        laws, law_entry = self._laws(names, g.radius)
        model = Model(
            radius=g.radius,
            inv_mass=inv_mass,
            inv_inertia=inv_inertia,
            mass=mass,
            inertia=inertia,
            material=material,
            group=g.group,
            laws=laws,
            periodic=periodic,
            gravity=gravity,
            wall_kind=np.array([row.kind for row in walls.rows], np.int32),
            wall_axis=axis,
            wall_size=np.array([row.size for row in walls.rows]),
            wall_offset=offset,
            wall_names=tuple(row.name for row in walls.rows),
            remove_overlaps=self.shock == "g",
            drives=tuple(drives),
            pressures=tuple(walls.pressures(n, dim)),
            lean=_is_lean(laws, inv_mass[:n], inv_inertia[:n]),
            law_entry=law_entry,
        )
        orientation = np.zeros((n + w, 1 if dim == 2 else 4))
        if dim == 3:
            orientation[:, 3] = 1.0
        state = State(
            step=0,
            time=0.0,
            position=position,
            velocity=np.vstack([g.velocity, np.zeros((w, dim))]),
            spin=np.vstack([g.spin, np.zeros((w, ns))]),
            orientation=orientation,
            contacts=Contacts.none(dim),
        )
        locked = inv_mass[:n] == 0.0
        state.velocity[:n][locked] = 0.0
        state.spin[:n][inv_inertia[:n] == 0.0] = 0.0
        return model, state

    def _check_removals(self) -> None:
        for name, region in self.regions.items():
            if region.dim != self.dimension:
                raise InputError(
                    f"scene.regions.{name} is a region in {region.dim}D; the scene has dimension"
                    f" {self.dimension}"
                )
        titles = [removal.title for removal in self.remove]
        for k, removal in enumerate(self.remove):
            if removal.region not in self.regions:
                known = ", ".join(map(repr, self.regions)) or "none"
                raise InputError(
                    f"scene.remove[{k}] names the region {removal.region!r}; scene.regions has"
                    f" {known}"
                )
            if titles.index(removal.title) < k:
                raise InputError(
                    f"scene.remove has two entries named {removal.title!r}; give each a name of"
                    " its own"
                )

    def _periods(self) -> Floats:
        periods = np.zeros(self.dimension)
        for name, (low, high) in self.periodic.items():
            k = AXES.index(name)
            if k >= self.dimension:
                raise InputError(f"scene.periodic.{name} needs a scene of dimension 3, not 2")
            if not (math.isfinite(low) and math.isfinite(high) and high > low):
                raise InputError(
                    f"scene.periodic.{name} is [{low:g}, {high:g}]; give two numbers, low < high"
                )
            periods[k] = high - low
        return periods

    def _laws(self, names: Sequence[str], radius: Floats) -> tuple[Floats, Ints]:
        """Table of contact laws, and the number of the entry that each pair's came from."""
        laws = np.zeros((len(names), len(names), table.N_PARAMETERS))
        entry = np.zeros((len(names), len(names)), np.int32)
        reach = _COHESION_RANGE * 2.0 * float(radius.mean()) if radius.size else 0.0
        for k, law in enumerate([ContactLaw(), *self.contacts], start=-1):  # a default for all
            at = f"scene.contacts[{k}]"
            if law.torsion > 0.0 and self.dimension == 2:
                raise InputError(f"{at}.torsion is {law.torsion:g}; torsion exists only in 3D")
            row = np.zeros(table.N_PARAMETERS)
            row[table.MU_STATIC] = law.friction
            dynamic = law.friction_dynamic
            row[table.MU_DYNAMIC] = law.friction if dynamic is None else dynamic
            row[table.E_NORMAL] = law.restitution
            row[table.E_TANGENT] = law.restitution_tangential
            row[table.COHESION] = law.cohesion
            given = law.cohesion_range
            row[table.COHESION_RANGE] = reach if given is None else given
            row[table.ROLLING] = law.rolling
            row[table.TORSION] = law.torsion
            if law.between is None:
                laws[:], entry[:] = row, k
            else:
                a, b = (_material(m, names, f"{at}.between") for m in law.between)
                laws[a, b] = laws[b, a] = row
                entry[a, b] = entry[b, a] = k
        return laws, entry


# ---------------------------------------------------------------------- walls
@dataclass
class _WallRow:
    name: str
    kind: int
    point: Floats
    axis: Floats
    size: float
    material: int
    pivot: Floats
    drives: list[Drive] = field(default_factory=list)
    piston: Piston | None = None


class _Walls:
    """All walls of a scene as rows; boxes and drums become their parts."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self.dim = scene.dimension
        self.periodic = scene._periods()
        self.materials = names
        self.rows: list[_WallRow] = []
        for k, wall in enumerate(scene.walls):
            for part, at in _parts(wall, self.dim, f"scene.walls[{k}]"):
                self.rows.append(self._row(part, at, k))
        seen: set[str] = set()
        for row in self.rows:
            if row.name in seen:
                raise InputError(
                    f"scene.walls has two walls named {row.name!r}; give each a name of its own"
                )
            seen.add(row.name)

    def _row(self, wall: Plane | Segment | Cylinder, at: str, k: int) -> _WallRow:
        dim = self.dim
        size, piston = 0.0, None
        if isinstance(wall, Plane):
            kind = _KINDS["plane"]
            point = _vector(wall.point, dim, f"{at}.point")
            axis = _unit(wall.normal, dim, f"{at}.normal")
            repeated = np.flatnonzero((axis != 0.0) & (self.periodic > 0.0))
            if repeated.size:
                raise InputError(
                    f"{at} faces along {AXES[repeated[0]]}, along which the scene repeats;"
                    " leave out this wall or the period"
                )
            piston = wall.piston
        elif isinstance(wall, Segment):
            if dim == 3:
                raise InputError(f"{at} is a segment; segments exist only in 2D")
            kind = _KINDS["segment"]
            point = _vector(wall.start, dim, f"{at}.start")
            axis = _vector(wall.end, dim, f"{at}.end") - point
            if not axis.any():
                raise InputError(f"{at}.end equals start; a segment needs two different ends")
        else:
            kind = _KINDS[wall.side]
            point = _vector(wall.point, dim, f"{at}.point")
            size = wall.radius
            axis = np.zeros(dim)
            if dim == 3:
                axis = _unit([0.0, 0.0, 1.0] if wall.axis is None else wall.axis, 3, f"{at}.axis")
            elif wall.axis is not None:
                raise InputError(f"{at}.axis is given, but a circle in 2D has none; leave it out")
        pivot = point if wall.pivot is None else _vector(wall.pivot, dim, f"{at}.pivot")
        drives = [
            *_components(wall.velocity, dim, f"{at}.velocity", VELOCITY),
            *_components(_as_spin(wall.spin, dim, f"{at}.spin"), _spins(dim), f"{at}.spin", SPIN),
        ]
        if piston is not None:
            if drives:
                raise InputError(f"{at} has a piston and a prescribed motion; give one of the two")
            if np.count_nonzero(axis) != 1:
                raise InputError(
                    f"{at}.normal is {wall_text(axis)}; a piston's normal must lie along an axis"
                )
            push = int(np.flatnonzero(axis)[0])
            if piston.force is not None:
                sign, f = float(axis[push]), compile_function(piston.force)
                drives = [Drive(FORCE, slice(0), push, _scaled(f, sign), is_constant(piston.force))]
        name = wall.name or f"{wall.kind}{k}"
        material = _material(wall.material, self.materials, f"{at}.material")
        return _WallRow(name, kind, point, axis, size, material, pivot, drives, piston)

    def pressures(self, n: int, dim: int) -> Iterator[Pressure]:
        """Pressures on pistons, with the walls that span their areas."""
        index = {row.name: k for k, row in enumerate(self.rows)}
        for k, row in enumerate(self.rows):
            if row.piston is None or row.piston.pressure is None:
                continue
            at = f"piston of wall {row.name!r}"
            spans = []
            for pair in row.piston.between or []:
                for name in pair:
                    if name not in index:
                        raise InputError(
                            f"the {at} names wall {name!r} in between; walls are"
                            f" {', '.join(map(repr, index))}"
                        )
                a, b = index[pair[0]], index[pair[1]]
                normal = self.rows[a].axis
                planes = self.rows[a].kind == self.rows[b].kind == _KINDS["plane"]
                if not (
                    planes
                    and np.count_nonzero(normal) == 1
                    and np.allclose(normal, -self.rows[b].axis)
                ):
                    raise InputError(
                        f"the {at} spans {pair[0]!r} to {pair[1]!r}, which are not"
                        " planes that face each other along an axis"
                    )
                spans.append((n + a, n + b, int(np.flatnonzero(normal)[0])))
            if spans and len(spans) != dim - 1:
                raise InputError(
                    f"the {at} has {len(spans)} pair(s) in between; in {dim}D it takes {dim - 1}"
                )
            axes = [int(np.flatnonzero(row.axis)[0]), *(axis for _, _, axis in spans)]
            if spans and len(set(axes)) != dim:
                raise InputError(
                    f"the {at} is between walls along {' and '.join(AXES[k] for k in axes[1:])};"
                    " it takes a pair for each axis across its own motion"
                )
            yield Pressure(
                n + k,
                row.axis,
                compile_function(row.piston.pressure),
                row.piston.area or 0.0,
                tuple(spans),
            )


def wall_text(vector: Floats) -> str:
    """A short vector as a user would write it."""
    return "[" + ", ".join(f"{x:g}" for x in vector) + "]"


def _scaled(f: Callable[[float], float], sign: float) -> Callable[[float], float]:
    return lambda t: sign * f(t)


def _parts(wall: Any, dim: int, at: str) -> Iterator[tuple[Plane | Segment | Cylinder, str]]:
    """A box or a drum as planes and cylinders; any other wall as itself."""
    if isinstance(wall, Box):
        low, high = _vector(wall.min, dim, f"{at}.min"), _vector(wall.max, dim, f"{at}.max")
        if not (high > low).all():
            raise InputError(
                f"{at}.max is {wall_text(high)}; every component must exceed min, {wall_text(low)}"
            )
        sides = [("left", "right"), ("bottom", "top")]
        if dim == 3:
            sides.insert(1, ("front", "back"))
        known = [name for pair in sides for name in pair]
        for given in (*wall.open, *wall.pistons):
            if given not in known:
                raise InputError(f"{at} names the side {given!r}; sides are {', '.join(known)}")
        for given in wall.pistons:
            if given in wall.open:
                raise InputError(f"{at} has a piston at {given!r}, a side that is open")
        prefix = f"{wall.name}-" if wall.name else ""
        for across, pair in enumerate(sides):
            for side, point, sign in zip(pair, (low, high), (1.0, -1.0), strict=True):
                if side in wall.open:
                    continue
                normal = np.zeros(dim)
                normal[across] = sign
                yield (
                    Plane(
                        name=prefix + side,
                        material=wall.material,
                        point=point.tolist(),
                        normal=normal.tolist(),
                        piston=wall.pistons.get(side),
                    ),
                    f"{at}.{side}",
                )
    elif isinstance(wall, Drum):
        center = _vector(wall.center, dim, f"{at}.center")
        if dim == 2:
            if wall.axis is not None or wall.length is not None:
                raise InputError(f"{at} has an axis or a length; a drum in 2D is a circle")
            yield (
                Cylinder(
                    name=wall.name,
                    material=wall.material,
                    point=center.tolist(),
                    radius=wall.radius,
                    spin=wall.spin,
                ),
                at,
            )
            return
        axis = _unit(wall.axis or [0.0, 1.0, 0.0], 3, f"{at}.axis")
        f = compile_function(wall.spin)
        spin: list[Any]
        if is_constant(wall.spin):
            spin = (f(0.0) * axis).tolist()
        else:
            spin = [_scaled(f, float(a)) if a else 0.0 for a in axis]
        yield (
            Cylinder(
                name=wall.name,
                material=wall.material,
                point=center.tolist(),
                axis=axis.tolist(),
                radius=wall.radius,
                spin=spin,
            ),
            at,
        )
        if wall.length is not None:
            for side, sign in (("front", 1.0), ("back", -1.0)):
                yield (
                    Plane(
                        name=f"{wall.name}-{side}",
                        material=wall.material,
                        point=(center - 0.5 * sign * wall.length * axis).tolist(),
                        normal=(sign * axis).tolist(),
                        spin=spin if wall.ends_turn else None,
                    ),
                    f"{at}.{side}",
                )
    else:
        yield wall, at


# ---------------------------------------------------------------------- grains
def _lock(
    spec: Grains, dim: int, at: str, mine: Any, inv_mass: Floats, inv_inertia: Floats
) -> None:
    for name in spec.lock:
        if name == "rotation":
            inv_inertia[mine] = 0.0
        elif dim == 2 and name in ("z", "rx", "ry", "rz"):
            raise InputError(f"{at}.lock holds {name!r}; in 2D it takes 'x', 'y' and 'rotation'")
        elif name.startswith("r"):
            inv_inertia[mine, AXES.index(name[1])] = 0.0
        else:
            inv_mass[mine, AXES.index(name)] = 0.0


def _grain_drives(spec: Grains, dim: int, at: str, bodies: Any) -> Iterator[Drive]:
    ns = _spins(dim)
    for what, values, count, name in (
        (FORCE, spec.force, dim, "force"),
        (TORQUE, _as_spin(spec.torque, dim, f"{at}.torque"), ns, "torque"),
        (VELOCITY, spec.driven_velocity, dim, "driven_velocity"),
        (SPIN, _as_spin(spec.driven_spin, dim, f"{at}.driven_spin"), ns, "driven_spin"),
    ):
        for d in _components(values, count, f"{at}.{name}", what):
            yield Drive(d.what, bodies, d.axis, d.value, d.constant)


def _components(values: Any, count: int, at: str, what: str) -> Iterator[Drive]:
    """One drive for each component of a vector of functions of time."""
    if values is None:
        return
    if len(values) != count:
        raise InputError(f"{at} has {len(values)} component(s); this scene takes {count}")
    for axis, f in enumerate(values):
        if f != "free":
            yield Drive(what, slice(0), axis, compile_function(f), is_constant(f))


def _as_spin(value: Any, dim: int, at: str) -> list[TimeFunction] | None:
    """A spin or torque as a list: one component in 2D, three in 3D."""
    if value is None:
        return None
    if not isinstance(value, list):
        if dim == 3:
            raise InputError(f"{at} is one number; in 3D it takes three components")
        return [value]
    return value


# ---------------------------------------------------------------------- small checks
def _spins(dim: int) -> int:
    return 1 if dim == 2 else 3


def _vector(value: Sequence[float] | None, dim: int, at: str) -> Floats:
    if value is None:
        return np.zeros(dim)
    if len(value) != dim:
        raise InputError(
            f"{at} is {list(value)}, with {len(value)} component(s); a scene of dimension {dim}"
            f" takes {dim}"
        )
    vector = np.array(value, float)
    if not np.isfinite(vector).all():
        raise InputError(f"{at} is {list(value)}; every component must be a finite number")
    return vector


def _spin_vector(value: Any, dim: int, at: str) -> Floats:
    if value is None:
        return np.zeros(_spins(dim))
    components = value if isinstance(value, list) else [value]
    if len(components) != _spins(dim):
        raise InputError(
            f"{at} is {components}, with {len(components)} component(s); a scene of dimension {dim}"
            f" takes {_spins(dim)}"
        )
    return _vector(components, _spins(dim), at)


def _unit(value: Sequence[float], dim: int, at: str) -> Floats:
    vector = _vector(value, dim, at)
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        raise InputError(f"{at} is the zero vector; give a direction")
    vector = vector / largest  # so that no square leaves the range of numbers
    return vector / float(np.linalg.norm(vector))


def _material(name: str | None, names: Sequence[str], at: str) -> int:
    if name is None:
        return 0
    if name not in names:
        raise InputError(f"{at} is {name!r}; materials are {', '.join(map(repr, names))}")
    return names.index(name)


def _check_memory(count: int) -> None:
    """Refuse at once what would end in a machine that swaps for hours."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if count * _PER_GRAIN > memory:
        raise InputError(
            f"scene.grains has counts of {count} in all; this machine's memory,"
            f" {memory / 2**30:.3g} GiB, is enough for about {memory // _PER_GRAIN}"
        )


def _check_sizes(diameters: Floats) -> None:
    least, most = float(diameters.min()), float(diameters.max())
    if least < _SMALLEST or most > 1.0 / _SMALLEST:
        raise InputError(
            f"diameter is {least if least < _SMALLEST else most:g}; give a number from"
            f" {_SMALLEST:g} to {1.0 / _SMALLEST:g}, in other units if need be"
        )


def _check_periods(periodic: Floats, radius: Floats) -> None:
    """The nearest image must be the only one that can touch."""
    if radius.size == 0:
        return
    least = 4.0 * float(radius.max())
    for k, period in enumerate(periodic):
        if 0.0 < period < least:
            raise InputError(
                f"scene.periodic.{AXES[k]} spans {period:g}; with the largest diameter"
                f" {0.5 * least:g} it must span at least {least:g}"
            )


def _check_images(periodic: Floats, radius: Floats, walls: Sequence[_WallRow]) -> None:
    """No grain may touch two images of a wall, nor a wall turn across a period."""
    room = 4.0 * float(radius.max()) if radius.size else 0.0
    for k, period in enumerate(periodic):
        if period == 0.0:
            continue
        for wall in walls:
            along = abs(float(wall.axis[k]))
            if wall.kind == _KINDS["plane"]:
                turns = {drive.axis for drive in wall.drives if drive.what == SPIN}
                if turns - set(np.flatnonzero(wall.axis)) or (turns and periodic.size == 2):
                    raise InputError(
                        f"wall {wall.name!r} turns in a scene that repeats along {AXES[k]};"
                        " leave out its spin or the period"
                    )
                continue
            if wall.kind == _KINDS["segment"]:
                if along >= period and np.count_nonzero(wall.axis) == 1:
                    continue  # a straight floor without ends
                width = along + room
            else:
                width = 2.0 * wall.size * math.sqrt(max(1.0 - along**2, 0.0))
                width += room if wall.kind == _KINDS["outside"] and width > 0.0 else 0.0
            if width > period:
                raise InputError(
                    f"wall {wall.name!r} needs {width:g} along {AXES[k]}, with room for two grains"
                    f" where they can pass it, but scene.periodic.{AXES[k]} spans {period:g}"
                )


def _is_lean(laws: Floats, inv_mass: Floats, inv_inertia: Floats) -> bool:
    """Whether every contact has a diagonal W and plain laws (see `hardgrain.solve.lean`)."""
    special = (table.E_TANGENT, table.COHESION, table.ROLLING, table.TORSION)
    return bool(
        (laws[..., table.MU_STATIC] == laws[..., table.MU_DYNAMIC]).all()
        and not any(laws[..., column].any() for column in special)
        and (inv_mass == inv_mass[:, :1]).all()
        and (inv_inertia == inv_inertia[:, :1]).all()
    )
