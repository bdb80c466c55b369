"""A run that starts from a frame of another: what comes along, what stays, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.run.scenario import Start

from ..elastic import elastic_run

FLOOR = hg.Plane(name="floor", point=[0, 0], normal=[0, 1])
# below the floor's place, so that it cuts nothing
LOW = hg.Plane(name="low", point=[0, -3], normal=[0, 1])
MOVING = hg.Plane(name="lid", point=[0, 9], normal=[0, -1], velocity=[0, -1])
PILE = hg.At(positions=[[k % 3 + 0.5, k // 3 + 0.5] for k in range(9)])
SOLVER = hg.GaussSeidel(stop="residual", tolerance=1e-8, sweeps=10_000)


def scenario(walls: list[Any], file: Path | None = None, **options: Any) -> hg.Scenario:
    """Nine grains in three columns between two walls."""
    lock = options.pop("lock", [])
    sides = [
        hg.Plane(name="left", point=[0, 0], normal=[1, 0]),
        hg.Plane(name="right", point=[3, 0], normal=[-1, 0]),
    ]
    scene = hg.Scene(
        gravity=[0.1, -1], grains=[hg.Grains(place=PILE, lock=lock)], walls=[*walls, *sides]
    )
    start = None if file is None else Start(file=str(file))
    return hg.Scenario(dt=0.01, scene=scene, solver=SOLVER, start=start, **options)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose last frame bears forces; its lid has come down by 1."""
    path = tmp_path_factory.mktemp("start") / "settled.h5"
    hg.Simulation(scenario([FLOOR, MOVING])).run(100, output=path, every=100, progress=False)
    return path


def wall(sim: hg.Simulation, name: str) -> int:
    return sim.model.n + sim.model.wall_names.index(name)


def test_time_begins_again(settled: Path) -> None:
    sim = hg.Simulation(scenario([FLOOR], settled))
    assert (sim.state.step, sim.state.time) == (0, 0.0)
    assert sim.step().time == 0.01
    assert sim.totals.steps == 1


def test_wall_that_was_driven_and_is_now_fixed_stays_where_it_was_left(settled: Path) -> None:
    lid = hg.Plane(name="lid", point=[0, 20], normal=[0, -1])
    sim = hg.Simulation(scenario([FLOOR, lid], settled))
    k = wall(sim, "lid")
    assert sim.state.position[k, 1] == pytest.approx(8.0)
    before = sim.state.position[k].copy()
    sim.run(20, progress=False)
    assert not sim.state.velocity[k].any()
    np.testing.assert_array_equal(sim.state.position[k], before)


@pytest.mark.parametrize(
    "other",
    [
        hg.Plane(name="roof", point=[0, 20], normal=[0, -1]),  # another name
        hg.Segment(name="lid", start=[0, 20], end=[3, 20]),  # another kind
    ],
)
def test_walls_of_another_name_or_kind_stand_where_the_scene_puts_them(
    settled: Path, other: Any
) -> None:
    sim = hg.Simulation(scenario([other, FLOOR], settled))
    k = wall(sim, other.name)
    assert sim.state.position[k].tolist() == [0, 20]
    # although the walls are numbered otherwise, the forces on the floor are there at once
    sim.step()
    with hg.RunFile(settled) as file:
        before = file[-1].wall_force[file.wall_names.index("floor")]
    after = sim.engine.wall_force[wall(sim, "floor") - sim.model.n]
    assert before[1] < -5.0
    np.testing.assert_allclose(after, before, atol=1e-3)
    assert not sim.state.velocity[k].any()


def test_newly_locked_grains_do_not_move(settled: Path) -> None:
    sim = hg.Simulation(scenario([LOW], settled, lock=["x", "y", "rotation"]))
    assert not sim.state.velocity[:9].any()
    before = sim.state.position[:9].copy()
    sim.run(20, progress=False)
    np.testing.assert_array_equal(sim.state.position[:9], before)


def test_moving_grains_are_stopped_where_they_are_locked() -> None:
    def scene(**options: Any) -> hg.Scene:
        place = hg.At(positions=[[0, 0]])
        return hg.Scene(grains=[hg.Grains(place=place, velocity=[1, 2], spin=3, **options)])

    flying = hg.Simulation(scene(), dt=0.1)
    flying.step()
    sim = hg.Simulation(scene(lock=["x", "rotation"]), dt=0.1, start=flying.state)
    sim.step()
    np.testing.assert_allclose(sim.state.position[0], [0.1, 0.4], rtol=1e-14)
    assert sim.state.spin[0, 0] == 0.0


