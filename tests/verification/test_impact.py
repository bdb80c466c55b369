"""Single collisions against Newton's, Poisson's and Coulomb's closed forms.

Grains start in contact or so near that they meet in the first step. One contact is solved exactly
by one update, so everything holds to rounding: 10⁻¹² of the velocities involved.
"""

from __future__ import annotations

import numpy as np
import pytest

import hardgrain as hg

from .helpers import Floats, cross, floor, grains, start, steps, turn

pytestmark = pytest.mark.rounding

TIGHT = 1e-12
DIMS = (2, 3)


def test_grain_on_wall_rebounds_with_e():
    for dim in DIMS:
        for e in (0.3, 1.0):
            x = np.array([0.0] * (dim - 1) + [0.5 + 0.004])
            v = np.array([0.3, -1.0] if dim == 2 else [0.3, 0.2, -1.0])
            sim = start(
                dim, grains(x, velocity=v.tolist()), law={"restitution": e}, walls=[floor(dim)]
            )
            sim.step()
            expected = v.copy()
            expected[-1] *= -e
            np.testing.assert_allclose(sim.state.velocity[0], expected, atol=TIGHT)
            # it leaves from where it was: no gap is closed on the way
            np.testing.assert_allclose(sim.state.position[0], x + 0.01 * expected, atol=TIGHT)
            steps(sim, 10)
            np.testing.assert_allclose(sim.state.velocity[0], expected, atol=TIGHT)


@pytest.mark.parametrize("solver", [hg.GaussSeidel(), hg.RigidSolver()], ids=["sweeps", "rigid"])
@pytest.mark.parametrize("law", [{}, {"cohesion": 1e-9}], ids=["lean", "full"])
@pytest.mark.parametrize("dim", DIMS)
def test_slow_grains_rebound_better(dim, law, solver):
    """e(v) = 1 − (1 − e) (v/v₀)^(1/5), and nothing at all where that would be negative."""
    e, v0 = 0.6, 2.0
    along = np.array([0.6, 0.8] if dim == 2 else [2 / 3, 1 / 3, 2 / 3])
    for speed in (0.05, 2.0, 20.0, 1e4):
        sets = [grains([0.0] * dim), grains(1.0 * along, velocity=(-speed * along).tolist())]
        rebound = {"restitution": e, "restitution_speed": v0, "friction": 0.2}
        sim = start(dim, sets, law=rebound | law, solver=solver)
        sim.step()
        v = sim.state.velocity
        expected = max(1.0 - (1.0 - e) * (speed / v0) ** 0.2, 0.0)
        assert (v[1] - v[0]) @ along == pytest.approx(expected * speed, abs=1e-8 * speed)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_head_on_collision_of_unequal_grains(dim, e):
    along = np.array([0.6, 0.8] if dim == 2 else [2 / 3, 1 / 3, 2 / 3])
    sets = [
        grains([0.0] * dim, diameter=1.0, velocity=(1.0 * along).tolist()),
        grains(1.503 * along, diameter=2.0, velocity=(-0.4 * along).tolist()),
    ]
    sim = start(dim, sets, law={"restitution": e, "friction": 0.5})
    m1, m2 = sim.model.mass
    steps(sim, 2)  # without restitution the first only closes the gap
    center = (m1 * 1.0 - m2 * 0.4) / (m1 + m2)
    expected = [center - e * 1.4 * m2 / (m1 + m2), center + e * 1.4 * m1 / (m1 + m2)]
    np.testing.assert_allclose(sim.state.velocity, np.outer(expected, along), atol=TIGHT)
    np.testing.assert_allclose(sim.state.spin, 0.0, atol=TIGHT)


@pytest.mark.parametrize("dim", DIMS)
def test_inelastic_collision_takes_two_steps(dim):
    """Step 1 closes the gap exactly, at speed g/dt; step 2 stops the motion."""
    gap, dt = 0.006, 0.01
    along = np.array([0.6, 0.8] if dim == 2 else [2 / 3, 1 / 3, 2 / 3])
    sets = [
        grains([0.0] * dim, velocity=(0.7 * along).tolist()),
        grains((1.0 + gap) * along, velocity=(-0.3 * along).tolist()),
    ]
    sim = start(dim, sets, dt=dt)
    sim.step()
    v, x = sim.state.velocity, sim.state.position
    assert (v[1] - v[0]) @ along == pytest.approx(-gap / dt, abs=TIGHT)
    assert np.linalg.norm(x[1] - x[0]) - 1.0 == pytest.approx(0.0, abs=1e-15)
    sim.step()
    v = sim.state.velocity
    np.testing.assert_allclose(v, np.outer([0.2, 0.2], along), atol=TIGHT)
    steps(sim, 5)  # they go on together: nothing is left to converge
    assert sim.report.residual == 0.0
    assert sim.report.sweeps == 1
    np.testing.assert_allclose(sim.state.velocity, v, atol=TIGHT)

    sim = start(
        dim,
        grains([0.0] * (dim - 1) + [0.5 + gap], velocity=[0.0] * (dim - 1) + [-1.0]),
        dt=dt,
        walls=[floor(dim)],
    )
    sim.step()
    assert sim.state.velocity[0, -1] == pytest.approx(-gap / dt, abs=TIGHT)
    assert sim.state.position[0, -1] == pytest.approx(0.5, abs=1e-15)
    sim.step()
    assert sim.state.velocity[0, -1] == pytest.approx(0.0, abs=TIGHT)


