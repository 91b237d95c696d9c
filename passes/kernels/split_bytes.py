"""A kernel that splits rows of u16 into their low bytes and their high bytes."""

from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .rows import RowChunks
from .scalar_functions import integer_like
from .sizes import Index, index

LANES = 32
"""Elements of a vector."""


@dataclass(frozen=True)
class SplitBytes:
    """Rows of known length."""

    rows: RowChunks

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of rows is known."""
        return self.rows.workgroups

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the number of rows."""
        return self.rows.count_workgroups(*dynamic)


class SplitBytesEmitter:
    """Emits the kernel. The last vector of a row begins in that before it."""

    def __init__(self, shape: SplitBytes, source: ir.Value, target: ir.Value):
        self.shape, self.source, self.target = shape, source, target

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.shape.rows.for_each_row(workgroup_id, dynamic, self._row)

    def _row(self, start: ir.Value, length: Index) -> None:
        """Emit one row."""
        assert isinstance(length, int)
        target, lanes = arith.muli(start, index(2)), LANES
        while lanes > length:
            lanes //= 2
        for column in range(0, length, lanes):
            self._vector(start, target, min(column, length - lanes), lanes, length)

    def _vector(
        self, start: ir.Value, target: ir.Value, column: int, lanes: int, length: int
    ) -> None:
        words, i8 = ir.IntegerType.get_signless(16), ir.IntegerType.get_signless(8)
        at = arith.addi(start, index(column))
        x = vector.load(ir.VectorType.get([lanes], words), self.source, [at])
        for byte, value in enumerate((x, arith.shrui(x, integer_like(8, x)))):
            low = arith.trunci(ir.VectorType.get([lanes], i8), value)
            place = arith.addi(target, index(byte * length + column))
            vector.store(low, self.target, [place])
