"""Proof that each row of a batch, padded on the left, is computed as it would be alone.

A step of a decoder has one number of positions for all rows, ``past``; row ``i`` has
``past - d[i]`` of them, behind ``d[i]`` of padding. Alone, it would have no padding. A value is
then, for row ``i``:

- along an axis that grows with ``past`` (the *aligned* one), the padding and what it is alone;
- an integer that is ``c * d[i]`` larger than it is alone, for a known ``c``, its *shift*: a
  position is shifted by 1, a distance between two positions by 0;
- anything else, if the same.

Results must not be shifted. Rows are taken to be independent of one another, as a model's batch is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.query import constant_scalar, ops_within
from .left_padded_values import LeftPaddedValues, PaddedValue, Shift, Unproven, added, times


def find_row_difference(
    function: Any, read: graph.ReadCacheOp, reads_rows_in_use: Callable[[Any], bool]
) -> str | None:
    """The reason why a row of `function` may be computed otherwise than alone; None if none is.

    `read` is an op whose rows are padded on the left. Ops for which `reads_rows_in_use` attend to
    no padding, whatever their masks say of it.
    """
    size = read.attrs["size"]
    if not isinstance(size, Dim) or not size.is_symbol:
        return "the number of rows has no name"
    analysis = _Analysis(str(size), reads_rows_in_use)
    block = function.regions[0].blocks[0]
    try:
        for argument in block.arguments:
            analysis.add_argument(argument)
        for op in block.operations:
            analysis.visit(op)
    except Unproven as reason:
        return str(reason)
    return None


class _Analysis(LeftPaddedValues):
    def __init__(self, past: str, reads_rows_in_use: Callable[[Any], bool]):
        super().__init__(past)
        self._reads_rows_in_use = reads_rows_in_use
        self._rules: dict[type, Callable[[Any], PaddedValue]] = {
            graph.AddOp: lambda op: self._sum(op, 1),
            graph.SubOp: lambda op: self._sum(op, -1),
            graph.MulOp: self._product,
            graph.NegOp: lambda op: replace(self.of(op.x), shift=times(self.of(op.x).shift, -1)),
            graph.MaxOp: self._choice,
            graph.MinOp: self._choice,
            graph.CastOp: self._cast,
            graph.AndOp: self._and,
            graph.WhereOp: self._where,
            graph.SizesOp: self._sizes,
            graph.RangeOp: self._range,
            graph.ReshapeOp: self.reshape,
            graph.ExpandOp: self.expand,
            graph.TransposeOp: self.transpose,
            graph.SliceOp: self.slice,
            graph.ConcatOp: self.concat,
            graph.ExtendCacheOp: self.extend_cache,
            graph.GatherOp: self.gather,
            graph.GatherNdOp: self.gather_nd,
            graph.CumsumOp: self._cumsum,
            graph.ReduceSumOp: self._reduce_sum,
            graph.ReadCacheOp: lambda op: PaddedValue(op.axis, 0, True),
            graph.AttentionOp: self._attention,
            graph.CachedAttentionOp: self._attention,
        }

    def add_argument(self, argument: ir.Value) -> None:
        """An argument that grows is a mask: 0 for padding."""
        axes = self.growing(argument)
        if len(axes) > 1:
            raise Unproven("an input grows along two axes")
        self.rows[argument] = PaddedValue(axes[0], 0, True) if axes else PaddedValue()

    def visit(self, op: Any) -> None:
        """Find out what is known of the results of `op`."""
        view = graph.graph_op(op)
        if view is None:  # the end of the function
            for operand in op.operands:
                self.require(self.rows[operand].shift == 0, op, "returns a position")
            return
        self._view = view
        rule = self._rules.get(type(view))
        if rule is None and isinstance(view, graph.ElementwiseOp):
            rule = self._elementwise
        row = self._unknown(view) if rule is None else rule(view)
        for result in view.operation.results:
            axes = self.growing(result)
            expected = [] if row.axis is None else [row.axis]
            self.require(axes == expected, view, "has a result of another size")
            self.rows[result] = row

    def _unknown(self, op: Any) -> PaddedValue:
        """An op of which nothing is known: its operands must not be aligned, nor shifted."""
        inner = ops_within(op, graph.GraphOp) if op.operation.regions else [op]
        for each in inner:
            self.require(
                not isinstance(each, graph.SizesOp) or not any(map(self.grows, each.sizes)),
                op, "depends on how long the past is",
            )  # fmt: skip
            for operand in each.operation.operands:
                if operand in self.rows:
                    row = self.plain(op, operand)
                    self.require(row.axis is None, op, "may read padding")
            for result in each.operation.results:
                self.require(not self.growing(result), op, "has a result of another size")
        return PaddedValue()

    # Elementwise ops

    def _broadcast_axis(self, op: Any) -> int | None:
        """The aligned axis of an elementwise op, which operands must agree on."""
        rank, axes = graph.type_of(op.operation.results[0]).rank, set[int]()
        for operand in op.operation.operands:
            row = self.of(operand)
            if row.axis is not None:
                axes.add(row.axis + rank - graph.type_of(operand).rank)
        self.require(len(axes) < 2, op, "aligns two axes")
        return axes.pop() if axes else None

    def _elementwise(self, op: Any) -> PaddedValue:
        """Shifts that are equal cancel in a comparison; other ops take none."""
        comparison = (
            graph.EqualOp, graph.LessOp, graph.LessOrEqualOp, graph.GreaterOp,
            graph.GreaterOrEqualOp,
        )  # fmt: skip
        shifts = {self.of(operand).shift for operand in op.operation.operands}
        allowed = len(shifts) == 1 if isinstance(op, comparison) else shifts <= {0}
        self.require(allowed, op, "depends on how long the past is")
        return PaddedValue(self._broadcast_axis(op))

    def _sum(self, op: Any, sign: int) -> PaddedValue:
        shift = added(self.of(op.a).shift, times(self.of(op.b).shift, sign))
        self.require(shift is not None, op, "adds different positions")
        assert shift is not None
        self._require_integers(op, shift)
        return PaddedValue(self._broadcast_axis(op), shift)

    def _require_integers(self, op: Any, shift: Shift) -> None:
        """Floats are rounded, so that they must not be shifted."""
        is_exact = shift == 0 or graph.is_integer(graph.type_of(op.result).dtype)
        self.require(is_exact, op, "computes with positions in floats")

    def _product(self, op: graph.BinaryOp) -> PaddedValue:
        a, b = self.of(op.a), self.of(op.b)
        axis, is_zero = self._broadcast_axis(op), a.is_zero or b.is_zero
        is_zero = is_zero and graph.is_integer(graph.type_of(op.result).dtype)
        if a.shift == 0 and b.shift == 0:
            return PaddedValue(axis, 0, is_zero)
        for row, factor in ((a, op.b), (b, op.a)):
            number = constant_scalar(factor)
            if number is not None and graph.is_integer(graph.type_of(factor).dtype):
                return PaddedValue(axis, times(row.shift, int(number)))
        raise Unproven(f"'mul' ({node_name(op)}) depends on how long the past is")

    def _choice(self, op: Any) -> PaddedValue:
        a, b = self.of(op.a), self.of(op.b)
        self.require(a.shift == b.shift, op, "depends on how long the past is")
        return PaddedValue(self._broadcast_axis(op), a.shift)

    def _cast(self, op: graph.CastOp) -> PaddedValue:
        row, target = self.of(op.x), graph.type_of(op.result).dtype
        self.require(
            row.shift == 0 or graph.is_integer(target), op, "computes with positions in floats"
        )
        return row

    def _and(self, op: graph.BinaryOp) -> PaddedValue:
        is_zero = any(self.plain(op, x).is_zero for x in (op.a, op.b))
        return PaddedValue(self._broadcast_axis(op), 0, is_zero)

    def _where(self, op: graph.WhereOp) -> PaddedValue:
        self.plain(op, op.condition)
        a, b = self.of(op.a), self.of(op.b)
        self.require(a.shift == b.shift, op, "depends on how long the past is")
        return PaddedValue(self._broadcast_axis(op), a.shift)

    # Positions

    def _sizes(self, op: graph.SizesOp) -> PaddedValue:
        rates = tuple(map(self.rate, op.sizes))
        return PaddedValue(None, rates[0] if len(set(rates)) == 1 else rates)

    def _range(self, op: graph.RangeOp) -> PaddedValue:
        start = self.of(op.start).shift
        assert isinstance(start, int)
        rate = self.rate(op.attrs["size"])
        self.plain(op, op.delta)
        if rate == 0:
            return PaddedValue(None, start)
        step = constant_scalar(op.delta)
        self.require(rate == 1 and step is not None, op, "has another step than 1")
        assert step is not None
        return PaddedValue(0, start + int(step))

    # Sums over the past, of which padding must be none

    def _cumsum(self, op: graph.CumsumOp) -> PaddedValue:
        row = self.plain(op, op.x)
        if row.axis == op.axis:
            self.require(row.is_zero and not op.attrs["reverse"], op, "sums up padding")
            self._require_integers_of(op)
        return replace(row, is_zero=row.is_zero and row.axis == op.axis)

    def _reduce_sum(self, op: graph.ReduceSumOp) -> PaddedValue:
        row = self.plain(op, op.x)
        axes = sorted(op.axes)
        if row.axis is None:
            return PaddedValue()
        if row.axis in axes:
            self.require(row.is_zero, op, "sums up padding")
            self._require_integers_of(op)
            return PaddedValue()
        before = 0 if op.attrs["keepdims"] else sum(axis < row.axis for axis in axes)
        return replace(row, axis=row.axis - before)

    def _require_integers_of(self, op: Any) -> None:
        """Sums of floats depend on their order."""
        is_exact = graph.is_integer(graph.type_of(op.x).dtype)
        self.require(is_exact, op, "sums up floats of the past")

    def _attention(self, op: Any) -> PaddedValue:
        self.require(self._reads_rows_in_use(op), op, "may read padding")
        self.require(self.of(op.q) == PaddedValue(), op, "has queries from the past")
        if op.mask is not None:
            mask = self.plain(op, op.mask)
            last = graph.type_of(op.mask).rank - 1
            self.require(mask.axis in (None, last), op, "has a mask of other keys")
        if isinstance(op, graph.CachedAttentionOp):
            windows = (op.left, op.right) != (-1, -1)
            past = 1 if windows else self.of(op.past).shift
            shifts = (self.of(op.past).shift, self.of(op.last).shift)
            self.require(shifts == (past, 1), op, "has windows at other positions")
        else:
            self.require(not op.attrs["causal"], op, "is causal without a past")
        return PaddedValue()
