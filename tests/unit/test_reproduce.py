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
from typing import Any

import numpy as np
import pytest

from hardgrain.errors import InputError
from hardgrain.papers import PAPERS
from hardgrain.papers.experiment import CHANCE, Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.figures import new_figure
from hardgrain.papers.record import disagreements, keep, read
from hardgrain.papers.reproduce import number, reproduce, source_digest
from hardgrain.parallel import pmap, workers

from ..until import LAST, started, until


def good(quick: bool) -> Outcome:
    figure, axes = new_figure()
    axes.plot([0, 1])
    x = np.arange(3)
    return Outcome(
        [
            Claim(
                "a <b> & c",
                1.005,
                error=0.002,
                samples=5,
                paper="1 & only",
                theory=Expected.within(1.0, 0.01, "order of dt", "closed form"),
            ),
            Claim("a finding", np.float64(2.0)),
        ],
        {"data": {"x": x, "x²": x**2}},
        {"picture": figure},
        f"first\n\nsecond, {quick}",
        seeds=(0, 1, 2, 7),
    )


def bad(quick: bool) -> Outcome:
    return Outcome([Claim("off", 2.0, theory=ONE), Claim("lost", math.nan)])


ONE = Expected(1.0, 0.2, "a bound")


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


@pytest.mark.parametrize(
    ("measured", "given", "paper", "theory", "surprise"),
    [
        (1.1, {"theory": ONE}, "", "holds", ""),
        (1.3, {"theory": ONE}, "", "fails", "measured 1.3, theory gives 1 ± 0.2"),
        (1.3, {}, "", "", ""),
        (1.3, {"paper": "words"}, "", "", ""),
        (1.1, {"paper": ONE}, "holds", "", ""),
        (1.3, {"paper": ONE}, "differs", "", "measured 1.3, the paper has 1 ± 0.2"),
        (1.3, {"paper": ONE, "differs": "a misprint"}, "differs", "", ""),
        (1.1, {"paper": ONE, "differs": "a misprint"}, "holds", "", "was known to differ, and hol"),
        (1.1, {"paper": "words", "differs": "a misprint"}, "", "", "(words) was known to differ"),
        (2.0, {"paper": ONE, "differs": "so", "theory": Expected.exact(2)}, "differs", "holds", ""),
        (math.nan, {"paper": ONE, "differs": "a misprint"}, "differs", "", "value is nan"),
        (math.nan, {}, "", "", "value is nan"),
        (1.0, {"theory": Expected(math.nan, 1.0, "")}, "", "fails", "theory gives nan"),
    ],
)  # fmt: skip
def test_paper_and_theory_have_a_verdict_each(
    measured: float, given: dict[str, Any], paper: str, theory: str, surprise: str
) -> None:
    claim = Claim("it", measured, **given)
    assert (claim.paper_verdict, claim.theory_verdict) == (paper, theory)
    assert surprise in claim.surprise
    assert bool(surprise) == bool(claim.surprise)
    assert claim.judged == bool(paper or theory)


def test_what_is_expected() -> None:
    assert Expected.within(-0.5, 0.03, "").met_by(-0.51)
    assert not Expected.within(-0.5, 0.03, "").met_by(-0.52)
    assert Expected.exact(3).met_by(3.0)
    assert not Expected.exact(3).met_by(3.0000001)
    assert Expected.exact(0.1 + 0.2).met_by(0.3)
    for side, met in (("at least", [False, True, True]), ("at most", [True, True, False])):
        bound = Expected(1.0, 0.1, "", side=side)
        assert [bound.met_by(x) for x in (0.5, 1.0, 1.5)] == met


