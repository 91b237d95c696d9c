"""Matmul by packed weights of few bits, which are widened in registers.

The kernel is that of packed f32 weights (`MatmulEmitter`) with other loads of a panel; it counts K
in blocks that have their scales in common. For a tile of few rows, the products of a block are
summed before its scale is applied, which saves a multiplication for each weight; with more rows, or
if weights have to be exact, the scale is applied to the weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...mlir import arith, ir, memref, vector
from .block_panels import BlockPanelsEmitter, BlockPanelsShape
from .emitter import LhsBlock, Prefetch, Registers
from .nbits_weights import NbitsReader

SUMMED_ROWS = 2
"""Maximum rows of a tile for which products are summed before they are scaled: the sums of a block
take as many registers as those of all blocks."""


@dataclass(frozen=True)
class NbitsMatmulShape(BlockPanelsShape):
    """A matmul by panels whose weights are widened in registers."""

    exact: bool = field(kw_only=True)
    """True if weights are scaled before they are multiplied."""

    @property
    def row_elements(self) -> int:
        """See `MatmulShape`."""
        return self.k * self.layout.block

    @property
    def streamed_rows(self) -> int:
        """See `MatmulShape`; more rows take as long to multiply as weights to read."""
        return SUMMED_ROWS


class NbitsMatmulEmitter(BlockPanelsEmitter):
    """Emits the kernel."""

    shape: NbitsMatmulShape

    def multiply(
        self,
        left: LhsBlock,
        right: ir.Value,
        start: ir.Value,
        k: int | ir.Value,
        accumulators: Registers,
        ahead: Prefetch | None = None,
        mask: ir.Value | None = None,
    ) -> Registers:
        """See `VectorEmitter`. Nothing is masked, because panels are padded."""
        assert mask is None
        parts = len(accumulators) // left.count
        reader = NbitsReader(self, right, self.shape.layout, parts, self.index(0))
        is_summed = not self.shape.exact and left.count <= SUMMED_ROWS
        compute = self._scaled_sums if is_summed else self._scaled_weights

        def step(index: ir.Value, registers: Registers) -> Registers:
            block = _Block(
                self.add(start, self.times(index, left.panel_width)), left.memory,
                [self._element(left, row, index) for row in range(left.count)],
            )  # fmt: skip
            if ahead is not None:
                self.prefetch_block(right, ahead, index)
            return compute(reader, block, registers)

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)

    def _element(self, left: LhsBlock, row: int, block: ir.Value) -> ir.Value:
        """The first element of a row in block `block`."""
        assert isinstance(left.stride, int)
        at = self.add(self.add(left.start, row * left.stride), block)
        return self.times(at, self.shape.layout.block)

    def _scaled_weights(
        self, reader: NbitsReader, block: "_Block", registers: Registers
    ) -> Registers:
        """Accumulate the products of rows by the weights of a block."""
        scaling = reader.scaling(block.start, self.shape.exact)
        return self._products(reader, block, registers, scaling.weight)

    def _scaled_sums(self, reader: NbitsReader, block: "_Block", registers: Registers) -> Registers:
        """Sum the products of a block, and accumulate the scaled sums."""
        blank = [self.splat(0)] * len(registers)
        sums = self._products(reader, block, blank, lambda integers, _: integers)
        scales, zeros = reader.scales(block.start), reader.zeros(block.start)
        results = []
        for row, first in enumerate(block.rows):
            total = arith.negf(self._sum(block.memory, first)) if zeros else None
            for part, scale in enumerate(scales):
                at = row * reader.parts + part
                value = sums[at]
                if total is not None:
                    value = vector.fma(zeros[part], vector.broadcast(value.type, total), value)
                results.append(vector.fma(value, scale, registers[at]))
        return results

    def _products(
        self,
        reader: NbitsReader,
        block: "_Block",
        registers: Registers,
        weight: Callable[[ir.Value, int], ir.Value],
    ) -> Registers:
        """Accumulate the products of rows by what `weight` makes of a block's integers."""
        layout = self.shape.layout

        def line(index: ir.Value, registers: Registers) -> Registers:
            words = reader.words(block.start, index)
            element = self.times(index, layout.per_word)
            registers = list(registers)
            for number in range(layout.per_word):
                columns = [
                    weight(reader.integers(word, number), part) for part, word in enumerate(words)
                ]
                for row, first in enumerate(block.rows):
                    position = self.add(self.add(first, element), number)
                    scalar = memref.load(block.memory, [position])
                    self.multiply_add(scalar, columns, registers, row * reader.parts)
            return registers

        return self.loop((self.index(0), self.index(layout.lines)), registers, line)

    def _sum(self, memory: ir.Value, first: ir.Value) -> ir.Value:
        """The sum of a row's elements in a block."""
        size = self.shape.layout.block
        lanes = min(self.lanes, size)
        lanes = lanes if not size % lanes else 4  # blocks are whole words of bytes
        total = self.load(memory, first, lanes=lanes)
        for start in range(lanes, size, lanes):
            total = arith.addf(total, self.load(memory, self.add(first, start), lanes=lanes))
        flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
        return vector.reduction(self.element, vector.CombiningKind.ADD, total, fastmath=flags)


@dataclass(frozen=True)
class _Block:
    """A block of a panel, from the word `start` on, and the first elements in `memory` of the rows
    that it is multiplied by."""

    start: ir.Value
    memory: ir.Value
    rows: Registers
