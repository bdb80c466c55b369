"""Kernels on disk: an edit anywhere among the kernel sources is seen, nothing else compiles anew.

The tests work on a copy of the package, with kernels of their own that call a real law.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import hardgrain
from hardgrain import kernels

SOURCE = Path(hardgrain.__file__).parent

PROBE = """
import numba

from hardgrain.kernels import device, jit, pjit
from hardgrain.law.shock import make_shock

push = make_shock(device).push


@jit
def total(velocity):
    result = 0.0
    for i in range(velocity.size):
        result += push(0.0, 2.0, velocity[i], 0.0)
    return result


@jit
def sweep(velocity):
    return total(velocity)


@pjit
def sweep_in_parallel(velocity):
    result = velocity.copy()
    for i in numba.prange(velocity.size):
        result[i] = push(0.0, 2.0, velocity[i], 0.0)
    return result
"""

SCRIPT = """
import json, time

import numba
import numpy as np

numba.config.CACHE_DIR = "of the user"
from hardgrain import kernels
from hardgrain.law import probe

velocity = np.array([-1, -3], dtype=float)
announced = []
start = time.perf_counter()
with kernels.announce(lambda name, count: announced.append([name, count])):
    total = float(probe.sweep(velocity))
    each = probe.sweep_in_parallel(velocity).tolist()
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
    """A copy of hardgrain with kernels small enough to compile in a second or two."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"
        self.law = root / "hardgrain" / "law"
        shutil.copytree(SOURCE, root / "hardgrain", ignore=shutil.ignore_patterns("__pycache__"))
        (self.law / "probe.py").write_text(PROBE)

    def push_ten_times_harder(self) -> None:
        path = self.law / "shock.py"
        old = path.read_text()
        new = old.replace("return max(p_n", "return 10 * max(p_n")
        assert new != old
        path.write_text(new)

    def move(self) -> None:
        """To another folder, with another date; kernels on disk stay where they are."""
        new = self.root / "elsewhere"
        new.mkdir()
        (self.root / "hardgrain").rename(new / "hardgrain")
        self.root, self.law = new, new / "hardgrain" / "law"
        for path in self.law.glob("*.py"):
            os.utime(path, (0.0, 0.0))

    def run(self) -> dict[str, Any]:
        environment = os.environ | {
            "HARDGRAIN_CACHE": str(self.cache),
            "PYTHONPATH": str(self.root),
        }
        command = [sys.executable, "-c", SCRIPT]
        out = subprocess.run(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, check=True
        ).stdout
        result: dict[str, Any] = json.loads(out)
        return result


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


def test_edit_of_a_helper_is_seen_and_another_place_or_date_is_not(package: Package) -> None:
    first = package.run()
    assert (first["total"], first["each"]) == (8.0, [2.0, 6.0])
    assert first["announced"] == [["sweep", 1], ["total", 2], ["sweep_in_parallel", 3]]
    assert 0 < first["compiling"] <= first["elapsed"]
    assert first["user"] == "of the user"

    package.push_ten_times_harder()
    second = package.run()
    assert (second["total"], second["each"]) == (80.0, [20.0, 60.0])
    assert len(second["announced"]) == 3

    package.move()
    third = package.run()
    assert (third["total"], third["each"]) == (80.0, [20.0, 60.0])
    assert third["announced"] == []
    assert third["folder"] == second["folder"] != first["folder"]


def last(x: Any) -> Any:
    return x[-1]


def test_processes_that_start_together_do_not_mix_their_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_FOLDER", tmp_path)
    monkeypatch.setattr(kernels, "_FILES", {os.path.realpath(__file__)})
    one, other, later = (cast(Any, kernels.jit(last)) for _ in range(3))

    double, single = np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32)

    # `other` has read the empty index and writes while `one` is between its index and its code.
    save = one._cache._cache_file._save_data

    def save_late(name: str, data: object) -> None:
        assert other(single) == 2
        save(name, data)

    monkeypatch.setattr(one._cache._cache_file, "_save_data", save_late)
    monkeypatch.setattr(other._cache._cache_file, "_load_index", dict)
    assert one(double) == 2
    assert later(single) == 2
    assert later(double) == 2


def test_damaged_files_are_compiled_anew(package: Package) -> None:
    """Emptied, or with a single bit flipped, in which LLVM would abort."""
    package.run()
    files = sorted(package.cache.rglob("*.nb?"))
    assert {path.suffix for path in files} == {".nbi", ".nbc"}
    for path in files:
        data = bytearray(path.read_bytes())
        for at in range(0, len(data), max(1, len(data) // 50)):
            data[at] ^= 1
        path.write_bytes(data if len(data) % 2 else b"")
    assert package.run()["total"] == 8.0


def test_unwritable_place_is_replaced(package: Package) -> None:
    package.cache.write_text("a file, not a folder")
    result = package.run()
    assert result["total"] == 8.0
    assert not Path(result["folder"]).exists()  # temporary, removed at the end


def test_old_folders_are_deleted(package: Package) -> None:
    hour = 3600.0
    for age in range(8):
        folder = package.cache / f"kernels-{age}"
        folder.mkdir(parents=True)
        then = time.time() - (age + 0.5) * hour
        os.utime(folder, (then, then))
    other = package.cache / "of someone else"
    other.mkdir()
    folder = Path(package.run()["folder"])
    assert set(package.cache.iterdir()) == {
        folder, other, *(package.cache / f"kernels-{age}" for age in range(3))
    }  # fmt: skip


def test_all_kernels_are_among_the_hashed_sources() -> None:
    decorators = re.compile(r"from hardgrain\.kernels import \(?[^)]*?\b(jit|pjit|device|scalar)\b")
    users = {path for path in SOURCE.rglob("*.py") if decorators.search(path.read_text())}
    assert len(users) > 20
    assert users <= set(kernels._sources())


def test_edit_of_the_law_table_is_seen(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its numbers are columns that kernels have baked in."""
    monkeypatch.setattr(kernels, "_ROOT", package.root / "hardgrain")
    before = kernels._key()
    assert kernels._key() == before
    path = package.root / "hardgrain" / "core" / "lawtable.py"
    path.write_text(path.read_text().replace("E_NORMAL = 2", "E_NORMAL = 3"))
    assert kernels._key() != before


