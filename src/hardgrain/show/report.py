"""A report of a run: one self-contained page that can be mailed, printed and opened offline."""

from __future__ import annotations

import html
import io
import json
import math
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hardgrain
from hardgrain.core.wall_kinds import CELL
from hardgrain.errors import HardgrainError, InputError
from hardgrain.extras import needed
from hardgrain.io.runfile import RunFile
from hardgrain.io.whole import check_target
from hardgrain.measure.catalogue import quantities
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.run.closing import closing_word
from hardgrain.run.scenario import Scenario, stored_scenario
from hardgrain.show import series
from hardgrain.show.distributions import draw_forces
from hardgrain.show.network import draw_network
from hardgrain.show.page import BASE, anchor, as_html, number, svg, template, write_whole
from hardgrain.show.player import film_data
from hardgrain.show.series import draw_panels
from hardgrain.show.style import label, style, symbols
from hardgrain.show.toml import scenario_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_report"]

# Measurements whose single numbers, in the last frame with contacts, are in the table.
KEY = (
    "packing-fraction", "coordination", "clusters", "isostaticity", "fabric", "stress", "overlaps",
    "energy", "granular-temperature",
)  # fmt: skip
ANSWERS = ("converged?", "rigid?", "plausible?", "unique?")
NOT_KNOWN = {"unique?": "not asked: the run did not end at rest"}


def write_report(run: RunFile | str | Path, path: str | Path) -> Path:
    """Write the report of a run as one HTML file."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path} does not end in .html, as a report must")
    check_target(path)
    needed("xarray")
    if not isinstance(run, RunFile):
        with RunFile(run) as file:
            return write_report(file, path)
    write_whole(path, _page(run))
    return path


def _page(run: RunFile) -> str:
    e, scenario = html.escape, stored_scenario(run.header, run.path)
    title = scenario.title or run.path.stem
    parts = {
        "Can it be trusted?": _verdicts(run),
        "The packing": _film(run, title),
        "Measurements": _measurements(run, scenario),
        "Over time": _plots(run, scenario),
        "What was simulated": _input(run, scenario),
        "Run it again": _again(run, scenario),
    }
    links = "".join(f'<a href="#{anchor(name)}">{e(name)}</a> ' for name in parts)
    sections = "\n".join(
        f'<section aria-labelledby="{anchor(name)}"><h2 id="{anchor(name)}">{e(name)}</h2>\n{body}</section>'  # noqa: E501
        for name, body in parts.items()
    )
    css = BASE + template("report.css")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{e(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>{css}</style></head><body>
<header><h1>{e(title)}</h1>{_opening(run, scenario)}</header>
<nav aria-label="Contents">{links}</nav>
<main>
{sections}
</main>
<footer><p>Written by hardgrain {e(hardgrain.__version__)} from {e(run.path.name)}.</p></footer>
</body></html>
"""


