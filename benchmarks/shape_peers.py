"""Packings of pentagons and boxes as other programs know them: pymunk, Box2D, pybullet, MuJoCo.

Each function takes a packing in a box, builds it with its peer and returns a `Peer`. None of them
lets grains fall asleep, and none is given damping. Where a peer offers a choice, it has the one
that is faster here; the comment says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.measure import Absent
from benchmarks.packings import DT, FRICTION
from hardgrain.core.model import Floats, Model, State

MARGIN = 10.0  # [d] by which side walls are higher than the packing


@dataclass
class Peer:
    """A packing in another program."""

    name: str
    step: Callable[[], object]  # one step
    sweeps: Callable[[int], object]  # set how many sweeps, or iterations, a step has
    points: Callable[[], int]  # contact points that the last step had


def corners(model: Model, grain: int) -> Floats:
    """Corners of a convex grain in its own frame, shape (k, 3) [length]."""
    solids = model.solids
    part = solids.part_start[solids.shape[grain]]
    rows = slice(solids.corner_start[part], solids.corner_start[part + 1])
    return np.asarray(solids.corner[rows] * solids.size[grain])


def _walls(model: Model, state: State) -> dict[str, Floats]:
    return dict(zip(model.wall_names, state.position[model.n :]))


def _outline(model: Model, state: State) -> list[tuple[float, float]]:
    """Corners of a box in 2D without a lid, from its upper left one."""
    at = _walls(model, state)
    left, right = float(at["left"][0]), float(at["right"][0])
    top = float(state.position[: model.n, 1].max()) + MARGIN
    return [(left, top), (left, 0.0), (right, 0.0), (right, top)]


def pymunk_of(model: Model, state: State) -> Peer:
    """Chipmunk: C, float64, impulses swept in list order, persistent contacts."""
    try:
        import pymunk
    except ImportError:
        raise Absent("pymunk (in the environment: pip install pymunk)") from None
    space = pymunk.Space()
    space.gravity = tuple(model.gravity)
    space.collision_slop = 1e-3  # [d]; the default, 0.1, is made for pixels
    for i in range(model.n):
        body = pymunk.Body(float(model.mass[i]), float(model.inertia[i]))
        body.position, body.angle = tuple(state.position[i]), float(state.orientation[i, 0])
        grain = pymunk.Poly(body, [tuple(x) for x in corners(model, i)[:, :2].tolist()])
        grain.friction = math.sqrt(FRICTION)  # pymunk multiplies the two
        space.add(body, grain)
    outline = _outline(model, state)
    for a, b in pairwise(outline):
        wall = pymunk.Segment(space.static_body, a, b, 0.0)
        wall.friction = math.sqrt(FRICTION)
        space.add(wall)

    def points() -> int:
        found: dict[frozenset[int], int] = {}

        def note(arbiter: Any) -> None:
            pair = frozenset(id(shape) for shape in arbiter.shapes)
            found[pair] = len(arbiter.contact_point_set.points)

        for body in space.bodies:
            body.each_arbiter(note)
        return sum(found.values())

    def sweeps(number: int) -> None:
        space.iterations = number

    return Peer("pymunk", lambda: space.step(DT), sweeps, points)


def box2d_of(model: Model, state: State) -> Peer:
    """Box2D 2.3: C++, float32, impulses swept in list order, two points of a face at once.

    Its sweeps over positions, which other programs lack, are left out.
    """
    try:
        import Box2D as box2d
    except ImportError:
        raise Absent("Box2D (in the environment: pip install box2d)") from None
    world = box2d.b2World(gravity=tuple(model.gravity.tolist()), doSleep=False)
    world.continuousPhysics = False  # it would find times of impact, besides
    for i in range(model.n):
        x = [tuple(x) for x in corners(model, i)[:, :2].tolist()]
        shape = box2d.b2PolygonShape(vertices=x)
        area = float(model.volume[i])
        body = world.CreateDynamicBody(
            position=tuple(state.position[i].tolist()),
            angle=float(state.orientation[i, 0]),
            allowSleep=False,
        )
        # Box2D takes the geometric mean of both coefficients
        body.CreateFixture(shape=shape, density=float(model.mass[i]) / area, friction=FRICTION)
    ground = world.CreateStaticBody()
    outline = _outline(model, state)
    for a, b in pairwise(outline):
        ground.CreateFixture(shape=box2d.b2EdgeShape(vertices=[a, b]), friction=FRICTION)
    number = [10]

    def points() -> int:
        return sum(c.manifold.pointCount for c in world.contacts if c.touching)

    def step() -> None:
        world.Step(DT, number[0], 0)

    def sweeps(many: int) -> None:
        number[0] = many

    return Peer("Box2D", step, sweeps, points)


def pybullet_of(model: Model, state: State) -> Peer:
    """Bullet: C++, float64, impulses swept in random order, up to four kept points for each pair.

    Bodies are plain rigid bodies ("maximal coordinates"), which is faster than the default, and the
    sweeps do not end early.
    """
    try:
        import pybullet
    except ImportError:
        raise Absent("pybullet (in the environment: pip install pybullet)") from None
    world = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(*model.gravity.tolist(), physicsClientId=world)
    pybullet.setTimeStep(DT, physicsClientId=world)
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=_half(model), physicsClientId=world
    )
    bodies = [
        pybullet.createMultiBody(
            float(model.mass[i]),
            shape,
            basePosition=state.position[i].tolist(),
            baseOrientation=state.orientation[i].tolist(),
            useMaximalCoordinates=1,
            physicsClientId=world,
        )
        for i in range(model.n)
    ]
    for point, normal in _planes(model, state):
        plane = pybullet.createCollisionShape(
            pybullet.GEOM_PLANE, planeNormal=normal, physicsClientId=world
        )
        bodies.append(
            pybullet.createMultiBody(0.0, plane, basePosition=point, physicsClientId=world)
        )
    for body in bodies:  # Bullet multiplies the coefficients of both
        pybullet.changeDynamics(
            body, -1, lateralFriction=math.sqrt(FRICTION), rollingFriction=0.0,
            spinningFriction=0.0, linearDamping=0.0, angularDamping=0.0,
            activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING, physicsClientId=world,
        )  # fmt: skip

    def sweeps(number: int) -> None:
        pybullet.setPhysicsEngineParameter(
            numSolverIterations=number, solverResidualThreshold=0.0, physicsClientId=world
        )

    return Peer(
        "pybullet",
        lambda: pybullet.stepSimulation(physicsClientId=world),
        sweeps,
        lambda: len(pybullet.getContactPoints(physicsClientId=world)),
    )


def mujoco_of(model: Model, state: State) -> Peer:
    """MuJoCo: C, float64, a convex problem for all contacts at once, softened.

    It is solved by conjugate gradients, until they have converged or after as many iterations as we
    have sweeps; Newton's method, its default, takes a hundred times as long for so many bodies.
    """
    try:
        import mujoco
    except ImportError:
        raise Absent("mujoco (in the environment: pip install mujoco)") from None
    half = " ".join(f"{h:.17g}" for h in _half(model))
    density = float(model.mass[0] / model.volume[0])
    planes = _planes(model, state)
    world = [
        f'<geom type="plane" size="0 0 1" pos="{_words(point)}" zaxis="{_words(normal)}"/>'
        for point, normal in planes
    ]
    turned = np.roll(state.orientation[: model.n], 1, axis=1)  # MuJoCo has w first
    world += [
        f'<body pos="{_words(x)}" quat="{_words(q)}">'
        f'<freejoint/><geom type="box" size="{half}" density="{density:.17g}"/></body>'
        for x, q in zip(state.position[: model.n], turned, strict=True)
    ]
    text = (
        f'<mujoco><option timestep="{DT}" gravity="{_words(model.gravity)}" solver="CG"/>'
        f'<size memory="4G"/><default><geom condim="3" friction="{FRICTION}"/></default>'
        f"<worldbody>{''.join(world)}</worldbody></mujoco>"
    )
    compiled = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)

    def sweeps(number: int) -> None:
        compiled.opt.iterations = number

    return Peer("MuJoCo", lambda: mujoco.mj_step(compiled, data), sweeps, lambda: int(data.ncon))


def _half(model: Model) -> list[float]:
    """Half of each side of the boxes, which are all alike."""
    most: list[float] = np.abs(corners(model, 0)).max(axis=0).tolist()
    return most


def _planes(model: Model, state: State) -> list[tuple[list[float], list[float]]]:
    """Point and normal of each plane around a packing of boxes."""
    return [
        (point.tolist(), axis.tolist())
        for point, axis in zip(state.position[model.n :], model.wall_axis, strict=True)
    ]


def _words(numbers: Any) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)
