"""The columns of contacts that compiled functions read, as one record.

This file is part of what kernels are compiled from: a change of the columns compiles them anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ContactRows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


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
