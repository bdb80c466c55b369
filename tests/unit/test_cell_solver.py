"""Contacts that feel a periodic cell: matrices, responses and solvers against plain algebra.

All that is compared with is written here, from V = c_j − c_i + ω_j × l_j − ω_i × l_i + L l alone
(`hardgrain.point.cell`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import hardgrain as hg
from hardgrain.core import lawtable
from hardgrain.core.cell import PLACES, Cell
from hardgrain.solve import piecewise, rigid
from hardgrain.solve.assembly import global_form
from hardgrain.solve.gradient import Descent, at_rest
from hardgrain.solve.hardening import harden
from hardgrain.solve.path import Path
from hardgrain.solve.problem import Problem
from hardgrain.solve.response import BodyResponse, SparseResponse

DT = 0.1
WHICH = {  # which components of L are free
    2: {"all": (1, 1, 1), "some": (0, 1, 0), "shear": (0, 1, 1), "none": (0, 0, 0)},
    3: {"all": (1,) * 6, "some": (1, 0, 1, 0, 0, 1), "shear": (0, 0, 1, 0, 1, 0), "none": (0,) * 6},
}
CASES = [(dim, free) for dim in (2, 3) for free in WHICH[2]]


def neighbours(x: Any, radius: Any, cell: Cell) -> tuple[Any, Any, Any]:
    """Pairs of grains that are near each other, and the lines between their nearest images."""
    first, second = np.triu_indices(len(x), 1)
    line = cell.nearest(x[second] - x[first])
    gap = np.linalg.norm(line, axis=1) - radius[first] - radius[second]
    near = np.argsort(gap)[: int(1.6 * (x.shape[1] - 0.5) * len(x))]
    near = near[np.lexsort((second[near], first[near]))]
    return first[near].astype(np.int32), second[near].astype(np.int32), line[near]


def packing(
    dim: int, free: str = "all", mu: float = 0.3, seed: int = 0, *, wall: bool = False
) -> Problem:
    """Grains near a lattice in a tilted cell, which is squeezed where it is free to move.

    Some grains are held, and some may touch a wall.
    """
    rng = np.random.default_rng(seed)
    side, ns = (5 if dim == 2 else 3), 1 if dim == 2 else 3
    x = np.stack(np.meshgrid(*[np.arange(side)] * dim), -1).reshape(-1, dim) + 0.0
    x += rng.uniform(-0.1, 0.1, x.shape)
    n, walls = len(x), 1 if wall else 0
    cell = Cell(
        np.concatenate([np.full(dim, float(side)), rng.uniform(-1.0, 1.0, 3 * dim - 3 - dim)])
    )
    radius = rng.uniform(0.4, 0.6, n)
    first, second, line = neighbours(x, radius, cell)
    length = np.linalg.norm(line, axis=1)
    normal = line / length[:, None]
    gap = rng.uniform(-0.01, 0.02, first.size)
    share = (length - gap) * (radius[first] / (radius[first] + radius[second]))
    arm_first = share[:, None] * normal
    arm_second = arm_first - line + gap[:, None] * normal
    if wall:  # the last few touch it in place of a grain
        second[-3:], arm_second[-3:] = n, rng.normal(size=(3, dim))
    nb = n + walls + 1
    inv_mass, inv_inertia = np.zeros((nb, dim)), np.zeros((nb, ns))
    inv_mass[:n] = rng.uniform(0.5, 2.0, (n, 1))
    inv_inertia[:n] = 2.5 * inv_mass[:n, :1] / radius[:, None] ** 2
    inv_mass[3, 0] = 0.0  # locked along one axis
    inv_mass[4], inv_inertia[4] = 0.0, 0.0
    of_cell = np.array(WHICH[dim][free]) * rng.uniform(0.5, 2.0, dim + ns) / n
    inv_mass[-1], inv_inertia[-1] = of_cell[:dim], of_cell[dim:]
    velocity, spin = 0.05 * rng.normal(size=(nb, dim)), 0.05 * rng.normal(size=(nb, ns))
    before, spin_before = velocity.copy(), spin.copy()
    velocity[-1] = np.where(of_cell[:dim] > 0.0, velocity[-1] - 0.3, np.abs(velocity[-1]))
    laws = np.zeros((1, lawtable.N_PARAMETERS))
    laws[0, [lawtable.MU_STATIC, lawtable.MU_DYNAMIC]] = mu
    m = first.size
    return Problem(
        dt=DT, first=first, second=second, normal=normal, gap=gap, arm_first=arm_first,
        arm_second=arm_second, width=2.0 * np.minimum(radius[first], radius.min()),
        roll=np.full(m, 0.5), law=np.zeros(m, np.int32), impulse=np.zeros((m, dim)),
        torque=np.zeros((m, ns)), velocity=velocity, spin=spin, velocity_before=before,
        spin_before=spin_before, position=np.vstack([x, np.zeros((walls + 1, dim))]),
        inv_mass=inv_mass, inv_inertia=inv_inertia, laws=laws, remove_overlaps=False, lean=False,
        radius=radius, periodic=cell.period, grains=n,
        cell=cell.reduced().numbers,
    )  # fmt: skip


def centre_lines(p: Problem) -> Any:
    """From centre to centre, and zero where the cell is not felt."""
    line = p.arm_first - p.arm_second + p.gap[:, None] * p.normal
    return np.where((p.second < p.grains)[:, None], line, 0.0)


def gradient(p: Problem, velocity: Any, spin: Any) -> Any:
    """L as a matrix."""
    matrix = np.zeros((p.dim, p.dim))
    for place, rate in zip(PLACES[p.dim], [*velocity[-1], *spin[-1]], strict=True):
        matrix[place] = rate
    return matrix


def surface(p: Problem, velocity: Any, spin: Any) -> Any:
    """V of every contact (m, dim)."""

    def end(body: Any, arm: Any) -> Any:
        if p.dim == 2:
            return velocity[body] + spin[body] * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
        return velocity[body] + np.cross(spin[body], arm)

    apart = end(p.second, p.arm_second) - end(p.first, p.arm_first)
    return apart + centre_lines(p) @ gradient(p, velocity, spin).T


def turned(p: Problem, body: int, twist: Any) -> Any:
    """The spin that an impulse of torque gives a body; its inverse inertia may be a tensor."""
    j = p.inv_inertia[body]
    if j.size == 6 and body != len(p.inv_inertia) - 1:
        xx, yy, zz, yz, xz, xy = j
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ twist
    return j[: twist.size] * twist


def pushed(p: Problem, impulse: Any) -> tuple[Any, Any]:
    """Velocities and spins after given impulses: M Δv = Σ P, I Δω = Σ l × P, W ΔL = Σ P ⊗ l."""
    velocity, spin = p.velocity.copy(), p.spin.copy()
    for k, push in enumerate(impulse):
        for body, arm, sign in (
            (p.first[k], p.arm_first[k], -1.0), (p.second[k], p.arm_second[k], 1.0),
        ):  # fmt: skip
            velocity[body] += sign * p.inv_mass[body] * push
            twist = np.cross(np.append(arm, 0.0)[:3], np.append(push, 0.0)[:3])
            spin[body] += sign * turned(p, body, twist[2:] if p.dim == 2 else twist)
    stress = np.einsum("ka,kb->ab", impulse, centre_lines(p))
    given = np.array([stress[place] for place in PLACES[p.dim]])
    velocity[-1] += p.inv_mass[-1] * given[: p.dim]
    spin[-1] += turned(p, len(spin) - 1, given[p.dim :])
    return velocity, spin


def dense(p: Problem) -> tuple[Any, Any, Any]:
    """H (m dim, nb size) over all components, in the axes of space; M⁻¹ of them; and v*."""
    both = np.hstack([p.velocity, p.spin])
    columns = []
    for c in range(both.size):
        unit = np.zeros(both.size)
        unit[c] = 1.0
        unit = unit.reshape(both.shape)
        columns.append(surface(p, unit[:, : p.dim], unit[:, p.dim :]).ravel())
    inverse = np.hstack([p.inv_mass, p.inv_inertia]).ravel()
    return np.stack(columns, axis=1), inverse, both.ravel()


def violated(p: Problem, impulse: Any, velocity: Any, spin: Any) -> float:
    """Largest violation of the laws, relative to the largest velocities that impulses give."""
    v, mu = surface(p, velocity, spin), p.laws[0, lawtable.MU_STATIC]
    scale = np.abs(v - surface(p, p.velocity, p.spin)).max()
    weight = np.abs(impulse).max() / scale
    u_n = np.einsum("ka,ka->k", v, p.normal) + np.maximum(p.gap, 0.0) / p.dt
    r_n = np.einsum("ka,ka->k", impulse, p.normal) / weight
    u_t = v - np.einsum("ka,ka->k", v, p.normal)[:, None] * p.normal
    r_t = impulse / weight - r_n[:, None] * p.normal
    signorini = np.abs(r_n - np.maximum(r_n - u_n, 0.0))
    wanted = r_t - u_t
    size = np.linalg.norm(wanted, axis=1)
    share = np.minimum(1.0, mu * np.maximum(r_n, 0.0) / np.maximum(size, 1e-300))
    coulomb = np.linalg.norm(r_t - share[:, None] * wanted, axis=1)
    return float(max(signorini.max(), coulomb.max()) / scale)


def whole(p: Problem) -> tuple[BodyResponse, Any, Any, Any]:
    form, frame = global_form(p)
    return BodyResponse(p, form, frame), form, frame, form.mu


def checked(p: Problem, frame: Any, form: Any, r: Any) -> float:
    """Violation of the laws by impulses in contact frames, after the balance was checked."""
    impulse = frame.impulse(r.ravel())
    velocity, spin = pushed(p, impulse)
    by_form = frame.motion(p, form.velocity(r.ravel()))
    np.testing.assert_allclose(by_form[0], velocity, atol=1e-11)
    np.testing.assert_allclose(by_form[1], spin, atol=1e-11)
    return violated(p, impulse, velocity, spin)


def tops(p: Problem) -> Problem:
    """The same problem with grains whose moments of inertia differ."""
    rng = np.random.default_rng(4)
    inverse = np.zeros((len(p.inv_inertia), 6))
    inverse[:, :3] = p.inv_inertia
    for i in range(p.grains):
        if p.inv_inertia[i].any():
            axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            j = axes * rng.uniform(0.5, 2.0, 3) * p.inv_inertia[i, 0] @ axes.T
            inverse[i] = j[0, 0], j[1, 1], j[2, 2], j[1, 2], j[0, 2], j[0, 1]
    return replace(p, inv_inertia=inverse)


def linear(m: int, dim: int, symmetric: bool, seed: int) -> Any:
    """Random D, of which a part is open."""
    rng = np.random.default_rng(seed)
    d = rng.normal(size=(m, dim, dim))
    d = d @ d.transpose(0, 2, 1) if symmetric else 3.0 * d
    d[rng.random(m) < 0.2] = 0.0
    return d


@pytest.mark.parametrize("wall", [False, True])
@pytest.mark.parametrize(("dim", "free"), CASES)
def test_the_matrices_are_those_of_the_step(dim: int, free: str, wall: bool) -> None:
    """h, M and w against velocities and impulses written out in space, with restitution."""
    p = packing(dim, free, wall=wall)
    laws = p.laws.copy()
    laws[0, [lawtable.E_NORMAL, lawtable.E_TANGENT]] = 0.5, 0.4
    p = replace(p, laws=laws)
    form, frame = global_form(p)
    rng = np.random.default_rng(1)
    r = rng.normal(size=form.w.size)
    velocity, spin = pushed(p, frame.impulse(r))
    v, w = frame.motion(p, form.velocity(r))
    np.testing.assert_allclose(v, velocity, atol=1e-12)
    np.testing.assert_allclose(w, spin, atol=1e-12)
    found = np.einsum("kea,ka->ke", frame.axes, surface(p, velocity, spin))
    before = np.einsum("kea,ka->ke", frame.axes, surface(p, p.velocity_before, p.spin_before))
    free_n = np.einsum("ka,ka->k", p.normal, surface(p, p.velocity, p.spin))
    bias = np.maximum(p.gap, 0.0) / p.dt
    hits = (before[:, 0] < 0.0) & (p.gap + free_n * p.dt <= 0.0)
    bias = np.where(hits, 0.5 * before[:, 0], np.maximum(bias, 0.5 * before[:, 0]))
    found[:, 0] += bias
    found[:, 1:] += 0.4 * before[:, 1:]
    np.testing.assert_allclose(form.contact_velocity(r).reshape(-1, dim), found, atol=1e-12)


@pytest.mark.parametrize("free", WHICH[3])
def test_grains_that_are_no_balls_feel_the_cell_too(free: str) -> None:
    """Their inverse inertias are whole tensors; the cell has a row of the same width."""
    p = tops(packing(3, free))
    bodies, form, frame, mu = whole(p)
    r = np.random.default_rng(5).normal(size=bodies.q.shape)
    velocity, spin = pushed(p, frame.impulse(r.ravel()))
    v, w = frame.motion(p, form.velocity(r.ravel()))
    np.testing.assert_allclose(v, velocity, atol=1e-12)
    np.testing.assert_allclose(w, spin, atol=1e-12)
    np.testing.assert_allclose(bodies.velocity(r), SparseResponse(form).velocity(r), atol=1e-10)
    path = Path(bodies, mu)
    while not path.ended and path.iterations < 200 and path.violation > 1e-8:
        path.advance()
    assert checked(p, frame, form, path.best) < 1e-6


@pytest.mark.parametrize("wall", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("dim", "free"), CASES)
def test_bodies_and_cell_respond_as_dense_algebra_says(
    dim: int, free: str, symmetric: bool, wall: bool
) -> None:
    p = packing(dim, free, wall=wall)
    bodies, form, frame, _ = whole(p)
    assert bodies.cell == any(WHICH[dim][free])
    sparse = SparseResponse(form)
    h, inverse, v = dense(p)
    h = np.einsum("kea,kac->kec", frame.axes, h.reshape(-1, dim, len(v))).reshape(h.shape)
    w = h * inverse @ h.T
    m = len(p.first)
    rng = np.random.default_rng(2)
    r, c = rng.normal(size=(m, dim)), rng.normal(size=(m, dim))
    np.testing.assert_allclose(bodies.velocity(r), sparse.velocity(r), atol=1e-10)
    np.testing.assert_allclose((bodies.velocity(r) - bodies.q).ravel(), w @ r.ravel(), atol=1e-10)
    np.testing.assert_allclose(bodies.weight.ravel(), np.diag(w), atol=1e-10)
    signs = set()
    for seed in range(6):
        d = linear(m, dim, symmetric, seed)
        whole_d = np.zeros((m, dim, m, dim))
        whole_d[range(m), :, range(m), :] = d
        k = np.eye(m * dim) + w @ whole_d.reshape(m * dim, m * dim)
        sign = bodies.factorize(d)
        signs.add(sign)
        assert sign == np.linalg.slogdet(k)[0] == sparse.factorize(d)
        exact = np.linalg.solve(k, w @ c.ravel()).reshape(m, dim)
        scale = np.abs(exact).max()
        assert np.abs(bodies.respond(c) - exact).max() <= 1e-10 * scale
        assert np.abs(bodies.respond(c) - sparse.respond(c)).max() <= 1e-10 * scale
    assert signs == {1.0} if symmetric else len(signs) == 2


def test_contacts_that_push_the_cell_alone_bear_nothing() -> None:
    """All grains are held, as sweeps see it too."""
    p = packing(2)
    mass, inertia = p.inv_mass.copy(), p.inv_inertia.copy()
    mass[: p.grains], inertia[: p.grains] = 0.0, 0.0
    p = replace(p, inv_mass=mass, inv_inertia=inertia)
    bodies, form, _, _ = whole(p)
    sparse, r = SparseResponse(form), np.random.default_rng(0).normal(size=bodies.q.shape)
    np.testing.assert_allclose(bodies.velocity(r), sparse.velocity(r), atol=1e-10)
    d = linear(len(r), 2, True, 0)
    assert bodies.factorize(d) == sparse.factorize(d) == 1.0
    np.testing.assert_allclose(bodies.respond(r), sparse.respond(r), atol=1e-10)
    assert (bodies.q[:, 0] >= 0.0).all()


@pytest.mark.parametrize(("dim", "free"), CASES)
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_newtons_method_and_paths_solve_the_laws(dim: int, free: str, mu: float) -> None:
    p = packing(dim, free, mu)
    bodies, form, frame, friction = whole(p)
    path = Path(bodies, friction)
    while not path.ended and path.iterations < 200 and path.violation > 1e-8:
        path.advance()
    assert checked(p, frame, form, path.best) < 1e-6
    p = replace(p, velocity=1.001 * p.velocity)  # the next step, whose load has grown
    bodies, form, frame, _ = whole(p)
    assert checked(p, frame, form, path.best) > 1e-4
    r, _, _ = harden(bodies, friction, path.best, 1e-10, 60)
    assert checked(p, frame, form, r) < 1e-8


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("free", WHICH[2])
@pytest.mark.parametrize("mu", [0.0, 0.1, 0.3, 0.6])
def test_springs_that_harden_solve_the_laws_of_disks(free: str, mu: float, walk: bool) -> None:
    for seed in range(3):
        p = packing(2, free, mu, seed)
        bodies, form, frame, friction = whole(p)
        start = np.zeros_like(bodies.q)
        if not walk:  # Newton's method passes no fold, and begins near the answer as in the solver
            near = hg.GaussSeidel(sweeps=10).solve(p, seed=0, step=0)
            start = np.einsum("kb,kab->ka", near.impulse, frame.axes)
        r, _, changes = harden(bodies, friction, start, 1e-9, np.inf, walk=walk)
        assert changes > 0 or free == "none"
        assert checked(p, frame, form, r) < 1e-6


@pytest.mark.parametrize("free", WHICH[2])
def test_many_changes_of_state_keep_the_line_exact(
    free: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Soft springs have one solution, whether K is factorised after each change of state or not."""
    p = packing(2, free, 0.3)
    bodies, _, _, mu = whole(p)
    found, changes, factors = piecewise.trace(bodies, mu, np.zeros_like(bodies.q), 1.0, 5000)
    monkeypatch.setattr(piecewise, "CHANGES", 1)
    other, _, more = piecewise.trace(bodies, mu, np.zeros_like(bodies.q), 1.0, 5000)
    assert found is not None
    assert other is not None
    assert more > factors
    assert changes >= (20 if free == "all" else 1)
    np.testing.assert_allclose(found, other, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("free", WHICH[2])
@pytest.mark.parametrize("dim", [2, 3])
def test_gradients_find_what_holds_a_packing_at_rest(dim: int, free: str) -> None:
    """Without friction the relaxed law is the true one."""
    p = packing(dim, free, 0.0)
    bodies, form, frame, mu = whole(p)
    r, _, _ = at_rest(Descent(bodies, mu), np.zeros_like(bodies.q), 1e-9, 200_000)
    assert checked(p, frame, form, r) < 1e-6


def least_distance(p: Problem) -> tuple[Any, Any]:
    """Velocities and spins without friction: the nearest to v* that no contact forbids.

    min ½ (v − v*)·M (v − v*) with N v + g⁺/dt ≥ 0, by Lawson and Hanson's least distances.
    """
    h, inverse, v = dense(p)
    normals = np.einsum("ka,kac->kc", p.normal, h.reshape(-1, p.dim, v.size))
    root = np.sqrt(inverse)
    least = -(normals @ v + np.maximum(p.gap, 0.0) / p.dt)
    e = np.vstack([(normals * root).T, least])
    r, _ = nnls(e, np.append(np.zeros(v.size), 1.0), maxiter=10_000)
    rest = e @ r - np.append(np.zeros(v.size), 1.0)
    both = (v - root * rest[:-1] / rest[-1]).reshape(len(p.velocity), -1)
    return both[:, : p.dim], both[:, p.dim :]


@pytest.mark.parametrize(("dim", "free"), CASES)
def test_without_friction_the_motion_is_that_of_a_quadratic_program(dim: int, free: str) -> None:
    p = packing(dim, free, 0.0)
    bodies, form, frame, mu = whole(p)
    velocity, spin = least_distance(p)
    path = Path(bodies, mu)
    while not path.ended and path.iterations < 200 and path.violation > 1e-10:
        path.advance()
    v, w = frame.motion(p, form.velocity(path.best.ravel()))
    np.testing.assert_allclose(v, velocity, atol=1e-6 * np.abs(velocity).max())
    np.testing.assert_allclose(w, spin, atol=1e-6 * np.abs(velocity).max())


@pytest.mark.parametrize(("dim", "free"), CASES)
@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("sweeps", [True, False])
def test_the_rigid_solver_solves_steps_in_a_cell(
    dim: int, free: str, mu: float, sweeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By sweeps, where these are enough, and by the stages that follow them if they are not."""
    p = packing(dim, free, mu)
    if not sweeps:
        monkeypatch.setattr(rigid, "LEAST", 1)
        monkeypatch.setattr(rigid, "EARLY", 1)
        monkeypatch.setattr(rigid, "UPDATE", {dim: 1.0})
    found: Any = rigid.RigidSolver(tolerance=1e-8).solve(p, seed=1, step=0)
    assert found.converged
    if not sweeps and free != "none":
        assert {stage.method for stage in found.history} & {"walk", "springs", "path", "gradients"}
    velocity, spin = pushed(p, found.impulse)
    np.testing.assert_allclose(found.velocity, velocity, atol=1e-9)
    np.testing.assert_allclose(found.spin, spin, atol=1e-9)
    assert violated(p, found.impulse, velocity, spin) < 1e-6
    if mu == 0.0:
        np.testing.assert_allclose(velocity, least_distance(p)[0], atol=1e-6)


@pytest.mark.parametrize(("dim", "free"), CASES)
def test_a_step_in_a_cell_is_solved_as_matrices_too(dim: int, free: str) -> None:
    p = packing(dim, free, 0.3)
    form, frame = global_form(p)
    found: Any = rigid.RigidSolver(tolerance=1e-8).solve(form, seed=1, step=0)
    assert found.converged
    assert checked(p, frame, form, found.r) < 1e-6
