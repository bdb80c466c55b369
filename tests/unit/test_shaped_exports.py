"""Grains of any shape in the files of other tools, read back with those tools."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hardgrain.io.gsd_shapes import MOST, types_of
from hardgrain.io.gsdfile import GsdFile, read_gsd
from hardgrain.io.lammps import LammpsDump, read_lammps
from hardgrain.io.vtkhdf import VtkHdf
from hardgrain.io.xyz import ExtendedXyz, read_xyz
from hardgrain.measure.snapshot import Snapshot
from hardgrain.scene.grain_shape import frames, grain_shapes

from ..shapes import model_of, pressed, regular, run_of, scattered, solids

DIMENSIONS = pytest.mark.parametrize("dim", [2, 3])
SINGLE = {"rtol": 2e-6, "atol": 2e-6}  # numbers in these files have single precision


def written(writer: Any, snaps: list[Snapshot], path: Path) -> list[Path]:
    with pytest.MonkeyPatch.context() as patch:
        run = run_of(snaps, patch)
        file = writer(path, run)
        for snap in snaps:
            file.append(snap)
        file.close()
        return [Path(target) for target in writer.files(path, run)]


def turned(dim: int) -> list[Snapshot]:
    """The same grains twice, turned otherwise."""
    one = scattered(dim)
    other = scattered(dim, seed=2).state.orientation
    return [one, replace(one, state=replace(one.state, step=1, time=0.5, orientation=other))]


def steps(path: Path) -> list[Any]:
    """All steps of a VTKHDF file, as VTK reads them."""
    from vtkmodules.vtkCommonDataModel import vtkPolyData
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    found = []
    for k in range(reader.GetNumberOfSteps()):
        reader.SetStep(k)
        reader.Update()
        held = reader.GetOutputDataObject(0)
        poly = vtkPolyData()
        poly.DeepCopy(held if held.IsA("vtkPolyData") else held.GetPartition(0))
        found.append(poly)
    return found


def array(data: Any, name: str) -> Any:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return vtk_to_numpy(data.GetArray(name))


def corners_of(poly: Any, grain: int) -> Any:
    """Corners of all cells of a grain, (k, 3)."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    points, used = vtk_to_numpy(poly.GetPoints().GetData()).astype(float), []
    for cell in np.flatnonzero(array(poly.GetCellData(), "id") == grain):
        ids = poly.GetCell(int(cell)).GetPointIds()
        used += [ids.GetId(k) for k in range(ids.GetNumberOfIds())]
    return points[np.unique(used)]


@DIMENSIONS
def test_vtk_shows_every_grain_where_it_is_turned_to(dim: int, tmp_path: Path) -> None:
    snaps = turned(dim)
    files = written(VtkHdf, snaps, tmp_path / "run.vtkhdf")
    assert [f.name for f in files] == [f"run-{n}.vtkhdf" for n in ("grains", "contacts", "shapes")]
    for snap, poly in zip(snaps, steps(files[-1]), strict=True):
        solid, turn = snap.model.solids, frames(snap.state.orientation)
        for g in range(snap.n):
            used = corners_of(poly, g)
            centre = np.pad(snap.position[g], (0, 3 - dim))
            own = (used - centre) @ turn[g] / solid.size[g]
            # every corner of a surface is a radius away from the core of a part
            off = np.full(len(own), np.inf)
            for part in grain_shapes(solid, dim)[solid.shape[g]].parts:
                off = np.minimum(off, np.abs(distance(own, part) - part.radius))
            # the outline of a clump of arcs is cut between their corners
            assert off.max() < (2e-3 if dim == 2 else 1e-5)
        velocity = array(poly.GetCellData(), "velocity")[:, :dim]
        numbers = array(poly.GetCellData(), "id")
        np.testing.assert_allclose(velocity, snap.velocity[numbers], **SINGLE)


def distance(points: Any, part: Any) -> Any:
    """Distance of points from the convex hull of a part's corners, from outside or on it."""
    corner = part.corner
    if len(corner) == 1:
        return np.linalg.norm(points - corner[0], axis=1)
    pairs = [(i, j) for i in range(len(corner)) for j in range(i)]
    best = np.full(len(points), np.inf)
    for i, j in pairs:
        along = corner[j] - corner[i]
        share = np.clip((points - corner[i]) @ along / (along @ along), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(points - corner[i] - share[:, None] * along, axis=1))
    if len(part.normal) > 2 or (len(part.normal) == 2 and len(corner) > 2):
        for normal, rim in zip(part.normal, part.rim):
            height = (points - corner[rim[0]]) @ normal
            if len(rim) > 2:
                beside = np.roll(corner[rim], -1, axis=0) - corner[rim]
                inward = np.cross(normal, beside)
                to = points[:, None] - corner[rim]
                over = (np.einsum("pka,ka->pk", to, inward) > -1e-6).all(axis=1)
                best = np.where(over & (height > -1e-6), np.minimum(best, np.abs(height)), best)
    return best


@DIMENSIONS
def test_lines_of_contacts_go_through_the_contact(dim: int, tmp_path: Path) -> None:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    snap = pressed(dim)
    _, contacts, _ = written(VtkHdf, [snap], tmp_path / "run.vtkhdf")
    (poly,) = steps(contacts)
    points = vtk_to_numpy(poly.GetPoints().GetData()).reshape(-1, 3, 3)
    arm = snap.contacts.arm_first
    np.testing.assert_allclose(points[:, 1, :dim], arm, atol=1e-6)
    np.testing.assert_allclose(points[:, 2, dim - 1], 2.0, atol=1e-6)


