"""Bodies whose prescribed motion leads them into each other.

A contact force moves a body only along the axes on which it is free. Where two bodies touch,
neither is free along their common normal, and their prescribed velocities close the contact, no
force can keep them apart: contact dynamics has no solution. In the first state this is refused.
Bodies that meet later overlap until the run is no longer plausible, and this cause is named then.
"""

from __future__ import annotations

import numpy as np

from hardgrain.contact.arms import turning
from hardgrain.contact.detect import Detector
from hardgrain.contact.pairs import wall_geometry
from hardgrain.core.model import Floats, Ints, Model, State
from hardgrain.cpu.contacts import candidates
from hardgrain.errors import InputError
from hardgrain.point.given import Sites
from hardgrain.step.glue import Glue
from hardgrain.step.loads import Loads

__all__ = ["closing_speed", "refuse_driven_together"]

# [1] Squared sine of the angle between a normal and the axes along which its bodies are held. If it
# is larger, contacts that a force across the normal might open are refused, too; if it is smaller,
# rounding of the normal hides some contacts.
HELD = 1e-12
ROUNDED = 1e-9  # [half the least width] how far a contact may close in the first step, by rounding


def refuse_driven_together(model: Model, state: State, dt: float) -> None:
    """Refuse a first state in which prescribed motion drives touching bodies into each other."""
    if model.elastic is not None:  # what deforms gives way, and its contacts are found elsewhere
        return
    loads, first = Loads(model, dt), state.copy()
    model = loads.now(first)
    if (model.inv_mass[model.carrier][: model.n] > 0.0).all():  # walls do not touch each other
        return
    loads.prescribe(first)
    Glue(model).carry(first.position, first.velocity, first.spin)
    contacts = Detector(model, dt).find(first, first.velocity)
    normal = None if model.round else contacts.normal
    speed = closing_speed(model, first, contacts.first, contacts.second, normal)
    overlap = dt * speed - np.maximum(contacts.gap, 0.0)
    half = 0.5 * model.width[contacts.first]
    bad = np.flatnonzero((speed > 0.0) & (overlap > ROUNDED * half))
    if not bad.size:
        return
    k = bad[speed[bad].argmax()]
    one, other = (_moving(model, first, int(body[k])) for body in (contacts.first, contacts.second))
    raise InputError(
        f"{one} and {other} would be driven into each other in the first step, with the speed"
        f" {speed[k]:.3g}, and no force can keep them apart; prescribe motions that do not meet"
    )


def closing_speed(
    model: Model, state: State, first: Ints, second: Ints, normal: Floats | None = None
) -> Floats:
    """Speed at which prescribed motion closes each pair (m,), 0 where a force could prevent it.

    ``normal``: those of the pairs (m, dim); without them, grains are round.
    """
    i, j = first, second
    if normal is None:
        everywhere = np.full(model.bodies, np.inf)
        walls = wall_geometry(model, state)
        sites = Sites(state.position, model.radius, model.periodic, walls)
        normal = candidates(i, j, sites, everywhere)[1]
    inverse = model.inv_mass[model.carrier]
    together = inverse[i] + inverse[j]
    held = np.einsum("ka,ka->k", normal**2, together) <= HELD * together.max(axis=1, initial=0.0)
    given = np.where(inverse > 0.0, 0.0, state.velocity)
    opening = np.einsum("ka,ka->k", normal, given[j] - given[i])
    k = np.flatnonzero(held & (j >= model.n) & state.spin[j].any(axis=1))  # with walls that turn
    opening[k] += np.einsum("ka,ka->k", normal[k], _turning(model, state, i[k], j[k]))
    return np.where(held, np.maximum(-opening, 0.0), 0.0)


def _turning(model: Model, state: State, grain: Ints, wall: Ints) -> Floats:
    """Velocity (m, dim) that the rotation of walls gives to their surfaces at grains.

    Only its component along the normals is right, as arms end at the centres of the grains.
    """
    arm, period = state.position[grain] - state.position[wall], model.periodic
    images = np.divide(arm, period, out=np.zeros_like(arm), where=period > 0.0)
    return turning(state.spin[wall], arm - period * np.round(images))


def _moving(model: Model, state: State, body: int) -> str:
    """Words that name a body with its prescribed velocity."""
    held = model.inv_mass[model.carrier[body]] == 0.0
    parts = [f"{v + 0.0:.3g}" if h else "free" for v, h in zip(state.velocity[body], held)]
    how = f"with the velocity ({', '.join(parts)})"
    if body >= model.n and state.spin[body].any():
        how += f" and the spin {np.linalg.norm(state.spin[body]):.3g}"
    return f"{model.body_name(body)} {how}"
