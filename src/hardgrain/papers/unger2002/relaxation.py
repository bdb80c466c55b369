"""q: how fast the sweeps of one step spread forces along a chain, for every order of updates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.papers.unger2002.row import LOAD, at_rest, contact_numbers, forces, wavenumber
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

ORDERS = ("random", "sequential", "symmetric", "coloured", "parallel")
EXTRA = LOAD / 1e3  # force added to a chain at rest: so little that every contact stays loaded
SPREAD_LENGTH, SPREAD_SWEEPS = 200, 60  # of the figure's left panel


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
    """q from the decay of the slowest mode of the forces, cos k i: by exp(−q k² d²) a sweep.

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


def _endless(lengths: Floats, q: Floats) -> tuple[float, float, float]:
    """q of an endless chain and its error, and by how many contacts the ends act: q (1 − b/n)."""
    # chance makes errors that fall faster than 1/n, the neglected 1/n² does as well
    (slope, q0), covariance = np.polyfit(1.0 / lengths, q, 1, w=lengths, cov=True)
    return float(q0), math.sqrt(covariance[1, 1]), float(-slope / q0)


def run(quick: bool) -> Outcome:
    """q of every order from chains of several lengths, for random order with several seeds."""
    lengths, seeds = ((40, 60, 80, 120), 4) if quick else ((60, 90, 130, 200), 10)
    jobs = [
        (order, n, seed)
        for order in ORDERS
        for n in lengths[::-1]
        for seed in range(seeds if order == "random" else 1)
    ]
    measured = pmap(_q, jobs)
    names = ("order", "q", "q_error", "theory", "ends", "runs")
    table: dict[str, list[Any]] = {name: [] for name in names}
    outcome = Outcome(text=_TEXT)
    for order in ORDERS:
        mine = [(n, v) for v, (o, n, _) in zip(measured, jobs) if o == order]
        q, error, ends = _endless(*np.array(mine).T)
        for name, value in zip(names, (order, q, error, theory.q(order), ends, len(mine))):
            table[name].append(value)
        outcome.claims.append(
            Claim.relative(
                f"q of the {order} order",
                q,
                theory.q(order),
                0.01,
                error=error,
                paper={"random": "(4√e − 5)/2 = 0.797", "parallel": "1/2"}.get(order, ""),
                note=""
                if order in ("random", "parallel")
                else "not in the paper: contacts follow"
                " a fresh neighbour, so a sweep spreads twice as fast as the parallel one",
            )
        )
    outcome.claims.append(
        Claim(
            "contacts that the turning points of symmetric sweeps cost, b in q = 1 − b/n",
            table["ends"][ORDERS.index("symmetric")],
            note="the contact at which a sweep turns is updated twice in a row",
        )
    )
    columns = zip(*((order, n, seed, q) for (order, n, seed), q in zip(jobs, measured)))
    outcome.tables["runs"] = dict(zip(("order", "particles", "seed", "q"), columns))
    outcome.tables["q"] = dict(table)

    shown = ("random", "sequential", "symmetric", "parallel")
    chances = 50 if quick else 400
    jobs2 = [
        (order, seed) for order in shown for seed in range(chances if order == "random" else 1)
    ]
    profiles = pmap(_spread, jobs2)
    distance = np.arange(SPREAD_LENGTH) - float(SPREAD_LENGTH // 2)
    spread = {
        order: np.mean([p for p, job in zip(profiles, jobs2) if job[0] == order], axis=0)
        for order in shown
    }
    outcome.tables["spread"] = {"distance": distance, **spread}
    for order, profile in spread.items():
        p = profile / profile.sum()
        outcome.claims.append(
            Claim.relative(
                f"width² of one contact's extra force after {SPREAD_SWEEPS} sweeps, {order} [d²]",
                float(p @ distance**2 - (p @ distance) ** 2),
                2.0 * theory.q(order) * SPREAD_SWEEPS,
                0.05 if order == "random" else 0.01,  # random: the chance of some hundred runs
                paper="(8): forces relax by diffusion, D = q d² a sweep",
            )
        )
    outcome.figures["relaxation"] = _figure(distance, spread, table, outcome.tables["runs"])
    return outcome


_TEXT = (
    "A chain rests under a load; its forces are disturbed by the slowest mode, cos kx, and one step"
    " of many sweeps is made. The mode decays by exp(−q k² d²) a sweep. Chains of several lengths"
    " give q of an endless one; the errors are those of this extrapolation and, for the random"
    " order, of chance.\n\n"
    "Random sweeps give the paper's 0.797, the parallel update 1/2. Sequential, symmetric and"
    " coloured sweeps all give 1, twice the parallel update and a quarter more than random ones;"
    " symmetric sweeps lose 3/n of it where they turn. Sequential sweeps spread a push without"
    " drift but askew: far ahead in one sweep, back by one contact only."
)


def _figure(
    distance: Any, spread: dict[str, Floats], table: dict[str, list[Any]], runs: dict[str, Any]
) -> Any:
    figure, (left, right) = new_figure(1, 2)
    colours = dict(zip(ORDERS, COLOURS[1:]))
    for order in ("random", "sequential", "symmetric"):
        variance = 2.0 * theory.q(order) * SPREAD_SWEEPS
        left.plot(distance, spread[order], "o", ms=2.5, color=colours[order], label=order)
        bell = np.exp(-(distance**2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)
        left.plot(distance, bell, color=colours[order], lw=0.8)
    left.plot([], [], color=GREY, lw=0.8, label="diffusion, D = q d²")
    left.set(xlim=(-40, 40), ylim=(0, None), xlabel="distance [contacts]")
    left.set_ylabel(f"extra force after {SPREAD_SWEEPS} sweeps [share]")
    left.legend(loc="upper left")
    marks = dict(zip(ORDERS, "o^vsD"))
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


EXPERIMENT = Experiment("relaxation", "q: how fast sweeps spread forces, for five orders", run)
