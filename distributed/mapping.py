"""`map`: a model applied to all rows of a data set."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runtime import ProgressEvent
from ..runtime.metadata import is_path
from . import engines
from .array_blocks import blocks_of_arrays, blocks_of_feeds
from .artifacts import ArtifactSource, publish
from .batching import batching
from .blocks import RowBlock, block_key
from .datasets import blocks_of_files
from .manifest import MapManifest
from .requests import request_of
from .worker import MapJob, load_here, require_columns, runtime_versions

ROWS_PER_BLOCK = 1024
"""Default number of rows in a block, where the data set does not say."""


@dataclass(frozen=True)
class MapResult:
    """The results of a data set, in files."""

    folder: Path
    files: tuple[Path, ...]
    """One file for each block, in the order of the data set."""
    rows: int
    reused: int
    """Number of blocks whose results an earlier run had left."""


def map(
    model: Any,
    dataset: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    engine: str = "processes",
    executor: Executor | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    block_rows: int = ROWS_PER_BLOCK,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
    **options: Any,
) -> Any:
    """Run `model` on all rows of `dataset`, and write the results to files in the folder `output`.

    `model` is a model as `graphc.compile` takes it, or the path of a compiled one; `options` are
    those of `graphc.compile`. The model is compiled once. The rows are the first axis of all its
    inputs and outputs; `batch_size` of them are computed in a call, and named first dimensions are
    fixed at that size. Rows that are missing in the last batch of a fixed size are filled up.

    `dataset` is a folder or a file (``.npz``, ``.npy``, Parquet), a URI of Parquet files
    (``s3://...``), arrays by column, or an iterable of such. Each input takes the column of its
    name, or the one that `columns` gives for it. The columns `keep` (default: all) are copied to
    the results, and the outputs are added.

    The unit of work is a block: a row group, a ``.npz`` file, or `block_rows` rows. Its results are
    one file, which appears when it is complete. A manifest records the finished blocks: the same
    call in the same folder computes those that are missing, new or changed, and removes the results
    of blocks that are gone. Returns a `MapResult`.

    `engine` selects who works: ``processes`` of this machine, ``ray``, or ``dask``; `cluster` is
    the address of their scheduler (default: a local one is started). `executor` is any executor of
    `concurrent.futures` instead. All workers must share the folder. `workers` and `threads` are
    their number and the threads of each, by default one worker with one thread for each CPU.

    A Ray Dataset, a Dask array or a Dask bag of rows is mapped lazily, without `output`: the result
    is another one.

    Raises `GraphcError`: besides errors of the compilation `FeedError`, `UsageError`,
    `ManifestError`, `ClusterError`, `WorkerError`, `OutputError` and `ExecutionError`. Finished
    blocks are kept.
    """
    for name, number in (("block_rows", block_rows), ("batch_size", batch_size)):
        if number is not None and number < 1:
            raise UsageError(f"{name} must be positive, not {number}")
    setup = engines.Setup.of(engine, executor, cluster, workers, threads)
    source = ArtifactSource.of(model, batch_size, {**options, "threads": setup.threads}, progress)
    if engines.is_collection(dataset):
        if output is not None:
            raise UsageError(
                f"a {type(dataset).__name__} is mapped lazily: write the result of map"
            )
        return engines.map_collection(source, dataset, setup, batch_size, columns or {})
    if output is None:
        raise UsageError("name the folder for the results")
    request = request_of(
        model, source.options, runtime_versions(), batch_size=batch_size,
        columns=dict(columns or {}), keep=None if keep is None else list(keep),
        block_rows=block_rows, dataset=_place(dataset),
    )  # fmt: skip
    folder = Path(output).absolute()
    with MapManifest(folder, request) as manifest:
        artifact = publish(source, manifest)
        with load_here(artifact.path, setup.threads) as loaded:
            job = MapJob(
                artifact, setup.threads, batching(loaded.inputs, loaded.outputs, batch_size),
                require_columns(loaded, columns or {}), None if keep is None else tuple(keep),
                folder, runtime_versions(),
            )  # fmt: skip
        column = next(iter(job.columns.values())) if len(job.columns) == 1 else None
        blocks = _blocks(dataset, column, block_rows)
        return _run(job, blocks, manifest, setup, progress)


def _place(dataset: Any) -> str:
    if not is_path(dataset):
        return "in memory"
    return os.fspath(dataset) if "://" in os.fspath(dataset) else str(Path(dataset).absolute())


def _blocks(dataset: Any, column: str | None, block_rows: int) -> Iterator[RowBlock]:
    if is_path(dataset):
        return blocks_of_files(dataset, column, block_rows)
    if isinstance(dataset, Mapping):
        return blocks_of_arrays(dataset, block_rows)
    if isinstance(dataset, Iterable) and not hasattr(dataset, "dtype"):
        return blocks_of_feeds(dataset)
    raise UsageError(
        "a data set is a path, arrays by column, or an iterable of these, "
        f"not a {type(dataset).__name__}"
    )


def _run(
    job: MapJob,
    blocks: Iterator[RowBlock],
    manifest: MapManifest,
    setup: engines.Setup,
    progress: Callable[[ProgressEvent], None] | None,
) -> MapResult:
    before: dict[str, bool] = {}
    """For each block in the order of the data set, whether an earlier run had left its results."""

    def missing() -> Iterator[RowBlock]:
        for block in blocks:
            key = block_key(block)
            before[key] = manifest.has(key)
            if not before[key]:
                yield block

    begin = time.monotonic()
    for done, record in enumerate(engines.run(job, missing(), setup), 1):
        manifest.add(record)
        if progress is not None:
            progress(ProgressEvent(f"{done} blocks", time.monotonic() - begin))
    manifest.complete(before)
    records = [manifest.records[key] for key in before]
    files = tuple(job.folder / record.file for record in records)
    return MapResult(job.folder, files, sum(each.rows for each in records), sum(before.values()))
