"""Grains that come and go: when, where, who waits, what is refused, and what others see of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.energy import balance
from hardgrain.measure.snapshot import snapshot
from hardgrain.run.closing import closing_word
from hardgrain.scene.spec import Insert

FLOOR = hg.Plane(name="floor", point=[0, 0], normal=[0, 1])
BELOW = {"below": hg.BlockRegion(min=[-50, -50], max=[50, -3])}


def simulation(grains: list[hg.Grains], **options: Any) -> hg.Simulation:
    return hg.Simulation(hg.Scene(grains=grains, **options), dt=0.125)


def one(x: float = 0.0, y: float = 0.0, **options: Any) -> hg.Grains:
    return hg.Grains(place=hg.At(positions=[[x, y]]), **options)


# ---------------------------------------------------------------------- coming in
@pytest.mark.parametrize(
    ("rate", "times", "due"),
    [
        (None, [0.0, 1.9, 2.0, 9.0], [0, 0, 7, 7]),
        (4.0, [1.9, 2.0, 2.2, 2.25, 3.0, 9.0], [0, 1, 1, 2, 5, 7]),
    ],
)
def test_when_grains_are_due(rate: float | None, times: list[float], due: list[int]) -> None:
    insert = Insert(time=2.0, rate=rate)
    assert [insert.due(t, 7) for t in times] == due


def test_grains_come_in_at_a_place_and_at_a_rate() -> None:
    """Each second one, at two points in turn, with the velocity of their set."""
    entering = hg.Grains(
        count=4, diameter=0.5, place=hg.At(positions=[[0, 0], [5, 0]]), velocity=[0, 1],
        insert=hg.Insert(time=1.0, rate=1.0),
    )  # fmt: skip
    sim = simulation([one(20), entering])
    there = []
    for _ in range(40):
        sim.step()
        there.append(sim.model.id.tolist())
    # the step that begins at time 1 is the ninth
    assert [there[k] for k in (7, 8, 15, 16, 24, 32)] == [
        [0], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4],
    ]  # fmt: skip
    age = sim.state.time - np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        sim.frame.position[1:], np.stack([[0, 5, 0, 5], age], axis=1), atol=1e-12
    )
    assert sim.totals.inserted == 4
    assert sim.totals.waited == 0


def test_a_grain_waits_while_its_place_is_taken() -> None:
    """The grain in the way leaves with speed 1: after 0.9 seconds there is room."""
    leaving = one(0.1, velocity=[1, 0])
    sim = simulation([leaving, one(insert=hg.Insert())])
    assert sim.exchange.waiting(0.0) == (1, 0)
    summary = sim.run(7, progress=False)
    assert summary.waiting == 1
    assert "1 more wait for room" in str(summary)
    summary = sim.run(9, progress=False)
    assert (sim.model.n, summary.waiting, sim.totals.waited) == (2, 0, 1)
    assert "1 came in" in str(summary)
    assert "of which 1 had waited for room" in str(summary)
    assert summary.worst_overlap == 0.0


@pytest.mark.parametrize("periodic", [{}, {"x": (0.0, 8.0)}])
def test_grains_from_a_region_overlap_nothing(periodic: dict[str, Any]) -> None:
    """As many as there is room for come in at once; walls and grains are not cut."""
    region = hg.Deposit(min=[0, 0], max=[8, 6])
    post = hg.Cylinder(name="post", point=[4, 3], radius=1.0, side="outside")
    sides = [] if periodic else [hg.Plane(name="left", point=[0.2, 0], normal=[1, 0])]
    entering = hg.Grains(count=60, place=region, insert=hg.Insert())
    sim = simulation(
        [one(1.0, 1.0), entering], periodic=periodic, walls=[FLOOR, post, *sides],
    )  # fmt: skip
    x = sim.frame.position
    assert 15 < len(x) < 45
    away = x[:, None] - x
    if periodic:
        away[..., 0] -= 8.0 * np.round(away[..., 0] / 8.0)
    distance = np.linalg.norm(away, axis=2) + 2.0 * np.eye(len(x))
    assert distance.min() >= 1.0
    assert np.linalg.norm(x - [4, 3], axis=1).min() >= 1.5
    assert x[:, 1].min() >= 0.5
    late, later = sim.exchange.waiting(0.0)
    assert (late, later) == (61 - len(x), 0)


def test_grains_that_are_there_from_time_zero_are_in_the_first_frame(tmp_path: Path) -> None:
    sim = simulation([one(insert=hg.Insert(), velocity=[3, 0])])
    sim.run(2, output=tmp_path / "run.h5", progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run:
        assert [len(frame) for frame in run] == [1, 1]
        assert run[0].scalars["kinetic_start"] == pytest.approx(0.5 * np.pi / 4 * 9)


def test_nothing_is_at_rest_before_all_grains_are_due() -> None:
    scene = hg.Scene(
        gravity=[0, -1], walls=[FLOOR], grains=[one(0, 0.5), one(3, 0.5, insert=hg.Insert(time=5))]
    )
    sim = hg.Simulation(scene, dt=0.125)
    summary = sim.run(hg.AtRest(steps=4), progress=False)
    assert (summary.time, sim.model.n) == (5.0, 1)
    assert sim.exchange.waiting(5.0) == (1, 0)


@pytest.mark.filterwarnings("error")
def test_a_step_without_grains_warns_of_nothing() -> None:
    sim = simulation([one(insert=hg.Insert(time=1.0))])
    sim.step()
    assert sim.model.n == 0


# ---------------------------------------------------------------------- going out
def test_grains_are_taken_out_where_a_region_is_entered_or_left() -> None:
    """Grain 0 enters a block at time 1, grain 1 leaves a ball at time 2; 2 does neither."""
    regions = {
        "block": hg.BlockRegion(min=[1.0, -0.5], max=[2.0, 0.5]),
        "ball": hg.BallRegion(center=[0, 0], radius=2.0),
    }
    grains = [one(velocity=[1, 0]), one(0, 1.5, velocity=[-1, 0]), one(0, -1.5)]
    away = np.sqrt(4 - 1.5**2)
    sim = simulation(
        grains, regions=regions,
        remove=[hg.Remove(entering="block", name="trap"), hg.Remove(leaving="ball")],
    )  # fmt: skip
    gone = {}
    for _ in range(20):
        sim.step()
        gone |= dict.fromkeys({0, 1, 2} - {*sim.model.id.tolist()} - gone.keys(), sim.state.time)
    # found out before the step that follows
    assert gone == {0: 1.0 + 0.125, 1: np.ceil(8 * away) / 8 + 0.125}
    assert sim.exchange.status.tolist() == [1, 2, 0]
    summary = sim.run(20, progress=False)
    assert summary.removed_by == {"trap": 1, "ball": 1}
    assert "2 were taken out with 1.5708 (1 by 'trap', 1 by 'ball')" in str(summary)


@pytest.mark.parametrize(
    ("region", "inside", "outside"),
    [
        (hg.BlockRegion(min=[9, 0], max=[11, 2]), [[9.5, 1], [0.5, 1], [20.5, 1]], [[2, 1]]),
        (hg.BallRegion(center=[10, 0], radius=1), [[9.5, 0], [0.5, 0.5]], [[1.5, 0], [5, 0]]),
    ],
)
def test_regions_know_periods(
    region: Any, inside: list[list[float]], outside: list[list[float]]
) -> None:
    period = np.array([10.0, 0.0])
    assert region.holds(np.array(inside), period).all()
    assert not region.holds(np.array(outside), period).any()


def test_a_tube_holds_what_is_near_its_axis() -> None:
    tube = hg.TubeRegion(center=[0, 0, 1], axis=[0, 2, 0], radius=1.0, length=4.0)
    x = np.array([[0, 1.9, 1], [0.9, 0, 1], [0, 0, 0.1], [0, 2.1, 1], [0.8, 0, 1.8]], float)
    assert tube.holds(x, np.zeros(3)).tolist() == [True, True, True, False, False]


def test_contacts_of_the_others_keep_their_forces() -> None:
    """Of a pile of three the upmost is taken out: the floor bears one weight less at once."""
    place = hg.At(positions=[[0, 0.5], [0, 1.5], [0, 2.5]])
    scene = hg.Scene(
        gravity=[0, -1], walls=[FLOOR], grains=[hg.Grains(place=place)],
        regions={"top": hg.BlockRegion(min=[-1, 2], max=[1, 3])},
        remove=[hg.Remove(entering="top", time=1.0)],
    )  # fmt: skip
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-12, sweeps=1000)
    sim = hg.Simulation(scene, dt=0.125, solver=solver)
    weight = np.pi / 4
    forces = []
    for _ in range(12):
        sim.step()
        forces.append(-sim.frame.walls["floor"].force[1] / weight)
    np.testing.assert_allclose(forces, [3.0] * 8 + [2.0] * 4, rtol=1e-9)
    assert sim.report is not None
    assert sim.report.kinetic < 1e-20


# ---------------------------------------------------------------------- what is kept of it
ENGINES = [hg.RigidGrains(), hg.SoftParticles(stiffness=1e3, restitution=0.5, substeps=200)]


@pytest.fixture(scope="module", params=ENGINES, ids=["rigid", "soft"])
def passing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grains fall through a region one after the other; for a while there is none at all."""
    scene = hg.Scene(
        gravity=[0, -1], regions=BELOW, remove=[hg.Remove(entering="below")],
        grains=[
            hg.Grains(place=hg.At(positions=[[0, 0], [0.3, 1.0]])),
            hg.Grains(
                count=3, diameter=hg.Uniform(min=0.6, max=1.0), spin=1.0, velocity=[0, -1],
                place=hg.At(positions=[[0, 2]]), insert=hg.Insert(time=5.0, rate=0.8),
            ),
        ],
    )  # fmt: skip
    path = tmp_path_factory.mktemp("passing") / "run.h5"
    hg.Simulation(scene, dt=0.125, engine=request.param).run(
        100, output=path, every=4, progress=False
    )
    return path


