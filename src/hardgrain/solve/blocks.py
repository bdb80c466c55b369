"""Problems given as a matrix, u = W r + q, packed for sweeps; see `hardgrain.point.blocks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardgrain.cpu.blocks import colours, split
from hardgrain.point.blocks import Blocks2D, Blocks3D
from hardgrain.solve.problem import Floats, Ints

if TYPE_CHECKING:
    from hardgrain.solve.matrices import LocalForm


def by_colour(form: LocalForm) -> tuple[Ints, Ints]:
    """Contacts sorted by colour and the start of each colour, as `cpu.order.colour` has them."""
    pattern = abs(form.delassus)
    seen = (pattern + pattern.T).tobsr((form.dim, form.dim))
    of = colours(seen.indptr, seen.indices)
    order = np.argsort(of, kind="stable").astype(np.int32)
    number = int(of[of < 63].max(initial=-1)) + 1
    starts = np.searchsorted(of[order], [*range(number + 1), 64]).astype(np.int32)
    return order, starts


def pack(form: LocalForm, order: Ints, r: Floats) -> Blocks2D | Blocks3D:
    """Fill a packed problem that starts from the impulses r; row s holds contact ``order[s]``."""
    rows = form.delassus.tobsr((form.dim, form.dim))
    rows.sum_duplicates()
    parts = split(order, rows.indptr, rows.indices, rows.data, form.q, form.mu, r)
    return Blocks2D(*parts) if form.dim == 2 else Blocks3D(*parts)


def unpack(p: Blocks2D | Blocks3D, order: Ints, dim: int) -> Floats:
    """Impulses of a relaxed problem, shape (m·dim,)."""
    r = np.empty((order.size, dim))
    r[order] = p.c[:, :dim]
    return r.ravel()
