"""Deformable grains in scenarios and files: what is refused, kept, resumed, drawn and exported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.io import fclib
from hardgrain.measure.resultants import resultants
from hardgrain.run.scenario import parse
from hardgrain.solve.matrices import LocalForm, coulomb_residual

ELASTIC = {"young": 100.0, "poisson": 0.3, "elements": 3}


def scenario(dim: int = 2, **changes: Any) -> dict[str, Any]:
    """Soft grains and a rigid one in a box."""
    low, high = [0.0] * dim, [3.2] * dim
    soft: dict[str, Any] = {
        "count": 4, "elastic": dict(ELASTIC), "speed": 1.0,
        "place": {"kind": "grid", "min": [0.05] * dim, "max": [2.4] * dim},
    }  # fmt: skip
    ball = {"count": 1, "diameter": 0.6, "place": {"kind": "at", "positions": [[2.8] * dim]}}
    return {
        "dt": 0.01,
        "seed": 3,
        "scene": {
            "dimension": dim, "gravity": [0.0] * (dim - 1) + [-1.0], "grains": [soft, ball],
            "walls": [{"kind": "box", "min": low, "max": high}], "contacts": [{"friction": 0.3}],
        },
        "stop": {"steps": 120},
    } | changes  # fmt: skip


def refused(data: dict[str, Any]) -> str:
    """The sentence with which a scenario is refused."""
    with pytest.raises(InputError) as error:
        hg.Simulation(parse(data))
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("poisson", 0.5, "poisson"),
        ("poisson", -1.0, "poisson"),
        ("young", 0.0, "young"),
        ("elements", 0, "elements"),
        ("damping", {"mass": -1.0}, "damping.mass"),
    ],
)
def test_bad_moduli_are_refused(field: str, value: Any, words: str) -> None:
    data = scenario()
    data["scene"]["grains"][0]["elastic"][field] = value
    assert f"scene.grains[0].elastic.{words}" in refused(data)


def test_a_missing_modulus_is_named() -> None:
    data = scenario()
    del data["scene"]["grains"][0]["elastic"]["young"]
    assert "scene.grains[0].elastic.young" in refused(data)


@pytest.mark.parametrize("theta", [0.4, 1.1])
def test_theta_has_a_range(theta: float) -> None:
    data = scenario(engine={"kind": "contact-dynamics", "theta": theta})
    assert "theta" in refused(data)


def test_theta_goes_with_elastic_grains() -> None:
    data = scenario(engine={"kind": "contact-dynamics", "theta": 0.6})
    del data["scene"]["grains"][0]["elastic"]
    assert "no grains are elastic" in refused(data)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("contacts", [{"restitution": 0.5}], "restitution"),
        ("contacts", [{"cohesion": 1.0}], "cohesion"),
        ("contacts", [{"friction": 0.3, "friction_dynamic": 0.2}], "friction_dynamic"),
        ("walls", [{"kind": "segment", "start": [0, 0], "end": [3, 0]}], "edges"),
    ],
)
def test_what_is_not_carried_is_named(place: str, value: Any, words: str) -> None:
    data = scenario()
    data["scene"][place] = value
    assert words in refused(data)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("shape", "capsule", "capsule"),
        ("shape", {"kind": "polygon", "sides": 5, "rounding": 0.2}, "rounding"),
        ("insert", {"rate": 1.0}, "insert"),
        ("inertia", 0.4, "inertia"),
    ],
)
def test_what_does_not_go_with_elastic_is_named(field: str, value: Any, words: str) -> None:
    data = scenario()
    data["scene"]["grains"][0][field] = value
    assert words in refused(data)


def test_rigid_shapes_beside_elastic_grains_are_refused() -> None:
    data = scenario()
    data["scene"]["grains"][1]["shape"] = "square"
    assert "has a shape and is rigid" in refused(data)


def test_other_engines_are_refused() -> None:
    data = scenario(engine={"kind": "soft-particles", "stiffness": 1e4, "substeps": 100})
    assert "contact-dynamics" in refused(data)


# ---------------------------------------------------------------------- runs and files
@pytest.fixture(scope="module", params=[2, 3])
def run(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("elastic") / "run.h5"
    hg.Simulation(parse(scenario(request.param, output={"every": 40}))).run(
        output=path, progress=False
    )
    return path


def test_a_resumed_run_has_the_same_bits(run: Path, tmp_path: Path) -> None:
    with hg.RunFile(run) as file:
        dim = file.model["inv_mass"].shape[1]
        whole, contacts = file[-1].record, file.contacts(-1)
    part = tmp_path / "part.h5"
    hg.Simulation(parse(scenario(dim, output={"every": 40}))).run(80, output=part, progress=False)
    again, _ = hg.Simulation.resume(part, 120, progress=False)
    now = again.state.deformation
    assert now is not None
    assert np.abs(now.displacement).max() > 1e-4
    assert np.array_equal(now.displacement, whole.displacement)
    assert np.array_equal(now.rate, whole.rate)
    for name in ("position", "velocity", "spin", "orientation"):
        assert np.array_equal(getattr(again.state, name), getattr(whole, name))
    assert contacts is not None
    assert np.array_equal(again.state.contacts.impulse, contacts.impulse)


def test_the_order_of_grains_does_not_matter() -> None:
    def end(order: list[int] | None) -> np.ndarray:
        fine = {"kind": "gauss-seidel", "stop": "residual", "tolerance": 1e-10, "sweeps": 50_000}
        data = scenario(solver=fine)
        data["scene"]["contacts"] = [{"friction": 0.0}]  # velocities are unique without friction
        sim = hg.Simulation(parse(data))
        if order is not None:
            sim.sort(order)
        for _ in range(60):
            sim.step()
        return sim.exchange.whole(sim.model, sim.state).position

    # sums in another order, and the solver's tolerance
    assert end([4, 2, 0, 3, 1]) == pytest.approx(end(None), abs=1e-7)


def test_points_of_two_grains_are_one_contact(run: Path) -> None:
    with hg.RunFile(run) as file:
        found = resultants(file)
    pairs = {*zip(found.first.tolist(), found.second.tolist(), strict=True)}
    assert len(pairs) == found.first.size > 0
    assert np.linalg.norm(found.normal, axis=1) == pytest.approx(1.0)


def test_a_picture_shows_stress(run: Path, tmp_path: Path) -> None:
    hg.draw_network(run, path=tmp_path / "a.png", colour="stress")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_stress_is_no_colour_of_rigid_grains() -> None:
    data = scenario()
    del data["scene"]["grains"][0]["elastic"]
    with pytest.raises(InputError, match="no grain of the run deforms"):
        hg.draw_network(hg.Simulation(parse(data)), colour="stress", lines="none")


def test_a_step_is_a_problem_of_fclib(run: Path, tmp_path: Path) -> None:
    from hardgrain.cli.fclib_step import problem_of_step

    form, about = problem_of_step(run, 119)
    assert isinstance(form, LocalForm)
    assert form.contacts > 0
    fclib.write(tmp_path / "a.hdf5", form, info=about)
    again = fclib.read(tmp_path / "a.hdf5")
    w = form.delassus.toarray()
    assert w == pytest.approx(w.T, abs=1e-12 * np.abs(w).max())
    assert np.linalg.eigvalsh(w).min() > -1e-12 * np.abs(w).max()
    solution = hg.RigidSolver(tolerance=1e-8).solve(again, seed=0, step=0)
    assert coulomb_residual(again, solution.r) < 1e-6


# ---------------------------------------------------------------------- meshes from files
SQUARE = """$MeshFormat
2.2 0 8
$EndMeshFormat
$Nodes
5
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
9 0.5 0.5 0
$EndNodes
$Elements
5
1 15 2 0 1 1
2 2 2 0 1 1 2 9
3 2 2 0 1 2 3 9
4 2 2 0 1 3 4 9
5 2 2 0 1 4 1 9
$EndElements
"""
NEWER = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Nodes
1 5 1 9
2 1 0 5
1
2
3
4
9
0 0 0
1 0 0
1 1 0
0 1 0
0.5 0.5 0
$EndNodes
$Elements
1 4 1 4
2 1 2 4
1 1 2 9
2 2 3 9
3 3 4 9
4 4 1 9
$EndElements
"""


