"""Run files in the formats of other tools, read back with those tools; and packings from files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.io.solid import quaternion
from hardgrain.io.vtkhdf import _Series
from hardgrain.measure.snapshot import Snapshot, snapshots
from hardgrain.measure.stress import grain_stress

SINGLE = {"rtol": 1e-6, "atol": 1e-6}
SOLVER = hg.GaussSeidel(sweeps=50)


def flat_scene() -> hg.Scene:
    """Disks that fall onto a floor; every second frame has its contacts."""
    return hg.Scene(
        gravity=[0, -1],
        materials={"sand": hg.Material(), "heavy stone": hg.Material(density=3.0)},
        grains=[
            hg.Grains(
                count=8, place=hg.Grid(min=[0, 1.2], max=[4.4, 4]), speed=0.1, velocity=[0.2, 0]
            ),
            hg.Grains(
                material="heavy stone", diameter=0.7, spin=2.0,
                place=hg.At(positions=[[1, 0.55], [3.3, 0.55]]),
            ),
        ],
        walls=[
            hg.Box(min=[-0.2, 0], max=[5, 9], open=["top"]),
            hg.Segment(name="shelf", start=[1.5, 0.1], end=[2, 0.1]),
            hg.Drum(name="hoop", center=[2.5, 3], radius=8.0, spin=0.1),
        ],
    )  # fmt: skip


def solid_scene() -> hg.Scene:
    """Spheres in a pipe along x that repeats; they drift across its ends."""
    return hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        periodic={"x": (1.0, 5.0)},
        grains=[
            hg.Grains(
                count=12, diameter=0.9, place=hg.Grid(min=[1, -1, -1], max=[5, 1, 1]),
                velocity=[3, 0, 0], spin=[0.5, 1, 2], speed=0.2,
            )
        ],
        walls=[
            hg.Cylinder(name="pipe", point=[0, 0, 0], axis=[1, 0, 0], radius=1.6),
            hg.Plane(name="ramp", point=[0, 0, -1.5], normal=[0, 0.6, 0.8]),
        ],
    )  # fmt: skip


def made(scene: hg.Scene, path: Path, steps: int, contacts_every: int = 1) -> Path:
    output: Any = {"every": 20, "contacts_every": contacts_every}
    scenario = hg.Scenario(dt=0.01, scene=scene, solver=SOLVER, seed=3, output=output)
    hg.Simulation(scenario).run(steps, output=path, progress=False)
    return path


@pytest.fixture(scope="module", params=["2D", "3D"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("formats") / "run.h5"
    if request.param == "2D":
        return made(flat_scene(), path, 200, contacts_every=2)
    return made(solid_scene(), path, 100)


def padded(vectors: Any) -> Any:
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1])))


def turning(snap: Snapshot) -> Any:
    return np.pad(snap.spin, ((0, 0), (3 - snap.spin.shape[1], 0)))


# ---------------------------------------------------------------------- VTK
def steps_of(path: Path) -> Any:
    """Time and PolyData of every step, as VTK reads them."""
    pytest.importorskip("vtk")
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    for time in times:
        reader.UpdateTimeStep(time)
        yield time, reader.GetOutputDataObject(0)


def points_of(poly: Any) -> Any:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    points = poly.GetPoints()
    return vtk_to_numpy(points.GetData()) if points else np.zeros((0, 3))


def array(data: Any, name: str) -> Any:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return vtk_to_numpy(data.GetArray(name))


def test_vtk_reads_the_grains_of_every_step(file: Path, tmp_path: Path) -> None:
    grains, *_ = hg.export(file, tmp_path / "out.vtkhdf")
    assert grains == tmp_path / "out-grains.vtkhdf"
    with hg.RunFile(file) as run:
        for snap, (time, poly) in zip(snapshots(run), steps_of(grains), strict=True):
            data = poly.GetPointData()
            assert time == snap.time
            assert poly.GetNumberOfVerts() == snap.n == poly.GetNumberOfPoints()
            np.testing.assert_allclose(points_of(poly), padded(snap.wrapped), **SINGLE)
            np.testing.assert_allclose(array(data, "radius"), snap.radius, **SINGLE)
            np.testing.assert_allclose(array(data, "velocity"), padded(snap.velocity), **SINGLE)
            np.testing.assert_allclose(array(data, "spin"), turning(snap), **SINGLE)
            np.testing.assert_array_equal(array(data, "set"), snap.model.group)
            np.testing.assert_array_equal(array(data, "id"), np.arange(snap.n))
            stress = array(data, "stress").reshape(-1, 3, 3)
            if not snap.stored:
                assert np.isnan(stress[:, 0, 0]).all()
                assert (array(data, "coordination") == -1).all()
                continue
            full = np.zeros((snap.n, 3, 3))
            full[:, : snap.dim, : snap.dim] = grain_stress(snap)
            np.testing.assert_allclose(stress, full, rtol=1e-5, atol=1e-5)
            pressure = np.einsum("iaa->i", full) / snap.dim
            np.testing.assert_allclose(array(data, "pressure"), pressure, rtol=1e-5, atol=1e-5)
            c = snap.contacts
            count = [
                np.sum((c.first == i) | (c.second == i), where=snap.loaded) for i in range(snap.n)
            ]
            np.testing.assert_array_equal(array(data, "coordination"), count)


def test_vtk_turns_a_glyph_as_the_grain_has_turned(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("vtk")
    from vtkmodules.vtkCommonTransforms import vtkTransform

    from hardgrain.contact.pairs import rotate

    with hg.RunFile(file) as run:
        *_, snap = snapshots(run)
    grains, *_ = hg.export(file, tmp_path / "out.vtkhdf")
    *_, (_, poly) = steps_of(grains)
    axis = np.tile(np.eye(snap.dim)[0], (snap.n, 1))
    expected = padded(rotate(snap.state.orientation[: snap.n], axis))
    for (w, *v), turned in zip(array(poly.GetPointData(), "orientation").astype(float), expected):
        transform = vtkTransform()
        transform.RotateWXYZ(np.degrees(2 * np.arctan2(np.linalg.norm(v), w)), *v)
        found = transform.TransformVector(1.0, 0.0, 0.0) if np.any(v) else (1.0, 0.0, 0.0)
        np.testing.assert_allclose(found, turned, atol=1e-5)


def test_vtk_reads_the_contacts_of_every_step(file: Path, tmp_path: Path) -> None:
    _, contacts, *_ = hg.export(file, tmp_path / "out.vtkhdf")
    numbers = set()
    with hg.RunFile(file) as run:
        for snap, (time, poly) in zip(snapshots(run), steps_of(contacts), strict=True):
            assert time == snap.time
            m = len(snap.contacts) if snap.stored else 0
            numbers.add(m)
            assert poly.GetNumberOfLines() == poly.GetNumberOfCells() == m
            if m == 0:
                continue
            c, data = snap.contacts, poly.GetCellData()
            ends = np.array(
                [
                    [poly.GetPoint(poly.GetCell(k).GetPointId(end)) for end in (0, 1)]
                    for k in range(m)
                ]
            )
            np.testing.assert_allclose(ends[:, 0], padded(snap.wrapped[c.first]), **SINGLE)
            np.testing.assert_allclose(ends[:, 1] - ends[:, 0], padded(snap.branch), atol=1e-5)
            np.testing.assert_allclose(array(data, "force"), padded(snap.force), **SINGLE)
            np.testing.assert_allclose(array(data, "normal_force"), snap.normal_force, **SINGLE)
            size = np.hypot(array(data, "normal_force"), array(data, "tangential_force"))
            np.testing.assert_allclose(size, np.linalg.norm(snap.force, axis=1), **SINGLE)
            np.testing.assert_allclose(array(data, "gap"), c.gap, **SINGLE)
            np.testing.assert_array_equal(array(data, "second"), c.second)
    assert 0 in numbers
    assert len(numbers) > 2


def test_vtk_reads_walls_whose_points_lie_on_them(file: Path, tmp_path: Path) -> None:
    *_, walls = hg.export(file, tmp_path / "out.vtkhdf")
    with hg.RunFile(file) as run:
        for snap, (_, poly) in zip(snapshots(run), steps_of(walls), strict=True):
            kind, point, axis, size, _ = snap.walls
            owner, force = (array(poly.GetCellData(), name) for name in ("wall", "force"))
            assert set(owner) == set(range(len(kind)))
            assert snap.wall_force is not None
            np.testing.assert_allclose(force, padded(snap.wall_force)[owner], **SINGLE)
            for k, w in enumerate(owner):
                cell = poly.GetCell(k)
                ids = [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
                r = np.array([poly.GetPoint(i) for i in ids])[:, : snap.dim] - point[w]
                if kind[w] == 0:
                    np.testing.assert_allclose(r @ axis[w], 0.0, atol=1e-5)
                elif kind[w] == 1:
                    np.testing.assert_allclose(r, [[0, 0], axis[w]], atol=1e-5)
                else:
                    out = r - np.outer(r @ axis[w], axis[w]) if snap.dim == 3 else r
                    np.testing.assert_allclose(np.linalg.norm(out, axis=1), size[w], rtol=1e-5)


def test_walls_of_a_box_close_it() -> None:
    """Each side of a block is cut to a rectangle, and together they have its surface."""
    from hardgrain.io.wall_surfaces import wall_surfaces
    from hardgrain.measure.snapshot import snapshot

    edges = np.array([3.0, 4.0, 5.0])
    scene = hg.Scene(
        dimension=3,
        grains=[hg.Grains(place=hg.At(positions=[[1, 1, 1]]))],
        walls=[hg.Box(min=[0, 0, 0], max=edges.tolist())],
    )
    s = wall_surfaces(snapshot(hg.Simulation(scene, dt=0.01)))
    area = 0.0
    for begin, end in zip(s.offsets, s.offsets[1:]):
        p = s.points[s.connectivity[begin:end]]
        assert len(p) == 4
        area += np.linalg.norm(np.cross(p, np.roll(p, -1, axis=0)).sum(axis=0)) / 2
    assert area == pytest.approx(2 * (3 * 4 + 4 * 5 + 5 * 3))


@pytest.mark.parametrize("dim", [2, 3])
def test_a_slanted_plane_far_away_is_seen(dim: int) -> None:
    from hardgrain.io.wall_surfaces import wall_surfaces
    from hardgrain.measure.snapshot import snapshot

    scene = hg.Scene(
        dimension=dim,
        grains=[hg.Grains(place=hg.At(positions=[[5.0] * dim]))],
        walls=[hg.Plane(point=[0.0] * dim, normal=[1.0] * dim)],
    )
    s = wall_surfaces(snapshot(hg.Simulation(scene, dt=0.01)))
    np.testing.assert_allclose(s.points.sum(axis=1), 0.0, atol=1e-12)
    assert (np.ptp(s.points, axis=0) > 1.0 - 1e-12).all()  # as large as the grain


def test_a_scene_without_walls_has_no_file_for_them(tmp_path: Path) -> None:
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0]]))])
    file = made(scene, tmp_path / "one.h5", 40)
    written = hg.export(file, tmp_path / "one.vtkhdf")
    assert [p.name for p in written] == ["one-grains.vtkhdf", "one-contacts.vtkhdf"]
    assert [poly.GetNumberOfCells() for _, poly in steps_of(written[1])] == [0, 0, 0]


@pytest.mark.parametrize(
    "counts", [[3, 4, 5], [3, 0, 5], [3, 0, 5, 0, 0, 2], [0, 3, 4], [0, 0, 4], [4, 0, 0], [3, 3, 2]]
)
def test_vtk_keeps_count_where_steps_are_empty(tmp_path: Path, counts: list[int]) -> None:
    series = _Series(tmp_path / "lines.vtkhdf", "Lines")
    for k, m in enumerate(counts):
        points, value = np.full((2 * m, 3), float(k)), {"value": np.full(m, float(k))}
        cells = np.arange(2 * m), np.arange(0, 2 * m + 1, 2)
        series.append(float(k), points, *cells, cell_data=value)
    series.close()
    for k, (_, poly) in enumerate(steps_of(tmp_path / "lines.vtkhdf")):
        assert poly.GetNumberOfLines() == counts[k]
        for i in range(counts[k]):
            assert [poly.GetCell(i).GetPointId(e) for e in (0, 1)] == [2 * i, 2 * i + 1]
        if counts[k]:
            assert set(array(poly.GetCellData(), "value")) == {float(k)}
            assert (points_of(poly) == k).all()


def test_what_does_not_change_is_written_once(file: Path, tmp_path: Path) -> None:
    import h5py

    grains, *_ = hg.export(file, tmp_path / "out.vtkhdf")
    with h5py.File(grains) as h5, hg.RunFile(file) as run:
        root, n = h5["VTKHDF"], run.model["radius"].size
        assert len(root["PointData/radius"]) == len(root["Vertices/Connectivity"]) == n
        assert len(root["Points"]) == n * len(run)


# ---------------------------------------------------------------------- GSD
def frames_of(path: Path) -> Any:
    import gsd.hoomd

    with gsd.hoomd.open(path, "r") as frames:
        yield from frames


def test_gsd_holds_grains_and_contacts(file: Path, tmp_path: Path) -> None:
    hg.export(file, tmp_path / "out.gsd")
    with hg.RunFile(file) as run:
        for snap, frame in zip(snapshots(run), frames_of(tmp_path / "out.gsd"), strict=True):
            p, b, box, log = frame.particles, frame.bonds, frame.configuration.box[:3], frame.log
            assert (frame.configuration.step, frame.configuration.dimensions) == (
                snap.state.step,
                snap.dim,
            )
            assert p.types == (["sand", "heavy stone"] if snap.dim == 2 else ["grain"])
            np.testing.assert_array_equal(p.typeid, snap.model.group)
            assert (np.abs(p.position) <= 0.5 * box * (1 + 1e-6)).all()
            unwrapped = p.position + p.image * box + log["configuration/origin"]
            np.testing.assert_allclose(unwrapped, padded(snap.position), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(p.diameter, 2 * snap.radius, **SINGLE)
            np.testing.assert_allclose(p.mass, snap.mass, **SINGLE)
            assert log["configuration/time"] == snap.time
            if not snap.stored:
                assert b.N == len(log["bonds/force"]) == 0
                assert np.isnan(log["particles/stress"][:, 0]).all()
                continue
            c = snap.contacts
            both = c.second < snap.n
            np.testing.assert_array_equal(
                b.group if b.N else np.zeros((0, 2)), np.stack([c.first, c.second], 1)[both]
            )
            np.testing.assert_allclose(log["bonds/force"], padded(snap.force[both]), **SINGLE)
            # what walls do to grains is what grains do to walls
            assert snap.wall_force is not None
            np.testing.assert_allclose(
                log["particles/wall_force"].sum(axis=0)[: snap.dim], -snap.wall_force.sum(axis=0),
                rtol=1e-4, atol=1e-4,
            )  # fmt: skip


def test_gsd_has_angular_momenta_as_hoomd_takes_them(file: Path, tmp_path: Path) -> None:
    """S = q* p / 2 is the angular momentum in the body's frame; turned back it is I ω."""
    from scipy.spatial.transform import Rotation

    hg.export(file, tmp_path / "out.gsd")
    with hg.RunFile(file) as run:
        *_, snap = snapshots(run)
    *_, frame = frames_of(tmp_path / "out.gsd")
    q, p = frame.particles.orientation.astype(float), frame.particles.angmom.astype(float)
    np.testing.assert_allclose(q, quaternion(snap.state.orientation[: snap.n]), atol=1e-6)
    w, v = q[:, :1], -q[:, 1:]  # q*
    body = 0.5 * (w * p[:, 1:] + p[:, :1] * v + np.cross(v, p[:, 1:]))
    world = Rotation.from_quat(np.roll(q, -1, axis=1)).apply(body)
    expected = snap.model.inertia[: snap.n, None] * turning(snap)
    np.testing.assert_allclose(world, expected, rtol=1e-4, atol=1e-6)


