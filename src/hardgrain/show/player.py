"""The small film in a report: what its script (templates/player.js) draws, as bytes in the page.

Each frame holds, one array after the other:

    grains: places (2 × u16), numbers (u16)
    lines:  ends (4 × u16)
    grains: angles in 2D or depths in 3D, speeds, pressures (u8 each)
    lines:  normal forces (u8)
    grains: where they are not round, angles in 2D (u16) or quaternions x, y, z, w in 3D (4 × i8)
    grains: where some deform, numbers of points in their outlines, 0 of rigid ones (u16);
            then all these points (2 × u16)

and its walls as JSON. Frames are chosen evenly, as many as there is room for.
Shapes stand in the page once, as corners and radius of each part; the script turns and projects
them for each frame, so that a grain of any shape takes two to four bytes more than a round one.
Grains that deform have their outline in each frame instead; rigid ones beside them are round.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Model
from hardgrain.io.runfile import RunFile
from hardgrain.measure.snapshot import Snapshot, model_of, snapshots
from hardgrain.scene.grain_shape import grain_shapes
from hardgrain.show import plane
from hardgrain.show.colour import SEEN, grain_field
from hardgrain.show.network import FORCE_MAP, GRAIN, RIM
from hardgrain.show.network_look import Look, Scale, scale
from hardgrain.show.style import colour_map

__all__ = ["film_data"]

ROOM = 2_300_000  # [bytes] room for all frames, so that a page can be mailed
MOST = 200  # [frames] most that a page holds; more would make it too large to mail
LEAST = 8  # [frames] fewer do not make a film, and a picture is shown
GRAIN_BYTES, LINE_BYTES = 9, 9  # [bytes] of a grain and of a line in a frame of the page
# [bytes] of the orientation of a grain that is not round, by dimension
TURN_BYTES = {2: 2, 3: 4}
POINT_BYTES = 4  # [bytes] of a point of an outline
WEAK = 0.02  # [strongest force] lines of weaker forces could not be seen and are left out


def film_data(run: RunFile) -> str | None:
    """Data of the film as JSON, or None if the run is too large or has no frame to choose."""
    known = set(range(len(run)))
    everyone = model_of(run)
    size = GRAIN_BYTES * everyone.n
    if everyone.elastic is not None:
        nodes = np.array([*(form.surface for form in everyone.elastic.forms), 0])
        size += 2 * everyone.n + POINT_BYTES * int(nodes[everyone.elastic.form].sum())
    elif not everyone.round:
        size += TURN_BYTES[everyone.dim] * everyone.n
    last = next(snapshots(run, [len(run) - 1]))
    if last.stored:
        size += LINE_BYTES * int(last.loaded.sum())
    count = min(MOST, len(known), ROOM // max(size, 1))
    if count < min(LEAST, len(known)) or run.model["radius"].size > 1 << 16:
        return None
    chosen = np.unique(np.linspace(0, len(known) - 1, count).round().astype(int)).tolist()
    look = Look()
    few = chosen[:: max(1, len(chosen) // 16)]
    fixed = scale(snapshots(run, few), look)
    tops = _tops(run, few)
    frames, parts = [], []
    diameter = 2.0 * float(run.model["radius"].mean())
    for snap in snapshots(run, chosen):
        head, data = _frame(snap, look, fixed, tops)
        frames.append(head)
        parts.append(data)
    low, high = fixed.box
    maps = {"grains": ("viridis", SEEN), "lines": ("inferno_r", FORCE_MAP)}
    return json.dumps(
        {
            "low": low.tolist(),
            "high": high.tolist(),
            "flat": last.dim == 2,
            "radius": np.round(run.model["radius"], 6).tolist(),
            "band": plane.BAND * diameter,
            "width": 0.45 * diameter,
            "grain": GRAIN,
            "rim": RIM,
            "top": {"speed": tops[0], "pressure": tops[1], "force": fixed.force},
            "maps": {name: _hex(*which) for name, which in maps.items()},
            "frames": frames,
            **_shapes(everyone),
            "data": b64encode(b"".join(parts)).decode(),
        },
        separators=(",", ":"),
    )


def _shapes(everyone: Model) -> dict[str, Any]:
    """Shape and size of each grain by its number, and the parts of all shapes; none of disks.

    Where grains deform, there are outlines instead.
    """
    if everyone.elastic is not None:
        return {"outlines": True}
    if everyone.round:
        return {}
    own, dim = everyone.solids, everyone.dim
    return {
        "turning": TURN_BYTES[dim],
        "shape": own.shape.tolist(),
        "size": [float(f"{size:.6g}") for size in own.size],
        "shapes": [
            [[float(f"{x:.5g}") for x in (part.radius, *part.corner[:, :dim].ravel())]
             for part in shape.parts]
            for shape in grain_shapes(own, dim)
        ],
    }  # fmt: skip


def _hex(name: str, part: tuple[float, float]) -> list[str]:
    """A map as 64 colours in hexadecimal."""
    from matplotlib.colors import to_hex

    colours = colour_map(name, part)
    return [to_hex(colours(t)) for t in np.linspace(0.0, 1.0, 64)]


def _tops(run: RunFile, frames: list[int]) -> tuple[float, float]:
    """Speed and pressure at the upper ends of their colour scales."""
    speed, pressure = [], []
    for snap in snapshots(run, frames):
        if not snap.n:
            continue
        speed.append(float(np.quantile(grain_field(snap, "speed").value, 0.99)))
        if snap.stored:
            pressure.append(float(np.quantile(grain_field(snap, "pressure").value, 0.99)))
    return max(speed, default=0.0), float(np.median(pressure)) if pressure else 0.0


def _frame(
    snap: Snapshot, look: Look, fixed: Scale, tops: tuple[float, float]
) -> tuple[dict[str, Any], bytes]:
    lines = look.seen(snap) if snap.stored else None
    seen = plane.see(snap, lines, fixed.box)
    if seen.outlines is not None and snap.dim == 3:
        seen = _one_a_grain(seen)
    low, high = fixed.box
    place = _share16((seen.center - low) / (high - low))
    number = snap.id[seen.grain].astype("<u2")
    angle = snap.state.orientation[: snap.n, 0] / (2.0 * math.pi) % 1.0 if snap.dim == 2 else None
    third = _share8(seen.depth) if angle is None else _share8(angle[seen.grain])
    speed = _share8(grain_field(snap, "speed").value / (tops[0] or 1.0))[seen.grain]
    pressure = np.zeros_like(speed)
    if snap.stored:
        pressure = _share8(grain_field(snap, "pressure").value / (tops[1] or 1.0))[seen.grain]
    force = np.abs(seen.force) / (fixed.force or 1.0)
    strong = force > WEAK
    ends = _share16((seen.lines[strong].reshape(-1, 2) - low) / (high - low))
    data = b"".join(
        a.tobytes() for a in (place, number, ends, third, speed, pressure, _share8(force[strong]))
    )
    points = np.zeros((0, 2))
    if snap.model.elastic is not None:
        count, points = _rims(seen, snap.model.elastic.form >= 0)
        data += count.tobytes() + _share16((points - low) / (high - low)).tobytes()
    elif not snap.model.round:
        data += _turns(snap)[seen.grain].tobytes()
    head = {
        "t": float(f"{snap.time:.6g}"),
        "n": len(number),
        "k": len(points),
        "m": int(strong.sum()),
        "walls": [_wall(shape) for shape in plane.walls(snap, low, high)],
    }
    return head, data


def _one_a_grain(seen: plane.PlaneView) -> plane.PlaneView:
    """Grains once each, and once for each image, in place of the parts of clumps."""
    rows = np.column_stack([seen.grain, np.round(seen.center, 9)])
    _, first = np.unique(rows, axis=0, return_index=True)
    keep = np.sort(first)
    return replace(seen, **{name: getattr(seen, name)[keep] for name in plane.GRAINS})


def _rims(seen: plane.PlaneView, soft: NDArray[np.bool_]) -> tuple[NDArray[np.uint16], Floats]:
    """Points of the longest loop of each outline, one grain after the other, (k, 2); none of rigid
    grains. And their numbers, one for each row of the view."""
    assert seen.outlines is not None
    loops = [
        max(seen.outlines.loops(int(k)), key=len) + centre if soft[grain] else np.zeros((0, 2))
        for k, centre, grain in zip(seen.outline, seen.center, seen.grain)
    ]
    count = np.array([len(loop) for loop in loops], "<u2")
    return count, np.concatenate([np.zeros((0, 2)), *loops])


def _turns(snap: Snapshot) -> NDArray[Any]:
    """Orientations (n, …) as few bytes, see above."""
    turned = snap.state.orientation[: snap.n]
    if snap.dim == 2:
        angle: Floats = np.round(turned[:, 0] / (2.0 * math.pi) * 65536.0)
        return np.mod(angle, 65536.0).astype("<u2")
    unit = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return np.asarray(np.round(127.0 * unit), np.int8)


def _share16(share: Floats) -> NDArray[np.uint16]:
    """Coordinates as 16 bits, from −1, a view to the left or below, to 2, one to the right."""
    return np.clip((share + 1.0) / 3.0 * 65535.0, 0.0, 65535.0).round().astype("<u2")


def _share8(share: Floats) -> NDArray[np.uint8]:
    return np.clip(share * 255.0, 0.0, 255.0).round().astype(np.uint8)


def _wall(shape: plane.Shape) -> list[float]:
    """A wall as numbers: x, y, … of a polygon; x, y, radius of a circle, negative if hollow."""
    if isinstance(shape, plane.Circle):
        numbers = [*shape.center, -shape.radius if shape.around else shape.radius]
    else:
        numbers = shape.ravel().tolist()
    return [float(f"{x:.5g}") for x in numbers]
