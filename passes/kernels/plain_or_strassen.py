"""Matmul of a dynamic number of rows: as it is, or from some number of rows on by a Strassen-like
algorithm. One kernel has both, and one copy of the weights serves both: of the blocks of the right
factor, the algorithm multiplies by some as they are.

Large weights are split: a few rows, whose speed is that of reading weights, are multiplied by the
first 24 bits of these. For more rows, elements are joined, K block by K block.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...dialects.graph.bilinear import ALGORITHMS, BilinearAlgorithm
from ...dialects.graph.f24_matmul import F24_WORDS
from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter, short_vectors
from .epilogue import Epilogue
from .f24_matmul import F24MatmulEmitter
from .matmul_blocks import KBlock, LineSource, PanelBlock, PanelColumns, RowsOfTiles
from .packed_matmul import MatmulEmitter, MatmulShape
from .register_tiles import RegisterTiles
from .sizes import Index
from .split_weights import (
    LANES,
    LineReader,
    SplitLines,
    fill_with_first_tile,
    remaining_tiles,
)
from .strassen import KBlockOfProduct, RowsOfBlocks, StrassenEmitter
from .strassen_shape import WEIGHTS_SHARE, StrassenShape


@dataclass(frozen=True)
class PlacedStrassenShape(StrassenShape):
    """A matmul by panels of `graph.pack_sums_and_blocks`."""

    @property
    def slots(self) -> tuple[int, ...]:
        """See `StrassenShape`."""
        return self.algorithm.slots


class PlacedStrassenEmitter(StrassenEmitter):
    """Emits the kernel with sums. Split weights are joined in the buffer `joined`, to which sums
    are copied, too: the same code multiplies by both."""

    joined: ir.Value | None = None

    def weights_of(self, panel: ir.Value, product: ir.Value) -> ir.Value:
        """See `StrassenEmitter`; the blocks of a block column are split together."""
        whole = super().weights_of(panel, product)
        if self.joined is None:
            return whole
        ahead = arith.muli(self._block(product), self.index(self.shape.k * LANES))
        return arith.select(self._is_block(product), arith.subi(whole, ahead), whole)

    def stride(self, product: ir.Value) -> Index:
        """See `StrassenEmitter`."""
        nr = self.shape.nr
        if self.joined is None:
            return nr
        return arith.select(self._is_block(product), self.index(F24_WORDS), self.index(nr))

    def multiply_tiles(self, block: KBlockOfProduct, target: ir.Value, lines: RowsOfBlocks) -> None:
        """See `StrassenEmitter`; the first full tile fills the buffer."""
        joined, shape = self.joined, self.shape
        if joined is None:
            return super().multiply_tiles(block, target, lines)
        is_block = self._is_block(block.product)
        buffer = LineSource(joined, shape.nr)

        def fill(multiply: Callable[[LineReader], None]) -> None:
            self.choose(
                is_block,
                lambda: multiply(self._split_lines(block, joined).join),
                lambda: multiply(lambda line: self._copy(block, line)),
            )

        def first(read: LineReader) -> None:
            source = replace(buffer, read=read)
            self.multiply_tile(self.index(0), lines.tiles[0], block, target, lines, source)

        fill_with_first_tile(self, lines.tiles, shape.kc, fill, first)
        for skipped, tiles in remaining_tiles(lines.tiles):

            def tile(number: ir.Value, tiles: RegisterTiles = tiles) -> None:
                self.multiply_tile(number, tiles, block, target, lines, buffer)

            self.repeat(skipped, tiles.count, tile)
        return None

    def _split_lines(self, block: KBlockOfProduct, joined: ir.Value) -> SplitLines:
        """The lines of a K block of a split block, the first of which has its first 24 bits at the
        weights."""
        shape, number = self.shape, self._block(block.product)
        column = arith.subi(
            self.weights_of(block.panel, block.product), self.times(number, shape.k * F24_WORDS)
        )
        rest = self.add(column, shape.algorithm.k * shape.k * F24_WORDS)
        line = self.add(self.times(number, shape.k), block.start)
        rest = self.add(rest, self.times(line, LANES))
        return SplitLines(self, self.weights, block.weights, rest, joined, shape.kc)

    def _copy(self, block: KBlockOfProduct, line: ir.Value) -> Registers:
        """Copy a line of sums to the buffer."""
        at = self.times(line, self.shape.nr)
        lanes = [part.lanes for part in short_vectors(self.shape.nr, self.lanes)]
        vectors = self.load_all(self.weights, self.add(block.weights, at), lanes)
        assert self.joined is not None
        self.store_all(vectors, self.joined, at)
        return vectors

    def _is_block(self, product: ir.Value) -> ir.Value:
        """True (an i1) if a product is by a block: not by a sum, nor one of the next panel."""
        algorithm = self.shape.algorithm
        number = self.add(product, -algorithm.sums)  # wraps for sums
        singles = algorithm.products - algorithm.sums
        return self.compare(arith.CmpIPredicate.ult, number, singles)

    def _block(self, product: ir.Value) -> ir.Value:
        """The number of the block that a product is by, in its block column."""
        algorithm = self.shape.algorithm
        return arith.remui(self.add(self.place(product), -algorithm.sums), self.index(algorithm.k))


@dataclass(frozen=True)
class PlacedMatmulShape(MatmulShape):
    """A matmul by the blocks in panels of `graph.pack_sums_and_blocks`; panel by panel, those of
    all block columns."""

    blocks: str = field(kw_only=True)
    is_split: bool = field(default=False, kw_only=True)

    @property
    def line(self) -> int:
        """See `MatmulShape`; of split weights, the part that has 24 bits of each."""
        return F24_WORDS if self.is_split else self.nr

    @property
    def weights_bytes(self) -> int:
        """See `MatmulShape`; of split weights, those that are joined at a time."""
        if not self.is_split:
            return super().weights_bytes
        return int(self.cpu.l2_bytes * WEIGHTS_SHARE) * self.line // self.nr

    @property
    def algorithm(self) -> BilinearAlgorithm:
        return ALGORITHMS[self.blocks]

    @property
    def breadth(self) -> int:
        """Columns of a block."""
        return -(-self.columns // self.algorithm.columns)

    @property
    def panels(self) -> int:
        """See `MatmulShape`."""
        return self.algorithm.columns * -(-self.breadth // self.nr)

    @property
    def is_even(self) -> bool:
        """True if all panels are full."""
        return not (self.columns % self.algorithm.columns or self.breadth % self.nr)

    @property
    def sums(self) -> int:
        """Elements of the sums in front of the blocks of a panel."""
        return self.algorithm.sums * self.k // self.algorithm.k * self.nr


class PlacedMatmulEmitter(MatmulEmitter):
    """Emits the kernel without sums. Split weights are joined in the buffer `joined`."""

    shape: PlacedMatmulShape
    joined: ir.Value | None = None

    def each_panel(
        self,
        first: ir.Value,
        last: ir.Value,
        emit: Callable[[ir.Value, PanelColumns], None],
    ) -> None:
        """See `MatmulEmitter`; the last panel of each block column may be partial."""
        shape = self.shape

        def panel(number: ir.Value) -> None:
            inner, column = self._place(number)
            start, skipped = self.times(column, shape.breadth), self.times(inner, shape.nr)
            feature = self.add(start, skipped)

            def whole() -> None:
                parts = self.parts(shape.nr)
                emit(number, PanelColumns(feature, parts, [None] * len(parts)))

            if shape.is_even:
                return whole()
            left = arith.subi(self.index(shape.columns), start)
            left = arith.subi(arith.minui(left, self.index(shape.breadth)), skipped)

            def partial() -> None:
                parts = short_vectors(shape.nr, shape.lanes)
                counts = [self.add(left, -part.start) for part in parts]
                emit(number, PanelColumns(feature, parts, list(map(self.lanes_below, counts))))

            is_full = self.compare(arith.CmpIPredicate.sge, left, shape.nr)
            return self.choose(is_full, whole, partial)

        self.repeat(first, last, panel)

    def _place(self, panel: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The number of a panel among those of its block column, and the block column."""
        columns = self.index(self.shape.algorithm.columns)
        return arith.divui(panel, columns), arith.remui(panel, columns)

    def weights_of(self, panel: ir.Value, start: ir.Value, length: ir.Value) -> ir.Value:
        """See `MatmulEmitter`."""
        del length
        return self.add(self._blocks_of(panel), self.times(start, self.shape.line))

    def _blocks_of(self, panel: ir.Value) -> ir.Value:
        """The first weight of a panel, behind the sums of the blocks of all before it."""
        shape = self.shape
        inner, _ = self._place(panel)
        skipped = self.times(self.add(inner, 1), shape.sums)
        return arith.addi(skipped, self.times(panel, shape.k * shape.nr))

    def following(self, panel: ir.Value, weights: ir.Value, k_block: KBlock) -> ir.Value:
        """See `MatmulEmitter`; behind the last block column, the sums of another panel are
        skipped, and before each other panel, what is left of split weights."""
        shape = self.shape
        next_ = super().following(panel, weights, k_block)
        _, column = self._place(panel)
        skips = self.compare(arith.CmpIPredicate.eq, column, shape.algorithm.columns - 1)
        rest = self.index(shape.k * (shape.nr - shape.line))
        if shape.nc_panels == 1 and k_block.ends is not None:
            skips = arith.andi(skips, k_block.ends)
            rest = arith.select(k_block.ends, rest, self.index(0))
        if shape.is_split:
            next_ = arith.addi(next_, rest)
        return arith.addi(next_, arith.select(skips, self.index(shape.sums), self.index(0)))

    def multiply_tiles(self, block: PanelBlock, lines: RowsOfTiles) -> None:
        """See `MatmulEmitter`; of split weights, the first full tile joins those of the block."""
        joined, shape, k_block = self.joined, self.shape, block.k_block
        if joined is None:
            return super().multiply_tiles(block, lines)
        rest = self.add(self._blocks_of(block.panel), shape.k * F24_WORDS)
        rest = self.add(rest, self.times(k_block.start, LANES))
        split = SplitLines(self, self.weights, block.weights, rest, joined, shape.kc)
        buffer = LineSource(joined, shape.nr)
        short = replace(block, columns=block.columns.in_order(self.lanes))

        def first(read: LineReader) -> None:
            source = replace(buffer, read=read)
            self.multiply_tile(self.index(0), lines.tiles[0], short, lines, source)

        fill_with_first_tile(
            self, lines.tiles, k_block.length, lambda multiply: multiply(split.join), first
        )
        for skipped, tiles in remaining_tiles(lines.tiles):

            def tile(number: ir.Value, tiles: RegisterTiles = tiles) -> None:
                self.multiply_tile(number, tiles, block, lines, buffer)

            self.repeat(skipped, tiles.count, tile)
        return None


