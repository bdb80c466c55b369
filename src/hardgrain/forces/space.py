"""The set F of all forces with which a packing is at rest: equilibrium, Signorini and Coulomb.

With the weights x of the cones' generators (`hardgrain.forces.cone`) it is a polytope in
standard form, {x ≥ 0, A x = b}, A = c G: a slice of a cone. In 2D that is exact, in 3D pyramids
bound it from inside and outside.

A state from a simulation balances its loads only up to its residual. By default what the contacts
of the state exert, c F, is taken for the load: the residual counts as an external force, tiny and
reported, and the state is a member of F by construction. With ``balance="loads"`` the known
external forces are the load, and the state is a member only up to the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, eye_array, hstack

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.forces.cone import Side, generators
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.program import Program, rays
from hardgrain.forces.rank import independent, rank
from hardgrain.measure.snapshot import Source

if TYPE_CHECKING:
    from hardgrain.forces.bounds import Bounds
    from hardgrain.forces.extremal import Choice, Extremal
    from hardgrain.forces.members import Which
    from hardgrain.forces.resultants import PairBounds
    from hardgrain.forces.sample import Method, Sample

__all__ = ["SLIDES", "UNBOUNDED", "ForceSpace", "force_space"]

# [unit of force] A contact slides if µ R − |T| is less, which is ε of the paper. States that are
# balanced less well need a larger one; a larger one also counts contacts that nearly slide.
SLIDES = 1e-9

# [largest force] A self-balanced state must have more at a contact to make its force unbounded. If
# it is smaller, rounding makes forces unbounded; if it is larger, some unbounded ones are missed.
UNBOUNDED = 1e-6
# [1/unit of force] A weight that never exceeds 1/_SCALE counts as zero. If it is smaller, contacts
# that bear little count as open; if it is larger, the residual of a state opens contacts.
_SCALE = 1e7

Balance = Literal["state", "loads"]


@dataclass(frozen=True, eq=False)
class ForceSpace:
    """All forces with which a packing is at rest, given and returned in the packing's units."""

    packing: Packing
    balance: Balance = "state"
    faces: int = 8  # number of faces of the pyramids that stand for round cones in 3D

    def __post_init__(self) -> None:
        if self.balance not in ("state", "loads"):
            raise InputError(f"balance is {self.balance!r}; give state or loads")
        if self.balance == "loads" and self.packing.external is None:
            raise InputError("balance is 'loads', but the packing does not know its loads")
        if self.balance == "loads" and not np.isfinite(self._load).all():
            raise InputError(
                "balance is 'loads', but not all of them are known, as where a scene holds Python"
                " functions: give the simulation, or take balance='state'"
            )

    # ------------------------------------------------------------------ counting
    @property
    def contacts(self) -> int:
        """The number M of contacts."""
        return self.packing.contacts

    @property
    def grains(self) -> int:
        """The number N of grains that have contacts."""
        return self.packing.grains

    @property
    def residual(self) -> float:
        """The largest unbalanced force of the state, in mean weights."""
        return self.packing.residual

    @cached_property
    def nullity(self) -> int:
        """Dimension of the null space of the contact matrix."""
        p = self.packing
        return p.dim * p.contacts - rank(self.equations()[0])

    @property
    def expected(self) -> int:
        """Components less equations, 2 M − 3 N in the paper: the least that nullity can be."""
        p = self.packing
        return p.dim * p.contacts - p.rows.size

    @property
    def pairs(self) -> int:
        """The number of contacts of two bodies, each of which may have several points."""
        return self.packing.pairs

    @cached_property
    def within(self) -> int:
        """Dimensions of the null space that change no resultant (`hardgrain.forces.resultants`)."""
        from hardgrain.forces.resultants import open_within

        return open_within(self.packing)

    @property
    def resultant_nullity(self) -> int:
        """Dimensions of the null space that resultants have."""
        return self.nullity - self.within

    @cached_property
    def _wrenches(self) -> csr_array:
        """From components of forces to resultants, torques divided by radii."""
        from hardgrain.forces.resultants import wrenches

        p = self.packing
        begin = np.searchsorted(p.contact, np.arange(p.pairs))
        lever = np.ones((p.pairs, p.free.shape[1]))
        lever[:, p.dim :] = p.radius[p.first[begin], None]
        return csr_array(diags_array(1.0 / lever.ravel()) @ wrenches(p))

    @cached_property
    def _mobilised(self) -> tuple[Floats, Floats]:
        """For each contact µ R − |T|, and the larger of |R| and |T|, shape (m,) [unit of force]."""
        c, p = self.packing.components, self.packing
        tangential = np.linalg.norm(c[:, 1:], axis=1)
        left = p.friction * c[:, 0] - tangential
        return left / p.unit, np.maximum(np.abs(c[:, 0]), tangential) / p.unit

    def slides(self, tolerance: float = SLIDES) -> NDArray[np.int8]:
        """What each contact of the state counts (m,): 1 if it slides, 2 if it bears no force."""
        left, size = self._mobilised
        return np.where(size < tolerance, 2, np.where(left < tolerance, 1, 0)).astype(np.int8)

    @cached_property
    def sliding(self) -> int:
        """The number M_s of sliding contacts of the state; those that bear no force count twice."""
        return int(self.slides().sum())

    # ------------------------------------------------------------------ what is possible
    def bounds(
        self, processes: int | None = 1, side: Side = "inside", exact: bool = False
    ) -> Bounds:
        """The least and the greatest of every component (`hardgrain.forces.bounds`).

        In 3D they are those of the pyramids inside or outside the cones, or, with ``exact``, of
        round cones.
        """
        from hardgrain.forces.bounds import bounds

        return bounds(self, processes, side, exact)

    def pair_bounds(
        self, bounds: Bounds | None = None, side: Side = "inside", exact: bool = False
    ) -> PairBounds:
        """The least and the greatest of every resultant (`hardgrain.forces.resultants`).

        ``bounds``: those of the points, if they are known, which saves programs.
        """
        from hardgrain.forces.resultants import pair_bounds

        return pair_bounds(self, bounds, side, exact)

    def extremal(
        self, choice: Choice = "nearest", seed: int = 0, processes: int | None = 1
    ) -> Extremal:
        """States with each component at its ends (`hardgrain.forces.extremal`)."""
        from hardgrain.forces.extremal import extremal

        return extremal(self, choice, seed, processes)

    def sample(
        self, count: int, seed: int = 0, method: Method = "hit-and-run", **options: Any
    ) -> Sample:
        """Members of F, uniform or as the engine finds them (`hardgrain.forces.sample`)."""
        from hardgrain.forces.sample import sample

        return sample(self, count, seed, method, **options)

    def member(
        self, which: Which = "least", to: Floats | None = None, stiffness: float = 1.0
    ) -> Floats:
        """Components (m, dim) of one member of F (`hardgrain.forces.members`)."""
        from hardgrain.forces.members import member

        return member(self, which, to, stiffness)

    # ------------------------------------------------------------------ the polytope
    def polytope(self, side: Side = "inside") -> tuple[csc_array, Floats, csr_array, int]:
        """The polytope F/unit = G x, x ≥ 0, A x = b: A, b, G and the generators of a contact."""
        if side not in self._polytopes:
            p = self.packing
            g, k = generators(p.components, p.friction, self.faces, side)
            c, load = self.equations()
            a = csr_array(c @ g)
            rows = independent(a, load)
            self._polytopes[side] = csc_array(a[rows]), load[rows], g, k
        return self._polytopes[side]

    @cached_property
    def _polytopes(self) -> dict[Side, tuple[csc_array, Floats, csr_array, int]]:
        """The polytopes made so far."""
        return {}

    def equations(self) -> tuple[csr_array, Floats]:
        """The matrix c and the load of c F/unit = load; torques are divided by radii."""
        p = self.packing
        return csr_array(diags_array(1.0 / p.arms) @ p.matrix), self._load / p.arms / p.unit

    @property
    def _load(self) -> Floats:
        """The forces that the contacts have to exert on the bodies, shape (rows,)."""
        p = self.packing
        if self.balance == "loads" and p.external is not None:
            return -p.external.ravel()[p.rows]
        return p.load

    @cached_property
    def empty(self) -> bool:
        """Whether no forces balance the load, so that the packing cannot be at rest."""
        a, b, _, _ = self.polytope()
        if Program(a, b).feasible():
            return False
        if self.packing.dim == 2:
            return True
        from hardgrain.forces.conic import feasible

        return not feasible(self)

    @cached_property
    def _inside(self) -> tuple[Floats, NDArray[np.int8]]:
        """A member as far inside F as possible (m, dim), and what contacts count in all members."""
        if self.packing.dim == 3:
            from hardgrain.forces.members import interior

            return interior(self)
        return self._inside_polytope()

    def _inside_polytope(self) -> tuple[Floats, NDArray[np.int8]]:
        """A point inside F in 2D, by a linear program.

        max Σ y with 0 ≤ y ≤ 1, y ≤ x, A x = λ b, λ ≥ 1: its solution has y = 0 exactly for those
        weights that vanish in every member (Freund, Roundy and Todd). The limit of λ makes it those
        that never exceed 1/λ: a residual alone opens no contact.
        """
        a, b, g, k = self.polytope()
        n = a.shape[1]
        # The variables are x − y, y and λ − 1.
        whole = hstack([a, a, -b[:, None]], format="csc")
        upper = np.concatenate([np.full(n, np.inf), np.ones(n), [_SCALE - 1.0]])
        program = Program(whole, b, upper)
        program.minimise(np.arange(n, 2 * n), -np.ones(n))
        x = program.x
        y, scale = x[n : 2 * n], 1.0 + x[2 * n]
        member = self.packing.unit * (g @ (x[:n] + y)).reshape(-1, self.packing.dim) / scale
        edges = (y > 0.5).reshape(-1, k).sum(axis=1)
        slides = (edges == 1) | (self.packing.friction == 0.0)
        return member, np.where(edges == 0, 2, np.where(slides, 1, 0)).astype(np.int8)

    @property
    def always(self) -> NDArray[np.int8]:
        """What each contact counts in every member (m,): 1 must slide, 2 must be open, else 0."""
        return np.full(self.contacts, 2, dtype=np.int8) if self.empty else self._inside[1]

    @cached_property
    def dimension(self) -> int:
        """The dimension of F: that of the null space, less what is taken by forced contacts.

        It is −1 if F is empty.
        """
        if self.empty:
            return -1
        if not self.always.any():
            return self.nullity
        kept = self._kept
        return int(kept.shape[1]) - rank(self.equations()[0] @ kept)

    @cached_property
    def resultant_dimension(self) -> int:
        """The dimension of the set of possible resultants, no more than that of F; −1 if empty."""
        if self.empty or self.pairs == self.contacts:
            return self.dimension
        kept = self._kept
        return rank(self._wrenches @ kept) - rank(self.equations()[0] @ kept)

    @cached_property
    def _kept(self) -> csc_array:
        """Directions in which the components of some member may change (m dim, columns)."""
        # The components that are left: all of a contact, one direction if it slides, or none.
        m, dim = self.contacts, self.packing.dim
        member, counts = self._inside
        own = np.arange(dim * m).reshape(m, dim)
        open_, slides = counts == 2, counts == 1
        left = eye_array(dim * m, format="csc")[:, own[~open_ & ~slides].ravel()]
        along = member[slides] / member[slides, :1]
        column = np.repeat(np.arange(along.shape[0]), dim)
        edges = csc_array(
            (along.ravel(), (own[slides].ravel(), column)), shape=(dim * m, len(along))
        )
        return csc_array(hstack([left, edges], format="csc"))

    @cached_property
    def unbounded(self) -> NDArray[np.bool_]:
        """Which contacts can have a force without limit, as those of a wedged grain (m,).

        In 3D they are judged by the pyramids inside the cones.
        """
        a, _, _, k = self.polytope()
        return np.asarray((rays(a).x > UNBOUNDED).reshape(-1, k).any(axis=1))


def force_space(
    source: Source | Packing, step: int = -1, *, balance: Balance = "state", faces: int = 8
) -> ForceSpace:
    """All forces possible in a simulation at present, in a frame of a run file, or in a packing."""
    return ForceSpace(packing(source, step), balance, faces)
