"""The calendar of events against a sorted list."""

import numpy as np
import pytest

from hardgrain.kernels import jit
from hardgrain.step import event_queue
from hardgrain.step.event_queue import queue_of

first, new_year, put = event_queue.first, event_queue.new_year, event_queue.put


def calendar(n):
    """One whose records lie among others, as those of a step do."""
    return queue_of(np.zeros((n, 8))[:, 3], np.zeros((n, 16), np.int32)[:, 12:])


@jit
def begin(queue, end):
    new_year(queue, 0.0, end)


@jit
def pop(queue, end, t):
    """The first grain, whose event is then put to time t."""
    i = first(queue, end)
    if i >= 0:
        put(queue, i, t)
    return i


@jit
def move(queue, i, t):
    put(queue, i, t)


@pytest.mark.parametrize("n", [1, 2, 40, 500])
def test_events_come_in_the_order_of_their_times(n):
    """A plain search over all times says which is next; others are moved in between."""
    rng = np.random.default_rng(n)
    end, queue = 3.0, calendar(n)
    queue.key[:] = rng.exponential(size=n)
    begin(queue, end)
    time, seen = queue.key.copy(), 0
    while True:
        order = np.lexsort((np.arange(n), time))
        due = order[0] if time[order[0]] <= end else -1
        now = time[order[0]]
        later = now + rng.exponential() * rng.choice([1e-9, 0.1, 1.0, 30.0])
        assert pop(queue, end, later) == due
        if due < 0:
            break
        time[due], seen = later, seen + 1
        if rng.random() > 0.2:
            continue
        other = int(rng.integers(n))
        time[other] = now + rng.exponential() * rng.choice([0.0, 1e-3, 1.0])
        move(queue, other, time[other])
    assert seen > n / 2


def test_many_events_at_one_moment_come_by_number():
    n = 2000
    queue = calendar(n)
    queue.key[:] = 0.25
    begin(queue, 1.0)
    assert [pop(queue, 1.0, 9.0) for _ in range(n)] == list(range(n))
    assert pop(queue, 1.0, 9.0) == -1


def test_a_time_that_is_no_number_is_never_due():
    queue = calendar(3)
    queue.key[:] = 0.5, np.nan, np.inf
    begin(queue, 1.0)
    assert pop(queue, 1.0, 9.0) == 0
    assert pop(queue, 1.0, 9.0) == -1
