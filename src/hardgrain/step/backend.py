"""Which backend computes the contacts: the one place where its name becomes a package.

A backend compiles the physics of one contact (`hardgrain.law`, `hardgrain.point`) for its hardware
and schedules it. It is a package with the functions that `hardgrain.cpu` exports; no module to the
right of this one knows which is at work.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["BACKENDS", "backend"]

BACKENDS = {"cpu": "hardgrain.cpu"}  # name -> package


def backend(name: str) -> ModuleType:
    """The package behind a name."""
    return import_module(BACKENDS[name])
