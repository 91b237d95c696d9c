"""Ranks that are threads of this process: each exchange waits for all of them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class LockstepRank:
    """A communicator of one thread."""

    def __init__(self, rank: int, slots: list, barrier: threading.Barrier):
        self.rank, self.size = rank, len(slots)
        self._slots, self._barrier = slots, barrier
        self.exchanges = 0

    def all_gather(self, x):
        """`x` of all ranks, along a new first axis."""
        return np.stack(self._exchanged(x))

    def all_to_all(self, x):
        """Row ``x[rank]`` of all ranks, along the first axis."""
        return np.stack([each[self.rank] for each in self._exchanged(x)])

    def _exchanged(self, x):
        self.exchanges += 1
        self._slots[self.rank] = x
        self._barrier.wait(60)
        found = [*self._slots]
        self._barrier.wait(60)
        return found


def lockstep_ranks(count: int) -> list[LockstepRank]:
    """A communicator for each of `count` threads."""
    slots, barrier = [None] * count, threading.Barrier(count)
    return [LockstepRank(rank, slots, barrier) for rank in range(count)]


def run_in_lockstep(function, ranks):
    """``function(rank)`` of all ranks, each in a thread of its own."""
    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(function, ranks))
