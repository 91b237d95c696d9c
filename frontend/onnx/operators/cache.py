"""Caches of fixed capacity for models whose caches grow: operators of graphc's own."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import onnx_op
from .shapes import require_sizes

_AXIS = 2


@onnx_op("ReadCache", domain="graphc")
def read_cache(cache, cache_batch, size, lengths=None, *, node):
    """The first rows of the batches `cache_batch` of a cache ``[batch, heads, capacity,
    features]``, behind padding up to `size` rows: `lengths` of each batch, by default all."""
    (count,) = require_sizes(size, node, "past")
    begin = _lengths(lengths, count)
    return graph.read_cache(cache, begin, _per_batch(cache_batch), axis=_AXIS, size=count)


@onnx_op("WriteCache", domain="graphc")
def write_cache(cache, present, cache_batch, size, lengths=None, *, node):
    """The cache with the rows of `present` behind those that `ReadCache` gives."""
    (count,) = require_sizes(size, node, "past")
    batch, heads, total, features = graph.type_of(present).shape
    if not isinstance(total - count, int):
        raise graph.TypeRuleError(f"a past of {count} rows has a present of {total}")
    new = graph.slice_(
        present, starts=[0, 0, count, 0], sizes=[batch, heads, total - count, features],
        steps=[1] * 4,
    )  # fmt: skip
    return graph.tensor_scatter(
        cache, new, _lengths(lengths, count), _per_batch(cache_batch), axis=_AXIS,
        used=total,
    )  # fmt: skip


def _lengths(given: ir.Value | None, size: int | Dim) -> ir.Value:
    return graph.reshape(graph.size_scalar(size), shape=[1]) if given is None else _per_batch(given)


def _per_batch(x: ir.Value) -> ir.Value:
    """Numbers for each batch, i64 ``[batch]``."""
    return graph.reshape(graph.cast(x, to=np.int64), shape=[graph.type_of(x).shape[0]])
