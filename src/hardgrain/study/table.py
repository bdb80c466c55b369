"""The live table of a sweep: a row for each combination of values, a mark for each of its seeds.

In a terminal it is rewritten in place; rows that do not fit are counted, and those in which
something runs are shown first. In a log it is a line now and then.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from hardgrain.run.progress import StatusLine, bar, duration
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder
from hardgrain.study.points import Point, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Table"]

# state: mark, colour
MARKS = {
    "done": ("●", "green"), "failed": ("✗", "red"), "running": ("◐", "cyan"),
    "busy": ("◌", "cyan"), "lost": ("○", "yellow"), "given up": ("✗", "yellow"), "": ("·", "dim"),
}  # fmt: skip
# [1] Lines of the screen that the table leaves to the heading and to what was there before.
SPARE = 6
SEEDS = 40  # [1] most marks in a row; of more seeds, only how many are done is told


class Table(StatusLine):
    """Shows all points of a study while some of them are run."""

    def __init__(self, folder: Folder, keys: list[str], quiet: bool = False) -> None:
        super().__init__(quiet)
        self._rows: dict[tuple[int, ...], list[Point]] = {}
        for point in folder.points.values():
            self._rows.setdefault(point.place, []).append(point)
        self._state = {key: row["state"] for key, row in folder.states().items()}
        self._state |= dict.fromkeys(keys, "")
        self._share: dict[str, float] = {}  # of those that run now
        self._points, self._keys = folder.points, keys
        self._left = len(keys)
        self._finished = 0
        self._from: dict[str, float] = {}  # how far they were when first heard of
        self._begin = time.monotonic()
        self.counts = Counter(self._state.values())

    def __call__(self, event: Event) -> None:
        """Take note of what happened, and update the table if it is time."""
        self.counts[self._state[event.key]] -= 1
        self.counts[event.state] += 1
        self._state[event.key] = event.state
        if event.state == "running":
            self._share[event.key] = event.share
            if event.share:
                self._from.setdefault(event.key, event.share)
        else:
            self._share.pop(event.key, None)
        if event.state in ("done", "failed", "busy", "given up"):
            self._left -= 1
            self._finished += event.state in ("done", "failed")
        if event.state in ("failed", "given up"):
            self.tell(f"{event.state}: {self._points[event.key]}: {event.why}")
        if self.due(time.perf_counter()):
            self.update()

    def update(self) -> None:
        if self._live is not None:
            self._live.update(self._table(self._console.size.height - SPARE), refresh=True)
        else:
            self.tell(self.heading())

    def heading(self) -> str:
        total = len(self._points)
        parts = [f"{bar(self.counts['done'] / max(total, 1))} of {total} points"]
        names = (("failed", "failed"), ("given up", "given up"), ("running", "running"))
        parts += [f"{self.counts[state]} {words}" for state, words in names if self.counts[state]]
        if (left := self.time_left()) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)

    def time_left(self) -> float | None:
        """Time that the points to do may take, at the pace so far; None if it is too early."""
        some = sum(max(0.0, s - self._from.get(k, s)) for k, s in self._share.items())
        passed, done = time.monotonic() - self._begin, self._finished + some
        if passed < 2.0 or done < 0.2:
            return None
        return passed * max(self._left - sum(self._share.values()), 0.0) / done

    def _table(self, room: int) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        rows, hidden = list(self._rows.values()), 0
        if len(rows) > room:  # those in which something runs, then others until they fill the room
            busy = {self._points[key].place for key in self._share}
            places = dict.fromkeys(sorted(busy)) | dict.fromkeys(islice(self._rows, room))
            rows = [self._rows[place] for place in islice(places, max(room - 1, 1))]
            hidden = len(self._rows) - len(rows)
        names = [", ".join(f"{n} {text_of(v)}" for n, v in row[0].values.items()) for row in rows]
        width = max(map(len, names), default=0)
        lines = [Text(self.heading())]
        for name, row in zip(names, rows):
            lines.append(Text(f"  {name:<{width}}  ", no_wrap=True, overflow="ellipsis"))
            lines[-1].append_text(self._marks(row))
        if hidden:
            lines.append(Text(f"  … and {hidden} more combinations", style="dim"))
        return Group(*lines)

    def _marks(self, row: list[Point]) -> Any:
        from rich.text import Text

        states = [self._state.get(point.key, "") for point in row]
        text = Text()
        if len(row) <= SEEDS:
            for state in states:
                mark, style = MARKS.get(state, MARKS[""])
                text.append(mark, style)
        else:
            text.append(f"{states.count('done')} of {len(row)} done")
        now = [self._share[p.key] for p in row if p.key in self._share]
        if now:
            text.append("  " + ", ".join(f"{share:.0%}" for share in now), "cyan")
        return text
