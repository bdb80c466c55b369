"""A packing as plain arrays, from a run or from anywhere else, and its contact matrix.

The forces f that contacts exert on the bodies are linear in the contact forces, f = c F: (1) of
McNamara and Herrmann. F holds for each contact its normal force R and its tangential one T (two
components in 3D), f the forces and torques on whatever can move: grains with three degrees of
freedom in 2D and six in 3D, pistons with one, locked grains with fewer. What cannot move is left
out, as the paper leaves out its walls. A packing at rest has c F + (external forces) = 0.

Where the periodic cell deforms, it is the last body (`hardgrain.point.cell`). Each component ab of
its strain that is free has an equation too, in which the forces F of all contacts between grains
bear the stress that is put on it: Σ F_a l_b = V σ_ab, with lines l from centre to centre.
Components that are prescribed have none, as nothing is known of their stress.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardgrain.contact.arms import torque
from hardgrain.core import lawtable
from hardgrain.core.cell import PLACES
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.errors import InputError
from hardgrain.measure.resultants import NEAR, contact_of_point
from hardgrain.measure.snapshot import Simulated, Source, snapshot
from hardgrain.step.cell_loads import CellLoads
from hardgrain.step.glue import carried
from hardgrain.step.loads import Loads

__all__ = ["Packing", "packing"]

# Torque of a unit force, relative to its arm, that is rounding. More: grains that are all but round
# would be taken for round; less: round ones for others, with wrong ranks.
ROUNDING = 1e-14

# [radius] A contact that lies further from where that of a round grain would be is one of another
# shape. Less: rounding makes grains shaped, which then take slower ways; more: it gives shaped ones
# the arms of round ones.
ROUND = 1e-6


@dataclass(frozen=True, eq=False)
class Packing:
    """Bodies, the contact points between them, and the forces that were found there."""

    # (n,) of the grains, bodies 0 … n − 1, or of balls around them [length]; the others are walls
    radius: Floats
    free: NDArray[np.bool_]  # (nb, dim + ns) whether a body can move or rotate
    first: NDArray[np.intp]  # (m,) the first body, a grain
    second: NDArray[np.intp]  # (m,) the second body
    normal: Floats  # (m, dim) unit vector from first to second
    friction: Floats  # (m,) coefficient of friction of a contact that sticks
    force: Floats  # (m, dim) force on the second body [force]
    # unit of force: the mean weight of a grain or, without gravity, the mean normal force
    unit: float
    external: Floats | None = None  # (nb, dim + ns) other forces and torques; NaN where not known
    position: Floats | None = None  # (nb, dim) positions, needed only to draw it [length]
    # (m, dim) from the centres of both bodies to the contact; None: at the surfaces of round grains
    arm_first: Floats = None  # type: ignore[assignment]
    arm_second: Floats = None  # type: ignore[assignment]
    # (m, dim) from the first to the second centre, zero where that is no grain's; None: the
    # periodic cell does not deform, and is not the last body
    branch: Floats | None = None

    def __post_init__(self) -> None:
        m, dim = self.normal.shape
        n, bodies = self.radius.size, self.free.shape[0]
        if not self.force.shape == (m, dim) or not (
            self.first.shape == self.second.shape == self.friction.shape == (m,)
        ):
            raise InputError(f"a packing with {m} normals needs as many contacts and forces")
        if dim not in (2, 3) or self.free.shape != (bodies, 3 * dim - 3):
            raise InputError("a packing needs 3 degrees of freedom for each body in 2D, 6 in 3D")
        if not (np.abs(np.linalg.norm(self.normal, axis=1) - 1.0) < 1e-6).all():
            raise InputError("normals of a packing must be unit vectors")
        if m and not (self.first.min() >= 0 and self.first.max() < n):
            raise InputError(f"the first body of each contact must be one of the {n} grains")
        if m and not (self.second.min() >= 0 and self.second.max() < bodies):
            raise InputError(f"the second body of each contact must be one of the {bodies} bodies")
        if not ((self.friction >= 0.0) & (self.friction < np.inf)).all():
            raise InputError("coefficients of friction must be numbers from 0")
        if not (np.isfinite(self.force).all() and self.unit > 0.0 and (self.radius > 0.0).all()):
            raise InputError("forces must be finite; radii and the unit of force positive")
        if self.arm_first is None or self.arm_second is None:
            r = np.append(self.radius, np.zeros(bodies - n))
            arms = r[self.first, None] * self.normal, -r[self.second, None] * self.normal
            for name, arm in zip(("arm_first", "arm_second"), arms):
                object.__setattr__(self, name, arm)
        if not (len(self.arm_first) == len(self.arm_second) == m):
            raise InputError(f"a packing with {m} normals needs as many arms, or none")
        if self.branch is not None and self.branch.shape != (m, dim):
            raise InputError(f"a packing with {m} normals needs as many branches, or none")

    @property
    def dim(self) -> int:
        return int(self.normal.shape[1])

    @property
    def contacts(self) -> int:
        """The number M of contacts."""
        return self.first.size

    @cached_property
    def tangents(self) -> Floats:
        """Unit vectors (m, dim − 1, dim) across each normal; in 2D n × z, as (10) of the paper."""
        n = self.normal
        if self.dim == 2:
            return np.stack([n[:, 1], -n[:, 0]], axis=1)[:, None, :]
        helper = np.eye(3)[np.abs(n).argmin(axis=1)]
        one = np.cross(n, helper)
        one /= np.linalg.norm(one, axis=1)[:, None]
        return np.stack([one, np.cross(n, one)], axis=1)

    @cached_property
    def contact(self) -> NDArray[np.intp]:
        """Which contact of two bodies each point belongs to (m,): a face has several points."""
        return contact_of_point(self.first, self.second, self.normal)

    @property
    def pairs(self) -> int:
        """The number of contacts of two bodies, each of one point or more."""
        return int(self.contact[-1]) + 1 if self.contacts else 0

    @cached_property
    def round(self) -> bool:
        """Whether all points lie where round grains have them."""
        r = np.append(self.radius, np.zeros(self.free.shape[0] - self.radius.size))
        grain = self.second < self.radius.size
        apart = np.abs(self.arm_first - r[self.first, None] * self.normal).max(axis=1)
        other = np.abs(self.arm_second + r[self.second, None] * self.normal).max(axis=1)
        near = (apart < ROUND * r[self.first]) & (~grain | (other < ROUND * r[self.second]))
        return self.pairs == self.contacts and bool(near.all())

    @cached_property
    def frame(self) -> Floats:
        """Normal and tangents of each contact (m, dim, dim), one in each row."""
        return np.concatenate([self.normal[:, None, :], self.tangents], axis=1)

    @cached_property
    def components(self) -> Floats:
        """The forces found, R first and then T, of each contact (m, dim)."""
        components: Floats = np.einsum("kea,ka->ke", self.frame, self.force)
        return components

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The degrees of freedom that have an equation, of (nb, dim + ns) flattened.

        They are those that are free and on which some contact acts: a grain that touches nothing
        has none.
        """
        touched = np.zeros(self.free.shape[0], dtype=bool)
        touched[self.first] = touched[self.second] = True
        if self.branch is not None:
            touched[-1] = self.branch.any()
        return np.flatnonzero(self.free & touched[:, None])

    @property
    def of_bodies(self) -> int:
        """How many of these equations are not those of the cell, which are the last ones."""
        bodies, dofs = self.free.shape
        end = bodies if self.branch is None else bodies - 1
        return int(np.searchsorted(self.rows, end * dofs))

    @cached_property
    def grains(self) -> int:
        """The number N of grains that have contacts."""
        n = self.radius.size
        both = np.concatenate([self.first, self.second])
        return int(np.unique(both[both < n]).size)

    def chosen(self, which: NDArray[Any]) -> Packing:
        """The same bodies with some of the contacts, by rows or by a mask."""
        contacts = ["first", "second", "normal", "friction", "force", "arm_first", "arm_second"]
        contacts += [] if self.branch is None else ["branch"]
        return replace(self, **{name: getattr(self, name)[which] for name in contacts})

    @cached_property
    def matrix(self) -> csr_array:
        """The contact matrix c (rows, dim m), from components of contact forces to forces on what
        is free."""
        m, dim = self.contacts, self.dim
        dofs = self.free.shape[1]
        column = np.arange(dim * m).reshape(m, dim)
        parts: list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]] = []
        for body, arm, sign in (
            (self.first, self.arm_first, -1.0),
            (self.second, self.arm_second, 1.0),
        ):
            for e in range(dim):  # each component acts along its axis
                axis = sign * self.frame[:, e]
                for a in range(dim):
                    parts.append((body * dofs + a, column[:, e], axis[:, a]))
            for e in range(dim):
                twist = sign * torque(arm, self.frame[:, e])
                # an arm along the normal turns nothing, which rounding must not hide from a rank
                twist[np.abs(twist) <= ROUNDING * np.linalg.norm(arm, axis=1)[:, None]] = 0.0
                for a in range(dofs - dim):
                    parts.append((body * dofs + dim + a, column[:, e], twist[:, a]))
        if self.branch is not None:
            last = np.full(m, (self.free.shape[0] - 1) * dofs)
            for k, (a, b) in enumerate(PLACES[dim]):
                for e in range(dim):
                    parts.append((last + k, column[:, e], self.frame[:, e, a] * self.branch[:, b]))
        row, col, value = (np.concatenate(p) for p in zip(*parts))
        whole = csr_array((value, (row, col)), shape=(self.free.size, dim * m))
        matrix: csr_array = whole[self.rows]
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def arms(self) -> Floats:
        """A length for an equation of torques, 1 for one of forces (rows,): all become forces.

        That of the cell's component ab is Σ |l_b|, which makes the mean force of a contact that
        crosses a face of the cell of it.
        """
        arms = np.ones(self.free.shape)
        arms[: self.radius.size, self.dim :] = self.radius[:, None]
        if self.branch is not None:
            across = np.abs(self.branch).sum(axis=0)
            arms[-1] = [across[b] or 1.0 for _, b in PLACES[self.dim]]
        arms_of_rows: Floats = arms.ravel()[self.rows]
        return arms_of_rows

    @cached_property
    def load(self) -> Floats:
        """The forces c F that the contact forces found exert on the bodies, shape (rows,)."""
        load: Floats = self.matrix @ self.components.ravel()
        return load

    @cached_property
    def residual(self) -> float:
        """The largest unbalanced force, in units of ``unit``; NaN if it is not known."""
        if self.external is None:
            return float("nan")
        out = (self.load + self.external.ravel()[self.rows]) / self.arms
        known = np.abs(out)[np.isfinite(out)]
        return float(known.max() / self.unit) if known.size else float("nan")


