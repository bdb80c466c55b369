"""Packings at rest under a pressure: rigid disks, and the same with stiffer and stiffer contacts.

Disks without friction are compressed by contact dynamics until they rest. Then as many contacts
bear a force as there are equations of equilibrium, and the forces f are unique: nothing is chaotic
or undetermined in what follows. From there soft contacts of stiffness k take over, and the packing
comes to rest again. Each contact is now compressed by about f/k, grains and cell have moved by
about as much, and the directions of contacts with them: forces differ from f by a share of order
p/k.

How much the cell shrinks follows from virtual work. The forces f are in equilibrium with the
pressure p, so that for any small motion in which contacts shorten by δ the volume changes by
−Σ f δ/p. With δ = f/k, to first order in p/k,

    V_rigid − V_soft = Σ f²/(k p).

All this holds as long as the same contacts bear a force. The narrowest gaps of a packing are as
small as 10⁻⁶ diameters, and once one of them has closed the packing is another one: its exponent
is taken from where contacts are still those of rigid disks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hardgrain.core.model import State
from hardgrain.forces.packing import packing
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error, power_law
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.cell import Isotropic
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import SoftParticles

__all__ = ["EXPERIMENT"]

SIZE, QUICK = (40, 8), (30, 3)  # disks of a packing, packings
STIFFNESS = 10.0 ** np.array([5.0, 5.5, 6.0, 6.5, 7.0])  # k/p
LEAST = 3  # values of it behind an exponent
STEP, ROUND, MOST = 0.02, 100, 60  # of rigid grains [time], steps from stop to stop, stops
STILL = 1e-16  # kinetic energy at rest [energy of a grain, p d²]
TOLERANCE = 1e-9  # of the rigid solver; at rest gaps are right to about as much
SUBSTEPS, MOST_STEPS = 20, 3000  # of soft grains
AT_REST = 1e-15  # kinetic over elastic energy: forces are right to about its root


class Limit(NamedTuple):
    """A packing of rigid disks, and what is left of its forces where contacts are soft."""

    unbalanced: float  # largest |σ/p − 1| of the rigid packing
    spare: int  # contacts that bear a force beyond those that equilibrium needs
    force: Floats  # (k,) root mean square of the change of forces, over their mean
    shrunk: Floats  # (k,) V_rigid − V_soft, over Σ f²/(k p)
    density: Floats  # (k,) φ_soft − φ_rigid
    worst: float  # largest |σ/p − 1| of soft packings
    same: int  # how many of the stiffest have the contacts of rigid disks


def _scene(count: int, seed: int) -> Scene:
    side = math.sqrt(1.8 * count)
    diameter = tuple(np.random.default_rng(seed).uniform(0.8, 1.2, count))
    return Scene(
        periodic={"x": (0.0, side), "y": (0.0, side)},
        cell=Isotropic(pressure=1.0),
        contacts=[ContactLaw(friction=0.0)],
        grains=[Grains(diameter=diameter, place=Deposit(min=(0.0, 0.0), max=(side, side)))],
        allow_overlaps=True,  # soft ones begin where rigid ones rest
    )


def _stop(sim: Simulation) -> None:
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0


def _pressed(scene: Scene, seed: int) -> Simulation:
    """Rigid disks, compressed and brought to rest."""
    sim = Simulation(scene, dt=STEP, solver=RigidSolver(tolerance=TOLERANCE), seed=seed)
    count = sim.model.n
    for stops in range(MOST):
        for _ in range(ROUND):
            report = sim.step()
        if report.loaded > count and report.kinetic < STILL * count:
            break
        if stops > 3:  # by then they touch
            _stop(sim)
    return sim


def _softened(scene: Scene, seed: int, state: State, stiffness: float) -> Simulation:
    """The same packing with soft contacts, brought to rest: whenever it slows down, it is stopped.

    Time goes as √(m/k), so that a packing takes as many steps for every stiffness.
    """
    engine = SoftParticles(
        stiffness=stiffness, damping=0.3 * math.sqrt(stiffness), substeps=SUBSTEPS
    )
    sim = Simulation(scene, dt=1.5 / math.sqrt(stiffness), engine=engine, seed=seed, start=state)
    _stop(sim)
    last = 0.0
    for _ in range(MOST_STEPS):
        report = sim.step()
        if 0.0 < report.kinetic < last:
            if report.kinetic < AT_REST * report.elastic:
                break
            _stop(sim)
            last = 0.0
        else:
            last = report.kinetic
    return sim


def _stress(sim: Simulation) -> float:
    """Largest |σ/p − 1|."""
    volume = sim.model.cell_in(sim.state).volume
    return float(np.abs(sim.engine.wall_force[-1] / volume - 1.0).max())


def limit(job: tuple[int, int]) -> Limit:
    """One packing of so many disks, from a seed, with rigid and with soft contacts."""
    count, seed = job
    scene = _scene(count, seed)
    rigid = _pressed(scene, seed)
    found, contacts = packing(rigid), rigid.state.contacts
    found = found.chosen(found.components[:, 0] > 1e-6 * found.unit)
    # two equations a grain, less those of two translations, and two of the cell
    spare = found.contacts - 2 * found.grains
    f = contacts.normal_impulse() / rigid.dt
    bears = f > 1e-6
    names, f = contacts.key(rigid.model.bodies)[bears], f[bears]
    grains, volume = rigid.model.volume.sum(), rigid.model.cell_in(rigid.state).volume
    force, shrunk, density, worst, same = [], [], [], 0.0, 0
    for stiffness in STIFFNESS:
        soft = _softened(scene, seed, rigid.state, float(stiffness))
        now = soft.state.contacts
        known = dict(zip(now.key(soft.model.bodies), now.normal_impulse() / soft.dt))
        change = np.array([known.get(name, 0.0) for name in names]) - f
        force.append(math.sqrt(float(np.mean(change**2))) / float(f.mean()))
        smaller = soft.model.cell_in(soft.state).volume
        shrunk.append((volume - smaller) * float(stiffness) / float(f @ f))
        density.append(grains / smaller - grains / volume)
        worst, same = max(worst, _stress(soft)), same + 1 if set(known) == set(names) else 0
    return Limit(
        _stress(rigid), spare, np.array(force), np.array(shrunk), np.array(density), worst, same
    )


def run(quick: bool) -> Outcome:
    """Make packings, soften them, and fit."""
    count, packings = QUICK if quick else SIZE
    seeds = range(1, packings + 1)
    found = pmap(limit, [(count, seed) for seed in seeds])
    size = f"{packings} packings of {count} disks"
    kept = [x for x in found if x.same >= LEAST]
    exponents = {
        f"{what} from {whose} of rigid disks": [
            power_law(1.0 / STIFFNESS[-x.same :], getattr(x, name)[-x.same :]).exponent
            for x in kept
        ]
        for what, whose, name in (
            ("forces", "those", "force"), ("the packing fraction", "that", "density")
        )
    }  # fmt: skip
    claims = [
        Claim(
            f"largest |σ/p − 1| of rigid disks at rest, {size}",
            max(x.unbalanced for x in found),
            paper="simulations are performed at constant external pressure",
            theory=Expected(
                0.0, 1e-6, "what is left of motion when a packing counts as at rest",
                "the cell does not accelerate",
            ),
        ),
        Claim(
            f"contacts that bear a force beyond one for each equation, at most, {size}",
            float(max(abs(x.spare) for x in found)),
            theory=Expected.exact(0.0, "isostatic: forces are unique"),
        ),
        Claim(
            f"largest |σ/p − 1| of soft disks at rest, k/p from 10⁵, {size}",
            max(x.worst for x in found),
            theory=Expected(
                0.0, 1e-6, "what is left of motion when a packing counts as at rest",
                "the cell does not accelerate",
            ),
        ),
    ]  # fmt: skip
    for what, each in exponents.items():
        mean, error = mean_and_error(each)
        claims.append(
            Claim(
                f"exponent of p/k in the difference of {what}, k/p from 10⁵, {size}",
                mean,
                error,
                len(kept),
                theory=Expected.by_chance(
                    1.0, error, len(kept), "both change as overlaps do", beside=0.02,
                    why="terms of second order, about a tenth at k/p = 10⁵",
                ),
                note=f"{len(kept)} packings keep the contacts of rigid disks for at least {LEAST}"
                " of the values of k/p",
            )
        )  # fmt: skip
    claims.append(
        Claim(
            f"(V_rigid − V_soft)/(Σ f²/(k p)) at k/p = 10⁷, farthest from 1, {size}",
            max((float(x.shrunk[-1]) for x in kept), key=lambda r: abs(r - 1.0)),
            theory=Expected(
                1.0, 1e-3, "of second order: forces differ by less than that there",
                "virtual work, with the forces of rigid disks",
            ),
        )
    )  # fmt: skip
    names = ("force", "density", "shrunk")
    table: dict[str, Any] = {"seed": [s for s in seeds for _ in STIFFNESS]}
    table["stiffness"] = np.tile(STIFFNESS, packings)
    table |= {name: np.concatenate([getattr(x, name) for x in found]) for name in names}
    return Outcome(claims, {"statics": table}, {"statics": _figure(found)}, TEXT, seeds)


def _figure(found: list[Limit]) -> Any:
    figure, (left, right) = new_figure(columns=2)
    for axes, name, colour in ((left, "force", 1), (right, "density", 2)):
        for x in found:
            y, many = getattr(x, name), max(x.same, 1)
            axes.loglog(STIFFNESS, y, color=GREY, lw=0.6, alpha=0.6)
            axes.loglog(STIFFNESS[-many:], y[-many:], "o", ms=3, color=COLOURS[colour])
        line = np.median([getattr(x, name)[-1] for x in found]) * STIFFNESS[-1] / STIFFNESS
        axes.loglog(STIFFNESS, line, color="black", lw=0.8, ls=":", label="slope −1")
        axes.set_xlabel("$k/p$")
        axes.legend()
    left.set_ylabel("change of forces, over their mean")
    right.set_ylabel("packing fraction, less that of rigid disks")
    return figure


TEXT = """\
Disks of diameters between 0.8 and 1.2, without friction, under the same pressure from all sides of
a periodic cell. Contact dynamics brings them to rest; then soft contacts take over where they are.

Rigid disks bear the pressure that was put on the cell, and as many contacts bear a force as there
are equations. As long as soft disks have the same contacts (points in the figure), their forces
differ from those of rigid disks by a share that falls as p/k, in every packing, and a large one: an
isostatic packing moves far when its contacts give a little. The cell shrinks as the forces of
*rigid* disks say, without any fit. So contact dynamics is the limit of soft particles here, force
by force, and it is reached with the first power of p/k.

Where contacts are so soft that an open gap has closed, the packing is another one. Such values are
drawn as lines without points, and no exponent is taken from them. Larger packings have narrower
gaps, and need stiffer contacts."""

EXPERIMENT = Experiment(
    "statics", "Packings at rest: soft contacts that become stiff, and rigid ones", run
)