def test_a_true_mean_is_rejected_as_seldom_as_promised() -> None:
    """Means of six values of a normal distribution: Student's t, so that few samples are enough."""
    drawn = np.random.default_rng(1).normal(size=(200_000, 6))
    error = drawn.std(axis=1, ddof=1) / math.sqrt(6)
    share = float((np.abs(drawn.mean(axis=1)) > chance(1.0, 6) * error).mean())
    # 20 are expected; five standard deviations of a count of 20
    assert abs(200_000 * share - 200_000 * CHANCE) < 5 * math.sqrt(200_000 * CHANCE)
    assert chance(1.0) == pytest.approx(3.89, abs=0.01)


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
        "text": "a <b> & c", "measured": 1.005, "error": 0.002, "samples": 5, "paper": "1 & only",
        "theory": {
            "value": 1.0, "tolerance": 0.01, "reason": "order of dt", "words": "closed form",
            "side": "equal",
        },
        "differs": "", "note": "", "verdict": {"paper": "", "theory": "holds"}, "surprise": "",
    }  # fmt: skip
    assert first["seeds"] == "0–2, 7"
    assert first["source"] == source_digest()
    assert second["claims"][1]["measured"] is None
    assert [c["verdict"]["theory"] for c in second["claims"]] == ["fails", ""]
    assert all(c["surprise"] for c in second["claims"])
    page = (folder / "index.html").read_text()
    for part in (
        "a &lt;b&gt; &amp; c", "1.0050 ± 0.0020", "good/picture.png", "good/data.csv",
        "<p>second, True</p>", "2 of 2 experiments done", "quick: reduced", "± order of dt",
        "paper: none judged; theory: 1 holds, 1 fails; 2 NOT AS EXPECTED", "seeds 0–2, 7",
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


# ---------------------------------------------------------------------- records
def test_a_full_reproduction_is_kept(fake: types.ModuleType, tmp_path: Path) -> None:
    results, target = tmp_path / "results", tmp_path / "kept"
    reproduce("fake", results, quick=True, tell=silent)
    with pytest.raises(InputError, match=r"good in .* is quick; a record is made of full"):
        keep(results, target)
    assert not target.exists()
    reproduce("fake", results, tell=silent)
    page = keep(results, target)
    assert page == target / "fake" / "index.md"
    assert sorted(p.name for p in page.parent.iterdir()) == [
        "claims.json", "good-picture.png", "index.md",
    ]  # fmt: skip
    text = page.read_text()
    for part in (
        "# fake, reproduced", "A. Nobody, Nowhere (1900).", "![All is well](good-picture.png)",
        "| a &lt;b&gt; &amp; c | 1.0050 ± 0.0020 |", "seeds 0–2, 7", "**fails**",
    ):  # fmt: skip
        assert part in text, part
    kept = read(page.parent)
    assert [c["text"] for c in kept["bad"]["claims"]] == ["off", "lost"]
    assert all(r["source"] == source_digest() for r in kept.values())
    # in a checkout whose source is committed the commit is known
    assert (kept["good"]["commit"] or source_digest()) in text
    # one experiment done again in a folder of its own: the other stays as it was recorded
    again = tmp_path / "again"
    reproduce("fake", again, only=["bad"], tell=silent)
    with pytest.raises(InputError, match=r"good in .* is not done"):
        keep(again, tmp_path / "elsewhere")
    assert keep(again, target) == page
    renewed = read(page.parent)
    assert renewed["good"] == kept["good"]
    assert renewed["bad"]["claims"] == kept["bad"]["claims"]
    assert (page.parent / "good-picture.png").exists()


def test_two_measurements_of_one_number_agree_or_not() -> None:
    def claim(measured: float | None, error: float | None = None, **rest: Any) -> dict[str, Any]:
        samples = None if error is None else 6
        given = {"text": "x", "measured": measured, "error": error, "samples": samples}
        return {**given, "paper": "", "theory": None, **rest}

    def agree(a: dict[str, Any], b: dict[str, Any]) -> bool:
        shared, sentences = disagreements([a], [b])
        assert shared == {"x"}
        return not sentences

    far = chance(math.hypot(0.1, 0.2), 6)
    assert agree(claim(1.0, 0.1), claim(1.0 + 0.99 * far, 0.2))
    assert not agree(claim(1.0, 0.1), claim(1.0 + 1.01 * far, 0.2))
    assert agree(claim(1.0), claim(1.0 + 1e-7))
    assert not agree(claim(1.0), claim(1.0 + 1e-5))
    assert not agree(claim(1.0), claim(None))
    theory = {"tolerance": 0.1, "side": "equal"}
    assert agree(claim(1.0, theory=theory), claim(1.19, theory=theory))
    assert not agree(claim(1.0, theory=theory), claim(1.21, theory=theory))
    least = {"theory": theory | {"side": "at least"}}  # of more runs it is less
    assert agree(claim(1.0, **least), claim(1.21, **least))
    assert not agree(claim(1.0, 0.01, **least), claim(1.3, 0.01, **least))
    assert disagreements([claim(1.0)], [claim(2.0) | {"text": "y"}]) == (set(), [])


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
