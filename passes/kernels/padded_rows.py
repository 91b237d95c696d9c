"""Padding of a tensor by its own elements, or by a value: rows are copied, the elements around them
one by one.

A row is the innermost axis that is padded, with all axes behind it, whose elements stay together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .row_copies import RowCopyEmitter

Size = int | Dim

WORKGROUPS_PER_THREAD = 4
BYTES = 1 << 14
"""Bytes that a workgroup moves, at least: waking a thread costs as much."""


@dataclass(frozen=True)
class PaddedAxis:
    """An axis of `extent`, with `low` positions before it and `high` behind."""

    extent: Size
    low: Size = 0
    high: Size = 0

    @property
    def size(self) -> Size:
        """The positions with padding."""
        return self.low + self.extent + self.high

    @property
    def is_plain(self) -> bool:
        return self.low == 0 and self.high == 0


@dataclass(frozen=True)
class PaddedRows:
    """Padding by `mode` (``edge``, ``reflect``, ``wrap``, ``constant``). Elements of the last of
    the `axes` are `unit` elements of the tensor, and there are two axes at least."""

    axes: tuple[PaddedAxis, ...]
    unit: Size
    mode: str
    vector_bits: int

    flops = 0

    @property
    def rows(self) -> Size:
        """The rows of the result."""
        return math.prod(axis.size for axis in self.axes[:-1])  # type: ignore[arg-type]


def merged_padding(
    shape: Sequence[Size], low: Sequence[Size], high: Sequence[Size]
) -> tuple[tuple[PaddedAxis, ...], Size]:
    """The axes of a tensor, none if nothing is padded, and the elements of a unit. Axes that are
    not padded join those before them."""
    axes, unit = [PaddedAxis(1)], 1
    for extent, before, behind in zip(shape, low, high, strict=True):
        axis = PaddedAxis(extent, before, behind)
        if axis.is_plain and axes[-1].is_plain:
            axes[-1] = PaddedAxis(axes[-1].extent * extent)
        else:
            axes.append(axis)
    if axes[-1].is_plain:
        unit = axes.pop().extent
    return tuple(axes), unit


class PaddedRowsEmitter(RowCopyEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point. The first element of `around`
    is what a constant padding consists of."""

    def __init__(
        self,
        shape: PaddedRows,
        value: Callable[[Size], ir.Value],
        source: ir.Value,
        target: ir.Value,
        around: ir.Value | None = None,
    ):
        super().__init__(shape.vector_bits, source, target)
        self.shape, self.value = shape, value
        self.unit = value(shape.unit)
        self.around = None if around is None else memref.load(around, [self.index(0)])

    def workgroup(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`, which computes its share of the rows."""
        *outer, lines, _ = self.shape.axes
        rows, size = self.value(self.shape.rows), self.value(lines.size)
        first = arith.divui(arith.muli(workgroup_id, rows), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), rows), count)

        def plane(number: ir.Value) -> None:
            source = arith.muli(self._plane(number, outer), self.value(lines.extent))
            start = arith.muli(number, size)
            begin = arith.subi(arith.maxui(first, start), start)
            end = arith.subi(arith.minui(behind, arith.addi(start, size)), start)

            is_inside = None if self.around is None else self._is_inside(number, outer)

            def line(at: ir.Value) -> None:
                def row() -> None:
                    found = arith.addi(source, self._position(at, lines))
                    self._row(found, arith.addi(start, at))

                if is_inside is None:
                    row()
                else:
                    is_copied = arith.andi(is_inside, self._is_inside(at, [lines]))
                    self.choose(is_copied, row, lambda: self._fill_row(arith.addi(start, at)))

            self.repeat(begin, end, line)

        some = arith.cmpi(arith.CmpIPredicate.ult, first, behind)

        def planes() -> None:
            last = arith.divui(self.add(behind, -1), size)
            self.repeat(arith.divui(first, size), self.add(last, 1), plane)

        self.choose(some, planes, lambda: None)

    def _plane(self, number: ir.Value, axes: Sequence[PaddedAxis]) -> ir.Value:
        """The number in the source of plane `number` of the result, along `axes`."""
        found, stride, left = self.index(0), self.index(1), number
        for index, axis in reversed(list(enumerate(axes))):
            size, extent = self.value(axis.size), self.value(axis.extent)
            at = left if index == 0 else arith.remui(left, size)
            left = left if index == 0 else arith.divui(left, size)
            found = arith.addi(found, arith.muli(self._position(at, axis), stride))
            stride = arith.muli(stride, extent)
        return found

    def _position(self, at: ir.Value, axis: PaddedAxis) -> ir.Value:
        """The position in the source of position `at` of the result."""
        if axis.is_plain:
            return at
        return self._folded(arith.subi(at, self.value(axis.low)), self.value(axis.extent))

    def _folded(self, at: ir.Value, extent: ir.Value) -> ir.Value:
        """The element at `at`, which may be outside."""
        last, zero = self.add(extent, -1), self.index(0)
        if self.shape.mode in ("edge", "constant"):
            return arith.maxsi(arith.minsi(at, last), zero)
        below = self.compare(arith.CmpIPredicate.slt, at, 0)
        beyond = arith.cmpi(arith.CmpIPredicate.sge, at, extent)
        if self.shape.mode == "wrap":
            period = extent
            before, behind = arith.addi(at, extent), arith.subi(at, extent)
        else:
            period = self.times(last, 2)
            before, behind = arith.subi(zero, at), arith.subi(period, at)
        once = arith.select(below, before, arith.select(beyond, behind, at))
        inside = arith.cmpi(arith.CmpIPredicate.ult, once, extent)

        def again() -> list[ir.Value]:
            whole = arith.maxsi(period, self.index(1))
            rest = arith.remsi(at, whole)
            negative = self.compare(arith.CmpIPredicate.slt, rest, 0)
            rest = arith.select(negative, arith.addi(rest, whole), rest)
            if self.shape.mode == "wrap":
                return [rest]
            return [arith.minsi(rest, arith.subi(period, rest))]

        return self.branch(inside, [extent.type], lambda: [once], again)[0]

    def _is_inside(self, number: ir.Value, axes: Sequence[PaddedAxis]) -> ir.Value:
        """True (an i1) unless position `number` along all of `axes` is padding."""
        inside, left = arith.constant(ir.IntegerType.get_signless(1), 1), number
        for index, axis in reversed(list(enumerate(axes))):
            size = self.value(axis.size)
            at = left if index == 0 else arith.remui(left, size)
            left = left if index == 0 else arith.divui(left, size)
            if not axis.is_plain:
                at = arith.subi(at, self.value(axis.low))
                here = arith.cmpi(arith.CmpIPredicate.ult, at, self.value(axis.extent))
                inside = arith.andi(inside, here)
        return inside

    def _fill_row(self, row: ir.Value) -> None:
        count = arith.muli(self.value(self.shape.axes[-1].size), self.unit)
        self._fill(arith.muli(row, count), count)

    def _fill(self, target: ir.Value, count: ir.Value) -> None:
        """Write `count` elements of a constant padding."""
        assert self.around is not None
        element, whole = self.around, arith.subi(count, arith.remui(count, self.index(self.lanes)))
        elements = vector.broadcast(self.vector_type, element)

        def several(at: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
            self.store(elements, self.target, arith.addi(target, at))
            return registers

        self.loop((self.index(0), whole), [], several, step=self.lanes)

        def one(at: ir.Value) -> None:
            memref.store(element, self.target, [arith.addi(target, at)])

        self.repeat(whole, count, one)

    def _row(self, source: ir.Value, target: ir.Value) -> None:
        """Copy row `source` to row `target`, and pad it."""
        axis, unit = self.shape.axes[-1], self.unit
        extent, low = self.value(axis.extent), self.value(axis.low)
        source = arith.muli(source, arith.muli(extent, unit))
        target = arith.muli(target, arith.muli(self.value(axis.size), unit))
        inner = arith.addi(target, arith.muli(low, unit))
        self.copy(source, inner, arith.muli(extent, unit))

        def pad(at: ir.Value) -> None:
            position = self._folded(at, extent)
            found = arith.addi(source, arith.muli(position, unit))
            into = arith.addi(inner, arith.muli(at, unit))
            if self.shape.unit == 1:
                self.move(found, into)
            else:
                self.copy(found, into, unit)

        if self.around is not None:
            behind = arith.addi(inner, arith.muli(extent, unit))
            self._fill(target, arith.muli(low, unit))
            self._fill(behind, arith.muli(self.value(axis.high), unit))
            return
        if axis.low != 0:
            zero = self.index(0)
            self.repeat(zero, low, lambda at: pad(arith.subi(at, low)))
        if axis.high != 0:
            self.repeat(extent, arith.addi(extent, self.value(axis.high)), pad)
