"""Cost of a step at fixed sweeps from 10³ to 10⁶ spheres, and the memory the largest takes.

The exponent is that of a least-squares fit of log t against log n; 1 is linear. Each size runs in a
process of its own, whose peak of resident memory is that of its packing alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import numpy as np

from benchmarks.measure import Figure, best
from benchmarks.packings import Steps, spheres

SWEEPS = 20
ORDERS = ("sequential", "random")
GIB = 2.0**30


def run(quick: bool) -> list[Figure]:
    sizes = [100, 200, 400] if quick else [10**3, 10**4, 10**5, 10**6]
    spheres(sizes[0], tile=sizes[0])  # settle here, once
    rows = [_in_process(n, sizes[0]) for n in sizes]
    figures = []
    for order in ORDERS:
        times = np.array([row["seconds"][order] for row in rows])
        slopes = np.diff(np.log(times)) / np.diff(np.log(sizes))
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        per_grain = ", ".join(f"{n:.0e}: {t / n * 1e6:.3g} µs" for n, t in zip(sizes, times))
        figures.append(
            Figure(
                f"exponent of the cost of a step in n, {order}",
                float(exponent),
                unit="",
                target="< 1.05" if order == "sequential" else "",
                detail=f"{SWEEPS} sweeps, CPU time a grain: {per_grain};"
                f" exponents from size to size {', '.join(f'{s:.3f}' for s in slopes)}",
            )
        )
    figures.append(
        Figure(
            f"peak memory with {sizes[-1]:.0e} spheres",
            rows[-1]["peak"] / GIB,
            unit="GiB",
            target="< 4",
            detail=f"{rows[-1]['contacts']} contacts",
        )
    )
    return figures


def _in_process(count: int, tile: int) -> dict:
    command = [sys.executable, "-m", "benchmarks.size", str(count), str(tile)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _measure(count: int, tile: int) -> dict:
    """CPU time of a step [s] in either order, number of contacts, peak of resident memory [B]."""
    model, state = spheres(count, tile)
    seconds = {}
    for order in ORDERS:  # one after the other: two states at once would count as memory
        steps = max(1, 10**5 // count)
        step = Steps(model, state, SWEEPS, order, steps)
        seconds[order] = best({order: step}, repeat=3)[order] / steps
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"seconds": seconds, "contacts": step.contacts, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), int(sys.argv[2]))))
