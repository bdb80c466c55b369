"""The soft-particle engine against closed forms, its own stability bound, and scenes it shares."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.papers.experiment import chance
from hardgrain.run.scenario import parse
from hardgrain.step import soft_particles, stable_step
from hardgrain.theory import spring

from .helpers import Floats, angular_momentum, cluster, floor, grains, momentum, steps, up

pytestmark = pytest.mark.rounding

K = 1e4


def soft(
    dim: int,
    sets: hg.Grains | Sequence[hg.Grains],
    *,
    dt: float = 1e-3,
    friction: float = 0.0,
    engine: dict[str, Any] | None = None,
    seed: int = 0,
    **scene: Any,
) -> hg.Simulation:
    """A simulation of soft grains of stiffness K."""
    sets = [sets] if isinstance(sets, hg.Grains) else list(sets)
    scene = {"contacts": [hg.ContactLaw(friction=friction)], **scene}
    settings = hg.SoftParticles(**{"stiffness": K, **(engine or {})})
    return hg.Simulation(
        hg.Scene(dimension=dim, grains=sets, **scene), dt=dt, engine=settings, seed=seed
    )


def energy(sim: hg.Simulation) -> float:
    return sim.kinetic + sim.engine.elastic(sim.state)


# ---------------------------------------------------------------------- normal force
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("e", [1.0, 0.6, 0.1])
def test_collision_has_the_restitution_asked_for(dim: int, e: float) -> None:
    """Unequal grains, and a grain and a wall; the error vanishes like dt."""
    x = [1.0] + [0.0] * (dim - 1)
    mass = [r**dim * {2: math.pi, 3: 4 / 3 * math.pi}[dim] for r in (0.4, 0.6)]
    ratio = spring.damping_ratio(e)
    for substeps in (5, 20):
        pair = [
            grains([0.0] * dim, diameter=0.8, velocity=x),
            grains([1.003, *x[1:]], diameter=1.2),
        ]
        more = {"dt": 2e-4, "engine": {"restitution": e, "substeps": substeps}}
        wall = hg.Plane(point=[-0.403, *x[1:]], normal=x)
        back = grains([0.0] * dim, diameter=0.8, velocity=[-1.0, *x[1:]])
        pairs = soft(dim, pair, **more), soft(dim, back, walls=[wall], **more)
        for sim, m in zip(pairs, (mass[0] * mass[1] / sum(mass), mass[0]), strict=True):
            lasted = sum(sim.step().loaded > 0 for _ in range(400)) * 2e-4
            v, phase = sim.state.velocity[:, 0], 2e-4 / substeps * math.sqrt(K / m)
            assert abs(abs(v[1] - v[0]) - e) < 2.0 * (ratio + phase) * phase
            assert lasted == pytest.approx(spring.contact_time(K, m, ratio), abs=4e-4)


def test_a_dashpot_never_pulls() -> None:
    """However strong it is, parting grains do not hold each other."""
    sim = soft(2, grains([0, 0], [0.99, 0]), engine={"damping": 40.0}, allow_overlaps=True)
    for _ in range(200):
        sim.step()
        assert (sim.state.contacts.normal_impulse() >= 0.0).all()
        assert sim.state.velocity[1, 0] >= 0.0


def test_pressed_grain_oscillates() -> None:
    """On a floor under gravity, δ = mg/k, around it the map's own solution to rounding."""
    for damping in (0.0, 3.0):
        dt = 2e-3
        sim = soft(
            2, grains([0.0, 0.4999]), dt=dt, engine={"damping": damping}, gravity=[0, -10],
            walls=[floor(2)], allow_overlaps=True,
        )  # fmt: skip
        m = sim.model.mass[0]
        a, c = K / m * dt**2, damping / m * dt
        rest, x = 0.5 - 10 * m / K, [0.4999]
        v = 0.0  # per step
        for _ in range(200):
            v += -a * (x[-1] - rest) - c * v
            x.append(x[-1] + v)
        found = [0.4999]
        for _ in range(200):
            sim.step()
            found.append(sim.state.position[0, 1])
        assert np.max(np.abs(np.array(found) - x)) < 1e-13
        if damping == 0.0:  # cos(ω dt) = 1 − a/2
            t = np.arange(201) + 0.5
            omega = math.acos(1 - a / 2)
            wave = (0.4999 - rest) * np.cos(omega * t) / math.cos(omega / 2)
            assert np.max(np.abs(np.array(found) - rest - wave)) < 1e-12


