"""Run the experiments of a paper one by one, and keep what each has found.

After each experiment its tables (CSV) and figures (PNG, SVG) are in a folder of its own, and
``claims.json`` and ``index.html`` show all that is done so far: an interruption loses at most
the present experiment. In a folder that already holds a report, each experiment replaces its own
part when it is done, and the others stay; each says whether it was quick or full, when it was done
and by which version.
"""

from __future__ import annotations

import csv
import hashlib
import html
import importlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain
from hardgrain.errors import InputError, RunError
from hardgrain.io.json_text import json_text, plain
from hardgrain.kernels import cache_folder
from hardgrain.papers import PAPERS
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import plain_ticks, style
from hardgrain.parallel import workers
from hardgrain.run.progress import duration
from hardgrain.show.page import BASE, as_html, number, write_whole

__all__ = ["experiments", "number", "reproduce", "source_digest"]

Record = dict[str, Any]


def experiments(paper: str) -> list[Experiment]:
    """The experiments of a paper, in order."""
    if paper not in PAPERS:
        raise InputError(f"paper is {paper!r}; known are: {', '.join(PAPERS)}")
    known: list[Experiment] = importlib.import_module(f"hardgrain.papers.{paper}").EXPERIMENTS
    return known


def reproduce(
    paper: str,
    folder: str | Path,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    tell: Callable[[str], object] = print,
) -> list[Claim]:
    """Run a paper's experiments, or ``only`` those named; return the claims of those run.

    What the folder already holds of an experiment stays until that is done again.
    """
    known = experiments(paper)
    names = [e.name for e in known]
    for name in only or ():
        if name not in names:
            raise InputError(f"--only is {name!r}; {paper} has: {', '.join(names)}")
    folder = Path(folder)
    _make(folder)
    chosen = [e for e in known if not only or e.name in only]
    earlier = _stored(folder, paper)
    records: dict[str, Record] = {
        e.name: earlier.get(e.name, {"done": False}) | {"name": e.name, "title": e.title}
        for e in known
    }
    _write_report(folder, paper, list(records.values()))
    if not any(cache_folder().iterdir()):
        tell("compiling kernels as they are needed, first run only (about a minute in all)")
    claims: list[Claim] = []
    with workers():
        for k, experiment in enumerate(chosen, 1):
            tell(f"{k} of {len(chosen)}: {experiment.name}, {experiment.title} …")
            begin = time.perf_counter()
            with style():
                outcome = experiment.run(quick)
                seconds = time.perf_counter() - begin
                files = _write_outcome(folder / experiment.name, outcome)
            records[experiment.name] |= {
                "done": True,
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "quick": quick,
                "version": hardgrain.__version__,
                "source": source_digest(),
                "seconds": round(seconds, 3),
                "seeds": _ranges(outcome.seeds),
                "text": outcome.text,
                **files,
                "claims": [_claim(c) for c in outcome.claims],
            }
            _write_report(folder, paper, list(records.values()))
            claims += outcome.claims
            tell(f"   done in {duration(seconds)}: {tally(records[experiment.name]['claims'])}")
    return claims


def tally(claims: list[Record]) -> str:
    """How many statements of the paper hold here, and how many of theory, in words."""
    parts = []
    for who in ("paper", "theory"):
        counts = Counter(c["verdict"][who] for c in claims)
        told = [f"{counts[v]} {v if counts[v] == 1 else many}"
                for v, many in _VERDICTS if counts[v]]  # fmt: skip
        parts.append(f"{who}: {', '.join(told) or 'none judged'}")
    surprises = sum(bool(c["surprise"]) for c in claims)
    return "; ".join(parts) + (f"; {surprises} NOT AS EXPECTED" if surprises else "")


_VERDICTS = (("holds", "hold"), ("differs", "differ"), ("fails", "fail"))


