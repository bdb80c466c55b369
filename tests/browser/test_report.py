"""The report in a real browser: offline, in light and dark, with its film and controls."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardgrain as hg
from hardgrain.show.report import write_report

from ..until import LAST
from .conftest import ticks


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a run in 2D and one in 3D."""
    folder = tmp_path_factory.mktemp("report")
    scenes = {
        "disks": hg.Scene(
            gravity=[0, -1],
            grains=[hg.Grains(count=40, place=hg.Loose(min=[0, 0], max=[8, 12]))],
            walls=[hg.Box(min=[0, 0], max=[8, 12], open=["top"])],
        ),
        "spheres": hg.Scene(
            dimension=3,
            gravity=[0, 0, -1],
            grains=[hg.Grains(count=30, place=hg.Loose(min=[-2, -2, -2], max=[2, 2, 2]))],
            walls=[hg.Drum(center=[0, 0, 0], radius=4, length=5)],
        ),
    }
    for name, scene in scenes.items():
        sim = hg.Simulation(scene, dt=0.02, seed=1, title=f"A few {name}")
        sim.run(400, output=folder / f"{name}.h5", every=20, progress=False)
        write_report(folder / f"{name}.h5", folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in scenes}


@pytest.fixture(params=["disks", "spheres"])
def page(chromium: Any, reports: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Any]:
    """A report, opened offline; whatever the page complains about fails the test."""
    context = chromium.new_context(offline=True, viewport={"width": 1000, "height": 900})
    context.set_default_timeout(1000 * LAST)
    page, complaints = context.new_page(), []
    page.on("console", lambda m: complaints.append(m.text))
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.on("request", lambda r: r.url.startswith(("file:", "data:")) or complaints.append(r.url))
    page.on("requestfailed", lambda r: complaints.append(r.url))
    page.goto(reports[request.param].as_uri())
    page.name = request.param
    yield page
    context.close()
    assert complaints == []


def pixels(page: Any) -> Any:
    """The film as it is seen, (height, width, 3)."""
    image = Image.open(io.BytesIO(page.locator("#film").screenshot()))
    return np.asarray(image.convert("RGB")).astype(int)


def move(page: Any, frame: int) -> None:
    page.evaluate(
        """(k) => { const s = document.getElementById("film-frame");
        s.value = k; s.dispatchEvent(new Event("input")); }""",
        frame,
    )


def test_the_page_tells_and_shows(page: Any, artifacts: Path) -> None:
    assert page.title() == f"A few {page.name}"
    text = page.inner_text("body")
    for word in ("Converged?", "Rigid?", "Unique?", "Run it again", "packing fraction"):
        assert word in text
    image = pixels(page)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
    assert page.locator("figure svg").count() >= 4
    for svg in page.locator("figure svg").all():
        assert svg.bounding_box()["width"] <= 1000
        assert svg.get_attribute("aria-label")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    page.screenshot(path=artifacts / f"report-{page.name}-light.png", full_page=True)


def test_slider_colour_and_lines_change_the_film(page: Any) -> None:
    last = pixels(page)
    move(page, 0)
    first = pixels(page)
    assert (first != last).any()
    assert page.inner_text("#film-time") == "time 0"
    move(page, 20)
    np.testing.assert_allclose(pixels(page), last, atol=1)
    page.select_option("#film-colour", "pressure")
    assert "pressure" in page.inner_text("#film-scale")
    coloured = pixels(page)
    assert (coloured != last).mean() > 0.01
    page.uncheck("#film-lines")
    assert (pixels(page) != coloured).any()


def test_play_advances_and_pauses(page: Any) -> None:
    move(page, 0)
    page.click("#film-play")
    page.wait_for_function("+document.getElementById('film-frame').value > 2")
    page.click("#film-play")
    now = page.input_value("#film-frame")
    ticks(page, 30)
    assert page.input_value("#film-frame") == now


@pytest.mark.parametrize("page", ["disks"], indirect=True)  # spheres hide each other
def test_grains_are_drawn_where_they_are(page: Any, reports: dict[str, Path]) -> None:
    page.uncheck("#film-lines")
    page.select_option("#film-colour", "plain")
    image = pixels(page)
    with hg.RunFile(reports["disks"].with_suffix(".h5")) as run:
        centre, n = run[len(run) - 1].position, run.model["radius"].size
    low, high = page.evaluate(
        """() => { const f = JSON.parse(document.getElementById("film-data").textContent);
        return [f.low, f.high]; }"""
    )
    share = (centre[:n] + np.array([0.0, 0.25]) - low) / np.subtract(high, low)  # beside the mark
    x = (share[:, 0] * image.shape[1]).astype(int)
    y = ((1.0 - share[:, 1]) * image.shape[0]).astype(int)
    seen = image[y, x] - [0xE9, 0xE6, 0xDF]
    assert (np.abs(seen).max(axis=1) < 8).mean() > 0.7  # the rest lie on a mark


def test_dark_mode_is_dark_and_legible(page: Any, artifacts: Path) -> None:
    page.emulate_media(color_scheme="dark")
    ground, ink = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; }"
    )
    brightness = [sum(map(int, c[4:-1].split(","))) for c in (ground, ink)]
    assert brightness[0] < 150 < 600 < brightness[1]
    page.screenshot(path=artifacts / f"report-{page.name}-dark.png", full_page=True)


def test_narrow_screens_do_not_scroll_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    ticks(page, 6)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
