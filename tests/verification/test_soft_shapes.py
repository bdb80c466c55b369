"""Soft particles that are not round, against closed forms, conservation laws and rigid grains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.contact.arms import surface_velocity
from hardgrain.measure.outline import frames
from hardgrain.step import stable_step
from hardgrain.step.soft_shapes import SoftShapeDynamics
from hardgrain.theory import spring

from .helpers import Floats, floor, grains, steps, up
from .test_shaped_collisions import motion

pytestmark = pytest.mark.rounding

K = 1e4
SIDES = {2: [1.0, 0.6], 3: [1.0, 0.8, 0.6]}
TETRAHEDRON = {"kind": "polyhedron", "regular": "tetrahedron", "rounding": 0.2}
PENTAGON = {"kind": "polygon", "sides": 5, "rounding": 0.3}


def soft(
    dim: int,
    sets: hg.Grains | Sequence[hg.Grains],
    *,
    dt: float = 2e-3,
    friction: float = 0.0,
    engine: dict[str, Any] | None = None,
    **more: Any,
) -> hg.Simulation:
    """A simulation of soft grains of stiffness K."""
    sets = [sets] if isinstance(sets, hg.Grains) else list(sets)
    run = {name: more.pop(name) for name in ("seed", "on_implausible") if name in more}
    scene = hg.Scene(
        dimension=dim, grains=sets, **{"contacts": [hg.ContactLaw(friction=friction)], **more}
    )
    settings = hg.SoftParticles(**{"stiffness": K, **(engine or {})})
    return hg.Simulation(scene, dt=dt, engine=settings, **run)


def box(dim: int, rounding: float) -> dict[str, Any]:
    return {"kind": "box", "sides": SIDES[dim], **({"rounding": rounding} if rounding else {})}


# ---------------------------------------------------------------------- the same law as for disks
@pytest.mark.parametrize("dim", [2, 3])
def test_balls_by_the_path_of_shapes_move_as_balls(dim: int) -> None:
    """A clump of one ball is a ball: both engines give the same motion, to rounding.

    Three grains hit each other, a floor and a wall that moves. Friction is viscous, since springs
    of shapes in 3D turn about the normal with the grains, and those of balls do not.
    """
    x = np.zeros((3, dim))
    x[:, 0], x[:, -1] = [0.0, 0.9, 0.45], [0.6, 0.55, 1.35]
    still = [0.0] * (dim - 1)
    ends = []
    for form in ({"diameter": 1.0}, {"shape": {"kind": "clump", "centers": [[0.0, *still]],
                                               "radii": 0.5}}):  # fmt: skip
        set_ = grains(*x, velocity=[1.0, *still], spin=1.0 if dim == 2 else [1.0, 2.0, 3.0], **form)
        pusher = hg.Plane(point=[2.0, *still], normal=[-1.0, *still], velocity=[-0.1, *still])
        sim = soft(
            dim, set_, dt=0.01, friction=0.4, gravity=up(dim, -1.0), walls=[floor(dim), pusher],
            engine={"restitution": 0.5, "substeps": 20, "tangential": "viscous",
                    "tangential_damping": 5.0}, allow_overlaps=True,
        )  # fmt: skip
        summary = sim.run(until=60, progress=False)
        ends.append((sim, summary))
    (one, told), (two, told_too) = ends
    assert isinstance(two.engine, SoftShapeDynamics)
    assert not isinstance(one.engine, SoftShapeDynamics)
    # 1200 explicit steps with rounding of 1e-16 each, which a dozen collisions magnify
    for name in ("position", "velocity", "spin"):
        np.testing.assert_allclose(
            getattr(one.state, name), getattr(two.state, name), atol=1e-11, rtol=0
        )
    for name in ("dissipated", "work_external", "work_driven"):
        assert getattr(told_too, name) == pytest.approx(getattr(told, name), abs=1e-10)


# ---------------------------------------------------------------------- normal force
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("rounding", [0.0, 0.1])
def test_a_box_sinks_by_its_weight_over_all_springs(dim: int, rounding: float) -> None:
    """δ = mg/(nk), with n = 2 points of a side and 4 of a face; and no tilt."""
    sim = soft(
        dim, grains(up(dim, 0.3), shape=box(dim, rounding)), dt=0.02, friction=0.5,
        engine={"restitution": 0.3, "substeps": 300}, gravity=up(dim, -1.0), walls=[floor(dim)],
    )  # fmt: skip
    summary = sim.run(until=60, progress=False)
    points = {2: 2, 3: 4}[dim]
    assert len(sim.state.contacts) == points
    sunk = sim.model.mass[0] / (points * K)
    # e^(−γt/m) of the first swing is left, and rounding of a place of 0.3
    assert 0.3 - sim.state.position[0, -1] == pytest.approx(sunk, rel=1e-6)
    force = sim.state.contacts.impulse[:, -1] / sim.dt
    np.testing.assert_allclose(force, -sim.model.mass[0] / points, rtol=1e-6)
    assert np.abs(sim.state.spin).max() < 1e-10
    assert abs(summary.balance_error) < 1e-6 * summary.work_external  # (ω dt)² and less


HEAD_ON: dict[str, tuple[Any, float, float, int]] = {  # shape, angle, half the distance, points
    "tips of capsules": ({"kind": "capsule", "aspect": 2.0}, 0.0, 0.51, 1),
    "sides of capsules": ({"kind": "capsule", "aspect": 2.0}, 0.5 * math.pi, 0.26, 2),
    "faces of boxes": (box(3, 0.1), 0.0, 0.51, 4),
    "corners of pentagons": (PENTAGON, 0.0, 0.51, 1),
}


@pytest.mark.parametrize("how", HEAD_ON)
@pytest.mark.parametrize("e", [1.0, 0.6, 0.2])
def test_head_on_collision(how: str, e: float) -> None:
    """The restitution asked for, whatever the number of points, and the duration with n springs.

    The error of an explicit step dt is of the order ζ ω dt in the speed (theory: none of it is in
    the law); the duration is counted in steps.
    """
    shape, angle, away, points = HEAD_ON[how]
    dim = 3 if shape["kind"] == "box" else 2
    x = np.eye(dim)[0]
    size = {} if shape["kind"] == "box" else {"diameter": 1.0}
    turned = [{"orientation": angle}, {"orientation": angle + math.pi}] if dim == 2 else [{}, {}]
    if shape is PENTAGON:  # which way its corners point is the shape's own matter
        turned = [{"orientation": _corner_along_x()}, {"orientation": _corner_along_x() + math.pi}]
    sets = [
        grains(sign * away * x, shape=shape, velocity=-0.5 * sign * x, **size, **turn)
        for sign, turn in zip((-1.0, 1.0), turned, strict=True)
    ]
    dt, substeps = 2e-4, 10
    sim = soft(dim, sets, dt=dt, engine={"restitution": e, "substeps": substeps})
    counts = []
    for _ in range(500):
        counts.append(sim.step().loaded)
        if counts[-1] == 0 and max(counts):
            break
    assert max(counts) == points
    m, ratio = 0.5 * sim.model.mass[0], spring.damping_ratio(e)
    phase = dt / substeps * math.sqrt(points * K / m)
    parting = sim.state.velocity[1, 0] - sim.state.velocity[0, 0]
    assert abs(parting - e) < 2.0 * (ratio + phase) * phase
    lasted = np.count_nonzero(counts) * dt
    assert lasted == pytest.approx(spring.contact_time(points * K, m, ratio), abs=2.0 * dt)
    assert np.abs(sim.state.spin).max() < 1e-9


def _corner_along_x() -> float:
    """How far a pentagon must be turned for one of its corners to point along x."""
    model = soft(2, grains([0, 0], shape=PENTAGON, diameter=1.0), dt=1e-6).model
    corner = model.solids.corner[0]
    return -math.atan2(corner[1], corner[0])


@pytest.mark.parametrize(("dim", "shape"), [(2, PENTAGON), (3, TETRAHEDRON)])
def test_a_collision_beside_the_centre_has_its_restitution_at_the_point(
    dim: int, shape: dict[str, Any]
) -> None:
    """The normal velocity of the two surfaces at the point of contact is reversed, times e.

    The point's own reduced mass decides on its dashpot. While grains touch, they move on and turn
    by a share of about the overlap, √(m/k) v = 1e-3 of their size, which is what is left over.
    """
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sets = [
            grains(
                [0.6 * sign] + [0.1 * (sign < 0)] * (dim - 1), shape=shape, diameter=1.0,
                velocity=[-0.5 * sign] + [0.0] * (dim - 1),
                orientation=float(rng.uniform(0, 6)) if dim == 2 else rng.normal(size=3).tolist(),
            )
            for sign in (-1.0, 1.0)
        ]  # fmt: skip
        sim = soft(dim, sets, dt=1e-3, engine={"restitution": 0.5, "stiffness": 1e5,
                                               "substeps": 60})  # fmt: skip
        touched = None
        for _ in range(1500):
            before = sim.state.velocity.copy(), sim.state.spin.copy()
            loaded = sim.step().loaded
            if loaded and touched is None:
                touched, start = sim.state.contacts, before
            if touched is not None and not loaded:
                break
        assert touched is not None
        assert len(touched) == 1

        def parting(motion: tuple[Floats, Floats], c: Any = touched) -> float:
            one = surface_velocity(*motion, c.first, c.arm_first)
            two = surface_velocity(*motion, c.second, c.arm_second)
            return float(((two - one) * c.normal).sum())

        after = parting((sim.state.velocity, sim.state.spin))
        assert after / parting(start) == pytest.approx(-0.5, abs=0.01)


# ---------------------------------------------------------------------- conservation
def pair(shape: dict[str, Any], seed: int, offset: float, **keys: Any) -> hg.Simulation:
    """Two grains that fly at each other, spinning, and meet at one point."""
    dim = 2 if shape["kind"] == "polygon" else 3
    rng = np.random.default_rng(seed)
    sets = [
        grains(
            [sign * (0.7 + offset)] + [0.1 * (sign < 0)] * (dim - 1), shape=shape,
            velocity=[-0.5 * sign] + [0.0] * (dim - 1),
            orientation=float(rng.uniform(0, 6)) if dim == 2 else rng.normal(size=3).tolist(),
            spin=float(rng.normal()) if dim == 2 else rng.normal(size=3).tolist(),
            **({} if shape["kind"] == "box" else {"diameter": 1.0}),
        )
        for sign in (-1.0, 1.0)
    ]  # fmt: skip
    engine = {"stiffness": 1e3, **keys.pop("engine", {})}
    return soft(dim, sets, dt=0.02, engine=engine, **keys)


ROUNDED_BOX = {"kind": "box", "sides": [0.7, 0.55, 0.4], "rounding": 0.2}


@pytest.mark.parametrize("shape", [PENTAGON, TETRAHEDRON, ROUNDED_BOX])
def test_momentum_and_angular_momentum(shape: dict[str, Any]) -> None:
    """Kept to rounding with friction and dashpots, for bodies with three moments of inertia."""
    sim = pair(shape, 1, 0.0, friction=0.4, engine={"restitution": 0.6, "substeps": 150})
    before = motion(sim)
    touched = max(sim.step().loaded for _ in range(75))
    after = motion(sim)
    assert touched
    assert after[2] < 0.9 * before[2]
    np.testing.assert_allclose(after[0], before[0], atol=1e-13)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12)  # 10⁴ steps of rounding


@pytest.mark.parametrize("shape", [PENTAGON, TETRAHEDRON])
def test_energy_of_elastic_collisions_at_second_order(shape: dict[str, Any]) -> None:
    """Without dashpots and friction the error after collisions is O(dt²): a quarter at half of it.

    It depends on where within a step the grains meet; judged is the root of the mean square over
    pairs, and over eight moments at which a step may meet the first touch.
    """

    def error(substeps: int) -> float:
        found = []
        for seed in (0, 1):
            for part in np.arange(8) / 8:
                sim = pair(
                    shape, seed, 0.35 * part * 0.02 / substeps, engine={"substeps": substeps}
                )
                before = motion(sim)[2]
                touched = max(sim.step().loaded for _ in range(75))
                assert touched == 1
                found.append(motion(sim)[2] / before - 1.0)
        return float(np.sqrt(np.mean(np.square(found))))

    coarse, fine = error(32), error(128)
    assert coarse < 5e-3
    assert 8.0 < coarse / fine < 32.0  # 16


def test_faces_that_meet_at_their_corners_pass_into_one_corner() -> None:
    """Boxes with spins, whose faces come down nearly flat: springs of crowded points are shared.

    Without it the energy of such a collision is off by as much as a tenth. What is left is of the
    order of overlap over width, for points of a tilted face are pushed along one normal.
    """
    gains = []
    for seed in (0, 2, 5, 9):
        sim = pair(ROUNDED_BOX, seed, 0.0, engine={"substeps": 64})
        before = motion(sim)[2]
        steps(sim, 75)
        gains.append(motion(sim)[2] / before - 1.0)
    assert np.abs(gains).max() < 0.02


@pytest.mark.parametrize("law", ["viscous", "spring"])
def test_energy_ledger_closes_with_dt(law: str) -> None:
    """Start + work − dissipation = kinetic + elastic, but for errors of the explicit steps."""
    errors = []
    for substeps in (20, 80):
        sim = soft(
            2, hg.Grains(count=12, shape=PENTAGON, orientation="random", speed=0.5,
                         place=hg.Loose(min=[0, 0], max=[4, 6])),
            dt=0.02, friction=0.4, gravity=[0, -1], walls=[hg.Box(min=[0, 0], max=[4, 6])],
            engine={"restitution": 0.6, "substeps": substeps, "tangential": law,
                    "stiffness": 3e3, **({"tangential_damping": 2.0} if law == "viscous" else {})},
        )  # fmt: skip
        summary = sim.run(until=200, progress=False)
        assert summary.dissipated > 3.0
        errors.append(abs(summary.balance_error) / summary.dissipated)
    # Springs of faces have no exact potential; measured are 0.1 to 0.4 %.
    assert max(errors) < 0.02


# ---------------------------------------------------------------------- friction
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", ["spring", "viscous"])
def test_a_block_slides_at_the_angle_of_friction(dim: int, law: str) -> None:
    """A percent above tan θ = µ it slides by Coulomb's law, a percent below a spring holds it.

    Viscous friction lets it creep; so near to the limit that would take long to be seen.
    """
    mu, damping, stiffness = 0.4, 6.0, 2e4
    for share in (0.99 if law == "spring" else 0.5, 1.01):
        theta = math.atan(mu * share)
        down = [math.sin(theta), *[0.0] * (dim - 2), -math.cos(theta)]
        sim = soft(
            dim, grains(up(dim, 0.3), shape=box(dim, 0.05)), dt=0.01, friction=mu, gravity=down,
            walls=[floor(dim)], engine={"restitution": 0.2, "substeps": 260, "tangential": law,
                                        "stiffness": stiffness, "tangential_damping": damping},
        )  # fmt: skip
        steps(sim, 100)
        before, was = sim.state.velocity[0, 0], sim.state.position[0, 0]
        steps(sim, 50)
        gained = (sim.state.velocity[0, 0] - before) / 0.5
        m, points = sim.model.mass[0], {2: 2, 3: 4}[dim]
        if share > 1.0:
            assert gained == pytest.approx(math.sin(theta) - mu * math.cos(theta), rel=1e-6)
            pull = np.abs(sim.state.contacts.impulse[:, 0]).sum() / sim.dt
            assert pull == pytest.approx(mu * m * math.cos(theta), rel=1e-6)
        elif law == "viscous":
            creep = m * math.sin(theta) / (points * damping)
            assert sim.state.velocity[0, 0] == pytest.approx(creep, rel=1e-6)
        else:
            assert abs(sim.state.position[0, 0] - was) < 1e-7  # swings die away
            pulled = np.abs(sim.state.contacts.spring[:, 0]).sum() * 2.0 / 7.0 * stiffness
            assert pulled == pytest.approx(m * math.sin(theta), rel=1e-4)


def test_springs_turn_with_what_they_are_tied_to() -> None:
    """A box and the table below it turn together: stretched springs turn about the normal too."""
    rate = 2.0
    table = hg.Plane(name="table", point=[0, 0, 0], normal=[0, 0, 1], spin=[0, 0, rate])
    held = grains(
        [0, 0, 0.29], shape=box(3, 0.05), driven_velocity=[0, 0, 0], driven_spin=[0, 0, rate]
    )
    dt = 0.5 * math.pi / rate / 200
    sim = soft(3, held, dt=dt, friction=10.0, walls=[table], allow_overlaps=True)
    sim.step()
    sim.state.contacts.spring[:] = [1e-3, 0.0, 0.0]
    steps(sim, 200)  # a quarter of a turn
    assert len(sim.state.contacts) == 4
    np.testing.assert_allclose(sim.state.contacts.spring, np.tile([0, 1e-3, 0], (4, 1)), atol=1e-12)


# ---------------------------------------------------------------------- packings
def resultants(sim: hg.Simulation) -> dict[tuple[int, int], Floats]:
    """Force on the second body and its torque about the first one's centre, of each pair."""
    c, found = sim.state.contacts, {}
    for k in np.flatnonzero(c.impulse.any(axis=1)):
        f, arm = c.impulse[k] / sim.dt, c.arm_first[k]
        pair = int(c.first[k]), int(c.second[k])
        wrench = np.array([*f, arm[0] * f[1] - arm[1] * f[0]])
        found[pair] = found.get(pair, np.zeros(3)) + wrench
    return found


