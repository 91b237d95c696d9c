"""Attention and rotary embeddings."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .shapes import positions

Size = int | Dim


@dataclass(frozen=True)
class AttentionOptions:
    """The attributes of an Attention node, and which of its outputs are asked for."""

    scale: float | None
    causal: bool
    softcap: float
    windows: tuple[int, int]
    """The number of visible keys before and after the query's own; -1 for all."""
    scores: int | None
    """The kind of scores requested: raw, capped, masked, probabilities; None if there are none."""
    mask_broadcasts: bool
    """True if a mask for one key is for all, as in opset 23; False if it hides the others."""


@dataclass(frozen=True)
class AttentionOperands:
    """The operands of an Attention node, those of attention itself of rank 4."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    mask: ir.Value | None
    past: Size
    """The number of keys before the queries."""
    filled: ir.Value | None
    """The number of keys in use, of a cache with room for more."""

    @property
    def keys(self) -> Size:
        """The number of keys."""
        return graph.type_of(self.k).shape[2]


@onnx_op("Attention", since=23)
def attention(
    q,
    k,
    v,
    mask=None,
    past_key=None,
    past_value=None,
    nonpad_kv_seqlen=None,
    *,
    node,
    is_causal=0,
    kv_num_heads=None,
    q_num_heads=None,
    qk_matmul_output_mode=0,
    scale=None,
    softcap=0.0,
    softmax_precision=None,
    left_window_size=-1,
    right_window_size=-1,
):
    del softmax_precision  # f32 at least
    merged = graph.type_of(q).rank == 3
    if merged:
        if not q_num_heads or not kv_num_heads:
            raise graph.TypeRuleError("operands of rank 3 need q_num_heads and kv_num_heads")
        q = split_heads(q, q_num_heads)
        k, v = split_heads(k, kv_num_heads), split_heads(v, kv_num_heads)
    past: Size = 0
    if past_key is not None:
        if past_value is None:
            raise graph.TypeRuleError("past keys without past values")
        past = graph.type_of(past_key).shape[2]
        k, v = behind(past_key, k), behind(past_value, v)
    scores = qk_matmul_output_mode if node.wants(3) else None
    windows = (left_window_size, right_window_size)
    broadcasts = node.opset < 24
    options = AttentionOptions(scale, bool(is_causal), softcap, windows, scores, broadcasts)
    values, mask = _in_type_of(q, v), _in_type_of(q, mask)
    operands = AttentionOperands(q, k, values, mask, past, nonpad_kv_seqlen)
    y, scores = _attend(operands, options)
    if merged:
        y = merge_heads(y)
    return (y, k, v) if scores is None else (y, k, v, scores)


def _in_type_of(q: ir.Value, x: Any) -> Any:
    """`x`, if it is there, in the element type of `q`; booleans stay."""
    dtype = graph.type_of(q).dtype
    if x is None or graph.type_of(x).dtype in (dtype, np.bool_):
        return x
    return graph.cast(x, to=dtype)


def split_heads(x: ir.Value, heads: int) -> ir.Value:
    """``[B, S, H D] -> [B, H, S, D]``."""
    batch, length, width = graph.type_of(x).shape
    x = graph.reshape(x, shape=[batch, length, heads, width // heads])
    return graph.transpose(x, perm=[0, 2, 1, 3])


def merge_heads(x: ir.Value) -> ir.Value:
    """``[B, H, S, D] -> [B, S, H D]``."""
    batch, heads, length, head_size = graph.type_of(x).shape
    x = graph.transpose(x, perm=[0, 2, 1, 3])
    return graph.reshape(x, shape=[batch, length, heads * head_size])


def _attend(
    given: AttentionOperands, options: AttentionOptions
) -> tuple[ir.Value, ir.Value | None]:
    """The attention of operands of rank 4, and the scores asked for."""
    q, k, v, mask, past, filled = given.q, given.k, given.v, given.mask, given.past, given.filled
    shape, keys = graph.type_of(q).shape, given.keys
    scale = options.scale
    if scale is None:
        if not isinstance(shape[-1], int):
            raise UnsupportedError("a head size that is not known at compile time")
        scale = 1 / math.sqrt(shape[-1])
    plain_causal = options.causal and past == 0 and filled is None and options.windows == (-1, -1)
    if mask is not None:
        mask = to_rank_4(_mask_of_keys(mask, keys, options.mask_broadcasts))
    if options.scores is None and (past != 0 or filled is not None):
        return _attend_to_cache(replace(given, mask=mask), scale, options), None
    seen = _visible(shape[2], keys, past, filled, options, plain_causal)
    mask = seen if mask is None else mask if seen is None else masked_where(mask, seen)
    grouped = group_heads(q, k, v, mask)
    if not options.softcap and options.scores is None:
        y = graph.attention(*grouped, scale=scale, causal=plain_causal)
        return graph.reshape(y, shape=[*shape[:-1], graph.type_of(v).shape[-1]]), None
    if plain_causal:
        causal = _visible(shape[2], keys, past, filled, options, False)
        assert causal is not None
        grouped = (*grouped[:3], causal if grouped[3] is None else masked_where(grouped[3], causal))
    y, scores = graph.decomposed_attention(*grouped, scale, options.softcap, options.scores or 0)
    y = graph.reshape(y, shape=[*shape[:-1], graph.type_of(v).shape[-1]])
    if options.scores is None:
        return y, None
    return y, graph.reshape(scores, shape=[*shape[:-1], keys])


def _attend_to_cache(given: AttentionOperands, scale: float, options: AttentionOptions) -> ir.Value:
    """The attention behind `past` keys, or to a cache of which `filled` keys are in use."""
    if given.filled is None:
        begin, last = number(given.past), number(given.keys - 1)
    else:
        filled = graph.cast(given.filled, to=np.int64)
        begin = graph.sub(filled, graph.size_scalar(graph.type_of(given.q).shape[2]))
        last = graph.sub(filled, graph.size_scalar(1))
    left, right = options.windows
    return graph.cached_attention(
        given.q, given.k, given.v, begin, last, given.mask, None, None, scale=scale,
        softcap=options.softcap, left=left, right=0 if options.causal else right,
    )  # fmt: skip


def behind(past: ir.Value, new: ir.Value) -> ir.Value:
    """The rows of `past` and the `new` ones behind them, along axis 2."""
    before = graph.type_of(past).shape[2]
    size = before + graph.type_of(new).shape[2]
    return graph.extend_cache(past, new, number(before), axis=2, size=size)


def number(size: Size) -> ir.Value:
    """A size as i64 [1]: one number for all batches."""
    return graph.reshape(graph.size_scalar(size), shape=[1])


# Masks. Booleans say which keys a query sees; floats are added to the scores.


def _mask_of_keys(mask: ir.Value, keys: Size, broadcasts: bool) -> ir.Value:
    """A mask for fewer keys hides the others, and one for more loses what is beyond them: from
    opset 24 on, the operator's function pads it by the difference, which may be negative.

    With `broadcasts`, one for a single key is for all, and one for more is refused (opset 23).
    """
    type_ = graph.type_of(mask)
    given = type_.shape[-1]
    if given == keys or (broadcasts and given == 1):
        return mask
    if broadcasts and isinstance(given, int) and isinstance(keys, int) and given > keys:
        return mask  # is refused, since it does not broadcast
    hidden = graph.splat_like(False if type_.dtype == np.bool_ else -np.inf, mask)
    if not isinstance(given, int) or not isinstance(keys, int):
        return _mask_of_keys_when_run(mask, keys, hidden, broadcasts)
    none = [0] * type_.rank
    if given > keys:
        sizes = [*type_.shape[:-1], keys]
        return graph.slice_(mask, starts=none, sizes=sizes, steps=[1] * type_.rank)
    return graph.pad(mask, hidden, low=none, high=[*none[1:], keys - given])


def _mask_of_keys_when_run(
    mask: ir.Value, keys: Size, hidden: ir.Value, broadcasts: bool
) -> ir.Value:
    """`_mask_of_keys` for a number of keys that is only known at run time."""
    axis = graph.type_of(mask).rank - 1
    given = graph.size_scalar(graph.type_of(mask).shape[axis])
    if broadcasts:
        fits = graph.less_or_equal(given, graph.size_scalar(keys))
        graph.require(fits, message="the mask is for more keys than there are")
    column = positions(keys)
    last = graph.max_(graph.sub(given, graph.size_scalar(1)), graph.size_scalar(0))
    taken = graph.gather(mask, graph.min_(column, last), axis=axis)
    is_given = graph.less(column, given)
    if broadcasts:
        is_given = graph.or_(is_given, graph.equal(given, graph.size_scalar(1)))
    return graph.where(is_given, taken, hidden)


def to_rank_4(x: ir.Value) -> ir.Value:
    shape = graph.type_of(x).shape
    return graph.reshape(x, shape=[*[1] * (4 - len(shape)), *shape])


def masked_where(mask: ir.Value, seen: ir.Value) -> ir.Value:
    """`mask` where `seen` holds, and nothing elsewhere."""
    if graph.type_of(mask).dtype == np.bool_:
        return graph.and_(mask, seen)
    return graph.where(seen, mask, graph.splat_like(-np.inf, mask))


def _visible(
    queries: Size,
    keys: Size,
    past: Size,
    filled: ir.Value | None,
    options: AttentionOptions,
    plain_causal: bool,
) -> ir.Value | None:
    """The mask of visible keys by positions alone, ``[B or 1, 1, S, T]``; None if all are visible.

    Query ``i`` is at ``i + past``, or, in a cache of which `filled` keys are in use, at
    ``i + filled - S``.
    """
    conditions = []
    column = positions_in(keys, [1, 1, 1, keys])
    if filled is not None:
        (batch,) = graph.type_of(filled).shape
        filled = graph.reshape(graph.cast(filled, to=np.int64), shape=[batch, 1, 1, 1])
        conditions.append(graph.less(column, filled))
    left, right = options.windows
    if (options.causal and not plain_causal) or max(left, right) >= 0:
        row = positions_in(queries, [1, 1, queries, 1])
        offset = (
            graph.size_scalar(past)
            if filled is None
            else graph.sub(filled, graph.size_scalar(queries))
        )
        distance = graph.sub(column, graph.add(row, offset))
        if options.causal:
            conditions.append(graph.less_or_equal(distance, graph.size_scalar(0)))
        if left >= 0:
            conditions.append(graph.greater_or_equal(distance, graph.size_scalar(-left)))
        if right >= 0:
            conditions.append(graph.less_or_equal(distance, graph.size_scalar(right)))
    seen = None
    for condition in conditions:
        seen = condition if seen is None else graph.and_(seen, condition)
    return seen


def positions_in(count: Size, shape: list[Size]) -> ir.Value:
    """``0, 1, ... count - 1`` in `shape`."""
    return graph.reshape(positions(count), shape=shape)


# Heads, and the forms that `graph.attention` does not have


def group_heads(
    q: ir.Value, k: ir.Value, v: ir.Value, mask: ir.Value | None
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value | None]:
    """Queries that share a key get an axis of their own: ``[B, H, G, S, D]``."""
    heads, shared = graph.type_of(q).shape[1], graph.type_of(k).shape[1]
    if heads == shared:
        return q, k, v, mask
    if not isinstance(heads, int) or not isinstance(shared, int):
        raise UnsupportedError(f"{heads} heads of queries that share {shared} heads of keys")
    if heads % shared:
        raise graph.TypeRuleError(f"{heads} heads of queries share {shared} heads of keys")
    group = heads // shared

    def split(x: ir.Value, outer: int, inner: int) -> ir.Value:
        batch, _, *rest = graph.type_of(x).shape
        return graph.reshape(x, shape=[batch, outer, inner, *rest])

    if mask is not None:
        batch, masks, *rest = graph.type_of(mask).shape
        if isinstance(masks, Dim):  # one for all heads, maybe
            mask = graph.expand(mask, shape=[batch, heads, *rest])
        mask = split(mask, *((1, 1) if masks == 1 else (shared, group)))
    return split(q, shared, group), split(k, shared, 1), split(v, shared, 1), mask


@onnx_op("RotaryEmbedding", since=23)
def rotary_embedding(
    x, cos, sin, position_ids=None, *, interleaved=0, num_heads=0, rotary_embedding_dim=0
):
    del rotary_embedding_dim  # the caches have half as many columns
    merged = graph.type_of(x).rank == 3
    if merged:
        if not num_heads:
            raise graph.TypeRuleError("an operand of rank 3 needs num_heads")
        batch, length, width = shape = graph.type_of(x).shape
        x = graph.reshape(x, shape=[batch, length, num_heads, width // num_heads])
    cos, sin = (_angles(cache, position_ids, merged) for cache in (cos, sin))
    y = graph.rotary_embedding(x, cos, sin, interleaved=bool(interleaved))
    return graph.reshape(y, shape=shape) if merged else y


def _angles(cache: ir.Value, positions: ir.Value | None, merged: bool) -> ir.Value:
    """The rows of `cache` at `positions`, ``[B, S, R / 2]``, with an axis for the heads."""
    if positions is not None:
        cache = graph.gather(cache, positions, axis=0)
    batch, length, half = graph.type_of(cache).shape
    return graph.reshape(
        cache, shape=[batch, length, 1, half] if merged else [batch, 1, length, half]
    )
