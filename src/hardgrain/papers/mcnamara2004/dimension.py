"""Figs 5 and 6: force networks, the dimension of F and the sliding contacts, and what is left open.

What the paper leaves open about its packings is varied here as well, since that needs little more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import poisson

from hardgrain.forces.compare import distance
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.experiment import CHANCE, Claim, Expected, Experiment, Outcome
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.mcnamara2004.dimension_figures import fig5, fig6
from hardgrain.papers.mcnamara2004.judge import ENOUGH, judged_only, statement
from hardgrain.papers.mcnamara2004.pipeline import (
    CREEP_STEP,
    CREPT,
    DAMPING,
    FAMILIES,
    STIFFNESS,
    BoundedPacking,
    Setup,
    everything,
    families,
    made,
    soft,
)
from hardgrain.run.simulation import Simulation
from hardgrain.step.engine import SoftParticles
from hardgrain.step.stable_step import admissible_step

__all__ = ["EXPERIMENT"]

# What the paper leaves open, one change at a time.
VARIED: dict[str, dict[str, Any]] = {
    "as chosen": {},
    "box 11 r wide": {"width": 11.0},
    "box 14 r wide": {"width": 14.0, "columns": 6},
    "box 17 r wide": {"width": 17.0, "columns": 7},
    "box 22 r wide": {"width": 22.0, "columns": 9},
    "4 columns": {"columns": 4},
    "jitter 0.1": {"jitter": 0.1},
    "jitter 1": {"jitter": 1.0},
    "50 sweeps": {"sweeps": 50},
    "1000 sweeps": {"sweeps": 1000},
    "stops at 10⁻³ √(gr)": {"quiet": 1e-3},
    "stops at 10⁻⁵ √(gr)": {"quiet": 1e-5},
    "γ/4": {"damping": 0.25},
    "γ/16": {"damping": 0.0625},
}  # fmt: skip
# What the paper gives: the mean normal force R̄, and the distances between families [m̄ g].
PAPER = {"R": 9.3, "CD-1 to CD-2": 50.0, "CD-1 to MD-2": 75.0, "CD-2 to MD-2": 45.0}
# The paper's accuracy; that of R is not given and is taken to be about ours.
PAPER_ERROR = {"R": 0.3, "CD-1 to CD-2": 3.0, "CD-1 to MD-2": 4.0, "CD-2 to MD-2": 3.0}


def run(quick: bool) -> Outcome:
    """Count in all packings; draw three force networks; vary what is open."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    _counts(outcome, found)
    _overlaps(outcome, found)
    if not quick:
        _open(outcome)
        _damping(outcome)
    outcome.figures["fig5"] = fig5(outcome, found, 1 if quick else 16)
    outcome.figures["fig6"] = fig6(outcome.tables["packings"])
    outcome.seeds = range(len(found["CD-1"]))
    if quick:
        judged_only(outcome)
    return outcome


_TEXT = (
    "Ninety-five disks in a box 12.25 r wide, from a grid of five columns whose points are shifted"
    " at random by up to a quarter of the room that they have; the paper gives neither box nor"
    " grid. dim F is that of the null space of the contact matrix, less what contacts that slide or"
    " are open in every state take away; it is little above 2M − 3N, and below only where contacts"
    " that touch can never bear a force. M_s counts"
    " contacts with µR − |T| < 10⁻⁹ m̄g, twice if they bear no force.\n\n"
    "The soft disks have the paper's damping as printed, γ = 7.7·10⁴ (m̄g/r) √(r/g), along and"
    " across contacts: 157 times what is critical for two disks of mean mass. It matters, and it"
    " must be what the authors used: grains then creep into place so slowly that inertia plays no"
    " part, contacts slide in one direction until everything is at rest, and rest at their limit."
    " With a hundredth of it MD-2 has hardly a sliding contact."
)


