"""The sums of blocks of rows that a Strassen-like matmul multiplies."""

import math
from dataclasses import dataclass

from ...dialects.graph.strassen import GAP, terms_size
from ...mlir import arith, ir
from .emitter import VectorEmitter
from .sizes import Index, ceil_quotient, index, product
from .strassen_shape import RowBlocks, count_replicas

LANES = 16
"""Elements in a vector of sums of rows; CPUs with narrower registers use several for one."""
TERM_ELEMENTS = 1 << 15
"""Elements of a factor in a workgroup of the kernel that sums its blocks."""


@dataclass(frozen=True)
class TermsShape(RowBlocks):
    """The sums of blocks of `rows` x `k` elements."""

    rows: int | None
    k: int
    blocks: str
    replicas: int = 1
    """Copies; if rows are dynamic, at most so many (`count_replicas`)."""
    shared: int = 0
    """Rows of a block up to which there are several copies, if rows are dynamic."""
    least: int = 0
    """Rows below which nothing is summed, if rows are dynamic."""

    flops = 0

    @property
    def lanes(self) -> int:
        return math.gcd(LANES, self.width)

    @property
    def width(self) -> int:
        """Elements in a row of a block."""
        return self.k // self.algorithm.k

    @property
    def chunk(self) -> int:
        """Rows of a block in a workgroup, at most."""
        most = max(1, TERM_ELEMENTS // (self.algorithm.rows * self.k))
        return most if self.rows is None else min(self.height, most)

    @property
    def workgroups(self) -> int:
        return self.replicas * self.chunks

    @property
    def chunks(self) -> int:
        """Workgroups per copy."""
        return -(-self.height // self.chunk)

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        height = self.count_height(rows)
        copies = count_replicas(index(height), self.replicas, self.shared)
        workgroups = index(product(ceil_quotient(height, self.chunk), copies))
        pays = arith.cmpi(arith.CmpIPredicate.uge, rows, index(self.least))
        return arith.select(pays, workgroups, index(0))

    def write(self, workgroup_id: ir.Value, x: ir.Value, result: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        TermsEmitter(self, x, result).workgroup(workgroup_id)


class TermsEmitter(VectorEmitter):
    """Emits the kernel that sums blocks of rows. Indices count elements."""

    def __init__(self, shape: TermsShape, x: ir.Value, result: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.x, self.result = shape, x, result

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`: some rows of all sums. The last blocks may lack the last
        row."""
        shape, algorithm = self.shape, self.shape.algorithm
        height: Index = shape.height if rows is None else shape.count_height(rows)
        chunks: Index = shape.chunks if rows is None else ceil_quotient(height, shape.chunk)
        stride = self._stride(height)
        copy = arith.divui(workgroup_id, self.index(chunks))
        target = self.times(copy, product(stride, algorithm.products))
        first = self.times(arith.remui(workgroup_id, self.index(chunks)), shape.chunk)
        last = arith.minui(self.add(first, shape.chunk), self.index(height))
        if rows is None:
            assert shape.rows is not None
            missing = shape.height * algorithm.rows - shape.rows
            present = [algorithm.rows - missing] if missing else []
            whole = self.index(shape.height - (1 if missing else 0))
        else:
            present = list(range(1, algorithm.rows))
            whole = arith.divui(rows, self.index(algorithm.rows))
        full = arith.minui(last, whole)
        assert algorithm.rows == 2  # of more blocks of rows, the last may lack several rows

        def emit(count: int, first: ir.Value, last: ir.Value) -> None:
            self.repeat(first, last, lambda row: self._row(row, count, target, height, stride))

        emit(algorithm.rows, first, full)
        for count in present:
            end = last
            if rows is not None:
                rest = arith.remui(rows, self.index(algorithm.rows))
                is_that = self.compare(arith.CmpIPredicate.eq, rest, count)
                end = arith.select(is_that, last, full)
            emit(count, full, end)

    def _stride(self, height: Index) -> Index:
        """Stride from the sums of one product to those of the next, in elements."""
        width = self.shape.width
        if isinstance(height, int):
            return terms_size(height, width)
        return self.add(self.times(height, width), GAP)

    def _row(
        self, row: ir.Value, present: int, target: ir.Value, height: Index, stride: Index
    ) -> None:
        """Emit one row of each sum; only the first `present` rows of blocks have that row."""
        shape, algorithm = self.shape, self.shape.algorithm
        lines = [row, *(self.add(row, product(height, down)) for down in range(1, present))]
        starts = [
            self.add(self.times(line, shape.k), across)
            for line in lines
            for across in range(0, shape.k, shape.width)
        ]

        def vectors(at: ir.Value) -> None:
            held = [self.load(self.x, arith.addi(start, at)) for start in starts]
            position = arith.addi(self.times(row, shape.width), target)
            for number, signs in enumerate(algorithm.left):
                total = self.signed_sum(signs[: len(held)], held)
                place = self.add(position, product(stride, number)) if number else position
                self.store(total, self.result, arith.addi(place, at))

        self.loop(
            (self.index(0), self.index(shape.width)), [],
            lambda at, registers: (vectors(at), registers)[1], step=self.lanes,
        )  # fmt: skip
