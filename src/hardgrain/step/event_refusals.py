"""What the event-driven engine cannot carry, said by name before the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hardgrain.core import lawtable
from hardgrain.core.model import FORCE, TORQUE, Model, State
from hardgrain.core.wall_kinds import (
    DISK,
    MESH,
    PLANE,
    RECTANGLE,
    ROUND,
    SEGMENT,
    TRIANGLE,
)
from hardgrain.errors import InputError
from hardgrain.kernels import jit, scalar
from hardgrain.point.wall_motion import make_wall_motion

__all__ = ["refuse_events", "refuse_sweeping"]

_LAWS = {
    lawtable.COHESION: "cohesion",
    lawtable.ROLLING: "rolling",
    lawtable.TORSION: "torsion",
}
# Flat walls with edges, which a grain may meet at a corner.
_EDGED = {
    SEGMENT: "a segment", RECTANGLE: "a rectangle", TRIANGLE: "a triangle", DISK: "a disk",
    MESH: "a mesh",
}  # fmt: skip

stays = make_wall_motion(scalar).stays


def refuse_events(model: Model) -> None:
    """Say at once all that the scene asks for and this engine cannot do."""
    why = [*_of_laws(model), *_of_grains(model), *_of_walls(model)]
    if model.cell >= 0:
        why.append("the periodic cell must not deform (leave out scene.cell)")
    if model.membrane is not None:
        why.append("scene.membrane must be left out")
    if model.rule is not None:
        why.append("scene.contact_rule must be left out")
    if model.remove_overlaps:
        why.append("scene.shock is 'g' but must be 'g+'")
    if why:
        raise InputError(f"with the engine 'event-driven' {', and '.join(why)}")


def _of_laws(model: Model) -> Iterator[str]:
    entries, first = np.unique(model.law_entry, return_index=True)
    for entry, law in zip(entries, model.laws.reshape(-1, lawtable.N_PARAMETERS)[first]):
        for column, name in _LAWS.items():
            if law[column] > 0.0:
                yield f"scene.contacts[{entry}].{name} is {law[column]:g} but must be 0"


def _of_grains(model: Model) -> Iterator[str]:
    n = model.n
    if not model.round and len(model.solids.shape) and MESH not in model.wall_kind:
        yield "all grains must be disks or spheres (leave out shape)"
    if len(model.moments):
        yield "scene.grains must have one number as inertia, or none"
    if model.locks:
        yield "scene.grains.lock must not depend on time"
    moves = model.inv_mass[:n] > 0.0
    if not moves.all():
        yield (
            "scene.grains must be free to move along all axes (of lock, 'rotation' is carried; no"
            " driven_velocity)"
        )
    turns = model.inv_inertia[:n] > 0.0
    if (turns.any(axis=1) != turns.all(axis=1)).any():
        yield "scene.grains must turn freely or not at all (lock all of the rotation)"
    bodies = np.arange(model.bodies)
    driven = [d for d in model.drives if (bodies[d.bodies] < n).any()]
    if any(d.what in (FORCE, TORQUE) for d in driven):
        yield "scene.grains must have no force and no torque of their own"
    elif driven and moves.all():
        yield "scene.grains must have no driven_spin"
    if (model.carrier != np.arange(model.bodies)).any():
        yield "nothing may be glued to a wall (leave out glued_to)"


def _of_walls(model: Model) -> Iterator[str]:
    n, across, bodies = model.n, model.periodic > 0.0, np.arange(model.bodies)
    for w, name in enumerate(model.wall_names):
        kind, body = int(model.wall_kind[w]), n + w
        if kind in _EDGED:
            yield f"wall {name!r} must not be {_EDGED[kind]} (planes and cylinders are carried)"
        loaded = any(p.body == body for p in model.pressures)
        loaded |= any(d.what in (FORCE, TORQUE) and body in bodies[d.bodies] for d in model.drives)
        if loaded or model.inv_mass[body].any() or model.inv_inertia[body].any():
            yield f"wall {name!r} must be fixed or driven, not a piston that loads move"
        # beyond the axes along which it stays itself, a round wall has images
        along = np.abs(model.wall_axis[w]) if model.dim == 3 else np.zeros(2)
        if kind in ROUND and (across & (along < 1.0 - 1e-12)).any():
            yield f"wall {name!r} must be periodic along its own axis alone, since it is round"


@jit
def _sweeping(kind, offset, axis, spin, n):  # type: ignore[no-untyped-def]
    """The first wall that turns and does not stay where it is, else −1."""
    for w in range(kind.size):
        turns = False
        for a in range(spin.shape[1]):
            turns |= spin[n + w, a] != 0.0
        if turns and not stays(kind, offset, axis, spin, n + w, w):
            return w
    return -1


def refuse_sweeping(model: Model, state: State) -> None:
    """Refuse walls that turn otherwise than in themselves."""
    if not state.spin[model.n :].any():
        return
    w = int(_sweeping(model.wall_kind, model.wall_offset, model.wall_axis, state.spin, model.n))
    if w >= 0:
        raise InputError(
            f"with the engine 'event-driven' wall {model.wall_names[w]!r} must not turn, unless it"
            f" is a {'plane about its normal' if model.wall_kind[w] == PLANE else 'cylinder'}"
            f"{' or a cylinder' if model.wall_kind[w] == PLANE else ''} about its axis"
        )
