"""Contact problems as matrices: a step's own, closed forms, and what is no step of ours."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.io import fclib
from hardgrain.solve.assembly import global_form
from hardgrain.solve.blocks import by_colour
from hardgrain.solve.matrices import GlobalForm, LocalForm, coulomb_residual

from .helpers import EXACT, Dense, grains, packing, record, start, steps, up, velocities

pytestmark = pytest.mark.rounding


# ------------------------------------------------------------------- steps of the package itself
def pressed(dim):
    """A box whose top is a piston, shortly after it has come down on the grains."""
    size = [4.0, 5.0] if dim == 2 else [2.6, 2.6, 4.0]
    box = hg.Box(min=[0.0] * dim, max=size, pistons={"top": hg.Piston(mass=3.0, force=4.0)})
    sets = hg.Grains(count=16, place=hg.Loose(min=[0.0] * dim, max=size), speed=0.3)
    return start(dim, sets, walls=[box], law={"friction": 0.2}, dt=0.02, solver=SWEEPS), 150


def drum(dim):
    """A turning drum, half full."""
    keys = {"length": 2.4} if dim == 3 else {}
    low, high = ([-1.6, -1.6], [1.6, 1.6]) if dim == 2 else ([-1.5, -1.1, -1.5], [1.5, 1.1, 1.5])
    wall = hg.Drum(center=[0.0] * dim, radius=2.4, spin=0.7, **keys)
    sets = hg.Grains(count=12, diameter=0.8, place=hg.Loose(min=low, max=high))
    law = {"friction": 0.5}
    sim = start(dim, sets, walls=[wall], gravity=up(dim, -1.0), law=law, dt=0.02, solver=SWEEPS)
    return sim, 150


def locked(dim):
    """Grains on a belt that cannot turn, or not move along x; a driven one leaves them."""
    at = np.zeros((5, dim))
    at[:, 0] = np.arange(5) * 0.99
    at[:, -1] = 0.5
    belt = hg.Plane(point=[0.0] * dim, normal=up(dim, 1.0), velocity=[0.4] + [0.0] * (dim - 1))
    law = {"friction": 0.3}
    sets = [
        grains(*at[:2], lock=["rotation"]),
        grains(*at[2:4], lock=["x"]),
        grains(at[4], driven_velocity=[0.3] + ["free"] * (dim - 1)),
    ]
    keys = {"walls": [belt], "gravity": up(dim, -1.0), "allow_overlaps": True}
    return start(dim, sets, law=law, solver=SWEEPS, **keys), 3


def periodic(dim):
    """Grains that shear over each other, without walls at the sides."""
    size = [4.0, 3.0] if dim == 2 else [3.0, 3.0, 3.0]
    top = hg.Plane(point=up(dim, 3.0), normal=up(dim, -1.0), velocity=[0.5] + [0.0] * (dim - 1))
    bottom = hg.Plane(point=[0.0] * dim, normal=up(dim, 1.0))
    sets = hg.Grains(count=12, diameter=0.9, place=hg.Loose(min=[0.0] * dim, max=size), speed=0.5)
    period = dict.fromkeys("xy"[: dim - 1], (0.0, size[0]))
    keys = {"walls": [top, bottom], "periodic": period, "gravity": up(dim, -1.0)}
    return start(dim, sets, law={"friction": 0.4}, dt=0.02, solver=SWEEPS, **keys), 150


def with_law(**law):
    return lambda dim: (packing(dim, law), 0)


SWEEPS = hg.GaussSeidel(sweeps=50, order="sequential")
SCENES = {
    "walls": with_law(friction=0.1),
    "frictionless": with_law(friction=0.0),
    "piston": pressed,
    "drum": drum,
    "locked": locked,
    "periodic": periodic,
    "cohesion": with_law(friction=0.3, cohesion=0.2, cohesion_range=0.05),
    "restitution": with_law(friction=0.3, restitution=0.6),
    "tangential": with_law(friction=0.3, restitution=0.4, restitution_tangential=0.4),
}


def one_step(name, dim):
    """The problem that a scene's next step solves."""
    sim, count = SCENES[name](dim)
    steps(sim, count)
    recorder = record(sim)
    sim.step()
    assert recorder.problem.first.size >= 3
    return recorder.problem


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", SCENES)
def test_sweeps_over_matrices_are_the_sweeps_over_bodies(name, dim):
    """The same contacts in the same order: equal up to rounding, sweep by sweep."""
    problem = one_step(name, dim)
    form, frame = global_form(problem)
    solver = hg.GaussSeidel(sweeps=40, order="random")
    bodies = solver.solve(problem, seed=3, step=5)
    matrix = solver.solve(form, seed=3, step=5)
    velocity, spin = frame.motion(problem, matrix.v)
    speed = np.abs(bodies.velocity).max()
    assert speed > 0.0
    np.testing.assert_allclose(velocity, bodies.velocity, atol=1e-11 * speed)
    np.testing.assert_allclose(spin, bodies.spin, atol=1e-10 * speed)
    push = np.abs(bodies.impulse).max()
    assert push > 0.0
    np.testing.assert_allclose(frame.impulse(matrix.r), bodies.impulse, atol=1e-10 * push)
    np.testing.assert_allclose(frame.components(bodies.impulse), matrix.r, atol=1e-10 * push)
    if name != "cohesion":  # its scale there is P, here P + c
        assert matrix.residual == pytest.approx(bodies.residual, rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(form.start, frame.components(problem.impulse), atol=1e-14 * push)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("name", ["walls", "piston", "frictionless"])
def test_the_matrix_is_the_one_of_the_definition(name, dim):
    """Against an assembly that shares no line with it, component by component of the normals."""
    problem = one_step(name, dim)
    (form, frame), dense = global_form(problem), Dense.of(problem)
    h = np.zeros_like(dense.h)
    h[:, frame.dofs] = form.h.toarray()
    moves = dense.inv_mass > 0.0
    assert np.array_equal(np.flatnonzero(moves), frame.dofs)
    np.testing.assert_allclose(h[::dim], dense.h[::dim] * moves, atol=1e-14)
    fixed = np.where(moves, 0.0, dense.free)
    np.testing.assert_allclose(form.w[::dim], (dense.h @ fixed + dense.bias)[::dim], atol=1e-13)
    # tangents may be any; what they span may not: Σ |e·u|² over them
    both = [(x.reshape(-1, dim, x.shape[1])[:, 1:] ** 2).sum(axis=1) for x in (h, dense.h * moves)]
    np.testing.assert_allclose(*both, atol=1e-13)


def test_a_frame_is_orthonormal_and_right_handed():
    _, frame = global_form(one_step("drum", 3))
    np.testing.assert_allclose(
        frame.axes @ frame.axes.swapaxes(1, 2), np.broadcast_to(np.eye(3), frame.axes.shape),
        atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(np.linalg.det(frame.axes), 1.0, atol=1e-14)


def test_velocities_follow_from_impulses_and_contacts_from_velocities():
    problem = one_step("piston", 3)
    form, _ = global_form(problem)
    found = hg.GaussSeidel(sweeps=30).solve(form, seed=0, step=0)
    np.testing.assert_allclose(form.mass @ found.v, form.f + form.h.T @ found.r, atol=1e-13)
    np.testing.assert_allclose(found.u, form.h @ found.v + form.w, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        ({"friction": 0.5, "friction_dynamic": 0.3}, "friction 0.5 and friction_dynamic 0.3"),
        ({"friction": 0.5, "rolling": 0.1}, "rolling resistance 0.1"),
        ({"friction": 0.5, "torsion": 0.2}, "torsion resistance 0.2"),
    ],
)
def test_laws_that_matrices_cannot_hold_are_refused_by_name(law, says):
    sim = packing(3, law, count=12)
    recorder = record(sim)
    sim.step()
    with pytest.raises(InputError, match=says):
        global_form(recorder.problem)


def test_a_step_without_contacts_is_solved():
    sim = start(2, grains([0, 0], [5, 5]), solver=SWEEPS)
    recorder = record(sim)
    sim.step()
    form, frame = global_form(recorder.problem)
    found = hg.GaussSeidel().solve(form, seed=0, step=0)
    assert found.converged
    assert found.r.size == 0
    assert coulomb_residual(form, found.r) == 0.0
    np.testing.assert_allclose(frame.motion(recorder.problem, found.v)[0], 0.0)


def test_a_contact_that_nothing_can_move_stays_without_impulse():
    """Two driven grains press on each other, a free one leans on one of them."""
    sets = [
        grains([0, 0], [0.98, 0], driven_velocity=[0, 0], driven_spin=0.0),
        grains([0, 0.99]),
    ]
    sim = start(
        2,
        sets,
        gravity=[0, -1],
        law={"friction": 0.3, "cohesion": 0.1, "cohesion_range": 0.1},
        allow_overlaps=True,
    )
    recorder = record(sim)
    sim.step()
    form, frame = global_form(recorder.problem)
    dead = np.flatnonzero(form.h.toarray().reshape(form.contacts, -1).any(axis=1) == 0)
    assert dead.size == 1
    found = EXACT.solve(form, seed=0, step=0)
    assert not found.r.reshape(-1, 2)[dead].any()
    assert coulomb_residual(form, found.r) < 1e-12
    np.testing.assert_allclose(frame.impulse(found.r), recorder.solution.impulse, atol=1e-12)


# ------------------------------------------------------------------------------ closed forms
def through_a_file(tmp_path, form):
    fclib.write(tmp_path / "problem.hdf5", form)
    return fclib.read(tmp_path / "problem.hdf5")


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("mu", [0.2, 0.8])
def test_a_block_on_an_incline(tmp_path, dim, local, mu):
    """Sticks below tan θ = µ; above, it slides with g dt (sin θ − µ cos θ) down the slope."""
    m, g, dt, slope = 3.0, 9.81, 1e-2, math.radians(25)
    down = np.array([1.0]) if dim == 2 else np.array([0.6, -0.8])
    pull = g * dt * np.r_[-math.cos(slope), math.sin(slope) * down]
    one = sparse.eye_array(dim)
    form = GlobalForm(
        dim, sparse.csc_array(m * one), sparse.csr_array(one), m * pull, np.zeros(dim),
        np.array([mu]),
    )  # fmt: skip
    form = through_a_file(tmp_path, form.local() if local else form)
    found = EXACT.solve(form, seed=0, step=0)
    push = m * g * math.cos(slope) * dt
    if mu >= math.tan(slope):
        force, slip = m * g * math.sin(slope) * dt, 0.0
    else:
        force = mu * push
        slip = g * dt * (math.sin(slope) - mu * math.cos(slope))
    np.testing.assert_allclose(found.r, np.r_[push, -force * down], rtol=1e-12)
    np.testing.assert_allclose(found.u, np.r_[0.0, slip * down], atol=1e-14)
    assert coulomb_residual(form, found.r) < 1e-14
    assert (found.v is None) == local
    if found.v is not None:
        np.testing.assert_allclose(found.v, found.u, atol=1e-14)


@pytest.mark.parametrize("slope", [0.0, 0.2, -0.25])
def test_a_table_on_an_incline(tmp_path, slope):
    """Two feet at −a and b from the centre, which is c above them: the lever rule with friction.

    N₁ + N₂ = m g cos θ, a N₁ − b N₂ = c (T₁ + T₂), T₁ + T₂ = −m g sin θ; the normal forces are
    unique though the tangential ones are not.
    """
    m, inertia, a, b, c, mu = 2.0, 0.3, 0.7, 0.4, 0.5, 0.9
    weight = m * np.array([math.sin(slope), -math.cos(slope)])
    # rows n, t of each foot: u_n = v_y + x ω, u_t = v_x + c ω
    h = np.array([[0, 1, -a], [1, 0, c], [0, 1, b], [1, 0, c]])
    form = GlobalForm(
        2, sparse.csc_array(np.diag([m, m, inertia])), sparse.csr_array(h), np.r_[weight, 0.0],
        np.zeros(4), np.full(2, mu),
    )  # fmt: skip
    form = through_a_file(tmp_path, form)
    found = EXACT.solve(form, seed=0, step=0)
    total, turn = -weight[1], -c * weight[0]
    first, second = (b * total + turn) / (a + b), (a * total - turn) / (a + b)
    assert min(first, second) > 0.0
    np.testing.assert_allclose(found.r[::2], [first, second], rtol=1e-10)
    np.testing.assert_allclose(found.r[1] + found.r[3], -weight[0], atol=1e-11)
    np.testing.assert_allclose(found.v, 0.0, atol=1e-11)


# ------------------------------------------------------------------ matrices that are no step's
def random_form(dim, m, seed, odd=0.0):
    """W of random bodies; ``odd``: an antisymmetric part of that relative size, blocks included."""
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(dim * m, 2 * dim * m)) * (rng.random((dim * m, 2 * dim * m)) < 0.2)
    w = h @ h.T + 0.1 * np.eye(dim * m)
    skew = rng.normal(size=w.shape) * (np.abs(w) > 0.0)
    w += odd * np.abs(w).mean() * (skew - skew.T)
    q = rng.normal(size=dim * m)
    q[::dim] -= 1.0
    return LocalForm(dim, sparse.csr_array(w), q, rng.uniform(0.0, 0.8, m))