def from_file(path: Path) -> dict[str, Any]:
    data = scenario()
    elastic = {"young": 100.0, "file": str(path)}
    at = {"kind": "at", "positions": [[1.0, 0.5]]}
    data["scene"]["grains"] = [{"count": 1, "elastic": elastic, "place": at}]
    return data


@pytest.mark.parametrize("text", [SQUARE, NEWER])
def test_a_mesh_of_gmsh_is_a_grain(text: str, tmp_path: Path) -> None:
    path = tmp_path / "square.msh"
    path.write_text(text)
    sim = hg.Simulation(parse(from_file(path)))
    assert sim.model.elastic is not None
    form = sim.model.elastic.forms[0]
    assert len(form.node) == 5
    assert form.surface == 4
    assert sim.model.mass[0] == pytest.approx(1.0)
    assert form.mass @ form.node == pytest.approx(0.0, abs=1e-15)
    path.unlink()  # the run keeps the mesh
    sim.run(5, output=tmp_path / "run.h5", progress=False)
    again, _ = hg.Simulation.resume(tmp_path / "run.h5", 6, progress=False)
    assert again.model.elastic is not None
    assert np.array_equal(again.model.elastic.forms[0].node, form.node)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("3 2 2 0 1 2 3 9", "3 2 2 0 1 3 2 9", "turned inside out"),
        ("$Elements\n5", "$Elements\n4", "convex hull"),
        ("9 0.5 0.5 0", "8 0.5 0.5 0", "nodes that are not there"),
        ("2.2 0 8", "1.0 0 8", "2.2 or 4.1"),
        (" 2 2 0 1 ", " 1 2 0 1 ", "no triangles"),
    ],
)
def test_bad_meshes_are_refused_in_a_sentence(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.msh"
    path.write_text(SQUARE.replace(old, new))
    assert words in refused(from_file(path))


def test_a_mesh_in_pieces_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.msh"
    text = SQUARE.replace("$Nodes\n5\n", "$Nodes\n8\n6 5 0 0\n7 6 0 0\n8 5 1 0\n")
    path.write_text(text.replace("$Elements\n5\n", "$Elements\n6\n6 2 2 0 1 6 7 8\n"))
    assert "2 pieces" in refused(from_file(path))


@pytest.mark.parametrize("ending", ["vtk", "vtu", "inp"])
def test_other_files_are_read_by_meshio(ending: str, tmp_path: Path) -> None:
    corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    triangles = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    path = tmp_path / f"square.{ending}"
    meshio.Mesh(corners, [("triangle", triangles)]).write(path)
    sim = hg.Simulation(parse(from_file(path)))
    assert sim.model.elastic is not None
    assert len(sim.model.elastic.forms[0].node) == 5
    assert sim.model.mass[0] == pytest.approx(1.0)
    path.write_text("nonsense")
    assert "meshio cannot read" in refused(from_file(path))


def test_without_meshio_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "meshio", None)
    path = tmp_path / "square.vtu"
    path.write_text("<VTKFile/>")
    assert "pip install 'hardgrain[formats]'" in refused(from_file(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "cannot be read" in refused(from_file(tmp_path / "none.msh"))