def test_contacts_start_from_the_forces_they_had(settled: Path) -> None:
    """One sweep is enough, although the lid is gone."""

    def first_residual(path: Path | None) -> float:
        sim = hg.Simulation(scenario([FLOOR], path))
        sim.engine.solver = hg.GaussSeidel(sweeps=1)
        return sim.step().residual

    assert first_residual(settled) < 1e-4
    assert first_residual(None) > 0.1


def test_new_wall_that_cuts_a_grain_is_refused(settled: Path) -> None:
    blade = hg.Segment(name="blade", start=[0, 1.4], end=[1, 1.4])
    with pytest.raises(hg.InputError, match=r"grain \d+ .* is cut by wall 'blade'"):
        hg.Simulation(scenario([FLOOR, blade], settled))


def test_overlaps_of_the_earlier_run_are_tolerated(tmp_path: Path) -> None:
    def scene(**options: Any) -> hg.Scene:
        place = hg.At(positions=[[0, 0.45], [0.9, 0.45]])
        return hg.Scene(grains=[hg.Grains(place=place)], walls=[FLOOR], **options)

    file = tmp_path / "overlap.h5"
    hg.Simulation(scene(allow_overlaps=True), dt=0.1).run(1, output=file, progress=False)
    with pytest.raises(hg.InputError, match="overlaps grain 1"):
        hg.Simulation(scene(), dt=0.1)
    sim = hg.Simulation(hg.Scenario(dt=0.1, scene=scene(), start=Start(file=str(file))))
    assert sim.step().worst_overlap == pytest.approx(0.1)


@pytest.mark.parametrize("from_file", [True, False])
def test_grains_that_deform_begin_as_deformed_as_they_were(tmp_path: Path, from_file: bool) -> None:
    """A packing that was pressed together goes on as if it had never been put aside."""
    file = elastic_run(tmp_path / "soft.h5", steps=300)
    old, _ = hg.Simulation.resume(file, until=310, progress=False)
    scene, dt = old.scenario.scene, old.dt
    bare = [g.model_copy(update={"place": None}) for g in scene.grains] if from_file else None
    again = scene if bare is None else scene.model_copy(update={"grains": bare})
    sim = hg.Simulation(again, dt=dt, start=file if from_file else old.state)
    now, then = sim.state.deformation, old.state.deformation
    assert now is not None
    assert then is not None
    assert np.abs(then.displacement).max() > 1e-3
    assert np.array_equal(now.displacement, then.displacement)
    assert np.array_equal(now.rate, then.rate)
    sim.run(1, output=tmp_path / "again.h5", progress=False)
    with hg.RunFile(tmp_path / "again.h5") as run:  # the contacts of a start have all of a row
        kept = run.contacts(0)
    had = old.state.contacts
    assert len(had) > 2
    for name in ("first", "second", "feature", "normal", "impulse", "arm_first", "arm_second"):
        assert np.array_equal(getattr(kept, name), getattr(had, name))
    # to the residual of a step
    assert sim.engine.elastic(sim.state) == pytest.approx(old.step().elastic, rel=1e-6)


@pytest.mark.parametrize("boxes", [True, False])
def test_grains_with_several_contact_points_begin_where_others_ended(
    tmp_path: Path, boxes: bool
) -> None:
    """A box keeps where its two corners touch; a disk, which knows of no corners, does not."""
    place = hg.At(positions=[[0, 0.5]])
    sets = [hg.Grains(place=place, shape=hg.Cuboid(sides=[1, 1]) if boxes else None)]
    scene = hg.Scene(gravity=[0, -1], grains=sets, walls=[FLOOR])
    file = tmp_path / "first.h5"
    old = hg.Simulation(scene, dt=0.01)
    old.run(3, output=file, progress=False)
    bare = sets[0].model_copy(update={"place": None, "shape": hg.Cuboid(sides=[1, 1])})
    again = scene.model_copy(update={"grains": [bare]})
    sim = hg.Simulation(again, dt=0.01, start=file)
    assert len(old.state.contacts) == (2 if boxes else 1)
    assert len(sim.state.contacts) == (2 if boxes else 0)
    sim.run(1, output=tmp_path / "second.h5", progress=False)
    assert not boxes or np.abs(sim.state.velocity).max() < 1e-12  # it still stands


