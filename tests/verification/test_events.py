"""Event-driven hard grains: single collisions, walls, bounces and their energy, in closed form."""

import math

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.forces import force_space
from hardgrain.measure import dissipation
from hardgrain.run.advise import advise
from hardgrain.step.event_ahead import MANY

EPS = 2.2e-16


def events(dim, grains, *, dt=0.1, law=None, engine=None, seed=0, start=None, **scene):
    """A simulation of hard grains by events; grains: fields of one or several sets."""
    contacts = [hg.ContactLaw(**{"friction": 0.0, "restitution": 1.0, **(law or {})})]
    sets = [hg.Grains(**g) for g in (grains if isinstance(grains, list) else [grains])]
    made = hg.Scene(dimension=dim, contacts=contacts, grains=sets, **scene)
    engine = hg.EventDriven(**(engine or {}))
    return hg.Simulation(made, dt=dt, engine=engine, seed=seed, start=start)


def at(x, v=None, **more):
    return {"place": {"kind": "at", "positions": [list(x)]}, "velocity": v, **more}


def gas(dim, n, fraction, *, speed=1.0, seed=0, law=None, dt=0.2, **more):
    """Grains of diameter 1 in a periodic box."""
    volume = math.pi / 4.0 if dim == 2 else math.pi / 6.0
    side = (n * volume / fraction) ** (1.0 / dim)
    place = {"kind": "loose", "min": [0.0] * dim, "max": [side] * dim}
    grains = {"count": n, "diameter": 1.0, "speed": speed, "place": place}
    box = dict.fromkeys("xyz"[:dim], (0.0, side))
    return events(dim, grains, law=law, dt=dt, seed=seed, periodic=box, **more)


def momentum(sim):
    n = sim.model.n
    return sim.model.mass[:n] @ sim.state.velocity[:n]


# ---------------------------------------------------------------------- one collision
def walton(m, inertia, v, w, n, law):
    """Velocities and spins after a collision of two balls of radius 1/2, from Walton's formulas."""
    radius = 0.5
    n = n / np.linalg.norm(n)
    relative = v[1] - v[0] - np.cross(radius * (w[0] + w[1]), n)
    v_n = relative @ n
    slip = relative - v_n * n
    m_n = m[0] * m[1] / (m[0] + m[1])
    p_n = -(1.0 + law["restitution"]) * m_n * v_n
    m_t = 1.0 / (1.0 / m_n + radius**2 * (1.0 / inertia[0] + 1.0 / inertia[1]))
    p_t = -(1.0 + law["restitution_tangential"]) * m_t * slip
    if np.linalg.norm(p_t) > law["friction"] * p_n:
        p_t = -law["friction"] * p_n * slip / np.linalg.norm(slip)
    p = p_n * n + p_t
    turn = np.cross(radius * n, p)
    return (
        [v[0] - p / m[0], v[1] + p / m[1]],
        [w[0] - turn / inertia[0], w[1] - turn / inertia[1]],
        np.linalg.norm(p_t) < law["friction"] * p_n * (1.0 - 1e-9),
    )


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.05, 0.3, 5.0])
@pytest.mark.parametrize("tangential", [0.0, 0.4, 1.0])
def test_a_collision_of_two_grains_is_walton_s(dim, friction, tangential):
    law = {"friction": friction, "restitution": 0.7, "restitution_tangential": tangential}
    x = np.array([[0.0, 0.0, 0.0], [1.3, 0.4, 0.2]])[:, :dim]
    v = np.array([[1.0, 0.2, 0.1], [-1.0, 0.0, -0.3]])[:, :dim]
    w = np.array([[0.3, -0.2, 0.9], [0.1, 0.4, -2.0]])
    density = (1.0, 3.0)
    sets = [
        at(x[k], v[k].tolist(), material=f"m{k}", spin=w[k, 2] if dim == 2 else w[k].tolist())
        for k in range(2)
    ]
    materials = {f"m{k}": {"density": density[k]} for k in range(2)}
    sim = events(dim, sets, law=law, dt=2.0, materials=materials)
    mass, inertia = sim.model.mass, sim.model.inertia
    report = sim.step()
    assert report.candidates == 1
    (three_v, three_x) = np.zeros((2, 2, 3))
    three_v[:, :dim], three_x[:, :dim] = v, x
    if dim == 2:
        w[:, :2] = 0.0
    r, u = three_x[1] - three_x[0], three_v[1] - three_v[0]
    t = min(np.roots([u @ u, 2.0 * r @ u, r @ r - 1.0]).real)
    after, spins, _ = walton(mass, inertia, three_v, w, r + t * u, law)
    spin = np.zeros((2, 3))
    spin[:, -sim.state.spin.shape[1] :] = sim.state.spin
    # all numbers are of order one, and the collision is some tens of operations
    assert sim.state.velocity == pytest.approx(np.array(after)[:, :dim], abs=100 * EPS)
    assert spin == pytest.approx(np.array(spins), abs=100 * EPS)
    expected = three_x + t * three_v + (2.0 - t) * np.array(after)
    assert sim.state.position == pytest.approx(expected[:, :dim], abs=1000 * EPS)
    before = 0.5 * mass @ (three_v**2).sum(1) + 0.5 * inertia @ (w**2).sum(1)
    assert report.kinetic + report.dissipated == pytest.approx(before, rel=100 * EPS)
    if friction == 0.0 or tangential == 1.0 == friction:
        assert report.dissipated > 0.0  # by the normal restitution


