"""The narrow phase under its former name; see `hardgrain.cpu.contacts`."""

from hardgrain.cpu.contacts import candidates, neighbourhood_max

__all__ = ["candidates", "neighbourhood_max"]
