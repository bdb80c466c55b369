"""Figs 5 and 6 drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hardgrain.forces.compare import distance
from hardgrain.forces.packing import Packing
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.judge import statement
from hardgrain.papers.mcnamara2004.pipeline import (
    FAMILIES,
    BoundedPacking,
    Setup,
    everything,
    made,
)

__all__ = ["fig5", "fig6"]

MARKERS = {"CD-1": "+", "MD-1": "^", "CD-2": "x", "MD-2": "o"}
HUES = dict(zip(FAMILIES, COLOURS[1:5]))


def draw(axes: Any, p: Packing, components: Floats, title: str) -> None:
    """Disks, normal forces as lines between centres, tangential ones along the surfaces."""
    from matplotlib.collections import EllipseCollection, LineCollection

    assert p.position is not None
    n, x = p.radius.size, p.position
    size = 2.0 * p.radius
    axes.add_collection(
        EllipseCollection(
            size, size, np.zeros(n), units="xy", offsets=x[:n], offset_transform=axes.transData,
            facecolors="#f4f4f2", edgecolors="#b9b9b9", linewidths=0.4,
        )
    )  # fmt: skip
    here = x[p.first]
    at = here + p.radius[p.first, None] * p.normal
    grain = p.second < n
    there = np.where(grain[:, None], x[np.where(grain, p.second, 0)], at)
    width = 0.09 * components[:, 0] / p.unit
    axes.add_collection(
        LineCollection(list(np.stack([here, there], axis=1)), linewidths=width, color=COLOURS[1])
    )
    reach = 0.06 * components[:, 1:] / p.unit * p.tangents[:, 0]
    axes.add_collection(
        LineCollection(
            list(np.stack([at - reach, at + reach], axis=1)), linewidths=0.9, color=COLOURS[2]
        )
    )
    right = float((x[:n, 0] + p.radius).max())
    top = float((x[:n, 1] + p.radius).max())
    axes.plot([0.0, 0.0, right, right], [top, 0.0, 0.0, top], color=GREY, lw=1.0)
    axes.set(xlim=(-0.5, right + 0.5), ylim=(-0.5, top + 0.5), aspect="equal", title=title)
    axes.set_axis_off()


def _largest(setup: Setup) -> tuple[Floats, float, float]:
    """The extremal state of greatest norm, how far CD-1 is from MD-2, and it from the nearer."""
    cd, md = made(setup, "CD-1"), made(setup, "MD-2")
    high = ForceSpace(cd).extremal("vertex").high
    norm = np.sqrt(np.square(high).sum(axis=(2, 3)))
    largest: Floats = high[np.unravel_index(int(np.nanargmax(norm)), norm.shape)]
    extreme = replace(cd, force=np.einsum("kea,ke->ka", cd.frame, largest))
    return largest, distance(cd, md), min(distance(extreme, other) for other in (cd, md))


def fig5(outcome: Outcome, found: dict[str, list[BoundedPacking]], seeds: int) -> Any:
    setups = [f.setup for f in found["CD-1"][:seeds]]
    states = everything(_largest, setups, "extremal states of greatest norm")
    ratio = [apart / far for _, apart, far in states]
    text = "distance of CD-1 from MD-2 over that of the extremal state of greatest norm from either"
    words = "closer together than either one with the extremal state"
    if seeds > 1:
        outcome.claims.append(
            statement(text, mean_and_error(ratio), seeds, words, beyond=1.0, side="at most",
                      note=f"from {min(ratio):.2f} to {max(ratio):.2f}")
        )  # fmt: skip
    else:
        outcome.claims.append(
            Claim(f"{text}, the packing of Fig. 5", ratio[0],
                  paper=Expected(1.0, 0.0, "exact", words, side="at most"))
        )  # fmt: skip
    cd, md = found["CD-1"][0].packing, found["MD-2"][0].packing
    figure, axes = new_figure(1, 3, width=3.0, height=5.0)
    draw(axes[0], cd, cd.components, f"ours: CD-1, M = {cd.contacts}\n(paper's example: 160)")
    draw(axes[1], md, md.components, f"ours: MD-2, M = {md.contacts}\n(paper's example: 166)")
    draw(axes[2], cd, states[0][0], "ours: extremal,\ngreatest norm")
    return figure


def fig6(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    for family in FAMILIES:
        mine = table["family"] == family
        style: dict[str, Any] = {
            "color": HUES[family],
            "label": f"ours: {family}",
            "ls": "",
            "marker": MARKERS[family],
        }
        style |= {"markerfacecolor": "none", "ms": 5}
        left.plot(table["contacts"][mine], table["dimension"][mine], **style)
        right.plot(table["dimension"][mine], table["sliding"][mine], **style)
    m = np.array([table["contacts"].min() - 1, table["contacts"].max() + 1])
    grains = int(np.median(table["grains"]))
    left.plot(
        m, 2 * m - 3 * grains, color=GREY, lw=1, label=f"paper: not below 2M − 3N, N = {grains}"
    )
    d = np.array([table["dimension"].min() - 1, table["dimension"].max() + 1])
    right.plot(d, d, color=GREY, lw=1, label="paper: not above $M_s$ = dim F")
    left.set(xlabel="contacts M", ylabel="dim F")
    right.set(xlabel="dim F", ylabel="sliding contacts $M_s$")
    for axes in (left, right):
        axes.legend()
    return figure
