"""`import hardgrain` is light, as a shell completion or a `--help` must not wait for a compiler.

And the house has an order: no package imports from one that builds on it.
"""

import ast
import importlib
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
    ("extras", "theory", "kernels", "lazy", "parallel", "processes"),
    ("addresses",),
    ("core",),
    ("law",),
    ("point",),
    ("cpu",),
    ("scene",),
    ("contact",),
    ("cuda",),
    ("solve",),
    ("step",),
    ("measure",),
    ("forces",),
    ("io",),
    ("run",),
    ("show",),
    ("study",),
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


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules of hardgrain that a file imports anywhere, also within functions.

    A public name stands for the module that defines it, whether it is asked for by
    ``from hardgrain import name`` or as ``hg.name``.
    """
    itself = set()  # what the file calls hardgrain
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "hardgrain":
                    itself.add(alias.asname or "hardgrain")
                elif alias.name.startswith("hardgrain."):
                    yield alias.name
                    if alias.asname is None:
                        itself.add("hardgrain")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "hardgrain":
                yield from (home(alias.name) for alias in node.names)
            elif (node.module or "").startswith("hardgrain."):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in itself
        ):
            yield home(node.attr)


def home(name: str) -> str:
    """The module behind a name that ``import hardgrain`` offers."""
    return f"hardgrain.{hardgrain._PUBLIC.get(name, name)}"


def test_imported_sees_every_import() -> None:
    """Names are resolved to the modules that define them; other packages are left out."""
    seen = set(imported(ast.parse(
        "import hardgrain as hg, json\nimport hardgrain.core.model\n"
        "from hardgrain import Simulation, theory\nfrom hardgrain.io import lock\n"
        "def f():\n    from hardgrain.law.spring import x\n    hg.RunFile, json.loads"
    )))  # fmt: skip
    assert seen == {
        "hardgrain.core.model", "hardgrain.run.simulation", "hardgrain.theory",
        "hardgrain.io.lock", "hardgrain.law.spring.x", "hardgrain.io.runfile",
    }  # fmt: skip


def test_every_module_has_its_place_in_the_house() -> None:
    names = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert names == set(FLOOR)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nothing_imports_from_what_builds_on_it(path: Path) -> None:
    here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imported(ast.parse(path.read_text())):
        there = module.split(".")[1]
        if there.startswith("__"):  # its version or its file
            continue
        assert there == here or FLOOR[there] < FLOOR[here], f"{here} imports {module}"


def test_names_that_have_moved_still_work_and_say_where_they_are() -> None:
    import hardgrain.forces
    import hardgrain.measure

    for name in ("Packing", "force_space"):
        with pytest.warns(DeprecationWarning, match=rf"is now hardgrain\.forces\.{name}"):
            assert getattr(hardgrain.measure, name) is getattr(hardgrain.forces, name)


@pytest.mark.parametrize("package", ["hardgrain", "hardgrain.measure", "hardgrain.papers"])
def test_a_name_that_a_package_lacks_is_said(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'sandcastle'"):
        _ = module.sandcastle


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
    """What compiles gets it from `kernels`, `addresses` or `cuda.api`; a function may ask for the
    threads."""
    users = {path for path in MODULES if "numba" in loaded(ast.parse(path.read_text()))}
    assert users == {SOURCE / name for name in ("kernels.py", "addresses.py", "cuda/api.py")}
