"""A hopper that is filled above as fast as it empties below: what holds in the steady state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.energy import balance, potential_energy
from hardgrain.measure.snapshot import snapshot
from hardgrain.show.colour import grain_field

pytestmark = pytest.mark.rounding

DT = 0.02


@pytest.fixture(scope="module")
def hopper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More grains are due than leave, so that the strip above is always full and some wait."""
    sizes = hg.Uniform(min=0.8, max=1.2)
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(
                count=400, diameter=sizes, velocity=[0, -0.5], speed=0.1,
                place=hg.Deposit(min=[-3, 6], max=[3, 8]), insert=hg.Insert(rate=20.0),
            )
        ],
        walls=[
            hg.Box(min=[-3, 0], max=[3, 9], open=["bottom", "top"]),
            hg.Segment(name="slope", start=[-3, 1], end=[-2.5, 0]),
            hg.Segment(name="other slope", start=[3, 1], end=[2.5, 0]),
        ],
        regions={"below": hg.BlockRegion(min=[-50, -50], max=[50, -2])},
        remove=[hg.Remove(entering="below")],
    )  # fmt: skip
    path = tmp_path_factory.mktemp("hopper") / "run.h5"
    sim = hg.Simulation(scene, dt=DT, solver=hg.GaussSeidel(sweeps=100), seed=2)
    sim.run(1000, output=path, every=20, progress=False)
    return path


def test_what_comes_in_goes_out(hopper: Path) -> None:
    """After a transit, the number of grains stays, and as many leave as enter but for that."""
    with hg.RunFile(hopper) as run:
        h = run.history
    late = h["time"] > 8.0
    count = h["grains"][late]
    inflow, outflow = h["inserted"][late].sum(), h["removed"][late].sum()
    assert min(inflow, outflow) > 40
    assert np.ptp(count) < 0.5 * count.mean()
    # the first row of the window already has what came and went before its step
    assert inflow - outflow == count[-1] - count[0] + h["inserted"][late][0] - h["removed"][late][0]
    assert h["waited"].sum() > 0.5 * h["inserted"].sum()


def test_the_flow_through_the_outlet_is_what_is_taken_out_below(hopper: Path) -> None:
    """But for the grains that are on their way, in the first frames and in the last."""
    with hg.RunFile(hopper) as run:
        out = hg.measure.flow_rate(run, at=-1.0)
        left = hg.measure.flow_rate(run, region=[[-5, -1], [5, 20]])
        removed, masses, last = run.history["removed"].sum(), run.model["mass"], run[-1]
        below = last.position[:, 1] < -1.0
    assert out.grains[-1] == removed + below.sum()
    np.testing.assert_array_equal(left.grains, out.grains)
    gone = np.append(np.flatnonzero(last.record.status > 0), last.id[below])
    assert out.mass[-1] == pytest.approx(masses[gone].sum(), rel=1e-12)


def test_grains_can_be_coloured_by_their_motion(hopper: Path) -> None:
    """Those that have just come in have none."""
    with hg.RunFile(hopper) as run:
        snap, before = snapshot(run, 30), run[29].id
        field = grain_field(snap, "d2min", run)
    new = ~np.isin(snap.id, before)
    assert new.any()
    assert np.isnan(field.value[new]).all()
    assert np.isfinite(field.value[~new]).sum() > 0.8 * (~new).sum()


def test_mass_and_energy_close_to_rounding(hopper: Path) -> None:
    with hg.RunFile(hopper) as run:
        h, b, masses = run.history, balance(run), run.model["mass"]
        first = masses[run[0].id].sum()
        into, out = np.cumsum(h["mass_inserted"]), np.cumsum(h["mass_removed"])
        for frame in run:
            if frame.step:
                k = frame.step - 1
                here = masses[frame.id].sum()
                assert here == pytest.approx(h["mass"][k], rel=1e-12)
                assert here == pytest.approx(first + into[k] - out[k], rel=1e-11)
        # gravity's work is the loss of potential energy but for dt/2 of the momentum's change
        gained = potential_energy(run, -1) - potential_energy(run, 0)
        carried = np.sum(h["potential_inserted"] - h["potential_removed"])
        assert gained - carried == pytest.approx(-b.work_external[-1], rel=0.02)
    assert np.abs(b.error).max() < 1e-12 * b.dissipated[-1]


def test_nobody_overlaps_who_comes_in(hopper: Path) -> None:
    """By brute force, in every frame: no overlap is deeper than the sweeps leave anywhere."""
    with hg.RunFile(hopper) as run:
        radius, worst = run.model["radius"], run.history["worst_overlap"].max()
        for frame in run:
            x, r = frame.position, radius[frame.id]
            gap = np.linalg.norm(x[:, None] - x, axis=2) - r[:, None] - r + 9.0 * np.eye(len(x))
            assert gap.min() > -1.5 * worst - 1e-9
    assert worst < 0.02
