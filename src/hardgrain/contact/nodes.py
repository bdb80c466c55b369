"""Where the nodes of deformable grains are in space."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import jit

__all__ = ["place_nodes", "rotations"]


@jit
def rotations(orientation, n):  # type: ignore[no-untyped-def]
    """Matrices that turn the own axes of the first n bodies into space, shape (n, dim, dim)."""
    dim = 2 if orientation.shape[1] == 1 else 3
    turned = np.empty((n, dim, dim))
    for i in range(n):
        if dim == 2:
            c, s = math.cos(orientation[i, 0]), math.sin(orientation[i, 0])
            turned[i, 0, 0] = turned[i, 1, 1] = c
            turned[i, 0, 1], turned[i, 1, 0] = -s, s
            continue
        q = orientation[i]
        for a in range(3):
            b, d = (a + 1) % 3, (a + 2) % 3
            turned[i, a, a] = 1.0 - 2.0 * (q[b] * q[b] + q[d] * q[d])
            turned[i, a, b] = 2.0 * (q[a] * q[b] - q[d] * q[3])
            turned[i, b, a] = 2.0 * (q[a] * q[b] + q[d] * q[3])
    return turned


@jit
def place_nodes(position, turned, flat, displacement):  # type: ignore[no-untyped-def]
    """Where surface nodes are and face to (k, dim), and how far grains reach (n,); see `Flat`."""
    dim, n = position.shape[1], turned.shape[0]
    place, bound = np.zeros(displacement.shape), flat.radius.copy()
    outward = np.zeros(displacement.shape)
    for i in range(n):
        f = flat.form[i]
        if f < 0:
            continue
        far = 0.0
        for a in range(flat.surface[f]):
            k, own, square = flat.start[i] + a, flat.first_node[f] + a, 0.0
            for b in range(dim):
                x = 0.0
                for c in range(dim):
                    x += turned[i, b, c] * (flat.node[own, c] + displacement[k, c])
                    outward[k, b] += turned[i, b, c] * flat.outward[own, c]
                place[k, b] = position[i, b] + x
                square += x * x
            far = max(far, square)
        bound[i] = math.sqrt(far)
    return place, outward, bound
