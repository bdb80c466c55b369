"""What the narrow phase writes into the row of a contact: arms, sizes and the law.

All that depends on the shape of a body ends here. A solver, the ledger or a measurement reads where
the contact point lies as seen from both bodies and which row of the law table holds.
What the row of a round contact says, `hardgrain.point.row` explains.
"""

from __future__ import annotations

from hardgrain.core.model import Contacts, Floats, Model
from hardgrain.cpu.contacts import round_rows, sizes

__all__ = ["complete", "round_rows"]


def complete(model: Model, position: Floats, contacts: Contacts) -> Contacts:
    """Give contacts their arms, widths and laws, for bodies at the given places (nb, dim)."""
    c = contacts
    if model.round:
        c.arm_first, c.arm_second, c.width, c.roll, law = round_rows(
            c.first, c.second, c.normal, position, model.radius, model.periodic, model.material,
            len(model.laws),
        )  # fmt: skip
    else:  # their arms are where the narrow phase found them, and kept with them
        half = 0.5 * model.width
        c.width, c.roll, law = sizes(c.first, c.second, half, model.material, len(model.laws))
    c.law = law if model.rule is None else model.rule(model, position, c, law)
    return c
