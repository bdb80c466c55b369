"""Closed forms about the iterative solver (review, eqs 42–48; unger2002). Depends on nothing.

Sweeps spread information diffusively: after N sweeps over a contact network of grains of diameter d
the impulses know of each other over the length l_diff = √(4 D t) = 2 d √(q N). A system that is
larger answers a load like an elastic body, however rigid its grains are.
"""

from __future__ import annotations

import math

__all__ = ["Q_PARALLEL", "Q_RANDOM", "diffusion_length", "rigid_sweeps"]

Q_PARALLEL = 0.5  # q of the parallel update (45)
Q_RANDOM = (4.0 * math.sqrt(math.e) - 5.0) / 2.0  # q of random sweeps (46), 0.797


def diffusion_length(diameter: float, sweeps: float, q: float = Q_RANDOM) -> float:
    """l_diff: how far ``sweeps`` sweeps carry information (47) [length]."""
    return 2.0 * diameter * math.sqrt(q * sweeps)


def rigid_sweeps(length: float, diameter: float, q: float = Q_RANDOM) -> int:
    """Least number of sweeps for which l_diff reaches ``length``."""
    return max(1, math.ceil((length / (2.0 * diameter)) ** 2 / q))
