"""Sums, largest values and running counts over a whole grid, the same bits on every device.

Items are cut into CHUNKS ranges, however many blocks there are. A block takes one chunk after the
other, sums it as a fixed tree, and writes the sum down; when all are there, they are added in
order. Kernels that use this are launched so that all their blocks run at once.
"""

from __future__ import annotations

import numpy as np

from hardgrain.cuda.api import SIMULATED, cuda, device
from hardgrain.cuda.memory import arrive, look

__all__ = [
    "CHUNKS", "THREADS", "after", "block_max", "block_rank", "block_sum", "bounds", "meet",
]  # fmt: skip

# [threads] of a block, a power of two. Fewer leave multiprocessors idle, more leave fewer registers
# to each. The simulator runs Python threads, of which few are enough.
THREADS = 8 if SIMULATED else 256
# [1] Ranges that items are cut into: several for each block that an H200 runs at once. It changes
# how sums round, and so the bits of a run.
CHUNKS = 4 if SIMULATED else 1024


@device
def bounds(chunk, items):
    """First item of a chunk, and the first one behind it."""
    return chunk * items // CHUNKS, (chunk + 1) * items // CHUNKS


@device
def meet(arrivals):
    """Let all threads of the grid wait for each other; what they wrote is then known to all.

    arrivals: (1,) uint32. Its highest bit turns when the last block has come: the first block
    adds what the number of the others lacks to it.
    """
    high = np.uint32(0x80000000)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        more = np.uint32(1)
        if cuda.blockIdx.x == 0:
            more = np.uint32(0x80000001 - cuda.gridDim.x)
        before = arrive(arrivals, more)
        while ((look(arrivals) ^ before) & high) == np.uint32(0):
            pass
    cuda.syncthreads()


@device
def block_sum(value, room):
    """Sum of the values that the threads of a block have; room: shared, one number a thread."""
    t, half = cuda.threadIdx.x, room.shape[0] // 2
    room[t] = value
    cuda.syncthreads()
    while half > 0:
        if t < half:
            room[t] += room[t + half]
        cuda.syncthreads()
        half //= 2
    total = room[0]
    cuda.syncthreads()
    return total


@device
def block_max(value, room):
    """Largest of the values that the threads of a block have; NaN if one is."""
    t, half = cuda.threadIdx.x, room.shape[0] // 2
    room[t] = value
    cuda.syncthreads()
    while half > 0:
        if t < half:
            other = room[t + half]
            if not other <= room[t]:
                room[t] = other
        cuda.syncthreads()
        half //= 2
    most = room[0]
    cuda.syncthreads()
    return most


@device
def block_rank(count, room):
    """Sum of the counts of the threads before this one, and of all; room: shared whole numbers."""
    t, step = cuda.threadIdx.x, 1
    room[t] = count
    cuda.syncthreads()
    while step < room.shape[0]:
        before = room[t - step] if t >= step else 0
        cuda.syncthreads()
        room[t] += before
        cuda.syncthreads()
        step *= 2
    rank, total = room[t] - count, room[room.shape[0] - 1]
    cuda.syncthreads()
    return rank, total


@device
def after(parts, chunk, room):
    """Sum of the whole numbers that the chunks before this one wrote down."""
    total = 0
    for c in range(cuda.threadIdx.x, chunk, cuda.blockDim.x):
        total += parts[c]
    return block_rank(total, room)[1]
