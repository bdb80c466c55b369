"""The film of a report draws grains of any shape as they are: its script, in a real browser."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardgrain
from hardgrain.scene.grain_outline import seen_3d
from hardgrain.show import plane
from hardgrain.show.network_look import Look, scale
from hardgrain.show.player import film_data

from ..shapes import run_of, scattered

PAGE = """<!doctype html><body style="margin:0;--wall:#000"><div style="width:600px">
<canvas id="film"></canvas></div><button id="film-play"></button>
<input type="range" id="film-frame"><select id="film-colour"><option>plain</option></select>
<input type="checkbox" id="film-lines"><p id="film-time"></p><p id="film-scale"></p>
<script type="application/json" id="film-data">{data}</script><script>{script}</script></body>"""


@pytest.mark.parametrize("dim", [2, 3])
def test_the_canvas_shows_true_outlines(
    dim: int, chromium: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.path import Path as Outline

    n = 12 if dim == 2 else 7
    snap = scattered(dim, n)
    if dim == 3:  # side by side
        apart = np.stack([np.arange(n) * 1.6, np.zeros(n), np.zeros(n)], axis=1)
        snap = replace(snap, state=replace(snap.state, position=apart))
    run = run_of([snap], monkeypatch)
    script = Path(hardgrain.__file__).parent / "show/templates/player.js"
    page = chromium.new_page(viewport={"width": 700, "height": 700})
    errors: list[Any] = []
    page.on("pageerror", lambda error: errors.append(error))
    page.set_content(PAGE.format(data=film_data(run), script=script.read_text(encoding="utf-8")))
    shot = Image.open(io.BytesIO(page.locator("#film").screenshot())).convert("RGB")
    page.close()
    assert not errors
    image = np.asarray(shot).astype(int)
    low, high = scale([snap], Look()).box
    points = np.random.default_rng(1).uniform(low, high, (4000, 2))
    tall, wide = image.shape[:2]
    column, row = ((points - low) / (high - low) * [wide, tall]).astype(int).T
    white = (image[tall - 1 - row, column] > 250).all(axis=1)
    seen = plane.see(snap)
    if dim == 3:
        assert len(seen_3d(snap.model.solids, snap.state.orientation, [0, 2])[1]) == len(seen.grain)
    assert seen.outlines is not None
    inside, near = np.zeros(len(points), bool), np.zeros(len(points), bool)
    margin = 2.5 * float((high - low)[0]) / wide  # pixels: the rim, and rounding of places
    for k, centre in zip(seen.outline, seen.center, strict=True):
        count = np.zeros(len(points), int)
        for loop in seen.outlines.loops(int(k)):
            count += Outline(loop + centre).contains_points(points)
            a, b = loop + centre, np.roll(loop, -1, axis=0) + centre
            along = (b - a) / np.maximum(np.linalg.norm(b - a, axis=1), 1e-300)[:, None]
            to = points[:, None] - a
            share = np.clip(np.einsum("pka,ka->pk", to, along), 0, np.linalg.norm(b - a, axis=1))
            off = np.linalg.norm(to - share[..., None] * along, axis=2)
            near |= (off < margin).any(axis=1)
        inside |= count % 2 == 1
    assert inside[~near].sum() > 200
    np.testing.assert_array_equal(white[~near], ~inside[~near])
