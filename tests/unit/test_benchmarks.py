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


def test_what_is_outside_a_range(load: Callable[[str], ModuleType]) -> None:
    outside = load("advise").outside
    assert outside(3.0, (2.0, 4.0)) == 1.0
    assert outside(1.0, (2.0, 4.0)) == 2.0
    assert outside(6.0, (2.0, 4.0)) == 1.5


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
    # Along the floor there is rounding only.
    most = np.abs(b.wall_force).max()
    np.testing.assert_allclose(b.wall_force, 4 * a.wall_force, rtol=0.0, atol=1e-2 * most)


@pytest.mark.parametrize(("kind", "tile"), [("pentagons", 40), ("boxes", 100)])
def test_tiles_of_shapes_bear_the_forces_of_the_packing_they_copy(
    load: Callable[[str], ModuleType], kind: str, tile: int
) -> None:
    """Grains may swap their roles in a contact, and its points their names: none is lost."""
    packings = load("packings")
    one, state = packings.on_floor(kind, tile, tile=tile)
    two, large = packings.on_floor(kind, 2 * tile, tile=tile)
    assert two.n == 2 * one.n
    old, new = packings._found(one, state), large.contacts
    assert len(new) == 2 * len(old)
    total = old.impulse.sum(axis=0)
    assert np.abs(total).max() > 0.0
    # Sums of the same numbers in another order: rounding only.
    np.testing.assert_allclose(
        np.abs(new.impulse).sum(axis=0), 2 * np.abs(old.impulse).sum(axis=0), rtol=1e-9
    )


def test_shapes_are_compared_with_peers_or_without(load: Callable[[str], ModuleType]) -> None:
    """Whichever peers are installed, what concerns hardgrain alone is measured."""
    figures = load("shapes").run(quick=True)
    assert all(math.isfinite(figure.value) for figure in figures)
    named = [figure.what for figure in figures]
    assert sum("cost of a contact point" in name for name in named) == 1
    assert sum("exponent" in name for name in named) == 2


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


@pytest.mark.parametrize("load_case", ["piston", "gravity"])
def test_packings_at_rest_stay_there(load: Callable[[str], ModuleType], load_case: str) -> None:
    """Also cold, and under a tenth more load: nothing moves beside what would fall freely."""
    packings = load("rigid_packings")
    problem = packings.static_problem(50, 0.3, 2, load_case)
    assert not problem.impulse.any()
    grains = problem.inv_inertia.any(axis=1)
    pushed = 1.1 * problem.dt if load_case == "piston" else problem.dt
    assert np.abs(problem.velocity).max() == pytest.approx(pushed)
    solution = packings.RigidSolver(start="zero").solve(problem, seed=1, step=0)
    assert solution.converged
    assert np.abs(solution.velocity[grains]).max() < 0.01 * problem.dt


