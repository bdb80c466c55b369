"""Every starter runs, as shipped but shorter, and keeps its grains apart and inside."""

import tomllib

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.run.scenario import parse

WANTED = {"biaxial", "demo", "drum", "incline", "piston", "settling-box", "silo"}


def test_all_are_there():
    assert set(starter.names()) >= WANTED


@pytest.mark.parametrize("name", starter.names())
def test_starter_is_readable(name):
    text = starter.text(name)
    assert text.startswith("# ")
    assert "units = " in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", starter.names())
def test_starter_runs(name, tmp_path):
    from hardgrain.show.network import draw_network

    data = tomllib.loads(starter.text(name))
    assert parse(data).stop is not None  # as shipped
    data["solver"]["sweeps"] = min(data["solver"]["sweeps"], 50)
    sim = hg.Simulation(parse(data))
    steps = 60
    summary = sim.run(steps, output=tmp_path / "run.h5")
    assert summary.worst_overlap < 0.01
    assert abs(summary.balance_error) < 1e-9 * (1.0 + abs(summary.dissipated))
    assert np.isfinite(sim.state.position).all()
    draw_network(tmp_path / "run.h5", path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
