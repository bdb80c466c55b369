"""Free vibrations of deformable grains, and the impact of a bar, against closed forms."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, simpson
from scipy.optimize import brentq
from scipy.special import airy, j0, j1

from tests.verification.elastic_scenes import deform, grain, simulation

SPEED = 1e-3  # of the bar, in units of its speed of sound: strains stay as small


class _Rebound(NamedTuple):
    contact_time: float
    pressure: float  # mean over the first three quarters of the contact
    velocity: float  # of the centre of mass at the end
    energy: float  # kinetic and elastic at the end
    most: float  # the most energy that there ever was after the first step
    struck: float  # share of the mass that the first impulse stops at once
    step: float


def _rebound(elements: int, theta: float) -> _Rebound:
    """A bar of length, density and stiffness 1, without lateral strain, hits a wall end on."""
    edge = 1.0 / elements
    sides = [1.0, 2.0 * edge]
    elastic = {
        "young": 1.0, "poisson": 0.0, "elements": round(0.5 * float(np.hypot(*sides)) / edge)
    }  # fmt: skip
    bar = grain([0.5, 0.0], elastic, shape={"kind": "box", "sides": sides}, velocity=[-SPEED, 0.0])
    wall = {"kind": "plane", "point": [0.0, 0.0], "normal": [1.0, 0.0]}
    sim = simulation(
        {"grains": [bar], "walls": [wall], "contacts": [{"friction": 0.0}]}, edge, theta
    )
    start, force, energies = sim.kinetic, [], []
    for _ in range(4 * elements):
        report = sim.step()
        force.append(-float(sim.engine.wall_force[0, 0]))
        energies.append((report.kinetic + report.elastic) / start)
    mass = float(sim.model.mass[0])
    return _Rebound(
        (np.flatnonzero(force)[-1] + 1) * edge,
        float(np.mean(force[: round(1.5 * elements)])) / sides[1] / SPEED,
        float(sim.state.velocity[0, 0]) / SPEED, energies[-1], max(energies),
        force[0] * edge / (mass * SPEED), edge,
    )  # fmt: skip


@pytest.fixture(scope="module")
def rebounds() -> list[_Rebound]:
    return [_rebound(elements, theta=0.5) for elements in (10, 20, 40, 80)]


# Short waves run late: linear elements of length h with lumped masses have ω = c k (1 − k² h²/24),
# the scheme with θ = 1/2 and steps dt = h/c takes ω³ dt²/12 off, in all c k³ h²/8. A front that has
# run 2 L is then the integral of Airy's function F(s) = ∫_s^∞ Ai, in s = (c t − 2 L)/ℓ behind the
# place where it should be, with ℓ³ = 3 (2 L) h²/8. At the wall it takes twice its height off the
# pressure: the contact opens where F = 1/2, at s = 0.4096. The pressure that is missing up to
# there, 2 ∫_0^∞ F ds − ∫_0^0.4096 (1 − 2 F) ds = 0.4465 times ρ c v ℓ/c, is missing in the rebound.
OPENS, MISSING = 0.4096, 0.4465


def _lateness(found: _Rebound) -> float:
    """ℓ of a front that has run there and back."""
    return float((0.75 * found.step**2) ** (1.0 / 3.0))


def test_the_two_numbers_of_airy_s_function_are_right() -> None:
    s = -np.linspace(0.0, 1.0, 10_001)
    tail = float(-airy(0.0)[1])  # ∫_0^∞ F ds = ∫_0^∞ s Ai ds = −Ai'(0)
    below = 1.0 / 3.0 + cumulative_simpson(airy(s)[0], x=-s, initial=0.0)
    at = int(np.flatnonzero(below > 0.5)[0])
    assert -s[at] == pytest.approx(OPENS, abs=2e-4)
    gone = float(simpson(1.0 - 2.0 * below[: at + 1], x=-s[: at + 1]))
    assert 2.0 * tail - gone == pytest.approx(MISSING, abs=2e-4)


def test_the_bar_stays_for_two_passages_of_sound(rebounds: list[_Rebound]) -> None:
    for found in rebounds:  # the moment is known to a step
        assert abs(found.contact_time - 2.0 - OPENS * _lateness(found)) <= found.step


def test_the_wall_feels_the_impedance_of_the_bar(rebounds: list[_Rebound]) -> None:
    # ρ c v₀, but for the nodes that stop at once, a share of the mass that is half a step's wave
    for found in rebounds:
        assert abs(found.pressure - 1.0) < found.step


def test_nothing_is_lost_but_what_the_struck_nodes_had(rebounds: list[_Rebound]) -> None:
    # with θ = 1/2 waves keep their energy, and a contact that stays closed takes none; the first
    # impulse P stops nodes from v₀ to 0 and takes P v₀/2
    for found in rebounds:
        assert found.energy == pytest.approx(1.0 - found.struck, abs=1e-8)
        assert found.most <= 1.0 - found.struck + 1e-8


def test_the_rebound_is_that_of_waves(rebounds: list[_Rebound]) -> None:
    # a step's impulse at the start, when nodes stop at once, may be missing besides
    for found in rebounds:
        missing = 1.0 - found.velocity
        assert abs(missing - MISSING * _lateness(found)) < found.step
    missing = [1.0 - found.velocity for found in rebounds]
    assert all(a > b > 0.0 for a, b in itertools.pairwise(missing))


def test_the_implicit_end_of_the_scheme_damps(rebounds: list[_Rebound]) -> None:
    found = _rebound(20, theta=1.0)
    assert found.energy < rebounds[1].energy
    assert found.most <= 1.0


# In plane strain a disk breathes with u = J₁(k r), k = ω/c_P, whose stress vanishes at the rim if
# k R J₀(k R)/J₁(k R) = 2 µ/(λ + 2 µ) = (1 − 2ν)/(1 − ν).
def _breathing(poisson: float) -> float:
    """ω of a disk with radius, density and Young's modulus 1."""
    ratio = (1.0 - 2.0 * poisson) / (1.0 - poisson)
    k = brentq(lambda x: x * j0(x) - ratio * j1(x), 0.5, 2.4)
    stiff = (1.0 - poisson) / ((1.0 + poisson) * (1.0 - 2.0 * poisson))  # ρ c_P²
    return float(k * np.sqrt(stiff))


