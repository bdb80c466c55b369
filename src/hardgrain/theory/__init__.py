"""Closed forms that the rest is measured against. Depends on nothing."""

from hardgrain.theory import array, chain, spring, wedge

__all__ = ["array", "chain", "spring", "wedge"]
