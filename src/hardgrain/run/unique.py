"""Are the contact forces of a run at rest the only ones possible? Counting gives the answer.

Equilibrium leaves as many components of the contact forces free as the null space of the contact
matrix has dimensions (`forces`). A contact that slides takes one of them away, and one that
bears no force takes two (in 3D two and three): such contacts are at the edge of what Signorini and
Coulomb allow, while all others are inside. As long as more components are free than are taken away,
other forces are possible, too.

Grains that touch in a face have several contact points, which share its force in an undetermined
way. Dimensions within faces are counted apart: what is left is open to resultants, the force and
torque between two bodies (`forces.resultants`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardgrain.errors import InputError

if TYPE_CHECKING:
    from hardgrain.forces.packing import Packing
    from hardgrain.forces.space import ForceSpace
    from hardgrain.measure.snapshot import Simulated

__all__ = ["Uniqueness", "count", "uniqueness"]

# [contact updates] Work of finding the rank, for each contact, by dimension. It decides whether the
# closing summary counts the null space or only bounds it; if it is too small, summaries take long.
RANK_WORK = {2: 600.0, 3: 3000.0}


@dataclass(frozen=True)
class Uniqueness:
    """The contact forces of a packing, counted; ``str()`` of it is its line in the summary."""

    contacts: int = 0  # M, the contacts that touch, also the few that bear no force
    grains: int = 0  # N, the grains that have contacts
    least: int = 0  # components of forces less equations: the null space has at least so many
    formula: str = ""  # how that number is counted, in letters
    nullity: int | None = None  # dimensions of the null space; None: too many contacts to count
    sliding: int = 0  # M_s, contacts without force counted twice
    held: int = 0  # number of components that these contacts take away
    pairs: int = 0  # contacts of two bodies, fewer than M where some are faces of several points
    within: int = 0  # dimensions of the null space that change no resultant
    unknown: str = ""  # why all this is not known

    @property
    def verdict(self) -> str:
        """The answer in a word: yes, no, or not known."""
        if self.unknown:
            return "not known"
        if self.nullity == 0:
            return "yes"
        return "no" if self.held < self._freedom else "not known"

    @property
    def _freedom(self) -> int:
        return self.least if self.nullity is None else self.nullity

    @property
    def resultants(self) -> str:
        """The same answer for the resultants: are they the only ones possible?"""
        if self.unknown:
            return "not known"
        if self.nullity is not None and self.nullity == self.within:
            return "yes"
        return "no" if self.held < self._freedom - self.within else "not known"

    def _faces(self) -> str:
        """What faces of several points have to do with it, in words; nothing without any."""
        if self.pairs == self.contacts:
            return ""
        left = self._freedom - self.within
        text = f"; {self.within} of them within faces, whose resultants (K = {self.pairs} contacts)"
        if self.resultants == "yes":
            return f"{text} are the only ones possible"
        least = "at least " if self.nullity is None else ""
        return f"{text} have {least}{max(left, 0)} open"

    def __str__(self) -> str:
        if self.unknown:
            return f"{self.verdict}: {self.unknown}"
        counted = f"{self.formula} = {self.least}"
        size = f"contacts that touch M = {self.contacts}, grains N = {self.grains}"
        if self.nullity == 0:
            return f"yes: equilibrium leaves nothing open ({counted}, {size})"
        some = "dimension" if self.nullity == 1 else "dimensions"
        free = f"{self.nullity} {some} of contact forces open ({counted}, {size})"
        if self.nullity is None:
            free = f"at least {counted} dimensions of contact forces open ({size})"
        most = f" of at most {self._freedom}" if self.sliding <= self._freedom else ""
        slide = f"sliding contacts M_s = {self.sliding}{most}"
        return f"{self.verdict}: equilibrium leaves {free}{self._faces()}; {slide}"


def _formula(p: Packing) -> str:
    """How components of forces less equations are counted: 2M − 3N, less 1 for a piston, say."""
    dofs = 3 * (p.dim - 1)
    more = p.rows.size - dofs * p.grains  # negative where some grains cannot move freely
    rest = f" {'−' if more > 0 else '+'} {abs(more)}" if more else ""
    return f"{p.dim}M − {dofs}N{rest}"


def uniqueness(sim: Simulated, work: float) -> Uniqueness | None:
    """Count the contact forces of a run at rest; None if it has none.

    The rank of the contact matrix is found if it takes no more than ``work`` [contact updates].
    """
    from hardgrain.forces.space import force_space

    try:
        space = force_space(sim)
    except InputError as refused:
        return Uniqueness(unknown=str(refused))
    return count(space, work) if space.contacts else None


def count(space: ForceSpace, work: float = math.inf) -> Uniqueness:
    """Count the contact forces of any packing."""
    p, slides = space.packing, space.slides()
    return Uniqueness(
        contacts=space.contacts,
        grains=space.grains,
        least=space.expected,
        formula=_formula(p),
        nullity=space.nullity if RANK_WORK[p.dim] * space.contacts <= work else None,
        sliding=space.sliding,
        held=int(((p.dim - 1) * (slides == 1) + p.dim * (slides == 2)).sum()),
        pairs=space.pairs,
        within=space.within,
    )
