"""What the viewer draws, as plain arrays: no browser."""

from __future__ import annotations

import contextlib
import http.client
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hardgrain as hg
from hardgrain.cli.app import app
from hardgrain.core.geometry import INSIDE, OUTSIDE, PLANE
from hardgrain.core.model import Contacts
from hardgrain.errors import InputError
from hardgrain.measure.snapshot import Snapshot
from hardgrain.show.colour import grain_field, table_of
from hardgrain.show.view import pick, series, shapes
from hardgrain.show.view.fields import coloured, names
from hardgrain.show.view.live_run import LiveRun
from hardgrain.show.view.picture import centres, force_network, from_x, orientations, size_classes
from hardgrain.show.view.screen import seen, sent

from ..until import LAST, started, until


def run(path: Path, dim: int, steps: int = 200, every: int = 50, contacts_every: int = 1) -> Path:
    """A few grains that settle; periodic across in 3D."""
    side, top = [0.0] * dim, [4.0] * (dim - 1) + [9.0]
    scene = hg.Scene(
        dimension=dim,
        gravity=[0.3] + [0.0] * (dim - 2) + [-1.0],
        periodic={} if dim == 2 else {"x": [0.0, 4.0], "y": [0.0, 4.0]},
        grains=[
            hg.Grains(
                count=15,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Loose(min=side, max=top),
                speed=0.5,
            )
        ],
        walls=[hg.Box(min=side, max=top, open=["top"])]
        if dim == 2
        else [hg.Plane(name="floor", point=side, normal=[0.0, 0.0, 1.0])],
    )
    output = {"every": every, "contacts_every": contacts_every}
    stop = {"steps": steps}
    scenario = hg.Scenario(scene=scene, dt=0.03, seed=3, output=output, stop=stop)
    hg.Simulation(scenario).run(output=path, progress=False)
    return path


@pytest.fixture(scope="module", params=[2, 3])
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LiveRun:
    return LiveRun(run(tmp_path_factory.mktemp("film") / "run.h5", request.param))


def test_a_frame_is_that_of_the_file(film: LiveRun) -> None:
    with hg.RunFile(film.path) as file:
        assert len(film) == len(file)
        for k in range(len(file)):
            snap = film.at(k)
            np.testing.assert_array_equal(snap.position, file[k].position[: film.n])
            np.testing.assert_array_equal(snap.state.contacts.impulse, file.contacts(k).impulse)
    assert not film.at(0, contacts=False).stored


def test_grains_lie_in_the_periodic_cell(film: LiveRun) -> None:
    snap = film.at(-1)
    x, period = centres(snap), snap.model.periodic
    for a in np.flatnonzero(period > 0.0):
        assert ((x[:, a] >= 0.0) & (x[:, a] < period[a])).all()
        turns_ = (x[:, a] - snap.position[:, a]) / period[a]
        np.testing.assert_allclose(turns_, np.rint(turns_), atol=1e-12)
    if film.dim == 2:
        assert (x[:, 2] == 0.0).all()


def test_orientations_are_quaternions(film: LiveRun) -> None:
    q = orientations(film.at(-1))
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0)
    if film.dim == 2:  # half the angle about z
        angle = film.at(-1).state.orientation[: film.n, 0]
        np.testing.assert_allclose(np.cos(angle), q[:, 0] ** 2 - q[:, 3] ** 2, atol=1e-12)


def test_lines_join_the_grains_that_touch(film: LiveRun) -> None:
    snap = film.at(-1)
    net = force_network(snap)
    c = snap.contacts
    assert len(net) == net.bearing == np.count_nonzero(snap.normal_force)
    end = net.begin + net.length[:, None] * net.along
    grains = net.second < film.n
    off = end[grains] - centres(snap)[net.second[grains]]
    period = np.pad(snap.model.periodic, (0, 3 - film.dim))
    off -= np.where(period > 0.0, period * np.rint(off / np.where(period > 0.0, period, 1.0)), 0.0)
    assert np.abs(off).max() < 0.03 * 2.0  # a step's motion
    key = net.first.astype(int) * 1000 + net.second
    assert set(key) <= set(c.first.astype(int) * 1000 + c.second)
    assert (np.diff(np.abs(net.force)) >= 0.0).all()  # the strongest on top
    assert (np.diff(net.width) >= 0.0).all()


