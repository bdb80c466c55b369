"""The set F of all forces with which a packing is at rest: equilibrium, Signorini and Coulomb.

With the weights x of the cones' generators (`hardgrain.measure.forces.cone`) it is a polytope in
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
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, csr_array, eye_array

from hardgrain.errors import InputError
from hardgrain.measure.forces.cone import Side, generators
from hardgrain.measure.forces.packing import Packing, Run, Simulated, packing
from hardgrain.measure.forces.program import Program
from hardgrain.measure.forces.rank import rank
from hardgrain.scene.model import Floats

if TYPE_CHECKING:
    from hardgrain.measure.forces.bounds import Bounds

__all__ = ["SLIDES", "ForceSpace", "force_space"]

SLIDES = 1e-9  # ε of the paper: a contact slides if µ R − |T| < ε times the unit of force

Balance = Literal["state", "loads"]


@dataclass(frozen=True, eq=False)
class ForceSpace:
    """All forces with which a packing is at rest. Forces in and out are in the packing's units."""

    packing: Packing
    balance: Balance = "state"
    faces: int = 8  # of the pyramids that stand for round cones, in 3D

    def __post_init__(self) -> None:
        if self.balance not in ("state", "loads"):
            raise InputError(f"balance is {self.balance!r}; give state or loads")
        if self.balance == "loads" and self.packing.external is None:
            raise InputError("balance is 'loads', but the packing does not know its loads")

    # ------------------------------------------------------------------ counting
    @property
    def contacts(self) -> int:
        """M."""
        return self.packing.contacts

    @property
    def grains(self) -> int:
        """N, the grains that have contacts."""
        return self.packing.grains

    @property
    def residual(self) -> float:
        """The largest unbalanced force of the state, in mean weights."""
        return self.packing.residual

    @cached_property
    def nullity(self) -> int:
        """Dimension of the null space of the contact matrix."""
        return self.packing.dim * self.contacts - rank(self.packing.matrix)

    @property
    def expected(self) -> int:
        """Components less equations, 2 M − 3 N in the paper: the least that nullity can be."""
        p = self.packing
        return p.dim * p.contacts - p.rows.size

    @cached_property
    def _mobilised(self) -> tuple[Floats, Floats]:
        """µ R − |T| and the larger of |R| and |T| of each contact, in units of force (m,)."""
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
        """M_s of the state: sliding contacts, those that bear no force counted twice."""
        return int(self.slides().sum())

    # ------------------------------------------------------------------ what is possible
    def bounds(self, processes: int | None = 1, side: Side = "inside") -> Bounds:
        """The least and the greatest of every component (`hardgrain.measure.forces.bounds`)."""
        from hardgrain.measure.forces.bounds import bounds

        return bounds(self, processes, side)

    # ------------------------------------------------------------------ the polytope
    def polytope(self, side: Side = "inside") -> tuple[csc_array, Floats, csr_array, int]:
        """A, b, the generators G and their number at a contact: F/unit = G x, x ≥ 0, A x = b."""
        p = self.packing
        g, k = generators(p.dim, p.friction, self.faces, side)
        load = p.load
        if self.balance == "loads":
            assert p.external is not None
            load = -p.external.ravel()[p.rows]
        return csc_array(p.matrix @ g), load / p.unit, g, k

    @cached_property
    def _support(self) -> tuple[Floats | None, NDArray[np.bool_]]:
        """A member as far inside as there is one (weights x), and which weights can be > 0.

        max Σ y with 0 ≤ y ≤ 1, y ≤ x, A x = λ b, λ ≥ 1: its solution has y = 0 exactly for those
        weights that vanish in every member (Freund, Roundy and Todd). None: F is empty.
        """
        a, b, _, _ = self.polytope()
        n = a.shape[1]
        one = eye_array(n)
        # variables x − y ≥ 0, y, 1 − y ≥ 0, λ − 1 ≥ 0
        whole = block_array([[a, a, None, -b[:, None]], [None, one, one, None]], format="csc")
        right = np.concatenate([b, np.ones(n)])
        program = Program(whole, right)
        value = program.minimise(np.arange(n, 2 * n), -np.ones(n))
        if value == np.inf:
            return None, np.zeros(n, dtype=bool)
        x = program.x
        y, scale = x[n : 2 * n], 1.0 + x[3 * n]
        return (x[:n] + y) / scale, y > 0.5

    @property
    def empty(self) -> bool:
        """No forces balance the load: the packing cannot be at rest."""
        return self._support[0] is None

    @cached_property
    def always(self) -> NDArray[np.int8]:
        """What each contact counts in every member (m,): 1 must slide, 2 must be open, else 0."""
        k = self.polytope()[3]
        can = self._support[1].reshape(-1, k)
        some, all_ = can.any(axis=1), can.all(axis=1)
        if self.packing.dim == 3:  # inside a pyramid are sums of three edges and more
            all_ = can.sum(axis=1) >= 3
        return np.where(~some, 2, np.where(~all_, 1, 0)).astype(np.int8)

    @cached_property
    def dimension(self) -> int:
        """dim F: of the null space, less what contacts that must slide or be open take away."""
        if self.empty:
            return -1
        a, _, g, _ = self.polytope()
        can = self._support[1]
        if can.all():
            return self.nullity
        return rank(csc_array(g)[:, can]) - rank(a[:, can])

    @cached_property
    def unbounded(self) -> NDArray[np.bool_]:
        """Contacts whose force can grow without limit (m,): wedged, against themselves."""
        a, _, _, k = self.polytope()
        n = a.shape[1]
        whole = block_array([[a, None], [eye_array(n), eye_array(n)]], format="csc")
        program = Program(whole, np.concatenate([np.zeros(a.shape[0]), np.ones(n)]))
        program.minimise(np.arange(n), -np.ones(n))
        return np.asarray((program.x[:n] > 1e-6).reshape(-1, k).any(axis=1))


def force_space(
    source: Run | Simulated | Packing, step: int = -1, *, balance: Balance = "state", faces: int = 8
) -> ForceSpace:
    """All forces possible in a simulation as it is, in a frame of a run file, or in a packing."""
    return ForceSpace(packing(source, step), balance, faces)
