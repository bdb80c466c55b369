"""What there is to compute with: cores, memory, a GPU."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from hardgrain.cuda.present import describe, usable

__all__ = ["machine_facts"]


def machine_facts() -> dict[str, str]:
    """Cores, memory and GPU, and what ``engine.device = "auto"`` chooses, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lacking = usable()
    return {
        "processor": _processor(),
        "cores": f"{cores}; the orders tiles and coloured use all of them",
        "memory": _memory(),
        "gpu": describe() if lacking is None else f"none that can be used: {lacking}",
        "auto": "cpu"
        if lacking is not None
        else "cuda for round grains with solver.order = 'tiles', else cpu",
    }


def _processor() -> str:
    """Its name, where the system tells it, or its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not a Linux
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix
        return "unknown"
    return f"{size / 2**30:.0f} GiB"
