"""Pipelines: the stages of a model on workers of their own, with overlapping micro-batches."""

import contextlib
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import ClusterError, FeedError
from ..runtime.cache.digests import digest_of
from ..runtime.files.output_file import write_atomically
from .executor_engine import worker_pool
from .worker import Artifact, runtime_versions, worker_model

if TYPE_CHECKING:
    from .partitioning import StageModel

Values = Mapping[str, np.ndarray]
AHEAD = 2
"""Micro-batches in flight for each stage: one that it computes and one that waits."""


@dataclass(frozen=True)
class CompiledStage:
    """A compiled stage of a pipeline, as its worker gets it."""

    artifact: Artifact
    threads: int
    passed_on: tuple[str, ...]
    versions: Mapping[str, str]

    def run(self, values: Values) -> dict[str, np.ndarray]:
        """Compute the stage on values by name; return those that later stages need.

        Raises `WorkerError` if this process cannot run it, and as `CompiledModel.run` does.
        """
        model = worker_model(self.artifact, self.threads, self.versions)
        names = [spec.name for spec in model.inputs]
        outputs = model.run(None, _selected(values, names))
        results = {spec.name: y for spec, y in zip(model.outputs, outputs, strict=True)}
        return _selected({**values, **results}, self.passed_on)


def _selected(values: Values, names: Sequence[str]) -> dict[str, np.ndarray]:
    if missing := [name for name in names if name not in values]:
        raise FeedError(f"input '{missing[0]}' is missing (given: {', '.join(values) or 'none'})")
    return {name: values[name] for name in names}


def compile_stages(
    stages: Sequence["StageModel"], folder: Path, *, threads: int = 1, **options: Any
) -> tuple[CompiledStage, ...]:
    """Compile each of `stages` to a file in `folder`, which all workers share.

    `options` are those of `graphc.compile`. Raises as that does.
    """
    from .artifacts import ArtifactSource

    made = []
    for index, each in enumerate(stages):
        source = ArtifactSource.of(each.model, None, {**options, "threads": threads})
        path = folder / f"stage-{index}"
        write_atomically(path, source.contents)
        artifact = Artifact(path, digest_of(source.contents))
        made.append(CompiledStage(artifact, threads, each.passed_on, runtime_versions()))
    return tuple(made)


class StagePipeline:
    """The stages of `partition`, compiled, each on a worker of its own.

    The workers are processes of this machine, or `executors`: one for each stage, with one worker
    each, that sees the folder for temporary files. Use it in a ``with`` statement. `options` are
    those of `graphc.compile`.
    """

    def __init__(
        self,
        stages: Sequence["StageModel"],
        *,
        executors: Sequence[Executor] | None = None,
        threads: int = 1,
        **options: Any,
    ):
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphc-stages-")))
            self._stages = compile_stages(stages, folder, threads=threads, **options)
            if executors is None:
                executors = [stack.enter_context(worker_pool(1)) for _ in stages]
            self._executors = executors
            self._resources = stack.pop_all()

    def run(self, feeds: Iterable[Values]) -> Iterator[dict[str, np.ndarray]]:
        """The outputs of the whole model for each of `feeds`, micro-batches of arrays by input.

        The results come in the order of `feeds`, of which only a few are in flight. Raises
        `ClusterError` if a worker is lost, and as `CompiledModel.run` does.
        """
        waiting: deque[Future[dict[str, np.ndarray]]] = deque()
        try:
            for feed in feeds:
                waiting.append(self._begin(feed))
                if len(waiting) >= AHEAD * len(self._stages):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise ClusterError("the worker of a stage was killed; make a new pipeline") from error

    def close(self) -> None:
        """End the workers."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, feed: Values) -> Future[dict[str, np.ndarray]]:
        """Submit `feed` to the first stage, and each result to the next."""
        result: Future[dict[str, np.ndarray]] = Future()
        self._submit(0, feed, result)
        return result

    def _submit(self, index: int, values: Values, result: Future[dict[str, np.ndarray]]) -> None:
        if index == len(self._stages):
            result.set_result(dict(values))
            return
        try:
            done = self._executors[index].submit(self._stages[index].run, values)
        except RuntimeError as error:  # a pool that was broken or shut down
            result.set_exception(error)
            return
        done.add_done_callback(_then(lambda found: self._submit(index + 1, found, result), result))


def _then(go_on: Callable[[Any], None], result: Future[Any]) -> Callable[[Future[Any]], None]:
    """A callback that gives the result of a future to `go_on`, or its error to `result`."""

    def callback(done: Future[Any]) -> None:
        if done.cancelled():  # by the owner of the executor
            result.set_exception(ClusterError("the call of a stage was cancelled"))
            return
        error = done.exception()
        if error is not None:
            result.set_exception(error)
        else:
            go_on(done.result())

    return callback