def test_a_gap_that_does_not_close_leaves_grains_alone():
    sets = [grains([0.0, 0.0], velocity=[0.5, 0.0]), grains([1.006, 0.0])]
    sim = start(2, sets, dt=0.01)
    sim.step()
    np.testing.assert_array_equal(sim.state.velocity, [[0.5, 0.0], [0.0, 0.0]])


def collide(
    normal: Floats,
    mass: Floats,
    inertia: Floats,
    radius: Floats,
    velocity: Floats,
    spin: Floats,
    mu: float,
    e_n: float,
    e_t: float,
) -> tuple[Floats, Floats, bool]:
    """Velocities and spins after a collision of two round bodies, and whether they slid.

    An infinite mass stands for a wall. Reduced masses as in eqs 17 and 18 of the review.
    """
    arm = np.array([radius[0] * normal, -radius[1] * normal])
    u = velocity[1] + turn(spin[1], arm[1]) - velocity[0] - turn(spin[0], arm[0])
    u_n = u @ normal
    u_t = u - u_n * normal
    with np.errstate(divide="ignore", invalid="ignore"):
        m_n = 1.0 / np.sum(1.0 / mass)
        m_t = 1.0 / np.sum(1.0 / mass + np.where(np.isinf(inertia), 0.0, radius**2 / inertia))
    p_n = -(1.0 + e_n) * m_n * u_n
    p_t = -(1.0 + e_t) * m_t * u_t
    slid = bool(np.linalg.norm(p_t) > mu * p_n)
    if slid:
        p_t *= mu * p_n / np.linalg.norm(p_t)
    p = p_n * normal + p_t
    sign = np.array([[-1.0], [1.0]])
    v = velocity + sign * p / mass[:, None]
    w = spin + sign * cross(arm, np.tile(p, (2, 1))) / inertia[:, None]
    return v, w, slid


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("e_n", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("e_t", [0.0, 0.6])
def test_oblique_collision_of_spinning_grains(dim, e_n, e_t):
    seen = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        normal = rng.normal(size=dim)
        normal /= np.linalg.norm(normal)
        v = rng.normal(size=(2, dim))
        v[1] -= ((v[1] - v[0]) @ normal + 1.0) * normal  # approach at speed 1
        w = rng.normal(size=(2, 1 if dim == 2 else 3))
        mu = [0.05, 2.0][seed % 2]
        sets = [
            grains([0.0] * dim, diameter=1.0, velocity=v[0].tolist(), spin=w[0].tolist()),
            grains(1.4 * normal, diameter=1.8, velocity=v[1].tolist(), spin=w[1].tolist()),
        ]
        law = {"friction": mu, "restitution": e_n, "restitution_tangential": e_t}
        sim = start(dim, sets, law=law)
        sim.step()
        m = sim.model
        v, w, slid = collide(normal, m.mass, m.inertia, m.radius, v, w, mu, e_n, e_t)
        np.testing.assert_allclose(sim.state.velocity, v, atol=TIGHT)
        np.testing.assert_allclose(sim.state.spin, w, atol=TIGHT)
        seen.add(slid)
    assert seen == {True, False}


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("mu", [0.1, 5.0])
def test_oblique_impact_on_a_plane_gives_spin(dim, mu):
    """Sliding: Δv = −µ (1 + e_n) v_n. Sticking: the slip is reversed to −e_t of itself."""
    e_n, e_t, v_n, v_t = 0.8, 0.5, 1.0, 0.7
    velocity = [v_t, -v_n] if dim == 2 else [v_t, 0.0, -v_n]
    sim = start(
        dim,
        grains([0.0] * (dim - 1) + [0.5], velocity=velocity),
        walls=[floor(dim)],
        law={"friction": mu, "restitution": e_n, "restitution_tangential": e_t},
    )
    sim.step()
    m, r = sim.model.mass[0], 0.5
    inertia = (0.5 if dim == 2 else 0.4) * m * r**2
    p_t = min(mu * (1 + e_n) * m * v_n, (1 + e_t) * v_t / (1 / m + r**2 / inertia))
    v_after, w_after = v_t - p_t / m, r * p_t / inertia  # w: backwards roll, top moves with v
    assert sim.state.velocity[0, 0] == pytest.approx(v_after, abs=TIGHT)
    assert sim.state.velocity[0, -1] == pytest.approx(e_n * v_n, abs=TIGHT)
    # a grain that goes to +x on a floor below turns clockwise: −z in 2D, +y in 3D
    assert sim.state.spin[0, 0 if dim == 2 else 1] * (-1 if dim == 2 else 1) == pytest.approx(
        w_after, abs=TIGHT
    )
    if mu > 1.0:
        assert v_after - r * w_after == pytest.approx(-e_t * v_t, abs=TIGHT)


@pytest.mark.parametrize("wall", ["plane", "segment", "end", "inside", "outside"])
def test_impact_on_every_wall_of_2d(wall):
    """The same closed form, with the wall's normal at the point of contact."""
    at, normal, walls = {
        "plane": ([0.3, 0.5], [0.0, -1.0], hg.Plane(point=[0, 0], normal=[0, 1])),
        "segment": ([0.3, 0.5], [0.0, -1.0], hg.Segment(start=[-1, 0], end=[1, 0])),
        "end": ([1.3, 0.4], [-0.6, -0.8], hg.Segment(start=[-1, 0], end=[1, 0])),
        "inside": ([0.9, -1.2], [0.6, -0.8], hg.Cylinder(point=[0, 0], radius=2.0)),
        "outside": (
            [0.9, 1.2],
            [-0.6, -0.8],
            hg.Cylinder(point=[0, 0], radius=1.0, side="outside"),
        ),
    }[wall]
    _impact_on_wall(np.array(at), np.array(normal), walls)


@pytest.mark.parametrize("wall", ["plane", "inside", "outside"])
def test_impact_on_every_wall_of_3d(wall):
    axis = np.array([2 / 3, 1 / 3, 2 / 3])
    across = np.array([1.0, -2.0, 0.0]) / np.sqrt(5.0)
    at, normal, walls = {
        "plane": (0.5 * axis, -axis, hg.Plane(point=[0, 0, 0], normal=axis.tolist())),
        "inside": (
            0.3 * axis + 1.5 * across,
            across,
            hg.Cylinder(point=[0, 0, 0], axis=axis.tolist(), radius=2.0),
        ),
        "outside": (
            0.3 * axis + 1.5 * across,
            -across,
            hg.Cylinder(point=[0, 0, 0], axis=axis.tolist(), radius=1.0, side="outside"),
        ),
    }[wall]
    _impact_on_wall(at, normal, walls)


def _impact_on_wall(at: Floats, normal: Floats, wall: hg.Plane | hg.Segment | hg.Cylinder) -> None:
    dim = at.size
    for mu, e_t in ((0.05, 0.0), (3.0, 0.4)):
        rng = np.random.default_rng(7)
        v = np.zeros((2, dim))
        v[0] = normal + 0.5 * rng.normal(size=dim)
        w = np.zeros((2, 1 if dim == 2 else 3))
        w[0] = rng.normal(size=w.shape[1])
        sim = start(
            dim,
            grains(at, velocity=v[0].tolist(), spin=w[0].tolist()),
            walls=[wall],
            law={"friction": mu, "restitution": 0.5, "restitution_tangential": e_t},
        )
        sim.step()
        m = sim.model
        mass, inertia = np.array([m.mass[0], np.inf]), np.array([m.inertia[0], np.inf])
        v, w, _ = collide(normal, mass, inertia, np.array([0.5, 0.0]), v, w, mu, 0.5, e_t)
        np.testing.assert_allclose(sim.state.velocity[0], v[0], atol=TIGHT)
        np.testing.assert_allclose(sim.state.spin[0], w[0], atol=TIGHT)


def test_outside_of_a_segment_nothing_is_felt():
    sim = start(
        2, grains([1.6, 0.0], velocity=[0.0, -1.0]), walls=[hg.Segment(start=[-1, 0], end=[1, 0])]
    )
    steps(sim, 100)
    np.testing.assert_array_equal(sim.state.velocity[0], [0.0, -1.0])
