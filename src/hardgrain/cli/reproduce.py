"""The command ``hardgrain reproduce``."""

from __future__ import annotations

import signal
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardgrain.errors import InputError

if TYPE_CHECKING:
    from hardgrain.papers.experiment import Claim

__all__ = ["reproduce"]


def reproduce(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Which paper.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Default: results/PAPER."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and smaller runs: two minutes on two cores.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="One experiment of the paper; may be repeated."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Keep claims and pictures of a full run as a page, FOLDER/PAPER."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the workers of a Dask scheduler run it, such as tcp://host:8786, or local.",
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List the papers, or the experiments of one.")
    ] = False,
) -> None:
    """Run the experiments of a paper again, and hold what it claims against what is measured.

    Data, figures, claims.json and an index.html that shows them all go to a folder, renewed after
    every experiment; what is there of the others stays. Each claim has two verdicts: whether the
    paper's statement holds here, and whether theory does. The exit code is 1 if theory fails or if
    a deviation from the paper is not one that is known and explained.

    \b
    Examples:
      hardgrain reproduce unger2002 --quick
      hardgrain reproduce unger2002 --list
      hardgrain reproduce unger2002 --only fig4 --only pulse -o my-folder
      hardgrain reproduce unger2002 --record docs/reproductions
      hardgrain reproduce unger2002 --dask tcp://10.0.0.1:8786
    """
    from hardgrain.papers import PAPERS

    if paper is None and show:
        for name, reference in PAPERS.items():
            print(f"{name}  {reference}")
        return
    if paper is None:
        raise InputError(f"PAPER is missing; known are: {', '.join(PAPERS)}")

    from hardgrain.papers.reproduce import experiments
    from hardgrain.papers.reproduce import reproduce as run

    if show:
        known = experiments(paper)
        width = max(len(e.name) for e in known)
        for e in known:
            print(f"{e.name:<{width}}  {e.title}")
        return
    if record is not None and quick:
        raise InputError("--record keeps full reproductions only; leave out --quick")
    folder = output or Path("results") / paper
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # handled like Ctrl-C
    try:
        with _shared_out(dask):
            claims = run(paper, folder, quick=quick, only=only, tell=_tell)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is in {folder / 'index.html'}", err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    print(_table(claims))
    print(f"\nreport: {folder / 'index.html'}")
    if record is not None:
        from hardgrain.papers.record import keep

        print(f"record: {keep(folder, record)}")
    if surprises := [c.surprise for c in claims if c.surprise]:
        print("\nnot as expected:", *surprises, sep="\n  ")
        raise typer.Exit(1)


def _shared_out(dask: str | None) -> AbstractContextManager[None]:
    """Runs by the processes of this machine, or by a cluster."""
    if dask is None:
        return nullcontext()
    from hardgrain.study.dask import pmap_on_dask

    return pmap_on_dask(dask)


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _table(claims: list[Claim]) -> str:
    """One line for each claim: its two verdicts, what was measured, and against what."""
    from hardgrain.papers.experiment import Expected
    from hardgrain.papers.reproduce import number

    def value(expected: Expected | str | None) -> str:
        return number(expected.value) if isinstance(expected, Expected) else "–"

    rows = [("measured", "paper", "", "theory", "", "claim")]
    rows += [
        (number(c.measured, c.error), value(c.paper), c.paper_verdict, value(c.theory),
         c.theory_verdict, c.text)
        for c in claims
    ]  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(row[:5], widths)) + f"  {row[5]}" for row in rows
    )