def test_chain_has_the_modes_of_springs_and_dashpots() -> None:
    """Eq. 22 of unger2002: 4κ/m sin²(kd/2) for every mode, damped by γ, stepped exactly."""
    n, dt, damping, push = 12, 1e-3, 0.5, 50.0
    m, i = math.pi / 4, np.arange(1, n + 1)
    rest = (i - 0.5) - push / K * i  # every spring is pressed by the same force
    for mode in (1, 4, n):
        shape = np.sin((2 * mode - 1) * math.pi / (2 * n + 1) * i)
        start = rest + 1e-3 * shape
        free = {"lock": ["y", "rotation"]}
        sim = soft(
            2,
            [
                grains(*[[x, 0] for x in start[:-1]], **free),
                grains([start[-1], 0], force=[-push, 0], **free),
            ],
            dt=dt,
            engine={"damping": damping},
            walls=[hg.Plane(point=[0, 0], normal=[1, 0])],
            allow_overlaps=True,
        )
        sine = 4.0 * math.sin((2 * mode - 1) * math.pi / (2 * n + 1) / 2.0) ** 2
        a, c = K / m * sine * dt**2, damping / m * sine * dt
        x, v = 1.0, 0.0
        for step in range(1, 401):
            sim.step()
            v += -a * x - c * v
            x += v
            if step % 50 == 0:
                found = sim.state.position[:n, 0] - rest
                assert np.max(np.abs(found - 1e-3 * x * shape)) < 1e-11
        steps_angle = np.log(np.roots([1.0, a + c - 2.0, 1.0 - c])[0])
        assert abs(steps_angle.imag) / dt == pytest.approx(math.sqrt(K / m * sine), rel=0.05)


# ---------------------------------------------------------------------- tangential force
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", ["viscous", "spring"])
def test_sliding_grain_ends_rolling(dim: int, law: str) -> None:
    """v → 2/3 of it for a disk, 5/7 for a sphere, whatever the friction law; slip at µg before."""
    engine = {"restitution": 0.5, "tangential": law, "tangential_damping": 20.0, "substeps": 50}
    sim = soft(
        dim, grains(up(dim, 0.5), velocity=[1.0] + [0.0] * (dim - 1)), dt=0.025, friction=0.3,
        engine=engine, gravity=up(dim, -1.0), walls=[floor(dim)],
    )  # fmt: skip
    steps(sim, 12)
    before = sim.state.velocity[0, 0]
    steps(sim, 12)
    assert sim.state.velocity[0, 0] - before == pytest.approx(-0.3 * 0.3, rel=1e-3)
    steps(sim, 96)
    arm = sim.state.position[0, -1]
    share = 1.0 / (1.0 + (0.5 if dim == 2 else 0.4) * (0.5 / arm) ** 2)
    v, spin = sim.state.velocity[0, 0], sim.state.spin[0]
    assert v == pytest.approx(share, rel=2e-4)
    assert np.abs(spin).max() * arm == pytest.approx(v, rel=1e-3)


def test_viscous_friction_creeps_and_a_spring_sticks() -> None:
    """Below µ: T = γ u for RC1, T = k_t ξ for Cundall–Strack; above it both slide alike."""
    for tangent, slides in ((0.2, False), (0.5, True)):
        ends = []
        for law in ({"tangential": "viscous", "tangential_damping": 50.0}, {}):
            sim = soft(
                2, grains([0, 0.5], lock=["rotation"]), friction=0.3, dt=0.02,
                engine={"damping": 50.0, "tangential_damping": 20.0, "substeps": 40, **law},
                gravity=[tangent, -1.0], walls=[floor(2)],
            )  # fmt: skip
            steps(sim, 100)
            ends.append(sim)
        m = ends[0].model.mass[0]
        for sim in ends:
            if slides:
                slope = 0.5 - 0.3
                assert sim.state.velocity[0, 0] == pytest.approx(slope * 2.0, rel=5e-3)
                pulled = sim.state.contacts.impulse[0] / sim.dt
                assert abs(pulled[0]) == pytest.approx(0.3 * m, rel=1e-6)
        if not slides:
            assert ends[0].state.velocity[0, 0] == pytest.approx(0.2 * m / 50.0, rel=1e-6)
            assert abs(ends[1].state.velocity[0, 0]) < 1e-6
            elongation = 0.2 * m / (2.0 / 7.0 * K)
            assert -ends[1].state.contacts.spring[0, 0] == pytest.approx(elongation, rel=1e-3)


@pytest.mark.parametrize("dim", [2, 3])
def test_rolling_down_an_incline(dim: int) -> None:
    """a = g sin θ / (1 + I/mr²) while µ suffices."""
    tangent = 0.4
    gravity = up(dim, -1.0)
    gravity[0] = tangent
    sim = soft(
        dim, grains(up(dim, 0.5)), friction=0.5, dt=0.02, gravity=gravity, walls=[floor(dim)],
        engine={"restitution": 0.3, "tangential_damping": 5.0, "substeps": 40},
    )  # fmt: skip
    steps(sim, 25)
    before = sim.state.velocity[0, 0]
    steps(sim, 75)
    gained = 1.5 * tangent / (1.5 if dim == 2 else 1.4)
    assert sim.state.velocity[0, 0] - before == pytest.approx(gained, rel=1e-3)


def test_spring_turns_with_the_contact() -> None:
    """A pair that turns as one body keeps its stretched spring, laid into the tangent plane."""
    rate = 2.0
    sets = [
        grains([0, 0, 0], driven_velocity=[0, 0, 0], driven_spin=[0, 0, rate]),
        grains(
            [0.98, 0, 0],
            driven_velocity=[f"-0.98*{rate}*sin({rate}*t)", f"0.98*{rate}*cos({rate}*t)", 0],
            driven_spin=[0, 0, rate],
        ),
    ]
    dt = math.pi / 2 / rate / 500
    for before, after in (([0, 1, 0], [-1, 0, 0]), ([0, 0, 1], [0, 0, 1]), ([0, 1, 1], [-1, 0, 1])):
        sim = soft(3, sets, dt=dt, friction=10.0, allow_overlaps=True)
        sim.step()
        sim.state.contacts.spring[0] = 1e-3 * np.array(before)
        steps(sim, 500)  # a quarter of a turn
        assert sim.state.contacts.spring[0] == pytest.approx(1e-3 * np.array(after), abs=2e-5)
        assert abs(sim.state.contacts.spring[0] @ sim.state.contacts.normal[0]) < 1e-15