def settled(seed: int, engine: Any, steps_: int, start: hg.Simulation | None) -> hg.Simulation:
    """Four rounded pentagons without friction in a shaft in which two have no room side by side."""
    scene = hg.Scene(
        dimension=2, gravity=[0, -1], contacts=[hg.ContactLaw(friction=0.0)],
        grains=[hg.Grains(count=4, shape={**PENTAGON, "rounding": 0.2}, orientation="random",
                          diameter=hg.Uniform(min=0.8, max=1.2),
                          place=hg.Loose(min=[0, 0], max=[1.5, 6.0]))],
        walls=[hg.Box(min=[0, 0], max=[1.5, 8.0], open=["top"])],
    )  # fmt: skip
    sim = hg.Simulation(scene, dt=0.004, seed=seed, on_implausible="report", **engine)
    if start is not None:
        sim.state.position[:] = start.state.position
        sim.state.orientation[:] = start.state.orientation
    sim.run(until=steps_, progress=False)
    return sim


@pytest.mark.filterwarnings("ignore::hardgrain.errors.ImplausibleRunWarning")
def test_a_packing_bears_the_forces_of_rigid_grains_as_it_gets_stiffer() -> None:
    """Where statics decides on all forces, they differ by overlaps only: by 1/k.

    That is so where there are as many contact points as equations, three for each grain. Others are
    left out: there elasticity decides, and rigid grains leave the forces open.
    """
    for seed in (4, 8, 10, 11, 12, 13):
        found, last = [], None
        for stiffness, count in ((1e4, 5000), (1e5, 1000), (1e6, 600)):
            soft_ = hg.SoftParticles(
                stiffness=stiffness, restitution=0.1, substeps=round(9 * math.sqrt(stiffness / 1e4))
            )
            last = settled(seed, {"engine": soft_}, count, last)
            if len(last.state.contacts) != 12 or last.kinetic > 1e-15:
                break
            found.append(resultants(last))
        if len(found) == 3:
            break
    assert last is not None
    assert len(found) == 3, "none of the packings came to rest with twelve contact points"
    rigid = resultants(settled(seed, {"solver": hg.RigidSolver(tolerance=1e-11)}, 20, last))
    weight = last.model.mass.sum()
    errors = [max(np.abs(f[pair] - rigid[pair]).max() for pair in rigid) / weight for f in found]
    assert all(set(f) == set(rigid) for f in found)
    assert errors[0] < 0.02  # an overlap of 1e-4 turns grains by as much, times a few levers
    assert errors[1] == pytest.approx(0.1 * errors[0], rel=0.3)
    # The geometry is that of the stiffest run, so that what is left is rest and the tolerance.
    assert errors[2] < 1e-6


