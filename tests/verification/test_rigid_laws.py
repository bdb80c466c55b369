"""The rigid solver with resistance to rolling and torsion, and the law that it refuses.

Sweeps would do most of these small problems. So they are switched off, but for the few that end
every stage, and springs have to find the answer.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.solve import rigid
from hardgrain.solve.assembly import step_form
from hardgrain.solve.problem import Problem, Solution

from .helpers import EXACT, Dense, Floats, grains, packing, record, start, steps, up
from .helpers import velocities as all_velocities
from .test_incline import AXIS, KAPPA, downhill, on_slope, roll, spinning_on_another
from .test_solver import EVERY, determinate

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
G, R, MU = 9.81, 0.5, 0.4
TIGHT = hg.RigidSolver(tolerance=1e-10, on_cap="error")
TURNING = {"friction": MU, "rolling": 0.1}
BOTH = {**TURNING, "torsion": 0.05}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All contacts are solved at once, and sweeps have no say."""
    monkeypatch.setattr(rigid._Search, "_swept", lambda *_: False)
    monkeypatch.setattr(
        rigid._Search, "_springs", lambda self: self._harden("springs", rigid.ALONE)
    )


def solve(problem: Problem, solver: hg.RigidSolver = TIGHT) -> Solution:
    found: Solution = solver.solve(problem, seed=0, step=0)
    return found


def problem_of(sim: hg.Simulation) -> Problem:
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    return kept.problem


# ---------------------------------------------------------------------- closed forms
@pytest.mark.parametrize("dim", DIMS)
def test_a_grain_begins_to_roll_at_the_slope_of_its_coefficient(at_once: None, dim: int) -> None:
    """Rest up to tan = µ_r; beyond, a = g (sin − µ_r cos)/(1 + κ)."""
    mu_r, kappa = TURNING["rolling"], KAPPA[dim]
    for tangent in (mu_r * (1.0 - 1e-6), mu_r * (1.0 + 1e-3), 2.5 * mu_r):
        sim = on_slope(dim, tangent, law=TURNING, solver=TIGHT)
        steps(sim, 20)
        angle = math.atan(tangent)
        a = max(G * (math.sin(angle) - mu_r * math.cos(angle)) / (1.0 + kappa), 0.0)
        assert downhill(sim) == pytest.approx(a * sim.state.time, rel=1e-8, abs=1e-10)
        assert roll(sim) * R == pytest.approx(a * sim.state.time, rel=1e-8, abs=1e-10)


def test_a_spinning_sphere_is_slowed_by_torsion_alone(at_once: None) -> None:
    """dω/dt = −µ_o r m g / (2/5 m r²), then rest."""
    mu_o, w0 = 0.1, 2.0
    law = {"friction": MU, "torsion": mu_o}
    sim = on_slope(3, 0.0, law=law, spin=[0.0, 0.0, w0], solver=TIGHT)
    rate = 2.5 * mu_o * G / R
    steps(sim, 20)
    assert sim.state.spin[0, 2] == pytest.approx(w0 - rate * 0.2, rel=1e-8)
    steps(sim, 60)
    np.testing.assert_allclose(sim.state.spin[0], 0.0, atol=1e-9)


@pytest.mark.parametrize(("dim", "kind"), [(2, "rolling"), (3, "rolling"), (3, "torsion")])
def test_two_grains_resist_with_their_effective_radius(at_once: None, dim: int, kind: str) -> None:
    """dω/dt = −µ r_e m g / I, r_e = r_1 r_2/(r_1 + r_2): one spins on another that is held."""
    w0 = 3.0
    sim, rate = spinning_on_another(dim, kind, w0, solver=TIGHT)
    steps(sim, 10)
    assert np.abs(sim.state.spin[1]).max() == pytest.approx(w0 - rate * sim.state.time, rel=1e-8)


@pytest.mark.parametrize("dim", DIMS)
def test_a_wall_that_turns_takes_a_grain_along_as_far_as_its_resistance_goes(
    at_once: None, dim: int
) -> None:
    """A frictionless one on one that is spun: dω/dt = µ_r r_e m g / I until spins agree."""
    mu_r, w0 = 0.05, 1.0
    axes = ["x", "y", "z"][:dim]
    index, _ = AXIS[dim]
    spin = np.eye(3 if dim == 3 else 1)[index] * w0
    sets = [
        grains([0.0] * dim, driven_velocity=[0.0] * dim, driven_spin=spin.tolist()),
        grains(up(dim, 1.0), lock=axes[:-1]),
    ]
    law = {"friction": 0.0, "rolling": mu_r}
    sim = start(dim, sets, gravity=up(dim, -G), law=law, solver=TIGHT)
    rate = mu_r * 0.5 * R * G / (KAPPA[dim] * R**2)
    steps(sim, 10)
    assert sim.state.spin[1, index] == pytest.approx(rate * sim.state.time, rel=1e-8)
    steps(sim, 200)
    assert sim.state.spin[1, index] == pytest.approx(w0, rel=1e-8)


