"""The sweeps under their former name and with their former arguments; see `hardgrain.cpu.sweep`."""

from __future__ import annotations

from hardgrain.cpu import sweep
from hardgrain.cpu.sweep import BLOCK, fastest, residual
from hardgrain.kernels import jit
from hardgrain.point.order import Visits
from hardgrain.point.stopping import GLOBAL, LOCAL, RESIDUAL, SWEEPS, Until

__all__ = ["BLOCK", "GLOBAL", "LOCAL", "RESIDUAL", "SWEEPS", "fastest", "relax", "residual"]

_relax = sweep.relax


@jit
def relax(
    p, order, starts, relaxation, scheme, seed, step, rule, sweeps, tolerance, cutoff, unseen, paths
):  # fmt: skip
    """Sweep until the rule is met; returns (sweeps done, rule met)."""
    until = Until(rule, sweeps, tolerance, cutoff, unseen)
    return _relax(p, order, starts, relaxation, Visits(scheme, seed, step), until, paths)
