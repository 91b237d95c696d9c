"""Branches and loops, on tensors.

The host side of the program runs them (`host_loops`): a condition is read from its tensor, and an
iteration launches kernels. If iterations are short, one kernel runs them all (`serial_loops`).
"""

from collections.abc import Callable

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import arith, ir, scf, tensor
from ..kernels.loop_cost import MOST, cost_of_iteration, reason_against_kernel
from .host_loops import for_on_host, while_on_host
from .lowering import Lowering, NotAKernel, Size, lowers, plain_type
from .regions import bind_axes, cast_all, lower_block
from .serial_body import nested_for, nested_while
from .serial_calls import for_in_kernel, while_in_kernel
from .serial_loops import SerialLoop

Run = Callable[[], list[ir.Value]]
RunKernel = Callable[[SerialLoop], list[ir.Value]]


@lowers(graph.IfOp)
def if_(ctx: Lowering, op: graph.IfOp, condition: ir.Value) -> list[ir.Value]:
    results = list(map(graph.type_of, op.operation.results))
    branch = scf.IfOp(tensor.extract(condition, []), list(map(plain_type, results)), has_else=True)
    for block, body in zip((branch.then_block, branch.else_block), op.bodies, strict=True):
        with ir.InsertionPoint(block), ctx.scope():
            scf.YieldOp(cast_all(ctx, lower_block(ctx, body), results))
    values: list[ir.Value] = list(branch.results)
    bind_axes(ctx, op, values, results)
    return values


@lowers(graph.ForOp)
def for_(ctx: Lowering, op: graph.ForOp, carried: list[ir.Value]) -> list[ir.Value]:
    if ctx.in_kernel:
        return nested_for(ctx, op, carried)
    return _by_kernel_or_host(
        ctx,
        op,
        lambda: _is_positive(ctx, op.attrs["count"]),
        lambda kernel: for_in_kernel(ctx, op, kernel, carried),
        lambda: for_on_host(ctx, op, carried),
    )


def _is_positive(ctx: Lowering, size: Size) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.sgt, ctx.index(size), ctx.index(0))


def _by_kernel_or_host(
    ctx: Lowering,
    op: graph.LoopOp,
    runs: Callable[[], ir.Value],
    by_kernel: RunKernel,
    by_host: Run,
) -> list[ir.Value]:
    """The results of `op`: by one kernel if it has a short iteration, which may depend on sizes
    that only the run knows, else by the host. The report says why not by a kernel. `runs` builds a
    condition: that there is an iteration."""
    if ctx.gpu:
        return by_host()
    kernel, reason = None, reason_against_kernel(op)
    statistics, node = ctx.statistics("serial-loops"), node_name(op.operation)
    if reason is None:
        try:
            kernel = SerialLoop(ctx, op)
            kernel.place(runs)
        except NotAKernel as error:
            kernel, reason = None, str(error)
    if kernel is None:
        statistics.record_declined(node, str(reason))
        return by_host()
    statistics.record_fired(node)
    return _short_or_long(ctx, op, lambda: by_kernel(kernel), by_host)


def _short_or_long(ctx: Lowering, op: graph.LoopOp, short: Run, long: Run) -> list[ir.Value]:
    cost = cost_of_iteration(op)
    if isinstance(cost, int):
        return short()
    results = list(map(graph.type_of, op.operation.results))
    is_short = arith.cmpi(arith.CmpIPredicate.sle, ctx.index(cost), ctx.index(MOST))
    branch = scf.IfOp(is_short, list(map(plain_type, results)), has_else=True)
    for block, build in ((branch.then_block, short), (branch.else_block, long)):
        with ir.InsertionPoint(block), ctx.scope():
            scf.YieldOp(cast_all(ctx, build(), results))
    values: list[ir.Value] = list(branch.results)
    bind_axes(ctx, op, values, results)
    return values


@lowers(graph.WhileOp)
def while_(
    ctx: Lowering, op: graph.WhileOp, condition: ir.Value, carried: list[ir.Value]
) -> list[ir.Value]:
    if ctx.in_kernel:
        return nested_while(ctx, op, condition, carried)
    return _by_kernel_or_host(
        ctx,
        op,
        lambda: arith.andi(_is_positive(ctx, op.attrs["count"]), tensor.extract(condition, [])),
        lambda kernel: while_in_kernel(ctx, op, kernel, condition, carried),
        lambda: while_on_host(ctx, op, condition, carried),
    )
