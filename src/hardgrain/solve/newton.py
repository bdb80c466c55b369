"""Newton's method for springs around given impulses (`solve.springs`), for disks and spheres.

The law of springs is piecewise smooth, and its pieces are the states of the contacts: open,
sticking, sliding. Newton's method finds the right ones in a few factorisations if few of them
change. Along its steps the error must fall, measured by the energy of the impulses that are
missing. Where it does not, friction has folded the problem: the caller then takes softer springs.

Taking the result as the new r⁰ and repeating lets the springs relax: where r = r⁰, the laws are
those of rigid grains, whatever ρ is (augmented Lagrangian; Alart & Curnier). The start decides
which of the many possible force networks is found: one near that of the last step, as with
Gauss–Seidel. Impulses are measured as velocities in this file, r W_NN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Response
from hardgrain.solve.springs import group, spring_impulses, violation

__all__ = ["Springs"]

# [1] Shortest share of a Newton step that is tried. If even that does not lower the error, a fold
# is near; a shorter one would creep.
SHORTEST = 0.03
# [steps] After so many of them in a row the search ends. Fewer give up searches that recover after
# one poor step; more seldom find anything.
POOR = 3


class Springs:
    """Newton's method for springs around given impulses; see the top of the file."""

    def __init__(self, bodies: Response, mu: Floats) -> None:
        self.bodies = bodies
        self.scale = 1.0 / bodies.weight[:, :1]  # impulse of a unit of velocity [mass]
        m, rows = bodies.q.shape
        groups = mu.size // max(m, 1)
        self.mu = mu.reshape(m, groups)
        part: Any = group
        self.groups = [slice(*part.py_func(g, groups, rows)) for g in range(groups)]
        first = [group_of.start for group_of in self.groups]
        self.ratio = np.ascontiguousarray(bodies.weight[:, first] / bodies.weight[:, :1])
        self._d, self._unused = np.zeros((m, rows, rows)), np.zeros((m, rows, rows))

    def admitted(self, impulse: Floats) -> Floats:
        """Impulses (m, rows) cut to their cones, as velocities."""
        r: Floats = impulse / self.scale
        np.maximum(r[:, 0], 0.0, out=r[:, 0])
        for part, mu in zip(self.groups, self.mu.T, strict=True):
            size = np.sqrt(np.einsum("ka,ka->k", r[:, part], r[:, part]))
            r[:, part] *= np.minimum(1.0, mu * r[:, 0] / np.maximum(size, 1e-300))[:, None]
        return r

    def violation(self, r: Floats) -> float:
        """How far impulses, as velocities, are from the laws of rigid grains."""
        u = self.bodies.velocity(self.scale * r)
        found: float = violation(r, u, self.mu, self.ratio, self.bodies.paths)[0]
        return found

    def settle(
        self, anchor: Floats, stiffness: float, tolerance: float, most: int
    ) -> tuple[Floats | None, int]:
        """Impulses of springs around ``anchor``, as velocities, and the factorisations made.

        ``stiffness`` is ρ [1/W_NN], ``tolerance`` the error relative to the impulses. None if
        Newton's method did not arrive within ``most`` factorisations, or was about not to.
        """
        bodies, mu, scale, d = self.bodies, self.mu, self.scale, self._d
        now, u = anchor.copy(), bodies.velocity(scale * anchor)
        answer, ahead = np.empty_like(now), np.empty_like(now)
        goal, count, poor = tolerance * self._energy(now), 0, 0
        while True:
            spring_impulses(anchor, u, mu, stiffness, answer, d)
            c = answer - now
            error = self._energy(c)
            if error <= goal:
                return answer, count
            if count >= most or poor >= POOR or bodies.factorize(scale[:, :, None] * d) == 0.0:
                return None, count
            count += 1
            du = bodies.respond(scale * c)
            dr = c - np.matmul(d, du[:, :, None])[:, :, 0]
            t = 1.0
            while True:
                spring_impulses(anchor, u + t * du, mu, stiffness, ahead, self._unused)
                left = self._energy(ahead - now - t * dr)
                if left <= (1.0 - 1e-4 * t) * error or t < SHORTEST:
                    break
                t *= 0.5
            poor = poor + 1 if t < SHORTEST else 0
            u, now = u + t * du, now + t * dr

    def _energy(self, c: Floats) -> float:
        """√(c·W c), which measures how far the impulses are from those of the springs."""
        x = self.scale * c
        return math.sqrt(max(float(np.sum(x * (self.bodies.velocity(x) - self.bodies.q))), 0.0))
