"""Pictures show what is there, where it is, in the colour that its value has."""

import json
import re
import sys
import tomllib
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.core.model import Contacts
from hardgrain.io.whole import whole
from hardgrain.measure.catalogue import measure, quantities
from hardgrain.measure.chains import force_chains
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.run.closing import closing_word
from hardgrain.run.scenario import parse, stored_scenario
from hardgrain.show import network, plots, series
from hardgrain.show.colour import (
    GrainField,
    field_map,
    grain_field,
    levels,
    limits,
    name_key,
    paint,
)
from hardgrain.show.data import draw_data
from hardgrain.show.movie import Film, make_movie
from hardgrain.show.network import draw_network
from hardgrain.show.network_look import Look, scale
from hardgrain.show.plane import force_lines, see
from hardgrain.show.player import film_data
from hardgrain.show.report import write_report
from hardgrain.show.style import label, save, symbols
from hardgrain.show.toml import scenario_text

from ..cells import cell_run
from ..elastic import elastic_run

TITLE = "Disks <b>& walls</b>"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A small run at rest: 30 disks in a box."""
    file = tmp_path_factory.mktemp("show") / "box.h5"
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.4)],
        grains=[
            hg.Grains(
                count=30,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Loose(min=[0, 0], max=[6, 12]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[6, 12], open=["top"])],
    )
    scenario = hg.Scenario(title=TITLE, seed=3, dt=0.02, scene=scene, stop={"at_rest": {}})
    hg.Simulation(scenario).run(output=file, every=50, progress=False)
    return file


@pytest.fixture
def run(path):
    with hg.RunFile(path) as file:
        yield file


def pair(tangential=0.0, mu=0.5):
    """Two disks that touch along x, pressed with 2 and sheared, as a snapshot."""
    sim = hg.Simulation(
        hg.Scene(
            contacts=[hg.ContactLaw(friction=mu)],
            grains=[hg.Grains(diameter=2.0, place=hg.At(positions=[[0, 0], [2, 0]]))],
        ),
        dt=0.5,
    )
    impulse = 0.5 * np.array([[2.0, tangential]])
    one = np.array([0], np.int32)
    sim.state.contacts = Contacts(
        one, one + 1, np.array([[1.0, 0.0]]), np.zeros(1), impulse, np.zeros((1, 1))
    )
    return snapshot(sim)


def many(side):
    """Disks on a triangular lattice with contacts and random forces, as a snapshot."""
    sim = hg.Simulation(
        hg.Scene(grains=[hg.Grains(diameter=1.0, place=hg.At(positions=[[0, 0], [2, 0]]))]), dt=0.1
    )
    base, n, rng = snapshot(sim), side * side, np.random.default_rng(1)
    row, column = np.divmod(np.arange(n), side)
    place = np.stack([column + 0.5 * (row % 2), row * np.sqrt(0.75)], axis=1)
    first = np.concatenate([np.flatnonzero(column < side - 1), np.flatnonzero(row < side - 1)])
    second = first + np.repeat([1, side], [n - side, n - side])
    normal = place[second] - place[first]
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    impulse = rng.exponential(1.0, len(first))[:, None] * normal
    contacts = Contacts(
        first.astype(np.int32), second.astype(np.int32), normal, np.zeros(len(first)), impulse,
        np.zeros((len(first), 1)),
    )  # fmt: skip
    grown = {
        name: np.repeat(getattr(base.model, name)[:1], n, axis=0)
        for name in ("radius", "inv_mass", "inv_inertia", "mass", "inertia", "material", "group")
    }
    model = replace(base.model, **grown)
    zero = np.zeros((n, 1))
    state = replace(
        base.state, position=place, velocity=rng.normal(size=(n, 2)), spin=zero,
        orientation=zero, contacts=contacts,
    )  # fmt: skip
    return Snapshot(model, state, 0.1, np.zeros(2))


# ---------------------------------------------------------------------- labels
def test_labels_have_units_in_words_or_symbols() -> None:
    assert label("speed", "length/time") == "speed [length/time]"
    assert label("speed", "length/time", symbols("length: mm; time: s")) == "speed [mm/s]"
    assert label("pressure", "force/length^2", symbols("SI")) == "pressure [N/m²]"
    assert label("time", "time") == "time"
    assert label("time", "time", symbols("SI")) == "time [s]"
    assert label("share", "1") == "share"
    words = symbols("length: mean grain diameter; mass: kg; colour: red")
    assert words == {"length": "mean grain diameter", "mass": "kg"}
    assert label("x", "length", words) == "x [mean grain diameter]"
    assert label("density", "mass/length^2", words) == "density [kg/(mean grain diameter)²]"


def test_a_picture_is_whole_or_not_there(path, tmp_path) -> None:
    figure = draw_network(path)
    for name, match in (("a.xyz", "known kind"), ("no/a.png", "does not exist")):
        with pytest.raises(hg.InputError, match=match):
            save(figure, tmp_path / name)
    save(figure, tmp_path / "a.svg")
    save(draw_network(path), tmp_path / "b.svg")
    assert {p.name for p in tmp_path.iterdir()} == {"a.svg", "b.svg"}
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


# ---------------------------------------------------------------------- fields and lines
@pytest.mark.parametrize("tangential", [1.0, -0.5, 0.0])
def test_friction_has_its_sign_and_limit(tangential) -> None:
    lines = force_lines(pair(tangential), friction=True)
    np.testing.assert_allclose(lines.force, [2.0])
    np.testing.assert_allclose(lines.value, [tangential / (0.5 * 2.0)])


@pytest.mark.parametrize("lines", ["force", "friction"])
@pytest.mark.parametrize("dim", [2, 3])
def test_lines_have_the_colours_of_the_bar(dim, lines) -> None:
    far = [3.0] * dim
    scene = hg.Scene(
        dimension=dim,
        gravity=[0.3] * (dim - 1) + [-1],
        contacts=[hg.ContactLaw(friction=0.9)],
        grains=[hg.Grains(count=9, diameter=0.95, place=hg.Loose(min=[0.0] * dim, max=far))],
        walls=[hg.Box(min=[0.0] * dim, max=far)],
    )
    sim = hg.Simulation(scene, dt=0.05)
    sim.run(100, progress=False)
    snap = snapshot(sim)
    shown = see(snap, force_lines(snap, lines == "friction"))
    figure = draw_network(sim, lines=lines)
    bar = figure.axes[1]._colorbar
    expected = bar.cmap(bar.norm(shown.value))
    assert len(shown.value) > 5
    np.testing.assert_allclose(figure.axes[0].collections[1].get_edgecolor(), expected, atol=0.01)


def test_pressure_of_a_squeezed_disk() -> None:
    # trace of σ = R F / V, half of it in 2D: one contact with F = 2 on a disk of radius 1
    field = grain_field(pair(1.0), "pressure")
    np.testing.assert_allclose(field.value, 2.0 / (2.0 * np.pi))
    assert field.unit == "force/length"


def test_coordination_counts_every_contact(run) -> None:
    snap = snapshot(run)
    loaded = snap.contacts.second[snap.loaded] < snap.n
    assert grain_field(snap, "coordination").value.sum() == 2 * loaded.sum() + (~loaded).sum()


def test_a_measurement_is_a_field_as_well(run) -> None:
    snap = snapshot(run)
    field = grain_field(snap, "voronoi.packing_fraction")
    assert field.value.shape == (30,)
    with pytest.raises(hg.InputError, match="did you mean speed"):
        grain_field(snap, "speeed")
    with pytest.raises(hg.InputError, match="volume, packing_fraction, neighbours"):
        grain_field(snap, "voronoi.nothing")


def test_motion_since_the_frame_before_is_a_field_of_a_run(run) -> None:
    """D²min needs two frames: those of the run; a moment alone has none."""
    field = grain_field(snapshot(run, 3), "d2min", run)
    data = quantities()["d2min"].compute(run, [2, 3])
    np.testing.assert_array_equal(field.value, data.d2min)
    with pytest.raises(hg.InputError, match="no field of grains"):
        grain_field(snapshot(run, 3), "d2min")
    assert "since the frame before" in shown(plots.draw(run, "packing", colour="d2min"))[-1]


def test_chains_and_names_have_a_key(run) -> None:
    """A word for every colour that is there, in that colour; materials by their names."""
    snap, chains = snapshot(run), force_chains(run)
    field = grain_field(snap, "chain")
    assert np.count_nonzero(field.value >= 0) == sum(map(len, chains)) > 0
    key = dict(name_key(field))
    assert set(key) >= {"chain 0", "none"}
    grain = int(chains[0][0])
    np.testing.assert_allclose(paint(field, (0.0, 1.0))[grain], key["chain 0"])
    assert [word for word, _ in name_key(grain_field(snap, "material"), ("glass",))] == ["glass"]
    (legend,) = draw_network(run, colour="set").legends
    assert [text.get_text() for text in legend.get_texts()] == ["set 0"]


def test_lines_are_slim_on_coloured_grains(run) -> None:
    wide, slim = (
        max(draw_network(run, colour=c).axes[0].collections[1].get_linewidths())
        for c in ("plain", "speed")
    )
    assert slim < 0.4 * wide


def test_a_tensor_over_one_axis_is_its_components(run) -> None:
    (axes, *_) = plots.draw(run, "stress-field.stress", options={"grid": [1, 6]}).axes
    assert {t.get_text() for t in axes.get_legend().get_texts()} == {"xx", "xy", "yx", "yy"}


def test_spans_of_colours() -> None:
    value = np.linspace(-1.0, 3.0, 1001)
    for kind, low, high in (("signed", -3, 3), ("size", 0, 3), ("value", -1, 3)):
        span = limits(GrainField(value, "", "", kind), value)
        np.testing.assert_allclose(span, (low, high), atol=0.05)
    assert limits(GrainField(value, "", "", "value"), np.full(5, 2.0)) == (2.0, 3.0)


def test_pixels_have_the_colour_of_the_field(path) -> None:
    with hg.RunFile(path) as file:
        film = Film(file, [len(file) - 1], colour="id", lines="none", size=600)
        image = next(iter(film)).copy()
        snap = snapshot(file)
    axes = film.picture.axes
    x, y = axes.transData.transform(snap.position).round().astype(int).T
    low, high = film.picture.fixed.field
    share = np.clip((np.arange(snap.n) - low) / (high - low), 0.0, 1.0)
    expected = 255.0 * field_map("value")(share)[:, :3]
    assert np.abs(image[film.height - y, x, :3] - expected).max() < 3.0


def test_lines_run_from_centre_to_centre() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw_network(pair())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())
    axes = figure.axes[0]

    def dark(at):
        x, y = axes.transData.transform(at).round().astype(int)
        return image[image.shape[0] - y, x, :3].sum() < 150

    assert [dark((t, 0.0)) for t in (0.1, 1.0, 1.9)] == [True] * 3  # the strongest: nearly black
    assert [dark(at) for at in ((1.0, 0.8), (-0.8, 0.0))] == [False] * 2


def test_the_view_holds_all_and_keeps_its_proportions(run) -> None:
    snap = snapshot(run)
    plane = see(snap, force_lines(snap))
    low, high = plane.low, plane.high
    assert ((snap.position > low) & (snap.position < high)).all()
    axes = draw_network(run).axes[0]
    inches = axes.get_window_extent().size
    np.testing.assert_allclose(inches[1] / inches[0], (high[1] - low[1]) / (high[0] - low[0]))


def test_many_grains_become_pixels_in_vector_files(run, tmp_path, monkeypatch) -> None:
    def pixels(lines):
        draw_network(run, path=tmp_path / "a.svg", lines=lines, colour="set")  # without a bar
        return b"<image" in (tmp_path / "a.svg").read_bytes()

    assert [pixels("none"), pixels("force")] == [False, False]
    monkeypatch.setattr(network, "DRAWN", 10)
    assert [pixels("none"), pixels("force")] == [True, True]


def test_a_hundred_thousand_disks(tmp_path) -> None:
    figure = draw_network(many(317), path=tmp_path / "many.pdf", colour="speed")
    parts = [part for axes in figure.axes for part in axes.get_children()]
    assert len(parts) < 100  # none of its own for a grain or a contact, which would take minutes
    assert (tmp_path / "many.pdf").stat().st_size < 12e6


# ---------------------------------------------------------------------- over time
def test_thinning_keeps_peaks() -> None:
    rng = np.random.default_rng(0)
    time_, value = np.arange(100_003.0), rng.normal(size=100_003)
    value[77_777] = 50.0
    t, y = series._thinned(time_, value)
    assert t.size <= series.MOST + 100
    assert (np.diff(t) >= 0).all()
    assert (y.max(), y.min()) == (value.max(), value.min())
    np.testing.assert_array_equal(y, value[t.astype(int)])


def test_series_are_the_history(run) -> None:
    figure = plots.draw(run, "kinetic", "residual", "force_bottom_y")
    lines = [axes.get_lines()[0] for axes in figure.axes]
    for line, name in zip(lines, ("kinetic", "residual", "force_bottom_y")):
        np.testing.assert_array_equal(line.get_ydata(), run.history[name])
    assert shown(figure)[0] == "kinetic energy [energy]"
    assert figure.axes[-1].get_xlabel() == "time"
    assert figure.axes[0].get_yscale() == "log"


def test_energy_since_the_start_adds_up(run) -> None:
    curves = {c.name: c.value[-1] for c in series.energy(run)[1].curves}
    kinetic, start = run.history["kinetic"][-1], run[0].scalars["kinetic_start"]
    assert abs(start + curves["external work"] - curves["dissipated"] - kinetic) < 1e-9


def shown(figure, empty: int = 0) -> list[str]:
    """Title and upward axis of each panel of a figure; all but a few of them must hold numbers."""
    without = 0
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.axison]
    for axes in panels:
        numbers = np.isfinite(axes.dataLim.get_points()).all()  # the range of what is drawn
        bar = hasattr(axes, "_colorbar")
        grains = 30 in [len(c.get_offsets()) for c in axes.collections]
        without += not (numbers or bar or grains)
        assert without <= empty, axes.get_ylabel()
    told = [f"{axes.get_title(loc='left')} {axes.get_ylabel()}".strip() for axes in panels]
    return [
        words.replace("\n", " ")
        for words, axes in zip(told, panels, strict=True)
        if words or not hasattr(axes, "_colorbar")
    ]


PANELS = {
    "packing": ["y [length]", "normal force [force]"],
    "forces": ["probability density", "slide"],
    "force-chains": ["y [length]"],
    "energy": ["kinetic energy [energy]", "since the start [energy]"],
    "solver": ["residual", "sweeps a step", "contacts", "overlap [length]"],
    "mohr": ["shear stress [force/length]"],
    "rigidity": [
        "length", "slowest mode ω [1/time]", "its damping time τ [time]",
        "sag under the load [length]",
    ],
    "walls": ["force on walls, x [force]", "force on walls, y [force]"],
}  # fmt: skip


@pytest.mark.parametrize("name", plots.PICTURES)
def test_every_picture(run, name) -> None:
    told = shown(plots.draw(run, name))
    assert len(told) == len(PANELS[name])
    assert all(words in found for words, found in zip(PANELS[name], told, strict=True))


NEEDED = {
    "wall-profile": {"wall": "bottom"},
    "flow-rate": {"at": 3.0},
    "track": {"body": "bottom"},
    "strength": {"windows": 3},
    "rheology": {"windows": 3},
}


@pytest.fixture(scope="module")
def cyclic(tmp_path_factory):
    """Disks that are sheared to and fro in a periodic cell."""
    cell = hg.CyclicShear(amplitude=0.1, period=2.0, pressure=1.0)
    return cell_run(tmp_path_factory.mktemp("cyclic") / "cyclic.h5", cell, 4.0)


@pytest.mark.parametrize("name", quantities())
def test_every_measurement_has_a_picture(run, name, tmp_path, request) -> None:
    """With the options that it cannot do without; and it says so if they are left out."""
    needed = NEEDED.get(name, {})
    if name in ("stress-strain", "strength", "rheology", "cycles"):  # a box without lid has none
        run = request.getfixturevalue("cyclic")
    if name == "orientations":  # disks have none
        run = tmp_path / "rods.h5"
        place = hg.Loose(min=[0, 0], max=[12, 12])
        rods = hg.Grains(count=30, shape="capsule", orientation="random", place=place)
        hg.Simulation(hg.Scene(grains=[rods]), dt=0.01).run(1, output=run, progress=False)
    if name == "element-stress":
        with pytest.raises(hg.InputError, match="no grain of this run deforms"):
            plots.draw(run, name)
        run = elastic_run(tmp_path / "soft.h5", steps=20)
    if name == "membrane":
        with pytest.raises(hg.InputError, match="has no membrane"):
            plots.draw(run, name)
        run = tmp_path / "membrane.h5"
        grid = hg.Grains(place=hg.At(positions=[[x, y] for x in range(5) for y in range(5)]))
        scene = hg.Scene(grains=[grid], membrane=hg.Membrane(pressure=1.0))
        hg.Simulation(scene, dt=0.01).run(2, output=run, progress=False)
    figure = plots.draw(run, name, options=needed)
    # a summit beside a wall has one flank only
    assert all(shown(figure, empty=int(name == "surface-angle")))
    for option in needed:
        with pytest.raises(hg.InputError, match=option):
            plots.draw(run, name)


def test_mohr_s_circles_are_drawn_as_measured(cyclic) -> None:
    (axes,) = plots.draw(cyclic, "mohr", frames=[-1, -11]).axes
    with hg.RunFile(cyclic) as run:
        found = measure(run, "mohr", [-1, -11])
    halves = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) > 100]
    for xy, centre, radius in zip(halves, found.centre[:, 0], found.radius[:, 0], strict=True):
        away = np.hypot(xy[:, 0] - float(centre), xy[:, 1])
        np.testing.assert_allclose(away, float(radius))
    slope = float(found.coulomb_angle.max())
    told = [t.get_text() for t in axes.get_legend().get_texts()]
    assert told[-1] == f"friction angle {np.rad2deg(slope):.3g}°"
    (_, _), (x, y) = axes.lines[-1].get_xydata()
    assert y == pytest.approx(x * np.tan(slope))
    many = plots.draw(cyclic, "mohr", frames=range(10, 20)).axes
    assert len(many) == 2  # a scale of time in place of the legend
    with pytest.raises(hg.InputError, match="no stress in these frames"):
        plots.draw(cyclic, "mohr", frames=[0])


# ---------------------------------------------------------------------- labelled data
def test_angles_are_drawn_in_degrees(run) -> None:
    (axes,) = plots.draw(run, "stress.friction_angle").axes
    found = measure(run, "stress").friction_angle
    assert axes.get_ylabel() == "[degree]"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.rad2deg(found))


def test_labelled_data_choose_their_picture() -> None:
    import xarray as xr

    x, y = np.linspace(0.5, 3.5, 4), np.linspace(0.5, 5.5, 6)
    z = x[:, None] + 10.0 * y
    units = {"units": "1/time", "long_name": "rate"}
    grid = xr.Dataset({"rate": (("x", "y"), z, units)}, {"x": x, "y": y})
    figure = draw_data(grid)
    mesh = figure.axes[0].collections[0]
    np.testing.assert_array_equal(mesh.get_array(), z.T)
    assert figure.axes[0].get_title(loc="left") == "rate [1/time]"

    r = np.linspace(0.1, 1.0, 10)
    curve = xr.Dataset({"g": ("bin", r**2), "g_error": ("bin", 0.1 * r)}, {"r": ("bin", r)})
    (axes,) = draw_data(curve).axes
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), r**2)
    assert len(axes.collections) == 1  # the bars

    numbers = xr.Dataset({"size": ("grain", np.random.default_rng(0).exponential(size=500))})
    (axes,) = draw_data(numbers).axes
    data = axes.patches[0].get_data()
    np.testing.assert_allclose((data.values * np.diff(data.edges)).sum(), 1.0)

    with pytest.raises(hg.InputError, match="single numbers"):
        draw_data(xr.Dataset({"one": 1.0}))
    with pytest.raises(hg.InputError, match="it has rate"):
        draw_data(grid, "speed")


# ---------------------------------------------------------------------- films
def test_film_has_one_size_and_moves(run) -> None:
    film = Film(run, size=301)
    images = [image.copy() for image in film]
    assert len(images) == len(run)
    assert {i.shape for i in images} == {(film.height, film.width, 4)}
    assert film.width % 2 == film.height % 2 == 0
    assert np.abs(images[0].astype(int) - images[-1]).max() > 50


def test_film_keeps_scale_over_time(run) -> None:
    look = Look("speed")
    whole = scale((snapshot(run, k) for k in range(len(run))), look)
    for k in range(len(run)):
        one = scale([snapshot(run, k)], look)
        assert (one.box[0] >= whole.box[0] - 1e-12).all()
        assert (one.box[1] <= whole.box[1] + 1e-12).all()


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_written_films_hold_their_frames(run, tmp_path, name) -> None:
    told = []
    frames = [0, 2, 4]
    count = make_movie(run, tmp_path / name, frames, size=200, tell=lambda *n: told.append(n))
    assert count == 3
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [p.name for p in tmp_path.iterdir()] == [name]
    if name.endswith("gif"):
        from PIL import Image

        assert Image.open(tmp_path / name).n_frames == 3
    else:
        ffmpeg = pytest.importorskip("imageio_ffmpeg")
        assert ffmpeg.count_frames_and_secs(str(tmp_path / name))[0] == 3


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_an_interruption_leaves_no_half_film(run, tmp_path, name) -> None:
    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_movie(run, tmp_path / name, size=200, tell=stop)
    assert list(tmp_path.iterdir()) == []


def test_without_ffmpeg_the_way_is_told(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(hg.InputError, match=r"pip install 'hardgrain\[movie\]'"):
        make_movie(run, tmp_path / "a.mp4", size=200)


# ---------------------------------------------------------------------- the report
def test_the_film_of_a_report_has_all_in_its_place(run) -> None:
    film = json.loads(film_data(run))
    data, at = b64decode(film["data"]), 0
    low, size = np.array(film["low"]), np.subtract(film["high"], film["low"])
    for k, frame in enumerate(film["frames"]):
        n = frame["n"]
        place = np.frombuffer(data, "<u2", 2 * n, at).reshape(-1, 2)
        grain = np.frombuffer(data, "<u2", n, at + 4 * n)
        position = low + (3.0 * place / 65535.0 - 1.0) * size
        np.testing.assert_allclose(position, snapshot(run, k).position[grain], atol=2e-3)
        at += 9 * (n + frame["m"])
    assert at == len(data)
    assert frame["m"] > 30


def test_the_closing_word_is_that_of_the_run(tmp_path) -> None:
    sim = hg.Simulation(
        hg.Scene(
            gravity=[0, -1],
            grains=[hg.Grains(diameter=1.0, place=hg.At(positions=[[0, 0.6], [1.01, 0.6]]))],
            walls=[hg.Plane(point=[0, 0], normal=[0, 1])],
        ),
        dt=0.05,
    )
    told = sim.run(until=[hg.AtRest()], output=tmp_path / "a.h5", progress=False)
    with hg.RunFile(tmp_path / "a.h5") as file:
        found = closing_word(file)
    names = ("converged?", "rigid?", "unique?", "overlap", "energy", "grains")
    assert [dict(found.lines).get(n) for n in names] == [dict(told.lines).get(n) for n in names]
    assert "time spent" in dict(told.lines)
    assert "time spent" not in dict(found.lines)


def test_scenario_text_runs_again(run) -> None:
    known = [parse(tomllib.loads(starter.text(name))) for name in starter.names()]
    for scenario in [*known, stored_scenario(run.header, run.path)]:
        text = scenario_text(scenario)
        assert parse(tomllib.loads(text)) == scenario
        assert len(text) < 2500


def test_report_is_one_file_that_asks_for_nothing(path, tmp_path) -> None:
    page = write_report(path, tmp_path / "a.html").read_text()
    assert len(page) < 5e6
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]
    fetched = re.findall(r'(?:src|href)="([^"#]*)', page)
    assert all(f.startswith("data:") for f in fetched if f)
    assert not re.search(r"@import|url\(http", page)
    assert "<h1>Disks &lt;b&gt;&amp; walls&lt;/b&gt;</h1>" in page  # text stays text
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))
    for word in ("Converged?", "Rigid?", "Unique?", "packing fraction", "hardgrain run box.toml"):
        assert word in page
    assert str(path.parent) not in page  # no folder of ours goes to a colleague


def test_a_run_too_large_for_a_film_has_a_picture(path, tmp_path, monkeypatch) -> None:
    from hardgrain.show import player

    monkeypatch.setattr(player, "ROOM", 1000)
    page = write_report(path, tmp_path / "a.html").read_text()
    assert "data:image/webp" in page
    assert "<canvas" not in page


# ---------------------------------------------------------------------- whole files
def test_a_file_is_whole_or_not_there(tmp_path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError), whole(target) as part:
        part.write_text("half \udc00", encoding="utf-8")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.csv", "old")]
    with whole(target) as part:
        part.write_text("new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.csv", "new")]
    with pytest.raises(hg.InputError, match="folder"), whole(tmp_path):
        pass


def test_names_have_colours_of_their_own_and_the_rest_share_one() -> None:
    field = GrainField(np.array([-1.0, 0.0, 1.0, 50.0, 60.0, np.nan]), "", "1", "name")
    none, first, second, many, more, unknown = levels(field, (0.0, 1.0))
    assert len({none, first, second, many}) == 4
    assert (many, none) == (more, unknown)