def test_freud_finds_the_neighbours_of_a_gsd_frame(file: Path, tmp_path: Path) -> None:
    freud = pytest.importorskip("freud")
    hg.export(file, tmp_path / "out.gsd")
    with hg.RunFile(file) as run:
        *_, snap = snapshots(run)
    *_, frame = frames_of(tmp_path / "out.gsd")
    reach = 1.3
    query = freud.AABBQuery.from_system(frame)
    found = query.query(query.points, {"r_max": reach, "exclude_ii": True}).toNeighborList()
    i, j = np.triu_indices(snap.n, 1)
    period = np.where(snap.model.periodic > 0, snap.model.periodic, np.inf)
    d = snap.position[i] - snap.position[j]
    d -= np.where(np.isfinite(period), period, 0) * np.round(d / period)
    near = np.linalg.norm(d, axis=1) < reach
    expected = set(zip(i[near].tolist(), j[near].tolist()))
    assert expected == {(int(a), int(b)) for a, b in found[:] if a < b}
    assert len(expected) > 5


def test_gsd_of_a_later_frame_does_not_inherit_contacts_of_the_first(tmp_path: Path) -> None:
    scene = hg.Scene(grains=[hg.Grains(place=hg.At(positions=[[0, 0], [1, 0]]), velocity=[0, 0])])
    file = tmp_path / "two.h5"
    sim = hg.Simulation(scene, dt=0.1)
    sim.state.velocity[1, 0] = -1.0
    sim.step()
    sim.state.velocity[1, 0] = 4.0
    sim.run(4, output=file, every=1, progress=False)
    hg.export(file, tmp_path / "two.gsd")
    bonds = [(f.bonds.N, len(f.log["bonds/gap"])) for f in frames_of(tmp_path / "two.gsd")]
    assert (bonds[0], bonds[-1]) == ((1, 1), (0, 0))


