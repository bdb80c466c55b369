"""A study from Python: begin or find it, run it, and collect what all runs have found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardgrain.errors import InputError
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder, Status
from hardgrain.study.points import Point
from hardgrain.study.spec import Plan, read_plan

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["Study"]


class Study:
    """One scenario run for many parameters and seeds; its folder is its database.

        study = hg.Study(
            {
                "scenario": "heap.toml",
                "parameters": {"friction": {"field": "scene.contacts.0.friction",
                                            "values": [0.1, 0.3, 0.5]}},
                "seeds": 8,
            },
            folder="heaps",
        )
        study.run()
        table = study.collect("surface-angle.angle")

    ``study`` is a study file (TOML), the same as tables, or the folder of a study that has begun.
    A study that has begun goes on where it was; one whose scenario was edited since, or that lacks
    points that it had, is refused.
    """

    def __init__(
        self, study: str | Path | Mapping[str, Any] | Plan, folder: str | Path | None = None
    ) -> None:
        if isinstance(study, str | Path):
            path, text = Path(study), None
            if path.is_dir():
                if folder is not None and Path(folder).absolute() != path.absolute():
                    raise InputError(f"{path} is the folder of a study, which cannot have another")
                self._folder = Folder.opened(path)
                return
            plan = read_plan(path)
            text = path.read_text(encoding="utf-8")
            self._folder = Folder.begin(folder or path.stem, plan, path.parent, text)
            return
        if folder is None:
            raise InputError("folder is missing; say where the study is kept")
        plan = read_plan(study if isinstance(study, Plan) else dict(study))
        self._folder = Folder.begin(folder, plan, Path())

    def __repr__(self) -> str:
        return f"<Study {str(self.folder)!r}: {self.status}>"

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self._folder.path

    @property
    def plan(self) -> Plan:
        """What the study file says, with the scenario in it."""
        return self._folder.plan

    @property
    def points(self) -> list[Point]:
        """All its runs."""
        return list(self._folder.points.values())

    @property
    def status(self) -> Status:
        """How many points are done, failed, running and to do."""
        return self._folder.status()

    @property
    def failed(self) -> dict[str, str]:
        """Why points have failed, by their keys."""
        states = self._folder.states().items()
        return {key: row.get("why", "") for key, row in states if row["state"] == "failed"}

    def path(self, point: Point | str) -> Path:
        """The run file of a point."""
        return self._folder.of(point.key if isinstance(point, Point) else point) / "run.h5"

    def run(
        self,
        *,
        workers: int | None = None,
        dask: str | None = None,
        retry: bool = False,
        watch: Callable[[Event], object] | None = None,
    ) -> Status:
        """Run all points that are not done, on all cores, or by Dask (an address, or "local").

        ``watch`` is called with all that happens, in place of the table in the terminal. Ctrl-C
        ends it at once; nothing that is done is lost.
        """
        keys = self._folder.to_do(retry)
        events = self.events(keys, workers=workers, dask=dask, retry=retry)
        self.attend(events, keys, watch=watch)
        return self.status

    def events(
        self,
        keys: Sequence[str],
        *,
        workers: int | None = None,
        dask: str | None = None,
        retry: bool = False,
    ) -> Iterator[Event]:
        """What happens while these points are run."""
        if not keys:
            return iter(())
        if dask is not None:
            from hardgrain.study.dask import run_on_dask

            return run_on_dask(self._folder, keys, dask, workers, retry)
        from hardgrain.study.local import run_locally

        return run_locally(self._folder, keys, workers, retry)

    def attend(
        self,
        events: Iterator[Event],
        keys: Sequence[str],
        *,
        quiet: bool = False,
        watch: Callable[[Event], object] | None = None,
    ) -> None:
        """Let a sweep go on, shown in a table or told to a function."""
        if watch is not None:
            for event in events:
                watch(event)
            return
        from hardgrain.study.table import Table

        with Table(self._folder, list(keys), quiet) as table:
            try:
                for event in events:
                    table(event)
            finally:  # an interruption ends the workers before the table goes
                getattr(events, "close", lambda: None)()

    def collect(
        self,
        *names: str,
        frame: int = -1,
        frames: str | None = None,
        each: bool = False,
        options: Mapping[str, Any] | None = None,
        workers: int | None = 1,
    ) -> xr.Dataset:
        """Measurements of all runs as one labelled table, with mean and error over the seeds.

        ``names`` are measurements (``"coordination"``), single variables of them
        (``"stress.pressure"``), or ``"summary"``; by default those that the study names. They are
        taken at a ``frame``, by default the last, or as the mean over ``frames`` (``"20:"``).
        With ``each`` the values of all seeds are kept, along an axis of their own. Several
        ``workers`` (None: all cores) need a script that guards its start by ``__name__``.
        """
        from hardgrain.study.collect import collect

        return collect(
            self._folder, names or self.plan.measure, frame=frame, frames=frames, each=each,
            options=options or {}, workers=workers,
        )  # fmt: skip

    def draw(self, *names: str) -> Figure:
        """A picture of measurements over the parameters, with error bars."""
        from hardgrain.study.plot import draw_study

        return draw_study(self.collect(*names))

    def report(self, path: str | Path | None = None) -> Path:
        """Write a page on the study, by default ``report.html`` in its folder."""
        from hardgrain.study.report import write_study_report

        return write_study_report(self._folder, path)
