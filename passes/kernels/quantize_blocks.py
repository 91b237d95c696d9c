"""Quantization of rows of f32 to 8 bits by blocks (`graph.QuantizedBlock`)."""

from dataclasses import dataclass

from ...dialects import graph
from ...mlir import arith, ir, memref, vector
from .emitter import VectorEmitter
from .scalar_functions import compare, integer_like, like, round_small
from .sizes import index

MOST_WORKGROUPS = 16
WORKGROUP_BLOCKS = 1 << 9
"""Blocks of a workgroup, at least: as many as a thread quantizes while another one wakes."""


@dataclass(frozen=True)
class QuantizeBlocksShape:
    """`rows` rows of `row_blocks` blocks; None for rows that are known only at run time."""

    rows: int | None
    row_blocks: int
    layout: graph.QuantizedBlock
    lanes: int

    flops = 0

    @property
    def workgroups(self) -> int:
        """Workgroups of known rows."""
        assert self.rows is not None
        wanted = self.rows * self.row_blocks // WORKGROUP_BLOCKS
        return min(max(wanted, 1), MOST_WORKGROUPS)

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        blocks = arith.muli(rows, index(self.row_blocks))
        wanted = arith.maxui(arith.divui(blocks, index(WORKGROUP_BLOCKS)), index(1))
        return arith.minui(wanted, index(MOST_WORKGROUPS))


class QuantizeBlocksEmitter(VectorEmitter):
    """Emits the kernel. A vector has a whole block, which the backend cuts into registers."""

    def __init__(self, shape: QuantizeBlocksShape, source: ir.Value, target: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.source, self.target = shape, source, target

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self.shape
        if rows is None:
            assert shape.rows is not None
            rows, count = self.index(shape.rows), self.index(shape.workgroups)
        else:
            count = shape.count_workgroups(rows)
        total = self.times(rows, shape.row_blocks)
        first, last = (
            arith.divui(arith.muli(at, total), count)
            for at in (workgroup_id, self.add(workgroup_id, 1))
        )
        self.repeat(first, last, self._block)

    def _block(self, number: ir.Value) -> None:
        """Quantize a block, counted from the first one of the first row."""
        layout, i32 = self.shape.layout, ir.IntegerType.get_signless(32)
        x = self.load(self.source, self.times(number, layout.size), lanes=layout.size)
        largest = self._largest(x)
        scale = arith.divf(largest, like(127, largest))
        inverse = arith.divf(like(1, scale), scale)
        inverse = arith.select(compare("OGT", scale, 0), inverse, like(0, scale))
        q = round_small(arith.mulf(x, vector.broadcast(x.type, inverse)))
        bytes_ = arith.trunci(self.vector_of(layout.size, ir.IntegerType.get_signless(8)), q)
        total = arith.sitofp(self.element, vector.reduction(i32, vector.CombiningKind.ADD, q))
        at = self.times(number, layout.words)
        words = vector.bitcast(self.vector_of(layout.groups, i32), bytes_)
        vector.store(words, self.target, [at])
        for behind, value in enumerate((scale, total)):
            place = self.add(at, layout.groups + behind)
            memref.store(arith.bitcast(i32, value), self.target, [place])

    def _largest(self, x: ir.Value) -> ir.Value:
        """The largest magnitude in `x`, by its bits, which grow with it; a NaN exceeds all."""
        i32 = ir.IntegerType.get_signless(32)
        bits = arith.bitcast(self.vector_of(self.shape.layout.size, i32), x)
        magnitude = arith.andi(bits, integer_like(0x7FFFFFFF, bits))
        largest = vector.reduction(i32, vector.CombiningKind.MAXUI, magnitude)
        return arith.bitcast(self.element, largest)
