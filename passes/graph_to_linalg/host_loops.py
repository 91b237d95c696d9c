"""Loops that the host runs: an iteration launches kernels, and its condition is read from a tensor.

Collected values are written into a tensor of the full size if that is known before the loop, and
otherwise into one that doubles when it is full.
"""

from collections.abc import Sequence

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from . import loops
from .aliasing import copy, owned_zeros
from .lowering import Lowering, Size
from .movement import extract_slice, insert_slice
from .regions import bind_axes, cast_all, lower_block
from .updated_state import reason_against_in_place, updated_in_place, updated_values

INITIAL_CAPACITY = 16
"""Initial capacity for collected values whose number is not known."""


def for_on_host(ctx: Lowering, op: graph.ForOp, carried: list[ir.Value]) -> list[ir.Value]:
    one, count = ctx.index(1), ctx.index(op.attrs["count"])
    state = _State(ctx, op, count)

    def goes_on(index: ir.Value, *_: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.slt, index, count)

    def iterate(index: ir.Value, *now: ir.Value) -> list[ir.Value]:
        with ctx.scope():
            _, after = state.iterate(index, now)
            return [arith.addi(index, one), *after]

    start = [ctx.index(0), *state.initial(carried)]
    _, *last = loops.while_(start, goes_on, iterate, state.owned(start))
    return state.results(count, last)


def while_on_host(
    ctx: Lowering, op: graph.WhileOp, condition: ir.Value, carried: list[ir.Value]
) -> list[ir.Value]:
    """Lower a while loop. Its state begins with the iteration number and the condition."""
    one, limit = ctx.index(1), ctx.index(op.attrs["count"])
    state = _State(ctx, op, ctx.index(INITIAL_CAPACITY))

    def goes_on(index: ir.Value, holds: ir.Value, *_: ir.Value) -> ir.Value:
        return arith.andi(arith.cmpi(arith.CmpIPredicate.slt, index, limit), holds)

    def iterate(index: ir.Value, _: ir.Value, *now: ir.Value) -> list[ir.Value]:
        with ctx.scope():
            (holds,), after = state.iterate(index, now)
            return [arith.addi(index, one), tensor.extract(holds, []), *after]

    start = [ctx.index(0), tensor.extract(condition, []), *state.initial(carried)]
    count, _, *last = loops.while_(start, goes_on, iterate, state.owned(start))
    return state.results(count, last)