# ---------------------------------------------------------------------- conservation
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", ["viscous", "spring"])
def test_momentum_and_angular_momentum(dim: int, law: str) -> None:
    """Both are kept to rounding, also where grains overlap."""
    x, d = cluster(dim, 15, seed=3)
    more = {"tangential_damping": 5.0} if law == "viscous" else {}
    sim = soft(
        dim, grains(*(0.97 * x), diameter=d.tolist(), speed=1.0), friction=0.4, dt=5e-3,
        engine={"restitution": 0.7, "tangential": law, "substeps": 25, **more},
        allow_overlaps=True,
    )  # fmt: skip
    p, l = momentum(sim), angular_momentum(sim)
    steps(sim, 20)
    assert np.abs(momentum(sim) - p).max() < 1e-12
    assert np.abs(angular_momentum(sim) - l).max() < 1e-11


def test_energy_of_elastic_collisions_at_second_order() -> None:
    """Without dashpot and friction the error after a collision is O(dt²)."""

    def error(dt: float) -> float:
        """Root mean square over the places at which a step may meet the first touch."""
        found = []
        for offset in np.linspace(0.0, 1.0, 15, endpoint=False):
            start = 1.001 + offset * dt
            pair = [grains([0, 0], velocity=[1, 0]), grains([start, 0.2])]
            sim = soft(2, pair, dt=0.02, engine={"substeps": round(0.02 / dt)})
            before = sim.kinetic
            steps(sim, 5)
            assert not sim.report.loaded  # type: ignore[union-attr]
            found.append(sim.kinetic / before - 1.0)
        return float(np.sqrt(np.mean(np.square(found))))

    coarse, fine = error(1e-3), error(2.5e-4)
    assert coarse < 1e-2
    assert 10.0 < coarse / fine < 26.0  # 16


@pytest.mark.parametrize("law", ["viscous", "spring"])
def test_energy_ledger_closes_with_dt(law: str) -> None:
    """Start + work − dissipation = kinetic + elastic, but for the explicit steps' own error."""
    errors = []
    for substeps in (20, 80):
        more = {"tangential_damping": 5.0} if law == "viscous" else {}
        sim = soft(
            2, hg.Grains(count=20, place=hg.Loose(min=[0, 0], max=[6, 8]), speed=0.5), dt=0.02,
            friction=0.4, gravity=[0, -1], walls=[hg.Box(min=[0, 0], max=[6, 8])],
            engine={"restitution": 0.6, "substeps": substeps, "tangential": law, **more},
        )  # fmt: skip
        summary = sim.run(until=300, progress=False)
        assert summary.dissipated > 10.0
        errors.append(abs(summary.balance_error) / summary.dissipated)
    assert errors[0] < 0.005
    assert errors[1] < 0.15 * errors[0]  # 1/16, at second order


def test_a_driven_wall_does_the_work_that_the_grain_stores_and_loses() -> None:
    """A lid that moves down at constant speed presses a grain against the floor.

    Its work is what the two springs hold, plus what their dashpots took and the grain's motion. The
    force of the last explicit step acts on a grain that has moved on by v dt/2 of the overlap δ on
    average: the work is wrong by the share v dt/δ, here 2·10⁻³, and less by the rising force.
    """
    lid = hg.Plane(name="lid", point=[0, 1], normal=[0, -1], velocity=[0, -0.1])
    sim = soft(
        2, grains([0, 0.5], lock=["x"]), dt=0.01, walls=[floor(2), lid],
        engine={"damping": 20.0, "substeps": 100},
    )  # fmt: skip
    summary = sim.run(until=20, progress=False)
    spent = energy(sim) + summary.dissipated
    overlap = 0.1 * sim.state.time / 2  # of each contact: the grain stays in the middle
    assert energy(sim) == pytest.approx(2 * 0.5 * K * overlap**2, rel=0.01)
    assert summary.work_driven == pytest.approx(spent, rel=2e-3)


