"""Multi-head attention as ONNX Runtime fuses it from BERT, GPT-2, Whisper and their kin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError
from ..operators.attention import (
    behind,
    masked_where,
    merge_heads,
    number,
    positions_in,
    split_heads,
    to_rank_4,
)
from ..operators.shapes import require_sizes, required
from .quantized_matmul import matmul_integer_to_float
from .registry import microsoft_op

Size = int | Dim


@dataclass(frozen=True)
class Masking:
    """The masks that hide keys: added biases, and the causal order of positions."""

    padding: ir.Value | None
    """The padding mask, in one of the operators' forms."""
    filtered: float
    """The bias that is added to the scores of padding."""
    bias: ir.Value | None
    causal: bool


def attend(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    past: Size,
    masking: Masking,
    scale: float | None,
    scores: bool = False,
    used: Size | None = None,
) -> tuple[ir.Value, ir.Value | None]:
    """Attention over heads, ``[B, H, S, D]``, of queries that follow `past` keys; `used` of all
    keys are in use, if that is given.

    Gives the heads merged, ``[B, S, H E]``, and the raw scores if asked for.
    """
    head_size = graph.type_of(q).shape[-1]
    if not scale:
        if not isinstance(head_size, int):
            raise UnsupportedError("a head size that is not known at compile time")
        scale = 1 / math.sqrt(head_size)
    queries, keys = graph.type_of(q).shape[2], graph.type_of(k).shape[2]
    used = keys if used is None else used
    mask = masking.bias
    if masking.padding is not None:
        mask = _to_keys(mask, keys)
        padding = _padding_bias(masking, q, k)
        mask = padding if mask is None else graph.add(mask, padding)
    if not scores and (past != 0 or used != keys):
        y = graph.cached_attention(
            q, k, v, number(past), number(used - 1), None if mask is None else to_rank_4(mask),
            None, None, scale=scale, softcap=0.0, left=-1, right=0 if masking.causal else -1,
        )  # fmt: skip
        return merge_heads(y), None
    if not scores:
        y = graph.attention(q, k, v, mask, scale=scale, causal=masking.causal)
        return merge_heads(y), None
    mask = _to_keys(mask, keys)
    if masking.causal:
        seen = _causal(queries, keys, past)
        mask = seen if mask is None else masked_where(mask, seen)
    if used != keys:
        seen = graph.less(positions_in(keys, [1, 1, 1, keys]), graph.size_scalar(used))
        mask = seen if mask is None else masked_where(mask, seen)
    y, raw = graph.decomposed_attention(q, k, v, mask, scale, 0.0, 3)
    sizes = [*graph.type_of(raw).shape[:3], used]
    return merge_heads(y), graph.slice_(raw, starts=[0] * 4, sizes=sizes, steps=[1] * 4)


def _to_keys(bias: ir.Value | None, keys: Size) -> ir.Value | None:
    """`bias` with a column for each of the keys, or one for all."""
    if bias is None or graph.type_of(bias).shape[-1] in (1, keys):
        return bias
    shape = graph.type_of(bias).shape
    low = [0] * len(shape)
    high = [*low[1:], keys - shape[-1]]
    return graph.pad(bias, graph.splat_like(0, bias), low=low, high=high)


def _causal(queries: Size, keys: Size, past: Size) -> ir.Value:
    row = graph.add(positions_in(queries, [1, 1, queries, 1]), graph.size_scalar(past))
    return graph.less_or_equal(positions_in(keys, [1, 1, 1, keys]), row)


def _padding_bias(masking: Masking, q: ir.Value, k: ir.Value) -> ir.Value:
    """The bias that hides padding, ``[B, 1, 1 or S, T]``, to be added to the scores.

    Padding is given by flags, 0 for a hidden key, ``[B, T]`` or ``[B, S, T]``; by the number of
    keys of each row, ``[B]``; or by these and the first key of each row, ``[2 B]``.
    """
    assert masking.padding is not None
    given = graph.type_of(masking.padding).shape
    batch, _, _, _ = graph.type_of(q).shape
    keys = graph.type_of(k).shape[2]
    dtype = graph.type_of(q).dtype
    if len(given) in (2, 3):
        flags = _to_length(masking.padding, keys)
        seen = graph.greater(flags, graph.splat_like(0, flags))
        middle = [1] if len(given) == 2 else [given[1]]
        seen = graph.reshape(seen, shape=[given[0], 1, *middle, keys])
    elif len(given) == 1 and given[0] in (batch, batch * 2):
        seen = _between(masking.padding, batch, keys, given[0] != batch)
    else:
        raise UnsupportedError(f"a mask of shape {tuple(map(str, given))}")
    zero = graph.constant(value=np.zeros((), dtype))
    return graph.where(seen, zero, graph.constant(value=np.array(masking.filtered, dtype)))