@DIMENSIONS
def test_gsd_has_the_shapes_in_its_own_words(dim: int, tmp_path: Path) -> None:
    import gsd.hoomd

    snaps = turned(dim)
    written(GsdFile, snaps, tmp_path / "run.gsd")
    with gsd.hoomd.open(tmp_path / "run.gsd") as frames_read:
        for snap, frame in zip(snaps, frames_read, strict=True):
            p, own = frame.particles, snap.model.solids
            assert len(p.types) == len(set(p.types)) == len(p.type_shapes)
            np.testing.assert_allclose(frame.log["particles/size"], own.size, **SINGLE)
            q = Rotation.from_quat(np.roll(p.orientation, -1, axis=1))
            mine = Rotation.from_matrix(frames(snap.state.orientation))
            assert (q * mine.inv()).magnitude().max() < 1e-5
            for g in range(snap.n):
                told = p.type_shapes[p.typeid[g]]
                shape = grain_shapes(own, dim)[own.shape[g]]
                check_words(told, shape, own.size[g])


def check_words(told: dict[str, Any], shape: Any, size: float) -> None:
    json.dumps(told)
    parts = shape.parts
    if told["type"] == "Sphere":
        assert shape.name in ("disk", "ball")
        assert told["diameter"] == pytest.approx(2 * size * parts[0].radius)
    elif told["type"] == "SphereUnion":
        assert "clump" in shape.name
        np.testing.assert_allclose(told["diameters"], [2 * size * p.radius for p in parts])
        np.testing.assert_allclose(told["centers"], [size * p.corner[0] for p in parts], atol=1e-12)
    elif told["type"] == "Mesh":
        assert "plate" in shape.name
        reach = np.linalg.norm(told["vertices"], axis=1).max()
        assert reach == pytest.approx(size * (0.7 * 2**0.5 + 0.2), rel=1e-2)
        assert np.max(told["indices"]) < len(told["vertices"])
    elif shape.dim == 2 and "capsule" in shape.name:
        reach = np.linalg.norm(told["vertices"], axis=1).max()
        assert reach == pytest.approx(size * 1.1, rel=1e-3)
        assert told["rounding_radius"] == 0.0
    else:
        assert told["type"] == ("Polygon" if shape.dim == 2 else "ConvexPolyhedron")
        np.testing.assert_allclose(
            told["vertices"], size * parts[0].corner[:, : shape.dim], atol=1e-12
        )
        assert told["rounding_radius"] == pytest.approx(size * parts[0].radius)


def test_many_sizes_share_types_and_few_do_not() -> None:
    size = np.random.default_rng(1).uniform(1.0, 2.0, 3 * MOST)
    which = np.arange(size.size) % 2
    shapes = [regular(5), regular(6)]
    many = types_of(model_of(solids(shapes, 2, which, size), 2), ["sand"])
    assert not many.exact
    assert MOST / 2 <= len(many.names) == len(set(many.names)) <= MOST
    for kind in range(len(many.names)):
        mine = size[many.of == kind]
        assert len(set(which[many.of == kind])) == 1
        drawn = np.linalg.norm(many.shapes[kind]["vertices"][0])
        assert drawn == pytest.approx(mine.mean())
        assert np.ptp(mine) < 0.05  # a class is some 2/MOST of the sizes wide
    few = types_of(model_of(solids(shapes, 2, which, np.where(size < 1.5, 1.0, 2.0)), 2), ["sand"])
    assert few.exact
    assert len(few.names) == 4
    one = types_of(model_of(solids(shapes[:1], 2, [0, 0], [1.0, 1.0]), 2), ["sand"])
    assert one.names == ["sand"]


@DIMENSIONS
def test_text_has_orientations_and_rows_of_shapes(dim: int, tmp_path: Path) -> None:
    snaps = turned(dim)
    written(LammpsDump, snaps, tmp_path / "run.dump")
    written(ExtendedXyz, snaps, tmp_path / "run.xyz")
    n, own = snaps[0].n, snaps[0].model.solids
    matrices = frames(snaps[0].state.orientation)
    lines = (tmp_path / "run.dump").read_text().split("\n")
    names = lines[8].split()[2:]
    rows = np.array([line.split() for line in lines[9 : 9 + n]], float)
    column = {name: rows[:, k] for k, name in enumerate(names)}
    q = np.stack([column[f"quat{k}"] for k in "ijkw"], axis=1)
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix(), matrices, atol=1e-12)
    np.testing.assert_array_equal(column["shape"] - 1, own.shape)
    np.testing.assert_array_equal(column["size"], own.size)
    head, *rest = (tmp_path / "run.xyz").read_text().split("\n")[1 : n + 2]
    assert ":orientation:R:4:shape:I:1:size:R:1 " in head
    cells = np.array([line.split()[-6:] for line in rest], float)
    np.testing.assert_allclose(Rotation.from_quat(cells[:, :4]).as_matrix(), matrices, atol=1e-12)
    np.testing.assert_array_equal(cells[:, 4] - 1, own.shape)


@DIMENSIONS
@pytest.mark.parametrize(
    ("writer", "read", "name"),
    [
        (GsdFile, read_gsd, "a.gsd"),
        (LammpsDump, read_lammps, "a.dump"),
        (ExtendedXyz, read_xyz, "a.xyz"),
    ],
)  # fmt: skip
def test_places_and_radii_come_back(
    dim: int, writer: Any, read: Any, name: str, tmp_path: Path
) -> None:
    snap = scattered(dim)
    written(writer, [snap], tmp_path / name)
    back = read(tmp_path / name, 0)
    np.testing.assert_allclose(back.position[:, :dim], snap.position, **SINGLE)
    np.testing.assert_allclose(back.radius, snap.radius, **SINGLE)
