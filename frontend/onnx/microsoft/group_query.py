"""Grouped-query attention with a key/value cache, as generative models are exported."""

import math
from dataclasses import dataclass

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....dialects.symbolic import maximum as max_size
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from ..operators.attention import (
    group_heads,
    masked_where,
    merge_heads,
    positions_in,
    split_heads,
)
from ..operators.shapes import require_sizes, required
from .registry import microsoft_op
from .rotary import turned

Size = int | Dim


@dataclass(frozen=True)
class IndexedCache:
    """A cache, of which the batches numbered `cache_batch` are those of the queries."""

    value: ir.Value
    cache_batch: ir.Value


@onnx_op("GroupQueryAttention", domain="graphc")
def group_query_attention_of_batches(
    cache_batch, query, key=None, value=None, past_key=None, past_value=None, *others, node,
    **attributes,
):  # fmt: skip
    """`com.microsoft.GroupQueryAttention` to the batches `cache_batch` of a cache of more of them.
    The present is all of the cache."""
    batches = _per_batch(cache_batch)
    past_key, past_value = required(past_key, "past_key"), required(past_value, "past_value")
    past = (IndexedCache(each, batches) for each in (past_key, past_value))
    return group_query_attention(query, key, value, *past, *others, node=node, **attributes)


@microsoft_op("GroupQueryAttention")
def group_query_attention(
    query,
    key=None,
    value=None,
    past_key=None,
    past_value=None,
    seqlens_k=None,
    total_sequence_length=None,
    cos_cache=None,
    sin_cache=None,
    position_ids=None,
    attention_bias=None,
    head_sink=None,
    k_scale=None,
    v_scale=None,
    q_norm_weight=None,
    k_norm_weight=None,
    *,
    node,
    num_heads,
    kv_num_heads,
    causal=1,
    do_rotary=0,
    k_quant_type="NONE",
    kv_cache_bit_width=0,
    local_window_size=-1,
    qk_norm_epsilon=1e-6,
    qk_output=0,
    rotary_interleaved=0,
    scale=None,
    sliding_window_cache=0,
    smooth_softmax=-1,
    softcap=0.0,
    v_quant_type="NONE",
):
    """New keys stand behind ``seqlens_k + 1 - S`` old ones, in a cache of rows for each batch.

    In a donated cache, rows behind those in use are what they were, and otherwise 0.
    """
    del kv_cache_bit_width
    if k_scale is not None or v_scale is not None or (k_quant_type, v_quant_type) != ("NONE",) * 2:
        raise UnsupportedError("a quantized cache")
    if sliding_window_cache:
        raise UnsupportedError("sliding_window_cache")
    if seqlens_k is None or total_sequence_length is None:
        raise graph.TypeRuleError("seqlens_k or total_sequence_length is left out")
    cache_batch = None
    if isinstance(past_key, IndexedCache):
        cache_batch, past_key = past_key.cache_batch, past_key.value
        past_value = past_value.value  # pyright: ignore[reportOptionalMemberAccess]
        if qk_output:
            raise UnsupportedError("scores of some batches of a cache")
    q, k, v = _heads(query, key, value, num_heads, kv_num_heads)
    if q_norm_weight is not None or k_norm_weight is not None:
        q_norm_weight = required(q_norm_weight, "q_norm_weight")
        k_norm_weight = required(k_norm_weight, "k_norm_weight")
        q = graph.rms_norm(q, q_norm_weight, axis=3, epsilon=qk_norm_epsilon)
        k = graph.rms_norm(k, k_norm_weight, axis=3, epsilon=qk_norm_epsilon)
    total = _total(total_sequence_length, node)
    before = _before(seqlens_k, graph.type_of(q).shape[2], total)
    in_place = cache_batch is not None or (past_key is not None and graph.is_donated(past_key))
    if in_place and before is None:
        before = _none_before(seqlens_k)
    if do_rotary:
        angle_positions = _rotary_positions(position_ids, before, graph.type_of(q).shape[2], total)
        cos, sin = required(cos_cache, "cos_cache"), required(sin_cache, "sin_cache")
        q, k = (turned(x, angle_positions, cos, sin, bool(rotary_interleaved)) for x in (q, k))
    if in_place and before is not None:
        past_key, past_value = required(past_key, "past_key"), required(past_value, "past_value")
        k, v = (
            graph.tensor_scatter(past, new, _per_batch(before), cache_batch, axis=2, used=total)
            for past, new in ((past_key, k), (past_value, v))
        )
    else:
        pairs = ((past_key, k), (past_value, v))
        k, v = (_present(past, new, before, total) for past, new in pairs)
    sink = _sink(head_sink, smooth_softmax > 0, q)
    if before is not None and not qk_output:
        y = graph.cached_attention(
            q, k, v, _per_batch(before), _per_batch(seqlens_k), attention_bias, sink,
            cache_batch, scale=_scale(scale, q), softcap=softcap, right=0 if causal else -1,
            left=local_window_size - 1 if causal and local_window_size > 0 else -1,
        )  # fmt: skip
        return merge_heads(y), k, v
    seen = _seen(before, seqlens_k, graph.type_of(q).shape[2], graph.type_of(k).shape[2],
                 bool(causal), local_window_size)  # fmt: skip
    mask = seen if attention_bias is None else masked_where(_widened(attention_bias, k), seen)
    y, scores = _attend(q, k, v, mask, sink, scale, softcap, qk_output)
    if scores is None:
        return y, k, v
    sizes = [*graph.type_of(scores).shape[:3], total]
    return y, k, v, graph.slice_(scores, starts=[0] * 4, sizes=sizes, steps=[1] * 4)


