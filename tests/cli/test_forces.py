"""``hardgrain forces``: the table, the pictures, and what programs read."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.forces import force_space


def run(path, grains, walls, until=None, engine=None, every=1000, **scene):
    scene = {"gravity": [0, -1], "contacts": [hg.ContactLaw(friction=0.3)], **scene}
    sim = hg.Simulation(
        hg.Scene(grains=[grains], walls=walls, **scene),
        dt=0.01,
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-9, sweeps=3000),
        engine=engine,
    )
    sim.run(until or hg.AtRest(), output=path, every=every, overwrite=True, progress=False)
    return path


def wedge(path, slope=1.0, until=None, **law):
    """A disk on two walls that rise with a slope."""
    n = np.array([slope, 1.0]) / math.hypot(slope, 1.0)
    walls = [hg.Plane(point=[-s * n[0] / 2, -n[1] / 2], normal=[s * n[0], n[1]]) for s in (1, -1)]
    grain = hg.Grains(diameter=1.0, place=hg.At(positions=[[0, 0]]))
    law = hg.ContactLaw(**{"friction": 0.3, **law})
    return run(path, grain, walls, until, contacts=[law])


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Twelve disks at rest in a box."""
    grains = hg.Grains(count=12, place=hg.Loose(min=[0, 0], max=[3.4, 8]))
    box = hg.Box(min=[0, 0], max=[3.4, 8], open=["top"])
    return run(tmp_path_factory.mktemp("settled") / "settled.h5", grains, [box], every=20)


def test_the_table_and_the_pictures(hardgrain, settled):
    result = hardgrain("forces", settled, "--samples", 50, "--global", "--processes", 1)
    assert result.code == 0
    assert result.err == ""
    with hg.RunFile(settled) as file:
        space = force_space(file)
    text = result.out
    assert f"M = {space.contacts} contacts" in text
    assert f"no: dim F = {space.dimension}, null space {space.nullity}" in text
    assert f"2M − 3N = {2 * space.contacts - 3 * space.grains}" in text
    for line in ("unbalanced:", "sliding:", "δ_R:", "δ_T:", "d_R:", "sample:", "norm of F:"):
        assert f"\n{line}" in text
    folder = Path("settled-forces")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["contacts.csv", "forces.json", "histograms.png", "network.png"]
    assert min((folder / name).stat().st_size for name in names[2:]) > 20_000
    assert "written to settled-forces: network.png, histograms.png" in text


def test_json_is_all_that_is_printed(hardgrain, settled):
    result = hardgrain("forces", settled, "--json", "--processes", 1)
    facts = json.loads(result.out)
    assert not Path("settled-forces").exists()
    with hg.RunFile(settled) as file:
        space = force_space(file)
    bounds, unit = space.bounds(), facts["unit"]["force"]
    assert facts["dim_F"] == space.dimension
    assert facts["found"]["M_s"] == space.sliding
    mean = (bounds.normal_max - bounds.normal_min).mean() / unit
    assert facts["local"]["normal"]["mean"] == pytest.approx(mean, rel=1e-5)
    np.testing.assert_allclose(facts["contacts"]["normal_max"], bounds.normal_max, rtol=1e-12)
    least, norm = facts["members"]["least"]["norm"], facts["found"]["norm"]
    assert 0.0 < least <= norm


def test_csv_has_a_row_for_each_contact(hardgrain, settled):
    result = hardgrain("forces", settled, "--csv", "--processes", 1)
    rows = list(csv.DictReader(result.out.splitlines()))
    with hg.RunFile(settled) as file:
        assert len(rows) == force_space(file).contacts
    for row in rows:
        for name in ("normal", "tangential"):
            low, found, high = (float(row[name + end]) for end in ("_min", "", "_max"))
            assert low - 1e-8 <= found <= high + 1e-8


def test_count_alone_leaves_out_the_bounds(hardgrain, settled):
    result = hardgrain("forces", settled, "--count", "-o", "counted")
    assert "unique?:" in result.out
    assert "δ_R" not in result.out
    assert sorted(p.name for p in Path("counted").iterdir()) == ["contacts.csv", "forces.json"]
    again = ("forces", settled, "--count", "-o", "counted")
    assert "contacts.csv exists already; add --overwrite" in hardgrain(*again).err
    assert hardgrain(*again, "--overwrite").code == 0


