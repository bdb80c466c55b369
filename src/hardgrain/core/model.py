"""What does not change during a run (`Model`), and what does (`State`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.brief import brief
from hardgrain.core.cell import PLACES, Cell
from hardgrain.core.contact_rows import ContactRows, contact_key
from hardgrain.core.deformation import Deformable, Deformation
from hardgrain.core.drives import (
    FORCE,
    SPIN,
    TORQUE,
    VELOCITY,
    Drive,
    Lock,
    Membrane,
    Pressure,
    Stress,
)
from hardgrain.core.lawtable import N_PARAMETERS
from hardgrain.core.meshes import NO_MESHES, Meshes
from hardgrain.core.solids import ROUND_GRAINS, Solids
from hardgrain.core.wall_kinds import CELL

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.integer[Any]]  # of arrays

__all__ = [
    "FORCE", "SPIN", "TORQUE", "VELOCITY", "ContactRows", "Contacts", "Drive", "Floats", "Ints",
    "Lock", "Model", "Pressure", "Rows", "State", "Stress", "contact_key", "some_bodies",
]  # fmt: skip

MOVING = "position", "velocity", "spin", "orientation", "collided"  # a row for each body


@brief
@dataclass(frozen=True)
class Model:
    """Bodies, walls and laws as flat arrays. Bodies 0 … n−1 are grains, the rest walls.

    A body that cannot move along an axis has a zero inverse mass there: fixed and driven walls,
    pistons, chains and free grains are one thing.
    """

    radius: Floats  # (n,) of the smallest ball about a grain's centre that holds it [length]
    inv_mass: Floats  # (nb, dim) [1/mass]
    inv_inertia: Floats  # (nb, ns) [1/(mass length²)]
    mass: Floats  # (nb,) true mass, also of locked or driven grains; 0 for walls without
    inertia: Floats  # (nb,) moment of inertia of a grain, the mean one where they are unequal
    material: Ints  # (nb,)
    group: Ints  # (n,) number of the grain set a grain came from
    laws: Floats  # (materials, materials, N_PARAMETERS) the laws of pairs of materials
    periodic: Floats  # (dim,) period, 0: open [length]
    gravity: Floats  # (dim,) [acceleration]
    wall_kind: Ints  # (w,) see hardgrain.core.wall_kinds
    wall_axis: Floats  # (w, dim) normal, end − start or axis, at orientation zero
    wall_size: Floats  # (w,) radius of a cylinder or of a hole [length]
    wall_offset: Floats  # (w, dim) from the point a wall turns about to its geometric point
    wall_side: Floats  # (w, dim) second side of a flat wall, at orientation zero
    carrier: Ints  # (nb,) the body that carries each: itself, or the wall that it is glued to
    wall_names: tuple[str, ...]
    locks: tuple[Lock, ...] = ()
    remove_overlaps: bool = False
    drives: tuple[Drive, ...] = ()
    pressures: tuple[Pressure, ...] = ()
    membrane: Membrane | None = None
    stresses: tuple[Stress, ...] = ()  # on the cell, where it deforms
    # (wall, wall, axis) between which it lies along each axis that is not periodic
    cell_walls: tuple[tuple[int, int, int], ...] = ()
    lean: bool = field(default=False)
    # (nb, 3) principal moments of inertia about the axes that `State.orientation` turns, zero for
    # walls; (0, 3) where all grains are balls, whose three moments are equal
    moments: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    # shapes of grains; empty where all are disks or balls and no wall is a mesh
    solids: Solids = ROUND_GRAINS
    meshes: Meshes = NO_MESHES  # walls that are meshes
    elastic: Deformable | None = None  # grains that deform; None: all are rigid
    # (materials, materials) which of scene.contacts holds for a pair, −1: the default
    law_entry: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    # (n,) number that a grain keeps throughout a run, whatever its row; the rows, unless given
    id: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    everyone: int = 0  # grains that a run ever has
    # (k, N_PARAMETERS) laws that no pair of materials has, for `rule` to choose from
    named_laws: Floats = field(default_factory=lambda: np.zeros((0, N_PARAMETERS)))
    # gives contacts (m,) their rows of `law_table`, from those by material; None: keep these
    rule: Callable[[Model, Floats, Contacts, Ints], Ints] | None = None

    def __post_init__(self) -> None:
        if not self.everyone:
            object.__setattr__(self, "everyone", self.radius.size)
            object.__setattr__(self, "id", np.arange(self.radius.size, dtype=np.int32))

    def at(self, time: float) -> Model:
        """The model as its locks make it at a time."""
        if not self.locks:
            return self
        inverse = {VELOCITY: self.inv_mass.copy(), SPIN: self.inv_inertia.copy()}
        for lock in self.locks:
            if lock.value(time) > 0.0:
                inverse[lock.what][lock.bodies, lock.axis] = 0.0
        return replace(self, inv_mass=inverse[VELOCITY], inv_inertia=inverse[SPIN])

    @cached_property
    def law_table(self) -> Floats:
        """Laws by the row that a contact names, shape (rows, N_PARAMETERS).

        The first rows are those of pairs of materials: that of a ≤ b is a × materials + b. Those
        that have a name follow.
        """
        return np.concatenate([self.laws.reshape(-1, self.laws.shape[-1]), self.named_laws])

    @property
    def dim(self) -> int:
        return int(self.inv_mass.shape[1])

    @property
    def n(self) -> int:
        """Number of grains."""
        return self.radius.size

    @property
    def round(self) -> bool:
        """Whether all grains are disks or balls that touch no mesh, and have no row of shapes."""
        return not self.solids.shape.size

    @property
    def shape(self) -> Ints:
        """(n,) row of each grain's shape in the table of its scene, (0,) where all are round."""
        return self.solids.shape

    @cached_property
    def volume(self) -> Floats:
        """(n,) area in 2D, volume in 3D, of each grain [length^dim]."""
        if self.round:
            return (np.pi if self.dim == 2 else 4.0 / 3.0 * np.pi) * self.radius**self.dim
        own: Floats = self.solids.volume[self.solids.shape] * self.solids.size**self.dim
        return own

    @cached_property
    def width(self) -> Floats:
        """(n,) least distance of two parallel lines or planes around each grain [length]."""
        if self.round:
            return 2.0 * self.radius
        own: Floats = self.solids.width[self.solids.shape] * self.solids.size
        return own

    @cached_property
    def cell(self) -> int:
        """The body that is the cell, the last one, if it deforms; −1: it does not."""
        return self.bodies - 1 if CELL in self.wall_kind[-1:] else -1

    def cell_in(self, state: State) -> Cell:
        """The periodic cell as it is in a state, with tilts of at most half a period."""
        return Cell(state.cell).reduced() if state.cell.size else Cell.straight(self.periodic)

    def gradient_in(self, state: State) -> Floats:
        """Velocity gradient of the cell, shape (dim, dim), zero if it does not deform."""
        return self.gradient_of(state.velocity, state.spin)

    def gradient_of(self, velocity: Floats, spin: Floats) -> Floats:
        """The same, from velocities (nb, dim) and spins (nb, ns) of all bodies."""
        gradient = np.zeros((self.dim, self.dim))
        if self.cell >= 0:
            own = np.concatenate([velocity[self.cell], spin[self.cell]])
            for (a, b), rate in zip(PLACES[self.dim], own):
                gradient[a, b] = rate
        return gradient

    def body_name(self, i: int) -> str:
        """A body in words."""
        return f"grain {self.id[i]}" if i < self.n else f"wall {self.wall_names[i - self.n]!r}"

    @property
    def bodies(self) -> int:
        """Number of bodies, walls included."""
        return int(self.inv_mass.shape[0])

    @property
    def number(self) -> Ints:
        """(nb,) of all bodies throughout a run: of grains their id, walls after all grains."""
        walls = np.arange(self.bodies - self.n, dtype=np.int32)
        return np.concatenate([self.id, self.everyone + walls])

    def only(self, grains: Rows) -> Model:
        """The same scene with some of its grains, by their rows in any order, and all walls."""
        if _all_in_order(grains, self.n):
            return self
        rows, renumber = some_bodies(grains, self.n, self.bodies)
        bodies = ("inv_mass", "inv_inertia", "mass", "inertia", "material")
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in bodies}
        if len(self.moments):
            arrays["moments"] = self.moments[rows]
        arrays |= {name: getattr(self, name)[grains] for name in ("radius", "group", "id")}
        if not self.round:
            own = self.solids
            arrays["solids"] = own._replace(shape=own.shape[grains], size=own.size[grains])
        if self.elastic is not None:
            arrays["elastic"] = self.elastic.only(grains)
        pressures = []

        def there(one: Any) -> Any:
            moved = renumber[one.bodies]
            return replace(one, bodies=moved[moved >= 0])

        for p in self.pressures:
            spans = tuple((int(renumber[a]), int(renumber[b]), k) for a, b, k in p.between)
            pressures.append(replace(p, body=int(renumber[p.body]), between=spans))
        return replace(
            self,
            **arrays,
            carrier=renumber[self.carrier[rows]],
            drives=tuple(map(there, self.drives)),
            locks=tuple(map(there, self.locks)),
            pressures=tuple(pressures),
        )


