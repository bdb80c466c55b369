"""The number q: how fast the sweeps of one step spread forces along a chain, for every order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.forces.compare import jackknife
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.unger2002.row import LOAD, at_rest, contact_numbers, forces, wavenumber
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

ORDERS = ("random", "drawn", "sequential", "symmetric", "coloured", "parallel")
BY_CHANCE = ("random", "drawn")
PAPER = {  # values of q that the paper gives
    "random": "(4√e − 5)/2 ≈ 0.797 (A4), contacts shuffled for each sweep",
    "parallel": "1/2 (11)",
}
EXTRA = LOAD / 1e3  # force added to a chain at rest: so little that every contact stays loaded
SPREAD_LENGTH, SPREAD_SWEEPS = 200, 60  # length and sweeps of the figure's left panel


def relaxed(particles: int, sweeps: int, extra: Floats, order: str, seed: int) -> Floats:
    """What one step of so many sweeps leaves of extra forces, from the wall on; shape (n,).

    The chain is at rest and in equilibrium without them, so that a finished solver leaves none.
    """
    sim = at_rest(particles, sweeps, order=order, seed=seed)
    contacts = sim.state.contacts
    contacts.impulse += extra[contact_numbers(particles), None] * contacts.normal
    sim.step()
    return forces(sim) - LOAD


def _q(job: tuple[str, int, int]) -> float:
    """The number q from the decay of the slowest mode of the forces, exp(−q k² d²) a sweep.

    Between the sweeps at which it should have fallen to e^(−0.4) and e^(−1.4): by then any other
    mode that the order mixes in, the next one decays nine times as fast, is gone.
    """
    order, particles, seed = job
    k = wavenumber(1, particles)
    mode = np.cos(k * np.arange(particles))
    first, last = (round(x / (theory.q(order) * k**2)) for x in (0.4, 1.4))
    begin, end = (
        float(relaxed(particles, sweeps, EXTRA * mode, order, seed) @ mode)
        for sweeps in (first, last)
    )
    return float(-math.log(end / begin) / ((last - first) * k**2))


def _spread(job: tuple[str, int]) -> Floats:
    """What is left, and where, of one contact's extra force."""
    order, seed = job
    extra = np.zeros(SPREAD_LENGTH)
    extra[SPREAD_LENGTH // 2] = EXTRA
    return relaxed(SPREAD_LENGTH, SPREAD_SWEEPS, extra, order, seed) / EXTRA


def _endless(lengths: Floats, q: Floats) -> tuple[float, float]:
    """The number q of an endless chain, and b in q (1 − b/n), by which the ends act."""
    # Both the errors by chance and the neglected term 1/n² fall faster than 1/n.
    slope, q0 = np.polyfit(1.0 / lengths, q, 1, w=lengths)
    return float(q0), float(-slope / q0)


def run(quick: bool) -> Outcome:
    """Measure q of every order in chains of several lengths, at random with several seeds."""
    lengths, seeds = ((30, 45, 60, 90), 8) if quick else ((60, 90, 130, 200), 24)
    jobs = [
        (order, n, seed)
        for order in ORDERS
        for n in lengths[::-1]
        for seed in range(seeds if order in BY_CHANCE else 1)
    ]
    measured = dict(zip(jobs, pmap(_q, jobs)))
    names = ("order", "q", "q_error", "theory", "ends", "runs")
    table: dict[str, list[Any]] = {name: [] for name in names}
    outcome = Outcome(text=_TEXT, seeds=range(seeds))
    n = np.array(lengths, dtype=float)
    short = float(wavenumber(1, lengths[0])) ** 2
    for order in ORDERS:
        runs = seeds if order in BY_CHANCE else 1
        each = [
            _endless(n, np.array([measured[order, m, seed] for m in lengths]))
            for seed in range(runs)
        ]
        q, error = mean_and_error([x for x, _ in each])
        ends = float(np.mean([b for _, b in each]))
        expected = theory.q(order)
        for name, value in zip(names, (order, q, error, expected, ends, runs)):
            table[name].append(value)
        # Beside chance, extrapolation in 1/n leaves terms of the order k² of the shortest chain.
        why = "order k² d² of the shortest chain, left by the extrapolation"
        told = (
            Expected.by_chance(expected, error, runs, PAPER.get(order, ""), beside=expected * short,
                               why=why)
            if runs > 1
            else Expected(expected, expected * short, why, PAPER.get(order, ""))
        )  # fmt: skip
        note = {
            "drawn": "the random sequential update, from which the paper tells its random sweeps:"
            " each visit a contact drawn anew, as many visits as contacts make a sweep",
            "sequential": "not in the paper: each contact follows a fresh neighbour, so a sweep"
            " spreads twice as fast as the parallel one",
        }
        outcome.claims.append(
            Claim(
                f"q of the {order} order, from chains of {lengths[0]} to {lengths[-1]} disks",
                q,
                error if runs > 1 else None,
                runs if runs > 1 else None,
                paper=told if order in PAPER else "",
                theory=None if order in PAPER else told,
                note=note.get(order, ""),
            )
        )
    columns = zip(*((order, n, seed, q) for (order, n, seed), q in measured.items()))
    outcome.tables["runs"] = dict(zip(("order", "particles", "seed", "q"), columns))
    outcome.tables["q"] = dict(table)

    shown = ("random", "drawn", "sequential", "symmetric", "parallel")
    chances = 40 if quick else 400
    jobs2 = [
        (order, seed) for order in shown for seed in range(chances if order in BY_CHANCE else 1)
    ]
    profiles = pmap(_spread, jobs2)
    outcome.seeds = range(chances)
    distance = np.arange(SPREAD_LENGTH) - float(SPREAD_LENGTH // 2)
    spread = {}
    for order in shown:
        mine = np.array([p for p, job in zip(profiles, jobs2) if job[0] == order])
        spread[order] = mine.mean(axis=0)
        outcome.claims.append(_width(order, mine, distance))
    outcome.tables["spread"] = {"distance": distance, **spread}
    outcome.figures["relaxation"] = _figure(distance, spread, table, outcome.tables["runs"])
    return outcome


def _width(order: str, profiles: Floats, distance: Any) -> Claim:
    """The mean spread of a force is that of 2 q N_I independent steps of one contact."""

    def width(profile: Floats) -> float:
        p = profile / profile.sum()
        return float(p @ distance**2 - (p @ distance) ** 2)

    expected, runs = 2.0 * theory.q(order) * SPREAD_SWEEPS, len(profiles)
    words = "(8): forces relax by diffusion, D = q d² a sweep"
    text = (
        f"width² of one contact's extra force after {SPREAD_SWEEPS} sweeps, {order},"
        f" {SPREAD_LENGTH} disks [d²]"
    )
    if runs == 1:
        # the extra force is a thousandth of what it is taken from; its tails are weighted by n²
        rounding = 1e-13 * distance.size**2
        told = Expected(expected, rounding * expected, "rounding", words)
        error = None
    else:
        total = profiles.sum(axis=0)
        error = jackknife([width(total - p) for p in profiles])
        told = Expected.by_chance(expected, error, runs, words)
    return Claim(
        text, width(profiles.sum(axis=0)), error, runs if runs > 1 else None,
        paper=told if order in PAPER else words, theory=None if order in PAPER else told,
    )  # fmt: skip


_TEXT = (
    "A chain rests under a load; its forces are disturbed by the slowest mode, cos kx, and one step"
    " of many sweeps is made. The mode decays by exp(−q k² d²) a sweep. Chains of several lengths"
    " give q of an endless one; the errors are those of this extrapolation and, for the random"
    " order, of chance.\n\n"
    "Random sweeps give the paper's 0.797, the parallel update 1/2, and so does the random"
    " sequential update, in which each visit is to a contact drawn anew. Sequential, symmetric and"
    " coloured sweeps all give 1, twice the parallel update and a quarter more than random ones;"
    " symmetric sweeps lose 3/n of it where they turn. Sequential sweeps spread a push without"
    " drift but askew: far ahead in one sweep, back by one contact only."
)


def _figure(
    distance: Any, spread: dict[str, Floats], table: dict[str, list[Any]], runs: dict[str, Any]
) -> Any:
    figure, (left, right) = new_figure(1, 2)
    colours = dict(zip(ORDERS, COLOURS[1:]))
    for order in ("random", "drawn", "sequential", "symmetric"):
        variance = 2.0 * theory.q(order) * SPREAD_SWEEPS
        left.plot(distance, spread[order], "o", ms=2.5, color=colours[order], label=order)
        bell = np.exp(-(distance**2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)
        left.plot(distance, bell, color=colours[order], lw=0.8)
    left.plot([], [], color=GREY, lw=0.8, label="diffusion, D = q d²")
    left.set(xlim=(-40, 40), ylim=(0, None), xlabel="distance [contacts]")
    left.set_ylabel(f"extra force after {SPREAD_SWEEPS} sweeps [share]")
    left.legend(loc="upper left")
    marks = dict(zip(ORDERS, "op^vsD"))
    inverse = np.array([0.0, 1.1 / min(runs["particles"])])
    for i, order in enumerate(ORDERS):
        mine = [(1.0 / n, q) for o, n, q in zip(runs["order"], runs["particles"], runs["q"])
                if o == order]  # fmt: skip
        right.plot(*np.array(mine).T, marks[order], color=colours[order], ms=4, mfc="none",
                   label=order)  # fmt: skip
        q, b = table["q"][i], table["ends"][i]
        right.plot(inverse, q * (1.0 - b * inverse), color=colours[order], lw=0.8)
        right.plot(0.0, theory.q(order), "_", ms=14, mew=2, color=COLOURS[0], clip_on=False)
    right.plot([], [], "_", ms=14, mew=2, color=COLOURS[0], label="theory, endless chain")
    right.set(xlabel="d/L", ylabel="q", ylim=(0.4, 1.1), xlim=(0.0, None))
    right.locator_params(axis="x", nbins=5)
    right.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.16))
    return figure


EXPERIMENT = Experiment("relaxation", "q: how fast sweeps spread forces, for six orders", run)