def _to_length(flags: ir.Value, keys: Size) -> ir.Value:
    """`flags` padded to `keys` keys: those without a flag are hidden."""
    type_ = graph.type_of(flags)
    short = type_.shape[-1]
    if short == keys or not (isinstance(short, int) and isinstance(keys, int)):
        return flags
    low = [0] * type_.rank
    if short < keys:
        return graph.pad(flags, graph.splat_like(0, flags), low=low, high=[*low[1:], keys - short])
    sizes = [*type_.shape[:-1], keys]
    return graph.slice_(flags, starts=low, sizes=sizes, steps=[1] * type_.rank)


def _between(limits: ir.Value, batch: Size, keys: Size, with_starts: bool) -> ir.Value:
    column = positions_in(keys, [1, 1, 1, keys])
    limits = graph.cast(limits, to=np.int64)

    def part(first: Size) -> ir.Value:
        one = graph.slice_(limits, starts=[first], sizes=[batch], steps=[1])
        return graph.reshape(one, shape=[batch, 1, 1, 1])

    seen = graph.less(column, part(0))
    return graph.and_(seen, graph.greater_or_equal(column, part(batch))) if with_starts else seen


def columns(x: ir.Value, widths: Sequence[Size]) -> list[ir.Value]:
    """`x` cut along its last axis."""
    *lead, total = graph.type_of(x).shape
    given = sum(widths, start=0)
    if given != total:
        raise graph.TypeRuleError(f"a last axis of {total} in parts of {list(map(str, widths))}")
    parts: list[ir.Value] = []
    start: Size = 0
    for width in widths:
        parts.append(
            graph.slice_(
                x, starts=[*[0] * len(lead), start], sizes=[*lead, width],
                steps=[1] * (len(lead) + 1),
            )
        )  # fmt: skip
        start = start + width
    return parts


@microsoft_op("Attention")
def attention(
    x,
    weights,
    bias=None,
    mask_index=None,
    past=None,
    attention_bias=None,
    past_sequence_length=None,
    *,
    num_heads,
    do_rotary=0,
    mask_filter_value=-10000.0,
    past_present_share_buffer=0,
    qkv_hidden_sizes=None,
    rotary_embedding_dim=0,
    scale=None,
    unidirectional=0,
):
    """Queries, keys and values are one matmul with merged weights."""
    del rotary_embedding_dim
    _require_plain(do_rotary, past_present_share_buffer or past_sequence_length is not None)
    merged = graph.matmul(x, weights)
    merged = merged if bias is None else graph.add(merged, bias)
    masking = Masking(mask_index, mask_filter_value, attention_bias, bool(unidirectional))
    return merged_attention(merged, past, masking, num_heads, scale, qkv_hidden_sizes)


@microsoft_op("QAttention")
def quantized_attention(
    x,
    weights,
    bias,
    x_scale,
    weight_scale,
    mask_index=None,
    x_zero=None,
    weight_zero=None,
    past=None,
    *,
    num_heads,
    do_rotary=0,
    mask_filter_value=-10000.0,
    past_present_share_buffer=0,
    scale=None,
    unidirectional=0,
):
    """`Attention` with an integer matmul by the merged weights."""
    _require_plain(do_rotary, past_present_share_buffer)
    merged = matmul_integer_to_float(x, weights, x_scale, weight_scale, x_zero, weight_zero, bias)
    masking = Masking(mask_index, mask_filter_value, None, bool(unidirectional))
    return merged_attention(merged, past, masking, num_heads, scale)


def _require_plain(do_rotary: int, shares_buffer: int | bool) -> None:
    if do_rotary:
        raise UnsupportedError("do_rotary")
    if shares_buffer:
        raise UnsupportedError("past_present_share_buffer")


