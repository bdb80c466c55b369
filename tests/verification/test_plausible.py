"""What cannot have happened is never called good: the law of driven bodies, overlaps, speeds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli.info import as_text, describe
from hardgrain.law.coupled import make_coupled
from hardgrain.show.report import write_report
from hardgrain.solve.problem import Problem
from hardgrain.step.contact_dynamics import ContactDynamics

SWEPT = hg.GaussSeidel(sweeps=100)


def plate(force: float = 100.0) -> hg.Scene:
    """A row of touching disks, driven along x without turning, that is pressed on loose ones."""
    d = 0.9
    return hg.Scene(
        gravity=[0.0, -1.0],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=20, diameter=0.7,
                place=hg.Grid(jitter=0.5, min=[0.0, 0.0], max=[5 * d, 4 * d]),
            ),
            hg.Grains(
                count=5, diameter=d,
                place=hg.Grid(spacing=0.0, min=[0.0, 4 * d], max=[5.001 * d, 5.1 * d]),
                driven_velocity=["1", "free"], force=["0", str(-force)], lock=["rotation"],
            ),
        ],
        walls=[hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0])],
    )  # fmt: skip


@pytest.mark.parametrize("solver", [SWEPT, hg.RigidSolver()])
def test_touching_driven_disks_create_no_energy(solver: object) -> None:
    """Impulses along x move neither of two such disks; they must not grow out of rounding."""
    sim = hg.Simulation(plate(), dt=0.005, solver=solver, seed=1)  # type: ignore[arg-type]
    summary = sim.run(150, progress=False)
    assert summary.implausible is None
    # What falls from rest under gravity and 100/m can be no faster than this, nor, by collisions,
    # several times as fast.
    fall = (1.0 + 100.0 / (math.pi * 0.45**2)) * sim.state.time
    assert sim.totals.fastest < 3.0 * fall
    load = 5 * 100.0 * sim.dt
    assert np.abs(sim.state.contacts.impulse).max() < 100.0 * load


@pytest.mark.parametrize("tilt", [1e-1, 1e-4, 1e-7, 1e-9])
@pytest.mark.parametrize("noise", [-1e-16, 0.0, 1e-16])
def test_impulses_of_a_singular_contact_are_moderate(tilt: float, noise: float) -> None:
    """W = w wᵀ: any impulse across w is as good as none, and rounding must not pick a huge one."""
    laws = make_coupled(lambda f: f)
    n_y, n_x = math.sin(tilt), math.cos(tilt)
    w_nn, w_nt, w_tt = n_y * n_y, n_x * n_y, n_x * n_x
    u_n, u_t = -n_y, -n_x + noise  # both move along y, at unit speed
    p_n, p_t = laws.coupled_2d(u_n, u_t, w_nn, w_nt, w_tt, 0.3, 0.3, 0.0)
    assert p_n >= 0.0
    assert abs(p_t) <= 0.3 * p_n * (1 + 1e-12)
    push = p_n * n_y + p_t * n_x  # what moves the bodies
    assert push == pytest.approx(1.0, rel=1e-6)
    assert abs(p_t) < 10.0
    q_n, q_1, q_2 = laws.coupled_3d(
        (u_n, u_t, 0.0), (w_nn, w_nt, 0.0, w_tt, 0.0, 0.0), 0.3, 0.3, 0.0
    )
    assert q_n * n_y + q_1 * n_x == pytest.approx(1.0, rel=1e-6)
    assert abs(q_1) < 10.0
    assert abs(q_2) < 1e-6


def crash(**more: object) -> hg.Scenario:
    """Two disks that are driven into each other: no force can keep them apart."""
    one, two = (
        hg.Grains(place=hg.At(positions=[[x, 0.0]]), driven_velocity=[v, "0"])
        for x, v in ((0.0, "1"), (1.5, "-1"))
    )
    keys: dict[str, object] = {"dt": 0.01, "scene": hg.Scene(grains=[one, two])}
    return hg.Scenario(**{**keys, "stop": {"steps": 60}, "output": {"every": 7}, **more})


def test_a_run_gone_wrong_stops_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "crash.h5"
    sim = hg.Simulation(crash())
    with pytest.warns(hg.ImplausibleRunWarning, match="grain 0 and grain 1 overlap"):
        summary = sim.run(output=path, progress=False)
    assert not summary.finished
    assert summary.as_dict()["plausible"] is summary.as_dict()["rigid"] is False
    answers = dict(summary.lines)
    assert answers["plausible?"].startswith("NO: grain 0 and grain 1 overlap by 0.1")
    assert (
        "their prescribed motion drives them into each other with the speed 2, and no force can"
        " keep them apart" in answers["plausible?"]
    )
    assert not answers["converged?"].startswith("yes")
    assert not answers["rigid?"].startswith("yes")
    # They close by 0.02 a step, touch in the 25th, and overlap by a tenth when the 31st begins.
    assert summary.steps == sim.state.step == 30
    with pytest.warns(hg.ImplausibleRunWarning):
        assert sim.run(40, progress=False).steps == 30  # asked again, it says the same
    with hg.RunFile(path) as run:
        assert run[len(run) - 1].step == 30  # the last good moment, in no frame twice
        assert np.array_equal(run[len(run) - 1].position, sim.state.position)
        assert len(run.history["step"]) == 30
        assert run.verdict == summary.implausible
        assert not run.finished
    with pytest.raises(hg.RunError, match=r"not plausible: grain 0 and grain 1 overlap"):
        hg.Simulation.resume(path, 100, progress=False)
    facts = describe(path)
    assert facts["implausible"] == summary.implausible
    assert "plausible?:  NO: grain 0" in as_text(facts)
    page = write_report(path, tmp_path / "crash.html").read_text()
    assert "grain 0 and grain 1 overlap" in page
    assert '<span class="answer good">' not in page


def pushed(x: float, velocity: list[str], **more: object) -> hg.Grains:
    """A disk of diameter one on the x axis with a prescribed velocity."""
    return hg.Grains(place=hg.At(positions=[[x, 0.5]]), driven_velocity=velocity, **more)


LEFT = hg.Plane(name="left", point=[0.0, 0.0], normal=[1.0, 0.0])


@pytest.mark.parametrize(
    ("grains", "walls", "why"),
    [
        (
            [pushed(0.5, ["1", "0"]), pushed(1.5, ["-2", "0"])], [],
            r"grain 0 with the velocity \(1, 0\) and grain 1 with the velocity \(-2, 0\) would be"
            r" driven into each other in the first step, with the speed 3,",
        ),
        (
            [pushed(0.5, ["-1", "free"])], [LEFT],
            r"grain 0 with the velocity \(-1, free\) and wall 'left' with the velocity \(0, 0\)",
        ),
        (  # not yet in touch, but before the first step is over
            [pushed(0.501, ["-1", "0"])], [LEFT], "grain 0 .* and wall 'left' .* speed 1,",
        ),
        (  # a wall that turns about a point far from the grain
            [pushed(0.5, ["0", "0"])],
            [LEFT.model_copy(update={"name": "door", "pivot": [0.0, 2.5], "spin": ["1"]})],
            r"wall 'door' with the velocity \(0, 0\) and the spin 1 would .* speed 2,",
        ),
    ],
)  # fmt: skip
def test_driven_bodies_that_meet_at_once_are_refused(
    grains: list[hg.Grains], walls: list[hg.Plane], why: str
) -> None:
    with pytest.raises(hg.InputError, match=why):
        hg.Simulation(hg.Scene(grains=grains, walls=walls), dt=0.01)


def test_driven_bodies_that_may_touch_are_not_refused() -> None:
    """Side by side, one behind the other, off each other, or with a way out across."""
    floor = hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0])
    side = [pushed(0.5, ["1", "0"]), pushed(1.5, ["1", "0"]), pushed(2.5, ["2", "0"])]
    hg.Simulation(hg.Scene(grains=side, walls=[floor, LEFT]), dt=0.01)
    out = [
        pushed(0.0, ["1", "free"]),
        hg.Grains(place=hg.At(positions=[[0.8, 1.1]]), driven_velocity=["-1", "free"]),
    ]
    hg.Simulation(hg.Scene(grains=out), dt=0.01)


def test_a_run_gone_wrong_may_go_on(tmp_path: Path) -> None:
    path = tmp_path / "crash.h5"
    sim = hg.Simulation(crash(on_implausible="report"))
    with pytest.warns(hg.ImplausibleRunWarning):
        summary = sim.run(40, output=path, progress=False)
    assert summary.finished
    again, longer = hg.Simulation.resume(path, 60, progress=False)
    assert again.state.step == 60
    assert longer.implausible == summary.implausible


@pytest.mark.parametrize(
    ("factor", "why"), [(1e6, "grain 3 has the speed"), (10.0, "came from nowhere")]
)
def test_velocities_from_nowhere_are_noticed(factor: float, why: str) -> None:
    """What rounding or an error might do to one grain, done on purpose."""
    grains = hg.Grains(count=9, place=hg.Grid(min=[0.0, 0.0], max=[3.2, 3.2]), speed=1.0)
    sim = hg.Simulation(hg.Scene(grains=[grains]), dt=0.001, seed=2)

    def spoil(sim: hg.Simulation, report: object) -> None:
        if sim.state.step == 5:
            sim.state.velocity[3] *= factor

    with pytest.warns(hg.ImplausibleRunWarning, match=why):
        summary = sim.run(20, progress=spoil)
    assert summary.steps == 5


def test_overlaps_of_the_start_are_no_surprise() -> None:
    pair = hg.Grains(place=hg.At(positions=[[0.0, 0.0], [0.5, 0.0]]))
    sim = hg.Simulation(hg.Scene(grains=[pair], allow_overlaps=True), dt=0.01)
    assert sim.run(5, progress=False).implausible is None


def test_a_step_that_is_far_too_long_is_not_called_good() -> None:
    """The last step of a run is looked at too."""
    fall = hg.Grains(count=30, place=hg.Grid(spacing=0.2, min=[0.0, 0.0], max=[7.0, 9.0]))
    box = hg.Box(min=[0.0, 0.0], max=[7.0, 20.0])
    sim = hg.Simulation(
        hg.Scene(gravity=[0.0, -1.0], grains=[fall], walls=[box]), dt=1e6, solver=SWEPT
    )
    summary = sim.run(1, progress=False)
    assert summary.implausible is not None


# ---------------------------------------------------------------------- light and heavy grains
def heavy(ratio: float) -> hg.Scene:
    """A sphere of a large diameter on ten of 1."""
    ring = 3.0 * np.exp(2j * np.pi * np.arange(10) / 10)
    small = hg.At(positions=[[z.real, z.imag, 0.5] for z in ring])
    touching = 0.5 + math.sqrt((0.5 + 0.5 * ratio) ** 2 - 9.0)
    large = hg.At(positions=[[0.0, 0.0, touching + 1e-4]])
    return hg.Scene(
        dimension=3,
        gravity=[0.0, 0.0, -1.0],
        grains=[hg.Grains(place=small), hg.Grains(diameter=ratio, place=large)],
        walls=[hg.Plane(point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0])],
    )


def test_swallowed_grains_are_not_called_converged() -> None:
    sim = hg.Simulation(heavy(1000.0), dt=0.01, solver=SWEPT)
    with pytest.warns(hg.ImplausibleRunWarning):
        summary = sim.run(200, progress=False)
    assert summary.implausible is not None
    assert not summary.rigid
    assert summary.loose > 0


def test_the_rigid_solver_carries_a_heavy_grain_on_light_ones() -> None:
    """To a tolerance of a millionth of the small diameter in each step, all steps together."""
    sim = hg.Simulation(heavy(1000.0), dt=0.01, solver=hg.RigidSolver())
    steps = 60
    summary = sim.run(steps, progress=False)
    assert summary.implausible is None
    assert summary.loose == 0
    assert summary.worst_overlap < steps * sim.scenario.solver.tolerance


def columns() -> tuple[Problem, int, int]:
    """A heavy disk held up by a light one, beside two heavy ones that nothing holds yet."""
    r, small = 0.5, 0.5e-3
    positions = [[0.0, small], [0.0, 2 * small + r], [5.0, r], [5.0, 3 * r]]
    sets = [
        hg.Grains(diameter=2 * size, place=hg.At(positions=[x]))
        for x, size in zip(positions, (small, r, r, r), strict=True)
    ]
    floor = hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0])
    sim = hg.Simulation(hg.Scene(gravity=[0.0, -1.0], grains=sets, walls=[floor]), dt=1e-6)
    engine, state = sim.engine, sim.state
    assert isinstance(engine, ContactDynamics)
    velocity = state.velocity.copy()
    velocity[:4, 1] -= sim.dt
    contacts = engine.detector.find(state, velocity)
    for k, (i, j) in enumerate(zip(contacts.first, contacts.second, strict=True)):
        if i == 0:  # what the light disk passes on, and its own weight
            mass = sim.model.mass[1] + (j == 4) * sim.model.mass[0]
            contacts.impulse[k] = contacts.normal[k] * mass * sim.dt
    return engine._problem(state, contacts, velocity, state.spin), 2, 3


def test_no_heavy_grain_is_below_notice() -> None:
    """The impulse that a light grain passes on would move it a million times as fast as a heavy
    one falls; yet a heavy one in free fall is not solved."""
    problem, i, j = columns()
    found = hg.GaussSeidel(sweeps=1, order="sequential").solve(problem, seed=0, step=0)
    k = int(np.flatnonzero((problem.first == i) & (problem.second == j))[0])
    assert not found.impulse[k].any()
    fall = (found.velocity[i] - found.velocity[j])[1]
    assert fall == pytest.approx(problem.dt)  # one rests, the other falls on
    assert found.residual > 1e-3


def test_no_grain_may_go_astray_by_its_diameter() -> None:
    """However small velocities are beside those of other contacts, a long step adds them up."""
    problem, _, _ = columns()
    solver = hg.GaussSeidel(sweeps=1, order="sequential")
    once, twice = (
        solver.solve(replace(problem, dt=many * problem.dt), seed=0, step=0).residual
        for many in (1e13, 2e13)
    )
    assert once > 1.0
    assert twice == pytest.approx(2.0 * once, rel=1e-6)
