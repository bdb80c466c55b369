"""Beyond the paper: a packing is loaded slowly until it gives way.

The paper predicts that there will then be more and more sliding contacts, 2 M − 3 N of them when
the packing yields. Here disks lie in a box without gravity, between two fixed walls and two
pistons, and the force on one of the pistons is raised step by step, by the share λ of what it was.

How far a packing can be loaded without any motion is a linear program with one unknown more,

    λ_max = max λ,   c F + e_0 + λ e_1 = 0,   F in the cones.

It has a solution in which no more of the weights x, λ among them, are positive than there are
equations: 2 M − 3 N + 1 of them vanish (pistons, with one equation each, count with 3 N), each for
a contact that slides, two for one that transmits nothing. That is the prediction, and one contact
more. Kinematics say the same: grains that move, their contacts closed, obey two conditions at a
contact that sticks and one at one that slides, and these must be less than the 3 N velocities.

λ_max is a bound: beyond it the packing moves, before it need not, but may. And since F is convex,
(1 − s) F(0) + s F(λ_max) balances the load s λ_max with no more sliding contacts than both ends
have in common: up to the end none has to slide. Whether they become more and more is a matter of
how forces follow the load, not of which forces are possible.

In the same way for a heap in an open box that is tilted, gravity being (λ, −1), λ = tan θ. There a
part of the packing can yield alone, a single disk on the floor rolls at any λ > 0, and then the
program has many solutions. The weights that vanish in all of them are those with a reduced cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, hstack

from hardgrain.core.model import contact_key
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.program import Program
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.judge import ENOUGH, statement
from hardgrain.papers.mcnamara2004.settled import DT, LOOSE, at_rest, settled
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import Grid
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import Box, ContactLaw, Grains, Piston
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = ["EXPERIMENT"]

MU = 0.3  # coefficient of friction, the paper's [1]
PRESSURE = 1.0  # pressure of both pistons at λ = 0 [ρ g r]
NOTHING = 1e-9  # [mean normal force] a smaller weight has vanished
SLIGHT = 1e-6  # a grain whose contacts all bear less is loose; far above what the solver leaves
STILL, STEPS = 1e-9, 100  # speed at rest after a step of load, and steps in which it must come
MOVED = 1e-2  # a packing that moves so far has given way [r]; one that holds moves by 10⁻⁶ or less
# Near the end a step needs a hundred thousand sweeps and more; with fewer it seems to slip.
SOLVER = GaussSeidel(stop="residual", tolerance=1e-11, sweeps=2_000_000)


def run(quick: bool) -> Outcome:
    """Squeezed packings until they give way, tilted ones by linear programming alone."""
    grains, seeds, steps = (30, 2, 10) if quick else (60, 12, 20)
    squeezed = pmap(_squeeze, [(grains, seed, steps) for seed in range(seeds)])
    tilted = pmap(_tilt, [(grains, seed) for seed in range(4 if quick else 30)])
    outcome = Outcome(text=_TEXT)
    rows = [row for _, some in squeezed for row in some]
    outcome.tables["steps"] = {c: np.array([row[c] for row in rows]) for c in rows[0]}
    limits = [limit for limit, _ in squeezed]
    outcome.tables["squeezed"] = {c: np.array([row[c] for row in limits]) for c in limits[0]}
    outcome.tables["tilted"] = {c: np.array([row[c] for row in tilted]) for c in tilted[0]}
    _programs(outcome, outcome.tables["squeezed"], outcome.tables["tilted"])
    _runs(outcome, outcome.tables["squeezed"], outcome.tables["steps"], quick)
    outcome.figures["loading"] = _figure(outcome.tables)
    outcome.seeds = range(len(tilted))
    return outcome


_TEXT = (
    "Disks between two walls and two pistons, the force on one piston raised step by step. Going on"
    " from the forces of the last load, contact dynamics lets contacts slide one after the other,"
    " as the paper predicts, and still nothing moves. In the step in which the packing slips for"
    " the first time M_s jumps up to about 2 M − 3 N: to move with closed contacts takes"
    " 2 M − 3 N + 1 sliding ones if all of it moves, and counting says the same of the greatest"
    " load that any forces can balance, λ_max. The slip may come before λ_max, while static"
    " solutions are still there. Near it the solver needs 10⁵ sweeps and more; with fewer it looks"
    " as if the packing slipped earlier.\n\n"
    "But the number of sliding contacts does not tell how near the end is. F is convex: forces"
    " between those at λ = 0 and those at λ_max balance every load between with no more sliding"
    " contacts than both have in common, and a solver that is told them holds the packing up to the"
    " end.\n\n"
    "A packing that yields in one part only needs fewer sliding contacts. Heaps with a free surface"
    " do when they are tilted, by linear programming: some disk rolls while the rest is as"
    " indeterminate as before, and a disk that lies alone on the floor rolls at once."
)


# ---------------------------------------------------------------------- scenes
def _packed(grains: int, seed: int) -> Simulation:
    """Disks at rest between two walls and two pistons."""
    edge = 2.1 * math.ceil(math.sqrt(grains)) + 0.1
    piston = Piston(mass=PRESSURE * edge, force=PRESSURE * edge)
    scene = Scene(
        contacts=[ContactLaw(friction=MU)],
        grains=[
            Grains(
                count=grains,
                diameter=Uniform(min=1.4, max=2.0),
                place=Grid(min=(0.0, 0.0), max=(edge, edge), jitter=1.0),
                speed=1.0,
            )
        ],
        walls=[Box(min=[0.0] * 2, max=[edge] * 2, pistons={"top": piston, "right": piston})],
        allow_overlaps=True,
    )
    sim = Simulation(scene, dt=DT, solver=LOOSE, seed=seed)
    for _ in range(round(4.0 * math.sqrt(edge) / DT)):  # some four times what the pistons take
        sim.step()
    return at_rest(sim)


def _loaded(scene: Scene, load: float) -> Scene:
    """The packing with a piston that pushes harder, or with gravity that is tilted."""
    if scene.gravity is not None:
        return scene.model_copy(update={"gravity": [load, -1.0]})
    (box,) = scene.walls
    assert isinstance(box, Box)
    right = box.pistons["right"]
    assert isinstance(right.force, float)
    more = {**box.pistons, "right": right.model_copy(update={"force": right.force * (1.0 + load)})}
    return scene.model_copy(update={"walls": [box.model_copy(update={"pistons": more})]})


def _bearing(p: Packing) -> Packing:
    """The packing without contacts of grains that bear nothing, which are no structure."""
    n = p.radius.size
    loaded = p.components[:, 0] > SLIGHT * p.unit
    bears = np.ones(p.free.shape[0], dtype=bool)
    bears[:n] = False
    bears[p.first[loaded]] = bears[p.second[loaded]] = True
    return p.chosen(bears[p.first] & bears[p.second])


# ---------------------------------------------------------------------- the limit
@dataclass(frozen=True)
class _Limit:
    """The greatest load that forces can balance, and the forces there."""

    load: float  # the largest load λ_max
    sliding: int  # weights that vanish: M_s of the solution
    forced: int  # those that vanish in every solution
    expected: int  # 2 M − 3 N, with the equations of pistons
    force: Floats  # (m, dim), of the contacts of the packing


def _limit(sim: Simulation) -> _Limit:
    p = _bearing(packing(sim))
    more = Simulation(_loaded(sim.scenario.scene, 1.0), dt=sim.dt, start=sim.state)
    assert p.external is not None
    both = packing(more).external
    assert both is not None
    space = ForceSpace(p, balance="loads")
    (c, load), g = space.equations(), space.polytope()[2]
    step = (both - p.external).ravel()[p.rows] / p.arms / p.unit
    program = Program(csc_array(hstack([c @ g, step[:, None]])), load)
    most = -program.minimise([g.shape[1]], [-1.0])
    x, costs = program.x[:-1], program.reduced_costs[:-1]
    components = p.unit * (g @ x).reshape(-1, 2)
    return _Limit(
        most,
        int((x < NOTHING).sum()),
        int((costs > NOTHING).sum()),
        space.expected,
        np.einsum("ke,kea->ka", components, p.frame),
    )


def _tilt(case: tuple[int, int]) -> dict[str, float]:
    grains, seed = case
    found = _limit(settled(grains, MU, seed))
    return {
        "seed": seed, "limit": found.load, "sliding": found.sliding, "forced": found.forced,
        "expected": found.expected,
    }  # fmt: skip


# ---------------------------------------------------------------------- steps of load
def _squeeze(case: tuple[int, int, int]) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The limit of a packing, and what it does as the load is raised by shares of it.

    Once the solver goes on from the forces of the last load, and once it is told forces that
    balance the new one.
    """
    grains, seed, steps = case
    sim = _packed(grains, seed)
    found = _limit(sim)
    rows: list[dict[str, float]] = []
    for told in (False, True):
        state = sim.state
        for k in range(steps if told else 2 * steps):
            share = k / steps
            scene = _loaded(sim.scenario.scene, share * found.load)
            now = Simulation(scene, dt=DT, solver=SOLVER, seed=seed, start=state)
            if told:
                _tell(now, sim, found, share)
            row = {"seed": seed, "told": told, "share": share, **_hold(now)}
            rows.append(row)
            if row["moved"] > MOVED:
                break
            if not told:
                state = now.state
    own = [row for row in rows if not row["told"]]
    slip = next((k for k, row in enumerate(own) if row["steps"] > 1), len(own) - 1)
    return {
        "seed": seed, "limit": found.load, "sliding": found.sliding, "forced": found.forced,
        "expected": found.expected, "slip": own[slip]["share"], "yield": own[-1]["share"],
        "before": own[slip - 1]["sliding"] / own[slip - 1]["expected"],
        "middle": own[slip // 2]["sliding"] / own[slip // 2]["expected"],
        "during": own[slip]["first_sliding"] / own[slip]["first_expected"],
    }, rows  # fmt: skip


def _hold(sim: Simulation) -> dict[str, float]:
    """Let the packing come to rest, and count its sliding contacts in the first step and then."""
    state = sim.state
    state.velocity[:], state.spin[:] = 0.0, 0.0
    begin = state.position.copy()
    first: dict[str, float] = {}
    steps, moved = 0, 0.0
    while steps < STEPS and moved <= MOVED and not (steps and sim.quiet(STILL, 1)):
        sim.step()
        steps += 1
        moved = float(np.abs(sim.state.position - begin).max())
        space = ForceSpace(_bearing(packing(sim)))
        counts = {"sliding": space.sliding, "expected": space.expected}
        first = first or {f"first_{name}": value for name, value in counts.items()}
    if steps == STEPS:
        moved = math.inf  # it creeps
    return {**counts, **first, "moved": moved, "steps": steps, "residual": space.residual}


def _tell(now: Simulation, sim: Simulation, found: _Limit, share: float) -> None:
    """Let the solver begin with forces that balance the load: F is convex."""
    p, c, bodies = _bearing(packing(sim)), now.state.contacts, now.model.bodies
    at = np.searchsorted(c.key(bodies), contact_key(p.first, p.second, 0, bodies))
    c.impulse[:] = 0.0
    c.impulse[at] = now.dt * ((1.0 - share) * p.force + share * found.force)


# ---------------------------------------------------------------------- claims
def _programs(outcome: Outcome, squeezed: dict[str, Any], tilted: dict[str, Any]) -> None:
    held = tilted["limit"] > NOTHING
    fewer = [int((t["sliding"] < t["expected"] + 1).sum()) for t in (squeezed, tilted)]
    share = [t["forced"] / (t["expected"] + 1) for t in (squeezed, tilted)]
    outcome.claims.append(
        Claim(
            f"{held.size + len(squeezed['limit'])} packings at the greatest load that forces can"
            " balance: those with less than 2 M − 3 N + 1 sliding contacts",
            sum(fewer), paper="2 M − 3 N when the packing yields",
            theory=Expected.exact(0, "a basic solution: the load is one unknown more, which leaves"
                                  " one contact more"),
        )
    )  # fmt: skip
    if held.size < ENOUGH:
        return
    whole = share[1][held]
    outcome.claims += [
        Claim("λ_max of squeezed packings, mean", *mean_and_error(squeezed["limit"]),
              samples=share[0].size),
        Claim(
            "squeezed packings at λ_max: contacts that have to slide over 2 M − 3 N + 1, mean",
            *mean_and_error(share[0]), samples=share[0].size, paper="1",
            note="less where a part yields and another one does not",
        ),
        Claim(
            f"heaps in an open box, {held.size}: those that move at any tilt", int((~held).sum()),
            note="a disk that lies alone on the floor rolls",
        ),
        Claim(
            "the other heaps: greatest tan θ at which all parts can rest, mean",
            *mean_and_error(tilted["limit"][held]), samples=whole.size,
        ),
        Claim(
            "the other heaps: contacts that have to slide there over 2 M − 3 N + 1, mean",
            *mean_and_error(whole), samples=whole.size,
            paper=Expected.by_chance(1.0, mean_and_error(whole)[1], whole.size,
                                     "reach 2 M − 3 N when the packing yields"),
            differs="The weakest part yields first, and the rest is as indeterminate as before: the"
            " prediction is one for packings that yield as a whole.",
        ),
    ]  # fmt: skip


def _runs(outcome: Outcome, t: dict[str, Any], rows: dict[str, Any], quick: bool) -> None:
    told, quiet = rows["told"], rows["steps"] == 1
    start = ~told & (rows["share"] == 0.0)
    count = len(t["limit"])
    ratio = rows["sliding"] / rows["expected"]
    grows = t["before"] - ratio[start]
    outcome.claims.append(
        Claim(
            f"{count} packings, forces told that balance each load up to λ_max: steps of load in"
            " which one moves", int((told & ~quiet).sum()),
            theory=Expected.exact(0, "F is convex"),
            note=f"M_s/(2 M − 3 N) is {ratio[told].mean():.3f} on the mean: hardly a contact"
            " slides, right up to the end",
        )
    )  # fmt: skip
    if quick:
        return
    outcome.claims += [
        Claim("squeezed slowly: M_s/(2 M − 3 N) at first, mean", *mean_and_error(ratio[start]),
              samples=count),
        Claim("squeezed slowly: M_s/(2 M − 3 N) half-way to the first slip, mean",
              *mean_and_error(t["middle"]), samples=count),
        statement(
            "squeezed slowly: M_s/(2 M − 3 N) at the last load before the first slip, less that at"
            " first, mean", mean_and_error(grows), count,
            "the number of sliding contacts will increase",
            note=f"{t['before'].mean():.3f} at the last load",
        ),
        Claim("squeezed slowly: M_s/(2 M − 3 N) in the step in which it slips, mean",
              *mean_and_error(t["during"]), samples=count,
              paper="reach 2 M − 3 N when the packing yields"),
        Claim("squeezed slowly: load of the first slip over λ_max, mean",
              *mean_and_error(t["slip"]), samples=count),
        Claim(f"squeezed slowly: load at which a disk or piston moves by {MOVED:g} r over λ_max,"
              " mean", *mean_and_error(t["yield"]), samples=count),
    ]  # fmt: skip


# ---------------------------------------------------------------------- the figure
def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    t, limits = tables["steps"], tables["squeezed"]
    ratio = t["sliding"] / t["expected"]
    for seed in np.unique(t["seed"]):
        of = ~t["told"] & (t["seed"] == seed) & (t["moved"] <= MOVED)
        left.plot(t["share"][of], ratio[of], ".-", lw=0.6, ms=3, color=COLOURS[1],
                  label="going on from the last load" if seed == 0 else None)  # fmt: skip
    left.plot(limits["slip"], limits["during"], "x", color=COLOURS[2], ms=6,
              label="in the step of the first slip")  # fmt: skip
    told = t["told"] & (t["seed"] == 0)
    left.plot(t["share"][told], ratio[told], color=COLOURS[3], label="forces told")
    left.axhline(1.0, color=GREY, lw=0.8, ls=":", label="paper: reached when it yields")
    left.set(xlabel="load λ/λ_max", ylabel="M_s/(2 M − 3 N)")
    left.legend()
    for name, colour, marker, label in (
        ("squeezed", COLOURS[1], "o", "squeezed"),
        ("tilted", COLOURS[5], "s", "heaps tilted"),
    ):
        one = tables[name]
        right.plot(one["expected"] + 1, one["forced"], marker, color=colour, mfc="none",
                   label=label)  # fmt: skip
    ends = np.array([0.0, 1.1 * (tables["tilted"]["expected"].max() + 1)])
    right.plot(ends, ends, color=GREY, lw=0.8, label="paper: all of them")
    right.set(xlabel="2 M − 3 N + 1", ylabel="contacts that have to slide at λ_max")
    right.legend()
    return figure


EXPERIMENT = Experiment("loading", "Beyond the paper: loaded slowly until it gives way", run)
