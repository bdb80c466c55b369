"""Commands that run a scenario: ``hardgrain run``, ``resume`` and ``demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardgrain.cli.options import (
    Changes,
    Device,
    Overwrite,
    Quiet,
    RunFileArgument,
    changes_of,
)
from hardgrain.errors import InputError
from hardgrain.io.json_text import json_text
from hardgrain.processes import world

if TYPE_CHECKING:
    from hardgrain.run.scenario import Scenario
    from hardgrain.run.simulation import Simulation
    from hardgrain.run.stop import Condition
    from hardgrain.run.summary import Summary

__all__ = ["demo", "resume", "run"]

Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Cores for the orders tiles and coloured; no result depends on it. Default: all.",
    ),
]


def run(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Run file. Default: SCENARIO's name with .h5, here."),  # noqa: E501
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run file if there is one already.")
    ] = False,
    changes: Changes = None,
    quiet: Quiet = False,
    threads: Threads = None,
    device: Device = None,
) -> None:  # fmt: skip
    """Run a scenario and write a run file.

    Ctrl-C ends the run cleanly after the present step, a second one at once; `hardgrain resume`
    continues it.

    \b
    Examples:
      hardgrain run silo.toml -o silo-a.h5
      hardgrain run silo.toml --set scene.contacts.0.friction=0.3 --set seed=7 -o silo-b.h5
    """
    from hardgrain.run.scenario import load, with_device

    loaded = with_device(load(scenario, changes_of(changes)), device)
    path = output or Path(loaded.output.file or f"{scenario.stem}.h5")
    if world().first(path.is_file()) and not overwrite:
        raise InputError(
            f"{path} exists already; add --overwrite to replace it, choose another name with -o, or"
            f" go on with it: hardgrain resume {path}"
        )
    _set_threads(threads)
    summary = _run(loaded, path, overwrite=overwrite, quiet=quiet)
    _close(summary, path, quiet)


def resume(
    file: RunFileArgument,
    steps: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Stop after N steps in all, from the start."),
    ] = None,
    time: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="T", help="Stop at the simulated time T."),
    ] = None,
    quiet: Quiet = False,
    threads: Threads = None,
    device: Device = None,
) -> None:
    """Go on with a run that was stopped or killed, or make a finished one longer.

    The result has the same bits as if the run had never stopped. --steps and --time replace the
    stop conditions that the file holds. --device lets a GPU go on with what a processor began, or
    the other way round. Impulses then agree within what the solver leaves, and not bit by bit: each
    has its own order of sweeps. The file keeps the engine.device it began with.

    \b
    Examples:
      hardgrain resume silo.h5
      hardgrain resume silo.h5 --time 200
      hardgrain resume silo.h5 --device cuda
    """
    from hardgrain.io.runfile import RunFile
    from hardgrain.run.progress import Progress
    from hardgrain.run.scenario import stored_scenario
    from hardgrain.run.simulation import Simulation
    from hardgrain.run.stop import Steps, Time

    def read() -> tuple[Scenario, bool]:
        with RunFile(file) as opened:
            return stored_scenario(opened.header, file), opened.finished

    stored, finished = world().on_first(read)
    until: list[Condition] = []
    if steps is not None:
        until.append(Steps(steps=steps))
    if time is not None:
        until.append(Time(time=time))
    if not until:
        if finished:
            if world().leads:
                print(f"{file} has reached its end; to make it longer, give --steps or --time")
            return
        if stored.stop is None:
            raise InputError(f"{file} holds no stop condition; give --steps or --time")
        until = stored.stop.conditions()
    _set_threads(threads)
    quiet |= not world().leads
    with Progress(until, quiet, command=True) as progress:
        progress.tell(f"going on with {file}")
        _, summary = Simulation.resume(file, until, device=device, progress=progress)
    _close(summary, file, quiet)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the results go.")
    ] = Path("results/demo"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Settle 1000 disks of many sizes under gravity, and draw their force network.

    \b
    Example:
      hardgrain demo -o my-folder
    """
    from hardgrain.cli import starter
    from hardgrain.io.whole import check_target
    from hardgrain.run.scenario import load
    from hardgrain.show.network import draw_network

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{output} cannot be made a folder: {error.strerror}") from None
    toml, h5, picture, figures = (
        output / name for name in ("demo.toml", "demo.h5", "network.png", "summary.json")
    )
    for path in (toml, h5, picture, figures):
        check_target(path, overwrite=overwrite)
    starter.write("demo", toml, overwrite=True)
    summary = _run(load(toml), h5, overwrite=True, quiet=quiet)
    _write_text(figures, json_text(summary.as_dict()) + "\n")
    if summary.finished:
        draw_network(h5, path=picture)
    _close(summary, h5, quiet)
    if not quiet:
        print(f"\nscenario:    {toml}\nrun file:    {h5}\nsummary:     {figures}")
        print(f"picture:     {picture}")


# ---------------------------------------------------------------------- shared by them
def _run(scenario: Scenario, path: Path, *, overwrite: bool, quiet: bool) -> Summary:
    """Run a scenario from its start, with a start line and progress."""
    from hardgrain.run.progress import Progress
    from hardgrain.run.simulation import Simulation

    until = scenario.stop.conditions() if scenario.stop else ()
    quiet |= not world().leads
    with Progress(until, quiet, command=True) as progress:
        sim = Simulation(scenario)
        progress.tell(f"{scenario.title or path.stem}: {_bodies(sim)}, to {path}")
        return sim.run(output=path, overwrite=overwrite, progress=progress)


def _bodies(sim: Simulation) -> str:
    """Words on the number of grains and walls, where they come from, and who is still to come."""
    n, dim = sim.model.n, sim.model.dim
    walls = len(sim.model.wall_names) - (sim.model.cell >= 0)
    start, more = sim.scenario.start, sim.exchange.everyone.n - n
    old = f" ({sim.from_start} from {start.file})" if start else ""
    late = f" and {more} more to come in" if more else ""
    many = f"{n} grain{'s' * (n != 1)}{old}{late}"
    return f"{many}, {walls} wall{'s' * (walls != 1)}, {dim}D"


def _close(summary: Summary, path: Path, quiet: bool) -> None:
    """Print the summary; exit code 130 after an interruption, 1 if the run is not plausible."""
    if not world().leads:
        raise typer.Exit(1 if summary.implausible else 0 if summary.finished else 130)
    if not quiet:
        print(summary)
    if summary.implausible is not None:
        typer.echo(f"error: the run is not plausible: {summary.implausible}", err=True)
        raise typer.Exit(1)
    if not summary.finished:
        typer.echo(f"to go on:    hardgrain resume {path}", err=True)
        raise typer.Exit(130)


def _set_threads(threads: int | None) -> None:
    if threads is None:
        return
    import numba

    most = numba.config.NUMBA_NUM_THREADS
    if threads > most:
        raise InputError(f"--threads is {threads}; this machine has {most} cores")
    numba.set_num_threads(threads)


def _write_text(path: Path, text: str) -> None:
    from hardgrain.io.whole import whole

    with whole(path) as part:
        part.write_text(text)
