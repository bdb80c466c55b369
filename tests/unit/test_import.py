"""`import hardgrain` is light, as a shell completion or a `--help` must not wait for a compiler.

And the house has an order: no package imports from one that builds on it.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hardgrain

SOURCE = Path(hardgrain.__file__).parent
HOUSE = (
    ("errors",),
    ("theory", "kernels", "parallel"),
    ("scene",),
    ("law",),
    ("contact",),
    ("solve",),
    ("step",),
    ("measure",),
    ("io",),
    ("run",),
    ("show",),
    ("papers",),
    ("cli",),
)
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")
FLOOR = {name: k for k, names in enumerate(HOUSE) for name in names}

LIMIT = 0.3  # [s]
HEAVY = {"h5py", "llvmlite", "matplotlib", "numba", "scipy"}

SCRIPT = """
import json, sys, time
start = time.perf_counter()
import hardgrain
print(json.dumps([time.perf_counter() - start, sorted(sys.modules)]))
"""


def import_once() -> tuple[float, set[str]]:
    """Seconds that the import takes in a fresh process, and the modules then loaded."""
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    seconds, modules = json.loads(out)
    return seconds, set(modules)


def test_import_is_light() -> None:
    assert not import_once()[1] & HEAVY


def test_import_is_fast() -> None:
    assert min(import_once()[0] for _ in range(3)) < LIMIT


def imported(path: Path) -> Iterator[str]:
    """Modules of hardgrain that a file imports anywhere, also within functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "hardgrain")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module == "hardgrain":
                yield from (f"hardgrain.{a.name}" for a in node.names)
            elif (node.module or "").startswith("hardgrain."):
                yield str(node.module)


def test_every_module_has_its_place_in_the_house() -> None:
    names = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert names == set(FLOOR)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nothing_imports_from_what_builds_on_it(path: Path) -> None:
    here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imported(path):
        if module == "hardgrain":  # for the version
            continue
        there = module.split(".")[1]
        if there == "__version__":
            continue
        assert there == here or FLOOR[there] < FLOOR[here], f"{here} imports {module}"


def test_numba_is_known_to_kernels_only() -> None:
    """Where the compiler is named, `hardgrain.kernels` is at hand, or a function asks for it."""
    for path in MODULES:
        top = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.Import)]
        names = {a.name.split(".")[0] for node in top for a in node.names}
        assert "numba" not in names or path.name == "kernels.py", path
