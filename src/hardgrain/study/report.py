"""A page on a study: how far it is, what it found over its parameters, and how far to trust it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

import hardgrain
from hardgrain.errors import HardgrainError, InputError
from hardgrain.io.whole import check_target
from hardgrain.run.progress import duration
from hardgrain.run.summary import CONVERGED
from hardgrain.show.page import BASE, anchor, as_html, svg, template, write_whole
from hardgrain.show.toml import tables_text
from hardgrain.study.collect import SUMMARY, collect, rows
from hardgrain.study.folder import Folder
from hardgrain.study.plot import draw_study
from hardgrain.study.points import text_of

__all__ = ["write_study_report"]

MOST = 500  # rows of a table; a page with more is slow to open, and nobody reads it
ANSWERS = {
    "plausible": "nothing happened that cannot happen",
    "rigid": "grains were rigid",
}


def write_study_report(folder: Folder, path: str | Path | None = None) -> Path:
    """Write the page, by default ``report.html`` in the folder of the study."""
    path = folder.path / "report.html" if path is None else Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path} does not end in .html, as a report must")
    check_target(path)
    write_whole(path, _page(folder))
    return path


def _page(folder: Folder) -> str:
    e, plan = html.escape, folder.plan
    scenario = dict(plan.scenario)  # type: ignore[arg-type]
    title = plan.title or str(scenario.get("title", "")) or folder.path.absolute().name
    parts = {
        "What was found": _found(folder),
        "Can it be trusted?": _trust(folder),
        "What failed": _failed(folder),
        "Parameters": _parameters(folder),
        "The scenario": f"<pre>{e(tables_text(scenario))}</pre>",
        "Run it again": _again(folder),
    }
    parts = {name: body for name, body in parts.items() if body}
    links = "".join(f'<a href="#{anchor(name)}">{e(name)}</a> ' for name in parts)
    sections = "\n".join(
        f'<section aria-labelledby="{anchor(name)}"><h2 id="{anchor(name)}">{e(name)}</h2>\n'
        f"{body}</section>"
        for name, body in parts.items()
    )
    status = folder.status()
    mean = "" if status.seconds != status.seconds else f"; a point took {duration(status.seconds)}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{e(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>{BASE}{template("report.css")}</style></head><body>
<header><h1>{e(title)}</h1><p>{e(_words(folder))}.</p>
<p class="soft">{e(str(status))}{e(mean)}.</p></header>
<nav aria-label="Contents">{links}</nav>
<main>
{sections}
</main>
<footer><p>Written by hardgrain {e(hardgrain.__version__)}, from the folder
{e(folder.path.absolute().name)}.</p></footer></body></html>
"""


def _words(folder: Folder) -> str:
    """The design of a study in a sentence."""
    plan = folder.plan
    if plan.design == "grid":
        sizes = [f"{len(p.steps())} values of {name}" for name, p in plan.parameters.items()]
        what = " × ".join(sizes) or "one point"
    else:
        kind = "random points" if plan.design == "random" else "points of a Latin hypercube"
        what = f"{plan.points} {kind} in {', '.join(plan.parameters)}"
    return f"{what}, {plan.seeds} seed{'s' * (plan.seeds != 1)} each: {len(folder.points)} runs"


def _found(folder: Folder) -> str:
    try:
        table = collect(folder, folder.plan.measure)
    except HardgrainError as refused:
        return f"<p>{html.escape(str(refused))}.</p>\n"
    told = ""
    if refused_runs := table.attrs.get("refused"):
        told = f"<p>Runs that could not be measured: {html.escape(str(refused_runs))}.</p>\n"
    try:
        words = "Mean over the seeds, with the error of the mean"
        figure = (
            f"<figure>{svg(draw_study(table), words)}<figcaption>{words}.</figcaption></figure>"
        )
    except HardgrainError as refused:
        figure = f'<p class="soft">{html.escape(str(refused))}.</p>'
    heads, lines = rows(table)
    told += f"<p>{html.escape(', '.join(folder.plan.measure))}, at the end of each run.</p>\n"
    return f"{figure}\n{told}{_rows(heads, lines)}"


