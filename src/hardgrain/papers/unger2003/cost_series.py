"""Costs of one kind of packing over its sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hardgrain.papers.experiment import Claim, Expected
from hardgrain.papers.fit import Floats, power_law
from hardgrain.papers.unger2002 import row
from hardgrain.papers.unger2003.cost_loads import Result
from hardgrain.papers.unger2003.cost_relaxation import NEARLY
from hardgrain.theory import chain

__all__ = [
    "DIMENSION",
    "NAMES",
    "PAPER_COST",
    "Every",
    "Series",
    "chain_arrival",
    "exponent_of",
    "layer_error",
    "sizes_of",
    "surface",
]


def chain_arrival(particles: int, load: str) -> float:
    """Sweeps for 99 % in a chain, exactly on average: a sum over its modes, each at its rate.

    The added load first moves the last grain (piston), or all alike (gravity).
    """
    from scipy.optimize import brentq

    moves = np.ones(particles) if load == "gravity" else np.eye(particles)[-1]
    modes = np.arange(1, particles // 2 + 1)  # the others are gone after a few sweeps
    shapes = np.array([row.shape(int(j), particles) for j in modes])
    weight = shapes.sum(axis=1) * (shapes @ moves) / moves.sum()
    rate = chain.relaxation_rate(row.wavenumber(modes, particles))
    found: float = brentq(
        lambda sweeps: weight @ chain.remaining(rate, sweeps) - NEARLY,
        particles**2 / 2.0,
        10.0 * particles**2,
    )
    return found


def layer_error(length: Floats) -> float:
    """Uncertainty of an exponent of N ~ L², because L is uncertain by one layer."""
    low, high = float(length.min()), float(length.max())
    return 2.0 * (1.0 / low - 1.0 / high) / math.log(high / low)


NAMES = {
    ("chain", "piston"): "chain, pushed",
    ("chain", "gravity"): "chain, gravity",
    ("2D", "piston"): "2D, piston",
    ("2D", "gravity"): "2D, gravity",
    ("3D", "piston"): "3D, piston",
    ("3D", "gravity"): "3D, gravity",
    ("walls", "gravity"): "column between rough walls",
    ("without", "gravity"): "column without side walls",
}

DIMENSION = {"chain": 1, "2D": 2, "3D": 3}
PAPER_COST = {"2D": "T_step ~ n² (49)", "3D": "T_step ~ n^(5/3) (50)"}


@dataclass(frozen=True)
class Series:
    """All results of one system under one load."""

    results: list[Result]

    @property
    def grains(self) -> Floats:
        return np.array([float(r.task.grains) for r in self.results])

    @property
    def length(self) -> Floats:
        return np.array([r.length for r in self.results])

    @property
    def contacts(self) -> Floats:
        return np.array([float(r.warm.contacts) for r in self.results])

    def arrival(self, missing: float = NEARLY) -> Floats:
        return np.array([r.arrival(missing) for r in self.results])

    def cold(self) -> Floats:
        return np.array([r.cold.when("left", NEARLY) for r in self.results if r.cold])

    @property
    def samples(self) -> int:
        return len(self.results)

    def of(self, grains: int) -> Series:
        """The results of one size."""
        return Series([r for r in self.results if r.task.grains == grains])

    def residual(self, tolerance: float) -> Floats:
        return np.array([r.warm.when("residual", tolerance) for r in self.results])

    def seconds(self) -> Floats:
        return np.array([r.second for r in self.results])


Every = dict[tuple[str, str], Series]


def sizes_of(s: Series) -> str:
    return f"{s.grains.min():.0f} to {s.grains.max():.0f} grains"


def exponent_of(
    text: str, x: Floats, y: Floats, value: float, words: str, *,
    beside: float = 0.0, why: str = "", note: str = "", paper: bool = True,
) -> Claim:  # fmt: skip
    """The claim y ~ x^value, judged by the scatter of all runs about the fitted line."""
    fit = power_law(x, y)
    expected = Expected.by_chance(value, fit.exponent_error, x.size, words, beside=beside, why=why)
    return Claim(
        text, fit.exponent, fit.exponent_error, x.size,
        paper=expected if paper else words, theory=None if paper else expected, note=note,
    )  # fmt: skip


def surface(s: Series) -> float:
    """Share of contacts that surfaces lack, one in L, as it changes an exponent over the sizes."""
    low, high = float(s.length.min()), float(s.length.max())
    return (1.0 / low - 1.0 / high) / math.log(s.grains.max() / s.grains.min())
