"""Volume, centre and second moments of a union of disks or balls: what overlaps counts once.

In 2D Green's theorem turns the integrals into ones along the arcs that bound the union,

    ∫ dA = ½ ∮ (x dy − y dx),  ∫ x dA = ½ ∮ x² dy,  ∫ x² dA = ⅓ ∮ x³ dy,  ∫ x y dA = ½ ∮ x² y dy

and likewise for y. On an arc these are polynomials in cos φ and sin φ of degree four at most, which
Gauss's quadrature with a dozen points on a quarter of a circle gives to rounding.

In 3D the union is cut into slices z = const., each a union of disks. Their integrals are smooth
functions of z except at the ends of a ball, at the ends of a circle in which two spheres meet and
at the points in which three do. Between those, z = z₀ + h sin t makes the square roots at both ends
smooth, and Gauss's quadrature in t converges to better than 10⁻¹⁰.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.scene.mass import NOTHING, Mass, mass_of_part
from hardgrain.scene.polytope import ball

__all__ = ["mass_of_union"]

Floats = NDArray[np.float64]

_ARC = np.polynomial.legendre.leggauss(12)
_SLICES = np.polynomial.legendre.leggauss(40)


def mass_of_union(centre: Floats, radius: Floats, dim: int) -> Mass:
    """Of disks or balls with these centres (k, 3) and radii (k,)."""
    middle = centre.mean(axis=0)
    x = centre - middle
    apart = np.linalg.norm(x[:, None] - x[None], axis=2)
    alone = apart >= (radius[:, None] + radius[None]) * (1.0 - 1e-12)
    if dim == 2:
        return _disks(x[:, :2], radius).moved(middle)
    if alone[np.triu_indices(len(x), 1)].all():
        total = NOTHING
        for c, r in zip(x, radius, strict=True):
            total += mass_of_part(ball(c, float(r)), 3)
        return total.moved(middle)
    return _balls(x, radius).moved(middle)


def _disks(x: Floats, radius: Floats) -> Mass:
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for i in range(len(x)):
        for start, end in _bare_arcs(x, radius, i):
            pieces = max(1, math.ceil((end - start) / (0.5 * math.pi)))
            edge = np.linspace(start, end, pieces + 1)
            half = 0.5 * (edge[1:] - edge[:-1])[:, None]
            angle = 0.5 * (edge[1:] + edge[:-1])[:, None] + half * _ARC[0]
            w = half * _ARC[1]
            c, s = np.cos(angle), np.sin(angle)
            px, py = x[i, 0] + radius[i] * c, x[i, 1] + radius[i] * s
            dx, dy = -radius[i] * s * w, radius[i] * c * w
            volume += 0.5 * float((px * dy - py * dx).sum())
            first[:2] += 0.5 * (px**2 * dy).sum(), -0.5 * (py**2 * dx).sum()
            cross = 0.5 * (px**2 * py * dy).sum()
            second[0, 0] += (px**3 * dy).sum() / 3.0
            second[1, 1] -= (py**3 * dx).sum() / 3.0
            second[0, 1] += cross
            second[1, 0] += cross
    return Mass(volume, first, second)


def _bare_arcs(x: Floats, radius: Floats, i: int) -> list[tuple[float, float]]:
    """Arcs of circle i, from angle to angle, that no other disk covers."""
    hidden: list[tuple[float, float]] = []
    for j in range(len(x)):
        if j == i:
            continue
        d = x[j] - x[i]
        apart = math.hypot(*d)
        inside = apart + radius[i] <= radius[j]
        if inside and not (apart + radius[j] <= radius[i] and i < j):  # equal disks: the first
            return []
        if apart >= radius[i] + radius[j] or apart + radius[j] <= radius[i]:
            continue
        cosine = (apart**2 + radius[i] ** 2 - radius[j] ** 2) / (2.0 * apart * radius[i])
        half = math.acos(min(1.0, max(-1.0, cosine)))
        start = (math.atan2(d[1], d[0]) - half) % (2.0 * math.pi)
        end = start + 2.0 * half
        hidden.append((start, min(end, 2.0 * math.pi)))
        if end > 2.0 * math.pi:
            hidden.append((0.0, end - 2.0 * math.pi))
    bare, reached = [], 0.0
    for start, end in sorted(hidden):
        if start > reached:
            bare.append((reached, start))
        reached = max(reached, end)
    if reached < 2.0 * math.pi:
        bare.append((reached, 2.0 * math.pi))
    return bare


def _balls(x: Floats, radius: Floats) -> Mass:
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    cuts = _heights(x, radius)
    for low, high in itertools.pairwise(cuts):
        half = 0.5 * (high - low)
        if half < 1e-12 * radius.max():
            continue
        for t, weight in zip(0.5 * math.pi * _SLICES[0], 0.5 * math.pi * _SLICES[1], strict=True):
            z, dz = low + half * (1.0 + math.sin(t)), half * math.cos(t) * weight
            square = radius**2 - (x[:, 2] - z) ** 2
            there = square > 0.0
            if not there.any():
                continue
            flat = _disks(x[there, :2], np.sqrt(square[there]))
            volume += dz * flat.volume
            first += dz * flat.first
            first[2] += dz * z * flat.volume
            second += dz * flat.second
            second[2, 2] += dz * z**2 * flat.volume
            for a in range(2):
                second[a, 2] += dz * z * flat.first[a]
                second[2, a] += dz * z * flat.first[a]
    return Mass(volume, first, second)


def _heights(x: Floats, radius: Floats) -> list[float]:
    """Heights z between which slices change smoothly."""
    found = [*(x[:, 2] - radius), *(x[:, 2] + radius)]
    planes: dict[tuple[int, int], tuple[Floats, float]] = {}
    for i, j in itertools.combinations(range(len(x)), 2):
        d = x[j] - x[i]
        apart = float(np.linalg.norm(d))
        if not abs(radius[i] - radius[j]) < apart < radius[i] + radius[j]:
            continue
        d /= apart
        along = (apart**2 + radius[i] ** 2 - radius[j] ** 2) / (2.0 * apart)
        ring = math.sqrt(max(radius[i] ** 2 - along**2, 0.0))
        spread = ring * math.sqrt(max(1.0 - d[2] ** 2, 0.0))
        z = x[i, 2] + along * d[2]
        found += [z - spread, z + spread]
        planes[i, j] = d, along
    for i, j, k in itertools.combinations(range(len(x)), 3):
        if not {(i, j), (i, k), (j, k)} <= planes.keys():
            continue
        (a, p), (b, q) = planes[i, j], planes[i, k]
        line = np.cross(a, b)
        norm = float(np.linalg.norm(line))
        if norm < 1e-12:
            continue
        # the point of both planes that lies next to the centre of ball i
        cosine = float(a @ b)
        point = ((p - q * cosine) * a + (q - p * cosine) * b) / (1.0 - cosine**2)
        rest = radius[i] ** 2 - float(point @ point)
        if rest > 0.0:
            step = math.sqrt(rest) * line[2] / norm
            found += [x[i, 2] + point[2] - step, x[i, 2] + point[2] + step]
    return sorted(float(z) for z in found)
