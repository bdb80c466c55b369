"""The rigid solver from the command line: chosen by one word, refused in one sentence."""

import json
import tomllib
from pathlib import Path

import pytest

import hardgrain as hg
from hardgrain.io.runfile import RunFile
from hardgrain.run.scenario import parse

from .test_errors import refused

pytestmark = pytest.mark.rounding

BASE = (Path(__file__).parent / "scenario.toml").read_text()
RIGID = BASE.replace("[solver]\nsweeps = 20", '[solver]\nkind = "rigid"')
BY_NAME = 'solver = "rigid"\n' + BASE.replace("[solver]\nsweeps = 20\n", "")


def with_law(text: str, dim: int = 2) -> str:
    """The rigid scenario with one more law."""
    changed = RIGID.replace("friction = 0.3", f"friction = 0.3\n{text}")
    if dim == 3:
        changed = changed.replace("[scene]", "[scene]\ndimension = 3")
        for flat, deep in (("[0, -1]", "[0, 0, -1]"), ("[0, 0]", "[0, 0, 0]")):
            changed = changed.replace(flat, deep)
        changed = changed.replace("max = [6, 8]", "max = [6, 6, 8]")
    return changed


REFUSED = {
    "dynamic": (
        with_law("friction_dynamic = 0.2"),
        ["scene.contacts[0].friction_dynamic is 0.2", "rigid solver", "gauss-seidel"],
    ),
    "dynamic zero": (
        with_law("friction_dynamic = 0.0"),
        ["scene.contacts[0].friction_dynamic is 0", "rigid solver", "gauss-seidel"],
    ),
    "no such solver": (
        RIGID.replace('"rigid"', '"rigit"'),
        ["solver.kind is 'rigit'", "did you mean 'rigid'?"],
    ),
    "no such name": (
        BY_NAME.replace('"rigid"', '"rigit"'),
        ["solver.kind is 'rigit'", "did you mean 'rigid'?"],
    ),
    "no tolerance": (
        RIGID.replace('kind = "rigid"', 'kind = "rigid"\ntolerance = 0'),
        ["solver.tolerance is 0", "greater than 0"],
    ),
    "tolerance one": (
        RIGID.replace('kind = "rigid"', 'kind = "rigid"\ntolerance = 1.0'),
        ["solver.tolerance is 1", "less than 1"],
    ),
    "tolerance as text": (
        RIGID.replace('kind = "rigid"', 'kind = "rigid"\ntolerance = "small"'),
        ["solver.tolerance is 'small'", "a number"],
    ),
    "an order": (
        RIGID.replace('kind = "rigid"', 'kind = "rigid"\norder = "random"'),
        ["solver.order is 'random'", "give 'sequential' or 'tiles'"],
    ),
    "nothing unbalanced": (
        RIGID.replace('kind = "rigid"', 'kind = "rigid"\nunbalanced = 0'),
        ["solver.unbalanced is 0", "greater than 0"],
    ),
    "unbalanced sweeps": (
        BASE.replace("sweeps = 20", "sweeps = 20\nunbalanced = 0.1"),
        ["unbalanced", "'residual'"],
    ),
    "a number": ("solver = 3\n" + BASE.replace("[solver]\nsweeps = 20\n", ""), ["solver", "3"]),
}


@pytest.mark.parametrize("command", ["run", "advise"])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence_before_the_run(hardgrain, scenario, name, command):
    text, words = REFUSED[name]
    scenario.write_text(text)
    refused(hardgrain(command, scenario), *words)
    assert not list(Path().glob("*.h5"))


@pytest.mark.parametrize(
    ("text", "dim"), [("rolling = 0.1", 2), ("rolling = 0.1\ntorsion = 0.2", 3)]
)
def test_resistance_to_rolling_and_torsion_is_carried(hardgrain, scenario, text, dim):
    scenario.write_text(with_law(text, dim))
    assert hardgrain("run", scenario).code == 0
    with RunFile("test.h5") as file:
        assert file.history["residual"].max() <= 1e-6
        assert file.history["converged"].all()


@pytest.mark.parametrize("text", ["rolling = 0.0", "torsion = 0.0", "friction_dynamic = 0.3"])
def test_a_law_that_changes_nothing_is_none(hardgrain, scenario, text):
    scenario.write_text(with_law(text))
    assert hardgrain("run", scenario).code == 0


