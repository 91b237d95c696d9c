"""Blocks and data sets on Ray Data."""

import contextlib
import pickle
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ClusterError, GraphcError, MissingPackageError
from .blocks import RowBlock
from .inline_job import InlineJob
from .manifest import BlockRecord
from .worker import MapJob, process_block

if TYPE_CHECKING:
    from .artifacts import ArtifactSource

CONNECT_SECONDS = 10


class BlockActor:
    """A worker of Ray that processes blocks; it loads the model once."""

    def __init__(self, job: MapJob):
        self._job = job

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The records of blocks, or errors, pickled."""
        return {"result": np.array([self._run(each) for each in batch["block"]], object)}

    def _run(self, block: bytes) -> bytes:
        try:
            return pickle.dumps(process_block(self._job, pickle.loads(block)))
        except GraphcError as error:  # Ray would wrap it in an error of its own
            return pickle.dumps(error)


class RowsActor:
    """A worker of Ray that adds the outputs of a model to batches of rows."""

    def __init__(self, job: InlineJob, contents: Any):
        import ray  # pyright: ignore[reportMissingImports]

        self._job, self._contents = job, ray.get(contents)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """`batch` with the outputs."""
        return {**batch, **self._job.run(self._contents, batch)}


def run_on_ray(
    job: MapJob, blocks: Iterable[RowBlock], cluster: str | None, workers: int | None
) -> Iterator[BlockRecord]:
    """Process `blocks` on the cluster at that address, the current one, or a local one.

    Ray gives the blocks of a lost worker to others. Raises `ClusterError`.
    """
    ray = require_ray()
    with _connected(ray, cluster):
        items = [{"block": pickle.dumps(block)} for block in blocks]
        if not items:
            return
        dataset = ray.data.from_items(items, override_num_blocks=len(items))
        results = _map(
            ray, dataset, BlockActor, {"job": job}, job.threads, workers, batch_size=1
        ).iter_rows()
        try:
            for row in results:
                result = pickle.loads(row["result"])
                if isinstance(result, GraphcError):
                    raise result
                yield result
        except ray.exceptions.RayError as error:
            raise ClusterError(f"Ray could not go on: {error}") from error


def map_dataset(
    source: "ArtifactSource",
    dataset: Any,
    threads: int,
    workers: int | None,
    batch_size: int | None,
    columns: Mapping[str, str],
) -> Any:
    """A Ray Dataset with the outputs of the model as further columns."""
    ray = require_ray()
    job = InlineJob.of(source, threads, batch_size, columns)
    arguments = {"job": job, "contents": ray.put(source.contents)}
    return _map(ray, dataset, RowsActor, arguments, threads, workers, batch_size=job.batching.size)


def _map(
    ray: Any, dataset: Any, actor: type, arguments: Mapping[str, Any], threads: int,
    workers: int | None, batch_size: int,
) -> Any:  # fmt: skip
    room = int(ray.cluster_resources().get("CPU", 1) // threads)
    pool = ray.data.ActorPoolStrategy(size=workers or max(1, room))
    return dataset.map_batches(
        actor, fn_constructor_kwargs=dict(arguments), batch_size=batch_size,
        batch_format="numpy", compute=pool, num_cpus=threads,
    )  # fmt: skip


def require_ray() -> Any:
    """The package ray. Raises `MissingPackageError`."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.data  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("the engine ray", "ray", "ray") from error
    return ray


@contextlib.contextmanager
def _connected(ray: Any, cluster: str | None) -> Iterator[None]:
    """A connection to a cluster, which ends with the block unless it was there before."""
    if ray.is_initialized() and cluster is None:
        yield
        return
    _require_answer(cluster)
    try:
        ray.init(address=cluster, log_to_driver=False)
    except Exception as error:  # Ray raises that class itself, too
        raise ClusterError(f"no cluster of Ray at '{cluster or 'local'}': {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _require_answer(cluster: str | None) -> None:
    """Raise `ClusterError` if nothing listens at an address; Ray would try for minutes."""
    host, _, port = (cluster or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # None, "auto" or "local": Ray finds or starts it
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(f"no cluster of Ray at '{cluster}': {error}") from error
