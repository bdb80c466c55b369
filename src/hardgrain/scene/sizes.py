"""Grain sizes: one diameter, a list, or a distribution to draw from."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from hardgrain.errors import InputError
from hardgrain.scene._base import Finite, Positive, Share, Spec, plain

__all__ = ["Bidisperse", "Lognormal", "Normal", "PowerLaw", "Sieve", "Sizes", "Uniform", "draw"]

# [standard deviations] A bell curve is cut there by default; one grain in 370 would lie beyond.
_CUT = 3.0
# [standard deviations] Beyond so many the share of a bell curve has no digits left.
_FAR = 30.0


class _Range(Spec):
    min: Positive  # smallest diameter [length]
    max: Positive  # largest diameter [length]

    @model_validator(mode="after")
    def _check(self) -> _Range:
        if self.min > self.max:
            raise ValueError(f"min is {self.min:g} but must not exceed max, {self.max:g}")
        return self


class Uniform(_Range):
    """Diameters spread evenly between ``min`` and ``max``."""

    kind: Literal["uniform"] = "uniform"


class PowerLaw(_Range):
    """Number density of diameters ∝ d^(−exponent) between ``min`` and ``max``."""

    kind: Literal["power-law"] = "power-law"
    exponent: Finite  # how steeply the number of grains falls with their diameter [1]


class Bidisperse(Spec):
    """Two diameters; ``share`` is the number fraction of the small ones."""

    kind: Literal["bidisperse"] = "bidisperse"
    small: Positive  # diameter of the small grains [length]
    large: Positive  # diameter of the large grains [length]
    share: Share = 0.5  # number fraction of the small grains [1]

    @model_validator(mode="after")
    def _check(self) -> Bidisperse:
        if self.small > self.large:
            raise ValueError(f"small is {self.small:g} but must not exceed large, {self.large:g}")
        return self


class _Bell(Spec):
    """A bell curve; mean and standard deviation are those of the whole curve, before it is cut."""

    mean: Positive  # mean diameter [length]
    deviation: Positive  # standard deviation of the diameters [length]
    # smallest diameter [length]; default: three standard deviations below the middle of the bell
    min: Positive | None = None
    # largest diameter [length]; default: three standard deviations above the middle of the bell
    max: Positive | None = None

    def ends(self) -> tuple[float, float]:
        """Smallest and largest diameter: those given, or three standard deviations away."""
        low, high = (self.at(sign * _CUT) for sign in (-1.0, 1.0))
        return self.min or low, self.max or high

    def at(self, z: Any) -> Any:
        """The diameter, or diameters, z standard deviations from the middle of the bell."""
        raise NotImplementedError

    def height(self, diameter: float) -> float:
        """How many standard deviations a diameter lies from the middle of the bell."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check(self) -> _Bell:
        low, high = self.ends()
        if low <= 0.0:
            raise ValueError(
                f"deviation is {self.deviation:g}, so that {_CUT:g} of it below mean,"
                f" {self.mean:g}, no diameter is left; give min, or a smaller deviation"
            )
        if not low < high:
            raise ValueError(f"max is {high:g} but must exceed min, {low:g}")
        if not (self.height(low) < _FAR and self.height(high) > -_FAR):
            raise ValueError(
                f"min is {low:g} and max is {high:g}, where the curve holds next to no grains;"
                f" choose them closer to mean, {self.mean:g}"
            )
        return self


class Normal(_Bell):
    """Diameters in a bell curve around ``mean``, cut at ``min`` and ``max``."""

    kind: Literal["normal"] = "normal"

    def at(self, z: Any) -> Any:
        return self.mean + z * self.deviation

    def height(self, diameter: float) -> float:
        return (diameter - self.mean) / self.deviation


class Lognormal(_Bell):
    """Diameters whose logarithms lie in a bell curve, cut at ``min`` and ``max``."""

    kind: Literal["lognormal"] = "lognormal"

    @property
    def _width(self) -> float:
        """Standard deviation of ln d."""
        return math.sqrt(math.log1p((self.deviation / self.mean) ** 2))

    def at(self, z: Any) -> Any:
        return self.mean * np.exp(self._width * (z - 0.5 * self._width))

    def height(self, diameter: float) -> float:
        return math.log(diameter / self.mean) / self._width + 0.5 * self._width


class Sieve(Spec):
    """A sieve curve: which share of the mass passes each sieve.

    Between two sieves the share grows with the logarithm of the diameter. The diameters follow the
    curve as closely as their number allows.
    """

    kind: Literal["sieve"] = "sieve"
    # openings of the sieves, increasing [length]
    opening: Annotated[tuple[Positive, ...], Field(min_length=2), BeforeValidator(plain)]
    # share of the mass that passes each of them, from 0 to 1 [1]
    passing: Annotated[tuple[Share, ...], BeforeValidator(plain)]

    @model_validator(mode="after")
    def _check(self) -> Sieve:
        if len(self.opening) != len(self.passing):
            raise ValueError(
                f"opening has {len(self.opening)} entries but passing has {len(self.passing)};"
                " they must be equally many"
            )
        for a, b in zip(self.opening, self.opening[1:]):
            if not a < b:
                raise ValueError(f"opening must increase, but {b:g} follows {a:g}")
        for a, b in zip(self.passing, self.passing[1:]):
            if a > b:
                raise ValueError(f"passing must not decrease, but {b:g} follows {a:g}")
        if (self.passing[0], self.passing[-1]) != (0.0, 1.0):
            raise ValueError(
                f"passing runs from {self.passing[0]:g} to {self.passing[-1]:g}; it must begin"
                " with 0, at the sieve that nothing passes, and end with 1"
            )
        return self


