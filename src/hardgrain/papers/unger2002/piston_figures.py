"""Pictures of packings that ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.unger2002.packing import (
    DT,
)
from hardgrain.theory import chain as theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from hardgrain.papers.unger2002.piston_ringing import Measured, Plan

__all__ = ["ringing", "scaling"]

_LOOK = {"piston": (COLOURS[1], "o"), "transverse": (COLOURS[2], "s")}


def ringing(modes: dict[str, list[Measured]], plan: Plan) -> Figure:
    """Displacement over time, dots, and the fitted curve: the manner of the paper's Fig. 6."""
    figure, axes = new_figure(1, 2, width=5.0)
    what = {
        "piston": "height of the piston  [10⁻³ d for ΔF = F]",
        "transverse": "shear amplitude  [initial speed × dt]",
    }
    for ax, (mode, found) in zip(axes, modes.items()):
        m, scale = found[0], 1e3 if mode == "piston" else 1.0 / DT
        t = np.arange(1.0, m.example.size + 1.0)
        ax.axvspan(0.0, m.begin, color=GREY, alpha=0.15, lw=0.0)
        ax.plot(t, scale * m.example, ".", color=_LOOK[mode][0], ms=4, label="measured")
        fine = np.linspace(0.0, t[-1], 1000)
        late = fine >= m.begin
        ax.plot(fine[late], scale * m.fitted(fine[late]), color=COLOURS[0], label="fitted")
        ax.plot(fine[~late], scale * m.fitted(fine[~late]), ":", color=COLOURS[0])
        first = np.abs(m.example - m.fitted.offset)
        reach = 1.15 * scale * float(first[min(3, first.size // 8) :].max())
        ax.set_ylim(scale * m.fitted.offset - reach, scale * m.fitted.offset + reach)
        ax.set(xlabel="time  [dt]", ylabel=what[mode])
        ax.set_title(f"{mode} mode, {plan.grains} grains, N_I = {m.sweeps[1]}")
        ax.legend(loc="upper right")
    return figure


def scaling(modes: dict[str, list[Measured]], plan: Plan) -> Figure:
    """Draw ω and τ against N_I, and against N_I µ₁, where all fall on one curve."""
    figure, axes = new_figure(1, 3, width=4.2, height=3.8)
    n = np.array(plan.sweeps, dtype=float)
    fine = np.geomspace(n[0] / 1.3, 1.3 * n[-1], 100)
    for mode, found in modes.items():
        colour, marker = _LOOK[mode]
        for j, m in enumerate(found):
            axes[0].loglog(n, m.omega, marker, color=colour, alpha=0.6, label="" if j else mode)
            axes[1].loglog(n, m.tau, marker, color=colour, alpha=0.6)
            x = n * m.rate_of_sweeps
            axes[2].loglog(x, m.omega, marker, color=colour, alpha=0.6)
            axes[2].loglog(x, 1.0 / m.tau, marker, color=colour, alpha=0.6, mfc="none")
        rate = float(np.median([m.rate for m in found]))
        axes[0].loglog(fine, [theory.step_frequency(rate, s) for s in fine], color=colour)
        axes[1].loglog(fine, [theory.step_damping_time(rate, s) for s in fine], color=colour)
        limit = {"ls": "--", "lw": 0.8, "color": GREY}
        axes[0].loglog(fine, np.sqrt(rate * fine), **limit)
    axes[0].plot([], [], color=COLOURS[0], label="exact map, median µ₁")
    axes[0].plot([], [], "--", color=GREY, lw=0.8, label="~ √N_I")
    rates = np.array([m.rate for found in modes.values() for m in found])
    x = np.geomspace(0.7 * n[0] * rates.min(), 1.4 * n[-1] * rates.max(), 200)
    axes[2].loglog(x, np.arccos(np.exp(-x / 2.0)), color=COLOURS[0], label="ω, exact map")
    axes[2].loglog(x, x / 2.0, color=COLOURS[3], label="1/τ, exact map")
    inside = x < 4.0
    continuum = np.sqrt(x[inside] - x[inside] ** 2 / 4.0)
    axes[2].loglog(x[inside], continuum, "--", color=GREY, lw=0.8, label="ω, continuum (18)")
    axes[2].set_ylim(0.6 * x[0] / 2.0, 3.0)
    axes[0].set(xlabel="sweeps a step, N_I", ylabel="ω  [1/dt]")
    axes[1].set(xlabel="sweeps a step, N_I", ylabel="τ  [dt]")
    axes[2].set(xlabel="N_I µ₁, with µ₁ from sweeps alone", ylabel="ω (full), 1/τ (open)  [1/dt]")
    for ax in axes[:2]:
        ax.set_xticks(plan.sweeps, [str(s) for s in plan.sweeps])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes[0].legend()
    axes[2].legend()
    return figure