class FirstBitsEmitter(PlacedMatmulEmitter, F24MatmulEmitter):
    """Emits the kernel without sums that reads 24 bits of split weights."""


@dataclass(frozen=True)
class PlainOrStrassenShape:
    """A matmul of dynamic rows."""

    plain: PlacedMatmulShape
    strassen: PlacedStrassenShape
    least: int
    """Rows from which sums of blocks are multiplied."""
    few_rows: int = 0
    """Rows up to which 24 bits of split weights are read; 0 if they are not split."""

    flops = None

    @property
    def few(self) -> PlacedMatmulShape:
        """The matmul of a few rows."""
        return replace(self.plain, mr=min(self.few_rows, self.plain.mr))

    @property
    def joined_lines(self) -> int:
        """Lines of split weights that are joined at a time, at most."""
        return max(self.plain.kc, self.strassen.kc)

    def are_few(self, rows: ir.Value) -> ir.Value:
        """True (an i1) if `rows` rows are multiplied by 24 bits of the weights."""
        most = arith.constant(ir.IndexType.get(), self.few_rows)
        return arith.cmpi(arith.CmpIPredicate.ule, rows, most)

    def pays(self, rows: ir.Value) -> ir.Value:
        """True (an i1) if `rows` rows are multiplied as sums of blocks."""
        least = arith.constant(ir.IndexType.get(), self.least)
        return arith.cmpi(arith.CmpIPredicate.uge, rows, least)

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        fewer = self.plain.count_workgroups(rows)
        if self.few_rows:
            fewer = arith.select(self.are_few(rows), self.few.count_workgroups(rows), fewer)
        return arith.select(self.pays(rows), self.strassen.count_workgroups(rows), fewer)


