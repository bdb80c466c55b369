"""Without the extras the core works, and whatever needs one says how to install it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hardgrain.extras import EXTRAS

ROOT = Path(__file__).parents[2]
BARE = f"""
import contextlib, io, json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}")

sys.meta_path.insert(0, Missing())
from hardgrain.cli import main

told = []
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:], code, error = arguments, 0, io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    told.append([code, error.getvalue()])
print(json.dumps(told))
"""
SCENARIO = """
dt = 0.01
seed = 1
stop = { steps = 50 }
[scene]
gravity = [0, -1]
[[scene.grains]]
count = 20
diameter = 1
place = { kind = "loose", min = [0, 0], max = [8, 8] }
[[scene.walls]]
kind = "box"
min = [0, 0]
max = [8, 8]
"""
CORE = [
    "run a.toml --quiet",
    "info a.h5",
    "plot a.h5",
    "measure --list",
    "export a.h5 -o a.xyz",
    "sweep b.toml -o study --row",
]
NEED = {
    "measure a.h5 coordination": "measure",
    "report a.h5": "measure",
    "forces a.h5": "forces",
    "view a.h5 --no-browser": "view",
    "export a.h5 -o a.gsd": "formats",
    "movie a.h5 a.mp4": "movie",
    "sweep b.toml -o study --dask local": "dask",
    "collect study": "measure",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What commands end with and say where no extra is installed, one after the other."""
    folder, commands = tmp_path_factory.mktemp("bare"), [*CORE, *NEED]
    (folder / "a.toml").write_text(SCENARIO)
    (folder / "b.toml").write_text('scenario = "a.toml"\nseeds = 2')
    done = subprocess.run(
        [sys.executable, "-c", BARE, json.dumps([c.split() for c in commands])],
        cwd=folder, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("command", CORE)
def test_the_core_needs_none(told: dict[str, tuple[int, str]], command: str) -> None:
    code, error = told[command]
    assert code == 0, error


@pytest.mark.parametrize(("command", "extra"), NEED.items())
def test_what_is_missing_is_told(
    told: dict[str, tuple[int, str]], command: str, extra: str
) -> None:
    code, error = told[command]
    assert code == 2
    assert f"pip install 'hardgrain[{extra}]'" in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1


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
