"""What several processes cannot share yet, said in one sentence before a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.core.model import Model
from hardgrain.errors import InputError
from hardgrain.processes import world
from hardgrain.solve.solver import Solver
from hardgrain.step.engine import RigidGrains

__all__ = ["cannot_share", "refuse_shared"]


def refuse_shared(model: Model, solver: Solver, settings: Any) -> None:
    """As `cannot_share`, in all processes at once; the first one alone knows the grains."""
    world().on_first(lambda: cannot_share(model, solver, settings))


def cannot_share(model: Model, solver: Solver, settings: Any) -> None:
    """Say in one sentence what several processes do not carry yet."""
    order = getattr(solver, "order", None)
    rigid = isinstance(settings, RigidGrains)
    refused = {
        f"engine.kind = {settings.kind!r} (contact-dynamics is valid)": not rigid,
        f"engine.device = {getattr(settings, 'device', '')!r} (cpu is valid)": rigid
        and settings.device == "cuda",
        "engine.geometry = 'end'": rigid and settings.geometry == "end",
        f"solver.kind = {getattr(solver, 'kind', '?')!r} (gauss-seidel and rigid are valid)": rigid
        and order is None,
        "grains that are not round, or walls that are meshes": not model.round,
        "scene.contact_rule": model.rule is not None,
        "bodies glued to walls": bool((model.carrier != np.arange(model.bodies)).any()),
        "locks": bool(model.locks),
        "scene.cell": model.cell >= 0,
        "elastic grains": model.elastic is not None,
        "scene.membrane": model.membrane is not None,
        "fewer than two grains": model.n < 2,
    }
    what = next((what for what, there in refused.items() if there), None)
    if what is not None:
        raise InputError(f"several processes cannot share {what}; run it without mpiexec")
    if rigid and order != "tiles":
        raise InputError(
            f"several processes cannot share solver.order = {order!r}; give [solver] with"
            f" {_in_tiles(solver)}, or run it without mpiexec"
        )


def _in_tiles(solver: Solver) -> str:
    """The fields of a solver, as a scenario gives them, with sweeps in tiles."""
    kind = getattr(solver, "kind", "gauss-seidel")
    given = {"kind": kind, **solver.model_dump(exclude_unset=True), "order": "tiles"}
    *fields, last = (f"{name} = {value!r}" for name, value in given.items())
    return f"{', '.join(fields)} and {last}"