def test_threshold_and_limit(film: LiveRun) -> None:
    snap = film.at(-1)
    strong = np.abs(snap.normal_force) > np.abs(snap.normal_force[snap.normal_force != 0]).mean()
    assert len(force_network(snap, 1.0)) == np.count_nonzero(strong)
    assert len(force_network(snap, 1e9)) == 0
    kept = force_network(snap, most=3)
    assert len(kept) == 3
    assert kept.force[-1] == snap.normal_force.max()


def test_frames_without_contacts_or_forces(film: LiveRun) -> None:
    unknown = film.at(-1, contacts=False)
    assert not force_network(unknown).known
    assert "stored without" in coloured(unknown, "pressure").legend.note
    assert ("contacts", "not stored in this frame") in pick.grain_facts(unknown, 0)
    loose = replace(film.at(-1), state=replace(film.at(-1).state, contacts=Contacts.none(film.dim)))
    assert force_network(loose).known
    assert force_network(loose).bearing == 0
    for name in names(film.dim):
        assert len(coloured(loose, name).level) == film.n


@pytest.mark.parametrize("name", ["speed", "spin", "force", "pressure", "radius", "velocity-x"])
def test_colours_rise_with_the_value(film: LiveRun, name: str) -> None:
    snap = film.at(-1)
    value = grain_field(snap, name).value
    level = coloured(snap, name).level
    assert (np.diff(level[np.argsort(value)]) >= 0).all()
    fixed = coloured(snap, name, (float(value.min()), float(value.max()))).level
    assert fixed.min() == 0
    assert fixed.max() == 255


def test_force_of_a_grain_is_the_sum_over_its_contacts(film: LiveRun) -> None:
    snap = film.at(-1)
    c = snap.contacts
    for i in range(film.n):
        mine = (c.first == i) | (c.second == i)
        total = grain_field(snap, "force").value[i]
        np.testing.assert_allclose(total, snap.normal_force[mine].sum())


def test_spots_lie_on_the_sphere_and_face_outwards() -> None:
    mesh = shapes.spots()
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    outward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c)
    assert (outward > 0.0).all()
    assert (np.linalg.norm(mesh.vertices, axis=1) > 1.0).all()
    np.testing.assert_allclose(mesh.vertices.mean(axis=0), 0.0, atol=1e-12)


def test_maps_are_even_in_lightness() -> None:
    """Luminance rises all the way, so that colours keep their order in grey and for all eyes."""
    light = seen(table_of("value")[:-1]).astype(float) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light[::8]) > 0.0).all()


def test_what_is_sent_is_seen() -> None:
    """Colours within reach of the curve come back; grey is within reach."""
    grey = np.repeat(np.arange(20, 235, 5, dtype=np.uint8)[:, None], 3, axis=1)
    assert np.abs(seen(grey).astype(int) - grey).max() <= 6
    assert (np.diff(sent(grey)[:, 0].astype(int)) >= 0).all()


# ---------------------------------------------------------------------- picking
def test_a_ray_meets_the_grain_that_brute_force_finds(film: LiveRun) -> None:
    snap, rng = film.at(-1), np.random.default_rng(1)
    x = centres(snap)
    hits = misses = 0
    for _ in range(60):
        target = np.append(rng.uniform(0.0, 4.0, 2), 0.0)
        if film.dim == 3:
            target[2] = rng.uniform(0.0, 4.0)
        origin = target + np.array([0.0, 0.0, 30.0]) + rng.normal(size=3)
        way = (target - origin) / np.linalg.norm(target - origin)
        found = pick.grain_at(snap, origin, way)
        if film.dim == 2:
            hit = np.linalg.norm(x - target, axis=1) < snap.radius
            assert found == (int(np.flatnonzero(hit)[0]) if hit.any() else None)
            continue
        steps = origin + np.arange(0.0, 45.0, 0.005)[:, None] * way  # walk along the ray
        depth = snap.radius - np.linalg.norm(steps[:, None] - x, axis=2)
        first = np.flatnonzero((depth > 0.01).any(axis=1))
        if first.size:
            assert found is not None
            assert depth[first[0], found] >= -0.02
            hits += 1
        elif depth.max() < 0.0:
            assert found is None
            misses += 1
    assert film.dim == 2 or min(hits, misses) > 5


