"""Matmul by a matrix whose columns are contiguous, as dot products.

The accumulators of a tile of rows and columns are vectors along K, which are summed across lanes at
the end: as many as a vector has lanes together, with three operations for each.
"""

from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .computed_matmul_shape import BLOCK_ROWS, ComputedMatmulShape
from .emitter import Registers, VectorEmitter
from .register_tiles import RegisterTiles, falling_tiles


@dataclass(frozen=True)
class DotOperands:
    """The buffers of the operands and the result, and the first elements of a matrix in them."""

    left: ir.Value
    right: ir.Value
    result: ir.Value
    left_start: ir.Value
    right_start: ir.Value
    result_start: ir.Value


class DotEmitter(VectorEmitter):
    """Emits the products of one matrix of a batch."""

    def __init__(
        self,
        shape: ComputedMatmulShape,
        operands: DotOperands,
        k: ir.Value,
        columns: ir.Value,
        entry: ir.Block,
    ):
        """Constants are defined at the start of `entry`."""
        super().__init__(shape.lanes)
        self._entry = entry
        self.shape, self.operands, self.k, self.column_count = shape, operands, k, columns

    def group(self, column: ir.Value, first: ir.Value, count: ir.Value) -> None:
        """Multiply `count` rows from `first` on by a group of columns."""
        columns_of = dict(self.shape.dot_tiles)
        left = arith.subi(self.column_count, column)
        wanted = arith.minui(left, self.index(self.shape.width))
        for each in falling_tiles(self, count, max(columns_of)):
            if self._is_empty(each.size):
                continue

            def tile(at: ir.Value, tiles: RegisterTiles = each) -> None:
                row = self.add(first, self.add(self.times(at, tiles.size), tiles.first))
                width = columns_of[tiles.size]

                def part(number: ir.Value) -> None:
                    start = self.add(column, self.times(number, width))
                    self._tile(row, start, tiles.size, width)

                parts = arith.ceildivui(wanted, self.index(width))
                self.repeat(self.index(0), parts, part)

            self.repeat(0, each.count, tile)

    def _is_empty(self, size: int) -> bool:
        """Return whether no block has a tile of `size` rows, a power of two."""
        rows, most = self.shape.rows, max(rows for rows, _ in self.shape.dot_tiles)
        if not isinstance(rows, int) or rows > BLOCK_ROWS:
            return False
        return rows < most if size == most else not rows % most & size

    def _tile(self, row: ir.Value, column: ir.Value, rows: int, columns: int) -> None:
        """Compute a tile of the result. Columns beyond the last are computed as that, and not
        stored."""
        operands, last = self.operands, self.add(self.column_count, -1)
        lefts = [
            self.add(operands.left_start, arith.muli(self.add(row, n), self.k)) for n in range(rows)
        ]
        rights = [
            self.add(
                operands.right_start, arith.muli(arith.minui(self.add(column, n), last), self.k)
            )
            for n in range(columns)
        ]

        def accumulate(
            index: ir.Value, registers: Registers, mask: ir.Value | None = None
        ) -> Registers:
            lines = [self.load(operands.right, arith.addi(at, index), mask) for at in rights]
            registers = list(registers)
            for number, at in enumerate(lefts):
                elements = self.load(operands.left, arith.addi(at, index), mask)
                for part, line in enumerate(lines):
                    place = number * columns + part
                    registers[place] = vector.fma(elements, line, registers[place])
            return registers

        rest = arith.remui(self.k, self.index(self.lanes))
        whole, zeros = arith.subi(self.k, rest), [self.splat(0)] * (rows * columns)
        sums = self.loop((self.index(0), whole), zeros, accumulate, self.lanes)
        if not isinstance(self.shape.k, int) or self.shape.k % self.lanes:
            has_rest, before = self.compare(arith.CmpIPredicate.ne, rest, 0), sums
            sums = self.when(
                has_rest, lambda: accumulate(whole, before, self.lanes_below(rest)), before
            )
        self._store(row, column, rows, columns, sums)

    def _store(
        self, row: ir.Value, column: ir.Value, rows: int, columns: int, sums: Registers
    ) -> None:
        """Store the sums across the lanes of the accumulators of a tile."""
        lanes, shape = self.lanes, self.shape
        totals = [
            self.sums_across(lambda number, first=first: [sums[first + number]])[0]
            for first in range(0, len(sums), lanes)
        ]
        line = arith.addi(arith.muli(row, self.column_count), column)
        start = self.add(self.operands.result_start, line)

        def stored(mask: ir.Value | None) -> None:
            at = start
            for number in range(rows):
                group, begin = divmod(number * columns, lanes)
                total = totals[group]
                value = vector.shuffle(total, total, list(range(begin, begin + columns)))
                self.store(value, self.operands.result, at, mask)
                at = arith.addi(at, self.column_count)

        def partly() -> None:
            mask_type = ir.VectorType.get([columns], ir.IntegerType.get_signless(1))
            stored(vector.create_mask(mask_type, [left]))

        if isinstance(shape.columns, int) and shape.columns % lanes == 0:
            return stored(None)
        left = arith.subi(self.column_count, column)
        is_whole = self.compare(arith.CmpIPredicate.uge, left, columns)
        return self.choose(is_whole, lambda: stored(None), partly)
