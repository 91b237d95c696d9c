"""The iterations of a loop within a kernel, on tensors that are updated where they lie."""

from collections.abc import Sequence

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, scf, tensor
from . import loops
from .lowering import Lowering, NotAKernel, Size
from .movement import insert_slice
from .regions import lower_block


class SerialBody:
    """The iterations of a loop within a kernel, on tensors that are updated in place."""

    def __init__(self, ctx: Lowering, op: graph.LoopOp):
        self.ctx, self.op = ctx, op
        self.carried = len(op.initial)
        self.elements = [graph.type_of(value) for value in op.yielded[1]]

    def start(self, initial: Sequence[ir.Value], memory: Sequence[ir.Value]) -> list[ir.Value]:
        """The state before the first iteration: the carried values, in `memory`, and the stacks."""
        now = [_stored(x, place) for x, place in zip(initial, memory, strict=False)]
        return [*now, *memory[len(now) :]]

    def iterate(
        self, index: ir.Value, row: ir.Value, state: Sequence[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Lower iteration `index`, whose collected values become row `row` of the stacks; returns
        what it yields before the carried values, and the next state."""
        ctx, op = self.ctx, self.op
        ctx.bind_varying(op.attrs["index"], index)
        position = Dim.symbol(f"{op.attrs['index']}.row")
        ctx.bind(str(position), row)
        ctx.values.update(zip(op.body.arguments, state, strict=False))
        values = lower_block(ctx, op.body)
        leading, values = values[: op.leading], values[op.leading :]
        after = [
            _stored(ctx.cast(x, graph.type_of(argument)), place)
            for x, argument, place in zip(values, op.body.arguments, state, strict=False)
        ]
        for x, type_, stack in zip(
            values[self.carried :], self.elements, state[self.carried :], strict=True
        ):
            offsets: list[Size] = [position, *[0] * type_.rank]
            after.append(insert_slice(ctx, x, stack, offsets, [1, *type_.shape]))
        return leading, after

    def run_for(self, first: ir.Value, stop: ir.Value, state: Sequence[ir.Value]) -> list[ir.Value]:
        """All iterations of a `graph.for`."""
        loop = scf.ForOp(first, stop, self.ctx.index(1), list(state))
        with ir.InsertionPoint(loop.body), self.ctx.scope():
            index = loop.induction_variable
            _, after = self.iterate(index, index, list(loop.inner_iter_args))
            scf.YieldOp(after)
        return list(loop.results)

    def run_while(
        self, first: ir.Value, stop: ir.Value, holds: ir.Value, state: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Iterations of a `graph.while` from `first` up to `stop`, the first if `holds`; the
        stacks start with `first`. The results begin with the number of the next iteration and its
        condition."""
        one = self.ctx.index(1)

        def goes_on(index: ir.Value, holds: ir.Value, *_: ir.Value) -> ir.Value:
            return arith.andi(arith.cmpi(arith.CmpIPredicate.slt, index, stop), holds)

        def body(index: ir.Value, _: ir.Value, *now: ir.Value) -> list[ir.Value]:
            with self.ctx.scope():
                (holds,), after = self.iterate(index, arith.subi(index, first), now)
                return [arith.addi(index, one), tensor.extract(holds, []), *after]

        return loops.while_([first, holds, *state], goes_on, body)


def _stored(x: ir.Value, place: ir.Value) -> ir.Value:
    """`x`, in the memory of the tensor `place`."""
    return ir.Operation.create(
        "bufferization.materialize_in_destination", results=[place.type], operands=[x, place]
    ).result


def nested_for(ctx: Lowering, op: graph.ForOp, carried: Sequence[ir.Value]) -> list[ir.Value]:
    """A `graph.for` within a kernel."""
    body = SerialBody(ctx, op)
    memory = [ctx.empty(graph.type_of(result)) for result in op.operation.results]
    start = body.start(carried, memory)
    return body.run_for(ctx.index(0), ctx.index(op.attrs["count"]), start)


def nested_while(
    ctx: Lowering,
    op: graph.WhileOp,
    condition: ir.Value,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """A `graph.while` within a kernel, which collects nothing."""
    if op.yielded[1]:
        raise NotAKernel("an inner loop collects an unknown number of values")
    body = SerialBody(ctx, op)
    memory = [ctx.empty(graph.type_of(result)) for result in op.operation.results]
    holds, limit = tensor.extract(condition, []), ctx.index(op.attrs["count"])
    _, _, *last = body.run_while(ctx.index(0), limit, holds, body.start(carried, memory))
    return last
