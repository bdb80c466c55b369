"""Reproducing a paper: a fake one with quick experiments, and the worker processes."""

import csv
import json
import math
import signal
import subprocess
import sys
import types
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from hardgrain.errors import InputError
from hardgrain.papers import PAPERS
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import new_figure
from hardgrain.papers.reproduce import number, reproduce
from hardgrain.parallel import pmap, workers

from ..until import LAST, started, until


def good(quick: bool) -> Outcome:
    figure, axes = new_figure()
    axes.plot([0, 1])
    x = np.arange(3)
    return Outcome(
        [
            Claim.relative("a <b> & c", 1.005, 1.0, 0.01, error=0.002, paper="1 & only"),
            Claim("a finding", np.float64(2.0)),
        ],
        {"data": {"x": x, "x²": x**2}},
        {"picture": figure},
        f"first\n\nsecond, {quick}",
    )


def bad(quick: bool) -> Outcome:
    return Outcome([Claim("off", 2.0, theory=1.0, tolerance=0.5), Claim("lost", math.nan)])


def interrupted(quick: bool) -> Outcome:
    raise KeyboardInterrupt


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A paper called fake, with the experiments good and bad."""
    module = types.ModuleType("hardgrain.papers.fake")
    module.EXPERIMENTS = [Experiment("good", "All is well", good), Experiment("bad", "Not", bad)]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hardgrain.papers.fake", module)
    monkeypatch.setitem(PAPERS, "fake", "A. Nobody, Nowhere (1900)")
    return module


def silent(line: str) -> None:
    pass


def stored(folder: Path) -> dict[str, dict]:
    return {r["name"]: r for r in json.loads((folder / "claims.json").read_text())["experiments"]}


def test_verdicts() -> None:
    assert Claim("", 1.1, theory=1.0, tolerance=0.2).verdict == "holds"
    assert Claim("", 1.3, theory=1.0, tolerance=0.2).verdict == "fails"
    assert Claim("", 1.3).verdict == "measured"
    assert Claim("", 1.3, disputed=True).verdict == "measured"
    assert Claim("", 1.3, theory=1.0, tolerance=0.2, disputed=True).verdict == "refuted"
    assert Claim("", 1.1, theory=1.0, tolerance=0.2, disputed=True).verdict == "holds"
    assert Claim("", math.nan, disputed=True).verdict == "fails"
    assert Claim("", math.nan).verdict == "fails"
    assert Claim("", 1.0, theory=math.nan, tolerance=1.0).verdict == "fails"
    assert Claim.relative("", -0.51, -0.5, 0.03).verdict == "holds"


def test_all_is_written(fake: types.ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    claims = reproduce("fake", folder, quick=True, tell=silent)
    assert [c.text for c in claims] == ["a <b> & c", "a finding", "off", "lost"]
    with (folder / "good" / "data.csv").open() as file:
        assert list(csv.reader(file)) == [["x", "x²"], ["0", "0"], ["1", "1"], ["2", "4"]]
    assert (folder / "good" / "picture.png").read_bytes()[1:4] == b"PNG"
    assert "<svg" in (folder / "good" / "picture.svg").read_text()
    whole = json.loads((folder / "claims.json").read_text())
    assert whole["paper"] == "fake"
    assert whole["reference"] == PAPERS["fake"]
    first, second = whole["experiments"]
    assert first["done"]
    assert first["quick"]
    assert first["figures"] == ["good/picture.png"]
    assert first["tables"] == ["good/data.csv"]
    assert first["seconds"] >= 0.0
    assert first["claims"][0] == {
        "text": "a <b> & c", "measured": 1.005, "error": 0.002, "theory": 1.0, "tolerance": 0.01,
        "paper": "1 & only", "note": "", "disputed": False, "verdict": "holds",
    }  # fmt: skip
    assert second["claims"][1]["measured"] is None
    assert [c["verdict"] for c in second["claims"]] == ["fails", "fails"]
    page = (folder / "index.html").read_text()
    for part in (
        "a &lt;b&gt; &amp; c", "1.0050 ± 0.0020", "good/picture.png", "good/data.csv",
        "<p>second, True</p>", "2 of 2 experiments done", "quick: reduced",
    ):  # fmt: skip
        assert part in page, part
    assert not list(folder.rglob("*.part"))


def test_an_interruption_keeps_what_is_done(fake: types.ModuleType, tmp_path: Path) -> None:
    fake.EXPERIMENTS.insert(1, Experiment("stop", "Ctrl-C", interrupted))
    with pytest.raises(KeyboardInterrupt):
        reproduce("fake", tmp_path, tell=silent)
    assert {name: r["done"] for name, r in stored(tmp_path).items()} == {
        "good": True, "stop": False, "bad": False,
    }  # fmt: skip
    page = (tmp_path / "index.html").read_text()
    assert "1 of 3 experiments done" in page
    assert page.count("still to do") == 4  # in the list and in their sections


def test_only_keeps_the_others(fake: types.ModuleType, tmp_path: Path) -> None:
    assert len(reproduce("fake", tmp_path, quick=True, only=["good"], tell=silent)) == 2
    assert len(reproduce("fake", tmp_path, only=["bad"], tell=silent)) == 2
    records = stored(tmp_path)
    assert (records["good"]["quick"], records["bad"]["quick"]) == (True, False)
    assert list(records) == ["good", "bad"]
    lines = (tmp_path / "index.html").read_text().splitlines()
    listed = [line for line in lines if line.startswith("<tr><td><a ")]
    assert ["<td>quick</td>" in line for line in listed] == [True, False]
    assert ["<td>full</td>" in line for line in listed] == [False, True]
    whole = json.loads((tmp_path / "claims.json").read_text())
    strange = {"name": "good", "done": True}
    for not_ours in ({}, [], whole | {"paper": "other"}, whole | {"experiments": [strange]}):
        (tmp_path / "claims.json").write_text(json.dumps(not_ours))  # begin anew
        reproduce("fake", tmp_path, only=["bad"], tell=silent)
        assert not stored(tmp_path)["good"]["done"]


def test_what_is_done_stays_until_it_is_done_again(fake: types.ModuleType, tmp_path: Path) -> None:
    reproduce("fake", tmp_path, tell=silent)
    before = stored(tmp_path)
    assert all(datetime.fromisoformat(r["date"]).tzinfo for r in before.values())
    well = fake.EXPERIMENTS[0]
    fake.EXPERIMENTS[0] = Experiment("good", "Ctrl-C", interrupted)
    for only in (None, ["good"]):
        with pytest.raises(KeyboardInterrupt):
            reproduce("fake", tmp_path, only=only, tell=silent)
        assert stored(tmp_path) == before | {"good": before["good"] | {"title": "Ctrl-C"}}
    fake.EXPERIMENTS[:] = [well, Experiment("bad", "Ctrl-C", interrupted)]
    with pytest.raises(KeyboardInterrupt):
        reproduce("fake", tmp_path, quick=True, tell=silent)
    after = stored(tmp_path)
    assert [after[name]["quick"] for name in ("good", "bad")] == [True, False]
    assert after["bad"]["claims"] == before["bad"]["claims"]


def test_refusals(fake: types.ModuleType, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"paper is 'nonsense'; known are: unger2002, .*, fake"):
        reproduce("nonsense", tmp_path, tell=silent)
    with pytest.raises(InputError, match="--only is 'x'; fake has: good, bad"):
        reproduce("fake", tmp_path, only=["good", "x"], tell=silent)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        reproduce("fake", tmp_path / "file" / "folder", tell=silent)


def test_numbers_for_readers() -> None:
    assert number(0.79712, 0.0021) == "0.7971 ± 0.0021"
    assert number(123.4, 12.0) == "123 ± 12"
    assert number(2.0) == "2"
    assert number(2.0, math.nan) == "2"
    assert number(3e-9, 1e-10) == "3e-09 ± 1e-10"
    assert number(None) == "–"
    assert number(math.nan, 1.0) == "not a number"


# ---------------------------------------------------------------------- worker processes
def test_pmap_keeps_the_order() -> None:
    items = [float(x) for x in range(20)]
    with workers():
        assert pmap(math.sqrt, items) == [math.sqrt(x) for x in items]
        assert pmap(math.sqrt, [4.0]) == [2.0]
        assert pmap(math.sqrt, []) == []


def test_pmap_passes_on_errors() -> None:
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        pmap(math.sqrt, [1.0, -1.0, 2.0])
    assert pmap(math.sqrt, [1.0, 4.0]) == [1.0, 2.0]


SLEEPERS = """
import os, sys, time
from pathlib import Path
from hardgrain import parallel
parallel.cores = lambda: 2

