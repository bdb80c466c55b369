"""Friction and dilatancy laws: µ*(I) and φ(I) of disks sheared at constant pressure.

Every number is a mean over blocks of strain, of several flows that begin with other packings; its
error is that of the blocks. The laws are straight lines fitted with these errors.

The same flows are made by a second method, soft disks with the paper's stiffness, and a third time
between rough walls, as the paper has them: where our numbers differ from the printed ones, neither
the method nor the missing walls must be the reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardgrain.papers.dacruz2005.flow import BLOCK, STIFFNESS, TOLERANCE, Flow, Job, flow
from hardgrain.papers.dacruz2005.rheology_laws import (
    DENSITY,
    FITTED,
    FRICTION,
    WHOLE,
    drawn,
    fitted,
    other_ways,
    told,
)
from hardgrain.papers.dacruz2005.walls import Walled, walled
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Size:
    """How much is run."""

    inertial: tuple[float, ...]  # the paper's I
    count: int  # grains of a flow
    flows: int  # flows of each I
    skip: float  # strain of the transient [1]
    strain: float  # strain after it [1]
    soft: tuple[float, ...] = ()  # I of flows of soft disks
    walled: tuple[float, ...] = ()  # I of flows between walls, about


# [1] The paper's range. Slow flows are made of soft disks alone: at I = 0.001 a flow of 200 rigid
# ones takes half an hour, and has the same friction (see the text).
SLOW = (6e-4, 1e-3, 3e-3)
FAST = (0.01, 0.03, 0.06, 0.1, 0.2, 0.3)
FULL = Size(FAST, 200, 3, 1.0, 3.0, (*SLOW, *FAST), (0.01, 0.03, 0.1))
# In faster flows friction rises more slowly than the line does (see the record).
QUICK = Size((0.03, 0.1), 100, 3, 0.5, 1.5)
CHECKED = 0.03  # I at which steps of other lengths and more grains are tried
MORE = 2  # times as many grains there
LONG = 4.0  # times as long steps there
WALLED = 340  # grains between walls, about 22 layers

ROUNDED = "half a unit of the last digit printed"


def run(quick: bool) -> Outcome:
    """Shear at every I, fit, and hold the laws against the paper's."""
    size = QUICK if quick else FULL
    seeds = range(1, size.flows + 1)

    def each_of(inertial: tuple[float, ...]) -> list[Job]:
        return [Job(i, s, size.count, size.skip, size.strain) for i in inertial for s in seeds]

    rigid = each_of(size.inertial)
    soft = [replace(job, stiffness=STIFFNESS) for job in each_of(size.soft)]
    usual = [job for job in rigid if job.inertial == CHECKED]
    half = [replace(job, finer=2.0) for job in usual]
    long = [replace(job, finer=1.0 / LONG) for job in usual]
    more = [replace(job, count=MORE * job.count) for job in usual]
    # the slowest flows, which take longest, are begun first
    every = [*rigid, *soft, *half, *long, *more]
    found = dict(zip(every, pmap(flow, every)))
    between = [replace(job, count=WALLED) for job in each_of(size.walled)]
    walls = dict(zip(between, pmap(walled, between)))

    samples = size.flows * round(size.strain / BLOCK)
    each = f"{size.flows} flows of {size.count} disks to a strain of {size.skip + size.strain:g}"
    table = _table(size.inertial, rigid, found)
    tables = {"rheology": table}
    trust = _trust([found[job] for job in (*rigid, *half, *more)], table, samples, each)
    if quick:
        claims = _rises(table, samples, each) + trust
    else:
        tables["soft"] = _table(size.soft, soft, found)
        tables["walls"] = _walls_table(walls)
        claims = [
            *_laws(table, samples, each, FITTED),
            *_laws(tables["soft"], samples, each.replace("disks", "soft disks"), WHOLE),
            *_other_ways(tables, samples, size),
            *trust,
            *_checks(found, usual, half, long, more),
        ]
    text = TEXT.format(laws=told(table), count=size.count, slowest=size.inertial[0])
    text += "" if quick else other_ways(tables)
    return Outcome(claims, tables, {"rheology": drawn(tables)}, text, seeds)


