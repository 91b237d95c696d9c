"""Tensor parallelism: ranks of MPI that run a model together, each with its part of the weights."""

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..compiler.sharding import DividedInput, ShardedModel, shard
from ..errors import GraphcError
from ..runtime import CompiledModel
from .pipeline_ranks import world

T = TypeVar("T")
Feeds = Mapping[str, Any]
SECONDS_BETWEEN_RANKS = 0.2
"""The time that MPI has to end the other ranks."""


def run_on_ranks(
    model: Any, feeds: Iterable[Feeds] = (), comm: Any = None, **options: Any
) -> Iterator[dict[str, np.ndarray]]:
    """Run `model` on all ranks of `comm`, each of which calls this; yield the outputs on each.

    `model` is a model as `graphc.compile` takes it, which is divided among the ranks with `options`
    (see `graphc.distributed.shard`), or what `shard` made of it. Rank 0 reads `feeds`; what other
    ranks give is ignored. The outputs are the same bits on all ranks. Inputs that are `carried` (an
    option of `shard`) are fed in the first call, and again to begin anew; each rank keeps its part
    of them, and no output shows them. By default `comm` is ``MPI.COMM_WORLD`` of mpi4py.

    An error in a rank is printed and ends the processes of all ranks (``MPI_Abort``), as the others
    would wait for it for ever.
    """
    comm = world("a model divided among ranks") if comm is None else comm
    communicator = MPICommunicator(comm)

    def compile_here() -> tuple[ShardedModel, CompiledModel]:
        divided = isinstance(model, ShardedModel)
        sharded = model if divided else shard(model, communicator.size, **options)
        return sharded, sharded.compile(communicator)

    sharded, compiled = _on_all(comm, compile_here)
    with compiled:
        calls = _RankCalls(compiled, sharded.carried, sharded.local_inputs, communicator.rank)
        del sharded  # its weights are in the compiled model
        source = iter(feeds)
        while True:
            mine = _or_abort(comm, lambda: calls.next_of(source)) if calls.reads else None
            arrays = communicator.broadcast(mine)
            if arrays is None:
                return
            yield _or_abort(comm, lambda arrays=arrays: calls.run(arrays))


class _RankCalls:
    """The calls of one rank, with what it carries from one to the next."""

    def __init__(
        self,
        model: CompiledModel,
        carried: Mapping[str, str],
        local: Mapping[str, DividedInput],
        rank: int,
    ):
        self._model, self._carried, self._local = model, carried, local
        self._rank = rank
        self._outputs = [spec.name for spec in model.outputs]
        self._state: dict[str, np.ndarray] = {}

    @property
    def reads(self) -> bool:
        """True on the rank that reads feeds."""
        return self._rank == 0

    def next_of(self, source: Iterator[Feeds]) -> dict[str, np.ndarray] | None:
        """The next feeds, which fit the model; None at their end. Raises `FeedError`."""
        given = next(source, None)
        if given is None:
            return None
        arrays = {name: np.asarray(x) for name, x in given.items()}
        self._model.bind(self._feeds(arrays))
        return arrays

    def run(self, arrays: Feeds) -> dict[str, np.ndarray]:
        """The outputs that are not carried, for what rank 0 was given."""
        found = self._model.run(None, self._feeds(arrays))
        outputs = dict(zip(self._outputs, found, strict=True))
        self._state = {name: outputs[result] for name, result in self._carried.items()}
        kept = {*self._carried.values()}
        return {name: y for name, y in outputs.items() if name not in kept}

    def _feeds(self, arrays: Feeds) -> Feeds:
        """Carried values, and the rank's part of `arrays`."""
        parts = {
            name: self._local[name].part(name, x, self._rank) if name in self._local else x
            for name, x in arrays.items()
        }
        return {**self._state, **parts}


def _on_all(comm: Any, action: Callable[[], T]) -> T:
    """The result of `action` on this rank. If it fails on several, one of them says so."""
    error: Exception | None = None
    result: T | None = None
    try:
        result = action()
    except Exception as caught:
        error = caught
    failed = comm.allgather(error is not None)
    if any(failed):
        if error is not None and failed.index(True) == comm.Get_rank():
            _abort(comm, error)
        comm.Barrier()  # at which the other one ends this process
    return result  # type: ignore[return-value]


def _or_abort(comm: Any, action: Callable[[], T]) -> T:
    """The result of `action`; an error ends all ranks."""
    try:
        return action()
    except Exception as error:
        # Values are the same on all ranks, and so are errors that these cause: the first rank ends
        # the others before they say the same.
        time.sleep(SECONDS_BETWEEN_RANKS * comm.Get_rank())
        _abort(comm, error)


def _abort(comm: Any, error: Exception) -> NoReturn:
    """Print `error`, and end the processes of all ranks."""
    lines = traceback.format_exception(error)
    if isinstance(error, GraphcError):  # says itself what is wrong
        lines = traceback.format_exception_only(error)
    print(f"rank {comm.Get_rank()} of {comm.Get_size()}: {''.join(lines)}", end="", file=sys.stderr)
    sys.stderr.flush()
    comm.Abort(1)
    raise error


class MPICommunicator:
    """A communicator of mpi4py, by which ranks exchange arrays without pickling them."""

    def __init__(self, comm: Any):
        self._comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """`x` of all ranks, along a new first axis."""
        x = np.ascontiguousarray(x)
        y = np.empty((self.size, *x.shape), x.dtype)
        self._comm.Allgather(_bytes(x), _bytes(y))
        return y

    def all_to_all(self, x: np.ndarray) -> np.ndarray:
        """Row ``x[rank]`` of all ranks, along the first axis."""
        x = np.ascontiguousarray(x)
        y = np.empty_like(x)
        self._comm.Alltoall(_bytes(x), _bytes(y))
        return y

    def broadcast(self, feeds: Feeds | None) -> dict[str, np.ndarray] | None:
        """The feeds of rank 0, or None, on all ranks."""
        known = None if feeds is None else {n: (x.shape, x.dtype) for n, x in feeds.items()}
        described = self._comm.bcast(known)
        if described is None:
            return None
        received: dict[str, np.ndarray] = {}
        for name, (shape, dtype) in described.items():
            array = np.empty(shape, dtype) if feeds is None else np.ascontiguousarray(feeds[name])
            self._comm.Bcast(_bytes(array))
            received[name] = array
        return received


def _bytes(x: np.ndarray) -> np.ndarray:
    """The memory of `x`, whose element type MPI need not know."""
    return x.reshape(-1).view(np.uint8)
