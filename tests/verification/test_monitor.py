"""The monitor foretells how a run rings and sags, and is silent where there is nothing to say."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.rigidity import extent, network, rigidity
from hardgrain.papers.fit import Floats, damped_sine
from hardgrain.papers.unger2002 import chain as fig4
from hardgrain.papers.unger2002.packing import DT, Packing, prepared, ring
from hardgrain.run.monitor import STEP_WORK
from hardgrain.scene.scene import Scene
from hardgrain.theory import chain

pytestmark = pytest.mark.rounding


def row(n: int, force: float = 0.05, *, at_wall: bool = True) -> Scene:
    """Grains of unit diameter and mass in a row, pressed against a wall by a force on the last."""
    places = [[(0.5 if at_wall else 1.5) + i, 0.0] for i in range(n)]
    density = 4.0 / math.pi
    lock = {"lock": ["y", "rotation"]}
    return hg.Scene(
        materials={"grain": hg.Material(density=density)},
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[
            hg.Grains(place=hg.At(positions=places[:-1]), **lock),
            hg.Grains(place=hg.At(positions=places[-1:]), force=[-force, 0.0], **lock),
        ],
        walls=[hg.Plane(point=[0.0, 0.0], normal=[1.0, 0.0])],
    )


@pytest.mark.parametrize(("particles", "sweeps"), [(50, 40), (30, 20)])
def test_chain_rings_as_foretold(particles: int, sweeps: int) -> None:
    """ω within 1 %, as the fit of the paper's experiment; τ within 2 %, its noise."""
    sim = hg.Simulation(row(particles), dt=1.0, solver=hg.GaussSeidel(sweeps=sweeps), seed=1)
    found = sim.run(until=400, progress=False).rigidity
    start = round(300 + 2 * found.damping_time)
    stop = round(start + 4 * found.damping_time)
    fits = [
        fig4(particles=particles, sweeps=sweeps, steps=stop, seed=s).fit(start, stop)
        for s in range(3)
    ]
    assert found.frequency == pytest.approx(np.mean([f.frequency for f in fits]), rel=0.01)
    assert found.damping_time == pytest.approx(np.mean([f.damping_time for f in fits]), rel=0.02)


def test_chain_sags_as_foretold() -> None:
    """From contacts without force to all of them loaded; the wall's contact is twice as stiff."""
    n, sweeps, force = 30, 50, 0.01
    sim = hg.Simulation(row(n, force), dt=1.0, solver=hg.GaussSeidel(sweeps=sweeps), seed=1)
    before = sim.state.position[n - 1, 0]
    found = sim.run(until=1500, progress=False).rigidity
    kappa = chain.stiffness(sweeps)
    share = chain.step_sag(chain.relaxation_rate(chain.slowest_wavenumber(n)), sweeps)
    assert found.sag == pytest.approx(share * chain.shrinkage(force, n - 0.5, kappa), rel=0.01)
    # Random orders make it a random quantity; its mean is the spring's.
    assert before - sim.state.position[n - 1, 0] == pytest.approx(found.sag, rel=0.2)
    assert found.stiffness == pytest.approx(kappa, rel=0.04)  # a mean with the wall's in it
    assert found.damping == pytest.approx(found.stiffness * sim.dt)
    assert found.sound_speed == pytest.approx(chain.sound_speed(sweeps), rel=0.01)


def delassus(packing: Packing) -> Floats:
    """W of the loaded contacts, all sticking: rows in pairs, normal and tangent of each contact."""
    model, _ = packing.scene.build(0)
    c, n = packing.state.contacts, model.n
    columns = []
    for k in np.flatnonzero(c.normal_impulse() != 0.0):
        i, j, (x, y) = c.first[k], c.second[k], c.normal[k]
        for d in ((x, y), (-y, x)):
            column = np.zeros((model.bodies, 3))
            column[j, :2], column[i, :2] = d, (-d[0], -d[1])
            turn = x * d[1] - y * d[0]  # 0 along the normal, 1 across
            column[i, 2] = -model.radius[i] * turn
            if j < n:
                column[j, 2] = -model.radius[j] * turn
            columns.append(column.ravel())
    h = np.array(columns).T
    inverse = np.hstack([model.inv_mass, model.inv_inertia]).ravel()
    w: Floats = h.T @ (inverse[:, None] * h)
    return w