@pytest.mark.parametrize("dim", [2, 3])
def test_a_resumed_run_has_the_same_bits(dim: int, tmp_path: Path) -> None:
    """Springs are kept in the file by feature; walls move, a piston presses."""
    low, high = [0.0] * dim, [3.0] * (dim - 1) + [5.0]

    def start() -> hg.Simulation:
        return soft(
            dim, hg.Grains(count=6, shape=box(dim, 0.1), orientation="random",
                           place=hg.Loose(min=low, max=high)),
            dt=0.02, friction=0.5, gravity=up(dim, -1.0),
            walls=[hg.Box(min=low, max=high, pistons={"top": hg.Piston(mass=2.0, force=5.0)})],
            engine={"restitution": 0.4, "substeps": 120, "stiffness": 2e3}, seed=3,
        )  # fmt: skip

    whole = start()
    whole.run(until=220, progress=False)
    half = start()
    file = str(tmp_path / "half.h5")
    half.run(until=160, output=file, progress=False)
    assert half.state.contacts.spring.any()
    again, _ = hg.Simulation.resume(file, until=220, progress=False)
    for name in ("position", "velocity", "spin", "orientation"):
        assert (getattr(whole.state, name) == getattr(again.state, name)).all()
    for name in ("first", "second", "feature", "spring", "impulse", "gap", "arm_first"):
        one, two = getattr(whole.state.contacts, name), getattr(again.state.contacts, name)
        assert one.shape == two.shape
        assert (one == two).all()