def _table(inertial: tuple[float, ...], jobs: list[Job], found: dict[Job, Flow]) -> dict[str, Any]:
    """Means and errors of every quantity at every I."""
    table: dict[str, Any] = {"I": np.array(inertial)}
    for field in ("friction", "density", "pressure", "normal", "agitation", "kinetic", "contacts"):
        stats = [
            mean_and_error(_blocks([job for job in jobs if job.inertial == i], field, found))
            for i in inertial
        ]
        table[field] = np.array([mean for mean, _ in stats])
        table[f"{field}_error"] = np.array([error for _, error in stats])
    return table


def _blocks(some: list[Job], field: str, found: dict[Job, Flow]) -> Floats:
    return np.concatenate([found[job].values(field) for job in some])


def _walls_table(walls: dict[Job, Walled]) -> dict[str, Any]:
    """Friction between walls, at the I that was found there."""
    rows = []
    for i in dict.fromkeys(job.inertial for job in walls):
        some = [w for job, w in walls.items() if job.inertial == i]
        at, _ = mean_and_error(np.concatenate([w.inertial for w in some]))
        rows.append((at, *mean_and_error(np.concatenate([w.friction for w in some]))))
    return dict(zip(("I", "friction", "friction_error"), np.array(rows).T))


def _laws(
    table: dict[str, Any], samples: int, each: str, between: tuple[float, float]
) -> list[Claim]:
    """The four numbers of the two laws."""
    claims = []
    low, high = between
    samples *= int(np.sum((table["I"] >= low) & (table["I"] <= high)))
    for name, field, (values, rounding) in (
        ("µ*", "friction", FRICTION),
        ("φ", "density", DENSITY),
    ):
        fit = fitted(table, field, between)
        span = f"straight line through I = {low:g} to {high:g}"
        for what, got, error, value, rounded in (
            ("at I = 0", fit.at_rest, fit.at_rest_error, values[0], rounding[0]),
            ("slope with I", fit.slope, fit.slope_error, values[1], rounding[1]),
        ):
            paper = Expected.by_chance(
                value, error, samples, f"≃ {value:g}", beside=rounded, why=ROUNDED
            )
            why = DIFFERS if field == "friction" and not paper.met_by(got) else ""
            claims.append(
                Claim(f"{name}, {what}, {span}, {each}", got, error, samples, paper, differs=why)
            )
    return claims


def _other_ways(tables: dict[str, dict[str, Any]], samples: int, size: Size) -> list[Claim]:
    """Soft disks, and walls: is the friction another one?"""
    rigid, soft, walls = (tables[k] for k in ("rheology", "soft", "walls"))
    same = np.flatnonzero(np.isin(soft["I"], rigid["I"]))
    off = soft["friction"][same] - rigid["friction"]
    error = np.hypot(soft["friction_error"][same], rigid["friction_error"])
    mean, mean_error = float(off.mean()), float(np.sqrt(np.sum(error**2))) / off.size
    flows = f"{size.flows} flows of {size.count} disks each"
    claims = [
        Claim(
            f"µ* of soft disks, k = {STIFFNESS:g} P, less that of rigid ones, mean over"
            f" I = {rigid['I'][0]:g} to {rigid['I'][-1]:g}, {flows}",
            mean,
            mean_error,
            2 * samples * off.size,
            theory=Expected.by_chance(
                0.0, mean_error, 2 * samples * off.size, "rigid disks are the limit of stiff ones",
                beside=math.sqrt(1.0 / STIFFNESS), why="√(P/k), how long contacts last",
            ),
        )
    ]  # fmt: skip
    fit = fitted(rigid, "friction")
    for at, got, error in zip(walls["I"], walls["friction"], walls["friction_error"]):
        claims.append(
            Claim(
                f"µ* between rough walls at I = {at:.2g}, {size.flows} flows of {WALLED} disks,"
                " less the line without walls",
                float(got - fit(at)),
                math.hypot(float(error), fit.at_rest_error),
                note="not judged: what walls 22 diameters apart do",
            )
        )
    return claims


def _rises(table: dict[str, Any], samples: int, each: str) -> list[Claim]:
    """How much friction and density change from the slowest to the fastest flow."""
    low, high = table["I"][0], table["I"][-1]
    claims = []
    for name, field, (values, rounding) in (
        ("µ*", "friction", FRICTION),
        ("φ", "density", DENSITY),
    ):
        error = math.hypot(*table[f"{field}_error"][[0, -1]])
        claims.append(
            Claim(
                f"{name} at I = {high:g} less that at {low:g}, {each}",
                table[field][-1] - table[field][0],
                error,
                2 * samples - 1,
                paper=Expected.by_chance(
                    values[1] * (high - low), error, 2 * samples - 1,
                    f"slope ≃ {values[1]:g}", beside=rounding[1] * (high - low), why=ROUNDED,
                ),
            )
        )  # fmt: skip
    return claims


