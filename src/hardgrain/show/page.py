"""What all written pages share: their look, numbers for readers, and files written whole."""

from __future__ import annotations

import html
import io
import math
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from hardgrain.io.whole import whole
from hardgrain.show.style import INK, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BASE", "anchor", "as_html", "number", "svg", "template", "write_whole"]

# Colours of text have a contrast of 4.5 at least, on light and on dark ground.
BASE = """
:root { color-scheme: light dark; --ink: #1d2125; --paper: #ffffff; --soft: #5d646c;
        --line: #dde1e5; --pale: #f4f5f6; --good: #00704f; --bad: #b8430a; --link: #0064a0;
        --odd: #8a4f8f; --alarm: #fdf1ea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6e8; --paper: #16191c; --soft: #a2a9b0;
        --line: #363c42; --pale: #20252a; --good: #5ecfa4; --bad: #ff9d66; --link: #6cb8ee;
        --odd: #d0a0d6; --alarm: #3a2318; } }
@media print { :root { --ink: #000; --paper: #fff; --soft: #444; --line: #bbb; --pale: #fff;
        --good: #00704f; --bad: #b8430a; --link: #0064a0; --odd: #8a4f8f; --alarm: #fff; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 64rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 3rem; }
p.soft, td.soft, small { color: var(--soft); } a { color: var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: 1rem 0; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line);
         vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""


def number(value: float | None, error: float | None = None) -> str:
    """A value for a reader, with its error to two figures where it has one."""
    if value is None or not math.isfinite(value):
        return "–" if value is None else "not a number"
    if error is None or not math.isfinite(error) or error <= 0.0:
        return f"{value + 0.0:.5g}"  # avoids −0
    top = max(abs(value), error)
    if not 1e-4 <= top < 1e6:
        return f"{value:.4g} ± {error:.2g}"
    places = max(0, min(9, 1 - math.floor(math.log10(error))))
    return f"{value:.{places}f} ± {error:.{places}f}"


def as_html(plain: str) -> str:
    """Plain text as HTML; N_I and the like get their subscripts."""
    return re.sub(r"\b([^\W\d_])_(\w+)", r"\1<sub>\2</sub>", html.escape(plain))


def write_whole(path: Path, text: str) -> None:
    """Write text to a file, whole or not at all."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def anchor(name: str) -> str:
    """The place of a section within its page."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def template(name: str) -> str:
    """A file that pages are made with."""
    return (files("hardgrain.show") / "templates" / name).read_text(encoding="utf-8")


def svg(figure: Figure, words: str) -> str:
    """A figure as SVG for a page: text has the colour of the page, and ids are unique."""
    file = io.StringIO()
    with style():
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = text.replace(INK, "currentColor").replace("#000000", "currentColor")
    mark = anchor(words)[:12]
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{mark}-", text)
    head = f'<svg role="img" aria-label="{html.escape(words)}"'
    return re.sub(r"<svg", head, text, count=1)
