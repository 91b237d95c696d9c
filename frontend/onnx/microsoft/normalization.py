"""Normalisations of sums, as transformers have them around every block."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from ..operators.normalization import group_normalization, rms_normalization
from ..operators.shapes import normalize_axis, required
from .quantization import floats
from .registry import microsoft_op


def _sum(x: ir.Value, skip: ir.Value, bias: ir.Value | None) -> ir.Value:
    total = graph.add(x, skip)
    return total if bias is None else graph.add(total, bias)


def _with_sum(node: Node, y: ir.Value, total: ir.Value) -> ir.Value | tuple[ir.Value, ...]:
    """The result, and the sum as output 3 if that is asked for."""
    if node.wants(1) or node.wants(2):
        raise UnsupportedError("statistics, which training asks for")
    return (y, y, y, total) if node.wants(3) else y


@microsoft_op("SkipLayerNormalization")
def skip_layer_normalization(x, skip, gamma, beta=None, bias=None, *, node, epsilon=1e-12):
    total = _sum(x, skip, bias)
    axis = graph.type_of(x).rank - 1
    return _with_sum(node, graph.layer_norm(total, gamma, beta, axis=axis, epsilon=epsilon), total)


@microsoft_op("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(x, skip, gamma, bias=None, *, node, epsilon=1e-12):
    total = _sum(x, skip, bias)
    axis = graph.type_of(x).rank - 1
    return _with_sum(node, graph.rms_norm(total, gamma, axis=axis, epsilon=epsilon), total)


@onnx_op("SimplifiedLayerNormalization")
def simplified_layer_normalization(x, scale, *, node, axis=-1, epsilon=1e-5, stash_type=1):
    """An operator of ONNX Runtime in ONNX's own domain."""
    y = rms_normalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)
    if not node.wants(1):
        return y
    rank = graph.type_of(x).rank
    axes = list(range(normalize_axis(axis, rank), rank))
    wide = graph.cast(x, to=np.float32)
    square = graph.reduce_mean(graph.mul(wide, wide), axes=axes, keepdims=True)
    return y, graph.rsqrt(graph.add(square, graph.splat_like(epsilon, square)))


@microsoft_op("EmbedLayerNormalization")
def embed_layer_normalization(
    input_ids,
    segment_ids=None,
    word_embedding=None,
    position_embedding=None,
    segment_embedding=None,
    gamma=None,
    beta=None,
    mask=None,
    position_ids=None,
    *,
    node,
    epsilon=1e-12,
    mask_index_type=0,
):
    """Embeddings of words, positions and segments, added and normalised.

    The inputs that concern segments may be left out, in the middle of those that may not.
    """
    del mask_index_type
    words = required(word_embedding, "word_embedding")
    position_table = required(position_embedding, "position_embedding")
    gamma, beta = required(gamma, "gamma"), required(beta, "beta")
    batch, length = graph.type_of(input_ids).shape
    if position_ids is None:
        width = graph.type_of(position_table).shape[1]
        positions = graph.slice_(position_table, starts=[0, 0], sizes=[length, width], steps=[1, 1])
    else:
        positions = graph.gather(position_table, position_ids, axis=0)
    total = graph.add(graph.gather(words, input_ids, axis=0), positions)
    if segment_ids is not None or segment_embedding is not None:
        table = required(segment_embedding, "segment_embedding")
        segments = graph.gather(table, required(segment_ids, "segment_ids"), axis=0)
        total = graph.add(total, segments)
    y = graph.layer_norm(total, gamma, beta, axis=2, epsilon=epsilon)
    return y, _mask_index(mask, batch), *([total] if node.wants(2) else [])


@microsoft_op("QEmbedLayerNormalization")
def quantized_embed_layer_normalization(
    input_ids,
    segment_ids=None,
    words=None,
    positions=None,
    segments=None,
    gamma=None,
    beta=None,
    mask=None,
    word_scale=None,
    position_scale=None,
    segment_scale=None,
    gamma_scale=None,
    beta_scale=None,
    word_zero=None,
    position_zero=None,
    segment_zero=None,
    gamma_zero=None,
    beta_zero=None,
    *,
    epsilon=1e-12,
):
    """`EmbedLayerNormalization` by tables and parameters of 8 bits, each with one scale."""
    of_segments = (segment_ids, segments, segment_scale, segment_zero)
    if len({each is None for each in of_segments}) > 1:
        raise graph.TypeRuleError("some of the inputs that concern segments are left out")
    batch, length = graph.type_of(input_ids).shape
    position_ids = graph.range_(graph.size_scalar(0), graph.size_scalar(1), size=length)
    total = graph.add(
        _embedding(words, input_ids, word_scale, word_zero),
        _embedding(positions, position_ids, position_scale, position_zero),
    )
    if segments is not None:
        total = graph.add(total, _embedding(segments, segment_ids, segment_scale, segment_zero))
    gamma = _single_scaled(gamma, gamma_scale, gamma_zero)
    beta = _single_scaled(beta, beta_scale, beta_zero)
    y = graph.layer_norm(total, gamma, beta, axis=2, epsilon=epsilon)
    return y, _mask_index(mask, batch)


