"""Static contact of deformable grains: the patch test, Hertz, Cattaneo and Mindlin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from hardgrain.contact.surfaces import LARGER
from hardgrain.core.model import Floats
from hardgrain.measure.deformed import deformed
from tests.verification.elastic_scenes import grain, simulation

POISSON = 0.3


# A uniform pressure is a solution of both blocks for themselves. Contact points pass it on through
# an interface whose nodes do not match (`contact.surfaces`), so that it is the solution of both.
@pytest.mark.parametrize("elements", [(3, 4), (4, 3), (3, 3), (5, 7)])
@pytest.mark.parametrize("pressure", [1e-3, 1e-5])
def test_uniform_pressure_passes_an_interface(elements: tuple[int, int], pressure: float) -> None:
    def block(y: float, height: float, many: int) -> dict[str, Any]:
        elastic = {"young": 1.0, "poisson": POISSON, "elements": many}
        shape = {"kind": "box", "sides": [1.0, height]}
        return grain([0.0, y], elastic, shape=shape, lock=["x"])

    floor = {"kind": "plane", "point": [0.0, 0.0], "normal": [0.0, 1.0]}
    lid = {
        "kind": "plane", "point": [0.0, 1.3], "normal": [0.0, -1.0],
        "piston": {"mass": 1.0, "force": pressure},
    }  # fmt: skip
    blocks = [block(0.3, 0.6, elements[0]), block(0.95, 0.7, elements[1])]
    scene = {"grains": blocks, "walls": [floor, lid], "contacts": [{"friction": 0.0}]}
    sim = simulation(scene, dt=1.0, theta=1.0)
    for _ in range(80):
        sim.step()
    stress = deformed(sim.model, sim.state).stress[:, :2, :2] / pressure
    # linear elasticity leaves out what is smaller by the strain; the solver's tolerance leaves the
    # contact velocities of the way there open, of which the first is pressure × dt / mass
    assert np.abs(stress - np.diag([0.0, 1.0])).max() < pressure + 1e-7


class _Pressed(NamedTuple):
    x: Floats  # (m,) undeformed places of contact points along the contact
    normal: Floats  # (m,) forces
    across: Floats  # (m,) forces along x on the lower disk
    slides: Floats  # (m,) tangential over normal force


# Two equal disks of radius and modulus 1. Loads act on all of their mass, which the contact does
# not feel as long as it is much smaller than the disks.
def _pressed(elements: int, force: float, mu: float = 0.0, shear: float = 0.0) -> _Pressed:
    """Two disks pressed together, and then sheared by some part of µ times that force."""
    dt = 3.0
    elastic = {"young": 1.0, "poisson": POISSON, "elements": elements}
    turn = 0.37 * 2.0 * np.pi / (6 * elements)  # nodes do not meet nodes
    drag = {
        "kind": "table", "time": [0.0, 20.0 * dt, 40.0 * dt, 1e9],
        "value": [0.0, 0.0, shear * mu * force, shear * mu * force],
    }  # fmt: skip
    held = grain([0.0, 0.0], elastic, diameter=2.0, lock=["x", "y", "rotation"])
    lock = ["rotation"] if shear else ["rotation", "x"]
    pushed = grain(
        [0.0, 2.0], elastic, diameter=2.0, lock=lock, orientation=turn, force=[drag, -force]
    )
    scene = {"grains": [held, pushed], "shock": "g", "contacts": [{"friction": mu}]}
    sim = simulation(scene, dt, theta=1.0, on_implausible="report")
    for _ in range(100):
        report = sim.step()
    assert report.kinetic < 1e-16 * force
    assert sim.model.elastic is not None
    node, c = sim.model.elastic.forms[0].node, sim.state.contacts
    own = c.feature < LARGER
    number = np.where(own, c.feature, c.feature - LARGER)
    along = np.cos(turn) * node[number, 0] - np.sin(turn) * node[number, 1]
    x = np.where(own, node[number, 0], along + sim.state.position[1, 0])
    normal = c.normal_impulse() / dt
    tangential = np.abs(c.impulse[:, 0] * c.normal[:, 1] - c.impulse[:, 1] * c.normal[:, 0]) / dt
    slides = np.divide(tangential, normal, out=np.zeros_like(x), where=normal > 0.0)
    return _Pressed(x, normal, -c.impulse[:, 0] / dt, slides)


HALF = 0.2  # half-width of the contact, over the radius of the disks


def _hertz_force() -> float:
    """F = π E* a²/(4 R*), with R* = 1/2 and E* = E/2(1 − ν²)."""
    return float(np.pi / (2.0 * (1.0 - POISSON**2)) * HALF**2 / (4.0 * 0.5))


def _half_width(found: _Pressed) -> float:
    """a from the second moment of the pressure, which is F a²/4."""
    x = found.x - np.average(found.x, weights=found.normal)
    return 2.0 * float(np.sqrt(np.average(x**2, weights=found.normal)))


@pytest.fixture(scope="module")
def hertz() -> dict[int, _Pressed]:
    return {elements: _pressed(elements, _hertz_force()) for elements in (6, 12)}


def test_hertz_gives_the_width_of_the_contact(hertz: dict[int, _Pressed]) -> None:
    coarse, fine = (_half_width(hertz[n]) / HALF for n in (6, 12))
    # The pressure ends as a square root, which sums over points of distance h see up to h^(3/2).
    order = 2.0**1.5
    assert abs(fine - 1.0) < 0.5 * abs(coarse - 1.0)  # faster than first order
    limit = (order * fine - coarse) / (order - 1.0)
    assert limit == pytest.approx(1.0, abs=HALF**2)  # what Hertz leaves out


def test_hertz_gives_the_profile_of_the_pressure(hertz: dict[int, _Pressed]) -> None:
    found = hertz[12]
    order = np.argsort(found.x)
    x, f = found.x[order] - np.average(found.x, weights=found.normal), found.normal[order]
    total = float(f.sum())
    assert total == pytest.approx(_hertz_force(), rel=1e-4)
    s = np.clip(x / HALF, -1.0, 1.0)
    exact = 0.5 + (s * np.sqrt(1.0 - s**2) + np.arcsin(s)) / np.pi  # force up to x, over all
    below = (np.cumsum(f) - 0.5 * f) / total
    # forces come in lumps: a facet of the coarser side bears up to p₀ h = 2 F h/(π a)
    h = 2.0 * np.pi / (6 * 12)
    assert np.abs(below - exact).max() < 2.0 * h / (np.pi * HALF)


# Cattaneo and Mindlin: q = µ p(x; a) − µ (c/a) p₀ √(1 − x²/c²), with (c/a)² = 1 − Q/µF. The second
# moment of q is µ F (a² − c⁴/a²)/4, so that it tells c.
@pytest.mark.parametrize("shear", [0.25, 0.5])
def test_a_sheared_contact_sticks_in_its_middle(shear: float) -> None:
    elements, mu = 12, 0.3
    found = _pressed(elements, _hertz_force(), mu, shear)
    assert found.across.sum() == pytest.approx(shear * mu * _hertz_force(), rel=1e-9)
    assert found.slides.max() <= mu * (1.0 + 1e-6)
    x = found.x - np.average(found.x, weights=found.normal)
    share = (found.across * x**2).sum() / (mu * (found.normal * x**2).sum())
    stuck = (1.0 - share) ** 0.25
    # slip begins at a node: c is known to half a facet
    half_facet = 0.5 * 2.0 * np.pi / (6 * elements) / HALF
    assert stuck == pytest.approx(np.sqrt(1.0 - shear), abs=half_facet)