# ---------------------------------------------------------------------- the explicit step
def matrices(sim: hg.Simulation, k_n: float, k_t: float) -> Floats:
    """M^(-1/2) K M^(-1/2) of all touching pairs, from the definition."""
    m, n, dim = sim.model, sim.model.n, sim.model.dim
    x = sim.state.position[:n]
    ns = m.inv_inertia.shape[1]
    size = dim + ns
    root = np.sqrt(np.hstack([m.inv_mass[:n], m.inv_inertia[:n]])).ravel()
    total = np.zeros((n * size, n * size))
    for i in range(n):
        for j in range(i + 1, n):
            d = x[j] - x[i]
            d -= np.where(m.periodic > 0, m.periodic, 1.0) * np.round(
                np.where(m.periodic > 0, d / np.where(m.periodic > 0, m.periodic, 1.0), 0.0)
            )
            if np.linalg.norm(d) >= m.radius[i] + m.radius[j]:
                continue
            frame = np.linalg.svd(d[None])[2]
            for axis, stiffness in zip(frame, [k_n] + [k_t] * (dim - 1), strict=True):
                b = np.zeros((n, size))
                for body, sign, arm in ((i, -1.0, m.radius[i]), (j, 1.0, -m.radius[j])):
                    lever = arm * d / np.linalg.norm(d)
                    b[body, :dim] = sign * axis
                    turned = (
                        [lever[0] * axis[1] - lever[1] * axis[0]]
                        if dim == 2
                        else np.cross(lever, axis)
                    )
                    b[body, dim:] = sign * np.asarray(turned)
                b_root = b.ravel() * root
                total += stiffness * np.outer(b_root, b_root)
    return total