def test_mass_and_energy_are_accounted_for(passing: Path) -> None:
    with hg.RunFile(passing) as run:
        h, b = run.history, balance(run)
        mass, gravity = run.model["mass"], 1.0
        counts = [len(frame) for frame in run]
    assert min(counts) == 0
    assert counts[0] == 2
    assert h["removed_by_below"].sum() == h["removed"].sum() == 5
    into, out = np.cumsum(h["mass_inserted"]), np.cumsum(h["mass_removed"])
    np.testing.assert_allclose(h["mass"], mass[:2].sum() + into - out, atol=1e-12)
    assert into[-1] == pytest.approx(mass[2:].sum())
    # to rounding, or to what explicit steps of springs leave of a collision
    assert np.abs(b.error).max() < 1e-3 * b.kinetic.max()
    if not h["elastic"].any():
        assert np.abs(b.error).max() < 1e-12 * b.kinetic.max()
    # a grain that falls freely turns potential energy into kinetic; dt/2 m g v is the scheme's own
    lost = h["potential_inserted"].sum() - h["potential_removed"].sum()
    fast = np.sqrt(2.0 * b.removed[-1] * mass.sum())
    kept = b.removed[-1] - b.inserted[-1] + b.dissipated[-1]
    start = -gravity * -mass[:2] @ [0.0, 1.0]
    assert abs(start + lost - kept) < 0.5 * 0.125 * gravity * fast