class _State:
    """The loop-carried state: carried values, then stacks."""

    def __init__(self, ctx: Lowering, op: graph.LoopOp, capacity: ir.Value):
        self.ctx, self.op = ctx, op
        self.types = [graph.type_of(argument) for argument in op.body.arguments]
        self.updated = updated_in_place(op)
        self._report()
        elements = [graph.type_of(value) for value in op.yielded[1]]
        results = [graph.type_of(value) for value in op.operation.results]
        self.carried_results = results[: len(self.types)]
        self.stacks = [
            _Stack(ctx, op, element, first, result, capacity)
            for element, first, result in zip(
                elements, op.first_sizes(), results[len(self.types) :], strict=True
            )
        ]

    def _report(self) -> None:
        """Note which values that iterations update in part are updated in place."""
        statistics, node = self.ctx.statistics("loop-state-in-place"), node_name(self.op.operation)
        for number in updated_values(self.op):
            reason = reason_against_in_place(self.op, number)
            if reason is None:
                statistics.record_fired(node)
            else:
                statistics.record_declined(node, reason)

    def initial(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """The state before the first iteration."""
        start = cast_all(self.ctx, carried, self.types)
        for number in self.updated:
            start[number] = copy(start[number])
        return [*start, *(stack.initial() for stack in self.stacks)]

    def owned(self, start: Sequence[ir.Value]) -> list[int]:
        """The numbers in the whole state of the loop of what has memory of its own: updated values,
        and stacks, which come last."""
        stacks = range(len(start) - len(self.stacks), len(start))
        leading = stacks.start - len(self.types)
        return [*(leading + number for number in self.updated), *stacks]

    def iterate(
        self, index: ir.Value, state: Sequence[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Lower the body; returns the values yielded before the carried ones, and the next
        state."""
        ctx, count = self.ctx, len(self.types)
        ctx.bind(self.op.attrs["index"], index)
        ctx.values.update(zip(self.op.body.arguments, state, strict=False))
        bind_axes(ctx, self.op, state[:count], self.types)
        values = lower_block(ctx, self.op.body)
        leading, values = values[: self.op.leading], values[self.op.leading :]
        stacks = [
            stack.put(tensor_, value, index)
            for stack, tensor_, value in zip(
                self.stacks, state[count:], values[count:], strict=True
            )
        ]
        return leading, [*cast_all(ctx, values[:count], self.types), *stacks]

    def results(self, count: ir.Value, state: Sequence[ir.Value]) -> list[ir.Value]:
        """The results of the loop after `count` iterations."""
        carried = list(state[: len(self.types)])
        bind_axes(self.ctx, self.op, carried, self.carried_results)
        stacks = zip(self.stacks, state[len(self.types) :], strict=True)
        return [*carried, *(stack.finish(tensor_, count) for stack, tensor_ in stacks)]


class _Stack:
    """A tensor that collects one element per iteration, along a first axis.

    It has its final size from the start, unless the op names a part of that size: then it grows
    from nothing, first to `capacity` elements. If there is no iteration, elements have the sizes
    `first`, as far as these are known.
    """

    def __init__(
        self,
        ctx: Lowering,
        op: graph.LoopOp,
        element: graph.TensorType,
        first: Sequence[Size],
        result: graph.TensorType,
        capacity: ir.Value,
    ):
        self.ctx, self.element, self.result, self.capacity = ctx, element, result, capacity
        self.first = first
        self.index = Dim.symbol(op.attrs["index"])
        self.unknown = [i for i, size in enumerate(result.shape) if str(size) in op.own_names]
        self.changing = sorted({0, *self.unknown}) if self.unknown else []
        # Names for the sizes that change, and the type with these.
        names = {axis: Dim.symbol(f"{self.index}.size_{axis}") for axis in self.changing}
        sizes = enumerate(result.shape)
        self.type = result.with_shape(names.get(axis, size) for axis, size in sizes)

    def initial(self) -> ir.Value:
        sizes = (0 if self.changing else self.result.shape[0], *map(self._known, self.first))
        start = [
            sizes[axis] if axis in self.changing else size
            for axis, size in enumerate(self.result.shape)
        ]
        return self.ctx.cast(owned_zeros(self.ctx, self.result.with_shape(start)), self.type)

    def _known(self, size: Size) -> Size:
        """`size`, or 0 if its value is not known before the loop."""
        return size if isinstance(size, int) or all(map(self.ctx.knows, size.symbols())) else 0

    def put(self, stack: ir.Value, value: ir.Value, index: ir.Value) -> ir.Value:
        """Set element `index` of `stack` to `value`, in the scope of an iteration."""
        if self.changing:
            stack = self._with_room(stack, index)
        offsets: list[Size] = [self.index, *[0] * self.element.rank]
        return insert_slice(self.ctx, value, stack, offsets, [1, *self.element.shape])

    def _with_room(self, stack: ir.Value, index: ir.Value) -> ir.Value:
        """`stack`, or a copy of twice its size if it is full."""
        ctx = self.ctx
        with ctx.scope():
            for axis in self.changing:
                ctx.bind(str(self.type.shape[axis]), tensor.dim(stack, ctx.index(axis)))
            self._require_same_shape(index)
            full = arith.cmpi(arith.CmpIPredicate.sge, index, ctx.index(self.type.shape[0]))
            return loops.if_(full, stack, lambda: self._doubled(stack), owned=True)

    def _require_same_shape(self, index: ir.Value) -> None:
        ctx, equal = self.ctx, arith.CmpIPredicate.eq
        for axis in self.changing[1:]:
            sizes = (self.type.shape[axis], self.element.shape[axis - 1])
            same = arith.cmpi(equal, *map(ctx.index, sizes))
            first = arith.cmpi(equal, index, ctx.index(0))
            ctx.require(arith.ori(first, same), "the iterations collect tensors of other shapes")

    def _doubled(self, stack: ir.Value) -> ir.Value:
        ctx = self.ctx
        with ctx.scope():
            twice = arith.muli(ctx.index(self.type.shape[0]), ctx.index(2))
            larger = Dim.symbol(f"{self.index}.larger")
            ctx.bind(str(larger), arith.maxsi(twice, self.capacity))
            empty = ctx.empty(self.result.with_shape((larger, *self.element.shape)))
            larger_stack = insert_slice(ctx, stack, empty, [0] * self.type.rank, self.type.shape)
            return ctx.cast(larger_stack, self.type)

    def finish(self, stack: ir.Value, count: ir.Value) -> ir.Value:
        """The `count` collected elements."""
        ctx, shape = self.ctx, self.result.shape
        for axis in self.unknown:
            ctx.bind(str(shape[axis]), tensor.dim(stack, ctx.index(axis)) if axis else count)
        if not self.changing:
            return stack
        start: list[Size] = [0] * len(shape)
        return extract_slice(ctx, stack, start, shape, [1] * len(shape), self.result)
