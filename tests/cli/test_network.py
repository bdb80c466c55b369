"""The picture of the force network shows every grain, wall and force where it is."""

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.snapshot import snapshot
from hardgrain.show.network import draw_network
from hardgrain.show.plane import PlaneView, force_lines, see


def settled(**scene):
    sim = hg.Simulation(hg.Scene(**scene), dt=0.05, solver=hg.GaussSeidel(sweeps=100))
    sim.run(40)
    return sim


def seen(sim) -> PlaneView:
    snap = snapshot(sim)
    return see(snap, force_lines(snap))


def test_forces_of_a_stack_are_the_weights_above():
    sim = settled(
        gravity=[0, -1],
        grains=[hg.Grains(diameter=[1.0, 1.0], place=hg.At(positions=[[0, 0.5], [0, 1.5]]))],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1])],
    )
    view = seen(sim)
    weight = np.pi / 4
    np.testing.assert_allclose(view.force, [weight, 2 * weight], rtol=1e-9)  # weakest first
    np.testing.assert_allclose(view.lines[0], [[0, 0.5], [0, 1.5]], atol=1e-9)
    np.testing.assert_allclose(view.lines[1], [[0, 0.5], [0, 0.0]], atol=1e-9)
    figure = draw_network(sim)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "x [length]"
    assert axes.get_aspect() == 1.0


def test_what_crosses_a_period_is_drawn_on_both_sides():
    sim = settled(
        periodic={"x": (0.0, 8.0)},
        gravity=[0, -1],
        grains=[hg.Grains(diameter=1.0, place=hg.At(positions=[[-0.25, 0.5], [4, 0.5]]))],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1])],
    )
    view = seen(sim)
    assert (view.low[0], view.high[0]) == (0.0, 8.0)
    np.testing.assert_allclose(np.sort(view.center[:, 0]), [-0.25, 4.0, 7.75])


def test_forces_between_images():
    third = 8.0 / 3.0
    row = [[k * third, 0.0] for k in range(3)]
    sim = hg.Simulation(
        hg.Scene(
            periodic={"x": (0.0, 8.0)},
            grains=[hg.Grains(diameter=third, place=hg.At(positions=row))],
            allow_overlaps=True,
        ),
        dt=0.1,
    )
    sim.state.velocity[:, 0] = [1.0, 0.0, -1.0]
    sim.step()
    view = seen(sim)
    length = np.linalg.norm(view.lines[:, 1] - view.lines[:, 0], axis=1)
    np.testing.assert_allclose(length, third, rtol=1e-9)  # none runs across the whole picture


@pytest.mark.parametrize("name", ["a.png", "a.pdf", "a.svg"])
def test_saved_in_3d_with_all_walls(tmp_path, name):
    sim = settled(
        dimension=3,
        gravity=[0, 0, -1],
        grains=[hg.Grains(count=20, place=hg.Loose(min=[-2, -2, -2], max=[2, 2, 2]))],
        walls=[hg.Drum(center=[0, 0, 0], radius=4, length=5)],
    )
    draw_network(sim, path=tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5_000


def test_no_contacts_no_colour_bar():
    sim = hg.Simulation(
        hg.Scene(grains=[hg.Grains(diameter=1.0, place=hg.At(positions=[[0, 0]]))]), dt=0.1
    )
    assert len(draw_network(sim).axes) == 1


def test_frame_without_contacts_is_refused(tmp_path, scenario):
    loaded = hg.load(scenario)
    loaded = loaded.model_copy(update={"output": type(loaded.output)(every=10, contacts_every=2)})
    hg.Simulation(loaded).run(output=tmp_path / "a.h5")
    with pytest.raises(hg.InputError, match=r"frame is 1, a frame of .* without contacts"):
        draw_network(tmp_path / "a.h5", frame=1)