def test_a_frame_without_grains_can_be_shown_measured_and_exported(
    passing: Path, tmp_path: Path
) -> None:
    with hg.RunFile(passing) as run:
        empty = [len(frame) for frame in run].index(0)
        assert run.contacts(empty) is not None
        snap = snapshot(run, empty)
        assert (snap.n, snap.position.shape) == (0, (0, 2))
        assert len(hg.measure.measure(run, "energy").time) == sum(len(f) > 0 for f in run)
        with pytest.raises(hg.InputError, match="no grain is there at step"):
            hg.measure.measure(run, "energy", [empty])
        for suffix in ("vtkhdf", "dump", "xyz"):
            hg.export(run, tmp_path / f"run.{suffix}")
        hg.draw_network(run, empty, tmp_path / "empty.png")
        hg.write_report(run, tmp_path / "report.html")


def test_exports_name_grains_by_their_numbers(passing: Path, tmp_path: Path) -> None:
    hg.export(passing, tmp_path / "run.dump")
    with hg.RunFile(passing) as run:
        known = [(frame.id + 1).tolist() for frame in run]
    found: list[list[int]] = []
    for part in (tmp_path / "run.dump").read_text().split("ITEM: TIMESTEP")[1:]:
        rows = part.split("omegaz\n")[1].splitlines()
        found.append([int(row.split()[0]) for row in rows])
    assert found == known


