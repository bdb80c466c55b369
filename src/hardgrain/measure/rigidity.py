"""Was the run rigid? The diffusion length of its sweeps against its largest contact cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.scene.model import Ints, Model, State
from hardgrain.theory import chain

__all__ = ["Rigidity", "clusters", "rigidity"]


@dataclass(frozen=True)
class Rigidity:
    """l_diff = 2 d √(q N_I) of the sweeps against the size of the largest cluster."""

    grains: int  # in the largest cluster
    length: float  # its largest extent [length]
    diffusion_length: float  # [length]
    sweeps: float  # mean number of sweeps of a step with contacts
    needed: int  # sweeps for which l_diff reaches the cluster's size
    converged: bool  # every step was, so that it does not matter how far its sweeps reached

    @property
    def rigid(self) -> bool:
        return self.converged or self.diffusion_length >= self.length


def clusters(model: Model, state: State) -> Ints:
    """Cluster number of every grain, shape (n,): grains linked by contacts that bear a force."""
    c = state.contacts
    link = (c.second < model.n) & (c.normal_impulse() != 0.0)
    i, j = c.first[link], c.second[link]
    graph = coo_array((np.ones(i.size, np.int8), (i, j)), shape=(model.n, model.n))
    labels: Ints = connected_components(graph, directed=False)[1]
    return labels


def rigidity(model: Model, state: State, sweeps: float, q: float, converged: bool) -> Rigidity:
    """Judge a state reached with the given mean number of sweeps per step."""
    label = clusters(model, state)
    counts = np.bincount(label, minlength=1)
    mine = label == counts.argmax()
    x, r = state.position[: model.n][mine], model.radius[mine]
    extent = (x + r[:, None]).max(axis=0) - (x - r[:, None]).min(axis=0)
    period = model.periodic
    extent = np.where(period > 0.0, np.minimum(extent, period), extent)
    length, diameter = float(extent.max()), 2.0 * float(model.radius.mean())
    if counts.max() < 2:
        length = 0.0
    return Rigidity(
        int(counts.max()),
        length,
        chain.diffusion_length(sweeps, diameter, q),
        sweeps,
        chain.sweeps_for_rigidity(length, diameter, q),
        converged,
    )
