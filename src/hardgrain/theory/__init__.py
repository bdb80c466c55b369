"""Closed forms that the rest is measured against. Depends on nothing."""

from hardgrain.theory import array, chain, silo, spring, wedge

__all__ = ["array", "chain", "silo", "spring", "wedge"]
