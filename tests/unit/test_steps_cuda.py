"""Steps on a GPU: the same physics as on the processor, and one sentence where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cuda import api, present, room
from hardgrain.cuda.present import usable
from hardgrain.errors import InputError, RunError
from hardgrain.run.simulation import Simulation
from hardgrain.theory import chain

SCRIPT = Path(__file__).with_name("steps_on_cuda.py")
# [tolerance] Both solve to the same residual, relative to the velocities that impulses give, here
# below 1; the forces of three grains are unique. An error may be larger than the residual that
# tells of it, by the number of sweeps that a load takes to pass through three grains.
CLOSE = 100.0


def run(*scenes: str, simulate: bool) -> subprocess.CompletedProcess[str]:
    """Run the script in a process of its own: the simulator is chosen when Numba is imported."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), *scenes],
        capture_output=True, text=True, timeout=3600,  # it hangs, or the machine is very slow
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


@pytest.mark.parametrize("which", ["box", "rolling", "tiles", "apart"])
def test_steps_in_the_simulator(which: str) -> None:
    judge(numbers(run(which, simulate=True)))


def test_steps_on_a_gpu() -> None:
    done = run("box", "rolling", "tiles", "drum", "piston", simulate=False)
    if "no GPU here" in done.stderr:
        pytest.skip("no GPU here")
    judge(numbers(done))


def rows_of(*scenes: str, simulate: bool) -> dict[str, dict[str, float]]:
    """What the script found of these scenes, in the simulator or on a GPU if there is one."""
    done = run(*scenes, simulate=simulate)
    if "no GPU here" in done.stderr:
        pytest.skip("no GPU here")
    return numbers(done)


@pytest.mark.parametrize("simulate", [True, False])
@pytest.mark.parametrize("which", ["held", "spheres"])
def test_gradients_are_those_of_the_processor(which: str, simulate: bool) -> None:
    """Walls that can be pushed, grains that stick to each other, disks and spheres.

    Sums of a few impulses are made in another order, four times over.
    """
    (row,) = rows_of(which, simulate=simulate).values()
    assert row["loaded"] >= 3.0
    assert row["moved"] > 0.01  # gradients changed the impulses that they are compared by
    assert row["impulse"] < 1e-13
    # Both find the largest eigenvalue by power iteration, which may miss it by less than the tenth
    # that is added; contacts with a piston have other lengths than on the processor.
    assert abs(row["step"] - 1.0) < 0.1
    if which == "held":
        assert row["pull"] > 0.005  # half of what cohesion allows in a step


@pytest.mark.parametrize("simulate", [True, False])
def test_the_rigid_solver_goes_on_where_the_device_gave_up(simulate: bool) -> None:
    found = rows_of("stages", simulate=simulate)
    judge(found)
    (row,) = found.values()
    assert row["converged"] == 1.0
    assert row["gradients"] == row["path"] == 1.0  # on the device, and then on the host


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
    asked = asked.model_copy(update={"solver": hg.Jacobi()})
    with pytest.raises(InputError, match=r"solver.kind = 'jacobi' \(gauss-seidel and rigid are"):
        Simulation(asked)


# ---------------------------------------------------------------------- what is lacking, and room
class Fake:
    """What `present` asks of a package of CUDA."""

    def __init__(self, error: str = "", version: tuple[int, ...] = (13, 0), compiles: bool = True):
        self.error, self.compiles = error, compiles
        driver = SimpleNamespace(get_version=lambda: version)
        self.cudadrv = SimpleNamespace(driver=SimpleNamespace(driver=driver))

    def get_current_device(self) -> Any:
        if self.error:
            raise OSError(self.error)
        return SimpleNamespace(name=b"NVIDIA H200")

    def is_available(self) -> bool:
        return self.compiles


