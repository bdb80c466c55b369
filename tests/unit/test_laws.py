"""Every law as plain Python, against closed forms, its own conditions and independent solutions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from hardgrain.law.coupled import LOCKED, make_coupled
from hardgrain.law.friction import make_friction
from hardgrain.law.restitution import make_restitution
from hardgrain.law.rolling import make_rolling
from hardgrain.law.shock import make_shock
from hardgrain.law.spring import make_spring


def bare(function):
    return function


shock, friction, rolling = make_shock(bare), make_friction(bare), make_rolling(bare)
rebound_bias = make_restitution(bare).rebound_bias
coefficient = make_restitution(bare).coefficient
coupled = make_coupled(bare)
spring = make_spring(bare)

# Zero or well away from it: squares that underflow are a matter of their own (see the edges).
number = st.one_of(st.just(0.0), st.floats(1e-6, 10.0), st.floats(-10.0, -1e-6))
positive = st.floats(1e-3, 1e3)
limits = st.one_of(st.just(0.0), st.floats(1e-6, 10.0))


# ---------------------------------------------------------------------- shock
@given(gap=number, dt=positive)
def test_gap_speed(gap: float, dt: float) -> None:
    assert shock.gap_speed(gap, dt, True) == gap / dt
    assert shock.gap_speed(gap, dt, False) == max(gap, 0.0) / dt


@given(u=number, m=positive, gap=number, dt=positive, removes=st.booleans())
def test_push_is_signorini(u: float, m: float, gap: float, dt: float, removes: bool) -> None:
    """0 ≤ P ⊥ V + b ≥ 0 for V = u + P / m, whatever impulse was there before."""
    b = shock.gap_speed(gap, dt, removes)
    p = shock.push(0.0, m, u, b)
    v = u + p / m
    tiny = 1e-13 * (abs(u) + abs(b))
    assert p >= 0.0
    assert v + b >= -tiny
    assert abs(p * (v + b)) <= tiny * p
    already = 0.7 * m
    assert shock.push(already, m, u + already / m, b) == pytest.approx(
        p, abs=1e-12 * m * (1 + abs(u) + abs(b))
    )


def test_push_closes_a_gap_then_stops() -> None:
    """Two-step completion: the first step leaves the speed −g/dt, the second none."""
    gap, dt, m, u = 0.3, 0.1, 2.0, -5.0
    u += shock.push(0.0, m, u, shock.gap_speed(gap, dt, False)) / m
    assert u == pytest.approx(-gap / dt)
    u += shock.push(0.0, m, u, shock.gap_speed(gap + u * dt, dt, False)) / m
    assert u == pytest.approx(0.0, abs=1e-14)


def test_push_removes_an_overlap_only_when_asked() -> None:
    overlap, dt = -0.2, 0.1
    for removes, speed in ((True, 2.0), (False, 0.0)):
        b = shock.gap_speed(overlap, dt, removes)
        assert shock.push(0.0, 1.0, 0.0, b) == speed


# ---------------------------------------------------------------------- restitution
@given(u=st.floats(-10.0, -0.01), e=st.floats(0.01, 1.0), gap=st.floats(-0.1, 0.1), m=positive)
def test_newton_restitution(u: float, e: float, gap: float, m: float) -> None:
    """A contact that closes within the step leaves with −e times its approach."""
    dt = 0.02 + max(gap, 0.0) / -u
    bias = rebound_bias(shock.gap_speed(gap, dt, False), gap, u, u, e, dt)
    after = u + shock.push(0.0, m, u, bias) / m
    assert after == pytest.approx(-e * u, rel=1e-12)


@given(e=st.floats(0.0, 1.0), speed=positive, ratio=st.floats(1e-3, 1e3))
def test_restitution_falls_with_the_fifth_root_of_the_speed(
    e: float, speed: float, ratio: float
) -> None:
    found = coefficient(e, speed, ratio * speed)
    assert found == pytest.approx(max(1.0 - (1.0 - e) * ratio**0.2, 0.0), abs=1e-12)
    assert coefficient(e, speed, speed) == pytest.approx(e, abs=1e-12)
    assert coefficient(e, 0.0, ratio) == e  # the same at every speed
    assert coefficient(e, speed, -ratio) == e  # they part


@given(u=number, e=st.floats(0.0, 1.0), gap=number, dt=positive, removes=st.booleans())
def test_no_rebound_without_cause(u: float, e: float, gap: float, dt: float, removes: bool) -> None:
    bias = shock.gap_speed(gap, dt, removes)
    assert rebound_bias(bias, gap, u, u, 0.0, dt) == bias
    if u <= 0.0 < gap + u * dt:  # approaches, but does not close
        assert rebound_bias(bias, gap, u, u, e, dt) == bias


@given(before=positive, e=st.floats(0.01, 1.0), gap=number, dt=positive, free=number)
def test_opening_contact_pushed_shut(
    before: float, e: float, gap: float, dt: float, free: float
) -> None:
    """Moreau's law for a contact that was opening: V⁺ ≥ −e V⁻, or the gap's limit if that is more.

    Removal of an overlap goes on undisturbed.
    """
    bias = shock.gap_speed(gap, dt, False)
    assert rebound_bias(bias, gap, free, before, e, dt) == max(bias, e * before)
    bias = shock.gap_speed(-abs(gap) - 1e-6, dt, True)
    assert rebound_bias(bias, gap, free, before, e, dt) == bias


def test_rebound_with_overlap_removal_adds_both() -> None:
    bias = rebound_bias(shock.gap_speed(-0.1, 0.1, True), -0.1, -2.0, -3.0, 0.5, 0.1)
    assert bias == pytest.approx(-1.0 - 1.5)


# ---------------------------------------------------------------------- friction and rolling
@given(q=number, stick=limits, share=st.floats(0.0, 1.0))
def test_stick_or_slide(q: float, stick: float, share: float) -> None:
    slide = share * stick
    p = friction.stick_or_slide(q, stick, slide)
    assert p == (q if abs(q) <= stick else math.copysign(slide, q))
    f = friction.stick_or_slide_share(q * q, stick, slide)
    assert f * q == pytest.approx(p, rel=1e-14, abs=1e-150) or abs(abs(q) - stick) <= 1e-14 * stick


def test_share_of_nothing() -> None:
    assert friction.stick_or_slide_share(0.0, 0.0, 0.0) * 0.0 == 0.0
    assert math.isfinite(friction.stick_or_slide_share(0.0, 0.0, 0.0))
    assert friction.stick_or_slide_share(4.0, 1.0, 0.0) == 0.0  # frictionless


@given(spin=number, before=number, inertia=positive, limit=limits)
def test_resist(spin: float, before: float, inertia: float, limit: float) -> None:
    """The torque stops the relative spin, or acts at its limit against the spin that is left."""
    torque = rolling.resist(before, inertia, spin, limit)
    left = spin + (torque - before) / inertia
    scale = abs(spin) + abs(before) / inertia + 1e-300
    assert abs(torque) <= limit
    if abs(torque) < limit:
        assert abs(left) <= 1e-13 * scale
    assert torque * left <= 1e-13 * scale * limit


@given(spin=st.tuples(number, number, number), inertia=positive, limit=limits)
def test_resist_3d(spin: tuple[float, float, float], inertia: float, limit: float) -> None:
    torque = np.array(rolling.resist_3d(0.0, 0.0, 0.0, inertia, *spin, limit))
    wanted = -inertia * np.array(spin)
    size = np.linalg.norm(wanted)
    expected = wanted if size <= limit else wanted * (limit / size)
    np.testing.assert_allclose(torque, expected, rtol=1e-13, atol=1e-300)
    # a vector along one axis is the scalar law, the old torque included
    one = rolling.resist_3d(0.0, 0.4, 0.0, inertia, 0.0, spin[1], 0.0, limit)
    scalar = rolling.resist(0.4, inertia, spin[1], limit)
    np.testing.assert_allclose(one, [0.0, scalar, 0.0], rtol=1e-13)


# ---------------------------------------------------------------------- the general law
def solve(u: np.ndarray, w: np.ndarray, mu_s: float, mu_d: float, c: float = 0.0) -> np.ndarray:
    """The impulse (P_n, P_t…) of the law under test; u has 2 or 3 components."""
    upper = w[np.triu_indices(len(u))]
    # plain floats: a division by zero is then an error
    u, upper = u.tolist(), upper.tolist()
    if len(u) == 2:
        return np.array(coupled.coupled_2d(*u, *upper, mu_s, mu_d, float(c)))
    return np.array(coupled.coupled_3d(u, upper, mu_s, mu_d, float(c)))


def check(
    p: np.ndarray,
    u: np.ndarray,
    w: np.ndarray,
    mu_s: float,
    mu_d: float,
    c: float = 0.0,
    tolerance: float = 1e-10,
) -> None:
    """Signorini's and Coulomb's conditions on the final velocity, and no energy from nowhere."""
    v = u + w @ p
    held, push = p[0] + c, math.hypot(*p[1:])
    speed = tolerance * (np.abs(u).max() + np.abs(w).max() * (np.abs(p).max() + c))
    impulse = tolerance * (np.abs(p).max() + c)
    assert np.isfinite(p).all()
    assert held >= 0.0
    assert v[0] >= -speed
    assert abs(held * v[0]) <= speed * held
    assert push <= mu_s * held + impulse
    if np.abs(v[1:]).max() > speed and held > 0.0:  # slips
        assert push == pytest.approx(mu_d * held, abs=impulse)
        slip = math.hypot(*v[1:])
        assert p[1:] @ v[1:] <= -push * slip + speed * impulse / tolerance
    if c == 0.0:
        assert p @ (u + v) / 2 <= speed * np.abs(p).max()


def matrices(dim: int, least: float = 1e-2) -> st.SearchStrategy[np.ndarray]:
    """Symmetric positive definite matrices of any scale, condition up to about 10³."""

    def build(values: list[float], power: float) -> np.ndarray:
        a = np.array(values).reshape(dim, dim)
        return 10.0**power * (a @ a.T + least * np.eye(dim))

    entries = st.lists(st.floats(-1.0, 1.0), min_size=dim * dim, max_size=dim * dim)
    return st.builds(build, entries, st.sampled_from([-3.0, 0.0, 4.0]))


def vectors(dim: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(number, min_size=dim, max_size=dim).map(np.array)


frictions = st.one_of(st.sampled_from([0.0, 10.0]), st.floats(0.01, 2.0))
contacts = st.sampled_from([2, 3]).flatmap(lambda dim: st.tuples(vectors(dim), matrices(dim)))


# Squares of what is below 10⁻¹⁵⁰ vanish, and with them all that a tolerance could be taken of.
cohesions = st.one_of(st.just(0.0), st.floats(1e-100, 5.0))


@given(contact=contacts, mu_s=frictions, share=st.floats(0.0, 1.0), c=cohesions)
def test_coupled_obeys_its_conditions(contact, mu_s: float, share: float, c: float) -> None:
    u, w = contact
    for mu_d in (mu_s, share * mu_s):
        for tension in (0.0, c / w[0, 0]):
            check(solve(u, w, mu_s, mu_d, tension), u, w, mu_s, mu_d, tension)


@given(contact=contacts, mu=frictions)
def test_coupled_contact_opens(contact, mu: float) -> None:
    u, w = contact
    u[0] = abs(u[0]) + 1e-3
    assert not solve(u, w, mu, mu).any()


@given(contact=contacts, mu=st.floats(0.01, 2.0), factor=positive)
def test_coupled_scales(contact, mu: float, factor: float) -> None:
    """P is proportional to velocities and inversely to W."""
    u, w = contact
    p = solve(u, w, mu, mu)
    scale = np.abs(p).max()
    np.testing.assert_allclose(
        solve(factor * u, w, mu, mu), factor * p, atol=1e-10 * factor * scale
    )
    np.testing.assert_allclose(
        solve(u, factor * w, mu, mu), p / factor, atol=1e-10 * scale / factor
    )


@given(
    u=vectors(3), masses=st.tuples(positive, positive), mu_s=frictions, share=st.floats(0.0, 1.0)
)
def test_coupled_reduces_to_the_simple_law(u, masses, mu_s: float, share: float) -> None:
    """A diagonal W: push, then stick or slide."""
    m_n, m_t = masses
    w = np.diag([1 / m_n, 1 / m_t, 1 / m_t])
    for mu_d in (mu_s, share * mu_s):
        p_n = shock.push(0.0, m_n, u[0], 0.0)
        q = -m_t * u[1:]
        assume(abs(abs(q[0]) - mu_s * p_n) > 1e-9 * p_n)
        assume(abs(math.hypot(*q) - mu_s * p_n) > 1e-9 * p_n)
        p_t = friction.stick_or_slide(q[0], mu_s * p_n, mu_d * p_n)
        np.testing.assert_allclose(
            solve(u[:2], w[:2, :2], mu_s, mu_d), [p_n, p_t], rtol=1e-12, atol=1e-12 * p_n
        )
        f = friction.stick_or_slide_share(q @ q, mu_s * p_n, mu_d * p_n)
        np.testing.assert_allclose(
            solve(u, w, mu_s, mu_d), [p_n, *f * q], rtol=1e-12, atol=1e-12 * p_n
        )


@given(u=vectors(3), w=matrices(3), angle=st.floats(0.0, 2 * math.pi), mu=frictions)
def test_coupled_does_not_know_the_tangents(u, w, angle: float, mu: float) -> None:
    """Turning or mirroring the tangent frame turns or mirrors the impulse with it."""
    a, b = math.cos(angle), math.sin(angle)
    p = solve(u, w, mu, mu)
    for turn in ([[1, 0, 0], [0, a, -b], [0, b, a]], [[1, 0, 0], [0, a, b], [0, b, -a]]):
        r = np.array(turn)
        turned = solve(r @ u, r @ w @ r.T, mu, mu)
        np.testing.assert_allclose(turned, r @ p, atol=1e-8 * np.abs(p).max())


@given(u=vectors(2), w=matrices(2), mu=frictions)
def test_coupled_2d_does_not_know_the_tangent(u, w, mu: float) -> None:
    r = np.diag([1.0, -1.0])
    assert (solve(r @ u, r @ w @ r, mu, mu) == r @ solve(u, w, mu, mu)).all()


@given(u=vectors(2), w=matrices(2), other=positive, mu=frictions)
def test_coupled_3d_in_a_plane_is_coupled_2d(u, w, other: float, mu: float) -> None:
    flat = solve(u, w, mu, mu)
    for axes in ([0, 1], [0, 2]):
        big, fast = np.diag([0.0, other, other]), np.zeros(3)
        big[np.ix_(axes, axes)], fast[axes] = w, u
        deep = solve(fast, big, mu, mu)
        np.testing.assert_allclose(deep[axes], flat, rtol=1e-9, atol=1e-12 * np.abs(flat).max())


# ---------------------------------------------------------------------- independent solutions
def all_solutions_2d(u: np.ndarray, w: np.ndarray, mu: float) -> list[np.ndarray]:
    """Stick, and slide to either side, each from its linear equations, kept where consistent."""
    found = []
    p = np.linalg.solve(w, -u)
    if abs(p[1]) <= mu * p[0]:
        found.append(p)
    for side in (-1.0, 1.0):
        p = np.linalg.solve([w[0], [-side * mu, 1.0]], [-u[0], 0.0])
        if p[0] >= 0.0 and side * (u + w @ p)[1] <= 0.0:
            found.append(p)
    return found


@given(u=vectors(2), w=matrices(2), mu=st.floats(0.01, 10.0))
def test_coupled_2d_against_enumeration(u, w, mu: float) -> None:
    u[0] = -abs(u[0]) - 1e-3
    found = all_solutions_2d(u, w, mu)
    assume(found)  # rounding can leave a borderline case without any
    p = solve(u, w, mu, mu)
    assert min(np.abs(p - q).max() for q in found) <= 1e-9 * np.abs(p).max()


def all_sliding_3d(u: np.ndarray, w: np.ndarray, mu: float) -> list[np.ndarray]:
    """Scan the angle of the friction force; where slip is opposite to it, refine."""

    def force(angle: Any) -> np.ndarray:
        return np.array([np.ones_like(angle), mu * np.cos(angle), mu * np.sin(angle)])

    def across(angle: Any) -> Any:
        """Slip across the force, times W_n·e: no pole where the push diverges."""
        e = force(angle)
        v = np.multiply.outer(u, w[0] @ e) - u[0] * (w @ e)
        return e[1] * v[2] - e[2] * v[1]

    found = []
    angles = 0.1 + np.linspace(0.0, 2.0 * math.pi, 2000)
    for (a, fa), (b, fb) in pairwise(zip(angles, across(angles), strict=True)):
        if fa * fb < 0.0:
            e = force(brentq(across, a, b, xtol=1e-15))
            p = -u[0] / (w[0] @ e) * e
            if p[0] >= 0.0 and p[1:] @ (u + w @ p)[1:] <= 0.0:
                found.append(p)
    return found


@given(u=vectors(3), w=matrices(3, least=0.1), mu=st.floats(0.05, 3.0))
def test_coupled_3d_against_a_scan(u, w, mu: float) -> None:
    u[0] = -abs(u[0]) - 1e-3
    p = solve(u, w, mu, mu)
    stick = np.linalg.solve(w, -u)
    excess = math.hypot(*stick[1:]) - mu * stick[0]
    assume(abs(excess) > 1e-6 * np.abs(stick).max())
    if excess < 0.0:
        np.testing.assert_allclose(p, stick, rtol=1e-9, atol=1e-9 * np.abs(stick).max())
        return
    found = all_sliding_3d(u, w, mu)
    assert min(np.abs(p - q).max() for q in found) <= 1e-7 * np.abs(p).max()


def test_coupled_friction_opposes_the_final_slip() -> None:
    """Where W turns the slip, friction follows the slip after the step, not before."""
    u = np.array([-1.0, 2.0, 0.0])
    w = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.6], [0.0, 0.6, 1.0]])
    p = solve(u, w, 0.5, 0.5)
    v = u + w @ p
    assert p[1] * v[2] == pytest.approx(p[2] * v[1], rel=1e-12)  # parallel
    assert p[2] > 0.05  # although the free slip has no second component
    assert p[1:] @ v[1:] < 0.0


# ---------------------------------------------------------------------- edges
@given(u=vectors(3), mu=frictions, c=st.floats(0.0, 1.0))
def test_locked_tangents_bear_friction_at_its_limit(u, mu: float, c: float) -> None:
    """W without tangential part: slip cannot change, so friction acts fully against it."""
    assume(math.hypot(*u[1:]) > 1e-3)
    assume(abs(u[1]) > 1e-3)
    for dim in (2, 3):
        w = np.zeros((dim, dim))
        w[0, 0] = 2.0
        p_n = shock.push(0.0, 0.5, u[0] - 2.0 * c, 0.0)
        p = solve(u[:dim], w, mu, mu, c)
        expected = -mu * p_n * u[1:dim] / np.linalg.norm(u[1:dim])
        np.testing.assert_allclose(p, [p_n - c, *expected], rtol=1e-12, atol=1e-9 * p_n)


@given(contact=contacts, mu=frictions)
def test_locked_normal_bears_nothing(contact, mu: float) -> None:
    u, w = contact
    w[0], w[:, 0] = 0.0, 0.0
    assert not solve(u, w, mu, mu, 0.3).any()


@given(u=vectors(3), axis=vectors(3), mu=frictions, rank=st.sampled_from([1, 2]))
@example(u=np.array([-1.0, 0.0, 0.0]), axis=np.array([1.0, 1.0, 0.0]), mu=0.0, rank=1)
def test_singular_w(u, axis, mu: float, rank: int) -> None:
    """Bodies that can move along one or two directions only, oblique to the contact."""
    assume(abs(axis[0]) > 0.5)
    a = axis / np.linalg.norm(axis)
    for dim in (2, 3):
        w = np.outer(a[:dim], a[:dim])
        if rank == 2 and dim == 3:
            w = w + np.diag([0.0, 1.0, 0.0])
        check(solve(u[:dim], w, mu, mu), u[:dim], w, mu, mu, tolerance=30 * LOCKED)


def in_own_frame(u: np.ndarray, w: np.ndarray, mu: float, c: float) -> np.ndarray:
    """The law without its turn into the eigenframe of S, which rounds: u and w[0] are given there.

    There, the velocity shifted by cohesion is the same number whoever shifts it.
    """
    if len(u) == 2:
        return solve(u, w, mu, mu, c)
    _, _, l1, l2, floor = coupled.eigenframe(w[np.triu_indices(3)].tolist())
    s, w_nn = (max(l1, floor), max(l2, floor), floor), float(w[0, 0])
    inverse = 1.0 / w_nn, 1.0 / s[0], 1.0 / s[1]
    return np.array(coupled.decoupled_3d(u.tolist(), w[0].tolist(), s, inverse, (mu, mu), float(c)))


@given(contact=contacts, mu=st.floats(0.0, 2.0), c=st.floats(1e-3, 5.0))
def test_cohesion_shifts_the_cone(contact, mu: float, c: float) -> None:
    """P + c n is the law without cohesion for the velocity U − c W n."""
    u, w = contact
    p = in_own_frame(u, w, mu, c)
    shifted = in_own_frame(u - c * w[:, 0], w, mu, 0.0)
    shifted[0] -= c
    assert (p == shifted).all()
    far = u.copy()
    far[0] = 2.0 * c * w[0, 0]  # pulled harder than it can hold: the full tension, no friction
    np.testing.assert_array_equal(solve(far, w, mu, mu, c), [-c, *np.zeros(len(u) - 1)])


def test_static_and_dynamic_friction() -> None:
    """Up to µ_s the contact holds, beyond it slides at µ_d."""
    for dim in (2, 3):
        w = np.eye(dim)
        u = np.zeros(dim)
        u[0] = -1.0
        for slip, expected in ((0.59, -0.59), (0.61, -0.2)):
            u[1] = slip
            np.testing.assert_allclose(solve(u, w, 0.6, 0.2)[:2], [1.0, expected], atol=1e-15)


@pytest.mark.parametrize("tiny", [1e-150, 1e-220, 5e-324])
def test_vanishing_numbers_stay_finite(tiny: float) -> None:
    """Squares and products that underflow give small impulses, not NaN."""
    for dim in (2, 3):
        w = np.eye(dim)
        w[0, 1] = w[1, 0] = 0.5
        for u in (np.array([-tiny, 1.0, 1.0]), np.array([-1.0, tiny, 0.0]), np.full(3, -tiny)):
            for mu in (tiny, 0.5):
                p = solve(u[:dim], w, mu, mu)
                assert np.isfinite(p).all()
                assert np.linalg.norm(p[1:]) <= mu * p[0] + 1e-140


@pytest.mark.parametrize("dim", [2, 3])
def test_no_slip_no_friction(dim: int) -> None:
    u = np.zeros(dim)
    assert not solve(u, np.eye(dim), 0.5, 0.5).any()
    u[0] = -1.0
    np.testing.assert_array_equal(solve(u, np.eye(dim), 0.0, 0.0), -u)


# ---------------------------------------------------------------------- soft contacts
@given(overlap=positive, parting=number, k=positive, c=positive)
def test_soft_normal_force(overlap: float, parting: float, k: float, c: float) -> None:
    force = spring.normal_force(overlap, parting, k, c)
    assert force == max(k * overlap - c * parting, 0.0)
    assert spring.normal_force(overlap, 0.0, k, c) == k * overlap


@given(s=st.tuples(number, number, number), n=st.tuples(number, number, number))
def test_spring_laid_into_the_plane(
    s: tuple[float, float, float], n: tuple[float, float, float]
) -> None:
    """It is tangential, as long as before, and as near to the old one as that allows."""
    assume(np.linalg.norm(n) > 1e-3)
    unit = np.array(n) / np.linalg.norm(n)
    across = np.array(s) - (unit @ s) * unit
    assume(np.linalg.norm(across) > 1e-6 * np.linalg.norm(s) or not any(s))
    laid = np.array(spring.onto_plane(s, tuple(unit.tolist())))
    size = np.linalg.norm(s)
    assert np.linalg.norm(laid) == pytest.approx(size)
    assert abs(laid @ unit) <= 1e-9 * size
    assert laid @ across >= 0.0


@given(
    s=st.tuples(number, number), u=st.tuples(number, number), limit=limits, k=positive, c=number,
    dt=st.floats(1e-4, 1.0),
)  # fmt: skip
def test_stretched_spring_sticks_or_slides(
    s: tuple[float, float], u: tuple[float, float], limit: float, k: float, c: float, dt: float
) -> None:
    """Hooke and dashpot within Coulomb's cone; beyond it the spring holds what friction bears."""
    c = abs(c)
    (tx, ty, tz), (x, y, z), gained = spring.stretch((*s, 0.0), (*u, 0.0), limit, k, c, dt)
    after = np.array(s) + dt * np.array(u)
    trial = -k * after - c * np.array(u)
    size = np.linalg.norm(trial)
    assert math.hypot(tx, ty, tz) <= limit * (1 + 1e-12) or size <= limit
    if size <= limit:
        assert (tx, ty) == pytest.approx(tuple(trial))
        assert (x, y, z) == pytest.approx((*after, 0.0))
    else:
        assert np.array([tx, ty]) * size == pytest.approx(trial * limit, abs=1e-9 * size)
        assert (k * x, k * y) == pytest.approx((-tx, -ty), abs=1e-9 * size)
    stored = 0.5 * k * (x * x + y * y), 0.5 * k * (s[0] ** 2 + s[1] ** 2)
    assert gained == pytest.approx(stored[0] - stored[1], abs=1e-12 * sum(stored))
    # without a spring: viscous friction with Coulomb's limit
    (tx, ty, _), _, gained = spring.stretch((0.0, 0.0, 0.0), (*u, 0.0), limit, 0.0, c, dt)
    speed = math.hypot(*u)
    assert math.hypot(tx, ty) == pytest.approx(min(c * speed, limit))
    assert gained == 0.0
    assert tx * u[0] + ty * u[1] <= 0.0
