"""Means over packings, with errors from the scatter of all shapes together.

A handful of packings of one shape do not tell their scatter well. All shapes scatter about alike,
so their deviations from their own means are taken together; an error then has as many degrees of
freedom as there are packings in all, less one for each shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from hardgrain.papers.experiment import CHANCE, Claim, Expected, chance
from hardgrain.papers.fit import Floats

__all__ = ["Means"]

Side = Literal["equal", "at least", "at most"]


class Means:
    """One quantity of packings of several shapes: a mean for each, and one error for all."""

    def __init__(self, values: Mapping[int, Sequence[float]]) -> None:
        self.mean = {k: float(np.mean(v)) for k, v in values.items()}
        self.packings = len(next(iter(values.values())))
        self.samples = len(values) * (self.packings - 1) + 1  # degrees of freedom and one
        off: Floats = np.concatenate([np.array(v) - self.mean[k] for k, v in values.items()])
        self.error = math.sqrt(float(off @ off) / (self.samples - 1) / self.packings)

    def difference(self, more: int, less: int) -> tuple[float, float]:
        """By how much one shape exceeds another, and the error of that."""
        return self.mean[more] - self.mean[less], math.sqrt(2.0) * self.error

    def told(
        self, value: float, words: str, side: Side = "equal", *, beside: float = 0.0, why: str = "",
        factor: float = 1.0,
    ) -> Expected:  # fmt: skip
        """What a publication tells, with the tolerance that chance asks for and one beside it.

        ``factor`` is the error of what is measured over that of a mean.
        """
        reason = f"chance, by the scatter of {self.samples - 1} degrees of freedom (one in"
        reason += f" {1 / CHANCE:.0f})" + (f", and {beside:.2g}: {why}" if beside else "")
        tolerance = chance(factor * self.error, self.samples) + beside
        return Expected(value, tolerance, reason, words, side)

    def claim(self, text: str, sides: int, paper: Expected | str, **more: object) -> Claim:
        """A claim on the mean of one shape."""
        return Claim(
            text,
            self.mean[sides],
            self.error,
            self.samples,
            paper=paper,
            **more,  # type: ignore[arg-type]
        )
