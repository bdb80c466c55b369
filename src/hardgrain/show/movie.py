"""Films of a run: one picture whose grains, lines and walls move.

What stays (axes, labels, colour bars) is drawn once; each frame draws the moving things over a copy
of it. View and colours are fixed by a few frames taken evenly from the film.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.io.runfile import RunFile
from hardgrain.io.whole import check_target, whole
from hardgrain.measure.snapshot import snapshots
from hardgrain.run.scenario import stored_scenario
from hardgrain.show.colour import PLAIN
from hardgrain.show.network import Picture, about
from hardgrain.show.network_look import Look, scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Film", "make_movie", "pace"]

Image = NDArray[np.uint8]

SAMPLE = 16  # number of frames from which view and colours are fixed
KINDS = (".mp4", ".gif")
LASTS = 10.0  # [s] length of a film unless the user says another
SLOWEST, FASTEST = 5.0, 30.0  # [1/s] fewer frames do not look like motion, and more are not seen


class Film:
    """The frames of a run as images of one size, (height, width, 4), one at a time."""

    def __init__(
        self,
        run: RunFile,
        frames: Sequence[int] | None = None,
        *,
        size: int = 1080,
        colour: str = PLAIN,
        lines: str | None = None,
        box: Floats | None = None,
    ) -> None:
        """``size`` is the longer side [pixel]. ``lines`` is "force" by default if contacts are
        stored in all frames; if it is given, frames without contacts are refused."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        if not 120 <= size <= 8192:
            raise InputError(f"size is {size}; give the longer side, 120 to 8192 pixels")
        self.run = run
        self.frames = list(range(len(run)) if frames is None else frames)
        if not self.frames:
            raise InputError(f"frames holds none of the {len(run)} frames of {run.path}")
        if lines is None:
            every = stored_scenario(run.header, run.path).output.contacts_every
            lines = "force" if every == 1 else "none"
        look = Look(colour, lines, run=run)
        few = np.unique(np.linspace(0, len(self.frames) - 1, SAMPLE).round().astype(int))
        fixed = scale(snapshots(run, [self.frames[k] for k in few]), look, box)
        first = next(snapshots(run, self.frames[:1]))
        self.picture = Picture(first, look, fixed, *about(run))
        figure: Figure = self.picture.figure
        inches = figure.get_size_inches()
        # even numbers, as codecs want them
        pixels = 2 * np.ceil(0.5 * size * inches / inches.max()).astype(int)
        figure.set_dpi(size / inches.max())
        figure.set_size_inches(pixels / figure.get_dpi())
        self.canvas = FigureCanvasAgg(figure)
        self.width, self.height = self.canvas.get_width_height()

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Image]:
        """Yield one image after the other, all in the same array."""
        picture, canvas = self.picture, self.canvas
        moving = (picture.grains, picture.lines, picture.walls, picture.facts)
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(picture.figure.bbox)
        for snap in snapshots(self.run, self.frames):
            if picture.look.lines != "none" and not snap.stored:
                _ = snap.candidates  # it raises an error that says what to do
            canvas.restore_region(still)
            picture.show(snap)
            for artist in moving:
                picture.axes.draw_artist(artist)
            yield np.asarray(canvas.buffer_rgba())


def make_movie(
    run: RunFile | str | Path,
    path: str | Path,
    frames: Sequence[int] | None = None,
    *,
    fps: float | None = None,
    tell: Callable[[int, int], object] = lambda done, total: None,
    **options: Any,
) -> int:
    """Write a film, .mp4 or .gif, and return its number of frames; ``options`` go to `Film`.

    Without ``fps``, frames a second, it lasts about ten seconds (`pace`). ``tell`` is called with
    the frames done and all frames. An interruption leaves no incomplete film.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{path} does not end in a known kind of film; use {' or '.join(KINDS)}")
    if fps is not None and not 0.1 <= fps <= 120.0:
        raise InputError(f"fps is {fps:g}; give 0.1 to 120 frames a second")
    check_target(path)
    if not isinstance(run, RunFile):
        with RunFile(run) as file:
            return make_movie(file, path, frames, fps=fps, tell=tell, **options)
    film = Film(run, frames, **options)
    rate = pace(len(film)) if fps is None else fps

    def images() -> Iterator[Image]:
        for done, image in enumerate(film, 1):
            yield image
            tell(done, len(film))

    with whole(path) as part:
        (_write_mp4 if kind == ".mp4" else _write_gif)(film, images(), part, rate)
    return len(film)


def pace(frames: int) -> float:
    """Frames a second for a film that lasts about ten seconds, neither a slide show nor a blur."""
    return min(max(frames / LASTS, SLOWEST), FASTEST)


def _write_mp4(film: Film, images: Iterator[Image], path: Path, fps: float) -> None:
    """Write H.264 video, which every player and slide show reads."""
    ffmpeg = needed("imageio_ffmpeg")
    try:
        ffmpeg.get_ffmpeg_exe()
    except RuntimeError:
        raise InputError(
            "an .mp4 film needs the program ffmpeg, and imageio-ffmpeg finds none; install it, or"
            " make a .gif"
        ) from None
    writer: Generator[None, Image | None, None] = ffmpeg.write_frames(
        str(path), (film.width, film.height), pix_fmt_in="rgba", fps=fps, codec="libx264",
        quality=None, macro_block_size=2, ffmpeg_log_level="error",
        output_params=["-crf", "20", "-preset", "fast", "-movflags", "+faststart"],
    )  # fmt: skip
    with closing(writer):
        writer.send(None)
        for image in images:
            writer.send(image)


def _write_gif(film: Film, images: Iterator[Image], path: Path, fps: float) -> None:
    """Write a GIF of 256 colours a frame; browsers show no more than 50 frames a second."""
    from PIL import Image as Picture

    frames = (Picture.fromarray(image[..., :3]).quantize(256) for image in images)
    pause = max(20, round(100.0 / fps) * 10)  # a GIF counts in hundredths of a second [ms]
    next(frames).save(path, save_all=True, append_images=frames, duration=pause, loop=0)