def test_a_contact_is_picked_at_its_point_only(film: LiveRun) -> None:
    snap = film.at(-1)
    net = force_network(snap)
    assert len(net) > 10
    for k in range(len(net)):
        point = net.begin[k] + snap.radius[net.first[k]] * net.along[k]
        back = np.array([0.0, 0.0, 1.0]) if film.dim == 2 else np.cross(net.along[k], [1, 2, 3])
        back /= np.linalg.norm(back)
        # in 3D from close by, as other contacts may lie in front
        origin = point + (20.0 if film.dim == 2 else 1e-3) * back
        assert pick.contact_at(snap, net, origin, -back) == (net.first[k], net.second[k])
    if film.dim == 2:
        for i in range(film.n):
            assert pick.contact_at(snap, net, centres(snap)[i] + [0, 0, 9.0], -back) is None


def test_facts_of_a_contact(film: LiveRun) -> None:
    snap = film.at(-1)
    k = int(np.argmax(snap.normal_force))
    pair = int(snap.contacts.first[k]), int(snap.contacts.second[k])
    facts = dict(pick.contact_facts(snap, pair))
    assert facts["normal force"] == f"{snap.normal_force[k]:.5g}"
    assert dict(pick.contact_facts(snap, (0, 10**6 % film.n)))["contact"].startswith("grain 0")
    assert dict(pick.contact_facts(film.at(-1), (0, 0)))["state"] == "open in this frame"


# ---------------------------------------------------------------------- shapes
def area(mesh: shapes.Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def test_shapes_have_the_right_size() -> None:
    assert area(shapes.disc(10)) == pytest.approx(np.pi, rel=0.01)
    assert area(shapes.sphere(10)) == pytest.approx(4.0 * np.pi, rel=0.02)
    for grains, faces in ((10, 1280), (3000, 320), (20_000, 80), (10**5, 20)):
        assert len(shapes.sphere(grains).faces) == faces
    for mesh in (shapes.bar(), shapes.rod()):
        np.testing.assert_allclose(np.ptp(mesh.vertices[:, :2], axis=0), [1.0, 1.0], atol=0.14)


def test_lines_are_turned_as_they_should_be() -> None:
    from scipy.spatial.transform import Rotation

    along = np.random.default_rng(2).normal(size=(50, 3))
    along[:4] = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, -1]]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    turned = Rotation.from_quat(from_x(along), scalar_first=True).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, along, atol=1e-12)


def with_wall(film: LiveRun, kind: int, axis: list[float], size: float) -> Snapshot:
    """The first frame, its first wall replaced by one through (2, 2, …)."""
    snap = film.at(0)
    walls = [np.array(a[:1]) for a in snap.walls]
    walls[0][0], walls[3][0] = kind, size
    walls[1], walls[2] = np.full((1, film.dim), 2.0), np.array([axis[: film.dim]], float)
    state = snap.state
    cut = replace(state, orientation=state.orientation[: film.n + 1])
    fresh = replace(snap, state=cut)
    fresh.__dict__["walls"] = tuple(walls)
    return fresh


