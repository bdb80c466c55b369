"""Steps on a GPU: the same physics as on the processor, and one sentence where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hardgrain as hg
from hardgrain.cuda.present import usable
from hardgrain.errors import InputError
from hardgrain.run.simulation import Simulation

SCRIPT = Path(__file__).with_name("steps_on_cuda.py")
# [tolerance] Both solve to the same residual, relative to the velocities that impulses give, here
# below 1; the forces of three grains are unique. An error may be larger than the residual that
# tells of it, by the number of sweeps that a load takes to pass through three grains.
CLOSE = 100.0


def run(*scenes: str, simulate: bool) -> subprocess.CompletedProcess[str]:
    """Run the script in a process of its own: the simulator is chosen when Numba is imported."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), *scenes],
        capture_output=True, text=True, timeout=600,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1" if simulate else "0"},
    )  # fmt: skip


def numbers(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, float]]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def judge(found: dict[str, dict[str, float]]) -> None:
    for name, row in found.items():
        assert row["contacts"] == 0.0, name
        assert row["loaded"] >= 2.0, name  # something to compare
        assert row["again"] == 0.0, name  # the same bits once more
        for what in ("velocity", "place", "report"):
            assert row[what] <= CLOSE * row["tolerance"], (name, what)
        assert row["wall"] <= CLOSE * row["tolerance"] / 0.02, name  # an impulse over dt


@pytest.mark.parametrize("which", ["box", "rolling"])
def test_steps_in_the_simulator(which: str) -> None:
    judge(numbers(run(which, simulate=True)))


def test_steps_on_a_gpu() -> None:
    done = run("box", "rolling", "drum", "piston", simulate=False)
    if "no GPU here" in done.stderr:
        pytest.skip("no GPU here")
    judge(numbers(done))


def scenario(**engine: str) -> hg.Scenario:
    scene = hg.Scene(
        dimension=2, gravity=[0.0, -1.0],
        grains=[hg.Grains(count=1, diameter=1.0, place=hg.At(positions=[[0.0, 2.0]]))],
        walls=[hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0])],
    )  # fmt: skip
    return hg.Scenario(
        scene=scene, dt=0.01, engine={"kind": "contact-dynamics", **engine},
        solver={"kind": "gauss-seidel", "order": "tiles"},
    )  # fmt: skip


@pytest.mark.skipif(usable() is None, reason="there is a GPU here")
def test_no_gpu_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"engine.device is 'cuda' but .*device = 'cpu' is valid"):
        Simulation(scenario(device="cuda"))
    assert Simulation(scenario(device="auto")).step().step == 1  # on the processor


def test_what_a_gpu_does_not_carry_is_named() -> None:
    asked = scenario(device="cuda").model_copy(
        update={"solver": hg.GaussSeidel(order="sequential")}
    )
    with pytest.raises(InputError, match=r"solver.order = 'sequential'.*tiles is valid"):
        Simulation(asked)