def _names(node: ast.AST) -> set[str]:
    """Names that the code of a node looks up; annotations do not compute anything."""
    found: set[str] = set()
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name):
                found.add(child.id)
            elif isinstance(child, ast.AST):
                found |= _names(child)
    return found


def test_kernels_take_no_number_from_a_source_that_is_not_hashed() -> None:
    """What a hashed file imports from others is used in plain Python only.

    Neither a compiled function nor a constant of the module, which a kernel could look up, may
    depend on it.
    """
    hashed = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in kernels._sources()
    }
    kinds = {"jit", "pjit", "device", "overload", "intrinsic"}
    checked = 0
    for path in kernels._sources():
        tree = ast.parse(path.read_text())
        foreign = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hardgrain")
            for alias in node.names
            if not {node.module, f"{node.module}.{alias.name}"} & hashed
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                marks = set().union(*(_names(d) | _own(d) for d in node.decorator_list))
                if not marks & kinds:
                    continue
                checked += 1
                assert not _names(node) & foreign, f"{path}: {node.name}"
        for node in tree.body:
            if isinstance(node, ast.Assign):
                assert not _names(node.value) & foreign, f"{path}:{node.lineno}"
    assert checked > 50


def _own(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else set()


def test_a_part_of_kernels_that_python_calls_says_so() -> None:
    """Parts are compiled without what Python needs to call them; it would crash."""
    part = kernels.scalar(lambda x: x)
    with pytest.raises(TypeError, match="a kernel must call it"):
        part(1.0)
    assert kernels.jit(lambda x: part(x))(1.0) == 1.0
    with pytest.raises(TypeError, match="a kernel must call it"):
        part(1.0)  # also where it is compiled for that type


def test_a_kernel_keeps_its_copies_of_others_to_itself() -> None:
    """Else the process that compiles it has other bits than those that load it from disk."""

    @kernels.jit
    def inner(x: Any) -> Any:
        total = 0.0
        for i in range(x.size):
            for j in range(x.size):
                total += np.sin(x[i] * x[j]) / (1.0 + np.cos(x[i] + x[j]) ** 2)
        return total

    @kernels.jit
    def outer(x: Any) -> Any:
        return inner(x) + inner(2.0 * x) + inner(x + 1.0) + inner(x * x)

    x = np.linspace(0.0, 1.0, 5)
    assert outer(x) == pytest.approx(inner(x) + inner(2 * x) + inner(x + 1) + inner(x * x))
    (code,) = cast(Any, outer).inspect_llvm().values()
    kept = [line for line in code.splitlines() if re.match("define internal .*inner", line)]
    assert kept, "the compiler wrote out the calls, and nothing is tested"
    assert "define linkonce_odr" not in code
