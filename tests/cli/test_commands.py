"""Every command does what its help says."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cuda.present import usable

from ..until import LAST, started, until

COMMANDS = (
    "run",
    "resume",
    "advise",
    "new",
    "demo",
    "picture",
    "plot",
    "movie",
    "report",
    "view",
    "measure",
    "export",
    "info",
    "help",
    "forces",
    "reproduce",
    "warmup",
)


def test_version(hardgrain):
    assert hardgrain("--version").out == f"hardgrain {hg.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(hardgrain, command):
    result = hardgrain(command, "--help")
    assert result.code == 0
    assert re.search(rf"Examples?:\n\s+hardgrain {command}", result.out)


@pytest.mark.parametrize("arguments", ["run", "fly", "info a b", "run --fast a"])
def test_wrong_usage(hardgrain, arguments):
    result = hardgrain(*arguments.split())
    assert result.code == 2
    assert "Usage: hardgrain" in result.err


def test_help_needs_neither_compiler_nor_plots():
    script = (
        "import sys; sys.argv = ['hardgrain', '--help']\n"
        "from hardgrain.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'h5py', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_run_writes_a_file_and_says_how_it_went(hardgrain, scenario):
    result = hardgrain("run", scenario)
    assert result.code == 0
    for word in ("ended:", "converged?:", "rigid?:", "overlap:", "energy:", "written:"):
        assert word in result.out
    assert "12 grains, 3 walls" in result.err  # the start line
    assert "\r" not in result.err  # no live line: not a terminal
    with hg.RunFile("test.h5") as file:
        assert file.finished
        assert file.step.tolist() == [0, 10, 20, 30]


def test_quiet_run_prints_nothing(hardgrain, scenario):
    hardgrain("run", scenario, "-o", "first.h5")  # compiles
    result = hardgrain("run", scenario, "--quiet", "--threads", 1)
    assert (result.code, result.out, result.err) == (0, "", "")


def test_the_scenario_may_name_its_file(hardgrain, scenario):
    scenario.write_text(scenario.read_text() + 'file = "named.h5"\n')
    hardgrain("run", scenario)
    assert Path("named.h5").is_file()


def test_an_existing_file_is_kept_unless_told(hardgrain, scenario):
    hardgrain("run", scenario)
    before = Path("test.h5").read_bytes()
    result = hardgrain("run", scenario)
    assert result.code == 2
    assert "test.h5 exists already" in result.err
    assert "--overwrite" in result.err
    assert "hardgrain resume" in result.err
    assert Path("test.h5").read_bytes() == before
    assert hardgrain("run", scenario, "--overwrite").code == 0


def test_resume_makes_a_run_longer_with_the_same_bits(hardgrain, scenario):
    hardgrain("run", scenario, "-o", "short.h5")
    done = hardgrain("resume", "short.h5")
    assert done.code == 0
    assert "has reached its end" in done.out
    assert hardgrain("resume", "short.h5", "--steps", 50).code == 0
    scenario.write_text(scenario.read_text().replace("steps = 30", "time = 0.5"))
    hardgrain("run", scenario, "-o", "long.h5")
    with hg.RunFile("short.h5") as a, hg.RunFile("long.h5") as b:
        assert a[-1].step == b[-1].step == 50
        np.testing.assert_array_equal(a[-1].position, b[-1].position)
        np.testing.assert_array_equal(a[-1].velocity, b[-1].velocity)


@pytest.mark.skipif(usable() is None, reason="there is a GPU here")
def test_every_command_that_makes_steps_knows_devices(hardgrain, scenario):
    """cpu and auto mean the same where there is no GPU; cuda is refused in one sentence."""
    tiles = ["--set", "solver.order=tiles"]
    assert hardgrain("run", scenario, *tiles, "-o", "a.h5", "--device", "auto").code == 0
    done = hardgrain("resume", "a.h5", "--steps", 40, "--device", "cpu")
    assert done.code == 0
    assert "steps up to 30 were made with device = 'auto', those after it with" in done.out
    hardgrain("run", scenario, *tiles, "--set", "stop.steps=40", "-o", "b.h5")
    with hg.RunFile("a.h5") as a, hg.RunFile("b.h5") as b:
        np.testing.assert_array_equal(a[-1].velocity, b[-1].velocity)
    for command in (
        ["run", scenario, *tiles, "-o", "c.h5"], ["resume", "a.h5", "--steps", 50],
        ["advise", scenario, *tiles],
    ):  # fmt: skip
        refused = hardgrain(*command, "--device", "cuda")
        assert refused.code == 2
        (said,) = (line for line in refused.err.splitlines() if line.startswith("error:"))
        assert said.endswith("(--device cpu)")
        assert "cpu" in hardgrain(*command, "--device", "tpu").err
    assert not Path("c.h5").exists()


def test_set_changes_fields(hardgrain, scenario):
    changes = ["scene.contacts.0.friction=0.7", "stop.steps=4", "title=heap of 3", "output.every=2"]
    told = [word for change in changes for word in ("--set", change)]
    assert hardgrain("run", scenario, *told, "-o", "b.h5").code == 0
    with hg.RunFile("b.h5") as file:
        stored = json.loads(file.header["scenario"])
        assert file[-1].step == 4
    assert stored["scene"]["contacts"][0]["friction"] == 0.7
    assert stored["title"] == "heap of 3"
    assert hg.load(scenario, {"solver": "rigid"}).solver.kind == "rigid"
    assert hg.load(scenario, {"stop.at_rest.steps": 7}).stop.at_rest.steps == 7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("scene.contacts.0.friction=-1", "scene.contacts[0].friction is -1; give a number of at"),
        ("scene.contacts.1.friction=1", "scene.contacts has 1 entries, numbered from 0"),
        ("scene.contacts.x.friction=1", "it has no 'x'"),
        ("title.x=1", "title is 'test', not a table"),
        ("scene.gravty=[0, 1]", "scene.gravty is not a known key; did you mean 'gravity'?"),
        ("seed", "write FIELD=VALUE"),
    ],
)
def test_set_says_what_is_wrong(hardgrain, scenario, change, words):
    result = hardgrain("run", scenario, "--set", change)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_ctrl_c_ends_cleanly_and_resume_goes_on(scenario, tmp_path):
    scenario.write_text(scenario.read_text().replace("steps = 30", "steps = 100000000"))
    command = [sys.executable, "-m", "hardgrain.cli"]
    with started(
        [*command, "run", "test.toml"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until(lambda: _has_frames(tmp_path / "test.h5", 3), "three frames", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LAST)
    assert process.returncode == 130
    assert "ended:       interrupted" in out
    assert "hardgrain resume test.h5" in err
    assert "Traceback" not in err
    with hg.RunFile(tmp_path / "test.h5") as file:
        assert not file.finished
        steps = file[-1].step
    on = subprocess.run(
        [*command, "resume", "test.h5", "--steps", str(steps + 7)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"after {steps + 7} steps" in on.stdout


LONG_STEP = """
dt = 1.0
[scene]
grains = [{ place = { kind = "at", positions = [[0, 0], [1, 0], [2, 0], [3, 0]] } }]
[engine]
kind = "soft-particles"
stiffness = 1.0
substeps = 1000000
[stop]
steps = 100000000
"""


def test_ctrl_c_is_answered_within_a_step_and_a_second_one_ends_it(tmp_path):
    """A step of a second or so, again and again: most signals meet compiled code."""
    (tmp_path / "long.toml").write_text(LONG_STEP)
    with started(
        [sys.executable, "-m", "hardgrain.cli", "run", "long.toml"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until(lambda: _has_frames(tmp_path / "long.h5", 1), "a frame", process)
        process.send_signal(signal.SIGINT)
        said = iter(process.stderr.readline, "")
        assert any("the run ends after the step in hand; Ctrl-C again" in line for line in said)
        for _ in range(4):
            process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=LAST)[1]
    assert process.returncode == 130
    assert "Traceback" not in err
    with hg.RunFile(tmp_path / "long.h5") as file:  # intact
        assert not file.finished


def test_ctrl_c_twice_in_python_ends_the_run_and_then_the_script(scenario, tmp_path):
    sim = hg.Simulation(hg.load(scenario))

    def press(sim, report):
        if report.step == 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sim.run(output=tmp_path / "a.h5", progress=press)
    with hg.RunFile(tmp_path / "a.h5") as file:
        assert file[-1].step == 6  # the step that follows is finished first
        assert not file.live


def _has_frames(path: Path, count: int) -> bool:
    try:
        with hg.RunFile(path) as file:
            return len(file) >= count
    except hg.HardgrainError:
        return False


def test_info_tells_all(hardgrain, scenario):
    hardgrain("run", scenario)
    text = hardgrain("info", "test.h5").out
    for word in ("test", "finished", "12 disks", "left, right, bottom", "after 30 steps", "seed 3"):
        assert word in text
    facts = json.loads(hardgrain("info", "test.h5", "--json").out)
    assert facts["state"] == "finished"
    assert facts["frames"] == 4
    assert facts["last"]["step"] == 30
    assert set(facts["last"]["wall_force"]) == {"left", "right", "bottom"}


def test_info_of_a_run_that_goes_on_or_was_cut(hardgrain, scenario):
    sim = hg.Simulation(hg.load(scenario))
    seen = []

    def look(sim, report):
        if report.step == 15:
            seen.append(hardgrain("info", "test.h5").out)

    sim.run(output="test.h5", progress=look)
    assert "state:       running now\n" in seen[0]
    sim = hg.Simulation(hg.load(scenario))
    sim.run(lambda s: s.state.step == 1 and signal.raise_signal(signal.SIGINT), output="cut.h5")
    assert "interrupted; to go on: hardgrain resume cut.h5" in hardgrain("info", "cut.h5").out


def test_info_of_the_machine(hardgrain):
    facts = json.loads(hardgrain("info", "--machine", "--json").out)
    assert set(facts) == {"processor", "cores", "memory", "gpu", "auto"}
    assert int(facts["cores"].split(";")[0]) >= 1
    assert facts["auto"].startswith("cpu" if "none that can be used" in facts["gpu"] else "cuda")
    for asked in ([], ["test.h5", "--machine"]):
        refused = hardgrain("info", *asked)
        assert refused.code == 2
        assert "either a run file or --machine" in refused.err


def test_info_of_a_run_made_in_python(hardgrain, scenario):
    loaded = hg.load(scenario)
    hg.Simulation(loaded.scene, dt=0.01).run(2, output="py.h5")
    assert "given in Python" in hardgrain("info", "py.h5").out


def test_new_lists_and_writes(hardgrain):
    listed = hardgrain("new", "--list").out
    assert "silo" in listed
    assert hardgrain("new", "silo").code == 0
    assert hg.load("silo.toml").title
    again = hardgrain("new", "silo")
    assert again.code == 2
    assert "silo.toml exists already" in again.err
    wrong = hardgrain("new", "sylo")
    assert wrong.code == 2
    assert "did you mean 'silo'?" in wrong.err


def test_demo_leaves_run_file_picture_and_summary(hardgrain, monkeypatch):
    from hardgrain.cli import starter

    short = starter.text("demo").replace("time = 40", "steps = 20").replace("420", "30")
    monkeypatch.setattr(starter, "text", lambda name: short)
    result = hardgrain("demo", "-o", "there")
    assert result.code == 0
    for name in ("demo.toml", "demo.h5", "network.png", "summary.json"):
        assert (Path("there") / name).stat().st_size > 0
        assert f"there/{name}" in result.out
    assert json.loads(Path("there/summary.json").read_text())["steps"] == 20


def test_picture_of_any_kind_and_frame(hardgrain, scenario):
    hardgrain("run", scenario)
    assert hardgrain("picture", "test.h5").out == "written: test.png\n"
    assert hardgrain("picture", "test.h5", "--frame", 1, "-o", "a.svg").code == 0
    assert Path("a.svg").read_text().startswith("<?xml")
    for bad, word in ((["--frame", 9], "frames 0 to 3"), (["-o", "a.xyz"], ".png")):
        result = hardgrain("picture", "test.h5", *bad, "--overwrite")
        assert result.code == 2
        assert word in result.err


def test_info_of_a_soft_run_leaves_out_the_solver(hardgrain, scenario):
    engine = hg.SoftParticles(stiffness=1e5, restitution=0.5, substeps=200)
    hg.Simulation(hg.load(scenario).scene, dt=0.01, engine=engine).run(2, output="soft.h5")
    text = hardgrain("info", "soft.h5").out
    assert "soft particles, stiffness 100000, 200 substeps" in text
    assert "residual" not in text
    assert "sweeps" not in text
    facts = json.loads(hardgrain("info", "soft.h5", "--json").out)
    assert "network" not in facts
    assert not {"residual", "sweeps"} & set(facts["last"])


def test_ctrl_c_ends_a_warm_up(monkeypatch):
    """Not only the small run in hand."""
    from hardgrain.cli import warmup

    steps, march = [], warmup.Simulation._march

    def interrupted(sim, pause):
        steps.append(sim)
        signal.raise_signal(signal.SIGINT)
        return march(sim, pause)

    monkeypatch.setattr(warmup.Simulation, "_march", interrupted)
    with pytest.raises(KeyboardInterrupt):
        warmup._compile([0, 1])
    assert len(steps) == 1
