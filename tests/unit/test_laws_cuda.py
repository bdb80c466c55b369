"""One source, every backend: what is compiled for CUDA gives the numbers of the CPU and of Python.

The laws one by one, and whole sweeps, narrow phase and ledger from the physics of one contact.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("laws_on_cuda.py")
POINTS = Path(__file__).with_name("points_on_cuda.py")

# Rounding of a law with a well-conditioned W; fused multiply-adds and reassociation differ there.
ROUNDING = 1e-12


def run(
    *arguments: str, simulate: bool = False, script: Path = SCRIPT
) -> subprocess.CompletedProcess[str]:
    """Run the script in a process of its own: the simulator is chosen when Numba is imported."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1" if simulate else "0"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *arguments],
        capture_output=True, text=True, env=environment, timeout=600,
    )  # fmt: skip


def numbers(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_laws_in_the_simulator() -> None:
    worst = numbers(run("json", simulate=True))
    assert len(worst) == 21  # every law there is
    for name, row in worst.items():
        assert row["cuda"] == 0.0, name  # the simulator is Python
        assert row["cpu"] <= ROUNDING, name


def test_laws_on_a_gpu() -> None:
    done = run("json")
    if "no GPU here" in done.stderr:
        pytest.skip("no GPU here")
    for name, row in numbers(done).items():
        assert row["cuda"] <= ROUNDING, name


def test_laws_compile_to_ptx() -> None:
    """NVIDIA's compiler takes every law; no GPU needed."""
    done = run("ptx")
    if "no CUDA compiler here" in done.stderr:
        pytest.skip("no CUDA compiler here")
    assert all(size > 0 for size in numbers(done).values())


def test_contacts_in_the_simulator_and_on_the_cpu() -> None:
    """Packing, sweeps, stopping rules, residual, narrow phase and ledger, of every kind."""
    worst = numbers(run("json", simulate=True, script=POINTS))
    for name, row in worst.items():
        assert row["cuda"] == 0.0, name  # the simulator is Python
        # What all contacts at once and tiles do on the CPU is judged by tests of their own.
        assert "cpu" in row or name.endswith("all at once") or name.startswith("places"), name
        assert row.get("cpu", 0.0) <= ROUNDING, name


def test_contacts_on_a_gpu() -> None:
    done = run("json", script=POINTS)
    if "no GPU here" in done.stderr:
        pytest.skip("no GPU here")
    for name, row in numbers(done).items():
        assert row["cuda"] <= ROUNDING, name


def test_every_function_of_a_contact_is_compared() -> None:
    """No function of `hardgrain.point` is left out of the comparison above."""
    assert numbers(run("untried", script=POINTS)) == []
