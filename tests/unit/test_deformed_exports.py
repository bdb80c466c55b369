"""Grains that deform in the files of other tools: meshes for ParaView, shapes at rest elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hardgrain as hg
from hardgrain.cli.app import app
from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.stress import grain_stress

from ..elastic import elastic_run

SINGLE = {"rtol": 1e-6, "atol": 1e-5}  # files have single precision, stresses are of the order 10


def read(path: Path) -> list[Any]:
    """All steps of a file, as VTK reads them."""
    from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader, found = vtkHDFReader(), []
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    for k in range(reader.GetNumberOfSteps()):
        reader.SetStep(k)
        reader.Update()
        held = reader.GetOutputDataObject(0)
        assert held.IsA("vtkUnstructuredGrid")
        grid = vtkUnstructuredGrid()
        grid.DeepCopy(held)
        found.append(grid)
    return found


@pytest.mark.parametrize(("dim", "shape"), [(2, None), (3, None), (2, "hexagon"), (3, "cube")])
def test_vtk_reads_meshes_as_they_are_deformed(dim: int, shape: str | None, tmp_path: Path) -> None:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter

    path = elastic_run(tmp_path / "run.h5", dim, shape, steps=100)
    files = {f.stem: f for f in hg.export(path, tmp_path / "out.vtkhdf")}
    assert [*files] == [f"out-{n}" for n in ("grains", "contacts", "walls", "shapes", "meshes")]
    grids = read(files["out-meshes"])
    with hg.RunFile(path) as run:
        assert len(grids) == len(run)
        for k, grid in enumerate(grids):
            snap = snapshot(run, k)
            mesh = snap.mesh
            assert mesh is not None
            at_cells, at_points = (
                {
                    data.GetArrayName(i): vtk_to_numpy(data.GetArray(i))
                    for i in range(data.GetNumberOfArrays())
                }
                for data in (grid.GetCellData(), grid.GetPointData())
            )
            assert {grid.GetCellType(e) for e in range(grid.GetNumberOfCells())} == {
                5 if dim == 2 else 10  # VTK's triangles and tetrahedra
            }
            place = vtk_to_numpy(grid.GetPoints().GetData())[:, :dim]
            np.testing.assert_allclose(place, mesh.nodes_at(snap.wrapped), **SINGLE)
            for name in ("displacement", "velocity"):
                np.testing.assert_allclose(at_points[name][:, :dim], getattr(mesh, name), **SINGLE)
            np.testing.assert_allclose(at_cells["stress"].reshape(-1, 3, 3), mesh.stress, **SINGLE)
            np.testing.assert_allclose(at_cells["von_mises"], mesh.von_mises, **SINGLE)
            np.testing.assert_allclose(at_cells["pressure"], mesh.pressure, **SINGLE)
            np.testing.assert_allclose(at_cells["energy_density"], mesh.energy, **SINGLE)
            np.testing.assert_array_equal(at_cells["id"], snap.id[mesh.grain])
            # VTK's own measure of the elements, from their nodes in their order
            sizes = vtkCellSizeFilter()
            sizes.SetInputData(grid)
            sizes.Update()
            size = sizes.GetOutput().GetCellData().GetArray("Area" if dim == 2 else "Volume")
            np.testing.assert_allclose(vtk_to_numpy(size), mesh.volume, rtol=1e-4, atol=1e-7)


def test_other_formats_hold_grains_at_rest_and_say_so(tmp_path: Path) -> None:
    path = elastic_run(tmp_path / "run.h5", steps=100)
    with hg.RunFile(path) as run:
        snap = snapshot(run)
    said = "grains that deform are written as they are at rest; .vtkhdf holds their meshes"
    for name, told in (("a.gsd", True), ("a.dump", True), ("a.xyz", True), ("a.vtkhdf", False)):
        result = CliRunner().invoke(app, ["export", str(path), "-o", str(tmp_path / name)])
        assert result.exit_code == 0
        assert (said in result.output) == told
        if name != "a.vtkhdf":
            back = hg.read_packing(tmp_path / name)
            np.testing.assert_allclose(back.radius, snap.radius, rtol=1e-6)
            np.testing.assert_allclose(back.position[:, :2], snap.wrapped, **SINGLE)
    import gsd.hoomd

    with gsd.hoomd.open(tmp_path / "a.gsd") as frames:
        last = frames[-1]
    c = snap.contacts
    between = c.second < snap.n
    assert last.bonds.N == between.sum() > 1  # a bond for each point, as of grains with faces
    np.testing.assert_allclose(
        last.log["bonds/force"][:, :2], snap.force[between], rtol=1e-6, atol=1e-6
    )
    mine = last.log["particles/stress"].reshape(-1, 3, 3)[:, :2, :2]
    np.testing.assert_allclose(mine, grain_stress(snap), **SINGLE)
