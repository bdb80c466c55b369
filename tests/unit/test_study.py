"""What a study is: its points, their names and seeds, its folder and its index, its table."""

from __future__ import annotations

import builtins
import io
import json
import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.parallel import as_worker, pmap, shared_out
from hardgrain.study.collect import collect, rows, write_table
from hardgrain.study.folder import Folder
from hardgrain.study.plot import draw_study, read_table
from hardgrain.study.points import canonical, points_of
from hardgrain.study.row import write_workflow
from hardgrain.study.slurm import share_of
from hardgrain.study.spec import Plan, read_plan
from hardgrain.study.work import work

SCENARIO: dict[str, Any] = {
    "dt": 0.01,
    "stop": {"steps": 6},
    "output": {"every": 3, "durable": False},
    "solver": {"sweeps": 5},
    "scene": {
        "gravity": [0, -1],
        "contacts": [{"friction": 0.3}],
        "grains": [{"count": 4, "diameter": 1.0,
                    "place": {"kind": "loose", "min": [0, 0], "max": [4, 4]}, "speed": 1.0}],
        "walls": [{"kind": "box", "min": [0, 0], "max": [4, 4]}],
    },
}  # fmt: skip
FRICTION = {"field": "scene.contacts.0.friction", "min": 0.1, "max": 0.5, "count": 3}


def tables(**more: Any) -> dict[str, Any]:
    return {"scenario": SCENARIO, "parameters": {"friction": FRICTION}, **more}


def plan(**more: Any) -> Plan:
    return read_plan(tables(**more))


# ---------------------------------------------------------------------- points
def test_a_grid_has_all_combinations() -> None:
    two = {"friction": FRICTION, "steps": {"field": "stop.steps", "values": [6, 9]}}
    found = list(points_of(plan(parameters=two, seeds=2)))
    assert len({point.key for point in found}) == len(found) == 3 * 2 * 2
    values = {(p.values["friction"], p.values["steps"], p.number) for p in found}
    assert values == {(mu, n, k) for mu in (0.1, 0.3, 0.5) for n in (6, 9) for k in (0, 1)}
    seeds = {point.seed for point in found}
    assert len(seeds) == len(found)
    assert all(seed is not None and 0 <= seed < 2**63 for seed in seeds)


def test_a_point_does_not_depend_on_the_others() -> None:
    """Neither on how many there are, nor on the order or the names of the parameters."""
    steps = {"field": "stop.steps", "values": [6, 9]}
    one = points_of(plan(parameters={"friction": FRICTION, "steps": steps}, seeds=2))
    other = points_of(
        plan(
            parameters={
                "n": {"field": "stop.steps", "values": [3, 9, 6]},
                "mu": {"field": "scene.contacts.0.friction", "values": [0.5, 0.3, 0.1, 0.2]},
            },
            seeds=5,
        )
    )
    known = {point.key: point.seed for point in other}
    assert all(known[point.key] == point.seed for point in one)
    assert len(known) == 60
    assert not {p.key for p in points_of(plan(seed=1))} & {p.key for p in points_of(plan())}


def test_canonical_json_is_one_for_equal_values() -> None:
    assert canonical({"b": 1.0, "a": [2, 0.5]}) == canonical({"a": (2.0, 0.5), "b": 1})
    assert canonical(1) != canonical(True)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"min": 0.05, "max": 0.6, "count": 12}, [0.05 * k for k in range(1, 13)]),
        ({"min": 1, "max": 100, "count": 3, "scale": "log"}, [1, 10, 100]),
        ({"min": 2, "max": 9, "count": 2, "whole": True}, [2, 9]),
        ({"min": 3.5, "max": 8, "count": 1}, [3.5]),
    ],
)
def test_values_of_a_range(given: dict[str, Any], values: list[float]) -> None:
    parameter = Plan.model_validate({"scenario": "x", "parameters": {"a": given}}).parameters["a"]
    assert parameter.steps() == pytest.approx(values, rel=1e-12)
    assert [repr(v) for v in parameter.steps()[:3]] == [
        repr(type(v)(f"{v:.6g}")) for v in parameter.steps()[:3]
    ]


def drawn(design: str, count: int, **friction: Any) -> list[float]:
    one = {"field": "scene.contacts.0.friction", "min": 0.0, "max": 2.0} | friction
    found = points_of(plan(parameters={"friction": one}, design=design, points=count))
    return [point.values["friction"] for point in found]


def test_a_latin_hypercube_has_one_point_in_each_slice() -> None:
    values = np.array(drawn("latin-hypercube", 20))
    assert sorted((values / 0.1).astype(int)) == list(range(20))


