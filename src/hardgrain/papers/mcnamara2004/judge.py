"""Statements about many packings, judged with errors between packings.

Contacts of one packing depend on each other, while packings are independent. What the paper says in
words, "larger", "fewer", "more", holds if the packings say so by more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from hardgrain.forces.compare import jackknife
from hardgrain.papers.experiment import Claim, Expected, Outcome, chance

__all__ = ["ENOUGH", "judged_only", "number", "over_packings", "statement"]

# [1] "Larger" holds if, with no difference at all, it would look like it with a smaller
# probability. This is not as rare as `experiment.CHANCE`: there a true statement must survive many
# realisations, here a false one must be caught.
CLEAR = 1e-2
ENOUGH = 10  # [packings] with fewer, chance allows nearly everything, and nothing is judged


def over_packings(of: Callable[..., float], *groups: Sequence[Any]) -> tuple[float, float]:
    """A number made of what each packing gave, and its error by leaving out seed after seed.

    ``of`` takes the groups, each a list with one entry for each seed.
    """
    n = len(groups[0])

    def part(keep: NDArray[np.bool_]) -> Any:
        return of(*([v for v, k in zip(group, keep) if k] for group in groups))

    all_but_one = ~np.eye(n, dtype=bool)
    error = jackknife([part(keep) for keep in all_but_one])
    return float(part(np.ones(n, dtype=bool))), float(error)


def number(
    text: str, found: tuple[float, float], samples: int, paper: tuple[float, float], *,
    differs: str = "", note: str = "",
) -> Claim:  # fmt: skip
    """A claim that a mean is that of the paper, which has a standard error, too.

    The paper's was drawn once: it is given the two standard errors within which 95 of 100 such
    numbers lie. Ours is drawn anew by every processor that rounds differently.
    """
    value, error = found
    theirs, spread = paper
    words = f"{theirs:g} ± {spread:g}"
    if samples < ENOUGH:
        return Claim(text, value, error=error, samples=samples, paper=words, note=note)
    room = math.hypot(2.0 * spread, chance(error, samples))
    reason = f"two standard errors of theirs, chance in ours ({samples} samples, one in 10000)"
    expected = Expected(theirs, room, reason, words)
    return Claim(
        text, value, error=error, samples=samples, paper=expected, differs=differs, note=note
    )


def statement(
    text: str, found: tuple[float, float], samples: int, words: str, *, beyond: float = 0.0,
    side: Literal["at least", "at most"] = "at least", differs: str = "", note: str = "",
) -> Claim:  # fmt: skip
    """A claim that a number, found with its error, lies beyond another one."""
    value, error = found
    if samples < ENOUGH:
        return Claim(text, value, error=error, samples=samples, paper=words, note=note)
    off = error * float(t.ppf(1.0 - CLEAR, samples - 1))
    limit = beyond + (off if side == "at least" else -off)
    words += f"; clear of {beyond:.3g} by more than chance, {samples} samples (one in 100)"
    paper = Expected(limit, 0.0, "exact", words, side)
    return Claim(text, value, error=error, samples=samples, paper=paper, differs=differs, note=note)


def judged_only(outcome: Outcome) -> None:
    """Leave out claims that a handful of packings cannot judge; the full version has them."""
    outcome.claims = [claim for claim in outcome.claims if claim.judged]
