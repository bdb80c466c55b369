"""The run file: exact, readable at any moment, intact after kills, full disks and cuts.

Every frame is a known function of its number, so whoever opens the file can tell whether what it
holds is right. Run as a script (`python test_runfile.py PATH FRAMES ACTION`), this file is the
writer process that the tests watch, kill and starve.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from hardgrain.core.lawtable import N_PARAMETERS
from hardgrain.core.model import Contacts
from hardgrain.errors import InputError, RunError
from hardgrain.io import layout, runwriter
from hardgrain.io.runfile import Record, RunFile
from hardgrain.io.runwriter import RunWriter, StepRows

HEADER = {"scenario": 'title = "Böschung"\n', "seed": "7", "note": ""}
COLUMNS = ("sweeps", "residual", "energy")
LAST = 600.0  # [s], for a process that hangs


def make_model(n: int = 10, w: int = 2, dim: int = 2) -> dict[str, np.ndarray]:
    ns = 1 if dim == 2 else 3
    return {
        "radius": np.linspace(0.1, 1, n),
        "inv_mass": np.ones((n + w, dim)),
        "inv_inertia": np.ones((n + w, ns)),
        "mass": np.ones(n + w),
        "inertia": np.ones(n + w),
        "material": np.zeros(n + w, np.int32),
        "group": np.zeros(n, np.int32),
        "laws": np.zeros((1, 1, N_PARAMETERS)),
        "periodic": np.zeros(dim),
        "gravity": np.ones(dim),
        "wall_kind": np.zeros(w, np.int32),
        "wall_axis": np.ones((w, dim)),
        "wall_size": np.zeros(w),
        "wall_offset": np.zeros((w, dim)),
        "wall_side": np.zeros((w, dim)),
        "carrier": np.arange(n + w, dtype=np.int32),
    }


def make_frame(k: int, n: int = 10, w: int = 2, dim: int = 2) -> Record:
    rng = np.random.default_rng(k)
    ns = 1 if dim == 2 else 3
    return Record(
        step=10 * k,
        time=k / 3,
        position=rng.normal(size=(n + w, dim)),
        orientation=rng.normal(size=(n + w, 1 if dim == 2 else 4)),
        velocity=rng.normal(size=(n + w, dim)),
        spin=rng.normal(size=(n + w, ns)),
        wall_force=rng.normal(size=(w, dim)),
        wall_torque=rng.normal(size=(w, ns)),
        scalars={"work": k * np.pi, "loss": 0.1 * k},
    )


def make_contacts(k: int, n: int = 10, w: int = 2, dim: int = 2) -> Contacts | None:
    """Contacts of a frame: every third frame stores them, sometimes there are none."""
    if k % 3:
        return None
    rng = np.random.default_rng(1000 + k)
    pairs = [(i, j) for i in range(min(n, 10)) for j in range(i + 1, min(n + w, 12))]
    m, ns = int(rng.integers(0, min(30, len(pairs) + 1))), 1 if dim == 2 else 3
    rows = np.sort(rng.choice(len(pairs), m, replace=False)) if pairs else []
    first, second = np.array(pairs, np.int32).reshape(-1, 2)[rows].T.copy()
    return Contacts(
        first,
        second,
        normal=rng.normal(size=(m, dim)),
        gap=rng.normal(size=m),
        impulse=rng.normal(size=(m, dim)),
        torque=rng.normal(size=(m, ns)),
    )


def make_steps(k: int, n: int = 10, w: int = 2, dim: int = 2) -> StepRows:
    steps = k % 4
    table = k + np.arange(3 * steps).reshape(-1, 3) / 7
    force = k + np.arange(steps * w * dim).reshape(steps, w, dim) / 9
    return StepRows(table, force, k + np.arange(steps * w).reshape(steps, w) / 11)


def start(path: Path, n: int = 10, w: int = 2, dim: int = 2, **options: bool) -> RunWriter:
    names = [f"wall{i}" for i in range(w)]
    return RunWriter.create(
        path,
        header=HEADER,
        model=make_model(n, w, dim),
        columns=COLUMNS,
        wall_names=names,
        scalars=("work", "loss"),
        **options,
    )


def add(writer: RunWriter, frames: int, **size: int) -> None:
    for k in range(len(writer), len(writer) + frames):
        contacts = make_contacts(k, **size)
        writer.append(make_frame(k, **size), make_steps(k, **size), contacts)


def same(a: object, b: object) -> None:
    """Equal to the last bit, field by field."""
    for name, value in vars(a).items():
        other = vars(b)[name]
        if isinstance(value, np.ndarray):
            assert (other.dtype, other.shape) == (value.dtype, value.shape), name
            assert other.tobytes() == value.tobytes(), name
        else:
            assert other == value, name


def check(path: Path, first: int = 0, **size: int) -> int:
    """Every frame from `first` on is complete and right; returns how many there are in all."""
    with RunFile(path) as run:
        for k in range(first, len(run)):
            same(make_frame(k, **size), run[k].record)
            expected, contacts = make_contacts(k, **size), run.contacts(k)
            assert (contacts is None) == (expected is None)
            if contacts is not None:
                same(expected, contacts)
        steps = [vars(make_steps(k, **size)).values() for k in range(len(run))]
        parts = [np.concatenate(part) for part in zip(*steps, strict=True)]
        flat = [part.reshape(len(part), int(np.prod(part.shape[1:]))) for part in parts]
        history = run.history
        for column, name in zip(np.hstack(flat).T, history, strict=True):
            assert np.array_equal(history[name], column)
        return len(run)


def writer_process(path: Path, frames: int, action: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(path), str(frames), action]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main(path: Path, frames: int, action: str) -> None:
    """Write or resume, and tell the number of frames after each.

    "limit" caps the size of the file, "blind" also lets HDF5 run into it; "endless" writes until
    there is a file of the name enough.
    """
    print("ready", flush=True)
    resumable = path.exists()
    if resumable:
        try:
            RunFile(path).close()
        except InputError:  # killed before the first frame
            resumable = False
    writer = RunWriter.resume(path)[0] if resumable else start(path, overwrite=True)
    if action == "blind":
        runwriter.reserve = lambda file, size: None
    if action in ("limit", "blind"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (750_000, 750_000))
    try:
        while frames > 0 and not (action == "endless" and path.with_name("enough").exists()):
            add(writer, 1)
            frames -= 1
            if action in ("write", "endless"):
                print(len(writer), flush=True)
        writer.close(finished=True)
    except RunError as error:
        print(error)
        print(check(path))  # the process that failed can still read the file
        sys.exit(1)


@pytest.mark.parametrize(("n", "w", "dim"), [(10, 2, 2), (1, 0, 2), (3, 0, 3), (7, 3, 3)])
def test_round_trip(tmp_path: Path, n: int, w: int, dim: int) -> None:
    path = tmp_path / "run.h5"
    size = {"n": n, "w": w, "dim": dim}
    with start(path, **size) as writer:
        add(writer, 7, **size)
        assert len(writer) == 7
        writer.close(finished=True)
    assert check(path, **size) == 7
    with RunFile(path) as run:
        assert run.header == HEADER
        assert run.finished
        assert not run.live
        assert run.wall_names == [f"wall{i}" for i in range(w)]
        for name, array in make_model(n, w, dim).items():
            assert run.model[name].dtype == array.dtype
            assert np.array_equal(run.model[name], array)
        same(run[-1].record, run[6].record)
        assert [frame.step for frame in run] == list(run.step)
        assert run.time[2] == 2 / 3
        with pytest.raises(IndexError):
            run[7]
    with h5py.File(path) as h5:
        assert h5["committed/frames"][()] == len(h5["frames/time"]) == 7
        assert h5["history"].dtype.names == COLUMNS
        described = [name for name in layout.ABOUT if name in h5]
        assert all(h5[name].attrs["unit"] and h5[name].attrs["description"] for name in described)


FORCES = [f"force_wall{k}_{axis}" for k in range(2000) for axis in "xyz"]


def test_thousands_of_walls(tmp_path: Path) -> None:
    """Walls are rows of arrays; as columns of a table they overran a limit of HDF5 at some 440."""
    path, size = tmp_path / "run.h5", {"n": 3, "w": 2000, "dim": 3}
    with start(path, **size) as writer:
        add(writer, 4, **size)
    with RunWriter.resume(path)[0] as writer:
        add(writer, 1, **size)
    assert check(path, **size) == 5
    with RunFile(path) as run:
        works = [f"work_by_wall{k}" for k in range(2000)]
        assert list(run.history) == [*COLUMNS, *FORCES, *works]


def test_a_file_of_the_format_before(tmp_path: Path) -> None:
    """Read as it is; resumed, it becomes one of the present format with the same content."""
    old, new = tmp_path / "old.h5", tmp_path / "new.h5"
    with gzip.open(Path(__file__).parent / "data" / "format-1.h5.gz") as file:
        old.write_bytes(file.read())
    shutil.copy(old, new)
    RunWriter.resume(new)[0].close()
    with RunFile(old) as run, RunFile(new) as again:
        assert (run.format, again.format) == (1, 2)
        assert list(run.step) == [0, 10, 20, 25]
        assert list(again.step) == list(run.step)
        assert run.wall_names == again.wall_names == ["left", "right", "bottom", "top"]
        assert run.header == again.header
        for k in range(len(again)):
            same(run[k].record, again[k].record)
            assert (run.contacts(k) is None) == (again.contacts(k) is None) == (k == 1)
        same(run.contacts(-1), again.contacts(-1))
        history, others = run.history, again.history
        assert list(history) == list(others)
        assert list(history)[-2:] == ["work_by_bottom", "work_by_top"]
        for name, column in history.items():
            assert np.array_equal(column, others[name]), name
        weight = run[-1].wall_force[2]
        assert [history[f"force_bottom_{axis}"][-1] for axis in "xy"] == weight.tolist()
        assert weight[1] < 0.0


def test_a_frame_has_grains_in_its_rows_and_walls_by_name(tmp_path: Path) -> None:
    path, kept = tmp_path / "run.h5", make_frame(0)
    with start(path) as writer:
        writer.append(kept, make_steps(0), make_contacts(0))
    with RunFile(path) as run:
        frame, names = run[0], run.wall_names
    assert len(frame) == 10
    assert frame.id.tolist() == list(range(10))
    for name in ("position", "orientation", "velocity", "spin"):
        rows = getattr(kept, name)
        np.testing.assert_array_equal(getattr(frame, name), rows[:10])
        for k, wall in enumerate(names):
            np.testing.assert_array_equal(getattr(frame.walls[wall], name), rows[10 + k])
    np.testing.assert_array_equal(frame.walls[names[1]].force, kept.wall_force[1])
    np.testing.assert_array_equal(frame.walls[names[1]].torque, kept.wall_torque[1])
    np.testing.assert_array_equal(frame.state(Contacts.none(2)).position, kept.position)


def test_grains_that_are_not_there_have_no_row(tmp_path: Path) -> None:
    """Contacts name rows of the frame; the checkpoint knows everyone."""
    path = tmp_path / "run.h5"
    status = np.array([0, -1, 0, 2, 0, 0, 0, 0, 1, 0], np.int32)
    kept = replace(make_frame(0), status=status)
    contacts = Contacts(
        *np.array([[0, 2, 4, 9], [2, 4, 11, 10]], np.int32),
        normal=np.ones((4, 2)), gap=np.arange(4.0), impulse=np.ones((4, 2)), torque=np.ones((4, 1)),
    )  # fmt: skip
    with start(path, status=True) as writer:
        writer.append(kept, make_steps(0), contacts)
    with RunFile(path) as run:
        frame, found, whole = run[0], run.contacts(0), run.checkpoint(0)
    assert frame.id.tolist() == [0, 2, 4, 5, 6, 7, 9]
    np.testing.assert_array_equal(frame.position, kept.position[frame.id])
    np.testing.assert_array_equal(frame.walls["wall1"].position, kept.position[11])
    assert found is not None
    assert whole is not None
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1, 2, 6], [1, 2, 8, 7])
    same(whole.record, kept)
    same(whole.contacts, contacts)


def test_special_numbers_keep_their_bits(tmp_path: Path) -> None:
    path, frame = tmp_path / "run.h5", make_frame(0)
    odd = [-0.0, 5e-324, np.nextafter(1, 2), -np.pi]
    frame.position.flat[: len(odd)] = odd
    with start(path) as writer:
        writer.append(frame, make_steps(0), make_contacts(0))
    with RunFile(path) as run:
        same(frame, run[0].record)


def test_large_rows_are_split_into_chunks(tmp_path: Path) -> None:
    path, size = tmp_path / "run.h5", {"n": 100_001, "w": 1, "dim": 3}
    with start(path, **size) as writer:
        add(writer, 2, **size)
    assert check(path, **size) == 2
    with h5py.File(path) as h5:
        chunks = h5["frames/position"].chunks
        assert chunks[0] == 1
        assert 500_000 < 8 * np.prod(chunks) < 1_100_000
    model = 100_002 * (3 + 3 + 1 + 1 + 0.5) + 100_001 * 1.5
    data = 8 * (100_002 * (3 + 4 + 3 + 3) * 2 + model)
    assert path.stat().st_size < 1.05 * data + 2_000_000


def test_small_file_is_small(tmp_path: Path) -> None:
    with start(tmp_path / "run.h5", n=2, w=0) as writer:
        add(writer, 1, n=2, w=0)
    assert (tmp_path / "run.h5").stat().st_size < 300_000


def test_read_while_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    process = writer_process(path, 20_000, "endless")
    lengths: list[int] = []
    complaints = set()
    while not path.exists():
        assert process.poll() is None, process.communicate()
    while len(lengths) < 100 or lengths[0] == lengths[-1]:
        assert process.poll() is None, process.communicate()
        try:
            with RunFile(path) as run:
                last = len(run) - 1
                same(make_frame(last), run[last].record)
                lengths.append(len(run))
                run.refresh()
                assert len(run) > last
        except InputError as error:
            complaints.add(str(error))
    path.with_name("enough").touch()
    out, error = process.communicate(timeout=LAST)
    assert process.returncode == 0, error
    assert lengths == sorted(lengths)
    assert complaints <= {f"{path} holds no complete frame yet."}
    frames = int(out.split()[-1])
    assert check(path, first=frames - 100) == frames >= lengths[-1]


def test_read_from_the_writing_process(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with start(path) as writer:
        add(writer, 3)
        run = RunFile(path)
        assert run.live
        assert len(run) == 3
        add(writer, 2)
        assert len(run) == 3
        run.refresh()
        assert len(run) == 5
        assert check(path) == 5
    assert not run.live
    assert not run.finished
    run.close()


def test_plain_h5py_reader_and_writer_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    code = "import h5py, sys; f = h5py.File(sys.argv[1], swmr=True); print(len(f['frames/time']))"
    hold = "; sys.stdout.flush(); sys.stdin.read()"
    with start(path) as writer:
        add(writer, 3)
        command = [sys.executable, "-c", code + hold, str(path)]
        reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"3\n"
        add(writer, 1)
    with RunWriter.resume(path)[0] as writer:
        add(writer, 3)
    reader.communicate(b"")
    assert check(path) == 7


def test_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with start(path) as writer:
        add(writer, 1)
        for attempt in (lambda: start(path, overwrite=True), lambda: RunWriter.resume(path)):
            with pytest.raises(InputError, match="is being written by another run"):
                attempt()
        process = writer_process(path, 1, "write")
        assert "is being written by another run" in process.communicate()[1]
        add(writer, 1)
    assert check(path) == 2


def test_resume_continues_a_closed_file_in_place(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with start(path) as writer:
        add(writer, 4)
    inode = path.stat().st_ino
    writer, checkpoint = RunWriter.resume(path)
    with writer:
        same(checkpoint.record, make_frame(3))
        same(checkpoint.contacts, make_contacts(3))
        assert checkpoint.header == HEADER
        assert np.array_equal(checkpoint.model["radius"], make_model()["radius"])
        add(writer, 3)
    assert path.stat().st_ino == inode
    assert check(path) == 7


def test_resume_goes_back_to_the_last_contacts(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with start(path) as writer:
        add(writer, 6)
    writer, checkpoint = RunWriter.resume(path)
    with writer:
        assert checkpoint.record.step == 30
        assert len(writer) == 4
        assert check(path) == 4
        add(writer, 1)
    assert check(path) == 5


def test_resume_beside_an_open_reader(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with start(path) as writer:
        add(writer, 4)
    with RunFile(path) as run:
        with RunWriter.resume(path)[0] as writer:
            add(writer, 1)
        same(run[3].record, make_frame(3))
        run.refresh()
        assert len(run) == 5


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_removed_or_replaced_while_it_is_written(
    tmp_path: Path, replaced: bool, late: bool
) -> None:
    """The run goes on under a new name with all its frames, and harms nobody's file."""
    path, new = tmp_path / "run.h5", tmp_path / "run-2.h5"
    writer = start(path)
    add(writer, 5)
    path.unlink()
    if replaced:
        path.write_text("of somebody else")
        (tmp_path / "run-2.h5").touch()
        new = tmp_path / "run-3.h5"
    if not late:
        add(writer, 2)
        assert check(new) == 7
    writer.close(finished=True)
    assert writer.path == new
    assert writer.news == (
        f"{path} was removed or replaced during the run, which is now written to {new}"
    )
    assert check(new) == (5 if late else 7)
    with RunFile(new) as run:
        assert run.finished
    assert path.read_text() == "of somebody else" if replaced else not path.exists()


