"""The command reproduce: lists, refusals and exit codes."""

import signal
import sys
import types

import pytest

from hardgrain.papers import PAPERS
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome

ONE = Expected(1, 0.1, "a bound")


@pytest.fixture
def fake(monkeypatch):
    module = types.ModuleType("hardgrain.papers.fake")
    module.EXPERIMENTS = [
        Experiment("fine", "It holds", lambda quick: Outcome([Claim("a", 1, theory=ONE)])),
        Experiment("off", "It fails", lambda quick: Outcome([Claim("b", 2, theory=ONE)])),
    ]
    monkeypatch.setitem(sys.modules, "hardgrain.papers.fake", module)
    monkeypatch.setitem(PAPERS, "fake", "A. Nobody, Nowhere (1900)")
    return module


def test_claims_that_hold(hardgrain, fake, tmp_path):
    result = hardgrain("reproduce", "fake", "--only", "fine")
    assert result.code == 0
    assert "1 of 1: fine, It holds" in result.err
    assert "1         –        1       holds  a" in result.out
    assert "results/fake/index.html" in result.out
    assert (tmp_path / "results" / "fake" / "claims.json").is_file()


def test_a_claim_that_fails(hardgrain, fake, tmp_path):
    result = hardgrain("reproduce", "fake", "-o", "here", "--quick")
    assert result.code == 1
    assert "2         –        1       fails  b" in result.out
    assert "not as expected:\n  b: measured 2, theory gives 1 ± 0.1" in result.out
    assert (tmp_path / "here" / "index.html").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption(hardgrain, fake, number):
    def stop(quick):
        signal.raise_signal(number)

    fake.EXPERIMENTS.append(Experiment("stop", "Ctrl-C", stop))
    result = hardgrain("reproduce", "fake", "-o", "here")
    assert result.code == 130
    assert "interrupted; what is done is in here/index.html" in result.err


def test_a_record(hardgrain, fake, tmp_path):
    fake.EXPERIMENTS.pop()
    result = hardgrain("reproduce", "fake", "--record", "kept")
    assert result.code == 0
    assert "record: kept/fake/index.md" in result.out
    assert (tmp_path / "kept" / "fake" / "claims.json").is_file()
    result = hardgrain("reproduce", "fake", "--record", "kept", "--quick")
    assert result.code == 2
    assert "--record keeps full reproductions only; leave out --quick" in result.err


def test_lists(hardgrain):
    assert "unger2002  T. Unger" in hardgrain("reproduce", "--list").out
    names = hardgrain("reproduce", "unger2002", "--list").out
    assert "fig4 " in names
    assert "elasticity" in names
    assert "--only fig4" in hardgrain("reproduce", "--help").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "PAPER is missing; known are: unger2002"),
        (["unger2001"], "paper is 'unger2001'; known are: unger2002"),
        (["unger2002", "--only", "fig5"], "--only is 'fig5'; unger2002 has: fig4, "),
        (["unger2002", "-o", "file/folder"], "file/folder cannot be made a folder"),
    ],
)
def test_refusals(hardgrain, tmp_path, arguments, sentence):
    (tmp_path / "file").write_text("")
    result = hardgrain("reproduce", *arguments)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
