"""The reference of a scenario's fields, made from the tables themselves: as text, as Markdown.

``python -m hardgrain.cli.reference docs/scenario.md`` writes the page in the repository.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from hardgrain.core.fields import FieldText, field_texts
from hardgrain.errors import InputError
from hardgrain.scene.drive import FUNCTIONS, Table
from hardgrain.show.toml import value_text

__all__ = ["as_markdown", "as_text", "examples", "tables"]

WIDTH = 80  # [characters] width of the text in a terminal


@dataclass(frozen=True)
class Entry:
    """A table of the scenario: where it stands, and which kind of it this is."""

    path: str  # such as scene.walls; empty for the scenario itself
    model: type[BaseModel]
    listed: bool  # whether it is one of several, headed [[scene.walls]]

    @property
    def kind(self) -> str | None:
        field = self.model.model_fields.get("kind")
        return None if field is None else str(field.default)

    @property
    def title(self) -> str:
        """The header of the table in TOML, with its kind."""
        if self.model is Table:
            return "a function of time, as a table"
        if not self.path:
            return "a scenario"
        if self.path.startswith("study"):
            return "a study" if self.path == "study" else "[parameters.NAME] of a study"
        head = f"[[{self.path}]]" if self.listed else f"[{self.path}]"
        return head if self.kind is None else f'{head} with kind = "{self.kind}"'

    @property
    def about(self) -> str:
        return inspect.cleandoc(vars(self.model).get("__doc__") or "").replace("``", "`")

    @property
    def address(self) -> list[str]:
        """The words by which the table is found: those of its path, and its kind."""
        return [word for word in (*self.path.split("."), self.kind) if word]


@cache
def tables() -> tuple[Entry, ...]:
    """All tables of a scenario, each listed where it occurs first, and those of a study."""
    from hardgrain.run.scenario import Scenario
    from hardgrain.study.spec import Parameter, Plan

    found: dict[type, Entry] = {}

    def visit(entry: Entry) -> None:
        found[entry.model] = entry
        for name, field in entry.model.model_fields.items():
            listed = "[[" if "list[" in str(field.annotation) else ""
            for model in _models(field.annotation):
                path = f"{entry.path}.{name}".lstrip(".")
                if model is not Table and model not in found:
                    visit(Entry(path, model, bool(listed)))

    visit(Entry("", Scenario, False))
    study = (Entry("study", Plan, False), Entry("study.parameters", Parameter, False))
    return (*found.values(), Entry("", Table, False), *study)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """All tables that an annotation names, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


