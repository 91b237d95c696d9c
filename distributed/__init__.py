"""Batch inference over data sets, and models on several workers: on processes, Ray, Dask, MPI.

    graphc.distributed.map("model.onnx", "images/", "predictions/", batch_size=32)

Names are imported on first use, so that workers load neither the compiler nor ONNX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..compiler.sharding import ShardedModel, shard
    from .mapping import MapResult, map
    from .partitioning import StageModel, partition
    from .pipeline import StagePipeline, compile_stages

_EXPORTS = {
    "MapResult": "mapping",
    "ShardedModel": "..compiler.sharding",
    "StagePipeline": "pipeline",
    "StageModel": "partitioning",
    "compile_stages": "pipeline",
    "map": "mapping",
    "partition": "partitioning",
    "shard": "..compiler.sharding",
}

__all__ = [
    "MapResult",
    "ShardedModel",
    "StageModel",
    "StagePipeline",
    "compile_stages",
    "map",
    "partition",
    "shard",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _EXPORTS[name]
    module = importlib.import_module(place if place.startswith(".") else f".{place}", __name__)
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
