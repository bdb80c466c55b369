"""The viewer in a real browser: what is on the screen, and what a user can do with it."""

from __future__ import annotations

import http.client
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.snapshot import snapshot
from hardgrain.show.view import Viewer, canvas
from hardgrain.show.view.fields import coloured
from hardgrain.show.view.screen import seen

from ..until import LAST, started, until
from .conftest import ticks

pytest.importorskip("viser", reason="viser is not installed")

WHITE = 250


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Disks that settle in a box: many frames, with forces in the last ones."""
    path = tmp_path_factory.mktemp("view") / "disks.h5"
    grains = hg.Grains(
        count=40,
        diameter=hg.Uniform(min=0.8, max=1.2),
        place=hg.Loose(min=[0.0, 0.0], max=[7.0, 10.0]),
    )
    walls = [hg.Box(min=[0.0, 0.0], max=[7.0, 10.0], open=["top"])]
    scene = hg.Scene(gravity=[0.0, -1.0], grains=[grains], walls=walls)
    sim = hg.Simulation(scene, dt=0.02, solver=hg.GaussSeidel(sweeps=60), seed=1)
    sim.run(until=[hg.Steps(steps=600)], output=path, every=40, progress=False)
    return path


class Screen:
    """One page, and what a user sees and does there."""

    def __init__(self, browser: Any, viewer: Viewer) -> None:
        self.viewer = viewer
        self.errors: list[str] = []
        self.addresses: set[str] = set()
        self.page = page = browser.new_page(viewport={"width": 1200, "height": 720})
        page.on("console", lambda m: self._hear(m.type, m.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.addresses.add(request.url))
        page.set_default_timeout(1000 * LAST)
        page.goto(viewer.address)
        page.get_by_text("grains,").wait_for()
        page.locator(".mantine-Notification-closeButton").click()  # drawn in software: we know
        if not viewer.run.live:
            self.settle()

    def _hear(self, kind: str, text: str) -> None:
        """Errors, but for a remark of the browser on how viser listens where a node takes drags."""
        if kind == "error" and "inside passive event listener" not in text:
            self.errors.append(text)

    def settle(self) -> np.ndarray:
        """Wait until the picture stands still; what is on the canvas then, (h, w, 3)."""
        last = [self.pixels()]

        def still() -> bool:
            ticks(self.page, 6)
            last.append(self.pixels())
            del last[:-3]
            return len(last) == 3 and all(np.array_equal(p, last[-1]) for p in last)

        until(still, "the picture comes to rest")
        return last[-1]

    def pixels(self) -> np.ndarray:
        from PIL import Image

        png = self.page.screenshot(clip=self.box)
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)

    @property
    def box(self) -> dict[str, float]:
        """Of the canvas that is not covered by panels."""
        box: dict[str, float] = self.page.locator("canvas").first.bounding_box()
        return box

    @property
    def frame(self) -> tuple[int, int]:
        """The frame shown and the last one, as the page tells."""
        text = self.page.get_by_text(re.compile(r"frame \d+ of \d+")).first.inner_text()
        k, last = re.findall(r"\d+", text)[:2]
        return int(k), int(last)

    def go_to(self, key: str) -> None:
        """Move the frame slider by a key, Home or End."""
        self.page.get_by_role("slider").first.press(key)
        if not self.viewer.run.live:
            last = len(self.viewer.run) - 1
            self.page.get_by_text(f"frame {last if key == 'End' else 0} of {last}").wait_for()

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def network(self, shown: bool) -> None:
        self.page.get_by_label("network", exact=True).set_checked(shown)

    def place(self, x: Any) -> tuple[float, float]:
        """Where a point (3,) [length] is on the canvas [pixel]."""
        return self.project(x)[:2]

    def project(self, x: Any) -> tuple[float, float, float]:
        """The same, and how many pixels a length of one has there: the camera's own projection."""
        (page,) = self.viewer.pages.values()
        camera, canvas = self.viewer_camera(), page.canvas
        eye, target, up = (
            np.asarray(v) for v in (camera.position, camera.look_at, camera.up_direction)
        )
        forward = (target - eye) / np.linalg.norm(target - eye)
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        off = (np.asarray(x) - canvas.middle) * canvas.unit - eye
        scale = 0.5 * self.box["height"] / np.tan(0.5 * camera.fov) / (off @ forward)
        across, above = off @ right, off @ np.cross(right, forward)
        wide, tall = self.box["width"], self.box["height"]
        return 0.5 * wide + scale * across, 0.5 * tall - scale * above, scale * canvas.unit

    def viewer_camera(self) -> Any:
        (page,) = self.viewer.pages.values()
        return page.client.camera

    def click(self, at: tuple[float, float]) -> None:
        self.page.mouse.click(self.box["x"] + at[0], self.box["y"] + at[1])

    def fact(self, name: str) -> str:
        """A number of what was picked."""
        row = self.page.locator("tr", has=self.page.get_by_role("cell", name=name, exact=True))
        text: str = row.locator("td").nth(1).inner_text()
        return text

    def keep(self, path: Path) -> None:
        self.page.screenshot(path=path)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()  # or it would call on the next viewer at this port


