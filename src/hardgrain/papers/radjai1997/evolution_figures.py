"""Figs 3 and 4 as tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.experiment import Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.papers.radjai1997 import two_coefficients as c2
from hardgrain.papers.radjai1997.array import evolve
from hardgrain.papers.radjai1997.exact.events import History
from hardgrain.papers.radjai1997.scene import ArrayMotion
from hardgrain.papers.radjai1997.starts import (
    FIG3,
    STEADY,
    StartPath,
    start,
)

__all__ = ["TYPICAL", "add_tables", "fig3", "fig4"]

TYPICAL = 8  # seed of the start of Fig. 3: no contact opens, C2 ends elsewhere


def add_tables(
    outcome: Outcome, paths: list[StartPath], typical: tuple[ArrayMotion, History]
) -> None:
    outcome.tables["starts"] = {
        "seed": range(len(paths)),
        "v0": [start(seed)[1] for seed in range(len(paths))],
        "events": [p.time.size - 1 for p in paths],
        "first": [p.friction[0] for p in paths],
        "maximum": [p.friction.max() for p in paths],
        "time_of_maximum": [p.time[p.top] for p in paths],
        "steady": [p.friction[-1] for p in paths],
        "time_of_steady": [p.time[-1] for p in paths],
        "lost": [len(p.lost) for p in paths],
        "sticks": [p.stays.begun.size for p in paths],
        "metastable": [int(p.stays.metastable.sum()) for p in paths],
        "reversals": [p.reversals.size for p in paths],
        "remembered_at_top": [p.remembered[p.top] for p in paths],
        "remembered": [p.remembered[-1] for p in paths],
    }  # fmt: skip
    motion, exact = typical
    two = _typical_c2()
    outcome.tables["fig3"] = {
        "time": motion.time,
        "C1": exact.friction_at(motion.time),
        "C2_stick": two.friction_at(motion.time),
        "RC1": motion.friction,
    }


def _typical_c2() -> History:
    """The start of Fig. 3 under C2."""
    return evolve(*FIG3, *start(TYPICAL), **c2.static(c2.ALPHA, "stick"), keep_closed=True)


def _steps(axes: Any, time: Floats, friction: Floats, until: float, **look: Any) -> None:
    """A piecewise constant path, its last value held."""
    axes.plot([*time, max(until, time[-1])], [*friction, friction[-1]], drawstyle="steps-post",
              **look)  # fmt: skip


def fig3(typical: tuple[ArrayMotion, History]) -> Any:
    motion, exact = typical
    figure, (left, right) = new_figure(1, 2, width_ratios=[1.7, 1.0], width=4.6)
    two = _typical_c2()
    until = float(motion.time[-1])
    for axes in (left, right):
        axes.plot(motion.time, motion.friction, color=COLOURS[5], lw=1.0, label="RC1, MD")
        _steps(axes, exact.time, exact.friction, until, color=COLOURS[0], label="C1, exact")
        _steps(axes, two.time, two.friction, until, color=COLOURS[1], ls="--",
               label=f'C2, α = {c2.ALPHA:g}, "stick"')  # fmt: skip
        axes.set(xlabel="time [√(r/g)]")
    left.set(ylabel="global friction µ$_g$", xlim=(0.0, until), ylim=(0.03, 0.2))
    left.legend(loc="lower right")
    right.set(xlim=(0.0, 0.15), ylim=(0.03, 0.13), xticks=(0.0, 0.05, 0.1, 0.15))
    return figure


def fig4(
    paths: list[StartPath],
    soft: dict[int, tuple[ArrayMotion, History]],
    two: dict[str, list[StartPath]],
) -> Any:
    figure, axes = new_figure(2, 2, width=4.4, height=3.1, sharex=True, sharey=True)
    first, last = 2e-2, 60.0
    (a, b), (c, d) = axes
    for panel, title, shown in (
        (a, "(a) C1", paths),
        (c, f'(c) C2, α = {c2.ALPHA:g}, "random"', two["random"]),
        (d, f'(d) C2, α = {c2.ALPHA:g}, "stick"', two["stick"]),
    ):
        for k, p in enumerate(shown[:40]):
            at = np.maximum(p.time, first / 2.0)
            _steps(panel, at, p.friction, last, color=COLOURS[1 + k % 6], lw=0.6, alpha=0.8)
        panel.set(title=title)
    for k, (motion, _) in enumerate(soft.values()):
        b.plot(motion.time, motion.friction, color=COLOURS[1 + k % 6], lw=0.6, alpha=0.8)
        ends = (motion.time[-1], last)
        b.plot(ends, [motion.friction[-1]] * 2, color=COLOURS[1 + k % 6], lw=0.6)
    b.set(title="(b) RC1, MD")
    for panel in axes.flat:
        panel.axhline(STEADY, color=GREY, lw=0.8, ls=":")
        panel.set(xscale="log", xlim=(first, last), ylim=(-0.1, 0.26))
    for panel in (c, d):
        panel.set(xlabel="time [√(r/g)]")
    for panel in (a, c):
        panel.set(ylabel="global friction µ$_g$")
    return figure