def _embedding(table: Any, ids: Any, scale: Any, zero: Any) -> ir.Value:
    """Rows of a quantized `table` as floats."""
    if table is None:
        raise graph.TypeRuleError("an embedding is left out")
    return _single_scaled(graph.gather(table, ids, axis=0), scale, zero)


def _single_scaled(x: Any, scale: Any, zero: Any) -> ir.Value:
    """Quantized numbers with one scale and zero point as floats."""
    if x is None or scale is None or zero is None:
        raise graph.TypeRuleError("quantized numbers, their scale or zero point are left out")
    return floats(x, scale, zero)


def _mask_index(mask: ir.Value | None, batch: int | Dim) -> ir.Value:
    """The number of words in each row; 0 without a mask."""
    if mask is None:
        return graph.expand(graph.constant(value=np.array(0, np.int32)), shape=[batch])
    flags = graph.cast(graph.equal(mask, graph.splat_like(1, mask)), to=np.int32)
    return graph.reduce_sum(flags, axes=[1], keepdims=False)


def _channels_first(x: ir.Value) -> ir.Value:
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[0, rank - 1, *range(1, rank - 1)])


def _channels_last(x: ir.Value) -> ir.Value:
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[0, *range(2, rank), 1])


@microsoft_op("GroupNorm")
def group_norm(x, gamma, beta, *, activation, groups, channels_last=1, epsilon=1e-5):
    """Group normalisation, then SiLU with `activation` 1."""
    if activation not in (0, 1):
        raise graph.TypeRuleError(f"activation {activation}")
    dtype = graph.type_of(x).dtype
    gamma, beta = graph.cast(gamma, to=dtype), graph.cast(beta, to=dtype)
    x = _channels_first(x) if channels_last else x
    y = group_normalization(x, gamma, beta, num_groups=groups, epsilon=epsilon)
    y = graph.swish(y, alpha=1.0) if activation else y
    return _channels_last(y) if channels_last else y


@microsoft_op("SkipGroupNorm")
def skip_group_norm(
    x, gamma, beta, skip, bias=None, *, node, activation, groups, channels_last=1, epsilon=1e-5
):
    if not channels_last:
        raise UnsupportedError("channels first")
    if graph.type_of(skip).rank == 2:
        batch, channels = graph.type_of(skip).shape
        skip = graph.reshape(skip, shape=[batch, 1, 1, channels])
    total = _sum(x, skip, bias)
    y = group_norm(total, gamma, beta, activation=activation, groups=groups, epsilon=epsilon)
    return (y, total) if node.wants(1) else y


@microsoft_op("GatedRMSNorm")
def gated_rms_norm(x, scale, gate, *, activation="silu", epsilon=1e-5):
    """RMS normalisation of runs as long as `scale`, times an activation of the gate; in f32."""
    if activation not in ("silu", "swish", "sigmoid"):
        raise graph.TypeRuleError(f"activation '{activation}'")
    type_ = graph.type_of(x)
    (width,) = graph.type_of(scale).shape
    wide, scale, gate = (graph.cast(v, to=np.float32) for v in (x, scale, gate))
    runs = graph.reshape(wide, shape=[*_runs(type_.shape, width), width])
    y = graph.rms_norm(runs, scale, axis=graph.type_of(runs).rank - 1, epsilon=epsilon)
    opening = graph.sigmoid(gate) if activation == "sigmoid" else graph.swish(gate, alpha=1.0)
    return graph.cast(graph.mul(graph.reshape(y, shape=type_.shape), opening), to=type_.dtype)


def _runs(shape: tuple[int | Dim, ...], width: int | Dim) -> list[int | Dim]:
    """The axes before the last, and how many runs of `width` the last holds."""
    *lead, last = shape
    if not isinstance(last, int) or not isinstance(width, int) or width < 1 or last % width:
        raise graph.TypeRuleError(f"a last axis of {last} in runs of {width}")
    return [*lead, last // width]


@microsoft_op("BranchwiseRMSNorm")
def branchwise_rms_norm(x, scale=None, *, epsilon=1e-5, num_branches=0):
    """RMS normalisation of each branch; `x` is ``[..., C, H]``, or ``[..., C H]`` in branches."""
    type_ = graph.type_of(x)
    grouped = type_.shape
    if num_branches:
        *lead, last = type_.shape
        if not isinstance(last, int) or last % num_branches:
            raise graph.TypeRuleError(f"{last} elements in {num_branches} branches")
        grouped = (*lead, num_branches, last // num_branches)
    wide = graph.cast(graph.reshape(x, shape=grouped), to=np.float32)
    if scale is None:
        scale = graph.constant(value=np.array(1, np.float32))
    else:
        scale = graph.cast(scale, to=np.float32)
        (size, *_), rank = graph.type_of(scale).shape, graph.type_of(scale).rank
        if rank == 1 and size != grouped[-1]:
            scale = graph.reshape(scale, shape=grouped[-2:])
    y = graph.rms_norm(wide, scale, axis=len(grouped) - 1, epsilon=epsilon)
    return graph.cast(graph.reshape(y, shape=type_.shape), to=type_.dtype)