def test_random_points_stay_when_more_are_added() -> None:
    assert drawn("random", 30)[:20] == drawn("random", 20)
    low, high = 0.01, 1.0
    logs = np.log(drawn("random", 2000, min=low, max=high, scale="log"))
    # the mean of a uniform logarithm, within four times its error
    spread = math.log(high / low) / math.sqrt(12 * 2000)
    assert logs.mean() == pytest.approx(0.5 * math.log(high * low), abs=4 * spread)


def test_drawn_whole_numbers_and_words_have_equal_shares() -> None:
    """Each of n choices is drawn in a share 1/n, within four standard deviations."""
    count = 1200
    one = {"steps": {"field": "stop.steps", "min": 4, "max": 6, "whole": True},
           "solver": {"field": "solver.order", "values": ["random", "sequential"]}}  # fmt: skip
    found = [p.values for p in points_of(plan(parameters=one, design="random", points=count))]
    for name, choices in (("steps", [4, 5, 6]), ("solver", ["random", "sequential"])):
        for choice in choices:
            n = sum(values[name] == choice for values in found)
            share = 1 / len(choices)
            assert abs(n - share * count) < 4 * math.sqrt(count * share * (1 - share))
    keys = {p.key for p in points_of(plan(parameters=one, design="random", points=count))}
    assert len(keys) == count  # though combinations come more than once


REFUSED = {
    "scene.contacts.0.frction": "parameters.friction: scene.contacts[0].frction is not a known key; did you mean 'friction'?",  # noqa: E501
    "scene.contacts.3.friction": "scene.contacts has 1 entries, numbered from 0; it has no '3'",
    "sceen.dt": "sceen is not a known key; did you mean 'scene'?",
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_field_that_the_scenario_lacks_is_refused(field: str) -> None:
    with pytest.raises(hg.InputError) as told:
        plan(parameters={"friction": FRICTION | {"field": field}})
    assert REFUSED[field].removeprefix("parameters.friction: ") in str(told.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"values": []}, "values is an empty list"),
        ({"min": 0.5, "max": 0.1, "count": 3}, "min is 0.5, above max, 0.1: the range is empty"),
        ({"min": 0.5}, "give values, or min and max"),
        ({"min": 0.1, "max": 0.5}, "parameters.friction.count is missing"),
        ({"min": 0.0, "max": 0.5, "count": 3, "scale": "log"}, "greater than 0"),
        ({"min": 0.1, "max": 0.5, "count": 0}, "count is 0; give a number of at least 1"),
        ({"values": [0.1, 0.2, 0.1]}, "takes the value 0.1 twice"),
        ({"values": [0.1], "min": 0.0}, "give one or the other"),
        ({"values": [0.1, -3]}, "parameters.friction: scene.contacts[0].friction is -3"),
        ({"valeus": [0.1]}, "did you mean 'values'?"),
    ],
)
def test_values_that_are_none_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(hg.InputError) as told:
        plan(parameters={"friction": {"field": FRICTION["field"], **changes}})
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"design": "random"}, "points is missing"),
        ({"points": 5}, "design 'grid' has all combinations"),
        ({"design": "random", "points": 5}, "only a grid has a count"),
        ({"seeds": 0}, "seeds is 0; give a number of at least 1"),
        ({"parameters": {}}, "a single run"),
        (
            {"parameters": {"a": {"field": "seed", "values": [1, 2]}}, "seeds": 2},
            "gives the seeds itself",
        ),
        ({"parameters": {"a": FRICTION, "b": FRICTION}}, "both change scene.contacts.0.friction"),
        ({"parameters": {"runs": FRICTION}}, "parameters.runs cannot have this name"),
        ({"parameters": {"a": FRICTION | {"count": 10**6}}, "seeds": 10**6}, "more than 10000000"),
        ({"scenario": "nowhere.toml"}, "nowhere.toml does not exist; give a scenario file"),
        ({"colour": 3}, "colour is not a known key"),
    ],
)
def test_a_study_that_is_none_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(hg.InputError) as told:
        plan(**changes)
    assert words in str(told.value)


def test_a_scenario_is_no_study_and_functions_cannot_travel() -> None:
    with pytest.raises(hg.InputError, match="this is a scenario, not a study"):
        read_plan(SCENARIO)
    scene = hg.Scene(
        grains=[hg.Grains(count=1, place=hg.At(positions=[[0, 0]]))],
        walls=[hg.Plane(point=[0, -1], normal=[0, 1], velocity=[0, lambda t: t])],
    )
    scenario = hg.Scenario(scene=scene, dt=0.1, stop={"steps": 1})
    with pytest.raises(hg.InputError, match="a function that was given in Python"):
        read_plan({"scenario": scenario, "seeds": 2})


