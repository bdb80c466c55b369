"""The command ``hardgrain reproduce``."""

from __future__ import annotations

import signal
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
    show: Annotated[
        bool, typer.Option("--list", help="List the papers, or the experiments of one.")
    ] = False,
) -> None:
    """Run the experiments of a paper again, and hold what it claims against what is measured.

    Data, figures, claims.json and an index.html that shows them all go to a folder, renewed after
    every experiment; what is there of the others stays. The exit code is 1 if a claim fails.

    \b
    Examples:
      hardgrain reproduce unger2002 --quick
      hardgrain reproduce unger2002 --list
      hardgrain reproduce unger2002 --only fig4 --only pulse -o my-folder
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
    folder = output or Path("results") / paper
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        claims = run(paper, folder, quick=quick, only=only, tell=_tell)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is in {folder / 'index.html'}", err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    print(_table(claims))
    print(f"\nreport: {folder / 'index.html'}")
    if any(c.verdict == "fails" for c in claims):
        raise typer.Exit(1)


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _table(claims: list[Claim]) -> str:
    """One line for each claim: verdict, what was measured, and against what."""
    from hardgrain.papers.reproduce import number

    rows = [("verdict", "measured", "theory", "claim")]
    rows += [(c.verdict, number(c.measured, c.error), number(c.theory), c.text) for c in claims]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(row[:3], widths)) + f"  {row[3]}" for row in rows
    )
