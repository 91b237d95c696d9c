"""Reductions and cumulative ops along one axis of a tensor in row-major order.

The tensor has `outer` planes of `extent` rows of `inner` elements, combined along the rows. Where a
row is one element, several vectors accumulate what lies next to each other. Otherwise, a workgroup
takes some columns of a plane and reads them row by row, so that memory is read in order; what it
accumulates stays in the L1 cache.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter

Size = int | Dim
Combine = Callable[[ir.Value, ir.Value], ir.Value]
"""The sum of two elements or vectors, or what takes its place."""
Finish = Callable[[ir.Value], ir.Value]

ELEMENTS = 16384
"""Elements that a workgroup reads at least, if there are as many."""
LEAST_COLUMNS = 256
"""Elements of a row for each workgroup at least: memory is read in lines, and pages."""
MOST_COLUMNS = 2048
"""Elements of a row for each workgroup at most: they fit into the L1 cache beside others."""
WORKGROUPS_PER_THREAD = 2

_UNROLL = 4
"""Vectors that a loop step reads."""
_ROWS = 8
"""Rows that are added to the accumulators in memory at a time."""


@dataclass(frozen=True)
class ReductionShape:
    """`outer` planes of `extent` rows of `inner` elements; vectors have `lanes` elements."""

    outer: Size
    extent: Size
    inner: Size
    lanes: int

    flops = 0


@dataclass(frozen=True)
class Columns:
    """The columns of a workgroup: `width` elements of a row, of which there are `parts`; `chunk` of
    these per workgroup."""

    width: ir.Value
    parts: ir.Value
    chunk: ir.Value


class ReductionEmitter(VectorEmitter):
    """Emits the kernels; `value` gives sizes at the insertion point, `initial` is neutral."""

    def __init__(
        self,
        shape: ReductionShape,
        value: Callable[[Size], ir.Value],
        combine: Combine,
        initial: float,
        source: ir.Value,
        target: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(source.type).element_type)
        self.outer, self.extent, self.inner = map(value, (shape.outer, shape.extent, shape.inner))
        self.combine, self.initial = combine, initial
        self.source, self.target = source, target

    def reduce_rows(self, workgroup_id: ir.Value, columns: Columns, finish: Finish) -> None:
        """Emit a workgroup that reduces `columns.chunk` planes of rows of one element."""

        def plane(number: ir.Value) -> None:
            start = arith.muli(number, self.extent)
            accumulators = self._accumulate(start, arith.addi(start, self.extent))
            total = self.across(accumulators, self.combine)
            memref.store(finish(total), self.target, [number])

        self._each_unit(workgroup_id, columns.chunk, self.outer, plane)

    def _accumulate(self, start: ir.Value, end: ir.Value) -> ir.Value:
        """A vector of the combined elements in [`start`, `end`)."""
        step = self.lanes * _UNROLL
        count = arith.subi(end, start)
        whole = arith.subi(end, arith.remui(count, self.index(step)))
        vectors = arith.subi(end, arith.remui(count, self.index(self.lanes)))
        neutral = self.splat(self.initial)

        def several(at: ir.Value, totals: Registers) -> Registers:
            loaded = self.load_all(self.source, at, [self.lanes] * _UNROLL)
            return list(map(self.combine, loaded, totals))

        totals = self.loop((start, whole), [neutral] * _UNROLL, several, step)
        while len(totals) > 1:
            totals = list(map(self.combine, totals[::2], totals[1::2]))
        totals = self.loop(
            (whole, vectors), totals,
            lambda at, totals: [self.combine(self.load(self.source, at), *totals)], self.lanes,
        )  # fmt: skip
        mask = self.lanes_below(arith.subi(end, vectors))
        rest = vector.maskedload(self.vector_type, self.source, [vectors], mask, neutral)
        return self.combine(rest, totals[0])

    def reduce_columns(self, workgroup_id: ir.Value, columns: Columns, finish: Finish) -> None:
        """Emit a workgroup that reduces columns of planes."""

        def block(plane: ir.Value, first: ir.Value, count: ir.Value) -> None:
            start = arith.addi(arith.muli(arith.muli(plane, self.extent), self.inner), first)
            target = arith.addi(arith.muli(plane, self.inner), first)

            def set_neutral(at: ir.Value, lanes: int) -> None:
                neutral = self.splat(self.initial, lanes)
                self.store(neutral, self.target, arith.addi(target, at))

            def add_rows(row: ir.Value, rows: int, at: ir.Value, lanes: int) -> None:
                here = arith.addi(target, at)
                total = self.load(self.target, here, lanes=lanes)
                place = arith.addi(arith.addi(start, arith.muli(row, self.inner)), at)
                for number in range(rows):
                    new = self.load(self.source, place, lanes=lanes)
                    total = self.combine(new, total)
                    place = arith.addi(place, self.inner) if number < rows - 1 else place
                self.store(total, self.target, here)

            def finish_all(at: ir.Value, lanes: int) -> None:
                here = arith.addi(target, at)
                total = self.load(self.target, here, lanes=lanes)
                self.store(finish(total), self.target, here)

            self._each_vector(count, set_neutral)
            done = self.index(0)
            for rows in (_ROWS, 1):
                end = arith.subi(self.extent, arith.remui(self.extent, self.index(rows)))
                self._in_steps(
                    done, end, rows,
                    lambda row, rows=rows: self._each_vector(
                        count, lambda at, lanes: add_rows(row, rows, at, lanes)
                    ),
                )  # fmt: skip
                done = end
            self._each_vector(count, finish_all)

        self._each_block(workgroup_id, columns, block)

    def scan_columns(
        self, workgroup_id: ir.Value, columns: Columns, is_exclusive: bool, is_reversed: bool
    ) -> None:
        """Emit a workgroup that computes running totals of columns of planes."""

        def block(plane: ir.Value, first: ir.Value, count: ir.Value) -> None:
            start = arith.addi(arith.muli(arith.muli(plane, self.extent), self.inner), first)

            def place(row: ir.Value) -> ir.Value:
                if is_reversed:
                    row = arith.subi(arith.subi(self.extent, self.index(1)), row)
                return arith.addi(start, arith.muli(row, self.inner))

            def begin(at: ir.Value, lanes: int) -> None:
                here = arith.addi(place(self.index(0)), at)
                new = self.splat(self.initial, lanes)
                if not is_exclusive:
                    new = self.load(self.source, here, lanes=lanes)
                self.store(new, self.target, here)

            def go_on(row: ir.Value) -> None:
                here, before = place(row), place(arith.subi(row, self.index(1)))
                added = before if is_exclusive else here

                def add(at: ir.Value, lanes: int) -> None:
                    total = self.load(self.target, arith.addi(before, at), lanes=lanes)
                    new = self.load(self.source, arith.addi(added, at), lanes=lanes)
                    self.store(self.combine(new, total), self.target, arith.addi(here, at))

                self._each_vector(count, add)

            some = arith.minui(self.extent, self.index(1))
            self._in_steps(self.index(0), some, 1, lambda _: self._each_vector(count, begin))
            self._in_steps(self.index(1), self.extent, 1, go_on)

        self._each_block(workgroup_id, columns, block)

    def _each_block(
        self,
        workgroup_id: ir.Value,
        columns: Columns,
        body: Callable[[ir.Value, ir.Value, ir.Value], None],
    ) -> None:
        """Emit `body` for the blocks of a workgroup: on the number of the plane, the first column,
        and the number of columns."""

        def block(unit: ir.Value) -> None:
            plane = arith.divui(unit, columns.parts)
            part = arith.remui(unit, columns.parts)
            first = arith.minui(arith.muli(part, columns.width), self.inner)
            last = arith.minui(arith.addi(first, columns.width), self.inner)
            body(plane, first, arith.subi(last, first))

        units = arith.muli(self.outer, columns.parts)
        self._each_unit(workgroup_id, columns.chunk, units, block)

    def _each_unit(
        self,
        workgroup_id: ir.Value,
        chunk: ir.Value,
        units: ir.Value,
        body: Callable[[ir.Value], None],
    ) -> None:
        first = arith.muli(workgroup_id, chunk)
        self._in_steps(first, arith.minui(arith.addi(first, chunk), units), 1, body)

    def _each_vector(self, count: ir.Value, body: Callable[[ir.Value, int], None]) -> None:
        """Emit `body` for `count` elements: in long vectors, in vectors, and one by one."""
        done = self.index(0)
        for lanes in (self.lanes * _UNROLL, self.lanes, 1):
            end = arith.subi(count, arith.remui(count, self.index(lanes)))
            self._in_steps(done, end, lanes, lambda at, lanes=lanes: body(at, lanes))
            done = end

    def _in_steps(
        self, first: ir.Value, last: ir.Value, step: int, body: Callable[[ir.Value], None]
    ) -> None:
        def run(at: ir.Value, registers: Registers) -> Registers:
            body(at)
            return registers

        self.loop((first, last), [], run, step=step)
