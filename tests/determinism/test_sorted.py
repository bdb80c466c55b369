"""The order in which a run holds its grains is its own affair: everyone else sees their numbers.

Jacobi's sweeps, which change all contacts at once, and explicit steps of soft particles do not
depend on the order of contacts but by the rounding of sums. So runs whose grains are in another
order must agree up to rounding, contact by contact, laws with friction included.
"""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli.fclib_step import problem_of_step
from hardgrain.core.cell import Cell
from hardgrain.core.model import Contacts
from hardgrain.io.frame import Record
from hardgrain.io.layout import MODEL
from hardgrain.io.runfile import RunFile
from hardgrain.io.runwriter import RunWriter, StepRows
from hardgrain.measure.snapshot import snapshot
from hardgrain.run.curve import along_curve
from hardgrain.run.scenario import Output, Scenario
from hardgrain.show.colour import grain_field

from .cases import scenario

# Rounding, some 1e-15, grows by a factor at each collision; a sign or a body that is wrong gives
# differences of the order of one.
ROUNDED = 1e-8

# Steps before and after the grains are sorted, such that many touch, and that some come and go.
CASES = {
    "box_2d": (100, 60),
    "drum_3d": (100, 40),
    "pistons_2d": (60, 40),
    "soft_3d": (360, 40),
    "plates_3d": (120, 40),
    "hopper_2d": (130, 60),
    "polygons_2d": (100, 30),
    "boxes_3d": (230, 30),
}


def case(name: str) -> Scenario:
    """A case in which the order of contacts does not matter, with every contact in its file."""
    made = scenario(name, output=Output(every=10, track=[7, 3]))
    if name == "drum_3d":  # every grain a top
        tops = {"inertia": [0.3, 0.4, 0.5], "orientation": "random"}
        grains = [made.scene.grains[0].model_copy(update=tops)]
        made = made.model_copy(update={"scene": made.scene.model_copy(update={"grains": grains})})
    if isinstance(made.engine, hg.RigidGrains):
        made = made.model_copy(update={"solver": hg.Jacobi(sweeps=30, relaxation=0.2)})
    return made


def shuffled(sim: hg.Simulation, seed: int = 3) -> list[int]:
    order: list[int] = np.random.default_rng(seed).permutation(sim.model.everyone).tolist()
    return order


def close(a: Any, b: Any, what: str) -> None:
    assert a.shape == b.shape, what
    scale = np.abs(b).max(initial=1e-3)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=ROUNDED * scale, err_msg=what)


def agree(path: Path, other: Path) -> None:
    """Two files hold the same of the same grains and contacts, up to rounding."""
    with RunFile(path) as a, RunFile(other) as b:
        assert np.array_equal(a.step, b.step)
        assert a.history.keys() == b.history.keys()
        for name, column in b.history.items():
            if not name.startswith("network_"):  # found by iteration
                close(a.history[name], column, name)
        for k in range(len(b)):
            assert a[k].id.tolist() == b[k].id.tolist()
            for name in ("position", "orientation", "velocity", "spin", "wall_force", "status"):
                close(getattr(a[k].record, name), getattr(b[k].record, name), f"{name} of {k}")
            here, there = a.contacts(k), b.contacts(k)
            assert here is not None
            assert there is not None
            assert np.array_equal(here.key(a[k].id.size + 99), there.key(a[k].id.size + 99))
            for name in ("normal", "gap", "impulse", "torque", "spring", "law"):
                close(getattr(here, name), getattr(there, name), f"{name} of contacts of {k}")