def test_by_name_or_as_a_table():
    assert parse(tomllib.loads(RIGID)).solver == parse(tomllib.loads(BY_NAME)).solver
    assert parse(tomllib.loads(BASE)).solver.kind == "gauss-seidel"


@pytest.mark.parametrize("law", ["", "rolling = 0.1", "friction = 0.3\nfriction_dynamic = 0.2"])
def test_without_a_solver_grains_are_rigid(law):
    """Whoever gives none has steps that converge, finely enough for the longest wave."""
    data = tomllib.loads(BASE)
    del data["solver"]
    data["scene"]["contacts"] = [tomllib.loads(law)]
    solver = parse(data).solver
    assert solver.kind == ("gauss-seidel" if law else "rigid")
    assert solver.adaptive
    assert solver.leaves <= 1e-4
    summary = hg.Simulation(parse(data)).run(200, progress=False)
    assert summary.loose == summary.capped == 0
    assert summary.rigidity.rigid


def test_without_a_solver_spheres_are_swept():
    """The rigid solver would need seconds for each step of spheres in dense flow."""
    solver = hg.Scenario(scene=hg.Scene(dimension=3), dt=0.1).solver
    assert (solver.kind, solver.stop) == ("gauss-seidel", "residual")


def test_run_says_rigid(hardgrain, scenario):
    scenario.write_text(RIGID.replace("steps = 30", "steps = 400"))
    result = hardgrain("run", scenario)
    assert result.code == 0, result.err
    whole = result.out.replace("\n" + 13 * " ", " ")  # long lines are broken
    lines = {line.split(":")[0]: line for line in whole.splitlines()}
    assert "rigid solver, tolerance 1e-06" in lines["converged?"]
    assert lines["converged?"].split()[1] == "yes:"
    assert lines["rigid?"].split()[1] == "yes:"
    assert "every force reached all contacts within its step" in lines["rigid?"]
    assert "softness" not in lines
    assert "warning" not in lines
    assert "l_diff" not in result.out


def test_the_run_file_knows(hardgrain, scenario):
    scenario.write_text(RIGID.replace("steps = 30", "steps = 400"))
    assert hardgrain("run", scenario).code == 0
    with RunFile("test.h5") as file:
        assert file.history["residual"].max() <= 1e-6
        assert file.history["converged"].all()
    result = hardgrain("info", "test.h5")
    assert result.code == 0, result.err
    assert "rigid solver, tolerance 1e-06" in result.out
    facts = json.loads(hardgrain("info", "test.h5", "--json").out)
    assert facts["solver"]["kind"] == "rigid"
    assert facts["solver"]["tolerance"] == 1e-6
    assert facts["last"]["worst_overlap"] < 1e-6


def test_a_miss_is_told_and_may_be_an_error(hardgrain, scenario):
    """One sweep, and a tolerance below rounding."""
    hopeless = RIGID.replace('"rigid"', '"rigid"\nsweeps = 1\ntolerance = 1e-300')
    for old, new in (
        ("count = 12", "count = 20"),
        ("[6, 8]", "[6, 14]"),
        ("[0, -1]", "[0, -10]"),
        ("steps = 30", "steps = 150"),
    ):
        hopeless = hopeless.replace(old, new)
    scenario.write_text(hopeless)
    result = hardgrain("run", scenario)
    assert result.code == 0, result.err
    assert "steps missed it" in result.out
    scenario.write_text(hopeless.replace("[stop]", 'on_cap = "error"\n[stop]'))
    result = hardgrain("run", scenario, "-o", "again.h5")
    assert result.code == 1
    assert "not converged: residual" in result.err
    assert "on_cap" in result.err


def test_advice(hardgrain, scenario):
    scenario.write_text(RIGID)
    result = hardgrain("advise", scenario)
    assert result.code == 0, result.err
    assert "rigid" in result.out
    assert "l_diff" not in result.out
    facts = json.loads(hardgrain("advise", scenario, "--json").out)
    assert facts["rigid"] is True
    # the same box by a few sweeps is another matter
    soft = BASE.replace("sweeps = 20", "sweeps = 1").replace("steps = 30", "steps = 400")
    scenario.write_text(soft)
    assert json.loads(hardgrain("advise", scenario, "--json").out)["rigid"] is not True
