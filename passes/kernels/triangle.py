"""Triangles and diagonals of matrices: each row is a run of zeros beside a run that is copied."""

from ...mlir import arith, ir, memref
from .row_copies import RowCopyEmitter

WORKGROUPS_PER_THREAD = 4
BYTES = 1 << 14
"""Bytes that a workgroup writes, at least: waking a thread costs as much."""


class DiagonalEmitter(RowCopyEmitter):
    """Emits kernels that tell elements of `rows` by `columns` matrices by their distance from
    diagonal `k`. Element `i` of row `i - k` is on it."""

    def __init__(
        self,
        vector_bits: int,
        source: ir.Value,
        target: ir.Value,
        sizes: tuple[ir.Value, ir.Value, ir.Value],
    ):
        """`sizes` are those of rows, of columns, and `k`."""
        super().__init__(vector_bits, source, target)
        self.rows, self.column_count, self.k = sizes

    def triangle(
        self, workgroup_id: ir.Value, count: ir.Value, total: ir.Value, upper: bool
    ) -> None:
        """Emit workgroup `workgroup_id` of `count`, which copies what is not below the diagonal in
        its share of `total` rows, or what is not above it."""

        def row(start: ir.Value, diagonal: ir.Value) -> None:
            last = arith.minsi(self.add(diagonal, 0 if upper else 1), self.column_count)
            last = arith.maxsi(last, self.index(0))
            kept, rest = arith.addi(start, last), arith.subi(self.column_count, last)
            if upper:
                self.clear(start, last)
                self.copy(kept, kept, rest)
            else:
                self.copy(start, start, last)
                self.clear(kept, rest)

        self._each_row(workgroup_id, count, total, row)

    def eye(self, workgroup_id: ir.Value, count: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `count`, which writes the element of the source to the
        diagonal of its share of one matrix, zeros elsewhere."""
        value = memref.load(self.source, [self.index(0)])

        def row(start: ir.Value, diagonal: ir.Value) -> None:
            self.clear(start, self.column_count)
            exists = arith.cmpi(arith.CmpIPredicate.ult, diagonal, self.column_count)

            def put() -> None:
                memref.store(value, self.target, [arith.addi(start, diagonal)])

            self.choose(exists, put, lambda: None)

        self._each_row(workgroup_id, count, self.rows, row)

    def _each_row(self, workgroup_id: ir.Value, count: ir.Value, total: ir.Value, body) -> None:
        """Emit `body` for the start of each row, and where the diagonal crosses it."""
        first = arith.divui(arith.muli(workgroup_id, total), count)
        behind = arith.divui(arith.muli(self.add(workgroup_id, 1), total), count)

        def row(number: ir.Value) -> None:
            at = arith.addi(arith.remui(number, self.rows), self.k)
            body(arith.muli(number, self.column_count), at)

        self.repeat(first, behind, row)

    def clear(self, start: ir.Value, count: ir.Value) -> None:
        """Write zeros to `count` elements."""
        is_float = isinstance(self.element, ir.FloatType)
        attribute = (ir.FloatAttr if is_float else ir.IntegerAttr).get(self.element, 0)
        zero, zeros = arith.constant(self.element, attribute), self.splat(0)
        lanes = self.index(self.lanes)
        whole = arith.divui(count, lanes)

        def vector(number: ir.Value) -> None:
            self.store(zeros, self.target, arith.addi(start, self.times(number, self.lanes)))

        def one(at: ir.Value) -> None:
            memref.store(zero, self.target, [arith.addi(start, at)])

        self.repeat(self.index(0), whole, vector)
        fills = arith.cmpi(arith.CmpIPredicate.uge, count, lanes)
        last = arith.addi(start, arith.subi(count, lanes))
        self.choose(
            fills,
            lambda: self.store(zeros, self.target, last),
            lambda: self.repeat(self.index(0), count, one),
        )