def _all_in_order(grains: Rows, n: int) -> bool:
    """Whether these rows are those of all n grains, as they are."""
    return grains.size == n and bool((grains == np.arange(n)).all())


def some_bodies(grains: Rows, n: int, bodies: int) -> tuple[Rows, Ints]:
    """Rows of some of n grains and of all walls; and the new number of each body, −1: left out."""
    rows = np.concatenate([grains, np.arange(n, bodies)]).astype(np.int64)
    renumber = np.full(bodies, -1, np.int32)
    renumber[rows] = np.arange(rows.size, dtype=np.int32)
    return rows, renumber


@brief
@dataclass
class Contacts:
    """Contact points of one step, one in each row, sorted by (first, second, feature).

    The narrow phase (`hardgrain.contact.rows`) writes all that depends on the shapes of the two
    bodies; whoever reads a row needs neither shapes nor materials. ``impulse``, ``torque`` and
    ``spring`` are what a contact remembers from step to step, under the name of its two bodies and
    its feature. Contacts from a file come without what the narrow phase writes: `known` says so.
    """

    first: Ints  # (m,) a grain
    second: Ints  # (m,) a grain with a larger number, or a wall
    normal: Floats  # (m, dim) from first to second
    gap: Floats  # (m,) [length] before the step's motion
    impulse: Floats  # (m, dim) on second, during the step [mass × speed]
    torque: Floats  # (m, ns) rolling and torsion impulse on second
    # (m, dim) tangential elongation of soft contacts [length], (m, 0) where contacts have none
    spring: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # (m,) which of the contact points of its two bodies it is
    feature: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    # (m, dim) from the first body's centre to the contact [length]
    arm_first: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # (m, dim) from the second body's centre, or from the point that a wall turns about [length]
    arm_second: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # (m,) diameter of the smaller grain, by which overlaps and paths are measured [length]
    width: Floats = field(default_factory=lambda: np.zeros(0))
    # (m,) effective radius of the two surfaces, the lever of rolling and torsion [length]
    roll: Floats = field(default_factory=lambda: np.zeros(0))
    # (m,) row of `Model.law_table`
    law: Ints = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        m = len(self.first)
        vectors = dict.fromkeys(("spring", "arm_first", "arm_second"), (m, 0))
        numbers = dict.fromkeys(("width", "roll", "feature", "law"), (m,))
        for name, shape in (vectors | numbers).items():
            given = getattr(self, name)
            if len(given) != m:
                setattr(self, name, np.zeros(shape, given.dtype))

    @classmethod
    def none(cls, dim: int) -> Contacts:
        """No contacts at all."""
        index, vectors, ns = np.zeros(0, np.int32), np.zeros((0, dim)), 1 if dim == 2 else 3
        found = cls(index, index, vectors, np.zeros(0), vectors, np.zeros((0, ns)))
        found.arm_first = found.arm_second = vectors
        return found

    def __len__(self) -> int:
        return self.first.size

    @property
    def known(self) -> bool:
        """Whether arms, widths and laws are there."""
        return self.arm_first.shape == self.normal.shape and bool(self.width.all())

    @property
    def rows(self) -> ContactRows:
        """The columns that compiled functions read."""
        return ContactRows(*(getattr(self, name) for name in ContactRows._fields))

    def key(self, bodies: int) -> NDArray[np.int64]:
        """One number for each contact, increasing: its identity, shape (m,)."""
        return contact_key(self.first, self.second, self.feature, bodies)

    @property
    def in_order(self) -> bool:
        """Whether the contacts are sorted by (first, second, feature), each there once."""
        later = np.diff(self.feature) > 0
        for name in ("second", "first"):
            step = np.diff(getattr(self, name))
            later = (step > 0) | ((step == 0) & later)
        return bool(later.all())

    def chosen(self, which: Rows | NDArray[np.bool_]) -> Contacts:
        """Some of the contacts, by their rows or by a mask."""
        return Contacts(**{name: getattr(self, name)[which] for name in self.__dataclass_fields__})

    def among(self, renumber: Ints) -> Contacts:
        """Those of the bodies that have a new number, which it gives them; −1: left out."""
        kept = self.chosen((renumber[self.first] >= 0) & (renumber[self.second] >= 0))
        seen, _ = kept.seen_by(renumber)
        return replace(seen, first=renumber[seen.first], second=renumber[seen.second])

    def seen_by(self, number: Ints) -> tuple[Contacts, Rows]:
        """The contacts as they are where bodies have other numbers, and which rows they were.

        Each is seen from the body with the smaller number, and they are in the order of these
        numbers (nb,). The bodies keep those that they have.
        """
        turned = number[self.first] > number[self.second]
        first, second = np.where(turned, [self.second, self.first], [self.first, self.second])
        rows = np.lexsort((self.feature, number[second], number[first]))
        seen = replace(self, first=first, second=second).chosen(rows)
        if turned.any():
            side = turned[rows, None]
            for name in ("normal", "impulse", "torque", "spring"):
                there = getattr(seen, name)
                setattr(seen, name, np.where(side, -there, there))
            arms = seen.arm_first, seen.arm_second
            seen.arm_first, seen.arm_second = np.where(side, arms[::-1], arms)
        return seen, rows

    def normal_impulse(self) -> Floats:
        """P_n of every contact, shape (m,)."""
        p_n: Floats = np.einsum("ka,ka->k", self.impulse, self.normal)
        return p_n


