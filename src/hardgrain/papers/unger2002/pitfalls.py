"""What the paper warns of in soft particles: the detachment effect and brake failure.

*Detachment* (its reference 8). A loose row of disks hits a wall. Rigid disks would collide pair by
pair and lose a share of their energy each time, in many collisions. Soft ones whose collisions last
longer than the time between them touch all at once: the row rebounds as one body, and much less
energy is lost. The pair by pair limit is worked out event by event.

*Brake failure* (its reference 9). A disk passes over a bump, another disk. A rigid one is braked by
the same share of its speed however fast it is. A soft one that passes within less than the time of
a collision is hardly braked: the spring has no time to push. The motion is worked out again with a
solver of differential equations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Material, Plane
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import SoftParticles
from hardgrain.theory.spring import contact_time, damping_ratio

__all__ = ["EXPERIMENT"]

UNIT = {"disk": Material(density=4.0 / math.pi)}  # unit mass
FINE = 200  # explicit steps in a collision: errors of first order are half a percent

# detachment: disks, their gaps [d], restitution
ROW, GAP, RESTITUTION = 8, 0.1, 0.9
TIMES = (0.02, 0.2, 2.0, 20.0)  # durations of a collision [time between collisions, GAP / speed]

# brake failure: height of the disk's path above the bump's centre [d], restitution, speeds
HEIGHT, BRAKE = 0.9, 0.5  # height and restitution
SPEEDS = (0.01, 0.1, 1.0, 10.0)  # [d / time of a collision]


# ---------------------------------------------------------------------- detachment
def soft_row(duration: float) -> float:
    """Share of its energy that a row of soft disks keeps after it has hit a wall."""
    between = GAP  # at speed one
    ratio = damping_ratio(RESTITUTION)
    stiffness = 0.5 * (contact_time(1.0, 1.0, ratio) / (duration * between)) ** 2
    places = tuple((0.5 + GAP + i * (1.0 + GAP), 0.0) for i in range(ROW))
    scene = Scene(
        materials=UNIT,
        contacts=[ContactLaw(friction=0.0)],
        grains=[Grains(place=At(positions=places), lock=["y", "rotation"], velocity=[-1.0, 0.0])],
        walls=[Plane(point=[0.0, 0.0], normal=[1.0, 0.0])],
    )
    dt = 0.1
    substeps = math.ceil(FINE * dt / (duration * between))
    engine = SoftParticles(stiffness=stiffness, restitution=RESTITUTION, substeps=substeps)
    sim = Simulation(scene, dt=dt, engine=engine)
    # Step until all are apart and none will meet another again.
    while True:
        sim.step()
        x, v = sim.state.position[:ROW, 0], sim.state.velocity[:ROW, 0]
        if v[0] > 0.0 and (np.diff(v) >= 0.0).all() and (np.diff(x) > 1.0).all() and x[0] > 0.5:
            return float(v @ v) / ROW


def hard_row() -> float:
    """Share of its energy that a row of hard disks keeps, collision by collision."""
    x = GAP * np.arange(1.0, ROW + 1.0)  # free room: disks as points, the wall at zero
    v = np.full(ROW, -1.0)
    while True:
        closing = np.append(-v[0], v[:-1] - v[1:])
        room = np.append(x[0], np.diff(x))
        times = np.where(closing > 0.0, room / np.where(closing > 0.0, closing, 1.0), math.inf)
        i = int(np.argmin(times))
        if times[i] == math.inf:
            return float(v @ v) / ROW
        x += v * times[i]
        if i == 0:
            v[0] *= -RESTITUTION
        else:
            a, b = v[i - 1], v[i]
            exchanged = 0.5 * (1.0 + RESTITUTION) * (a - b)
            v[i - 1], v[i] = a - exchanged, b + exchanged


# ---------------------------------------------------------------------- brake failure
def _bump() -> dict[str, Any]:
    start = -math.sqrt(1.0 - HEIGHT**2) - 0.05
    return {
        "materials": UNIT,
        "contacts": [ContactLaw(friction=0.0)],
        "grains": [
            Grains(place=At(positions=((0.0, 0.0),)), lock=["x", "y", "rotation"]),
            Grains(place=At(positions=((start, HEIGHT),)), lock=["rotation"], velocity=[1.0, 0.0]),
        ],
    }


def soft_brake(speed: float) -> float:
    """Share of its speed along the path that a soft disk loses; speed in d / collision."""
    duration = speed  # at speed one
    engine = SoftParticles(
        stiffness=_stiffness(duration),
        restitution=BRAKE,
        substeps=math.ceil(FINE * 0.1 / min(duration, 1.0)),
    )
    sim = Simulation(Scene(**_bump()), dt=0.1, engine=engine)
    while np.linalg.norm(sim.state.position[1]) <= 1.0 or sim.state.time < 1.0:
        sim.step()
    return 1.0 - float(sim.state.velocity[1, 0])


def _stiffness(duration: float) -> float:
    """Stiffness for which a collision with the fixed disk lasts so long, for unit mass."""
    return (contact_time(1.0, 1.0, damping_ratio(BRAKE)) / duration) ** 2


def integrated_brake(speed: float) -> float:
    """The loss of velocity at the bump, by a solver of differential equations."""
    from scipy.integrate import solve_ivp

    stiffness = _stiffness(speed)
    damping = 2.0 * damping_ratio(BRAKE) * math.sqrt(stiffness)

    def motion(_: float, y: Floats) -> list[float]:
        distance = math.hypot(y[0], y[1])
        normal = y[0] / distance, y[1] / distance
        rate = y[2] * normal[0] + y[3] * normal[1]
        # springs push, but never pull
        push = max(stiffness * (1.0 - distance) - damping * rate, 0.0)
        return [y[2], y[3], push * normal[0], push * normal[1]]

    def apart(_: float, y: Floats) -> float:
        return math.hypot(y[0], y[1]) - 1.0

    apart.terminal, apart.direction = True, 1.0  # type: ignore[attr-defined]
    touch = [-math.sqrt(1.0 - HEIGHT**2), HEIGHT, 1.0, 0.0]
    found = solve_ivp(motion, (0.0, 10.0), touch, events=apart, rtol=1e-9, atol=1e-12)
    return 1.0 - float(found.y[2, -1])


def rigid_brake(speed: float) -> float:
    """The loss of velocity of a rigid disk; the speed only sets how far it moves in a step."""
    scene = Scene(**_bump())
    sim = Simulation(scene, dt=1e-4, solver=GaussSeidel(sweeps=1))
    sim.state.velocity[1, 0] *= speed
    engine_dt = 1e-4 / speed
    sim = Simulation(scene, dt=engine_dt, solver=GaussSeidel(sweeps=1), start=sim.state)
    for _ in range(1500):
        sim.step()
    return 1.0 - float(sim.state.velocity[1, 0]) / speed


# ---------------------------------------------------------------------- the experiment
def run(quick: bool) -> Outcome:
    """Judge both effects; this takes seconds, also in full."""
    hard = hard_row()
    kept = np.array([soft_row(t) for t in TIMES])
    # In the hardest row collisions last TIMES[0] of the time between them.
    share = TIMES[0] + 1.0 / FINE
    claims = [
        Claim(
            f"energy that {ROW} soft disks keep, restitution {RESTITUTION:g}, collisions of"
            f" {TIMES[0]:g} of the time between them",
            float(kept[0]),
            theory=Expected(
                hard, share * (1.0 - hard), "order of the duration of a collision, and of the"
                " explicit steps", "pair by pair, event by event",
            ),
        ),
        Claim(
            f"the same over what pairwise collisions leave, collisions of {TIMES[-1]:g} of the time"
            " between them",
            float(kept[-1]) / hard,
            paper=Expected(
                1.0 + share, 0.0, "more than the hardest row, beyond its errors", "detachment"
                " effect: too little energy is lost", "at least",
            ),
        ),
    ]  # fmt: skip
    cosine = 1.0 - HEIGHT**2
    brake = np.array([soft_brake(s) for s in SPEEDS])
    exact = np.array([integrated_brake(s) for s in SPEEDS])
    for speed, found, expected in zip(SPEEDS, brake, exact):
        claims.append(
            Claim(
                f"share of its speed that a soft disk loses on a bump, {speed:g} d in the time of a"
                " collision",
                float(found),
                theory=Expected.within(
                    float(expected), 5.0 / FINE, "first order in the explicit steps",
                    "differential equation",
                ),
            )
        )  # fmt: skip
    slow, fast = float(brake[0]), float(brake[-1])
    claims += [
        Claim(
            "the slowest of them over a rigid disk of the same restitution",
            slow / ((1.0 + BRAKE) * cosine),
            theory=Expected(
                1.0, 5.0 * SPEEDS[0] + 5.0 / FINE, "order of the way in a collision, and of the"
                " explicit steps", "(1 + e) cos² of the angle of impact",
            ),
        ),
        Claim(
            "the fastest of them over a rigid disk of the same restitution",
            fast / ((1.0 + BRAKE) * cosine),
            paper=Expected(0.5, 0.0, "less than half", "brake failure", "at most"),
        ),
    ]  # fmt: skip
    rigid = [rigid_brake(s) for s in (1.0, 1000.0)]
    claims.append(
        Claim(
            "share of its speed that a rigid disk loses on the bump, a thousand times as fast, over"
            " the same at speed one",
            rigid[1] / rigid[0],
            theory=Expected(1.0, 1e-9, "rounding", "rigid disks have no time of a collision"),
            note=f"{rigid[0]:.4f}; cos² of the angle of impact is {cosine:.4f}",
        )
    )
    tables: dict[str, dict[str, Any]] = {
        "row": {"duration": TIMES, "energy": kept, "pairwise": np.full(len(TIMES), hard)},
        "bump": {"speed": SPEEDS, "braked": brake, "integrated": exact},
    }
    return Outcome(claims, tables, {"pitfalls": _figure(tables, hard, cosine)}, TEXT)


def _figure(tables: dict[str, dict[str, Any]], hard: float, cosine: float) -> Any:
    figure, (left, right) = new_figure(1, 2)
    left.semilogx(tables["row"]["duration"], tables["row"]["energy"], "o", color=COLOURS[1],
                  label="soft disks")  # fmt: skip
    left.axhline(hard, color=GREY, lw=0.8, label="pair by pair")
    left.set(xlabel="time of a collision [time between them]", ylabel="energy left", ylim=(0, 1))
    right.loglog(tables["bump"]["speed"], np.abs(tables["bump"]["braked"]), "o", color=COLOURS[1],
                 label="soft disk")  # fmt: skip
    right.axhline((1.0 + BRAKE) * cosine, color=GREY, lw=0.8, label="rigid")
    right.set(xlabel="speed [d / time of a collision]", ylabel="share of speed lost on a bump")
    left.legend()
    right.legend()
    return figure


TEXT = (
    "Both pitfalls of soft particles come from collisions that last. A loose row of soft disks that"
    " hits a wall loses less energy the longer its collisions last, down to what a single rebound"
    " would take: the detachment effect. A soft disk that passes a bump faster than a collision"
    " lasts is hardly braked: brake failure. Rigid disks know neither."
)

EXPERIMENT = Experiment("pitfalls", "Pitfalls of soft particles: detachment, brake failure", run)
