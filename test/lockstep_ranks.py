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

    def abort(self):
        """End all ranks."""
        self._barrier.abort()

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


class AbortedError(Exception):
    """The end of a rank by MPI_Abort."""


class LockstepMPI:
    """The methods of a communicator of mpi4py that graphc calls, for one thread."""

    def __init__(self, rank: LockstepRank):
        self._rank = rank

    def Get_rank(self):  # noqa: N802
        return self._rank.rank

    def Get_size(self):  # noqa: N802
        return self._rank.size

    def Allgather(self, sent, received):  # noqa: N802
        received.reshape(self._rank.size, -1)[...] = self._exchanged(sent)

    def Alltoall(self, sent, received):  # noqa: N802
        rows = [x.reshape(self._rank.size, -1)[self._rank.rank] for x in self._exchanged(sent)]
        received.reshape(self._rank.size, -1)[...] = rows

    def Bcast(self, array):  # noqa: N802
        array[...] = self._exchanged(array)[0]

    def Barrier(self):  # noqa: N802
        self._exchanged(None)

    def bcast(self, value):
        return self._exchanged(value)[0]

    def allgather(self, value):
        return self._exchanged(value)

    def Abort(self, code):  # noqa: N802
        self._rank.abort()
        raise AbortedError(code)

    def _exchanged(self, value):
        try:
            return self._rank._exchanged(value)
        except threading.BrokenBarrierError:
            raise AbortedError("by another rank") from None
