"""The commands ``hardgrain fclib …``: contact problems as matrices, in FCLIB's files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hardgrain.errors import InputError
from hardgrain.io.json_text import json_text

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm
from hardgrain.cli.fclib_step import problem_of_step
from hardgrain.cli.fclib_table import ResidualTable, solve_at_once, solve_by_sweeps

__all__ = ["fclib"]

fclib = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="An FCLIB file (HDF5).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

MOST = 1_000_000  # [sweeps] most of a solve unless the user says another number


@fclib.callback()
def _fclib() -> None:
    """Solve frictional contact problems given as matrices, or write those of a run.

    FCLIB is a collection of such problems, and a layout of HDF5 files that several codes use:
    u = W r + q (local form), or M v = H r + f, u = Hᵀ v + w (global form), in 2D and 3D.

    \b
    Examples:
      hardgrain fclib info problem.hdf5
      hardgrain fclib solve problem.hdf5 --tolerance 1e-8
      hardgrain fclib export silo.h5 --step 500 -o silo-500.hdf5
    """


@fclib.command()
def info(file: File, as_json: AsJson = False) -> None:
    """Say what problem a file holds, and how well its stored solution solves it.

    \b
    Example:
      hardgrain fclib info problem.hdf5
    """
    from hardgrain.io import fclib as files

    form = files.read(file)
    facts = _facts(file, form) | {"solution": _stored(file, form)}
    print(json_text(facts) if as_json else "\n".join(_header(facts)))


@fclib.command()
def solve(
    file: File,
    solver: Annotated[
        Literal["rigid", "gauss-seidel", "jacobi"], typer.Option(help="Which solver.")
    ] = "rigid",
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="Residual to reach [1], see above.")
    ] = 1e-6,
    sweeps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Sweeps, at most. Default: a million; rigid: as usual for it."),  # noqa: E501
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Of the random sweeps.")] = 0,
    no_write: Annotated[bool, typer.Option("--no-write", help="Leave the file as it is.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Solve a problem from zero impulses, and write the solution into its file.

    The residual is ‖r − P_K(r − ρ (u + µ|u_T| e_N))‖ / (ρ ‖q‖), with 1/ρ the mean diagonal element
    of W: the velocity by which contacts still break Signorini's or Coulomb's law, relative to the
    one they would have without impulses. The table gives it over time, without compilation.

    Exit code 0: the tolerance was reached. 1: it was not, and the last line says how far it got;
    what was reached is still written, unless what the file holds is better.

    \b
    Examples:
      hardgrain fclib solve problem.hdf5
      hardgrain fclib solve problem.hdf5 --solver gauss-seidel --tolerance 1e-8 --no-write
    """
    if not 0.0 < tolerance < math.inf:
        raise InputError(f"--tolerance is {tolerance:g}; it must be a positive number")

    from hardgrain.io import fclib as files

    form = files.read(file)
    if not no_write:
        files.check_writable(file)
    facts = _facts(file, form) | {"solver": solver, "tolerance": tolerance, "seed": seed}
    if not as_json:
        print("\n".join([*_header(facts), f"solver:      {solver}, tolerance {tolerance:g}", ""]))
    table = ResidualTable(form, tolerance, quiet=as_json)
    with _announced():
        if solver == "rigid":
            table.fill(lambda: solve_at_once(table, sweeps, seed))
        else:
            table.fill(lambda: solve_by_sweeps(table, solver, sweeps or MOST, seed))
    reached, best = table.best <= tolerance, table.rows[0].residual
    before = _stored(file, form)
    if before is not None and before < best:
        best = before
    better = reached or (table.best < best and not table.runaway)
    written = table.solution is not None and better and not no_write
    if written and table.solution is not None:
        files.write_solution(file, table.solution)
    if as_json:
        rows = [row._asdict() for row in table.rows]
        state = {"reached": reached, "interrupted": table.interrupted, "written": written}
        print(json_text(facts | state | {"residual": table.best, "table": rows}))
    else:
        print(f"\n{table.verdict()}")
        if written:
            print(f"written:     solution, into {file}")
        elif not no_write and not table.runaway:
            print(f"not written: no better than what {file} holds, or than no impulses at all")
    if table.interrupted:
        raise typer.Exit(130)
    if not reached:
        raise typer.Exit(1)


@fclib.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run file (.h5).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The FCLIB file to write.")
    ],
    step: Annotated[
        int | None,
        typer.Option(min=0, metavar="K", help="The step that begins after K steps. Default: after the last frame."),  # noqa: E501
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="The local form, W and q; default: the global one.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE if there is one already.")
    ] = False,
) -> None:  # fmt: skip
    """Write the contact problem of one step of a run.

    The problem is exactly the one that the run solved, or would solve, in the step that begins
    after K steps. Where no frame was stored after K steps, the run is repeated from the frame
    before. Impulses are those of a step, velocities those at its end. Contacts that cannot push
    anything, such as those between walls, are left out. Steps of deformable grains are written in
    the local form.

    \b
    Example:
      hardgrain fclib export silo.h5 --step 500 -o silo-500.hdf5
    """
    from hardgrain.io import fclib as files

    if output.exists() and not overwrite:
        raise InputError(
            f"{output} exists already; add --overwrite to replace it, or choose another name"
        )
    with _announced():
        form, about = problem_of_step(run, step)
        files.write(output, form.local() if local else form, info=about, overwrite=overwrite)
    print("\n".join(_header(_facts(output, form.local() if local else form))))
    print(f"written:     {output}")


# --------------------------------------------------------------------------------- the header
def _facts(file: Path, form: GlobalForm | LocalForm) -> dict[str, Any]:
    from hardgrain.io import fclib as files
    from hardgrain.solve.matrices import GlobalForm

    whole = isinstance(form, GlobalForm)
    return {
        "file": str(file),
        "title": files.read_info(file).get("title", ""),
        "form": "global" if whole else "local",
        "dimension": form.dim,
        "contacts": form.contacts,
        "degrees_of_freedom": form.f.size if isinstance(form, GlobalForm) else None,
        "friction": [float(form.mu.min()), float(form.mu.max())] if form.contacts else None,
    }


def _header(facts: dict[str, Any]) -> list[str]:
    freedom, friction = facts["degrees_of_freedom"], facts["friction"]
    what = f"{facts['form']} form, {facts['dimension']}D, {facts['contacts']} contacts"
    lines = [
        ("file", facts["file"]),
        ("title", facts["title"] or "none"),
        ("problem", what + ("" if freedom is None else f", {freedom} degrees of freedom")),
    ]
    if friction is not None:
        low, high = friction
        lines.append(("friction", f"µ = {low:g}" + ("" if low == high else f" to {high:g}")))
    if "solution" in facts:
        residual = facts["solution"]
        lines.append(("solution", "none" if residual is None else f"residual {residual:.2g}"))
    return [f"{name + ':':<12} {text}" for name, text in lines]


def _stored(file: Path, form: GlobalForm | LocalForm) -> float | None:
    """Residual of the solution that the file holds."""
    from hardgrain.io import fclib as files
    from hardgrain.solve.matrices import coulomb_residual

    r = files.read_solution(file).get("r")
    fits = r is not None and r.size == form.dim * form.contacts
    return coulomb_residual(form, r) if fits and r is not None else None


@contextmanager
def _announced() -> Iterator[None]:
    """Say so when kernels have to be compiled."""
    from hardgrain.kernels import announce

    def compiling(name: str, count: int) -> None:
        if count == 1:
            typer.echo("compiling kernels, first run only (about half a minute)", err=True)

    with announce(compiling):
        yield
