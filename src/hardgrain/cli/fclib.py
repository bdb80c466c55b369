"""The commands ``hardgrain fclib …``: contact problems as matrices, in FCLIB's files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

import hardgrain
from hardgrain.errors import InputError, RunError
from hardgrain.io.json_text import json_text

if TYPE_CHECKING:
    from hardgrain.scene.model import Floats
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution
    from hardgrain.solve.problem import Problem, Solution

__all__ = ["fclib"]

fclib = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="An FCLIB file (HDF5).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

MOST = 1_000_000  # sweeps, unless told otherwise
LOOK = 1.2  # by which sweeps grow between two looks at the residual, which costs about one sweep
PATIENCE = 0.5  # longest time between them, so that Ctrl-C is heard [s]
DIVERGED = 1e3  # times the residual of zero impulses, from where there is no way back
SPACED = 1.4  # between the times of two rows of the table
TIGHTER = 4  # how often the rigid solver is asked for more, where its own criterion was too weak


@fclib.callback()
def _fclib() -> None:
    """Solve frictional contact problems given as matrices, or write those of a run.

    FCLIB is a collection of such problems, and a layout of HDF5 files that several codes know:
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
    table = _Table(form, tolerance, quiet=as_json)
    with _announced():
        if solver == "rigid":
            table.fill(lambda: _solve_rigid(table, sweeps, seed))
        else:
            table.fill(lambda: _sweep(table, solver, sweeps or MOST, seed))
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
    anything, such as those between walls, are left out.

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
        form, about = _step_of(run, step)
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


# ---------------------------------------------------------------------------------- solve
class _Row(NamedTuple):
    """One look at the residual."""

    seconds: float
    sweeps: int
    residual: float


class _Reached(Exception):
    """The tolerance is reached, whatever a solver's own criterion says."""


class _Table:
    """Residual over time, printed as it comes, with the best solution so far.

    Time is counted without compiling. Rows are printed at times that grow by a factor.
    """

    def __init__(self, form: GlobalForm | LocalForm, tolerance: float, *, quiet: bool) -> None:
        self.form, self.tolerance, self.quiet = form, tolerance, quiet
        self.rows: list[_Row] = []
        self.best = math.inf
        self.solution: MatrixSolution | None = None
        self.interrupted = False
        self._shown = -1.0

    def fill(self, solve: Callable[[], None]) -> None:
        """Solve until the tolerance is reached, the solver ends, or Ctrl-C."""
        if not self.quiet:
            print(f"{'seconds':>11}  {'sweeps':>9}  {'residual':>9}")
        try:
            solve()
        except _Reached:
            pass
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.interrupted = True
        if self._shown < self.rows[-1].seconds:
            self._show(self.rows[-1])

    def begin(self) -> None:
        """Start the clock, and look at zero impulses."""
        self._start = _now()
        self._look(self.form.local().q * 0.0, 0)

    def look(self, found: MatrixSolution, sweeps: int) -> float:
        """Residual of a solution found after so many sweeps in all."""
        residual = self._look(found.r, sweeps)
        if residual < self.best:
            self.best, self.solution = residual, _complete(self.form, found, sweeps)
        if residual <= self.tolerance:
            raise _Reached
        return residual

    @property
    def runaway(self) -> bool:
        return not self.rows[-1].residual < DIVERGED * self.rows[0].residual

    def verdict(self) -> str:
        last = self.rows[-1]
        after = f"after {last.sweeps} sweeps, {last.seconds:.3g} s"
        if self.runaway and self.best > self.tolerance:
            return f"diverged:    residual {last.residual:.2e} {after}"
        got = f"residual {self.best:.2e} {after}"
        if self.best <= self.tolerance:
            return f"reached:     {got}"
        word = "interrupted:" if self.interrupted else "not reached:"
        return f"{word:<12} {got}, {self.best / self.tolerance:.2g} times the tolerance"

    def _look(self, r: Floats, sweeps: int) -> float:
        from hardgrain.solve.matrices import coulomb_residual

        residual = coulomb_residual(self.form, r)
        row = _Row(max(_now() - self._start, 0.0), sweeps, residual)
        self.rows.append(row)
        if row.seconds >= SPACED * self._shown:
            self._show(row)
        return residual

    def _show(self, row: _Row) -> None:
        self._shown = row.seconds
        if not self.quiet:
            print(f"{row.seconds:>11.4f}  {row.sweeps:>9}  {row.residual:>9.2e}", flush=True)


def _now() -> float:
    """Seconds, not counting those spent on compiling."""
    from hardgrain.kernels import compile_seconds

    return time.perf_counter() - compile_seconds()


def _complete(form: GlobalForm | LocalForm, found: MatrixSolution, sweeps: int) -> MatrixSolution:
    """A solution with all that the form has."""
    from hardgrain.solve.matrices import GlobalForm

    v = form.velocity(found.r) if isinstance(form, GlobalForm) else None
    return replace(found, v=v, sweeps=sweeps)


