"""The pass `graph-hoist-loop-matmuls`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import constant_scalar, ops_within, producer
from ..infra.registry import register

REWRITE = "hoist-loop-matmuls"


@register
@dataclass(frozen=True)
class HoistLoopMatmuls(Pass):
    """Compute the matmuls of rows that a loop reads one by one before it, all at once.

    "graph.while"({            ^bb0(%i):
      %1 = "graph.gather"(%x, %i) : "t"x1x400
      %2 = "graph.matmul"(%1, %w)
    -->
    %3 = "graph.matmul"(%x, %w) : "t"x1x1600
    "graph.while"({            ^bb0(%i):
      %2 = "graph.gather"(%3, %i)

    The weights are read once, and not in every iteration: for recurrent layers that are written as
    loops, the matmul of the inputs (Appleyard et al.: Optimizing performance of recurrent neural
    networks on GPUs, 2016). The loop must count the rows, by its iteration or by a value that
    grows by one; rows are computed even if it ends before them.
    """

    name = "graph-hoist-loop-matmuls"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(REWRITE)
        for loop in ops_within(op, graph.LoopOp):
            for operation in list(loop.body.operations):
                name, view = node_name(operation), graph.graph_op(operation)
                if isinstance(view, graph.MatmulOp) and _hoist(view, loop):
                    statistics.record_fired(name)


def _hoist(op: graph.MatmulOp, loop: graph.LoopOp) -> bool:
    """Replace `op` in `loop` by rows of a matmul before it; return whether that can be."""
    w = _before(op.b, loop)
    if w is None or graph.type_of(op.b).rank != 2:
        return False
    rows = op.a
    while (moved := producer(rows, graph.ReshapeOp)) is not None and _keeps_rows(moved):
        rows = moved.x
    read = _read_of(rows, loop)
    if read is None:
        return False
    source, again = read
    with ir.InsertionPoint(loop.operation), op.operation.location:
        product = graph.matmul(source, _placed_before(w, loop))
    with ir.InsertionPoint(op.operation), op.operation.location:
        y = graph.reshape(again(product), shape=graph.type_of(op.result).shape)
    op.result.replace_all_uses_with(y)
    op.operation.erase()
    return True


def _keeps_rows(op: graph.ReshapeOp) -> bool:
    """Return whether the last axis stays as it is."""
    old, new = graph.type_of(op.x).shape, graph.type_of(op.result).shape
    return bool(old and new) and old[-1] == new[-1]


Read = tuple[ir.Value, Callable[[ir.Value], ir.Value]]
"""A value before a loop of which an iteration reads a part along an axis that is not the last; and
a function that reads the part of another value."""


def _read_of(rows: ir.Value, loop: graph.LoopOp) -> Read | None:
    gather = producer(rows, graph.GatherOp)
    if gather is not None:
        return _gathered(gather, loop)
    part = producer(rows, graph.SliceOp)
    return None if part is None else _sliced(part, loop)


def _gathered(op: graph.GatherOp, loop: graph.LoopOp) -> Read | None:
    type_, index = graph.type_of(op.x), graph.type_of(op.indices)
    if index.rank or op.attrs["axis"] == type_.rank - 1 or not _counts(op.indices, loop):
        return None
    if _before(op.x, loop) is None:
        return None
    return op.x, lambda value: graph.gather(value, op.indices, axis=op.attrs["axis"])


def _sliced(op: graph.SliceOp, loop: graph.LoopOp) -> Read | None:
    starts, sizes, steps = op.attrs["starts"], list(op.attrs["sizes"]), op.attrs["steps"]
    counted = [n for n, start in enumerate(starts) if _mentions(start, loop)]
    shape = graph.type_of(op.x).shape
    if len(counted) != 1 or counted[0] == len(shape) - 1 or sizes[counted[0]] != 1:
        return None
    whole = starts[-1] == 0 and steps[-1] == 1 and sizes[-1] == shape[-1]
    if not whole or _before(op.x, loop) is None:
        return None

    def again(value: ir.Value) -> ir.Value:
        columns = graph.type_of(value).shape[-1]
        return graph.slice_(value, starts=starts, sizes=[*sizes[:-1], columns], steps=steps)

    return op.x, again


def _mentions(size: int | Dim, loop: graph.LoopOp) -> bool:
    return isinstance(size, Dim) and loop.attrs["index"] in size.symbols()


def _counts(index: ir.Value, loop: graph.LoopOp) -> bool:
    """Return whether `index` is another number in each iteration, one more or less than before."""
    while (same := producer(index, (graph.CastOp, graph.ReshapeOp))) is not None:
        index = same.operation.operands[0]
    sizes = producer(index, graph.SizesOp)
    if sizes is not None:
        return all(_mentions(size, loop) for size in sizes.attrs["sizes"])
    for argument, after in zip(loop.body.arguments, loop.yielded[0], strict=True):
        if argument == index:
            step = producer(after, (graph.AddOp, graph.SubOp))
            return step is not None and _is_step(step, index)
    return False


def _is_step(op: graph.GraphOp, index: ir.Value) -> bool:
    """Return whether `op` adds one to `index`, or takes one off."""
    a, b = op.operation.operands
    if isinstance(op, graph.AddOp) and b == index:
        a, b = b, a
    step = constant_scalar(b)
    return a == index and step is not None and abs(int(step)) == 1


def _before(value: ir.Value, loop: graph.LoopOp) -> ir.Value | None:
    """`value` if it is computed before `loop`, or is a constant."""
    if producer(value, graph.ConstantOp) is not None:
        return value
    return None if _is_inside(value, loop) else value


def _is_inside(value: ir.Value, loop: graph.LoopOp) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while block != loop.body:
        above = block.owner.operation
        if above.parent is None or above.name == "func.func":
            return False
        block = above.block
    return True


def _placed_before(value: ir.Value, loop: graph.LoopOp) -> ir.Value:
    """`value`, or a copy before `loop` of a constant in it."""
    if not _is_inside(value, loop):
        return value
    constant = producer(value, graph.ConstantOp)
    assert constant is not None
    return constant.operation.clone().results[0]
