"""A row of disks against a wall: the paper's test system (its Fig. 3), run by the general engine.

Disks of unit mass and diameter on the x axis, locked to it, and a wall on their left; dt = 1, so
that forces are in d m/dt², speeds in d/dt and frequencies in 1/dt. With n grains that all touch, n
contacts, the slowest wave has λ = 4 n d: the wall is fixed, the last grain free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Contacts
from hardgrain.errors import InputError
from hardgrain.papers.fit import LEAST_POINTS, Floats, Ringing, damped_sine
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Material, Plane
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.step.engine import SoftParticles
from hardgrain.theory.chain import Q

__all__ = [
    "LOAD",
    "SUBSTEPS",
    "Chain",
    "at_rest",
    "chain",
    "contact_numbers",
    "forces",
    "mean_sweep",
    "mode_amplitude",
    "neglected",
    "relaxation_rates",
    "row",
    "shape",
    "soft_mode_amplitude",
    "solver",
    "wavenumber",
]


def solver(order: str, sweeps: int) -> GaussSeidel | Jacobi:
    """The solver that makes this many sweeps a step in the given order."""
    if order not in Q:
        raise InputError(f"order is {order!r}; give one of {', '.join(Q)}")
    if order == "parallel":
        return Jacobi(sweeps=sweeps, relaxation=1.0)
    choice: Any = order
    return GaussSeidel(sweeps=sweeps, order=choice)


def row(particles: int, force: float, gap: float = 0.0, overlap: float = 0.0) -> Scene:
    """Disks in a row, ``gap`` from the wall, that touch or overlap; ``force`` pushes the last."""
    if particles < 2:
        raise InputError(f"particles is {particles}; at least 2 make a chain")
    places = [(gap + 0.5 + i * (1.0 - overlap), 0.0) for i in range(particles)]
    locked: dict[str, Any] = {"lock": ["y", "rotation"]}
    return Scene(
        materials={"disk": Material(density=4.0 / math.pi)},  # unit mass
        contacts=[ContactLaw(friction=0.0)],
        grains=[
            Grains(place=At(positions=tuple(places[:-1])), **locked),
            Grains(place=At(positions=tuple(places[-1:])), force=[-force, 0.0], **locked),
        ],
        walls=[Plane(point=[0.0, 0.0], normal=[1.0, 0.0])],
        allow_overlaps=overlap > 0.0,
    )


# Load of a chain at rest [d m/dt²] and overlap of its grains [d]. What is done to it is so gentle
# that no contact opens: a contact whose gap is negative and whose force is positive is linear.
LOAD, OVERLAP = 1e-3, 1e-2


def at_rest(
    particles: int,
    sweeps: int,
    *,
    seed: int = 0,
    order: str = "random",
    dt: float = 1.0,
    force: float = LOAD,
) -> Simulation:
    """A chain in equilibrium under `LOAD`; ``force`` is that on its last grain from now on."""
    n = particles
    scene = row(n, force, gap=-OVERLAP, overlap=OVERLAP)
    sim = Simulation(scene, dt=dt, solver=solver(order, sweeps), seed=seed)
    # sorted by (first, second): 0 and 1, 0 and the wall, which is body n, then 1 and 2, …
    first = np.maximum(contact_numbers(n) - 1, 0).astype(np.int32)
    second = np.where(contact_numbers(n) == 0, n, contact_numbers(n)).astype(np.int32)
    normal = np.zeros((n, 2))
    normal[:, 0] = np.where(second == n, -1.0, 1.0)
    sim.state.contacts = Contacts(
        first, second, normal, np.full(n, -OVERLAP), LOAD * dt * normal, np.zeros((n, 1))
    )
    return sim


def contact_numbers(particles: int) -> NDArray[np.int64]:
    """Numbers, from 0 at the wall, of a chain's contacts as the engine sorts them; shape (n,)."""
    return np.array([1, 0, *range(2, particles)])


def forces(sim: Simulation) -> Floats:
    """Forces of a chain's contacts, from the wall to the last grain, shape (particles,)."""
    r = np.empty(sim.model.n)
    r[contact_numbers(sim.model.n)] = sim.state.contacts.normal_impulse() / sim.dt
    return r


