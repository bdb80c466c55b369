"""The folder of a study is its database: a folder for each point, and an index of what is done.

    repose/study.json         the plan, as it began, and how many points it has
    repose/study.toml         the same for readers, as it was given
    repose/scenario.toml      the scenario that all points share
    repose/index.jsonl        a line for each point that was begun, done or failed
    repose/points/HASH/       scenario.toml, run.h5 and, once it is done, summary.json

What is true is in the folders of the points: a point is done when it has a ``summary.json``, which
is written whole or not at all; it has failed if it has a ``failed.json``; it is being run while
some process holds the lock of its file ``claim``, which ends with that process, however it ends.
So nothing is stale after a kill.

The index says the same in one file, since looking into a hundred thousand folders takes minutes. It
is only ever added to. A process that is killed between its last file and its line leaves a point
that is done and not in the index: the next one to claim the point finds that out and adds the line.
The index can be made again from the folders at any time (`rebuild`).
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import hardgrain
from hardgrain.errors import InputError, RunError
from hardgrain.io.json_text import json_text
from hardgrain.io.lock import alone, is_locked, try_claim
from hardgrain.show.page import write_whole
from hardgrain.show.toml import tables_text
from hardgrain.study.points import Point, canonical, points_of
from hardgrain.study.spec import Plan

__all__ = ["Folder", "Status"]

FORMAT = 1
STATES = ("begun", "done", "failed")


@dataclass(frozen=True)
class Status:
    """How far a study is."""

    points: int  # in all
    done: int
    failed: int
    running: int
    broken: int  # begun by a process that is no more; they go on where they were
    seconds: float  # mean time that a point took, NaN if none is done [s]

    @property
    def left(self) -> int:
        """Points that nobody has begun, or that are broken."""
        return self.points - self.done - self.failed - self.running

    def __str__(self) -> str:
        parts = [f"{self.done} of {self.points} points done"]
        for count, words in (
            (self.failed, "failed"), (self.running, "running"), (self.left, "to do"),
        ):  # fmt: skip
            if count:
                parts.append(f"{count} {words}")
        if self.broken:
            parts[-1] += f", {self.broken} of them broken off"
        return ", ".join(parts)


class Folder:
    """A study on disk. ``begin`` makes it, or goes on with it; ``opened`` finds one there is."""

    def __init__(self, path: Path, plan: Plan, at: Path) -> None:
        self.path, self.plan, self.at = path, plan, at

    # ------------------------------------------------------------------ begin and find again
    @classmethod
    def opened(cls, path: str | Path) -> Folder:
        """The study in a folder."""
        path = Path(path)
        try:
            known = json.loads((path / "study.json").read_text(encoding="utf-8"))
            if known["format"] != FORMAT:
                raise InputError(
                    f"{path} was begun by hardgrain {known['hardgrain']}, whose studies hardgrain"
                    f" {hardgrain.__version__} cannot read"
                )
            return cls(path, Plan.model_validate(known["plan"]), Path(known["at"]))
        except FileNotFoundError:
            what = "is not the folder of a study" if path.is_dir() else "does not exist"
            raise InputError(
                f"{path} {what}; give the folder that hardgrain sweep has made"
            ) from None
        except (OSError, ValueError, LookupError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{path / 'study.json'} is damaged, so that {path} cannot be read"
            ) from None

    @classmethod
    def begin(cls, path: str | Path, plan: Plan, at: Path, text: str | None = None) -> Folder:
        """Make the folder, or go on with a study that it holds; one that was edited is refused.

        Points may be added: more values, seeds or random points. Those that there are stay.
        ``text`` is the study file, kept for readers.
        """
        path = Path(path)
        found = cls(path, plan, at.absolute())
        if (path / "study.json").is_file():
            before = cls.opened(path)
            if _same(before.plan) == _same(plan):
                if before.plan != plan:  # its title, or what it measures
                    found._write(text)
                return found
            _refuse_edited(path, before, found)
            found._write(text)
            return found
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; give a folder for the study with -o")
        if path.is_dir() and (foreign := next(path.iterdir(), None)) is not None:
            raise InputError(
                f"{path} is not the folder of a study: it holds {foreign.name}; give another"
                " folder with -o"
            )
        try:
            (path / "points").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path} cannot be made a folder: {error.strerror}") from None
        found._write(text)
        return found

    def _write(self, text: str | None) -> None:
        plan = self.plan.model_dump(mode="json", exclude_none=True)
        scenario = plan["scenario"]
        write_whole(self.path / "scenario.toml", tables_text(scenario))
        write_whole(
            self.path / "study.toml", text or tables_text(plan | {"scenario": "scenario.toml"})
        )
        facts = {"format": FORMAT, "hardgrain": hardgrain.__version__, "at": str(self.at)}
        facts |= {"points": len(self.points), "plan": plan}
        # the last one: a folder with it is whole
        write_whole(self.path / "study.json", json_text(facts, indent=1) + "\n")

    @cached_property
    def points(self) -> dict[str, Point]:
        """All points by their key, in their order."""
        return {point.key: point for point in points_of(self.plan)}

    # ------------------------------------------------------------------ one point
    def of(self, key: str) -> Path:
        """Folder of a point."""
        return self.path / "points" / key

    @contextlib.contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Hold a point for this process alone; False if another one has it."""
        try:
            self.of(key).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{self.of(key)} cannot be made a folder: {error.strerror}") from None
        path = self.of(key) / "claim"
        file = try_claim(path, create=True)
        try:
            yield file is not None
        finally:
            if file is not None:
                path.unlink(missing_ok=True)  # whoever opened it meanwhile notices, and tries again
                file.close()

    def look(self, key: str) -> tuple[str, str]:
        """What the folder of a point says of it: done, failed, begun or new; why it failed."""
        folder = self.of(key)
        if (folder / "summary.json").is_file():
            return "done", ""
        try:
            return "failed", str(json.loads((folder / "failed.json").read_text())["why"])
        except (OSError, ValueError, LookupError):
            return ("begun" if (folder / "run.h5").is_file() else "new"), ""

    def tidy(self, key: str) -> None:
        """Remove the half files of workers that were killed; only for who has claimed the point."""
        for part in self.of(key).glob(".*.part*"):
            part.unlink(missing_ok=True)

    def finish(self, key: str, facts: dict[str, Any], failed: bool = False) -> None:
        """Keep the outcome of a point, whole or not at all."""
        name = "failed.json" if failed else "summary.json"
        write_whole(self.of(key) / name, json_text(facts, indent=1) + "\n")

    # ------------------------------------------------------------------ the index
    @property
    def index(self) -> Path:
        return self.path / "index.jsonl"

    def note(self, key: str, state: str, **more: Any) -> None:
        """Add a line to the index."""
        line = json.dumps({"point": key, "state": state, **more}, ensure_ascii=False)
        with alone(self.index) as file:  # the first newline ends a line that broke off
            file.write(f"\n{line}".encode())

    def states(self) -> dict[str, dict[str, Any]]:
        """The last line of every point that was ever begun, by its key: one file is read."""
        found: dict[str, dict[str, Any]] = {}
        try:
            text = self.index.read_bytes()
        except FileNotFoundError:
            return {}
        for line in text.splitlines():
            try:
                row = json.loads(line)
                key, state = row["point"], row["state"]
            except (ValueError, LookupError, TypeError):  # it broke off, or is empty
                continue
            if key not in found or found[key]["state"] != "done":  # what is done stays done
                found[key] = row if state in STATES else {**row, "state": "begun"}
        return found

    def status(self) -> Status:
        """How far the study is, from the index alone and the locks of what is begun."""
        states = self.states()
        known = json.loads((self.path / "study.json").read_text(encoding="utf-8"))
        counts = Counter(row["state"] for row in states.values())
        begun = [key for key, row in states.items() if row["state"] == "begun"]
        running = sum(self.running(key) for key in begun)
        times = [row["seconds"] for row in states.values() if row.get("seconds") is not None]
        mean = sum(times) / len(times) if times else float("nan")
        return Status(
            known["points"], counts["done"], counts["failed"], running, len(begun) - running, mean
        )

    def running(self, key: str) -> bool:
        """Whether a process has claimed the point."""
        try:
            with (self.of(key) / "claim").open("r+b") as file:
                return is_locked(file)
        except OSError:
            return False

    def to_do(self, retry: bool = False) -> list[str]:
        """Points that are not done, those that were begun first; with ``retry`` the failed too."""
        states = self.states()
        final = ("done",) if retry else ("done", "failed")
        rank = {"begun": 0, "failed": 2}
        left = {
            key: rank.get(states[key]["state"], 1) if key in states else 1
            for key in self.points
            if key not in states or states[key]["state"] not in final
        }
        return sorted(left, key=lambda key: left[key])  # sorted keeps the order of equals

    def rebuild(self) -> None:
        """Make the index again from the folders of all points, each of which is looked at once."""
        lines = []
        for key in self.points:
            state, why = self.look(key)
            if state != "new":
                row: dict[str, Any] = {"point": key, "state": state}
                lines.append(json.dumps(row | ({"why": why} if why else {}), ensure_ascii=False))
        with alone(self.index) as file:
            file.truncate(0)
            file.write("".join(f"\n{line}" for line in lines).encode())