def _period(elements: int, poisson: float, damping: float = 0.0) -> tuple[float, float]:
    """Of a breathing disk: period, and the factor by which the amplitude falls in one period."""
    omega = _breathing(poisson)
    dt = 2.0 * np.pi / omega / 400.0
    elastic = {
        "young": 1.0, "poisson": poisson, "elements": elements, "damping": {"stiffness": damping}
    }  # fmt: skip
    sim = simulation({"grains": [grain([0.0, 0.0], elastic, diameter=2.0)]}, dt)
    assert sim.model.elastic is not None
    node = sim.model.elastic.forms[0].node
    k = omega / np.sqrt((1.0 - poisson) / ((1.0 + poisson) * (1.0 - 2.0 * poisson)))
    r = np.linalg.norm(node, axis=1)
    shape = np.divide(j1(k * r), r, out=np.full_like(r, 0.5 * k), where=r > 0.0)
    deform(sim, 1e-6 * shape[:, None] * node)
    amplitude = []
    for _ in range(900):
        sim.step()
        assert sim.state.deformation is not None
        amplitude.append(float(np.vdot(sim.state.deformation.displacement, node)))
    a = np.array(amplitude)
    peak = np.flatnonzero((a[1:-1] > a[:-2]) & (a[1:-1] > a[2:])) + 1
    top = [np.polyfit([-1.0, 0.0, 1.0], a[p - 1 : p + 2], 2) for p in peak[:2]]
    at = [p - 0.5 * c[1] / c[0] for p, c in zip(peak[:2], top, strict=True)]
    return (at[1] - at[0]) * dt, a[peak[1]] / a[peak[0]]


@pytest.mark.parametrize("poisson", [0.0, 0.3])
def test_a_free_disk_breathes_at_its_eigenfrequency(poisson: float) -> None:
    exact = 2.0 * np.pi / _breathing(poisson)
    error = [_period(n, poisson)[0] / exact - 1.0 for n in (4, 8)]
    # linear elements are of second order: 1/elements² with a factor of order 1; the step adds
    # (ω dt)²/12, two parts in a hundred thousand
    assert abs(error[0]) < 1.0 / 4**2
    assert abs(error[1]) < 0.3 * abs(error[0]) + 1e-4


def test_stiffness_damping_takes_what_it_should() -> None:
    # a mode with the damping ratio ζ = β ω/2 falls by exp(−2π ζ/√(1 − ζ²)) in a period
    omega, beta = _breathing(0.0), 0.02
    ratio = 0.5 * beta * omega
    falls = np.exp(-2.0 * np.pi * ratio / np.sqrt(1.0 - ratio**2))
    # the frequency of the mesh is off by 1/8² at most, and the scheme by (ω dt)²
    assert _period(8, 0.0, beta)[1] == pytest.approx(falls, rel=2.0 * np.pi * ratio / 64.0 + 1e-3)
