"""Commands of many runs: ``hardgrain sweep`` and ``collect``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardgrain.cli.options import (
    Bins,
    GridOption,
    Overwrite,
    Quiet,
    Region,
    Settings,
    Width,
    told,
)
from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.io.json_text import json_text

if TYPE_CHECKING:
    from hardgrain.study.folder import Folder
    from hardgrain.study.study import Study

__all__ = ["collect", "sweep"]

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a study.")]


def sweep(
    study: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="A study file (TOML), or the folder of a study."),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the study is kept. Default: STUDY's name, here."),  # noqa: E501
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes on this machine. Default: all cores."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Let the workers of a Dask scheduler run it, such as tcp://host:8786, or local for a new cluster here."),  # noqa: E501
    ] = None,
    slurm: Annotated[
        bool,
        typer.Option("--slurm", help="Write a job array, FOLDER/slurm.sh, and submit it where there is sbatch."),  # noqa: E501
    ] = False,
    sbatch: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="An option of sbatch, --sbatch=--time=2:00:00; may be given again."),  # noqa: E501
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Jobs of the array. Default: one a point, at most 1000."),  # noqa: E501
    ] = None,
    row: Annotated[
        bool, typer.Option("--row", help="Write FOLDER/workflow.toml for row, and run nothing.")
    ] = False,
    share: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Run every Nth point from the Kth on, here and one by one."),  # noqa: E501
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(metavar="HASH", help="Run this point, here; may be given again."),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run points that have failed once more.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how far the study is, and run nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The status as JSON.")] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Look into all folders and write the index of points anew."),
    ] = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a scenario for many parameters and seeds, on all cores or on a cluster.

    Each run has a folder of its own, with its scenario, run file and summary. Runs that are done
    are skipped, those that were killed go on where they were: the same command again goes on with
    a study, also one that has got more values or seeds. Seeds follow from the parameters, so that
    any run has the same bits whoever runs it. Ctrl-C ends all runs at their last frame.

    \b
    Examples:
      hardgrain new repose-study
      hardgrain sweep repose-study.toml
      hardgrain sweep repose-study --status
      hardgrain sweep repose-study.toml --dask tcp://10.0.0.1:8786
      hardgrain sweep repose-study.toml --slurm --sbatch=--time=2:00:00 --tasks 24
    """
    ways = {
        "--dask": dask is not None,
        "--slurm": slurm,
        "--row": row,
        "--share": share is not None,
    }
    ways |= {"--point": bool(point), "--status": status or as_json, "--rebuild": rebuild}
    chosen = [name for name, given in ways.items() if given]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} are both given; one of them is enough")
    if workers is not None and chosen not in ([], ["--dask"]):
        raise InputError(f"--workers is for runs on this machine, not for {chosen[0]}")
    if (sbatch or tasks) and not slurm:
        raise InputError(f"{'--sbatch' if sbatch else '--tasks'} is for --slurm only")

    if dask is not None:
        needed("distributed")

    from hardgrain.study.study import Study

    if status or as_json:
        _tell_status(study, output, as_json)
        return
    found = Study(study, output)
    folder = found._folder
    if rebuild:
        folder.rebuild()
        print(found.status)
    elif slurm:
        _slurm(folder, tasks, sbatch or [])
    elif row:
        from hardgrain.study.row import write_workflow

        print(f"written: {write_workflow(folder)}\nsubmit:  cd {folder.path}; row submit")
    else:
        _run(found, workers, dask, _keys(folder, share, point), retry, quiet)


def _tell_status(study: Path, output: Path | None, as_json: bool) -> None:
    """Say how far a study is; a file whose study has not begun yet leaves no folder."""
    from dataclasses import asdict

    from hardgrain.study.folder import Folder

    path = study if study.is_dir() else output or Path(study.stem)
    if not study.is_dir() and not (path / "study.json").is_file():
        from hardgrain.study.points import points_of
        from hardgrain.study.spec import read_plan

        count = sum(1 for _ in points_of(read_plan(study)))
        print(json_text({"points": count}) if as_json else f"not begun: {count} points to do")
        return
    now = Folder.opened(path).status()
    print(json_text({**asdict(now), "left": now.left}) if as_json else now)


def _keys(folder: Folder, share: str | None, points: list[str] | None) -> list[str] | None:
    """The points that were asked for, or None for all."""
    from hardgrain.study.slurm import share_of

    for key in points or []:
        if key not in folder.points:
            raise InputError(f"--point is {key!r}, which is no point of {folder.path}")
    return share_of(folder, share) if share is not None else points or None


def _slurm(folder: Folder, tasks: int | None, options: list[str]) -> None:
    from hardgrain.study.slurm import submit, write_script

    script = write_script(folder, tasks, options)
    print(f"written: {script}")
    said = submit(script)
    print(f"submitted: {said}" if said else f"there is no sbatch here; submit it: sbatch {script}")


