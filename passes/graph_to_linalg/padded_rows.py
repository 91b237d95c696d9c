"""Padding of tensors: by a kernel on CPUs that kernels are written for
(`kernels.padded_rows`), elsewhere element by element.

IREE's code puts rows together from parts that begin between vectors, and of named sizes it would
look up each element: 64 images of 56x56 with a border of 3 took 2.2 and 33 times as long.
"""

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim, at_least
from ...mlir import arith, ir, tensor
from ..kernels.padded_rows import (
    BYTES,
    WORKGROUPS_PER_THREAD,
    PaddedRows,
    PaddedRowsEmitter,
    Size,
    merged_padding,
)
from .generic import loop_index, parallel
from .kernel_calls import define, flat_of
from .lowering import Lowering, lowers, plain_type
from .movement import pad_tensor
from .pooling_kernel import PoolWithKernel


@lowers(graph.PadFromDataOp)
def pad_from_data(ctx: Lowering, op: graph.PadFromDataOp, x: ir.Value) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    for axis, (extent, size) in enumerate(zip(source.shape, result.shape, strict=True)):
        if extent != size and not at_least(extent, 1):
            ctx.require_at_least(extent, 1, f"pads axis {axis}, which is empty, by its elements")
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return _by_elements(ctx, op, x)
    if not _has_vectors(source.dtype):
        statistics = ctx.statistics("pad-kernel")
        statistics.record_declined(node_name(op.operation), "elements are no whole bytes")
        return _by_elements(ctx, op, x)
    ctx.statistics("pad-kernel").record_fired(node_name(op.operation))
    return _by_kernel(ctx, op, x)


@lowers(graph.PadOp)
def pad(ctx: Lowering, op: graph.PadOp, x: ir.Value, value: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    if not (ctx.gpu or ctx.in_kernel) and ctx.cpu.has_vectors:
        statistics, node = ctx.statistics("pad-kernel"), node_name(op.operation)
        if (reason := _reason_against_kernel(op)) is None:
            statistics.record_fired(node)
            return _by_kernel(ctx, op, x, value)
        statistics.record_declined(node, reason)
    scalar = tensor.extract(value, [])
    return pad_tensor(ctx, x, scalar, op.attrs["low"], op.attrs["high"], result)


def _reason_against_kernel(op: graph.PadOp) -> str | None:
    source = graph.type_of(op.x)
    if not _has_vectors(source.dtype):
        return "elements are no whole bytes"
    if 0 in source.shape:
        return "there is nothing to pad"
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    if any(isinstance(user, PoolWithKernel) for user in users):
        return "a pool may read what it pads"
    return None


def _has_vectors(dtype: np.dtype) -> bool:
    return dtype == np.bool_ or (graph.bit_width(dtype) % 8 == 0 and dtype.itemsize <= 8)


def _by_kernel(
    ctx: Lowering,
    op: graph.PadFromDataOp | graph.PadOp,
    x: ir.Value,
    around: ir.Value | None = None,
) -> ir.Value:
    """Pad `x`; by the scalar `around` if it is given, otherwise by the mode of `op`."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    axes, unit = merged_padding(source.shape, op.attrs["low"], op.attrs["high"])
    if not axes:
        return x
    mode = op.attrs["mode"] if around is None else "constant"
    shape = PaddedRows(axes, unit, mode, ctx.cpu.vector_bits)
    sizes = [n for axis in axes for n in (axis.extent, axis.low, axis.high, axis.size)]
    sizes += [unit, shape.rows]
    every = (*sizes, *source.shape, *result.shape)
    names = list(dict.fromkeys(n for n in every if isinstance(n, Dim)))
    more = [] if around is None else [source.with_shape(())]
    memory = [flat_of(type_, names, first=1) for type_ in (source, *more, result)]

    def kernel(workgroup_id: ir.Value, count: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _index(size)

        source, *scalar, target = arguments[len(names) :]
        PaddedRowsEmitter(shape, value, source, target, *scalar).workgroup(workgroup_id, count)

    anonymous = [("size", names.index(n)) if isinstance(n, Dim) else n for n in sizes]
    key = (*anonymous, shape.mode, str(source.dtype), *memory)
    elements = ctx.index(graph.element_count(result.shape))
    moved = arith.muli(elements, ctx.index(source.dtype.itemsize))
    wanted = arith.maxui(arith.divui(moved, ctx.index(BYTES)), ctx.index(1))
    count = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [count, *map(ctx.index, names)]
    name = define(ctx, "padded_rows", key, memory, kernel, shape.flops, len(scalars))
    read = [x] if around is None else [x, around]
    return iree.run_kernel(
        name, count, read, [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _by_elements(ctx: Lowering, op: graph.PadFromDataOp, x: ir.Value) -> ir.Value:
    """Read each element from where it comes from."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    one, zero = ctx.index(1), ctx.index(0)
    axes = [
        None if extent == size else (ctx.index(low), ctx.index(extent))
        for extent, size, low in zip(source.shape, result.shape, op.attrs["low"], strict=True)
    ]

    def folded(at: ir.Value, extent: ir.Value) -> ir.Value:
        last = arith.subi(extent, one)
        if op.attrs["mode"] == "edge":
            return arith.maxsi(arith.minsi(at, last), zero)
        is_wrap = op.attrs["mode"] == "wrap"
        period = extent if is_wrap else arith.addi(last, last)
        whole = arith.maxsi(period, one)
        rest = arith.remsi(at, whole)
        negative = arith.cmpi(arith.CmpIPredicate.slt, rest, zero)
        rest = arith.select(negative, arith.addi(rest, whole), rest)
        return rest if is_wrap else arith.minsi(rest, arith.subi(period, rest))

    def element() -> ir.Value:
        found = []
        for number, axis in enumerate(axes):
            at = loop_index(number)
            found.append(at if axis is None else folded(arith.subi(at, axis[0]), axis[1]))
        return tensor.extract(x, found)

    return parallel([], [], ctx.empty(result), element)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