def wavenumber(mode: Any, particles: int) -> Any:
    """Wave numbers k of the standing waves of a chain, mode 1 being the slowest [1/d]."""
    return (2.0 * np.asarray(mode) - 1.0) * (math.pi / (2.0 * particles))


def shape(mode: int, particles: int) -> Floats:
    """Velocities of the grains in a mode, shape (particles,), normalised: sin k(i − ½).

    The wall doubles the stiffness of its contact, as if a mirrored chain were behind it.
    """
    k = wavenumber(mode, particles)
    phi: Floats = np.sqrt(2.0 / particles) * np.sin(k * (np.arange(particles) + 0.5))
    return phi


def mean_sweep(particles: int) -> Floats:
    """What a random sweep does to the errors of a chain's forces, on average; shape (n, n).

    `hardgrain.theory.chain.relaxation_rate` holds for an endless chain. Appendix A of the paper
    goes through in a finite one: with B the parallel update, whose wall contact follows its one
    neighbour alone, a sweep changes forces by T (B − 1) R on average, where T hands changes on over
    r contacts with probability 1/(r + 1)! and the weights of B on the way. Sweeps are drawn
    independently of each other, so that of many the averages multiply.
    """
    n = particles
    b = 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1))
    b[0, 1] = 1.0
    handed_on = np.eye(n)
    for way in (np.triu(b), np.tril(b)):
        steps = np.eye(n)
        for r in range(1, min(n, 20)):
            steps = steps @ way
            handed_on += steps / math.factorial(r + 1)
    sweep: Floats = np.eye(n) - handed_on @ (np.eye(n) - b)
    return sweep


def relaxation_rates(particles: int) -> Floats:
    """Rates µ of all modes of a chain with a wall and a free end, slowest first, at random [1].

    Nothing is handed on to the mirror image behind the wall and back: they are slower than those
    of an endless chain, the slowest by 0.07/n.
    """
    rates: Floats = np.sort(1.0 - np.linalg.eigvals(mean_sweep(particles)).real)
    return rates


def neglected(particles: int, sweeps: float) -> tuple[float, float]:
    """Leading terms that (18) and (20) neglect for a chain's slowest mode, relative, of ω and τ.

    With s = q N k² d²: a finite step, ω ≈ √s (1 − s/12) where (18) has √s (1 − s/8), and τ shorter
    by µ/2, µ ≈ s/N; grains of finite size, µ ≈ q k² d² (1 − 0.38 k² d²); the wall, µ lower by
    0.07/n. Half of what µ loses is lost by ω, all of it is gained by τ. Their sizes are added up.
    """
    k2 = float(wavenumber(1, particles)) ** 2
    s = Q["random"] * sweeps * k2
    rate = 0.38 * k2 + 0.07 / particles
    return s / 24.0 + 0.5 * rate, 0.5 * s / sweeps + rate


def mode_amplitude(
    mode: int,
    particles: int,
    sweeps: int,
    steps: int,
    *,
    seed: int = 0,
    order: str = "random",
    dt: float = 1.0,
) -> Floats:
    """A chain at rest whose grains are given the velocities of one mode: how that mode goes on.

    Its velocity over time, found by projection, relative to that at the start; shape (steps + 1,).
    """
    sim = at_rest(particles, sweeps, seed=seed, order=order, dt=dt)
    phi, velocity = shape(mode, particles), sim.state.velocity[:particles, 0]
    kick = LOAD * dt / 1e3  # the kick is so small that every contact stays loaded
    velocity += kick * phi
    amplitude = np.ones(steps + 1)
    for i in range(steps):
        sim.step()
        amplitude[i + 1] = sim.state.velocity[:particles, 0] @ phi / kick
    return amplitude


# Explicit steps in a step of the soft chain: errors are of first order, 1 % of a damped mode's
# phase in a step. Stability would ask for a fifth of them.
SUBSTEPS = 400


