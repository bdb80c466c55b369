"""What the narrow phase writes into the row of a contact: arms, sizes and the law.

All that depends on the shape of a body ends here. A solver, the ledger or a measurement reads where
the contact point lies as seen from both bodies and which row of the law table holds.

For round grains the arms end at the surfaces, r_i n and −r_j n. A wall's arm goes from the point
that it turns about to the surface of the grain, wherever that is.
"""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import jit
from hardgrain.scene.geometry import min_image
from hardgrain.scene.model import Contacts, Floats, Model

__all__ = ["complete"]


def complete(model: Model, position: Floats, contacts: Contacts) -> Contacts:
    """Give contacts their arms, widths and laws, for bodies at the given places (nb, dim)."""
    c = contacts
    c.arm_first, c.arm_second, c.width, c.roll, law = round_rows(
        c.first, c.second, c.normal, position, model.radius, model.periodic, model.material,
        len(model.laws),
    )  # fmt: skip
    c.law = law if model.rule is None else model.rule(model, position, c, law)
    return c


@jit
def round_rows(first, second, normal, position, radius, periodic, material, materials):  # type: ignore[no-untyped-def]
    """Arms (m, dim), widths (m,), rolling radii (m,) and laws (m,) of disks, spheres and walls.

    The rolling radius is that of the equivalent grain on a plane, r_i r_j / (r_i + r_j): walls
    count as flat.
    """
    m, dim, n = first.size, normal.shape[1], radius.size
    arm_first, arm_second = np.empty((m, dim)), np.empty((m, dim))
    width, roll, law = np.empty(m), np.empty(m), np.empty(m, np.int32)
    for k in range(m):
        i, j = first[k], second[k]
        r = radius[i]
        width[k], roll[k] = 2.0 * r, r
        law[k] = material[i] * materials + material[j]
        if j < n:
            width[k], roll[k] = 2.0 * min(r, radius[j]), r * radius[j] / (r + radius[j])
        for a in range(dim):
            arm_first[k, a] = r * normal[k, a]
            if j < n:
                arm_second[k, a] = -radius[j] * normal[k, a]
            else:
                away = min_image(position[i, a] - position[j, a], periodic[a])
                arm_second[k, a] = away + arm_first[k, a]
    return arm_first, arm_second, width, roll, law