@pytest.fixture(scope="module")
def screen(chromium: Any, disks: Path) -> Iterator[Screen]:
    with Viewer(disks) as viewer, Screen(chromium, viewer) as screen:
        yield screen


def drawn(pixels: np.ndarray) -> float:
    """Share of the picture that is not background."""
    return float((pixels.min(axis=2) < WHITE).mean())


def test_loads_without_errors(screen: Screen, artifacts: Path) -> None:
    screen.keep(artifacts / "disks-first.png")
    assert screen.errors == []
    elsewhere = [a for a in screen.addresses if screen.viewer.address.split("//")[1] not in a]
    assert elsewhere == []
    picture = screen.settle()
    # 40 disks and three walls in a canvas that they fill from top to bottom
    assert 0.05 < drawn(picture) < 0.9
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20
    rows = np.flatnonzero((picture.min(axis=2) < WHITE).any(axis=1))
    assert rows[0] < 0.15 * len(picture)
    assert rows[-1] > 0.85 * len(picture)


def test_play_advances(screen: Screen) -> None:
    screen.go_to("Home")
    before = screen.settle()
    assert screen.frame == (0, 15)
    screen.page.get_by_role("button", name="Play").click()
    screen.page.get_by_text(re.compile(r"frame ([4-9]|1[0-5]) of 15")).wait_for()
    screen.page.get_by_role("button", name="Pause").click()
    after = screen.settle()
    k, _ = screen.frame
    assert 4 <= k <= 15
    assert (before != after).any(axis=2).mean() > 0.02
    assert np.array_equal(screen.settle(), after)  # a pause is one
    assert screen.frame[0] == k


def test_colours_are_those_of_the_legend(screen: Screen, disks: Path, artifacts: Path) -> None:
    screen.go_to("End")
    by_speed = screen.settle()
    screen.network(False)
    screen.choose("by", "id")
    picture = screen.settle()
    screen.keep(artifacts / "disks-id.png")
    assert (picture != by_speed).any(axis=2).mean() > 0.02
    with hg.RunFile(disks) as run:
        snap = snapshot(run)
        colours = coloured(snap, "id")
    wanted = seen(colours.table)[colours.level].astype(int)
    for i in range(snap.n):  # below the centre, clear of the mark if it points elsewhere
        turn = snap.state.orientation[i, 0] + np.pi
        x = snap.position[i] + 0.5 * snap.radius[i] * np.array([np.cos(turn), np.sin(turn)])
        u, v = screen.place([*x, 0.0])
        assert np.abs(picture[int(v), int(u)] - wanted[i]).max() <= 6, i


def test_a_drag_moves_disks_and_never_tilts_them(screen: Screen, disks: Path) -> None:
    screen.settle()
    with hg.RunFile(disks) as run:
        grain = [*snapshot(run).position[17], 0.0]
    before = screen.place(grain)
    mouse, box = screen.page.mouse, screen.box
    mouse.move(box["x"] + before[0], box["y"] + before[1])
    mouse.down()
    for step in (15, 30, 45, 60):
        mouse.move(box["x"] + before[0] + step, box["y"] + before[1] - step)
        ticks(screen.page, 5)
    mouse.up()
    screen.settle()
    camera = screen.viewer_camera()
    np.testing.assert_allclose(camera.position[:2], camera.look_at[:2], atol=1e-6)
    np.testing.assert_allclose(screen.place(grain), np.add(before, (60, -60)), atol=3.0)


def test_picking_gives_the_right_grain(screen: Screen, disks: Path, artifacts: Path) -> None:
    screen.go_to("End")
    screen.settle()
    with hg.RunFile(disks) as run:
        snap = snapshot(run)
    for i in (0, 17, 39):
        before = screen.settle()
        screen.click(screen.place([*snap.position[i], 0.0]))
        screen.page.get_by_role("cell", name=str(i), exact=True).first.wait_for()
        assert screen.fact("grain") == str(i)
        assert screen.fact("radius") == f"{snap.radius[i]:.5g}"
        assert screen.fact("position") == ", ".join(f"{x:.5g}" for x in snap.position[i])
        assert (screen.settle() != before).any()  # it is marked
    screen.keep(artifacts / "disks-picked.png")


