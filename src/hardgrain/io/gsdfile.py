"""GSD files, for OVITO, freud and HOOMD-blue: written, and read as packings.

Files follow the schema ``hoomd``. The box is centred at zero, as it must be there; what is
subtracted from all positions, the centre of the first frame, stands in ``log/configuration/origin``
and is added again on reading. Along axes that are not periodic the box holds all grains of the
frame and some room. Contacts of grains are bonds. GSD has no walls, so the force of all walls on a
grain is one of its numbers:

    log/particles/stress        (n, 9) of each grain, xx xy xz yx …, compression positive
    log/particles/spin          (n, 3)
    log/particles/wall_force    (n, 3) of all walls on each grain
    log/bonds/force             (m, 3) on the second grain
    log/bonds/normal_force, log/bonds/tangential_force, log/bonds/gap      (m,)
    log/configuration/origin, log/configuration/periodic                   (3,)
    log/configuration/time                                                 (1,)
    log/configuration/cell      (3,) or (6,) periods and tilts where the cell deforms (`core.cell`)

Numbers have single precision; time, origin and cell have double. Where the cell deforms, velocities
are those relative to its affine motion.

Grains that are not round have a type for each set, shape and size, with the shape in GSD's own
words (`io.gsd_shapes`), which OVITO draws and HOOMD takes. Their diameter is left at its default,
as HOOMD leaves it; what is lost of sizes, and of sets, stands in

    log/particles/radius, log/particles/size    (n,) of the smallest ball around it, of its shape
    log/particles/shape, log/particles/set      (n,) row of the table of shapes, set of grains
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import rotate
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.io.foreign import Foreign, pick_frame
from hardgrain.io.gsd_shapes import types_of
from hardgrain.io.solid import Box, box_of, cell_numbers, kinds, quaternion, spins, stress, xyz
from hardgrain.measure.energy import own_momentum
from hardgrain.measure.snapshot import Run, Snapshot, model_of

__all__ = ["GsdFile", "read_gsd"]

_SHAPED = ("radius", "size", "shape", "set")  # columns of grains that are not round


class GsdFile:
    """Writes snapshots as the frames of a GSD file."""

    def __init__(self, path: Path, run: Run) -> None:
        hoomd = needed("gsd.hoomd")

        self._kinds, everyone = kinds(run), model_of(run)
        self._types = None if everyone.round else types_of(everyone, self._kinds)
        self._file = hoomd.open(path, "w")
        self._origin: Floats | None = None

    @staticmethod
    def files(path: Path, run: Run) -> list[Path]:
        """The files that are written for a path."""
        return [path]

    def append(self, snap: Snapshot) -> None:
        """Add one frame to the file."""
        hoomd = needed("gsd.hoomd")

        n, box = snap.n, box_of(snap)
        if self._origin is None:
            self._origin = box.low + 0.5 * box.edges.sum(axis=1)
        origin = self._origin
        box = _about(origin, box)
        frame, image = hoomd.Frame(), box.images(snap)
        spin, turned = spins(snap.spin), quaternion(snap.state.orientation[:n])
        c = frame.configuration
        c.step, c.dimensions = snap.state.step, snap.dim
        c.box = [*box.length, *(box.tilts / box.length[[1, 2, 2]])]
        p = frame.particles
        p.N, p.types, p.typeid = n, self._kinds, snap.model.group
        p.position, p.image = box.inside(snap) - origin, image
        p.velocity, p.mass = xyz(snap.velocity), snap.mass
        own: dict[str, Floats] = {}
        if self._types is None:
            p.diameter = 2.0 * snap.radius
        else:
            p.types, p.type_shapes = self._types.names, self._types.shapes
            p.typeid, solids = self._types.of[snap.id], snap.model.solids
            columns: tuple[Any, ...] = snap.radius, solids.size, solids.shape, snap.model.group
            own = {f"particles/{name}": column for name, column in zip(_SHAPED, columns)}
        p.orientation, p.moment_inertia = turned, _inertia(snap)
        p.angmom = _angular_momentum(spins(own_momentum(snap)), turned)
        rows = {
            "particles/spin": spin,
            "particles/stress": stress(snap).reshape(n, 9),
            **self._contacts(snap, frame.bonds),
            **own,
        }
        frame.log = {
            "configuration/time": np.array([snap.time]),
            "configuration/origin": origin,
            "configuration/periodic": box.periodic.astype(np.uint8),
            **({"configuration/cell": snap.cell.numbers} if snap.state.cell.size else {}),
            **{name: array.astype(np.float32) for name, array in rows.items()},
        }
        self._file.append(frame)

    def close(self) -> None:
        """Complete the file and close it."""
        self._file.close()

    abandon = close

    def _contacts(self, snap: Snapshot, bonds: Any) -> dict[str, Floats]:
        """Enter contacts as bonds, and return the forces in them."""
        bonds.N, bonds.types = 0, ["contact"]
        wall_force = np.full((snap.n, snap.dim), np.nan)
        force, tangential = np.zeros((0, snap.dim)), np.zeros((0, snap.dim))
        normal, gap = np.zeros(0), np.zeros(0)
        if snap.stored:
            contact = snap.contacts
            wall_force[:] = 0.0
            grains = contact.second < snap.n
            np.subtract.at(wall_force, contact.first[~grains], snap.force[~grains])
            pairs = np.stack([contact.first, contact.second], axis=1)[grains]
            bonds.N, bonds.group, bonds.typeid = len(pairs), pairs, np.zeros(len(pairs))
            force, tangential = snap.force[grains], snap.tangential_force[grains]
            normal, gap = snap.normal_force[grains], contact.gap[grains]
        return {
            "particles/wall_force": xyz(wall_force),
            "bonds/force": xyz(force),
            "bonds/normal_force": normal,
            "bonds/tangential_force": np.linalg.norm(tangential, axis=1),
            "bonds/gap": gap,
        }


def _about(origin: Floats, box: Box) -> Box:
    """A box that is centred at the origin, as wide along open axes as it takes."""
    wide = 2.0 * np.maximum(box.high - origin, origin - box.low)
    edges = np.where(np.diag(~box.periodic), np.diag(wide), box.edges)
    moved = np.where(box.periodic, origin - 0.5 * edges.sum(axis=1), box.low)
    near = np.abs(moved - box.low) <= 1e-12 * box.length  # where it was, but for rounding
    return Box(np.where(near, box.low, moved), edges, box.periodic)


def read_gsd(path: Path, frame: int) -> Foreign:
    """Grains of a frame of a GSD file."""
    hoomd = needed("gsd.hoomd")

    _check_blocks(path)
    try:
        file = hoomd.open(path, "r")
    except OSError:
        raise
    except Exception:  # gsd raises several kinds of errors
        raise InputError(f"{path} is not a GSD file of the schema hoomd") from None
    with file:
        k = pick_frame(path, frame, len(file))
        try:
            _refuse_counts(file.file, k, path.stat().st_size)
            found = file[k]
        except Exception:
            raise InputError(f"{path} is damaged: its frame {k} cannot be read") from None
    p, c = found.particles, found.configuration
    _check_shapes(path, found)
    log = {name.removeprefix("configuration/"): value for name, value in found.log.items()}
    edges = np.diag(np.asarray(c.box[:3], float))
    edges[[0, 0, 1], [1, 2, 2]] = np.asarray(c.box[3:], float) * np.diag(edges)[[1, 2, 2]]
    position = np.asarray(p.position, float) + p.image @ edges.T + log.get("origin", np.zeros(3))
    spin = log.get("particles/spin")
    if spin is None:
        spin = _spin(np.asarray(p.moment_inertia, float), p.angmom, p.orientation)
    radius, kind = 0.5 * np.asarray(p.diameter, float), np.asarray(p.typeid, np.int32)
    if {"particles/radius", "particles/size", "particles/set"} <= set(log):
        radius = np.asarray(log["particles/radius"], float)
        kind = np.nan_to_num(log["particles/set"]).astype(np.int32)
    return Foreign(
        path, position, radius, np.asarray(p.velocity, float), np.asarray(spin, float), kind,
        2 if c.dimensions == 2 else 3, _cell(log, edges),
    )  # fmt: skip


def _cell(log: dict[str, Any], edges: Floats) -> Floats | None:
    """The periodic cell, in double precision where the file has it so."""
    numbers = cell_numbers(edges, log.get("periodic", np.ones(3)) > 0)
    exact = log.get("cell")
    if numbers is not None and exact is not None:
        numbers[[0, 1, 5] if exact.size == 3 else slice(None)] = exact
    return numbers


_HEADER = struct.Struct("<8xQQQQ")  # where the index and the names are, and how many of each fit
_ENTRY, _NAME = 32, 64  # [bytes]


def _check_blocks(path: Path) -> None:
    """Check that index and names lie within the file, since gsd would trust them and crash."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise InputError(f"{path} is not a GSD file of the schema hoomd")
    index, entries, names, room = _HEADER.unpack(head)
    if max(index + _ENTRY * entries, names + _NAME * room) > path.stat().st_size:
        raise InputError(f"{path} is damaged or cut short: its index lies beyond its end")


