"""Pooling of images whose channels come last."""

from ....dialects import graph
from ..operators.pooling import max_pool
from .registry import microsoft_op


@microsoft_op("NhwcMaxPool")
def nhwc_max_pool(x, *, node, **attributes):
    rank = graph.type_of(x).rank
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    pooled = max_pool(graph.transpose(x, perm=first), node=node, **attributes)
    return graph.transpose(pooled, perm=last)
