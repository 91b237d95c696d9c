"""The blocks of matmul kernels: rows, K blocks of panels, and where their lines come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...mlir import arith, ir
from .emitter import LhsBlock, Prefetch, Registers, VectorEmitter, VectorSlice
from .register_tiles import RegisterTiles


@dataclass(frozen=True)
class KBlock:
    """A K block: its first line and its length; whether blocks precede it (`continues`), and
    whether it is the last (`ends`). Both flags are None if it is the only block."""

    start: ir.Value
    length: ir.Value
    continues: ir.Value | None = None
    ends: ir.Value | None = None


@dataclass(frozen=True)
class PanelColumns:
    """The columns of a panel: the first one in the result, and the vectors that hold them, with
    masks of the lanes that the result has."""

    first: ir.Value
    parts: Sequence[VectorSlice]
    masks: Sequence[ir.Value | None]

    def in_order(self, lanes: int) -> "PanelColumns":
        """The same columns in vectors of `lanes`. The backend reads the parts of a longer vector
        that one row is multiplied by from the last to the first, which the prefetchers of Zen 4
        take for a stream backwards: a row took 1.6 times as long as two."""
        cut = [
            (VectorSlice(part.start + n, lanes, min(lanes, part.count - n)), mask)
            for part, mask in zip(self.parts, self.masks, strict=True)
            for n in range(0, part.lanes, lanes)
        ]
        return PanelColumns(self.first, [part for part, _ in cut], [mask for _, mask in cut])


@dataclass(frozen=True)
class PanelBlock:
    """A K block of a panel: its columns, its first weight, and the first of those that are read
    after it."""

    panel: ir.Value
    k_block: KBlock
    columns: PanelColumns
    weights: ir.Value
    following: ir.Value


@dataclass(frozen=True)
class LineSource:
    """Where the lines of a K block come from: from the start of `memory`, `width` elements apart,
    or from `read`, which gives the vectors of a line by its number."""

    memory: ir.Value
    width: int
    read: Callable[[ir.Value], Registers] | None = None

    def multiply(
        self,
        emitter: VectorEmitter,
        left: LhsBlock,
        k: int | ir.Value,
        accumulators: Registers,
        ahead: Prefetch | None,
    ) -> Registers:
        """Accumulate the products of the rows of `left` by the lines."""
        if self.read is not None:
            return emitter.multiply_lines(left, self.read, k, accumulators, ahead)
        left = replace(left, panel_width=self.width)
        return emitter.multiply(left, self.memory, emitter.index(0), k, accumulators, ahead)


@dataclass(frozen=True)
class RowGaps:
    """Gaps of `size` rows in the result, behind so many of a block and their multiples as
    `reciprocal` is the inverse of, in fixed point; none if it is zero."""

    BITS = 40
    """Fraction bits: exact for products of a row's number and the rows between gaps below 2^40."""

    reciprocal: ir.Value
    size: int

    @staticmethod
    def between(emitter: VectorEmitter, rows: ir.Value, size: int, flag: ir.Value) -> "RowGaps":
        """Gaps between `rows` rows, if `flag` is set."""
        divisor = arith.maxui(rows, emitter.index(1))
        rounded_up = emitter.add(arith.divui(emitter.index((1 << RowGaps.BITS) - 1), divisor), 1)
        return RowGaps(arith.select(flag, rounded_up, emitter.index(0)), size)

    def before(self, emitter: VectorEmitter, line: ir.Value) -> ir.Value:
        """The rows in gaps before row `line` of the block."""
        product = arith.muli(line, self.reciprocal)
        return emitter.times(arith.shrui(product, emitter.index(self.BITS)), self.size)


@dataclass(frozen=True)
class RowsOfTiles:
    """A block of rows: its first row, its register tiles, its first row of the result, if that
    differs, and the elements of the next weights to prefetch per row, if rows are dynamic."""

    first: ir.Value
    tiles: list[RegisterTiles]
    result: ir.Value | None = None
    ahead: ir.Value | None = None
    gaps: RowGaps | None = None