@cache
def examples() -> dict[str, list[dict[str, Any]]]:
    """Examples of every table, by the name of its class."""
    text = (files("hardgrain.cli") / "examples.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _example(entry: Entry, name: str) -> str:
    values = [e[name] for e in examples().get(entry.model.__name__, []) if name in e]
    return f"{name} = {value_text(values[0])}" if values else ""


def _default(field: FieldText) -> str:
    if field.default is None:
        return "must be given"
    return "" if field.default == "None" else field.default


# ---------------------------------------------------------------------- in a terminal
def as_text(topic: str) -> str:
    """The text on a topic: a table, a field, or the functions of time."""
    words = [word for word in topic.lower().split(".") if word and word != "scenario"]
    if words in (["functions"], ["expressions"]):
        return _functions_text()
    entries = [entry for entry in tables() if words == entry.address[-1:] == [entry.kind]]
    entries = entries or [e for e in tables() if _leads(words, [*e.path.split(".")])]
    entries = entries or [e for e in tables() if _leads(words, e.address)]
    if entries or not words:
        return "\n\n".join(_table_text(entry) for entry in entries or tables()[:1])
    fields = [
        f"{entry.title}\n{_field_text(entry, field)}"
        for entry in tables()
        for field in field_texts(entry.model)
        if _leads(words, [*entry.address, field.name])
    ]
    if not fields:
        raise InputError(f"there is no help on {topic!r}; {_nearest(words[-1])}")
    return "\n\n".join(dict.fromkeys(fields))


def _leads(words: list[str], address: list[str]) -> bool:
    """Whether words are those of an address, in order and with its last; some may be missing."""
    rest = iter(address)
    return bool(words) and words[-1:] == address[-1:] and all(word in rest for word in words)


def _nearest(word: str) -> str:
    known = {w for e in tables() for w in (*e.address, *(f.name for f in field_texts(e.model)))}
    near = difflib.get_close_matches(word, [*known, "functions"], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "hardgrain help scenario shows where to begin"


def _table_text(entry: Entry) -> str:
    fields = field_texts(entry.model)
    parts = [f"{entry.title}\n", _wrapped(entry.about), ""]
    parts += [_field_text(entry, field) for field in fields]
    inner = sorted({e.path for e in tables() if _parent(e.path) == entry.path and e.path})
    if inner and entry.model is not Table:
        parts += ["", _wrapped(f"See also: hardgrain help {', '.join(inner)}.")]
    return "\n".join(parts).rstrip()


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _field_text(entry: Entry, field: FieldText) -> str:
    unit = f" [{field.unit}]" if field.unit else ""
    default = _default(field)
    default = f", {default}" if field.default is None else f", default {default}" if default else ""
    lines = textwrap.wrap(f"{field.name}: {field.type}{unit}{default}", WIDTH - 4)
    lines += ["    " + line for line in textwrap.wrap(field.meaning, WIDTH - 8)]
    if example := _example(entry, field.name):
        lines.append(f"    {example}")
    return textwrap.indent("\n".join(lines), "  ")


def _wrapped(text: str) -> str:
    """Fill paragraphs to the width, and leave lists and formulas as they are."""
    parts = re.split(r"\n\s*\n", text)
    kept = [p if p.startswith((" ", "-")) else textwrap.fill(p, WIDTH) for p in parts]
    return "\n\n".join(kept)


_ON_FUNCTIONS = (
    "Where a field is a function of time it takes a number, an expression in t in quotes, or a"
    " table of times and values; in Python also a function of t. Expressions hold numbers, t, pi,"
    " e, + - * / **, parentheses and these functions:"
)


def _functions_text() -> str:
    rows = [f"  {one.usage:<18} {one.about}" for one in FUNCTIONS.values()]
    example = '  velocity = [0, "0.1*sin(2*pi*3*t)*ramp(t, 0, 1)"]'
    return "\n".join([_wrapped(_ON_FUNCTIONS), "", *rows, "", "Example:", example])


# ---------------------------------------------------------------------- as Markdown
_HEAD = """\
<!-- Written by python -m hardgrain.cli.reference docs/scenario.md; do not edit. -->

# Fields of a scenario

A scenario is a TOML file, or a `hardgrain.Scenario` in Python: the same tables and the same fields.
`hardgrain new` writes a commented one, and `hardgrain help scenario.contacts` shows this page in
the terminal, table by table. Where a table may be of several kinds, its `kind` says which. What is
wrong with a scenario is said in one sentence before anything runs. The last two tables are those of
a [study](studies.md), which runs a scenario many times.

Units are those of the quantities: any consistent system will do. Vectors have a number for each
axis: two in a scene of dimension 2, three in one of dimension 3.
"""


def as_markdown() -> str:
    """The whole reference as one page."""
    parts = [_HEAD]
    for entry in tables():
        name = entry.model.__name__
        title = f"## {name}: {entry.title}" if entry.path or entry.model is Table else f"## {name}"
        parts += [title, "", entry.about.replace("\n\n    ", "\n\n"), *_rows(entry), ""]
    rows = [f"| `{one.usage}` | {one.about} |" for one in FUNCTIONS.values()]
    parts += [
        "## Functions of time", "", "\n".join(textwrap.wrap(_ON_FUNCTIONS, 100)), "",
        "| function | what it is |", "| --- | --- |", *rows,
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _rows(entry: Entry) -> list[str]:
    fields = field_texts(entry.model)
    if not fields:
        return []
    rows = ["", "| field | what it is | type | unit | default | example |", "| --- " * 6 + "|"]
    for field in fields:
        default = _default(field)
        default = f"`{default}`" if default and field.default is not None else default
        cells = (
            f"`{field.name}`", field.meaning.replace("``", "`"), field.type, field.unit, default,
            f"`{_example(entry, field.name)}`",
        )  # fmt: skip
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_markdown(), encoding="utf-8")
