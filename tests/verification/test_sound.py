"""Too few sweeps make rigid grains elastic: the chain that hits a wall rings as theory says.

Review, "Numerical confirmation": 50 disks in a row, 40 sweeps a step, pushed against a wall by a
force on the last one. The slowest mode has k = 2π/(4L) and, with c and D of eqs 54 and 57,
ω = k √(c² − D²k²/4) and τ = 2/(D k²).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import curve_fit

import hardgrain as hg
from hardgrain.theory.chain import Q


def test_chain_rings_like_an_elastic_one() -> None:
    n, sweeps = 50, 40
    mass = math.pi / 4.0  # a disk of unit diameter and density
    places = [[1.5 + i, 0.0] for i in range(n)]  # one diameter from the wall
    locked = {"lock": ["y", "rotation"]}
    scene = hg.Scene(
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[
            hg.Grains(place=hg.At(positions=places[:-1]), **locked),
            hg.Grains(place=hg.At(positions=places[-1:]), force=[-0.05 * mass, 0.0], **locked),
        ],
        walls=[hg.Plane(point=[0.0, 0.0], normal=[1.0, 0.0])],
    )
    k = 2.0 * math.pi / (4.0 * n)
    d = Q["random"] * sweeps
    omega = k * math.sqrt(d - (d * k) ** 2 / 4.0)
    tau = 2.0 / (d * k * k)

    def ringing(t, x0, a, b, w, s):  # type: ignore[no-untyped-def]
        return x0 + np.exp(-(t - 300.0) / s) * (a * np.sin(w * t) + b * np.cos(w * t))

    fits = []
    for seed in range(4):
        sim = hg.Simulation(scene, dt=1.0, solver=hg.GaussSeidel(sweeps=sweeps), seed=seed)
        x = []
        for _ in range(650):
            sim.step()
            x.append(sim.state.position[n - 1, 0])
        t = np.arange(300.0, 650.0)
        guess = [x[-1], 0.1, 0.1, omega, tau]
        fits.append(curve_fit(ringing, t, x[299:649], p0=guess)[0])
    fitted = np.mean(fits, axis=0)
    # The theory is a continuum limit, O((k d)²) ≈ 0.1 % here; the random order adds noise, which
    # four seeds average to a few tenths of a percent in ω and a percent in τ.
    assert abs(fitted[3] / omega - 1.0) < 0.004
    assert abs(fitted[4] / tau - 1.0) < 0.02
