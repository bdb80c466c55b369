"""Closed forms refuse arguments that make no sense, in one sentence each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from hardgrain.errors import InputError

__all__ = ["Valid", "check", "checked"]

Valid = tuple[float, float, str]  # least and greatest value, and both in words

P = ParamSpec("P")
T = TypeVar("T")


def check(name: str, value: Any, least: float, most: float, valid: str) -> None:
    """Refuse a number, or an array with one, that is not from ``least`` to ``most``."""
    if isinstance(value, float | int) and least <= value <= most:
        return
    x = np.asarray(value)
    numbers = x.dtype.kind in "iuf"
    inside = (x >= least) & (x <= most) if numbers else np.zeros(x.shape, bool)
    if not inside.all():
        given = x[~inside][0] if numbers else repr(value)
        raise InputError(f"{name} is {given}; give {valid}")


def checked(valid: dict[str, Valid]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Check the arguments that ``valid`` names; defaults are valid."""

    def decorate(f: Callable[P, T]) -> Callable[P, T]:
        names = tuple(inspect.signature(f).parameters)

        @functools.wraps(f)
        def with_checks(*args: P.args, **kwargs: P.kwargs) -> T:
            for name, value in (*zip(names, args), *kwargs.items()):
                if name in valid:
                    check(name, value, *valid[name])
            return f(*args, **kwargs)

        return with_checks

    return decorate
