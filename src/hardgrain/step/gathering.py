"""What a process is told of the contacts of others, for methods that see more than its own tiles.

Gradients need all contacts that touch grains of a process. Those whose first grain it owns it has
found itself; of the others the owners of their first grains tell it. Methods that factorise need
all contacts of the run, and all bodies, in one process: the first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.model import Floats
from hardgrain.cpu.tiled_apart import chosen, gathered_up, renamed, spread
from hardgrain.point.given import Motion
from hardgrain.processes import ALONE, Processes
from hardgrain.solve.problem import Problem
from hardgrain.solve.shared_task import Around, Gathered

__all__ = ["around", "gathered", "in_order", "side_by_side"]

Longs = NDArray[np.int64]


def around(part: Any, problem: Problem) -> Around:
    """The contacts that touch grains of a `step.part.Part`, given those that it has found."""
    here, rows = part.here, problem.rows
    to = np.where(part.shared[rows.second], here.rank, part.owner[rows.second])
    sent = [np.flatnonzero(to == q) if q != here.rank else np.zeros(0, np.int64)
            for q in range(here.size)]  # fmt: skip
    told = renamed(rows, part.row)
    came = here.traded([spread(chosen(told, some)) for some in sent])
    more = gathered_up(np.concatenate(came), rows)
    first, second = (np.searchsorted(part.row, b).astype(np.int32) for b in more[:2])
    both = _behind(rows, more._replace(first=first, second=second))
    order = in_order(both, len(part.row))
    own = order < rows.first.size

    def tell(values: Floats) -> Floats:
        theirs = here.traded([values[some] for some in sent])
        found: Floats = np.concatenate([values, *theirs])[order]
        return found

    problem = replace(problem, **chosen(both, order)._asdict())
    return Around(problem, own, part.row, part.shared, tell)


def gathered(part: Any, problem: Problem) -> Gathered:
    """The contacts of all processes and all bodies, in the first process."""
    here: Processes = part.here
    known = problem.position, *problem.motion
    numbers: list[Floats] = []
    here.told_first(spread(renamed(problem.rows, part.row)), numbers.append)
    counts = np.cumsum([0, *map(len, numbers)])
    n = part.whole.n
    columns = [np.empty((n + len(part.row) - part.grains, *v.shape[1:])) for v in known]

    def take(found: Floats) -> None:
        at, begin = found[:, 0].astype(np.int64), 1
        for column in columns:
            wide = int(np.prod(column.shape[1:]))
            column[at] = found[:, begin : begin + wide].reshape(len(at), *column.shape[1:])
            begin += wide

    here.told_first(side_by_side((part.row, *known), part.mine), take)
    whole, order = None, np.zeros(0, np.int64)
    if here.leads:
        for column, v in zip(columns, known, strict=True):
            column[n:] = v[part.grains :]
        rows = gathered_up(np.concatenate(numbers), problem.rows)
        order = in_order(rows, len(columns[0]))
        position, *motion = columns
        whole = replace(
            problem, **chosen(rows, order)._asdict(), **Motion(*motion)._asdict(),
            position=position, radius=None, others=ALONE,
        )  # fmt: skip

    def gather(values: Floats) -> Floats | None:
        found: list[Floats] = []
        here.told_first(values, found.append)
        return np.concatenate(found)[order] if here.leads else None

    def deal(values: Floats | None) -> Floats:
        room = np.empty_like(problem.side_by_side)
        back = np.empty((order.size, room.shape[1]))
        if values is not None:
            back[order] = values
        shares = list(pairwise(counts))
        here.dealt(lambda q: np.ascontiguousarray(back[slice(*shares[q])]), room)
        return room

    return Gathered(whole, gather, deal)


def in_order(rows: ContactRows, bodies: int) -> Longs:
    """Contacts of so many bodies by their first, then by their second ones."""
    first = rows.first.astype(np.int64)
    order: Longs = np.argsort(first * bodies + rows.second, kind="stable")
    return order


def _behind(rows: ContactRows, more: ContactRows) -> ContactRows:
    """Contacts, and more of them behind."""
    return ContactRows(*(np.concatenate([a, b]) for a, b in zip(rows, more, strict=True)))


def side_by_side(columns: Any, some: Any) -> Floats:
    """Some rows of several arrays as rows of numbers, shape (k, columns)."""
    parts = [c[some].reshape(some.size, int(np.prod(c.shape[1:]))) for c in columns]
    return np.concatenate(parts, axis=1).astype(np.float64)