# ---------------------------------------------------------------------- the explicit step
def stiffest(sim: hg.Simulation, k_n: float, k_t: float) -> float:
    """Largest eigenvalue of M⁻¹K of all contact points, from the definition."""
    model, c = sim.model, sim.state.contacts
    n, dim = model.n, model.dim
    size = dim + (1 if dim == 2 else 3)
    roots = np.zeros((n, size, size))  # M^(-1/2)
    for i in range(n):
        roots[i, :dim, :dim] = np.eye(dim) / math.sqrt(model.mass[i])
    if dim == 2:
        roots[:, 2, 2] = np.sqrt(model.inv_inertia[:n, 0])
    else:
        own = frames(model, sim.state.orientation)
        moments = model.moments[:n] if len(model.moments) else np.tile(model.inertia[:n], (3, 1)).T
        roots[:, 3:, 3:] = np.einsum("nab,nb,ncb->nac", own[:n], moments**-0.5, own[:n])
    rows = []
    for k in range(len(c)):
        frame = np.linalg.svd(c.normal[k][None])[2]
        for axis, stiffness in zip(frame, [k_n] + [k_t] * (dim - 1), strict=True):
            b = np.zeros((n, size))
            ends = (c.first[k], -1, c.arm_first[k]), (c.second[k], 1, c.arm_second[k])
            for i, sign, arm in ends:
                lever = [arm[0] * axis[1] - arm[1] * axis[0]] if dim == 2 else np.cross(arm, axis)
                if i < n:
                    b[i] = sign * roots[i] @ np.concatenate([axis, lever])
            rows.append(math.sqrt(stiffness) * b.ravel())
    return float(np.linalg.norm(np.array(rows), 2) ** 2)


