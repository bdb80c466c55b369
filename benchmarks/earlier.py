"""Round grains: the time of a step, against an earlier version of this package.

The earlier version is a checkout of its own, whose folder the variable BENCHMARK_EARLIER names
(`git worktree add FOLDER COMMIT`). Each version runs in a process of its own, with packings that it
has settled itself, and both take turns. Spheres that roll with resistance take the full path
through the sweeps, all others the lean one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import RESULTS, Absent, Figure

SCENES = {"disks": "lean", "spheres": "lean", "spheres with rolling resistance": "full"}
SWEEPS = 50


def run(quick: bool) -> list[Figure]:
    folder = os.environ.get("BENCHMARK_EARLIER")
    if not folder:
        raise Absent("an earlier version (BENCHMARK_EARLIER names the folder of its checkout)")
    size, repeat = ("60", 3) if quick else ("1000", 30)
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as cache:
        both = {
            "now": _Version(here, RESULTS, None, size),
            "earlier": _Version(Path(folder), RESULTS / "earlier", cache, size),
        }
        figures = []
        for scene, path in SCENES.items():
            shortest = dict.fromkeys(both, float("inf"))
            for _ in range(repeat):
                for name, version in both.items():
                    shortest[name] = min(shortest[name], version.step(scene))
            figures.append(
                Figure(
                    f"step time / that of the earlier version, {size} {scene}",
                    shortest["now"] / shortest["earlier"],
                    target="≤ 1.05",
                    detail=f"{path} path, {SWEEPS} sweeps, {1e3 * shortest['now']:.3g} and"
                    f" {1e3 * shortest['earlier']:.3g} ms",
                )
            )
        for version in both.values():
            version.close()
    return figures


class _Version:
    """A process that makes steps with one version of the package, when it is asked to."""

    def __init__(self, checkout: Path, results: Path, cache: str | None, size: str) -> None:
        path = f"{checkout / 'src'}{os.pathsep}{Path(__file__).parents[1]}"
        kept = os.environ.get("BENCHMARK_EARLIER_CACHE") or cache
        more = {"PYTHONPATH": path, "BENCHMARK_RESULTS": str(results)}
        if cache is not None and kept is not None:
            more["HARDGRAIN_CACHE"] = kept
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.earlier", size],
            env={**os.environ, **more}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def step(self, scene: str) -> float:
        """CPU time of a step [s]."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{scene}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def _serve(size: int) -> None:
    """Make steps of the scenes that are named on the input, and print what one takes."""
    from benchmarks.packings import Steps, disks, resisted, spheres

    made = {
        "disks": disks(size),
        "spheres": spheres(size, tile=size),
    }
    model, state = made["spheres"]
    made["spheres with rolling resistance"] = resisted(model), state
    steps = {scene: Steps(*packing, SWEEPS, "sequential", 5) for scene, packing in made.items()}
    for step in steps.values():
        step()
    for line in sys.stdin:
        step = steps[line.strip()]
        start = time.process_time()
        step()
        print((time.process_time() - start) / step.steps, flush=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
