"""How contact forces are distributed: normal, tangential, and friction over its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.errors import InputError
from hardgrain.measure.force_statistics import (
    Distribution,
    force_distribution,
    friction_mobilisation,
)
from hardgrain.measure.snapshot import Source
from hardgrain.show.style import COLOURS, GREY, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_forces"]


def draw_forces(source: Source, frames: Sequence[int] | None = None) -> Figure:
    """Draw densities with one standard error, exponential tails, and the share that slides."""
    forces = force_distribution(source, frames)
    try:
        friction = friction_mobilisation(source, frames)
    except InputError:  # without friction there is only one panel
        friction = None
    with style():
        figure, (axes,) = new_figure(1, 1 if friction is None else 2, 4.4, 3.3, squeeze=False)
        _draw_tails(axes[0], forces)
        if friction is not None:
            _draw_friction(axes[1], *friction)
    return figure


def _draw_tails(axes: Axes, forces: tuple[Distribution, Distribution]) -> None:
    least = 1.0
    marks = zip(("normal", "tangential"), forces, (COLOURS[1], COLOURS[2]), "os")
    for name, found, colour, mark in marks:
        some = found.density > 0.0
        if not some.any():
            continue
        middle = 0.5 * (found.edges[1:] + found.edges[:-1])[some]
        low = np.minimum(found.error[some], 0.999 * found.density[some])
        axes.errorbar(
            middle, found.density[some], [low, found.error[some]], fmt=mark, ms=3, color=colour,
            elinewidth=0.7, label=f"{name}, mean {found.unit:.3g}",
        )  # fmt: skip
        least = min(least, float(found.density[some].min()))
        tail = found.tail
        if np.isfinite(tail.rate) and tail.count >= 10:
            share = tail.count / found.count
            x = np.array([tail.threshold, float(middle.max())])
            axes.plot(
                x, share * tail.rate * np.exp(-tail.rate * (x - tail.threshold)), color=colour,
                label=rf"tail $e^{{-\beta f}}$, $\beta$ = {tail.rate:.2f} ± {tail.error:.2f}",
            )  # fmt: skip
    axes.set(
        xlabel="force / mean force", ylabel="probability density", yscale="log",
        ylim=(0.4 * least, None), xlim=(0.0, None),
    )  # fmt: skip
    axes.legend(handlelength=1.4)


def _draw_friction(axes: Axes, found: Distribution, slide: float) -> None:
    middle = 0.5 * (found.edges[1:] + found.edges[:-1])
    axes.stairs(found.density, found.edges, color=COLOURS[3], fill=True, alpha=0.25)
    axes.errorbar(middle, found.density, found.error, fmt="o", ms=3, color=COLOURS[3], ecolor=GREY)
    axes.set(
        xlabel="friction over its limit, |T|/(µN)", ylabel="probability density",
        xlim=(0.0, 1.0), ylim=(0.0, None), title=f"{slide:.1%} of the contacts slide",
    )  # fmt: skip