# ---------------------------------------------------------------------- text
def test_lammps_dump_is_as_lammps_writes_it(file: Path, tmp_path: Path) -> None:
    hg.export(file, tmp_path / "out.dump", range(2))
    lines = (tmp_path / "out.dump").read_text().splitlines()
    with hg.RunFile(file) as run:
        first, second = snapshots(run, range(2))
    n = first.n
    assert len(lines) == 2 * (n + 9)
    assert lines[0] == lines[n + 9] == "ITEM: TIMESTEP"
    assert lines[n + 10] == str(second.state.step)
    flags = "ff ff pp" if first.dim == 2 else "pp ff ff"
    assert lines[4] == f"ITEM: BOX BOUNDS {flags}"
    names = lines[8].removeprefix("ITEM: ATOMS ").split()
    low, high = np.array([line.split() for line in lines[n + 14 : n + 17]], float).T
    table = np.array([line.split() for line in lines[n + 18 :]], float)
    column = {name: table[:, k] for k, name in enumerate(names)}
    x, u = (np.stack([column[a + s] for a in "xyz"], axis=1) for s in ("", "u"))
    assert ((low <= x) & (x <= high)).all()
    np.testing.assert_array_equal(u, padded(second.position))
    np.testing.assert_allclose(x[:, : first.dim], second.wrapped, rtol=1e-14)
    if first.dim == 3:
        assert (low[0], high[0]) == (1.0, 5.0)
        np.testing.assert_array_equal(column["omegay"], second.spin[:, 1])
    np.testing.assert_array_equal(column["type"], second.model.group + 1)


