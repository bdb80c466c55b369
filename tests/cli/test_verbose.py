"""What is decided on the way is told to the logger ``hardgrain``, and with -v to the user."""

import logging

import hardgrain as hg


def test_verbose_tells_of_checkpoints_and_looks(hardgrain, scenario):
    told = hardgrain("-v", "run", scenario)
    assert told.code == 0
    assert "Wrote a checkpoint at step 30 to test.h5." in told.err
    assert "Looked at the contact network at step 1:" in told.err
    assert "pair list" not in told.err
    resumed = hardgrain("-v", "resume", "test.h5", "--steps", 40)
    assert "Found test.h5 at step 30, from where it goes on." in resumed.err


def test_more_verbose_tells_of_pair_lists_and_stages(hardgrain, scenario):
    told = hardgrain(
        "-vv", "run", scenario, "--set", "solver.kind=rigid", "--set", "solver.sweeps=100"
    )
    assert told.code == 0
    assert "Made the pair list anew:" in told.err
    assert "sweeps (" in told.err


def test_without_it_nothing_is_told(hardgrain, scenario):
    hardgrain("-v", "run", scenario)
    assert "Wrote" not in hardgrain("run", scenario, "--overwrite").err


def test_the_package_is_silent_unless_asked(capfd, caplog):
    """A program that uses the package decides what becomes of its records."""
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0], [3, 0]]))])
    hg.Simulation(scene, dt=0.01).run(2, progress=False)
    assert capfd.readouterr().err == ""
    with caplog.at_level(logging.DEBUG, logger="hardgrain"):
        hg.Simulation(scene, dt=0.01).run(2, progress=False)
    assert "Made the pair list anew: 0 pairs of 2 grains." in caplog.messages
