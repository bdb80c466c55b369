"""The benchmarks run: tiny sizes, no peers, no judgement of speed."""

import importlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where packings are kept: settled once for all tests here."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, results: Path) -> Callable[[str], ModuleType]:
    """Import a module of the benchmarks, which are no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("BENCHMARK_RESULTS", str(results))

    return lambda name: importlib.import_module(f"benchmarks.{name}")


def test_figure_knows_its_target(load: Callable[[str], ModuleType]) -> None:
    figure = load("measure").Figure
    assert figure("speed", 1.6, target="≥ 1.5").met is True
    assert figure("share", 21.0, target="< 20").met is False
    assert figure("speed", math.nan, target="≥ 1.5").met is False
    assert figure("speed", 1.0).met is None


def test_tiles_bear_the_forces_of_the_packing_they_copy(load: Callable[[str], ModuleType]) -> None:
    packings = load("packings")
    one, state = packings.spheres(100, tile=100)
    four, large = packings.spheres(400, tile=100)
    assert four.n == 4 * one.n
    assert len(large.contacts) == 4 * len(state.contacts)
    np.testing.assert_allclose(
        large.contacts.normal_impulse().sum(), 4 * state.contacts.normal_impulse().sum(), rtol=1e-9
    )
    a, b = packings.engine(one, 50, "sequential"), packings.engine(four, 50, "sequential")
    a.advance(state)
    b.advance(large)
    np.testing.assert_allclose(b.wall_force, 4 * a.wall_force, rtol=1e-2)


def test_problem_for_siconos_is_the_one_we_solve(load: Callable[[str], ModuleType]) -> None:
    """u = W p + q must be the contact velocity that our own velocities give."""
    siconos, packings = load("against_siconos"), load("packings")
    problem = siconos.problem_of(*packings.spheres(100, tile=100))
    w, q = siconos.delassus(problem)
    solution = packings.GaussSeidel(sweeps=20).solve(problem, seed=1, step=0)
    normal = problem.normal
    t = np.cross(normal, np.eye(3)[np.abs(normal).argmin(axis=1)])
    t /= np.linalg.norm(t, axis=1)[:, None]
    frame = np.stack([normal, t, np.cross(normal, t)], axis=1)
    p = np.einsum("kea,ka->ke", frame, solution.impulse)
    u = (w @ p.ravel() + q).reshape(-1, 3)
    v = solution.velocity
    u_n = np.einsum("ka,ka->k", normal, v[problem.second] - v[problem.first])
    np.testing.assert_allclose(u[:, 0], u_n + np.maximum(problem.gap, 0.0) / problem.dt, atol=1e-12)


def test_complementarity_problem_for_siconos_is_the_one_we_solve(
    load: Callable[[str], ModuleType],
) -> None:
    bench = load("array")
    array = bench.Array(10, 2.5, 0.01)
    mu = array.coefficients(0.1, 0.2, 0.001)
    m, q = bench.dense(array, mu)
    x, _ = bench.complementary(array, mu, np.zeros(array.contacts, dtype=np.int8))
    limit, friction = mu * (array.normal @ x + array.normal_0), x[array.at_tangential]
    z = np.concatenate([np.maximum(array.slip @ x, 0.0), limit + friction])
    w = m @ z + q
    np.testing.assert_allclose(w[: array.contacts], limit - friction, atol=1e-12)
    assert w.min() > -1e-12
    np.testing.assert_allclose(z * w, 0.0, atol=1e-12)


def test_command_line(results: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "overhead"]
    environment = os.environ | {"BENCHMARK_RESULTS": str(results)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (record,) = results.glob("*.json")
    figures = json.loads(record.read_text())["figures"]["overhead"]
    assert all(0.0 < figure["value"] < 100.0 for figure in figures)


def test_unknown_name() -> None:
    command = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there are pymunk" in done.stderr
