"""A few grains of other shapes at each other and at walls, for `points_on_cuda.py`.

`of_shapes` runs the narrow phase of shapes as the factories of `hardgrain.point` give it, and
`shapes_on_cpu` as `hardgrain.cpu` does; each gives the contact points of all pairs of a set.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from hardgrain.addresses import address_of
from hardgrain.core.meshes import Meshes
from hardgrain.core.wall_kinds import INSIDE, MESH, PLANE, SEGMENT, TRIANGLE, Walls
from hardgrain.cpu.mesh import mesh_rows
from hardgrain.cpu.placing import features, placed, room_for, with_wall_shapes
from hardgrain.cpu.points import contact_points
from hardgrain.point.manifold import make_manifold
from hardgrain.point.mesh import make_mesh
from hardgrain.point.parts import make_parts
from hardgrain.point.placed import ShapedBodies

sys.path.append(str(Path(__file__).parents[2]))  # it runs as a script, beside the tests
from tests.fuzz.solids import CUBE, SQUARE, no_walls, table

LIMIT = 0.3  # [length] gap below which bodies are in contact here
MOST = 12  # contact points of a pair that are written
PLACED = ((0.0, 0.0, 0.0, 1.0), (0.1, -0.2, 0.3, 0.9), (0.5, 0.3, -0.4, 0.7))  # orientations
BALL, ROD = np.zeros((1, 3)), np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])
PLATE = np.array([[-0.5, -0.4, 0.0], [0.5, -0.4, 0.0], [0.5, 0.4, 0.0], [-0.5, 0.4, 0.0]])
TETRAHEDRON = 0.5 * np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def make_shape_tasks(jit: Callable[..., Any]) -> SimpleNamespace:
    """What one thread does with one pair: it writes the number of points, and then the points."""
    parts, mesh = make_parts(jit), make_mesh(jit)
    cores_of, alone, apart_by = parts.cores_of, parts.alone, parts.apart_by
    part_points, wall_points, by_name = parts.part_points, parts.wall_points, parts.by_name
    ball_point, triangle_points = mesh.ball_point, mesh.triangle_points
    to_mesh, to_space, four_of = mesh.to_mesh, mesh.to_space, make_manifold(jit).four_of

    @jit
    def write(room, count, k, out):
        out[k, 0, 0] = count
        for s in range(count):
            at = room.kept[s]
            out[k, s + 1, 0], out[k, s + 1, 1] = room.feature[at], room.gap[at]
            for d in range(3):
                out[k, s + 1, 2 + d] = room.normal[at, d]
                out[k, s + 1, 5 + d] = room.on_first[at, d]
                out[k, s + 1, 8 + d] = room.on_second[at, d]

    @jit
    def cores(k, bodies, room, pair, apart, out):
        i, j = pair[k, 0], pair[k, 1]
        way = (apart[k, 0], apart[k, 1], apart[k, 2])
        out[k, 0, 0] = 0.0
        if not apart_by(bodies.placed, (i, 0), (j, 0), way, LIMIT):
            both = cores_of(bodies, room, (i, 0), (j, 0), way)
            count = part_points(both, LIMIT, bodies.position.shape[1] == 3)
            write(room, count, k, out)

    @jit
    def wall(k, bodies, room, pair, apart, out):
        i, w = pair[k, 0], pair[k, 1] - bodies.number.size
        count = wall_points(bodies, alone(bodies, room, (i, 0)), (i, 0), w, LIMIT)
        write(room, count, k, out)

    @jit
    def ball(k, bodies, near, frame, pair, out):
        i, meshes = pair[k, 0], bodies.meshes
        r = bodies.placed.ball[bodies.placed.ball_start[i], 3]
        x, y, z = to_mesh(frame, (0.0, 0.0, 0.0), True)
        there, gap, n, q, on = ball_point(meshes, (near, 1), 0, False, (x, y, z, r), LIMIT)
        out[k, 0, 0] = 0.0
        if there and gap < LIMIT:
            n, q = to_space(frame, n, False), to_space(frame, q, True)
            out[k, 0, 0], out[k, 1, 0], out[k, 1, 1] = 1.0, on, gap
            for d in range(3):
                out[k, 1, 2 + d], out[k, 1, 5 + d], out[k, 1, 8 + d] = -n[d], -r * n[d], q[d]

    @jit
    def triangle(k, bodies, room, near, frame, pair, out):
        i, j = pair[k, 0], pair[k, 1]
        row, around = bodies.placed.ball_start[i], bodies.placed.ball
        about = (around[row, 0], around[row, 1], around[row, 2], around[row, 3])
        both = cores_of(bodies, room, (i, 0), (j, 0), (0.0, 0.0, 0.0))
        mesh = (frame, bodies.meshes, (near, 1))
        count, of_face = triangle_points(both, LIMIT, False, about, mesh)
        if of_face:
            n = (room.normal[0, 0], room.normal[0, 1], room.normal[0, 2])
            count = four_of(both, count, n)
        by_name(room, count)
        write(room, count, k, out)

    return SimpleNamespace(cores=cores, wall=wall, ball=ball, triangle=triangle)


def pairs_of(shapes: list[Any], rng: np.random.Generator) -> tuple[list[Any], Any]:
    """Two grains for each two shapes and distance: overlapping, just touching, and apart."""
    chosen, x = [], []
    for (one, two), share in itertools.product(
        itertools.combinations_with_replacement(range(len(shapes)), 2), (0.15, 0.6, 0.95, 3.0)
    ):
        way = rng.normal(size=3)
        chosen += [one, two]
        x += [np.zeros(3), share * way / np.linalg.norm(way)]
    return chosen, np.array(x)


def grains(dim: int) -> tuple[ShapedBodies, Any]:
    """Pairs of grains anywhere, and stacked with faces on each other."""
    rng = np.random.default_rng(dim)
    if dim == 2:
        shapes = [(SQUARE, 0.0), (SQUARE[:3], 0.1), (ROD[:, [2, 0]], 0.1), (BALL[:, :2], 0.4)]
    else:
        shapes = [
            (CUBE, 0.0), (TETRAHEDRON, 0.1), (PLATE, 0.0), (PLATE[:3], 0.1), (ROD, 0.2),
            (BALL, 0.4),
        ]  # fmt: skip
    of, x = pairs_of(shapes, rng)
    turn = rng.uniform(0.0, 7.0, (len(of), 1))
    if dim == 3:
        turn = rng.normal(size=(len(of), 4))
        turn /= np.linalg.norm(turn, axis=1)[:, None]
    upright = [[0.0]] * 2 if dim == 2 else [PLACED[0]] * 2
    stacks = [(0, 0, 1.03), (0, 0, 0.96), (2, 0, 0.53), (2, 2, 0.01), (0, 1, 1.0), (2, 2, 1.0)]
    for one, two, height in stacks:
        shift = [0.17, height] if dim == 2 else [0.17, -0.23, height]
        of += [one, two]
        x = np.r_[x, np.zeros((2, 3))]
        x[-1, :dim] = shift
        turn = np.r_[turn, upright]
    of += [len(shapes) - 1] * 2  # one ball where another is: any normal will do
    x, turn = np.r_[x, np.zeros((2, 3))], np.r_[turn, upright]
    return bodies_of(shapes, of, x[:, :dim], turn, no_walls(dim))


def bodies_of(shapes, of, x, turn, walls, *meshes) -> tuple[ShapedBodies, Any]:
    """The record of bodies, and pairs: grains two by two, or each grain with each wall."""
    n, w, dim = len(of), len(walls.kind), x.shape[1]
    solids = with_wall_shapes(table([[s] for s in shapes], of, np.ones(n), dim), dim)
    still = np.zeros((w, 1)) if dim == 2 else np.tile(PLACED[0], (w, 1))
    where = np.r_[x, walls.point]
    bodies = ShapedBodies(
        where, np.arange(n), np.zeros(dim), walls, solids,
        placed(solids, np.r_[turn, still], walls), features(solids), *meshes,
    )  # fmt: skip
    if w == 0:
        return bodies, np.arange(n, dtype=np.int32).reshape(-1, 2)
    return bodies, np.array([(i, n + k) for i in range(n) for k in range(w)], np.int32)


def at_walls(dim: int) -> tuple[ShapedBodies, Any]:
    """Grains at a plane, in a hollow cylinder, and at a flat wall that has edges."""
    flat = SEGMENT if dim == 2 else TRIANGLE
    point = np.array([[0.0, 0.0, -0.6], [0.1, 0.2, 0.0], [-1.0, -0.8, 0.55]])
    axis = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [2.0, 0.1, 0.0]])
    side = np.array([[0.0] * 3, [0.0] * 3, [0.3, 2.0, 0.1]])
    if dim == 2:
        point, axis, side = point[:, [0, 2]], axis[:, [0, 2]], 0.0 * side[:, :2]
        axis[1] = 0.0
    walls = Walls(
        np.array([PLANE, INSIDE, flat], np.int32), point, axis, np.array([0.0, 0.9, 0.0]), side
    )
    if dim == 2:
        shapes = [(SQUARE, 0.0), (SQUARE[:3], 0.1), (BALL[:, :2], 0.4)]
        turn = np.array([[0.0], [0.3], [2.0]])
    else:
        shapes = [(CUBE, 0.0), (TETRAHEDRON, 0.1), (BALL, 0.4)]
        turn = np.array(PLACED) / np.linalg.norm(PLACED, axis=1)[:, None]
    return bodies_of(shapes, range(3), np.full((3, dim), 0.03), turn, walls)


def at_a_triangle() -> tuple[ShapedBodies, Any]:
    """Balls and boxes above the face, an edge and a corner of a mesh that is one triangle."""
    corner = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    none, up = np.zeros(2, np.int32), np.array([[0.0, 0.0, 1.0]])
    none[1] = 1
    meshes = Meshes(
        np.zeros(1, np.bool_), np.zeros(1, np.bool_), 3 * none, none, none, corner,
        np.array([[0, 1, 2]], np.int32), up, np.zeros(1, np.int32), np.zeros((1, 3), np.bool_),
        corner.min(axis=0)[None], corner.max(axis=0)[None], np.ones(1, np.int32),
        np.array([[0, 1]], np.int32), np.zeros(1, np.int32),
    )  # fmt: skip
    walls = Walls(
        np.array([MESH], np.int32), np.array([[0.1, 0.2, -0.3]]), np.array([[0.6, 0.8, 0.0]]),
        np.zeros(1), np.array([[-0.8, 0.6, 0.0]]),
    )  # fmt: skip
    shapes = [(BALL, 0.4), (CUBE, 0.0), (TETRAHEDRON, 0.1)]
    above = [[0.0, -0.2, 0.35], [0.1, -1.2, 0.1], [1.15, -1.1, 0.2], [0.0, -0.2, 2.0]]
    over = [[0.0, -0.2, 0.52], [0.1, -1.45, 0.3], [1.3, -1.2, 0.4], [0.0, 0.1, 0.1]]
    of = [0] * 4 + [1] * 4 + [1, 2, 2, 2]
    turn = np.array([PLACED[0]] * 5 + [PLACED[1]] * 4 + [PLACED[2]] * 3)
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    axes = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    x = np.array(above + over + over) @ axes + walls.point
    return bodies_of(shapes, of, x, turn, walls, meshes)


def frame_at(bodies: ShapedBodies, i: int) -> Any:
    """Axes of the only wall, a mesh, and its origin as seen from grain i."""
    a, b = bodies.walls.axis[0], bodies.walls.side[0]
    origin = bodies.walls.point[0] - bodies.position[i]
    return tuple(tuple(v.tolist()) for v in (a, b, np.cross(a, b), origin))


def place_triangle(bodies: ShapedBodies, i: int, j: int) -> None:
    """Let the core of body j be the triangle of its mesh, about the centre of grain i."""
    axes, there = np.array(frame_at(bodies, i)), bodies.placed
    c, f = there.corner_start[j], there.face_start[j]
    there.corner[c : c + 3] = bodies.meshes.corner @ axes[:3] + axes[3]
    there.normal[f, :3] = bodies.meshes.normal[0] @ axes[:3]
    there.normal[f, 3] = there.normal[f, :3] @ there.corner[c]  # the height of its plane
    there.normal[f + 1] = -there.normal[f]
    there.bound[j] = np.linalg.norm(there.corner[c : c + 3], axis=1).max()


SETS: dict[str, Callable[[], tuple[ShapedBodies, Any]]] = {
    "shapes 2D": lambda: grains(2),
    "shapes 3D": lambda: grains(3),
    "shapes at walls 2D": lambda: at_walls(2),
    "shapes at walls 3D": lambda: at_walls(3),
    "shapes at a triangle": at_a_triangle,
}


def of_shapes(backend: Any) -> dict[str, Any]:
    """Contact points of all sets, by the factories."""
    tasks, found = make_shape_tasks(backend.jit), {}
    for name, make in SETS.items():
        bodies, pair = make()
        dim, n = bodies.position.shape[1], bodies.number.size
        room, near = room_for(bodies.solids, dim), np.zeros(1, np.int32)
        out, apart = np.zeros((len(pair), MOST, 11)), np.zeros((len(pair), 3))
        for k, (i, j) in enumerate(pair):  # one by one: they share a room
            if j >= n and bodies.walls.kind[j - n] == MESH:
                frame = frame_at(bodies, i)
                if bodies.placed.corner_start[i + 1] - bodies.placed.corner_start[i] == 1:
                    backend.launch(tasks.ball, k, k + 1, bodies, near, frame, pair, out)
                else:
                    place_triangle(bodies, i, j)
                    backend.launch(tasks.triangle, k, k + 1, bodies, room, near, frame, pair, out)
                continue
            centre = bodies.position[j] if j < n else bodies.placed.centre[j - n, :dim]
            apart[k, :dim] = centre - bodies.position[i]
            task = tasks.wall
            if bodies.placed.shape[j] < 0:
                apart[k] = 0.0  # points on such a wall are about the grain
            else:
                task = tasks.cores
            backend.launch(task, k, k + 1, bodies, room, pair, apart, out)
        rows = []
        for k, (i, j) in enumerate(pair):
            for point in out[k, 1 : 1 + int(out[k, 0, 0])]:
                one, two = point[5 : 5 + dim], point[8 : 8 + dim]
                if j >= n:  # from the point that a wall turns about
                    two = two + apart[k, :dim] + bodies.position[i] - bodies.position[j]
                rows.append([k, *point[:2], *point[2 : 2 + dim], *one, *two])
        found[name] = np.array(rows).ravel()
    return found


def shapes_on_cpu() -> dict[str, Any]:
    """The same from the loops of `hardgrain.cpu`."""
    found = {}
    for name, make in SETS.items():
        bodies, pair = make()
        reach = np.full(len(bodies.position), 0.5 * LIMIT)
        first, second = pair.T.copy()
        if bodies.meshes.item.size > 0:
            like = (first, second, bodies, reach)
            bodies = bodies._replace(mesh_rows=address_of(mesh_rows, *like))
        index, feature, normal, gap, one, two = contact_points(first, second, bodies, reach)
        found[name] = np.column_stack([index, feature, gap, normal, one, two]).ravel()
    return found
