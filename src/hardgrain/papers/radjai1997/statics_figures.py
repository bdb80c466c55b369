"""Pictures of the static limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.statics_cases import DYNAMIC, PER_DISK, STATIC, rows_of
from hardgrain.theory import array as theory

__all__ = ["figure_difference", "figure_limits"]


def figure_limits(tables: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.8)
    for case, colour, marker in ((DYNAMIC, COLOURS[1], "o"), (STATIC, COLOURS[2], "s")):
        t = rows_of(tables["limits"], case)
        name = f"µ = {case[1]:g}, µ' = {case[2]:g}"
        left.loglog(t["particles"], t["friction_rest"], marker, color=colour, mfc="none",
                    label=f"{name}: greatest at rest")  # fmt: skip
        left.loglog(
            t["particles"], t["friction_beginning"], ".", color=colour, label="as motion begins"
        )
        left.loglog(
            t["particles"], t["friction_11"], color=colour, lw=0.8, label="(8), (11) as printed"
        )
        left.axhline(case[2], color=GREY, lw=0.8, ls=":")
    left.set(xlabel="L", ylabel="µ$_g$ at v̇ = 0")
    left.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    t = tables["length"]
    right.semilogx(
        t["particles"], t["friction"], "o", color=COLOURS[3], label=f"N$_L$ = {PER_DISK:g} L"
    )
    t = rows_of(tables["limits"], DYNAMIC)
    right.semilogx(t["particles"], t["friction_rest"], "o", color=COLOURS[1], mfc="none",
                   label="greatest at rest")  # fmt: skip
    right.axhline(DYNAMIC[2], color=GREY, lw=0.8, ls=":")
    right.annotate("µ'", (2.0, DYNAMIC[2]), (0, -10), textcoords="offset points", color=GREY)
    right.set(xlabel="L", ylabel="µ$_g$")
    right.legend()
    return figure


def figure_difference(tables: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.8)
    h, d = tables["hysteresis"], tables["difference"]
    n = np.arange(2, 31)
    brake, mu, _, block = DYNAMIC
    for name, coefficient, colour, marker in (
        ("start", STATIC[1], COLOURS[2], "s"),
        ("stop", mu, COLOURS[1], "o"),
    ):
        left.semilogy(
            h["particles"], h[name], marker, color=colour, mfc="none", label=f"runs {name}"
        )
        line = np.array([theory.least_drive(int(k), brake, coefficient, block) for k in n])
        left.semilogy(n[line < 20], line[line < 20], color=colour, lw=0.8,
                      label=f"all roll, µ = {coefficient:g}")  # fmt: skip
    left.set(xlabel="L", ylabel="N$_L$ [m g]")
    left.legend()
    right.loglog(d["particles"], d["difference"], "o", color=COLOURS[0], label="exact", mfc="none")
    right.loglog(
        d["particles"], d["difference_11"], color=COLOURS[3], lw=0.8, label="(8), (11) as printed"
    )
    right.axhline(STATIC[2] - DYNAMIC[2], color=GREY, lw=0.8, ls=":")
    right.annotate("µ'$_s$ − µ'$_d$", (2.0, STATIC[2] - DYNAMIC[2]), (0, -12),
                   textcoords="offset points", color=GREY)  # fmt: skip
    right.set(xlabel="L", ylabel="µ$_g^s$ − µ$_g^d$")
    right.legend(loc="lower right")
    return figure
