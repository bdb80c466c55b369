"""What is measured in a packing at one moment.

Points of one face are one contact, with one force (`hardgrain.measure.resultants`). The anisotropy
of forces and directions is taken in two frames: that of the contact normals, and that of the
branches, which run from centre to centre, with the force split along and across them
(`hardgrain.measure.fabric`). For disks both are the same. Each a is signed: the yy of its tensor,
positive if it belongs to a vertical axis of compression. To first order q/p = (a_c + a_l + a_n +
a_t)/2 in the frame of the branches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardgrain.measure.fabric import fabric
from hardgrain.measure.resultants import resultants, seen
from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.stress import stress_tensor
from hardgrain.measure.structure import contact_numbers, packing_fraction, rattlers
from hardgrain.run.simulation import Simulation

__all__ = ["Look", "look"]

RIM = 1.0  # rim that is left out of the packing fraction, where walls order grains [mean diameter]


@dataclass(frozen=True, slots=True)
class Look:
    """A packing at one moment."""

    axial: float  # vertical stress [pressure]
    lateral: float
    density: float  # packing fraction away from the walls
    pairs: float  # Z: 2 × pairs of bodies that bear a force / grains, rattlers left out
    points: float  # Z_c: the same with every point of a face
    bearing: float  # number of grains that are no rattlers
    rattlers: float  # share of grains with fewer than two contacts that bear a force
    squeezed: float  # number of grains with just two neighbours that bear a force
    mobilised: float  # M: mean of |T|/(µ N) over contacts of grains; nan without friction
    sides: float  # share of contacts of grains in which sides lie on each other
    sides_force: float  # share of all normal force that these bear
    sides_strong: float  # their share among contacts with more than the mean normal force
    contact: float  # a_c of normals
    normal: float  # a_n
    tangential: float  # a_t
    branch: float  # a_c of branches
    branch_length: float  # a_l
    branch_normal: float  # a_n in the frame of the branches
    branch_tangential: float  # a_t in the frame of the branches


def look(sim: Simulation) -> Look:
    """Measure the present state."""
    snap = snapshot(sim)
    n = snap.n
    stress = stress_tensor(snap)
    out = rattlers(snap, least=2)
    whole = ~np.append(out, np.zeros(snap.model.bodies - n, dtype=bool))
    grains = max(1, int(n - out.sum()))
    counts = []
    for view in (seen(snap), snap):
        c = view.contacts
        counts.append(2.0 * float((view.loaded & whole[c.first] & whole[c.second]).sum()) / grains)
    pair = seen(snap)
    inner = pair.loaded & (pair.contacts.second < n)
    push = pair.normal_force[inner]
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.linalg.norm(pair.tangential_force[inner], axis=1) / (pair.friction[inner] * push)
    found = resultants(snap)
    bears = (found.second < n) & (found.normal_force > 0.0)
    force, flat = found.normal_force[bears], found.kind[bears] == 2
    strong = force > force.mean()
    a, b = fabric(snap), fabric(snap, along="branch")
    return Look(
        axial=float(stress[1, 1]),
        lateral=float(stress[0, 0]),
        density=packing_fraction(snap, margin=RIM),
        pairs=counts[0],
        points=counts[1],
        bearing=float(grains),
        rattlers=float(out.mean()),
        squeezed=float((contact_numbers(snap)[~out] == 2).sum()),
        mobilised=float(np.mean(used)),
        sides=float(flat.mean()),
        sides_force=float(force[flat].sum() / force.sum()),
        sides_strong=float(flat[strong].mean()),
        contact=float(a.contacts.tensor[1, 1]),
        normal=float(a.normal.tensor[1, 1]),
        tangential=float(a.tangential.tensor[1, 1]),
        branch=float(b.contacts.tensor[1, 1]),
        branch_length=float(b.branches.tensor[1, 1]),
        branch_normal=float(b.normal.tensor[1, 1]),
        branch_tangential=float(b.tangential.tensor[1, 1]),
    )
