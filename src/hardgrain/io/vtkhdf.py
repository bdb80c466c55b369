"""VTKHDF time series, for ParaView and VTK: a file each of grains, contacts, walls, shapes, meshes.

    NAME-grains.vtkhdf    points (Vertices) with radius, velocity, stress, …        [PointData]
    NAME-contacts.vtkhdf  lines from centre to centre, or to the wall, with forces  [CellData]
    NAME-walls.vtkhdf     polygons in 3D, lines in 2D, with the force on the wall   [CellData]
    NAME-shapes.vtkhdf    surfaces of the grains, with their numbers and motion     [CellData]
    NAME-meshes.vtkhdf    elements of grains that deform, with their stress         [CellData]
                          and the displacement and velocity of nodes                [PointData]
    NAME-cell.vtkhdf      edges of the periodic cell, where it deforms
    NAME-membrane.vtkhdf  triangles of a membrane, in 2D lines

Shapes are written where grains are not round: their faces where they are sharp, triangles on what
is rounded, a polygon for each grain in 2D. Lines of contacts then have a kink at the contact.

Meshes are an UnstructuredGrid with ``Steps``, and all else is a PolyData. All in one, as a
collection, would be less to open; but of a collection with arrays VTK (9.7) gives its first step
for every time.

Every array grows by what a step adds; ``Steps`` says where each step begins. What is as it was in
the step before (radii, the list of vertices, walls that rest) is not written again. Numbers have
single precision, as VTK draws them; times have double.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hardgrain.io.solid import coordination, quaternion, spins, stress, xyz
from hardgrain.io.swmr import SLACK, reserve
from hardgrain.io.wall_surfaces import wall_surfaces
from hardgrain.measure.membrane import facets_of
from hardgrain.measure.snapshot import Run, Snapshot, model_of
from hardgrain.measure.visible import surfaces

__all__ = ["VtkHdf"]

Array = NDArray[Any]

CHUNK = 64 << 10  # [bytes] size of a chunk; smaller ones make files larger, larger ones waste room
FINENESS = 1  # of rounded parts: about a hundred triangles each; finer ones make large files
_TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")


class VtkHdf:
    """Writes snapshots as the steps of VTKHDF files."""

    def __init__(self, path: Path, run: Run) -> None:
        flat, files = run.model["inv_mass"].shape[1] == 2, self.files(path, run)
        kinds = {
            "grains": "Vertices", "contacts": "Lines", "walls": "Lines" if flat else "Polygons",
            "shapes": "Polygons", "meshes": "Elements", "cell": "Lines",
            "membrane": "Lines" if flat else "Polygons",
        }  # fmt: skip
        self._series = {
            name: _Series(file, kinds[name]) for name, file in zip(_contents(run), files)
        }

    @staticmethod
    def files(path: Path, run: Run) -> list[Path]:
        """The files that are written for a path; what a scene does not have has no file."""
        return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in _contents(run)]

    def append(self, snap: Snapshot) -> None:
        """Add the rows of one step."""
        self._grains(snap)
        self._contacts(snap)
        if "walls" in self._series:
            self._walls(snap)
        if "shapes" in self._series:
            self._shapes(snap)
        if "meshes" in self._series:
            self._meshes(snap)
        if "cell" in self._series:
            edges = snap.cell_edges
            ends = xyz(edges.reshape(-1, snap.dim))
            cells = np.arange(len(ends)), np.arange(0, len(ends) + 1, 2)
            self._series["cell"].append(snap.time, ends, *cells)
        if "membrane" in self._series:
            corners, facets = facets_of(snap)
            cells = facets.ravel(), np.arange(0, facets.size + 1, snap.dim)
            self._series["membrane"].append(snap.time, xyz(corners), *cells)

    def close(self) -> None:
        """Complete the files and close them."""
        for series in self._series.values():
            series.close()

    def abandon(self) -> None:
        """Close the files as they are."""
        for series in self._series.values():
            series.abandon()

    def _grains(self, snap: Snapshot) -> None:
        n, tensor = snap.n, stress(snap)
        data: dict[str, Array] = {
            "id": snap.id,
            "set": snap.model.group.astype(np.int32),
            "material": snap.model.material[:n].astype(np.int32),
            "radius": snap.radius,
            "mass": snap.mass,
            "velocity": xyz(snap.in_space(snap.wrapped)),
            "spin": spins(snap.spin),
            "orientation": quaternion(snap.state.orientation[:n]),
            "stress": tensor.reshape(n, 9),
            "pressure": np.trace(tensor, axis1=1, axis2=2) / snap.dim,
            "coordination": coordination(snap),
        }
        if snap.model.cell >= 0:
            data["relative_velocity"] = xyz(snap.velocity)
        if snap.dim == 2:
            data["angle"] = snap.state.orientation[:n, 0]
        if not snap.model.round:
            data["shape"], data["size"] = snap.model.solids.shape, snap.model.solids.size
        cells = np.arange(n), np.arange(n + 1)
        self._series["grains"].append(snap.time, xyz(snap.wrapped), *cells, point_data=data)

    def _contacts(self, snap: Snapshot) -> None:
        if not snap.stored:
            self._series["contacts"].skip(snap.time)
            return
        c, m = snap.contacts, len(snap.contacts)
        start = snap.wrapped[c.first]
        points = [start, start + snap.branch]
        if not snap.model.round:
            points.insert(1, start + c.arm_first)
        k = len(points)
        ends = np.stack([xyz(x) for x in points], axis=1).reshape(k * m, 3)
        data: dict[str, Array] = {
            "normal_force": snap.normal_force,
            "tangential_force": np.linalg.norm(snap.tangential_force, axis=1),
            "force": xyz(snap.force),
            "gap": c.gap,
            "first": snap.model.number[c.first],
            "second": snap.model.number[c.second],
        }
        cells = np.arange(k * m), np.arange(0, k * m + 1, k)
        self._series["contacts"].append(snap.time, ends, *cells, cell_data=data)

    def _shapes(self, snap: Snapshot) -> None:
        """Surfaces of the grains; stress and orientation are left to the points, for room."""
        s, _ = surfaces(snap, snap.wrapped, FINENESS)
        pressure = np.trace(stress(snap), axis1=1, axis2=2) / snap.dim
        data: dict[str, Array] = {
            "id": snap.id,
            "set": snap.model.group.astype(np.int32),
            "material": snap.model.material[: snap.n].astype(np.int32),
            "shape": snap.model.solids.shape,
            "radius": snap.radius,
            "mass": snap.mass,
            "velocity": xyz(snap.in_space(snap.wrapped)),
            "spin": spins(snap.spin),
            "pressure": pressure,
            "coordination": coordination(snap),
        }
        data = {name: rows[s.grain] for name, rows in data.items()}
        cells = s.connectivity, s.offsets
        self._series["shapes"].append(snap.time, s.points, *cells, cell_data=data)

    def _meshes(self, snap: Snapshot) -> None:
        """Elements of grains that deform, where they are."""
        mesh = snap.mesh
        assert mesh is not None  # they neither come nor go
        number = {
            "id": snap.id,
            "set": snap.model.group.astype(np.int32),
            "material": snap.model.material[: snap.n].astype(np.int32),
        }
        data: dict[str, Array] = {name: rows[mesh.grain] for name, rows in number.items()}
        data |= {
            "stress": mesh.stress.reshape(-1, 9),
            "von_mises": mesh.von_mises,
            "pressure": mesh.pressure,
            "energy_density": mesh.energy,
        }
        nodes = {"displacement": xyz(mesh.displacement), "velocity": xyz(mesh.velocity)}
        width = mesh.element.shape[1]
        cells = mesh.element.ravel(), width * np.arange(len(mesh.element) + 1)
        place = xyz(mesh.nodes_at(snap.wrapped))
        self._series["meshes"].append(snap.time, place, *cells, point_data=nodes, cell_data=data)

    def _walls(self, snap: Snapshot) -> None:
        s = wall_surfaces(snap)
        data: dict[str, Array] = {"wall": s.wall.astype(np.int32)}
        if snap.wall_force is not None:
            data["force"] = xyz(snap.wall_force)[s.wall]
        cells = s.connectivity, s.offsets
        self._series["walls"].append(snap.time, xyz(s.points), *cells, cell_data=data)


def _contents(run: Run) -> list[str]:
    """What is written of a run; what its scene does not have has no file."""
    model = model_of(run)
    walls = len(run.wall_names) > (model.cell >= 0)
    names = ["grains", "contacts"] + ["walls"] * walls + ["shapes"] * (not model.round)
    names += ["meshes"] * (model.elastic is not None) + ["cell"] * (model.cell >= 0)
    return names + ["membrane"] * (model.membrane is not None)


# numbers by which VTK knows triangles and tetrahedra, by how many nodes they have
_TYPES = {3: 5, 4: 10}


class _Series:
    """A PolyData that grows step by step, with cells of one kind; or a grid of "Elements".

    The cells of a step are a part. Steps with the same cells share one; their points and data begin
    elsewhere. Steps without cells share one that comes last: VTK's reader loses count of
    ``Offsets``, which have one more entry than there are cells, in a part after an empty one.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self._h5 = h5py.File(path, "w", libver=("earliest", "v108"))
        self._file = path.open("r+b", buffering=0)
        self._path = path
        self._root = self._h5.create_group("VTKHDF")
        self._root.attrs["Version"] = (2, 0)  # the first version with time series
        grid = kind == "Elements"  # whose cells are not in a group of their own
        self._root.attrs["Type"] = np.bytes_("UnstructuredGrid" if grid else "PolyData")
        self._kind = kind
        self._group = "" if grid else f"{kind}/"
        self._topologies: tuple[str, ...] = (kind,) if grid else _TOPOLOGIES
        self._arrays: dict[str, _Array] = {}
        self._parts: list[tuple[int, int, int]] = []  # points, cells, entries of connectivity
        self._cells: tuple[Array, Array] | None = None  # the cells of the last part
        self._at = (0, 0)  # where the cells of the last part and its connectivity begin
        # for each step its part (−1 if empty) and where its points, cells and connectivity begin
        self._steps: list[tuple[int, int, int, int]] = []
        self._data: dict[str, list[int]] = {}  # for each dataset, where its rows begin at each step
        self._times: list[float] = []

    def append(
        self,
        time: float,
        points: Array,
        connectivity: Array,
        offsets: Array,
        *,
        point_data: Mapping[str, Array] | None = None,
        cell_data: Mapping[str, Array] | None = None,
    ) -> None:
        """Add the rows of one step."""
        data = {f"PointData/{name}": rows for name, rows in (point_data or {}).items()}
        data |= {f"CellData/{name}": rows for name, rows in (cell_data or {}).items()}
        rows_of_step = (points, connectivity, offsets, *data.values())
        self._reserve(sum(rows.nbytes + CHUNK for rows in rows_of_step))
        for name, rows in data.items():
            begin = self._array(name, rows).append(rows)
            self._data.setdefault(name, [0] * len(self._steps)).append(begin)
        begin = self._array("Points", points).append(points)
        self._times.append(time)
        if len(offsets) == 1:
            self._steps.append((-1, 0, 0, 0))
            return
        cells = connectivity, offsets
        if self._cells is None or not all(map(np.array_equal, cells, self._cells)):
            if self._parts:
                self._at = self._at[0] + self._parts[-1][1], self._at[1] + self._parts[-1][2]
            self._parts.append((len(points), len(offsets) - 1, len(connectivity)))
            self._cells = cells
            for name, rows in zip(("Connectivity", "Offsets"), cells):
                self._array(f"{self._group}{name}", rows).add(rows)
            if self._kind == "Elements":
                types = np.array([_TYPES[n] for n in np.diff(offsets).tolist()], np.uint8)
                self._array("Types", types).add(types)
        self._steps.append((len(self._parts) - 1, begin, *self._at))

    def skip(self, time: float) -> None:
        """Add a step without any rows."""
        self._times.append(time)
        self._steps.append((-1, 0, 0, 0))
        for begin in self._data.values():
            begin.append(0)

    def close(self) -> None:
        """Write sizes of parts and the table of steps."""
        steps = np.array(self._steps, np.int64).reshape(-1, 4)
        empty = steps[:, 0] < 0
        if empty.any():
            _, cells, entries = np.sum([(0, 0, 0), *self._parts], axis=0)
            steps[empty] = len(self._parts), 0, cells, entries
            self._parts.append((0, 0, 0))
            none = np.zeros(1, np.int64)
            self._array(f"{self._group}Offsets", none).add(none)
        root, parts, count = self._root, np.array(self._parts, np.int64), len(steps)
        self._reserve(steps.nbytes * (len(self._data) + 4) + 5 * parts.nbytes)
        root["NumberOfPoints"] = parts[:, 0]
        for name in self._topologies:
            mine, group = name == self._kind, root.require_group(name) if self._group else root
            group["NumberOfCells"] = parts[:, 1] * mine
            group["NumberOfConnectivityIds"] = parts[:, 2] * mine
            if "Offsets" not in group:
                group["Offsets"] = np.zeros(len(parts), np.int64)
            if "Connectivity" not in group:
                group["Connectivity"] = np.zeros(0, np.int64)
        if "Points" not in root:
            root["Points"] = np.zeros((0, 3), np.float32)
        table = root.create_group("Steps")
        table.attrs["NSteps"] = count
        table["Values"] = np.array(self._times)
        table["NumberOfParts"] = np.ones(count, np.int64)
        table["PartOffsets"] = steps[:, 0]
        table["PointOffsets"] = steps[:, 1]
        for k, name in enumerate(("CellOffsets", "ConnectivityIdOffsets")):
            begin = np.zeros((count, len(self._topologies)), np.int64)
            begin[:, self._topologies.index(self._kind)] = steps[:, 2 + k]
            table[name] = begin
        for name in ("PointData", "CellData"):
            root.require_group(name)
            table.create_group(f"{name}Offsets")
        for name, rows in self._data.items():
            table[name.replace("/", "Offsets/")] = np.array(rows, np.int64)
        self._h5.flush()
        size = self._h5.id.get_filesize()
        self.abandon()
        os.truncate(self._path, size)  # give back the room that was reserved

    def abandon(self) -> None:
        """Close the file as it is."""
        self._h5.close()
        self._file.close()

    def _reserve(self, more: int) -> None:
        """Make room for more bytes, since HDF5 crashes where a write fails."""
        size = sum(array.size for array in self._arrays.values()) + more
        reserve(self._file, size + size // 16 + SLACK)

    def _array(self, name: str, like: Array) -> _Array:
        if name not in self._arrays:
            self._arrays[name] = _Array(self._root, name, like)
        return self._arrays[name]


class _Array:
    """A dataset that grows along its first axis."""

    def __init__(self, group: Any, name: str, like: Array) -> None:
        dtype = np.dtype(np.float32) if like.dtype.kind == "f" else like.dtype
        row = like.shape[1:]
        rows = max(CHUNK // (dtype.itemsize * int(np.prod(row))), 1)
        self._data = group.create_dataset(
            name, (0, *row), dtype, maxshape=(None, *row), chunks=(rows, *row)
        )
        self._last: Array | None = None
        self._begin = 0

    @property
    def size(self) -> int:
        """Room that the dataset takes [bytes]."""
        chunks = -(-self._data.shape[0] // self._data.chunks[0])
        return int(chunks) * CHUNK

    def append(self, rows: Array) -> int:
        """Add rows and return where they begin; rows equal to the last are not written again."""
        rows = rows.astype(self._data.dtype)
        if self._last is None or rows.tobytes() != self._last.tobytes():
            self._begin, self._last = self.add(rows), rows
        return self._begin

    def add(self, rows: Array) -> int:
        """Write these rows, and return where they begin."""
        begin = int(self._data.shape[0])
        self._data.resize(begin + len(rows), axis=0)
        self._data[begin:] = rows
        return begin
