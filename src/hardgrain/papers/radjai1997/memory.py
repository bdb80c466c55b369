"""What an array remembers of its start: S → NS → S, counted before and after the maximum of µ_g."""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.starts import (
    FIG3,
    STEADY,
    StartPath,
    columns,
    follow,
    found,
    ratio,
    share,
)
from hardgrain.parallel import pmap

__all__ = ["bookkeeping", "figure", "velocities"]

PARTICLES = FIG3[0]  # number of disks
VELOCITIES = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)  # v at the start, if all have the same


def bookkeeping(outcome: Outcome, paths: list[StartPath]) -> None:
    """S → NS → S before and after the maximum of µ_g, and what is remembered."""
    closed = [p for p in paths if not p.lost]
    count = _count(closed)
    free = [PARTICLES + 1 - int((p.states[-1] == STICKS).sum()) for p in paths]
    kinds = _sticking(closed)
    outcome.tables["transitions"] = {
        "starts": ["never lose a contact", "all"],
        "number": [len(closed), len(paths)],
        **{name: [value, _count(paths)[name]] for name, value in count.items()},
    }
    n = len(closed)
    before, after = _again(closed)
    slides, slides_error = ratio(*before)
    later, later_error = ratio(*after)
    at_top, at_top_error = mean_and_error([p.remembered[p.top] for p in closed])
    left_free = PARTICLES + 1 - 8  # what the 8 contacts that stick in the steady state leave free
    outcome.claims += [
        Claim(
            "share of NS contacts appearing before the maximum of µ_g that slide again",
            slides, slides_error, n,
            paper=Expected.by_chance(
                0.5, slides_error, n, "most are metastable; S → NS → S dominates", side="at least"
            ),
            differs="counted from random starts most of them are there to stay; as often a slip"
            " changes sign without a stop. The paper gives no count, nor how it draws velocities,"
            " but no v changes this",
        ),
        Claim(
            "share of NS contacts appearing after the maximum that never slide again",
            1.0 - later, later_error, n,
            paper=Expected.by_chance(
                0.5, later_error, n, "generally stable; S → NS dominates", side="at least"
            ),
        ),
        Claim(
            "share of NS contacts that slide again, before the maximum less after it",
            slides - later, float(np.hypot(slides_error, later_error)), n,
            paper=Expected.by_chance(
                0.0, float(np.hypot(slides_error, later_error)), n,
                "metastable before, stable after", side="at least",
            ),
            note="so much of the paper's picture is right",
        ),
        Claim(
            "combinations of initial velocities, of 11, that matter at the maximum of µ_g, mean",
            at_top, at_top_error, n,
            paper=Expected.by_chance(
                left_free, at_top_error, n,
                "S → NS → S before the maximum clears the memory of initial velocities",
            ),
            differs="of the 8 combinations that are lost in the end, most are lost after the"
            " maximum, to contacts that stick and stay so",
        ),
        Claim(
            "combinations that matter for ever, less those that the NS contacts of the steady state"
            " leave free (3), worst of all starts",
            max((int(p.remembered[-1]) - f for p, f in zip(paths, free)), key=abs),
            theory=Expected.exact(0.0, "velocities remember all that they can"),
            note="it is the forces that forget, since they know of a slip only its sign",
        ),
        Claim(
            "share of S → NS that cost one combination, where no other contact lets go",
            *ratio(kinds["alone_lost"], kinds["alone"]), n,
            paper=Expected.by_chance(
                1.0, ratio(kinds["alone_lost"], kinds["alone"])[1], n,
                "in the transition S → NS the initial relative velocity is lost",
            ),
            differs="a contact whose slip had no memory left, because it has stuck before, has"
            " nothing more to lose",
        ),
        Claim(
            "combinations lost where one contact sticks and another lets go, S → NS → S",
            sum(kinds["swap_lost"]) / max(1, sum(kinds["swap"])),
            paper=Expected.exact(1.0, "this is what clears the memory of initial velocities"),
            theory=Expected.exact(0.0, "an exchange: the other slip takes over the memory"),
            differs="what the one slip forgets the other takes over, so that such an exchange"
            " clears nothing; only contacts that stick without another's letting go do",
        ),
    ]  # fmt: skip


