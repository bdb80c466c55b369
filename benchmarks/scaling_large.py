"""The rigid solver at the largest sizes: as `scaling`, up to 25,600 disks and 16,000 spheres.

Takes an hour and more on few cores; Gauss–Seidel is extrapolated at most of these sizes.
"""

from __future__ import annotations

from benchmarks.measure import Figure
from benchmarks.scaling import FRICTION, LARGE, measured


def run(quick: bool) -> list[Figure]:
    if quick:
        return []
    both = measured(LARGE, FRICTION, quick)
    return both[2].figures({25_600: "≥ 200"}, "≤ 1.2") + both[3].figures(
        {4000: "≥ 20", 16_000: ""}, "≤ 1.4"
    )