def bricks(dim: int, friction: float, **keys: Any) -> hg.Simulation:
    """Rounded squares or cubes stacked as bricks, pressed together, periodic."""
    count, a = 4, 0.99
    cell = np.stack(np.meshgrid(*[np.arange(count)] * dim, indexing="ij"), -1).reshape(-1, dim)
    places = a * cell.astype(float)
    places[:, :-1] += 0.5 * a * (cell[:, -1:] % 2)
    shape = {"kind": "box", "sides": [1.0] * dim, "rounding": 0.1}
    return soft(
        dim, grains(*places, shape=shape, speed=1e-3), friction=friction, allow_overlaps=True,
        periodic=dict.fromkeys("xyz"[:dim], (0, count * a)), **keys,
    )  # fmt: skip


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_no_packing_is_stiffer_than_the_bound(dim: int, friction: float) -> None:
    """Bricks on each other, with up to 48 points a grain, and grains strewn at random."""
    shapes = [PENTAGON, {"kind": "capsule", "aspect": 3.0}]
    if dim == 3:
        shapes = [TETRAHEDRON, {"kind": "capsule", "aspect": 3.0}]
    runs = [bricks(dim, friction, dt=1e-6)]
    rng = np.random.default_rng(7)
    for shape in shapes:
        span = {2: 5.0, 3: 2.2}[dim]
        sets = grains(*rng.uniform(0, span, (30, dim)), shape=shape, diameter=1.0,
                      orientation="random")  # fmt: skip
        periodic = dict.fromkeys("xyz"[:dim], (0, span))
        runs.append(
            soft(dim, sets, dt=1e-6, friction=friction, periodic=periodic, allow_overlaps=True)
        )
    for sim in runs:
        sim.step()
        true = stiffest(sim, K, 2.0 / 7.0 * K if friction else 0.0)
        longest = sim.engine.softness.admissible  # type: ignore[union-attr]
        bound = (2.0 / (stable_step.MARGIN * longest)) ** 2  # type: ignore[operator]
        assert true <= bound
        assert true > 0.02 * bound  # steps are shorter than they need be by less than seven