def _per_batch(x: ir.Value) -> ir.Value:
    """Numbers for each batch, or one for all, ``[B or 1]`` of i64."""
    count = graph.element_count(graph.type_of(x).shape)
    return graph.reshape(graph.cast(x, to=np.int64), shape=[count])


def _scale(scale: float | None, q: ir.Value) -> float:
    """The factor of scores that is given, or else ``1 / sqrt(head_size)``."""
    if scale:
        return scale
    head_size = graph.type_of(q).shape[-1]
    if not isinstance(head_size, int):
        raise UnsupportedError("a head size that is not known at compile time")
    return 1 / math.sqrt(head_size)


def _heads(
    query: ir.Value,
    key: ir.Value | None,
    value: ir.Value | None,
    num_heads: int,
    kv_num_heads: int,
) -> list[ir.Value]:
    """Queries, keys and values as heads; without keys, all three are in `query`."""
    if key is not None and value is not None:
        counts = (num_heads, kv_num_heads, kv_num_heads)
        return [split_heads(x, n) for x, n in zip((query, key, value), counts, strict=True)]
    every = num_heads + 2 * kv_num_heads
    heads = split_heads(query, every)
    batch, _, length, head_size = graph.type_of(heads).shape
    parts = []
    first = 0
    for count in (num_heads, kv_num_heads, kv_num_heads):
        parts.append(
            graph.slice_(
                heads,
                starts=[0, first, 0, 0],
                sizes=[batch, count, length, head_size],
                steps=[1] * 4,
            )
        )
        first += count
    return parts


def _total(value: ir.Value, node: Node) -> Size:
    (total,) = require_sizes(value, node, "total")
    return total


def _before(seqlens_k: ir.Value, length: Size, total: Size) -> ir.Value | None:
    """The number of keys that precede the queries, ``[B, 1]``; None if there are none.

    A prompt has none; it is recognized by having no more keys than queries.
    """
    if total == length:
        return None
    flat = graph.cast(seqlens_k, to=np.int64)
    flat = graph.reshape(flat, shape=[graph.element_count(graph.type_of(flat).shape), 1])
    before = graph.sub(flat, graph.size_scalar(length - 1))
    return graph.max_(before, graph.splat_like(0, before))


def _none_before(seqlens_k: ir.Value) -> ir.Value:
    """No keys that precede the queries, ``[B, 1]``."""
    count = graph.element_count(graph.type_of(seqlens_k).shape)
    zero = graph.constant(value=np.zeros((1, 1), np.int64))
    return graph.expand(zero, shape=[count, 1])


def _query_positions(before: ir.Value | None, length: Size) -> ir.Value:
    """The positions of the queries, ``[B or 1, S]``."""
    own = positions_in(length, [1, length])
    return own if before is None else graph.add(own, before)


