"""Figs 8 and 9 drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.inertia_case import FIG9, HIGH
from hardgrain.theory import array as theory

__all__ = ["fig8", "fig9"]


def fig8(lines: Pieces) -> Any:
    figure, (left, right) = new_figure(1, 2, width_ratios=[1.4, 1.0])
    for axes in (left, right):
        axes.axhline(FIG9["mu_plane"], color=GREY, lw=0.8, ls=":")
        axes.plot([FIG9["brake"], lines.drive[0]], [0.0, lines.friction[0]], color=GREY, lw=1)
        axes.plot(lines.drive, lines.friction, color=COLOURS[1])
        axes.plot(lines.drive[1:-1], lines.friction[1:-1], ".", ms=3.5, color=COLOURS[0],
                  label="a contact changes its state")  # fmt: skip
        axes.set(xlabel="driving force $N_L$ [weight of a disk]")
    left.annotate("µ'", (0.2, FIG9["mu_plane"]), (0, 3), textcoords="offset points", color=GREY)
    left.set(ylabel="global friction $µ_g$", xlim=(0, HIGH), ylim=(0, 0.108))
    left.legend(loc="lower right")
    right.set(xlim=(6.5, HIGH), ylim=(0.0985, 0.10022), title="the end, enlarged")
    return figure


def fig9(lines: Pieces, modes: NDArray[np.int_], changes: dict[str, Any]) -> Any:
    figure, panels = new_figure(2, 2, width_ratios=[1.4, 1.0], height=2.9)
    slides = lines.states[:, -2] != STICKS
    # the curve without spikes, for a block without friction
    smooth = np.full((slides.size, 2), np.nan)
    smooth[slides] = [
        theory.moving_array(rolling=int(k), **FIG9 | {"mu_block": 0.0}) for k in modes[slides, 0]
    ]
    for row, (values, label) in enumerate((
        (lines.effective_friction, "effective friction $µ_e$"),
        (lines.inertia, "effective inertia $m_e$ [mass of a disk]"),
    )):  # fmt: skip
        for axes in panels[row]:
            axes.stairs(values, lines.acceleration, baseline=None, color=COLOURS[1], lw=1.2)
            axes.stairs(smooth[:, 1 - row], lines.acceleration, baseline=None, color=COLOURS[2],
                        lw=1, ls="--", label="closed form for µ'' = 0")  # fmt: skip
            axes.set(xlabel="acceleration v̇ [g]")
        panels[row, 0].set(ylabel=label, xlim=(0.0, float(lines.acceleration[-1])))
        panels[row, 1].set(xlim=(0.046, 0.068))
    panels[0, 0].legend(loc="lower right")
    panels[1, 0].legend(loc="upper right")
    panels[1, 0].axhline(FIG9["particles"], color=GREY, lw=0.8, ls=":")
    panels[0, 0].axhline(FIG9["mu_plane"], color=GREY, lw=0.8, ls=":")
    panels[0, 1].set(ylim=(0.062, 0.092), title="enlarged: steps and spikes")
    panels[1, 1].set(ylim=(29.0, 47.0))
    v, kind = changes["acceleration"], np.array(changes["kind"])
    handles = []
    for what, marker, colour, label in (
        ("plane", "^", COLOURS[0], "change at the plane"),
        ("disks", "o", COLOURS[3], "between disks"),
        ("block", "s", COLOURS[4], "at the block"),
    ):
        x = v[kind == what]
        handles += panels[1, 1].plot(x, np.full(x.size, 29.8), marker, color=colour, label=label)
    panels[1, 1].legend(handles=handles, loc="upper right")
    return figure
