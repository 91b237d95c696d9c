"""Calls of the kernels that run all iterations of a loop."""

from collections.abc import Sequence

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from . import loops
from .lowering import Lowering, Size
from .movement import extract_slice, insert_slice
from .regions import cast_all
from .serial_loops import SerialLoop, opaque

FIRST_BYTES = 64 << 10
"""Size of the values collected by the first call of a kernel that the host may call again."""
FIRST_ITERATIONS = 16
"""The iterations of the first call at least."""


def for_in_kernel(
    ctx: Lowering, op: graph.ForOp, kernel: SerialLoop, carried: Sequence[ir.Value]
) -> list[ir.Value]:
    count = ctx.index(op.attrs["count"])
    start = cast_all(ctx, carried, kernel.carried)
    return kernel.call(ctx.index(0), count, count, start)


def while_in_kernel(
    ctx: Lowering,
    op: graph.WhileOp,
    kernel: SerialLoop,
    condition: ir.Value,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """Call the kernel until its condition does not hold. The memory for what it collects, if
    anything, is that for as many iterations as there were before."""
    limit, start = ctx.index(op.attrs["count"]), cast_all(ctx, carried, kernel.carried)
    results = list(map(graph.type_of, op.operation.results))
    stacks = results[len(start) :]
    if not stacks:
        return kernel.call(ctx.index(0), limit, ctx.index(0), start, condition)[1:]
    first = _first_iterations(ctx, kernel)
    rows = Dim.symbol(f"{op.attrs['index']}.collected")

    def goes_on(index: ir.Value, holds: ir.Value, *_: ir.Value) -> ir.Value:
        return arith.andi(arith.cmpi(arith.CmpIPredicate.slt, index, limit), holds)

    def iterate(index: ir.Value, _: ir.Value, *now: ir.Value) -> list[ir.Value]:
        with ctx.scope():
            more = opaque(arith.minsi(arith.maxsi(index, first), arith.subi(limit, index)))
            true = tensor.from_elements(
                ir.RankedTensorType.get([], ir.IntegerType.get_signless(1)),
                [ctx.scalar(True, np.dtype(np.bool_))],
            )
            stop = arith.addi(index, more)
            counts, *after = kernel.call(index, stop, more, now[: len(start)], true)
            end, holds = (tensor.extract(counts, [ctx.index(i)]) for i in range(2))
            reached = arith.index_cast(ir.IndexType.get(), end)
            ctx.bind(str(rows), index)
            joined = [
                _joined(ctx, stack, rows, new, reached, element)
                for stack, new, element in zip(
                    now[len(start) :], after[len(start) :], kernel.elements, strict=True
                )
            ]
            holds = arith.trunci(ir.IntegerType.get_signless(1), holds)
            return [reached, holds, *after[: len(start)], *joined]

    empty = [ctx.empty(each.with_shape((0, *each.shape))) for each in kernel.elements]
    unknown = [each.with_shape((rows, *each.shape)) for each in kernel.elements]
    state = [ctx.index(0), tensor.extract(condition, []), *start, *cast_all(ctx, empty, unknown)]
    count, _, *last = loops.while_(state, goes_on, iterate)
    ctx.bind(str(stacks[0].shape[0]), count)
    return last


def _first_iterations(ctx: Lowering, kernel: SerialLoop) -> ir.Value:
    """The iterations of the first call: as many as collect `FIRST_BYTES`."""
    collected: Size = 0
    for type_ in kernel.elements:
        collected = collected + graph.element_count(type_.shape) * type_.dtype.itemsize
    count = arith.divui(ctx.index(FIRST_BYTES), arith.maxsi(ctx.index(collected), ctx.index(1)))
    return arith.maxsi(count, ctx.index(FIRST_ITERATIONS))


def _joined(
    ctx: Lowering,
    stack: ir.Value,
    rows: Dim,
    new: ir.Value,
    stop: ir.Value,
    element: graph.TensorType,
) -> ir.Value:
    """`stack`, of `rows` elements, and those that `new` begins with, up to number `stop`."""
    with ctx.scope():
        end, added = (Dim.symbol(f"{rows}.{name}") for name in ("end", "added"))
        ctx.bind(str(end), stop)
        ctx.bind(str(added), arith.subi(stop, ctx.index(rows)))
        zeros: list[Size] = [0] * element.rank
        added_type = element.with_shape((added, *element.shape))
        part = extract_slice(
            ctx, new, [0, *zeros], added_type.shape, [1] * added_type.rank, added_type
        )
        empty = ctx.empty(element.with_shape((end, *element.shape)))
        old = insert_slice(ctx, stack, empty, [0, *zeros], [rows, *element.shape])
        return insert_slice(ctx, part, old, [rows, *zeros], added_type.shape)
