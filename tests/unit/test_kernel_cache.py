"""Kernels on disk: an edit anywhere among the kernel sources is seen, no edit compiles nothing.

The tests work on a small package with the layout of hardgrain and its real `kernels.py`.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hardgrain

HELPER = """
def make_shock(jit):
    @jit
    def shock(mass, velocity):
        return -mass * velocity

    return shock
"""

KERNELS = """
import numba

from hardgrain.kernels import device, jit, pjit
from hardgrain.law.shock import make_shock

shock = make_shock(device)


@jit
def total(velocity):
    result = velocity[0] * 0
    for i in range(velocity.size):
        result += shock(2, velocity[i])
    return result


@jit
def sweep(velocity):
    return total(velocity)


@pjit
def sweep_in_parallel(velocity):
    result = velocity.copy()
    for i in numba.prange(velocity.size):
        result[i] = shock(2, velocity[i])
    return result
"""

SCRIPT = """
import json, sys, time

import numba
import numpy as np

numba.config.CACHE_DIR = "of the user"
from hardgrain import kernels
from hardgrain.solve import sweeps

velocity = np.array([-1, -3], dtype=sys.argv[1])
announced = []
start = time.perf_counter()
with kernels.announce(lambda name, count: announced.append([name, count])):
    total = float(sweeps.sweep(velocity))
    each = sweeps.sweep_in_parallel(velocity).tolist()
print(json.dumps({
    "total": total,
    "each": each,
    "announced": announced,
    "compiling": kernels.compile_seconds(),
    "elapsed": time.perf_counter() - start,
    "user": numba.config.CACHE_DIR,
    "folder": str(kernels.cache_folder()),
}))
"""


class Package:
    """A copy of the compiled part of the house, small enough to compile in a second or two."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"
        source = Path(hardgrain.__file__).parent / "kernels.py"
        self.write("__init__.py", "")
        self.write("kernels.py", source.read_text())
        self.write("law/__init__.py", "")
        self.write("law/shock.py", HELPER)
        self.write("solve/__init__.py", "")
        self.write("solve/sweeps.py", KERNELS)

    def write(self, name: str, text: str) -> None:
        path = self.root / "hardgrain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def start(self, dtype: str = "float64") -> "subprocess.Popen[str]":
        environment = os.environ | {
            "HARDGRAIN_CACHE": str(self.cache),
            "PYTHONPATH": str(self.root),
        }
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, dtype],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, dtype: str = "float64") -> dict[str, object]:
        return finish(self.start(dtype))


def finish(process: "subprocess.Popen[str]") -> dict[str, object]:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    result: dict[str, object] = json.loads(out)
    return result


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


def test_edit_of_a_helper_is_seen_and_no_edit_compiles_nothing(package: Package) -> None:
    first = package.run()
    assert (first["total"], first["each"]) == (8.0, [2.0, 6.0])
    assert first["announced"] == [["sweep", 1], ["total", 2], ["sweep_in_parallel", 3]]
    assert 0 < first["compiling"] <= first["elapsed"]  # type: ignore[operator]
    assert first["user"] == "of the user"

    package.write("law/shock.py", HELPER.replace("-mass", "-10 * mass"))
    second = package.run()
    assert (second["total"], second["each"]) == (80.0, [20.0, 60.0])
    assert len(second["announced"]) == 3  # type: ignore[arg-type]

    third = package.run()
    assert (third["total"], third["each"]) == (80.0, [20.0, 60.0])
    assert third["announced"] == []
    assert third["folder"] == second["folder"] != first["folder"]


def test_processes_that_start_together_do_not_mix_their_code(package: Package) -> None:
    for _ in range(2):
        together = [package.start("float64"), package.start("int64")]
        assert [finish(process)["each"] for process in together] == [[2.0, 6.0], [2, 6]]


def test_damaged_files_are_compiled_anew(package: Package) -> None:
    package.run()
    for path in package.cache.rglob("*.nb?"):
        path.write_bytes(b"")
    assert package.run()["total"] == 8.0


def test_unwritable_place_is_replaced(package: Package) -> None:
    package.cache.write_text("a file, not a folder")
    result = package.run()
    assert result["total"] == 8.0
    assert not Path(str(result["folder"])).exists()  # temporary, removed at the end


def test_old_folders_are_deleted(package: Package) -> None:
    hour = 3600.0
    for age in range(8):
        folder = package.cache / f"kernels-{age}"
        folder.mkdir(parents=True)
        then = time.time() - (age + 0.5) * hour
        os.utime(folder, (then, then))
    other = package.cache / "of someone else"
    other.mkdir()
    folder = Path(str(package.run()["folder"]))
    assert set(package.cache.iterdir()) == {
        folder, other, *(package.cache / f"kernels-{age}" for age in range(3))
    }  # fmt: skip
