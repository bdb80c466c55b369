"""The commands sweep and collect, as a stranger uses them: rightly, wrongly, and with Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hardgrain.study.folder import Folder

from ..until import started, until
from .conftest import Command

STUDY = """
title = "a study"
scenario = "test.toml"
seeds = 2
measure = ["energy.translation"]
[set]
"output.durable" = false
[parameters.friction]
field = "scene.contacts.0.friction"
values = [0.1, 0.4]
"""


@pytest.fixture
def study(scenario: Path) -> Path:
    path = scenario.with_name("mu.toml")
    path.write_text(STUDY)
    return path


def test_from_the_file_to_the_page(hardgrain: Command, study: Path) -> None:
    assert hardgrain("sweep", "mu.toml", "--status").out == "not begun: 4 points to do\n"
    assert not Path("mu").exists()
    done = hardgrain("sweep", "mu.toml", "--workers", 1)
    assert done.code == 0, done.err
    assert "mu: 4 points, 4 to do" in done.err
    assert "4 of 4 points done\n" in done.out
    assert json.loads(hardgrain("sweep", "mu", "--status", "--json").out)["done"] == 4
    again = hardgrain("sweep", "mu.toml")
    assert again.code == 0
    assert "0 to do" in again.err
    found = hardgrain("collect", "mu", "-o", "mu.nc")
    assert re.search(r"friction +energy.translation +runs\n +0.1 +[\d.]+ ± [\d.]+ +2\n", found.out)
    assert hardgrain("collect", "mu", "--frames", "1:").code == 0  # at once, of any run's length
    assert hardgrain("collect", "mu", "energy", "steps", "-o", "mu.csv").code == 2
    assert hardgrain("collect", "mu", "energy", "summary.steps", "-o", "mu.csv").code == 0
    assert Path("mu.csv").read_text().startswith("friction,runs,energy.translation,")
    assert hardgrain("plot", "mu.nc").out == "written: mu.png\n"
    assert hardgrain("report", "mu").out.startswith("written: mu.html")
    page = Path("mu.html").read_text()
    for words in ("a study", "4 of 4 points done", "2 values of friction", "<svg", "4 of 4</span>"):
        assert words in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)', page)  # nothing is fetched


def test_ctrl_c_ends_the_workers_and_loses_nothing(study: Path) -> None:
    study.write_text(STUDY.replace('"output', '"stop.steps" = 1000000\n"output'))
    command = [sys.executable, "-m", "hardgrain.cli", "sweep", "mu.toml", "--workers", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, cwd=study.parent, **pipes) as sweep:
        folder = study.with_name("mu")
        until(lambda: (folder / "study.json").is_file(), "the study begins", sweep)
        until(lambda: any(folder.glob("points/*/run.h5")), "a run begins", sweep)
        sweep.send_signal(signal.SIGINT)
        _, err = sweep.communicate()
    assert sweep.returncode == 130
    assert "interrupted: 0 of 4 points done, 4 to do, 1 of them broken off\n" in err
    assert "to go on:    hardgrain sweep mu\n" in err
    assert "Traceback" not in err
    status = Folder.opened(folder).status()
    assert (status.running, status.broken) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.toml"], "nowhere.toml does not exist; give a study file (TOML)"),
        (["test.toml"], "this is a scenario, not a study"),
        (["mu.toml", "--slurm", "--row"], "--slurm and --row are both given"),
        (["mu.toml", "--workers", 2, "--slurm"], "--workers is for runs on this machine"),
        (["mu.toml", "--tasks", 2], "--tasks is for --slurm only"),
        (["mu.toml", "--share", "3/2"], "--share is '3/2'; give K/N"),
        (["mu.toml", "--point", "abc"], "--point is 'abc', which is no point of mu"),
        (
            ["mu.toml", "--slurm", "--sbatch", "fast"],
            "--sbatch is 'fast'; give an option of sbatch",
        ),
        (["mu.toml", "-o", "."], "is not the folder of a study: it holds"),
        (["mu.toml", "-o", "test.toml"], "test.toml is a file; give a folder"),
        ([".", "--status"], "is not the folder of a study"),
        (["mu.toml", "--dask", "nonsense"], "no Dask scheduler answers at nonsense"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    hardgrain: Command, study: Path, arguments: list[str], words: str
) -> None:
    result = hardgrain("sweep", *arguments)
    assert result.code == 2
    assert words in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("error:")]) == 1
    assert "Traceback" not in result.err


def test_an_edited_study_is_refused_and_a_larger_one_goes_on(
    hardgrain: Command, study: Path
) -> None:
    first = next(iter(_points(hardgrain, "mu")))
    assert hardgrain("sweep", "mu", "--point", first, "--quiet").code == 0
    study.write_text(STUDY.replace("[0.1, 0.4]", "[0.1, 0.4, 0.9]"))
    assert hardgrain("sweep", "mu.toml", "--share", "0/6").code == 0
    assert hardgrain("sweep", "mu", "--status").out == "1 of 6 points done, 5 to do\n"
    study.write_text(STUDY.replace("[0.1, 0.4]", "[0.1]"))
    refused = hardgrain("sweep", "mu.toml")
    assert refused.code == 2
    assert "4 of its 6 points are no longer part of it" in refused.err
    text = study.with_name("test.toml").read_text()
    study.with_name("test.toml").write_text(text.replace("count = 12", "count = 11"))
    refused = hardgrain("sweep", "mu.toml")
    assert refused.code == 2
    assert "(scene.grains[0].count is 11 and was 12)" in refused.err
    assert hardgrain("sweep", "mu", "--status").out == "1 of 6 points done, 5 to do\n"


def _points(hardgrain: Command, name: str) -> dict[str, object]:
    assert hardgrain("sweep", f"{name}.toml", "--row").code == 0
    return dict(Folder.opened(name).points)


def test_points_that_fail_end_with_code_1(hardgrain: Command, study: Path) -> None:
    study.write_text(
        STUDY.replace("scene.contacts.0.friction", "scene.grains.0.count").replace(
            "0.1, 0.4", "9999"
        )
    )
    done = hardgrain("sweep", "mu.toml", "--share", "0/1")
    assert done.code == 1
    assert "2 of 2 points failed" in done.err
    assert "hardgrain sweep mu --retry" in done.err
    assert "failed:  mu/points/" in done.out
    nothing = hardgrain("collect", "mu")
    assert nothing.code == 2
    assert "no point of mu is done" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere is not the folder of a study"),
        (["."], "is not the folder of a study"),
        ([".", "-o", "a.xls"], "give a name that ends in .nc or .csv"),
        ([".", "-o", "no/a.nc"], "the folder no does not exist"),
    ],
)
def test_collect_tells_what_it_cannot_do(
    hardgrain: Command, study: Path, arguments: list[str], words: str
) -> None:
    result = hardgrain("collect", *arguments)
    assert result.code == 2
    assert words in result.err
