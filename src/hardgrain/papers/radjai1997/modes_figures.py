"""Figs 5 to 7 drawn, and what goes with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.modes_case import COEFFICIENTS, PRINTED, REPAIRED, eta_plane
from hardgrain.theory import array as theory

__all__ = ["fig5", "fig6", "fig7", "figure_bands", "figure_lengths", "figure_mobilisation"]

_SHADES = ("#dbe9f6", "#fbe3d6", "#dcefe6")


def _shade(axes: Any, modes: tuple[int, int, int], label: bool = True) -> None:
    edge = 0.5
    for k, count in enumerate(modes):
        axes.axvspan(edge, edge + count, color=_SHADES[k], lw=0, zorder=0)
        if label:
            axes.annotate(f"mode {k + 1}", (edge + 0.5 * count, 1.0), (0, 3),
                          xycoords=("data", "axes fraction"), textcoords="offset points",
                          ha="center", fontsize=8, color=GREY)  # fmt: skip
        edge += count
    axes.set_xlim(-1, sum(modes) + 1)


def fig5(found: ArraySolution) -> Any:
    figure, axes = new_figure(1, 1, width=6.0)
    v, omega = found.acceleration, found.angular_acceleration
    _shade(axes, found.modes)
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.plot(np.arange(omega.size + 1), [v, *omega], "o", ms=3, color=COLOURS[1])
    first, second, _ = found.modes
    mu, mu_plane = REPAIRED["mu"], REPAIRED["mu_plane"]
    step = theory.sliding_friction(mu, mu_plane) + theory.sliding_inertia(1, mu, mu_plane) * v
    i = np.arange(first + 1, first + second + 1)
    fall = 2.0 * mu * step / found.array.inertia
    axes.plot([0, first], [v, v], color=COLOURS[2], lw=1)
    axes.plot(i, omega[first] - fall * (i - i[0]), color=COLOURS[2], lw=1, label="closed forms")
    axes.annotate("ω̇(0) = v̇", (0, v), (6, -12), textcoords="offset points", fontsize=8)
    axes.set(xlabel="disk i (0: the array)", ylabel="angular acceleration ω̇ [g/r]")
    axes.legend(loc="upper right")
    return figure


def fig6(found: ArraySolution) -> Any:
    figure, (left, right) = new_figure(1, 2)
    n = found.array.particles
    for axes in (left, right):
        _shade(axes, found.modes)
    left.plot(np.arange(n + 1), found.normal, "o", ms=3, color=COLOURS[1])
    right.plot(np.arange(1, n + 1), found.normal_plane, "o", ms=3, color=COLOURS[1])
    left.set(xlabel="contact i", ylabel="N between disks [weight of a disk]")
    right.set(xlabel="disk i", ylabel="N' on the plane [weight of a disk]")
    return figure


def fig7(found: ArraySolution) -> Any:
    figure, (left, right) = new_figure(1, 2)
    n = found.array.particles
    for axes in (left, right):
        _shade(axes, found.modes)
    i, j = np.arange(n + 1), np.arange(1, n + 1)
    limit = found.slide[0::2] * found.normal
    left.plot(i, limit, color=COLOURS[2], lw=1, label="Coulomb's limit µN (blocks: µ''N)")
    left.plot(i, found.tangential, "o", ms=3, color=COLOURS[1], label="T")
    left.axhline(0.5 * REPAIRED["mu_plane"], color=GREY, lw=0.8, ls=":")
    left.annotate("µ'/2", (1, 0.5 * REPAIRED["mu_plane"]), (0, 3), textcoords="offset points",
                  fontsize=8, color=GREY)  # fmt: skip
    right.plot(j, found.slide[1::2] * found.normal_plane, color=COLOURS[2], lw=1,
               label="Coulomb's limit µ'N'")  # fmt: skip
    right.plot(j, found.tangential_plane, "o", ms=3, color=COLOURS[1], label="T'")
    left.set(xlabel="contact i", ylabel="T between disks [weight of a disk]")
    right.set(xlabel="disk i", ylabel="T' on the plane [weight of a disk]")
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    return figure


def figure_mobilisation(found: ArraySolution) -> Any:
    figure, axes = new_figure(1, 1, width=6.0)
    first = found.modes[0]
    _shade(axes, found.modes)
    n, v = found.array.particles, found.acceleration
    side = np.abs(found.tangential) / (found.slide[0::2] * found.normal)
    axes.plot(np.arange(n + 1), side, "s", ms=3, color=COLOURS[3], label="between disks, blocks")
    axes.plot(np.arange(1, n + 1), eta_plane(found), "o", ms=3, color=COLOURS[1],
              label="on the plane")  # fmt: skip
    eta = theory.rolling_mobilisation(first + 2, v, **{k: REPAIRED[k] for k in COEFFICIENTS})
    axes.plot(np.arange(1, first + 2), eta[:-1], color=COLOURS[2], lw=1, label="if all roll")
    axes.set(xlabel="disk or contact i", ylabel="mobilisation η = |T|/µN", yscale="log")
    axes.set_yticks([0.2, 0.3, 0.5, 1.0], ["0.2", "0.3", "0.5", "1"])
    axes.set_yticks([], minor=True)
    axes.legend(loc="lower left")
    return figure


def figure_bands(table: Any) -> Any:
    figure, panels = new_figure(2, 2, height=2.7)
    i = np.asarray(table["i"])
    labels = {"N": "N between disks", "N_plane": "N' on the plane", "T": "T between disks",
              "T_plane": "T' on the plane"}  # fmt: skip
    for axes, (name, label) in zip(panels.flat, labels.items()):
        axes.fill_between(i, table[f"{name}_least"], table[f"{name}_greatest"],
                          color=COLOURS[6], alpha=0.6, lw=0)  # fmt: skip
        axes.set(xlabel="disk i" if name.endswith("plane") else "contact i",
                 ylabel=f"{label} [weight]")  # fmt: skip
    panels[0, 0].axhline(PRINTED["drive"], color=GREY, lw=0.8, ls=":")
    panels[0, 0].annotate("N_L", (1, PRINTED["drive"]), (0, 3), textcoords="offset points",
                          fontsize=8, color=GREY)  # fmt: skip
    figure.suptitle("as printed, N_L = 1.4: at rest; forces that are possible", fontsize=10)
    return figure


def figure_lengths(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    sizes = np.unique(table["particles"])
    for size, style in zip(sizes, (":", "-")):
        t = {name: column[table["particles"] == size] for name, column in table.items()}
        edges = np.append(t["begin"], t["end"][-1:])
        for axes, y, colour, what in (
            (left, t["L_1"], COLOURS[1], "$L_1$"),
            (left, t["L_1"] + t["L_2"], COLOURS[2], "$L_1 + L_2$"),
            (right, np.where(t["L_3"] > 0, t["L_2"], np.nan), COLOURS[3], "$L_2$"),
        ):
            axes.stairs(y, edges, baseline=None, color=colour, ls=style, lw=1.4,
                        label=f"{what}, {size} disks")  # fmt: skip
    v = np.geomspace(1e-4, 0.05, 400)
    case = {k: REPAIRED[k] for k in COEFFICIENTS}
    rolling = np.array([theory.rolling_length(x, **case) for x in v])
    sliding = np.array([theory.sliding_length(x, case["mu"], case["mu_plane"]) for x in v])
    left.plot(v, rolling, color="k", lw=0.6, label="closed form of $L_1$")
    right.plot(v[rolling > 0], sliding[rolling > 0], color="k", lw=0.8,
               label="closed form, to two disks")  # fmt: skip
    left.set(ylabel="disks", ylim=(0, 1.6 * sizes[0]))
    right.set(ylabel="disks in mode 2")
    for axes in (left, right):
        axes.set(xlabel="acceleration v̇ [g]", xlim=(0.0, 0.042))
        axes.legend()
    return figure
