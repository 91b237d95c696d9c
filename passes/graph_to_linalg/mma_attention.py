"""Attention by the kernel for tensor cores (`kernels.mma_attention`)."""

import math

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...mlir import arith, ir
from ..kernels.mma_attention import (
    MAX_SIZE,
    MaskStrides,
    MmaAttentionEmitter,
    MmaAttentionShape,
    StridedRows,
)
from ..kernels.mma_operands import widest_copy
from ..kernels.mma_tiles import (
    MMA_TYPES,
    MULTIPROCESSORS,
    ODD_ROWS,
    UNKNOWN_SIZES,
    can_index,
)
from .generic import parallel
from .kernel_calls import define, flat
from .lowering import Lowering, plain_element, plain_type
from .movement import transpose_tensor
from .strided_view import StridedView, row_major, strided_view

MAX_WARPS = 4


def attend_on_tensor_cores(ctx: Lowering, op: graph.AttentionOp) -> ir.Value | None:
    """Build `op`; None if the kernel does not compute it (`_reason_against`).

    Queries, keys and values are read where they are: as slices of the product that computes all
    three, say, with the heads behind the tokens. The result has the heads behind the tokens too.
    """
    if not ctx.mma_sync:
        return None
    statistics, node = ctx.statistics("mma-attention"), node_name(op.operation)
    if (reason := _reason_against(op)) is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    views = [_readable(ctx.values[value]) for value in (op.q, op.k, op.v)]
    shape = _shape(op, views)
    memory = [view.source for view in views]
    if op.mask is not None:
        memory.append(_mask(ctx, op.mask))
    type_ = graph.type_of(op.result)
    order = _heads_behind(type_.rank)
    stored = type_.with_shape(type_.shape[axis] for axis in order)

    def kernel(number: ir.Value, *buffers: ir.Value) -> None:
        q, k, v, *masks, result = buffers
        emitter = MmaAttentionEmitter(shape, q, k, v, masks[0] if masks else None, result)
        emitter.workgroup(number)

    result = plain_type(stored)
    types = [*(value.type for value in memory), result]
    buffers = [flat(each) for each in types]
    key = (shape, *map(str, types))
    name = define(ctx, "mma_attention", key, buffers, kernel, shape.flops, threads=shape.threads)
    (y,) = iree.run_kernel(name, shape.workgroups, memory, [result])
    return transpose_tensor(ctx, y, stored, [order.index(axis) for axis in range(type_.rank)])


def _reason_against(op: graph.AttentionOp) -> str | None:
    """The reason why the kernel does not compute `op`; None if it does."""
    q, k, v, result = (graph.type_of(value) for value in (op.q, op.k, op.v, op.result))
    if q.dtype not in MMA_TYPES:
        return "its operands are no floats of 16 bits"
    masks = [] if op.mask is None else [graph.type_of(op.mask)]
    if not can_index(q, k, v, result, *masks):
        return UNKNOWN_SIZES
    sizes = (q.static_shape[-1], v.static_shape[-1])
    if max(sizes) > MAX_SIZE:
        return f"queries or values have more than {MAX_SIZE} elements"
    return None if all(map(widest_copy, sizes)) else ODD_ROWS


def _heads_behind(rank: int) -> list[int]:
    """The axes ``[..., heads, queries, size]`` in the order in which the result is stored."""
    axes = list(range(rank))
    if rank > 2:
        axes[-3], axes[-2] = axes[-2], axes[-3]
    return axes


def _readable(value: ir.Value) -> StridedView:
    """Where the rows of `value` are; its elements must be next to each other in them, and rows
    start at even elements."""
    view = strided_view(value)
    others = (view.offset, *view.strides[:-1])
    if (view.sizes[-1] == 1 or view.strides[-1] == 1) and widest_copy(math.gcd(*others)):
        return view
    sizes = tuple(ir.RankedTensorType(value.type).shape)
    return StridedView(value, 0, sizes, row_major(sizes))


def _rows(view: StridedView) -> StridedRows:
    """The rows of a view; along an axis of one element, the first is read for all."""
    pairs = zip(view.sizes[:-2], view.strides[:-2], strict=True)
    lead = tuple(0 if size == 1 else stride for size, stride in pairs)
    return StridedRows(view.offset, lead, view.strides[-2])


def _shape(op: graph.AttentionOp, views: list[StridedView]) -> MmaAttentionShape:
    q, k, v = (graph.type_of(value) for value in (op.q, op.k, op.v))
    result = graph.type_of(op.result).static_shape
    *lead, queries, size = q.static_shape
    order = _heads_behind(q.rank)
    stored = row_major([result[axis] for axis in order])
    strides = tuple(stored[order.index(axis)] for axis in range(q.rank))
    mask = None
    if op.mask is not None:
        given = graph.type_of(op.mask)
        broadcast = (1,) * (q.rank - given.rank) + given.static_shape
        pairs = zip(broadcast, row_major(broadcast), strict=True)
        is_bool = given.dtype == np.bool_
        mask = MaskStrides(tuple(0 if n == 1 else stride for n, stride in pairs), is_bool)
    heads = math.prod(lead)
    enough = [w for w in (MAX_WARPS, 2) if heads * -(-queries // (16 * w)) >= MULTIPROCESSORS]
    q_rows, k_rows, v_rows = map(_rows, views)
    return MmaAttentionShape(
        tuple(lead),
        queries,
        k.static_shape[-2],
        size,
        v.static_shape[-1],
        q_rows,
        k_rows,
        v_rows,
        StridedRows(0, strides[:-2], strides[-2]),
        mask,
        op.attrs["scale"],
        op.attrs["causal"],
        q.dtype,
        enough[0] if enough else 1,
    )


def _mask(ctx: Lowering, value: ir.Value) -> ir.Value:
    """The mask in memory; booleans as bytes, which is how the backend stores them."""
    type_ = graph.type_of(value)
    if type_.dtype != np.bool_:
        return ctx.values[value]
    identity = ir.AffineMap.get_identity(type_.rank)
    bytes_ = type_.with_dtype(np.uint8)

    def widened(element: ir.Value) -> ir.Value:
        return arith.extui(plain_element(bytes_.dtype), element)

    return parallel([ctx.values[value]], [identity], ctx.empty(bytes_), widened)
