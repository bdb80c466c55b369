"""What an array remembers of its start: S → NS → S, counted before and after the maximum of µ_g."""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.starts import FIG3, MOST, STEADY, Path, columns, follow, found
from hardgrain.parallel import pmap
from hardgrain.step.exact.array import STICKS

__all__ = ["bookkeeping", "figure", "velocities"]

PARTICLES = FIG3[0]
VELOCITIES = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)  # v at the start, if all have the same


def bookkeeping(outcome: Outcome, paths: list[Path]) -> None:
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
    outcome.claims += [
        Claim(
            "share of NS contacts appearing before the maximum of µ_g that slide again",
            count["metastable_before"] / count["stick_before"],
            paper="most are metastable; S → NS → S dominates",
            theory=1.0, tolerance=0.5, disputed=True,
            note="not so: most of them are there to stay; as often a slip changes sign without a"
            " stop",
        ),
        Claim(
            "share of NS contacts appearing after the maximum that never slide again",
            1.0 - count["metastable_after"] / count["stick_after"],
            theory=1.0,
            tolerance=MOST,
            paper="generally stable; S → NS dominates",
        ),
        Claim(
            "how much more often NS contacts from before the maximum slide again than later ones",
            count["metastable_before"] / count["stick_before"]
            / (count["metastable_after"] / count["stick_after"]),
            note="so much of the paper's picture is right",
        ),
        Claim(
            "combinations of initial velocities, of 11, that matter at the maximum of µ_g, mean",
            count["remembered_at_top"],
            paper="S → NS → S before the maximum clears the memory of initial velocities",
            theory=3.0, tolerance=1.0, disputed=True,
            note="of the 8 that are lost in the end, a quarter by then",
        ),
        Claim(
            "combinations that matter for ever, less those that the NS contacts of the steady state"
            " leave free (3), worst of all starts",
            max((int(p.remembered[-1]) - f for p, f in zip(paths, free)), key=abs),
            theory=0.0,
            tolerance=0.0,
            note="velocities remember all that they can; it is the forces that forget, since they"
            " know of a slip only its sign",
        ),
        Claim(
            "share of S → NS that cost one combination, where no other contact lets go",
            kinds["alone"],
            note="the others: contacts whose slip had no memory left",
        ),
        Claim(
            "combinations lost where one contact sticks and another lets go, S → NS → S",
            kinds["swap"],
            theory=0.0,
            tolerance=0.0,
            paper="this is what clears the memory",
            note="an exchange: what the one forgets the other takes over",
        ),
    ]  # fmt: skip


def _count(paths: list[Path]) -> dict[str, float]:
    """What contacts do before and after the maximum of µ_g, per start."""
    n = len(paths)
    before = np.concatenate([p.stays.begun <= p.top for p in paths])
    meta = np.concatenate([p.stays.metastable for p in paths])
    ended = np.concatenate([p.stays.ended[p.stays.metastable] <= p.top for p in paths])
    turns = np.concatenate([p.reversals <= p.top for p in paths])
    return {
        "stick_before": before.sum() / n,
        "metastable_before": (before & meta).sum() / n,
        "release_before": ended.sum() / n,
        "reverse_before": turns.sum() / n,
        "stick_after": (~before).sum() / n,
        "metastable_after": (~before & meta).sum() / n,
        "release_after": (~ended).sum() / n,
        "reverse_after": (~turns).sum() / n,
        "remembered_at_top": float(np.mean([p.remembered[p.top] for p in paths])),
        "remembered_at_end": float(np.mean([p.remembered[-1] for p in paths])),
    }


def _sticking(paths: list[Path]) -> dict[str, float]:
    """Combinations lost per event in which a contact sticks, alone or as another lets go."""
    lost: dict[str, list[int]] = {"alone": [], "swap": []}
    for p in paths:
        sticks = p.states == STICKS
        gains = (sticks[1:] & ~sticks[:-1]).sum(axis=1)
        releases = (~sticks[1:] & sticks[:-1]).sum(axis=1)
        fall = -np.diff(p.remembered)
        lost["alone"] += list(fall[(gains > 0) & (releases == 0)])
        lost["swap"] += list(fall[(gains > 0) & (releases > 0)])
    return {name: float(np.mean(values)) if values else 0.0 for name, values in lost.items()}


def velocities(outcome: Outcome, quick: bool) -> None:
    """How all this depends on what is not known: v at the start against the spread of ω."""
    seeds, given = range(10 if quick else 100), VELOCITIES[::4] if quick else VELOCITIES
    made = pmap(call, [partial(follow, seed, v) for v in given for seed in seeds])
    rows = []
    for k, v in enumerate(given):
        paths = found(made[k * len(seeds) : (k + 1) * len(seeds)])
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
    shares = [m / s for m, s in zip(table["metastable_before"], table["stick_before"]) if s > 0.0]
    outcome.claims += [
        Claim(
            f"the same v for all starts, {given[0]:g} to {given[-1]:g}: largest number"
            " of distinct steady states",
            max(table["distinct"]),
            theory=1.0,
            tolerance=0.0,
        ),
        Claim(
            "the same: largest share of NS contacts before the maximum that slide again",
            max(shares),
            paper="most are metastable",
            theory=1.0,
            tolerance=0.5,
            disputed=True,
            note="not so, whatever the unknown distribution of v",
        ),
        Claim(
            f"starts of {table['starts'][0]} with v = 0 that meet a closed loop of NS contacts on"
            " the way, which leaves forces and µ_g undetermined there",
            table["loops"][0],
            paper="simulations have always given a unique solution",
            note="such as plane, disks 7, 8, 9, plane; even so they end in the one steady state",
        ),
    ]


def figure(paths: list[Path]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.6)
    count = _count([p for p in paths if not p.lost])
    names = ("before", "after")
    at = np.arange(2)
    meta = np.array([count[f"metastable_{n}"] for n in names])
    stick = np.array([count[f"stick_{n}"] for n in names])
    turn = [count[f"reverse_{n}"] for n in names]
    left.bar(at - 0.2, stick - meta, 0.36, color=COLOURS[1], label="S → NS, stays")
    left.bar(at - 0.2, meta, 0.36, bottom=stick - meta, color=COLOURS[5], label="S → NS → S")
    left.bar(at + 0.2, turn, 0.36, color=COLOURS[3], label="slip changes sign")
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
