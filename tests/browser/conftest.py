"""A real browser for the tests: headless Chromium, drawing in software.

Screenshots are kept in the folder `artifacts` beside this file, or in HARDGRAIN_ARTEFACTS.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..until import LAST

ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]  # fmt: skip


def _chromium() -> str | None:
    given = os.environ.get("HARDGRAIN_CHROMIUM")
    known = ("chromium", "chromium-browser", "google-chrome")
    return given or next(filter(None, map(shutil.which, known)), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, or a reason why there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = _chromium()
    if program is None:
        pytest.skip("no Chromium: put chromium on the PATH, or its path into HARDGRAIN_CHROMIUM")
    with playwright.sync_playwright() as control:
        browser = control.chromium.launch(
            executable_path=program, args=ARGUMENTS, timeout=1000 * LAST
        )
        yield browser
        browser.close()


TICKS = """n => new Promise(done => {
    const tick = () => n-- > 0 ? requestAnimationFrame(tick) : done();
    tick();
})"""


def ticks(page: Any, count: int) -> None:
    """Wait until the browser has drawn the page some times more, however long it takes for it."""
    page.evaluate(TICKS, count)


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """Folder for screenshots; git does not see it."""
    folder = Path(os.environ.get("HARDGRAIN_ARTEFACTS", Path(__file__).parent / "artifacts"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder
