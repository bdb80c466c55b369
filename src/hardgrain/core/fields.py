"""The fields of input tables, read from the source: their type, default and comment.

The comment behind a field, or on the lines above it, says what it means, with its unit in square
brackets, [1] for a pure number:

    density: Positive = 1.0  # mass per area in 2D, per volume in 3D [mass/length^dim]

The help in the terminal, the reference in ``docs/`` and ``help()`` in Python all show this text.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tokenize
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["FieldText", "describe", "field_texts"]


@dataclass(frozen=True)
class FieldText:
    """A field of a class in words."""

    name: str
    type: str
    default: str | None  # the default as it is written; None if the field must be given
    meaning: str  # the comment, without its unit
    unit: str  # "1" for pure numbers, empty for what has no unit


def field_texts(cls: type) -> list[FieldText]:
    """The fields of a class and of its base classes, without the key ``kind``."""
    found: dict[str, FieldText] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("hardgrain."):
            texts = _module(base.__module__).get(base.__qualname__, ())
            found |= {text.name: text for text in texts}
    found.pop("kind", None)
    return list(found.values())


def describe(cls: type, own: str) -> str:
    """A docstring with the fields below it, for ``help()``."""
    lines = [inspect.cleandoc(own), ""]
    for text in field_texts(cls):
        unit = f" [{text.unit}]" if text.unit else ""
        default = "" if text.default in (None, "None") else f", default {text.default}"
        lines += [f"{text.name}: {text.type}{unit}{default}", f"    {text.meaning}"]
    return "\n".join(lines).strip()


@cache
def _module(name: str) -> dict[str, tuple[FieldText, ...]]:
    """The fields of all classes of a module, by the name of the class."""
    names = vars(sys.modules[name])
    source = inspect.getsource(sys.modules[name])
    comments, alone = _comments(source)
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            lines = [n for n in node.body if isinstance(n, ast.AnnAssign)]
            found[node.name] = tuple(_field(line, comments, alone, names) for line in lines)
    return found


def _comments(source: str) -> tuple[dict[int, str], set[int]]:
    """Comments by their line, and the lines that hold only a comment."""
    comments, alone = {}, set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string.lstrip("# ")
            if token.line.lstrip().startswith("#"):
                alone.add(token.start[0])
    return comments, alone


def _field(
    node: ast.AnnAssign, comments: dict[int, str], alone: set[int], names: dict[str, Any]
) -> FieldText:
    above = node.lineno - 1
    while above in alone:
        above -= 1
    lines = range(above + 1, (node.end_lineno or node.lineno) + 1)
    text = " ".join(comments[k] for k in lines if k in comments)
    text = re.sub(r"\s*\bnoqa.*", "", text)
    unit = re.search(r"\s*\[([^\]]*)\]", text)
    if unit:
        text = (text[: unit.start()] + text[unit.end() :]).strip()
    assert isinstance(node.target, ast.Name)
    return FieldText(
        node.target.id, _words(node.annotation, names), _default(node.value), text,
        unit.group(1) if unit else "",
    )  # fmt: skip


def _default(value: ast.expr | None) -> str | None:
    """A default as it would be written in TOML, as far as possible."""
    match value:
        case None:
            return None
        case ast.Constant(value=bool(truth)):
            return str(truth).lower()
        case ast.Call(func=ast.Name(id="Field"), keywords=keywords):
            given = {k.arg: k.value for k in keywords}
            if "default" in given:
                return _default(given["default"])
            factory = given.get("default_factory")
            return _default(factory.body if isinstance(factory, ast.Lambda) else factory)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            return name
    return ast.unparse(value).replace("'", '"')


_NAMES = {
    "Finite": "number",
    "float": "number",
    "Positive": "number above 0",
    "NotNegative": "number of at least 0",
    "Share": "number from 0 to 1",
    "Whole": "whole number",
    "int": "whole number",
    "Count": "whole number of at least 1",
    "Flag": "true or false",
    "bool": "true or false",
    "Name": "name",
    "FileName": "file name",
    "str": "text",
    "Vector": "list with a number for each axis",
    "Numbers": "list of numbers",
    "TimeFunction": "function of time",
    "ContactRule": "Python function",
    "Sizes": "sizes",
    "Shape": "shape",
    "Any": "value",
    "Points": "list of points",
    "Sides": "whole number of at least 3",
    "Corners": "whole number of at least 4",
    "Rounding": "number from 0 to 0.999",
}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def _words(node: ast.expr, names: dict[str, Any]) -> str:
    """A type in words; ``names`` are the names that its module defines."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = [side for side in (left, right) if not _is_none(side)]
            return ", or ".join(_words(side, names) for side in sides)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *extra])):
            return " ".join([_words(inner, names), *_limits(extra, names)])
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            options = choices.elts if isinstance(choices, ast.Tuple) else [choices]
            return " or ".join(ast.unparse(one).replace("'", '"') for one in options)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return f"list of {_plural(_words(inner, names))}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[inner, *rest])):
            if any(isinstance(one, ast.Constant) and one.value is ... for one in rest):
                return f"list of {_plural(_words(inner, names))}"
            return f"list of {1 + len(rest)} {_plural(_words(inner, names))}"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, inner])):
            return f"table by {_words(key, names)} of {_plural(_words(inner, names))}"
        case ast.Name(id=name):
            return _NAMES.get(name, f"table {name}")
    return ast.unparse(node)


def _plural(words: str) -> str:
    return re.sub(r"^((?:whole )?(?:number|text|name|function|table|list|value))\b", r"\1s", words)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _limits(extra: list[ast.expr], names: dict[str, Any]) -> list[str]:
    """The limits that Field(…) in an annotation sets."""
    found = []
    for call in extra:
        if isinstance(call, ast.Call):
            for limit in call.keywords:
                if limit.arg in _BOUNDS:
                    value = eval(ast.unparse(limit.value), names)
                    found.append(f"{_BOUNDS[limit.arg]} {value:g}")
    return [f"({' and '.join(found)})"] if found else []
