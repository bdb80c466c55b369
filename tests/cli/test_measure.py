"""``hardgrain measure``: the list, the table, the files, and what it says of nonsense."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hardgrain as hg
from hardgrain.measure.catalogue import measure, quantities

from ..cells import cell_run
from ..elastic import elastic_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Twelve disks that settle in a box; every other frame holds contacts."""
    path = tmp_path_factory.mktemp("measured") / "settled.h5"
    grains = hg.Grains(count=12, place=hg.Loose(min=[0, 0], max=[3.4, 8]))
    box = hg.Box(min=[0, 0], max=[3.4, 8], open=["top"])
    scene = hg.Scene(
        gravity=[0, -1], grains=[grains], walls=[box], contacts=[hg.ContactLaw(friction=0.3)]
    )
    solver = hg.GaussSeidel(stop="residual", tolerance=1e-6, sweeps=2000)
    scenario = hg.Scenario(
        scene=scene, dt=0.02, solver=solver,
        output={"every": 50, "contacts_every": 2}, stop={"steps": 450},
    )  # fmt: skip
    hg.Simulation(scenario).run(output=path, progress=False)
    return path


@pytest.fixture(scope="module")
def cyclic(tmp_path_factory):
    """Disks that are sheared to and fro in a periodic cell."""
    cell = hg.CyclicShear(amplitude=0.1, period=2.0, pressure=1.0)
    return cell_run(tmp_path_factory.mktemp("cyclic") / "cyclic.h5", cell, 4.0)


def test_the_list_explains_each_in_one_line(hardgrain):
    result = hardgrain("measure", "--list")
    assert result.code == 0
    lines = result.out.splitlines()
    for name, quantity in quantities().items():
        line = next(x for x in lines if x.startswith(f"{name} "))
        assert quantity.about in line
        assert len(line) <= 100
    told = hardgrain("measure", "--list", "flow-rate", "force-distribution").out
    assert "  within: two corners in the plane; by default all of it" in told
    assert "  at: required, unless region is given" in told
    assert "  bins: by default 40" in told
    assert "needs frames that hold contacts" in told


@pytest.mark.parametrize("name", quantities())
def test_every_option_says_what_it_is_without_being_given(name):
    quantity = quantities()[name]
    for option in quantity.options:
        assert quantity.default(option) not in ("", "may be left out"), option