def obeys(form, u, r, atol):
    """Signorini's and Coulomb's laws, contact by contact, in their own words."""
    u, r = u.reshape(-1, form.dim), r.reshape(-1, form.dim)
    for mu, velocity, impulse in zip(form.mu, u, r):
        push, force, slip = impulse[0], impulse[1:], velocity[1:]
        assert push >= 0.0
        assert velocity[0] >= -atol
        assert push * velocity[0] <= atol
        assert np.linalg.norm(force) <= mu * push + atol
        speed = np.linalg.norm(slip)
        if speed > 10 * atol:
            np.testing.assert_allclose(force, -mu * push * slip / speed, atol=100 * atol)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("odd", [0.0, 0.05])
def test_any_matrix_symmetric_or_not(dim, odd):
    form = random_form(dim, 12, seed=dim, odd=odd)
    w = form.delassus.toarray()
    assert (np.abs(w - w.T).max() > 1e-3) == (odd > 0.0)
    found = EXACT.solve(form, seed=0, step=0)
    assert found.converged
    np.testing.assert_allclose(found.u, w @ found.r + form.q, atol=1e-12)
    obeys(form, found.u, found.r, 1e-9)
    assert coulomb_residual(form, found.r) < 1e-10
    assert found.r.any()


# The loop over colours is the same in 2D, where compiling it would take longer than all else here.
@pytest.mark.parametrize(("dim", "order"), [
    *product([2, 3], ["random", "drawn", "sequential", "symmetric"]), (3, "coloured"), (3, "tiles"),
])  # fmt: skip
def test_every_order_and_jacobi_agree_where_velocities_are_unique(dim, order):
    problem = one_step("frictionless", dim)
    form, _ = global_form(problem)
    reference = velocities(EXACT.solve(problem, seed=0, step=0))
    keys = {"stop": "residual", "tolerance": 1e-12, "sweeps": 200_000}
    dofs = global_form(problem)[1].dofs
    for solver in (hg.GaussSeidel(order=order, **keys), hg.Jacobi(relaxation=0.2, **keys)):
        found = solver.solve(form, seed=1, step=0)
        assert found.converged
        np.testing.assert_allclose(found.v, reference[dofs], atol=1e-10)


