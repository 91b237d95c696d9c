"""Biases of attention that tell how far apart tokens are."""

import math

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.attention import split_heads
from ..operators.shapes import positions, require_sizes
from .registry import microsoft_op


@microsoft_op("RelativePositionBias")
def relative_position_bias(
    table, query_length, key_length, *, node, max_distance, is_bidirectional=0
):
    """``[1, heads, queries, keys]``: the entry of each distance's bucket (Raffel et al., 2020).

    The numbers of `table`, ``[buckets, heads]``, lie in the order of its columns.
    """
    buckets, heads = graph.type_of(table).shape
    if not isinstance(buckets, int):
        raise UnsupportedError("a number of buckets that is not known at compile time")
    exact = buckets // (4 if is_bidirectional else 2)
    if exact < 1 or max_distance <= exact:
        raise graph.TypeRuleError(f"{buckets} buckets for distances up to {max_distance}")
    (queries,), (keys,) = (
        require_sizes(length, node, name)
        for length, name in ((query_length, "queries"), (key_length, "keys"))
    )
    row = graph.reshape(positions(queries), shape=[queries, 1])
    distance = graph.sub(positions(keys), row)
    bucket = _bucket(distance, buckets, max_distance, bool(is_bidirectional))
    by_head = graph.reshape(table, shape=[1, heads, buckets])
    return graph.gather(by_head, bucket, axis=2)


def _bucket(distance: ir.Value, buckets: int, farthest: int, both_ways: bool) -> ir.Value:
    """Small distances have a bucket each; farther ones share them by their logarithm."""
    zero, first = graph.size_scalar(0), None
    if both_ways:
        buckets //= 2
        behind = graph.greater(distance, zero)
        first = graph.where(behind, graph.size_scalar(buckets), zero)
        distance = graph.abs_(distance)
    else:
        distance = graph.max_(graph.neg(distance), zero)
    exact = buckets // 2
    far = graph.cast(graph.max_(distance, graph.size_scalar(1)), to=np.float32)
    share = graph.log(graph.div(far, graph.splat_like(exact, far)))
    step = math.log(farthest / exact)
    share = graph.div(share, graph.splat_like(step, share))
    share = graph.mul(share, graph.splat_like(buckets - exact, share))
    wide = graph.add(graph.cast(share, to=np.int64), graph.size_scalar(exact))
    wide = graph.min_(wide, graph.size_scalar(buckets - 1))
    bucket = graph.where(graph.less(distance, graph.size_scalar(exact)), distance, wide)
    return bucket if first is None else graph.add(first, bucket)


@microsoft_op("GatedRelativePositionBias")
def gated_relative_position_bias(
    query, query_bias, rel_pos, weight, bias, eco_a, token_offset=None, *, num_heads
):
    """``rel_pos`` times ``u (r a - 1) + 2`` of two gates that each query opens (WavLM)."""
    if token_offset is not None:
        raise UnsupportedError("queries without padding")
    q = split_heads(graph.add(query, query_bias), num_heads)
    gates = graph.add(graph.matmul(q, weight), bias)
    *lead, width = graph.type_of(gates).shape
    if not isinstance(width, int) or width % 2:
        raise graph.TypeRuleError(f"two gates of {width} numbers")
    gates = graph.reshape(gates, shape=[*lead, 2, width // 2])
    gates = graph.sigmoid(graph.reduce_sum(gates, axes=[4], keepdims=False))
    u, r = (
        graph.slice_(gates, starts=[0, 0, 0, index], sizes=[*lead, 1], steps=[1] * 4)
        for index in (0, 1)
    )
    inner = graph.sub(graph.mul(r, eco_a), graph.splat_like(1, r))
    scale = graph.add(graph.mul(u, inner), graph.splat_like(2, u))
    return graph.mul(scale, rel_pos)
