"""Files are written whole or not at all, also by several processes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardgrain.errors import InputError
from hardgrain.io.whole import whole


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    """Each has a part of its own; the last one to end wins, and the first is whole before that."""
    path = tmp_path / "film.gif"
    with whole(path) as slow, slow.open("w") as film:
        film.write("slow")
        with whole(path) as quick:
            quick.write_text("quick")
        assert path.read_text() == "quick"
        film.write(" but all of it")
        film.flush()
        assert path.read_text() == "quick"
    assert path.read_text() == "slow but all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    with pytest.raises(ZeroDivisionError), whole(path) as part:
        part.write_text(f"{1 / 0}")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name(tmp_path: Path) -> None:
    """The part's name does not grow with that of the file."""
    path = tmp_path / f"{'a' * 251}.png"
    with whole(path) as part:
        part.touch()
    assert path.exists()


def test_a_folder_that_takes_no_files() -> None:
    with pytest.raises(InputError, match="cannot be written"), whole(Path("/proc/a.png")):
        pass