def test_both_stick_and_slide_occur_in_the_test_of_walton():
    x, v, w = np.eye(3)[:2] * 0.0, np.array([[1.0, 0.2, 0.1], [-1.0, 0.0, -0.3]]), np.zeros((2, 3))
    m = np.array([1.0, 1.0])
    law = {"restitution": 0.7, "restitution_tangential": 0.0}
    sticks = [
        walton(m, 0.1 * m, v, w, np.array([1.0, 0.5, 0.1]), {**law, "friction": mu})[2]
        for mu in (0.05, 5.0)
    ]
    assert sticks == [False, True]
    assert not x.any()


def test_rolled_orientations_are_those_of_piecewise_constant_spin():
    """A grain spins, collides at t = 1, and spins on with what the collision left."""
    law = {"friction": 1.0, "restitution": 0.5}
    sets = [at([0.0, 0.0], [1.0, 0.0], spin=2.0), at([2.0, 0.0], [0.0, 0.0])]
    sim = events(2, sets, law=law, dt=3.0)
    sim.step()
    spin = sim.state.spin[:, 0]
    assert spin[0] != 2.0
    expected = [2.0 + 2.0 * spin[0], 2.0 * spin[1]]
    assert sim.state.orientation[:, 0] == pytest.approx(expected, abs=20 * EPS)


# ---------------------------------------------------------------------- walls
def test_a_ball_on_a_floor_bounces_when_it_should():
    """Heights and times of all bounces: t_k = t_0 + 2 (v_0/g) Σ e^j, v_k = e^k v_0."""
    e, g, h = 0.8, 9.81, 2.0
    sim = events(
        2, at([0.0, 0.5 + h], [0.3, 0.0]), law={"restitution": e}, dt=0.001, gravity=[0.0, -g],
        walls=[{"kind": "plane", "name": "floor", "point": [0.0, 0.0], "normal": [0.0, 1.0]}],
    )  # fmt: skip
    t0, v0 = math.sqrt(2.0 * h / g), math.sqrt(2.0 * g * h)
    bounces = [t0 + 2.0 * v0 / g * sum(e**j for j in range(1, k + 1)) for k in range(12)]
    found = []
    for _ in range(int(bounces[-1] / sim.dt) + 1):
        before = sim.state.copy()
        if sim.step().candidates:
            # from the state before: when it hit, in closed form
            y, v = before.position[0, 1] - 0.5, before.velocity[0, 1]
            found.append(before.time + (v + math.sqrt(v * v + 2.0 * g * y)) / g)
    # a hundred steps to a flight, each rounding times and heights of order one
    assert found == pytest.approx(bounces, abs=1e4 * EPS)
    assert sim.state.position[0, 0] == pytest.approx(0.3 * sim.state.time, rel=1e4 * EPS)
    assert sim.totals.dissipated == pytest.approx(
        0.5 * sim.model.mass[0] * v0**2 * (1.0 - e**24), rel=1e4 * EPS
    )


