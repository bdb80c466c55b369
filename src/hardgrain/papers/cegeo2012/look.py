"""What is measured in a packing at one moment.

Points of one face are one contact, with one force (`hardgrain.measure.resultants`). The anisotropy
of forces and directions is taken in two frames: that of the contact normals, and that of the
branches, which run from centre to centre, with the force split along and across them. For disks
both are the same. With the angle θ of a direction from the vertical,

    E(θ) = (1 + a_c cos 2θ)/2π,   l(θ) = l₀ (1 + a_l cos 2θ),
    N(θ) = f (1 + a_n cos 2θ),    T(θ) = −f a_t sin 2θ,

and to first order q/p = (a_c + a_l + a_n + a_t)/2 in the frame of the branches
(`hardgrain.measure.fabric` has the same for normals). Each a is signed: positive if it belongs to
a vertical axis of compression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardgrain.measure.fabric import fabric
from hardgrain.measure.resultants import resultants, seen
from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.stress import stress_tensor
from hardgrain.measure.structure import contact_numbers, packing_fraction, rattlers
from hardgrain.papers.fit import Floats
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
    a = fabric(snap)
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
        **_along_branches(pair.branch[inner], pair.force[inner]),
    )


def _along_branches(branch: Floats, force: Floats) -> dict[str, float]:
    """Anisotropies in the frame of the branches (m, 2), with forces (m, 2) on the second grain."""
    length = np.linalg.norm(branch, axis=1)
    x, y = (branch / length[:, None]).T
    cosine, sine = y * y - x * x, 2.0 * x * y  # of twice the angle from the vertical
    along = force[:, 0] * x + force[:, 1] * y
    across = force[:, 1] * x - force[:, 0] * y  # along the branch turned to the left
    even = np.stack([np.ones_like(x), cosine, sine], axis=1)
    f, a_n, _ = np.linalg.lstsq(even, along)[0]
    l, a_l, _ = np.linalg.lstsq(even, length)[0]
    a_t, _ = np.linalg.lstsq(np.stack([sine, -cosine], axis=1), across)[0]
    return {
        "branch": float(2.0 * cosine.mean()),
        "branch_length": float(a_l / l),
        "branch_normal": float(a_n / f),
        "branch_tangential": float(a_t / f),
    }
