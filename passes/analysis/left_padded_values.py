"""Values in rows of a batch that are padded on the left, and the ops that move them."""

from dataclasses import dataclass, replace
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir

Size = int | Dim
Shift = int | tuple[int, ...]


@dataclass(frozen=True)
class PaddedValue:
    """A value in each row, compared with the same row alone."""

    axis: int | None = None
    """The aligned axis."""
    shift: Shift = 0
    """The shift of integers, or one for each index of the last axis."""
    is_zero: bool = False
    """True if the padding is 0."""


class Unproven(Exception):
    """A value that may differ between a row of a batch and the same row alone."""


class LeftPaddedValues:
    """Values of a program whose rows have ``past`` positions, with padding in front (see
    `left_padding`), and the rules of ops that move elements.

    A rule raises `Unproven`, or returns what is known of the result.
    """

    def __init__(self, past: str):
        self.past = past
        self.rows: dict[ir.Value, PaddedValue] = {}

    def of(self, value: ir.Value) -> PaddedValue:
        return self.rows[value]

    def growing(self, value: ir.Value) -> list[int]:
        """The axes of `value` whose size depends on the past."""
        return [axis for axis, size in enumerate(graph.type_of(value).shape) if self.grows(size)]

    def grows(self, size: Size) -> bool:
        return isinstance(size, Dim) and self.past in size.symbols()

    def rate(self, size: Size) -> int:
        """The growth of `size` with each position of the past."""
        if not self.grows(size):
            return 0
        assert isinstance(size, Dim)
        terms = [(m, c) for m, c in size.terms if self.grows(Dim({m: 1}))]
        if len(terms) != 1 or terms[0][0] != (self.past,):
            raise Unproven(f"a size is {size}, which is not linear in the past length")
        return terms[0][1]

    @staticmethod
    def require(condition: bool, op: Any, what: str) -> None:
        if not condition:
            name = op.operation.name.removeprefix("graph.")
            raise Unproven(f"'{name}' ({node_name(op)}) {what}")

    def plain(self, op: Any, value: ir.Value) -> PaddedValue:
        """The row of an operand, which must not be shifted."""
        row = self.of(value)
        self.require(row.shift == 0, op, "depends on how long the past is")
        return row

    def reshape(self, op: graph.ReshapeOp) -> PaddedValue:
        row = self.of(op.x)
        before, after = (graph.type_of(x).shape for x in (op.x, op.result))
        if isinstance(row.shift, tuple):
            self.require(after[-1:] == before[-1:], op, "takes positions apart")
        if row.axis is None:
            return row
        found = [
            axis for axis, size in enumerate(after)
            if size == before[row.axis]
            and graph.element_count(after[:axis]) == graph.element_count(before[: row.axis])
        ]  # fmt: skip
        self.require(len(found) == 1, op, "merges the past with another axis")
        return replace(row, axis=found[0])

    def expand(self, op: graph.ExpandOp) -> PaddedValue:
        row, (result,) = self.of(op.x), op.operation.results
        if row.axis is None:
            axes = self.growing(result)
            return replace(row, axis=axes[0] if axes else None)
        return replace(row, axis=row.axis + graph.type_of(result).rank - graph.type_of(op.x).rank)

    def transpose(self, op: graph.TransposeOp) -> PaddedValue:
        row = self.of(op.x)
        perm = op.attrs["perm"]
        last = len(perm) - 1
        self.require(isinstance(row.shift, int) or perm[last] == last, op, "takes positions apart")
        return row if row.axis is None else replace(row, axis=perm.index(row.axis))

    def slice(self, op: graph.SliceOp) -> PaddedValue:
        """Rows from the start are aligned as before; those from a position of the past on are the
        last ones."""
        row = self.of(op.x)
        for axis, (start, size) in enumerate(
            zip(op.attrs["starts"], op.attrs["sizes"], strict=True)
        ):
            rates = (self.rate(start), self.rate(size))
            if axis == row.axis:
                kept = op.attrs["steps"][axis] == 1 and rates in ((0, 1), (1, 0))
                self.require(kept, op, "takes other positions than the first or the last ones")
                row = row if rates == (0, 1) else replace(row, axis=None, is_zero=False)
            else:
                self.require(rates == (0, 0), op, "depends on how long the past is")
        if isinstance(row.shift, tuple):
            last = graph.type_of(op.x).rank - 1
            start, size = op.attrs["starts"][last], op.attrs["sizes"][last]
            row = replace(row, shift=joined(list(row.shift[start : start + size])))
        return row

    def concat(self, op: graph.ConcatOp) -> PaddedValue:
        rows = [self.of(x) for x in op.xs]
        last = graph.type_of(op.result).rank - 1
        axes = {row.axis for row in rows}
        if op.axis in axes:  # the past, and what comes behind
            behind = all(row.axis is None for row in rows[1:])
            self.require(rows[0].axis == op.axis and behind, op, "has rows before the past")
            self.require(len({row.shift for row in rows}) == 1, op, "joins different positions")
            return rows[0]
        self.require(len(axes) == 1, op, "aligns two axes")
        if op.axis != last or len({row.shift for row in rows}) == 1:
            self.require(len({row.shift for row in rows}) == 1, op, "joins different positions")
            return replace(rows[0], is_zero=False)
        shifts: list[int] = []
        for row, x in zip(rows, op.xs, strict=True):
            count = graph.type_of(x).shape[last]
            if not isinstance(count, int):
                raise Unproven(f"'concat' ({node_name(op)}) joins different positions")
            shifts += [row.shift] * count if isinstance(row.shift, int) else list(row.shift)
        return PaddedValue(rows[0].axis, joined(shifts))

    def extend_cache(self, op: graph.ExtendCacheOp) -> PaddedValue:
        row = self.plain(op, op.past)
        behind = self.plain(op, op.new).axis is None and self.of(op.begin).shift == 1
        self.require(row.axis == op.axis and behind, op, "has rows before the past")
        return row

    def gather(self, op: graph.GatherOp) -> PaddedValue:
        x, indices = self.of(op.x), self.of(op.indices)
        wanted = 1 if x.axis == op.axis else 0
        self.require(
            indices.shift == wanted and isinstance(x.shift, int), op,
            "takes rows by how long the past is",
        )  # fmt: skip
        rank = graph.type_of(op.indices).rank
        if x.axis is None or x.axis == op.axis:
            axis = None if indices.axis is None else op.axis + indices.axis
            return PaddedValue(axis, x.shift)
        self.require(indices.axis is None, op, "aligns two axes")
        return replace(x, axis=x.axis if x.axis < op.axis else x.axis + rank - 1)

    def gather_nd(self, op: graph.GatherNdOp) -> PaddedValue:
        x, indices = self.of(op.x), self.of(op.indices)
        depth = graph.static_size(graph.type_of(op.indices).shape[-1])
        first = op.attrs["batch_dims"]
        expected = joined([int(x.axis == first + n) for n in range(depth)])
        taken = x.axis is None or first <= x.axis < first + depth
        self.require(
            taken and indices.shift == expected and isinstance(x.shift, int), op,
            "takes rows by how long the past is",
        )  # fmt: skip
        return PaddedValue(indices.axis, x.shift)


def times(shift: Shift, factor: int) -> Shift:
    return shift * factor if isinstance(shift, int) else tuple(each * factor for each in shift)


def added(a: Shift, b: Shift) -> Shift | None:
    """The sum of two shifts; None if only one of them is known by index."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    assert not isinstance(a, int)
    if isinstance(b, int):
        return joined([each + b for each in a])
    return joined([x + y for x, y in zip(a, b, strict=True)]) if len(a) == len(b) else None


def joined(shifts: list[int]) -> Shift:
    """One shift where all are equal."""
    return shifts[0] if len(set(shifts)) == 1 else tuple(shifts)
