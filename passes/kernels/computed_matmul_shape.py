"""The sizes of a matmul of computed matrices, and how it is cut into workgroups."""

import math
from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...dialects.symbolic import Dim
from ...mlir import arith, ir
from .vector_registers import register_tile

Size = int | Dim

BLOCK_ROWS = 96
"""Maximum rows of a workgroup: what it reads of the right matrix is read once for all of them."""
PACKED_ROWS = 24
"""Rows from which packing the right matrix pays: so often each of its elements is read."""
WORKGROUP_BYTES = 1 << 16
"""Bytes of the right matrix that a workgroup reads, at least: starting one costs time."""


def is_packed(rows: ir.Value) -> ir.Value:
    """True (an i1) if the right matrix of a matmul of `rows` rows is packed."""
    return arith.cmpi(arith.CmpIPredicate.uge, rows, _index(PACKED_ROWS))


@dataclass(frozen=True)
class ComputedMatmulShape:
    """``[rows, k] x [k, columns]`` for each matrix of a batch."""

    batch: tuple[Size, ...]
    """The leading sizes of the result."""
    left: tuple[Size, ...]
    """Those of the left operand, as many; sizes of 1 repeat."""
    right: tuple[Size, ...]
    rows: Size
    k: Size
    columns: Size
    is_transposed: bool
    """True if the right operand is stored as [columns, k]."""
    cpu: CpuModel

    @property
    def flops(self) -> int | None:
        sizes = (*self.batch, self.rows, self.k, self.columns)
        known = [size for size in sizes if isinstance(size, int)]
        return 2 * math.prod(known) if len(known) == len(sizes) else None

    @property
    def lanes(self) -> int:
        return self.cpu.lanes

    @property
    def panel(self) -> int:
        """Columns of a packed panel, which those of a register tile are."""
        return register_tile(self.cpu).vectors * self.lanes

    @property
    def width(self) -> int:
        """Columns that are computed together. Twice those of a tile, as the accumulators of a row
        or two leave registers, and longer lines are read faster."""
        narrow = isinstance(self.columns, int) and self.columns <= self.panel
        return self.panel if narrow else 2 * self.panel

    @property
    def may_pack(self) -> bool:
        """True unless there are too few rows, whatever the dynamic sizes are."""
        return not isinstance(self.rows, int) or self.rows >= PACKED_ROWS

    def groups(self, k: ir.Value) -> ir.Value:
        """Groups of `width` columns in a workgroup."""
        group = arith.muli(arith.maxui(k, _index(1)), _index(4 * self.width))
        return arith.maxui(arith.divui(_index(WORKGROUP_BYTES), group), _index(1))

    def blocks(self, rows: ir.Value, k: ir.Value, columns: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The numbers of blocks of rows and of columns."""
        width = arith.muli(self.groups(k), _index(self.width))
        return arith.ceildivui(rows, _index(BLOCK_ROWS)), arith.ceildivui(columns, width)

    @property
    def dot_tiles(self) -> list[tuple[int, int]]:
        """Rows and columns of tiles whose accumulators fill the lanes of whole vectors."""
        lanes = self.lanes
        if lanes == 4:
            return [(4, 4), (2, 4), (1, 4)]
        return [(1 << n, lanes >> n) for n in range(lanes.bit_length() - 3, -1, -1)]


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
