"""Pictures of a run by name: ``draw(run, "packing")``, ``draw(run, "kinetic")`` and so on.

A name is one of ``PICTURES``, a column of the run's history, or a measurement of
`hardgrain.measure.catalogue`; one of its variables is chosen by a dot, ``flow.density``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardgrain.errors import InputError
from hardgrain.io.runfile import RunFile
from hardgrain.measure.catalogue import measure, quantities
from hardgrain.show import series
from hardgrain.show.colour import FIELDS, PLAIN
from hardgrain.show.data import draw_data, over_time
from hardgrain.show.distributions import draw_forces
from hardgrain.show.mohr import draw_mohr
from hardgrain.show.network import about, draw_network
from hardgrain.show.network_look import LINES
from hardgrain.show.series import Panel, draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PICTURES", "draw", "listing", "together"]

_SERIES: dict[str, Callable[[RunFile], list[Panel]]] = {
    "energy": series.energy,
    "solver": series.solver,
    "rigidity": series.rigidity,
    "walls": series.walls,
}
PICTURES = {
    "packing": "grains, walls and the force network of a frame",
    "forces": "distributions of normal and tangential forces and of friction, with error bars",
    "energy": "kinetic energy, work and dissipation over time",
    "solver": "residual, sweeps, contacts and overlaps over time",
    "force-chains": "the packing, each of its longest force chains in a colour of its own",
    "mohr": "Mohr's circles of a frame or of several, with the line of the friction angle",
    "rigidity": "diffusion length, slowest mode and sag over time",
    "walls": "force on each wall over time",
}


def draw(
    run: RunFile | str | Path,
    *names: str,
    frame: int = -1,
    frames: Sequence[int] | None = None,
    options: dict[str, Any] | None = None,
    **look: Any,
) -> Figure:
    """Draw the picture of that name; several quantities over time share one figure of panels.

    ``frame`` is for packings and measurements of one frame, ``frames`` for those of several;
    ``options`` are the measurement's, ``look`` (colour, lines, box) that of the packing.
    """
    if not isinstance(run, RunFile):
        with RunFile(run) as file:
            return draw(file, *names, frame=frame, frames=frames, options=options, **look)
    names = names or ("packing",)
    history = run.history
    for name in names:
        _known(history, name)
    if all(_over_time(history, n) for n in names):
        panels = [p for n in names for p in _panels(run, history, n, frames, options or {})]
        return draw_panels(panels, *about(run)[:2])
    if len(names) > 1:
        raise InputError(
            f"{' and '.join(names)} do not share a figure; only what is over time does"
        )
    (name,) = names
    if name == "packing":
        return draw_network(run, frame, **look)
    if name == "force-chains":
        if options:
            raise InputError(
                f"force-chains is drawn with its default angle, without {', '.join(options)}; see"
                " hardgrain measure for others"
            )
        return draw_network(run, frame, **look | {"colour": "chain"})
    if name == "forces":
        return draw_forces(run, frames or (frame,))
    if name == "mohr":
        circles = measure(run, name, frames or (frame,), **(options or {}))
        return draw_mohr(circles, *about(run)[:2])
    measurement, _, variable = name.partition(".")
    quantity = quantities()[measurement]
    if frames is None and not quantity.small and not quantity.whole:
        frames = (frame,)
    data = measure(run, measurement, frames, **(options or {}))
    if "windows" in quantity.options and not data.sizes:
        raise InputError(
            f"{measurement} is a mean over all these frames; give windows, such as --set windows=8,"
            " to draw how it changes along the strain"
        )
    return draw_data(data, variable, *about(run)[:2])


def together(run: RunFile, names: Sequence[str]) -> list[list[str]]:
    """The names grouped by figure; those over time share the first."""
    history = run.history
    shared = [n for n in names if _over_time(history, n)]
    return [*([shared] if shared else []), *([n] for n in names if n not in shared)]


def _known(history: dict[str, Any], name: str) -> None:
    measurements = quantities()
    if name in PICTURES or name in history or name.partition(".")[0] in measurements:
        return
    near = get_close_matches(name, [*PICTURES, *history, *measurements], n=1)
    hint = f"did you mean {near[0]}?" if near else "hardgrain plot --list shows all"
    raise InputError(f"there is no picture {name!r}; {hint}")


def _over_time(history: dict[str, Any], name: str) -> bool:
    """Draw series, columns, and measurements of a few numbers a frame."""
    if name in PICTURES or name in history:
        return name in _SERIES or name in history
    quantity = quantities().get(name.partition(".")[0])
    return quantity is not None and quantity.small and not quantity.whole


def _panels(
    run: RunFile,
    history: dict[str, Any],
    name: str,
    frames: Sequence[int] | None,
    options: dict[str, Any],
) -> list[Panel]:
    if name in _SERIES:
        return _SERIES[name](run)
    if name in history:
        return [series.column(history, name)]
    measurement, _, variable = name.partition(".")
    own = {k: v for k, v in options.items() if k in quantities()[measurement].options}
    return over_time(measure(run, measurement, frames, **own), variable)


def listing(run: RunFile | None = None) -> str:
    """All that can be drawn, one line each; for a run, with the columns of its history."""
    columns = (
        series.COLUMNS if run is None else {c: series.COLUMNS.get(c, ("", "")) for c in run.history}
    )
    measurements = {name: q.about for name, q in quantities().items()}
    parts = {
        "pictures": PICTURES,
        "columns of the history, over time": {c: words for c, (_, words) in columns.items()},
        "measurements": measurements,
        "colours of grains (--colour)": {PLAIN: "one colour for all"}
        | {n: f.about for n, f in FIELDS.items()},
        "lines through contacts (--lines)": LINES,
    }
    width = max(len(n) for names in parts.values() for n in names)
    return "\n\n".join(
        f"{title}:\n" + "\n".join(f"  {n:<{width}}  {words}".rstrip() for n, words in names.items())
        for title, names in parts.items()
    )
