"""Closed forms of the disk on two walls: against each other and against linear programming."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import hardgrain
from hardgrain.errors import InputError
from hardgrain.papers.mcnamara2004.two_contacts import wedge as measure
from hardgrain.theory import wedge

MU = 0.3
ANGLES = (0.0, 0.1, 0.5, 1.0, 1.25)


@pytest.mark.parametrize("angle", ANGLES)
def test_equilibrium(angle: float) -> None:
    c = wedge.contact_matrix(angle, radius=0.7)
    f0, f1 = wedge.null_vector(angle), wedge.particular(angle)
    assert c @ f0 == pytest.approx(0.0, abs=1e-15)
    assert c @ f1 == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)
    assert f0 @ f1 == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.matrix_rank(c) == (3 if angle else 2)
    r, t = wedge.normal(angle, 0.4), wedge.tangential(angle, 0.4)
    assert f1 + 0.4 * f0 == pytest.approx([r, t, r, -t], abs=1e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_both_ends_slide(angle: float) -> None:
    """At a_min and a_max |T| = µ R, and between them it is less."""
    low, high = wedge.least(angle, MU), wedge.greatest(angle, MU)
    for a in (low, high):
        assert abs(wedge.tangential(angle, a)) == pytest.approx(MU * wedge.normal(angle, a))
    middle = 0.5 * (low + high)
    assert abs(wedge.tangential(angle, middle)) < MU * wedge.normal(angle, middle)
    for delta, component in (
        (wedge.delta_normal, wedge.normal),
        (wedge.delta_tangential, wedge.tangential),
    ):
        assert delta(angle, MU) == pytest.approx(component(angle, high) - component(angle, low))


def test_limits() -> None:
    assert wedge.delta_normal(0.0, MU) == 0.0  # the caption of Fig. 3 has µ
    assert wedge.delta_tangential(0.0, MU) == pytest.approx(MU)  # and here 2µ
    assert wedge.divergence(MU) == pytest.approx(0.41 * math.pi, abs=0.005 * math.pi)
    assert math.tan(wedge.divergence(MU)) == pytest.approx(1.0 / MU)
    assert wedge.divergence(0.0) == pytest.approx(0.5 * math.pi)
    for delta in (wedge.delta_normal, wedge.delta_tangential):
        assert delta(wedge.divergence(MU) - 1e-6, MU) > 1e4
        assert delta(wedge.divergence(MU) + 1e-6, MU) == math.inf
        assert delta(1.2, 0.0) == 0.0
    assert wedge.greatest(1.4, MU) == math.inf
    flat = measure(0.0, MU)  # both contacts are one point, and share the weight as they like
    assert flat.measured_normal == pytest.approx(1.0)
    assert flat.measured_tangential == pytest.approx(MU)
    assert wedge.least(1.2, 0.0) == pytest.approx(wedge.greatest(1.2, 0.0))


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("angle", [*ANGLES[1:], 1.4, 1.55])
def test_linear_programming_agrees(angle: float, mu: float) -> None:
    found = measure(angle, mu)
    assert found.measured_normal == pytest.approx(found.delta_normal, rel=1e-12, abs=1e-14)
    assert found.measured_tangential == pytest.approx(found.delta_tangential, rel=1e-12, abs=1e-14)
    assert math.isinf(found.measured_normal) == (math.tan(angle) * mu > 1.0)


def test_refusals() -> None:
    for name in wedge.__all__:
        function = getattr(wedge, name)
        arguments = inspect.signature(function).parameters
        given = dict.fromkeys(arguments, 0.5)
        function(**given)
        for wrong in arguments:
            with pytest.raises(InputError, match=f"^{wrong} is nan; give "):
                function(**given | {wrong: math.nan})
    with pytest.raises(InputError, match=r"angle is 1\.6; give an angle from 0 to 1\.57"):
        measure(1.6, 0.3)
    with pytest.raises(InputError, match=r"mu is -0\.1; give a coefficient"):
        measure(0.3, -0.1)
    assert hardgrain.theory.wedge is wedge
