"""Every picture of the docs says where it comes from, and says so truly."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DRAW: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "draw.py"))
PICTURES = sorted(p.name for p in (ROOT / "docs").glob("*.png"))


def test_every_picture_is_drawn_by_a_command() -> None:
    assert sorted(DRAW["records"]()) == PICTURES
    assert {r["by"] for r in DRAW["records"]().values()} == set(DRAW["SOURCES"])


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_of_the_script_that_stands_beside_it(picture: str) -> None:
    record = DRAW["records"]()[picture]
    source = DRAW["SOURCES"][record["by"]]
    assert record["script"] == DRAW["script_digest"](source), f"make pictures ARGS={record['by']}"
    assert record["command"] == source.command


def test_a_script_is_judged_by_what_it_does() -> None:
    code = DRAW["_code"]
    script = "import a\nfrom b import (\n    c,\n)\n\n# why\nx = c(a)\n"
    assert code(script) == code(script.replace("from b", "from d.b")) == "x = c(a)"
    assert code(script.replace("c(a)", "a(c)")) != code(script)


@pytest.mark.parametrize("picture", PICTURES)
def test_captions_name_date_and_version(picture: str) -> None:
    words = DRAW["drawn_words"](DRAW["records"]()[picture])
    shown = 0
    for page in DRAW["pages"]():
        text = page.read_text(encoding="utf-8")
        shown += len(re.findall(rf"!\[[^\]]*\]\([^)]*\b{re.escape(picture)}\)", text))
        assert DRAW["caption"](text, picture, words) == text, page
    assert shown > 0


def test_captions_are_written_and_renewed() -> None:
    caption = DRAW["caption"]
    page = "a\n\n![x](docs/a.png)\n\n*It is\nhere.*\n\n![y](b.png)\n\nend\n"
    first = caption(page, "a.png", "Drawn on 2001-02-03 by hardgrain 0.1.")
    assert "*It is\nhere.\nDrawn on 2001-02-03 by hardgrain 0.1.*\n\n![y]" in first
    again = caption(first, "a.png", "Drawn on 2002-02-03 by hardgrain 0.2.dev1.")
    assert again.count("Drawn on") == 1
    assert "hardgrain 0.2.dev1.*" in again
    bare = caption(page, "b.png", "Drawn on 2001-02-03 by hardgrain 0.1.")
    assert "![y](b.png)\n\n*Drawn on 2001-02-03 by hardgrain 0.1.*\n\nend\n" in bare
    assert caption(page, "c.png", "Drawn") == page
