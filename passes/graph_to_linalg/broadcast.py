"""Expansions, and elementwise groups on operands that are repeated or broadcast at run time, as one
kernel each."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import at_least
from ...mlir import arith, ir
from ..infra.query import splat_of
from ..kernels.broadcast import BroadcastEmitter
from ..kernels.broadcast_shape import LANES
from ..kernels.emitter import Registers
from ..kernels.epilogue import steps_key
from ..kernels.scalar_functions import with_element
from .broadcast_layout import (
    BroadcastLayout,
    expand_by_kernel,
    has_expansion_kernel,
    padded_operand,
)
from .dispatch import behind_barrier
from .elementwise import broadcast_map, evaluate_scalars, lower_elementwise, values_from_outside
from .kernel_calls import operands_of, run_emitter
from .lowering import Lowering, lower_op, lowers, scalar_constant, vector_constant
from .readers import is_read_by_kernels
from .scalar_rules import plain_vector_fact


def lower_broadcast(ctx: Lowering, group: graph.FusedOp) -> ir.Value:
    """Lower a group of kind ``broadcast``: as one kernel if all of it works on vectors, otherwise
    the repeats one by one, and one loop nest for the other ops."""
    repeats: dict[ir.Value, graph.RepeatOp] = {
        op.result: op for op in group.ops if isinstance(op, graph.RepeatOp)
    }
    steps = [op for op in group.ops if not isinstance(op, graph.RepeatOp)]
    leaves = values_from_outside(steps) if steps else list(repeats)
    result = group.yielded
    statistics, node = ctx.statistics("broadcast-kernel"), node_name(group.operation)
    reason = _reason_against(ctx, steps, graph.type_of(result), repeats)
    if reason is not None:
        statistics.record_declined(node, reason)
        for op in repeats.values():
            lower_op(ctx, op)
        lowered = {value: ctx.values[value] for value in leaves}
        type_ = graph.type_of(result)
        return lower_elementwise(
            ctx, type_, lowered, lambda known: evaluate_scalars(steps, known)[result]
        )
    statistics.record_fired(node)
    return _by_kernel(ctx, steps, leaves, result, repeats)


def _reason_against(
    ctx: Lowering,
    steps: Sequence[graph.GraphOp],
    result: graph.TensorType,
    repeats: Mapping[ir.Value, graph.RepeatOp],
) -> str | None:
    if ctx.gpu or not ctx.cpu.has_vectors:
        return "there are no vectors"
    reason = next((fact for op in steps if (fact := plain_vector_fact(op)) is not True), None)
    if reason is not None:
        return str(reason)
    if not result.rank or 0 in result.shape:
        return "there are no rows"
    if any(LANES % op.repeats[-1] for op in repeats.values()):
        return "the elements of rows are not repeated as often as divides a vector"
    return None


def _by_kernel(
    ctx: Lowering,
    steps: Sequence[graph.GraphOp],
    leaves: Sequence[ir.Value],
    result: ir.Value,
    repeats: Mapping[ir.Value, graph.RepeatOp],
) -> ir.Value:
    splats = {value: splat for value in leaves if (splat := splat_of(value)) is not None}
    read = [value for value in leaves if value not in splats]
    sources = [repeats[value].x if value in repeats else value for value in read]
    type_ = graph.type_of(result)
    padded = [padded_operand(value, repeats, type_.rank) for value in read]
    layout = BroadcastLayout(type_, padded, list(map(graph.type_of, sources)))
    shape = layout.rows()

    def body(elements: Registers, lanes: int | None) -> ir.Value:
        known = {value: _from_memory(value, x) for value, x in zip(read, elements, strict=True)}
        known |= {value: _constant(value, splat, lanes) for value, splat in splats.items()}
        found = (evaluate_scalars(steps, known) if steps else known)[result]
        return _to_memory(found) if type_.dtype == np.bool_ else found

    values = [*splats, *read]
    computed = [step.operation.results[0] for step in steps]
    dtypes = [str(graph.element_dtype_of(value)) for value in (*values, *computed)]
    key = (*map(repr, splats.values()), *dtypes, *steps_key(steps, values))
    return run_emitter(
        ctx, "broadcast", shape, key, operands_of(ctx, sources), [type_], layout.dynamic,
        lambda *buffers: BroadcastEmitter(shape, buffers, body),
    )  # fmt: skip


def _from_memory(value: ir.Value, x: ir.Value) -> ir.Value:
    """Elements of `value` as rules take them: the bits of booleans, which are bytes in memory."""
    if graph.element_dtype_of(value) != np.bool_:
        return x
    return arith.trunci(with_element(x, ir.IntegerType.get_signless(1)), x)


def _to_memory(x: ir.Value) -> ir.Value:
    """Booleans as bytes."""
    return arith.extui(with_element(x, ir.IntegerType.get_signless(8)), x)


def _constant(value: ir.Value, splat: np.generic, lanes: int | None) -> ir.Value:
    """The number that all elements of `value` are, or a vector of it."""
    dtype = graph.element_dtype_of(value)
    return scalar_constant(splat, dtype) if lanes is None else vector_constant(splat, dtype, lanes)


@lowers(graph.ExpandOp)
def expand(ctx: Lowering, op: graph.ExpandOp, x: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    if repeats_rows(op) and has_expansion_kernel(ctx, result):
        return expand_by_kernel(ctx, x, graph.type_of(op.x), result)
    return expanded(ctx, op.x, x, result)


def repeats_rows(op: graph.ExpandOp) -> bool:
    """Return whether the kernel repeats the rows of `op`, which the backend leaves half to loops
    over elements where they are no whole vectors: for kernels that read the result, or the caller.
    """
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    return (
        result.dtype.itemsize in (2, 4, 8)
        and source.rank > 0
        and source.shape[-1] == result.shape[-1]
        and at_least(result.shape[-1], LANES)
        and is_read_by_kernels(op.result)
    )


def expanded(
    ctx: Lowering, value: ir.Value, lowered: ir.Value, type_: graph.TensorType
) -> ir.Value:
    """The graph value `value`, whose tensor is `lowered`, broadcast to `type_`.

    Where run time decides along which axes it repeats, it is kept in memory: the backend would look
    up each element where it is read, after divisions by unknown sizes, and cannot do so for Metal.
    A kernel writes it, if there is one: an attention of 12 heads of 128x64 with such a mask took
    4.8 ms without, and takes 1.3 ms.
    """
    is_known = broadcast_map(value, type_) is not None
    if not is_known and has_expansion_kernel(ctx, type_):
        return expand_by_kernel(ctx, lowered, graph.type_of(value), type_)
    y = lower_elementwise(ctx, type_, {value: lowered}, lambda known: known[value])
    return y if is_known else behind_barrier(ctx, y, type_)