def test_forces_of_a_wedge(hardgrain, tmp_path):
    """One unknown: δ of both walls in closed form; without bound where the walls are steep."""
    facts = json.loads(hardgrain("forces", wedge(tmp_path / "a.h5"), "--json").out)
    assert (facts["M"], facts["N"], facts["dim_F"], facts["expected"]) == (2, 1, 1, 1)
    # R cos φ + T sin φ = mg/2, |T| ≤ µ R, φ = 45°
    theory = (1.0 / (1.0 - 0.3) - 1.0 / (1.0 + 0.3)) / math.sqrt(2.0)
    assert facts["local"]["normal"]["mean"] == pytest.approx(theory, rel=1e-6)
    result = hardgrain("forces", wedge(tmp_path / "b.h5", slope=2.0, friction=0.8), "-o", "b")
    assert "unbounded:    2 contacts, wedged: 0–1, 0–2" in result.out
    steep = json.loads(Path("b/forces.json").read_text())
    assert steep["local"]["normal"]["greatest"] is None
    assert Path("b/network.png").stat().st_size > 5_000
    refused = hardgrain("forces", "b.h5", "--samples", 9)
    assert refused.code == 2
    assert "F is unbounded" in refused.err


def test_no_forces_at_all(hardgrain, tmp_path):
    """On a slope of 45° nothing holds a disk, friction 0.3 or not."""
    plane = hg.Plane(point=[0, 0], normal=[1, 1])
    place = hg.At(positions=[[math.sqrt(0.125), math.sqrt(0.125)]])
    path = run(tmp_path / "slope.h5", hg.Grains(place=place), [plane], 5)
    result = hardgrain("forces", path, "--balance", "loads")
    assert result.code == 0
    assert "F is empty" in result.out
    assert "δ_R" not in result.out


def test_spheres_by_pyramids_and_round_cones(hardgrain, tmp_path):
    walls = [hg.Plane(point=[0, 0, 0], normal=[0, 0, 1])]
    walls += [hg.Plane(point=[0, 0, 0], normal=n) for n in ([1, 0, 0.2], [0, 1, 0.2])]
    lift = 0.5 * math.hypot(1.0, 0.2) - 0.1
    grains = hg.Grains(diameter=1.0, place=hg.At(positions=[[lift, lift, 0.5]]))
    path = run(tmp_path / "s.h5", grains, walls, dimension=3, gravity=[-0.5, -0.5, -1])
    widths = {}
    for cone in ("inside", "round", "outside"):
        facts = json.loads(hardgrain("forces", path, "--json", "--cone", cone).out)
        widths[cone] = facts["local"]["normal"]["mean"]
        assert facts["formula"] == "3M − 6N"
    assert 0.0 < widths["inside"] <= widths["round"] + 1e-6
    assert widths["round"] <= widths["outside"] + 1e-6
    result = hardgrain("forces", path, "-o", "out")
    assert "by pyramids of 8 faces inside the cones" in result.out
    assert Path("out/network.png").stat().st_size > 5_000


def test_soft_particles(hardgrain, tmp_path):
    soft = hg.SoftParticles(stiffness=1e4, restitution=0.1, substeps=20)
    floor = hg.Plane(point=[0, 0], normal=[0, 1])
    place = hg.At(positions=[[0, 0.5], [0, 1.5]])
    path = run(tmp_path / "soft.h5", hg.Grains(place=place), [floor], 400, engine=soft)
    result = hardgrain("forces", path, "--json")
    assert json.loads(result.out)["dim_F"] == 0


def test_what_cannot_be_is_said_in_a_sentence(hardgrain, settled, tmp_path):
    Path("text.h5").write_text("no run file")
    sticky = wedge(tmp_path / "sticky.h5", cohesion=0.1)
    with hg.RunFile(settled) as file:
        last = len(file) - 1
    for arguments, words in (
        ([settled, "--step", 999], f"has the frames 0 to {last}"),
        ([settled, "--frame", 0], "has no contacts"),
        (["none.h5"], "none.h5"),
        (["text.h5"], "text.h5"),
        ([sticky], "has cohesion"),
        ([settled, "--json", "--csv"], "only one can be printed"),
        ([settled, "--csv", "--count"], "--count leaves out what --csv"),
        ([settled, "--count", "-o", "text.h5"], "text.h5 cannot be made a folder"),
    ):
        result = hardgrain("forces", *arguments)
        assert result.code == 2, arguments
        assert words in result.err
        assert result.err.count("\n") == 1
        assert result.out == ""
