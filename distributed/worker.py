"""The work of a worker: read a block, run the model, write the results."""

import atexit
import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..errors import (
    DeviceError,
    ExecutionError,
    FeedError,
    MissingPackageError,
    ModuleFileError,
    OutputError,
    UsageError,
    WorkerError,
)
from ..runtime import CompiledModel, load
from ..runtime.cache.digests import digest_of_file
from ..runtime.files.output_file import write_atomically
from ..runtime.metadata import require_tensors
from .batching import Batching, Run, feed_of
from .blocks import RowBlock, Rows, block_key, output_name
from .manifest import BlockRecord

_PACKAGES = ("graphc", "iree-base-runtime")


@dataclass(frozen=True)
class Artifact:
    """A compiled model in a file, by the digest of its contents."""

    path: Path
    digest: str


@dataclass(frozen=True)
class MapJob:
    """Everything that a worker needs to know beside the block."""

    artifact: Artifact
    threads: int
    batching: Batching
    columns: Mapping[str, str]
    """Column of the data set by input of the model."""
    keep: tuple[str, ...] | None
    """Columns to copy to the results; all for None."""
    folder: Path
    versions: Mapping[str, str]
    """Versions of the process that began the job."""


def runtime_versions() -> dict[str, str]:
    """The versions of the packages that driver and workers must agree in."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}


def process_block(job: MapJob, block: RowBlock) -> BlockRecord:
    """Run the model on `block` and write the results to a file of the job's folder, atomically.

    The model is loaded once per process. Raises `WorkerError` if this worker cannot run it, and
    otherwise errors that name the block.
    """
    model = worker_model(job.artifact, job.threads, job.versions)
    try:
        rows = block.read()
        contents = rows.encode(_results(job, model, rows), _kept(job, rows))
        name = output_name(block)
        write_atomically(job.folder / name, contents)
    except (FeedError, ExecutionError, OutputError) as error:
        raise type(error)(f"block {block.label}: {error}") from error
    except MissingPackageError as error:  # whose constructor pickle does not know
        raise WorkerError(f"{worker_name()}: {error}") from None
    return BlockRecord(block_key(block), name, rows.count, len(contents))


def worker_model(artifact: Artifact, threads: int, versions: Mapping[str, str]) -> CompiledModel:
    """The model in `artifact`, loaded. Raises `WorkerError` if this worker cannot run it."""
    require_versions(versions)
    return _loaded(artifact, threads)


def require_versions(versions: Mapping[str, str]) -> None:
    """Raise `WorkerError` unless the packages here have `versions`."""
    here = runtime_versions()
    if here != versions:
        differing = [name for name in _PACKAGES if here.get(name) != versions.get(name)]
        listing = ", ".join(f"{n} {here.get(n)} instead of {versions.get(n)}" for n in differing)
        raise WorkerError(f"{worker_name()} has {listing}")


@cache
def _loaded(artifact: Artifact, threads: int) -> CompiledModel:
    """The model, mapped: processes of one machine share the memory of its weights."""
    try:
        found = digest_of_file(artifact.path)
    except OSError as error:
        raise WorkerError(
            f"{worker_name()} cannot read '{artifact.path}': {error.strerror}; the folder of the "
            "results must be one that all workers share"
        ) from error
    if found != artifact.digest:
        raise WorkerError(f"{worker_name()} found other contents in '{artifact.path}'")
    return load_here(artifact.path, threads)


atexit.register(_loaded.cache_clear)  # the bindings count what is left when they are unloaded


def load_here(source: Path | bytes, threads: int) -> CompiledModel:
    """Load a compiled model. Raises `WorkerError` if this machine cannot run it."""
    try:
        return load(source, threads=threads)
    except (DeviceError, ModuleFileError) as error:
        raise WorkerError(f"{worker_name()} cannot run the model: {error}") from error


def worker_name() -> str:
    """``worker 1234 on node7``."""
    return f"worker {os.getpid()} on {platform.node() or 'this machine'}"


def require_columns(model: CompiledModel, columns: Mapping[str, str]) -> dict[str, str]:
    """The column of each input. Raises `UsageError` for names that are no inputs."""
    names = [spec.name for spec in model.inputs]
    if unknown := sorted(set(columns) - set(names)):
        raise UsageError(f"the model has no input '{unknown[0]}' (inputs: {', '.join(names)})")
    return {name: columns.get(name, name) for name in names}


def _results(job: MapJob, model: CompiledModel, rows: Rows) -> dict[str, np.ndarray]:
    feeds = read_feeds(model, job.columns, rows)
    return job.batching.run(run_by_name(model), feeds, rows.count)


def run_by_name(model: CompiledModel) -> Run:
    """A function from arrays by input to arrays by output."""
    names = [spec.name for spec in model.outputs]
    return lambda feeds: dict(zip(names, model.run(None, feeds), strict=True))


def read_feeds(
    model: CompiledModel, columns: Mapping[str, str], rows: Rows
) -> dict[str, np.ndarray]:
    """The inputs of `model` from the columns of `rows`. Raises `FeedError`."""
    missing = [columns[spec.name] for spec in model.inputs if columns[spec.name] not in rows.names]
    if missing:
        raise FeedError(
            f"there is no column '{missing[0]}' (columns: {', '.join(rows.names)}); "
            "--column INPUT=COLUMN names the column of an input"
        )
    return {
        spec.name: feed_of(rows.array(columns[spec.name]), spec)
        for spec in require_tensors(model.inputs)
    }


def _kept(job: MapJob, rows: Rows) -> list[str]:
    names = list(rows.names) if job.keep is None else list(job.keep)
    if unknown := [name for name in names if name not in rows.names]:
        raise FeedError(f"there is no column '{unknown[0]}' (columns: {', '.join(rows.names)})")
    outputs = {spec.name for spec in job.batching.outputs}
    if taken := [name for name in names if name in outputs]:
        raise FeedError(
            f"output '{taken[0]}' is a column of the data set, too: name those to keep with --keep"
        )
    return names
