"""``hardgrain fclib``: info, solve, export, exit codes and nonsense."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

import hardgrain as hg
from hardgrain.io import fclib
from hardgrain.solve.matrices import LocalForm, coulomb_residual

SAMPLES = Path(__file__).parents[2].parent / "shared" / "fclib"
ABSENT = f"the sample problems are not there ({SAMPLES.name} in a folder beside the project)"
# without chance and memory: what it gives depends on the problem alone
SWEEPS = hg.GaussSeidel(sweeps=60, order="sequential", start="zero")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Disks that fall into a box with a bottom of locked ones: frames every 20 steps, 90 in all."""
    bottom = hg.Grains(
        place=hg.At(positions=[[x + 0.5, 0.0] for x in range(4)]), lock=["x", "y", "rotation"]
    )
    free = hg.Grains(count=14, diameter=0.8, place=hg.Loose(min=[0.1, 0.5], max=[3.9, 6]))
    sim = hg.Simulation(
        hg.Scene(
            grains=[bottom, free],
            walls=[hg.Plane(point=[x, 0], normal=[1 - x / 2, 0]) for x in (0, 4)],
            gravity=[0, -1],
            contacts=[hg.ContactLaw(friction=0.3)],
            allow_overlaps=True,
        ),
        dt=0.05,
        solver=SWEEPS,
        seed=3,
    )
    path = tmp_path_factory.mktemp("run") / "fall.h5"
    sim.run(90, output=path, every=20, progress=False)
    return path


@pytest.fixture
def problem(run, hardgrain, tmp_path):
    """The last step's problem, in the folder of the test."""
    assert hardgrain("fclib", "export", run, "-o", "problem.hdf5").code == 0
    return tmp_path / "problem.hdf5"


# ---------------------------------------------------------------------------------- export
def test_an_exported_step_is_the_one_that_the_run_solved(hardgrain, run):
    """Also between frames: the sweeps of the run, over the matrices, give its next frame."""
    with hg.RunFile(run) as file:
        frames = {frame.step: frame for frame in file}
    assert list(frames) == [0, 20, 40, 60, 80, 90]
    for step in (60, 80, 90):
        result = hardgrain("fclib", "export", run, "--step", step - 1, "-o", f"{step}.hdf5")
        assert result.code == 0
        assert "global form, 2D" in result.out
        assert f"step {step} of fall.h5" in fclib.read_info(f"{step}.hdf5")["description"]
        found = SWEEPS.solve(fclib.read(f"{step}.hdf5"), seed=0, step=0)
        moving = found.v.reshape(14, 3)
        speed = np.abs(moving).max()
        np.testing.assert_allclose(moving[:, :2], frames[step].velocity[4:18], atol=1e-12 * speed)
        np.testing.assert_allclose(moving[:, 2:], frames[step].spin[4:18], atol=1e-11 * speed)


def test_contacts_that_push_nothing_are_left_out(hardgrain, run, problem):
    """Those between the locked disks of the bottom, which touch."""
    form = fclib.read(problem)
    rows = abs(form.h).sum(axis=1).reshape(-1, 2)
    assert (rows[:, 0] > 0.0).all()
    with hg.RunFile(run) as file:
        contacts = file.contacts(-1)
    assert (contacts.second[contacts.first < 4] < 4).any()


def test_local_and_global_are_the_same_problem(hardgrain, run, problem):
    assert hardgrain("fclib", "export", run, "--local", "-o", "local.hdf5").code == 0
    whole, local = fclib.read(problem).local(), fclib.read("local.hdf5")
    np.testing.assert_allclose(local.delassus.toarray(), whole.delassus.toarray(), atol=1e-14)
    np.testing.assert_allclose(local.q, whole.q, atol=1e-14)
    assert "dt = 0.05" in fclib.read_info("local.hdf5")["description"]


def test_export_does_not_overwrite_and_knows_its_steps(hardgrain, run, problem):
    result = hardgrain("fclib", "export", run, "-o", problem)
    assert result.code == 2
    assert "exists already; add --overwrite" in result.err
    assert hardgrain("fclib", "export", run, "-o", problem, "--overwrite").code == 0
    result = hardgrain("fclib", "export", run, "--step", 91, "-o", "x.hdf5")
    assert result.code == 2
    assert "--step is 91; " in result.err
    assert "has 90 steps" in result.err
    result = hardgrain("fclib", "export", run, "--step", -1, "-o", "x.hdf5")
    assert result.code == 2
    assert not Path("x.hdf5").exists()