def soft_mode_amplitude(
    particles: int, stiffness: float, damping: float, steps: int, dt: float, wall: bool
) -> Floats:
    """Amplitude of the slowest mode of soft grains with springs and dashpots, shape (steps + 1,).

    Without a wall the chain goes on behind it as its own mirror image: there as many grains again,
    pushed from the other side.
    """
    squeezed = 1.0 - LOAD / stiffness
    first = 0.5 - LOAD / stiffness if wall else 0.5 * squeezed
    right = [(first + i * squeezed, 0.0) for i in range(particles)]
    left = [] if wall else [(-x, y) for x, y in right[::-1]]
    locked: dict[str, Any] = {"lock": ["y", "rotation"]}
    grains = [
        Grains(place=At(positions=(*left[1:], *right[:-1])), **locked),
        Grains(place=At(positions=(right[-1],)), force=[-LOAD, 0.0], **locked),
    ]
    if left:
        grains.append(Grains(place=At(positions=(left[0],)), force=[LOAD, 0.0], **locked))
    scene = Scene(
        materials={"disk": Material(density=4.0 / math.pi)},
        contacts=[ContactLaw(friction=0.0)],
        grains=grains,
        walls=[Plane(point=[0.0, 0.0], normal=[1.0, 0.0])] if wall else [],
        allow_overlaps=True,
    )
    engine = SoftParticles(stiffness=stiffness, damping=damping, substeps=SUBSTEPS)
    sim = Simulation(scene, dt=dt, engine=engine)
    # With a mirror image the mode is sin k(i − ½), see `shape`; with a wall of the grains' own
    # stiffness, sin ki, as if a grain were held fast at i = 0
    x = sim.state.position[: sim.model.n, 0]
    place = np.rint(np.abs(x) + 0.5) - (0.0 if wall else 0.5)
    phi = np.sign(x) * np.sin(math.pi / (2.0 * particles + wall) * place)
    kick = LOAD * dt / 1e3
    sim.state.velocity[: sim.model.n, 0] += kick * phi
    amplitude = np.ones(steps + 1)
    for i in range(steps):
        sim.step()
        amplitude[i + 1] = sim.state.velocity[: sim.model.n, 0] @ phi / (kick * phi @ phi)
    return amplitude


@dataclass(frozen=True)
class Chain:
    """The motion of a chain's last particle."""

    time: Floats  # (steps,) [dt]
    position: Floats  # (steps,) distance of the last particle's centre from the wall [d]
    settled: float  # time from which every contact bears a force; inf if never [dt]

    def fit(self, start: float, stop: float) -> Ringing:
        """Fit x0 + A exp(−t/τ) sin(ωt + φ) to the times from ``start`` to ``stop``.

        NaN throughout if the chain does not ring there.
        """
        window = (self.time >= start) & (self.time <= stop)
        if window.sum() < LEAST_POINTS:
            raise InputError(
                f"start is {start:g} and stop is {stop:g}; between them must be at least"
                f" {LEAST_POINTS} of the chain's steps, which are {self.time[0]:g} to"
                f" {self.time[-1]:g}"
            )
        return damped_sine(self.time[window], self.position[window])


def chain(
    particles: int = 50,
    sweeps: int = 40,
    force: float = 0.05,
    steps: int = 1000,
    seed: int = 0,
    order: str = "random",
) -> Chain:
    """The paper's Fig. 4: a chain, one diameter from a wall, that a force makes run into it.

    ``force`` on the last particle is in d m/dt²; times are in steps, lengths in diameters.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; at least 1 is needed")
    scene = row(particles, force, gap=1.0)
    sim = Simulation(scene, dt=1.0, solver=solver(order, sweeps), seed=seed)
    position, loaded = np.empty(steps), np.empty(steps, dtype=int)
    for i in range(steps):
        loaded[i] = sim.step().loaded
        position[i] = sim.state.position[particles - 1, 0]
    time = np.arange(1.0, steps + 1.0)
    open_ = np.flatnonzero(loaded < particles)
    settled = 0.0 if open_.size == 0 else math.inf if open_[-1] == steps - 1 else time[open_[-1]]
    return Chain(time, position, float(settled))
