"""Figures of the biaxial test."""

from __future__ import annotations

from typing import Any

from hardgrain.papers.cegeo2012.sample import eta, name
from hardgrain.papers.figures import COLOURS, GREY, new_figure

__all__ = ["anisotropies", "curves", "strength"]

ETA = r"$\eta = 1 - \cos(\pi/\mathrm{sides})$"


def strength(table: dict[str, Any], others: dict[int, float]) -> Any:
    """Strength, density and contacts against η."""
    figure, axes = new_figure(columns=3, width=3.6)
    x = table["eta"]
    panels = (
        ([("sine", 1, "measured")], r"$\sin\phi^*$"),
        ([("density", 1, "")], "packing fraction"),
        ([("pairs", 2, "neighbours"), ("points", 1, "contact points")], "number of a grain"),
    )
    for panel, (series, label) in zip(axes, panels):
        for field, colour, words in series:
            panel.errorbar(
                x, table[field], table[f"{field}_error"], fmt="o", color=COLOURS[colour],
                label=words or None,
            )  # fmt: skip
        panel.set(xlabel=ETA, ylabel=label)
    axes[0].plot(
        [eta(k) for k in others], list(others.values()), "x", color=COLOURS[2],
        label="Krengel et al. (2023)",
    )  # fmt: skip
    axes[0].axhspan(0.25, 0.55, color=GREY, alpha=0.15, lw=0.0, label="range of the paper's Fig. 4")
    # room for the legend below, and for the whole of every bar
    bars = list(zip(table["sine"], table["sine_error"]))
    low, high = min(v - e for v, e in bars), max(v + e for v, e in bars)
    axes[0].set_ylim(min(0.03, low - 0.02), max(0.6, high + 0.02))
    axes[0].legend(loc="lower right")
    axes[2].legend(loc="center right")
    return figure


def curves(course: dict[str, Any], shapes: tuple[int, ...]) -> Any:
    """Stress ratio and density over strain."""
    figure, axes = new_figure(columns=2)
    for k, colour in zip(shapes, COLOURS):
        for panel, field in zip(axes, ("sine", "density")):
            panel.plot(course["strain"], course[f"{field}_{k}"], color=colour, label=name(k))
    for panel, label in zip(axes, (r"$\sin\phi$", "packing fraction")):
        panel.set(xlabel="axial strain", ylabel=label)
    axes[0].set_ylim(bottom=0.0)
    axes[0].legend(loc="lower center", ncols=3)
    return figure


def anisotropies(table: dict[str, Any]) -> Any:
    """Where the strength comes from: anisotropies in the frame of the branches."""
    figure, axes = new_figure()
    x = table["eta"]
    for field, colour, words in (
        ("branch", 1, "directions $a_c$"),
        ("branch_normal", 2, "normal forces $a_n$"),
        ("branch_tangential", 3, "tangential forces $a_t$"),
        ("branch_length", 4, "lengths $a_l$"),
    ):
        axes.errorbar(
            x, table[field], table[f"{field}_error"], fmt="o-", lw=0.8, color=COLOURS[colour],
            label=words,
        )  # fmt: skip
    axes.plot(x, table["sine"], "k_", ms=9, label="$q/p$")
    axes.set(xlabel=ETA, ylabel="anisotropy, in the frame of branches")
    axes.set_ylim(-0.08, 0.85)
    axes.legend(loc="upper right", ncols=2)
    return figure
