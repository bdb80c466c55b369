"""Short printed forms: arrays are shown by their shape, so that states fit a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import Any, TypeVar

import numpy as np

__all__ = ["brief", "html_table"]

C = TypeVar("C", bound=type)

SHORT = 6  # [entries] longer arrays are shown by their shape


def brief(cls: C) -> C:
    """Give a dataclass a short ``repr``, and a table of its fields in notebooks."""
    cls.__repr__ = _text  # type: ignore[assignment]
    cls._repr_html_ = _html  # type: ignore[attr-defined]
    return cls


def html_table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    """A small table for notebooks."""
    cells = (
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in row) + "</tr>"
        for row in rows
    )
    return f"<b>{escape(title)}</b><table>{''.join(cells)}</table>"


def _text(self: Any) -> str:
    parts = (f"{f.name}={_value(getattr(self, f.name))}" for f in fields(self))
    return f"{type(self).__name__}({', '.join(parts)})"


def _html(self: Any) -> str:
    from hardgrain.core.fields import field_texts

    about = {text.name: text for text in field_texts(type(self))}
    rows = []
    for f in fields(self):
        text = about.get(f.name)
        words = "" if text is None else f"{text.meaning} {f'[{text.unit}]' if text.unit else ''}"
        rows.append((f.name, _value(getattr(self, f.name)), words.strip()))
    return html_table(type(self).__name__, rows)


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > SHORT:
        return f"<{' × '.join(map(str, value.shape))} {value.dtype}>"
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 200 else f"{text[:197]}..."
