"""Batch inference over data sets, by processes, Ray, Dask or any executor.

graphc.distributed.map("model.onnx", "images/", "predictions/", batch_size=32)
"""

from .mapping import MapResult, map

__all__ = ["MapResult", "map"]