@pytest.mark.parametrize(
    ("cuda", "xp", "sentence"),
    [
        (Fake("CUDA driver library cannot be found.\nIf"), True, "no driver of an NVIDIA GPU was"),
        (Fake("Call to cuInit results in CUDA_ERROR_NO_DEVICE"), True, "finds no NVIDIA GPU here"),
        (Fake("unknown error" + 99 * " x"), True, "does not work (unknown error x"),
        (Fake(version=(12, 4)), True, "knows CUDA up to 12.4 and not 13, install NVIDIA's driver"),
        (Fake(compiles=False), True, "the compiler of CUDA is not installed, install it with pip"),
        (Fake(), False, "CuPy is not installed, install it with pip install 'hardgrain[cuda]'"),
        (Fake(), True, None),
    ],
)
def test_what_is_lacking_is_said_with_what_to_install(
    cuda: Fake, xp: bool, sentence: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "cuda", cuda)
    monkeypatch.setattr(api, "xp", np if xp else None)
    monkeypatch.setattr(api, "SIMULATED", False)
    found = usable.__wrapped__()
    if sentence is None:
        assert found is None
        assert present.name() == "NVIDIA H200"
    else:
        assert sentence in found
        assert "\n" not in found
        assert len(found) < 300
        assert "install" in found or "no NVIDIA GPU" in found


class FromCuda(Exception):
    """Numba tells of a full memory by a number in the text of an error of its own."""


@pytest.mark.parametrize(
    "error", [MemoryError("Out of memory allocating 9"), FromCuda("[2] CUDA_ERROR_OUT_OF_MEMORY")]
)
def test_a_full_memory_is_one_sentence_with_what_would_fit(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "name", lambda: "NVIDIA T4")
    monkeypatch.setattr(room, "free_memory", lambda: (0, 16 * 2**30))
    model: Any = SimpleNamespace(n=9_000_000, lean=True, dim=3)
    said = r"\(NVIDIA T4, 14 GiB .* of 16 in all\) does not hold 9000000 grains; about 3700000 like"
    with pytest.raises(RunError, match=said), room.roomy(model, 14 * 2**30, RunError):
        raise error
    few: Any = SimpleNamespace(n=1000, lean=True, dim=3)  # others had taken the memory meanwhile
    with pytest.raises(InputError, match="about 900 like"), room.roomy(few, 2**30, InputError):
        raise error
    with pytest.raises(ValueError, match="else"), room.roomy(few, 0, InputError):
        raise ValueError("something else")


@pytest.mark.parametrize("which", ["resume", "handed"])
def test_a_run_goes_on_where_another_device_stopped(which: str) -> None:
    """In the simulator: what a processor began ends as it would have, within the tolerance.

    Swept in tiles, and solved by the rigid solver, whose sweeps are in tiles on a GPU alone.
    """
    (row,) = numbers(run(which, simulate=True)).values()
    assert row["place"] <= CLOSE * row["tolerance"]
    assert row["told"] == 1.0  # that bits are not those of one device
    # of what `room` counts for a grain, which has larger tiles on a GPU, and pairs besides
    assert 0.5 < row["room"] < 1.0


def test_inner_colours_that_begin_anywhere_relax_a_chain_as_random_sweeps_do() -> None:
    """Colours drawn for the contacts of a chain, swept from a colour drawn for each sweep.

    The slowest mode of n contacts loses q (π/(n + 1))² a sweep. What is handed on depends on the
    order of three contacts in a row, of which each is as likely as any other: were successive
    sweeps independent, q would be that of random sweeps. They keep the cycle of the colours.
    """
    n, sweeps, many, colours = 40, 300, 40, 10
    found = []
    for seed in range(many):
        rng = np.random.default_rng(seed)
        colour = rng.integers(0, colours, n)
        for k in range(1, n):
            while colour[k] == colour[k - 1]:
                colour[k] = rng.integers(0, colours)
        rows = [1 + np.flatnonzero(colour == c) for c in range(colours)]
        mode = np.sin(np.pi * np.arange(n + 2) / (n + 1))
        mode[-1] = 0.0
        x, left = mode.copy(), []
        for _ in range(sweeps):
            first = int(rng.integers(0, colours))
            for c in range(colours):
                row = rows[(first + c) % colours]
                x[row] = 0.5 * (x[row - 1] + x[row + 1])
            left.append(float(x @ mode))
        fade = np.log(left[20] / left[-1]) / (sweeps - 21)
        found.append(fade / (np.pi / (n + 1)) ** 2)
    q, error = np.mean(found), np.std(found) / np.sqrt(many)
    assert abs(q / chain.Q["random"] - 1.0) < 0.05 + 4.0 * error / q