def _trust(flows: list[Flow], table: dict[str, Any], samples: int, each: str) -> list[Claim]:
    """What must hold whatever the grains do."""
    worst = int(np.argmax(np.abs(table["pressure"] - 1.0) / table["pressure_error"]))
    error = table["pressure_error"][worst]
    return [
        Claim(
            f"mean stress across the flow at the I where it is farthest from the pressure, {each}",
            table["pressure"][worst],
            error,
            samples,
            theory=Expected.by_chance(
                1.0,
                error,
                samples,
                "momentum: what the cell's acceleration takes has the mean 0",
                beside=TOLERANCE,
                why="the residual of a step",
            ),
        ),
        Claim(
            f"steps with a residual above 10⁻³, {each}",
            float(sum(f.loose for f in flows)),
            theory=Expected.exact(0.0, "every step is solved"),
        ),
        Claim(
            f"deepest overlap of any two disks in mean diameters, {each}",
            max(float(f.values("overlap").max()) for f in flows),
            theory=Expected(
                1e-3,
                0.0,
                "a hundredth of what φ is read to, 0.01/φ/2 of a diameter",
                side="at most",
            ),
        ),
    ]


def _checks(
    found: dict[Job, Flow], usual: list[Job], half: list[Job], long: list[Job], more: list[Job]
) -> list[Claim]:
    """Steps half as long, steps that are too long, and more grains."""
    claims = []
    for name, field in (("µ*", "friction"), ("φ", "density")):
        values = _blocks(usual, field, found)
        mean, error = mean_and_error(values)
        for words, note, some in (
            ("with steps half as long", "", half),
            (f"with steps {LONG:g} times as long", "not judged: grains rebound too early", long),
            (f"with {MORE} times as many disks", "not judged: what a cell this small does", more),
        ):
            tried = _blocks(some, field, found)
            got, got_error = mean_and_error(tried)
            both, samples = math.hypot(error, got_error), values.size + tried.size - 1
            same = Expected.by_chance(0.0, both, samples, "the step is short enough")
            claims.append(
                Claim(
                    f"{name} at I = {CHECKED:g} {words}, less that with {usual[0].count} disks",
                    got - mean,
                    both,
                    samples,
                    theory=None if note else same,
                    note=note,
                )
            )
    return claims


DIFFERS = "a line is a rough picture of a curve that bends, and depends on where it is fitted"

TEXT = """\
Disks with the paper's spread of sizes, friction and restitution are sheared in a periodic cell
under a constant pressure across the flow. Straight lines through the I of the dense regime are
{laws}.

What differs from the paper. It shears soft disks between two rough walls and measures away from
them; here are {count} rigid disks and no walls. Its range is I = 6·10⁻⁴ to 0.3; that of rigid
disks begins at {slowest:g}, since a given strain takes ten times as many steps in a flow ten times
slower. Its inertial number has the mass of a grain, I = γ̇ √(m/P),
and so has ours; with d √(ρ/P) in place of √(m/P) the slopes would be smaller by √(π/4), 11 %.

How long steps may be. Grains that rebound do so in the step in which they would touch, from up to
a step's way apart, as if they were larger. Where steps were four times as long, slow flows were
looser and had more friction (claims below), and a line through them began at 0.28 to 0.29. Steps
half as long change nothing more.

The number of contacts of a grain is in the table, and is not compared: where grains collide rather
than rest on each other, the number of those that bear a force in a step falls with the length of
the step (in a trial at I = 0.1 from 1.5 to 1.1 with steps a quarter as long).

Where the paper's numbers come from: the paper itself was not at hand, neither text nor figures.
µ* ≃ 0.25 + 1.1 I and φ ≃ 0.81 − 0.3 I for a friction of 0.4, the spread of sizes, the restitution
and the range of I are taken second-hand, to the digits given there."""

EXPERIMENT = Experiment("rheology", "Friction and dilatancy of dense flows (da Cruz et al.)", run)