def test_soft_runs_and_rolling_have_no_problem_to_export(hardgrain):
    keys = {
        "grains": [hg.Grains(place=hg.At(positions=[[0, 0.5]]))],
        "walls": [hg.Plane(point=[0, 0], normal=[0, 1])],
        "gravity": [0, -1],
    }
    soft = hg.SoftParticles(stiffness=100)
    hg.Simulation(hg.Scene(**keys), dt=0.01, engine=soft).run(3, output="soft.h5", progress=False)
    rolling = hg.Scene(**keys, contacts=[hg.ContactLaw(rolling=0.1)])
    hg.Simulation(rolling, dt=0.01).run(3, output="rolling.h5", progress=False)
    for name, says in (("soft", "soft particles"), ("rolling", "rolling resistance 0.1")):
        result = hardgrain("fclib", "export", f"{name}.h5", "-o", "x.hdf5")
        assert result.code == 2
        assert says in result.err
    assert not Path("x.hdf5").exists()


# ----------------------------------------------------------------------------------- solve
@pytest.mark.parametrize("solver", ["rigid", "gauss-seidel", "jacobi"])
def test_solve_reaches_the_tolerance_and_writes(hardgrain, problem, solver):
    form = fclib.read(problem)
    result = hardgrain("fclib", "solve", problem, "--solver", solver, "--tolerance", 1e-7)
    assert result.code == 0
    stored = fclib.read_solution(problem)
    assert coulomb_residual(form, stored["r"]) <= 1e-7
    np.testing.assert_allclose(form.mass @ stored["v"], form.f + form.h.T @ stored["r"], atol=1e-12)
    np.testing.assert_allclose(stored["u"], form.h @ stored["v"] + form.w, atol=1e-12)
    assert f"solver:      {solver}, tolerance 1e-07" in result.out
    table = result.out.split("residual\n")[1].split("\n\n")[0].splitlines()
    numbers = np.array([line.split() for line in table], float)
    assert (numbers[0, 1], numbers[-1, 2] <= 1e-7) == (0.0, True)
    assert (np.diff(numbers[:, 0]) >= 0.0).all()
    assert (np.diff(numbers[:, 1]) > 0.0).all()
    assert "reached:     residual" in result.out
    info = hardgrain("fclib", "info", problem, "--json")
    assert json.loads(info.out)["solution"] <= 1e-7


def test_a_miss_is_a_miss(hardgrain, problem):
    """Exit code 1 and how far it got; what was reached is written, nothing worse after it."""
    result = hardgrain("fclib", "solve", problem, "--solver", "gauss-seidel", "--sweeps", 8)
    assert result.code == 1
    assert "not reached: residual" in result.out
    assert "after 8 sweeps" in result.out
    assert "written:     solution" in result.out
    form = fclib.read(problem)
    reached = coulomb_residual(form, fclib.read_solution(problem)["r"])
    assert 1e-6 < reached < coulomb_residual(form, np.zeros(2 * form.contacts))
    result = hardgrain("fclib", "solve", problem, "--solver", "gauss-seidel", "--sweeps", 2)
    assert result.code == 1
    assert "not written:" in result.out
    assert coulomb_residual(form, fclib.read_solution(problem)["r"]) == reached


def test_no_write_leaves_the_file_as_it_is(hardgrain, problem):
    before = problem.read_bytes()
    problem.chmod(0o444)
    arguments = ("fclib", "solve", problem, "--solver", "gauss-seidel")
    result = hardgrain(*arguments)
    assert result.code == 2
    assert "read-only" in result.err
    result = hardgrain(*arguments, "--no-write", "--json")
    assert result.code == 0
    facts = json.loads(result.out)
    assert (facts["reached"], facts["written"], facts["interrupted"]) == (True, False, False)
    assert facts["form"] == "global"
    assert facts["residual"] == facts["table"][-1]["residual"] <= facts["tolerance"] == 1e-6
    assert facts["table"][0]["sweeps"] == 0
    assert facts["friction"] == [0.3, 0.3]
    assert problem.read_bytes() == before


def test_the_seed_decides(hardgrain, problem):
    def looks(seed):
        arguments = ("--solver", "gauss-seidel", "--no-write", "--json", "--seed", seed)
        table = json.loads(hardgrain("fclib", "solve", problem, *arguments).out)["table"]
        return {row["sweeps"]: row["residual"] for row in table}

    first, again, other = looks(1), looks(1), looks(2)
    assert [first[k] == again[k] for k in (1, 2, 3)] == [True] * 3
    assert first[3] != other[3]