# Number of columns of each array of a frame that has a row for each grain.
_COLUMNS: dict[str, tuple[int, ...]] = {
    "position": (3,), "image": (3,), "velocity": (3,), "moment_inertia": (3,), "diameter": (),
    "typeid": (), "angmom": (4,), "orientation": (4,),
}  # fmt: skip


def _check_shapes(path: Path, found: Any) -> None:
    """Check that all arrays of a frame have a row for each grain."""
    p, n = found.particles, int(found.particles.N)
    shapes = {name: (np.shape(getattr(p, name)), (n, *row)) for name, row in _COLUMNS.items()}
    shapes["box"] = np.shape(found.configuration.box), (6,)
    shapes["dimensions"] = np.shape(found.configuration.dimensions), ()
    logged: dict[str, tuple[int, ...]] = {"particles/spin": (n, 3)}
    logged |= {f"configuration/{name}": (3,) for name in ("origin", "periodic")}
    logged["configuration/cell"] = (3,) if found.configuration.dimensions == 2 else (6,)
    logged |= {f"particles/{name}": (n,) for name in ("radius", "set")}
    for name, row in logged.items():
        if name in found.log:
            shapes[name] = (np.shape(found.log[name]), row)
    for name, (given, asked) in shapes.items():
        if given != asked:
            raise InputError(f"{path} is damaged: {name} is {given} in place of {asked}")


