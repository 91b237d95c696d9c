"""Calls of the kernel for positions of extreme elements, on CPUs that kernels are written for."""

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ..kernels.arg_extreme import ArgEmitter, ArgOrder, ArgShape
from ..kernels.reduction import ELEMENTS, WORKGROUPS_PER_THREAD
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, plain_element, plain_type

_F32, _I64 = np.dtype(np.float32), np.dtype(np.int64)
_MOST_LANES = 16
"""Elements of a vector at most: rows are searched by the bits of a number, four vectors at once,
and rows of fewer bytes have one lane each."""


def has_arg_kernel(ctx: Lowering, type_: graph.TensorType, axis: int) -> bool:
    """Return whether the kernel finds positions along `axis` of a tensor of `type_`: behind it are
    axes of size 1 only."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return False
    is_row = 0 not in type_.shape and all(size == 1 for size in type_.shape[axis + 1 :])
    return is_row and not graph.is_bit_pattern(type_.dtype)


def positions_by_kernel(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, axis: int, is_max: bool, is_last: bool
) -> ir.Value:
    """The positions (i64) of the extreme elements of `x`, of `type_`, along `axis`."""
    dtype, extent = type_.dtype, type_.shape[axis]
    outer = graph.element_count(type_.shape[:axis])
    wide = _F32 if graph.is_float(dtype) and dtype.itemsize < 4 else dtype
    lanes = max(min(ctx.cpu.lanes * 4 // wide.itemsize, _MOST_LANES), 2)
    shape = ArgShape(outer, extent, lanes)
    initial = (graph.lowest if is_max else graph.highest)(dtype)
    order = ArgOrder(is_max, is_last, dtype.kind == "u", _signed(initial, dtype))
    names = list(dict.fromkeys(size for size in (outer, extent) if isinstance(size, Dim)))
    merged = type_.with_shape([outer, extent])
    result = graph.TensorType(graph.reduced_shape(type_.shape, (axis,), False), _I64)
    memory = [flat_of(merged, names), flat_of(graph.TensorType((outer,), _I64), names)]

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        own, chunk, buffers = (
            arguments[: len(names)], arguments[len(names)], arguments[len(names) + 1 :]
        )  # fmt: skip
        known = dict(zip(names, own, strict=True))

        def value(size: Size) -> ir.Value:
            return known[size] if isinstance(size, Dim) else _index(size)

        emitter = ArgEmitter(shape, order, plain_element(wide), value, *buffers)
        first = arith.muli(workgroup_id, chunk)
        emitter.workgroup(first, arith.minui(arith.addi(first, chunk), emitter.outer))

    sizes = [names.index(s) - len(names) if isinstance(s, Dim) else s for s in (outer, extent)]
    workgroups, chunk = _chunks(ctx, shape)
    scalars = [*map(ctx.index, names), chunk]
    key = (dtype, order, lanes, *sizes, *memory)
    name = define(ctx, "arg_extreme", key, memory, kernel, 0, len(scalars))
    return iree.run_kernel(
        name, workgroups, [x], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _chunks(ctx: Lowering, shape: ArgShape) -> tuple[ir.Value, ir.Value]:
    """The number of workgroups, and of the rows of each: a multiple of the lanes."""
    outer, extent = ctx.index(shape.outer), ctx.index(shape.extent)
    one, lanes = _index(1), _index(shape.lanes)
    wanted = arith.ceildivui(outer, _index(ctx.threads * WORKGROUPS_PER_THREAD))
    least = arith.ceildivui(_index(ELEMENTS), arith.maxui(extent, one))
    chunk = arith.minui(arith.maxui(wanted, least), arith.maxui(outer, one))
    is_short = arith.cmpi(arith.CmpIPredicate.ult, extent, lanes)
    whole = arith.muli(arith.ceildivui(chunk, lanes), lanes)
    chunk = arith.select(is_short, whole, chunk)
    return arith.maxui(arith.ceildivui(outer, chunk), one), chunk


def _signed(value: float, dtype: np.dtype) -> float:
    """`value` of `dtype` as the number that a signless integer of its bits stands for."""
    bits = dtype.itemsize * 8
    return value - (1 << bits) if dtype.kind == "u" and int(value) >> (bits - 1) else value


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
