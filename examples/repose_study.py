"""A study of many runs: the angle of repose against friction, with error bars over the seeds."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import xarray as xr

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.show.style import COLOURS, new_figure, save, style

ANGLE = "surface-angle.right"  # at which the surface falls from its summit, away from the wall


def plan(quick: bool) -> dict[str, object]:
    """The starter repose-study; for a quick look two coefficients, two seeds and a small heap."""
    tables = tomllib.loads(starter.text("repose-study"))
    if quick:
        tables["seeds"] = 2
        tables["parameters"]["friction"]["values"] = [0.3, 0.6]
        tables["set"] = {
            "scene.grains.0.count": 10,
            "scene.grains.0.place.max": [10, 0],
            "scene.grains.1.count": 40,
            "scene.grains.1.place.max": [10, 16],
            "scene.walls.1.start": [10, -1],
            "scene.walls.1.end": [10, 20],
            "stop.time": 9,
        }
    return tables


def sweep(folder: Path, quick: bool) -> hg.Study:
    """Run all points that are not done yet, on all cores."""
    study = hg.Study(plan(quick), folder)
    status = study.run()
    assert status.done == status.points
    return study


def trusted(study: hg.Study) -> xr.Dataset:
    """The closing summaries of all runs: each converged in every step, and rigid to its end."""
    summary = study.collect("summary", each=True)
    assert (summary["summary.loose"] == 0).all()
    assert (summary["summary.rigid"] == 1).all()
    return summary


def again(study: hg.Study) -> None:
    """Any point can be run again from its own scenario, by anyone: it has the same bits."""
    file = study.path(study.points[-1])
    alone = hg.Simulation(hg.load(file.with_name("scenario.toml")))
    alone.run(progress=False)
    with hg.RunFile(file) as run:
        assert (run[-1].position == alone.frame.position).all()


def main(quick: bool = False, folder: Path = Path("results/repose_study")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    study = sweep(folder / "runs", quick)
    trusted(study)
    again(study)

    table = np.degrees(study.collect(ANGLE))
    angle, error = table[ANGLE], table[f"{ANGLE}_error"]
    for mu, mean, bar in zip(table["friction"].values, angle.values, error.values):
        print(f"µ = {mu:g}: {mean:.1f} ± {bar:.1f} degrees")
    draw(table, folder / "repose_study.png")
    study.report(folder / "repose_study.html")

    # A slope is left, and none that is steeper than grains can lie on each other.
    assert ((angle > 0.0) & (angle < 60.0)).all()
    if not quick:
        # Grains without friction have no hold on each other: their slope is less steep than those
        # with some, all of these together, by more than three times the error of the difference.
        rough, some = angle[3:], error[3:]
        less = np.hypot(error[0], np.sqrt((some**2).sum()) / len(some))
        assert rough.mean() - angle[0] > 3.0 * less


def draw(table: xr.Dataset, path: Path) -> None:
    """Mean over the seeds, with its error."""
    with style():
        figure, axes = new_figure()
        axes.errorbar(
            table["friction"], table[ANGLE], table[f"{ANGLE}_error"], fmt="o", capsize=2,
            color=COLOURS[1],
        )  # fmt: skip
        axes.set_xlabel("friction coefficient of the grains")
        axes.set_ylabel("angle of repose [degree]")
        axes.set_ylim(bottom=0.0)
        save(figure, path)


if __name__ == "__main__":
    main(quick="HARDGRAIN_QUICK" in os.environ)