def test_planes_are_cut_to_the_box(film: LiveRun) -> None:
    low, high = np.zeros(film.dim), np.full(film.dim, 4.0)
    normal = [1.0, 1.0, 0.0]
    snap = with_wall(film, PLANE, [x / np.sqrt(2.0) for x in normal], 0.0)
    mesh = shapes.walls(snap, low, high)
    margin = 2.0 * shapes.BAND * 2.0 * snap.radius.mean()
    off = (mesh.vertices[:, :2] - 2.0) @ [1.0, 1.0] / np.sqrt(2.0)
    side = 4.0 + 2.0 * margin
    if film.dim == 3:  # a rectangle through the diagonal
        np.testing.assert_allclose(off, 0.0, atol=1e-12)
        assert area(mesh) == pytest.approx(np.sqrt(2.0) * side * side)
    else:  # a band, of which one side is the line
        assert area(mesh) == pytest.approx(np.sqrt(2.0) * side * 0.5 * margin)
    far = with_wall(film, PLANE, [1.0, 0.0, 0.0], 0.0)
    far.__dict__["walls"][1][0] = 100.0
    assert len(shapes.walls(far, low, high).faces) == 0


@pytest.mark.parametrize("kind", [INSIDE, OUTSIDE])
def test_cylinders_have_their_radius(film: LiveRun, kind: int) -> None:
    axis = [0.0, 0.0, 1.0]
    mesh = shapes.walls(
        with_wall(film, kind, axis, 1.5), np.zeros(film.dim), np.full(film.dim, 4.0)
    )
    reach = np.linalg.norm(mesh.vertices[:, :2] - 2.0, axis=1)
    if kind == INSIDE:
        assert reach.min() == pytest.approx(1.5)
    else:
        assert reach.max() == pytest.approx(1.5)


def test_size_classes_hold_every_grain_once() -> None:
    radius = np.random.default_rng(3).uniform(0.4, 0.6, 1000)
    classes = size_classes(radius)
    np.testing.assert_array_equal(np.sort(np.concatenate([w for _, w in classes])), np.arange(1000))
    for size, which in classes:
        assert np.abs(radius[which] - size).max() < 0.04
    assert len(size_classes(np.full(9, 0.5))) == 1


# ---------------------------------------------------------------------- history
def test_the_cursor_stands_at_the_present(film: LiveRun) -> None:
    history = film.history()
    now = float(film.times[2])
    time_, value, cursor = series.curve(history, "kinetic", now)
    at = np.flatnonzero(np.isfinite(cursor))
    np.testing.assert_array_equal(time_[at], [now, now])
    np.testing.assert_array_equal(cursor[at], [0.0, 1.0])
    assert (np.diff(time_) >= 0.0).all()
    rest = np.delete(value, at)
    np.testing.assert_array_equal(rest, history["kinetic"])
    long = {"time": np.arange(10_000.0), "kinetic": np.arange(10_000.0)}
    t, y, _ = series.curve(long, "kinetic", 3.5, log=True)
    assert t.size <= series.POINTS + 2
    assert np.isnan(y[0])  # log 0
    np.testing.assert_allclose(10.0 ** y[10:], t[10:])


# ---------------------------------------------------------------------- files and arguments
def test_one_frame_without_history(tmp_path: Path) -> None:
    film = LiveRun(run(tmp_path / "one.h5", 2, steps=0))
    assert len(film) == 1
    assert coloured(film.at(0), "speed").legend.high > 0.0
    assert series.names(film.history())[0] == "kinetic"


def test_frames_that_stored_no_contacts(tmp_path: Path) -> None:
    film = LiveRun(run(tmp_path / "few.h5", 2, steps=200, every=50, contacts_every=3))
    assert [film.at(k).stored for k in range(len(film))].count(False) > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.h5"], "does not exist"),
        ([__file__], "not a run file"),
        (["RUN", "--port", "0"], "between 1 and 65535"),
        (["RUN", "--port", "99999"], "between 1 and 65535"),
        (["RUN", "--port", "TAKEN"], "is in use"),
        (["RUN", "--host", "nowhere.invalid"], "no address of this machine"),
        (["RUN", "--host", "192.0.2.1"], "no address of this machine"),
    ],
)
def test_nonsense_ends_in_one_sentence(
    arguments: list[str], told: str, tmp_path: Path, film: LiveRun
) -> None:
    pytest.importorskip("viser")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        known = {"RUN": str(film.path), "TAKEN": str(taken.getsockname()[1])}
        words = [known.get(a, a) for a in arguments]
        result = CliRunner().invoke(app, ["view", "--no-browser", *words])
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)