def crystal(dim: int, friction: float, engine: dict[str, Any], **keys: Any) -> hg.Simulation:
    """Grains on a hexagonal or face-centred cubic lattice, pressed together, periodic."""
    if dim == 2:
        cell, base, count = np.array([1.0, math.sqrt(3.0)]), [[0, 0], [0.5, 0.5]], (4, 3)
    else:
        cell = np.full(3, math.sqrt(2.0))
        base, count = [[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], (2, 2, 2)
    corners = np.stack(np.meshgrid(*map(np.arange, count), indexing="ij"), -1).reshape(-1, dim)
    places = (corners[:, None] + np.array(base)).reshape(-1, dim) * cell
    places += np.random.default_rng(1).normal(size=places.shape) * 1e-3
    return soft(
        dim, grains(*places, diameter=1.02, speed=0.02), friction=friction, engine=engine,
        periodic={a: (0, n * c) for a, n, c in zip("xyz", count, cell, strict=False)},
        allow_overlaps=True, **keys,
    )  # fmt: skip


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_no_packing_is_stiffer_than_the_bound(dim: int, friction: float) -> None:
    """The largest eigenvalue of crystals and of random clusters of many sizes."""
    engine = {"stiffness": K, "tangential_stiffness": 0.8 * K}
    x, d = cluster(dim, 25, seed=dim)
    sizes = np.random.default_rng(4).permutation(np.linspace(0.5, 1.5, 30))
    y = np.random.default_rng(5).uniform(0, 2.5 if dim == 2 else 1.7, (30, dim))
    loose = [
        crystal(dim, friction, engine, dt=1e-4),
        soft(dim, grains(*(0.98 * x), diameter=d.tolist()), friction=friction, engine=engine,
             dt=1e-4, allow_overlaps=True),
        # far denser than any packing of hard grains
        soft(dim, grains(*(1.6 * y), diameter=sizes.tolist()), friction=friction, engine=engine,
             dt=1e-4, allow_overlaps=True),
    ]  # fmt: skip
    shares = []
    for sim in loose:
        k_t = 0.8 * K if friction else 0.0
        true = np.linalg.eigvalsh(matrices(sim, K, k_t))[-1]
        # without dashpots the admissible step is 2/√λ over the margin
        bound = (2.0 / (stable_step.MARGIN * sim.engine.softness.admissible)) ** 2  # type: ignore[union-attr]
        shares.append(true / bound)
    assert max(shares) <= 1.001  # the crystal is not perfect
    if dim == 2 and not friction:
        assert shares[0] > 0.95  # the hexagonal crystal reaches it


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("engine", [{}, {"restitution": 0.4}, {"tangential_damping": 3.0}])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_the_admissible_step_is_stable_and_longer_ones_are_not(
    dim: int, engine: dict[str, Any], friction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dense crystal, where it matters most."""
    engine = dict(engine)
    probe = crystal(dim, friction, engine, dt=1e-6)
    longest = probe.engine.softness.admissible  # type: ignore[union-attr]
    start = energy(probe)
    engine["substeps"] = 10
    sim = crystal(dim, friction, engine, dt=9.99 * longest)
    most = max(r.kinetic + r.elastic for r in (sim.step() for _ in range(80)))
    assert most < 1.02 * start
    monkeypatch.setattr(soft_particles, "admissible_step", lambda *_: math.inf)
    sim = crystal(dim, friction, engine, dt=35 * longest)
    most = max(r.kinetic + r.elastic for r in (sim.step() for _ in range(80)))
    assert most > 2.0 * start


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_elastic_gas_hardly_heats_up(share: float) -> None:
    """Undamped collisions gain nothing on average at half of the longest step, little at the whole.

    An explicit step changes the energy of a collision by a share of order (ω dt)² whose sign
    depends on the moment at which the grains touch. Each seed is one chaotic gas: what can be
    judged is their mean.
    """
    gains = []
    for seed in range(10):
        sets = hg.Grains(
            count=60, diameter=hg.Uniform(min=0.8, max=1.2), speed=1.0,
            place=hg.Loose(min=[0, 0], max=[10, 10]),
        )  # fmt: skip
        box = {"walls": [hg.Box(min=[0, 0], max=[10, 10])]}
        longest = soft(2, sets, dt=1e-6, seed=seed, **box).engine.softness.admissible  # type: ignore[union-attr]
        sim = soft(2, sets, dt=99.9 * share * longest, seed=seed, engine={"substeps": 100}, **box)
        start = sim.kinetic
        steps(sim, round(70 / share))
        gains.append(energy(sim) / start - 1.0)
    mean, error = float(np.mean(gains)), float(np.std(gains, ddof=1)) / math.sqrt(len(gains))
    if share < 1.0:
        assert abs(mean) < chance(error, len(gains))  # once in 10⁴ processors by chance
    # An unstable step multiplies the energy without bound; measured are 5 % ± 1 % at the longest.
    assert max(gains) < 0.5


def test_too_long_a_step_is_refused_with_one_that_works() -> None:
    with pytest.raises(
        hg.InputError,
        match=r"dt / engine.substeps is 0.01 but must not exceed 0.00361 with this stiffness,"
        r" damping and these masses; use engine.substeps = 3 or dt = 0.00361",
    ):
        soft(2, grains([0, 0]), dt=0.01)
    soft(2, grains([0, 0]), dt=0.01, engine={"substeps": 3})
    soft(2, grains([0, 0]), dt=0.00361)
    # a light piston on a bed of many grains needs a shorter one
    bed = grains(*[[x + 0.5, 0.5] for x in range(20)])
    for mass, works in ((10.0, True), (0.1, False)):
        lid = hg.Plane(point=[0, 1], normal=[0, -1], piston=hg.Piston(mass=mass, force=1.0))
        if works:
            soft(2, bed, dt=2e-3, walls=[floor(2), lid])
        else:
            with pytest.raises(hg.InputError, match="must not exceed"):
                soft(2, bed, dt=2e-3, walls=[floor(2), lid])


def under_a_lid(width: float, dim: int = 2, **keys: Any) -> hg.Simulation:
    """Grains strewn over a strip of a box, 20 wide and 3 deep, under a light piston."""
    low, high = [0.0] * dim, [20.0, 12.0] if dim == 2 else [20.0, 3.0, 12.0]
    lid = {"top": hg.Piston(mass=0.3, force=5.0)}
    return soft(
        dim, hg.Grains(count=30, place=hg.Loose(min=low, max=[width, *high[1:]])),
        gravity=up(dim, -1.0), **{"walls": [hg.Box(min=low, max=high, pistons=lid)], **keys},
    )  # fmt: skip


def longest(sim: hg.Simulation) -> float:
    assert sim.engine.softness is not None
    assert sim.engine.softness.admissible is not None
    return sim.engine.softness.admissible


@pytest.mark.parametrize("dim", [2, 3])
def test_admissible_step_does_not_depend_on_where_grains_lie(dim: int) -> None:
    found = [longest(under_a_lid(width, dim, dt=1e-6)) for width in (4.0, 20.0)]
    assert found[0] == found[1]


def test_light_piston_meets_as_many_grains_as_have_room() -> None:
    """2/√λ over the margin, λ = 2Nk/M, N from what bounds the grains for good."""

    def meets(sim: hg.Simulation) -> float:
        return 0.3 * (2.0 / (stable_step.MARGIN * longest(sim))) ** 2 / (2.0 * K)

    def box(open_sides: list[str], **more: Any) -> dict[str, Any]:
        lid = {"top": hg.Piston(mass=0.3, force=5.0), **more}
        return {"walls": [hg.Box(min=[0, 0], max=[20, 12], open=open_sides, pistons=lid)]}

    assert meets(under_a_lid(20.0, dt=1e-6)) == pytest.approx(21)
    assert meets(under_a_lid(20.0, dt=1e-6, **box(["left"]))) == pytest.approx(30)
    side = hg.Piston(mass=9.0, force=1.0)
    assert meets(under_a_lid(20.0, dt=1e-6, **box([], left=side))) == pytest.approx(30)
    periodic = {"periodic": {"x": (0, 20)}, **box(["left", "right"])}
    assert meets(under_a_lid(20.0, dt=1e-6, **periodic)) == pytest.approx(21)
    lid = hg.Plane(point=[0, 12], normal=[0, -1], piston=hg.Piston(mass=0.3, force=5.0))
    drum = hg.Cylinder(point=[7, 6], radius=9.0)
    assert meets(under_a_lid(12.0, dt=1e-6, walls=[drum, lid])) == pytest.approx(19)
    # a row that cannot leave its line
    row = grains(*[[0, k] for k in range(12)], lock=["x"])
    sim = soft(2, row, dt=1e-6, walls=[hg.Plane(point=[0, -0.5], normal=[0, 1]), lid])
    assert meets(sim) == pytest.approx(2)


@pytest.mark.parametrize("engine", [{}, {"restitution": 0.4}, {"damping": 3.0}])
def test_light_piston_is_stable_up_to_the_admissible_step(
    engine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In balance on a full bed, where every grain pushes it at once."""
    places = [[x + 0.5, 0.49 + 0.99 * y] for x in range(20) for y in range(2)]
    bed = grains(*places, speed=0.02, lock=["x"])  # columns would buckle
    lid = {"top": hg.Piston(mass=0.3, force=20 * 0.01 * K)}
    walls = [hg.Box(min=[0, 0], max=[20, 1.97], pistons=lid)]

    def pressed(dt: float) -> hg.Simulation:
        more = {"substeps": 10, **engine}
        return soft(2, bed, dt=dt, engine=more, walls=walls, allow_overlaps=True)

    def most(sim: hg.Simulation) -> float:
        return max(r.kinetic + r.elastic for r in (sim.step() for _ in range(80)))

    probe = pressed(1e-6)
    limit, start = longest(probe), energy(probe)
    assert most(pressed(9.99 * limit)) < 1.02 * start
    monkeypatch.setattr(soft_particles, "admissible_step", lambda *_: math.inf)
    assert most(pressed(35 * limit)) > 2.0 * start


def test_a_run_that_has_begun_always_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is the same on resuming; were it stricter, the run would go on all the same."""
    limit = longest(under_a_lid(4.0, dt=1e-6, engine={"restitution": 0.5}))
    engine = {"restitution": 0.5, "substeps": 20}
    file = str(tmp_path / "run.h5")
    sim = under_a_lid(4.0, dt=19.9 * limit, engine=engine)
    sim.run(until=300, output=file, progress=False)
    assert np.ptp(sim.state.position[:30, 0]) > 4.5
    assert longest(hg.Simulation.resume(file, until=310, progress=False)[0]) == limit
    monkeypatch.setattr(soft_particles, "admissible_step", lambda *_: 0.1 * limit)
    _, summary = hg.Simulation.resume(file, until=320, progress=False)
    assert summary.steps == 320
    with pytest.raises(hg.InputError, match="must not exceed"):
        under_a_lid(4.0, dt=19.9 * limit, engine=engine)


def test_where_nothing_can_move_any_step_will_do() -> None:
    sim = soft(2, grains([0, 0], lock=["x", "y", "rotation"]), dt=1e9)
    summary = sim.run(until=1, progress=False)
    assert sim.engine.softness.admissible is None  # type: ignore[union-attr]
    json.dumps(summary.as_dict()["softness"], allow_nan=False)
    assert "steps of 1e+09, any step is stable, no contact can move anything" in " ".join(
        str(summary).split()
    )


# ---------------------------------------------------------------------- scenes
def test_column_under_a_piston() -> None:
    """Forces in a pressed column: F everywhere, and the weight below."""
    lid = hg.Plane(name="lid", point=[0, 3], normal=[0, -1], piston=hg.Piston(mass=2.0, force=5.0))
    sim = soft(
        2, grains([0, 0.5], [0, 1.5], [0, 2.5], lock=["x"]), dt=0.02, gravity=[0, -1],
        walls=[floor(2), lid], engine={"damping": 60.0, "substeps": 20},
    )  # fmt: skip
    steps(sim, 600)
    weight = sim.model.mass[0]
    assert sim.engine.wall_force[:, 1] == pytest.approx([-5.0 - 3 * weight, 5.0], rel=1e-9)
    overlap = -sim.state.contacts.gap
    expected = np.array([5 + 3 * weight, 5 + 2 * weight, 5 + weight, 5.0]) / K
    assert np.sort(overlap)[::-1] == pytest.approx(expected, rel=1e-6)
    assert sim.state.position[-1, 1] == pytest.approx(3.0 - expected.sum(), abs=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_drum_turns_a_grain(dim: int) -> None:
    """At the bottom of a drum a grain that rolls on it stays; another is dragged along."""
    keys = {} if dim == 2 else {"axis": [0, -1, 0]}  # the same sense, seen with z up
    surface = 0.5 * 3.0
    for spin in (surface / 0.5, 0.0):
        sim = soft(
            dim, grains(up(dim, -2.5), spin=spin if dim == 2 else [0, -spin, 0]), dt=0.05,
            friction=0.5, gravity=up(dim, -1.0),
            walls=[hg.Drum(center=[0.0] * dim, radius=3.0, spin=0.5, **keys)],
            engine={"restitution": 0.2, "substeps": 100, "tangential_damping": 5.0},
        )  # fmt: skip
        steps(sim, 40)
        x = sim.state.position[0, 0]
        if spin:
            assert x == pytest.approx(0.0, abs=0.01)
        else:
            assert x > 0.1


def test_turning_wall_pushes_with_the_speed_of_its_point() -> None:
    """A segment that swings about a pivot throws a grain: within a step it moves on smoothly."""
    ends = []
    for substeps in (50, 200):
        sim = soft(
            2, grains([2.0, 0.6]), dt=0.05, engine={"substeps": substeps},
            walls=[hg.Segment(start=[0, 0], end=[3, 0], spin=0.4, pivot=[0, 0])],
        )  # fmt: skip
        steps(sim, 20)
        assert not len(sim.state.contacts)
        ends.append(sim.state.velocity[0].copy())
    assert ends[0] == pytest.approx(ends[1], rel=2e-3, abs=1e-3)
    # an elastic wall of infinite mass throws it with twice the speed of the point it meets
    assert 1.5 * 0.8 < np.linalg.norm(ends[0]) < 2.5 * 0.8


def test_pairs_touch_through_the_period() -> None:
    moved = []
    for shift in (0.0, 4.6):
        sim = soft(
            2, [grains([0.5 + shift, 1], velocity=[1, 0]), grains([1.6 + shift, 1.3])],
            friction=0.3, dt=0.025, periodic={"x": (0, 6)}, engine={"substeps": 50},
        )  # fmt: skip
        steps(sim, 20)
        moved.append(sim.state.velocity.copy())
    assert moved[0][1, 0] > 0.1
    assert moved[1] == pytest.approx(moved[0], abs=1e-10)


def test_planar_motion_is_the_same_in_2d_and_3d() -> None:
    """Spheres that cannot leave a plane, as heavy as disks and not turning."""
    x, d = cluster(2, 12, seed=1)
    ends = []
    for dim in (2, 3):
        places = x if dim == 2 else np.hstack([x, np.zeros((12, 1))])
        lock = [] if dim == 2 else ["z"]
        sets = [
            hg.Grains(
                place=hg.At(positions=[place.tolist()]), diameter=size, material=f"m{k}",
                velocity=(-0.5 * place).tolist(), lock=[*lock, "rotation"],
            )
            for k, (place, size) in enumerate(zip(places, d, strict=True))
        ]  # fmt: skip
        density = np.ones(12) if dim == 2 else 1.5 / d
        materials = {f"m{k}": hg.Material(density=float(rho)) for k, rho in enumerate(density)}
        engine = {"restitution": 0.6, "substeps": 100}
        sim = soft(dim, sets, friction=0.4, dt=0.05, engine=engine, materials=materials)
        steps(sim, 4)
        ends.append(sim.state.velocity[:, :2].copy())
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)


def test_substeps_are_steps() -> None:
    """Without drives a step of many explicit steps is that many steps; a pair list of any age."""
    ends = []
    for substeps in (1, 25):
        sim = soft(
            2, hg.Grains(count=30, place=hg.Loose(min=[0, 0], max=[6, 9]), speed=1.0),
            dt=4e-4 * substeps, friction=0.4, gravity=[0, -1],
            walls=[hg.Box(min=[0, 0], max=[6, 9])],
            engine={"restitution": 0.6, "substeps": substeps},
        )  # fmt: skip
        for _ in range(2000 // substeps):
            if substeps == 1:
                sim.engine._list.safety[:] = -1.0  # type: ignore[union-attr]
            sim.step()
        ends.append(sim.state)
    for name in ("position", "velocity", "spin"):
        assert (getattr(ends[0], name) == getattr(ends[1], name)).all()
    assert (ends[0].contacts.spring == ends[1].contacts.spring).all()


def test_one_engine_goes_on_where_the_other_ended(tmp_path: Path) -> None:
    """A packing settled as rigid runs on soft, and back; its springs begin unstretched."""
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[hg.Grains(count=12, place=hg.Loose(min=[0, 0], max=[4, 8]))],
        walls=[hg.Box(min=[0, 0], max=[4, 8], open=["top"])],
    )
    engine = hg.SoftParticles(stiffness=K, restitution=0.5, tangential_damping=10.0, substeps=20)
    files = [str(tmp_path / name) for name in ("rigid.h5", "soft.h5", "again.h5")]
    until = hg.AtRest(speed=1e-3, steps=200), 4000
    hg.Simulation(scene, dt=0.02).run(until=until, output=files[0], progress=False)
    for before, after, kind in zip(files, files[1:], (engine, None), strict=False):
        more = {} if kind is None else {"engine": kind}
        sim = hg.Simulation(
            hg.Scenario(scene=scene, dt=0.02, start={"file": before}, **more)  # type: ignore[arg-type]
        )
        held = len(sim.state.contacts)
        assert held > 12
        sim.run(until=until, output=after, progress=False)
        with hg.RunFile(after) as run:
            first, last = run.contacts(0), run.contacts(-1)
        assert first is not None
        assert last is not None
        assert len(first) == held
        assert first.spring.shape[1] == last.spring.shape[1] == (0 if kind is None else 2)
        assert not first.spring.any()
        total = sim.engine.wall_force.sum(axis=0)
        weight = float(sim.model.mass[:12].sum())
        assert total == pytest.approx([0.0, -weight], abs=0.01 * weight)
        if kind is not None:
            assert last.spring.any()


# ---------------------------------------------------------------------- input
@pytest.mark.parametrize(
    ("law", "why"),
    [
        (
            {"restitution": 0.5},
            "restitution is 0.5 but must be 0 (engine.restitution is there for it)",
        ),
        ({"restitution_tangential": 0.5}, "restitution_tangential is 0.5 but must be 0"),
        ({"cohesion": 2.0}, "cohesion is 2 but must be 0"),
        ({"rolling": 0.1}, "rolling is 0.1 but must be 0"),
        ({"torsion": 0.1}, "torsion is 0.1 but must be 0"),
        (
            {"friction": 0.5, "friction_dynamic": 0.4},
            "friction_dynamic is 0.4 but must be left out or the friction, 0.5",
        ),
    ],
)
def test_laws_it_cannot_carry_are_refused(law: dict[str, Any], why: str) -> None:
    with pytest.raises(hg.InputError) as error:
        soft(3, grains([0, 0, 0]), contacts=[hg.ContactLaw(**law)])
    assert str(error.value) == f"with the engine 'soft-particles' scene.contacts[0].{why}"


def test_all_that_it_cannot_carry_is_told_at_once() -> None:
    """Each field with its own entry; entries that later ones replace do not count."""
    laws = [
        hg.ContactLaw(torsion=1.0),
        hg.ContactLaw(restitution=0.5, cohesion=2.0),
        hg.ContactLaw(between=("a", "b"), rolling=0.1),
    ]
    materials = {"a": hg.Material(), "b": hg.Material()}
    with pytest.raises(hg.InputError) as error:
        soft(3, grains([0, 0, 0]), contacts=laws, materials=materials, shock="g")
    assert str(error.value) == (
        "with the engine 'soft-particles' scene.contacts[1].restitution is 0.5 but must be 0"
        " (engine.restitution is there for it), and scene.contacts[1].cohesion is 2 but must be 0,"
        " and scene.contacts[2].rolling is 0.1 but must be 0, and scene.shock is 'g' but must be"
        " 'g+'"
    )


def test_bad_settings_are_refused() -> None:
    with pytest.raises(hg.InputError, match=r"scene.shock is 'g' but must be 'g\+'"):
        soft(2, grains([0, 0]), shock="g")
    for settings, why in (
        ({"damping": 1.0, "restitution": 0.5}, "give damping or restitution, not both"),
        ({"restitution": 0.0}, "restitution is 0.0; give a number of at least 0.0001"),
        ({"restitution": 1e-300}, "restitution is 1e-300; give a number of at least 0.0001"),
        ({"restitution": 1.1}, "restitution is 1.1; give a number of at most 1"),
        ({"tangential": "viscous"}, "tangential_damping is missing"),
        (
            {"tangential": "viscous", "tangential_damping": 1.0, "tangential_stiffness": 1.0},
            "goes with tangential = 'spring'",
        ),
        ({"substeps": 0}, "at least 1"),
    ):
        with pytest.raises(hg.InputError, match=why):
            hg.SoftParticles(stiffness=K, **settings)
    # no proposal of many digits, no error of arithmetic
    with pytest.raises(hg.InputError, match=r"must not exceed .*; use dt = 3.61e-51$"):
        soft(2, grains([0, 0]), engine={"stiffness": 1e100})
    with pytest.raises(hg.InputError, match=r"engine.stiffness is 1e\+300.* use other units$"):
        soft(2, grains([0, 0]), engine={"stiffness": 1e300})


def test_one_line_changes_the_engine() -> None:
    """A scenario with a solver table of its own needs nothing else; the solver is not used."""
    table: dict[str, Any] = {
        "dt": 0.01,
        "stop": {"steps": 50},
        "solver": {"sweeps": 7, "order": "sequential"},
        "scene": {
            "gravity": [0, -1],
            "grains": [{"place": {"kind": "at", "positions": [[0, 0.6], [0.1, 1.7]]}}],
            "walls": [{"kind": "plane", "point": [0, 0], "normal": [0, 1]}],
        },
    }
    rigid = hg.Simulation(parse(table))
    assert rigid.engine.softness is None
    line = {"kind": "soft-particles", "stiffness": 1e4, "restitution": 0.5, "substeps": 20}
    ends = []
    for solver in (table["solver"], {"kind": "jacobi"}):
        sim = hg.Simulation(parse({**table, "engine": line, "solver": solver}))
        summary = sim.run(progress=False)
        ends.append(sim.state.position.copy())
    assert (ends[0] == ends[1]).all()
    text = str(summary)
    assert "soft by choice: stiffness 10000" in text
    assert "explicit steps of 0.0005, stable up to 0.00" in text
    assert summary.as_dict()["rigid"] is False
    with pytest.raises(hg.InputError, match=r"engine.kind is 'soft-particle'; .*soft-particles"):
        parse({**table, "engine": {"kind": "soft-particle"}})


# ---------------------------------------------------------------------- closed forms
def test_collision_closed_forms() -> None:
    for ratio in (0.0, 0.1, 0.7, 1.0, 1.5, 4.0):
        x, v, t, dt = 0.0, 1.0, 0.0, 1e-5
        while x + 2 * ratio * v > 0.0 or t == 0.0:  # leapfrog with m = k = 1
            v = (v * (1 - ratio * dt) - dt * x) / (1 + ratio * dt)
            x += v * dt
            t += dt
        assert spring.restitution(ratio) == pytest.approx(-v, abs=3e-5)
        assert spring.contact_time(1.0, 1.0, ratio) == pytest.approx(t, abs=3e-5)
        assert spring.damping_ratio(spring.restitution(ratio)) == pytest.approx(ratio, abs=1e-5)
    with pytest.raises(hg.InputError, match="restitution is 0"):
        spring.damping_ratio(0.0)


def test_largest_step_is_that_of_the_map() -> None:
    for k, c in ((1.0, 0.0), (3.0, 0.5), (1.0, 10.0), (0.0, 2.0)):
        for share, stable in ((0.999, True), (1.001, False)):
            dt = share * spring.largest_step(k, c)
            step = np.array([[1 - k * dt**2, dt - c * dt**2], [-k * dt, 1 - c * dt]])
            assert bool(np.abs(np.linalg.eigvals(step)).max() <= 1.0 + 1e-12) == stable
    assert spring.largest_step(0.0, 0.0) == math.inf