# ---------------------------------------------------------------------- packings
@pytest.mark.parametrize("dim", DIMS)
def test_velocities_are_those_of_sweeps_where_impulses_are_unique(at_once: None, dim: int) -> None:
    problem = determinate(dim, EVERY | ({"torsion": 0.02} if dim == 3 else {}))
    found = solve(problem)
    assert {stage.method for stage in found.history} == {"sweeps", "springs"}
    swept = EXACT.solve(problem, seed=0, step=0)
    fast = float(np.abs(problem.velocity).max())
    np.testing.assert_allclose(all_velocities(found), all_velocities(swept), atol=1e-8 * fast)


def violations(p: Problem, s: Solution, law: dict[str, float]) -> dict[str, float]:
    """How far a solution is from each law, independent of the package, over the rms of W P.

    Bodies are moved by the impulses and torques that the solution has; what a contact wants is then
    said law by law, in the frames of `Dense`.
    """
    dense, dim, m = Dense.of(p), p.dim, p.first.size
    nb, ns = p.spin.shape
    frame = dense.h.reshape(m, dim, -1)
    axes = frame.reshape(m, dim, nb, dim + ns)[np.arange(m), :, p.second, :dim]
    r = np.einsum("kab,kb->ka", axes, s.impulse)
    turned = np.zeros((nb, dim + ns))
    np.add.at(turned[:, dim:], p.second, s.torque)
    np.add.at(turned[:, dim:], p.first, -s.torque)
    q = dense.free + dense.inv_mass * (dense.h.T @ r.ravel() + turned.ravel())
    np.testing.assert_allclose(q, all_velocities(s), atol=1e-11 * np.abs(dense.free).max())
    u = (dense.h @ q + dense.bias).reshape(m, dim)
    own = np.einsum("kap,p,kap->ka", frame, dense.inv_mass, frame)
    push = np.maximum(r[:, 0] - u[:, 0] / own[:, 0], 0.0)
    spin = q.reshape(nb, -1)[:, dim:]
    relative = spin[p.second] - spin[p.first]
    ease = (p.inv_inertia[p.first] + p.inv_inertia[p.second]).max(axis=1)
    along = np.einsum("ka,ka->k", relative, p.normal)[:, None] * p.normal if dim == 3 else 0.0
    torsion = np.einsum("ka,ka->k", s.torque, p.normal)[:, None] * p.normal if dim == 3 else 0.0
    groups = {
        "friction": (r[:, 1:], u[:, 1:], own[:, 1], law["friction"] * push, 1.0),
        "rolling": (
            s.torque - torsion, relative - along, ease, law["rolling"] * p.roll * push, p.roll,
        ),
    }  # fmt: skip
    if dim == 3:
        groups["torsion"] = torsion, along, ease, law["torsion"] * p.roll * push, p.roll
    scale = math.sqrt(np.mean((own[:, 0] * r[:, 0])[r[:, 0] > 0.0] ** 2))
    found = {"Signorini": float(np.abs(own[:, 0] * (push - r[:, 0])).max()) / scale}
    for name, (impulse, slip, w, limit, lever) in groups.items():
        trial = impulse - slip / w[:, None]
        size = np.linalg.norm(trial, axis=1)
        kept = np.minimum(1.0, limit / np.maximum(size, 1e-300))[:, None] * trial
        lacking = np.linalg.norm(kept - impulse, axis=1) * w * lever
        found[name] = float(lacking.max()) / scale
    return found


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_law_holds_in_a_packing_by_another_computation(
    at_once: None, dim: int, seed: int
) -> None:
    problem = problem_of(packing(dim, BOTH if dim == 3 else TURNING, seed))
    s = solve(problem, hg.RigidSolver(tolerance=1e-8, on_cap="error"))
    assert "springs" in {stage.method for stage in s.history}
    found = violations(problem, s, BOTH)
    # the scale is that of normal impulses alone, half of the residual's at least
    assert max(found.values()) <= 2e-8, found
    assert np.abs(s.torque).max() > 0.0


