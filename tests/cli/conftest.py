"""The command in this process: fast, and its output is at hand."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hardgrain.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def hardgrain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Calls ``hardgrain ARGUMENTS`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: Any) -> Result:
        monkeypatch.setattr(sys, "argv", ["hardgrain", *map(str, arguments)])
        code: Any = 0
        handler = signal.getsignal(signal.SIGINT)
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGINT, handler)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario, test.toml."""
    path = tmp_path / "test.toml"
    path.write_text((Path(__file__).parent / "scenario.toml").read_text())
    return path
