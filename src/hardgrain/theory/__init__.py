"""Closed forms that the rest is measured against. Depends on nothing."""

from hardgrain.theory import chain

__all__ = ["chain"]
