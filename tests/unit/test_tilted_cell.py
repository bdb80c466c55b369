"""A lattice has many cells; what is measured, drawn and exported is the same in all of them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import h5py
import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.cell import Cell
from hardgrain.core.lawtable import MU_DYNAMIC, MU_STATIC, N_PARAMETERS
from hardgrain.core.model import Contacts, Model, State
from hardgrain.core.solids import ROUND_GRAINS
from hardgrain.core.wall_kinds import CELL
from hardgrain.errors import InputError
from hardgrain.io.frame import Record
from hardgrain.io.layout import MODEL
from hardgrain.io.runfile import RunFile
from hardgrain.io.runwriter import RunWriter, StepRows
from hardgrain.measure.catalogue import measure, quantities
from hardgrain.measure.displacement import mean_square_displacement, non_affine
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.track import track
from hardgrain.run.track import Track

from ..shapes import TETRAHEDRON, ShapedRun, box, model_of, regular, solids

PERIODS = {2: [8.0, 7.0], 3: [4.0, 4.5, 5.0]}
LOW = {2: np.array([-1.0, 0.5]), 3: np.array([-1.0, 0.5, 2.0])}
# Tilts of a lattice, in units of the period along which the vector leans, in the order of cells.
TILTS = {2: [0.3], 3: [0.2, -0.35, 0.4]}
# Numbers that depend on which image of a grain is meant, as they did before cells had tilts; and
# the numbers of the cell itself.
OF_IMAGES = {("momentum", "angular_momentum"), ("segregation", "offset"), ("cell", "cell")}


def lattice(dim: int, tilted: bool) -> Cell:
    period = np.array(PERIODS[dim])
    lean = period[[0]] if dim == 2 else period[[1, 0, 0]]
    return Cell(np.concatenate([period, np.array(TILTS[dim]) * lean * tilted]))


def flipped(cell: Cell, turns: int) -> Cell:
    """The same lattice, its second vector longer by some of the first."""
    numbers = cell.numbers.copy()
    numbers[-1] += turns * numbers[0]
    if cell.dim == 3:  # and the third by one of the second, as it was and as it now is
        h = Cell(numbers).matrix
        h[:, 2] -= turns * h[:, 1]
        numbers[3:5] = h[1, 2], h[0, 2]
    return Cell(numbers)


def packing(dim: int, cell: Cell, *, shaped: bool = False, deforming: bool = True) -> Snapshot:
    """Grains near a lattice of their own in a cell; those that nearly touch press each other."""
    rng = np.random.default_rng(7)
    h, count = cell.matrix, [round(p) for p in cell.period]
    grid = np.stack(np.meshgrid(*(np.arange(k) for k in count), indexing="ij"), -1)
    share = (grid.reshape(-1, dim) + 0.5) / count
    n, ns = len(share), 1 if dim == 2 else 3
    x = LOW[dim] + share @ h.T + rng.uniform(-0.12, 0.12, (n, dim))
    shapes = [regular(5), regular(4)] if dim == 2 else [box(0.6, 0.5, 0.4), TETRAHEDRON]
    own = solids(shapes, dim, np.arange(n) % 2, rng.uniform(0.42, 0.52, n))
    model = model_of(own, dim, cell.period)
    if not shaped:
        model = replace(model, solids=ROUND_GRAINS, moments=np.zeros((0, 3)))
    laws = np.zeros((1, 1, N_PARAMETERS))
    laws[..., [MU_STATIC, MU_DYNAMIC]] = 0.5
    model = replace(model, laws=laws, mass=rng.uniform(1.0, 2.0, n), inertia=np.full(n, 0.1))
    turned = np.zeros((n, 1)) if dim == 2 else np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
    spin = rng.normal(size=(n, ns))
    contacts = touching(rng, x, model.radius, h)
    state = State(3, 0.03, x, rng.normal(size=(n, dim)), spin, turned, contacts, cell.numbers)
    if deforming:
        model, state = with_cell(model, state, rng.normal(size=dim + ns))
    return Snapshot(model, state, 0.01, LOW[dim])


def touching(rng: Any, x: Any, r: Any, h: Any) -> Contacts:
    """Contacts of all pairs that are less than 1.15 apart, with forces drawn by lot."""
    dim, rows = x.shape[1], []
    shifts = [h @ k for k in itertools.product(range(-3, 4), repeat=dim)]
    for i, j in itertools.combinations(range(len(x)), 2):
        line = min((x[j] - x[i] + s for s in shifts), key=np.linalg.norm)
        if np.linalg.norm(line) < 1.1:
            rows.append((i, j, *line))
    table = np.array(rows)
    m, line = len(table), table[:, 2:]
    i, j = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
    distance = np.linalg.norm(line, axis=1)
    normal = line / distance[:, None]
    push = rng.exponential(1.0, m)[:, None] * normal
    push += 0.1 * rng.normal(size=(m, dim)) * np.linalg.norm(push, axis=1, keepdims=True)
    return Contacts(
        i, j, normal, distance - r[i] - r[j], 0.01 * push, np.zeros((m, 1 if dim == 2 else 3)),
        feature=np.zeros(m, np.int32), arm_first=r[i, None] * normal,
        arm_second=-r[j, None] * normal, width=2.0 * np.minimum(r[i], r[j]),
        roll=r[i] * r[j] / (r[i] + r[j]), law=np.zeros(m, np.int32),
    )  # fmt: skip


def with_cell(model: Model, state: State, rate: Any) -> tuple[Model, State]:
    """Let the cell deform: one more body, with the given components of its velocity gradient."""
    dim, ns = model.dim, model.inv_inertia.shape[1]

    def more(a: Any, row: Any) -> Any:
        return np.concatenate([a, np.asarray(row, a.dtype)[None]])

    model = replace(
        model,
        inv_mass=more(model.inv_mass, np.full(dim, 1e-3)),
        inv_inertia=more(model.inv_inertia, np.full(ns, 1e-3)),
        mass=more(model.mass, 0.0), inertia=more(model.inertia, 0.0),
        moments=more(model.moments, np.zeros(3)) if len(model.moments) else model.moments,
        material=more(model.material, 0), carrier=more(model.carrier, model.bodies),
        wall_kind=np.array([CELL], np.int32), wall_axis=np.zeros((1, dim)),
        wall_size=np.zeros(1), wall_offset=np.zeros((1, dim)), wall_side=np.zeros((1, dim)),
        wall_names=("cell",),
    )  # fmt: skip
    turned = [0.0] if dim == 2 else [0.0, 0.0, 0.0, 1.0]
    return model, replace(
        state, position=more(state.position, np.zeros(dim)),
        velocity=more(state.velocity, rate[:dim]), spin=more(state.spin, rate[dim:]),
        orientation=more(state.orientation, turned),
    )  # fmt: skip


def twin(snap: Snapshot, turns: int) -> Snapshot:
    """The same packing in another cell of its lattice, its grains at other images."""
    rng = np.random.default_rng(3)
    cell = flipped(snap.cell, turns)
    position = snap.state.position.copy()
    position[: snap.n] += rng.integers(-2, 3, (snap.n, snap.dim)) @ cell.matrix.T
    same = replace(snap, state=replace(snap.state, position=position, cell=cell.numbers))
    vars(same)["cell"] = cell  # which would be reduced to the first one
    return same


def numbers(source: Any, name: str) -> Any:
    """All values of a measurement, or what is said if it cannot be made."""
    try:
        return {k: v.values for k, v in measure(source, name).data_vars.items()}
    except InputError as error:
        return str(error)


def agree(one: Any, other: Any, name: str) -> None:
    if isinstance(one, str):
        assert one == other
        return
    for key, value in one.items():
        if value.dtype.kind in "UO":
            assert (value == other[key]).all()
        elif (name, key) not in OF_IMAGES:
            np.testing.assert_allclose(
                other[key], value, rtol=1e-9, atol=1e-9, err_msg=f"{key} of {name}"
            )


KINDS = ["disks", "polygons", "spheres"]


def some(kind: str, tilted: bool) -> Snapshot:
    dim = 3 if kind == "spheres" else 2
    return packing(dim, lattice(dim, tilted), shaped=kind == "polygons")


@pytest.mark.parametrize("tilted", [False, True], ids=["straight", "tilted"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_measurement_is_the_same_in_all_cells_of_a_lattice(kind, tilted):
    snap = some(kind, tilted)
    refused = []
    for name, quantity in quantities().items():
        one = numbers(snap, name)
        refused += [name] * isinstance(one, str)
        for turns in (1, -1):
            agree(one, numbers(twin(snap, turns), name), name)
        assert not quantity.contacts or name in refused or one
    # what needs a run, walls, a membrane, or grains that deform
    assert set(refused) == {
        "energy-balance", "wall-work", "wall-profile", "track", "janssen", "flow-rate", "msd",
        "d2min", "mobility", "stress-strain", "strength", "rheology", "cycles", "membrane",
        "element-stress",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_voronoi_cells_fill_the_tilted_cell(kind):
    snap = some(kind, tilted=True)
    found = hg.measure.cells(snap)
    assert found.volume.sum() == pytest.approx(snap.cell.volume, rel=1e-12)
    assert (found.volume > 0.0).all()


def test_grains_that_touch_across_a_tilted_face_are_the_first_shell():
    # a triangular lattice of touching disks, in a cell along its own vectors: 60° aslant
    k = np.stack(np.meshgrid(np.arange(6), np.arange(6), indexing="ij"), -1).reshape(-1, 2)
    cell = Cell(np.array([6.0, 3.0 * 3**0.5, 3.0]))
    model = replace(
        model_of(solids([regular(4)], 2, np.zeros(36), np.full(36, 0.5)), 2, cell.period),
        solids=ROUND_GRAINS,
    )
    x = k @ (cell.matrix.T / 6.0)
    still = np.zeros((36, 2)), np.zeros((36, 1)), np.zeros((36, 1))
    state = State(0, 0.0, x, *still, Contacts.none(2), cell.numbers)
    snap = Snapshot(model, state, 0.01, np.zeros(2))
    found = hg.measure.pair_correlation(snap, bins=24, reach=2.4)
    first = np.searchsorted(found.edges, 1.0 - 1e-9) - 1
    assert found.pairs[first : first + 2].sum() == 36 * 6 // 2
    assert found.pairs[:first].sum() == 0
    assert np.abs(hg.measure.bond_order(snap)) == pytest.approx(np.ones(36), abs=1e-9)
    assert hg.measure.packing_fraction(snap) == pytest.approx(np.pi / 12**0.5, rel=1e-12)


# ---------------------------------------------------------------------- over time
def sheared(snap: Snapshot, strain: float, time: float) -> Snapshot:
    """The packing after an affine simple shear by a strain of any size."""
    f = np.eye(snap.dim)
    f[0, 1] = strain
    s, position = snap.state, snap.state.position.copy()
    position[: snap.n] = snap.position @ f.T
    h = f @ Cell(s.cell).matrix
    tilted = s.cell.copy()
    tilted[-1] = h[0, 1]
    if snap.dim == 3:
        tilted[4] = h[0, 2]
    return replace(snap, state=replace(s, time=time, position=position, cell=tilted))


@pytest.mark.parametrize("kind", ["disks", "spheres"])
def test_what_the_cell_carries_along_is_no_motion_of_its_own(kind):
    snap = some(kind, tilted=True)
    snaps = [sheared(snap, 0.7 * k, 0.5 * k) for k in range(6)]
    run: Any = ShapedRun(snaps)
    found = mean_square_displacement(run)
    assert found.square == pytest.approx(np.zeros(3), abs=1e-12)
    for later in snaps[1:]:
        apart = non_affine(snap, later)
        assert apart.d2min == pytest.approx(np.zeros(snap.n), abs=1e-12)
        assert apart.deformation[:, 0, 1] == pytest.approx(np.full(snap.n, later.time * 1.4))


def test_a_cell_that_shears_gives_its_rate_and_no_temperature():
    snap = some("disks", tilted=True)
    snap.state.velocity[: snap.n] = 0.0
    snap.state.velocity[-1], snap.state.spin[-1] = 0.0, 0.4
    found = hg.measure.fields(snap, cells=(1, 7))
    assert found.gradient[0, 1] == pytest.approx(np.full((1, 7), 0.4), rel=0.05)
    middle = LOW[2][1] + np.arange(0.5, 7.0)
    assert found.velocity[0, 0] == pytest.approx(0.4 * middle, rel=0.05)
    assert not found.fluctuation.any()
    assert hg.measure.granular_temperature(snap) == 0.0
    assert hg.measure.kinetic_energy(replace(snap, model=held(snap.model))) == 0.0


def held(model: Model) -> Model:
    """The model with a cell whose motion is prescribed, which has no energy."""
    mass, inertia = model.inv_mass.copy(), model.inv_inertia.copy()
    mass[-1], inertia[-1] = 0.0, 0.0
    return replace(model, inv_mass=mass, inv_inertia=inertia)


def test_the_load_of_the_cell_is_its_stress_times_its_volume():
    snap = some("spheres", tilted=True)
    force, torque = hg.measure.wall_loads(snap)
    sigma = hg.measure.stress_tensor(snap, kinetic=False) * snap.cell.volume
    assert force[-1] == pytest.approx(np.diag(sigma), rel=1e-12)
    assert torque[-1] == pytest.approx(sigma[[1, 0, 0], [2, 2, 1]], rel=1e-12)
    assert not measure(snap, "wall-force").wall.size


# ---------------------------------------------------------------------- files
def written(path: Any, snaps: list[Snapshot]) -> None:
    model, dim = snaps[0].model, snaps[0].dim
    arrays = {name: getattr(model, name) for name in MODEL}
    header = {"scenario": ShapedRun(snaps).header["scenario"]}
    with RunWriter.create(
        path, header=header, model=arrays, columns=("time",), wall_names=model.wall_names,
        cell=True,
    ) as writer:  # fmt: skip
        for snap in snaps:
            s, none = (
                snap.state,
                StepRows(np.zeros((0, 1)), np.zeros((0, 1, dim)), np.zeros((0, 1))),
            )
            bodies = s.position, s.orientation, s.velocity, s.spin
            load = np.ones((1, dim)), np.ones((1, s.spin.shape[1]))
            writer.append(Record(s.step, s.time, *bodies, *load, {}, cell=s.cell), none, s.contacts)


@pytest.mark.parametrize("kind", ["disks", "spheres"])
def test_run_files_keep_the_cell_of_each_frame(kind, tmp_path):
    snap = some(kind, tilted=True)
    snaps = [sheared(snap, 0.7 * k, 0.5 * k) for k in range(3)]
    written(tmp_path / "run.h5", snaps)
    with RunFile(tmp_path / "run.h5") as run:
        for k, known in enumerate(snaps):
            assert run[k].cell.tobytes() == known.state.cell.tobytes()
            found = hg.measure.Snapshot(
                known.model, run[k].state(run.contacts(k)), 0.01, LOW[known.dim]
            )
            assert found.cell.numbers.tobytes() == known.cell.numbers.tobytes()
        assert run.checkpoint(2).record.cell.tobytes() == snaps[2].state.cell.tobytes()
    writer, checkpoint = RunWriter.resume(tmp_path / "run.h5")
    writer.close()
    assert checkpoint.record.cell.tobytes() == snaps[2].state.cell.tobytes()


def test_the_cell_is_no_body_that_is_followed(tmp_path):
    snap = some("disks", tilted=True)
    written(tmp_path / "run.h5", [snap])
    with RunFile(tmp_path / "run.h5") as run, pytest.raises(InputError, match="RUN cell"):
        track(run, "cell")
    with pytest.raises(InputError, match="name of a wall: none"):
        Track(["cell"], snap.model)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda h5: h5.__delitem__("frames/cell"), "frames/cell is missing"),
        (lambda h5: h5["frames/cell"].__setitem__((0, 2), 0.0), "wrong checksum"),
    ],
)
def test_a_cell_that_is_not_what_was_written_is_noticed(damage, words, tmp_path):
    written(tmp_path / "run.h5", [some("disks", tilted=True)])
    with h5py.File(tmp_path / "run.h5", "r+") as h5:
        damage(h5)
    with pytest.raises(InputError, match=words), RunFile(tmp_path / "run.h5") as run:
        run[0]


def exported(kind: str, path: Any, snap: Snapshot) -> None:
    from hardgrain.io import gsdfile, lammps, vtkhdf, xyz

    writers = {
        "gsd": gsdfile.GsdFile, "dump": lammps.LammpsDump, "xyz": xyz.ExtendedXyz,
        "vtkhdf": vtkhdf.VtkHdf,
    }  # fmt: skip
    writer: Any = writers[kind](path, ShapedRun([snap]))
    for moment in (snap, sheared(snap, 0.1, 1.0)):
        writer.append(moment)
    writer.close()


@pytest.mark.parametrize("name", ["gsd", "dump", "xyz"])
@pytest.mark.parametrize("kind", ["disks", "spheres"])
def test_exports_give_cell_and_places_back(kind, name, tmp_path):
    from hardgrain.io.packings import read_cell, read_grains, read_packing

    snap = some(kind, tilted=True)
    path = tmp_path / f"a.{name}"
    exported(name, path, snap)
    for frame, moment in enumerate((snap, sheared(snap, 0.1, 1.0))):
        with pytest.raises(hg.InputError, match="tilted cell, which grains alone do not tell"):
            read_packing(path, frame, snap.dim)
        grains = read_grains(path, frame, snap.dim)
        close = 1e-5 if name == "gsd" else 1e-12
        assert grains.position == pytest.approx(moment.position, abs=close)
        found = read_cell(path, frame, snap.dim)
        assert found == pytest.approx(moment.cell.numbers, abs=1e-12)


def test_gsd_has_the_box_of_hoomd(tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    snap = some("spheres", tilted=True)
    exported("gsd", tmp_path / "a.gsd", snap)
    with hoomd.open(tmp_path / "a.gsd", "r") as file:
        first, second = file[0], file[1]
    h = snap.cell.matrix
    tilts = h[0, 1] / h[1, 1], h[0, 2] / h[2, 2], h[1, 2] / h[2, 2]
    assert first.configuration.box == pytest.approx([*np.diag(h), *tilts], rel=1e-6)
    for frame, moment in ((first, snap), (second, sheared(snap, 0.1, 1.0))):
        share = np.linalg.solve(moment.cell.matrix, frame.particles.position.astype(float).T)
        assert (np.abs(share) < 0.5 + 1e-6).all()


def test_lammps_has_the_bounds_of_a_triclinic_box(tmp_path):
    snap = some("spheres", tilted=True)
    exported("dump", tmp_path / "a.dump", snap)
    lines = (tmp_path / "a.dump").read_text().splitlines()
    at = lines.index("ITEM: BOX BOUNDS xy xz yz pp pp pp")
    bounds = np.array([line.split() for line in lines[at + 1 : at + 4]], float)
    corners = np.array([snap.low + snap.cell.matrix @ k for k in np.ndindex(2, 2, 2)])
    assert bounds[:, 0] == pytest.approx(corners.min(axis=0), abs=1e-12)
    assert bounds[:, 1] == pytest.approx(corners.max(axis=0), abs=1e-12)
    assert bounds[:, 2] == pytest.approx(snap.cell.numbers[[5, 4, 3]])


def test_xyz_has_the_vectors_one_after_the_other(tmp_path):
    snap = some("disks", tilted=True)
    exported("xyz", tmp_path / "a.xyz", snap)
    head = (tmp_path / "a.xyz").read_text().splitlines()[1]
    lattice = np.array(head.split('"')[1].split(), float).reshape(3, 3)
    assert lattice[:2, :2] == pytest.approx(snap.cell.matrix.T)
    assert 'pbc="T T F"' in head


def test_vtkhdf_has_the_edges_of_the_cell_and_no_walls(tmp_path):
    snap = some("spheres", tilted=True)
    exported("vtkhdf", tmp_path / "a.vtkhdf", snap)
    assert not (tmp_path / "a-walls.vtkhdf").exists()
    with h5py.File(tmp_path / "a-cell.vtkhdf") as h5:
        points = h5["VTKHDF/Points"][:]
        assert h5["VTKHDF/Lines/NumberOfCells"][0] == 12
    corners = np.array([snap.low + snap.cell.matrix @ k for k in np.ndindex(2, 2, 2)])
    first = np.unique(np.round(points[:24].astype(float), 4), axis=0)
    assert first == pytest.approx(np.unique(np.round(corners, 4), axis=0), abs=2e-4)


# ---------------------------------------------------------------------- starts
def test_a_run_begins_with_the_cell_of_a_packing(tmp_path):
    snap = some("disks", tilted=True)
    exported("xyz", tmp_path / "a.xyz", snap)
    scene = {
        "periodic": {"x": (-1.0, 7.0), "y": (0.5, 7.5)},
        "cell": {"kind": "mixed", "xy": {"rate": 0.1}},
        "grains": [{}], "allow_overlaps": True,
    }  # fmt: skip
    start = {"file": str(tmp_path / "a.xyz"), "frame": 0}
    scenario = {"dt": 0.01, "scene": scene, "start": start}
    sim = hg.Simulation(hg.Scenario.model_validate(scenario))
    assert sim.state.cell == pytest.approx(snap.cell.numbers, abs=1e-12)
    del scene["cell"]
    with pytest.raises(InputError, match="must deform"):
        hg.Simulation(hg.Scenario.model_validate(scenario))


# ---------------------------------------------------------------------- pictures
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_has_the_cell_and_all_that_crosses_its_faces(kind, tmp_path):
    from hardgrain.show import plane
    from hardgrain.show.network import draw_network

    snap = some(kind, tilted=True)
    draw_network(snap, path=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    seen, keep = plane.see(snap), list(plane.plane_of(snap))
    shapes = plane.walls(snap, seen.low, seen.high)
    ends = np.array([shape for shape in shapes if isinstance(shape, np.ndarray)])
    assert (ends.min(axis=(0, 1)) >= seen.low).all()
    assert (ends.max(axis=(0, 1)) <= seen.high).all()
    assert len(shapes) == (4 if snap.dim == 2 else 12)
    # every image that reaches into the cell is drawn, and no grain twice at the same place
    drawn = {(int(i), *np.round(x, 6)) for i, x in zip(seen.grain, seen.center)}
    turns = itertools.product((-1, 0, 1), repeat=snap.dim)
    for shift in (snap.cell.matrix @ k for k in turns):
        x = snap.wrapped + shift
        share = snap.cell.fractions(x - snap.low)
        middle = ((share > 0.0) & (share < 1.0)).all(axis=1)
        assert {(int(i), *np.round(x[i, keep], 6)) for i in np.flatnonzero(middle)} <= drawn
    if kind == "disks":
        assert len(drawn) == len(seen.grain)
    straight = some(kind, tilted=False)
    around = {(int(i), *np.round(x, 6)) for i, x in zip(*_drawn(plane.see(straight)))}
    wrapped = straight.wrapped[:, keep]
    assert {(i, *np.round(x, 6)) for i, x in enumerate(wrapped)} <= around


def _drawn(seen: Any) -> tuple[Any, Any]:
    return seen.grain, seen.center