# ---------------------------------------------------------------------- what was edited
def _same(plan: Plan) -> str:
    """What decides which points there are and what each of them runs."""
    return canonical(plan.model_dump(mode="json", exclude={"title", "measure"}))


def _refuse_edited(path: Path, before: Folder, now: Folder) -> None:
    other = "give the new study another folder with -o"
    if canonical(before.plan.scenario) != canonical(now.plan.scenario):
        where = _difference(before.plan.scenario, now.plan.scenario)
        raise InputError(f"the scenario was edited after {path} began ({where}); {other}")
    lost = len(before.points.keys() - now.points.keys())
    if lost:
        raise InputError(
            f"the study was edited after {path} began: {lost} of its {len(before.points)} points"
            f" are no longer part of it; more points can be added to it, or {other}"
        )


def _difference(before: Any, now: Any, at: str = "") -> str:
    """Words on the first field in which two scenarios differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in [*before, *(n for n in now if n not in before)]:
            if canonical(before.get(name)) != canonical(now.get(name)):
                return _difference(before.get(name), now.get(name), f"{at}.{name}".lstrip("."))
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (one, other) in enumerate(zip(before, now)):
            if canonical(one) != canonical(other):
                return _difference(one, other, f"{at}[{k}]")
    old, new = ("not given" if v is None else canonical(v) for v in (before, now))
    return f"{at} is {new[:40]} and was {old[:40]}"
