"""What lives on the device, as the functions of one contact read it."""

from __future__ import annotations

from hardgrain.core.contact_rows import ContactRows
from hardgrain.cuda.api import device
from hardgrain.point.given import Motion

__all__ = ["motion_of", "rows_of"]


@device
def rows_of(held):
    """The contacts as the functions of one contact read them."""
    return ContactRows(
        held.first, held.second, held.normal, held.gap, held.arm_first, held.arm_second,
        held.width, held.roll, held.law, held.impulse, held.torque,
    )  # fmt: skip


@device
def motion_of(bodies, search):
    """The bodies as the functions of one contact read them."""
    return Motion(
        search.free_velocity, search.free_spin, bodies.velocity, bodies.spin, bodies.inv_mass,
        bodies.inv_inertia,
    )  # fmt: skip
