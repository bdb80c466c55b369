"""How hard a body is to turn: its inverse tensor of inertia in space.

A row of ``inverse`` has one number in 2D. In 3D it has the diagonal xx, yy, zz, which is all that a
ball needs; where some bodies are no balls, it has xx, yy, zz, yz, zx, xy. An axis about which a
body cannot turn has zeros.

The inverse J of a body that turns about all axes is written as J = A Aᵀ with a triangular matrix A
(Cholesky). In the coordinates y = A⁻¹ ω of its spin its inertia is 1: twice its energy is |y|².
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.law.rotation import make_rotation

TENSOR = 6  # columns of an inverse that is a whole tensor


@cache
def make_inertia(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile what concerns one body's inertia with ``jit``."""
    rotated = make_rotation(jit).rotated

    @jit
    def entry(inverse, i, a, b):
        """Element (a, b) of the inverse of body i."""
        if a == b:
            return inverse[i, a]
        return inverse[i, TENSOR - a - b] if inverse.shape[1] == TENSOR else 0.0

    @jit
    def times(inverse, i, load, a):
        """Component a of the inverse of body i times its load: masses in, velocities out."""
        if inverse.shape[1] != TENSOR:
            return inverse[i, a] * load[i, a]
        total = 0.0
        for b in range(3):
            total += entry(inverse, i, a, b) * load[i, b]
        return total

    @jit
    def uneven(moments, i):
        """Whether body i has unequal principal moments; ``moments`` may know of no body."""
        if i >= moments.shape[0]:
            return False
        return moments[i, 0] != moments[i, 1] or moments[i, 1] != moments[i, 2]

    @jit
    def turns(inverse, i):
        """Whether body i can turn about all three axes."""
        return inverse[i, 0] > 0.0 and inverse[i, 1] > 0.0 and inverse[i, 2] > 0.0

    @jit
    def inverse_in_space(orientation, moments, free, i, out):
        """Write the inverse tensor of body i.

        orientation: of its principal axes (nb, 4); free: (nb, 3), zero where it cannot turn. A body
        that turns about one axis only has there the inverse of its inertia about this axis.
        """
        for a in range(TENSOR):
            out[i, a] = free[i, a] if a < 3 else 0.0
        if not uneven(moments, i):
            return
        q = (orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3])
        axes = (
            rotated(q, (1.0, 0.0, 0.0)), rotated(q, (0.0, 1.0, 0.0)), rotated(q, (0.0, 0.0, 1.0)),
        )  # fmt: skip
        whole = turns(free, i)
        for a in range(3):
            if not whole and free[i, a] > 0.0:
                about = 0.0
                for k in range(3):
                    about += moments[i, k] * axes[k][a] ** 2
                out[i, a] = 1.0 / about
        if whole:
            for a in range(3):
                for b in range(a, 3):
                    total = 0.0
                    for k in range(3):
                        total += axes[k][a] * axes[k][b] / moments[i, k]
                    out[i, a if a == b else TENSOR - a - b] = total

    @jit
    def root(inverse, i):
        """A of a body that turns about all axes: xx, yx, yy, zx, zy, zz."""
        xx = math.sqrt(inverse[i, 0])
        yx, zx = inverse[i, 5] / xx, inverse[i, 4] / xx
        yy = math.sqrt(inverse[i, 1] - yx * yx)
        zy = (inverse[i, 3] - zx * yx) / yy
        return xx, yx, yy, zx, zy, math.sqrt(inverse[i, 2] - zx * zx - zy * zy)

    @jit
    def twice_energy(velocity, inverse, i):
        """Σ m v² of body i over components that can move, or ω·I ω.

        ``velocity``, ``inverse``: velocities and inverse masses, or spins and inverse inertias.
        """
        if inverse.shape[1] == TENSOR and turns(inverse, i):
            xx, yx, yy, zx, zy, zz = root(inverse, i)
            x = velocity[i, 0] / xx
            y = (velocity[i, 1] - yx * x) / yy
            z = (velocity[i, 2] - zx * x - zy * y) / zz
            return x * x + y * y + z * z
        total = 0.0
        for a in range(velocity.shape[1]):
            if inverse[i, a] > 0.0:
                total += velocity[i, a] ** 2 / inverse[i, a]
        return total

    return SimpleNamespace(
        entry=entry, times=times, uneven=uneven, turns=turns, inverse_in_space=inverse_in_space,
        root=root, twice_energy=twice_energy,
    )  # fmt: skip