def test_problem_as_siconos_reads_it_is_the_local_form(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """In 2D with a third direction, coupled to nothing."""
    rigid, packings = load("rigid"), load("rigid_packings")
    problem = packings.static_problem(50, 0.3, 2, "gravity")
    form = rigid.global_form(problem)[0].local()
    rigid.write_text(form, tmp_path / "problem.dat")
    lines = (tmp_path / "problem.dat").read_text().split("\n")
    m = form.contacts
    assert lines[:4] == ["3", str(m), "1", f"{3 * m} {3 * m}"]
    starts, columns = (np.array(lines[k].split(), int) for k in (11, 12))
    numbers = np.array(lines[13 : 13 + 10 * columns.size], float).reshape(-1, 10)[:, 1:]
    w = np.zeros((m, 3, m, 3))
    w[np.repeat(np.arange(m), np.diff(starts)), :, columns] = numbers.reshape(-1, 3, 3).mT
    both = np.ix_(range(m), (0, 1), range(m), (0, 1))
    np.testing.assert_array_equal(w[both].reshape(2 * m, 2 * m), form.delassus.toarray())
    third = np.diag(form.delassus.diagonal()[1::2])
    np.testing.assert_array_equal(w[:, 2, :, 2], third)
    assert not w[:, 2, :, :2].any()
    assert not w[:, :2, :, 2].any()
    q, mu = (np.array(line.split(), float) for line in lines[-3:-1])
    np.testing.assert_array_equal(q.reshape(m, 3)[:, :2].ravel(), form.q)
    np.testing.assert_array_equal(mu, form.mu)


def test_times_of_gauss_seidel_are_extrapolated_in_its_favour(
    load: Callable[[str], ModuleType],
) -> None:
    rigid = load("scaling")
    known = {100: rigid.Took(1.0), 1000: rigid.Took(100.0)}  # exponent 2
    from_decay = rigid.Took(20_000.0, "extrapolated from 0.1 after 120 s")
    assert rigid._shorter(from_decay, 10_000, known).seconds == pytest.approx(10_000.0)
    assert rigid._shorter(rigid.Took(500.0, "extrapolated"), 10_000, known).seconds == 500.0
    assert rigid._shorter(rigid.Took(70.0), 10_000, known).how == ""


def test_gauss_seidel_within_its_limit_is_measured(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    rigid, packings = load("scaling"), load("rigid_packings")
    problem = packings.static_problem(50, 0.3, 2, "gravity")
    assert rigid.swept(problem, "sequential", limit=math.inf).how == ""
    monkeypatch.setattr(rigid, "PORTION", 2)  # two sweeps do not suffice, and there are no more
    assert rigid.swept(problem, "sequential", limit=0.0).how.startswith("at least: it stalls at")


def test_measurements_side_by_side_tell_how_they_ended(
    load: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends, one that fails; what lies on the desk is kept, in the order of the jobs."""
    work = "def work(desk, x, y):\n    desk.lay(early=x)\n    desk.lay(ratio=x / y)\n"
    (tmp_path / "a_work.py").write_text(work)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    side_by_side = load("side_by_side")
    half, failed = side_by_side.measured("a_work:work", [[1, 2], [1, 0]], limit=math.inf)
    assert half == {"early": 1, "ratio": 0.5, "ended": "whole"}
    assert failed == {"early": 1, "ended": "failed: ZeroDivisionError: division by zero"}
    assert side_by_side.measured("a_work:work", [[1, 2]], 1.0, within=0.0) == [
        {"ended": "not begun"}
    ]


def test_a_measurement_that_overruns_is_cut(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """It ends at once, and what it had found counts."""
    side_by_side = load("side_by_side")
    desk = side_by_side.Desk(tmp_path / "0.json", limit=1.0)
    desk.lay(found=3)
    (tmp_path / "0.said").touch()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    one = side_by_side._Running(0, process, desk.path, until=0.0)
    assert side_by_side._ended(one) == {"found": 3, "ended": "cut"}
    assert process.poll() is not None


def test_scenes_are_told_as_they_were_measured(load: Callable[[str], ModuleType]) -> None:
    """Two of four steps missed; on those that both got we take half of their time."""
    scenes = load("rigid_scenes")
    row = {
        "scene": "drum, disks", "grains": 400, "ended": "cut", "used": {"sweeps": 4, "walk": 1},
        "seconds": [0.1, 0.3, 0.1, 0.3], "residual": [1e-7, 2e-6, 1e-6, 3e-5],
        "pairs": [[0.1, 0.3, True], [0.3, 0.5, False]],
    }  # fmt: skip
    share, worst, ratio = scenes._figures(row, quick=False)
    assert (share.value, worst.value, ratio.value) == (0.5, 3e-5, pytest.approx(0.5))
    assert share.met is worst.met is False
    assert ratio.met is True
    cells = scenes.table([row]).splitlines()[-1].split(" | ")
    assert cells[:5] == ["| drum, disks", "400", "4", "2", "3.0e-05"]
    assert cells[5:] == ["200 ms", "200 ms", "400 ms", "50% of 2 |"]


def test_command_line(results: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "overhead"]
    environment = os.environ | {"BENCHMARK_RESULTS": str(results)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (record,) = results.glob("*.json")
    figures = json.loads(record.read_text())["figures"]["overhead"]
    # So few spheres take less time than a clock's noise, so that a share of it may be any number.
    assert all(math.isfinite(figure["value"]) and figure["unit"] == "%" for figure in figures)
    named = [figure["what"] for figure in figures]
    assert sum("outside the sweeps" in name for name in named) == 4  # two orders, two pair lists
    assert sum("checks of a run" in name for name in named) == 1


def test_unknown_name() -> None:
    command = [sys.executable, "-m", "benchmarks", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there are pymunk" in done.stderr


def test_a_hard_step_is_kept_as_it_was(load: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """A step read and written again is the same to single precision, and is solved."""
    hard = load("hard_steps")
    name, step = next(iter(hard.every("drum-2d").items()))
    hard.write(tmp_path / f"{name}.npz", step)
    again = hard.read(tmp_path / f"{name}.npz")
    for field in ("normal", "arm_first", "arm_second", "gap", "velocity", "impulse"):
        one, other = getattr(step, field), getattr(again, field)
        np.testing.assert_allclose(one, other, atol=1e-6 * np.abs(one).max(), rtol=0.0)
    np.testing.assert_array_equal(step.first, again.first)
    assert hard.solve(again)[1].converged


def test_the_model_of_messages_finds_what_runs_were_made_of(
    load: Callable[[str], ModuleType],
) -> None:
    """Times that follow from known constants give these back, and those of 10⁴ processes."""
    model = load("mpi_model")
    alpha, beta, meeting, sharing, trade = 3e-6, 4e9, 5e-6, 6e8, 7e-7
    stage, wait, sweeps, w = 2e-5, 1e-5, 100, {1: 4e-6, 4: 5e-6}

    def shared(n: int, grains: int) -> dict[str, object]:
        """Two cut axes, so four colours of two stages; λ = 1.2; 5 messages a sweep of 30 kB."""
        contacts, tiles = 3 * grains, grains // 100
        most = 1.2 * contacts / n
        working = w[4 if n >= 4 else 1] * most + stage * 8 * sweeps
        seconds = working + wait * 4 * sweeps + sweeps * (5 * alpha + 3e4 / beta)
        seconds += math.log2(n) * (20 * meeting + 24 * tiles / sharing) + 10 * trade * n
        one = {
            "seconds": seconds, "working": working, "memory_before": 100,
            "memory": 100 + 2000 * grains // n + int((4 * 9 + 80) * tiles),
            "sweep_bytes": 3e4, "sweep_messages": 5.0, "collectives": 20.0, "trades": 10.0,
            "added_bytes": 24.0 * tiles, "own_grains": grains // n, "contacts": most,
        }  # fmt: skip
        others = {**one, "contacts": (contacts - most) / (n - 1)}
        first = {**one, "memory": one["memory"] + 900 * grains}
        each = [first, *[others] * (n - 1)]
        return {
            "kind": "shared", "number": n, "grains": grains, "contacts": contacts,
            "sweeps": sweeps, "tiles": tiles, "axes": 2, "processes": each,
        }  # fmt: skip

    runs: dict[str, object] = {
        f"copies-{n}": {
            "kind": "copies", "number": n, "grains": 10_000, "contacts": 30_000,
            "processes": [{"seconds": 30_000 * w[n]}] * n,
        }
        for n in w
    }  # fmt: skip
    runs |= {f"shared-{n}": shared(n, 10_000 * n) for n in (2, 4)} | {"more": shared(4, 80_000)}
    messages = {
        "pairs": [{"bytes": b, "seconds": alpha + b / beta} for b in (8, 4096, 2**21)],
        "allreduce": [
            {"processes": n, "bytes": b, "seconds": math.log2(n) * (meeting + b / sharing)}
            for n in (2, 4)
            for b in (8, 4096, 2**21)
        ],
        "trade": [{"processes": n, "seconds": 2 * n * trade} for n in (2, 4)],
    }
    found = model.Model.fitted({"runs": runs, "messages": messages})
    net = found.network
    assert [net.latency, net.bandwidth, net.meeting, net.sharing, net.trade] == pytest.approx(
        [alpha, beta, meeting, sharing, trade], rel=1e-6
    )
    assert [found.stage, found.wait] == pytest.approx([stage, wait], rel=1e-6)
    assert found.memory == pytest.approx((2000.0, 116.0, 900.0), rel=1e-3)
    # 80,000 grains in four processes are scaled: a fourth of the grains, half of the edge
    large = found.base.larger(10_000, 5_000 * 10_000)
    parts = found.parts(large)
    assert parts.work == pytest.approx(5e-6 * 1.2 * 15_000, rel=1e-6)
    assert parts.messages == pytest.approx(sweeps * (5 * alpha + 1.5e4 / beta), rel=1e-6)
    assert parts.trades == pytest.approx(10 * trade * 10_000, rel=1e-6)
    tables = math.log2(10_000) * (20 * meeting + 24 * 500_000 / sharing)
    assert parts.collectives == pytest.approx(tables, rel=1e-3)
    assert found.efficiency(large) == pytest.approx(5e-6 * 15_000 / parts.total, rel=1e-6)


def test_what_the_benchmark_of_processes_keeps_is_what_the_model_reads(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mpi, model, measure = load("mpi"), load("mpi_model"), load("measure")
    try:
        mpi.find_mpiexec()
    except measure.Absent as absent:
        pytest.skip(str(absent))
    monkeypatch.setattr(mpi.Runs, "numbers", [1, 2])
    monkeypatch.setattr(mpi, "cores", lambda: 2)
    monkeypatch.setattr(mpi, "TILE", 100)  # of which others here have a packing, too
    monkeypatch.setenv("BENCHMARK_PARTS", "weak,messages")
    figures = mpi.run(True)
    assert len(figures) == 3  # one of runs, two of messages
    told = json.loads((mpi.RESULTS / mpi.KEPT).read_text())
    shared = next(one for one in told["runs"].values() if one["kind"] == "shared")
    assert sum(one["own_grains"] for one in shared["processes"]) == shared["grains"] == 2000
    assert sum(one["contacts"] for one in shared["processes"]) == shared["contacts"]
    assert min(one["sweep_bytes"] for one in shared["processes"]) >= 48.0  # a grain at least
    page = tmp_path / "page.md"
    page.write_text(f"before\n{model.BEGIN}\nnothing yet\n{model.END}\nafter\n")
    assert model.main([str(mpi.RESULTS / mpi.KEPT), "--page", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "| 10000 | 6.25e+08 |" in text
    assert "nothing yet" not in text


def test_fronts_are_those_of_an_elimination(load: Callable[[str], ModuleType]) -> None:
    fronts = load("fronts")
    pivots, boundary = fronts.fronts(3, 5)
    assert pivots.sum() == 125.0  # each body is eliminated once
    assert boundary[-1] == 0.0  # the last front has nothing behind it
    (disks, spheres) = fronts.run(quick=True)
    assert disks.value < spheres.value < 2.0 / 3.0 * (6 * 125) ** 3 / 1e9  # less than a dense LU


def test_bytes_of_an_update_are_counted_by_hand(load: Callable[[str], ModuleType]) -> None:
    """One contact of two spheres in a tile, of 12 numbers, 4 of them an impulse; bodies of 8."""
    traffic = load("gpu_traffic")
    contact, body = 8 * (12 + 4) + 2 * 2, 4 + 8 * 8 + 8 * 6
    assert traffic.traffic((True, 3), contacts=1, members=2, grains=2) == contact + 2 * body
    assert traffic.together((True, 3)) == 8 * (12 + 4) + 2 * (4 + 8 * 8 + 8 * 6)
    assert "20% of the bandwidth" in traffic.said("NVIDIA H200", 100.0, 9.6e9)
    assert "bandwidth" not in traffic.said("NVIDIA T4", 100.0, 9.6e9)
