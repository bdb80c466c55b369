"""Draw the pictures of the README and of the pages: ``make pictures``.

Every picture in `docs/` comes from one command, and `pictures.json` says of each which command,
which version and source of the package drew it, and when. The caption below a picture says so too.
A picture is out of date when the package or the script behind it has changed since; without names,
those are drawn anew. Pictures of the papers are part of the records in `docs/reproductions`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
RECORDS = DOCS / "pictures.json"
LARGE = 500_000  # [byte]
_CAPTION = re.compile(r"Drawn on \d{4}-\d\d-\d\d by hardgrain [\w.+-]+\.")

Draw = Callable[[Path], dict[str, Path]]  # takes a folder to work in; picture in docs -> its file


@dataclass(frozen=True)
class Source:
    """What draws one picture or a few."""

    command: str  # what a reader types for it
    behind: tuple[str, ...]  # scripts outside the package that draw it
    draw: Draw


# ---------------------------------------------------------------------- what is drawn how
def _example(name: str, *pictures: str) -> Source:
    script = f"examples/{name}.py"

    def draw(folder: Path) -> dict[str, Path]:
        runpy.run_path(str(ROOT / script))["main"](quick=False, folder=folder)
        return {p: folder / p for p in (f"{name}.png", *pictures)}

    return Source(f"python {script}", (script,), draw)


def _hardgrain(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "hardgrain.cli", *arguments], cwd=cwd, check=True)


def _demo(folder: Path) -> dict[str, Path]:
    _hardgrain("demo", "-o", "demo", "--quiet", cwd=folder)
    return {"force-network.png": folder / "demo" / "network.png"}


def _indeterminacy(folder: Path) -> dict[str, Path]:
    _hardgrain("new", "settling-box", cwd=folder)
    _hardgrain("run", "settling-box.toml", "--quiet", cwd=folder)
    _hardgrain("forces", "settling-box.h5", cwd=folder)
    return {"indeterminacy.png": folder / "settling-box-forces" / "network.png"}


def _membrane(folder: Path) -> dict[str, Path]:
    _hardgrain("new", "membrane", cwd=folder)
    _hardgrain("run", "membrane.toml", "--quiet", cwd=folder)
    _hardgrain("plot", "membrane.h5", "packing", "-o", "membrane.png", cwd=folder)
    return {"membrane.png": folder / "membrane.png"}


def _soft_disks(folder: Path) -> dict[str, Path]:
    run = folder / "soft_disks.h5"
    _hardgrain("run", str(ROOT / "examples/soft_disks.toml"), "-o", str(run), "--quiet", cwd=folder)
    look = ("--colour", "stress", "-o", "soft_disks.png")
    _hardgrain("plot", str(run), "packing", *look, cwd=folder)
    return {"soft_disks.png": folder / "soft_disks.png"}


def _scaling(folder: Path) -> dict[str, Path]:
    sys.path.insert(0, str(ROOT))
    from benchmarks.scaling import FRICTION, SIZES, draw, measured

    both = measured(SIZES, FRICTION, quick=False)
    for scaling in both.values():
        for figure in scaling.figures({}, ""):
            print(f"{figure.what}: {figure.value:.3g}  {figure.detail}")
    draw(both[2], both[3], folder / "rigid-scaling")
    return {"rigid-scaling.png": folder / "rigid-scaling.png"}


def _how_big(folder: Path) -> dict[str, Path]:
    """From what was measured last: `docs/how-big.json`."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.how_big import draw

    draw(folder / "how-big.png")
    return {"how-big.png": folder / "how-big.png"}


