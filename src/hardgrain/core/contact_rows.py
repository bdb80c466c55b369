"""The columns of contacts that compiled functions read, as one record.

This file is part of what kernels are compiled from: a change of the columns compiles them anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEATURES", "ContactRows", "contact_key"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.integer[Any]]  # of arrays

# Contact points that two bodies can have, for one number that names a contact. More: the product
# with the square of the number of bodies must stay below 2⁶³, which 10⁷ bodies leave room for.
FEATURES = 1 << 14


class ContactRows(NamedTuple):
    """What a compiled function reads of contacts; see `hardgrain.core.model.Contacts`."""

    first: Ints
    second: Ints
    normal: Floats
    gap: Floats
    arm_first: Floats
    arm_second: Floats
    width: Floats
    roll: Floats
    law: Ints
    impulse: Floats
    torque: Floats


def contact_key(first: Rows, second: Rows, feature: Rows | int, bodies: int) -> NDArray[np.int64]:
    """One number for each contact, in the order of contacts, shape (m,)."""
    key: NDArray[np.int64] = (first.astype(np.int64) * bodies + second) * FEATURES + feature
    return key