def test_extended_xyz_names_its_columns(file: Path, tmp_path: Path) -> None:
    hg.export(file, tmp_path / "out.xyz", [-1])
    count, comment, *rows = (tmp_path / "out.xyz").read_text().splitlines()
    with hg.RunFile(file) as run:
        *_, snap = snapshots(run)
    assert int(count) == len(rows) == snap.n
    assert f"Time={snap.time!r}" in comment
    assert ('pbc="T F F"' if snap.dim == 3 else 'pbc="F F F"') in comment
    widths = comment.split("Properties=")[1].split()[0].split(":")[2::3]
    assert {len(row.split()) for row in rows} == {sum(map(int, widths))}
    assert rows[-1].split()[1] == ("heavy_stone" if snap.dim == 2 else "grain")


# ---------------------------------------------------------------------- there and back
@pytest.mark.parametrize("suffix", ["gsd", "dump", "lammpstrj", "xyz", "extxyz"])
@pytest.mark.parametrize("frame", [0, 3, -1])
def test_there_and_back(file: Path, tmp_path: Path, suffix: str, frame: int) -> None:
    hg.export(file, tmp_path / f"out.{suffix}")
    grains = hg.read_packing(tmp_path / f"out.{suffix}", frame)
    with hg.RunFile(file) as run:
        (snap,) = snapshots(run, [frame])
    exact = {"rtol": 1e-6, "atol": 1e-5} if suffix == "gsd" else {"rtol": 0.0}
    np.testing.assert_allclose(grains.position, snap.position, **exact)
    np.testing.assert_allclose(grains.radius, snap.radius, **exact)
    np.testing.assert_allclose(grains.velocity, snap.velocity, **exact)
    np.testing.assert_allclose(grains.spin, snap.spin, **exact)
    np.testing.assert_array_equal(grains.group, snap.model.group)


