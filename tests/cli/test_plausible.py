"""A run gone wrong ends with a word and exit code 1; so do all who ask for more of it."""

from __future__ import annotations

from pathlib import Path

CRASH = """
dt = 0.01
stop = { steps = 60 }
[[scene.grains]]
place = { kind = "at", positions = [[0, 0]] }
driven_velocity = ["1", "0"]
[[scene.grains]]
place = { kind = "at", positions = [[1.5, 0]] }
driven_velocity = ["-1", "0"]
"""
WHY = "grain 0 and grain 1 overlap by 0.1"


def test_two_grains_driven_into_each_other(hardgrain, tmp_path: Path) -> None:
    (tmp_path / "crash.toml").write_text(CRASH)
    ran = hardgrain("run", "crash.toml")
    assert ran.code == 1
    assert f"plausible?:  NO: {WHY}" in ran.out
    assert WHY in ran.err
    resumed = hardgrain("resume", "crash.h5")
    assert resumed.code == 1
    assert WHY in resumed.err
    told = hardgrain("info", "crash.h5")
    assert told.code == 0
    assert f"plausible?:  NO: {WHY}" in told.out
    assert "hardgrain resume" not in told.out


def test_such_a_run_may_go_on_if_asked(hardgrain, tmp_path: Path) -> None:
    (tmp_path / "crash.toml").write_text(f'on_implausible = "report"\n{CRASH}')
    ran = hardgrain("run", "crash.toml")
    assert ran.code == 1
    assert "ended:       all steps done after 60 steps" in ran.out
    assert f"plausible?:  NO: {WHY}" in ran.out
    assert hardgrain("resume", "crash.h5", "--steps", 70).code == 1  # it went on, and says so