def _rows(heads: list[str], lines: list[list[str]]) -> str:
    if heads.count("runs") and len(heads) > 12:  # such as all figures of the summary
        heads, lines = [*heads[:11], heads[-1]], [[*row[:11], row[-1]] for row in lines]
    return _table(heads, lines, " class=n", html.escape, "more rows")


def _trust(folder: Folder) -> str:
    """How many of the runs were plausible and rigid, and how many steps converged."""
    try:
        table = collect(folder, [SUMMARY], each=True)
    except HardgrainError:
        return ""
    runs = int(table["runs"].sum())
    figures = {n: table[f"{SUMMARY}.{n}"] for n in ("loose", "steps", "worst_overlap")}
    loose, steps = (float(figures[n].sum()) for n in ("loose", "steps"))
    lines = [
        _answer("Converged?", not loose, f"{loose:.0f} of {steps:.0f}",
                f"steps of all runs missed a residual of {CONVERGED:g}"),
    ]  # fmt: skip
    for name, words in ANSWERS.items():
        if f"{SUMMARY}.{name}" in table:
            yes = int(table[f"{SUMMARY}.{name}"].sum())
            lines.append(
                _answer(f"{name.capitalize()}?", yes == runs, f"{yes} of {runs}", f"runs: {words}")
            )
    worst = float(figures["worst_overlap"].max())
    lines.append(f"<dt>Overlaps</dt><dd>at most {worst:.2g} of the smaller grain's diameter</dd>")
    return f'<dl class="verdicts">{"".join(lines)}</dl>\n'


def _answer(name: str, good: bool, count: str, words: str) -> str:
    kind = "good" if good else "bad"
    marked = f'<span class="answer {kind}">{count}</span>'
    return f"<dt>{name}</dt><dd>{marked} {html.escape(words)}</dd>"


def _failed(folder: Folder) -> str:
    states = folder.states()
    failed = [(k, r.get("why", "")) for k, r in states.items() if r["state"] == "failed"]
    if not failed:
        return ""
    known = folder.points
    lines = [[str(known[k]) if k in known else k, why, k] for k, why in failed]
    return _plain_rows(["point", "why", "folder"], lines)


def _plain_rows(heads: list[str], lines: list[list[str]]) -> str:
    return _table(heads, lines, "", as_html, "more")


def _table(
    heads: list[str], lines: list[list[str]], kind: str, shown: Callable[[str], str], left: str
) -> str:
    """A table of at most MOST lines; kind: of its cells, shown: a cell as HTML."""
    head = "".join(f"<th{kind}>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{shown(cell)}</td>" for cell in row) + "</tr>"
        for row in lines[:MOST]
    )
    more = f"<p>… and {len(lines) - MOST} {left}.</p>" if len(lines) > MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}\n"


def _parameters(folder: Folder) -> str:
    plan, lines = folder.plan, []
    for name, one in plan.parameters.items():
        if one.values is not None:
            values = ", ".join(text_of(v) for v in one.values)
        else:
            many = f" in {one.count} steps" if one.count else ""
            values = f"{one.min:g} to {one.max:g}{many}{', log' if one.scale == 'log' else ''}"
        lines.append([name, ", ".join(one.fields), values])
    return _plain_rows(["parameter", "field", "values"], lines) if lines else ""


def _again(folder: Folder) -> str:
    name = folder.path.absolute().name
    text = (folder.path / "study.toml").read_text(encoding="utf-8")
    facts = json.loads((folder.path / "study.json").read_text(encoding="utf-8"))
    commands = [
        f"pip install hardgrain=={facts['hardgrain']}",
        f"hardgrain sweep {name}.toml",
        f"hardgrain report {name}",
    ]
    return (
        f"<p>Save this as <code>{html.escape(name)}.toml</code>, beside the scenario if it names"
        f" one. Any point has the same bits whoever runs it.</p><pre>{html.escape(text)}</pre>"
        f"<p>Then:</p><pre>{html.escape(chr(10).join(commands))}</pre>\n"
    )
