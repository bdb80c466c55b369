"""The commands of ``hardgrain``: read the arguments, call the package, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import hardgrain
from hardgrain.cli.export import export
from hardgrain.cli.fclib import fclib
from hardgrain.cli.forces import forces
from hardgrain.cli.measure import measure
from hardgrain.cli.movie import movie
from hardgrain.cli.options import (
    Changes,
    Device,
    LastFrame,
    Overwrite,
    RunFileArgument,
    changes_of,
)
from hardgrain.cli.plot import plot
from hardgrain.cli.report import report
from hardgrain.cli.reproduce import reproduce
from hardgrain.cli.run import demo, resume, run
from hardgrain.cli.sweep import collect, sweep
from hardgrain.cli.terminal import tell_of_decisions
from hardgrain.cli.view import view
from hardgrain.errors import InputError
from hardgrain.io.json_text import json_text

__all__ = ["app"]

app = typer.Typer(
    name="hardgrain",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"hardgrain {hardgrain.__version__}")
        raise typer.Exit


@app.callback()
def _hardgrain(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            help="Tell on the way what is decided: kernels compiled, frames written, looks at the"
            " contact network; -vv: pair lists and stages of the solver as well.",
        ),
    ] = 0,
) -> None:
    """Contact dynamics of rigid grains, in 2D and 3D.

    \b
    First steps:
      hardgrain demo                   settle 1000 disks and draw their force network
      hardgrain new silo               write a commented scenario, silo.toml
      hardgrain run silo.toml          run it; the result is silo.h5
      hardgrain help scenario.contacts what the fields of a scenario mean
      hardgrain info silo.h5           what the file holds
      hardgrain view silo.h5           look at it in the browser
      hardgrain plot silo.h5           draw its last frame; --list: what else can be drawn
      hardgrain measure --list         what can be measured
      hardgrain report silo.h5         all of it in one page, to be mailed
      hardgrain forces silo.h5         which other forces would do as well?
      hardgrain sweep study.toml       many runs: other parameters, other seeds
    """
    tell_of_decisions(verbose)


app.command()(run)
app.command()(resume)


@app.command()
def advise(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).")],
    changes: Changes = None,
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Say before a run whether it converges and is rigid, whether its step fits, how long it takes.

    The scene is run ahead for some ten seconds with few sweeps a step, and the scenario's own
    solver is tried at some moments of it. What cannot be reached that way is foreseen from the
    scene, and marked as such. Times and sweeps are given as ranges; every run watches itself and
    knows more.

    \b
    Examples:
      hardgrain advise silo.toml
      hardgrain advise silo.toml --json
    """
    from hardgrain.kernels import announce
    from hardgrain.run.advise import advise as judge
    from hardgrain.run.scenario import load, with_device

    def compiling(name: str, count: int) -> None:
        if count == 1:
            words = "compiling kernels, first run only (half a minute, two with shapes)"
            typer.echo(words, err=True)

    with announce(compiling):
        advice = judge(with_device(load(scenario, changes_of(changes)), device))
    print(json_text(advice.as_dict()) if as_json else advice)


@app.command()
def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which starter.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Default: NAME.toml, here."),
    ] = None,
    overwrite: Overwrite = False,
    show: Annotated[bool, typer.Option("--list", help="List the starters.")] = False,
) -> None:
    """Write a commented starter, a scenario or a study, to be run as it is or changed.

    \b
    Examples:
      hardgrain new --list
      hardgrain new silo -o my-silo.toml
    """
    from hardgrain.cli import starter

    if show or name is None:
        width = max(map(len, starter.everything()))
        for known in starter.everything():
            print(f"{known:<{width}}  {starter.title(known)}")
        return
    path = output or Path(f"{name}.toml")
    starter.write(name, path, overwrite=overwrite)
    print(f"written: {path}")
    print(f"run it:  hardgrain {starter.command(name)} {path}")


app.command()(demo)


@app.command()
def picture(
    file: RunFileArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg file. Default: FILE's name with .png, here."),  # noqa: E501
    ] = None,
    frame: LastFrame = -1,
    overwrite: Overwrite = False,
) -> None:  # fmt: skip
    """Draw a frame: the grains, and a line through every contact that bears a force.

    \b
    Example:
      hardgrain picture silo.h5 --frame 10 -o silo.pdf
    """
    from hardgrain.io.whole import check_target
    from hardgrain.show.network import draw_network

    path = output or Path(f"{file.stem}.png")
    check_target(path, file, overwrite)
    draw_network(file, frame, path)
    print(f"written: {path}")


@app.command()
def info(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A run file (.h5).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    machine: Annotated[
        bool, typer.Option("--machine", help="Say instead what there is to compute with.")
    ] = False,
) -> None:
    """Say what a run file holds, and whether its run is finished, going on or interrupted.

    With --machine: cores, memory and GPU of this machine, and what engine.device = "auto" means
    here.

    \b
    Examples:
      hardgrain info silo.h5
      hardgrain info --machine
    """
    if machine == (file is not None):
        raise InputError("info needs either a run file or --machine: hardgrain info silo.h5")
    if file is None:
        from hardgrain.cli.machine import machine_facts

        known = machine_facts()
        rows = [f"{name + ':':<10} {value}" for name, value in known.items()]
        print(json_text(known) if as_json else "\n".join(rows))
        return
    from hardgrain.cli.info import as_text, describe

    facts = describe(file)
    print(json_text(facts) if as_json else as_text(facts))


@app.command("help")
def show_help(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="A table or field of a scenario, or functions.")
    ] = "scenario",
) -> None:
    """Explain the fields of a scenario or study: meaning, type, unit, default and an example.

    \b
    Examples:
      hardgrain help scenario
      hardgrain help scenario.contacts
      hardgrain help walls.box
      hardgrain help friction
      hardgrain help functions
      hardgrain help study
    """
    from hardgrain.cli.reference import as_text

    print(as_text(topic))


@app.command()
def warmup(
    tiles: Annotated[
        bool,
        typer.Option(
            "--tiles", help="Those of order = 'tiles' as well, which take a minute or two more."
        ),
    ] = False,
) -> None:
    """Compile all kernels now, so that no run has to wait for it.

    \b
    Examples:
      hardgrain warmup
      hardgrain warmup --tiles
    """
    from hardgrain.cli.warmup import compile_all

    compile_all(tiles)


app.add_typer(fclib, name="fclib")
app.command()(forces)
app.command()(measure)
app.command()(plot)
app.command()(movie)
app.command()(view)
app.command()(report)
app.command()(export)
app.command()(sweep)
app.command()(collect)
app.command()(reproduce)