def source_digest() -> str:
    """A digest of the source that ran: a checkout with the same digest holds the same code."""
    root = Path(hardgrain.__file__).parent
    files = ((str(p.relative_to(root)), p.read_bytes()) for p in root.rglob("*.py"))
    return digest_of(files)


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """Digest of files by name and content, whatever their order."""
    digest = hashlib.sha256()
    for name, content in sorted(files):
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:12]


def _ranges(seeds: Sequence[int]) -> str:
    """Seeds in words, such as 0–5, 17."""
    parts: list[list[int]] = []
    for seed in sorted({int(s) for s in seeds}):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


# ---------------------------------------------------------------------- files
def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}") from None


def _stored(folder: Path, paper: str) -> dict[str, Record]:
    """The experiments that earlier reproductions of the paper have done in the folder."""
    try:
        found = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        done = {r["name"]: r for r in found["experiments"] if r["done"]}
        _page(paper, list(done.values()))  # a file that cannot be shown is not ours
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return done if found["paper"] == paper else {}


def _write_outcome(folder: Path, outcome: Outcome) -> dict[str, list[str]]:
    """Write tables as CSV and figures as PNG and SVG; return their names in the report."""
    _make(folder)
    tables = [f"{folder.name}/{name}.csv" for name in outcome.tables]
    figures = [f"{folder.name}/{name}.png" for name in outcome.figures]
    try:
        for name, columns in outcome.tables.items():
            lists = [np.atleast_1d(np.asarray(c)).tolist() for c in columns.values()]
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*lists, strict=True))
        for name, figure in outcome.figures.items():
            plain_ticks(figure)
            figure.savefig(folder / f"{name}.png", dpi=160)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    except OSError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror}") from None
    return {"tables": tables, "figures": figures}


def _claim(claim: Claim) -> Record:
    """A claim as JSON, with its verdicts."""
    verdict = {"paper": claim.paper_verdict, "theory": claim.theory_verdict}
    found: Record = plain(asdict(claim) | {"verdict": verdict, "surprise": claim.surprise})
    return found


def _write_report(folder: Path, paper: str, records: list[Record]) -> None:
    whole = {"paper": paper, "reference": PAPERS[paper], "experiments": records}
    write_whole(folder / "claims.json", json_text(whole, indent=1) + "\n")
    write_whole(folder / "index.html", _page(paper, records))


# ---------------------------------------------------------------------- the page
_CSS = (
    BASE
    + """
span { font-weight: 600; white-space: nowrap; }
span.holds { color: var(--good); } span.fails, span.surprise { color: var(--bad); }
span.differs { color: var(--odd); }
span.todo { color: var(--soft); }
img { max-width: 100%; height: auto; border: 1px solid var(--line); background: white; }
td.claim { min-width: 16rem; }
tr.surprise td { background: var(--alarm); }
"""
)


def _page(paper: str, records: list[Record]) -> str:
    e = html.escape
    done = [r for r in records if r["done"]]
    claims = [c for r in done for c in r["claims"]]
    versions = sorted({r["version"] for r in done})
    lines = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{e(paper)}, reproduced</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_CSS}</style></head><body>",
        f"<h1>{e(paper)}, reproduced</h1>",
        f"<p>{e(PAPERS[paper])}</p>",
        f'<p class="soft">{len(done)} of {len(records)} experiments done'
        f"{', by hardgrain ' + e(', '.join(versions)) if versions else ''}. {len(claims)} claims:"
        f" {e(tally(claims))}. {e(HOW_TO_READ)} All of it for programs:"
        ' <a href="claims.json">claims.json</a>.</p>',
        "<table><tr><th>experiment</th><th>what</th><th>state</th><th>size</th><th>done</th>"
        "<th class=n>time</th></tr>",
    ]
    for r in records:
        state, size, date, seconds = '<span class="todo">still to do</span>', "", "", ""
        if r["done"]:
            state = e(tally(r["claims"]))
            size, date = "quick" if r["quick"] else "full", r["date"][:10]
            seconds = duration(r["seconds"])
        lines.append(
            f'<tr><td><a href="#{e(r["name"])}">{e(r["name"])}</a></td>'
            f"<td>{as_html(r['title'])}</td>"
            f"<td>{state}</td><td>{size}</td><td>{e(date)}</td><td class=n>{seconds}</td></tr>"
        )
    lines.append("</table>")
    for r in records:
        lines += _section(r)
    lines.append("</body></html>\n")
    return "\n".join(lines)