def test_its_folder_removed_while_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    writer = start(folder / "run.h5")
    add(writer, 2)
    shutil.rmtree(folder)
    with pytest.raises(RunError, match=r"was removed during the run, and nothing can be written"):
        add(writer, 1)
    writer.close()


def test_a_frame_that_can_be_resumed_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data first, then the count: the disk is waited for twice a frame with contacts."""
    counts: list[int] = []
    with start(tmp_path / "run.h5") as writer:
        count = writer._committed["frames"]
        monkeypatch.setattr(runwriter, "sync", lambda file: counts.append(int(count[()])))
        monkeypatch.setattr(runwriter, "WAIT", np.inf)
        add(writer, 4)  # the first and the last have contacts
        assert counts == [0, 1, 3, 4]
        monkeypatch.setattr(runwriter, "WAIT", -1.0)
        add(writer, 3)
        assert counts == [0, 1, 3, 4]
        monkeypatch.setattr(runwriter, "WAIT", np.inf)
        writer.durable = False
        add(writer, 3)
        assert counts == [0, 1, 3, 4]


def begun(path: Path) -> bool:
    """Whether a run file has a frame; the first writers may have died before it."""
    try:
        RunFile(path).close()
    except InputError as error:
        if "holds no complete frame yet" not in str(error):
            raise
        return False
    return True


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Killed while it opens the file or within some frame after; what it told of is there."""
    path, rng = tmp_path / "run.h5", random.Random(1)
    before = 0
    for kill in range(12):
        process = writer_process(path, 100_000, "write")
        assert process.stdout is not None
        wanted = 1 + (kill % 4 and rng.randrange(2, 9))  # "ready", then frames
        heard = [process.stdout.readline() for _ in range(wanted)]
        time.sleep(rng.uniform(0, 0.003))  # a frame or so
        process.send_signal(signal.SIGKILL)
        out, error = process.communicate()
        assert not error, error
        told = [int(line) for line in [*heard, *out.split()] if line != "ready\n"]
        if path.exists() and (before or begun(path)):
            frames = check(path, first=max(0, before - 10))
            assert frames >= before - 2  # goes back to the last frame with contacts at most
            assert frames >= max(told, default=0)
            before = frames
    assert check(path) == before > 12  # 9 writers got to their second frame at least
    writer, _ = RunWriter.resume(path)
    with writer:
        add(writer, 5)
        assert check(path) == len(writer)


