"""Expansions, and elementwise groups on operands that are repeated or broadcast at run time, as one
kernel each."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim, at_least
from ...mlir import ir
from ..infra.query import splat_of
from ..kernels.broadcast import (
    LANES,
    AxisAccess,
    BroadcastEmitter,
    BroadcastOperand,
    BroadcastRows,
    DynamicSize,
    Extent,
)
from ..kernels.emitter import Registers
from ..kernels.epilogue import steps_key
from .elementwise import broadcast_map, evaluate_scalars, lower_elementwise, values_from_outside
from .generic_contraction import converted
from .kernel_calls import operands_of, run_emitter
from .lowering import Lowering, Size, lower_op, lowers
from .readers import is_read_by_kernels
from .scalar_rules import vector_fact

WHOLE, ONE = AxisAccess("whole"), AxisAccess("one")


def lower_broadcast(ctx: Lowering, group: graph.FusedOp) -> ir.Value:
    """Lower a group of kind ``broadcast``: as one kernel if all of it works on vectors of f32,
    otherwise the repeats one by one, and one loop nest for the other ops."""
    repeats: dict[ir.Value, graph.RepeatOp] = {
        op.result: op for op in group.ops if isinstance(op, graph.RepeatOp)
    }
    steps = [op for op in group.ops if not isinstance(op, graph.RepeatOp)]
    leaves = values_from_outside(steps) if steps else list(repeats)
    result = group.yielded
    statistics, node = ctx.statistics("broadcast-kernel"), node_name(group.operation)
    reason = _reason_against(ctx, steps, leaves, graph.type_of(result), repeats)
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
    leaves: Sequence[ir.Value],
    result: graph.TensorType,
    repeats: Mapping[ir.Value, graph.RepeatOp],
) -> str | None:
    if ctx.gpu or not ctx.cpu.has_vectors:
        return "there are no vectors"
    values = [*leaves, *(step.operation.results[0] for step in steps)]
    if any(graph.type_of(value).dtype != np.float32 for value in values):
        return "only f32 is computed this way"
    facts = (vector_fact(type(step)) for step in steps)
    reason = next((fact for fact in facts if fact is not True), None)
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
    layout = _Layout(type_, [_padded(value, repeats, type_.rank) for value in read])
    shape = layout.rows()

    def make_emitter(*buffers: ir.Value) -> BroadcastEmitter:
        def body(vectors: Registers) -> ir.Value:
            known = dict(zip(read, vectors, strict=True))
            known |= {value: emitter.splat(float(splat)) for value, splat in splats.items()}
            return (evaluate_scalars(steps, known) if steps else known)[result]

        emitter = BroadcastEmitter(shape, buffers, body)
        return emitter

    key = (*map(repr, splats.values()), *steps_key(steps, [*splats, *read]))
    operands = operands_of(ctx, sources)
    return run_emitter(
        ctx, "broadcast", shape, key, operands, [type_], layout.dynamic, make_emitter
    )


@lowers(graph.ExpandOp)
def expand(ctx: Lowering, op: graph.ExpandOp, x: ir.Value) -> ir.Value:
    if repeats_rows(op) and _has_expansion_kernel(ctx, graph.type_of(op.result)):
        return _expanded(ctx, x, graph.type_of(op.x), graph.type_of(op.result))
    return expanded(ctx, op.x, x, graph.type_of(op.result))


def repeats_rows(op: graph.ExpandOp) -> bool:
    """Return whether the kernel repeats the rows of `op`, which the backend leaves half to loops
    over elements where they are no whole vectors: for kernels that read the result, or the caller.

    The kernel has no fast vectors of bytes.
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

    By a kernel where run time decides along which axes it repeats: the backend would look up each
    element, after divisions by unknown sizes. An attention of 12 heads of 128x64 with such a mask
    took 4.8 ms, and takes 1.3 ms.
    """
    source = graph.type_of(value)
    if broadcast_map(value, type_) is not None or not _has_expansion_kernel(ctx, type_):
        return lower_elementwise(ctx, type_, {value: lowered}, lambda known: known[value])
    if type_.dtype != np.bool_:
        return _expanded(ctx, lowered, source, type_)
    from_bytes, to_bytes = source.with_dtype(_BYTE), type_.with_dtype(_BYTE)
    found = _expanded(ctx, converted(ctx, lowered, source, from_bytes), from_bytes, to_bytes)
    return converted(ctx, found, to_bytes, type_)


_BYTE = np.dtype(np.uint8)
"""In place of booleans, of which the backend stores no vectors."""


def _has_expansion_kernel(ctx: Lowering, type_: graph.TensorType) -> bool:
    has_vectors = ctx.cpu.has_vectors and not (ctx.gpu or ctx.in_kernel)
    return has_vectors and type_.rank > 0 and 0 not in type_.shape


def _expanded(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, result: graph.TensorType
) -> ir.Value:
    padded: _Operand = [(1, 1)] * (result.rank - source.rank)
    padded += [(size, 1) for size in source.shape]
    layout = _Layout(result, [padded])
    shape = layout.rows()
    return run_emitter(
        ctx, "expand", shape, (), [(x, source)], [result], layout.dynamic,
        lambda *buffers: BroadcastEmitter(shape, buffers, lambda vectors: vectors[0]),
    )  # fmt: skip


_Operand = list[tuple[Size, int]]
"""The size of an operand along each axis of the result, and how often its elements are repeated."""


def _padded(value: ir.Value, repeats: Mapping[ir.Value, graph.RepeatOp], rank: int) -> _Operand:
    op = repeats.get(value)
    shape = graph.type_of(value if op is None else op.x).shape
    counts = [1] * len(shape) if op is None else op.repeats
    return [(1, 1)] * (rank - len(shape)) + list(zip(shape, counts, strict=True))


class _Layout:
    """The axes of a result and its operands, merged where all are contiguous."""

    def __init__(self, result: graph.TensorType, operands: Sequence[_Operand]):
        self.dynamic: list[Dim] = []
        """The sizes that are scalars of the kernel."""
        self._sizes: list[Size] = []
        self._extents: list[list[Size]] = [[] for _ in operands]
        self._accesses: list[list[AxisAccess]] = [[] for _ in operands]
        for axis, size in enumerate(result.shape):
            if size != 1 or axis == result.rank - 1:
                along = [operand[axis] for operand in operands]
                self._add(size, [n for n, _ in along], [_access(*each, size) for each in along])

    def _add(self, size: Size, extents: Sequence[Size], accesses: Sequence[AxisAccess]) -> None:
        """Add an axis, to the axis before if it can be merged with that."""
        merges = bool(self._sizes) and all(
            access.is_plain and access == before[-1]
            for access, before in zip(accesses, self._accesses, strict=True)
        )
        if not merges:
            for each in (self._sizes, *self._extents):
                each.append(1)
        self._sizes[-1] = self._sizes[-1] * size
        for number, (extent, access) in enumerate(zip(extents, accesses, strict=True)):
            self._extents[number][-1] = self._extents[number][-1] * extent
            if not merges:
                self._accesses[number].append(access)

    def rows(self) -> BroadcastRows:
        """The shape of the kernel."""
        operands = [
            BroadcastOperand(tuple(map(self._extent, extents)), tuple(accesses))
            for extents, accesses in zip(self._extents, self._accesses, strict=True)
        ]
        return BroadcastRows(tuple(map(self._extent, self._sizes)), tuple(operands))

    def _extent(self, size: Size) -> Extent:
        if isinstance(size, int):
            return size
        if size not in self.dynamic:
            self.dynamic.append(size)
        return DynamicSize(self.dynamic.index(size))


def _access(size: Size, repeats: int, wanted: Size) -> AxisAccess:
    """The access to an operand of `size` elements, each repeated, along an axis of `wanted`."""
    if size == 1:
        return ONE
    return AxisAccess("whole" if size * repeats == wanted else "either", repeats)
