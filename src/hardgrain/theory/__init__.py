"""Closed forms that the rest is measured against. Depends on nothing."""

from hardgrain.theory import arch, array, chain, dominoes, silo, spring, wedge

__all__ = ["arch", "array", "chain", "dominoes", "silo", "spring", "wedge"]
