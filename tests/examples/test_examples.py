"""The tutorials run and hold what they assert; the site builds; what pages say can be done."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hardgrain.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def name(path: Path) -> str:
    return path.stem


@pytest.mark.rounding
@pytest.mark.parametrize("script", EXAMPLES, ids=name)
def test_example_holds(script: Path, tmp_path: Path) -> None:
    runpy.run_path(str(script))["main"](quick=True, folder=tmp_path)
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 5000


@pytest.mark.parametrize("script", EXAMPLES, ids=name)
def test_example_has_a_page_with_its_picture(script: Path) -> None:
    page = ROOT / "docs" / f"{script.stem.replace('_', '-')}.md"
    text = page.read_text()
    assert f"../examples/{script.name}" in text
    assert f"({script.stem}.png)" in text
    assert page.stem in (ROOT / "docs" / "tutorials.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_of_a_page_exist(page: Path) -> None:
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
        assert (page.parent / picture).is_file(), picture


# ---------------------------------------------------------------------- code in pages
def blocks(page: Path, language: str) -> list[str]:
    """Fenced blocks of a language; those without one for an empty name."""
    found, inside, opened = [], None, ""
    for line in page.read_text().splitlines():
        if not line.startswith("```"):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside, opened = [], line[3:]
        else:
            if opened == language:
                found.append("\n".join(inside))
            inside = None
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_in_a_page_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def commands(page: Path) -> list[list[str]]:
    """Calls of hardgrain in a page: in blocks line by line, and between backticks."""
    text = page.read_text()
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    lines += re.findall(r"(?<!`)`(hardgrain [^`\n]+)`", text) + re.findall(
        r"^    (.+)$", text, re.M
    )
    calls = [shlex.split(line, comments=True) for line in lines if line.startswith("hardgrain ")]
    return [call[1:] for call in calls]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_in_a_page_exist(page: Path) -> None:
    for call in commands(page):
        command, words = typer.main.get_command(app), list(call)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not getattr(command, "commands", {}) or not words or words[0].startswith("-"), call
        known = {"--help", "-h"} | {o for p in command.params for o in p.opts + p.secondary_opts}
        for word in words:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in known, call


def test_the_check_of_commands_would_find_one() -> None:
    assert "measure" in {call[0] for call in commands(ROOT / "docs" / "measuring.md")}


# ---------------------------------------------------------------------- the site
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "myst_parser", "pydata_sphinx_theme"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*build, "docs", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_site_fetches_nothing(site: Path) -> None:
    """No script, style, font or picture from elsewhere."""
    pages = list(site.glob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*"', text), page
        assert not re.findall(r'<link[^>]*\shref="(?:https?:)?//[^"]*"', text), page
    for sheet in site.glob("_static/**/*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//", sheet.read_text()), sheet


def test_site_asks_the_package(site: Path) -> None:
    """Tables made at build time hold what there is."""
    import hardgrain
    from hardgrain.measure.catalogue import quantities

    measuring = (site / "measuring.html").read_text()
    for quantity in quantities():
        assert f">{quantity}<" in measuring, quantity
    line = (site / "command-line.html").read_text()
    for command in typer.main.get_command(app).commands:
        assert f'id="hardgrain-{command}"' in line, command
    api = (site / "api.html").read_text()
    for public in hardgrain.__all__:
        if not public.startswith("_"):
            assert f'id="hardgrain.{public}"' in api, public
    fields = (site / "scenario.html").read_text()
    for field in ("contacts_every", "friction_dynamic", "at_rest", "substeps"):
        assert f">{field}<" in fields, field