@pytest.mark.parametrize(
    ("headers", "answered"),
    [
        ({}, True),  # no page at all
        ({"Origin": "http://HOST"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://localhost:1"}, False),  # another page of this machine
        ({"Origin": "null"}, False),
        ({"Host": "evil.example"}, False),  # a name that was made to point here
        ({"Host": "evil.example", "Origin": "http://evil.example"}, False),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, True),  # through a tunnel
        ({"Host": "[::1"}, False),
        ({"Host": ""}, False),
    ],
)
def test_only_its_own_page_is_answered(
    viewer: Any, headers: dict[str, str], answered: bool
) -> None:
    own = f"127.0.0.1:{viewer.port}"
    sent = {"Host": own} | {name: text.replace("HOST", own) for name, text in headers.items()}
    for upgrade in ({}, UPGRADE):
        connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=LAST)
        connection.putrequest("GET", "/", skip_host=True)
        for name, text in {**sent, **upgrade}.items():
            connection.putheader(name, text)
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        assert status == ((101 if upgrade else 200) if answered else 403)


DRAWN = "the page was drawn"
UPGRADE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip


@pytest.fixture(scope="module")
def viewer(film: LiveRun) -> Iterator[Any]:
    pytest.importorskip("viser")
    from hardgrain.show.view import Viewer

    with Viewer(film.path) as viewer:
        yield viewer


def connected(viewer: Any) -> Any:
    """A browser without a window: what it sends until its page is made."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    own = [f"viser-v{viser.__version__}"]
    browser = connect(f"ws://127.0.0.1:{viewer.port}", subprotocols=own, max_size=None)
    axes = {"position": (0, 0, 9), "look_at": (0, 0, 0), "up_direction": (0, 1, 0)}
    size = {"fov": 1.0, "near": 0.1, "far": 99.0, "image_height": 400, "image_width": 600}
    camera = {"type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0)} | axes | size
    browser.send(msgspec.msgpack.encode(camera))
    return browser


def read_on(browser: Any) -> None:
    """Read all that a page sends until it is closed."""
    from websockets.exceptions import ConnectionClosed

    with contextlib.suppress(ConnectionClosed):
        for _ in browser:
            pass


def test_a_long_message_is_refused(viewer: Any) -> None:
    from websockets.exceptions import ConnectionClosedError

    from hardgrain.show.view.guard import LARGEST

    with connected(viewer) as browser:
        browser.send(bytes(LARGEST + 1))
        with pytest.raises(ConnectionClosedError, match="message too big"):
            list(browser)


def test_a_bad_value_of_a_control_does_not_end_its_page(viewer: Any) -> None:
    """Set as a browser sets it; the page draws on."""
    gone = set(viewer.pages)  # of browsers that have left, for as long as that goes unnoticed
    with connected(viewer) as browser:
        # A browser that reads nothing does not answer either, and would be taken for gone.
        threading.Thread(target=read_on, args=(browser,), daemon=True).start()
        until(lambda: set(viewer.pages) - gone, DRAWN)
        page = viewer.pages[(set(viewer.pages) - gone).pop()]
        for control, value in (
            ("pace", 0.0), ("pace", float("nan")), ("pace", -1e300), ("colour", "nonsense"),
            ("range", "nonsense"), ("threshold", float("nan")), ("threshold", -1e300),
            ("top", "1e999"), ("column", "nonsense"), ("slider", 10**9), ("opacity", float("nan")),
        ):  # fmt: skip
            until(lambda: page.snap is not None, DRAWN)
            getattr(page, control)._impl.value = value
            page._toggle()
            page.snap = None
            page._wake.set()
        until(lambda: page.snap is not None, DRAWN)
        assert "could not be drawn" not in page.status.content


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_ends_it_cleanly(film: LiveRun) -> None:
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "hardgrain.cli", "view", str(film.path), "--no-browser"]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with started(command, **output) as process:
        assert process.stdout is not None
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=LAST)[0]
    assert (process.returncode, rest) == (0, "\nclosed\n")