def test_contacts_of_one_colour_do_not_see_each_other():
    form = random_form(2, 40, seed=5)
    form = replace(form, delassus=sparse.csr_array(sparse.block_diag([form.delassus] * 3)),
                   q=np.tile(form.q, 3), mu=np.tile(form.mu, 3))  # fmt: skip
    order, starts = by_colour(form)
    assert sorted(order) == list(range(120))
    assert starts[0] == 0
    assert starts[-1] == 120
    seen = np.abs(form.delassus.toarray()).reshape(120, 2, 120, 2).sum(axis=(1, 3)) > 0.0
    np.fill_diagonal(seen, False)
    for low, high in pairwise(starts[:-1]):
        mine = order[low:high]
        assert mine.size
        assert not seen[np.ix_(mine, mine)].any()


def test_coloured_sweeps_have_the_same_bits_on_any_number_of_threads():
    form = random_form(3, 30, seed=2)
    found = [
        hg.GaussSeidel(sweeps=20, order="coloured", threads=k).solve(form, seed=0, step=0).r
        for k in (1, 2)
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("large", [False, True])
def test_the_local_form_of_any_mass_matrix(large):
    """Small blocks in scattered rows, and a chain of springs that is one large block."""
    rng = np.random.default_rng(0)
    n, m = 120, 15
    if large:
        mass = sparse.diags_array([np.full(n - 1, -0.4), np.ones(n), np.full(n - 1, -0.4)],
                                  offsets=[-1, 0, 1]).toarray()  # fmt: skip
    else:
        mass, place = np.zeros((n, n)), rng.permutation(n)
        for rows in np.split(place, np.cumsum([1, 2, 3, 3, 6, 6, 6])):
            part = rows[:6]
            a = rng.normal(size=(part.size, part.size))
            mass[np.ix_(part, part)] = a @ a.T + np.eye(part.size)
            rest = rows[6:]
            mass[rest, rest] = 2.0
    h = rng.normal(size=(2 * m, n)) * (rng.random((2 * m, n)) < 0.1)
    form = GlobalForm(
        2, sparse.csc_array(mass), sparse.csr_array(h), rng.normal(size=n), rng.normal(size=2 * m),
        np.full(m, 0.3),
    )  # fmt: skip
    local, r = form.local(), rng.normal(size=2 * m)
    np.testing.assert_allclose(local.delassus.toarray(), h @ np.linalg.solve(mass, h.T), atol=1e-12)
    np.testing.assert_allclose(local.q, h @ np.linalg.solve(mass, form.f) + form.w, atol=1e-12)
    np.testing.assert_allclose(
        form.velocity(r), np.linalg.solve(mass, form.f + h.T @ r), atol=1e-11
    )
    np.testing.assert_allclose(form.contact_velocity(r), local.contact_velocity(r), atol=1e-11)


@pytest.mark.parametrize("mass", [np.diag([1.0, 0.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_mass_matrix_that_is_not_positive_is_refused(mass):
    one = sparse.csr_array(np.eye(2))
    form = GlobalForm(2, sparse.csc_array(mass), one, np.zeros(2), np.zeros(2), np.array([0.1]))
    with pytest.raises(InputError, match="not positive definite"):
        form.local()


def test_a_column_is_not_taken_for_a_diagonal():
    mass = sparse.csc_array(np.array([[2.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert list(mass.indices) == [0, 1, 2]
    form = GlobalForm(
        2, mass, sparse.csr_array(np.ones((2, 3))), np.zeros(3), np.zeros(2), np.array([0.1])
    )
    with pytest.raises(InputError, match="not positive definite"):
        form.local()


@pytest.mark.parametrize("least", [0.0, 1e-40])
def test_impulses_that_rounding_leaves_are_none(least):
    """They change no scale: of three contacts two bear a load, whatever the third one wants.

    After one sweep r = (1, ½), where the first should be ¾: ΔV = ¼, and V² = (1² + ½²)/2.
    """
    w = np.eye(6)
    w[0, 2] = w[2, 0] = 0.5
    q = np.array([-1.0, 0.0, -1.0, 0.0, -least, 0.0])
    form = LocalForm(2, sparse.csr_array(w), q, np.zeros(3))
    found = hg.GaussSeidel(sweeps=1, order="sequential").solve(form, seed=0, step=0)
    assert found.r[::2].tolist() == [1.0, 0.5, least]
    assert found.residual == pytest.approx(0.25 / math.sqrt(0.625), rel=1e-12)


def test_the_residual_is_a_pure_number():
    """One contact that approaches with speed 1 and has no impulse: all of its velocity is wrong."""
    form = LocalForm(2, sparse.csr_array(2.0 * np.eye(2)), np.array([-1.0, 0.0]), np.array([0.3]))
    assert coulomb_residual(form, np.zeros(2)) == pytest.approx(1.0)
    assert coulomb_residual(form, np.array([0.5, 0.0])) == 0.0
    # half an impulse: u = −½, so r should grow by ¼ at this ρ = ½
    assert coulomb_residual(form, np.array([0.25, 0.0])) == pytest.approx(0.5)
    # in other units of mass and speed the same number
    other = replace(form, delassus=form.delassus * 1e6, q=form.q * 1e-3)
    assert coulomb_residual(other, np.array([0.25e-9, 0.0])) == pytest.approx(0.5)
    # a friction force outside its cone, and one against no slip at all inside it
    assert coulomb_residual(form, np.array([0.5, 0.2])) > 0.1
    assert coulomb_residual(replace(form, q=np.array([-1.0, -0.2])), np.array([0.5, 0.1])) < 1e-16


@pytest.mark.parametrize("order", ["random", "sequential", "symmetric", "coloured"])
@pytest.mark.parametrize("dim", [2, 3])
def test_pairs_lead_to_the_impulses_of_single_contacts(dim: int, order: str):
    """Where only one solution exists, it does not matter what a visit relaxes together."""
    form = random_form(dim, 12, seed=dim)
    form = replace(form, mu=np.full(12, 0.1))  # little friction: one solution
    pairs = replace(form, pair=np.array([0, 3, 4, 8, 12], np.int32))
    solver = hg.GaussSeidel(order=order, stop="residual", tolerance=1e-12, sweeps=20_000)
    one = solver.solve(form, seed=0, step=0)
    two = solver.solve(pairs, seed=0, step=0)
    assert one.converged
    assert two.converged
    assert coulomb_residual(form, two.r) < 1e-10
    assert np.allclose(two.r, one.r, rtol=0.0, atol=1e-9 * np.abs(one.r).max())


def test_sweeps_go_on_from_given_impulses():
    form = random_form(3, 10, seed=1)
    solver = hg.GaussSeidel(sweeps=7, order="sequential")
    half = solver.solve(form, seed=0, step=0)
    whole = hg.GaussSeidel(sweeps=14, order="sequential").solve(form, seed=0, step=0)
    again = solver.solve(replace(form, start=half.r), seed=0, step=0)
    # velocities are summed up anew at the start, in another order: rounding of impulses near 1
    assert np.allclose(again.r, whole.r, rtol=0.0, atol=1e-13)
    zero = hg.GaussSeidel(sweeps=7, order="sequential", start="zero")
    assert np.array_equal(zero.solve(replace(form, start=half.r), seed=0, step=0).r, half.r)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mu": np.array([0.1, -0.2])}, "µ of contact 1 is -0.2"),
        ({"mu": np.array([0.1])}, "1 contacts in 2D have 2 rows, not 4"),
        ({"dim": 4}, "must be 2 or 3"),
        ({"start": np.zeros(3)}, r"start has shape \(3,\)"),
        ({"delassus": sparse.csr_array((3, 4))}, "W is 3 × 4; it must be 4 × 4"),
    ],
)
def test_forms_that_make_no_sense_are_refused(change, says):
    form = LocalForm(2, sparse.csr_array(np.eye(4)), np.zeros(4), np.array([0.1, 0.2]))
    with pytest.raises(InputError, match=says):
        replace(form, **change)