def _rotary_positions(
    given: ir.Value | None, before: ir.Value | None, length: Size, total: Size
) -> ir.Value:
    """The positions of the rotary angles. If positions are given for a prompt, the first one
    counts: it is the first token's, and the others follow it."""
    if given is None:
        return _query_positions(before, length)
    first = graph.slice_(given, starts=[0, 0], sizes=[1, 1], steps=[1, 1])
    following = graph.add(first, positions_in(length, [1, length]))
    if before is None:
        return following
    is_prompt = graph.equal(graph.size_scalar(total), graph.size_scalar(length))
    return graph.where(is_prompt, following, given)


def _present(
    past: ir.Value | None, new: ir.Value, before: ir.Value | None, total: Size
) -> ir.Value:
    """The cache with the `new` rows in it: as long as it was, or as it has to be. Rows behind those
    in use are 0."""
    batch, heads, count, head_size = graph.type_of(new).shape
    room = 0 if past is None else graph.type_of(past).shape[2]
    length = max_size(room, total)
    if before is None:
        if length == count:
            return new
        return graph.pad(new, graph.splat_like(0, new), low=[0] * 4, high=[0, 0, length - count, 0])
    if past is None:
        empty = graph.constant(value=np.zeros((1, 1, 1, 1), graph.type_of(new).dtype))
        past = graph.expand(empty, shape=[batch, heads, 0, head_size])
    return graph.extend_cache(past, new, _per_batch(before), axis=2, size=length)


def _seen(
    before: ir.Value | None,
    seqlens_k: ir.Value,
    queries: Size,
    keys: Size,
    causal: bool,
    window: int,
) -> ir.Value:
    """The mask of the keys that each query sees, ``[B, 1, 1 or S, T]``: none after the last in
    use."""
    column = positions_in(keys, [1, 1, 1, keys])
    count = graph.element_count(graph.type_of(seqlens_k).shape)
    last = graph.reshape(graph.cast(seqlens_k, to=np.int64), shape=[count, 1, 1, 1])
    seen = graph.less_or_equal(column, last)
    if not causal:
        return seen
    query_positions = _query_positions(before, queries)
    batch, _ = graph.type_of(query_positions).shape
    row = graph.reshape(query_positions, shape=[batch, 1, queries, 1])
    seen = graph.and_(seen, graph.less_or_equal(column, row))
    if window <= 0:
        return seen
    first = graph.sub(row, graph.size_scalar(window))
    return graph.and_(seen, graph.greater(column, first))


def _widened(bias: ir.Value, k: ir.Value) -> ir.Value:
    """`bias` with a column for each row of the cache."""
    shape, keys = graph.type_of(bias).shape, graph.type_of(k).shape[2]
    if shape[-1] == keys:
        return bias
    high: list[Size] = [0, 0, 0, keys - shape[-1]]
    return graph.pad(bias, graph.splat_like(0, bias), low=[0] * 4, high=high)


def _sink(head_sink: ir.Value | None, smooth: bool, q: ir.Value) -> ir.Value | None:
    """The scores of the attention sinks, keys without a value, ``[H]``."""
    if head_sink is not None or not smooth:
        return head_sink
    heads = graph.type_of(q).shape[1]
    return graph.constant(value=np.zeros(graph.static_size(heads), graph.type_of(q).dtype))


def _attend(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    mask: ir.Value,
    sink: ir.Value | None,
    scale: float | None,
    softcap: float,
    qk_output: int,
) -> tuple[ir.Value, ir.Value | None]:
    """The merged heads, and the scores asked for: masked, or the probabilities."""
    shape = graph.type_of(q).shape
    scale = _scale(scale, q)
    grouped = group_heads(q, k, v, mask)
    if sink is not None:
        heads = graph.type_of(grouped[0]).shape[1:-2]
        sink = graph.reshape(sink, shape=[1, *heads, 1, 1])
    whole = [*shape[:-1], graph.type_of(v).shape[-1]]
    if not softcap and sink is None and not qk_output:
        y = graph.attention(*grouped, scale=scale, causal=False)
        return merge_heads(graph.reshape(y, shape=whole)), None
    y, scores = graph.decomposed_attention(
        *grouped, scale, softcap, 3 if qk_output == 2 else 2, sink
    )
    y = merge_heads(graph.reshape(y, shape=whole))
    if not qk_output:
        return y, None
    if qk_output == 1:  # scores of keys that are not seen are 0
        hidden = graph.equal(scores, graph.splat_like(-np.inf, scores))
        scores = graph.where(hidden, graph.splat_like(0, scores), scores)
    return y, graph.reshape(scores, shape=[*shape[:-1], graph.type_of(k).shape[2]])
