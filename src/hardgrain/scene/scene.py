"""From the scene that a user writes to the arrays that a step works on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from hardgrain.core.brief import brief
from hardgrain.core.model import (
    SPIN,
    VELOCITY,
    Contacts,
    Drive,
    Floats,
    Ints,
    Lock,
    Model,
    State,
)
from hardgrain.errors import InputError
from hardgrain.scene._base import Finite, Flag, Name
from hardgrain.scene._checks import (
    AXES,
    material_number,
    spin_vector,
    spins,
    unturned,
    vector,
)
from hardgrain.scene.cell import CellControl, with_cell
from hardgrain.scene.contact_rule import ContactRule, LawChoice
from hardgrain.scene.elastic import deformable_grains
from hardgrain.scene.grain_rules import check_rolling, drives_of, locks_of, material_of_plate
from hardgrain.scene.laws import Laws
from hardgrain.scene.membrane import Membrane, with_membrane
from hardgrain.scene.obstacles import Obstacles
from hardgrain.scene.place import Voronoi, entrances, place
from hardgrain.scene.region import Region
from hardgrain.scene.scene_checks import (
    check_held,
    check_memory,
    check_periods,
    check_turning,
    is_lean,
    moments_of,
)
from hardgrain.scene.shape_table import shape_table
from hardgrain.scene.shaped import (
    cells_at,
    check_names,
    check_shapes,
    in_order_of,
    orientations_of,
    sizes_of,
    solids_of,
)
from hardgrain.scene.spec import ContactLaw, Grains, Material, Remove, Spec, Wall
from hardgrain.scene.wall_checks import check_holes, check_images
from hardgrain.scene.walls import WallRows

__all__ = ["GrainArrays", "Scene"]


@brief
@dataclass(frozen=True)
class GrainArrays:
    """Placed grains as arrays, which preparation makes and a run file keeps."""

    position: Floats  # (n, dim)
    radius: Floats  # (n,)
    velocity: Floats  # (n, dim)
    spin: Floats  # (n, ns)
    group: Ints  # (n,) number of the set of grains that it came from
    # (n, 1) angles or (n, 4) unit quaternions (x, y, z, w); None: not turned
    orientation: Floats | None = None
    # (n,) row of each grain in the table of the scene's shapes; None: all are round
    shape: Ints | None = None


class Scene(Spec):
    """A scene: grains, walls, materials, gravity, periods."""

    dimension: Literal[2, 3] = 2  # 2 for grains in the plane x, y; 3 for grains in space
    # acceleration of gravity, a number for each axis [length/time²]; default: none
    gravity: list[Finite] | None = None
    # axes along which the scene repeats, each with its lower and upper end [length]
    periodic: dict[Literal["x", "y", "z"], tuple[Finite, Finite]] = {}
    # how the periodic cell deforms: by rates, or under stresses; default: it does not
    cell: CellControl | None = None
    # flexible membrane around the grains, with a pressure outside; default: none
    membrane: Membrane | None = None
    # what grains and walls are made of, by name
    materials: dict[Name, Material] = Field(default_factory=lambda: {"grain": Material()})
    # contact laws; the last one for a pair of materials holds; default: friction 0.3 for all pairs
    contacts: list[ContactLaw] = []
    # function in Python that chooses laws by their name for single contacts; a file holds only what
    # it is called; default: laws go by materials
    contact_rule: ContactRule | None = None
    grains: list[Grains] = []  # sets of grains
    # walls: planes, boxes, cylinders and the like, each a table with its kind
    walls: list[Wall] = []
    # what becomes of overlaps: "g+" keeps them, "g" removes them within a step, which adds energy
    shock: Literal["g+", "g"] = "g+"
    allow_overlaps: Flag = False  # whether grains may overlap each other or walls at the start
    regions: dict[Name, Region] = {}  # regions of space, by name
    # rules that take grains out when their centre enters or leaves a region
    remove: list[Remove] = []

    # ------------------------------------------------------------------ preparation
    def place_grains(
        self, seed: int, start: GrainArrays | None = None, theirs: Sequence[int] = ()
    ) -> GrainArrays:
        """Draw sizes, positions and velocities, which are the same for the same seed.

        They follow the grains of ``start``, whose sets are ``theirs`` and are not placed. Grains
        that are yet to be inserted have a number, a size and a velocity, but no definite position.
        """
        dim, ns = self.dimension, spins(self.dimension)
        periodic = self._periods()
        rows = WallRows(self.walls, dim, periodic, list(self.materials))
        walls = Obstacles(rows.geometry(), rows.meshes())
        table = shape_table(self.grains, dim, seed, rows.any_mesh or self._deforms)
        position, radius = np.zeros((0, dim)), np.zeros(0)
        velocity, spin, group = np.zeros((0, dim)), np.zeros((0, ns)), np.zeros(0, np.int32)
        if start is not None:
            position, radius, group = start.position, start.radius, start.group
            velocity, spin = start.velocity, start.spin
        orientation = unturned(radius.size, dim)
        if start is not None and start.orientation is not None:
            orientation = start.orientation
        shape = np.zeros(radius.size, np.int32)
        if start is not None and table is not None:
            shape = table.guess(group) if start.shape is None else start.shape
        there = np.ones(radius.size, bool)
        for k, spec in enumerate(self.grains):
            if k in theirs:
                continue
            rng = np.random.default_rng([seed, k])
            at = f"scene.grains[{k}]"
            if spec.place is None:
                raise InputError(
                    f"{at}.place is missing; give a table with the kind 'grid', 'deposit', 'loose',"
                    " 'voronoi' or 'at', or take the grains from a file with [start]"
                )
            try:
                form, half = sizes_of(spec, k, table, rng, dim)
                around = None if self.allow_overlaps or spec.glued_to else walls
                if isinstance(spec.place, Voronoi) and spec.insert is None and table is not None:
                    x, r = cells_at(table, form, spec.place, periodic), half
                elif spec.insert is None:
                    taken = position[there], radius[there]
                    x, r = place(spec.place, half, rng, dim, periodic, *taken, around)
                else:
                    x, r = entrances(spec.place, half, dim), half
            except InputError as error:  # name the set of grains
                raise InputError(f"{at}.{error}") from None
            v = np.tile(vector(spec.velocity, dim, f"{at}.velocity"), (r.size, 1))
            v += rng.normal(size=v.shape) * spec.speed
            w = np.tile(spin_vector(spec.spin, dim, f"{at}.spin"), (r.size, 1))
            q = orientations_of(spec, r.size, dim, at, rng)
            if table is not None:
                form = in_order_of(r, half, form)
                q = table.turned(form, q)
            shape = np.append(shape, form)
            position, radius = np.vstack([position, x]), np.concatenate([radius, r])
            orientation = np.vstack([orientation, q])
            velocity, spin = np.vstack([velocity, v]), np.vstack([spin, w])
            group = np.concatenate([group, np.full(r.size, k, np.int32)])
            there = np.append(there, np.full(r.size, spec.insert is None))
        own = None if table is None else shape.astype(np.int32)
        return GrainArrays(position, radius, velocity, spin, group, orientation, own)

    # ------------------------------------------------------------------ the arrays of a run
    def build(self, seed: int, grains: GrainArrays | None = None) -> tuple[Model, State]:
        """The model and its first state; ``grains``, if given, replace those to be placed."""
        if not self.grains and grains is None:
            raise InputError("scene.grains is empty; a scene needs at least one grain")
        dim, ns = self.dimension, spins(self.dimension)
        gravity = vector(self.gravity, dim, "scene.gravity")
        periodic = self._periods()
        if not self.materials:
            raise InputError("scene.materials is empty; give at least one material")
        self._check_removals()
        names = list(self.materials)
        if grains is None:
            check_memory(sum(spec.count or 0 for spec in self.grains))
        g = self.place_grains(seed) if grains is None else grains
        walls = WallRows(self.walls, dim, periodic, names)
        n, w = g.radius.size, len(walls.rows)
        solids = solids_of(self.grains, dim, seed, g, walls.any_mesh or self._deforms)
        check_held(self.walls, gravity)
        check_periods(periodic, g.radius)
        check_images(periodic, g.radius, walls.rows)
        check_holes(g.radius, walls.rows)
        check_shapes(self.grains, g.radius, g.group, walls.rows)
        check_names(solids, walls.rows)

        material = np.zeros(n + w, np.int32)
        inv_mass, inv_inertia = np.zeros((n + w, dim)), np.zeros((n + w, ns))
        mass, inertia, moments = np.zeros(n + w), np.zeros(n + w), np.zeros((n + w, ns))
        carrier = np.arange(n + w, dtype=np.int32)
        drives: list[Drive] = []
        locks: list[Lock] = []
        for k, spec in enumerate(self.grains):
            at = f"scene.grains[{k}]"
            mine = np.flatnonzero(g.group == k)
            m = material_number(spec.material, names, f"{at}.material")
            if spec.glued_to is not None:
                plate = walls.carrier(spec.glued_to, at)
                m = material_of_plate(spec, at, names, walls.rows[plate].material)
                carrier[mine] = n + plate
            r = g.radius[mine]
            density = self.materials[names[m]].density
            material[mine] = m
            with np.errstate(all="ignore"):
                mass[mine] = density * (np.pi * r**2 if dim == 2 else 4 / 3 * np.pi * r**3)
                moments[mine] = np.outer(mass[mine] * r**2, moments_of(spec, dim, at))
                if spec.shaped:
                    form, unit = solids.shape[mine], solids.size[mine]
                    mass[mine] = density * solids.volume[form] * unit**dim
                    moments[mine] = (mass[mine] * unit**2)[:, None] * solids.moments[form, -ns:]
                inertia[mine] = moments[mine].mean(axis=1)
                inv_mass[mine] = 1.0 / mass[mine, None]
                inv_inertia[mine] = 1.0 / inertia[mine, None]
            if not all(np.isfinite(a[mine]).all() for a in (mass, inertia, inv_mass, inv_inertia)):
                raise InputError(
                    f"{at}.diameter is {2 * r.min():g} to {2 * r.max():g} with the density"
                    f" {density:g}, which gives masses or moments of inertia beyond the range of"
                    " numbers; use other units"
                )
            bodies: slice | np.ndarray = mine
            if mine.size and mine[-1] - mine[0] + 1 == mine.size:
                bodies = slice(int(mine[0]), int(mine[-1]) + 1)
            locks.extend(locks_of(spec, dim, at, bodies, inv_mass, inv_inertia))
            for drive in drives_of(spec, dim, at, bodies):
                drives.append(drive)
                if drive.what == VELOCITY:
                    inv_mass[mine, drive.axis] = 0.0
                elif drive.what == SPIN:
                    inv_inertia[mine, drive.axis] = 0.0
            if (moments[mine] != moments[mine, :1]).any():
                check_turning(spec, inv_inertia[mine], at)

        position = np.vstack([g.position, np.zeros((w, dim))])
        kind, point, axis, size, side = walls.geometry()
        offset = np.zeros((w, dim))
        for k, row in enumerate(walls.rows):
            body = n + k
            material[body] = row.material
            position[body] = row.pivot
            offset[k] = point[k] - row.pivot
            drives.extend(replace(drive, bodies=slice(body, body + 1)) for drive in row.drives)
            locks.extend(replace(lock, bodies=slice(body, body + 1)) for lock in row.locks)
            mass[body] = row.mass or (float(mass[:n].sum()) if row.free else 0.0)
            if row.glued_to is not None:
                carrier[body] = n + walls.carrier(row.glued_to, row.at)
        laws = Laws.of(self.contacts, names, g.radius, dim)
        glued = np.flatnonzero(carrier != np.arange(n + w))
        inv_mass[glued], inv_inertia[glued] = 0.0, 0.0
        np.add.at(mass, carrier[glued[glued < n]], mass[glued[glued < n]])
        for k, row in enumerate(walls.rows):  # a body weighs as much as all that is glued to it
            inv_mass[n + k, row.free] = 1.0 / mass[n + k] if row.free else 0.0
        if glued.size:
            check_rolling(laws.table, laws.entries, "where anything is glued to a wall")
        if solids.shape.size:
            where = "a wall is a mesh" if walls.any_mesh else "grains have a shape"
            check_rolling(laws.table, laws.entries, f"where {where}")
        balls = bool((moments == moments[:, :1]).all())
        lean = (
            balls
            and not solids.shape.size
            and is_lean(laws.table, inv_mass[:n], inv_inertia[:n])
            and not any(
                row.free and (not row.slides or row.turns or n + k in carrier[glued])
                for k, row in enumerate(walls.rows)
            )
        )
        model = Model(
            radius=g.radius,
            inv_mass=inv_mass,
            inv_inertia=inv_inertia,
            mass=mass,
            inertia=inertia,
            moments=moments[: 0 if balls else n + w] if dim == 3 else np.zeros((0, 3)),
            solids=solids,
            elastic=deformable_grains(self.grains, dim, solids, g.radius, g.group, mass[:n]),
            meshes=walls.meshes(),
            material=material,
            group=g.group,
            laws=laws.pairs,
            periodic=periodic,
            gravity=gravity,
            wall_kind=kind,
            wall_axis=axis,
            wall_size=size,
            wall_side=side,
            wall_offset=offset,
            wall_names=tuple(row.name for row in walls.rows),
            remove_overlaps=self.shock == "g",
            carrier=carrier,
            locks=tuple(locks),
            drives=tuple(drives),
            pressures=tuple(walls.pressures(n, dim)),
            lean=lean and not locks,
            law_entry=laws.entry,
            named_laws=laws.named,
            rule=LawChoice.of(self.contact_rule, laws.row),
        )
        orientation = unturned(n + w, dim)
        if g.orientation is not None:
            orientation[:n] = g.orientation
        state = State(
            step=0,
            time=0.0,
            position=position,
            velocity=np.vstack([g.velocity, np.zeros((w, dim))]),
            spin=np.vstack([g.spin, np.zeros((w, ns))]),
            orientation=orientation,
            contacts=Contacts.none(dim),
            deformation=None if model.elastic is None else model.elastic.undeformed(),
        )
        if self.membrane is not None:
            model = with_membrane(self.membrane, model)
        locked = inv_mass[:n] == 0.0
        state.velocity[:n][locked] = 0.0
        state.spin[:n][inv_inertia[:n] == 0.0] = 0.0
        if self.cell is not None:
            if self.remove or any(spec.insert is not None for spec in self.grains):
                raise InputError(
                    "scene.cell is given, and grains come or go (insert, scene.remove); a cell that"
                    " deforms keeps its grains"
                )
            return with_cell(self.cell, model, state)
        return model, state

    @property
    def _deforms(self) -> bool:
        """Whether grains deform, so that even round ones touch in several points."""
        return any(spec.elastic is not None for spec in self.grains)

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
