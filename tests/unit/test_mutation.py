"""The faults that `make mutation` puts into the sources are still faults of these sources."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import hardgrain

TESTS = Path(__file__).parents[1]
FAULTS: list[Any] = runpy.run_path(str(TESTS / "mutation.py"))["FAULTS"]
SOURCE = Path(hardgrain.__file__).parent


def test_every_fault_can_be_made() -> None:
    """Its text stands once in the file it names; what has moved would end the whole run."""
    texts = {f.file: (SOURCE / f.file).read_text(encoding="utf-8") for f in FAULTS}
    assert not [f"{f.file}: {f.old}" for f in FAULTS if texts[f.file].count(f.old) != 1]
    assert not [f"{f.file}: {f.old}" for f in FAULTS if f.old == f.new]


def test_every_fault_has_tests_that_exist() -> None:
    named = {part.split("::")[0] for f in FAULTS for part in f.tests.split() if ".py" in part}
    assert not [name for name in named if not (TESTS / name).is_file()]