@brief
@dataclass
class State:
    """Where all bodies are and how they move; with the contacts, all that a step needs."""

    step: int
    time: float
    # (nb, dim) unwrapped where periodic; a wall's is the point it turns about, that of a cell which
    # deforms its strain
    position: Floats
    velocity: Floats  # (nb, dim), where the cell deforms relative to its affine motion
    spin: Floats  # (nb, ns)
    orientation: Floats  # (nb, 1) angle, or (nb, 4) unit quaternion (x, y, z, w)
    contacts: Contacts
    # (dim (dim + 1) / 2,) numbers of the periodic cell where it deforms, with all of the tilt since
    # the beginning (`core.cell`, `Model.cell_in`); empty where it stays as the model says
    cell: Floats = field(default_factory=lambda: np.zeros(0))
    # (nb, 1) when each grain last collided, where an engine must know it; else (nb, 0)
    collided: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    deformation: Deformation | None = None  # of grains that deform; None: all are rigid

    def __post_init__(self) -> None:
        if len(self.collided) != len(self.position):
            self.collided = np.zeros((len(self.position), 0))

    def only(self, grains: Rows, n: int) -> State:
        """The state of some of its n grains, by their rows in any order, and of all walls."""
        if _all_in_order(grains, n):
            return self
        rows, renumber = some_bodies(grains, n, len(self.position))
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in MOVING}
        if self.deformation is not None:
            arrays["deformation"] = self.deformation.only(grains)
        return replace(self, **arrays, contacts=self.contacts.among(renumber))

    def make_plain(self) -> None:
        """Let all arrays be contiguous and writable, as compiled functions expect them."""
        for holder in (self, self.contacts):
            for name, a in vars(holder).items():
                if isinstance(a, np.ndarray) and not (a.flags.c_contiguous and a.flags.writeable):
                    setattr(holder, name, np.array(a, order="C"))

    def copy(self) -> State:
        """A state that shares no array with this one."""
        c = self.contacts
        own = Contacts(**{name: getattr(c, name).copy() for name in c.__dataclass_fields__})
        arrays = {name: getattr(self, name).copy() for name in MOVING}
        return replace(self, **arrays, contacts=own, cell=self.cell.copy())
