"""Energy, momentum, dissipation, work of walls, overlaps: closed forms and the run's own ledger."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure import energy
from hardgrain.measure.catalogue import measure
from hardgrain.measure.overlaps import overlap_distribution, overlaps
from hardgrain.measure.snapshot import snapshot
from hardgrain.run.scenario import Output

from .helpers import angular_momentum, floor, grains, momentum, packing, start, steps, up

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
LAWS: dict[str, dict[str, Any]] = {
    "frictionless": {"friction": 0.0},
    "friction": {"friction": 0.4},
    "restitution": {"friction": 0.4, "restitution": 0.7, "restitution_tangential": 0.5},
    "cohesion": {"friction": 0.4, "cohesion": 0.5, "cohesion_range": 0.01},
    "rolling": {"friction": 0.4, "rolling": 0.1},
    "torsion": {"friction": 0.4, "rolling": 0.1, "torsion": 0.2},
}


def law_of(name: str, dim: int) -> dict[str, Any]:
    """In 2D nothing twists."""
    return {k: v for k, v in LAWS[name].items() if dim == 3 or k != "torsion"}


# ---------------------------------------------------------------------- dissipation
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("law", LAWS)
def test_the_parts_of_all_contacts_are_what_the_step_dissipated(dim, law):
    """An identity of every step, converged or not; kinds without a law are zero."""
    sim = packing(dim, law_of(law, dim), count=20)
    scale, seen = sim.kinetic, dict.fromkeys(("inelastic", "sliding", "rolling", "torsion"), 0.0)
    for _ in range(20):
        report = sim.step()
        found = hg.measure.dissipation(sim)
        assert found.total.sum() == pytest.approx(report.dissipated, abs=1e-13 * scale)
        assert len(found.total) == len(found.contacts)
        for kind, value in found.kinds.items():
            seen[kind] = max(seen[kind], abs(value))
    expected = {"inelastic"}
    expected |= set() if law == "frictionless" else {"sliding"}
    expected |= {"rolling"} if law in ("rolling", "torsion") else set()
    expected |= {"torsion"} if law == "torsion" and dim == 3 else set()
    assert {kind for kind, value in seen.items() if value > 1e-9 * scale} == expected


def driven_scene(dim: int, kind: str, turning: bool = True) -> hg.Scene:
    """Grains under a piston, in a drum, between moving walls or with drives of their own."""
    rest = [0.0] * (dim - 2)
    size = [4.0, *([2.5] * (dim - 2)), 6.0]
    keys: dict[str, Any] = {"gravity": up(dim, -1.0), "contacts": [hg.ContactLaw(friction=0.3)]}
    place = hg.Loose(min=[0.0] * dim, max=size)
    sets = [hg.Grains(count=12, diameter=hg.Uniform(min=0.6, max=1.0), place=place, speed=0.5)]
    if kind == "pressure":
        walls = [("left", "right")] if dim == 2 else [("left", "right"), ("front", "back")]
        press = hg.Piston(mass=3.0, pressure="1 + t", between=walls)
        push = hg.Piston(mass=2.0, force="2 * (1 + t)")
        box = hg.Box(min=[0.0] * dim, max=size, pistons={"top": press, "right": push})
        return hg.Scene(dimension=dim, grains=sets, walls=[box], **keys)
    if kind == "drum":
        drum = hg.Drum(
            center=[0.0] * dim, radius=3.0, spin="1 + t", length=None if dim == 2 else 3.0
        )
        low = [-1.5, *([-1.4] * (dim - 2)), -2.0]
        sets = [hg.Grains(count=8, place=hg.Loose(min=low, max=[-x for x in low]))]
        return hg.Scene(dimension=dim, grains=sets, walls=[drum], **keys)
    if kind == "moving walls":
        box = hg.Box(min=[0.0] * dim, max=size, open=["left"])
        spin = 0.3 if dim == 2 else [0.0, 0.3, 0.1]
        wall = hg.Plane(
            name="pusher", point=[0.0] * dim, normal=[1.0, *rest, 0.0], velocity=["t", *rest, 0.1],
            spin=spin if turning else None, pivot=[-1.0, *rest, 1.0],
        )  # fmt: skip
        return hg.Scene(dimension=dim, grains=sets, walls=[box, wall], **keys)
    torque = "0.2 * t" if dim == 2 else ["0.2 * t", 0.1, 0.0]
    loads = {"force": ["sin(t)", *rest, 0.3], "torque": torque if turning else None}
    sets[0] = sets[0].model_copy(update=loads)
    mover = hg.Grains(
        place=hg.At(positions=[[2.0, *[1.0] * (dim - 2), -0.6]]),
        driven_velocity=["cos(3 * t)", *rest, "free"],
        driven_spin=(2.0 if dim == 2 else [0.0, 1.0, 2.0]) if turning else None,
    )
    box = hg.Box(min=[-2.0] * dim, max=[x + 2.0 for x in size])
    return hg.Scene(dimension=dim, grains=[mover, *sets], walls=[box], **keys)


SWEEPS = hg.GaussSeidel(sweeps=50, order="sequential")


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", ["moving walls", "driven grains"])
def test_dissipation_with_prescribed_spins_and_torques(dim, kind):
    sim = hg.Simulation(driven_scene(dim, kind), dt=0.02, solver=SWEEPS)
    steps(sim, 100)
    for _ in range(20):
        report = sim.step()
        lost = hg.measure.dissipation(sim).total.sum()
        assert lost == pytest.approx(report.dissipated, abs=1e-12 * report.kinetic)
        if kind == "moving walls":
            work = sim.dt * hg.measure.wall_power(sim).sum()
            assert work == pytest.approx(report.work_driven, abs=1e-12 * report.kinetic)


@pytest.mark.filterwarnings("ignore::hardgrain.errors.ImplausibleRunWarning")  # walls squeeze
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", ["pressure", "drum", "moving walls", "driven grains"])
def test_dissipation_and_work_of_a_run_file(tmp_path, dim, kind):
    """Loads are made again from the scenario; every frame agrees with its row of the history."""
    sim = hg.Simulation(driven_scene(dim, kind, turning=dim == 2), dt=0.02, solver=SWEEPS)
    sim.run(until=150, output=tmp_path / "run.h5", every=9, progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run:
        history, checked = run.history, 0.0
        scale = history["kinetic"].max()
        for k, step in enumerate(run.step):
            found = hg.measure.dissipation(run, k)
            if step == 0:
                assert not found.total.any()
                continue
            row = {name: column[step - 1] for name, column in history.items()}
            assert found.total.sum() == pytest.approx(row["dissipated"], abs=1e-12 * scale)
            alone = hg.measure.dissipation(snapshot(run, k))  # a snapshot knows the loads as well
            np.testing.assert_array_equal(alone.total, found.total)
            moving = energy.kinetic_energy(run, k) + energy.rotational_energy(run, k)
            assert moving == pytest.approx(row["kinetic"], rel=1e-12)
            if kind in ("drum", "moving walls"):  # nothing else is driven
                work = sim.dt * hg.measure.wall_power(run, k).sum()
                assert work == pytest.approx(row["work_driven"], abs=1e-12 * scale)
                checked += abs(work)
        assert checked > 0.0 or kind in ("pressure", "driven grains")
        assert history["dissipated"].sum() > 1e-3 * scale

        book = energy.balance(run)
        assert np.abs(book.error).max() < 1e-11 * (scale + np.abs(book.work_external).max())
        assert book.dissipated[-1] == pytest.approx(sim.totals.dissipated, rel=1e-12)
        table = measure(run, "dissipation")
        np.testing.assert_allclose(
            table.total[1:] * sim.dt, history["dissipated"][run.step[1:] - 1], atol=1e-12 * scale
        )
        work = hg.measure.wall_work(run)
        if kind in ("drum", "moving walls"):
            book_driven = sum(work.values())
            np.testing.assert_allclose(book_driven, book.work_driven, atol=1e-11 * scale)
        named = measure(run, "wall-work").work
        np.testing.assert_array_equal(named.sel(wall=run.wall_names[0]), work[run.wall_names[0]])
        # the frame's own sums of wall forces against the contacts'
        last = hg.measure.wall_loads(run), hg.measure.wall_loads(sim)
        for a, b in zip(*last):
            np.testing.assert_allclose(a, b, atol=1e-11)


@pytest.mark.parametrize("dim", DIMS)
def test_a_block_of_friction_and_a_fall(dim):
    """Sliding: µ m g v̄ dt. A fall: ½ m v² (1 − e²). A roll: µ_r r m g ω̄ dt."""
    mu, e, g, dt = 0.3, 0.5, 1.0, 0.01
    side = [1.0] + [0.0] * (dim - 1)
    sim = start(
        dim, grains([0.0] * (dim - 1) + [0.5], velocity=side, lock=["rotation"]),
        gravity=up(dim, -g), walls=[floor(dim)], law={"friction": mu}, dt=dt,
    )  # fmt: skip
    steps(sim, 10)
    m, before = sim.model.mass[0], sim.state.velocity[0, 0]
    sim.step()
    found = hg.measure.dissipation(sim)
    mean = 0.5 * (before + sim.state.velocity[0, 0])
    assert found.kinds["sliding"] == pytest.approx(mu * m * g * mean * dt, rel=1e-10)
    assert found.kinds["inelastic"] == pytest.approx(0.0, abs=1e-14)

    sim = start(
        dim, grains([0.0] * (dim - 1) + [0.505], velocity=up(dim, -1.0)),
        walls=[floor(dim)], law={"restitution": e}, dt=dt,
    )  # fmt: skip
    while not sim.report or not sim.report.loaded:
        sim.step()
    found = hg.measure.dissipation(sim)
    assert found.kinds["inelastic"] == pytest.approx(0.5 * m * (1 - e * e), rel=1e-10)
    assert found.kinds["sliding"] == pytest.approx(0.0, abs=1e-14)

    roll = 0.05
    spin = -2.0 if dim == 2 else [0.0, 2.0, 0.0]
    sim = start(
        dim, grains([0.0] * (dim - 1) + [0.5], velocity=side, spin=spin),
        gravity=up(dim, -g), walls=[floor(dim)], law={"friction": 0.9, "rolling": roll}, dt=dt,
    )  # fmt: skip
    steps(sim, 10)
    before = sim.state.spin[0].copy()
    sim.step()
    found = hg.measure.dissipation(sim)
    turn = np.linalg.norm(0.5 * (before + sim.state.spin[0]))
    assert found.kinds["rolling"] == pytest.approx(roll * 0.5 * m * g * turn * dt, rel=1e-9)
    assert found.kinds["sliding"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_a_piston_passes_on_what_its_load_does(tmp_path, dim):
    """Less what it keeps: without gravity, its load is all the work there is."""
    scene = driven_scene(dim, "pressure").model_copy(update={"gravity": [0.0] * dim})
    box = scene.walls[0]
    one = box.model_copy(update={"pistons": {"top": box.pistons["top"]}})
    sim = hg.Simulation(scene.model_copy(update={"walls": [one]}), dt=0.02, solver=SWEEPS)
    sim.run(until=300, output=tmp_path / "run.h5", every=100, progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run:
        work = hg.measure.wall_work(run)
        top = sim.model.n + run.wall_names.index("top")
        kept = 0.5 * sim.model.mass[top] * np.sum(run[-1].walls["top"].velocity ** 2)
        assert work["top"][-1] == pytest.approx(sim.totals.work_external - kept, rel=1e-10)
        assert work["top"][-1] > 0.0
        assert not work["left"].any()


def test_what_cannot_be_split_is_refused(tmp_path):
    """Soft contacts; loads that were Python functions; frames without contacts."""
    soft = hg.Simulation(
        hg.Scene(grains=[grains([0, 0], [0.99, 0])], allow_overlaps=True),
        dt=1e-3, engine=hg.SoftParticles(stiffness=1e3),
    )  # fmt: skip
    soft.step()
    with pytest.raises(hg.InputError, match="soft-particles"):
        hg.measure.dissipation(soft)
    soft.run(until=3, output=tmp_path / "soft.h5", every=1, progress=False)
    with hg.RunFile(tmp_path / "soft.h5") as run, pytest.raises(hg.InputError, match="soft-part"):
        hg.measure.dissipation(snapshot(run))
    scene = hg.Scene(grains=[grains([0, 0], force=[lambda t: t, 0.0])])
    sim = hg.Simulation(scene, dt=0.01)
    sim.run(until=4, output=tmp_path / "run.h5", every=1, progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run, pytest.raises(hg.InputError, match="functions"):
        hg.measure.dissipation(run)
    assert hg.measure.dissipation(sim).total.size == 0
    sim = packing(2, {"friction": 0.3}, count=10)
    sim.scenario = sim.scenario.model_copy(update={"output": Output(every=1, contacts_every=5)})
    sim.run(until=sim.state.step + 4, output=tmp_path / "few.h5", progress=False)
    with hg.RunFile(tmp_path / "few.h5") as run:
        stored = [k for k in range(len(run)) if run.contacts(k) is not None]
        assert 1 < len(stored) < len(run)
        np.testing.assert_array_equal(measure(run, "dissipation").time, run.time[stored])
        for name in ("coordination", "contact-dissipation", "mobilisation", "stress-field"):
            with pytest.raises(hg.InputError, match=r"output\.contacts_every"):
                measure(run, name, frames=[1])


# ---------------------------------------------------------------------- energy and momentum
@pytest.mark.parametrize("dim", DIMS)
def test_energy_and_momentum_of_a_packing(dim):
    """Against sums written out; potential energy against the work of gravity."""
    sim = packing(dim, {"friction": 0.4}, count=20)
    m, i, s, n = sim.model.mass, sim.model.inertia, sim.state, sim.model.n
    assert energy.kinetic_energy(sim) == pytest.approx(0.5 * m[:n] @ (s.velocity[:n] ** 2).sum(1))
    assert energy.rotational_energy(sim) == pytest.approx(0.5 * i[:n] @ (s.spin[:n] ** 2).sum(1))
    np.testing.assert_allclose(energy.momentum(sim), momentum(sim))
    np.testing.assert_allclose(energy.angular_momentum(sim), angular_momentum(sim))
    low, work, v = energy.potential_energy(sim), sim.totals.work_external, momentum(sim)
    steps(sim, 30)
    # the sum of m g·v̄ dt, and m g·v⁺ dt by which the grains moved
    lost = low - energy.potential_energy(sim)
    shift = 0.5 * sim.dt * (momentum(sim) - v) @ sim.model.gravity
    assert lost - (sim.totals.work_external - work) == pytest.approx(shift, rel=1e-8)


def test_locked_and_driven_axes_carry_no_energy():
    sets = [
        grains([0, 0], velocity=[1, 2], lock=["x"]),
        grains([5, 0], driven_velocity=[3.0, "free"], velocity=[0, 1]),
    ]
    sim = start(2, sets)
    sim.step()
    m = sim.model.mass[0]
    assert energy.kinetic_energy(sim) == pytest.approx(0.5 * m * (4 + 1))
    assert energy.kinetic_energy(sim) + energy.rotational_energy(sim) == pytest.approx(sim.kinetic)


def test_granular_temperature():
    """No drift, no heat; two grains with ± v; a shear flow seen through a window."""
    sim = start(2, grains([0, 0], [3, 0], velocity=[5, 1]))
    assert energy.granular_temperature(sim) == pytest.approx(0.0, abs=1e-15)
    sim = start(2, [grains([0, 0], velocity=[6, 1]), grains([3, 0], velocity=[4, 1])])
    assert energy.granular_temperature(sim) == pytest.approx(0.5)
    # grains of a row along x share the speed of their row: within a row there is no heat
    rows = [grains(*[[1.2 * k, 5.0 * y] for k in range(5)], velocity=[y, 0]) for y in range(4)]
    sim = start(2, rows, periodic={"x": (0, 6)})
    assert energy.granular_temperature(sim) == pytest.approx(np.var(range(4)) / 2)
    assert energy.granular_temperature(sim, length=2.0) == pytest.approx(0.0, abs=1e-15)
    # a hot gas: each of the z grains around one carries 1/z of what their mean keeps
    rng = np.random.default_rng(0)
    x = np.stack(np.meshgrid(*[1.5 * np.arange(20.0)] * 2), -1).reshape(-1, 2)
    sim = start(2, grains(*x), periodic={"x": (0, 30), "y": (0, 30)})
    sim.state.velocity[:] = rng.normal(size=x.shape)
    found = energy.granular_temperature(sim, length=1.6)
    assert found == pytest.approx(energy.granular_temperature(sim) * (1 - 1 / 5), rel=0.1)
    with pytest.raises(hg.InputError, match="half a period"):
        energy.granular_temperature(sim, length=20.0)


# ---------------------------------------------------------------------- overlaps
def test_a_contact_that_closes_within_the_step_has_no_overlap():
    """Of two pairs that bear a force, one overlaps and one is still open: half the overlap."""
    sets = [
        grains([0, 0], [5, 0], velocity=[1.0, 0.0]),
        grains([0.9, 0], [6.02, 0], velocity=[-1.0, 0.0]),
    ]
    sim = hg.Simulation(hg.Scene(grains=sets, allow_overlaps=True), dt=0.02)
    report = sim.step()
    assert report.loaded == 2
    assert report.worst_overlap == pytest.approx(0.1)
    assert report.mean_overlap == pytest.approx(0.05)


def test_overlaps_of_a_pair_and_of_a_run(tmp_path):
    scene = hg.Scene(
        grains=[grains([0, 0], [0.9, 0], [3, 0], diameter=1.0)], allow_overlaps=True,
        walls=[hg.Plane(point=[0, -0.48], normal=[0, 1])],
    )  # fmt: skip
    sim = hg.Simulation(scene, dt=0.01)
    assert overlaps(sim).worst == 0.0  # no step has looked yet
    sim.step()
    found = overlaps(sim)
    assert found.worst == pytest.approx(0.1)
    np.testing.assert_allclose(np.sort(found.overlap), [0.02, 0.02, 0.02, 0.1], rtol=1e-9)
    counts, edges = overlap_distribution(sim, bins=7)
    np.testing.assert_array_equal(counts, [3, 0, 0, 0, 0, 0, 1])
    assert (edges[0], edges[-1]) == pytest.approx((0.02, 0.1))

    sim = packing(2, {"friction": 0.3})
    assert overlaps(sim).worst == pytest.approx(sim.report.deepest)
    assert overlaps(sim).worst * 2 * sim.model.radius.min() <= sim.report.worst_overlap
    c, radius = sim.state.contacts, np.append(sim.model.radius, np.full(9, np.inf))  # and walls
    share = np.maximum(-c.gap, 0) / (2 * np.minimum(radius[c.first], radius[c.second]))
    assert overlaps(sim).mean == pytest.approx(share[c.normal_impulse() != 0].mean())
    assert overlap_distribution(sim)[0].sum() == np.count_nonzero(overlaps(sim).overlap)


def test_by_name(tmp_path):
    """Every measurement of state gives labelled data with units, one value a frame."""
    sim = packing(2, {"friction": 0.3}, count=10)
    sim.run(until=sim.state.step + 4, output=tmp_path / "run.h5", every=2, progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run:
        for name in ("energy", "momentum", "granular-temperature", "wall-power", "overlaps"):
            data = measure(run, name)
            assert data.sizes["time"] == len(run)
            assert all(v.attrs["units"] and v.attrs["long_name"] for v in data.data_vars.values())
        one = measure(run, "contact-dissipation", frames=[2])
        assert one.sizes["contact"] == hg.measure.dissipation(run, 2).total.size
        book = measure(run, "energy-balance")  # of a file that begins in the middle of a run
        assert book.sizes["time"] == len(run.history["time"])
        assert np.abs(book.error).max() < 1e-12 * sim.totals.work_external
    assert math.isfinite(measure(sim, "dissipation").total.item())
