"""Damaged files: each is read as it was, or refused in a sentence.

    python -m tests.fuzz.damaged [CASES [SEED]]    or, to repeat some, FIRST-LAST for CASES

damages run files, packings and FCLIB problems and reads them by all that reads files. A case fails
if anything but a sentence comes of it (a traceback, a crash), if it takes more than TIME, if it
takes more memory than three times its file and BASE, or if it gives a NaN without a word; of run
files, whose arrays have checksums, if it gives any other number than the file had. What happens in
a case depends on seed and number only.
"""

from __future__ import annotations

import gzip
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.sparse import csr_array

import hardgrain as hg
from hardgrain.cli.info import describe
from hardgrain.errors import HardgrainError
from hardgrain.io import fclib
from hardgrain.io.packings import read_packing
from hardgrain.io.runfile import RunFile
from hardgrain.io.runwriter import RunWriter
from hardgrain.run.scenario import Output, Scenario
from hardgrain.solve.matrices import LocalForm

TIME = 10  # [s] of processor time for one case
PATIENCE = 60  # [s] of any time, on a machine that has other things to do
BASE = 64 << 20  # [bytes] of memory for anything, however small its file
CHECKED = ("disks.h5", "spheres.h5")  # files whose arrays all have checksums


# ---------------------------------------------------------------------- files as they were
def make_files(folder: Path) -> list[Path]:
    """Small files of every kind that is read."""
    for dim, name in ((2, "disks.h5"), (3, "spheres.h5")):
        scene = hg.Scene(
            dimension=dim,
            gravity=[0.0] * (dim - 1) + [-1.0],
            grains=[hg.Grains(count=8, place=hg.Grid(min=[0.0] * dim, max=[3.4] * dim), speed=0.3)],
            walls=[hg.Box(min=[0.0] * dim, max=[3.5] * dim)],
        )
        output = Output(every=10, contacts_every=2)
        made = Scenario(scene=scene, dt=0.02, stop=hg.Stop(steps=30), output=output)
        hg.Simulation(made).run(until=25, output=folder / name, progress=False)
    former = Path(__file__).parents[1] / "unit" / "data" / "format-1.h5.gz"
    (folder / "former.h5").write_bytes(gzip.decompress(former.read_bytes()))
    for name in ("grains.xyz", "grains.dump", "grains.gsd"):
        hg.export(folder / "disks.h5", folder / name)
    rows = "".join(f"{k},0.5,0.5,0,0.1,0,{k % 2 + 1}\n" for k in range(8))
    (folder / "grains.csv").write_text("x,y,radius,vx,vy,spin,type\n" + rows)
    w = csr_array(np.diag(np.arange(1.0, 7.0)))
    fclib.write(folder / "local.hdf5", LocalForm(2, w, np.linspace(-1.0, 1.0, 6), np.full(3, 0.3)))
    return sorted(folder.iterdir())


# ---------------------------------------------------------------------- damage
def flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 1, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwrite(data: bytearray, chance: random.Random) -> None:
    at, size = chance.randrange(len(data)), chance.choice((1, 4, 8, 64, 512))
    fill = chance.choice((b"\0", b"\xff", chance.randbytes(1)))
    data[at : at + size] = fill * len(data[at : at + size])


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def leave_out(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 8, 100))]


def put_in(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.randbytes(chance.choice((1, 8, 100)))


WORDS = (
    "nan", "inf", "-inf", "1e999", "-1", "0", "\u00b2", "\u0663", "9" * 5000, "99999999999", "",
    "1e308", "5e-324", "x", "\0", "1_0", "ITEM: ATOMS", "Properties=a:R:9", "Properties=a:R:999999",
)  # fmt: skip


def reword(data: bytearray, chance: random.Random) -> None:
    """Another word in the place of one."""
    words = data.split(b" ") if chance.random() < 0.7 else data.split(b"\n")
    words[chance.randrange(len(words))] = bytearray(chance.choice(WORDS).encode())
    data[:] = b" ".join(words)


BYTES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, flip, overwrite, cut, leave_out, put_in,
)  # fmt: skip
NUMBERS = (float("nan"), float("inf"), -1, 0, 1e308, 2**31 - 1, -(2**63), 10**9)


