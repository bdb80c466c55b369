"""Draws a frame into the scene of a page, through viser: instanced meshes, moved each frame.

A scene is shown with its middle at the origin and its longest side 10 long, since clients work in
single precision and cameras have their limits. Only centres and colours are sent for each frame,
15 bytes a grain (and 16 for orientations where marks are shown).

Levels of detail: spheres and discs get fewer triangles the more there are (`shapes`). Instances
cost the browser 1.5 µs each whenever they move, points a tenth of that. So beyond `SMOOTH`
grains a run plays with points, round and of a few sizes, and spheres come back when it stands
still; beyond `POINTS` only those next to the camera do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.measure.snapshot import Snapshot
from hardgrain.show.colour import Bytes
from hardgrain.show.view import shapes, solids
from hardgrain.show.view.fields import Colours
from hardgrain.show.view.live_run import LiveRun
from hardgrain.show.view.picture import (
    ForceNetwork,
    centres,
    force_table,
    from_x,
    orientations,
    size_classes,
)
from hardgrain.show.view.screen import BRIGHT, seen, sent

if TYPE_CHECKING:
    import viser

__all__ = ["Canvas", "light"]

Singles = NDArray[np.floating[Any]]

SIDE = 10.0  # length of the longest side of the scene as drawn
SMOOTH = 50_000  # [grains] more are drawn as points while they move
POINTS = 250_000  # [grains] more are always drawn as points,
NEAR = 20_000  # [grains] except for so many next to the camera
MARKED = 50_000  # [grains] if there are more, none gets a mark
FLAT, DEEP = 0.12, 0.6  # field of view in 2D, nearly parallel, and in 3D [rad]
WALL, PICKED = (40, 44, 50), (190, 0, 90)  # colours of walls and of what was picked
FAR = 50.0 * SIDE  # half the side of the sheet that takes drags in 2D
LAYER = 4e-3  # distance between the layers of discs, marks, lines and the picked thing in 2D
NONE = np.array([1.0, 0.0, 0.0, 0.0])  # a quaternion (w, x, y, z) that does not turn


def light(scene: viser.SceneApi, flat: bool) -> None:
    """Set the lights of all clients: even in 2D, from above the eye in 3D."""
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)
    scene.world_axes.visible = False
    full = BRIGHT * np.pi
    scene.add_light_ambient("/ambient", intensity=full if flat else 0.4 * full)
    if not flat:
        scene.add_light_directional("/sun", intensity=0.6 * full, position=(-1.0, -2.0, 2.0))
        scene.add_light_directional("/moon", intensity=0.2 * full, position=(2.0, 1.0, 1.0))


class Canvas:
    """The scene of one client."""

    def __init__(self, client: viser.ClientHandle, run: LiveRun) -> None:
        self.client, self.scene, self.run = client, client.scene, run
        self.flat = run.dim == 2
        low, high = (np.pad(x, (0, 3 - run.dim)) for x in (run.low, run.high))
        self.middle = 0.5 * (low + high)
        self.unit = SIDE / float((high - low).max())
        self.half = 0.5 * self.unit * (high - low) + self.unit * run.diameter
        self.opacity = 1.0
        # position of the camera when it was last set, and its aspect ratio
        self._seat = np.zeros(3), 0.0
        self._held = np.zeros(2), np.zeros(3)  # pointer and camera when a drag began
        self._nodes: dict[str, Any] = {}
        many = run.n > SMOOTH
        self._classes = size_classes(run.radius) if many else []
        if self.flat:
            self._hold_flat()

    @property
    def cloudy(self) -> bool:
        """Whether there are so many grains that most are drawn as points."""
        return self.run.n > POINTS

    def place(self, x: Floats, layer: int = 0) -> Floats:
        """Positions (…, 3) [length] in the scene as drawn."""
        placed: Floats = (x - self.middle) * self.unit
        if self.flat:
            placed = placed + np.array([0.0, 0.0, layer * LAYER])
        return placed

    def ray(self, origin: Any, direction: Any) -> tuple[Floats, Floats]:
        """A ray of the scene as drawn, in the lengths of the run."""
        return np.asarray(origin) / self.unit + self.middle, np.asarray(direction, float)

    def fit(self) -> None:
        """Show the whole scene: along −z in 2D, along y and a little from above in 3D."""
        camera, view = self.client.camera, FLAT if self.flat else DEEP
        back = np.array([0.0, 0.0, 1.0]) if self.flat else np.array([0.35, -1.0, 0.3])
        aspect = camera.aspect or 1.0
        wide, tall = self.half[:2]
        reach = max(tall, wide / aspect) if self.flat else float(np.linalg.norm(self.half))
        seat = 1.04 * reach / np.tan(0.5 * view) * back / np.linalg.norm(back)
        with self.client.atomic():
            camera.fov = view
            camera.up_direction = (0.0, 1.0, 0.0) if self.flat else (0.0, 0.0, 1.0)
            camera.position = tuple(seat)
            camera.look_at = (0.0, 0.0, 0.0)
        self._seat = seat, aspect

    def refit(self) -> None:
        """Fit again if the window has changed and the user has not moved the camera."""
        seat, aspect = self._seat
        camera = self.client.camera
        still = np.allclose(camera.position, seat, atol=1e-3 * np.linalg.norm(seat))
        if still and abs(camera.aspect - aspect) > 1e-3 * aspect:
            self.fit()

    def _hold_flat(self) -> None:
        """Let the left button move a scene in 2D, which must not rotate.

        Drags go to an invisible sheet behind the scene.
        """
        corners = FAR * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        sheet = self.scene.add_mesh_simple(
            "/sheet",
            np.pad(corners, ((0, 0), (0, 1)), constant_values=-LAYER),
            np.array([[0, 1, 2], [0, 2, 3]], np.uint32),
            opacity=0.0,
            cast_shadow=False,
            receive_shadow=False,
        )
        sheet.on_drag(self._drag)

    async def _drag(self, event: viser.SceneNodeDragEvent[Any]) -> None:
        """Keep under the pointer what was there when the drag began."""
        camera, at = self.client.camera, np.array(event.end_screen_pos)
        if event.phase == "start":
            self._held = at, np.array(camera.position)
        start, seat = self._held
        tall = 2.0 * seat[2] * np.tan(0.5 * FLAT)
        x, y = (at - start) * tall * np.array([camera.aspect, -1.0])
        # the point that it looks at moves along
        camera.position = (seat[0] - x, seat[1] - y, seat[2])

    # ------------------------------------------------------------------ what is drawn
    def grains(self, snap: Snapshot, colours: Colours, marks: bool, moving: bool) -> None:
        """Draw all grains where they are now."""
        x = self.place(centres(snap)).astype(np.float32)
        points = bool(self._classes) and (moving or self.cloudy)
        if points:
            self._cloud(x, colours, snap)
        for k in range(len(self._classes)):
            self._show(f"/cloud{k}", points and self.opacity > 0.5)
        self._show_grains(self.opacity > 0.0 and not (points and moving))
        if points and moving:
            return
        rgb, radius = sent(colours.table)[colours.level], self.unit * snap.radius
        near = self._near(x) if self.cloudy else np.arange(snap.n)
        if snap.mesh is not None or len(snap.model.solids.volume) > solids.MANY:
            self._pieces(snap, x, colours, near)
            return
        if not snap.model.round:
            self._solids(snap, x, rgb, near)
            return
        if self.cloudy:
            x, rgb, radius = x[near], rgb[near], radius[near]
        self._batch("/grains", self._grain, x, rgb, radius)
        marks = marks and snap.n <= MARKED
        self._show("/marks", marks and self.opacity > 0.0)
        if marks:
            x = x + np.array([0.0, 0.0, LAYER if self.flat else 0.0], np.float32)
            ink = sent(_ink(colours.table))[colours.level]
            shape = shapes.mark if self.flat else shapes.spots
            self._batch("/marks", shape, x, ink, radius, orientations(snap))

    def _solids(self, snap: Snapshot, x: Singles, rgb: Bytes, near: Any) -> None:
        """Draw some grains that are not round."""
        own, turned = snap.model.solids, orientations(snap)
        for shape in range(len(own.volume)):
            which = near[own.shape[near] == shape]
            size, name = self.unit * own.size[which], f"/grains/{shape}"
            mesh = partial(solids.grain_mesh, own, snap.dim, shape, snap.n)
            self._copies(name, mesh, x[which], rgb[which], size, turned[which])
            if self.flat:
                above = x[which] + np.array([0.0, 0.0, 0.5 * LAYER], np.float32)
                ink = (0.55 * rgb[which]).astype(np.uint8)
                rim = partial(solids.rim_mesh, own, shape)
                self._copies(f"/rims/{shape}", rim, above, ink, size, turned[which])

    def _pieces(self, snap: Snapshot, x: Singles, colours: Colours, near: Any) -> None:
        """Draw some grains triangle by triangle, in the colours of elements where these differ."""
        some, inside = snap, colours.inside
        if len(near) < snap.n:
            some = snap.of(snap.id[near])
            if inside is not None and snap.mesh is not None:
                inside = inside[np.isin(snap.mesh.grain, near)]
        copies = solids.in_pieces(some, x[near].astype(float) / self.unit)
        level = colours.level[near][copies.grain]
        if inside is not None:
            level = np.where(copies.element >= 0, inside[copies.element], level)
        place, size = self.unit * copies.centre, self.unit * copies.size
        shown = sent(colours.table)[level]
        self._batch("/grains", solids.corner_mesh, place, shown, size, copies.orientation)

    def _copies(
        self, name: str, mesh: Any, x: Singles, rgb: Bytes, size: Singles, turned: Floats
    ) -> None:
        """Draw copies of a shape, or hide it where no grain has it now."""
        if len(x):
            self._batch(name, mesh, x, rgb, size, turned)
        elif name in self._nodes:
            self._nodes[name].visible = False

    def _show_grains(self, shown: bool) -> None:
        for name in self._grain_nodes():
            self._show(name, shown)

    def _grain_nodes(self) -> list[str]:
        """Nodes that hold grains: one, or one for each shape."""
        return [name for name in self._nodes if name.startswith(("/grains", "/rims"))]

    def lines(self, net: ForceNetwork | None) -> None:
        """Draw the force network, or none."""
        self._show("/lines", bool(net))
        if not net:
            return
        x = self.place(net.begin, 2)
        size = self.unit * np.stack([net.length, net.width, net.width], axis=1)
        if self.flat:
            size[:, 2] = 1.0
        shape = shapes.bar if self.flat else shapes.rod
        rgb = sent(force_table())[net.level]
        self._batch("/lines", shape, x, rgb, size, from_x(net.along))

    def walls(self, snap: Snapshot) -> None:
        """Draw all walls where they are now."""
        mesh = shapes.walls(snap, self.run.low, self.run.high)
        vertices = self.place(mesh.vertices).astype(np.float32)
        node: Any = self._nodes.get("/walls")
        same = node is not None and np.array_equal(node.faces, mesh.faces)
        if not len(mesh.faces) or (same and np.array_equal(node.vertices, vertices)):
            return
        if same and node.vertices.shape == vertices.shape:
            node.vertices = vertices
            return
        self._nodes["/walls"] = self.scene.add_mesh_simple(
            "/walls",
            vertices,
            mesh.faces,
            color=WALL,
            side="double",
            opacity=None if self.flat else 0.13,
            cast_shadow=False,
            receive_shadow=False,
        )

    def cell(self, snap: Snapshot) -> None:
        """Draw the outline of the periodic cell, if there is one."""
        repeats = snap.cell.repeats
        if not repeats.any():
            return
        low, high = self.run.low, self.run.high
        begin, h = np.zeros(3), np.zeros((3, 3))
        begin[: snap.dim] = np.where(repeats, snap.low, low)
        h[: snap.dim, : snap.dim] = snap.cell.matrix + np.diag(np.where(repeats, 0.0, high - low))
        share = np.array(np.meshgrid(*3 * [[0.0, 1.0]], indexing="ij")).reshape(3, -1).T
        pairs = [(i, i | b) for i in range(8) for b in (1, 2, 4) if not i & b]
        ends = self.place(begin + share @ h.T)[np.array(pairs)]
        self.scene.add_line_segments("/cell", ends, WALL, thickness=1.5, thickness_units="screen")

    def picked(self, where: Floats | None, radius: float) -> None:
        """Mark a place, (3,) [length]: a ring in 2D, a cage in 3D."""
        self._show("/picked", where is not None)
        if where is None:
            return
        node = self._nodes.get("/picked")
        if node is None:
            mesh = shapes.ring() if self.flat else shapes.sphere(4000)
            node = self._nodes["/picked"] = self.scene.add_mesh_simple(
                "/picked",
                mesh.vertices if self.flat else 1.08 * mesh.vertices,
                mesh.faces,
                color=PICKED,
                wireframe=not self.flat,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
        node.position = tuple(self.place(where, 3))
        node.scale = self.unit * radius

    def show_walls(self, shown: bool) -> None:
        self._show("/walls", shown)

    def see_through(self, opacity: float) -> None:
        """Set the opacity of the grains; 0 draws none."""
        self.opacity = opacity
        for name in self._grain_nodes():
            self._nodes[name].opacity = None if opacity >= 1.0 else opacity

    # ------------------------------------------------------------------ nodes
    def _grain(self) -> shapes.Mesh:
        count = NEAR if self.cloudy else self.run.n
        return (shapes.disc if self.flat else shapes.sphere)(count)

    def _show(self, name: str, shown: bool) -> None:
        node = self._nodes.get(name)
        if node is not None and node.visible != shown:
            node.visible = shown

    def _batch(
        self,
        name: str,
        shape: Any,
        x: Singles,
        rgb: Bytes,
        size: Singles,
        orientation: Floats | None = None,
    ) -> None:
        """Draw many copies of a shape; what has not changed is not sent again."""
        node = self._nodes.get(name)
        if node is None:
            mesh: shapes.Mesh = shape()
            self._nodes[name] = self.scene.add_batched_meshes_simple(
                name,
                mesh.vertices,
                mesh.faces,
                np.tile(NONE, (len(x), 1)) if orientation is None else orientation,
                x,
                batched_scales=size.astype(np.float32),
                batched_colors=rgb,
                lod="off",
                flat_shading=mesh.faceted,
                side="double" if self.flat or len(mesh.faces) == 1 else "front",
                opacity=None if self.opacity >= 1.0 or name == "/lines" else self.opacity,
                cast_shadow=False,
                receive_shadow=False,
            )
            return
        if orientation is None and len(node.batched_wxyzs) != len(x):
            orientation = np.tile(NONE, (len(x), 1))
        node.batched_positions = x
        node.batched_colors = rgb
        node.batched_scales = size.astype(np.float32)
        if orientation is not None:
            node.batched_wxyzs = orientation.astype(np.float32)

    def _cloud(self, x: Singles, colours: Colours, snap: Snapshot) -> None:
        """Draw grains as points, with a node for each class of sizes."""
        rgb = seen(colours.table)[colours.level]
        row = np.full(self.run.n, -1)
        row[snap.id] = np.arange(snap.n)
        for k, (radius, grains) in enumerate(self._classes):
            which = row[grains][row[grains] >= 0]
            name = f"/cloud{k}"
            node = self._nodes.get(name)
            if node is None:
                self._nodes[name] = self.scene.add_point_cloud(
                    name,
                    x[which],
                    rgb[which],
                    point_size=self.unit * radius,  # viser takes half of it
                    point_shape="circle",
                    point_shading="flat" if self.flat else "gradient",
                    precision="float32",
                )
            else:
                node.points, node.colors = x[which], rgb[which]

    def _near(self, x: Singles) -> Any:
        """The grains next to the camera."""
        off = x - np.asarray(self.client.camera.position, np.float32)
        distance = np.einsum("ia,ia->i", off, off)
        if len(x) <= NEAR:
            return np.arange(len(x))
        return np.sort(np.argpartition(distance, NEAR)[:NEAR])


def _ink(rgb: Bytes) -> Bytes:
    """Colours of marks, dark on bright grains and bright on dark ones, shape (k, 3)."""
    light = rgb @ np.array([0.21, 0.72, 0.07])
    return np.where(light[:, None] < 110.0, 215, 60).repeat(3, axis=1).astype(np.uint8)