def test_spins_of_a_foreign_gsd_follow_from_angular_momenta(file: Path, tmp_path: Path) -> None:
    import gsd.hoomd

    hg.export(file, tmp_path / "out.gsd")
    *_, frame = frames_of(tmp_path / "out.gsd")
    del frame.log["particles/spin"]
    with gsd.hoomd.open(tmp_path / "foreign.gsd", "w") as other:
        other.append(frame)
    mine, foreign = (hg.read_packing(tmp_path / name) for name in ("out.gsd", "foreign.gsd"))
    np.testing.assert_allclose(foreign.spin, mine.spin, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------- packings
@pytest.mark.parametrize(
    "text",
    [
        "x,y,radius,vx,spin,type\n0,1,0.5,2,3,a\n4,5,0.25,0,0,b\n",
        "\ufeffx; y; radius; vx; spin; type\n0; 1; 0.5; 2; 3; a\n\n4; 5; 0.25; 0; 0; b\n",
        "# type x y diameter vx spin\na 0 1 1.0 2 3\n# a remark\nb 4 5 0.5 0 0\n",
        '"Y"\t"X"\t"Radius"\tvx\tspin\ttype\tcolour\n1\t0\t.5\t2\t3\t1\tred\n5\t4\t.25\t0\t0\t7\tred\n',
        "id,x,y,z,radius,vx,wz,type\n2,4,5,0,.25,0,0,b\n1,0,1,0,.5,2,3,a\n",
    ],
)
def test_tables_in_many_hands(tmp_path: Path, text: str) -> None:
    path = tmp_path / "packing.csv"
    path.write_text(text, encoding="utf-8")
    grains = hg.read_packing(path)
    assert grains.position.tolist() == [[0, 1], [4, 5]]
    assert grains.radius.tolist() == [0.5, 0.25]
    assert grains.velocity.tolist() == [[2, 0], [0, 0]]
    assert grains.spin.tolist() == [[3], [0]]
    if not text.startswith("id"):  # there types are counted as they come
        assert grains.group.tolist() == [0, 1]


def test_dimension_of_a_layer_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "layer.csv"
    path.write_text("x,y,z,radius\n0,0,2,1\n3,0,2,1\n")
    assert hg.read_packing(path).position.shape == (2, 2)
    assert hg.read_packing(path, dimension=3).position.tolist() == [[0, 0, 2], [3, 0, 2]]
    path.write_text("x,y,z,radius\n0,0,2,1\n3,0,1,1\n")
    assert hg.read_packing(path).position.shape == (2, 3)
    with pytest.raises(hg.InputError, match=r"z from 1 to 2 .* all grains in one plane"):
        hg.read_packing(path, dimension=2)


def test_scaled_positions_of_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "scaled.dump"
    path.write_text(
        "ITEM: UNITS\nlj\nITEM: TIME\n0.5\n"
        "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n-1 3\n0 10\n"
        "-0.5 0.5\nITEM: ATOMS id type element xs ys zs radius\n"
        "9 2 Fe 0.5 0.1 0.5 0.3\n4 1 Cu 0.25 0.2 0.5 0.4\n"
    )
    grains = hg.read_packing(path)
    assert grains.position.tolist() == [[0, 2], [1, 1]]
    assert grains.radius.tolist() == [0.4, 0.3]
    assert grains.group.tolist() == [0, 1]


HEAD = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS ff ff pp\n0 9\n0 9\n-.5 .5\n"
ATOMS = "ITEM: ATOMS id x y radius\n"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.csv", "1,2,0.5\n", "line 1: '1,2,0.5' is no header; name the columns, as x,y,radius"),
        ("a.csv", "x,y\n1,2\n", "line 1: the columns are x, y; radius or diameter is needed"),
        ("a.csv", "y,radius\n1,2\n", "line 1: the columns are y, radius; x and y are needed"),
        ("a.csv", "x,x,y,radius\n1,1,1,1\n", "line 1: the column x is named twice"),
        ("a.csv", "x,y,radius\n1,1,1\n1,1\n", "line 3: 2 values for 3 columns"),
        ("a.csv", "x,y,radius\n1,1,1\n\n1,2.5.1,1\n", "line 4: y is '2.5.1', not a number"),
        ("a.csv", "x,y,radius\n", "holds no grains"),
        ("a.csv", "x,y,radius\n1,1,nan\n", "grain 0 has a radius that is not finite"),
        ("a.csv", "x,y,radius\n1,1,1\n3,3,-1\n", "grain 1 has the radius -1; it must be positive"),
        ("a.dump", "hello\n", "it has no ITEM: TIMESTEP"),
        ("a.dump", HEAD, "line 9: '' stands where an ITEM: is expected"),
        ("a.dump", HEAD + ATOMS + "1 2 3 4\n", "line 10: the file ends after 1 of 2 atoms"),
        ("a.dump", HEAD + ATOMS + "1 2 3 4\n1 2\n", "line 11: 2 values for 4 columns"),
        ("a.dump", HEAD + ATOMS + "1 2 3 4\n1 2 a 4\n", "line 11: y is 'a', not a number"),
        ("a.dump", HEAD.replace("\n2\n", "\nmany\n"), "line 4: the number of atoms is 'many'"),
        (
            "a.dump",
            HEAD.replace("0 9\n-", "9\n-"),
            "line 7: '9' stands for the two ends of the box",
        ),
        (
            "a.dump",
            HEAD.replace("BOUNDS", "BOUNDS xy xz yz"),
            "line 6: '0 9' stands for the two ends of the box and its tilt",
        ),
        ("a.dump", HEAD.replace("BOUNDS", "BOUNDS abc origin"), "line 5: the box is turned"),
        ("a.xyz", "2\nplain\nH 0 0 0\nH 0 0 1\n", "line 2: there are no Properties"),
        ("a.xyz", "2\nProperties=pos:R\n0 0 0\n0 0 1\n", "line 2: Properties=pos:R is not a list"),
        (
            "a.xyz",
            "2\nProperties=pos:R:3\n0 0 0\n",
            "ends at line 3; the frame there needs 2 grains",
        ),
        ("a.xyz", "two\n", "line 1: 'two' stands where a number of grains is expected"),
        ("a.xyz", "", "frame is -1; .*a.xyz has no frames"),
        ("a.gsd", "hello", "is not a GSD file"),
        ("a.h5", "hello", "is not a packing by its name; known are .gsd"),
    ],
)
def test_malformed_packings_are_refused_in_one_sentence(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(hg.InputError, match=says) as error:
        hg.read_packing(path)
    assert "\n" not in str(error.value)


def test_packings_that_are_not_there(tmp_path: Path) -> None:
    for name in ("a.csv", "a.gsd", "a.dump", "a.xyz"):
        with pytest.raises(hg.InputError, match="does not exist"):
            hg.read_packing(tmp_path / name)
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(hg.InputError, match="is a folder"):
        hg.read_packing(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", ["gsd", "dump", "xyz"])
def test_frames_that_are_not_there(file: Path, tmp_path: Path, suffix: str) -> None:
    hg.export(file, tmp_path / f"out.{suffix}", range(3))
    with pytest.raises(hg.InputError, match=r"frame is 3; .* has the frames 0 to 2"):
        hg.read_packing(tmp_path / f"out.{suffix}", 3)


# ---------------------------------------------------------------------- in hand
@pytest.mark.parametrize("suffix", ["vtkhdf", "gsd", "dump", "xyz"])
def test_what_is_interrupted_leaves_nothing(file: Path, tmp_path: Path, suffix: str) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hg.export(file, tmp_path / f"out.{suffix}", observe=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["vtkhdf", "gsd", "dump", "xyz"])
def test_memory_does_not_grow_with_the_number_of_frames(tmp_path: Path, suffix: str) -> None:
    place = hg.Grid(min=[0, 0], max=[36, 36])
    scene = hg.Scene(gravity=[0, -1], grains=[hg.Grains(count=1000, place=place)])
    file = made(scene, tmp_path / "many.h5", 20)

    def peak(count: int) -> int:
        tracemalloc.start()
        hg.export(file, tmp_path / f"out.{suffix}", [0, 1] * count, overwrite=True)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    short = peak(1)
    frame = 1000 * 6 * 8  # [byte] position, velocity, angle and spin of all grains
    assert peak(8) < short + 4 * frame