class PlainOrStrassenEmitter(VectorEmitter):
    """Emits both kernels."""

    def __init__(
        self,
        shape: PlainOrStrassenShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
        terms: ir.Value,
    ):
        """`terms` are the sums of blocks of `x`, if it has rows enough."""
        super().__init__(shape.plain.lanes)
        self.shape = shape
        self.plain = PlacedMatmulEmitter(shape.plain, x, weights, output, epilogue)
        self.strassen = PlacedStrassenEmitter(
            shape.strassen, terms, weights, output, scratch, epilogue
        )  # fmt: skip
        if shape.few_rows:
            self.few = FirstBitsEmitter(shape.few, x, weights, output, epilogue)
            size = [shape.joined_lines * shape.plain.nr]
            joined = memref.alloca(ir.MemRefType.get(size, ir.F32Type.get()), [], [], alignment=64)
            self.plain.joined = self.strassen.joined = joined

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self.shape

        def fewer() -> None:
            if not shape.few_rows:
                return self.plain.workgroup(workgroup_id, rows)
            return self.choose(
                shape.are_few(rows),
                lambda: self.few.workgroup(workgroup_id, rows),
                lambda: self.plain.workgroup(workgroup_id, rows),
            )

        self.choose(shape.pays(rows), lambda: self.strassen.workgroup(workgroup_id, rows), fewer)