def test_a_step_of_any_length_gives_the_same_bounces():
    def last(dt):
        sim = events(
            2, at([0.0, 2.5], [0.3, 0.0]), law={"restitution": 0.9}, dt=dt, gravity=[0.0, -1.0],
            walls=[{"kind": "plane", "point": [0.0, 0.0], "normal": [0.0, 1.0]}],
        )  # fmt: skip
        for _ in range(round(16.0 / dt)):
            sim.step()
        return sim.state.position[0], sim.state.velocity[0]

    x, v = last(16.0)
    for dt in (1.0, 0.01):
        there, speed = last(dt)
        assert there == pytest.approx(x, abs=1e4 * EPS)
        assert speed == pytest.approx(v, abs=1e4 * EPS)


@pytest.mark.parametrize("frame", [0.0, 5.0])
def test_a_moving_wall_gives_its_speed(frame):
    """From a wall of velocity U a grain of velocity v leaves with (1 + e) U − e v."""
    e, u, v = 0.6, 0.5 + frame, -1.0 + frame
    wall = {"kind": "plane", "point": [0.0, 0.0], "normal": [1.0, 0.0], "velocity": [u, 0.0]}
    sim = events(2, at([2.0, 0.0], [v, 0.0]), law={"restitution": e}, dt=4.0, walls=[wall])
    report = sim.step()
    assert report.candidates == 1
    after = (1.0 + e) * u - e * v
    assert sim.state.velocity[0, 0] == pytest.approx(after, rel=10 * EPS)
    gained = 0.5 * sim.model.mass[0] * (after**2 - v**2)
    assert report.work_driven - report.dissipated == pytest.approx(gained, rel=100 * EPS)
    # the wall's work is its force times its way
    force = sim.engine.wall_force[0, 0]
    assert report.work_driven == pytest.approx(-force * u * sim.dt, rel=100 * EPS)
    assert sim.state.position[1, 0] == pytest.approx(4.0 * u, rel=10 * EPS)


def test_a_belt_carries_grains_along():
    """A wall that moves along itself drags what slides on it, and does work."""
    wall = {"kind": "plane", "point": [0.0, 0.0], "normal": [0.0, 1.0], "velocity": [3.0, 0.0]}
    law = {"friction": 0.1, "restitution": 0.5}
    sim = events(2, at([0.0, 1.0], [0.0, -1.0]), law=law, dt=2.0, walls=[wall])
    report = sim.step()
    # it slides: P_t = µ P_n, P_n = m (1 + e) v
    assert sim.state.velocity[0] == pytest.approx([0.1 * 1.5, 0.5], rel=10 * EPS)
    assert report.work_driven == pytest.approx(sim.model.mass[0] * 0.1 * 1.5 * 3.0, rel=100 * EPS)
    assert sim.state.spin[0, 0] == pytest.approx(0.1 * 1.5 * 2.0 / 0.5, rel=10 * EPS)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_ball_in_a_hollow_cylinder_keeps_its_energy_under_gravity(dim):
    """Bounces off a round wall under gravity: quartic equations, elastic, thousands of them."""
    axis = {"axis": [0.0, 0.0, 1.0]} if dim == 3 else {}
    wall = {"kind": "cylinder", "point": [0.0] * dim, "radius": 3.0, "side": "inside", **axis}
    gravity = [0.0, -1.0, 0.0][:dim]
    x, v = [0.7, 1.0, 0.0][:dim], [1.0, 0.3, 0.2][:dim]
    sim = events(dim, at(x, v), dt=5.0, gravity=gravity, walls=[wall])
    m = sim.model.mass[0]
    energy, hits = 0.5 * m * np.dot(v, v) + m * x[1], 0
    for _ in range(400):
        hits += sim.step().candidates
        x, v = sim.state.position[0], sim.state.velocity[0]
        assert np.hypot(x[0], x[1]) <= 2.5 + 100 * EPS
    assert hits > 500
    now = 0.5 * m * (v @ v) + m * x[1]
    # a bounce rounds the velocity once, and energies are of order one
    assert now == pytest.approx(energy, abs=hits * 10 * EPS)


