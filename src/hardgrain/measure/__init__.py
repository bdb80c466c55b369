"""Quantities of a state or a run."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_PUBLIC = {"Packing": "forces.packing", "force_space": "forces.space"}

__all__ = ["Packing", "force_space"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.measure.forces.packing import Packing
    from hardgrain.measure.forces.space import force_space