def test_a_resumed_run_has_the_same_bits_and_the_same_last_word(
    passing: Path, tmp_path: Path
) -> None:
    """Stopped when grains have left, before others come."""
    with hg.RunFile(passing) as run:
        whole, last = run.history, run[-1].record
        scenario = hg.Scenario.model_validate_json(run.header["scenario"])
        word = closing_word(run)
    other = tmp_path / "other.h5"
    hg.Simulation(scenario).run(38, output=other, progress=False)
    _, summary = hg.Simulation.resume(other, 100, progress=False)
    with hg.RunFile(other) as run:
        for name, column in run.history.items():
            assert column.tobytes() == whole[name].tobytes(), name
        again = run[-1].record
    for name in ("position", "velocity", "spin", "orientation", "status"):
        assert getattr(again, name).tobytes() == getattr(last, name).tobytes(), name
    assert again.scalars == last.scalars
    assert summary.flow == word.flow
    assert summary.removed_by == word.removed_by


def test_grains_that_are_always_there_have_a_mean_square_displacement(tmp_path: Path) -> None:
    grains = [
        one(velocity=[9, 0]),
        one(5, 2, velocity=[0, 2]),
        one(9, 5, insert=hg.Insert(time=1.0)),
    ]
    room = {"room": hg.BallRegion(center=[0, 0], radius=20)}
    sim = simulation(grains, regions=room, remove=[hg.Remove(leaving="room")])
    sim.run(40, output=tmp_path / "run.h5", every=8, progress=False)
    with hg.RunFile(tmp_path / "run.h5") as run:
        assert [frame.id.tolist() for frame in run][:4] == [[0, 1], [0, 1], [0, 1, 2], [1, 2]]
        found = hg.measure.mean_square_displacement(run)
    np.testing.assert_allclose(found.square, (2.0 * found.lag) ** 2, rtol=1e-9)


# ---------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("grains", "options", "says"),
    [
        ([one()], {"remove": [hg.Remove(entering="hole")]}, "scene.remove.0. names .* has none"),
        (
            [one()],
            {"regions": {"a": hg.BallRegion(center=[0, 0, 0], radius=1)}},
            "scene.regions.a is a region in 3D; the scene has dimension 2",
        ),
        (
            [one()],
            {"regions": BELOW, "remove": [hg.Remove(entering="below")] * 2},
            "scene.remove has two entries named 'below'",
        ),
        (
            [hg.Grains(count=2, place=hg.Grid(min=[0, 0], max=[9, 9]), insert=hg.Insert())],
            {},
            r"scene.grains\[0\].place.kind is 'grid', .* takes 'at' or 'deposit'",
        ),
        (
            [hg.Grains(count=2, place=hg.Deposit(min=[0, 0], max=[9, 0.5]), insert=hg.Insert())],
            {},
            r"scene.grains\[0\].place.max − place.min is 0.5 .* the largest grain needs 1",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    grains: list[hg.Grains], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(hg.InputError, match=says):
        simulation(grains, **options)


def test_a_removal_names_one_region() -> None:
    with pytest.raises(hg.InputError, match="either entering or leaving, and not both"):
        hg.Remove(entering="a", leaving="b")
    with pytest.raises(hg.InputError, match="either entering or leaving"):
        hg.Remove()