@pytest.mark.parametrize("dim", DIMS)
def test_rows_of_spins_are_those_of_their_definition(dim: int) -> None:
    """U of the further rows is ℓ times the relative spin, and torques come back as they went in."""
    problem = problem_of(packing(dim, BOTH if dim == 3 else TURNING))
    form, frame = step_form(problem)
    rng = np.random.default_rng(dim)
    v = rng.normal(size=form.f.size)
    spin = frame.motion(problem, v)[1]
    relative = spin[problem.second] - spin[problem.first]
    u = (form.h @ v + form.w).reshape(-1, frame.rows)[:, dim:]
    if dim == 3:
        u = np.einsum("ka,kab->kb", u, frame.axes)
    np.testing.assert_allclose(u, problem.roll[:, None] * relative, atol=1e-12)
    torque = rng.normal(size=problem.torque.shape)
    r = frame.components(problem.impulse, torque)
    np.testing.assert_allclose(frame.torque(r), torque, atol=1e-12)
    np.testing.assert_allclose(frame.impulse(r), problem.impulse, atol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_resistance_in_a_cell_under_stress(at_once: None, dim: int) -> None:
    """The cell is a third body of each contact, which a relative spin does not feel."""
    size, axes = 5.0 if dim == 2 else 3.4, "xyz"[:dim]
    sets = hg.Grains(
        count=22,
        diameter=hg.Uniform(min=0.8, max=1.0),
        place=hg.Loose(min=[0.0] * dim, max=[size] * dim),
        speed=0.1,
    )
    sim = start(
        dim,
        sets,
        contacts=[hg.ContactLaw(**(BOTH if dim == 3 else TURNING))],
        periodic=dict.fromkeys(axes, (0.0, size)),
        cell=hg.MixedControl(**dict.fromkeys(axes, hg.Control(stress=1.0))),
        dt=0.02,
        solver=hg.RigidSolver(tolerance=1e-8, on_cap="error"),
        seed=1,
    )
    steps(sim, 250)
    assert np.abs(sim.state.contacts.torque).max() > 0.0


# ---------------------------------------------------------------------- two coefficients
def contact(angle: float) -> Floats:
    """Normal and tangential rows of a disk that touches a plane whose normal leans by an angle."""
    n = np.array([math.sin(angle), math.cos(angle)])
    t, arm = np.array([-n[1], n[0]]), -R * n
    return np.array([[*e, arm[0] * e[1] - arm[1] * e[0]] for e in (n, t)])


def states(angles: Floats, v: Floats, mu_s: float, mu_d: float) -> list[str]:
    """The states of the contacts of a disk in a groove for which some impulses obey every law.

    Each contact is open (o), sticks (S) or slides to either side. Given that, all laws are linear,
    also that a contact which slides could not stick by itself: a linear program tells.
    """
    h = np.concatenate([contact(a) for a in angles])
    w, q = h @ np.diag([1.0, 1.0, 1.0 / 0.125]) @ h.T, h @ v
    one, found = np.eye(len(q)), []
    for state in itertools.product("oS+-", repeat=len(angles)):
        equal: list[tuple[Any, float]] = []
        below: list[tuple[Any, float]] = []
        for k, s in enumerate(state):
            n, t = 2 * k, 2 * k + 1
            if s == "o":
                equal += [(one[n], 0.0), (one[t], 0.0)]
                below += [(-w[n], q[n])]
                continue
            equal += [(w[n], -q[n])]
            below += [(-one[n], 0.0)]
            if s == "S":
                equal += [(w[t], -q[t])]
                below += [(c * one[t] - mu_s * one[n], 0.0) for c in (1.0, -1.0)]
            else:
                c = 1.0 if s == "+" else -1.0
                equal += [(one[t] - c * mu_d * one[n], 0.0)]
                # c (r_T − U_T/W_TT) ≥ µ_s r_N
                stick = c * (one[t] - w[t] / w[t, t])
                below += [(mu_s * one[n] - stick, -c * q[t] / w[t, t])]
        result = linprog(
            np.zeros(len(q)), *map(np.array, zip(*below, strict=True)),
            *map(np.array, zip(*equal, strict=True)), bounds=(None, None), method="highs",
        )  # fmt: skip
        assert result.status in (0, 2)  # solved, or infeasible
        found += ["".join(state)] * (result.status == 0)
    return found


@pytest.mark.parametrize(
    ("low", "some", "high"), [(-40.0, (0.1, -0.9, 1.8), 22.0), (-50.0, (0.2, -0.93, -2.3), 72.0)]
)
def test_with_two_coefficients_a_disk_in_a_groove_may_have_no_solution(
    low: float, some: tuple[float, float, float], high: float
) -> None:
    angles, v = np.radians([low, high]), np.array(some)
    assert states(angles, v, 0.5, 0.3) == []
    walls = [
        hg.Plane(point=(-R * n).tolist(), normal=n.tolist())
        for n in (np.array([math.sin(a), math.cos(a)]) for a in angles)
    ]
    for mu, solved in ((0.5, True), (0.3, True), (None, False)):
        law = {"friction": mu or 0.5, "friction_dynamic": mu or 0.3}
        disk = grains([0.0, 0.0], velocity=list(some[:2]), spin=some[2])
        sim = start(2, disk, walls=walls, law=law, dt=1e-3, solver=hg.GaussSeidel(sweeps=1))
        problem = problem_of(sim)
        swept = EXACT.model_copy(update={"on_cap": "report"}).solve(problem, seed=0, step=0)
        assert swept.converged == solved
        if mu is not None:
            assert states(angles, v, mu, mu)
        else:
            assert swept.residual > 1e-3
            with pytest.raises(InputError, match=r"friction 0\.5 and friction_dynamic 0\.3"):
                solve(problem)