def _refuse_counts(file: Any, frame: int, size: int) -> None:
    """Refuse a file that claims more rows than it has bytes, for which gsd would reserve memory."""
    for what in ("particles", "bonds", "angles", "dihedrals", "impropers", "constraints", "pairs"):
        for k in {0, frame}:
            if file.chunk_exists(k, f"{what}/N") and file.read_chunk(k, f"{what}/N")[0] > size:
                raise ValueError(what)


# HOOMD's angular momentum is the quaternion 2 q (0, I ω') with ω' the spin in the body's own frame.
# It is 2 (0, L) q with the angular momentum L in space; L = I ω for a body whose moments are equal.
def _inertia(snap: Snapshot) -> Floats:
    if len(snap.model.moments):
        return snap.model.moments[: snap.n]
    moment = snap.model.inertia[: snap.n, None]
    return moment * (np.array([0.0, 0.0, 1.0]) if snap.dim == 2 else np.ones(3))


def _angular_momentum(own: Floats, turned: Floats) -> Floats:
    w, v = turned[:, :1], turned[:, 1:]
    dot = np.einsum("ia,ia->i", own, v)[:, None]
    momentum: Floats = 2.0 * np.hstack([-dot, w * own + np.cross(own, v)])
    return momentum


def _spin(moment: Floats, momentum: NDArray[Any], turned: NDArray[Any]) -> Floats:
    """The spin from the angular momentum L = Im(p q*) / 2, zero about axes without inertia."""
    w, v = turned[:, :1], turned[:, 1:]
    a, b = momentum[:, :1], momentum[:, 1:]
    twice = w * b - a * v - np.cross(b, v)
    turn = np.ascontiguousarray(np.roll(turned, -1, axis=1), float)  # as this package has them
    own = rotate(turn * [-1.0, -1.0, -1.0, 1.0], np.ascontiguousarray(0.5 * twice, float))
    np.divide(own, moment, out=own, where=moment > 0.0)
    own[moment <= 0.0] = 0.0
    spin: Floats = rotate(turn, own)
    return spin
