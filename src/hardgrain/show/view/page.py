"""The page of one client: controls, panels and the loop that keeps the scene in step with them.

Every page has a state of its own: two people may look at two frames of the same run. Controls only
note what is wanted; one thread for each page draws it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.errors import HardgrainError
from hardgrain.measure.snapshot import Snapshot
from hardgrain.show.view import pick, series, words
from hardgrain.show.view.canvas import MARKED, Canvas
from hardgrain.show.view.fields import Legend, coloured, names, needs_contacts
from hardgrain.show.view.live_run import PATIENCE, LiveRun
from hardgrain.show.view.picture import ForceNetwork, centres, force_network

if TYPE_CHECKING:
    import viser

__all__ = ["Page"]

FASTEST = 60  # [1/s] most frames a second
LASTS = 12.0  # [s] time that a run plays at the speed that is set first
REST = 0.3  # [s] time after which a camera that has not moved is at rest
SOON = 0.05  # [s] shortest time between two updates of the chart
TALL = 1440  # [pixels] height of a screenshot
AUTO, FIXED = "each frame", "fixed"


_LOG = logging.getLogger(__name__)


def lawful(control: Any) -> Any:
    """The value of a slider or a choice, or one that it allows where a browser sent another."""
    value = control.value
    if hasattr(control, "options"):
        return value if value in control.options else control.options[0]
    return value if control.min <= value <= control.max else control.min


class Page:
    """What one browser shows of a run."""

    def __init__(self, client: viser.ClientHandle, run: LiveRun) -> None:
        self.client, self.run = client, run
        self.canvas = Canvas(client, run)
        self.frame = len(run) - 1 if run.live else 0
        self.playing = False
        self.picked: int | tuple[int, int] | None = None
        self.snap: Snapshot | None = None
        self.net: ForceNetwork | None = None
        self._closed, self._wake = threading.Event(), threading.Event()
        # the frame is chosen by the user, by the clock and by the run
        self._choice = threading.RLock()
        self._begun = 0.0, 0  # when play began, and at which frame
        self._charted = 0.0
        self._timer = threading.Timer(0.0, self._wake.set)
        self._controls()
        client.scene.on_click()(self._clicked)
        client.camera.on_update(lambda _: self._moved())
        self.canvas.fit()
        threading.Thread(target=self._loop, daemon=True).start()

    def close(self) -> None:
        """End the page, since its client has left."""
        self._timer.cancel()
        self._closed.set()
        self._wake.set()

    # ------------------------------------------------------------------ the loop
    def _loop(self) -> None:
        self._wake.set()
        while not self._closed.is_set():
            changed = self._wake.wait(self._patience())
            if self._closed.is_set():
                return
            if changed:  # what is asked for after a vain wait must not be cleared unseen
                self._wake.clear()
            try:
                with self._choice:
                    changed |= self._grow()
                    changed |= self._advance()
                if changed:
                    self._draw()
            except (HardgrainError, OSError) as error:
                self.status.content = words.small(str(error))
                self._pause()
            except Exception as error:  # the page must not freeze, whatever the error is
                if self._closed.is_set():  # it belongs to a page that is closed
                    return
                _LOG.exception("a frame could not be drawn")
                self.status.content = words.small(f"This could not be drawn: {error}")
                self._pause()

    def _patience(self) -> float | None:
        """How long to wait for the user [s]."""
        if self.playing:
            return 1.0 / float(lawful(self.pace))
        return None if self.run.finished else PATIENCE

    def _grow(self) -> bool:
        """Follow a run that goes on."""
        if not self.run.look() and self.slider.max == max(len(self.run) - 1, 1):
            return False
        self.slider.max = max(len(self.run) - 1, 1)
        if self.follow.value:
            self.frame = len(self.run) - 1
        return True

    def _advance(self) -> bool:
        """Go to the frame that is due while it plays, and skip those that came too late."""
        if not self.playing:
            return False
        begun, first = self._begun
        due = first + int((time.monotonic() - begun) * float(lawful(self.pace)))
        last = len(self.run) - 1
        if due > last and not self.loop.value:
            self._pause()
            due = last
        due %= last + 1
        changed, self.frame = due != self.frame, due
        return changed

    def _moved(self) -> None:
        """Take note that the camera has moved, so that other grains may be next to it now."""
        self.canvas.refit()
        if self.canvas.cloudy and not self.playing:
            self._timer.cancel()
            self._timer = threading.Timer(REST, self._wake.set)
            self._timer.daemon = True
            self._timer.start()

    def _play(self) -> None:
        if self.frame >= len(self.run) - 1:
            self.frame = 0
        self._begun = time.monotonic(), self.frame
        self.playing, self.follow.value, self.button.label = True, False, "Pause"

    def _pause(self) -> None:
        self.playing, self.button.label = False, "Play"

    # ------------------------------------------------------------------ drawing
    def _draw(self) -> None:
        run, canvas = self.run, self.canvas
        self.frame = min(self.frame, len(run) - 1)
        colour = lawful(self.colour)
        contacts = needs_contacts(colour)
        wanted = contacts or self.forces.value or self.picked is not None
        snap = self.snap = run.at(self.frame, contacts=bool(wanted))
        colours = coloured(snap, colour, self._span())
        self.net = force_network(snap, float(lawful(self.threshold))) if self.forces.value else None
        with self.client.atomic():
            canvas.grains(snap, colours, self.marks.value, self.playing)
            canvas.lines(self.net)
            canvas.walls(snap)
            if snap.model.cell >= 0:
                canvas.cell(snap)
            canvas.picked(*self._place_of_picked(snap))
            self._tell(snap, colours.legend)
        self.client.flush()

    def _span(self) -> tuple[float, float] | None:
        """The range of colours if the user has fixed it and it makes sense."""
        if self.range.value != FIXED:
            return None
        try:
            low, high = float(self.bottom.value), float(self.top.value)
        except ValueError:
            return None
        return (low, high) if -np.inf < low < high < np.inf else None

    def _tell(self, snap: Snapshot, legend: Legend) -> None:
        """Update slider, time, legend and panels."""
        self.slider.value = self.frame
        last = len(self.run) - 1
        self.clock.content = words.row(
            f"time {snap.time:.5g}", f"frame {self.frame} of {last}, step {snap.state.step}"
        )
        if self._span() is None and legend.kind not in ("", "name"):
            self.bottom.value, self.top.value = f"{legend.low:.4g}", f"{legend.high:.4g}"
        self.legend.content = words.colours(legend)
        self.scale.content = words.forces(self.net)
        self.numbers.content = self._facts(snap)
        self.status.content = self._state()
        now = time.monotonic()
        if not self.playing or now - self._charted > SOON:
            self._charted = now
            self._plot(snap.time)

    def _state(self) -> str:
        run = self.run
        what = "running now" if run.live else "finished" if run.finished else "interrupted"
        return words.row(run.path.name, f"{run.n} {'grain' if run.n == 1 else 'grains'}, {what}")

    def _plot(self, now: float) -> None:
        history = self.run.history()
        if self.column.value in history and history["time"].size:
            self.chart.data = series.curve(history, self.column.value, now, self.log.value)

    # ------------------------------------------------------------------ picking
    def _clicked(self, event: viser.SceneClickEvent) -> None:
        if self.snap is None:
            return
        ray = self.canvas.ray(event.ray_origin, event.ray_direction)
        contact = pick.contact_at(self.snap, self.net, *ray) if self.net else None
        self.picked = pick.grain_at(self.snap, *ray) if contact is None else contact
        self._wake.set()

    def _place_of_picked(self, snap: Snapshot) -> tuple[Any, float]:
        if self.picked is None:
            return None, 0.0
        if isinstance(self.picked, int):
            i = snap.row(self.picked)
            return (None, 0.0) if i is None else (centres(snap)[i], float(snap.radius[i]))
        k = pick.find_contact(snap, self.picked) if snap.stored else None
        if k is None:
            return None, 0.0
        first = snap.contacts.first[k]
        x = centres(snap)[first]
        x[: snap.dim] += pick.contact_arm(snap, k)
        return x, 0.15 * float(snap.model.width[first])

    def _facts(self, snap: Snapshot) -> str:
        if self.picked is None:
            return words.small("Click on a grain, or on the line of a contact.")
        grain = isinstance(self.picked, int)
        facts = pick.grain_facts if grain else pick.contact_facts
        return words.facts(facts(snap, self.picked))  # type: ignore[arg-type]

    # ------------------------------------------------------------------ controls
    def _controls(self) -> None:
        gui, run = self.client.gui, self.run
        self.status = gui.add_html("")
        self._time_controls(gui)
        with gui.add_folder("Colour"):
            self.colour = self._note(
                gui.add_dropdown("by", names(run.dim, run.round, run.rigid), initial_value="speed")
            )
            self.legend = gui.add_html("")
            self.range = self._note(gui.add_dropdown("range", (AUTO, FIXED)))
            self.bottom = self._note(gui.add_text("from", "0"))
            self.top = self._note(gui.add_text("to", "1"))
            for end in (self.bottom, self.top):
                end.on_update(self._fix)
        with gui.add_folder("Forces"):
            self.forces = self._note(gui.add_checkbox("network", run.dim == 2))
            self.forces.on_update(self._uncover)
            self.threshold = self._note(
                gui.add_slider(
                    "above", 0.0, 5.0, 0.1, 0.0, hint="Least normal force, in units of the mean."
                )
            )
            self.scale = gui.add_html("")
        self._view_controls(gui)
        beside = gui.add_panel()
        with beside.add_tab("History"):
            self._chart(gui)
            with gui.add_folder("Picked"):
                self.numbers = gui.add_html("")
        beside.dock_left()

    def _time_controls(self, gui: viser.GuiApi) -> None:
        frames = len(self.run)
        with gui.add_folder("Time"):
            self.clock = gui.add_html("")
            self.slider: Any = gui.add_slider("frame", 0, max(frames - 1, 1), 1, self.frame)
            self.slider.on_update(self._scrub)
            self.button = gui.add_button("Play")
            self.button.on_click(lambda _: self._toggle())
            rate = float(np.clip(round(frames / LASTS), 2, 30))
            self.pace = gui.add_slider(
                "frames/s", 1.0, FASTEST, 1.0, rate, hint="How fast to play."
            )
            self.pace.on_update(lambda _: self._restart())
            self.loop = gui.add_checkbox("loop", True)
            self.follow = self._note(
                gui.add_checkbox("follow the run", self.run.live, visible=not self.run.finished)
            )

    def _chart(self, gui: viser.GuiApi) -> None:
        choice = series.names(self.run.history())
        self.column = self._note(gui.add_dropdown("of", choice or ["nothing yet"]))
        self.log = self._note(gui.add_checkbox("log10", False))
        empty = np.zeros(1)
        self.chart = gui.add_uplot(
            (empty, empty, empty),
            (
                {"label": "time"},
                {"label": "value", "stroke": "#0072b2", "width": 1.5},
                {"label": "now", "scale": "now", "stroke": "#d55e00", "width": 1.5},
            ),
            scales={"x": {"time": False}, "now": {"range": (0.0, 1.0)}},
            axes=({}, {"size": 64}),
            legend={"show": False},
            height=200,
            padding=(10, 16, 0, 0),
        )

    def _view_controls(self, gui: viser.GuiApi) -> None:
        run = self.run
        with gui.add_folder("View"):
            few, flat = run.round and run.rigid and run.n <= MARKED, run.dim == 2
            self.marks = self._note(gui.add_checkbox("rotation marks", few and flat, visible=few))
            self.opacity: Any = gui.add_slider(
                "opacity", 0.0, 1.0, 0.05, 1.0, hint="Of the grains; 0: hidden."
            )
            self.opacity.on_update(self._fade)
            self.walls = gui.add_checkbox("walls", True)
            self.walls.on_update(lambda _: self.canvas.show_walls(self.walls.value))
            gui.add_button("Fit").on_click(lambda _: self.canvas.fit())
            gui.add_button("Screenshot").on_click(lambda _: self._screenshot())
        self.canvas.cell(run.at(0, contacts=False))

    def _note(self, control: Any) -> Any:
        """Make every change of a control lead to a new drawing."""
        control.on_update(self._by_user)
        return control

    def _by_user(self, event: Any) -> None:
        if event.client is not None:  # otherwise the page itself has set it
            self._wake.set()

    def _scrub(self, event: Any) -> None:
        if event.client is None:
            return
        with self._choice:
            self._pause()
            self.frame = min(int(lawful(self.slider)), len(self.run) - 1)
            self.follow.value = self.run.live and self.frame == len(self.run) - 1
        self._wake.set()

    def _toggle(self) -> None:
        with self._choice:
            self._pause() if self.playing else self._play()
        self._wake.set()

    def _restart(self) -> None:
        self._begun = time.monotonic(), self.frame

    def _fix(self, event: Any) -> None:
        if event.client is not None:
            self.range.value = FIXED

    def _uncover(self, event: Any) -> None:
        """Let the network shine through the grains, within which it lies in 3D."""
        if event.client is not None and self.run.dim == 3:
            self.opacity.value = 0.2 if self.forces.value else 1.0
            self._fade(event)

    def _fade(self, event: Any) -> None:
        if event.client is not None:
            self.canvas.see_through(float(lawful(self.opacity)))
            self._wake.set()

    def _screenshot(self) -> None:
        import imageio.v3 as iio

        camera = self.client.camera
        # larger than on the screen, which slow browsers draw coarsely
        wide = round(TALL * camera.aspect)
        image = self.client.get_render(TALL, wide, transport_format="png", timeout=60.0)
        solid = image[..., :3] * (image[..., 3:] / 255.0) + 255 - image[..., 3:]
        png = iio.imwrite("<bytes>", solid.astype(np.uint8), extension=".png")
        name = f"{self.run.path.stem}-{self.frame}.png"
        self.client.send_file_download(name, png, save_immediately=True)
