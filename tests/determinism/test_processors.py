"""Another processor rounds otherwise: other bits, and, a fall being chaotic, another packing.

What physics fixes is the same there. The other processor is LLVM's ``generic`` one, or, where that
is what is being tried, the host's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Compiles everything for another processor: part of `make test-rounding`, not of `make test`.
pytestmark = [pytest.mark.rounding, pytest.mark.another_processor]

SCRIPT = Path(__file__).with_name("physics.py")


def physics(**environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, check=True, stdout=subprocess.PIPE
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def both() -> list[dict[str, Any]]:
    """Here, and on another processor."""
    here = dict(os.environ)
    other = {k: v for k, v in here.items() if k not in ("NUMBA_CPU_NAME", "OPENBLAS_CORETYPE")}
    base = Path(here.get("HARDGRAIN_CACHE", ".cache"))
    if here.get("NUMBA_CPU_NAME") == "generic":
        other |= {"HARDGRAIN_CACHE": str(base / "host")}
    else:
        other |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        other |= {"HARDGRAIN_CACHE": str(base / "rounding" / "generic")}
    found = [physics(**here), physics(**other)]
    assert found[0]["processor"] != found[1]["processor"]
    return found


def test_forces_that_are_unique_are_the_same(both: list[dict[str, Any]]) -> None:
    """A residual of 10⁻¹⁰ leaves n contacts wrong by (2n/π)² as much at most: 4·10⁻⁸."""
    for found in both:
        np.testing.assert_allclose(found["chain"], 0.7, rtol=4e-8)


def test_walls_carry_the_weight(both: list[dict[str, Any]]) -> None:
    """Momentum is conserved to rounding: some thousand additions of 10⁻¹⁶."""
    for found in both:
        assert found["wall_force"] == pytest.approx(found["weight"], rel=1e-11)
    assert both[0]["weight"] == pytest.approx(both[1]["weight"], rel=1e-14)


def test_energy_is_balanced(both: list[dict[str, Any]]) -> None:
    """What gravity gave is heat or motion, and no contact created any."""
    for found in both:
        given = found["work"]
        assert given > 1.0
        assert found["kinetic"] + found["dissipated"] == pytest.approx(given, rel=1e-9)
        assert found["created"] <= 1e-6 * given  # the solver's tolerance
        assert found["work"] == pytest.approx(found["fallen"], rel=1e-3)  # one step more or less


def test_the_packing_is_at_rest(both: list[dict[str, Any]]) -> None:
    """Solved in its last step; nothing moves faster than a grain falls in two steps."""
    for found in both:
        assert found["residual"] <= 1e-6
        assert found["fastest"] <= 2 * 0.02
