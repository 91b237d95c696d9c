"""Moments of groups of channels: a kernel on CPUs that kernels are written for, otherwise
reductions (`kernels.group_moments`)."""

import math

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from ...mlir import math as math_dialect
from ..kernels.emitter import CACHE_LINE
from ..kernels.group_moments import GroupMoments, GroupMomentsEmitter
from .generic import parallel, projection
from .kernel_calls import results_of_emitter
from .lowering import Lowering, Size, lowers
from .movement import reshape_tensor
from .normalization import RowNormalization

_WORKGROUPS_PER_THREAD = 2
_PARTS_OF_LINES = (CACHE_LINE, CACHE_LINE // 2, CACHE_LINE // 4)


@lowers(graph.GroupMomentsOp)
def group_moments(ctx: Lowering, op: graph.GroupMomentsOp, x: ir.Value) -> list[ir.Value]:
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors or 0 in graph.type_of(op.x).shape:
        return _by_reductions(ctx, op, x)
    type_ = graph.type_of(op.x)
    images, rows = type_.shape[0], graph.element_count(type_.shape[:-1])
    sizes = [size for size in (images, rows) if isinstance(size, Dim)]
    channels, groups = graph.static_size(type_.shape[-1]), op.attrs["groups"]
    block = _block(channels, groups, ctx.threads)
    shape = GroupMoments(
        _known(images), _known(rows), channels, groups, block, ctx.cpu.lanes, op.attrs["epsilon"]
    )
    results = [graph.type_of(value) for value in op.operation.results]
    return results_of_emitter(
        ctx, "group_moments", shape, (), [(x, type_)], results, sizes,
        lambda *buffers: GroupMomentsEmitter(shape, *buffers),
    )  # fmt: skip


def _known(size: Size) -> int | None:
    return size if isinstance(size, int) else None


def _block(channels: int, groups: int, threads: int) -> int:
    """Channels of a workgroup: whole groups, and whole cache lines or parts of them, for as many
    workgroups as `threads` want, if there are as many channels."""
    units = (math.lcm(channels // groups, part) for part in _PARTS_OF_LINES)
    unit = next((unit for unit in units if channels % unit == 0), channels)
    most = min(channels // unit, threads * _WORKGROUPS_PER_THREAD)
    count = max(n for n in range(1, most + 1) if channels % (n * unit) == 0)
    return channels // count


def _by_reductions(ctx: Lowering, op: graph.GroupMomentsOp, x: ir.Value) -> list[ir.Value]:
    """Reduce ``[N, positions, groups, C / groups]`` twice, as for a layer normalization."""
    type_, groups = graph.type_of(op.x), op.attrs["groups"]
    images, *spatial, channels = type_.shape
    each = graph.static_size(channels) // groups
    grouped = type_.with_shape((images, graph.element_count(spatial), groups, each))
    rows = RowNormalization(ctx, grouped, [1, 3])
    x = rows.behind_barrier(reshape_tensor(ctx, x, type_, grouped))
    factor = rows.mean_factor()

    def square(s: ir.Value, total: ir.Value) -> ir.Value:
        distance = arith.subf(s, arith.mulf(total, factor()))
        return arith.mulf(distance, distance)

    def inverse(squares: ir.Value) -> ir.Value:
        variance = arith.mulf(squares, factor())
        return math_dialect.rsqrt(arith.addf(variance, rows.constant(op.attrs["epsilon"])))

    total = rows.total(x, [], lambda s: s)
    squares = rows.total(x, [total], square)
    moments = [(total, lambda s: arith.mulf(s, factor())), (squares, inverse)]
    repeated = type_.with_shape((images, groups, each))
    result = graph.type_of(op.operation.results[0])
    return [
        reshape_tensor(
            ctx,
            parallel([value], [projection(3, [0, 1])], ctx.empty(repeated), body),
            repeated,
            result,
        )
        for value, body in moments
    ]
