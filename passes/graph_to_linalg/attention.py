"""Attention, decomposed, and rotary embeddings.

The backend's own attention op is many times slower on CPUs than a batched matmul, a softmax and a
batched matmul.
"""

import math as pymath

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import arith, ir
from .contraction import decide_broadcast, is_few, multiply
from .dispatch import behind_barrier
from .elementwise import broadcast_map, lower_elementwise
from .generic import loop_index, parallel, projection
from .generic_contraction import converted
from .lowering import Lowering, Size, lowers, scalar_constant
from .matmul_operands import Matmul, TypedTensor
from .mma_attention import attend_on_tensor_cores
from .movement import extract_slice, insert_slice, reshape_tensor, transpose_tensor
from .normalization import Elements, RowNormalization
from .reduction import accumulator
from .rotary_kernel import rotate_by_kernel
from .scalar import convert_scalar
from .scratch import uses_scratch

Value = ir.Value
Type = graph.TensorType


@lowers(graph.AttentionOp)
def attention(
    ctx: Lowering, op: graph.AttentionOp, q: Value, k: Value, v: Value, mask: Value | None
) -> Value:
    """``exp(q k' - max) v / sum``: the sum divides the result, which is smaller than the weights.

    Measured on 12 heads of 128x64, one thread: 0.95 ms with the division on the weights, 0.72 ms
    with it on the result. The keys are copied transposed and scaled: otherwise the backend would
    read them across rows, and the first matmul take 0.91 ms instead of 0.22 ms. Odd lengths are not
    padded: padding 197 queries and keys to 208, 224 or 256 costs what it saves.
    """
    if (y := attend_on_tensor_cores(ctx, op)) is not None:
        return y
    result = graph.type_of(op.result)
    if graph.type_of(op.k).shape[-2] == 0:  # the backend divides by zero
        return ctx.filled(result, 0)
    wide = accumulator(result.dtype)
    lead = _lead_of_keys(op)
    batch = graph.element_count(lead)
    rows = graph.element_count((*result.shape[len(lead) : -2], result.shape[-2]))
    k, key = _with_lead(ctx, op.k, k, lead)
    v, value = _widened(ctx, *_with_lead(ctx, op.v, v, lead))
    length = value.shape[-2] if isinstance(value.shape[-2], int) else key.shape[-2]
    k, key = _with_length(ctx, k, key, length)
    v, value = _with_length(ctx, v, value, length)
    query = result.with_shape((batch, rows, key.shape[-1]))
    q = reshape_tensor(ctx, q, graph.type_of(op.q), query)
    q, query = _widened(ctx, q, query)
    scale = 1.0
    if _is_narrow(ctx, query):  # the scale is applied to sums in f32
        k, key, scale = *_transposed(ctx, k, key), op.attrs["scale"]
    elif rows == 1:  # keys are read as they are
        q = _scaled(ctx, q, query, op.attrs["scale"])
        k, key = _widened(ctx, k, key)
        k, key = _transposed(ctx, k, key)
    else:
        k, key = _laid_across(ctx, k, key, op.attrs["scale"])
    if op.attrs["scale"] == 1 and not is_few(rows) and not _is_narrow(ctx, query):
        k = behind_barrier(ctx, k, key)  # or the copy would be folded away

    scores = Type((batch, rows, key.shape[-1]), wide)
    s = multiply(ctx, Matmul(TypedTensor(q, query), TypedTensor(k, key), scores))
    full = Type((*result.shape[:-1], key.shape[-1]), wide)
    loops = RowNormalization(ctx, full, [full.rank - 1])
    seen = _masked(ctx, op, reshape_tensor(ctx, s, scores, full), full, mask, scale)
    top = loops.largest(seen, float(np.finfo(wide).min))
    weights, total = loops.exponentials(seen, top, value.dtype)

    scores = scores.with_dtype(value.dtype)
    full = full.with_dtype(value.dtype)
    weights = reshape_tensor(ctx, weights, full, scores)
    total = reshape_tensor(ctx, total, loops.row_type, Type((batch, rows), wide))
    product = Type((batch, rows, result.shape[-1]), wide)
    y = multiply(ctx, Matmul(TypedTensor(weights, scores), TypedTensor(v, value), product))
    product = product.with_dtype(result.dtype)
    return reshape_tensor(ctx, _divided(ctx, y, product, total), product, result)


@uses_scratch(graph.AttentionOp)
def attention_scratch(op: graph.AttentionOp, cpu: CpuModel) -> list[Type]:
    """The scores, and their softmax."""
    del cpu
    wide = accumulator(graph.type_of(op.result).dtype)
    scores = Type((*graph.type_of(op.q).shape[:-1], graph.type_of(op.k).shape[-2]), wide)
    return [scores, scores]