@pytest.mark.parametrize("action", ["limit", "blind"])
def test_file_size_limit(tmp_path: Path, action: str) -> None:
    """With the reserve ("limit") HDF5 is never in trouble; without it, it is and must let go."""
    path = tmp_path / "run.h5"
    process = writer_process(path, 100_000, action)
    out, error = process.communicate(timeout=LAST)
    assert process.returncode == 1
    assert not error
    ready, message, frames = out.splitlines()
    frames = int(frames)
    assert ready == "ready"
    assert frames > 20
    assert message.startswith(f"{path} cannot take frame {frames}, which needs ")
    assert f"intact up to frame {frames - 1} (step {10 * frames - 10}, " in message
    assert check(path) == frames
    with RunWriter.resume(path)[0] as writer:
        add(writer, 5)
    check(path)


def test_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1200k", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk is not permitted")
    try:
        path = disk / "run.h5"
        writer = start(path)
        with pytest.raises(RunError, match=r"No space left on device.*intact up to frame"):
            add(writer, 100_000)
        frames = check(path)
        assert frames == len(writer) > 20
        with pytest.raises(RunError, match="takes no more frames"):
            add(writer, 1)
        (disk / "rubbish").write_bytes(bytes(shutil.disk_usage(disk).free))
        with pytest.raises(RunError, match=r"cannot be written.*are free"):
            start(disk / "other.h5")
        assert sorted(os.listdir(disk)) == ["rubbish", "run.h5"]
        (disk / "rubbish").unlink()
        assert check(path) == frames
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("killed", [False, True])
def test_cut_short(tmp_path: Path, killed: bool) -> None:
    path, cut = tmp_path / "run.h5", tmp_path / "cut.h5"
    writer = start(path)
    add(writer, 150)
    needed = int(RunFile(path)._h5["committed/bytes"][()])
    if killed:
        path = Path(shutil.copy(path, tmp_path / "killed.h5"))
    writer.close()
    data = path.read_bytes()
    end = needed if killed else len(data)
    lengths = [1, 8, 20, 47, 48, 96, 700, 2048, *np.linspace(3000, end - 1, 40, dtype=int), end - 1]
    for length in lengths:
        cut.write_bytes(data[:length])
        for attempt in (RunFile, RunWriter.resume):
            with pytest.raises(InputError, match=r"cut short|is damaged|not an HDF5") as caught:
                attempt(cut)
            assert str(caught.value).startswith(str(cut))
            assert "\n" not in str(caught.value)
    cut.write_bytes(data)
    assert check(cut) == 150


