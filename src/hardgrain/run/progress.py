"""The live progress line of a run, and the line that says what is being compiled."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hardgrain.run.computing import throughput
from hardgrain.run.monitor import watched
from hardgrain.run.stop import Condition, Steps, Time
from hardgrain.step.report import StepReport

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Progress", "StatusLine", "StepTimer", "bar", "duration", "span"]

PERIOD = 0.1  # [s] time between two updates of the line; more of them would slow the run down
BAR = 10  # [characters] width of the bar
# [1, s, s] Time between two lines of a log: a share of the time that has passed, within two limits.
# Shorter times fill logs; longer ones leave the reader in doubt whether the run goes on.
LOG_SHARE, LOG_LEAST, LOG_MOST = 0.2, 5.0, 600.0


class StatusLine:
    """A line on the standard error stream that is rewritten; a log gets a new line now and then."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._began: float | None = None
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

    @property
    def width(self) -> int | None:
        """Width that a line may have, or None if any width will do."""
        return None if self._live is None else self._console.width

    def due(self, now: float) -> bool:
        """Whether it is time to update the line."""
        if self.quiet:
            return False
        if self._began is None:
            self._began = now
            self._next = now if self._live is not None else now + LOG_LEAST
        if now < self._next:
            return False
        pause = PERIOD
        if self._live is None:
            pause = min(max(LOG_SHARE * (now - self._began), LOG_LEAST), LOG_MOST)
        self._next = now + pause
        return True

    def show(self, line: str) -> None:
        """Replace the last line; in a log, add one below it."""
        from rich.text import Text

        if self._live is not None:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
        else:
            self.tell(line)

    def tell(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(line, soft_wrap=True, markup=False)


class Progress(StatusLine):
    """Shows how a run goes on, on the standard error stream; give it to `Simulation.run`.

        with Progress(until=[Time(time=10)]) as progress:
            sim.run(until=Time(time=10), progress=progress)

    In a terminal it is one line that changes; in a log a line after some seconds, and further ones
    ever more seldom. ``until`` are the run's stop conditions, from which the time left is
    estimated. With ``command`` the process is the run's own, and a second Ctrl-C ends it at
    once.
    """

    def __init__(
        self, until: Sequence[Condition] = (), quiet: bool = False, command: bool = False
    ) -> None:
        super().__init__(quiet)
        self.until = list(until)
        self.command = command
        self.hidden = False  # it is quiet by choice, so that warnings take another way
        self.pace = StepTimer()

    def __enter__(self) -> Self:
        from hardgrain.kernels import announce

        super().__enter__()
        self._open.enter_context(announce(self.compiling))
        return self

    def __call__(self, sim: Simulation, report: StepReport) -> None:
        """Take note of a step, and update the line if it is time."""
        now = time.perf_counter()
        self.pace.note(now, report.step)
        if self.due(now):
            self.show(self.line(sim, report, self.width))

    def compiling(self, name: str, count: int) -> None:
        """Take note of a kernel that starts to compile."""
        if self._live is not None:
            some = "kernel" if count == 1 else "kernels"
            self.show(f"compiling kernels, first run only: {count} {some} so far ({name})")
        elif count == 1:
            self.tell("compiling kernels, first run only (half a minute, two with shapes)")

    def heard(self, count: int) -> None:
        """Answer Ctrl-C or SIGTERM at once, whatever the present step is doing."""
        if count == 1:
            again = "; Ctrl-C again ends it at once" if self.command else ""
            self.tell(f"interrupted: the run ends after the step in hand{again}")
        elif self.command:  # for the run file this is as safe as a kill
            os.write(2, b"ended at once; the run file is intact up to its last frame\n")
            os._exit(130)

    def line(self, sim: Simulation, report: StepReport, width: int | None = None) -> str:
        """The line after a step, with as many figures as there is room for."""
        share, steps_left = self._left(sim)
        sweeps = sim.scenario.engine.solves  # other engines make no sweeps
        looks = watched(sim.scenario.engine, sim.model)
        parts = [  # pairs of place in the line and text, the most important first
            (0, "" if share is None else bar(share)),
            (1, f"step {report.step}"),
            (5, f"residual {report.residual:.0e}" if sweeps else ""),
            (3, self._time_left(steps_left)),
            (4, f"{report.sweeps} sweeps" if sweeps else ""),
            (2, f"time {report.time:.4g}"),
            (6, f"kinetic {report.kinetic:.2e}"),
            (9, throughput(sim)),
            (7, f"overlap {sim.totals.deepest:.0e} d"),
            (8, str(sim.monitor.found) if report.sweeps and looks else ""),
        ]
        chosen: list[tuple[int, str]] = []
        room = math.inf if width is None else width + 2
        for place, text in parts:
            if text and len(text) + 2 <= room:
                chosen.append((place, text))
                room -= len(text) + 2
        return "  ".join(text for _, text in sorted(chosen))

    def _time_left(self, steps: float | None) -> str:
        if steps is None or (found := self.pace.left(steps)) is None:
            return ""
        certain = all(isinstance(c, Steps | Time) for c in self.until)
        return f"{span(*found)} left{'' if certain else ' unless at rest before'}"

    def _left(self, sim: Simulation) -> tuple[float | None, float | None]:
        """Share of the run that is done, and steps still to do, if a stop condition counts them."""
        totals = [float(c.steps) for c in self.until if isinstance(c, Steps)]
        totals += [c.time / sim.dt for c in self.until if isinstance(c, Time)]
        if not totals or (total := min(totals)) <= 0:
            return None, None
        return min(sim.state.step / total, 1.0), max(total - sim.state.step, 0.0)


class StepTimer:
    """Measures how long steps take, and estimates how long those to come may take.

    Steps grow slower as grains meet: a mean over the run would promise too much. Three guesses are
    made, from the mean cost of a step so far, from its cost in the later half of the run, and from
    the trend between the two halves; the truth is said to lie between the least and the largest.
    """

    MARKS = 256  # [marks] times in the past that are kept; of more, every second one is forgotten
    LEAST = 1.0  # [s] time that steps must have taken before an estimate is given

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []  # times and steps
        self._now: tuple[float, int] | None = None

    def note(self, now: float, step: int) -> None:
        """Take note of the clock after a step; the first one, which may compile, starts it."""
        self._now = now, step
        if not self._marks or now - self._marks[-1][0] >= PERIOD:
            self._marks.append(self._now)
            if len(self._marks) > self.MARKS:
                self._marks[1:-1] = self._marks[2:-1:2]

    def left(self, steps: float) -> tuple[float, float] | None:
        """Least and greatest time that so many more steps may take [s]; None if it is too early."""
        if self._now is None:
            return None
        (begin, first), (now, last) = self._marks[0], self._now
        done = last - first
        if done < 1 or now - begin < self.LEAST:
            return None
        mean = recent = (now - begin) / done
        middle = min(self._marks, key=lambda mark: abs(mark[1] - 0.5 * (first + last)))
        trend = mean
        if first < middle[1] < last:
            early = (middle[0] - begin) / (middle[1] - first)
            recent = (now - middle[0]) / (last - middle[1])
            growth = (recent - early) / (0.5 * done)  # growth of the cost of a step with each step
            trend = recent + growth * (0.25 * done + 0.5 * steps)
        guesses = (mean, recent, max(trend, 0.0))
        return steps * min(guesses), steps * max(guesses)


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


def span(low: float, high: float) -> str:
    """A range of times in words, such as "20 to 50 min", or a single one if both ends agree."""
    if high <= 1.25 * low or duration(low) == duration(high):
        return f"about {duration(0.5 * (low + high))}"
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if low >= 2.0 * size:
            return f"{low / size:.0f} to {high / size:.0f} {unit}"
    return f"{duration(low)} to {duration(high)}"
