"""Figs 10 and 11 drawn, and what goes with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.array import steady_state
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.indeterminate_case import (
    BEST,
    FIG3,
    FIG10,
    OUTSIDE,
    PRINTED,
    SIZE,
    SIZES,
)

__all__ = ["fig10", "fig11", "figure_members", "figure_others"]


def fig10(lines: Pieces, window: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.8)
    for k, unique in enumerate(lines.determinate):
        v, mu_e = lines.acceleration[k : k + 2], lines.effective_friction[k]
        for axes in (left, right):
            axes.plot(v, [mu_e, mu_e], color=COLOURS[0], lw=1.8 if unique else 0.0)
    edges = window["acceleration_least"][0], window["acceleration_least"][-1]
    looks = (("least", "C1, least v̇", COLOURS[1], "-"),
             ("greatest", "C1, greatest v̇", COLOURS[2], "-"),
             ("rc1", "RC1", COLOURS[3], "--"))  # fmt: skip
    for axes in (left, right):
        axes.axvspan(*edges, color=GREY, alpha=0.2, lw=0)
        for which, label, colour, dashes in looks:
            axes.plot(window[f"acceleration_{which}"], window[f"effective_friction_{which}"],
                      dashes, color=colour, drawstyle="steps-mid", label=label)  # fmt: skip
        axes.set(xlabel="v̇ [g]", ylabel="µ$_e$")
    right.set(xlim=(0.015, 0.12), ylim=(0.0, 0.27))
    left.set(xlim=(0.0, 0.7))
    right.legend(loc="lower right", title="in the window (grey)", title_fontsize=8)
    return figure


def fig11() -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.0)
    disks = np.arange(SIZE + 1)
    for axes, drives in ((left, (1.0, PRINTED)), (right, (BEST, OUTSIDE[-1]))):
        for drive, colour, marker in zip(drives, (COLOURS[1], COLOURS[2]), "os"):
            found = steady_state(SIZE, drive, *FIG10)
            spans = np.array([found.acceleration_range, *found.angular_acceleration_range])
            axes.vlines(disks, *spans.T, color=colour, lw=3, alpha=0.5)
            axes.plot(disks, spans.mean(axis=1), marker, color=colour, lw=0.8, ls=":",
                      label=f"N$_L$ = {drive:g}{'' if found.unique else ', range'}")  # fmt: skip
        axes.axhline(0.0, color=GREY, lw=0.8)
        axes.set(xlabel="disk (0: the array)", ylabel="ω̇ [g/r]")
        axes.margins(y=0.2)
        axes.legend(loc="upper center", ncols=2)
    return figure


def figure_members(tables: dict[str, Any]) -> Any:
    """Draw v̇ over N_L, and where in its range the methods are."""
    figure, (left, right) = new_figure(1, 2, width=4.8)
    t, picks = tables["window"], tables["members"]
    left.fill_between(t["drive"], t["acceleration_least"], t["acceleration_greatest"],
                      color=COLOURS[6], alpha=0.5, lw=0, label="C1")  # fmt: skip
    left.plot(t["drive"], t["acceleration_rc1"], "--", color=COLOURS[3], label="RC1")
    for low, high in ((0.97, t["drive"][0]), (t["drive"][-1], 1.6)):
        at = np.linspace(low, high, 9)
        v = [steady_state(SIZE, d, *FIG10).acceleration for d in at]
        left.plot(at, v, color=COLOURS[1], label="C1, unique" if low < 1.0 else None)
    left.axvline(PRINTED, color=GREY, lw=0.8, ls=":")
    left.set(xlabel="N$_L$ [m g]", ylabel="v̇ [g]")
    left.legend()
    wide = picks["greatest"] - picks["least"] > 1e-6
    soft, start = np.isfinite(picks["sliding"]), picks["speed"] > 0.0
    for mine, shift, colour, marker, label in (
        (~soft & ~start, -0.012, COLOURS[1], "o", "contact dynamics, from rest"),
        (~soft & start, 0.0, COLOURS[2], "s", "contact dynamics, random starts"),
        (soft, 0.012, COLOURS[3], "^", "MD"),
    ):
        k = mine & wide
        share = (picks["acceleration"][k] - picks["least"][k]) / (
            picks["greatest"] - picks["least"]
        )[k]
        right.plot(picks["drive"][k] + shift, share, marker, color=colour, mfc="none", label=label)
    right.plot(t["drive"], (t["acceleration_rc1"] - t["acceleration_least"])
               / (t["acceleration_greatest"] - t["acceleration_least"]), "--", color=COLOURS[3],
               label="RC1, exact")  # fmt: skip
    right.set(xlabel="N$_L$ [m g]", ylabel="place of v̇ in C1's range", ylim=(-0.05, 1.05))
    right.legend(loc="upper right")
    return figure


def figure_others(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, sharey=True)
    for axes, case, name in ((left, FIG10, "Figs 10, 11"), (right, FIG3, "Fig. 3")):
        mine = table["mu"] == case[1]
        for column, label, colour, marker in (
            ("loops", "closed loops", COLOURS[1], "o"),
            ("several", "several sets of states", COLOURS[2], "s"),
            ("either", "either", COLOURS[0], "."),
        ):
            axes.plot(table["particles"][mine], 100.0 * table[column][mine], marker, color=colour,
                      ls=":", lw=0.8, mfc="none", label=label)  # fmt: skip
        axes.set_title(f"coefficients of {name}: µ = {case[1]:g}, µ' = {case[2]:g}")
        axes.set(xlabel="L", xticks=SIZES[1::4])
    left.set(ylabel="driving forces without a unique solution [%]")
    left.legend()
    return figure
