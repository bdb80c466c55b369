"""Surfaces from files (STL, OBJ, PLY), read by trimesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.scene.polytope import hull

__all__ = ["convex_corners", "read_surface"]

_KINDS = (".stl", ".obj", ".ply")

# [size] Depth to which a surface that is meant as convex may be dented: STL files hold seven
# digits. If it is larger, true dents are filled unseen.
_DENT = 1e-5


def read_surface(file: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Corners (k, 3) and triangles (t, 3) of a surface; corners at the same place are one."""
    path = Path(file)
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"file is {file!r}; a mesh is read from {', '.join(_KINDS)} files")
    if not path.is_file():
        raise InputError(f"file is {file!r}, which does not exist")
    trimesh = needed("trimesh")
    try:
        mesh = trimesh.load(path, force="mesh")
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        x, faces = np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)
    except Exception as error:
        raise InputError(f"file is {file!r}, which cannot be read as a mesh ({error})") from None
    if len(faces) == 0 or not np.isfinite(x).all():
        raise InputError(f"file is {file!r}, which holds no surface of finite size")
    return x, faces


def convex_corners(file: str) -> NDArray[np.float64]:
    """Corners (k, 3) of a closed convex surface."""
    x, faces = read_surface(file)
    edge = np.sort(np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges, many = np.unique(edge, axis=0, return_counts=True)
    if (many != 2).any():
        bad = edges[np.flatnonzero(many != 2)[0]]
        raise InputError(
            f"file is {file!r}, whose surface is not closed: {np.count_nonzero(many != 2)} edge(s)"
            f" do not belong to two triangles, such as that from {_text(x[bad[0]])} to"
            f" {_text(x[bad[1]])}"
        )
    size = float(np.ptp(x, axis=0).max())
    if np.linalg.svd((x - x.mean(axis=0)) / size, compute_uv=False)[-1] < _DENT:
        raise InputError(f"file is {file!r}, whose surface is flat; it encloses no volume")
    part = hull(x)
    away = np.array([n @ part.corner[rim[0]] for n, rim in zip(part.normal, part.face)])
    middle = x[faces].mean(axis=1)
    depth = (away[None] - middle @ part.normal.T).min(axis=1)
    deepest = int(depth.argmax())
    if depth[deepest] > _DENT * size:
        raise InputError(
            f"file is {file!r}, whose surface is not convex: near {_text(middle[deepest])} it lies"
            f" {depth[deepest]:g} below its hull; a grain must be convex, or a clump of such"
        )
    return part.corner


def _text(x: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{c:g}" for c in x) + ")"
