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
    ("extras", "theory", "kernels", "parallel"),
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

SCRIPT = """
import json, sys
before = set(sys.modules)
import hardgrain
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_import_is_light() -> None:
    """Nothing is loaded but itself and little of the standard library: some hundredths of a second.

    The number of modules stands for the time, which depends on what else the machine does.
    """
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    modules = json.loads(out)
    assert "hardgrain" in modules
    foreign = {m.partition(".")[0] for m in modules} - sys.stdlib_module_names - {"hardgrain"}
    assert not foreign
    assert len(modules) < 100


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


def loaded(tree: ast.AST) -> Iterator[str]:
    """Packages that a file loads when it is imported; what a function asks for comes later."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from loaded(node)


def test_loaded_sees_every_import() -> None:
    seen = set(loaded(ast.parse(
        "import a.b, c as d\nfrom e.f import g\nif h:\n    from i import j\n"
        "class K:\n    import l\ndef m():\n    import n"
    )))  # fmt: skip
    assert seen == {"a", "c", "e", "i", "l"}


def test_numba_is_known_to_kernels_only() -> None:
    """What compiles gets all of it from `hardgrain.kernels`; a function may ask for the threads."""
    users = {path for path in MODULES if "numba" in loaded(ast.parse(path.read_text()))}
    assert users == {SOURCE / "kernels.py"}
