"""5000 soft spheres at rest: particle steps a second, against LAMMPS' granular package.

The same packing, springs with tangential history, dashpots in both directions and explicit step on
either side, one core, CPU time. LAMMPS is timed by itself: neither start-up nor reading counts;
hardgrain is charged for whole calls of the engine, energy ledger and contact output included.
"""

from __future__ import annotations

import math

import hardgrain as hg
from benchmarks.against_lammps import lammps, lammps_settings
from benchmarks.measure import Figure, best
from benchmarks.packings import spheres
from hardgrain.step.soft_particles import SoftParticleDynamics
from hardgrain.theory.spring import restitution


def run(quick: bool) -> list[Figure]:
    model, state = spheres(100, tile=100) if quick else spheres(5000)
    steps, settle = (2, 2) if quick else (10, 20)
    settings = lammps_settings(steps, settle)
    explicit = settings["steps"] // steps
    k, reduced = settings["k_n"], math.pi / 12.0
    soft = hg.SoftParticles(
        stiffness=k,
        restitution=restitution(settings["gamma"] * math.sqrt(reduced / k) / 2.0),
        tangential_damping=0.5 * settings["gamma"] * reduced,
        substeps=explicit,
    )
    engine = SoftParticleDynamics(model, soft, explicit * settings["dt"], state)
    state = state.copy()
    for _ in range(settle):
        engine.advance(state)

    def ours() -> None:
        for _ in range(steps):
            engine.advance(state)

    spent: list[float] = []
    times = best(
        {"LAMMPS": lambda: spent.append(lammps(model, state, settings)), "hardgrain": ours},
        repeat=2 if quick else 5,
    )
    made = model.n * settings["steps"] / 1e6
    speed, peer = made / times["hardgrain"], made / min(spent)
    return [
        Figure(
            "particle steps a second / LAMMPS'",
            speed / peer,
            target="≥ 0.5",
            detail=f"hardgrain {speed:.2f} million, LAMMPS {peer:.2f} million; {model.n} spheres,"
            f" {len(state.contacts)} contacts, {explicit} explicit steps in 0.01",
        )
    ]
