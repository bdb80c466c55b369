"""What an experiment is, and what it yields: claims, tables, figures, and a text about them.

A claim compares one measured number with two others that must not be confused: what *the paper*
says, and what *theory* gives (a closed form, an exact solution, an independent method). Each has
its own tolerance with the reason for it, and its own verdict. A reader sees at a glance whether the
paper's statement holds here and, apart from it, whether our theory does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

__all__ = ["CHANCE", "Claim", "Expected", "Experiment", "Outcome", "chance"]

# [1] Probability with which a true statement about a mean over seeds is rejected. There are some
# hundred such claims, and every processor that rounds differently draws all of them anew.
CHANCE = 1e-4
# [1] Relative rounding error of closed forms and exact solutions after some hundred operations.
ROUNDING = 1e-11


def chance(error: float, samples: int | None = None) -> float:
    """How far a mean may lie from the truth by chance: Student's t at `CHANCE`, times its error.

    ``samples`` is the number of independent values behind the error, or None if they are so many
    that it is known.
    """
    from scipy.stats import norm, t

    upper = 1.0 - 0.5 * CHANCE
    return error * float(norm.ppf(upper) if samples is None else t.ppf(upper, samples - 1))


@dataclass(frozen=True)
class Expected:
    """A number to compare a measured one with, how far off that may be, and why."""

    value: float
    tolerance: float  # largest |measured − value|, in the same unit
    reason: str  # why the tolerance is what it is
    words: str = ""  # where the number comes from: an equation, a figure, the paper's own words
    side: Literal["equal", "at least", "at most"] = "equal"

    @classmethod
    def exact(cls, value: float, words: str = "") -> Expected:
        """Expect a closed form or a count, from which only rounding may differ."""
        if float(value).is_integer():
            return cls(value, ROUNDING * abs(value), "exact", words)
        return cls(value, ROUNDING * abs(value), "rounding", words)

    @classmethod
    def within(cls, value: float, share: float, reason: str, words: str = "") -> Expected:
        """Expect a value with a tolerance that is a share of it."""
        return cls(value, share * abs(value), reason, words)

    @classmethod
    def by_chance(
        cls, value: float, error: float, samples: int, words: str = "", *,
        beside: float = 0.0, why: str = "", side: Literal["equal", "at least", "at most"] = "equal",
    ) -> Expected:  # fmt: skip
        """Expect a value with the tolerance that chance asks for in a mean over ``samples`` seeds.

        ``beside`` is a further difference that is allowed, in the same unit, with its reason
        ``why``.
        """
        reason = f"chance, {samples} samples (one in {1 / CHANCE:.0f})"
        reason += f", and {beside:.2g}: {why}" if beside else ""
        return cls(value, chance(error, samples) + beside, reason, words, side)

    def met_by(self, measured: float) -> bool:
        """Whether a number agrees with this one within the tolerance; NaN never does."""
        off = measured - self.value
        if self.side == "at least":
            return off >= -self.tolerance
        if self.side == "at most":
            return off <= self.tolerance
        return abs(off) <= self.tolerance


@dataclass(frozen=True)
class Claim:
    """A number that was measured, what the paper says it is, and what theory says it is.

    The text names the sizes on which the number depends. Then two claims of the same text, one
    from a quick and one from a full reproduction, are the same number measured twice, and
    `hardgrain.papers.record` holds them against each other.
    """

    text: str  # what was measured
    measured: float
    error: float | None = None  # one standard error of ``measured``
    samples: int | None = None  # independent values behind the error
    paper: Expected | str = ""  # what the paper says; in words alone where no number can judge it
    theory: Expected | None = None
    differs: str = ""  # why the paper's statement does not hold here, where we know that
    note: str = ""  # whatever else a reader should know

    @property
    def paper_verdict(self) -> str:
        """The verdict on the paper: ``"holds"``, ``"differs"``, or empty if it gives no number."""
        if not isinstance(self.paper, Expected):
            return ""
        return "holds" if self.paper.met_by(self.measured) else "differs"

    @property
    def theory_verdict(self) -> str:
        """The verdict on theory: ``"holds"``, ``"fails"``, or empty if there is none."""
        if self.theory is None:
            return ""
        return "holds" if self.theory.met_by(self.measured) else "fails"

    @property
    def judged(self) -> bool:
        """Whether the claim, as it stands, could turn out wrong."""
        return self.theory is not None or isinstance(self.paper, Expected)

    @property
    def surprise(self) -> str:
        """Empty if all is as it should be; otherwise a sentence that says what is not.

        A deviation from the paper without an explanation is a surprise, and so is a statement
        of the paper that was known to differ and now holds.
        """
        if not math.isfinite(self.measured):
            return f"{self.text}: the measured value is {self.measured}"
        if self.theory_verdict == "fails":
            return f"{self.text}: measured {self.measured:.6g}, theory gives {_word(self.theory)}"
        if self.paper_verdict == "differs" and not self.differs:
            return f"{self.text}: measured {self.measured:.6g}, the paper has {_word(self.paper)}"
        if self.differs and self.paper_verdict != "differs":
            return (
                f"{self.text}: the paper's {_word(self.paper)} was known to differ, and holds with"
                f" {self.measured:.6g}"
            )
        return ""


def _word(expected: Expected | str | None) -> str:
    if not isinstance(expected, Expected):
        return f"statement ({expected})"
    side = "" if expected.side == "equal" else f"{expected.side} "
    return f"{side}{expected.value:.6g} ± {expected.tolerance:.2g}"


@dataclass
class Outcome:
    """What an experiment has found."""

    claims: list[Claim] = field(default_factory=list)
    # for each name the columns of a table
    tables: dict[str, dict[str, ArrayLike]] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    text: str = ""  # findings, in a few sentences
    seeds: Sequence[int] = ()  # seeds of its random runs; empty if nothing in it is drawn at random


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper; ``run(quick)`` does it, if quick with fewer and smaller runs."""

    name: str  # its name, which is also that of its folder
    title: str
    run: Callable[[bool], Outcome]
