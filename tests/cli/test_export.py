"""``hardgrain export``: which files it makes, what it says, what it refuses."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..until import LAST, started, until

MADE = {
    "vtkhdf": ["out-contacts.vtkhdf", "out-grains.vtkhdf", "out-walls.vtkhdf"],
    "gsd": ["out.gsd"],
    "dump": ["out.dump"],
    "lammpstrj": ["out.lammpstrj"],
    "xyz": ["out.xyz"],
    "extxyz": ["out.extxyz"],
}


@pytest.fixture
def run(hardgrain, scenario):
    """test.h5, with four frames of twelve grains."""
    hardgrain("run", scenario, "--quiet")
    return hardgrain


@pytest.mark.parametrize("suffix", MADE)
def test_files_and_words(run, tmp_path, suffix):
    (tmp_path / "to").mkdir()
    result = run("export", "test.h5", "-o", f"to/out.{suffix}")
    assert (result.code, result.err) == (0, "")
    assert sorted(p.name for p in (tmp_path / "to").iterdir()) == MADE[suffix]
    lines = [f"written: to/{name}" for name in MADE[suffix]]
    assert sorted(result.out.splitlines()) == lines


def test_help_says_which_format_is_for_whom(hardgrain):
    result = hardgrain("export", "--help")
    assert result.code == 0
    for word in ("ParaView", "OVITO", "freud", "LAMMPS", "hardgrain export silo.h5 -o"):
        assert word in result.out


def test_frames_and_format(run):
    run("export", "test.h5", "-o", "out.txt", "--format", "lammps", "--frames", "1::2")
    text = Path("out.txt").read_text()
    assert text.count("ITEM: TIMESTEP") == 2
    assert text.startswith("ITEM: TIMESTEP\n10\n")


def test_what_is_there_is_kept_unless_told(run):
    Path("out-walls.vtkhdf").write_text("mine")
    result = run("export", "test.h5", "-o", "out.vtkhdf")
    assert result.code == 2
    assert "out-walls.vtkhdf exists already" in result.err
    assert not Path("out-grains.vtkhdf").exists()
    assert Path("out-walls.vtkhdf").read_text() == "mine"
    assert run("export", "test.h5", "-o", "out.vtkhdf", "--overwrite", "-q").out == ""
    assert Path("out-walls.vtkhdf").read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("test.h5", "OUT is missing"),
        ("test.h5 -o out.stl", "out.stl does not end in a known format; use .vtkhdf, .gsd"),
        ("test.h5 -o out", "out does not end in a known format"),
        ("test.h5 -o out.gsd --format blender", "format is 'blender'; known are vtkhdf, gsd"),
        ("test.h5 -o no/out.gsd", "the folder no does not exist"),
        ("test.h5 -o out.gsd --frames 4", "--frames is"),
        ("test.h5 -o out.gsd --frames a:b", "--frames is 'a:b'; write A:B:C"),
        ("test.h5 -o out.gsd --frames 9:", "--frames is 9:, which is none of the frames 0 to 3"),
        ("test.h5 -o test.h5 --format xyz", "format is 'xyz'"),
        ("test.h5 -o test.h5 --format gsd --overwrite", "test.h5 is the run file itself"),
        ("nothing.h5 -o out.gsd", "nothing.h5 does not exist"),
        ("test.toml -o out.gsd", "test.toml is not an HDF5 file"),
    ],
)
def test_refusals_in_one_sentence(run, tmp_path, arguments, says):
    before = sorted(tmp_path.iterdir())
    result = run("export", *arguments.split())
    assert result.code == 2
    assert says in result.err
    assert result.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_cannot_be_written(run):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path("locked").mkdir(mode=0o500)
    result = run("export", "test.h5", "-o", "locked/out.gsd")
    assert result.code == 1
    assert "locked/out.gsd cannot be written" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(run, tmp_path, tmp_path_factory, number):
    """Within the second of four frames, which lasts until the signal has been sent."""
    signalled = tmp_path_factory.mktemp("signal") / "sent"
    code = f"""
import time
from pathlib import Path
from hardgrain.cli import main
from hardgrain.io.xyz import ExtendedXyz
append, frames = ExtendedXyz.append, []
def slowly(self, snap):
    append(self, snap)
    frames.append(snap)
    while len(frames) == 2 and not Path({str(signalled)!r}).exists():
        time.sleep(0.001)
ExtendedXyz.append = slowly
main()
"""
    command = [sys.executable, "-c", code, "export", "test.h5", "-o", "out.xyz"]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, **output) as process:
        until(lambda: any(p.is_dir() for p in tmp_path.iterdir()), "it has begun", process)
        process.send_signal(number)
        signalled.touch()
        out, err = process.communicate(timeout=LAST)
    assert (process.returncode, out, err) == (130, "", "interrupted; nothing is left of it\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["test.h5", "test.toml"]


def test_progress_is_shown_in_a_terminal_only(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shown = run("export", "test.h5", "-o", "a.xyz").err
    assert "frame 1 of 4" in shown
    assert run("export", "test.h5", "-o", "b.xyz", "--quiet").err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")
@pytest.mark.parametrize("suffix", ["vtkhdf", "gsd", "dump", "xyz"])
def test_a_disk_that_is_full(run, tmp_path, suffix):
    (tmp_path / "to").mkdir()
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from hardgrain.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "export", "test.h5", "-o", f"to/out.{suffix}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: to/out.{suffix} cannot be written: ")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "to").iterdir()) == []
