"""What an experiment is, and what it yields: claims, tables, figures, and a word on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

__all__ = ["Claim", "Experiment", "Outcome"]


@dataclass(frozen=True)
class Claim:
    """A number that was measured, and what it should be."""

    text: str  # what was measured
    measured: float
    error: float | None = None  # one standard error of ``measured``
    theory: float | None = None  # closed form or the paper's number; None: a finding
    tolerance: float | None = None  # on |measured − theory|, in the same unit
    paper: str = ""  # what the paper says, in its words or numbers
    note: str = ""  # where a difference comes from, and which is right
    disputed: bool = False  # should it not hold, the note says why: it is no failure of ours

    @classmethod
    def relative(
        cls, text: str, measured: float, theory: float, share: float, **rest: Any
    ) -> Claim:
        """A claim whose tolerance is a share of the theory's number."""
        return cls(text, measured, theory=theory, tolerance=share * abs(theory), **rest)

    @property
    def verdict(self) -> str:
        """``"holds"``, ``"fails"``, or ``"measured"`` where there is nothing to hold it against.

        ``"refuted"``: what the paper says does not hold, and the note says why.
        """
        if not math.isfinite(self.measured):
            return "fails"
        if self.theory is None or self.tolerance is None:
            return "measured"
        if abs(self.measured - self.theory) <= self.tolerance:
            return "holds"
        return "refuted" if self.disputed else "fails"


@dataclass
class Outcome:
    """What an experiment has found."""

    claims: list[Claim] = field(default_factory=list)
    tables: dict[str, dict[str, ArrayLike]] = field(default_factory=dict)  # name -> columns
    figures: dict[str, Figure] = field(default_factory=dict)
    text: str = ""  # findings, in a few sentences


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper. ``run(quick)`` does it; quick: fewer and smaller runs."""

    name: str  # also the name of its folder
    title: str
    run: Callable[[bool], Outcome]
