"""Publications whose experiments are run again by code, claim by claim."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# name -> what it is; each is a package here with a list EXPERIMENTS
PAPERS = {
    "unger2002": "T. Unger, L. Brendel, D. E. Wolf and J. Kertész, Elastic behavior in contact"
    " dynamics of rigid particles, Phys. Rev. E 65, 061305 (2002)",
}

__all__ = ["PAPERS", *PAPERS]


def __getattr__(name: str) -> Any:
    if name in PAPERS:
        return importlib.import_module(f"hardgrain.papers.{name}")
    raise AttributeError(f"module 'hardgrain.papers' has no attribute {name!r}")


if TYPE_CHECKING:  # the same names, for type checkers and editors
    # ruff: noqa: F401
    from hardgrain.papers import unger2002