def test_a_version_with_more_laws_reads_files_of_this_one(
    intact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law that a file does not know is off in it."""
    for module in ("layout", "runfile"):
        monkeypatch.setattr(f"hardgrain.io.{module}.N_PARAMETERS", N_PARAMETERS + 2)
    with RunFile(intact) as run:
        assert run.model["laws"].shape == (1, 1, N_PARAMETERS + 2)
        assert run.model["named_laws"].shape == (0, N_PARAMETERS + 2)
        np.testing.assert_array_equal(run.model["laws"][..., N_PARAMETERS:], 0.0)


def other(h5: h5py.File, name: str, value: object) -> None:
    """Another dataset in the place of one."""
    del h5[name]
    h5[name] = value


# What is done to a file that HDF5 opens without complaint, and what must be said of it.
EDITS = {
    "no group": (lambda h5: h5.__delitem__("contacts"), "contacts is missing"),
    "no dataset": (lambda h5: h5.__delitem__("frames/spin"), "frames/spin is missing"),
    "no model": (lambda h5: h5.__delitem__("model/laws"), "its model lacks arrays"),
    "group": (lambda h5: other(h5, "model/mass", h5["model"]), "model/mass is not a dataset"),
    "soft": (lambda h5: other(h5, "model/mass", h5py.SoftLink("/model/radius")), "is a link"),
    "external": (
        lambda h5: other(h5, "frames/position", h5py.ExternalLink("other.h5", "x")), "is a link",
    ),
    "type": (lambda h5: other(h5, "model/mass", np.ones(12, "f4")), "holds float32"),
    "short": (lambda h5: other(h5, "model/mass", np.ones(3)), r"\(3,\) in place of"),
    "bodies": (lambda h5: other(h5, "model/radius", np.ones(4)), "are not 4 grains and 2 walls"),
    "dim": (lambda h5: other(h5, "model/inv_mass", np.ones((12, 4))), "has 4 dimensions"),
    "text": (lambda h5: other(h5, "header/seed", 7), "not text of a fixed length"),
    "row": (lambda h5: other(h5, "frames/velocity", np.ones((4, 12, 3))), "frames/velocity holds"),
    "table": (lambda h5: other(h5, "history", np.ones(4)), "are no table"),
    "huge": (lambda h5: h5["contacts/gap"].resize(10**12, axis=0), "more than the whole file has"),
    "few": (lambda h5: h5["contacts/gap"].resize(1, axis=0), "of /contacts that are not there"),
    "count": (lambda h5: h5["committed/frames"].write_direct(np.array(9)), "it counts 9 frames"),
    "fewer": (lambda h5: h5["committed/frames"].write_direct(np.array(2)), "it counts 2 frames"),
    "offset": (lambda h5: h5["frames/contact_offset"].__setitem__(2, -5), "that are not there"),
    "swollen": (lambda h5: h5["frames/contact_count"].__setitem__(3, 10**9), "are not there"),
}  # fmt: skip
# Numbers that were changed, and where they are met; checksums are right where `forged`.
NUMBERS = {
    "frames/position": (np.nan, lambda run: run[-1], "not a finite number"),
    "frames/time": (np.inf, lambda run: run[-1], "not a finite number"),
    "contacts/gap": (np.nan, lambda run: run.contacts(3), "not a finite number"),
    "contacts/second": (99, lambda run: run.contacts(3), "bodies that do not exist"),
    "contacts/first": (-1, lambda run: run.contacts(3), "bodies that do not exist"),
    "model/radius": (0.0, lambda run: run.model, "not positive"),
    "model/material": (1, lambda run: run.model, "beyond 0"),
    "model/wall_kind": (99, lambda run: run.model, "beyond"),
    "model/laws": (np.nan, lambda run: run.model, "not a finite number"),
    "history": (np.nan, lambda run: run.history, "is not a number"),
    "walls/force": (np.nan, lambda run: run.history, "is not a number"),
}


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("intact") / "run.h5"
    with start(path) as writer:
        add(writer, 4)
    return path


@pytest.mark.parametrize("edit", EDITS)
def test_another_structure(tmp_path: Path, intact: Path, edit: str) -> None:
    """HDF5 opens it, and we say before we read any array why we do not."""
    path = Path(shutil.copy(intact, tmp_path / "run.h5"))
    change, words = EDITS[edit]
    with h5py.File(path, "r+") as h5:
        change(h5)
    for attempt in (RunFile, RunWriter.resume):
        with pytest.raises(InputError, match=f"is damaged: .*{words}"):
            attempt(path)


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_other_numbers(tmp_path: Path, intact: Path, name: str, forged: bool) -> None:
    path = Path(shutil.copy(intact, tmp_path / "run.h5"))
    value, read, words = NUMBERS[name]
    with h5py.File(path, "r+") as h5:
        data = h5[name][()]
        flat = data.view("f8") if data.dtype.names else data
        flat.reshape(-1)[-1] = value
        h5[name][()] = data
        if forged and name.startswith("model"):
            h5[name].attrs["checksum"] = np.uint32(layout.checksum(data))
        elif forged:
            ends = layout.starts(layout.datasets(h5), 4)[layout.table(name)][1:]
            sums = h5["frames/checksum"][()]
            sums[name] = [layout.checksum(data[:end]) for end in ends]
            h5["frames/checksum"][()] = sums
    with RunFile(path) as run, pytest.raises(InputError, match=words if forged else "checksum"):
        read(run)


def read_all(path: Path) -> None:
    with RunFile(path) as run:
        for k, _ in enumerate(run):
            run.contacts(k)
        for name in ("header", "model", "history", "wall_names", "step", "time"):
            getattr(run, name)


def test_every_flipped_bit_of_data_is_noticed(tmp_path: Path, intact: Path) -> None:
    """One in every array; HDF5 itself checks its own structures only."""
    path, data = tmp_path / "run.h5", bytearray(intact.read_bytes())
    rng = random.Random(3)
    with h5py.File(intact) as h5:
        names: list[str] = []
        h5.visititems(lambda name, d: names.append(name) if isinstance(d, h5py.Dataset) else None)
        places = []
        for name in names:
            stored = h5[name].id
            if h5[name].chunks is None:
                places.append((name, stored.get_offset(), h5[name].nbytes))
            elif len(h5[name]):
                row = h5[name].nbytes // len(h5[name])
                rows = min(len(h5[name]), h5[name].chunks[0])
                places.append((name, stored.get_chunk_info(0).byte_offset, row * rows))
    assert len(places) > 40
    for name, offset, size in places:
        if name in ("committed/finished", "committed/bytes") or not size:
            continue
        at = offset + rng.randrange(size)
        data[at] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        data[:] = intact.read_bytes()
        with pytest.raises(InputError, match=r"is damaged|no complete frame"):
            read_all(path)


def test_bad_paths_for_reading(tmp_path: Path) -> None:
    empty, text, other, young = (tmp_path / name for name in ("empty", "text", "other", "young"))
    empty.touch()
    text.write_text("radius = 1\n")
    with h5py.File(other, "w") as h5:
        h5["x"] = 1.0
    start(young).close()
    with start(tmp_path / "loose") as writer:
        writer.append(make_frame(0), make_steps(0), None)
    newer = shutil.copy(young, tmp_path / "newer")
    with h5py.File(newer, "r+") as h5:
        h5.attrs[layout.MARK] = 99
    for name, words in {
        "absent": "does not exist",
        ".": "is a folder",
        "empty": "is empty",
        "text": "is not an HDF5 file",
        "other": "not a run file of hardgrain",
        "newer": "has run-file format 99",
        "young": "holds no complete frame",
    }.items():
        for attempt in (RunFile, RunWriter.resume):
            with pytest.raises(InputError, match=words):
                attempt(tmp_path / name)
    with pytest.raises(InputError, match="stores no contacts"):
        RunWriter.resume(tmp_path / "loose")


def test_bad_paths_for_writing(tmp_path: Path) -> None:
    with start(tmp_path / "run.h5") as writer:
        add(writer, 2)
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent" / "run.h5", "does not exist"),
        (tmp_path / "run.h5", "exists already"),
        (Path(os.devnull), "not a regular file"),
        (Path("/proc/run.h5"), "cannot be written" if os.path.isdir("/proc") else "not exist"),
    ):
        with pytest.raises(InputError, match=words):
            start(path)
    assert check(tmp_path / "run.h5") == 2
    with start(tmp_path / "run.h5", overwrite=True) as writer:
        add(writer, 1)
    assert check(tmp_path / "run.h5") == 1
    assert os.listdir(tmp_path) == ["run.h5"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
