"""Public names of a package, imported when they are first used, so that its import is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, public: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``: ``public`` gives the module in it that defines each name.

    An empty module stands for a package that is reached by its own name.
    """

    def find(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not public[name]:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(f"{package}.{public[name]}"), name)

    return find