# ---------------------------------------------------------------------- counting
def _counts(outcome: Outcome, found: dict[str, list[BoundedPacking]]) -> None:
    every = [f for family in FAMILIES for f in found[family]]
    spaces = [f.space for f in every]
    table: dict[str, Any] = {
        "family": np.array([f.family for f in every]),
        "seed": np.array([f.setup.seed for f in every]),
        "contacts": np.array([s.contacts for s in spaces]),
        "grains": np.array([s.grains for s in spaces]),
        "expected": np.array([s.expected for s in spaces]),
        "nullity": np.array([s.nullity for s in spaces]),
        "dimension": np.array([f.dimension for f in every]),
        "sliding": np.array([s.sliding for s in spaces]),
        "sliding_1e-6": np.array([int(s.slides(1e-6).sum()) for s in spaces]),
        "residual": np.array([s.residual for s in spaces]),
        "normal": np.array([f.packing.components[:, 0].mean() / f.packing.unit for f in every]),
    }
    outcome.tables["packings"] = table
    n = len(every)
    excess = table["dimension"] - table["expected"]
    over = table["sliding"] - table["expected"]
    bound = np.flatnonzero(table["dimension"] < table["nullity"])
    # one by each contact that must slide, two by each that must be open
    taken = np.zeros(n, dtype=int)
    taken[bound] = [int(spaces[k].always.sum()) for k in bound]
    line = "all points on or just above the line"
    if n >= ENOUGH * len(FAMILIES):
        outcome.claims.append(
            Claim(
                f"packings of {n} with dim F < 2M − 3N", int((excess < 0).sum()),
                paper=Expected.exact(0, line),
                differs="Only dim C_0 is never below it. Contacts that touch but are open in every"
                " state count in M and add nothing to F.",
                note=f"{len(bound)} packings have contacts that must be open or must slide",
            )
        )  # fmt: skip
        outcome.claims.append(
            Claim(
                f"packings of {n} with dim F more than 3 above 2M − 3N", int((excess > 3).sum()),
                paper=Expected(
                    0.0, 3.0, "none among the paper's 240 allows for up to three (95 %)",
                    "never more than 3",
                ),
                note="how many exceed it by 0, 1, 2, 3 …: "
                + ", ".join(str(k) for k in np.bincount(np.maximum(excess, 0))),
            )
        )  # fmt: skip
    outcome.claims += [
        Claim(
            f"packings of {n} with dim F < 2M − 3N − (contacts that slide in every state, twice"
            " those that are open in every state)",
            int((excess + taken < 0).sum()), theory=Expected.exact(0, "rank and nullity"),
        ),
        Claim(
            f"packings of {n} with dim C_0 < 2M − 3N",
            int((table["nullity"] < table["expected"]).sum()), paper=Expected.exact(0, "(8)"),
        ),
        Claim(
            f"packings of {n} with M_s > 2M − 3N", int((over > 0).sum()),
            paper=Expected.exact(0, "always less than or equal"),
            note=f"nearest: {-int(over.max())} below",
        ),
    ]  # fmt: skip
    sliding = {f: table["sliding"][table["family"] == f] for f in FAMILIES}
    contacts = {f: table["contacts"][table["family"] == f] for f in FAMILIES}
    dimension = {f: table["dimension"][table["family"] == f] for f in FAMILIES}
    seeds = sliding["MD-2"].size
    for family in FAMILIES:
        mine = table["family"] == family
        mean, error = mean_and_error(sliding[family])
        share = sliding[family] / table["expected"][mine]
        paper = "very few" if family[:2] == "CD" else {"2": "the most", "1": "between"}[family[-1]]
        outcome.claims.append(
            Claim(
                f"M_s of {family}, mean", mean, error=error, samples=seeds, paper=paper,
                note=f"{100 * share.mean():.0f} % of 2M − 3N, at most"
                f" {int(sliding[family].max())}; within 10⁻⁶ m̄g"
                f" {table['sliding_1e-6'][mine].mean():.1f}",
            )
        )  # fmt: skip
    most = np.concatenate([sliding[f] / dimension[f] for f in ("CD-1", "CD-2")])
    few = 2.0 / 120.0 * most.size  # the share that Fig. 6b has
    outcome.claims += [
        Claim(
            f"packings of {most.size} by CD with M_s above half of dim F", int((most > 0.5).sum()),
            paper=Expected(
                few, poisson.ppf(1.0 - CHANCE, few) - few, "chance of a rare event (Poisson)",
                "very few sliding contacts, with two exceptions of 120", side="at most",
            ),
            note=f"greatest share {most.max():.2f}",
        ),
        *(
            statement(
                f"M_s of {one} less that of {other}, same seed, mean",
                mean_and_error(sliding[one] - sliding[other]), seeds, words,
            )
            for one, other, words in (
                ("MD-2", "MD-1", "well separated, MD-2 configurations having the most"),
                ("MD-1", "CD-1", "many more sliding contacts than CD"),
            )
        ),
        statement(
            "contacts that MD-2 has more than CD-1, mean",
            mean_and_error(contacts["MD-2"] - contacts["CD-1"]), seeds,
            "from 160 to 166 in the example; MD tends to have more",
            note="means: "
            + ", ".join(f"{f} {contacts[f].mean():.1f}" for f in FAMILIES),
        ),
        Claim(
            f"greatest unbalanced force in {n} packings [m̄g]", float(table["residual"].max()),
            theory=Expected(0.0, CREPT, "where the creep of soft disks ends", "rest"),
            note="kept as an external force, so that every state is a member of F",
        ),
    ]  # fmt: skip