@pytest.mark.parametrize(
    "name",
    [n for n in quantities() if n not in ("flow-rate", "wall-profile", "track", "membrane")],
)
def test_every_quantity_comes_as_table_and_file(hardgrain, run, name, request):
    if name in ("stress-strain", "strength", "rheology", "cycles"):  # a box without lid has none
        run = request.getfixturevalue("cyclic")
    if name == "element-stress":
        run = elastic_run(Path("soft.h5"), steps=20)
    result = hardgrain("measure", run, name)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"{name}: ")
    assert max(map(len, result.out.splitlines())) <= 130
    files = ("--json", "a.json", "--csv", "a.csv", "--nc", "a.nc")
    assert hardgrain("measure", run, name, *files).code == 0
    with open("a.json") as file:
        facts = json.load(file, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))
    with xr.open_dataset("a.nc", engine="h5netcdf") as data:
        assert data.attrs["quantity"] == name
        for variable, about in facts[name]["variables"].items():
            assert list(data[variable].dims) == about["dims"]
            assert about["units"]
            assert about["long_name"]
            if data[variable].dtype.kind == "f":
                values = np.array(about["values"], float)
                stored = data[variable].values.astype(float)
                np.testing.assert_array_equal(values, np.where(np.isinf(stored), np.nan, stored))
    with open("a.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 1


def test_a_stress_strain_curve_has_its_times_beside_it(hardgrain, cyclic):
    text = hardgrain("measure", cyclic, "stress-strain", "--frames", "5:9", "--csv", "-").out
    rows = [*csv.DictReader(io.StringIO(text))]
    assert [*rows[0]][:2] == ["shear_strain", "time"]
    assert [float(row["time"]) for row in rows] == pytest.approx([1.0, 1.2, 1.4, 1.6])
    told = hardgrain("measure", cyclic, "strength").out
    assert "radian, friction angle of the mean stress (" in told
    assert "°)" in told


def test_csv_has_components_as_columns(hardgrain, run):
    text = hardgrain("measure", run, "stress", "--frame", -1, "--csv", "-").out
    (row,) = csv.DictReader(io.StringIO(text))
    with hg.RunFile(run) as file:
        expected = measure(file, "stress", [-1])
    assert float(row["stress_xy"]) == float(expected.stress.sel(component="x", direction="y")[0])
    assert float(row["pressure"]) == float(expected.pressure[0])


def test_several_quantities_are_one_long_table_and_groups(hardgrain, run):
    names = ("stress", "wall-force", "msd")
    assert hardgrain("measure", run, *names, "--csv", "a.csv", "--nc", "a.nc").code == 0
    with open("a.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["quantity"] for row in rows} == set(names)
    forces = [r for r in rows if r["variable"] == "force_y" and r["wall"] == "bottom"]
    with xr.open_dataset("a.nc", group="wall-force", engine="h5netcdf") as data:
        stored = data.force.sel(wall="bottom", component="y").values
    np.testing.assert_array_equal([float(r["value"]) for r in forces], stored)
    assert forces[0]["units"] == "force"


def test_frames_and_options(hardgrain, run):
    def times(*arguments):
        out = hardgrain("measure", run, "energy", "--json", "-", *arguments).out
        return json.loads(out)["energy"]["coordinates"]["time"]

    assert times() == pytest.approx(np.arange(10.0))
    assert times("--frames", "2:8:3") == pytest.approx([2.0, 5.0])
    assert times("--frame", "-2") == pytest.approx([8.0])
    out = hardgrain("measure", run, "flow", "--grid", "1x4", "--json", "-", "--width", 0.5,
                    "--region", "0,0:3.4,4").out  # fmt: skip
    assert json.loads(out)["flow"]["coordinates"]["y"] == pytest.approx([0.5, 1.5, 2.5, 3.5])
    out = hardgrain("measure", run, "flow-rate", "--set", "at=1.0", "--set", "within=0:3.4").out
    assert "mean_rate" in out
    out = hardgrain("measure", run, "wall-profile", "--set", "wall=left", "--bins", 4).out
    assert "pressure" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "needs a run file and what to measure"),
        (("RUN",), "needs a run file and what to measure"),
        (("RUN", "stres"), "there is no measurement 'stres'; did you mean stress"),
        (("RUN", "qqqq"), "hardgrain measure --list shows all"),
        (("nowhere.h5", "stress"), "nowhere.h5 does not exist"),
        (("RUN", "stress", "--frame", "99"), "frame is 99; the run has the frames 0 to 9"),
        (("RUN", "stress", "--frame", "1"), "output.contacts_every"),
        (("RUN", "stress", "--frames", "x"), "write A:B:C"),
        (("RUN", "stress", "--frames", "50:"), "none of the frames 0 to 9"),
        (("RUN", "stress", "--frames", "::0"), "write A:B:C"),
        (("RUN", "stress", "--frame", "1", "--frames", "1:2"), "both given"),
        (("RUN", "stress", "--set", "foo=1"), "no option 'foo' here; stress has region"),
        (("RUN", "stress", "--set", "foo"), "write OPTION=VALUE"),
        (("RUN", "mobilisation", "--set", "bins=many"), "bins is 'many'; give a whole number"),
        (("RUN", "flow", "--grid", "a"), "grid is 'a'; give whole numbers such as 20x30"),
        (("RUN", "stress", "--region", "0,0"), "region is '0,0'; give two corners"),
        (("RUN", "flow-rate"), "flow-rate needs a plane or a region"),
        (("RUN", "stress", "--csv", "RUN"), "is the run file itself"),
        (("RUN", "stress", "--nc", "no/where.nc"), "the folder no does not exist"),
        (("RUN", "stress", "--nc", "/proc/a.nc"), "/proc/a.nc cannot be written"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(hardgrain, run, arguments, words):
    result = hardgrain("measure", *(run if a == "RUN" else a for a in arguments))
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_data_are_not_replaced_unasked(hardgrain, run):
    Path("mine.csv").write_text("precious")
    result = hardgrain("measure", run, "energy", "--csv", "mine.csv")
    assert (result.code, Path("mine.csv").read_text()) == (2, "precious")
    assert "mine.csv exists already; add --overwrite" in result.err
    assert hardgrain("measure", run, "energy", "--csv", "mine.csv", "--overwrite").code == 0
    assert Path("mine.csv").read_text().startswith("time,")
    assert hardgrain("measure", run, "energy", "--csv", "/dev/null").code == 0
    assert not Path("/dev/null").is_file()


def test_large_results_are_summed_up(hardgrain, run):
    out = hardgrain("measure", run, "flow", "--grid", "30x30").out
    assert "over 30 x x 30 y (all values: --csv, --json or --nc FILE)" in out
    assert "least" in out
    assert len(out.splitlines()) < 30


def test_what_the_package_exports_is_there():
    for name in hg.measure.__all__:
        assert callable(getattr(hg.measure, name))
