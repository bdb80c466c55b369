"""The command ``hardgrain forces``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from hardgrain.cli.options import Overwrite
from hardgrain.errors import InputError, RunError
from hardgrain.io.json_text import json_text

if TYPE_CHECKING:
    from hardgrain.forces.bounds import Bounds
    from hardgrain.forces.space import ForceSpace
    from hardgrain.io.runfile import RunFile

__all__ = ["forces"]

T = TypeVar("T")
# [s, 1] CPU time of all bounds of 100 contacts in 2D, and the power with which it grows.
COST, GROWTH = 0.2, 2.75
Cone = Literal["inside", "outside", "round"]
WRITTEN = ("network.png", "histograms.png", "contacts.csv", "forces.json")


def forces(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run file (.h5).")],
    *,
    step: Annotated[
        int,
        typer.Option("--step", "--frame", metavar="K", help="Frame, from 0; negative counts from the end."),  # noqa: E501
    ] = -1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="For pictures and tables. Default: FILE's name and -forces, here; none with --json or --csv."),  # noqa: E501
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a table of all contacts with their bounds.")
    ] = False,
    only_count: Annotated[
        bool, typer.Option("--count", help="Only count, at once: no linear programs.")
    ] = False,
    diameters: Annotated[
        bool, typer.Option("--global", help="Also global indeterminacies, between extremal states.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Also draw N of the possible states.")
    ] = None,
    method: Annotated[
        Literal["hit-and-run", "perturb"],
        typer.Option(help="Draw them uniformly, or by the solver from perturbed states."),
    ] = "hit-and-run",
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the samples.")] = 0,
    balance: Annotated[
        Literal["state", "loads"],
        typer.Option(help="Load of the contacts: what those forces balance that were found, or what is known of external ones."),  # noqa: E501
    ] = "state",
    cone: Annotated[
        Cone,
        typer.Option(help="In 3D: bounds by pyramids inside or outside the friction cones, or exact, which takes longer."),  # noqa: E501
    ] = "inside",
    faces: Annotated[int, typer.Option(min=3, metavar="N", help="Of the pyramids.")] = 8,
    processes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The result does not depend on it. Default: all cores."),  # noqa: E501
    ] = None,
    overwrite: Overwrite = False,
) -> None:  # fmt: skip
    """Are the contact forces of a packing at rest the only ones possible, and if not, how far off?

    Equilibrium, Signorini's and Coulomb's laws leave a convex set F of forces. The table gives its
    dimension and how far single forces may vary (δ: the greatest possible less the least). Pictures
    show the force network in the colour of that range, and histograms. A hundred disks take
    seconds, a thousand some minutes.

    \b
    Examples:
      hardgrain forces settled.h5
      hardgrain forces settled.h5 --step 10 --samples 500 -o my-folder
      hardgrain forces settled.h5 --json > forces.json
    """
    if as_json and as_csv:
        raise InputError("--json and --csv were given; only one can be printed")
    if only_count and (as_csv or diameters or samples is not None):
        raise InputError("--count leaves out what --csv, --global and --samples are for")

    from hardgrain.cli import force_facts as facts_of
    from hardgrain.io.runfile import RunFile

    folder = output
    if folder is None and not (as_json or as_csv):
        folder = Path(f"{file.stem}-forces")
    with RunFile(file) as run, _at_once(), _progress() as during:
        space = _space(run, step, balance, faces)
        if folder is not None:  # this is checked before the work that would be lost
            _make(folder, overwrite)
        facts, bounds = facts_of.count(run, step, space), None
        with _explained(facts["residual"] > facts_of.MOVES):
            if not only_count:
                facts |= during("looking for possible forces", lambda: facts_of.possible(space))
                if samples is not None and facts["unbounded"] and method == "hit-and-run":
                    raise InputError(
                        "--samples cannot be had: F is unbounded, and so without uniform samples"
                    )
            if not facts.get("empty", True):
                facts["members"] = during("special members", lambda: facts_of.members(space))
                bounds = during(_task(space), lambda: _bounds(space, processes, cone))
                facts["local"] = facts_of.local(space, bounds, cone)
                facts |= facts_of.resultants(space, bounds, cone)
                if diameters:
                    states = during("extremal states", lambda: space.extremal(processes=processes))
                    facts["global"] = facts_of.diameters(states)
                if samples is not None:
                    drawn = during(
                        f"{samples} samples", lambda: space.sample(samples, seed, method)
                    )
                    facts["sample"] = facts_of.sampled(drawn, seed)
        table = facts_of.columns(space, bounds)
        files: list[str] = []
        if folder is not None:
            files = during(
                "pictures", lambda: _write(folder, run, step, space, bounds, facts, table)
            )
    if as_json:
        print(json_text(facts | {"contacts": table}))
    elif as_csv:
        print(facts_of.as_csv(table), end="")
    else:
        print(facts_of.as_text(facts))
        print(f"\nwritten to {folder}: {', '.join(files)}")


def _space(run: RunFile, step: int, balance: Any, faces: int) -> ForceSpace:
    from hardgrain.forces import force_space

    if not -len(run) <= step < len(run):
        raise InputError(f"--step is {step}; {run.path} has the frames 0 to {len(run) - 1}")
    space = force_space(run, step, balance=balance, faces=faces)
    if space.contacts == 0:
        raise InputError(f"frame {step} of {run.path} has no contacts, and so no forces")
    return space


def _make(folder: Path, overwrite: bool) -> None:
    from hardgrain.io.whole import check_target

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}") from None
    for name in WRITTEN:
        check_target(folder / name, overwrite=overwrite)


def _task(space: ForceSpace) -> str:
    """Words that say what takes so long, and in 2D how long it will take."""
    from hardgrain.parallel import cores
    from hardgrain.run.progress import duration

    what = f"bounds of {space.contacts} contact forces"
    if space.packing.dim == 3:
        return what
    seconds = COST * (space.contacts / 100.0) ** GROWTH / cores()
    return f"{what}, about {duration(seconds)}" if seconds > 5.0 else what


def _bounds(space: ForceSpace, processes: int | None, cone: Cone) -> Bounds:
    if cone == "round":
        return space.bounds(processes, exact=True)
    return space.bounds(processes, cone)


@contextmanager
def _explained(moves: bool) -> Iterator[None]:
    """Explain that a solver failed since nearly every contact slides, as while a packing moves."""
    try:
        yield
    except RunError as error:
        raise RunError(f"{error}{'; this frame is not at rest' if moves else ''}") from None


@contextmanager
def _at_once() -> Iterator[None]:
    """Let Ctrl-C end the process at once, since a linear program cannot be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress() -> Iterator[Callable[[str, Callable[[], Any]], Any]]:
    """Show on a terminal a line that says what is being done and for how long."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    look = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*look, console=console, transient=True, disable=not console.is_terminal) as line:
        console.show_cursor(True)  # Ctrl-C would leave it hidden

        def during(what: str, task: Callable[[], T]) -> T:
            shown = line.add_task(what, total=None)
            try:
                return task()
            finally:
                line.remove_task(shown)

        yield during


def _write(
    folder: Path,
    run: RunFile,
    step: int,
    space: ForceSpace,
    bounds: Bounds | None,
    facts: dict[str, Any],
    table: dict[str, list[Any]],
) -> list[str]:
    """Write the tables and pictures under their names."""
    from hardgrain.cli.force_facts import as_csv
    from hardgrain.show.forces import draw_histograms, draw_indeterminacy

    try:
        (folder / "contacts.csv").write_text(as_csv(table))
        (folder / "forces.json").write_text(json_text(facts) + "\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    if bounds is None:
        return [*WRITTEN[2:]]
    unit = r"\bar{m}g" if run.model["gravity"].any() else r"\bar{R}"
    draw_indeterminacy(run, space, bounds, step, folder / "network.png", unit)
    draw_histograms(space, bounds, folder / "histograms.png", unit)
    return [*WRITTEN]