def slowest(w: Floats) -> float:
    """Least eigenvalue of D⁻¹W that is not zero: µ of the parallel update."""
    root = 1.0 / np.sqrt(np.diag(w))
    values = np.linalg.eigvalsh(root[:, None] * w * root)
    return float(values[values > 1e-9][0])


def test_slowest_mode_is_that_of_the_matrix() -> None:
    packing = prepared(3, 60, 2)
    model, _ = packing.scene.build(0)
    found, exact = network(model, packing.state, DT), slowest(delassus(packing))
    assert found.rate == pytest.approx(exact, rel=0.02)
    assert found.rate >= exact * (1 - 1e-9)  # a Rayleigh quotient
    size = extent(packing.state.position[: model.n], model.radius, model.periodic)
    assert found.length == pytest.approx(size.max(), rel=0.1)


Order = Literal["random", "sequential", "symmetric"]


@pytest.mark.parametrize("order", get_args(Order))
def test_q_of_a_chain_serves_in_packings(order: Order) -> None:
    """µ of an order over that of the parallel update is 2q, to a tenth.

    By the decay of an error under plain Gauss–Seidel sweeps on the matrix, whose contacts are
    numbered as in a run. Symmetric sweeps have q = 1 in a chain but not here.
    """
    w = delassus(prepared(0, 100, 2))
    rng, pairs = np.random.default_rng(1), np.arange(len(w)).reshape(-1, 2)
    error, energy = rng.normal(size=len(w)), []
    sweeps = round(5.0 / slowest(w))
    for s in range(sweeps):
        by = rng.permutation(len(pairs)) if order == "random" else np.arange(len(pairs))
        if order == "symmetric" and s % 2:
            by = by[::-1]
        for k in pairs[by].ravel():
            error[k] -= w[k] @ error / w[k, k]
        energy.append(error @ w @ error)
    late = np.log(energy[sweeps // 2 :])
    rate = -0.5 * (late[-1] - late[0]) / (late.size - 1)
    assert rate == pytest.approx(2.0 * hg.GaussSeidel(order=order).q * slowest(w), rel=0.1)


def test_piston_rings_as_foretold() -> None:
    """300 disks. Measured over packings and sweeps: ω is foretold 3 to 5 % too high, as a packing
    takes q a little below the chain's; τ 4 to 15 % too short, by that and by what is left of
    other modes."""
    packing = prepared(0, 300, 2)
    model, _ = packing.scene.build(0)
    found = network(model, packing.state, DT)
    for sweeps in (20, 80):
        r = rigidity(model, found, sweeps, chain.q("random"), DT, converged=False)
        tau = r.damping_time / DT
        y = ring(packing, sweeps, int(6 * tau) + 30)
        t = np.arange(y.size, dtype=float)
        fit = damped_sine(t[int(tau) :], y[int(tau) :])
        assert r.frequency * DT == pytest.approx(fit.frequency, rel=0.08)
        assert tau == pytest.approx(fit.damping_time, rel=0.2)


def test_too_little_work_falls_back_on_a_chain() -> None:
    sim = hg.Simulation(row(40), dt=1.0, solver=hg.GaussSeidel(sweeps=100), seed=1)
    sim.run(until=200, progress=False)
    full = network(sim.model, sim.state, 1.0)
    short = network(sim.model, sim.state, 1.0, most=1.2e5)
    assert short.work < full.work
    assert short.rate == pytest.approx(full.rate, rel=0.01)  # here it is a chain
    assert short.sag == pytest.approx(full.sag, rel=0.05)


# ---------------------------------------------------------------------- alarms
def verdict(n: int, steps: int, **solver: object) -> tuple[bool, str]:
    sim = hg.Simulation(row(n, at_wall=False), dt=1.0, solver=hg.GaussSeidel(**solver), seed=2)
    summary = sim.run(until=steps, progress=False)
    return summary.rigidity.rigid, str(summary)


@pytest.mark.parametrize("n", [10, 40])
def test_enough_sweeps_give_no_alarm(n: int) -> None:
    sweeps = chain.sweeps_for_rigidity(n + 0.5)
    rigid, text = verdict(n, 200, sweeps=sweeps)
    assert rigid
    assert "soft" not in text


@pytest.mark.parametrize("n", [10, 40, 100])
def test_too_few_sweeps_are_not_passed_over(n: int) -> None:
    """Also in a long chain, where every step looks converged: the ringing hides in the residual."""
    sweeps = chain.sweeps_for_rigidity(n) // 4
    rigid, text = verdict(n, 400, sweeps=sweeps)
    assert not rigid
    assert "soft: sound crosses in" in text


def test_converged_steps_are_rigid_with_few_sweeps_on_average() -> None:
    rigid, text = verdict(20, 400, stop="residual", tolerance=1e-6, sweeps=100_000)
    assert rigid
    assert "soft" not in text


def test_heavy_piston_makes_a_short_packing_slow() -> None:
    """It rings as a whole, though sweeps reach across: M x'' = −K x, and N µ, not L, decides."""
    box = hg.Box(min=[0, 0], max=[6, 10], pistons={"top": hg.Piston(mass=1e4, force=10.0)})
    places = [[0.5 + i, 0.5 + j] for j in range(10) for i in range(6)]
    scene = hg.Scene(
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[hg.Grains(place=hg.At(positions=places))],
        walls=[box],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=60), seed=1)
    with pytest.warns(hg.SoftRunWarning, match="this run is soft: sound crosses in"):
        summary = sim.run(until=2500, progress=False)
    r = summary.rigidity
    assert r is not None
    assert r.diffusion_length > r.length
    assert not r.rigid
    # six columns of ten springs in a row and one, twice as stiff, at each end
    kappa = chain.stiffness(60, 0.01, math.pi / 4)
    spring = 6 * kappa / (9 + 2 * 0.5)
    assert r.frequency == pytest.approx(math.sqrt(spring / 1e4), rel=0.05)


def test_wide_layer_is_rigid_across_its_height() -> None:
    high = math.sqrt(3) / 2
    places = [[0.5 + i + 0.5 * (j % 2), 0.5 + j * high] for j in range(3) for i in range(60)]
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[hg.Grains(place=hg.At(positions=places))],
        walls=[hg.Box(min=[0, 0], max=[60.5, 4], open=["top"])],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=30), seed=1)
    r = sim.run(until=50, progress=False).rigidity
    assert r is not None
    assert r.diffusion_length < r.length
    assert r.slowness < 10.0
    assert r.rigid


