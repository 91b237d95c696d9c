"""Blocks, arrays and bags on Dask."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ClusterError, MissingPackageError, UsageError
from .blocks import RowBlock
from .executor_engine import BLOCKS_PER_WORKER, run_on_executor
from .inline_job import InlineJob
from .manifest import BlockRecord
from .worker import MapJob

if TYPE_CHECKING:
    from .artifacts import ArtifactSource

CONNECT_SECONDS = 10


def run_on_dask(
    job: MapJob, blocks: Iterable[RowBlock], cluster: str | None, workers: int
) -> Iterator[BlockRecord]:
    """Process `blocks` on the cluster at that address, or on `workers` processes of this machine.

    Dask gives the blocks of a lost worker to others. Raises `ClusterError`.
    """
    library = _library()
    with _client(library, cluster, workers) as client:
        slots = sum(client.nthreads().values()) or 1
        executor = client.get_executor(pure=False)
        try:
            yield from run_on_executor(job, blocks, executor, BLOCKS_PER_WORKER * slots)
        except library.KilledWorker as error:
            raise ClusterError(f"a block has lost too many workers: {error}") from error
        except (CancelledError, library.comm.CommClosedError) as error:
            raise ClusterError(f"the scheduler of Dask was lost: {error}") from error


def _library() -> Any:
    try:
        import distributed  # pyright: ignore[reportMissingImports]

        return distributed if hasattr(distributed, "LocalCluster") else _shadowed(distributed)
    except ImportError as error:
        raise MissingPackageError("the engine dask", "distributed", "dask") from error


def _shadowed(found: Any) -> Any:
    raise UsageError(
        f"'{found.__file__}' hides Dask's package distributed: start Python in another folder"
    )


@contextlib.contextmanager
def _client(library: Any, cluster: str | None, workers: int) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        address: Any = cluster
        if cluster is None:
            local = library.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            )
            address = stack.enter_context(local)
        try:
            client = library.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no scheduler of Dask answers at '{cluster}': {error}") from error
        yield stack.enter_context(client)


def map_dask(
    source: "ArtifactSource",
    dataset: Any,
    threads: int,
    batch_size: int | None,
    columns: Mapping[str, str],
) -> Any:
    """A Dask array, arrays by column, or a bag of rows, with the outputs of the model.

    The result for one array is the output, or a dictionary of several; for others the outputs are
    added.
    """
    from dask import bag, delayed  # pyright: ignore[reportMissingImports]

    job = InlineJob.of(source, threads, batch_size, columns)
    contents = delayed(source.contents, name=f"model-{job.digest}", traverse=False)
    if isinstance(dataset, bag.Bag):
        return dataset.map_partitions(_run_rows, contents, job)
    if isinstance(dataset, Mapping):
        return {**dataset, **_map_arrays(job, contents, dataset)}
    if len(job.columns) != 1:
        raise UsageError("the model has several inputs: give arrays by column")
    outputs = _map_arrays(job, contents, {next(iter(job.columns.values())): dataset})
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def _run_rows(
    rows: Iterable[Mapping[str, Any]], contents: bytes, job: InlineJob
) -> list[dict[str, Any]]:
    """The rows of a partition of a bag, with the outputs.

    In a list, as workers send partitions to each other, and generators cannot be pickled.
    """
    rows = list(rows)
    if not rows:
        return []
    names = [name for name in job.columns.values() if all(name in row for row in rows)]
    outputs = job.run(contents, {name: np.stack([row[name] for row in rows]) for name in names})
    return [
        {**row, **{name: array[index] for name, array in outputs.items()}}
        for index, row in enumerate(rows)
    ]


def _map_arrays(job: InlineJob, contents: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    from dask import array as da  # pyright: ignore[reportMissingImports]
    from dask import delayed  # pyright: ignore[reportMissingImports]

    chunks = next(iter(arrays.values())).chunks[0]
    parts = {name: _row_blocks(array, chunks) for name, array in arrays.items()}
    run: Callable[..., Any] = delayed(job.run)
    results = [
        run(contents, {name: blocks[index] for name, blocks in parts.items()})
        for index in range(len(chunks))
    ]
    outputs = {}
    for spec in job.batching.outputs:
        sizes = [size if isinstance(size, int) else np.nan for size in spec.shape[1:]]
        pieces = [
            da.from_delayed(delayed(itemgetter(spec.name))(result), (rows, *sizes), spec.dtype)
            for result, rows in zip(results, chunks, strict=True)
        ]
        outputs[spec.name] = da.concatenate(pieces, allow_unknown_chunksizes=True)
    return outputs


def _row_blocks(array: Any, chunks: tuple[int, ...]) -> list[Any]:
    """The blocks of an array that is split along its first axis only."""
    split = array.rechunk({0: chunks, **{axis: -1 for axis in range(1, array.ndim)}})
    return list(split.to_delayed().reshape(-1))