def merged_attention(
    merged: ir.Value,
    past: ir.Value | None,
    masking: Masking,
    num_heads: int,
    scale: float | None,
    widths: Sequence[int] | None = None,
) -> ir.Value | tuple[ir.Value, ir.Value]:
    """Attention of queries, keys and values side by side, and the past of the next call."""
    width = graph.type_of(merged).shape[-1]
    if widths is None:
        if not isinstance(width, int) or width % 3:
            raise graph.TypeRuleError(f"weights of width {width} for queries, keys and values")
        widths = [width // 3] * 3
    q, k, v = (split_heads(part, num_heads) for part in columns(merged, widths))
    before: Size = 0
    if past is not None:
        before = graph.type_of(past).shape[3]
        k, v = (behind(_member(past, i), x) for i, x in enumerate((k, v)))
    y, _ = attend(q, k, v, before, masking, scale)
    if graph.type_of(k).shape != graph.type_of(v).shape:
        return y  # such keys and values cannot be kept as one tensor
    return y, graph.concat([_as_member(k), _as_member(v)], axis=0)


def _member(pair: ir.Value, index: int) -> ir.Value:
    _, *rest = graph.type_of(pair).shape
    starts = [index, *[0] * len(rest)]
    one = graph.slice_(pair, starts=starts, sizes=[1, *rest], steps=[1] * len(starts))
    return graph.reshape(one, shape=rest)


def _as_member(x: ir.Value) -> ir.Value:
    return graph.reshape(x, shape=[1, *graph.type_of(x).shape])


@microsoft_op("MultiHeadAttention")
def multi_head_attention(
    query,
    key=None,
    value=None,
    bias=None,
    key_padding_mask=None,
    attention_bias=None,
    past_key=None,
    past_value=None,
    past_sequence_length=None,
    cache_indirection=None,
    *,
    node,
    num_heads,
    mask_filter_value=-10000.0,
    scale=None,
    unidirectional=0,
):
    """Keys and values may be packed with the queries or with each other, or come as heads."""
    if cache_indirection is not None:
        raise UnsupportedError("cache_indirection")
    q, k, v, own = _heads(query, key, value, bias, num_heads)
    before: Size = 0
    if own and (past_key is not None or past_value is not None):
        past_key, past_value = required(past_key, "past_key"), required(past_value, "past_value")
        k, v, before = _continued(k, v, past_key, past_value, past_sequence_length, node)
    masking = Masking(key_padding_mask, mask_filter_value, attention_bias, bool(unidirectional))
    used = None if past_sequence_length is None else before + graph.type_of(q).shape[2]
    y, scores = attend(q, k, v, before, masking, scale, scores=node.wants(3), used=used)
    return (y, k, v) if scores is None else (y, k, v, scores)


def _heads(
    query: ir.Value,
    key: ir.Value | None,
    value: ir.Value | None,
    bias: ir.Value | None,
    num_heads: int,
) -> tuple[ir.Value, ir.Value, ir.Value, bool]:
    """Queries, keys and values as heads, and whether the keys belong to these queries' tokens.

    They do not where they come as heads: then a decoder looks at what its encoder computed.
    """
    if graph.type_of(query).rank == 5:  # [B, S, H, 3, D]
        query, key, value = unpacked(query)
    if key is None:
        raise graph.TypeRuleError("keys are left out")
    if graph.type_of(key).rank == 5:  # [B, T, H, 2, D]
        key, value = unpacked(key)
    if value is None:
        raise graph.TypeRuleError("values are left out")
    own = graph.type_of(key).rank == 3
    if bias is not None:
        widths = [graph.type_of(query).shape[-1]]
        if own:
            widths += [graph.type_of(x).shape[-1] for x in (key, value)]
        biases = columns(bias, widths) if own else [_first(bias, widths[0])]
        query = graph.add(query, biases[0])
        if own:
            key, value = graph.add(key, biases[1]), graph.add(value, biases[2])
    q = split_heads(query, num_heads)
    if not own:
        return q, key, value, False
    return q, split_heads(key, num_heads), split_heads(value, num_heads), True


def _first(bias: ir.Value, width: Size) -> ir.Value:
    return graph.slice_(bias, starts=[0], sizes=[width], steps=[1])


def unpacked(x: ir.Value) -> list[ir.Value]:
    """``[B, S, H, n, D]`` as n tensors ``[B, S, H D]``."""
    batch, length, heads, count, head_size = graph.type_of(x).shape
    if not isinstance(count, int):
        raise UnsupportedError("packed heads of unknown number")
    parts = []
    for index in range(count):
        part = graph.slice_(
            x, starts=[0, 0, 0, index, 0], sizes=[batch, length, heads, 1, head_size], steps=[1] * 5
        )
        parts.append(graph.reshape(part, shape=[batch, length, heads * head_size]))
    return parts


def _continued(
    k: ir.Value,
    v: ir.Value,
    past_key: ir.Value,
    past_value: ir.Value,
    past_length: ir.Value | None,
    node: Node,
) -> tuple[ir.Value, ir.Value, Size]:
    """Keys and values behind those of the past, and how many came before.

    With `past_length` the past is a buffer, of which this number of rows is in use.
    """
    if past_length is None:
        before = graph.type_of(past_key).shape[2]
        return behind(past_key, k), behind(past_value, v), before
    (before,) = require_sizes(past_length, node, "past")
    begin = graph.reshape(graph.size_scalar(before), shape=[1])
    k, v = (
        graph.tensor_scatter(past, new, begin, None, axis=2, used=0)
        for past, new in ((past_key, k), (past_value, v))
    )
    return k, v, before


@microsoft_op("DecoderMaskedMultiHeadAttention")
def decoder_masked_multi_head_attention(
    query,
    key=None,
    value=None,
    mask_index=None,
    attention_bias=None,
    past_key=None,
    past_value=None,
    past_sequence_length=None,
    beam_width=None,
    cache_indirection=None,
    bias=None,
    *,
    node,
    num_heads,
    mask_filter_value=-10000.0,
    output_qk=0,
    past_present_share_buffer=0,
    scale=None,
):
    """The attention of one more token."""
    del beam_width, output_qk  # the outputs asked for tell
    if not past_present_share_buffer:
        past_sequence_length = None
    return multi_head_attention(
        query, key, value, bias, mask_index, attention_bias, past_key, past_value,
        past_sequence_length, cache_indirection,
        node=node, num_heads=num_heads, mask_filter_value=mask_filter_value, scale=scale,
    )  # fmt: skip
