"""Every starter runs, as shipped but shorter, and keeps its grains apart and inside."""

import tomllib

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.run.scenario import parse
from hardgrain.study.points import points_of
from hardgrain.study.spec import read_plan

WANTED = {
    "arch", "ballast", "biaxial", "demo", "dominoes", "drum", "incline", "piston",
    "polygon-biaxial", "repose-study", "settling-box", "silo",
}  # fmt: skip


def test_all_are_there():
    assert set(starter.everything()) >= WANTED


@pytest.mark.parametrize("name", starter.everything())
def test_starter_is_readable(name):
    text = starter.text(name)
    assert text.startswith("# ")
    assert "units = " in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", starter.studies())
def test_study_is_one(name):
    plan = read_plan(tomllib.loads(starter.text(name)))
    assert {point.number for point in points_of(plan)} == set(range(plan.seeds))


@pytest.mark.parametrize("name", starter.names())
def test_starter_runs(name, tmp_path):
    from hardgrain.show.network import draw_network

    data = tomllib.loads(starter.text(name))
    assert parse(data).stop is not None  # as shipped
    if "solver" in data:
        data["solver"]["sweeps"] = 50
    sim = hg.Simulation(parse(data))
    steps = 60
    summary = sim.run(steps, output=tmp_path / "run.h5")
    assert summary.worst_overlap < 0.01
    assert abs(summary.balance_error) < 1e-9 * (1.0 + abs(summary.dissipated))
    assert np.isfinite(sim.state.position).all()
    draw_network(tmp_path / "run.h5", path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_biaxial_test_goes_on_with_the_rigid_solver(tmp_path, monkeypatch):
    """As its comment says: from the file of the first run, with a little more load."""
    monkeypatch.chdir(tmp_path)
    text = starter.text("biaxial").replace("count = 400", "count = 60")
    text = text.replace("[27, 27]", "[11, 11]").replace("mass = 40", "mass = 15")
    hg.Simulation(parse(tomllib.loads(text))).run(5000, output="biaxial.h5")
    solver, start = '[solver]\nkind = "rigid"', '[start]\nfile = "biaxial.h5"'
    assert all(f"# {line}" in text for line in (*solver.splitlines()[1:], *start.splitlines()))
    head, rest = text.split("\n[solver]\n")
    more = head.replace("1 + 0.5*ramp(t, 60, 160)", "1.5 + 0.2*ramp(t, 0, 10)")
    data = tomllib.loads("\n".join([more, solver, start, "[stop]" + rest.split("[stop]")[1]]))
    summary = hg.Simulation(parse(data)).run(300)
    assert summary.rigidity.rigid
    assert summary.capped <= 15
    assert summary.residual <= 1e-6