def test_grains_that_deform_are_not_made_rigid_unasked(tmp_path: Path) -> None:
    file = elastic_run(tmp_path / "soft.h5", steps=1)
    scene = hg.Simulation.resume(file, until=2, progress=False)[0].scenario.scene
    rigid = [g.model_copy(update={"elastic": None, "place": None}) for g in scene.grains]
    with pytest.raises(hg.InputError, match="start has grain 0 with 37 nodes, and 0 in the scene"):
        hg.Simulation(scene.model_copy(update={"grains": rigid}), dt=0.01, start=file)


def test_grains_of_another_mesh_are_refused(tmp_path: Path) -> None:
    file = elastic_run(tmp_path / "soft.h5", steps=1)
    scene = hg.Simulation.resume(file, until=2, progress=False)[0].scenario.scene
    finer = scene.grains[0].elastic.model_copy(update={"elements": 4})
    grains = [
        scene.grains[0].model_copy(update={"elastic": finer, "place": None}),
        scene.grains[1].model_copy(update={"place": None}),
    ]
    with pytest.raises(hg.InputError, match="start has grain 0 with 37 nodes, and 61 in the scene"):
        hg.Simulation(scene.model_copy(update={"grains": grains}), dt=0.01, start=file)


def test_a_state_of_another_scene_is_refused() -> None:
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0], [2, 0]]))])
    fewer = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0]]))])
    state = hg.Simulation(fewer, dt=0.01).state
    with pytest.raises(hg.InputError, match="start has 1 bodies in 2D; the scene has 2 grains"):
        hg.Simulation(scene, dt=0.01, start=state)


def test_a_file_may_be_named_in_python(tmp_path: Path) -> None:
    """As a scenario names it: the same first state."""
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0], [2, 0]]), velocity=[1, 0])])
    file = tmp_path / "run.h5"
    hg.Simulation(scene, dt=0.1).run(3, output=file, progress=False)
    told = hg.Simulation(hg.Scenario(dt=0.1, scene=scene, start=Start(file=str(file))))
    for name in (file, str(file)):
        sim = hg.Simulation(scene, dt=0.1, start=name)
        assert sim.state.position.tobytes() == told.state.position.tobytes()
        assert sim.state.position[0, 0] == pytest.approx(0.3)
    with pytest.raises(hg.InputError, match="start is a int; valid are the state of a simulation"):
        hg.Simulation(scene, dt=0.1, start=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.1, 3.0])
def test_contacts_keep_their_forces_when_the_step_is_another(settled: Path, share: float) -> None:
    """Also from a state in memory, which knows its step by its time."""
    same = hg.Simulation(scenario([FLOOR], settled))
    other = hg.Simulation(scenario([FLOOR], settled).model_copy(update={"dt": 0.01 * share}))
    expected = share * same.state.contacts.impulse
    np.testing.assert_allclose(other.state.contacts.impulse, expected)
    same.run(40, progress=False)
    memory = hg.Simulation(same.scenario.scene, dt=0.01 * share, solver=SOLVER, start=same.state)
    expected = share * same.state.contacts.impulse
    np.testing.assert_allclose(memory.state.contacts.impulse, expected)
    assert memory.step().kinetic < 1e-8  # a pile at rest stays so


# ---------------------------------------------------------------------- a start and new grains
BALL = hg.Grains(
    diameter=0.8, place=hg.At(positions=[[1.5, 5.0]]), velocity=[0, -2], material="lead"
)
LEAD = {"sand": hg.Material(), "lead": hg.Material(density=11.0)}


def with_ball(file: Path, sets: list[hg.Grains], **options: Any) -> hg.Simulation:
    before = scenario([FLOOR], file)
    scene = before.scene.changed(grains=sets, materials=LEAD, **options)
    return hg.Simulation(before.changed(scene=scene))