def test_ctrl_c_says_what_was_reached(hardgrain, problem, monkeypatch):
    calls = []
    solve = hg.GaussSeidel.solve

    def interrupted(self, problem, *, seed, step):
        calls.append(step)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return solve(self, problem, seed=seed, step=step)

    monkeypatch.setattr(hg.GaussSeidel, "solve", interrupted)
    result = hardgrain("fclib", "solve", problem, "--solver", "gauss-seidel")
    assert result.code == 130
    assert "interrupted: residual" in result.out
    assert "after 4 sweeps" in result.out
    assert fclib.read_solution(problem)["r"].any()


def test_a_run_away_is_said_and_not_written(hardgrain):
    """Ten contacts squeeze a body from each side: the parallel update overshoots ever more."""
    m, weak = 20, 0.01
    side = np.tile([1.0, -1.0], m // 2)
    w = np.kron(np.outer(side, side) + weak * np.eye(m), np.diag([1.0, 0.0]))
    w += np.kron(np.eye(m), np.diag([0.0, 1.0]))
    q = np.zeros(2 * m)
    q[::2] = -1.0 - 0.01 * np.arange(m)
    fclib.write("many.hdf5", LocalForm(2, sparse.csr_array(w), q, np.zeros(m)))
    result = hardgrain("fclib", "solve", "many.hdf5", "--solver", "jacobi")
    assert result.code == 1
    assert "diverged:    residual" in result.out
    assert "written" not in result.out
    assert fclib.read_solution("many.hdf5") == {}
    assert hardgrain("fclib", "solve", "many.hdf5", "--solver", "gauss-seidel").code == 0


def test_nonsense_is_refused(hardgrain, problem, run):
    Path("text").write_text("no\n")
    for arguments, says in (
        (("solve", problem, "--tolerance", 0), "--tolerance is 0; it must be a positive number"),
        (("solve", problem, "--tolerance", "nan"), "--tolerance is nan"),
        (("solve", problem, "--tolerance", "-1"), "--tolerance is -1"),
        (("solve", problem, "--sweeps", 0), "--sweeps"),
        (("solve", problem, "--solver", "magic"), "--solver"),
        (("solve", "absent.hdf5"), "absent.hdf5 does not exist"),
        (("solve", "text"), "text is not an HDF5 file"),
        (("info", run), "holds no contact problem"),
        (("info", "text"), "text is not an HDF5 file"),
        (("export", problem, "-o", "x"), "not a run file"),
        (("export", run), "--output"),
    ):
        result = hardgrain("fclib", *arguments)
        assert result.code == 2, arguments
        assert says in result.err
        assert "Traceback" not in result.err


def test_a_stored_solution_of_nonsense_does_not_matter(hardgrain, problem):
    with h5py.File(problem, "a") as h5:
        h5["solution/r"] = np.full(2 * fclib.read(problem).contacts, np.nan)
    assert "residual nan" in hardgrain("fclib", "info", problem).out
    assert json.loads(hardgrain("fclib", "info", problem, "--json").out)["solution"] is None
    assert hardgrain("fclib", "solve", problem, "--solver", "gauss-seidel").code == 0
    assert "residual nan" not in hardgrain("fclib", "info", problem).out


# ------------------------------------------------------------------------------ the samples
@pytest.mark.skipif(not SAMPLES.is_dir(), reason=ABSENT)
def test_a_sample_is_solved_from_the_command_line(hardgrain):
    name = "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5"
    shutil.copyfile(SAMPLES / name, name)
    result = hardgrain("fclib", "info", name)
    assert "local form, 3D, 60 contacts" in result.out
    assert "µ = 0.3 to 0.5" in result.out
    assert "solution:    none" in result.out
    result = hardgrain("fclib", "solve", name)
    assert result.code == 0
    assert "solver:      rigid, tolerance 1e-06" in result.out
    form = fclib.read(name)
    assert coulomb_residual(form, fclib.read_solution(name)["r"]) <= 1e-6


def test_the_export_of_a_failed_step_is_possible(hardgrain):
    """A step that ran into its cap is just what one wants to look at."""
    scene = hg.Scene(
        grains=[hg.Grains(count=10, place=hg.Loose(min=[0, 0], max=[3, 6]))],
        walls=[hg.Box(min=[0, 0], max=[3, 6])],
        gravity=[0, -1],
    )
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-13, sweeps=4, on_cap="error")
    sim = hg.Simulation(scene, dt=0.05, solver=solver)
    with pytest.raises(hg.RunError):
        sim.run(500, output="fails.h5", every=1, progress=False)
    assert hardgrain("fclib", "export", "fails.h5", "-o", "hard.hdf5").code == 0
    form = fclib.read("hard.hdf5")
    assert form.contacts > 0
