"""Docstrings are plain text: `names` in backticks, formulas indented. Here they become markup."""

import inspect
import re
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel
from sphinx.application import Sphinx

from hardgrain.core.fields import field_texts

_LITERAL = re.compile(r"``[^`]+``|`[^`]+`")
_SPECIAL = re.compile(r"[\\*|]|_(?=\W|$)")


def escaped(text: str) -> str:
    """A line as it stands, with names between backticks as code."""
    out, end = "", 0
    for found in _LITERAL.finditer(text):
        out += _SPECIAL.sub(r"\\\g<0>", text[end : found.start()])
        out += "``" + found.group().strip("`") + "``"
        end = found.end()
    return out + _SPECIAL.sub(r"\\\g<0>", text[end:])


def marked_up(lines: list[str]) -> list[str]:
    """Indented paragraphs stay as they are, all others are text."""
    out: list[str] = []
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
            continue
        if block and block[0].startswith(" "):
            out += ["::", "", *("    " + one for one in block), ""]
        elif block:
            indent = [len(one) - len(one.lstrip()) for one in block]
            out += [" " * n + escaped(one.strip()) for n, one in zip(indent, block)] + [""]
        block = []
    return out


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    # its fields follow as a list of their own
    if inspect.isclass(obj) and issubclass(obj, BaseModel):
        lines[:] = inspect.cleandoc(vars(obj).get("__doc__") or "").splitlines()
    lines[:] = marked_up(lines)
    if inspect.isclass(obj) and (is_dataclass(obj) or issubclass(obj, BaseModel)):
        for field in field_texts(obj):
            unit = f" [{field.unit}]" if field.unit else ""
            words = f": {escaped(field.meaning + unit)}" if field.meaning else ""
            lines.append(f"- ``{field.name}``{words}")
        lines.append("")


def _signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, None] | None:
    """Tables of input show their fields below, not between brackets."""
    if inspect.isclass(obj) and issubclass(obj, BaseModel):
        return "(**fields)", None
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}