def _again(paths: list[StartPath]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Contacts of each start that stick and slide again, and all that stick, before and after."""
    rows = []
    for p in paths:
        before, again = p.stays.begun <= p.top, p.stays.metastable
        rows.append((before & again, before, ~before & again, ~before))
    a, b, c, d = np.array([[x.sum() for x in row] for row in rows]).T
    return (a, b), (c, d)


def _count(paths: list[StartPath]) -> dict[str, float]:
    """What contacts do before and after the maximum of µ_g, per start."""
    n = len(paths)
    before = np.concatenate([p.stays.begun <= p.top for p in paths])
    meta = np.concatenate([p.stays.metastable for p in paths])
    ended = np.concatenate([p.stays.ended[p.stays.metastable] <= p.top for p in paths])
    reverse = np.concatenate([p.reversals <= p.top for p in paths])
    return {
        "stick_before": before.sum() / n,
        "metastable_before": (before & meta).sum() / n,
        "release_before": ended.sum() / n,
        "reverse_before": reverse.sum() / n,
        "stick_after": (~before).sum() / n,
        "metastable_after": (~before & meta).sum() / n,
        "release_after": (~ended).sum() / n,
        "reverse_after": (~reverse).sum() / n,
        "remembered_at_top": float(np.mean([p.remembered[p.top] for p in paths])),
        "remembered_at_end": float(np.mean([p.remembered[-1] for p in paths])),
    }


def _sticking(paths: list[StartPath]) -> dict[str, list[int]]:
    """Events of each start in which a contact sticks, alone or as another lets go, and their cost.

    The cost is the number of combinations of initial velocities that are lost.
    """
    rows: dict[str, list[int]] = {"alone": [], "alone_lost": [], "swap": [], "swap_lost": []}
    for p in paths:
        sticks = p.states == STICKS
        gains = (sticks[1:] & ~sticks[:-1]).any(axis=1)
        releases = (~sticks[1:] & sticks[:-1]).any(axis=1)
        fall = -np.diff(p.remembered)
        for name, mine in (("alone", gains & ~releases), ("swap", gains & releases)):
            rows[name].append(int(mine.sum()))
            rows[f"{name}_lost"].append(int(fall[mine].sum()))
    return rows


def velocities(outcome: Outcome, quick: bool) -> None:
    """How all this depends on what is not known: v at the start against the spread of ω."""
    seeds, given = range(10 if quick else 100), VELOCITIES[::4] if quick else VELOCITIES
    made = pmap(call, [partial(follow, seed, v) for v in given for seed in seeds])
    rows, every = [], {}
    for k, v in enumerate(given):
        every[v] = paths = found(made[k * len(seeds) : (k + 1) * len(seeds)])
        row = {
            "v0": v,
            "starts": len(paths),
            "lost": np.mean([bool(p.lost) for p in paths]),
            "initial": np.mean([p.friction[0] for p in paths]),
            "weak": np.mean([p.friction[0] < STEADY for p in paths]),
            "maximum": np.mean([p.friction.max() for p in paths]),
            "loops": sum(bool(p.loops.any()) for p in paths),
            "distinct": len({p.steady for p in paths}),
            **_count(paths),
        }
        rows.append(row)
    outcome.tables["velocities"] = table = columns(rows)
    outcome.claims.append(
        Claim(
            f"the same v for all starts, {given[0]:g} to {given[-1]:g}: largest number"
            " of distinct steady states",
            max(table["distinct"]),
            paper=Expected.exact(1.0, "the steady state is independent of initial conditions"),
        )
    )
    if quick:
        return
    for v, paths in every.items():
        over, under = _again(paths)[0]
        if under.sum():
            value, error = ratio(over, under)
            outcome.claims.append(
                Claim(
                    f"v = {v:g} for all starts: share of NS contacts before the maximum that slide"
                    " again",
                    value,
                    error,
                    len(paths),
                    paper=Expected.by_chance(
                        0.5, error, len(paths), "most are metastable", side="at least"
                    ),
                    differs="not so, whatever the unknown distribution of v",
                )
            )
    loops, error = share([bool(p.loops.any()) for p in every[0.0]])
    outcome.claims.append(
        Claim(
            "share of starts with v = 0 that meet a closed loop of NS contacts on the way, which"
            " leaves forces and µ_g undetermined there",
            loops,
            error,
            len(every[0.0]),
            paper=Expected.exact(0.0, "simulations have always given a unique solution"),
            differs="such as plane, disks 7, 8, 9, plane: Appendix A takes one contact of a loop as"
            " sliding and so finds one of many solutions; all end in the one steady state",
        )
    )


def figure(paths: list[StartPath]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.6)
    count = _count([p for p in paths if not p.lost])
    names = ("before", "after")
    at = np.arange(2)
    meta = np.array([count[f"metastable_{n}"] for n in names])
    stick = np.array([count[f"stick_{n}"] for n in names])
    reverse = [count[f"reverse_{n}"] for n in names]
    left.bar(at - 0.2, stick - meta, 0.36, color=COLOURS[1], label="S → NS, stays")
    left.bar(at - 0.2, meta, 0.36, bottom=stick - meta, color=COLOURS[5], label="S → NS → S")
    left.bar(at + 0.2, reverse, 0.36, color=COLOURS[3], label="slip changes sign")
    left.set_xticks(at, ["before the maximum of µ$_g$", "after"])
    left.set(ylabel="contacts per start")
    left.legend()
    grid = np.geomspace(1e-2, 100.0, 200)
    levels = np.array(
        [p.remembered[np.searchsorted(p.time, grid, side="right") - 1] for p in paths]
    )
    low, high = np.quantile(levels, (0.1, 0.9), axis=0)
    right.fill_between(grid, low, high, color=COLOURS[1], alpha=0.2, lw=0, label="80 % of starts")
    right.plot(grid, levels.mean(axis=0), color=COLOURS[1], label="mean")
    top = np.median([p.time[p.top] for p in paths])
    right.axvline(top, color=GREY, lw=0.8, ls=":")
    right.annotate("maximum of µ$_g$\n(median)", (top, 0.03), (4, 0), fontsize=8, color=GREY,
                   xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    right.set(xscale="log", ylim=(0.0, 11.5), xlabel="time [√(r/g)]",
              ylabel="initial velocities that still matter")  # fmt: skip
    right.legend(loc="upper right")
    return figure
