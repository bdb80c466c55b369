"""Public names of a package, imported when they are first used, so that its import is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["lazy", "lazy_experiments"]


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


def lazy_experiments(
    package: str, modules: Sequence[str], public: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The same for a paper, whose ``EXPERIMENTS`` are those of its modules, in their order."""
    other = lazy(package, public or {})

    def find(name: str) -> Any:
        if name == "EXPERIMENTS":
            return [importlib.import_module(f"{package}.{m}").EXPERIMENT for m in modules]
        return other(name)

    return find