# ---------------------------------------------------------------------- the folder
@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A study of six runs, all but the last of which are done."""
    folder = Folder.begin(tmp_path_factory.mktemp("studies") / "one", plan(seeds=2), Path())
    for point in [*folder.points.values()][:-1]:
        assert work(folder, point).state == "done"
    return folder


def test_a_claim_is_of_one_process_and_ends_with_it(tmp_path: Path) -> None:
    folder = Folder.begin(tmp_path / "study", plan(), Path())
    key, *_ = folder.points
    script = (
        "import sys; from hardgrain.study.folder import Folder\n"
        "with Folder.opened(sys.argv[1]).claimed(sys.argv[2]) as mine:\n"
        "    print(mine, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(folder.path), key]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "True\n"
        assert folder.running(key)
        assert work(folder, folder.points[key]).state == "busy"
        folder.note(key, "begun")
        assert (folder.status().running, folder.status().left) == (1, 2)
        other.kill()
    assert not folder.running(key)
    assert (folder.status().running, folder.status().broken) == (0, 1)
    assert str(folder.status()) == "0 of 3 points done, 3 to do, 1 of them broken off"
    assert folder.to_do()[0] == key
    with folder.claimed(key) as mine:
        assert mine
    assert not (folder.of(key) / "claim").exists()


def test_a_point_that_is_done_but_not_in_the_index_is_found(finished: Folder) -> None:
    """As after a kill between the last file and its line; and half a line harms nobody."""
    text = finished.index.read_bytes()
    key = next(iter(finished.points))
    kept = [line for line in text.splitlines() if key.encode() not in line]
    try:
        finished.index.write_bytes(b"\n".join(kept) + b'\n{"point": "' + key.encode()[:5])
        assert finished.to_do()[0] == key
        written = (finished.of(key) / "run.h5").stat().st_mtime_ns
        assert work(finished, finished.points[key]).state == "done"
        assert (finished.of(key) / "run.h5").stat().st_mtime_ns == written
        assert len(finished.to_do()) == 1
        finished.index.unlink()
        assert finished.status().done == 0
        finished.rebuild()
        assert finished.status().done == 5
    finally:
        finished.index.write_bytes(text)


def test_what_fails_is_told_skipped_and_tried_again(tmp_path: Path) -> None:
    """Grains that find no room: known only when the scene is built."""
    crowd = {"count": {"field": "scene.grains.0.count", "values": [4, 4000]}}
    folder = Folder.begin(tmp_path / "study", plan(parameters=crowd), Path())
    good, bad = folder.points.values()
    assert work(folder, good).state == "done"
    for retry in (False, True, False):
        outcome = work(folder, bad, retry=retry)
        assert outcome.state == "failed"
        assert "4000" in outcome.why
    assert "\n" not in outcome.why
    assert (folder.status().failed, folder.status().left) == (1, 0)
    assert folder.to_do() == []
    assert folder.to_do(retry=True) == [bad.key]
    assert json.loads((folder.of(bad.key) / "failed.json").read_text())["why"] == outcome.why


def test_a_study_may_grow_but_not_change(tmp_path: Path) -> None:
    path = tmp_path / "study"
    first = Folder.begin(path, plan(seeds=2), Path())
    key, *_ = first.points
    first.of(key).mkdir()
    (first.of(key) / ".1f.part.json").touch()  # as a worker leaves that was killed
    work(first, first.points[key])
    assert {p.name for p in first.of(key).iterdir()} == {"run.h5", "scenario.toml", "summary.json"}
    assert Folder.begin(path, plan(seeds=2, title="another name"), Path()).status().done == 1
    more = Folder.begin(path, plan(seeds=3), Path())
    assert (more.status().points, more.status().done, len(more.to_do())) == (9, 1, 8)
    assert Folder.opened(path).points.keys() == more.points.keys()
    with pytest.raises(hg.InputError, match=r"3 of its 9 points are no longer part of it"):
        Folder.begin(path, plan(seeds=2), Path())
    with pytest.raises(hg.InputError, match=r"dt is 0.02 and was 0.01"):
        Folder.begin(path, plan(seeds=3, set={"dt": 0.02}), Path())
    with pytest.raises(hg.InputError, match=r"scene.walls\[0\].max\[1\] is 5 and was 4"):
        Folder.begin(path, plan(seeds=3, set={"scene.walls.0.max": [4, 5]}), Path())
    assert Folder.opened(path).status().points == 9


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(hg.InputError, match=r"not the folder of a study: it holds photo.jpg"):
        Folder.begin(tmp_path, plan(), Path())
    assert [p.name for p in tmp_path.iterdir()] == ["photo.jpg"]
    with pytest.raises(hg.InputError, match="is not the folder of a study"):
        Folder.opened(tmp_path)
    with pytest.raises(hg.InputError, match="does not exist"):
        Folder.opened(tmp_path / "nowhere")
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(hg.InputError, match=r"study.json is damaged"):
        Folder.opened(tmp_path)


MANY = 100_000


def test_a_hundred_thousand_points_are_known_from_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done and what is to do takes no look into any folder, only into those to be run."""
    few = plan(seeds=10)
    many = few.parameters["friction"].changed(count=MANY // 10)
    wide = few.model_copy(update={"parameters": {"friction": many}})  # no value is tried
    folder = Folder.begin(tmp_path / "study", wide, Path())
    keys = list(folder.points)
    assert len(keys) == MANY
    lines = [f'{{"point": "{key}", "state": "done", "seconds": 2}}' for key in keys[:-3]]
    folder.index.write_text("\n".join(lines))
    touched: list[str] = []

    def spied(f: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            touched.append(str(path))
            return f(path, *arguments, **options)

        return call

    for module, name in (
        (os, "stat"), (os, "open"), (os, "listdir"), (os, "scandir"), (io, "open"),
        (builtins, "open"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, spied(getattr(module, name)))
    again = Folder.opened(folder.path)
    status = again.status()
    assert (status.points, status.done, status.left) == (MANY, MANY - 3, 3)
    assert status.seconds == 2.0
    assert again.to_do() == keys[-3:]
    inside = [path for path in touched if "/points" in path]
    assert not inside
    assert len(touched) < 20
    touched.clear()
    assert work(again, again.points[keys[-1]]).state == "done"
    others = {path for path in touched if "/points/" in path and keys[-1] not in path}
    assert not others
    monkeypatch.undo()
    assert folder.status().done == MANY - 2


# ---------------------------------------------------------------------- the table
def test_mean_and_error_are_those_of_the_seeds(finished: Folder) -> None:
    names = ["energy", "stress.stress", "summary.time"]
    each = collect(finished, names, each=True)
    table = collect(finished, names)
    assert table["energy.translation"].dims == ("friction",)
    assert each["energy.translation"].dims == ("friction", "seed")
    assert table["stress.stress"].dims == ("friction", "component", "direction")
    assert list(table["friction"].values) == [0.1, 0.3, 0.5]
    assert list(table["runs"].values) == [2, 2, 1]
    assert table.attrs["missing"] == 1
    values = each["energy.translation"].values
    assert np.isnan(values[2, 1])
    assert np.count_nonzero(np.isnan(values)) == 1
    key = next(k for k, p in finished.points.items() if p.place == (1,) and p.number == 1)
    with hg.RunFile(finished.of(key) / "run.h5") as run:
        assert values[1, 1] == hg.measure.measure(run, "energy", [-1])["translation"].item()
    assert table["energy.translation"].values[:2] == pytest.approx(values[:2].mean(1), rel=1e-14)
    assert table["energy.translation"].values[2] == values[2, 0]
    error = values[:2].std(1, ddof=1) / math.sqrt(2)
    assert table["energy.translation_error"].values[:2] == pytest.approx(error, rel=1e-10)
    assert np.isnan(table["energy.translation_error"].values[2])
    assert (table["summary.time"] == 0.06).all()
    heads, lines = rows(table)
    assert heads[0] == "friction"
    assert [line[-1] for line in lines] == ["2", "2", "1"]


def test_a_single_run_has_the_error_that_it_gives_itself(finished: Folder) -> None:
    """Several seeds have that of their mean; in both cases it is one column beside its variable."""
    table = collect(finished, ["flow-rate"], options={"at": 2.0})
    each = collect(finished, ["flow-rate"], options={"at": 2.0}, each=True)
    error = table["flow-rate.mean_rate_error"].values
    assert error[2] == each["flow-rate.mean_rate_error"].values[2, 0]
    seeds = each["flow-rate.mean_rate"].values[:2]
    assert error[:2] == pytest.approx(seeds.std(1, ddof=1) / math.sqrt(2))
    assert "flow-rate.mean_rate_error_error" not in table


def test_a_variable_may_lie_along_the_picture(finished: Folder) -> None:
    table = collect(finished, ["energy", "stress"])
    figure = draw_study(table, ["energy"], against="stress.pressure")
    for axes, name in zip(figure.axes, ("translation", "rotation", "potential"), strict=True):
        (bars,) = axes.containers
        assert bars[0].get_xdata() == pytest.approx(table["stress.pressure"].values)
        assert bars[0].get_ydata() == pytest.approx(table[f"energy.{name}"].values)
        assert bars.has_xerr
        assert axes.get_xlabel() == "pressure [force/length]"
    for nonsense in ("stress.stress", "energy", "runs"):
        with pytest.raises(hg.InputError, match="give a single number of this table"):
            draw_study(table, [], against=nonsense)


def test_the_mean_over_frames(finished: Folder) -> None:
    mean = collect(finished, ["energy.translation"], frames="1:", each=True)
    single = [collect(finished, ["energy.translation"], frame=k, each=True) for k in (1, 2)]
    together = sum(one["energy.translation"].values for one in single) / 2
    assert mean["energy.translation"].values == pytest.approx(together, rel=1e-14, nan_ok=True)


def test_a_variable_is_found_by_its_name_alone(finished: Folder) -> None:
    assert "stress.pressure" in collect(finished, ["pressure"])
    with pytest.raises(hg.InputError, match="there is no measurement 'presure'"):
        collect(finished, ["presure"])
    with pytest.raises(hg.InputError, match="there is no 'colour' in energy"):
        collect(finished, ["energy.colour"])


def test_a_table_is_written_and_drawn(finished: Folder, tmp_path: Path) -> None:
    table = collect(finished, ["energy", "stress"])
    write_table(table, tmp_path / "a.nc")
    assert read_table(tmp_path / "a.nc").equals(table)
    figure = draw_study(table, ["energy.translation", "stress.principal"])
    assert len(figure.axes) == 3  # two principal stresses
    (bars,) = figure.axes[0].containers
    assert bars[0].get_ydata() == pytest.approx(table["energy.translation"].values)
    write_table(table[["energy.translation"]], tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith("friction,energy.translation\n0.1,")
    with pytest.raises(hg.InputError, match=r"does not end in .nc or .csv"):
        write_table(table, tmp_path / "a.xls")
    (tmp_path / "b.nc").write_text("no")
    with pytest.raises(hg.InputError, match="not a netCDF file"):
        read_table(tmp_path / "b.nc")


def test_drawn_points_lie_along_one_axis(tmp_path: Path) -> None:
    parameters = {
        "friction": {"field": "scene.contacts.0.friction", "min": 0.1, "max": 0.9},
        "order": {"field": "solver.order", "values": ["random", "sequential"]},
    }
    drawn = plan(parameters=parameters, design="latin-hypercube", points=4)
    folder = Folder.begin(tmp_path / "study", drawn, Path())
    for point in folder.points.values():
        work(folder, point)
    table = collect(folder, ["energy.translation"])
    assert table["energy.translation"].dims == ("point",)
    assert table["friction"].dims == ("point",)
    assert set(table["order"].values) == {"random", "sequential"}
    assert len(draw_study(table).axes) == 1
    assert [line[0] for line in rows(table)[1]] == [f"{x:.6g}" for x in table["friction"].values]


# ---------------------------------------------------------------------- for schedulers
def nested(x: int) -> list[int]:
    """Asks for others in turn, which a worker does not get."""
    return pmap(abs, [x, -x])


def test_what_is_mapped_may_be_shared_out_to_others() -> None:
    asked = []

    def by(f: Any, items: list[int]) -> list[Any]:
        asked.append(len(items))
        return [as_worker(f, item) for item in items]

    with shared_out(by):
        assert pmap(nested, [1, 2, 3]) == [[1, 1], [2, 2], [3, 3]]
        assert pmap(abs, [-4, -5], processes=1) == [4, 5]
    assert asked == [3]


def test_shares_are_all_points_once(finished: Folder) -> None:
    shares = [share_of(finished, f"{k}/4") for k in range(4)]
    assert sorted(key for share in shares for key in share) == sorted(finished.points)
    for wrong in ("4/4", "1", "a/b", "-1/3", "0/0"):
        with pytest.raises(hg.InputError, match="give K/N"):
            share_of(finished, wrong)


def test_a_workflow_for_row(tmp_path: Path) -> None:
    folder = Folder.begin(tmp_path / "a study", plan(seeds=2), Path())
    found = tomllib.loads(write_workflow(folder).read_text())
    (action,) = found["action"]
    assert action["products"] == ["summary.json"]
    assert "--point {directory}" in action["command"]
    workspace = folder.path / found["workspace"]["path"]
    assert {p.name for p in workspace.iterdir()} == set(folder.points)
    for key, point in folder.points.items():
        value = json.loads((workspace / key / found["workspace"]["value_file"]).read_text())
        assert value == {"friction": point.values["friction"], "seed": point.number}
