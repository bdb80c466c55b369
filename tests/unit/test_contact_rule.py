"""A law for each contact by a rule of the user's, against the same laws by materials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core import lawtable
from hardgrain.io.verify import Damaged, check_contacts
from hardgrain.measure.snapshot import snapshot

FRICTION = {"smooth": 0.1, "mixed": 0.3, "rough": 0.6}


def heap(dim: int = 2, names: tuple[str, str] = ("grain", "grain"), **more: Any) -> hg.Scene:
    """Two sets of grains that fall onto a floor."""
    wide = 3.0 if dim == 2 else 1.5
    low, high = [-wide] * (dim - 1) + [0.6], [wide] * (dim - 1) + [7.0]
    sets = [
        hg.Grains(
            count=20, diameter=hg.Uniform(min=0.8, max=1.2), material=name,
            place=hg.Loose(min=low, max=high),
        )
        for name in names
    ]  # fmt: skip
    low[-1], high[-1] = 7.5, 14.0
    sets[1] = sets[1].changed(place=hg.Loose(min=low, max=high))
    up = [0.0] * (dim - 1) + [1.0]
    return hg.Scene(
        dimension=dim,
        gravity=[-g for g in up],
        grains=sets,
        walls=[hg.Plane(name="floor", point=[0.0] * dim, normal=up, material=names[0])],
        **more,
    )


def by_materials(dim: int = 2) -> hg.Scene:
    pairs = {"smooth": ("a", "a"), "mixed": ("a", "b"), "rough": ("b", "b")}
    return heap(
        dim,
        ("a", "b"),
        materials={"a": hg.Material(), "b": hg.Material()},
        contacts=[hg.ContactLaw(between=pairs[name], friction=mu) for name, mu in FRICTION.items()],
    )


def by_set(contacts: hg.Candidates) -> Any:
    """The floor counts as one of the first set."""
    second = np.where(contacts.wall == "floor", 0, contacts.group_second)
    kinds = np.array([contacts.row[name] for name in FRICTION])
    return kinds[contacts.group_first + second]


def by_rule(dim: int = 2, rule: Any = by_set, **more: Any) -> hg.Scene:
    laws = [hg.ContactLaw(name=name, friction=mu) for name, mu in FRICTION.items()]
    return heap(dim, contacts=[hg.ContactLaw(friction=0.9), *laws], contact_rule=rule, **more)


def simulation(scene: hg.Scene, solver: Any = None) -> hg.Simulation:
    return hg.Simulation(scene, dt=0.02, solver=solver or hg.GaussSeidel(sweeps=30), seed=3)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_rule_that_says_what_materials_say_gives_the_same_bits(dim: int) -> None:
    # Jacobi's update, so that the same compiled code solves both: without a rule, sweeps of
    # Gauss–Seidel are made many steps at one go, and round differently.
    solver = hg.Jacobi(sweeps=100)
    one = simulation(by_materials(dim), solver=solver)
    other = simulation(by_rule(dim), solver=solver)
    assert one.model.lean
    assert other.model.lean
    seen: set[float] = set()
    for _ in range(300):
        one.step()
        other.step()
        seen |= set(snapshot(one).friction)
        np.testing.assert_array_equal(snapshot(one).laws, snapshot(other).laws)
    assert seen == set(FRICTION.values())
    for name in ("position", "velocity", "spin"):
        np.testing.assert_array_equal(getattr(one.state, name), getattr(other.state, name))
    np.testing.assert_array_equal(one.state.contacts.impulse, other.state.contacts.impulse)


def test_without_a_rule_there_are_no_other_laws() -> None:
    model, _ = by_materials().build(seed=1)
    assert model.rule is None
    np.testing.assert_array_equal(model.law_table, model.laws.reshape(4, -1))


def test_a_file_keeps_the_law_of_each_contact_and_a_run_goes_on_from_it(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    sim = simulation(by_rule())
    sim.run(until=220, output=whole, every=20, progress=False)
    simulation(by_rule()).run(until=100, output=part, every=20, progress=False)
    with pytest.raises(hg.InputError, match=r"'by_set' was given in Python and is not stored"):
        hg.Simulation.resume(part, until=220, progress=False)
    hg.Simulation.resume(part, until=220, scene=by_rule(), progress=False)
    now = snapshot(sim)
    assert set(now.friction) == set(FRICTION.values())
    with hg.RunFile(whole) as one, hg.RunFile(part) as other:
        np.testing.assert_array_equal(one[-1].position, other[-1].position)
        for run in (one, other):
            stored = snapshot(run)
            np.testing.assert_array_equal(stored.laws, now.laws)
            np.testing.assert_array_equal(stored.contacts.law, now.contacts.law)
            np.testing.assert_array_equal(stored.whole.mass, now.model.mass)
        odd = stored.state.contacts
        odd.law[-1] = len(now.model.law_table)
        with pytest.raises(Damaged, match="laws that do not exist"):
            check_contacts(odd, other._layout, len(now.model.law_table))


def test_a_start_keeps_laws_from_its_first_frame_on(tmp_path: Path) -> None:
    old, new = tmp_path / "old.h5", tmp_path / "new.h5"
    simulation(by_rule()).run(until=200, output=old, every=200, progress=False)
    scenario = hg.Scenario(
        dt=0.02, seed=3, scene=by_rule(), start={"file": str(old)}, solver=hg.GaussSeidel(sweeps=30)
    )
    hg.Simulation(scenario).run(until=1, output=new, progress=False)
    with hg.RunFile(old) as before, hg.RunFile(new) as after:
        np.testing.assert_array_equal(snapshot(after, 0).laws, snapshot(before).laws)


def test_a_rule_sees_the_numbers_that_grains_keep() -> None:
    """The first set is taken out at once, which leaves the numbers of the others as they were."""
    seen: list[Any] = []

    def rule(contacts: hg.Candidates) -> Any:
        seen.append(contacts)
        return contacts.by_material

    shelf = hg.Segment(name="shelf", start=[-9.0, 7.3], end=[9.0, 7.3])
    scene = by_rule(
        rule=rule,
        regions={"below": hg.BlockRegion(min=[-9.0, 0.0], max=[9.0, 7.2])},
        remove=[hg.Remove(entering="below")],
    )
    sim = simulation(scene.changed(walls=[*scene.walls, shelf]))
    while not seen:
        sim.step()
    shown = seen[0]
    assert len(shown) > 0
    assert shown.first.min() >= 20
    assert (shown.group_first == 1).all()
    assert (shown.wall[shown.second == 41] == "shelf").all()
    assert (shown.second == 41).any()
    with pytest.raises(ValueError, match="read-only"):
        shown.gap[0] = 0.0


def test_named_cohesion_is_carried_by_the_full_path() -> None:
    """Whether a scene may take the fast path is asked of all its laws."""
    laws = [hg.ContactLaw(friction=0.9), hg.ContactLaw(name="sticky", cohesion=1.0)]
    model, _ = heap(contacts=laws, contact_rule=by_set).build(seed=1)
    assert not model.lean
    assert model.law_table[-1, lawtable.COHESION] == 1.0


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda c: c.by_material[:-1], r"shape \(\d+,\) for \d+ contacts"),
        (lambda c: c.row["smooth"], r"shape \(\) for \d+ contacts"),
        (lambda c: c.by_material * 1.0, "returned float64; rows of laws are integers"),
        (lambda c: c.by_material + 4, "returned the row 4; there are the rows 0 to 3"),
        (lambda c: c.by_material - 1, "returned the row -1"),
        (lambda c: c.row["wet"] + c.by_material, "failed: KeyError: 'wet'"),
    ],
)
def test_a_wrong_answer_ends_the_run_with_a_sentence(rule: Any, words: str) -> None:
    sim, name = simulation(by_rule(rule=rule)), r"scene\.contact_rule, the function .*<lambda>.*"
    with pytest.raises(hg.RunError, match=name + words):
        sim.run(until=100, progress=False)


def test_input_that_makes_no_sense_is_refused() -> None:
    named = [hg.ContactLaw(name="wet")]
    for more, words in (
        ({"contacts": named}, "'wet', which nothing chooses"),
        ({"contact_rule": by_set}, "has a name that it could choose"),
        ({"contacts": named * 2, "contact_rule": by_set}, "two laws named 'wet'"),
    ):
        with pytest.raises(hg.InputError, match=words):
            heap(**more).build(seed=1)
    with pytest.raises(hg.InputError, match=r"contact_rule is 3; give a Python function"):
        heap(contact_rule=3)
    with pytest.raises(hg.InputError, match="name is 'wet' and between is given"):
        hg.ContactLaw(name="wet", between=("grain", "grain"))
    with pytest.raises(hg.InputError, match=r"scene\.contact_rule must be left out"):
        hg.Simulation(by_rule(), dt=0.02, engine=hg.SoftParticles(stiffness=1e4))


def test_a_named_law_reaches_as_far_as_its_range() -> None:
    """Two grains that part are held across a gap that only a law chosen by the rule can bridge."""
    sets = [
        hg.Grains(place=hg.At(positions=[[0.0, 0.0]])),
        hg.Grains(place=hg.At(positions=[[1.05, 0.0]]), velocity=[0.01, 0.0]),
    ]
    sticky = {"cohesion": 1.0, "cohesion_range": 0.1}
    ends = []
    for more in (
        {"contacts": [hg.ContactLaw(**sticky)]},
        {
            "contacts": [hg.ContactLaw(name="sticky", **sticky)],
            "contact_rule": lambda c: np.full(len(c), c.row["sticky"]),
        },
    ):
        sim = simulation(hg.Scene(grains=sets, **more), solver=hg.Jacobi(sweeps=100))
        for _ in range(10):
            sim.step()
        ends.append(sim.state.velocity)
    np.testing.assert_array_equal(*ends)
    assert ends[0][1, 0] < 0.01
