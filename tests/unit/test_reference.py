"""Every field of a scenario is explained, in the terminal, on the page and in Python."""

import ast
import inspect
import pydoc
import re
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import reference
from hardgrain.core.fields import field_texts
from hardgrain.scene.drive import FUNCTIONS, compile_function

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"
TABLES = {entry.model.__name__: entry for entry in reference.tables()}
QUANTITY = re.compile(r"number|function of time|sizes|a number for each axis")


def test_the_page_in_the_repository_is_up_to_date():
    """To renew it: python -m hardgrain.cli.reference docs/scenario.md"""
    assert PAGE.read_text(encoding="utf-8") == reference.as_markdown()


@pytest.mark.parametrize("name", TABLES)
def test_no_field_is_without_meaning_unit_and_example(name):
    model = TABLES[name].model
    assert TABLES[name].about
    shown = reference.examples()[name]
    fields = field_texts(model)
    assert {f.name for f in fields} == set(model.model_fields) - {"kind"}
    for field in fields:
        assert field.meaning, f"{name}.{field.name} needs a comment that says what it is"
        assert any(field.name in one for one in shown), f"{name}.{field.name} in examples.toml"
        if QUANTITY.search(field.type) and name != "Table":
            assert field.unit, f"{name}.{field.name} needs its unit in [brackets], [1] for none"
    for one in shown:
        model.model_validate(one)


def test_a_page_without_a_cell_for_a_default_says_so_in_words():
    for entry in TABLES.values():
        for field in field_texts(entry.model):
            required = entry.model.model_fields[field.name].is_required()
            assert (field.default is None) == required


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("scenario", ["dt: number above 0", "must be given", "seed"]),
        ("scenario.contacts", ["[[scene.contacts]]", "friction = 0.5", "default 0.3", "[1]"]),
        ("scene.contacts.friction", ["Coulomb", "friction = 0.5"]),
        ("walls", ['kind = "plane"', 'kind = "box"', 'kind = "drum"']),
        ("walls.box", ['kind = "box"', "pistons"]),
        ("rigid", ['[solver] with kind = "rigid"', "tolerance"]),
        ("functions", [one.usage for one in FUNCTIONS.values()]),
    ],
)
def test_help_in_the_terminal(topic, words):
    said = reference.as_text(topic)
    for word in words:
        assert word in said
    assert max(map(len, said.splitlines())) <= 100


def test_help_suggests_what_was_meant():
    with pytest.raises(hg.InputError, match=r"no help on 'scenario\.contcats'; did you mean"):
        reference.as_text("scenario.contcats")


@pytest.mark.parametrize("one", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_functions_do_what_their_usage_says(one):
    call = ast.parse(one.usage.replace(", …", ""), mode="eval").body
    assert one.least <= len(call.args) <= one.most
    value = compile_function(f"{call.func.id}({', '.join('123'[: len(call.args)])})")(0.0)
    assert np.isfinite(value)


# ---------------------------------------------------------------------- in Python
def test_help_in_python_can_be_read():
    said = pydoc.plain(pydoc.render_doc(hg.Grains))
    assert "Annotated" not in said
    assert "how many grains the set has" in said
    below = said[said.index("A set of grains") :]  # Python 3.13 gives each argument a line above it
    assert len(below.splitlines()) < 70
    assert "Annotated" not in str(inspect.signature(hg.Scene))


def test_a_field_that_cannot_be_changed_says_how_to_get_another():
    material = hg.Material(density=2.0)
    with pytest.raises(hg.InputError, match=r"density of a Material cannot be .* changed\(density"):
        material.density = 3.0
    with pytest.raises(hg.InputError, match="Material has no field 'colour'; it has density"):
        material.colour = "red"
    assert material.changed(density=3.0) == hg.Material(density=3.0)
    with pytest.raises(hg.InputError, match=r"density is -1\.0; give a number greater than 0"):
        material.changed(density=-1.0)


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[hg.Grains(count=200, place=hg.Grid(min=[0, 0], max=[30, 30]))],
        walls=[hg.Box(min=[0, 0], max=[30, 30])],
    )
    sim = hg.Simulation(scene, dt=0.01)
    sim.path = tmp_path_factory.mktemp("repr") / "a.h5"
    sim.summary = sim.run(3, output=sim.path)
    return sim


def test_what_is_printed_fits_a_screen(sim):
    with hg.RunFile(sim.path) as run:
        things = [sim, sim.state, sim.model, sim.state.contacts, sim.summary, run, run[-1],
                  run[-1].walls["left"], run.contacts(-1), hg.measure.Snapshot]  # fmt: skip
        for thing in things:
            assert len(repr(thing)) < 3000
        assert "2 frames, step 0 to 3" in repr(run)
    assert "200 grains, 4 walls, step 3" in repr(sim)
    assert "position=<204 × 2 float64>" in repr(sim.state)
    assert repr(run).endswith("closed>")


def test_notebooks_get_tables(sim):
    with hg.RunFile(sim.path) as run:
        for thing in (sim.state, run[-1], run.contacts(-1), sim.summary):
            page = thing._repr_html_()
            assert page.count("<table>") == page.count("</table>") == 1
            assert len(page) < 8000
    assert "204 × 2 float64" in sim.state._repr_html_()
    assert "before the step" in sim.state.contacts._repr_html_()


def test_a_file_that_exists_says_how_to_replace_it_in_python(sim):
    with pytest.raises(hg.InputError, match="in Python overwrite=True"):
        hg.Simulation(sim.scenario).run(3, output=sim.path)