def _sweep(table: _Table, kind: str, sweeps: int, seed: int) -> None:
    """Sweep, and look at the residual at growing intervals."""
    from hardgrain.solve.gauss_seidel import GaussSeidel
    from hardgrain.solve.jacobi import Jacobi

    solver = GaussSeidel if kind == "gauss-seidel" else Jacobi
    solver(sweeps=1).solve(_one_contact(table.form.dim), seed=seed, step=0)  # kernels are ready
    table.begin()
    problem, done, looks, more = table.form.local(), 0, 0, 1
    while done < sweeps:
        more = min(more, sweeps - done)
        found = solver(sweeps=more).solve(problem, seed=seed, step=looks)
        problem, done, looks = replace(problem, start=found.r), done + more, looks + 1
        table.look(found, done)
        if table.runaway:
            return
        rate = done / max(table.rows[-1].seconds, 1e-9)
        more = max(1, min(math.ceil((LOOK - 1.0) * done), int(PATIENCE * rate)))


def _solve_rigid(table: _Table, sweeps: int | None, seed: int) -> None:
    """The rigid solver; where its own criterion was met too early, again from there."""
    from hardgrain.solve.matrices import MatrixSolution
    from hardgrain.solve.rigid import RigidSolver, search

    solver = RigidSolver() if sweeps is None else RigidSolver(sweeps=sweeps)
    solver.solve(_one_contact(table.form.dim), seed=seed, step=0)  # kernels are ready
    table.begin()
    form, aim, done = table.form, min(table.tolerance, 0.1), 0

    def watch(found: MatrixSolution) -> None:
        nonlocal done
        done += found.sweeps
        table.look(found, done)

    for attempt in range(TIGHTER):
        best = table.best
        found = search(solver.model_copy(update={"tolerance": aim}), form, seed, attempt, watch)
        assert isinstance(found, MatrixSolution)
        if not found.converged or not table.best < 0.9 * best:
            return
        form = replace(form, start=found.r)
        aim *= min(0.1, 0.3 * table.tolerance / table.best)


def _one_contact(dim: int) -> GlobalForm:
    """A grain that falls on a plane."""
    import numpy as np
    from scipy.sparse import csc_array, csr_array, eye_array

    from hardgrain.solve.matrices import GlobalForm

    one = eye_array(dim)
    fall = -np.eye(dim)[0]
    return GlobalForm(dim, csc_array(one), csr_array(one), fall, 0.0 * fall, np.array([0.5]))


@contextmanager
def _announced() -> Iterator[None]:
    """Say so when kernels have to be compiled."""
    from hardgrain.kernels import announce

    def compiling(name: str, count: int) -> None:
        if count == 1:
            typer.echo("compiling kernels, first run only (about half a minute)", err=True)

    with announce(compiling):
        yield


# --------------------------------------------------------------------------------- export
@dataclass
class _Recorder:
    """A step's solver that keeps the problem it was given last, the one with all its contacts."""

    solver: Any
    problem: Problem | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        self.problem = problem
        solution: Solution = self.solver.solve(problem, seed=seed, step=step)
        return solution


def _step_of(path: Path, step: int | None) -> tuple[GlobalForm, dict[str, str]]:
    """The problem of the step that begins after ``step`` steps, and words about it."""
    import numpy as np

    from hardgrain.io.runfile import RunFile
    from hardgrain.run.checkpoint import from_checkpoint
    from hardgrain.run.simulation import Simulation
    from hardgrain.solve.matrices import global_form
    from hardgrain.step.contact_dynamics import ContactDynamics

    with RunFile(path) as run:
        steps = run.step
        if step is None:
            step = int(steps[-1])
        if step > steps[-1]:
            raise InputError(f"--step is {step}; {path} has {steps[-1]} steps")
        checkpoint = None
        for frame in range(int(np.searchsorted(steps, step, side="right")) - 1, -1, -1):
            checkpoint = run.checkpoint(frame)
            if checkpoint is not None:
                break
        if checkpoint is None:
            raise InputError(f"--step is {step}; {path} stores no contacts up to there")
    sim = from_checkpoint(Simulation, checkpoint, None, path)
    if not isinstance(sim.engine, ContactDynamics):
        raise InputError(f"{path} is a run of soft particles, whose steps solve no contact problem")
    while sim.state.step < step:
        sim.step()
    sim.exchange_grains()  # as before any step
    engine = sim.engine
    assert isinstance(engine, ContactDynamics)
    recorder = _Recorder(engine.solver)
    engine.solver = recorder  # type: ignore[assignment]
    try:
        engine.advance(sim.state)
    except RunError:  # a step that failed is as good a problem, if it was posed
        if recorder.problem is None:
            raise
    problem = recorder.problem
    assert problem is not None
    form = _pushing(global_form(problem)[0])
    if form.contacts == 0:
        raise InputError(f"--step is {step}; nothing touches in that step of {path}")
    about = {
        "title": sim.scenario.title or path.stem,
        "description": f"step {step + 1} of {path.name}, dt = {sim.dt:g};"
        f" written by hardgrain {hardgrain.__version__}",
        "math_info": "r: impulses of the step, u and v: velocities at its end",
    }
    return form, about


def _pushing(form: GlobalForm) -> GlobalForm:
    """Without contacts that can push nothing; other codes could not solve them."""
    import numpy as np

    rows: Floats = abs(form.h).sum(axis=1)
    live = rows.reshape(form.contacts, form.dim)[:, 0] > 0.0
    if live.all():
        return form
    mine = np.repeat(live, form.dim)
    start = None if form.start is None else form.start[mine]
    return replace(form, h=form.h[mine], w=form.w[mine], mu=form.mu[live], start=start)