def _widened(ctx: Lowering, value: Value, type_: Type) -> tuple[Value, Type]:
    """Widen narrow floats to f32, materialized: within the matmul they would be converted
    repeatedly."""
    wide = type_.with_dtype(accumulator(type_.dtype))
    if wide == type_ or _is_narrow(ctx, type_):
        return value, type_
    return behind_barrier(ctx, converted(ctx, value, type_, wide), wide), wide


def _is_narrow(ctx: Lowering, type_: Type) -> bool:
    """Return whether the operands of the matmuls stay 16-bit floats, for tensor cores."""
    return ctx.mma_sync and graph.is_float(type_.dtype) and type_.dtype.itemsize == 2


def _transposed(ctx: Lowering, k: Value, type_: Type) -> tuple[Value, Type]:
    """``[batch, T, D] -> [batch, D, T]``."""
    batch, keys, head_size = type_.shape
    return transpose_tensor(ctx, k, type_, [0, 2, 1]), type_.with_shape((batch, head_size, keys))


def _lead_of_keys(op: graph.AttentionOp) -> tuple[Size, ...]:
    """The leading axes of the queries along which keys differ.

    The leading axes behind them count as more queries: heads in a group share their keys.
    """
    lead = graph.type_of(op.q).shape[:-2]
    count = len(lead)
    while count and all(graph.type_of(x).shape[count - 1] == 1 for x in (op.k, op.v)):
        count -= 1
    return lead[:count]


def _with_lead(
    ctx: Lowering, value: Value, lowered: Value, lead: tuple[Size, ...]
) -> tuple[Value, Type]:
    """Keys or values as ``[batch, T, D]``, repeated along the leading axes they lack."""
    type_ = graph.type_of(value)
    ones = [1] * (type_.rank - 2 - len(lead))
    full = type_.with_shape((*lead, *ones, *type_.shape[-2:]))
    if full != type_:
        lowered = lower_elementwise(ctx, full, {value: lowered}, lambda known: known[value])
    flat = type_.with_shape((graph.element_count(lead), *type_.shape[-2:]))
    return reshape_tensor(ctx, lowered, full, flat), flat


def _with_length(ctx: Lowering, x: Value, type_: Type, length: Size) -> tuple[Value, Type]:
    """Keys or values, ``[batch, T, D]``, with the static `length`, if it is a number."""
    if not isinstance(length, int):
        return x, type_
    known = type_.with_shape((type_.shape[0], length, type_.shape[2]))
    return reshape_tensor(ctx, x, type_, known), known


def _scaled(ctx: Lowering, q: Value, type_: Type, scale: float) -> Value:
    if scale == 1:
        return q
    return parallel(
        [q],
        [ir.AffineMap.get_identity(type_.rank)],
        ctx.empty(type_),
        lambda scalar: arith.mulf(scalar, scalar_constant(scale, type_.dtype)),
    )


def _laid_across(ctx: Lowering, k: Value, type_: Type, scale: float) -> tuple[Value, Type]:
    """``[batch, T, D] -> [batch, D, T]``, times `scale`; narrow floats become f32."""
    batch, keys, head_size = type_.shape
    wide = accumulator(type_.dtype)

    def element(scalar: Value) -> Value:
        scalar = convert_scalar(scalar, type_.dtype, wide)
        return scalar if scale == 1 else arith.mulf(scalar, scalar_constant(scale, wide))

    result = Type((batch, head_size, keys), wide)
    return parallel([k], [projection(3, [0, 2, 1])], ctx.empty(result), element), result


def _masked(
    ctx: Lowering,
    op: graph.AttentionOp,
    s: Value,
    type_: Type,
    mask: Value | None,
    scale: float,
) -> Elements:
    """Scores times `scale`, with -inf for the keys that are masked from a query."""
    causal = op.attrs["causal"]
    inputs, maps = [s], [ir.AffineMap.get_identity(type_.rank)]
    if mask is not None and op.mask is not None:
        given = graph.type_of(op.mask)
        mask, read = _mask_as_read(ctx, op.mask, mask, type_)
        inputs.append(mask)
        maps.append(read)

    def element(score: Value, *masks: Value) -> Value:
        hidden = scalar_constant(-pymath.inf, type_.dtype)
        if scale != 1:
            score = arith.mulf(score, scalar_constant(scale, type_.dtype))
        if masks and given.dtype == np.bool_:
            score = arith.select(masks[0], score, hidden)
        elif masks:
            score = arith.addf(score, convert_scalar(masks[0], given.dtype, type_.dtype))
        if causal:
            row, column = loop_index(type_.rank - 2), loop_index(type_.rank - 1)
            in_sight = arith.cmpi(arith.CmpIPredicate.ule, column, row)
            score = arith.select(in_sight, score, hidden)
        return score

    return Elements(inputs, maps, element)