def test_a_drum_that_turns_drags_and_does_the_work_of_its_torque():
    drum = {"kind": "cylinder", "point": [0.0, 0.0], "radius": 3.0, "side": "inside", "spin": 2.0}
    law = {"friction": 0.2, "restitution": 0.8}
    sim = events(2, at([0.0, 0.0], [0.0, -1.0]), law=law, dt=4.0, walls=[drum])
    report = sim.step()
    assert report.candidates == 1
    # the surface at the bottom moves with ω R = 6 to the right, faster than friction can follow
    assert sim.state.velocity[0, 0] == pytest.approx(0.2 * 1.8, rel=10 * EPS)
    torque = sim.engine.wall_torque[0, 0]
    assert report.work_driven == pytest.approx(-torque * 2.0 * sim.dt, rel=100 * EPS)


# ---------------------------------------------------------------------- many collisions
@pytest.mark.rounding
@pytest.mark.parametrize(
    ("dim", "n", "fraction"), [(2, 300, 0.6), (3, 300, 0.4), (2, 2 * MANY, 0.5)]
)
def test_momentum_energy_and_overlaps_over_a_million_collisions(dim, n, fraction):
    sim = gas(dim, n, fraction, dt=10.0)
    start, p = sim.kinetic, momentum(sim)
    hits, side = 0, float(sim.model.periodic[0])
    while hits < 1_000_000:
        hits += sim.step().candidates
    # each collision rounds two velocities of order one, at random: √hits, with room for bias
    rounding = EPS * math.sqrt(hits) * 10.0
    assert sim.kinetic == pytest.approx(start, rel=rounding)
    assert momentum(sim) == pytest.approx(p, abs=rounding * math.sqrt(n) * 2.0)
    # never deeper than one flight's rounding, which is that of places up to many boxes away
    reach = float(np.abs(sim.state.position).max()) + side
    assert sim.totals.deepest < 4.0 * EPS * reach
    assert sim.look_closely() is None
    assert sim.deepest < 4.0 * EPS * reach


@pytest.mark.rounding
def test_energy_lost_and_done_is_accounted_for_in_a_shaken_box():
    """Inelastic rough disks in a box with a moving lid, under gravity: the ledger closes."""
    lid = {"kind": "plane", "point": [0.0, 12.0], "normal": [0.0, -1.0], "velocity": [0.0, -0.2]}
    box = {"kind": "box", "min": [0.0, 0.0], "max": [12.0, 14.0], "open": ["top"]}
    place = {"kind": "loose", "min": [0.0, 0.0], "max": [12.0, 12.0]}
    law = {"restitution": 0.9, "friction": 0.4, "restitution_tangential": 0.3}
    sim = events(
        2, {"count": 40, "diameter": {"kind": "uniform", "min": 0.6, "max": 1.0}, "speed": 3.0,
            "place": place}, law=law, dt=0.1, walls=[box, lid], gravity=[0.0, -0.5],
    )  # fmt: skip
    summary = sim.run(100, progress=False)
    t = sim.totals
    assert t.dissipated > 0.1 * t.kinetic_start
    assert t.work_driven > 0.0
    # some thousand collisions, each rounding energies of the order of all that is there
    assert abs(summary.balance_error) < 1e4 * EPS * (t.kinetic_start + t.work_driven)
    assert summary.implausible is None


