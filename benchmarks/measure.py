"""Figures with their targets, and how times are taken."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(os.environ.get("BENCHMARK_RESULTS") or Path(__file__).parent / "results")

_HOLDS = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


class Absent(Exception):
    """A peer that is not installed here; the text says which."""


@dataclass(frozen=True)
class Figure:
    """One measured number; ``target`` reads like "≥ 1.5", and is empty where there is none."""

    what: str
    value: float
    unit: str = "×"
    target: str = ""
    detail: str = ""

    @property
    def met(self) -> bool | None:
        if not self.target:
            return None
        sign, limit = self.target.split()
        return bool(_HOLDS[sign](self.value, float(limit)))


def best(
    contenders: dict[str, Callable[[], object]],
    repeat: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Shortest time of each contender [s]. They take turns, so that a busy moment hits all alike.

    CPU time by default. Each runs once unmeasured first: compilation and cold caches stay out.
    """
    shortest = dict.fromkeys(contenders, float("inf"))
    for call in contenders.values():
        call()
    for _ in range(repeat):
        for name, call in contenders.items():
            start = clock()
            call()
            shortest[name] = min(shortest[name], clock() - start)
    return shortest
