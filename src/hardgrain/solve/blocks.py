"""Problems given as a matrix, u = W r + q, packed for sweeps; see `hardgrain.point.blocks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from hardgrain.cpu.blocks import colours, split
from hardgrain.point.blocks import Blocks2D, Blocks3D
from hardgrain.solve.problem import Floats, Ints

if TYPE_CHECKING:
    from hardgrain.solve.matrices import LocalForm


def by_colour(form: LocalForm) -> tuple[Ints, Ints]:
    """Contacts sorted by colour and the start of each colour, as `cpu.order.colour` has them.

    Contacts of one colour are no neighbours and have none in common, since each of them writes into
    the velocities of its neighbours.
    """
    blocks = form.delassus.tobsr((form.dim, form.dim))
    one = np.ones(blocks.indices.size, np.int32)
    told = csr_array((one, blocks.indices, blocks.indptr), shape=(form.contacts, form.contacts))
    seen = csr_array(told + told.T)
    seen = csr_array(seen @ seen + seen)
    of = colours(seen.indptr, seen.indices)
    order = np.argsort(of, kind="stable").astype(np.int32)
    number = int(of[of < 63].max(initial=-1)) + 1
    starts = np.searchsorted(of[order], [*range(number + 1), 64]).astype(np.int32)
    return order, starts


def pack(form: LocalForm, order: Ints | None, r: Floats) -> Blocks2D | Blocks3D:
    """Fill a packed problem that starts from the impulses r; row s holds contact ``order[s]``.

    Without an order contacts stay where they are, and with them the pairs.
    """
    pair = form.pair
    if order is not None or pair is None:
        pair = np.arange(form.contacts + 1, dtype=np.int32)
    if order is None:
        order = np.arange(form.contacts, dtype=np.int32)
    rows = form.delassus.tobsr((form.dim, form.dim))
    rows.sum_duplicates()
    columns = rows.T
    u = form.contact_velocity(r)
    parts = split(order, pair, columns.indptr, columns.indices, columns.data, u, form.mu, r)
    return Blocks2D(*parts) if form.dim == 2 else Blocks3D(*parts)


def unpack(p: Blocks2D | Blocks3D, order: Ints | None, dim: int) -> Floats:
    """Impulses of a relaxed problem, shape (m·dim,)."""
    r = np.empty((len(p.c), dim))
    r[slice(None) if order is None else order] = p.c[:, :dim]
    return r.ravel()