def _overlap(p: Packing) -> tuple[float, float]:
    """Mean overlap of contacts between grains, and their mean normal force over k [mean radius]."""
    n = p.radius.size
    both = (p.second < n) & (p.components[:, 0] > 0.0)
    i, j = p.first[both], p.second[both]
    assert p.position is not None
    apart = np.linalg.norm(p.position[i] - p.position[j], axis=1)
    overlap = np.maximum(p.radius[i] + p.radius[j] - apart, 0.0)
    spring = p.components[both, 0] / STIFFNESS
    return float(overlap.mean() / p.radius.mean()), float(spring.mean() / p.radius.mean())


def _overlaps(outcome: Outcome, found: dict[str, list[BoundedPacking]]) -> None:
    overlap = {k: np.array([_overlap(f.packing) for f in found[k]]) for k in ("CD-1", "MD-2")}
    rigid, rigid_error = mean_and_error(overlap["CD-1"][:, 0])
    soft, soft_error = mean_and_error(overlap["MD-2"][:, 0])
    seeds = len(overlap["MD-2"])
    one = "one digit is printed"
    # grains that come to rest with exp(−t k/γ), out of balance by CREPT m̄g, have the speed
    # CREPT g γ/k, two of them close by twice that, and a dashpot's force is γ/k lengths of a spring
    creep = 2.0 * CREPT * (DAMPING / STIFFNESS) ** 2
    outcome.claims += [
        Claim(
            "mean overlap, CD-1 [mean radius]", rigid, error=rigid_error, samples=seeds,
            paper=Expected(6e-8, 0.5e-8, one),
            differs="It is a matter of the sweeps a step, which the paper does not give, and does"
            " not enter the forces.",
        ),
        Claim(
            "mean overlap, MD-2 [mean radius]", soft, error=soft_error, samples=seeds,
            paper=Expected(7e-6, 0.5e-6, one),
            theory=Expected(
                float(overlap["MD-2"][:, 1].mean()), creep, "dashpots of grains that still creep",
                "mean normal force over k",
            ),
            differs="At rest it is R̄/k whatever else: the printed k and the printed overlap"
            " contradict each other by a factor of nine.",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- what is left open
def _variant(job: tuple[str, int]) -> tuple[float, ...]:
    name, seed = job
    setup = replace(Setup(seed), **VARIED[name])
    cd1, cd2, md2 = (made(setup, family) for family in ("CD-1", "CD-2", "MD-2"))
    one, three = ForceSpace(cd1), ForceSpace(md2)
    return (
        cd1.components[:, 0].mean() / cd1.unit,
        distance(cd1, cd2),
        distance(cd1, md2),
        distance(cd2, md2),
        one.contacts,
        one.nullity - one.expected,
        one.sliding,
        three.sliding,
        three.expected,
    )


def _open(outcome: Outcome) -> None:
    seeds = {name: 12 if not what or "sweeps" in what else 4 for name, what in VARIED.items()}
    jobs = [(name, seed) for name, count in seeds.items() for seed in range(count)]
    found = iter(everything(_variant, jobs, "variants"))
    values = {name: np.array([next(found) for _ in range(n)]) for name, n in seeds.items()}
    columns = (*PAPER, "M of CD-1", "excess", "M_s of CD-1", "M_s of MD-2", "2M − 3N of MD-2")
    mean = np.array([v.mean(axis=0) for v in values.values()])
    error = np.array([v.std(axis=0, ddof=1) / math.sqrt(len(v)) for v in values.values()])
    table: dict[str, Any] = {"what": list(VARIED), "seeds": list(seeds.values())}
    for k, name in enumerate(columns):
        table[name], table[f"{name}, error"] = mean[:, k], error[:, k]
    outcome.tables["open"] = table
    target = np.array(list(PAPER.values()))
    spread = np.array(list(PAPER_ERROR.values()))
    misfit = np.sqrt(np.square((mean[:, :4] - target) / spread).mean(axis=1))
    outcome.tables["open"]["misfit"] = misfit
    boxes = [k for k, v in enumerate(VARIED.values()) if not v or "width" in v]
    best = boxes[int(misfit[boxes].argmin())]
    names = list(VARIED)
    widths = [VARIED[names[k]].get("width", Setup(0).width) for k in boxes]
    apart = values["1000 sweeps"][:, 3] - values["50 sweeps"][:, 3]
    change, change_error = mean_and_error(apart)
    outcome.claims += [
        Claim(
            "width of the box that fits best, of those tried [r]",
            float(VARIED[names[best]].get("width", Setup(0).width)), paper="not given",
            note="by the mean normal force and the three distances between states, root mean square"
            " misfit in the paper's standard errors: "
            + ", ".join(f"{w:g} r {misfit[k]:.1f}" for w, k in zip(widths, boxes))
            + "; what was fitted is no test of anything",
        ),
        Claim(
            "distance from CD-2 to MD-2 with 1000 sweeps a step less that with 50, same seed [m̄g]",
            change, error=change_error, samples=len(apart), paper="the sweeps are not given",
            note=", ".join(
                f"{name}: {mean[names.index(name), 3]:.1f} ± {error[names.index(name), 3]:.1f}"
                for name in ("50 sweeps", "as chosen", "1000 sweeps")
            ),
        ),
    ]  # fmt: skip


def _explicit(setup: Setup, share: float, time: float) -> Packing:
    """MD-2 by the general engine, in explicit steps, with a share of the paper's damping."""
    scene = setup.scene()
    model, start = scene.build(setup.seed)
    position = made(setup, "CD-1").position
    assert position is not None
    start.position[:] = position
    settings: dict[str, Any] = {
        "stiffness": STIFFNESS, "damping": share * DAMPING,
        "tangential_stiffness": STIFFNESS, "tangential_damping": share * DAMPING,
    }  # fmt: skip
    longest = admissible_step(model, SoftParticles(**settings), start)
    dt = time / 50
    engine = SoftParticles(**settings, substeps=math.ceil(dt / longest))
    sim = Simulation(scene, dt=dt, engine=engine, start=start)
    for _ in range(50):
        sim.step()
    return packing(sim)


def _hundredth(seed: int) -> tuple[int, int, float]:
    space = ForceSpace(_explicit(Setup(seed), 0.01, 5.0))
    return space.sliding, space.expected, space.residual


def _sixteenth(seed: int) -> tuple[float, float, float]:
    """Explicit steps against implicit ones, and these against others half as long."""
    share = 1.0 / 16.0
    setup = replace(Setup(seed), damping=share)
    scene = setup.scene()
    _, start = scene.build(setup.seed)
    position = made(setup, "CD-1").position
    assert position is not None
    start.position[:] = position
    whole, half = (soft(setup, scene, start, False, CREEP_STEP / k) for k in (1, 2))
    explicit = _explicit(setup, share, 14.0 * share * DAMPING / STIFFNESS)
    norm = float(np.linalg.norm(half.force))
    return distance(explicit, half) / norm, distance(whole, half) / norm, norm


def _damping(outcome: Outcome) -> None:
    sliding = np.array(everything(_hundredth, range(4), "γ/100, explicit steps"))
    apart = np.array(everything(_sixteenth, range(2), "γ/16, explicit steps")).mean(axis=0)
    mean, error = mean_and_error(sliding[:, 0])
    outcome.claims += [
        Claim(
            "M_s of MD-2 with a hundredth of the damping, 1.6 times critical, explicit steps", mean,
            error=error, samples=len(sliding), paper="the most, just under 2M − 3N",
            note=f"2M − 3N is {sliding[:, 1].mean():.0f}: the many sliding contacts of the paper"
            " need its damping as printed",
        ),
        Claim(
            "γ/16: distance of MD-2 by explicit steps of the general engine from implicit ones,"
            " over the norm of the forces", float(apart[0]),
            theory=Expected(
                0.0, 2.0 * float(apart[1]), "implicit steps are of first order: twice what halving"
                " them changes", "the same law",
            ),
            note="explicit steps with the full γ would take a quarter of an hour for a packing",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment("dimension", "Figs 5 and 6: dimension of F, sliding contacts", run)
