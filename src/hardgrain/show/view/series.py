"""History of a run as curves of few points, with a cursor at the present moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from hardgrain.core.model import Floats

__all__ = ["Curve", "curve", "names"]

POINTS = 500  # [points] most of a curve, as many as a panel is wide in pixels
FIRST = ("kinetic", "residual", "loaded", "sweeps", "worst_overlap", "fastest")
NEVER = ("step", "time", "converged")

Curve = tuple[Floats, Floats, Floats]  # time, value, cursor; NaN where there is nothing to draw


def names(history: Iterable[str]) -> list[str]:
    """Columns to choose from, the usual ones first."""
    known = list(history)
    first = [name for name in FIRST if name in known]
    walls = [name for name in known if name.startswith("force_")]
    rest = [name for name in known if name not in {*first, *walls, *NEVER}]
    return first + walls + rest


def curve(history: Mapping[str, Floats], name: str, now: float, log: bool = False) -> Curve:
    """A column over time, or its decimal logarithm, and a vertical line at the time ``now``.

    The line is a second curve over the same times, in which ``now`` stands twice: it runs from 0
    to 1 there, on a scale of its own.
    """
    time, value = history["time"], history[name]
    if time.size > POINTS:
        pick = np.unique(np.linspace(0, time.size - 1, POINTS).astype(int))
        time, value = time[pick], value[pick]
    if log:
        value = np.log10(np.where(value > 0.0, value, np.nan))
    here = int(np.searchsorted(time, now))
    level = float(np.interp(now, time, value)) if time.size else np.nan
    time, value = (
        np.concatenate([a[:here], np.full(2, b), a[here:]])
        for a, b in ((time, now), (value, level))
    )
    cursor = np.full(time.size, np.nan)
    cursor[here : here + 2] = 0.0, 1.0
    return time, value, cursor
