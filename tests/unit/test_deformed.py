"""Stress in grains that deform: uniform stretches, rotations, energy, and the forces on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.deformation import Deformation
from hardgrain.errors import InputError
from hardgrain.measure import measure, packing_fraction
from hardgrain.measure.deformed import von_mises
from hardgrain.measure.inner_stress import element_stress
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.measure.stress import grain_stress
from hardgrain.scene.grain_shape import frames
from hardgrain.step.elastic_forms import stiffness_of

ROUNDING = 1e-12  # of sums and products of a few hundred numbers of the order of one


def made(dim: int, **elastic: object) -> hg.Simulation:
    """An elastic grain and a rigid one, apart from each other."""
    soft = {"young": 1000.0, "poisson": 0.3, "elements": 3} | elastic
    places = ([[0.0] * dim], [[3.0] + [0.0] * (dim - 1)])
    grains = [
        {"diameter": 2.0, "elastic": soft, "place": {"kind": "at", "positions": places[0]}},
        {"diameter": 1.0, "place": {"kind": "at", "positions": places[1]}},
    ]
    return hg.Simulation(hg.Scene(dimension=dim, grains=grains), dt=0.01)


def deformed(dim: int, gradient: np.ndarray, turn: float) -> Snapshot:
    """The same with displacements u = A X along its own axes, turned about z in space."""
    snap = snapshot(made(dim))
    state, elastic = snap.state, snap.model.elastic
    assert elastic is not None
    u = elastic.forms[0].node @ gradient.T
    state.orientation[0] = [turn] if dim == 2 else [0.0, 0.0, np.sin(turn / 2), np.cos(turn / 2)]
    return replace(
        snap, state=replace(state, deformation=Deformation(elastic.nodes, u, np.zeros_like(u)))
    )


@pytest.mark.parametrize("dim", [2, 3])
def test_a_uniform_stretch_has_the_stress_of_hooke(dim: int) -> None:
    rng = np.random.default_rng(1)
    a, turn = 0.01 * rng.standard_normal((dim, dim)), 0.7
    mesh = element_stress(deformed(dim, a, turn))
    young, poisson = 1000.0, 0.3
    first, second = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / 2 / (1 + poisson)
    strain = np.zeros((3, 3))
    strain[:dim, :dim] = 0.5 * (a + a.T)  # plane strain: none across the plane
    own = first * np.trace(strain) * np.eye(3) + 2.0 * second * strain
    axes = frames(np.array([[turn]]))[0]
    expected = -axes @ own @ axes.T  # compression is positive
    scale = young * ROUNDING
    assert np.abs(mesh.stress - expected).max() < scale
    assert np.abs(mesh.pressure - np.trace(expected[:dim, :dim]) / dim).max() < scale
    assert np.abs(mesh.energy - 0.5 * np.sum(own * strain)).max() < scale
    # von Mises by its other formula, of differences of principal stresses
    p, q, r = np.linalg.eigvalsh(expected)
    mises = np.sqrt(0.5 * ((p - q) ** 2 + (q - r) ** 2 + (r - p) ** 2))
    assert np.abs(mesh.von_mises - mises).max() < scale
    assert von_mises(np.eye(3)) < ROUNDING


@pytest.mark.parametrize("dim", [2, 3])
def test_a_grain_that_only_turned_bears_no_stress(dim: int) -> None:
    snap = deformed(dim, np.zeros((dim, dim)), 1.1)
    snap.state.spin[0, -1], snap.state.velocity[0, 0] = 2.0, 0.5
    mesh = element_stress(snap)
    form = snap.model.elastic.forms[0]  # type: ignore[union-attr]
    axes = frames(np.array([[1.1]]))[0][:dim, :dim]
    assert not mesh.stress.any()
    assert not mesh.energy.any()
    assert np.abs(mesh.offset - form.node @ axes.T).max() < ROUNDING
    # v + ω × x, written out
    x = mesh.offset
    assert np.abs(mesh.velocity[:, 0] - (0.5 - 2.0 * x[:, 1])).max() < ROUNDING
    assert np.abs(mesh.velocity[:, 1] - 2.0 * x[:, 0]).max() < ROUNDING


@pytest.mark.parametrize("dim", [2, 3])
def test_energy_of_elements_is_that_of_the_stiffness_matrix(dim: int) -> None:
    snap = deformed(dim, np.zeros((dim, dim)), 0.3)
    form = snap.model.elastic.forms[0]  # type: ignore[union-attr]
    u = 0.01 * np.random.default_rng(2).standard_normal(form.node.shape)
    nodes = snap.state.deformation.nodes  # type: ignore[union-attr]
    state = replace(snap.state, deformation=Deformation(nodes, u, 0.0 * u))
    mesh = element_stress(replace(snap, state=state))
    whole = 0.5 * u.ravel() @ (stiffness_of(form) @ u.ravel())
    assert mesh.of_grains(mesh.at_rest * mesh.energy, 2)[0] == pytest.approx(whole, rel=1e-10)
    # every facet belongs to an element that has all of its nodes
    assert all(set(f) < set(mesh.element[e]) for f, e in zip(mesh.facet, mesh.beneath))


def test_sizes_are_those_of_the_deformed() -> None:
    stretch = np.diag([0.2, -0.1])
    snap = deformed(2, stretch, 0.0)
    still = deformed(2, 0.0 * stretch, 0.0)
    grown = np.linalg.det(np.eye(2) + stretch)
    assert snap.volume[0] == pytest.approx(grown * still.volume[0], rel=ROUNDING)
    assert snap.volume[1] == pytest.approx(np.pi * 0.25, rel=ROUNDING)  # the rigid one
    _, above = snap.spans
    assert above[0, 0] == pytest.approx(1.2)  # a node of a disk lies on its x axis
    assert above[1].tolist() == [0.5, 0.5]
    assert snap.reach(np.array([1.0, 0.0])) == pytest.approx([1.2, 0.5])
    assert snap.bound == pytest.approx([1.2, 0.5])
    # half of it lies to the right of its centre, and the region cuts elements
    half = [[0.0, -1.0], [1.25, 1.0]]
    share = packing_fraction(snap, region=half)
    assert share == pytest.approx(0.5 * snap.volume[0] / 2.5, rel=1e-9)
    assert packing_fraction(snap, region=[[0.0, -2.0], [4.0, 2.0]]) == pytest.approx(
        (0.5 * snap.volume[0] + snap.volume[1]) / 16.0, rel=1e-9
    )


def pressed(dim: int) -> tuple[hg.Simulation, Snapshot, Snapshot]:
    """An elastic disk or ball under a piston, when it has come to rest; and a step before."""
    top = 2.2
    box = {"kind": "box", "min": [-3.0] * (dim - 1) + [0.0], "max": [3.0] * (dim - 1) + [top]}
    grain = {
        "diameter": 2.0, "place": {"kind": "at", "positions": [[0.0] * (dim - 1) + [1.02]]},
        "elastic": {"young": 1000.0, "elements": 3, "damping": {"mass": 2.0, "stiffness": 0.02}},
    }  # fmt: skip
    scene = hg.Scene(
        dimension=dim, grains=[grain], walls=[box | {"pistons": {"top": {"mass": 5, "force": 40}}}],
        gravity=[0.0] * (dim - 1) + [-1.0], contacts=[{"friction": 0.4}],
    )  # fmt: skip
    sim = hg.Simulation(scene, dt=0.02)
    for _ in range(1500):
        sim.step()
    before = snapshot(sim)
    before = replace(before, state=before.state.copy())
    sim.step()
    return sim, before, snapshot(sim)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_mean_stress_of_a_grain_is_what_contacts_do_to_it(dim: int) -> None:
    """Σ V σ = Σ F ⊗ X over contacts of a grain at rest, but for its inertia."""
    _, before, snap = pressed(dim)
    mesh, elastic = element_stress(snap), snap.model.elastic
    assert elastic is not None
    form, dt = elastic.forms[0], snap.dt
    axes = frames(snap.state.orientation[:1])[0][:dim, :dim]
    within = mesh.stress[:, :dim, :dim]
    total = np.einsum("e,eab->ab", mesh.at_rest, within)
    c, force = snap.contacts, snap.force
    assert (c.first == 0).all()
    assert len(c) >= 2
    expected = np.einsum("ka,kb->ab", force, form.node[c.feature] @ axes.T)
    # Its antisymmetric part is a torque, with arms as they were at rest, which turns the grain.
    expected = 0.5 * (expected + expected.T)
    # What is left of M dw/dt + C w + K dt w, node by node with the lever of each, bounds how far
    # K u is from the forces of the last step, and so does the weight's share of rounding.
    now, then = snap.state.deformation, before.state.deformation
    assert now is not None
    assert then is not None
    k, w = stiffness_of(form), now.rate.ravel()
    alpha, beta = form.damping
    mass = np.repeat(form.mass, dim)
    left = np.abs(mass * (now.rate - then.rate).ravel()) / dt + np.abs(alpha * mass * w)
    left += (beta + dt) * np.abs(k @ w)
    lever = np.linalg.norm(form.node, axis=1)
    bound = 2.0 * (left.reshape(-1, dim) * lever[:, None]).sum() + 1e-9 * np.abs(expected).max()
    assert bound < 1e-4 * np.abs(expected).max()  # it is at rest, so that the test says something
    assert np.abs(total - expected).max() < bound
    # the piston's 40 and its weight of 5 press at a distance of nearly 2, and on the floor those
    # of the grain as well
    assert 80.0 < expected[-1, -1] < 2.0 * (45.0 + snap.mass[0])

    # The stress by contacts takes arms to where contacts are now, and volumes as they are now:
    # both differ from those at rest by a strain.
    strain = np.abs(now.displacement).max()
    mean = total / mesh.at_rest.sum()
    assert np.abs(grain_stress(snap)[0] - mean).max() < 3.0 * dim * strain * np.abs(mean).max()


def test_labelled_data_and_the_refusal_of_rigid_grains() -> None:
    data = measure(deformed(2, np.diag([0.01, 0.0]), 0.0), "element-stress")
    assert data.von_mises.dims == ("time", "element")
    assert set(np.unique(data.grain)) == {0}
    assert float(data.volume.sum()) == pytest.approx(float(np.sin(np.pi / 9) * 9))  # an 18-gon
    rigid = hg.Scene(dimension=2, grains=[{"place": {"kind": "at", "positions": [[0, 0]]}}])
    with pytest.raises(InputError, match="no grain of this run deforms"):
        measure(hg.Simulation(rigid, dt=0.1), "element-stress")


def test_what_counts_rigid_grains_alone_is_refused() -> None:
    snap = deformed(2, np.diag([0.01, 0.0]), 0.0)
    for name in ("isostaticity", "dissipation", "contact-dissipation"):
        with pytest.raises(InputError, match="grains of this run deform"):
            measure(snap, name)
    mesh = element_stress(snap)
    strain = float(measure(snap, "energy").strain[0])
    assert strain == pytest.approx(float(mesh.at_rest @ mesh.energy))
