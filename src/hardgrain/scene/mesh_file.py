"""Meshes of triangles or tetrahedra from files: gmsh's text format, 2.2 and 4.1, is read here.

All other kinds (.vtk, .vtu, .inp, …) are left to the package meshio, where it is installed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.scene.elastic_mesh import Floats, Ints, Mesh

__all__ = ["read_mesh"]

TRIANGLE, TETRAHEDRON = 2, 4  # numbers of elements in gmsh


def read_mesh(file: str) -> Mesh:
    """Tetrahedra if the file has any, otherwise triangles, which must lie in the plane z = 0."""
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"file is {file!r}, which cannot be read: {error.strerror}") from None
    if Path(file).suffix.lower() != ".msh":
        return _mesh(file, *_by_meshio(file))
    try:
        number, place, kinds = _gmsh(text.decode())
    except (UnicodeDecodeError, ValueError, IndexError, StopIteration, RuntimeError):
        raise InputError(
            f"file is {file!r}, which is no mesh that can be read; save it as text in gmsh's format"
            " 2.2 or 4.1"
        ) from None
    return _mesh(file, number, place, kinds)


def _mesh(file: str, number: Ints, place: Floats, kinds: dict[int, list[list[int]]]) -> Mesh:
    solid = TETRAHEDRON in kinds
    element = np.array(kinds.get(TETRAHEDRON) or kinds.get(TRIANGLE) or [], np.int64)
    if not element.size:
        raise InputError(f"file is {file!r}, which has no triangles or tetrahedra; mesh it first")
    used, row = np.unique(element, return_inverse=True)
    known = {n: k for k, n in enumerate(number.tolist())}
    if not set(used.tolist()) <= set(known):
        raise InputError(f"file is {file!r}, which has elements with nodes that are not there")
    node = place[[known[n] for n in used.tolist()]]
    if not solid:
        if np.ptp(node[:, 2]) > 1e-9 * np.ptp(node):
            raise InputError(f"file is {file!r}, which has a surface in space; give tetrahedra")
        node = node[:, :2]
    return Mesh(np.ascontiguousarray(node), row.reshape(element.shape).astype(np.int32))


def _by_meshio(file: str) -> tuple[Ints, Floats, dict[int, list[list[int]]]]:
    """The same as `_gmsh` of a file that meshio knows."""
    meshio = needed("meshio")
    try:
        # it prints what it cannot read, and then ends the program
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            mesh = meshio.read(file)
            points = np.asarray(mesh.points, float)
            place = np.zeros((len(points), 3))
            place[:, : points.shape[1]] = points  # of text that says nothing it makes no points
    except (Exception, SystemExit):
        raise InputError(f"file is {file!r}, which meshio cannot read as a mesh") from None
    names = {TRIANGLE: "triangle", TETRAHEDRON: "tetra"}
    cells = mesh.cells_dict
    kinds = {kind: cells[name].tolist() for kind, name in names.items() if name in cells}
    return np.arange(len(place), dtype=np.int32), place, kinds


def _gmsh(text: str) -> tuple[Ints, Floats, dict[int, list[list[int]]]]:
    """Numbers and places of nodes, and elements by their kind."""
    lines = iter(text.splitlines())
    version, number, place = "", [], []
    kinds: dict[int, list[list[int]]] = {}
    for line in lines:
        if line == "$MeshFormat":
            version = next(lines).split()[0]
            if version not in ("2", "2.2", "4.1"):
                raise ValueError(version)
        elif line == "$Nodes":
            for n, x in _nodes(lines, version):
                number.append(n)
                place.append(x)
        elif line == "$Elements":
            for kind, nodes in _elements(lines, version):
                kinds.setdefault(kind, []).append(nodes)
    return np.array(number, np.int32), np.array(place, float).reshape(-1, 3), kinds


def _nodes(lines: Iterator[str], version: str) -> Iterator[tuple[int, list[float]]]:
    if version != "4.1":
        for _ in range(int(next(lines))):
            row = next(lines).split()
            yield int(row[0]), [float(a) for a in row[1:4]]
        return
    for _ in range(int(next(lines).split()[0])):
        many = int(next(lines).split()[3])
        numbers = [int(next(lines)) for _ in range(many)]
        for n in numbers:
            yield n, [float(a) for a in next(lines).split()[:3]]


def _elements(lines: Iterator[str], version: str) -> Iterator[tuple[int, list[int]]]:
    if version != "4.1":
        for _ in range(int(next(lines))):
            _, kind, tags, *rest = map(int, next(lines).split())
            yield kind, rest[tags:]
        return
    for _ in range(int(next(lines).split()[0])):
        kind, many = map(int, next(lines).split()[2:])
        for _ in range(many):
            yield kind, [int(n) for n in next(lines).split()[1:]]
