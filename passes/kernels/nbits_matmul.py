"""Matmul by packed weights of few bits, which are widened in registers.

The kernel is that of packed f32 weights (`MatmulEmitter`) with other loads of a panel; it counts K
in blocks that have their scales in common. For a tile of few rows, the products of a block are
summed before its scale is applied, which saves a multiplication for each weight; with more rows, or
if weights have to be exact, the scale is applied to the weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...dialects import graph
from ...mlir import arith, ir, llvm, memref, vector
from .emitter import CACHE_LINE, LhsBlock, Prefetch, Registers, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape

SUMMED_ROWS = 2
"""Maximum rows of a tile for which products are summed before they are scaled: the sums of a block
take as many registers as those of all blocks."""
_TABLE_LANES = 16
"""Entries of the table that VPERMPS looks up."""


@dataclass(frozen=True)
class NbitsMatmulShape(MatmulShape):
    """A matmul by panels of `layout`, whose `k` is counted in blocks."""

    layout: graph.NbitsFormat = field(kw_only=True)
    exact: bool = field(kw_only=True)
    """True if weights are scaled before they are multiplied."""

    @property
    def line(self) -> int:
        """See `MatmulShape`; the words of a block."""
        return self.layout.words

    @property
    def row_elements(self) -> int:
        """See `MatmulShape`."""
        return self.k * self.layout.block

    @property
    def flops(self) -> int | None:
        """See `MatmulShape`."""
        blocks = super().flops
        return None if blocks is None else self.layout.block * blocks

    @property
    def k_blocks(self) -> int:
        """One, so that accumulators stay in registers: a panel is a fraction of that of f32, and
        the L2 is fast enough for it."""
        return 1

    @property
    def looks_up(self) -> bool:
        """True if one instruction looks up what a field of bits stands for."""
        return self.layout.bits <= 4 and self.lanes == _TABLE_LANES


class NbitsMatmulEmitter(MatmulEmitter):
    """Emits the kernel."""

    shape: NbitsMatmulShape

    def parts(self, columns: int) -> list[VectorSlice]:
        """See `MatmulEmitter`: vectors of the length that the instructions take."""
        return short_vectors(columns, self.lanes)

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
        is_summed = not self.shape.exact and left.count <= SUMMED_ROWS

        def step(index: ir.Value, registers: Registers) -> Registers:
            block = _Block(
                right, self.add(start, self.times(index, left.panel_width)),
                [self._element(left, row, index) for row in range(left.count)],
            )  # fmt: skip
            if ahead is not None:
                self._prefetch(right, ahead, index)
            compute = self._scaled_sums if is_summed else self._scaled_weights
            return compute(block, left.memory, parts, registers)

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)

    def _element(self, left: LhsBlock, row: int, block: ir.Value) -> ir.Value:
        """The first element of a row in block `block`."""
        assert isinstance(left.stride, int)
        at = self.add(self.add(left.start, row * left.stride), block)
        return self.times(at, self.shape.layout.block)

    def _prefetch(self, memory: ir.Value, ahead: Prefetch, index: ir.Value) -> None:
        for more in range(0, ahead.step, CACHE_LINE):
            at = self.add(ahead.start, self.add(self.times(index, ahead.step), more))
            memref.prefetch(memory, [at], is_write=False, locality_hint=2, is_data_cache=True)

    def _scaled_weights(
        self, block: "_Block", rows: ir.Value, parts: int, registers: Registers
    ) -> Registers:
        """Accumulate the products of rows by the weights of a block."""
        scales, zeros = self._scales(block, parts)
        if zeros and not self.shape.exact:
            shifts = [
                arith.negf(arith.mulf(zero, scale))
                for zero, scale in zip(zeros, scales, strict=True)
            ]

        def weight(value: ir.Value, part: int) -> ir.Value:
            if not zeros:
                return arith.mulf(value, scales[part])
            if self.shape.exact:
                return arith.mulf(arith.subf(value, zeros[part]), scales[part])
            return vector.fma(value, scales[part], shifts[part])

        return self._products(block, rows, parts, registers, weight)

    def _scaled_sums(
        self, block: "_Block", rows: ir.Value, parts: int, registers: Registers
    ) -> Registers:
        """Sum the products of a block, and accumulate the scaled sums."""
        blank = [self.splat(0)] * len(registers)
        sums = self._products(block, rows, parts, blank, lambda value, _: value)
        scales, zeros = self._scales(block, parts)
        results = []
        for row, first in enumerate(block.rows):
            total = arith.negf(self._sum(rows, first)) if zeros else None
            for part in range(parts):
                at = row * parts + part
                value = sums[at]
                if total is not None:
                    spread = vector.broadcast(value.type, total)
                    value = vector.fma(zeros[part], spread, value)
                results.append(vector.fma(value, scales[part], registers[at]))
        return results

    def _products(
        self,
        block: "_Block",
        rows: ir.Value,
        parts: int,
        registers: Registers,
        weight: Callable[[ir.Value, int], ir.Value],
    ) -> Registers:
        """Accumulate the products of rows by what `weight` makes of a block's integers."""
        layout = self.shape.layout

        def line(index: ir.Value, registers: Registers) -> Registers:
            at = self.add(block.start, self.times(index, layout.nr))
            words = [
                self.load(block.memory, self.add(at, part * self.lanes)) for part in range(parts)
            ]
            element = self.times(index, layout.per_word)
            registers = list(registers)
            for number in range(layout.per_word):
                columns = [
                    weight(self._integers(word, number), part) for part, word in enumerate(words)
                ]
                for row, first in enumerate(block.rows):
                    position = self.add(self.add(first, element), number)
                    scalar = memref.load(rows, [position])
                    self.multiply_add(scalar, columns, registers, row * parts)
            return registers

        return self.loop((self.index(0), self.index(layout.lines)), registers, line)

    def _integers(self, words: ir.Value, number: int) -> ir.Value:
        """The integers in field `number` of words, as f32."""
        layout, i32 = self.shape.layout, ir.IntegerType.get_signless(32)
        first = layout.bit(number)
        if self.shape.looks_up:
            indices = arith.shrui(words, self.splat(first, element=i32)) if first else words
            name = "llvm.x86.avx512.permvar.sf.512"
            return llvm.call_intrinsic(self.vector_type, name, [self._table, indices], [], [])
        rest = 32 - layout.bits - first
        top = arith.shli(words, self.splat(rest, element=i32)) if rest else words
        q = arith.shrsi(top, self.splat(32 - layout.bits, element=i32))
        if layout.offset:
            q = arith.addi(q, self.splat(layout.offset, element=i32))
        return arith.sitofp(self.vector_type, q)

    @property
    def _table(self) -> ir.Value:
        """The floats that the lowest four bits of a word stand for."""
        layout = self.shape.layout
        half = 1 << (layout.bits - 1)
        fields = [index % (2 * half) for index in range(_TABLE_LANES)]
        values = [float((q + half) % (2 * half) - half + layout.offset) for q in fields]
        attributes = [ir.FloatAttr.get(self.element, value) for value in values]
        return arith.constant(
            self.vector_type, ir.DenseElementsAttr.get(attributes, self.vector_type)
        )

    def _scales(self, block: "_Block", parts: int) -> tuple[Registers, Registers]:
        """Scales and zero points of a block's columns, as f32; no zero points if there are none."""
        layout = self.shape.layout
        first = self.add(block.start, layout.lines * layout.nr)
        scales = [self._scale(block.memory, first, part) for part in range(parts)]
        if not layout.zeros:
            return scales, []
        first = self.add(first, layout.scale_words)
        return scales, [self._scale(block.memory, first, part) for part in range(parts)]

    def _scale(self, memory: ir.Value, first: ir.Value, part: int) -> ir.Value:
        is_half = self.shape.layout.scales == "f16"
        words = self.lanes // 2 if is_half else self.lanes
        values = self.load(memory, self.add(first, part * words), lanes=words)
        if not is_half:
            return vector.bitcast(self.vector_type, values)
        half = ir.VectorType.get([self.lanes], ir.F16Type.get())
        return arith.extf(self.vector_type, vector.bitcast(half, values))

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
    """A block of a panel, from `start` of `memory` on, and the first elements of the rows that it
    is multiplied by."""

    memory: ir.Value
    start: ir.Value
    rows: Registers