@pytest.mark.parametrize(
    "dt", [1.0, 4000.0]
)  # the longer has more collisions than the log has room
def test_contacts_hold_all_that_changed_the_momentum_of_each_grain(dt):
    rough = {"friction": 0.3, "restitution_tangential": 1.0}
    sim = gas(2, 40, 0.3, dt=dt, law=rough if dt < 100.0 else None)  # a rough gas would cool
    sim.step()
    before, n = sim.state.velocity.copy(), sim.model.n
    hits = sim.step().candidates
    c, felt = sim.state.contacts, np.zeros((n, 2))
    assert 0 < len(c) <= min(hits, n * (n - 1) // 2)
    assert (hits > n + (1 << 14)) == (dt > 100.0)
    np.add.at(felt, c.first, -c.impulse)
    np.add.at(felt, c.second, c.impulse)
    changed = sim.model.mass[:n, None] * (sim.state.velocity - before)
    # each collision rounds a sum of impulses, which grows with their number
    assert felt == pytest.approx(changed, abs=EPS * 10.0 * hits)
    assert c.in_order
    assert np.linalg.norm(c.normal, axis=1) == pytest.approx(1.0, abs=10 * EPS)


def test_nobody_is_missed_in_small_periodic_boxes():
    """The smallest box that is let: a grain meets its neighbour and the images of it."""
    sim = events(
        2, [at([0.6, 0.6], [1.0, 0.3]), at([1.4, 1.8], [-0.4, 0.2])], dt=0.05,
        periodic={"x": (0.0, 2.0), "y": (0.0, 2.4)},
    )  # fmt: skip
    hits = sum(sim.step().candidates for _ in range(2000))
    assert hits > 50
    assert sim.totals.deepest < 1e-13
    sim.look_closely()
    assert sim.deepest < 1e-13


@pytest.mark.parametrize("dim", [2, 3])
def test_nobody_is_missed_among_grains_of_very_different_sizes(dim):
    """Cells are as wide as the largest grain, so that dozens of the small ones share one."""
    side, large = (12.0, 4.0) if dim == 2 else (6.0, 2.0)
    low = [[(k + 0.5) * large] * (dim - 1) + [0.5 * large] for k in range(3)]
    above = {"kind": "loose", "min": [0.0] * (dim - 1) + [large], "max": [side] * dim}
    sets = [
        {"count": 3, "diameter": 0.9 * large, "place": {"kind": "at", "positions": low}},
        {"count": 300, "diameter": 0.4, "speed": 1.0, "place": above},
    ]
    sim = events(dim, sets, dt=1.0, periodic=dict.fromkeys("xyz"[:dim], (0.0, side)))
    start, hits = sim.kinetic, 0
    for _ in range(60):
        hits += sim.step().candidates
        # each grain lies where it flew to and what it met: nobody has passed through another one
        assert sim.look_closely() is None
        assert sim.deepest < 1e-12
    assert hits > 3000
    assert sim.kinetic == pytest.approx(start, rel=1e-12)


# ---------------------------------------------------------------------- collapse, and its remedies
def test_a_ball_that_comes_to_rest_on_a_floor_is_told(tmp_path):
    e, h = 0.5, 1.0
    sim = events(
        2, at([0.0, 0.5 + h]), law={"restitution": e}, dt=1.0, gravity=[0.0, -1.0],
        walls=[{"kind": "plane", "name": "floor", "point": [0.0, 0.0], "normal": [0.0, 1.0]}],
    )  # fmt: skip
    rest = math.sqrt(2.0 * h) * (1.0 + 2.0 * e / (1.0 - e))
    with pytest.raises(hg.RunError, match=r"grain 0 and wall 'floor' collide without end") as told:
        sim.run(10, output=tmp_path / "run.h5", every=1, progress=False)
    message = str(told.value)
    assert f"at time {rest:.6g} " in message
    assert "engine.contact_time" in message
    assert "restitution_speed" not in message  # gravity makes ever slower bounces of all
    assert "intact" in message
    with hg.RunFile(tmp_path / "run.h5") as run:
        assert [f.step for f in run] == list(range(int(rest) + 1))


def test_with_a_contact_time_the_ball_keeps_bouncing_a_little():
    """The TC model: once flights are shorter than t_c, nothing is lost any more.

    Flights of a ball thrown up with v last 2 v / g; the first that is shorter than t_c ends in an
    elastic bounce, and so do all after it. What it has left is m v²/2 with e t_c/2 ≤ v/g ≤ t_c/2.
    """
    e, tc = 0.5, 1e-3
    sim = events(
        2, at([0.0, 1.5]), law={"restitution": e}, dt=0.5, gravity=[0.0, -1.0],
        engine={"contact_time": tc},
        walls=[{"kind": "plane", "name": "floor", "point": [0.0, 0.0], "normal": [0.0, 1.0]}],
    )  # fmt: skip
    for _ in range(20):
        report = sim.step()
    m = sim.model.mass[0]
    left = report.kinetic + m * (sim.state.position[0, 1] - 0.5)
    assert 0.5 * m * (0.5 * e * tc) ** 2 <= left * (1.0 + 1e-6)
    assert left <= 0.5 * m * (0.5 * tc) ** 2 * (1.0 + 1e-6)
    assert report.dissipated == 0.0
    assert report.candidates == pytest.approx(0.5 / (2.0 * math.sqrt(2.0 * left / m)), abs=2)


def test_a_heap_of_grains_does_not_collapse_with_a_contact_time():
    """Grains that fall into a box and lose nearly all: no collapse, and little motion is left."""
    place = {"kind": "loose", "min": [0.0, 0.0], "max": [5.0, 12.0]}
    box = {"kind": "box", "min": [0.0, 0.0], "max": [5.0, 12.0], "open": ["top"]}
    law = {"restitution": 0.4, "friction": 0.3}
    grains = {"count": 12, "diameter": 1.0, "place": place}
    scene = {"law": law, "gravity": [0.0, -1.0], "walls": [box], "dt": 0.2}
    with pytest.raises(hg.RunError, match="inelastic collapse"):
        events(2, grains, **scene).run(200, progress=False)
    sim = events(2, grains, engine={"contact_time": 1e-3}, **scene)
    sim.run(100, progress=False)
    fall = sim.totals.work_external
    assert fall > 0.0
    assert sim.kinetic < 1e-3 * fall
    assert sim.totals.deepest < 1e-12


def test_two_grains_that_do_not_rebound_go_on_together():
    """With e = 0 they touch for ever; what rounding leaves of their approach makes no collapse."""
    sets = [at([0.0, 0.0], [1.0, 0.1]), at([1.5, 0.3], [0.0, -0.2])]
    sim = events(2, sets, law={"restitution": 0.0}, dt=5.0)
    sim.step()
    v = sim.state.velocity
    for _ in range(20):
        sim.step()
    normal = sim.state.position[1] - sim.state.position[0]
    assert sim.state.velocity == pytest.approx(v, abs=100 * EPS)
    assert (v[1] - v[0]) @ normal >= -100 * EPS
    # they do not stick: across the line between them they move on, frictionless
    assert sim.totals.deepest < 1e-12


def test_grains_that_touch_and_do_not_rebound_cannot_pass_on_a_shock():
    """A shock into two that touch, e = 0, is an infinite series of collisions: it is told."""
    sets = [at([0.0, 0.0], [1.0, 0.0]), at([1.5, 0.0]), at([2.5, 0.0])]
    with pytest.raises(hg.RunError, match=r"collide without end at time 0\.5 ") as told:
        events(2, sets, law={"restitution": 0.0}, dt=5.0).step()
    assert "restitution_speed" in str(told.value)  # a remedy, if it is not there already
    law = {"restitution": 0.0, "restitution_speed": 1e-30}
    with pytest.raises(hg.RunError, match="collide without end") as told:
        events(2, sets, law=law, dt=5.0).step()
    assert "restitution_speed" not in str(told.value)


# ---------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"law": {"cohesion": 1.0}}, r"scene.contacts\[0\].cohesion is 1 but must be 0"),
        ({"law": {"rolling": 0.1}}, r"scene.contacts\[0\].rolling is 0.1 but must be 0"),
        ({"grain": {"shape": "square"}}, "all grains must be disks or spheres"),
        ({"grain": {"lock": ["y"]}}, "free to move along all axes"),
        ({"grain": {"force": [1.0, 0.0]}}, "no force and no torque"),
        ({"grain": {"driven_spin": 1.0}}, "no driven_spin"),
        ({"shock": "g"}, r"scene.shock is 'g' but must be 'g\+'"),
        ({"periodic": {"x": (-5.0, 5.0), "y": (-5.0, 5.0)},
          "cell": {"kind": "simple-shear", "rate": 0.1}},
         r"the periodic cell must not deform \(leave out scene.cell\)"),
        ({"walls": [{"kind": "segment", "name": "s", "start": [5, 0], "end": [5, 3]}]},
         "wall 's' must not be a segment"),
        ({"walls": [{"kind": "plane", "name": "p", "point": [0, -9], "normal": [0, 1],
                     "spin": 1.0}]}, "wall 'p' must not turn"),
        ({"walls": [{"kind": "plane", "name": "lid", "point": [0, 9], "normal": [0, -1],
                     "piston": {"mass": 1.0, "force": 1.0}}]}, "wall 'lid' must be fixed"),
    ],
)  # fmt: skip
def test_what_it_does_not_carry_is_refused_by_name(change, why):
    change = dict(change)
    grain = at([0.0, 0.0], [1.0, 0.0], **change.pop("grain", {}))
    with pytest.raises(hg.InputError, match=why) as told:
        events(2, grain, **change)
    assert str(told.value).startswith("with the engine 'event-driven' ")
    assert "\n" not in str(told.value)


