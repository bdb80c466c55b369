"""Grain sizes: one diameter, a list, or a distribution to draw from."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from hardgrain.errors import InputError
from hardgrain.scene._base import Finite, Positive, Share, Spec, plain

__all__ = ["Bidisperse", "PowerLaw", "Sizes", "Uniform", "draw"]


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
    | Annotated[PowerLaw, Tag("power-law")],
    Discriminator(
        _form,
        custom_error_type="sizes",
        custom_error_message="should be a number, a list of numbers, or a table with the kind"
        " 'uniform', 'bidisperse' or 'power-law'",
    ),
    BeforeValidator(plain),
]


def draw(sizes: Sizes, count: int | None, rng: np.random.Generator) -> NDArray[np.float64]:
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
        with np.errstate(divide="ignore"):  # steep laws: log 0, and d falls to min
            diameter = start * np.exp(np.log1p(share * math.expm1(-abs(k) * log_q)) / k)
    return np.clip(diameter, sizes.min, sizes.max)
