"""Without the extras the core works, and whatever needs one says how to install it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hardgrain.extras import EXTRAS

ROOT = Path(__file__).parents[2]
BARE = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}")

sys.meta_path.insert(0, Missing())
from hardgrain.cli import main
main()
"""


def hardgrain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BARE, *arguments], cwd=folder, env=os.environ, text=True,
        capture_output=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run made without any extra."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "a.toml").write_text(
        "dt = 0.01\nseed = 1\nstop = { steps = 50 }\n[scene]\ngravity = [0, -1]\n"
        "[[scene.grains]]\ncount = 20\ndiameter = 1\n"
        'place = { kind = "loose", min = [0, 0], max = [8, 8] }\n'
        '[[scene.walls]]\nkind = "box"\nmin = [0, 0]\nmax = [8, 8]\n'
    )
    done = hardgrain(folder, "run", "a.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_core_needs_none(folder: Path) -> None:
    for arguments in (["info", "a.h5"], ["plot", "a.h5"], ["measure", "--list"],
                      ["export", "a.h5", "-o", "a.xyz"]):  # fmt: skip
        done = hardgrain(folder, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["measure", "a.h5", "coordination"], "measure"),
        (["report", "a.h5"], "measure"),
        (["forces", "a.h5"], "forces"),
        (["view", "a.h5", "--no-browser"], "view"),
        (["export", "a.h5", "-o", "a.gsd"], "formats"),
        (["movie", "a.h5", "a.mp4"], "movie"),
    ],
)
def test_what_is_missing_is_told(folder: Path, arguments: list[str], extra: str) -> None:
    done = hardgrain(folder, *arguments)
    assert done.returncode == 2
    assert f"pip install 'hardgrain[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_every_extra_brings_what_is_asked_of_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for package, (_, extra) in EXTRAS.items():
        names = [re.split(r"[<>=]", line)[0].replace("-", "_") for line in extras[extra]]
        assert package in names
        assert extra in extras["all"][0]
    assert not {re.split(r"[<>=]", d)[0].replace("-", "_") for d in project["dependencies"]} & set(
        EXTRAS
    )
