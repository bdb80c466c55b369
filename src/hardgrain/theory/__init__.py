"""Closed forms that the rest is measured against. Depends on nothing."""

from hardgrain.theory import chain, spring

__all__ = ["chain", "spring"]
