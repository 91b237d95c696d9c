"""Matmul of rows of 8 bits by packed weights of few bits, both quantized by blocks of K.

The kernel is that of packed f32 weights (`MatmulEmitter`), which counts K in blocks. The products
of a block are summed as integers (`NbitsDot`), of weights without sign by rows with sign. What
weights differ by from their integers without sign is the same in a block of a column: the product
of that and the sum of the row's integers is added.

Few rows unpack weights in registers. For many, a workgroup unpacks a K block of a panel to scratch
memory, which stays in the L1 (`nbits_panels`). Both compute the same, bit by bit.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ...dialects import graph
from ...mlir import arith, ir, memref, vector
from .block_panels import BlockPanelsEmitter, BlockPanelsShape
from .emitter import LhsBlock, Prefetch, Registers
from .group_dot import GROUP_BYTES
from .nbits_dots import NbitsDot
from .nbits_panels import NbitsPanelsEmitter, WidenedPanelsShape
from .nbits_weights import NbitsReader


@dataclass(frozen=True)
class Int8NbitsMatmulShape(BlockPanelsShape):
    """A matmul of rows of 8 bits by panels of packed weights."""

    products: NbitsDot = field(kw_only=True)

    @property
    def row_block(self) -> graph.QuantizedBlock:
        """The layout of a block of a row."""
        return graph.QuantizedBlock(self.layout.block)

    @property
    def row_elements(self) -> int:
        """See `MatmulShape`."""
        return self.k * self.row_block.words


@dataclass(frozen=True)
class Int8NbitsPanelsShape(WidenedPanelsShape, Int8NbitsMatmulShape):
    """The same, by weights that are unpacked to scratch memory: a block of a panel has lines of
    four weights of each column, then scales, then zero points, as f32."""

    @property
    def block_lines(self) -> int:
        """See `WidenedPanelsShape`."""
        return 1

    @property
    def line(self) -> int:
        """See `MatmulShape`; the words of an unpacked block."""
        return self.nr * (self.row_block.groups + 1 + self.layout.zeros)

    @property
    def k_blocks(self) -> int:
        """See `MatmulShape`."""
        return -(-self.k // max(1, self.weights_bytes // (GROUP_BYTES * self.line)))


@dataclass(frozen=True)
class _Rows:
    """Rows of a block: the first word of each, and for each a vector of its scale, of its sum, and
    of that times what all weights differ by from their integers without sign."""

    starts: Registers
    scales: Registers
    sums: Registers
    shifts: Registers


class Int8NbitsEmitter(BlockPanelsEmitter):
    """Emits what both kernels have in common."""

    shape: Int8NbitsMatmulShape

    @abstractmethod
    def dots(
        self, right: ir.Value, block: ir.Value, rows: Registers, first: int, sums: Registers
    ) -> Registers:
        """Add to `sums` the products of rows by as many vectors of columns of the block of a panel
        that starts at `block`, from vector `first` on."""

    @abstractmethod
    def scales(
        self, right: ir.Value, block: ir.Value, part: int
    ) -> tuple[ir.Value, ir.Value | None]:
        """The scales of vector `part` of the columns of a block, and what their weights differ by
        from their integers without sign, if there are zero points."""

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

        def step(index: ir.Value, registers: Registers) -> Registers:
            block = self.add(start, self.times(index, left.panel_width))
            if ahead is not None:
                self.prefetch_block(right, ahead, index)
            return self._block(right, block, self._rows_of(left, index), registers)

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)

    def _rows_of(self, left: LhsBlock, block: ir.Value) -> _Rows:
        """The rows in block `block`."""
        layout = self.shape.row_block
        assert isinstance(left.stride, int)
        starts = [
            self.times(self.add(self.add(left.start, row * left.stride), block), layout.words)
            for row in range(left.count)
        ]
        scales, sums = (
            [self._number(left.memory, self.add(at, layout.groups + n)) for at in starts]
            for n in range(2)
        )
        shift = self.splat(self.shape.layout.offset - self.half)
        return _Rows(starts, scales, sums, [arith.mulf(each, shift) for each in sums])

    def _number(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """A vector of the f32 in a word."""
        number = arith.bitcast(self.element, memref.load(memory, [at]))
        return vector.broadcast(self.vector_type, number)

    def _block(
        self, right: ir.Value, block: ir.Value, rows: _Rows, registers: Registers
    ) -> Registers:
        """Accumulate the products of rows by a block of a panel, some vectors of columns at a time:
        sums of integers need as many registers."""
        count, registers = len(rows.starts), list(registers)
        parts = len(registers) // count
        together = self._together(count, parts)
        for first in range(0, parts, together):
            some = range(first, min(first + together, parts))
            zero = self.splat(0, element=ir.IntegerType.get_signless(32))
            sums = self.dots(right, block, rows.starts, first, [zero] * (count * len(some)))
            for part in some:
                scale, zeros = self.scales(right, block, part)
                for row in range(count):
                    total = arith.sitofp(self.vector_type, sums[row * len(some) + part - first])
                    total = (
                        arith.addf(total, rows.shifts[row])
                        if zeros is None
                        else vector.fma(zeros, rows.sums[row], total)
                    )
                    at = row * parts + part
                    scaled = arith.mulf(total, scale)
                    registers[at] = vector.fma(scaled, rows.scales[row], registers[at])
        return registers

    def _together(self, rows: int, parts: int) -> int:
        """Vectors of columns, of `parts`, that are multiplied by `rows` at a time: as many as
        registers hold, so that memory is read in order."""
        free = self.shape.cpu.registers - rows * parts
        return max(1, min(parts, free // (rows + 1)))

    def summed(
        self,
        count: int,
        rows: Registers,
        sums: Registers,
        groups: Callable[[ir.Value], Iterator[tuple[ir.Value, Registers]]],
    ) -> Registers:
        """Add to `sums` the products of rows by `count` lines of a block, several in a step of a
        loop. `groups` reads the groups of a line: the word of rows, and the vectors of weights that
        multiply it."""
        most = next(
            n for n in range(min(count, self.shape.products.unroll), 0, -1) if count % n == 0
        )

        def step(index: ir.Value, sums: Registers) -> Registers:
            lines = (self.add(self.times(index, most), more) for more in range(most))
            return self._add_products(rows, (each for line in lines for each in groups(line)), sums)

        if most == count:
            return step(self.index(0), sums)
        return self.loop((self.index(0), self.index(count // most)), sums, step)

    def _add_products(
        self,
        rows: Registers,
        groups: Iterable[tuple[ir.Value, Registers]],
        sums: Registers,
    ) -> Registers:
        """Add the products of words of rows by vectors of weights."""
        products = self.shape.products
        sums, left = list(sums), 0
        held: list[ir.Value | None] = []
        for group, weights in groups:
            if not left:
                sums = self._with(sums, held)
                held, left = [products.hold(total) for total in sums], products.together
            self._multiply_group(rows, group, weights, held)
            left -= 1
        return self._with(sums, held)

    def _multiply_group(
        self, rows: Registers, group: ir.Value, weights: Registers, held: list[ir.Value | None]
    ) -> None:
        """Add the products of word `group` of rows by vectors of weights to what is `held`."""
        products = self.shape.products
        vectors = [vector.bitcast(products.dot.groups, each) for each in weights]
        for row, start in enumerate(rows):
            factors = products.dot.repeated(memref.load(self.x, [self.add(start, group)]))
            for part, each in enumerate(vectors):
                at = row * len(vectors) + part
                held[at] = products.multiply_add(held[at], each, factors)

    def _with(self, sums: Registers, held: list[ir.Value | None]) -> Registers:
        """The `sums` with what is `held`, if there is anything."""
        if not held:
            return sums
        pairs = zip(sums, held, strict=True)
        return [self.shape.products.add(total, each) for total, each in pairs if each is not None]

    def integers(self, words: ir.Value, group: int) -> ir.Value:
        """Group `group` of words as bytes, which are higher than the integers by `half`."""
        bits, i32 = self.shape.layout.bits, ir.IntegerType.get_signless(32)

        def alike(byte: int) -> ir.Value:
            return self.splat(_signed(byte * 0x01010101), element=i32)

        if group:
            words = arith.shrui(words, self.splat(bits * group, element=i32))
        if not self.half:
            return words
        flipped = arith.xori(words, alike(self.half))
        return flipped if bits == 8 else arith.andi(flipped, alike((1 << bits) - 1))

    @cached_property
    def half(self) -> int:
        """The difference of bytes without sign from the integers; 0 if these are multiplied."""
        return 0 if self.shape.products.is_signed else 1 << (self.shape.layout.bits - 1)

    def shift(self, zeros: ir.Value) -> ir.Value:
        """The difference of weights with the zero points `zeros` from their bytes."""
        return arith.subf(self.splat(self.shape.layout.offset - self.half), zeros)


def _signed(word: int) -> int:
    """The bits of `word` as an integer of 32 bits with sign."""
    return word - (1 << 32) if word >> 31 else word


class Int8NbitsMatmulEmitter(Int8NbitsEmitter):
    """Emits the kernel for few rows."""

    def _reader(self, right: ir.Value, part: int, count: int = 1) -> NbitsReader:
        return NbitsReader(self, right, self.shape.layout, count, self.index(part))

    def dots(
        self, right: ir.Value, block: ir.Value, rows: Registers, first: int, sums: Registers
    ) -> Registers:
        """See `Int8NbitsEmitter`."""
        layout = self.shape.layout
        reader = self._reader(right, first, len(sums) // len(rows))
        groups = layout.per_word // GROUP_BYTES

        def line(index: ir.Value) -> Iterator[tuple[ir.Value, Registers]]:
            words = reader.words(block, index)
            for group in range(groups):
                weights = [self.integers(each, group) for each in words]
                yield self.add(self.times(index, groups), group), weights

        return self.summed(layout.lines, rows, sums, line)

    def scales(
        self, right: ir.Value, block: ir.Value, part: int
    ) -> tuple[ir.Value, ir.Value | None]:
        """See `Int8NbitsEmitter`."""
        reader = self._reader(right, part)
        zeros = reader.zeros(block)
        return reader.scales(block)[0], self.shift(zeros[0]) if zeros else None


class Int8NbitsPanelsEmitter(Int8NbitsEmitter, NbitsPanelsEmitter):
    """Emits the kernel for many rows."""

    shape: Int8NbitsPanelsShape

    def widen(self, reader: NbitsReader, block: ir.Value, target: ir.Value) -> None:
        """See `NbitsPanelsEmitter`."""
        layout, i32 = self.shape.layout, ir.IntegerType.get_signless(32)
        groups = layout.per_word // GROUP_BYTES

        def line(index: ir.Value) -> None:
            to = self.add(target, self.times(index, groups * layout.nr))
            for part, word in enumerate(reader.words(block, index)):
                for group in range(groups):
                    at = self.add(to, group * layout.nr + part * self.lanes)
                    self.store(self.integers(word, group), self.scratch, at)

        self.repeat(0, layout.lines, line)
        numbers = [*reader.scales(block), *map(self.shift, reader.zeros(block))]
        at = self.add(target, self.shape.row_block.groups * layout.nr)
        self.store_all(
            [vector.bitcast(self.vector_of(self.lanes, i32), each) for each in numbers],
            self.scratch, at,
        )  # fmt: skip

    def dots(
        self, right: ir.Value, block: ir.Value, rows: Registers, first: int, sums: Registers
    ) -> Registers:
        """See `Int8NbitsEmitter`."""
        shape, count = self.shape, len(sums) // len(rows)

        def line(index: ir.Value) -> Iterator[tuple[ir.Value, Registers]]:
            at = self.add(self.add(block, self.times(index, shape.nr)), first * self.lanes)
            yield index, self.load_all(right, at, [self.lanes] * count)

        return self.summed(shape.row_block.groups, rows, sums, line)

    def scales(
        self, right: ir.Value, block: ir.Value, part: int
    ) -> tuple[ir.Value, ir.Value | None]:
        """See `Int8NbitsEmitter`."""
        shape = self.shape
        at = self.add(block, shape.row_block.groups * shape.nr + part * self.lanes)
        scale, *shift = (
            vector.bitcast(self.vector_type, self.load(right, self.add(at, more * shape.nr)))
            for more in range(1 + shape.layout.zeros)
        )
        return scale, shift[0] if shift else None
