"""Tokens of several sequences without the padding between them."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..operators.attention import split_heads
from ..operators.shapes import positions, require_sizes
from .attention import Masking, attend, columns, merged_attention, unpacked
from .registry import microsoft_op

Size = int | Dim


@microsoft_op("RemovePadding")
def remove_padding(x, lengths, *, node):
    """The tokens ``[T, H]`` of ``[B, S, H]``; each row has its tokens in front.

    Also their positions, followed by those of the padding; the ends of the sequences, from 0 on;
    and the length of the longest.
    """
    batch, longest, width = graph.type_of(x).shape
    counts = graph.cast(lengths, to=np.int64)
    for limit in (
        graph.less_or_equal(counts, graph.size_scalar(longest)),
        graph.greater_or_equal(counts, graph.size_scalar(0)),
    ):
        fits = graph.reduce_min(limit, axes=[0], keepdims=False)
        graph.require(fits, message=f"a number of tokens is not within 0..{longest}")
    every = batch * longest
    seen = graph.less(positions(longest), graph.reshape(counts, shape=[batch, 1]))
    seen = graph.reshape(seen, shape=[every])
    (total,) = require_sizes(graph.reduce_sum(counts, axes=[0], keepdims=False), node, "tokens")
    taken = _indices_of(seen, total)
    offsets = graph.concat([taken, _indices_of(graph.not_(seen), every - total)], axis=0)
    offsets = graph.reshape(graph.cast(offsets, to=np.int32), shape=[batch, longest])
    y = graph.gather(graph.reshape(x, shape=[every, width]), taken, axis=0)
    ends = graph.cumsum(counts, axis=0, exclusive=False, reverse=False)
    zero = graph.constant(value=np.zeros(1, np.int64))
    ends = graph.cast(graph.concat([zero, ends], axis=0), to=np.int32)
    return y, offsets, ends, graph.reduce_max(lengths, axes=[0], keepdims=True)


def _indices_of(marks: ir.Value, count: Size) -> ir.Value:
    """The positions of the `count` true elements of `marks`."""
    return graph.reshape(graph.non_zero(marks, count=count), shape=[count])


@microsoft_op("RestorePadding")
def restore_padding(x, token_offset):
    """Tokens ``[T, H]`` at their positions in ``[B, S, H]``, with zeros elsewhere."""
    tokens, width = graph.type_of(x).shape
    batch, longest = graph.type_of(token_offset).shape
    zero = graph.constant(value=np.zeros((1, 1), graph.type_of(x).dtype))
    empty = graph.expand(zero, shape=[batch * longest, width])
    offsets = graph.reshape(_first(token_offset, tokens), shape=[tokens, 1])
    y = graph.scatter_nd(empty, offsets, x, reduction="none")
    return graph.reshape(y, shape=[batch, longest, width])


def _first(token_offset: ir.Value, tokens: Size) -> ir.Value:
    """The positions of the tokens among all positions of a batch."""
    flat = graph.reshape(
        token_offset, shape=[graph.element_count(graph.type_of(token_offset).shape)]
    )
    offsets = graph.slice_(flat, starts=[0], sizes=[tokens], steps=[1])
    return graph.cast(offsets, to=np.int64)


def _packed(y: ir.Value, token_offset: ir.Value, tokens: Size) -> ir.Value:
    """The tokens of ``[B, S, H]``."""
    batch, longest, width = graph.type_of(y).shape
    flat = graph.reshape(y, shape=[batch * longest, width])
    return graph.gather(flat, _first(token_offset, tokens), axis=0)


def _masking(ends: ir.Value, batch: Size, bias: ir.Value | None) -> Masking:
    """No query sees padding; `ends` are those of the sequences, from 0 on."""
    (count,) = graph.type_of(ends).shape
    low, high = (
        graph.slice_(ends, starts=[start], sizes=[count - 1], steps=[1]) for start in (0, 1)
    )
    lengths = graph.reshape(graph.sub(high, low), shape=[batch])
    return Masking(lengths, -np.inf, bias, causal=False)


@microsoft_op("PackedAttention")
def packed_attention(
    x,
    weights,
    bias,
    token_offset,
    cumulative_sequence_length,
    attention_bias=None,
    *,
    num_heads,
    qkv_hidden_sizes=None,
    scale=None,
):
    """`Attention` of tokens ``[T, H]``."""
    tokens, batch = graph.type_of(x).shape[0], graph.type_of(token_offset).shape[0]
    merged = graph.add(graph.matmul(x, weights), bias)
    masking = _masking(cumulative_sequence_length, batch, attention_bias)
    merged = restore_padding(merged, token_offset)
    y = merged_attention(merged, None, masking, num_heads, scale, qkv_hidden_sizes)
    return _packed(y[0] if isinstance(y, tuple) else y, token_offset, tokens)


@microsoft_op("PackedMultiHeadAttention")
def packed_multi_head_attention(
    query,
    key=None,
    value=None,
    bias=None,
    token_offset=None,
    cumulative_sequence_length=None,
    attention_bias=None,
    *,
    num_heads,
    mask_filter_value=-10000.0,
    scale=None,
):
    """`MultiHeadAttention` of tokens ``[T, H]``, or ``[T, heads, 3, D]`` with keys and values."""
    del mask_filter_value  # padding is not seen at all
    if token_offset is None or cumulative_sequence_length is None:
        raise graph.TypeRuleError("where the tokens stand is left out")
    tokens = graph.type_of(query).shape[0]
    if graph.type_of(query).rank == 4:
        parts = unpacked(graph.reshape(query, shape=[1, *graph.type_of(query).shape]))
        parts = [graph.reshape(x, shape=graph.type_of(x).shape[1:]) for x in parts]
    else:
        parts = [query, key, value]
    if len(parts) != 3 or any(part is None for part in parts):
        raise graph.TypeRuleError("keys or values are left out")
    if bias is not None:
        biases = columns(bias, [graph.type_of(part).shape[-1] for part in parts])
        parts = [graph.add(part, each) for part, each in zip(parts, biases, strict=True)]
    q, k, v = (split_heads(restore_padding(part, token_offset), num_heads) for part in parts)
    batch = graph.type_of(token_offset).shape[0]
    masking = _masking(cumulative_sequence_length, batch, attention_bias)
    y, _ = attend(q, k, v, 0, masking, scale)
    return _packed(y, token_offset, tokens)
