"""Words, numbers and colours of the panels, in HTML."""

from __future__ import annotations

import html

from hardgrain.show.colour import Bytes, table_of
from hardgrain.show.style import label
from hardgrain.show.view.fields import Legend
from hardgrain.show.view.pick import Facts
from hardgrain.show.view.picture import ForceNetwork, force_table
from hardgrain.show.view.screen import seen

__all__ = ["colours", "facts", "forces", "row", "small"]

SIZE = "font-size:0.8em;padding:0.2em 0.9em"
SPREAD = f"display:flex;justify-content:space-between;{SIZE}"


def _block(text: str, style: str) -> str:
    return f'<div style="{style}">{text}</div>'


def small(text: str) -> str:
    """A remark in small letters."""
    return _block(html.escape(text), f"{SIZE};opacity:0.75")


def row(*parts: str) -> str:
    """A row of texts side by side."""
    return _block("".join(f"<span>{html.escape(part)}</span>" for part in parts), SPREAD)


def facts(known: Facts) -> str:
    """A list of names and numbers."""
    cell = "padding:0 0.6em 0 0;vertical-align:top"
    rows = "".join(
        f'<tr><td style="{cell};opacity:0.7">{html.escape(name)}</td>'
        f'<td style="{cell}">{html.escape(text)}</td></tr>'
        for name, text in known
    )
    return _block(f"<table>{rows}</table>", SIZE)


def colours(legend: Legend) -> str:
    """What the colours of the grains mean."""
    if legend.note:
        return small(legend.note)
    if not legend.kind:
        return ""
    title, table = small(label(legend.label, legend.unit)), table_of(legend.kind)[:-1]
    if legend.kind == "name":
        chips = seen(table)[: int(legend.high)]
        return title + _block(_stripes(chips), SIZE) + small(f"{legend.high:.0f} in all")
    low = f"{'≤ ' if legend.below else ''}{legend.low:.3g}"
    high = f"{'≥ ' if legend.above else ''}{legend.high:.3g}"
    middle = f"{0.5 * (legend.low + legend.high):.3g}"
    return title + _bar(table) + row(low, middle, high)


def forces(net: ForceNetwork | None) -> str:
    """What the lines of the network mean."""
    if net is None:
        return ""
    if not net.known:
        return small("not known: this frame was stored without its contacts")
    if not net.bearing:
        return small("no contact bears a force in this frame")
    told = (
        f"{net.drawn} of {net.bearing} contacts that bear a force; mean normal force {net.mean:.3g}"
    )
    return small(told) + _bar(force_table()[:256]) + row("0", f"≥ {net.top:.3g} [force]")


def _rgb(colour: Bytes) -> str:
    return "rgb({},{},{})".format(*colour)


def _bar(table: Bytes) -> str:
    stops = ",".join(map(_rgb, seen(table)[::15]))
    return _block("", f"height:0.9em;margin:0 0.7em;background:linear-gradient(to right,{stops})")


def _stripes(chips: Bytes) -> str:
    style = "padding:0 0.5em;margin-right:2px"
    return "".join(f'<span style="background:{_rgb(c)};{style}">&nbsp;</span>' for c in chips)
