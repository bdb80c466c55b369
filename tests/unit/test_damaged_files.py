"""Damaged files: a share of `tests.fuzz.damaged`, and single cases that once went wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli.options import box_of
from hardgrain.io import fclib

from ..fuzz.damaged import run

CASES = 300


def test_damaged_files_are_refused_in_a_sentence() -> None:
    assert run(0, CASES, seed=8) == []


XYZ = "{}\nProperties=pos:R:{}:radius:R:1\n0 0 0 0.5\n"
DUMP = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n{}\nITEM: ATOMS x y radius\n0 0 0.5\n"


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000, "1.0", "-1", "0x1"])
@pytest.mark.parametrize("name", ["count.xyz", "width.xyz", "count.dump"])
def test_what_is_no_number_of_grains(tmp_path: Path, name: str, number: str) -> None:
    """Some pass `isdigit` and not `int`."""
    text = {"count.xyz": XYZ.format(number, 3), "width.xyz": XYZ.format(1, number)}
    path = tmp_path / name
    path.write_text(text.get(name, DUMP.format(number)))
    with pytest.raises(hg.InputError, match=name):
        hg.read_packing(path)


def test_types_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "grains.csv"
    path.write_text("x,y,radius,type\n0,0,1,\u00b2\n0,3,1,1\n")
    assert hg.read_packing(path).group.tolist() == [0, 1]


@pytest.mark.parametrize(
    "text", ["-1e300,-1e300,1e300,1e300", "0,0,1e-200,1", "0,0,1", "nan,0,1,1"]
)
def test_a_view_of_which_there_is_no_picture(text: str) -> None:
    with pytest.raises(hg.InputError, match="give two corners"):
        box_of(text)
    np.testing.assert_array_equal(box_of("0,0,20,10"), [[0, 0], [20, 10]])


def test_a_closed_folder_for_a_contact_problem() -> None:
    from scipy.sparse import csr_array

    from hardgrain.solve.matrices import LocalForm

    form = LocalForm(2, csr_array(np.eye(2)), np.zeros(2), np.zeros(1))
    with pytest.raises(hg.InputError, match="cannot be written"):
        fclib.write("/proc/problem.hdf5", form)