@pytest.mark.parametrize("engine", [{}, {"restitution": 0.3}, {"damping": 2.0}])
def test_the_admissible_step_is_stable(engine: dict[str, Any]) -> None:
    """Bricks in 2D with friction, at the longest step that is admitted, keep their energy."""
    probe = bricks(2, 0.5, dt=1e-6, engine=engine)
    longest = probe.engine.softness.admissible
    assert longest is not None
    start = probe.kinetic + probe.engine.elastic(probe.state)
    sim = bricks(2, 0.5, dt=9.99 * longest, engine={**engine, "substeps": 10})
    most = max(r.kinetic + r.elastic for r in (sim.step() for _ in range(60)))
    assert most < 1.02 * start


def test_what_it_cannot_carry_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "ramp.obj"
    file.write_text("v -5 -5 0\nv 5 -5 0\nv 5 5 0\nv -5 5 0\nf 1 2 3\nf 1 3 4\n")
    ramp = hg.MeshWall(file=str(file), name="ramp")
    with pytest.raises(hg.InputError, match="wall 'ramp' must not be a mesh"):
        soft(3, grains([0, 0, 1], shape=TETRAHEDRON, diameter=1.0), walls=[ramp],
             allow_overlaps=True)  # fmt: skip
    with pytest.raises(
        hg.InputError, match=r"scene.contacts\[0\].restitution is 0.5 but must be 0"
    ):
        soft(2, grains([0, 0], shape=PENTAGON, diameter=1.0),
             contacts=[hg.ContactLaw(restitution=0.5)])  # fmt: skip
    with pytest.raises(hg.InputError, match=r"must not exceed .*; use engine.substeps = \d+ or dt"):
        soft(2, grains([0, 0], shape=PENTAGON, diameter=1.0), dt=0.05)