def _rigid_scenes(folder: Path) -> dict[str, Path]:
    """From what was measured last: `docs/rigid-scenes.json`."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.rigid_scenes import draw

    draw(folder / "rigid-scenes.png")
    return {"rigid-scenes.png": folder / "rigid-scenes.png"}


def _viewer(folder: Path) -> dict[str, Path]:
    """A screenshot of the viewer in a real browser, headless."""
    from playwright.sync_api import sync_playwright

    from hardgrain.show.view import Viewer

    sys.path.insert(0, str(ROOT))
    from tests.browser.conftest import ARGUMENTS, _chromium

    _hardgrain("new", "biaxial", cwd=folder)
    _hardgrain("run", "biaxial.toml", "--quiet", cwd=folder)
    with sync_playwright() as control, Viewer(folder / "biaxial.h5") as viewer:
        browser = control.chromium.launch(executable_path=_chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(viewer.address)
        page.get_by_text("grains,").wait_for()
        page.locator(".mantine-Notification-closeButton").click()  # drawn in software: we know
        page.get_by_role("slider").first.press("End")
        for label, option in (("by", "pressure"), ("of", "force_top_y")):
            page.get_by_label(label, exact=True).click()
            page.get_by_role("option", name=option, exact=True).click()
        page.mouse.click(634, 370)  # on a grain: its numbers are shown
        shots = [b"", page.screenshot()]
        while shots[-1] != shots[-2]:  # until the picture stands still
            time.sleep(0.3)
            shots.append(page.screenshot())
        (folder / "viewer.png").write_bytes(shots[-1])
        browser.close()
    return {"viewer.png": folder / "viewer.png"}


SOURCES = {
    "force-network": Source("hardgrain demo", (), _demo),
    "indeterminacy": Source("hardgrain forces settling-box.h5", (), _indeterminacy),
    "membrane": Source("hardgrain plot membrane.h5", (), _membrane),
    "soft_disks": Source("hardgrain plot soft_disks.h5 --colour stress", (), _soft_disks),
    "rigid-scaling": Source(
        "python -m benchmarks scaling",
        ("benchmarks/scaling.py", "benchmarks/rigid_packings.py"),
        _scaling,
    ),
    "how-big": Source("python -m benchmarks how-big", ("benchmarks/how_big.py",), _how_big),
    "viewer": Source("hardgrain view biaxial.h5", (), _viewer),
    "quick_start": _example("quick_start"),
    "is_it_rigid": _example("is_it_rigid"),
    "unique_forces": _example("unique_forces"),
    "silo_discharge": _example("silo_discharge", "silo_discharge_flow.png"),
    "rotating_drum": _example("rotating_drum", "rotating_drum_pile.png"),
    "biaxial": _example("biaxial"),
    "masonry_arch": _example("masonry_arch"),
    "ballast": _example("ballast"),
    "repose_study": _example("repose_study"),
    "three_engines": _example("three_engines"),
    "soft_packing": _example("soft_packing", "soft_packing_stress.png"),
}

if (DOCS / "rigid-scenes.json").exists():  # there is no picture before the first measurement
    SOURCES["rigid-scenes"] = Source(
        "python -m benchmarks rigid", ("benchmarks/rigid_scenes.py",), _rigid_scenes
    )


# ---------------------------------------------------------------------- records and captions
def script_digest(source: Source) -> str:
    """Digest of the scripts behind a picture: of what they do, not of what they say about it."""
    digest = hashlib.sha256()
    for name in source.behind:
        digest.update(_code((ROOT / name).read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def _code(text: str) -> str:
    """The lines of a script without docstrings, imports, lines of comment and empty ones.

    Imports say where a name lives; when it moves within the package, the picture stays the same.
    """
    said: set[int] = set()  # numbers of the lines of docstrings and imports
    for node in ast.walk(ast.parse(text)):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or isinstance(node, ast.Import | ast.ImportFrom):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for k, line in enumerate(text.splitlines(), 1) if k not in said]
    return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))


def records() -> dict[str, dict[str, Any]]:
    """The record of every picture, by its file name: where it comes from and when it was drawn."""
    return json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}


def stale(name: str) -> bool:
    """Whether the package or the script has changed since the pictures of a source were drawn."""
    from hardgrain.papers.reproduce import source_digest

    drawn = [r for r in records().values() if r["by"] == name]
    now = (source_digest(), script_digest(SOURCES[name]))
    return not drawn or any((r["source"], r["script"]) != now for r in drawn)


def drawn_words(record: dict[str, Any]) -> str:
    """What the caption of a picture says of its origin."""
    return f"Drawn on {record['date']} by hardgrain {record['version']}."


def caption(text: str, picture: str, words: str) -> str:
    """The text of a page in which the caption of the picture, the paragraph below it, says so."""
    shown = re.compile(
        rf"(?P<image>!\[[^\]]*\]\([^)]*\b{re.escape(picture)}\)\n)(\n\*(?P<caption>[^*].*?)\*\n)?",
        re.S,
    )

    def said(found: re.Match[str]) -> str:
        told = found["caption"] or ""
        known = _CAPTION.search(told)
        told = _CAPTION.sub(words, told) if known else f"{told}\n{words}".strip()
        return f"{found['image']}\n*{told}*\n"

    return shown.sub(said, text)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def renew(name: str) -> None:
    """Draw the pictures of a source, note their origin, and say it in their captions."""
    import hardgrain
    from hardgrain.papers.reproduce import source_digest

    source = SOURCES[name]
    with tempfile.TemporaryDirectory() as folder:
        for picture, path in source.draw(Path(folder)).items():
            _copy(path, DOCS / picture)
            record = {
                "by": name,
                "command": source.command,
                "date": datetime.now(UTC).date().isoformat(),
                "version": hardgrain.__version__,
                "source": source_digest(),
                "script": script_digest(source),
            }
            note(picture, record)


def _copy(path: Path, target: Path) -> None:
    """A picture of many colours is kept with 256 of them: a fifth of the size, and no one sees."""
    from PIL import Image

    if path.stat().st_size < LARGE:
        shutil.copyfile(path, target)
    else:
        Image.open(path).convert("RGB").quantize(256).save(target, optimize=True)


def note(picture: str, record: dict[str, Any]) -> None:
    """Keep where a picture comes from, and say it in all captions of it."""
    whole = dict(sorted((records() | {picture: record}).items()))
    RECORDS.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := caption(text, picture, drawn_words(record))) != text:
            page.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python docs/draw.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOURCES))
    parser.add_argument("--list", action="store_true", help="say what is out of date")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SOURCES):
        parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(SOURCES)}")
    for name in options.names or [n for n in SOURCES if stale(n)]:
        print(f"{name}: {SOURCES[name].command}", flush=True)
        if not options.list:
            renew(name)


if __name__ == "__main__":
    main()
