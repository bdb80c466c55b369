"""What becomes of a colour on the way to the screen.

The client takes the colours of instances for linear ones, lights them, and its renderer applies the
filmic curve of three.js (ACES) before it encodes them for the screen:

    seen = encode(B f(A x / 0.6)),   f(v) = (v (v + a) − b) / (v (c v + d) + e),   x = BRIGHT sent.

`sent` inverts this by a quadratic equation. Bright colours need x > 1, hence a light that is BRIGHT
times as bright as it need be. Saturated ones lie beyond the curve's reach: `seen` tells what comes
of them, for the legend.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BRIGHT", "seen", "sent"]

Bytes = NDArray[np.uint8]

# How much brighter than needed the light is. If it is smaller, bright colours cannot be reached.
BRIGHT = 2.0
# The matrices and the curve of three.js (ACESFilmicToneMapping); they change only with it.
INTO = np.array(
    [[0.59719, 0.35458, 0.04823], [0.076, 0.90834, 0.01566], [0.0284, 0.13383, 0.83777]]
)
OUT_OF = np.array(
    [[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]]
)
A, B, C, D, E = 0.0245786, 0.000090537, 0.983729, 0.432951, 0.238081


def sent(rgb: Bytes) -> Bytes:
    """Colours to send so that those given are seen on a surface in full light, (k, 3)."""
    wanted = rgb / 255.0
    linear = np.where(wanted > 0.04045, ((wanted + 0.055) / 1.055) ** 2.4, wanted / 12.92)
    y = np.clip(linear @ np.linalg.inv(OUT_OF).T, 0.0, 0.99)
    p, q, r = 1.0 - C * y, A - D * y, B + E * y
    v = (-q + np.sqrt(q * q + 4.0 * p * r)) / (2.0 * p)
    x = 0.6 * v @ np.linalg.inv(INTO).T
    code: Bytes = np.rint(255.0 * np.clip(x / BRIGHT, 0.0, 1.0)).astype(np.uint8)
    return code


def seen(rgb: Bytes) -> Bytes:
    """Colours that are seen where those given were wanted, (k, 3)."""
    v = (BRIGHT / 255.0 / 0.6) * sent(rgb) @ INTO.T
    y = (v * (v + A) - B) / (v * (C * v + D) + E)
    linear = np.clip(y @ OUT_OF.T, 0.0, 1.0)
    code = np.where(linear > 0.0031308, 1.055 * linear ** (1.0 / 2.4) - 0.055, 12.92 * linear)
    found: Bytes = np.rint(255.0 * code).astype(np.uint8)
    return found
