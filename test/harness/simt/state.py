"""The state of a workgroup: memory, who used it since the last barrier, and copies in flight."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphc.mlir import ir

Values = np.ndarray
"""The values of all threads: ``[threads, ...]``."""

_NOBODY = -1


class UndefinedBehaviour(Exception):
    """The kernel does what a GPU leaves undefined."""


@dataclass
class GlobalMemory:
    """A buffer of a kernel: a flat array, of which vectors of 16 bytes must be aligned."""

    array: np.ndarray

    def load(self, threads: Values, at: Values) -> Values:
        del threads
        self.check(at)
        return self.array[at]

    def store(self, threads: Values, at: Values, values: Values) -> None:
        del threads
        self.check(at)
        self.array[at] = values

    def check(self, at: Values) -> None:
        if at.size and not (at.min() >= 0 and at.max() < len(self.array)):
            raise UndefinedBehaviour(f"index {at.min()} .. {at.max()} of {len(self.array)}")


@dataclass
class AsyncRead:
    """Bytes of shared memory that the tensor cores of a warpgroup read; when it is `done`, other
    threads do not know that before a barrier."""

    warpgroup: int
    where: Values
    done: bool = False


class SharedBytes:
    """Shared memory, and for each byte who wrote it and who read it since the last barrier."""

    def __init__(self, size: int):
        self.bytes = np.zeros(size, np.uint8)
        self.known = np.zeros(size, bool)
        self.in_flight = np.zeros(size, bool)
        self.writer = np.full(size, _NOBODY)
        self.reader = np.full(size, _NOBODY)
        self.unfenced = np.zeros(size, bool)
        self.reads: list[AsyncRead] = []

    def barrier(self) -> None:
        self.writer[:] = _NOBODY
        self.reader[:] = _NOBODY
        self.reads = [read for read in self.reads if not read.done]

    def fence(self, threads: Values) -> None:
        """Let the asynchronous proxy see what `threads` have written."""
        self.unfenced[np.isin(self.writer, threads)] = False

    def read_async(self, where: Values, warpgroup: int) -> tuple["AsyncRead", Values]:
        """The bytes at `where`, which the tensor cores of a warpgroup read, until that is done."""
        if where.min() < 0 or where.max() >= len(self.bytes):
            raise UndefinedBehaviour("an operand beyond the end of shared memory")
        if not self.known[where].all() or self.in_flight[where].any():
            raise UndefinedBehaviour("an operand is not there yet")
        if (self.writer[where] != _NOBODY).any():
            raise UndefinedBehaviour("a thread wrote an operand, with no barrier between")
        if self.unfenced[where].any():
            raise UndefinedBehaviour("an operand was written without a fence of the proxy")
        self.reads.append(AsyncRead(warpgroup, np.unique(where)))
        return self.reads[-1], self.bytes[where]

    def claim(self, where: Values) -> None:
        """Raise if bytes are written that are operands of products, which are not known to be
        done by all threads."""
        for read in self.reads:
            if np.isin(where, read.where).any():
                raise UndefinedBehaviour("an operand is written that may still be read")


class SharedMemory:
    """A view of shared memory as elements of `dtype`."""

    def __init__(self, memory: SharedBytes, start: int, count: int, dtype: np.dtype):
        self.memory, self.start, self.count, self.dtype = memory, start, count, dtype

    def _where(self, at: Values) -> Values:
        if at.size and not (at.min() >= 0 and at.max() < self.count):
            raise UndefinedBehaviour(f"index {at.min()} .. {at.max()} of {self.count} shared")
        return self.start + at * self.dtype.itemsize

    def _bytes(self, at: Values) -> Values:
        return self._where(at)[..., None] + np.arange(self.dtype.itemsize)

    def load(self, threads: Values, at: Values) -> Values:
        memory, where = self.memory, self._bytes(at)
        who = np.broadcast_to(_aligned(threads, where), where.shape)
        if not memory.known[where].all():
            raise UndefinedBehaviour("shared memory is read that nobody has written")
        if memory.in_flight[where].any():
            raise UndefinedBehaviour("shared memory is read while a copy to it is in flight")
        writer = memory.writer[where]
        if ((writer != _NOBODY) & (writer != who)).any():
            raise UndefinedBehaviour("another thread wrote what is read, with no barrier between")
        memory.reader[where] = who
        return memory.bytes[where].view(self.dtype)[..., 0]

    def _claim(self, threads: Values, where: Values) -> None:
        who = np.broadcast_to(_aligned(threads, where), where.shape)
        for others in (self.memory.reader[where], self.memory.writer[where]):
            if ((others != _NOBODY) & (others != who)).any():
                raise UndefinedBehaviour("another thread used what is written, without a barrier")
        if len(np.unique(where)) != where.size:
            raise UndefinedBehaviour("two threads write to the same element")
        self.memory.claim(where)
        self.memory.known[where] = True
        self.memory.writer[where] = who
        self.memory.unfenced[where] = True

    def store(self, threads: Values, at: Values, values: Values) -> None:
        where = self._bytes(at)
        self._claim(threads, where)
        stored = np.ascontiguousarray(values, self.dtype)[..., None].view(np.uint8)
        self.memory.bytes[where] = stored

    def start_copy(self, threads: Values, at: Values) -> None:
        where = self._bytes(at)
        self._claim(threads, where)
        self.memory.in_flight[where] = True

    def finish_copy(self, threads: Values, at: Values, values: Values) -> None:
        where = self._bytes(at)
        self.memory.in_flight[where] = False
        self.memory.writer[where] = np.broadcast_to(_aligned(threads, where), where.shape)
        self.memory.unfenced[where] = True
        stored = np.ascontiguousarray(values, self.dtype)[..., None].view(np.uint8)
        self.memory.bytes[where] = stored


def _aligned(threads: Values, where: Values) -> Values:
    return threads.reshape(-1, *[1] * (where.ndim - 1))


Memory = GlobalMemory | SharedMemory


@dataclass
class AsyncCopy:
    target: SharedMemory
    threads: Values
    at: Values
    values: Values


@dataclass
class Workgroup:
    """The state of a workgroup of `threads` threads."""

    threads: int
    number: int
    known: dict[ir.Value, Any] = field(default_factory=dict)
    active: np.ndarray = field(init=False)
    shared: list[SharedBytes] = field(default_factory=list)
    started: list[AsyncCopy] = field(default_factory=list)
    groups: list[list[AsyncCopy]] = field(default_factory=list)
    products: list[list[AsyncRead]] = field(default_factory=list)
    """Groups of products in flight."""
    barriers: dict[int, Any] = field(default_factory=dict)
    maps: dict[int, Any] = field(default_factory=dict)
    copied_bytes: int = 0

    def __post_init__(self) -> None:
        self.active = np.ones(self.threads, bool)

    def uniform(self, value: ir.Value) -> int:
        """The value of `value`, which must be that of all active threads."""
        found = np.unique(self.known[value][self.active])
        if len(found) != 1:
            raise UndefinedBehaviour("threads differ in the bounds of a loop")
        return int(found[0])

    def all_active(self, what: str) -> None:
        if not self.active.all():
            raise UndefinedBehaviour(f"{what} that not all threads reach")

    @contextmanager
    def only(self, active: np.ndarray) -> Iterator[None]:
        outer, self.active = self.active, active
        try:
            yield
        finally:
            self.active = outer
