"""Which grain is next? A calendar of events, one for each grain, in constant time an event.

Time ahead is cut into slots, a year of them (Paul 2007). An event lies in its slot, unsorted, until
its slot is the present one; then it joins a small heap, and the heap's first event is the next of
all. Slots are so wide that about `FILL` events share one. An event beyond the year lies nowhere:
when a year ends, the calendar is made anew of what is known then, with slots that suit it. A year
is about twice as long as grains wait for an event, so that this costs each event a constant share.

Ties are decided by the number of the grain, so that the order of events is a function of their
times alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.kernels import scalar

__all__ = ["AFTER", "Queue", "first", "new_year", "put", "queue_of"]

# [events] That share a slot. Fewer leave most slots empty, more make the heap deep; the cost hardly
# changes between 1 and 4.
FILL = 2.0
# [1] Slots are no narrower than this share of the step over the number of slots, so that a year
# which begins with many events at one moment still comes to an end.
NARROWEST = 1e-9
FEWEST = 16  # [slots] of a calendar

# Columns of `Queue.lies`: the next grain in its slot and the one before, −1: none; its place in the
# heap, −1: nowhere, −2 − s: in slot s.
AFTER, BEFORE, WHERE = 0, 1, 2


class Queue(NamedTuple):
    """The calendar; grains by their rows in the step."""

    key: np.ndarray  # (n,) time of each grain's event
    slot: np.ndarray  # (slots,) first grain of each slot, −1: none
    lies: np.ndarray  # (n, 3) where each grain's event lies, see AFTER, BEFORE, WHERE
    heap: np.ndarray  # (n,)
    clock: np.ndarray  # (2,) when the year began, width of a slot [time]
    tally: np.ndarray  # (2,) present slot, size of the heap


def queue_of(key: np.ndarray, lies: np.ndarray) -> Queue:
    """A calendar without events; ``key`` and ``lies`` are room for what it keeps of each grain."""
    n = len(key)
    return Queue(
        key, np.empty(max(n, FEWEST), np.int32), lies, np.empty(n, np.int32), np.zeros(2),
        np.zeros(2, np.int64),
    )  # fmt: skip


@scalar
def _sooner(q, i, j):
    return q.key[i] < q.key[j] or (q.key[i] == q.key[j] and i < j)


@scalar
def _rise(q, k):
    """Move what is at place k of the heap up to where it belongs."""
    i = q.heap[k]
    while k > 0:
        up = (k - 1) >> 1
        j = q.heap[up]
        if not _sooner(q, i, j):
            break
        q.heap[k] = j
        q.lies[j, WHERE] = k
        k = up
    q.heap[k] = i
    q.lies[i, WHERE] = k


@scalar
def _sink(q, k):
    """Move what is at place k of the heap down to where it belongs."""
    i, size = q.heap[k], q.tally[1]
    while True:
        down = 2 * k + 1
        if down >= size:
            break
        j = q.heap[down]
        if down + 1 < size and _sooner(q, q.heap[down + 1], j):
            down += 1
            j = q.heap[down]
        if not _sooner(q, j, i):
            break
        q.heap[k] = j
        q.lies[j, WHERE] = k
        k = down
    q.heap[k] = i
    q.lies[i, WHERE] = k


@scalar
def _push(q, i):
    k = q.tally[1]
    q.tally[1] = k + 1
    q.heap[k] = i
    _rise(q, k)


@scalar
def _take(q, i):
    """Take grain i out of wherever it lies."""
    k = q.lies[i, WHERE]
    if k >= 0:
        last = q.tally[1] - 1
        q.tally[1] = last
        j = q.heap[last]
        if j != i:
            q.heap[k] = j
            q.lies[j, WHERE] = k
            _rise(q, k)
            _sink(q, q.lies[j, WHERE])
    elif k < -1:
        a, b = q.lies[i, AFTER], q.lies[i, BEFORE]
        if a >= 0:
            q.lies[a, BEFORE] = b
        if b >= 0:
            q.lies[b, AFTER] = a
        else:
            q.slot[-2 - k] = a
    q.lies[i, WHERE] = -1


@scalar
def _lay(q, i):
    """Lay grain i into the slot of its event."""
    share = (q.key[i] - q.clock[0]) / q.clock[1]
    if not share < q.slot.size:  # beyond the year, or not a number
        q.lies[i, WHERE] = -1
        return
    s = np.int64(share)
    if s <= q.tally[0]:
        _push(q, i)
        return
    head = q.slot[s]
    q.lies[i, AFTER], q.lies[i, BEFORE] = head, -1
    if head >= 0:
        q.lies[head, BEFORE] = i
    q.slot[s] = i
    q.lies[i, WHERE] = -2 - s


@scalar
def put(q, i, t):
    """Let the next event of grain i be at time t."""
    _take(q, i)
    q.key[i] = t
    _lay(q, i)


@scalar
def new_year(q, now, end):
    """Make the calendar anew from the times of all events."""
    n, slots, wait = q.key.size, q.slot.size, 0.0
    for i in range(n):
        wait += max(q.key[i] - now, 0.0) if q.key[i] < end else end - now  # also if it is no number
    q.clock[0] = now
    q.clock[1] = max(FILL * wait / n / n, NARROWEST * end / slots)
    q.tally[0] = q.tally[1] = 0
    for s in range(slots):
        q.slot[s] = -1
    for i in range(n):
        _lay(q, i)


@scalar
def first(q, end):
    """The grain whose event is the next of all up to the end, −1: there is none."""
    while q.tally[1] == 0:
        s = q.tally[0] + 1
        if s >= q.slot.size:
            now = q.clock[0] + q.slot.size * q.clock[1]
            if now > end:
                return -1
            new_year(q, now, end)
            continue
        q.tally[0] = s
        i = q.slot[s]
        q.slot[s] = -1
        while i >= 0:
            follows = q.lies[i, AFTER]
            _push(q, i)
            i = follows
    i = q.heap[0]
    return i if q.key[i] <= end else -1
