"""The commented starters, scenarios and studies, that ``hardgrain new`` writes."""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from pathlib import Path

from hardgrain.errors import InputError
from hardgrain.io.whole import check_target, whole

__all__ = ["command", "everything", "names", "studies", "text", "title", "write"]

_FOLDER = files("hardgrain.cli") / "starters"


def everything() -> list[str]:
    """All starters, in alphabetical order."""
    return sorted(f.name.removesuffix(".toml") for f in _FOLDER.iterdir())


def names() -> list[str]:
    """Those that are scenarios."""
    return [name for name in everything() if command(name) == "run"]


def studies() -> list[str]:
    """Those that are studies of many runs."""
    return [name for name in everything() if command(name) == "sweep"]


def command(name: str) -> str:
    """The command that runs a starter."""
    return "sweep" if name.endswith("-study") else "run"


def text(name: str) -> str:
    """The starter as TOML."""
    if name not in everything():
        near = difflib.get_close_matches(name.lower(), everything(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(everything())}"
        raise InputError(f"there is no starter named {name!r}; {hint}")
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def title(name: str) -> str:
    """What a starter shows, in a few words."""
    return str(tomllib.loads(text(name))["title"])


def write(name: str, path: Path, *, overwrite: bool = False) -> None:
    """Write a starter to a file."""
    content = text(name)
    check_target(path, overwrite=overwrite)
    with whole(path) as part:
        part.write_text(content, encoding="utf-8")