HOW_TO_READ = (
    "Each measured number is held against what the paper says and, apart from that, against theory:"
    " a closed form, an exact solution or an independent method. Each has its own tolerance, with"
    " the reason for it. Where the paper's statement differs, the row says why."
)


def _section(r: Record) -> list[str]:
    e = html.escape
    lines = [f'<h2 id="{e(r["name"])}">{e(r["name"])}: {as_html(r["title"])}</h2>']
    if not r["done"]:
        return [*lines, '<p><span class="todo">still to do</span></p>']
    lines.append(f'<p class="soft">{e(provenance(r))}</p>')
    lines += [f"<p>{as_html(part)}</p>" for part in r["text"].split("\n\n") if part.strip()]
    for path in r["figures"]:
        svg = path.removesuffix(".png") + ".svg"
        lines.append(f'<p><a href="{e(svg)}"><img src="{e(path)}" alt="{e(r["title"])}"></a></p>')
    lines.append(
        "<table><tr><th>claim</th><th class=n>measured</th><th>paper</th><th></th><th>theory</th>"
        "<th></th></tr>"
    )
    for c in r["claims"]:
        notes = [c["note"], c["differs"] and f"Differs: {c['differs']}", c["surprise"]]
        small = "".join(f"<br><small>{as_html(n)}</small>" for n in notes if n)
        cells = "".join(
            f"<td>{said(c[who], as_html, '<br><small>{}</small>')}</td>"
            f'<td><span class="{c["verdict"][who]}">{c["verdict"][who]}</span></td>'
            for who in ("paper", "theory")
        )
        lines.append(
            f'<tr class="{"surprise" if c["surprise"] else ""}"><td class="claim">'
            f"{as_html(c['text'])}{small}</td><td class=n>{measured(c)}</td>{cells}</tr>"
        )
    lines.append("</table>")
    if r["tables"]:
        links = ", ".join(f'<a href="{e(t)}">{e(Path(t).name)}</a>' for t in r["tables"])
        lines.append(f'<p class="soft">data: {links}</p>')
    return lines


# ---------------------------------------------------------------------- words of every page
def provenance(r: Record) -> str:
    """One line that says where the numbers of an experiment come from."""
    size = "quick: reduced in size and number of runs" if r["quick"] else "full size"
    seeds = f", seeds {r['seeds']}" if r["seeds"] else ""
    origin = f"commit {r['commit']}" if r.get("commit") else f"source {r['source']}"
    return (
        f"{size}{seeds}, {duration(r['seconds'])}, by hardgrain {r['version']} ({origin}) on"
        f" {r['date'][:10]}"
    )


def measured(claim: Record) -> str:
    """The measured number with its error."""
    value = math.nan if claim["measured"] is None else claim["measured"]
    return number(value, claim["error"])


def said(expected: Record | str | None, text: Callable[[str], str], small: str) -> str:
    """What paper or theory says: a number, its tolerance and the reason, or words alone."""
    if not expected:
        return ""
    if isinstance(expected, str):
        return small.format(text(expected)).removeprefix("<br>")
    side = "" if expected["side"] == "equal" else f"{expected['side']} "
    exact = expected["tolerance"] == 0.0 or expected["reason"] in ("exact", "rounding")
    tolerance = "" if exact else f" ± {expected['tolerance'] or math.nan:.2g}"
    told = [expected["words"], expected["reason"] and f"± {expected['reason']}"]
    below = "".join(small.format(text(t)) for t in told if t and not (exact and t[0] == "±"))
    return f"{side}{number(expected['value'])}{tolerance}{below}"
