"""Jobs on collections of Ray and Dask, whose data and model come with each call."""

import atexit
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..runtime import CompiledModel, load
from ..runtime.cache.digests import digest_of
from .array_blocks import ArrayRows
from .batching import Batching, batching
from .worker import (
    load_here,
    read_feeds,
    require_columns,
    require_versions,
    run_by_name,
    runtime_versions,
)

if TYPE_CHECKING:
    from .artifacts import ArtifactSource

_models: dict[tuple[str, int], CompiledModel] = {}
_lock = threading.Lock()
atexit.register(_models.clear)  # as for `worker`


@dataclass(frozen=True)
class InlineJob:
    """Everything beside the contents of the model, of which a process loads each once."""

    digest: str
    threads: int
    batching: Batching
    columns: Mapping[str, str]
    versions: Mapping[str, str]

    @classmethod
    def of(
        cls,
        source: "ArtifactSource",
        threads: int,
        batch_size: int | None,
        columns: Mapping[str, str],
    ) -> "InlineJob":
        """The job for a model. Raises as `graphc.compile` does, and `UsageError`."""
        with load(source.contents, threads=threads) as model:
            plan = batching(model.inputs, model.outputs, batch_size)
            named = require_columns(model, columns)
        return cls(digest_of(source.contents), threads, plan, named, runtime_versions())

    def run(self, contents: bytes, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs for the rows of `columns`, by the model with these `contents`.

        Raises `WorkerError` if this process cannot run it, and `FeedError`.
        """
        rows = ArrayRows({name: np.asarray(array) for name, array in columns.items()})
        model = self._model(contents)
        feeds = read_feeds(model, self.columns, rows)
        return self.batching.run(run_by_name(model), feeds, rows.count)

    def _model(self, contents: bytes) -> CompiledModel:
        key = self.digest, self.threads
        with _lock:
            if key not in _models:
                require_versions(self.versions)
                _models[key] = load_here(contents, self.threads)
            return _models[key]