def edit(path: Path, chance: random.Random) -> str:
    """What HDF5 itself lets one do to a file."""
    with h5py.File(path, "r+") as h5:
        names: list[str] = []
        h5.visit(names.append)
        name = chance.choice(names)
        data = h5[name]
        what = chance.choice(
            ("delete", "number", "number", "type", "shape", "grow", "link", "attr")
        )
        if what == "attr" and len(data.attrs):
            data.attrs[chance.choice(list(data.attrs))] = chance.choice((7, "x", [1.0, 2.0]))
        elif what == "number" and isinstance(data, h5py.Dataset) and data.size:
            values = data[()]
            if data.dtype.kind in "iuf":
                flat = np.atleast_1d(values)
                with np.errstate(all="ignore"):
                    number = np.array(chance.choice(NUMBERS)).astype(flat.dtype)
                flat.reshape(-1)[chance.randrange(flat.size)] = number
                data[()] = flat.reshape(data.shape)
        elif what == "grow" and isinstance(data, h5py.Dataset) and data.chunks:
            data.resize(chance.choice((0, 1, 10**7, 10**11)), axis=0)
        else:
            shape = getattr(data, "shape", ())
            del h5[name]
            if what == "type":
                h5[name] = np.zeros(shape, chance.choice(("f4", "i1", "S3")))
            elif what == "shape":
                h5[name] = np.zeros(chance.choice(((), (3,), (2, 2), (10**5,))))
            elif what == "link":
                kinds = (h5py.SoftLink("/model"), h5py.ExternalLink("disks.h5", "/"))
                h5[name] = chance.choice(kinds)
    return f"{what} of {name}"


def damage(path: Path, chance: random.Random) -> str:
    """Do something to a file; what it was."""
    if path.suffix in (".h5", ".hdf5") and chance.random() < 0.4:
        return edit(path, chance)
    data = bytearray(path.read_bytes())
    text = path.suffix in (".xyz", ".dump", ".csv")
    how = reword if text and chance.random() < 0.6 else chance.choice(BYTES)
    how(data, chance)
    path.write_bytes(data)
    return how.__name__


# ---------------------------------------------------------------------- readers
def _arrays(run: RunFile) -> Iterator[Any]:
    yield from run.model.values()
    yield from run.header.values()
    yield from run.wall_names
    yield run.step
    yield run.time
    yield from run.history.values()
    for k, frame in enumerate(run):
        yield from (value for value in vars(frame.record).values() if not isinstance(value, dict))
        yield from frame.scalars.values()
        contacts = run.contacts(k)
        if contacts is not None:
            yield from vars(contacts).values()


def whole(path: Path) -> list[Any]:
    with RunFile(path) as run:
        return list(_arrays(run))


def resumed(path: Path) -> list[Any]:
    RunWriter.resume(path)[0].close()
    return whole(path)


def told(path: Path) -> list[Any]:
    facts = describe(path)
    return [json.dumps({k: v for k, v in facts.items() if k not in ("bytes", "state", "resume")})]


def gone_on(path: Path) -> list[Any]:
    sim, _ = hg.Simulation.resume(path, until=27, progress=False)
    state = sim.state
    return [state.position, state.velocity, state.spin, state.orientation]


def begun_with(path: Path) -> list[Any]:
    dim = 3 if path.name == "spheres.h5" else 2
    scene = hg.Scene(dimension=dim, gravity=[0.0] * dim)
    sim = hg.Simulation(Scenario(scene=scene, dt=0.02, start={"file": str(path)}))
    return [sim.state.position, sim.state.velocity, sim.model.radius]


def exported(path: Path) -> list[Any]:
    (target,) = hg.export(path, path.with_suffix(".xyz"), overwrite=True)
    return [target.read_text()]


def grains(path: Path) -> list[Any]:
    return list(vars(read_packing(path)).values())


