"""Pipelines whose stages are ranks of MPI."""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ClusterError, MissingPackageError
from .pipeline import CompiledStage, Values


def run_on_ranks(
    stages: Sequence[CompiledStage], feeds: Iterable[Values] = (), comm: Any = None
) -> Iterator[dict[str, np.ndarray]]:
    """Run the stage of this MPI rank; each of the ranks of `comm` calls it.

    Rank 0 reads `feeds`; the last rank yields the outputs, others yield nothing. There are as many
    ranks as stages, and `stages` are the same on all of them. By default `comm` is
    ``MPI.COMM_WORLD`` of mpi4py. An error in a rank is printed and ends the processes of all ranks
    (``MPI_Abort``), as the others would wait for it for ever.
    """
    comm = world("a pipeline of ranks") if comm is None else comm
    rank, last = comm.Get_rank(), len(stages) - 1
    if comm.Get_size() != len(stages):
        raise ClusterError(f"{len(stages)} stages need as many ranks, not {comm.Get_size()}")
    source = iter(feeds) if rank == 0 else _received(comm, rank - 1)
    while (found := _next(stages[rank], source, comm)) is not None:
        if rank == last:
            yield found
        else:
            comm.send(found, dest=rank + 1)
    if rank < last:
        comm.send(None, dest=rank + 1)


def _next(
    stage: CompiledStage, source: Iterator[Values], comm: Any
) -> dict[str, np.ndarray] | None:
    """The results of `stage` for the next values of `source`; None at its end."""
    try:
        values = next(source, None)
        return None if values is None else stage.run(values)
    except Exception:
        traceback.print_exc()
        comm.Abort(1)
        raise


def _received(comm: Any, source: int) -> Iterator[Values]:
    """The values that another rank sends, up to its None."""
    while (values := comm.recv(source=source)) is not None:
        yield values


def world(purpose: str) -> Any:
    """All ranks of MPI. Raises `MissingPackageError`, which names the `purpose`."""
    try:
        from mpi4py import MPI  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError(purpose, "mpi4py", "mpi") from error
    return MPI.COMM_WORLD