@pytest.mark.parametrize("name", CASES)
def test_files_do_not_depend_on_the_order(name: str, tmp_path: Path) -> None:
    """Sorted while grains touch: contacts keep their impulses and springs, on the right side."""
    before, after = CASES[name]
    plain = hg.Simulation(case(name))
    plain.run(before, progress=False)
    other = hg.Simulation(case(name))
    other.run(before, progress=False)
    other.sort(shuffled(other))
    assert (np.diff(other.model.id) < 0).any()
    paths = tmp_path / "plain.h5", tmp_path / "sorted.h5"
    for sim, path in zip((plain, other), paths, strict=True):
        came, left = sim.totals.inserted, sim.totals.removed
        sim.run(before + after, output=path, progress=False)
    agree(paths[1], paths[0])
    if sim.exchange.changes:
        assert sim.totals.inserted > came
        assert sim.totals.removed > left
    with RunFile(paths[0]) as run:
        assert run[0].record.order.size == 0
        found = run.contacts(0)
    assert found is not None
    assert found.impulse.any()


def test_a_converged_step_does_not_depend_on_the_order() -> None:
    """Velocities of a frictionless packing are unique, whatever solver finds them."""
    made = scenario("box_2d")
    scene = made.scene.model_copy(update={"contacts": [hg.ContactLaw(friction=0.0)]})
    changes = {"scene": scene, "solver": hg.RigidSolver(tolerance=1e-11)}
    sims = [hg.Simulation(made.model_copy(update=changes)) for _ in range(2)]
    sims[1].sort(shuffled(sims[1]))
    for sim in sims:
        sim.run(60, progress=False)
    assert sims[0].report is not None
    assert sims[0].report.loaded > 10
    close(sims[1].frame.velocity, sims[0].frame.velocity, "velocity")


@pytest.mark.parametrize("name", ["box_2d", "soft_3d", "hopper_2d"])
def test_a_sorted_run_that_is_killed_has_the_same_bits(name: str, tmp_path: Path) -> None:
    """A copy of the file, made between two frames, is what a kill leaves."""
    path, copy = tmp_path / "run.h5", tmp_path / "killed.h5"
    sim = hg.Simulation(scenario(name))
    sim.run(100, progress=False)
    sim.sort()
    assert (np.diff(sim.model.id) < 0).any()

    def kill(sim: hg.Simulation, report: Any) -> None:
        if report.step == 137:
            shutil.copy(path, copy)

    sim.run(180, output=path, progress=kill)
    hg.Simulation.resume(copy, 180, progress=False)
    with RunFile(path) as a, RunFile(copy) as b:
        assert np.array_equal(a.step, b.step)
        for column, values in a.history.items():
            assert values.tobytes() == b.history[column].tobytes(), column
        for k in range(len(a)):
            one, other = a[k].record, b[k].record
            assert one.scalars == other.scalars
            for f in fields(Record):
                if f.name not in ("scalars", "step", "time"):
                    assert getattr(one, f.name).tobytes() == getattr(other, f.name).tobytes()


def test_measurements_pictures_and_messages_go_by_numbers() -> None:
    sims = [hg.Simulation(case("hopper_2d")) for _ in range(2)]
    sims[1].sort(shuffled(sims[1]))
    for sim in sims:
        sim.run(90, progress=False)
    plain, other = sims
    assert other.model.id.tolist() != sorted(other.model.id)
    assert other.frame.id.tolist() == plain.frame.id.tolist() == sorted(other.model.id)
    close(other.frame.position, plain.frame.position, "position")
    for k, id in enumerate(other.model.id.tolist()):
        assert other.model.body_name(k) == f"grain {id}"
        assert np.array_equal(other.model.radius[k], other.exchange.everyone.radius[id])
    a, b = snapshot(other), snapshot(plain)
    for name in ("id", "radius", "mass", "position", "velocity", "force", "branch"):
        close(getattr(a, name), getattr(b, name), name)
    close(grain_field(a, "pressure").value, grain_field(b, "pressure").value, "pressure")
    assert a.row(int(a.id[4])) == 4
    cells = [hg.measure.quantities()["voronoi"].compute(snap) for snap in (a, b)]
    assert cells[0]["grain"].to_numpy().tolist() == cells[1]["grain"].to_numpy().tolist()
    close(cells[0]["volume"].to_numpy(), cells[1]["volume"].to_numpy(), "volume")


