"""A study of small runs, the bits of its points, and hands that kill those who run them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

from hardgrain.study.event import Event
from hardgrain.study.folder import Folder
from hardgrain.study.spec import read_plan
from hardgrain.study.work import work

from .cases import frames

SCENARIO: dict[str, Any] = {
    "dt": 0.02,
    "stop": {"steps": 60},
    "output": {"every": 4, "contacts_every": 2, "durable": False},
    "solver": {"sweeps": 20},
    "scene": {
        "gravity": [0, -1],
        "contacts": [{"friction": 0.3}],
        "grains": [
            {
                "count": 10,
                "diameter": {"kind": "uniform", "min": 0.8, "max": 1.2},
                "place": {"kind": "loose", "min": [0, 0], "max": [5, 6]},
                "speed": 0.5,
            }
        ],
        "walls": [{"kind": "box", "min": [0, 0], "max": [5, 6], "open": ["top"]}],
    },
}


def plan(values: int, seeds: int) -> dict[str, Any]:
    friction = {"field": "scene.contacts.0.friction", "min": 0.0, "max": 0.8, "count": values}
    return {"scenario": SCENARIO, "parameters": {"friction": friction}, "seeds": seeds}


def begun(path: Path, values: int, seeds: int) -> Folder:
    return Folder.begin(path, read_plan(plan(values, seeds)), Path())


def undisturbed(path: Path, values: int, seeds: int) -> Folder:
    """All points, one after the other in this process."""
    folder = begun(path, values, seeds)
    for point in folder.points.values():
        assert work(folder, point).state == "done"
    return folder


def bits(folder: Folder, key: str) -> dict[str, Any]:
    """All that a point leaves. A kill just before the end of a claim leaves its file, empty."""
    here = folder.of(key)
    names = {p.name for p in here.iterdir()} - {"claim"}
    assert names == {"run.h5", "scenario.toml", "summary.json"}, names
    texts = {name: (here / name).read_bytes() for name in ("scenario.toml", "summary.json")}
    return {**texts, "frames": frames(here / "run.h5", 1)}


def differ(folder: Folder, other: Folder) -> list[str]:
    """Points whose bits are not the same."""
    assert folder.points.keys() == other.points.keys()
    return [key for key in folder.points if bits(folder, key) != bits(other, key)]


class Killer:
    """Kills (SIGKILL) the worker of some points, once each, a moment after they were begun.

    Give it to a sweep as the function that is told of all that happens.
    """

    def __init__(self, share: float, seed: int, delay: float, most: int | None = None) -> None:
        self.chance, self.share, self.delay = random.Random(seed), share, delay
        self.left = most
        self.marked: set[str] = set()
        self.kills = 0

    def __call__(self, event: Event) -> None:
        if event.state != "running" or event.key in self.marked:
            return
        self.marked.add(event.key)
        if self.chance.random() < self.share and self.left != 0:
            self.left = None if self.left is None else self.left - 1
            self.kill(event.pid, self.chance.uniform(0.0, self.delay))

    def kill(self, pid: int, delay: float) -> None:
        def strike() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.kills += 1

        threading.Timer(delay, strike).start()