def test_picking_a_contact(screen: Screen, disks: Path, artifacts: Path) -> None:
    screen.network(True)
    screen.go_to("End")
    screen.settle()
    with hg.RunFile(disks) as run:
        snap = snapshot(run)
    k = int(np.argmax(np.where(snap.contacts.second < snap.n, snap.normal_force, 0.0)))
    i, j = int(snap.contacts.first[k]), int(snap.contacts.second[k])
    screen.click(
        screen.place([*(snap.position[i] + snap.radius[i] * snap.contacts.normal[k]), 0.0])
    )
    screen.page.get_by_text(f"grain {i}, grain {j}").wait_for()
    assert screen.fact("normal force") == f"{snap.normal_force[k]:.5g}"
    screen.keep(artifacts / "disks-contact.png")
    corner = 0.97 * np.array([screen.box["width"], screen.box["height"]])
    screen.click((float(corner[0]), 5.0))  # nothing there
    screen.page.get_by_text("Click on a grain").wait_for()


def test_threshold_hides_lines(screen: Screen, artifacts: Path) -> None:
    screen.choose("by", "plain")
    screen.network(True)
    screen.go_to("End")

    def lines() -> int:
        p = screen.settle()
        return int(((p[..., 0] > p[..., 2] + 60) & (p[..., 0] > 90)).sum())

    above = screen.page.get_by_role("slider").nth(2)
    every = lines()
    screen.keep(artifacts / "disks-forces.png")
    above.press("End")  # five times the mean
    screen.page.get_by_text(re.compile(r"^[0-9] of \d+ contacts")).wait_for()
    few = lines()
    above.press("Home")
    screen.network(False)
    none = lines()
    screen.network(True)
    assert every > 500
    assert few < 0.3 * every
    assert none == 0
    assert lines() == every


def test_screenshot_is_a_picture_of_the_canvas(screen: Screen, artifacts: Path) -> None:
    from PIL import Image

    shown = screen.settle()
    with screen.page.expect_download() as wait:
        screen.page.get_by_role("button", name="Screenshot").click()
    path = artifacts / "disks-download.png"
    wait.value.save_as(path)
    assert wait.value.suggested_filename == "disks-15.png"
    saved = Image.open(path).convert("RGB")
    tall, wide = shown.shape[:2]
    assert abs(saved.width / saved.height - wide / tall) < 0.01
    small = np.asarray(saved.resize((wide, tall), Image.Resampling.BOX)).astype(int)
    assert (np.abs(small - shown).max(axis=2) > 60).mean() < 0.03


def test_history_has_a_cursor(screen: Screen, artifacts: Path) -> None:
    chart = screen.page.locator(".uplot").first

    def cursor() -> float:
        from PIL import Image

        p = np.asarray(Image.open(io.BytesIO(chart.screenshot())).convert("RGB")).astype(int)
        vermilion = (np.abs(p - (213, 94, 0)).max(axis=2) < 60).sum(axis=0)
        return float(np.argmax(vermilion))

    screen.go_to("Home")
    screen.settle()
    first = cursor()
    screen.go_to("End")
    screen.settle()
    assert cursor() > first + 100
    screen.choose("of", "residual")
    screen.page.get_by_label("log10", exact=True).click()
    screen.settle()
    screen.keep(artifacts / "disks-history.png")
    assert screen.errors == []


def test_two_pages_have_states_of_their_own(screen: Screen, chromium: Any) -> None:
    screen.go_to("End")
    other = chromium.new_page(viewport={"width": 900, "height": 600})
    other.goto(screen.viewer.address)
    other.get_by_text("frame 0 of 15").wait_for()
    assert screen.frame == (15, 15)
    other.close()
    until(lambda: len(screen.viewer.pages) == 1, "the page that was closed is served no more")


def test_serves_nothing_else(screen: Screen, disks: Path) -> None:
    secret = disks.parent / "secret.txt"
    secret.write_text("secret")
    up = "../" * 12
    for path in (
        f"/{up}etc/passwd", f"/{up}{secret}", f"/{up.replace('.', '%2e')}etc/passwd",
        f"/..%2f..%2f..%2f..{secret}", "/..\\..\\..\\etc\\passwd", f"/{secret}", f"//{secret}",
        "/secret.txt", "/disks.h5", str(disks), "/%00", "/index.html/../../package.json",
        "/../src/App.tsx",
    ):  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", screen.viewer.port, timeout=LAST)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status >= 400, path
        assert b"root:" not in body
        assert b"secret" not in body