def test_idle_steps_do_not_count() -> None:
    """A criterion sweeps much where much happens; that is what reaches across the packing."""
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-8, sweeps=100_000)
    sim = hg.Simulation(row(20), dt=1.0, solver=solver, seed=2)
    r = sim.run(until=300, progress=False).rigidity
    assert r is not None
    assert sim.totals.sweeps / sim.totals.steps < 0.5 * r.sweeps
    assert r.adaptive


def test_warning_comes_once_and_is_a_line_that_stays(capsys: pytest.CaptureFixture[str]) -> None:
    scene = row(60, at_wall=False)
    sim = hg.Simulation(scene, dt=1.0, solver=hg.GaussSeidel(sweeps=20), seed=2)
    with hg.Progress() as progress:
        sim.run(until=4000, progress=progress)
    assert capsys.readouterr().err.count("warning:     this run is soft: sound crosses in") == 1


def test_looks_cost_less_than_a_percent() -> None:
    """By the count of work, which decides when to look; see benchmarks for seconds."""
    sim = hg.Simulation(row(60), dt=1.0, solver=hg.GaussSeidel(sweeps=100), seed=2)
    sim.step()  # with a first, short look
    last, looks, work = sim.monitor.found, 0.0, 0.0
    for _ in range(9000):
        report = sim.step()
        work += report.sweeps * report.candidates + STEP_WORK
        if sim.monitor.found is not last:
            looks += sim.monitor.scalars["monitor_work"]
            last = sim.monitor.found
    assert 0.0 < looks < 0.01 * work