@pytest.mark.parametrize(
    "sets",
    [[hg.Grains(), BALL], [BALL, hg.Grains()], [hg.Grains(place=PILE), BALL]],
    ids=["before", "behind", "as in the scenario that made the file"],
)
def test_new_grains_are_added_to_those_of_a_file(settled: Path, sets: list[hg.Grains]) -> None:
    """The file's come first, and bear at once the forces that they had."""
    sim = with_ball(settled, sets)
    assert (sim.model.n, sim.from_start) == (10, 9)
    mine = sets.index(BALL)
    assert sim.model.group.tolist() == [1 - mine] * 9 + [mine]
    with hg.RunFile(settled) as file:
        np.testing.assert_array_equal(sim.frame.position[:9], file[-1].position)
        before = file[-1].walls["floor"].force
    assert sim.frame.position[9].tolist() == [1.5, 5.0]
    assert sim.frame.velocity[9].tolist() == [0, -2]
    assert sim.model.mass[9] == pytest.approx(11.0 * np.pi * 0.4**2)
    assert sim.step().kinetic == pytest.approx(0.5 * sim.model.mass[9] * 2.01**2, rel=1e-3)
    np.testing.assert_allclose(sim.frame.walls["floor"].force, before, atol=1e-3)


def test_the_new_ball_hits_the_pile_and_is_there_after_a_resume(
    settled: Path, tmp_path: Path
) -> None:
    path = tmp_path / "impact.h5"
    whole = with_ball(settled, [hg.Grains(), BALL])
    whole.run(150, progress=False)
    assert whole.frame.position[9, 1] < 3.6
    with_ball(settled, [hg.Grains(), BALL]).run(70, output=path, progress=False)
    again, _ = hg.Simulation.resume(path, 150, progress=False)
    assert again.state.position.tobytes() == whole.state.position.tobytes()


def test_new_grains_make_way_for_those_of_a_file(settled: Path) -> None:
    more = hg.Grains(count=6, diameter=0.5, place=hg.Deposit(min=[0, 0], max=[3, 6]))
    assert with_ball(settled, [hg.Grains(), more]).model.n == 15
    into = hg.Grains(place=hg.At(positions=[[1.5, 2.5]]), diameter=0.5)
    with pytest.raises(hg.InputError, match=r"grain \d (.*) overlaps grain 9"):
        with_ball(settled, [hg.Grains(), into])
    into = hg.Grains(place=hg.At(positions=[[1.5, 0.2]]), diameter=0.5)
    with pytest.raises(hg.InputError, match=r"grain \d (.*) (overlaps grain 9|'floor')"):
        with_ball(settled, [hg.Grains(), into])


def test_new_grains_can_be_inserted_later(settled: Path) -> None:
    sim = with_ball(settled, [hg.Grains(), BALL.changed(insert=hg.Insert(time=0.1))])
    assert sim.model.n == 9
    sim.run(11, progress=False)
    assert sim.model.id.tolist() == [*range(10)]


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (
            [BALL],
            "start holds 9 grains, but every set in scene.grains has a place, and is new; add",
        ),
        (
            [hg.Grains(insert=hg.Insert())],
            r"scene.grains\[0\].insert is given, but its grains come",
        ),
    ],
)
def test_no_set_is_dropped_without_a_word(settled: Path, sets: list[hg.Grains], says: str) -> None:
    with pytest.raises(hg.InputError, match=says):
        with_ball(settled, sets)


