"""The live progress line of a run, and the word on compilation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hardgrain.run.stop import Condition, Steps, Time
from hardgrain.step.report import StepReport

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Line", "Progress", "bar", "duration"]

PERIOD = 0.1  # between two looks of the line [s]; writing it more often would cost time
BAR = 16  # width of the bar [characters]


class Line:
    """A line on the standard error stream that changes, in a terminal only."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._next = 0.0

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, quiet=self.quiet, highlight=False)
        self._open = contextlib.ExitStack()
        self._live: Live | None = None
        if self._console.is_terminal and not self.quiet:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._open.enter_context(self._live)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def due(self, now: float) -> bool:
        """Whether there is a terminal, and time for another look since the last."""
        if self._live is None or now < self._next:
            return False
        self._next = now + PERIOD
        return True

    def show(self, line: str) -> None:
        """Put another line in the place of the last, where there is a terminal."""
        from rich.text import Text

        if self._live is not None:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)


class Progress(Line):
    """Shows how a run goes on, on the standard error stream; give it to `Simulation.run`.

        with Progress(until=[Time(time=10)]) as progress:
            sim.run(until=Time(time=10), progress=progress)

    In a terminal it is one line that changes; elsewhere only compilation is announced, once.
    ``until`` are the run's stop conditions, from which the time left is estimated.
    """

    def __init__(self, until: Sequence[Condition] = (), quiet: bool = False) -> None:
        super().__init__(quiet)
        self.until = list(until)
        self.hidden = False  # quiet of its own accord, so that warnings take another way
        self._first: tuple[float, int] | None = None  # clock and step when the first step was done

    def __enter__(self) -> Self:
        from hardgrain.kernels import announce

        super().__enter__()
        self._open.enter_context(announce(self.compiling))
        return self

    def __call__(self, sim: Simulation, report: StepReport) -> None:
        """Take note of a step."""
        now = time.perf_counter()
        if self._first is None:  # the first step compiles, so the clock starts after it
            self._first = now, report.step
        if self.due(now):
            self.show(self.line(sim, report, now))

    def compiling(self, name: str, count: int) -> None:
        """Take note of a kernel that starts to compile."""
        if self._live is not None:
            some = "kernel" if count == 1 else "kernels"
            self.show(f"compiling kernels, first run only: {count} {some} so far ({name})")
        elif count == 1:
            self._console.print("compiling kernels, first run only (about half a minute)")

    def tell(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(line, soft_wrap=True, markup=False)

    def line(self, sim: Simulation, report: StepReport, now: float) -> str:
        """The line after a step, most telling figures first."""
        diameter = 2.0 * float(sim.model.radius.mean())
        share, steps_left = self._left(sim)
        parts = [
            f"step {report.step}",
            f"time {report.time:.4g}",
            f"kinetic {report.kinetic:.2e}",
            f"overlap {sim.totals.worst_overlap / diameter:.0e} d",
        ]
        if sim.engine.softness is None:  # soft particles make no sweeps
            parts.insert(2, f"{report.sweeps} sweeps")
            parts.insert(4, f"residual {report.residual:.0e}")
        if report.sweeps:
            parts.append(str(sim.monitor.found))
        if share is not None:
            parts.insert(0, bar(share))
        if steps_left is not None and self._first is not None:
            start, first = self._first
            if report.step > first and now - start > 1.0:
                left = (now - start) / (report.step - first) * steps_left
                most = "" if self._certain() else "at most "
                parts.insert(3, f"{most}{duration(left)} left")
        return "  ".join(parts)

    def _left(self, sim: Simulation) -> tuple[float | None, float | None]:
        """Share of the run that is done and steps still to do, where a condition counts them."""
        totals = [float(c.steps) for c in self.until if isinstance(c, Steps)]
        totals += [c.time / sim.dt for c in self.until if isinstance(c, Time)]
        if not totals or (total := min(totals)) <= 0:
            return None, None
        return min(sim.state.step / total, 1.0), max(total - sim.state.step, 0.0)

    def _certain(self) -> bool:
        """Whether nothing but a number of steps or a time can end the run."""
        return all(isinstance(c, Steps | Time) for c in self.until)


def bar(share: float) -> str:
    """How much is done, drawn and as a percentage."""
    done = round(BAR * share)
    return "━" * done + "╌" * (BAR - done) + f" {share:4.0%}"


def duration(seconds: float) -> str:
    """A time span in words: 8 s, 3 min 20 s, 2 h 5 min, 3.1 days."""
    if seconds > 48 * 3600:
        return f"{seconds / 86400:.3g} days"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