@pytest.fixture(scope="module")
def spheres(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Spheres on a floor in a periodic cell: the first frame and the last."""
    grains = hg.Grains(
        count=40, diameter=1.0, place=hg.Loose(min=[0.0, 0.0, 0.0], max=[4.0, 4.0, 8.0])
    )
    scene = hg.Scene(
        dimension=3,
        gravity=[0.5, 0.0, -1.0],
        periodic={"x": [0.0, 4.0], "y": [0.0, 4.0]},
        grains=[grains],
        walls=[hg.Plane(name="floor", point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0])],
    )
    path = tmp_path_factory.mktemp("view") / "spheres.h5"
    sim = hg.Simulation(scene, dt=0.02, solver=hg.GaussSeidel(sweeps=30), seed=2)
    sim.run(until=[hg.Steps(steps=300)], output=path, every=300, progress=False)
    return path


def test_spheres_in_a_periodic_cell(chromium: Any, spheres: Path, artifacts: Path) -> None:
    with Viewer(spheres) as viewer, Screen(chromium, viewer) as screen:
        screen.go_to("End")
        assert drawn(screen.settle()) > 0.05
        with hg.RunFile(spheres) as run:
            snap = snapshot(run)
        assert (snap.position[:, 0] > 4.0).any()  # some have left the cell, and are drawn in it
        eye = np.asarray(screen.viewer_camera().position)
        (page,) = viewer.pages.values()
        eye = eye / page.canvas.unit + page.canvas.middle
        nearest = int(np.argmin(np.linalg.norm(snap.wrapped - eye, axis=1)))
        screen.click(screen.place(snap.wrapped[nearest]))
        screen.page.get_by_role("cell", name="grain", exact=True).wait_for()
        assert screen.fact("grain") == str(nearest)
        screen.keep(artifacts / "spheres-picked.png")
        screen.network(True)
        screen.settle()
        screen.keep(artifacts / "spheres-forces.png")
        assert screen.errors == []


def test_many_grains_are_points(
    chromium: Any, spheres: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With limits far below the real ones: points, but for spheres next to the camera."""
    monkeypatch.setattr(canvas, "SMOOTH", 10)
    monkeypatch.setattr(canvas, "POINTS", 20)
    monkeypatch.setattr(canvas, "NEAR", 5)
    with Viewer(spheres) as viewer, Screen(chromium, viewer) as screen:
        still = screen.settle()
        screen.keep(artifacts / "points.png")
        with hg.RunFile(spheres) as run:
            snap = snapshot(run, 0)
        ends = []
        for x, r in zip(snap.wrapped, snap.radius):
            u, _, scale = screen.project(x)
            ends.append((u - r * scale, u + r * scale))
        grains = np.flatnonzero((still[..., 2] > still[..., 0] + 30).any(axis=0))
        np.testing.assert_allclose(grains[[0, -1]], [min(ends)[0], np.max(ends)], atol=4)
        screen.page.get_by_role("button", name="Play").click()
        screen.page.get_by_text("frame 1 of 1").wait_for()
        screen.page.get_by_role("button", name="Pause").click()
        assert drawn(screen.settle()) > 0.03
        assert screen.errors == []


LIVE = """
import sys, time
import hardgrain as hg
place = hg.Loose(min=[0.0, 0.0], max=[6.0, 8.0])
grains = hg.Grains(count=20, diameter=1.0, place=place, speed=0.5)
scene = hg.Scene(gravity=[0.0, -1.0], grains=[grains],
                 walls=[hg.Box(min=[0.0, 0.0], max=[6.0, 8.0], open=["top"])])
sim = hg.Simulation(scene, dt=0.02, seed=1)
def slowly(sim):
    time.sleep(0.02)
    return False
sim.run(until=[hg.Steps(steps=10**9), slowly], output=sys.argv[1], every=5, progress=False)
"""


def test_live(chromium: Any, tmp_path: Path, artifacts: Path) -> None:
    path = tmp_path / "live.h5"

    def begun() -> bool:
        try:
            hg.RunFile(path).close()
        except hg.InputError:
            return False
        return True

    with started([sys.executable, "-c", LIVE, str(path)]) as run:
        until(begun, "the first frame", run)
        with Viewer(path) as viewer, Screen(chromium, viewer) as screen:
            page = screen.page
            page.get_by_text("running now").wait_for()
            k, last = screen.frame
            assert k == last  # the newest
            until(lambda: screen.frame[1] > last + 5, "more frames", run)
            k, now = screen.frame
            assert k == now
            screen.keep(artifacts / "live.png")

            # looks back: the run grows, the frame stays; a frame that comes in just then may
            # take the slider along, so try again as anyone would
            def at_first() -> bool:
                screen.go_to("Home")
                now = screen.frame[1]
                until(lambda: screen.frame[1] > now, "one more frame", run)
                return screen.frame[0] == 0

            until(at_first, "the first frame is shown", run)
            last = screen.frame[1]
            until(lambda: screen.frame[1] > last + 5, "more frames", run)
            assert screen.frame[0] == 0
            run.kill()
            run.wait()
            page.get_by_text("interrupted").wait_for()
            assert screen.errors == []