# ---------------------------------------------------------------------- packings of other codes
def packed(path: Path, scene: hg.Scene, **options: Any) -> hg.Simulation:
    return hg.Simulation(hg.Scenario(dt=0.01, scene=scene, start=Start(file=str(path), **options)))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two disks of two types that touch, to three digits."""
    path = tmp_path / "two.csv"
    path.write_text("x,y,radius,vx,spin,type\n0,0.5,0.5,1,2,a\n0.577,1.0,0.263,0,0,b\n")
    return path


def test_a_packing_gives_places_sizes_and_motion(table: Path) -> None:
    grains = [hg.Grains(), hg.Grains(material="lead", lock=["rotation"])]
    materials = {"sand": hg.Material(), "lead": hg.Material(density=11.0)}
    sim = packed(table, hg.Scene(grains=grains, materials=materials, walls=[FLOOR]))
    assert sim.state.position[:2].tolist() == [[0, 0.5], [0.577, 1.0]]
    assert sim.model.radius.tolist() == [0.5, 0.263]
    assert sim.state.velocity[:2].tolist() == [[1, 0], [0, 0]]
    assert sim.state.spin[:2].tolist() == [[2], [0]]
    assert sim.model.mass[1] == pytest.approx(11.0 * np.pi * 0.263**2)
    assert (sim.model.inv_inertia[:2, 0] > 0).tolist() == [True, False]
    assert sim.step().time == 0.01


@pytest.mark.parametrize("grains", [[], [hg.Grains()]])
def test_one_set_or_none_takes_all_types(table: Path, grains: list[hg.Grains]) -> None:
    sim = packed(table, hg.Scene(grains=grains))
    assert sim.model.group.tolist() == [0, 0]
    assert (sim.model.inv_mass > 0.0).all()


def test_more_types_than_sets_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "three.csv"
    path.write_text("x,y,radius,type\n0,0,0.5,1\n2,0,0.5,2\n4,0,0.5,3\n")
    with pytest.raises(hg.InputError, match="start holds 3 sets of grains; the scene has 2"):
        packed(path, hg.Scene(grains=[hg.Grains(), hg.Grains()]))


def test_digits_that_are_missing_make_no_overlap(tmp_path: Path) -> None:
    path = tmp_path / "near.csv"
    path.write_text("x,y,radius\n0,0,0.5\n0.99999,0,0.5\n")
    packed(path, hg.Scene())
    path.write_text("x,y,radius\n0,0,0.5\n0.99,0,0.5\n")
    with pytest.raises(hg.InputError, match=r"grain 0 .* overlaps grain 1 .*allow_overlaps"):
        packed(path, hg.Scene())
    packed(path, hg.Scene(allow_overlaps=True))
    path.write_text("x,y,radius\n0,0.4,0.5\n")
    with pytest.raises(hg.InputError, match="is cut by wall 'floor'"):
        packed(path, hg.Scene(walls=[FLOOR]))


def test_a_packing_in_another_dimension_is_refused(table: Path) -> None:
    flat = hg.read_packing(table)
    with pytest.raises(hg.InputError, match=r"start holds grains in 2D; scene\.dimension is 3"):
        hg.Simulation(hg.Scene(dimension=3), dt=0.01, start=flat)
    assert packed(table, hg.Scene(dimension=3)).state.position.shape == (2, 3)  # a layer


def test_a_packing_from_python_is_the_same_as_from_a_file(table: Path) -> None:
    scene = hg.Scene(gravity=[0, -1], walls=[FLOOR])
    a, b = packed(table, scene), hg.Simulation(scene, dt=0.01, start=hg.read_packing(table))
    for sim in (a, b):
        sim.run(30, progress=False)
    np.testing.assert_array_equal(a.state.position, b.state.position)


@pytest.mark.parametrize("suffix", ["gsd", "dump", "xyz"])
def test_a_settled_packing_that_went_through_another_format_stays_at_rest(
    settled: Path, tmp_path: Path, suffix: str
) -> None:
    other = hg.export(settled, tmp_path / f"pile.{suffix}")[0]
    sim = hg.Simulation(scenario([FLOOR], other))
    with hg.RunFile(settled) as file:
        before = file[-1].position[:9]
    np.testing.assert_allclose(sim.state.position[:9], before, atol=2e-6)
    sim.run(50, progress=False)
    assert np.abs(sim.state.position[:9] - before).max() < 1e-3


def test_a_run_from_a_packing_can_be_resumed_without_it(table: Path, tmp_path: Path) -> None:
    sim = packed(table, hg.Scene(gravity=[0, -1], walls=[FLOOR]))
    sim.run(10, output=tmp_path / "run.h5", progress=False)
    table.unlink()
    going, _ = hg.Simulation.resume(tmp_path / "run.h5", 20, progress=False)
    sim.run(20, progress=False)
    np.testing.assert_array_equal(going.state.position, sim.state.position)


def test_grains_without_a_place_need_a_file() -> None:
    with pytest.raises(hg.InputError, match=r"scene.grains\[0\].place is missing; .* \[start\]"):
        hg.Simulation(hg.Scene(grains=[hg.Grains(count=3)]), dt=0.01)


@pytest.mark.parametrize(("file", "frame", "says"), [
    ("none.csv", -1, "none.csv does not exist"),
    ("two.csv", 1, "frame is 1; .* has the frames 0 to 0"),
])  # fmt: skip
def test_packings_that_cannot_be_read(table: Path, file: str, frame: int, says: str) -> None:
    with pytest.raises(hg.InputError, match=says):
        packed(table.parent / file, hg.Scene(), frame=frame)
