"""``hardgrain plot``, ``movie`` and ``report`` write the files they tell, or say why not."""

import pytest

import hardgrain as hg
from hardgrain.show.movie import pace


@pytest.fixture
def run(tmp_path, scenario):
    loaded = hg.load(scenario)
    output = type(loaded.output)(every=5, contacts_every=2)
    loaded = loaded.model_copy(update={"output": output, "stop": hg.Stop(steps=25)})
    hg.Simulation(loaded).run(output=tmp_path / "run.h5", progress=False)
    return tmp_path / "run.h5"


def names(folder, *, without=("run.h5", "test.toml")):
    return sorted(p.name for p in folder.iterdir() if p.name not in without)


def test_list_needs_no_file(hardgrain, run) -> None:
    result = hardgrain("plot", "--list")
    assert result.code == 0
    for word in ("packing", "residual", "packing-fraction", "coordination", "friction"):
        assert word in result.out
    assert "force_bottom_y" in hardgrain("plot", run, "--list").out


def test_files_are_named_by_what_they_show(hardgrain, run, tmp_path) -> None:
    assert hardgrain("plot", run).code == 0
    assert names(tmp_path) == ["run-packing.png"]
    shown = ("packing", "kinetic", "coordination.all", "voronoi")
    assert hardgrain("plot", run, *shown, "-o", "a.svg").code == 0
    assert names(tmp_path)[:3] == ["a-kinetic.svg", "a-packing.svg", "a-voronoi.svg"]
    assert "coordination" in (tmp_path / "a-kinetic.svg").read_text()
    assert hardgrain("plot", run, "solver", "-o", "b.pdf").out == "written: b.pdf\n"


def test_picture_is_the_packing(hardgrain, run, tmp_path) -> None:
    hardgrain("picture", run, "-o", "a.svg")
    hardgrain("plot", run, "packing", "-o", "b.svg")
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()


def test_frame_without_contacts_can_be_drawn_without_lines(hardgrain, run) -> None:
    assert "without contacts" in hardgrain("plot", run, "--frame", 1).err
    bare = ("--frame", 1, "--lines", "none", "--overwrite")
    assert hardgrain("plot", run, *bare, "--colour", "speed").code == 0
    result = hardgrain("plot", run, *bare, "--colour", "pressure")
    assert "output.contacts_every" in result.err


@pytest.mark.parametrize(
    "command",
    [
        ("plot", "run.h5", "-o", "a.png"),
        ("plot", "run.h5", "kinetic", "packing", "-o", "a.png"),
        ("picture", "run.h5", "-o", "a.png"),
        ("movie", "run.h5", "a.gif", "--size", 120),
        ("report", "run.h5", "-o", "a.html"),
        ("new", "silo", "-o", "a.toml"),
    ],
    ids=lambda command: " ".join(map(str, command[:3])),
)
def test_no_command_replaces_a_file_unasked(hardgrain, run, tmp_path, command) -> None:
    assert hardgrain(*command).code == 0
    first = next(tmp_path.glob("a*"))
    first.write_text("mine")
    refused = hardgrain(*command)
    assert (refused.code, refused.out) == (2, "")
    assert "exists already; add --overwrite" in refused.err
    assert first.read_text() == "mine"
    assert hardgrain(*command, "--overwrite").code == 0
    assert first.read_bytes() != b"mine"


def test_a_film_is_neither_a_blink_nor_a_lecture() -> None:
    """About ten seconds, whatever the number of frames; few are not stretched to slides."""
    assert [pace(n) for n in (3, 31, 150, 1000)] == [5.0, 5.0, 15.0, 30.0]


def test_movie(hardgrain, run, tmp_path) -> None:
    result = hardgrain("movie", run, "a.gif", "--size", 200, "--frames", "1:", "--fps", 10)
    assert result.code == 0
    assert result.out.startswith("written: a.gif, 5 frames, 0.5 s long")
    assert hardgrain("movie", run, "b.mp4", "--size", 200, "-q").out == ""
    assert names(tmp_path) == ["a.gif", "b.mp4"]


def test_report(hardgrain, run, tmp_path) -> None:
    assert hardgrain("report", run).out.startswith("written: run.html, ")
    assert names(tmp_path) == ["run.html"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plot"], "FILE is missing; give a run file, or --list"),
        (["plot", "none.h5"], "none.h5 does not exist"),
        (["plot", "run.h5", "kinetik"], "did you mean kinetic?"),
        (["plot", "run.h5", "--frame", 99], "frame is 99; the run has the frames 0 to 5"),
        (["plot", "run.h5", "--lines", "thick"], "known are: force, friction, none"),
        (["plot", "run.h5", "--colour", "hue"], "is no field of grains"),
        (["plot", "run.h5", "-o", "a.doc"], "use .png, .pdf or .svg"),
        (["plot", "run.h5", "-o", "no/a.png"], "the folder no does not exist"),
        (["plot", "run.h5", "--view", "1,2,0,3"], "the lower left first"),
        (["plot", "run.h5", "--view", "nan,0,1,1"], "the lower left first"),
        (["plot", "run.h5", "flow", "--frames", "1:2:0"], "write A:B:C, such as"),
        (["plot", "run.h5", "flow", "--frames", "77"], "the frames 0 to 5"),
        (["plot", "run.h5", "flow", "--set", "grid"], "write OPTION=VALUE"),
        (["plot", "run.h5", "flow", "--set", "girth=3"], "no option 'girth' here; flow has"),
        (["plot", "run.h5", "coordination", "--bins", 3], "coordination has none"),
        (["plot", "run.h5", "energy", "--colour", "speed"], "for the picture packing only"),
        (["plot", "run.h5", "chain-lengths", "--frames", "0"], "nothing to draw"),
        (["movie", "run.h5", "a.gif", "-o", "b.gif"], "one of them is enough"),
        (["movie", "run.h5", "/proc/a.mp4"], "/proc/a.mp4 cannot be written"),
        (["movie", "run.h5", "a.avi"], "use .mp4 or .gif"),
        (["movie", "run.h5", "--fps", 0], "fps is 0"),
        (["movie", "run.h5", "--size", 7], "size is 7"),
        (["movie", "run.h5", "--frames", "5:5"], "none of the frames 0 to 5"),
        (["movie", "run.h5", "--lines", "force"], "without its contacts"),
        (["report", "run.h5", "-o", "a.pdf"], "does not end in .html"),
        (["report", "test.toml"], "not an HDF5 file"),
    ],
)
def test_nonsense_is_told_in_a_sentence(hardgrain, run, tmp_path, arguments, words) -> None:
    result = hardgrain(*arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert names(tmp_path) == []