def _mask_as_read(
    ctx: Lowering, value: Value, mask: Value, scores: Type
) -> tuple[Value, ir.AffineMap]:
    """A mask, and the map that reads it for each score; expanded where run time decides along which
    axes it repeats. Reductions that decide it for each score compile for minutes."""
    read = broadcast_map(value, scores)
    if read is not None:
        return mask, read
    given = graph.type_of(value)
    first = scores.rank - given.rank
    wanted = given.with_shape(
        size if size == 1 else scores.shape[axis]
        for axis, size in enumerate(given.shape, start=first)
    )
    mask, type_ = decide_broadcast(ctx, value, mask, wanted)
    axes = [None if size == 1 else axis for axis, size in enumerate(type_.shape, start=first)]
    return mask, projection(scores.rank, axes)


def _divided(ctx: Lowering, y: Value, type_: Type, total: Value) -> Value:
    """`y` divided by the total weight of each row; zeros if no key has any weight."""
    wide = accumulator(type_.dtype)

    def element(scalar: Value, total: Value) -> Value:
        none = arith.cmpf(arith.CmpFPredicate.OEQ, total, scalar_constant(0, wide))
        divisor = arith.select(none, scalar_constant(1, wide), total)
        return convert_scalar(arith.divf(scalar, divisor), wide, type_.dtype)

    maps = [projection(3, [0, 1, 2]), projection(3, [0, 1])]
    return parallel([y, total], maps, ctx.empty(type_), element)


@lowers(graph.RotaryEmbeddingOp)
def rotary_embedding(
    ctx: Lowering, op: graph.RotaryEmbeddingOp, x: Value, cos: Value, sin: Value
) -> Value:
    """A kernel, or one loop that writes in order; it reads both elements of a pair for each of the
    two."""
    if (turned_rows := rotate_by_kernel(ctx, op)) is not None:
        return turned_rows
    type_ = graph.type_of(op.x)
    half = graph.type_of(op.cos).shape[-1]
    pair_axis = type_.rank if op.attrs["interleaved"] else type_.rank - 1
    pairs = [half, 2] if op.attrs["interleaved"] else [2, half]
    turned = type_.with_shape((*type_.shape[:-1], 2 * half))
    paired = type_.with_shape((*type_.shape[:-1], *pairs))
    zeros = [0] * type_.rank
    part = extract_slice(ctx, x, zeros, turned.shape, [1] * type_.rank, turned)
    members = _members(ctx, reshape_tensor(ctx, part, turned, paired), paired, pair_axis)
    y = _turned(ctx, op, members, (cos, sin), paired, pair_axis)
    y = reshape_tensor(ctx, y, paired, turned)
    return y if turned == type_ else insert_slice(ctx, y, x, zeros, turned.shape)


def _members(ctx: Lowering, x: Value, type_: Type, pair_axis: int) -> list[Value]:
    """The first and the second elements of the pairs, without the pair axis."""
    one = type_.with_shape(1 if i == pair_axis else s for i, s in enumerate(type_.shape))
    flat = type_.with_shape(s for i, s in enumerate(type_.shape) if i != pair_axis)
    members = []
    for which in range(2):
        offsets = [which if i == pair_axis else 0 for i in range(type_.rank)]
        member = extract_slice(ctx, x, offsets, one.shape, [1] * type_.rank, one)
        members.append(reshape_tensor(ctx, member, one, flat))
    return members


def _turned(
    ctx: Lowering,
    op: graph.RotaryEmbeddingOp,
    members: list[Value],
    angles: tuple[Value, Value],
    type_: Type,
    pair_axis: int,
) -> Value:
    """``(a cos - b sin, b cos + a sin)`` for the members ``(a, b)`` of each pair."""
    wide = accumulator(type_.dtype)
    loops = [i for i in range(type_.rank) if i != pair_axis]
    maps = [projection(type_.rank, loops)] * 2
    inputs = list(members)
    flat = [type_.shape[i] for i in loops]
    for value, lowered in zip((op.cos, op.sin), angles, strict=True):
        given = graph.type_of(value)
        skipped = len(flat) - given.rank
        lowered, read = decide_broadcast(ctx, value, lowered, given.with_shape(flat[skipped:]))
        axes = [
            None if size == 1 and flat[i] != 1 else loops[i]
            for i, size in enumerate(read.shape, start=skipped)
        ]
        inputs.append(lowered)
        maps.append(projection(type_.rank, axes))

    def element(*scalars: Value) -> Value:
        a, b, cos, sin = (convert_scalar(s, type_.dtype, wide) for s in scalars)
        first = arith.subf(arith.mulf(a, cos), arith.mulf(b, sin))
        second = arith.addf(arith.mulf(b, cos), arith.mulf(a, sin))
        index = loop_index(pair_axis)
        zero = arith.constant(ir.IndexType.get(), 0)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, index, zero)
        return convert_scalar(arith.select(is_first, first, second), wide, type_.dtype)

    return parallel(inputs, maps, ctx.empty(type_), element)