def test_grains_that_overlap_at_the_start_are_refused():
    pair = [at([0.0, 0.0]), at([0.9, 0.0])]
    with pytest.raises(hg.InputError, match=r"grain 0 .* overlaps grain 1"):
        events(2, pair)
    with pytest.raises(hg.InputError, match=r"scene\.allow_overlaps is true"):
        events(2, pair, allow_overlaps=True)


def test_what_has_no_meaning_for_events_says_so():
    sim = gas(2, 50, 0.3, dt=1.0)
    sim.step()
    with pytest.raises(hg.InputError, match=r"engine\.kind is 'event-driven'"):
        force_space(sim)
    with pytest.raises(hg.InputError, match=r"engine\.kind is 'event-driven'"):
        dissipation(sim)
    with pytest.raises(hg.InputError, match=r"engine\.kind is 'event-driven'"):
        advise(sim.scenario)


def test_a_step_shorter_than_pays_is_told_and_a_sensible_one_is_not():
    words = [
        [w for w in gas(2, 400, 0.2, dt=dt).run(5, progress=False).warnings if "dt" in w]
        for dt in (0.05, 2.0)
    ]
    assert len(words[0]) == 1
    assert words[0][0].startswith("dt is shorter than pays")
    assert words[1] == []


def test_the_summary_speaks_of_collisions():
    summary = gas(2, 50, 0.3, dt=1.0).run(3, progress=False)
    lines = dict(summary.lines)
    assert lines["converged?"].startswith("nothing to iterate")
    assert lines["rigid?"].startswith("yes")
    assert "collisions in the last step" in lines["grains"]
    assert "million collisions a second" in lines["time spent"]
    assert summary.as_dict()["counts"] == "collisions"


def test_starts_from_a_packing_that_overlaps_are_refused():
    """Contact dynamics leaves small overlaps, which its own runs go on from."""
    pair = [at([0.0, 0.0]), at([0.999, 0.0])]
    scene = {"grains": [hg.Grains(**g) for g in pair]}
    packed = hg.Simulation(hg.Scene(**scene, allow_overlaps=True), dt=0.1)
    with pytest.raises(hg.InputError, match=r"grain 0 .* overlaps grain 1"):
        hg.Simulation(hg.Scene(**scene), dt=0.1, engine=hg.EventDriven(), start=packed.state)
