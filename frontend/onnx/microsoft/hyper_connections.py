"""Streams of features mixed by gates: hyper-connections, and what belongs to them."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from .registry import microsoft_op

Size = int | Dim


def _grouped(x: ir.Value, branches: int) -> ir.Value:
    """``[..., C H] -> [..., C, H]``, in f32."""
    shape = graph.type_of(x).shape
    if branches:
        *lead, last = shape
        if not isinstance(last, int) or last % branches:
            raise graph.TypeRuleError(f"{last} elements in {branches} branches")
        shape = (*lead, branches, last // branches)
    return graph.cast(graph.reshape(x, shape=shape), to=np.float32)


def _gate(gate: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """A gate per stream, or per feature, in a form that broadcasts to `shape`, in f32."""
    given = graph.type_of(gate).shape
    if len(given) == len(shape) - 1:
        per_stream = given[-1] == shape[-2]
        gate = graph.reshape(gate, shape=[*given, 1] if per_stream else shape)
    return graph.cast(gate, to=np.float32)


@microsoft_op("HyperConnectionPreMix")
def hyper_connection_pre_mix(streams, pre_mix, *, num_branches=0, reduction_scale=1.0):
    """The sum of the streams, each times its gate."""
    x = _grouped(streams, num_branches)
    shape = graph.type_of(x).shape
    mixed = graph.mul(x, _gate(pre_mix, shape))
    y = graph.reduce_sum(mixed, axes=[len(shape) - 2], keepdims=False)
    y = y if reduction_scale == 1 else graph.mul(y, graph.splat_like(reduction_scale, y))
    return graph.cast(y, to=graph.type_of(streams).dtype)


@microsoft_op("HyperConnectionPostMix")
def hyper_connection_post_mix(streams, block_output, post_mix, stream_mix=None, *, num_branches=0):
    """The streams mixed among each other, and the block's output times each stream's gate."""
    given = graph.type_of(streams)
    x = _grouped(streams, num_branches)
    shape = graph.type_of(x).shape
    rank = len(shape)
    if stream_mix is not None:
        swap = [*range(rank - 2), rank - 1, rank - 2]
        x = graph.matmul(graph.transpose(graph.cast(stream_mix, to=np.float32), perm=swap), x)
    block = graph.cast(block_output, to=np.float32)
    block = graph.reshape(block, shape=[*shape[:-2], 1, shape[-1]])
    y = graph.add(x, graph.mul(block, _gate(post_mix, shape)))
    return graph.cast(graph.reshape(y, shape=given.shape), to=given.dtype)


@microsoft_op("EngramGate")
def engram_gate(
    key,
    query,
    value,
    key_norm_scale,
    query_norm_scale,
    conv_norm_scale=None,
    *,
    node,
    epsilon=1e-5,
):
    """The value times ``sigmoid(sign(d) sqrt(max(|d|, 1e-6)))``, d the likeness of normalised
    keys and queries; and that normalised, if asked for."""
    dtype = graph.type_of(key).dtype
    *lead, width = graph.type_of(key).shape

    def normed(x: ir.Value, scale: ir.Value) -> ir.Value:
        wide, scale = graph.cast(x, to=np.float32), graph.cast(scale, to=np.float32)
        return graph.rms_norm(wide, scale, axis=len(lead), epsilon=epsilon)

    product = graph.mul(normed(key, key_norm_scale), normed(query, query_norm_scale))
    likeness = graph.reduce_mean(product, axes=[len(lead)], keepdims=True)
    root = graph.cast(graph.size_scalar(width), to=np.float32)
    likeness = graph.mul(likeness, graph.sqrt(root))  # the sum over sqrt(width)
    size = graph.sqrt(graph.max_(graph.abs_(likeness), graph.splat_like(1e-6, likeness)))
    gate = graph.sigmoid(graph.mul(graph.sign(likeness), size))
    value = graph.cast(graph.reshape(value, shape=[*lead[:-1], 1, width]), to=np.float32)
    y = graph.mul(gate, value)
    result = graph.cast(y, to=dtype)
    if not node.wants(1):
        return result
    if conv_norm_scale is None:
        raise graph.TypeRuleError("gated_value_normed needs conv_norm_scale")
    return result, graph.cast(normed(y, conv_norm_scale), to=dtype)


@microsoft_op("GemmaRotaryEmbedding")
def gemma_rotary_embedding(emb, q, q_rot, k, k_rot):
    """Queries and keys turned by the angles `emb`, their rotated halves being given."""
    dtype = graph.type_of(q).dtype
    batch, length, width = graph.type_of(emb).shape
    cos, sin = (
        graph.reshape(graph.cast(f(emb), to=dtype), shape=[batch, 1, length, width])
        for f in (graph.cos, graph.sin)
    )

    def turned(x: ir.Value, rotated: ir.Value) -> ir.Value:
        return graph.add(graph.mul(x, cos), graph.mul(rotated, sin))

    return turned(q, q_rot), turned(k, k_rot)