def problem(path: Path) -> list[Any]:
    form = fclib.read(path)
    found = [form.q if isinstance(form, LocalForm) else form.f, form.mu]
    return [*found, *fclib.read_info(path).values(), *fclib.read_solution(path).values()]


READERS: dict[str, tuple[Callable[[Path], list[Any]], ...]] = {
    ".h5": (whole, whole, resumed, told, gone_on, begun_with, exported),
    ".hdf5": (problem,),
}


def bits(values: list[Any]) -> list[Any]:
    return [v.tobytes() if isinstance(v, np.ndarray) else repr(v) for v in values]


def has_nan(values: list[Any]) -> bool:
    """NaN where a file must not have any; the stress of frames without contacts may be one."""
    arrays = [v for v in values if isinstance(v, np.ndarray | float)]
    return any(np.isnan(a).any() for a in arrays if np.asarray(a).dtype.kind == "f")


# ---------------------------------------------------------------------- cases
def cases(first: int, last: int, seed: int, folder: Path) -> Iterator[tuple[int, str]]:
    """Cases one after the other, each with what is wrong with it, if anything."""
    files = make_files(folder)
    work = folder / "work"
    work.mkdir()
    before = {}
    for path in (p for p in files if p.name in CHECKED):
        for read in READERS.get(path.suffix, (grains,)):
            before[path.name, read.__name__] = bits(read(Path(shutil.copy(path, work / path.name))))
    for number in range(first, last):
        chance = random.Random(f"{seed}-{number}")
        path = chance.choice(files)
        read = chance.choice(READERS.get(path.suffix, (grains,)))
        # in a folder of its own: HDF5 may fail to close a damaged file, and would know its place
        case = work / str(number)
        case.mkdir()
        copy = Path(shutil.copy(path, case / path.name))
        how = damage(copy, chance)
        name, size = f"{path.name}, {how}, {read.__name__}", copy.stat().st_size
        yield number, ""
        peak = _peak()
        signal.setitimer(signal.ITIMER_PROF, TIME)
        signal.alarm(PATIENCE)
        wrong = ""
        try:
            values = read(copy)
            if has_nan(values):
                wrong = f"{name}: NaN without a word"
            elif path.name in CHECKED and bits(values) != before[path.name, read.__name__]:
                wrong = f"{name}: other numbers without a word"
        except HardgrainError as error:
            if "\n" in str(error):
                wrong = f"{name}: more than one line: {error}"
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            wrong = f"{name}: {error!r} at {at.filename}:{at.lineno}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        shutil.rmtree(case)
        now = _peak()
        if now - peak > 3 * size + BASE:
            wrong = wrong or f"{name}: {(now - peak) >> 20} MiB of memory for {size} bytes"
        if wrong:
            yield number, wrong


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(first: int, last: int, seed: int) -> list[str]:
    """All cases in a process of their own, which may crash or hang; what is wrong with them."""
    wrong: list[str] = []
    while first < last:
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.damaged",
            "--child",
            f"{first}-{last}",
            str(seed),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            at = None
            for line in child.stdout:
                number, _, text = line.rstrip("\n").partition(" ")
                at = int(number)
                if text:
                    wrong.append(f"case {at}: {text}")
                    print(wrong[-1], flush=True)
        if child.returncode == 0:
            return wrong
        if at is None:
            raise RuntimeError("the files cannot be made")
        late = child.returncode in (-signal.SIGALRM, -signal.SIGPROF)
        why = "hangs" if late else f"ends by {child.returncode}"
        wrong.append(f"case {at}: {why}")
        print(wrong[-1], flush=True)
        first = at + 1
    return wrong


def main(words: list[str]) -> None:
    child = words[:1] == ["--child"]
    words = words[child:]
    span, seed = (words[0] if words else "20000"), int(words[1]) if len(words) > 1 else 0
    first, last = map(int, span.split("-")) if "-" in span else (0, int(span))
    if child:
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory() as folder:
            for number, wrong in cases(first, last, seed, Path(folder)):
                print(number, wrong, flush=True)
        return
    wrong = run(first, last, seed)
    print(f"{last - first} damaged files, seed {seed}: {len(wrong)} went wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
