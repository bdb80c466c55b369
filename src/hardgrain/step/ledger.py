"""The energy ledger under its former name; see `hardgrain.point.ledger`."""

from hardgrain.cpu.ledger import (
    contact_work,
    kinetic_energy,
    largest_speed,
    load_work,
    overlaps,
)

__all__ = ["contact_work", "kinetic_energy", "largest_speed", "load_work", "overlaps"]