def test_a_contact_rule_sees_numbers() -> None:
    """What it sees, sides and order included, is the same; the laws that it chooses hold."""
    seen: list[list[hg.Candidates]] = [[], []]

    def simulation(k: int) -> hg.Simulation:
        def rule(c: hg.Candidates) -> Any:
            seen[k].append(c)
            sticky = (c.first * 7 + c.second) % 3 == 0
            return np.where(sticky & (c.normal[:, 0] > 0.0), c.row["rough"], c.by_material)

        made = scenario("box_2d")
        laws = [
            hg.ContactLaw(friction=0.1),
            hg.ContactLaw(friction=0.3, between=("soft", "grain")),
            hg.ContactLaw(friction=0.9, name="rough"),
        ]
        materials = {"grain": hg.Material(), "soft": hg.Material()}
        half = made.scene.grains[0].model_copy(update={"count": 30})
        grains = [
            half.model_copy(update={"place": hg.Loose(min=[0, 0], max=[8, 6]), "material": "soft"}),
            half.model_copy(update={"place": hg.Loose(min=[0, 6], max=[8, 12])}),
        ]
        scene = made.scene.model_copy(
            update={
                "contacts": laws, "contact_rule": rule, "grains": grains, "materials": materials
            }
        )  # fmt: skip
        return hg.Simulation(scene, dt=0.02, solver=hg.Jacobi(sweeps=20, relaxation=0.2), seed=5)

    plain, other = simulation(0), simulation(1)
    other.sort(shuffled(other))
    for sim in (plain, other):
        sim.run(70, progress=False)
    assert any(len(c) for c in seen[0])
    for one, two in zip(*seen, strict=True):
        assert (one.first < one.second).all()
        for name in ("first", "second", "feature", "normal", "gap", "position", "width", "wall",
                     "group_first", "group_second", "by_material"):  # fmt: skip
            a, b = getattr(one, name), getattr(two, name)
            if name == "wall":
                assert a.tolist() == b.tolist()
            else:
                close(b, a, name)
    close(snapshot(other).laws, snapshot(plain).laws, "laws")
    close(other.frame.velocity, plain.frame.velocity, "velocity")


# ---------------------------------------------------------------------- contacts and orders
@pytest.mark.parametrize("dim", [2, 3])
def test_contacts_are_turned_with_their_bodies(dim: int) -> None:
    """New numbers for all bodies and back again leave every bit; in between, sides are swapped."""
    chance, bodies, n, ns = np.random.default_rng(dim), 14, 12, 2 * dim - 3
    first, second = np.triu_indices(bodies, 1)
    some = np.flatnonzero((first < n) & (chance.random(first.size) < 0.4))
    m = some.size
    vectors = {name: chance.normal(size=(m, dim)) for name in ("normal", "impulse", "spring")}
    arms = {name: chance.normal(size=(m, dim)) for name in ("arm_first", "arm_second")}
    c = Contacts(
        first[some].astype(np.int32), second[some].astype(np.int32), gap=chance.normal(size=m),
        torque=chance.normal(size=(m, ns)), width=chance.random(m), roll=chance.random(m),
        law=chance.integers(9, size=m).astype(np.int32), **vectors, **arms,
    )  # fmt: skip
    new = np.append(chance.permutation(n), [n, n + 1]).astype(np.int32)
    back = np.argsort(new).astype(np.int32)
    seen = c.among(new)
    assert (seen.first < seen.second).all()
    assert (np.diff(seen.key(bodies)) > 0).all()
    where = {(i, j): k for k, (i, j) in enumerate(zip(c.first.tolist(), c.second.tolist()))}
    swapped = 0
    for k, pair in enumerate(zip(back[seen.first].tolist(), back[seen.second].tolist())):
        turned = pair not in where
        swapped += turned
        old, sign = where[pair[::-1] if turned else pair], -1.0 if turned else 1.0
        for name in ("normal", "impulse", "torque", "spring"):
            assert np.array_equal(getattr(seen, name)[k], sign * getattr(c, name)[old])
        ends = (c.arm_second, c.arm_first) if turned else (c.arm_first, c.arm_second)
        assert np.array_equal(seen.arm_first[k], ends[0][old])
        assert np.array_equal(seen.arm_second[k], ends[1][old])
        assert (seen.gap[k], seen.law[k]) == (c.gap[old], c.law[old])
    assert 0 < swapped < m
    again = seen.among(back)
    for f in fields(Contacts):
        assert getattr(again, f.name).tobytes() == getattr(c, f.name).tobytes(), f.name