def work(k):
    Path(f"{k}.new").write_text(str(os.getpid()))
    os.rename(f"{k}.new", f"{k}.pid")
    time.sleep(1e6)

if __name__ == "__main__":
    parallel.pmap(work, [0, 1])
"""


def two_sleepers(folder: Path) -> list[str]:
    """Command of a process whose two workers leave their numbers in a folder and sleep on."""
    script = folder / "sleepers.py"
    script.write_text(f"import os\nos.chdir({str(folder)!r})\n{SLEEPERS}")
    return [sys.executable, str(script)]


def sleeping(folder: Path) -> list[str] | None:
    """Numbers of the two workers, once both are at work."""
    pids = [path.read_text() for path in folder.glob("*.pid")]
    return pids if len(pids) == 2 else None


def alive(pid: str) -> bool:
    try:
        return bool(Path("/proc", pid, "cmdline").read_bytes())  # empty: dead, not yet reaped
    except OSError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_the_workers_at_once(tmp_path: Path) -> None:
    with started(two_sleepers(tmp_path), stderr=subprocess.PIPE) as process:
        pids = until(lambda: sleeping(tmp_path), "both workers sleep", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LAST)  # the workers would sleep far longer
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in err
    if sys.platform == "linux":
        until(lambda: not any(map(alive, pids)), "the workers end")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    with started(two_sleepers(tmp_path), stderr=subprocess.DEVNULL) as process:
        pids = until(lambda: sleeping(tmp_path), "both workers sleep", process)
        process.send_signal(number)
        assert process.wait(timeout=LAST) != 0
    until(lambda: not any(map(alive, pids)), "the workers end")
