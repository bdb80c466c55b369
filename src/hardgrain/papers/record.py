"""The record of a full reproduction: small enough to be kept with the project, and shown as a page.

``keep`` takes claims and pictures of a finished, full reproduction into a folder, with a Markdown
page that reads well in the repository and on the site. ``disagreements`` compares another
reproduction, such as a quick one, with such a record: claims of the same text are the same number
measured twice, and must agree within their errors.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hardgrain
from hardgrain.errors import InputError
from hardgrain.io.json_text import json_text
from hardgrain.papers.experiment import chance
from hardgrain.papers.reproduce import (
    HOW_TO_READ,
    digest_of,
    measured,
    provenance,
    said,
    tally,
)
from hardgrain.show.page import as_html, write_whole

__all__ = ["disagreements", "keep", "read"]

Record = dict[str, Any]

_LATEST = 100  # [commits] how many of the latest are searched for the one of a source
# [1] Relative tolerances of exact numbers, and of numbers that only rounding and a solver's
# tolerance may change.
_SAME = 1e-6


def read(folder: Path) -> dict[str, Record]:
    """The experiments of a record, by name."""
    found = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    return {r["name"]: r for r in found["experiments"]}


# ---------------------------------------------------------------------- keep
def keep(results: Path, target: Path) -> Path:
    """Take a full reproduction into ``target``/PAPER; returns the page that shows it.

    Experiments that were not done stay as the record has them.
    """
    whole = json.loads((results / "claims.json").read_text(encoding="utf-8"))
    folder: Path = target / whole["paper"]
    before = read(folder) if (folder / "claims.json").exists() else {}
    whole["experiments"] = [
        r if r["done"] else before.get(r["name"], r) for r in whole["experiments"]
    ]
    for r in whole["experiments"]:
        if not r["done"] or r["quick"]:
            state = "quick" if r["done"] else "not done"
            raise InputError(
                f"{r['name']} in {results} is {state}; a record is made of full reproductions only:"
                f" hardgrain reproduce {whole['paper']} --only {r['name']}"
            )
    pictures: dict[str, bytes] = {}
    for r in whole["experiments"]:
        if "tables" not in r:  # it is the record's own
            pictures |= {name: (folder / name).read_bytes() for name in r["figures"]}
            continue
        r.pop("tables")  # too large to keep, and made again by any run
        kept = []
        for path in r["figures"]:
            name = path.replace("/", "-") if Path(path).stem != r["name"] else Path(path).name
            pictures[name] = (results / path).read_bytes()
            kept.append(name)
        r["figures"] = kept
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, picture in pictures.items():
        (folder / name).write_bytes(picture)
    commits = _commits({r["source"] for r in whole["experiments"]})
    for r in whole["experiments"]:
        r["commit"] = commits.get(r["source"], r.get("commit", ""))
    text = json_text(whole, indent=1) + "\n"
    write_whole(folder / "claims.json", text)
    page = folder / "index.md"
    write_whole(page, _page(whole))
    return page


def _commits(sources: set[str]) -> dict[str, str]:
    """The commits, among the latest ones, that hold the sources with these digests."""
    here = Path(hardgrain.__file__).parent

    def git(*arguments: str) -> bytes:
        done = subprocess.run(["git", "-C", here, *arguments], capture_output=True)
        return done.stdout if done.returncode == 0 else b""

    found: dict[str, str] = {}
    try:
        for commit in git("log", f"-{_LATEST}", "--format=%h").decode().split():
            if sources <= found.keys():
                break
            with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "."))) as tar:
                digest = digest_of(
                    (m.name, file.read())
                    for m in tar
                    if m.name.endswith(".py") and (file := tar.extractfile(m))
                )
            found.setdefault(digest, commit)
    except (OSError, tarfile.TarError):  # git or its repository is missing
        return {}
    return found


def _page(whole: Record) -> str:
    claims = [c for r in whole["experiments"] for c in r["claims"]]
    lines = [
        f"# {whole['paper']}, reproduced",
        "",
        f"{whole['reference']}.",
        "",
        f"Made by `hardgrain reproduce {whole['paper']} --record docs/reproductions`."
        f" {len(claims)} claims: {tally(claims)}. {HOW_TO_READ}",
        "",
    ]
    for r in whole["experiments"]:
        lines += [f"## {r['name']}: {r['title']}", "", f"*{provenance(r)}*", ""]
        lines += [r["text"], ""]
        lines += [f"![{r['title']}]({name})\n" for name in r["figures"]]
        lines += [
            "| claim | measured | paper | | theory | |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for c in r["claims"]:
            notes = [c["note"], c["differs"] and f"Differs: {c['differs']}", c["surprise"]]
            small = "".join(f"<br><small>{_cell(n)}</small>" for n in notes if n)
            row = [_cell(c["text"]) + small, measured(c)]
            for who in ("paper", "theory"):
                told = said(c[who], _cell, "<br><small>{}</small>")
                row += [told, f"**{v}**" if (v := c["verdict"][who]) else ""]
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text that can stand in a table of Markdown."""
    text = as_html(text).replace("\n", " ")
    for mark in "|*_`[]":
        text = text.replace(mark, f"&#{ord(mark)};")
    return text


# ---------------------------------------------------------------------- compare
def disagreements(
    found: Iterable[Record], recorded: Iterable[Record]
) -> tuple[set[str], list[str]]:
    """The texts that two lists of claims share, and a sentence for each that does not agree."""
    known = {c["text"]: c for c in recorded}
    shared, sentences = set(), []
    for c in found:
        if (other := known.get(c["text"])) is None:
            continue
        shared.add(c["text"])
        if None in (c["measured"], other["measured"]):
            sentences.append(f"{c['text']}: no number to compare")
            continue
        apart, allowed = abs(c["measured"] - other["measured"]), _allowed(c, other)
        if not apart <= allowed:
            sentences.append(
                f"{c['text']}: {measured(c)}, the record has {measured(other)}; that is"
                f" {apart:.2g} apart, allowed are {allowed:.2g}"
            )
    return shared, sentences


def _allowed(c: Record, other: Record) -> float:
    """How far two measurements of one number may be apart.

    If both have errors, chance decides. Numbers without an error are functions of the input: the
    same within rounding, or within what theory, or the paper where there is none, allows each of
    them. A number that is only bounded, such as the least of all runs, depends on how many there
    were, and is judged by its bound alone.
    """
    errors = [x["error"] or 0.0 for x in (c, other)]
    bound = any(isinstance(x, dict) and x["side"] != "equal" for x in (c["paper"], c["theory"]))
    if bound and not any(errors):
        return math.inf
    samples = [x["samples"] for x in (c, other) if x["error"] and x["samples"]]
    by_chance = chance(math.hypot(*errors), min(samples, default=None)) if any(errors) else 0.0
    judges = [x["theory"] or (x["paper"] if isinstance(x.get("paper"), dict) else None)
              for x in (c, other)]  # fmt: skip
    theory = [j["tolerance"] or 0.0 for j in judges if j]
    rounding = _SAME * max(abs(c["measured"]), abs(other["measured"]))
    return float(max(by_chance, rounding, 2.0 * min(theory, default=0.0)))