def packing(source: Source | Packing, step: int = -1) -> Packing:
    """The packing of a simulation at present, or of a frame of a run file."""
    if isinstance(source, Packing):
        return source
    if isinstance(source, State):
        raise InputError("a State knows no radii and no laws; give its Simulation")
    if isinstance(source, Simulated) and step != -1:
        raise InputError(f"step is {step}, but a simulation has its present state only")
    snap = snapshot(source, step)
    if snap.engine == "event-driven":
        raise InputError(
            "engine.kind is 'event-driven'; grains that fly and collide are no packing whose"
            " forces balance"
        )
    state = snap.state
    try:  # loads are those at the middle of the step whose impulses the contacts hold
        before = replace(state, step=max(state.step - 1, 0))
        loads = (CellLoads if snap.whole.cell >= 0 else Loads)(snap.whole, snap.dt)
        external = np.hstack(loads.at(before))
        model = snap.whole.at((before.step + 0.5) * snap.dt)  # what its locks leave free
    except InputError:  # they were Python functions
        external, model = np.full((snap.model.bodies, 3 * snap.dim - 3), np.nan), snap.model
    contacts = carried(model, state.position, snap.candidates)
    return _packing(model, contacts, state.position, snap.dt, external)


def _packing(model: Model, c: Contacts, position: Floats, dt: float, external: Floats) -> Packing:
    """Contacts are those that bear a force, and those that touch without.

    A face touches in all its points, though rounding and what a solver leaves open lift some of
    them by a trifle: without them the centre of its force could not go where it may.
    """
    laws = model.law_table[c.law]
    for column, name in (
        (lawtable.COHESION, "cohesion"),
        (lawtable.ROLLING, "rolling resistance"),
        (lawtable.TORSION, "torsional resistance"),
    ):
        if laws[:, column].any():
            raise InputError(
                f"the packing has {name}; which forces are possible is known for Coulomb's law only"
            )
    n = model.n
    near = 0.0 if model.round else NEAR * c.width
    keep = (c.normal_impulse() > 0.0) | (c.gap <= near)
    force, normal = c.impulse[keep] / dt, c.normal[keep]
    weight = float(model.mass[:n].mean() * np.linalg.norm(model.gravity)) if n else 0.0
    mean = float(np.einsum("ka,ka->k", force, normal).mean()) if keep.any() else 0.0
    branch = None
    if model.cell >= 0:
        branch = (c.arm_first - c.arm_second + c.gap[:, None] * c.normal)[keep]
        branch[c.second[keep] >= n] = 0.0
    return Packing(
        radius=model.radius,
        free=np.hstack([model.inv_mass > 0.0, model.inv_inertia > 0.0]),
        first=c.first[keep].astype(np.intp),
        second=c.second[keep].astype(np.intp),
        normal=normal,
        friction=laws[keep, lawtable.MU_STATIC],
        force=force,
        unit=weight or mean or 1.0,
        external=external,
        position=position,
        arm_first=c.arm_first[keep],
        arm_second=c.arm_second[keep],
        branch=branch,
    )