def _opening(run: RunFile, scenario: Scenario) -> str:
    n, dim = run.model["radius"].size, scenario.scene.dimension
    state = "finished" if run.finished else "running now" if run.live else "interrupted"
    last = run[len(run) - 1]
    date = datetime.fromtimestamp(run.path.stat().st_mtime, UTC)
    walls = int((run.model["wall_kind"] != CELL).sum())
    kind = "grain" if run.model["shape"].size else "disk" if dim == 2 else "sphere"
    return (
        f"<p>{_count(n, kind)} in {dim}D, {_count(walls, 'wall')}; {last.step} steps"
        f" of {scenario.dt:g} to time {last.time:.6g} in {_count(len(run), 'frame')}; seed"
        f" {scenario.seed}.</p>"
        f'<p class="soft">{html.escape(run.path.name)}: {state}, last written {date:%d %B %Y}.</p>'
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


# ---------------------------------------------------------------------- verdicts
def _verdicts(run: RunFile) -> str:
    try:
        lines = replace(closing_word(run), output=run.path.name).lines
    except HardgrainError as refused:
        return f"<p>The run cannot be judged from its file: {_said(run, refused)}.</p>"
    known = {name for name, _ in lines}
    lines += [(name, NOT_KNOWN.get(name, "not known")) for name in ANSWERS if name not in known]
    order = {name: k for k, name in enumerate(ANSWERS)}
    lines.sort(key=lambda line: order.get(line[0], len(order)))
    rows = "".join(
        f"<dt>{html.escape(name.capitalize())}</dt><dd>{_answer(name, text)}</dd>"
        for name, text in lines
        if name != "written"
    )
    return f'<dl class="verdicts">{rows}</dl>\n'


def _answer(name: str, text: str) -> str:
    """The text, with its first words marked if they are an answer."""
    if name == "warning":
        return f'<span class="answer bad">{as_html(text)}</span>'
    if name not in ANSWERS:
        return as_html(text)
    word, colon, rest = text.partition(":")
    kind = "good" if word == "yes" else "bad" if word.startswith("NO") else "open"
    return f'<span class="answer {kind}">{as_html(word)}</span>{colon}{as_html(rest)}'


# ---------------------------------------------------------------------- the packing
def _film(run: RunFile, title: str) -> str:
    words = f"Grains and force network of {title}"
    still = _still(run)
    data = film_data(run)
    if data is None:
        caption = "The last frame whose contacts were stored; too large a run for a film in a page."
        return (
            f'<figure><img src="{still}" alt="{html.escape(words)}">'
            f"<figcaption>{caption}</figcaption></figure>\n"
        )
    options = "".join(f"<option>{name}</option>" for name in ("plain", "speed", "pressure"))
    return f"""<figure><div>
<canvas id="film" role="img" aria-label="{html.escape(words)}, when the slider says"></canvas>
</div>
<div class="controls"><button id="film-play" type="button">Play</button>
<label for="film-frame">Frame</label><input id="film-frame" type="range" min="0" step="1">
<output id="film-time" for="film-frame"></output>
<label>Colour <select id="film-colour">{options}</select></label>
<label><input id="film-lines" type="checkbox" checked> forces</label></div>
<figcaption id="film-scale"></figcaption>
<noscript><img src="{still}" alt="{html.escape(words)}"></noscript></figure>
<script id="film-data" type="application/json">{data}</script>
<script>{template("player.js")}</script>
"""


def _still(run: RunFile) -> str:
    """The packing as an image of pixels within the page."""
    last = run.last_with_contacts()
    figure, file = draw_network(run, last), io.BytesIO()
    with style():
        dpi = 1100.0 / float(figure.get_size_inches()[0])
        figure.savefig(file, format="webp", dpi=dpi, pil_kwargs={"quality": 80})
    return f"data:image/webp;base64,{b64encode(file.getvalue()).decode()}"


# ---------------------------------------------------------------------- measurements
def _measurements(run: RunFile, scenario: Scenario) -> str:
    last = run.last_with_contacts()
    snap, known = snapshot(run, last), symbols(scenario.units)
    rows = "".join(
        f"<tr><td>{as_html(words)}</td><td class=n>{value}</td><td>{as_html(unit)}</td>"
        f'<td class="soft">{name}</td></tr>'
        for name, words, value, unit in _numbers(snap, known)
    )
    figures = _figure(
        draw_forces, run, (last,), "Distributions of contact forces in the last frame"
    )
    table = (
        "<table><thead><tr><th>quantity</th><th class=n>value</th><th>unit</th>"
        f"<th>measurement</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    told = f"<p>At time {snap.time:.6g}, by <code>hardgrain measure</code>.</p>"
    return f"{told}{table}{figures}\n"


def _numbers(snap: Snapshot, known: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Measurement, meaning, value and unit of all that is a single number."""
    for name in (n for n in KEY if snap.n and n in quantities()):
        try:
            data = quantities()[name].compute(snap)
        except HardgrainError:  # it has no meaning for this run
            continue
        for variable, value in data.data_vars.items():
            if value.ndim == 0 and value.dtype.kind in "iufb" and math.isfinite(float(value)):
                attrs: dict[str, Any] = value.attrs
                words = str(attrs.get("long_name", variable)).replace("_", " ")
                unit = label("", str(attrs.get("units", "")), known).strip(" []")
                whole = value.dtype.kind != "f"
                yield name, words, str(int(value)) if whole else number(float(value)), unit


# ---------------------------------------------------------------------- plots
def _plots(run: RunFile, scenario: Scenario) -> str:
    kinds = {
        "energy": "Energy: what there is, and what came and went since the start",
        "solver": "The solver: residual, sweeps, contacts and overlaps in each step",
        "rigidity": "Rigidity: how far forces spread in a step, against the size of the packing",
        "walls": "Forces of the grains on the walls",
    }

    def panels(run: RunFile, name: str) -> Figure:
        return draw_panels(getattr(series, name)(run), units=scenario.units)

    return "\n".join(_figure(panels, run, name, words) for name, words in kinds.items())


def _figure(draw: Any, run: RunFile, what: Any, words: str) -> str:
    """An inline SVG with its caption, or a sentence that says why it cannot be drawn."""
    try:
        drawn = svg(draw(run, what), words)
    except InputError as refused:
        return f'<p class="soft">{html.escape(words)}: {_said(run, refused)}.</p>'
    return f"<figure>{drawn}<figcaption>{html.escape(words)}</figcaption></figure>"


def _said(run: RunFile, refused: HardgrainError) -> str:
    """The text of an error, with the name of the file but not its folder."""
    return html.escape(str(refused).replace(str(run.path), run.path.name).rstrip("."))


# ---------------------------------------------------------------------- input
def _input(run: RunFile, scenario: Scenario) -> str:
    header = run.header
    facts = {
        "title": scenario.title or "none",
        "units": header["units"],
        "seed": str(scenario.seed),
        "grains": str(run.model["radius"].size),
        "walls": ", ".join(run.wall_names) or "none",
        "solver": _words(scenario.solver.model_dump(exclude_none=True)),
        "engine": _words(scenario.engine.model_dump(exclude_none=True)),
        "versions": ", ".join(f"{k} {header[k]}" for k in ("hardgrain", "python", "numpy", "numba") if k in header),  # noqa: E501
    }  # fmt: skip
    rows = "".join(
        f"<tr><th scope=row>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in facts.items()
    )
    whole = json.dumps(json.loads(header["scenario"]), indent=1, ensure_ascii=False)
    return (
        f"<table>{rows}</table><details><summary>The whole scenario, as the run file keeps it"
        f"</summary><pre>{html.escape(whole)}</pre></details>\n"
    )


def _words(table: dict[str, Any]) -> str:
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in table.items())


def _again(run: RunFile, scenario: Scenario) -> str:
    name = run.path.stem
    commands = [
        f"pip install hardgrain=={run.header.get('hardgrain', hardgrain.__version__)}",
        f"hardgrain run {name}.toml -o {name}.h5",
        f"hardgrain report {name}.h5 -o {name}.html",
    ]
    notes = []
    if scenario.start is not None:
        notes.append(f"It starts from a frame of {scenario.start.file}, which is needed as well.")
    if '"python:' in run.header["scenario"]:
        notes.append("Parts that were Python functions must be written anew.")
    if scenario.stop is None:
        notes.append("When to stop was said in Python: add a [stop] table.")
    told = "".join(f"<p>{html.escape(text)}</p>" for text in notes)
    text = html.escape(scenario_text(scenario))
    return f"""<p>Save this as <code>{html.escape(name)}.toml</code>: it says what the original
said, and gives the same bits with the same versions.</p>{told}
<p><button type="button" id="copy">Copy</button></p>
<pre id="scenario">{text}</pre>
<p>Then:</p>
<pre>{html.escape(chr(10).join(commands))}</pre>
<script>document.getElementById("copy").addEventListener("click", (event) => {{
  const range = document.createRange();
  range.selectNodeContents(document.getElementById("scenario"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  if (document.execCommand("copy")) event.target.textContent = "Copied";
}});</script>
"""