def _run(
    study: Study,
    workers: int | None,
    dask: str | None,
    keys: list[str] | None,
    retry: bool,
    quiet: bool,
) -> None:
    """Run points with a live table; exit code 1 if some have failed, 130 if interrupted."""
    from hardgrain.kernels import cache_folder
    from hardgrain.study.slurm import run_share

    folder = study._folder
    here = keys is not None
    keys = folder.to_do(retry) if keys is None else keys
    if not quiet:
        typer.echo(f"{folder.path}: {len(folder.points)} points, {len(keys)} to do", err=True)
        if keys and not any(cache_folder().iterdir()):
            typer.echo("compiling kernels first (half a minute, two with shapes)", err=True)
    if here:
        events = run_share(folder, keys, retry)
    else:
        events = study.events(keys, workers=workers, dask=dask, retry=retry)
    before = None
    if not here:  # SIGTERM is handled like Ctrl-C; a run in this process listens itself
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study.attend(events, keys, quiet=quiet)
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {study.status}", err=True)
        typer.echo(f"to go on:    hardgrain sweep {folder.path}", err=True)
        raise typer.Exit(130) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    _close(study, keys, here, quiet)


def _close(study: Study, keys: list[str], here: bool, quiet: bool) -> None:
    """Say how far the study is, and what has failed."""
    states = study._folder.states()
    mine = {key: states.get(key, {"state": "new"}) for key in keys}
    failed = [key for key, one in mine.items() if one["state"] == "failed"]
    open_ = [key for key, one in mine.items() if one["state"] in ("new", "begun")]
    now = study.status
    if not quiet:
        print(now)
        for key in failed[:3]:
            print(f"failed:  {study._folder.of(key)}: {mine[key].get('why', '')}")
        if len(failed) > 3:
            print(f"         and {len(failed) - 3} more")
        if not here and now.done:
            print(f"collect: hardgrain collect {study.folder} -o {study.folder.name}.nc")
            print(f"report:  hardgrain report {study.folder}")
    if failed:
        typer.echo(
            f"error: {len(failed)} of {len(keys)} points failed; once what they say is mended, run"
            f" them again: hardgrain sweep {study.folder} --retry",
            err=True,
        )
        raise typer.Exit(1)
    if open_ and now.running < len(open_):
        typer.echo(
            f"error: {len(open_)} points are not done, since their workers died; the same command"
            " goes on with them",
            err=True,
        )
        raise typer.Exit(1)


def collect(
    folder: FolderArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Measurements, variables of them, or summary. Default: those that the study names."),  # noqa: E501
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .nc file, which xarray opens, or a .csv file. Default: only print."),  # noqa: E501
    ] = None,
    frame: Annotated[
        int, typer.Option(metavar="K", help="Frame, from 0; negative counts from the end.")
    ] = -1,
    frames: Annotated[
        str | None,
        typer.Option(metavar="A:B:C", help="The mean over frames A to B - 1 in steps of C of each run instead."),  # noqa: E501
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Keep the value of each seed in place of their mean.")
    ] = False,
    overwrite: Overwrite = False,
    grid: GridOption = None,
    region: Region = None,
    width: Width = None,
    bins: Bins = None,
    settings: Settings = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Measure all runs of a study that are done, as one table with parameters as axes.

    A value is the mean over the seeds, and its error that of the mean. NAME is a measurement
    (hardgrain measure --list), a variable of one such as stress.pressure, or summary, the figures
    that every run ends with.

    \b
    Examples:
      hardgrain collect repose-study
      hardgrain collect repose-study surface-angle.angle coordination -o repose.nc
      hardgrain collect repose-study stress friction_angle -o repose.csv
      hardgrain plot repose.nc
    """
    from hardgrain.io.whole import check_target
    from hardgrain.study.collect import rows, write_table
    from hardgrain.study.study import Study

    if output is not None:
        if output.suffix not in (".nc", ".csv"):
            raise InputError(f"--output is {output}; give a name that ends in .nc or .csv")
        check_target(output, overwrite=overwrite)
    if not folder.is_dir():
        raise InputError(f"{folder} is not the folder of a study; hardgrain sweep makes one")
    study = Study(folder)
    chosen = list(names or study.plan.measure)
    given = any(x is not None for x in (settings, grid, region, width, bins))
    options = told(chosen, settings, grid, region, width, bins) if given else {}
    _check_frames(frames)
    table = study.collect(
        *chosen, frame=frame, frames=frames, each=each, options=options, workers=None
    )
    if output is not None:
        write_table(table, output)
    if quiet:
        return
    if not each:
        print(_as_text(*rows(table)))
    if refused := table.attrs.get("refused"):
        print(f"\nruns that could not be measured: {refused}")
    elif missing := table.attrs["missing"]:
        print(f"\n{missing} of {len(study.points)} runs are not done")
    if output is not None:
        print(f"\nwritten: {output}")
    elif each:
        print(table)


def _check_frames(text: str | None) -> None:
    from hardgrain.cli.options import range_of

    if text is not None:
        if ":" not in text:
            raise InputError(
                f"--frames is {text!r}; write A:B:C, such as 10: or -5:, or give --frame"
            )
        range_of(text, 1)  # it says what a slice is; each run has frames of its own


WIDTH = 8  # [columns] a wider table does not fit a screen: the others are in the file


def _as_text(heads: list[str], lines: list[list[str]]) -> str:
    if len(heads) > WIDTH:
        hidden = len(heads) - WIDTH
        heads = [*heads[: WIDTH - 1], heads[-1]]
        lines = [[*row[: WIDTH - 1], row[-1]] for row in lines]
    else:
        hidden = 0
    widths = [max(len(row[k]) for row in [heads, *lines]) for k in range(len(heads))]
    text = [
        "  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in [heads, *lines[:200]]
    ]
    if len(lines) > 200:
        text.append(f"… and {len(lines) - 200} more rows")
    if hidden:
        text.append(f"({hidden} more columns: -o writes them all, or choose by name)")
    return "\n".join(text)
