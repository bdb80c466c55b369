"""The house stays one to live in: no long files, no functions with a long row of arguments.

A file holds one idea and is read in one go; compiled functions take records instead of columns one
by one. What is not there yet is named here, so that nothing new can hide behind it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hardgrain

SOURCE = Path(hardgrain.__file__).parent
LINES, ARGUMENTS = 400, 8

# Files above the limit, and functions likewise, that are still to be divided.
LONG: set[str] = set()
MANY: set[str] = set()


def files() -> Iterator[tuple[str, str]]:
    """Name within the package and text of every module."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


def positional(function: Any) -> int:
    """Arguments that may be given by their place; an object or class that a method gets is none."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def crowded(text: str) -> Iterator[str]:
    """Functions with more arguments than the limit, methods and inner functions among them."""
    for node in ast.walk(ast.parse(text)):
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if function and positional(node) > ARGUMENTS:
            yield node.name


def test_the_count_of_arguments_knows_methods_and_keywords() -> None:
    eight = ", ".join("abcdefgh")
    assert not [*crowded(f"def f({eight}, *, i, j): ...\nclass C:\n    def g(self, {eight}): ...")]
    assert [*crowded(f"class C:\n    def g({eight}, i): ...")] == ["g"]
    assert [*crowded(f"def f():\n    def g({eight}, /, i): ...")] == ["g"]


def test_no_file_is_longer_than_one_idea() -> None:
    assert {name for name, text in files() if text.count("\n") > LINES} == LONG


def test_no_function_has_a_long_row_of_arguments() -> None:
    assert {f"{name}::{found}" for name, text in files() for found in crowded(text)} == MANY