def test_the_curve_keeps_neighbours_together() -> None:
    """On a square of 32 × 32 points in any order, quarters follow each other, and theirs again."""
    side = np.arange(32.0)
    x = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    x = np.random.default_rng(1).permutation(x)
    for shift in (0.0, 96.0):  # three periods
        along = x[along_curve(x + shift, Cell.straight(np.array([32.0, 0.0])))]
        for quarter in (256, 64, 16, 4):
            parts = along.reshape(-1, quarter, 2)
            assert np.ptp(parts, axis=1).max() == np.sqrt(quarter) - 1.0


def test_grains_are_sorted_along_a_curve_by_default() -> None:
    """Whatever their order before; grains that are not there yet come last."""
    sim = hg.Simulation(scenario("hopper_2d"))
    sim.sort()
    there, x = sim.frame.id, sim.frame.position
    order = there[along_curve(x, Cell.straight(sim.model.periodic))].tolist()
    assert sim.model.id.tolist() == order
    assert sim.exchange.order.tolist() == [*order, *range(there.size, sim.model.everyone)]
    sim.sort(shuffled(sim))
    assert sim.model.id.tolist() != order
    sim.sort()
    assert sim.model.id.tolist() == order


def test_an_exported_step_has_its_bodies_by_number(tmp_path: Path) -> None:
    forms = []
    for k in range(2):
        sim = hg.Simulation(case("box_2d"))
        if k:
            sim.sort(shuffled(sim))
        sim.run(120, output=tmp_path / f"{k}.h5", progress=False)
        forms.append(problem_of_step(tmp_path / f"{k}.h5", 120)[0])
    for name in ("mass", "h"):
        close(*(getattr(form, name).toarray() for form in forms[::-1]), name)
    for name in ("f", "w", "mu"):
        close(getattr(forms[1], name), getattr(forms[0], name), name)


@pytest.mark.parametrize("order", [[0, 1], [0] * 60, range(1, 61), [[*range(60)]]])
def test_an_order_has_every_grain_once(order: Any) -> None:
    sim = hg.Simulation(scenario("box_2d"))
    with pytest.raises(hg.InputError, match=r"order has .* every grain from 0 to 59 once"):
        sim.sort(order)


def test_a_file_refuses_an_order_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    sim = hg.Simulation(scenario("box_2d"))
    sim.sort()
    frame = sim.frame.record
    given: dict[str, Any] = {
        "header": {"scenario": sim.scenario.model_dump_json()},
        "model": {name: getattr(sim.exchange.everyone, name) for name in MODEL},
        "columns": ["step"],
        "wall_names": sim.model.wall_names,
        "scalars": [*frame.scalars],
        "order": True,
    }
    steps = StepRows(np.zeros((0, 1)), np.zeros((0, 3, 2)), np.zeros((0, 3)))
    with RunWriter.create(path, **given) as writer:
        writer.append(frame, steps, Contacts.none(2))
        writer.append(replace(frame, order=0 * frame.order), steps, Contacts.none(2))
    with RunFile(path) as run:
        assert run[0].record.order.tolist() == sim.model.id.tolist()
        with pytest.raises(hg.InputError, match="order of frame 1 does not have every grain once"):
            run[1]


def test_grains_are_sorted_before_a_run_is_written(tmp_path: Path) -> None:
    def late(sim: hg.Simulation, report: Any) -> None:
        if report.step == 5:
            sim.sort()

    sim = hg.Simulation(scenario("box_2d"))
    with pytest.raises(hg.RunError, match="sort them before the run begins"):
        sim.run(20, output=tmp_path / "run.h5", progress=late)
    with RunFile(tmp_path / "run.h5") as run:
        assert run[-1].step == 0
