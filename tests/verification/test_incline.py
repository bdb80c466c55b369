"""Blocks, disks and spheres on planes, flat and inclined: friction, rolling, spinning.

Constant forces give constant accelerations, which the implicit Euler step integrates exactly in
velocity. With one contact the solver is exact too, so velocities hold to rounding, 10⁻¹⁰ relative
after some hundred steps.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg

from .helpers import floor, grains, start, steps, up

pytestmark = pytest.mark.rounding

G = 9.81
R = 0.5
MU = 0.4
DIMS = (2, 3)
# moment of inertia / (m r²), and the index and sign of the spin of a roll towards +x
KAPPA = {2: 0.5, 3: 0.4}
AXIS = {2: (0, -1.0), 3: (1, 1.0)}
ROUNDING = {"rel": 1e-10, "abs": 1e-12}


def on_slope(dim: int, tangent: float, *, tilt_plane: bool = False, **keys) -> hg.Simulation:
    """A grain on a plane that falls towards +x at slope ``tangent``; lock or law in ``keys``."""
    angle = math.atan(tangent)
    s, c = math.sin(angle), math.cos(angle)
    gravity, normal = np.zeros(dim), np.zeros(dim)
    if tilt_plane:
        gravity[-1] = -G
        normal[0], normal[-1] = s, c
    else:
        gravity[0], gravity[-1] = G * s, -G * c
        normal[-1] = 1.0
    sets = grains(R * normal, **{k: keys.pop(k) for k in ("lock", "velocity", "spin") if k in keys})
    wall = hg.Plane(point=[0.0] * dim, normal=normal.tolist())
    return start(dim, sets, gravity=gravity.tolist(), walls=[wall], **keys)


def downhill(sim: hg.Simulation) -> float:
    """Speed down the slope."""
    normal = sim.model.wall_axis[0]
    along = np.zeros(normal.size)
    along[0], along[-1] = normal[-1], -normal[0]
    return float(sim.state.velocity[0] @ along)


def roll(sim: hg.Simulation) -> float:
    """Spin, positive for a roll towards +x."""
    index, sign = AXIS[sim.model.dim]
    return float(sign * sim.state.spin[0, index])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("tilt_plane", [False, True])
def test_block_rests_up_to_the_friction_angle(dim, tilt_plane):
    keys = {"lock": ["rotation"], "law": {"friction": MU}, "tilt_plane": tilt_plane}
    sim = on_slope(dim, MU * (1 - 1e-9), **keys)
    steps(sim, 200)
    assert abs(downhill(sim)) < 1e-12
    sim = on_slope(dim, MU * (1 + 1e-6), **keys)
    steps(sim, 200)
    expected = G * 1e-6 * MU * math.cos(math.atan(MU)) * sim.state.time
    assert downhill(sim) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("tilt_plane", [False, True])
def test_block_slides_beyond_it(dim, tilt_plane):
    sim = on_slope(dim, 0.8, lock=["rotation"], law={"friction": MU}, tilt_plane=tilt_plane)
    steps(sim, 100)
    angle = math.atan(0.8)
    a = G * (math.sin(angle) - MU * math.cos(angle))
    assert downhill(sim) == pytest.approx(a * sim.state.time, **ROUNDING)
    force = sim.engine.wall_force[0]
    normal = sim.model.wall_axis[0]
    weight = sim.model.mass[0] * G * math.cos(angle)
    assert -force @ normal == pytest.approx(weight, **ROUNDING)
    assert np.linalg.norm(force) == pytest.approx(weight * math.hypot(1, MU), **ROUNDING)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("share", [0.1, 0.999])
def test_disk_and_sphere_roll(dim, share):
    """a = g sin/(1 + κ) with 2/3 for a disk, 5/7 for a sphere, while tan ≤ (1 + 1/κ) µ."""
    kappa = KAPPA[dim]
    limit = (1 + 1 / kappa) * MU
    assert limit == pytest.approx({2: 3.0, 3: 3.5}[dim] * MU)
    sim = on_slope(dim, share * limit, law={"friction": MU})
    steps(sim, 100)
    v = G * math.sin(math.atan(share * limit)) / (1 + kappa) * sim.state.time
    assert downhill(sim) == pytest.approx(v, **ROUNDING)
    assert roll(sim) * R == pytest.approx(v, **ROUNDING)


@pytest.mark.parametrize("dim", DIMS)
def test_disk_and_sphere_roll_and_slip_on_steep_slopes(dim):
    kappa = KAPPA[dim]
    tangent = 1.2 * (1 + 1 / kappa) * MU
    sim = on_slope(dim, tangent, law={"friction": MU}, tilt_plane=True)
    steps(sim, 100)
    t, angle = sim.state.time, math.atan(tangent)
    slide = G * (math.sin(angle) - MU * math.cos(angle))
    assert downhill(sim) == pytest.approx(slide * t, **ROUNDING)
    assert roll(sim) == pytest.approx(MU * G * math.cos(angle) / (kappa * R) * t, **ROUNDING)
    assert downhill(sim) > roll(sim) * R


@pytest.mark.parametrize("dim", DIMS)
def test_sliding_ball_ends_rolling(dim):
    """Thrown without spin it slips, then rolls at v₀/(1 + κ), whatever µ is."""
    v0 = 1.0
    velocity = [v0] + [0.0] * (dim - 1)
    sim = on_slope(dim, 0.0, law={"friction": MU}, velocity=velocity)
    kappa = KAPPA[dim]
    steps(sim, 3)
    assert downhill(sim) == pytest.approx(v0 - MU * G * sim.state.time, **ROUNDING)
    steps(sim, 100)
    assert downhill(sim) == pytest.approx(v0 / (1 + kappa), **ROUNDING)
    assert roll(sim) * R == pytest.approx(v0 / (1 + kappa), **ROUNDING)


def test_sphere_slides_along_any_direction_of_the_plane():
    """Friction opposes the slip in both tangents: the path is straight along the slip."""
    v0 = np.array([0.6, 0.8])
    sim = start(
        3,
        grains([0, 0, R], velocity=[*v0, 0.0], lock=["rotation"]),
        walls=[floor(3)],
        law={"friction": MU},
        gravity=[0, 0, -G],
    )
    steps(sim, 10)
    np.testing.assert_allclose(sim.state.velocity[0, :2], v0 * (1 - MU * G * 0.1), rtol=1e-10)


# ---------------------------------------------------------------------- static and dynamic friction
@pytest.mark.parametrize("dim", DIMS)
def test_static_friction_holds_and_dynamic_friction_slows(dim):
    law = {"friction": 0.5, "friction_dynamic": 0.3}
    sim = on_slope(dim, 0.5 * (1 - 1e-9), lock=["rotation"], law=law)
    steps(sim, 100)
    assert abs(downhill(sim)) < 1e-12
    tangent = 0.5 * (1 + 1e-9)
    sim = on_slope(dim, tangent, lock=["rotation"], law=law)
    steps(sim, 100)
    angle = math.atan(tangent)
    a = G * (math.sin(angle) - 0.3 * math.cos(angle))
    assert downhill(sim) == pytest.approx(a * sim.state.time, **ROUNDING)


@pytest.mark.parametrize("dim", DIMS)
def test_a_growing_pull_breaks_static_friction(dim):
    """F = c t moves the block from the step in which F exceeds µ_s m g; then m a = F − µ_d m g."""
    dt, c = 0.01, 2.0
    law = {"friction": 0.5, "friction_dynamic": 0.3}
    pull = [f"{c} * t"] + [0.0] * (dim - 1)
    position = [0.0] * (dim - 1) + [R]
    sim = start(
        dim,
        grains(position, lock=["rotation"], force=pull),
        walls=[floor(dim)],
        law=law,
        gravity=[0.0] * (dim - 1) + [-1.0],
        dt=dt,
    )
    m = sim.model.mass[0]
    v = 0.0
    for k in range(120):
        sim.step()
        force = c * (k + 0.5) * dt  # taken at the middle of the step
        held = v == 0.0 and force <= 0.5 * m
        v = 0.0 if held else v + dt * (force / m - 0.3)
        assert sim.state.velocity[0, 0] == pytest.approx(v, **ROUNDING)
    assert v > 0.0


# ---------------------------------------------------------------------- rolling and torsion
@pytest.mark.parametrize("dim", DIMS)
def test_rolling_resistance_holds_on_a_slope(dim):
    """Rest up to tan = µ_r; beyond, a = g (sin − µ_r cos)/(1 + κ)."""
    mu_r, kappa = 0.1, KAPPA[dim]
    law = {"friction": MU, "rolling": mu_r}
    sim = on_slope(dim, mu_r * (1 - 1e-6), law=law)
    steps(sim, 100)
    assert abs(downhill(sim)) < 1e-10
    sim = on_slope(dim, 0.25, law=law)
    steps(sim, 100)
    angle = math.atan(0.25)
    a = G * (math.sin(angle) - mu_r * math.cos(angle)) / (1 + kappa)
    # force and torque are two updates that take turns: right to the solver's tolerance
    assert downhill(sim) == pytest.approx(a * sim.state.time, rel=1e-9)
    assert roll(sim) * R == pytest.approx(a * sim.state.time, rel=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_rolling_resistance_stops_a_rolling_grain(dim):
    """a = −µ_r g/(1 + κ); it comes to rest, and stays, within a step of v₀²/(2|a|)."""
    mu_r, v0, dt = 0.05, 0.5, 0.01
    spin = [0.0] * (1 if dim == 2 else 3)
    index, sign = AXIS[dim]
    spin[index] = sign * v0 / R
    velocity = [v0] + [0.0] * (dim - 1)
    sim = on_slope(dim, 0.0, law={"friction": MU, "rolling": mu_r}, velocity=velocity, spin=spin)
    a = mu_r * G / (1 + KAPPA[dim])
    steps(sim, 50)
    assert downhill(sim) == pytest.approx(v0 - a * 0.5, rel=1e-9)
    assert roll(sim) * R == pytest.approx(v0 - a * 0.5, rel=1e-9)
    steps(sim, 150)
    assert abs(downhill(sim)) < 1e-10
    assert abs(roll(sim)) < 1e-10
    # implicit Euler counts each step with its final velocity: short by v₀ dt/2 at most
    assert sim.state.position[0, 0] == pytest.approx(v0**2 / (2 * a), abs=v0 * dt)


def test_torsion_stops_a_spinning_sphere():
    """dω/dt = −µ_o r m g / (2/5 m r²), then rest; rolling resistance does not act on it."""
    mu_o, w0 = 0.1, 2.0
    sim = on_slope(3, 0.0, law={"friction": MU, "torsion": mu_o}, spin=[0.0, 0.0, w0])
    rate = 2.5 * mu_o * G / R
    steps(sim, 20)
    assert sim.state.spin[0, 2] == pytest.approx(w0 - rate * 0.2, rel=1e-9)
    steps(sim, 60)
    np.testing.assert_allclose(sim.state.spin[0], 0.0, atol=1e-12)
    sim = on_slope(3, 0.0, law={"friction": MU, "rolling": mu_o}, spin=[0.0, 0.0, w0])
    steps(sim, 20)
    assert sim.state.spin[0, 2] == w0


def spinning_on_another(dim, kind, w0, **keys):
    """A grain that spins on another one that is held; and −dω/dt = µ r_e m g / I of it."""
    below, above, mu = 0.75, 0.5, 0.05
    axes = ["x", "y", "z"][:dim]
    spin = [w0] if dim == 2 else [0.0, w0, 0.0] if kind == "rolling" else [0.0, 0.0, w0]
    sets = [
        grains([0.0] * dim, diameter=2 * below, lock=[*axes, "rotation"]),
        grains(up(dim, below + above), diameter=2 * above, lock=axes[:-1], spin=spin),
    ]
    sim = start(dim, sets, gravity=up(dim, -G), law={"friction": 0.0, kind: mu}, **keys)
    kappa = KAPPA[dim]  # I = κ m r²
    effective = below * above / (below + above)
    return sim, mu * effective * G / (kappa * above**2)


@pytest.mark.parametrize(("dim", "kind"), [(2, "rolling"), (3, "rolling"), (3, "torsion")])
def test_two_grains_resist_with_their_effective_radius(dim, kind):
    """dω/dt = −µ r_e m g / I, r_e = r_1 r_2/(r_1 + r_2): one spins on another that is held."""
    w0 = 3.0
    sim, rate = spinning_on_another(dim, kind, w0)
    steps(sim, 10)
    assert np.abs(sim.state.spin[1]).max() == pytest.approx(w0 - rate * sim.state.time, rel=1e-9)
    np.testing.assert_array_equal(sim.state.spin[0], 0.0)