def _form(value: Any) -> str | None:
    """Which form of `Sizes` a value is meant to have."""
    match value:
        case bool():
            return None
        case int() | float():
            return "number"
        case list() | tuple():
            return "list"
        case dict():
            kind = value.get("kind")
        case _:
            kind = getattr(value, "kind", None)
    return kind if isinstance(kind, str) else None


Sizes = Annotated[
    Annotated[Positive, Tag("number")]
    | Annotated[tuple[Positive, ...], Field(min_length=1), Tag("list")]
    | Annotated[Uniform, Tag("uniform")]
    | Annotated[Bidisperse, Tag("bidisperse")]
    | Annotated[PowerLaw, Tag("power-law")]
    | Annotated[Normal, Tag("normal")]
    | Annotated[Lognormal, Tag("lognormal")]
    | Annotated[Sieve, Tag("sieve")],
    Discriminator(
        _form,
        custom_error_type="sizes",
        custom_error_message="should be a number, a list of numbers, or a table with the kind"
        " 'uniform', 'bidisperse', 'power-law', 'normal', 'lognormal' or 'sieve'",
    ),
    BeforeValidator(plain),
]


def draw(
    sizes: Sizes, count: int | None, rng: np.random.Generator, dim: int
) -> NDArray[np.float64]:
    """Diameters, shape (count,) [length]; count may be None for a list."""
    if isinstance(sizes, tuple | list):
        if count not in (None, len(sizes)):
            raise InputError(
                f"diameter lists {len(sizes)} values but count is {count};"
                " leave count out or make them equal"
            )
        return np.array(sizes, dtype=float)
    if count is None:
        raise InputError("count is missing; say how many grains the set has")
    if isinstance(sizes, Uniform):
        return rng.uniform(sizes.min, sizes.max, count)
    if isinstance(sizes, PowerLaw):
        return _power_law(sizes, rng.random(count))
    if isinstance(sizes, _Bell):
        return _bell(sizes, rng.random(count))
    if isinstance(sizes, Sieve):  # one grain in each of ``count`` equal shares of the curve
        return rng.permutation(_sieved(sizes, (np.arange(count) + rng.random(count)) / count, dim))
    if isinstance(sizes, Bidisperse):
        diameter = np.full(count, sizes.large)
        diameter[: round(sizes.share * count)] = sizes.small  # the exact share, not one drawn
        return rng.permutation(diameter)
    return np.full(count, float(sizes))


# With k = 1 − exponent and q = max / min, the cumulative number u of diameters up to d obeys
#   d^k = min^k + u (max^k − min^k),
# or, with v = 1 − u,
#   d = min (1 − u (1 − q^k))^(1/k)     for k < 0,
#   d = max (1 − v (1 − q^(−k)))^(1/k)  for k > 0,
# where no power exceeds 1, whatever the exponent; d = min q^u for k → 0.
def _power_law(sizes: PowerLaw, u: NDArray[np.float64]) -> NDArray[np.float64]:
    k = 1.0 - sizes.exponent
    log_q = math.log(sizes.max) - math.log(sizes.min)
    if abs(k) * log_q < 1e-12:
        diameter = sizes.min * np.exp(u * log_q)
    else:
        start, share = (sizes.min, u) if k < 0.0 else (sizes.max, 1.0 - u)
        with np.errstate(divide="ignore"):  # for steep laws log 0 occurs, and d falls to min
            diameter = start * np.exp(np.log1p(share * math.expm1(-abs(k) * log_q)) / k)
    return np.clip(diameter, sizes.min, sizes.max)


def _bell(sizes: _Bell, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Diameters whose share of the curve between its ends is u."""
    from scipy.special import ndtr, ndtri

    low, high = sizes.ends()
    start, end = sizes.height(low), sizes.height(high)
    # Near its upper end the share of a bell rounds to 1; that of its mirror image does not round to
    # 0.
    sign = -1.0 if start > 0.0 else 1.0
    first, last = ndtr(sign * start), ndtr(sign * end)
    z = sign * ndtri(first + u * (last - first))
    return np.asarray(np.clip(sizes.at(z), low, high))


# Mass grows evenly with ln d between two sieves a < b, so the number of grains does as
# d^(−dim) d(ln d): a power law of exponent dim + 1. The number of all of them is
# ∝ Δp (a^(−dim) − b^(−dim)) / ln(b/a).
def _sieved(sizes: Sieve, u: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    opening = np.array(sizes.opening) / sizes.opening[0]
    share = np.diff(sizes.passing) * -np.diff(opening**-dim) / np.diff(np.log(opening))
    edge = np.concatenate([[0.0], np.cumsum(share) / share.sum()])
    piece = np.minimum(np.searchsorted(edge, u, side="right") - 1, len(share) - 1)
    diameter = np.empty_like(u)
    for k in np.unique(piece):
        mine = piece == k
        law = PowerLaw(min=sizes.opening[k], max=sizes.opening[k + 1], exponent=dim + 1.0)
        diameter[mine] = _power_law(law, (u[mine] - edge[k]) / (edge[k + 1] - edge[k]))
    return diameter
