"""Matmul by packed weights: a kernel that keeps an MR x NR tile of the result in registers.

A workgroup computes a block of rows by some panels of columns. It iterates over K in blocks (KC)
that keep the weights of a panel in the L1 while all rows of the block are multiplied by them;
between K blocks, the partial sums are in the result buffer. Rows are cut into register tiles whose
heights differ by at most one; for dynamic rows, full tiles are followed by ever smaller ones, or if
these are pixels of images, the last full tile overlaps others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ...cpu_model import CpuModel
from ...mlir import arith, ir
from .emitter import (
    LhsBlock,
    Prefetch,
    Registers,
    VectorEmitter,
    VectorSlice,
    elements_of_cache_line,
    even_tiles,
    long_vectors,
    short_vectors,
)
from .epilogue import Epilogue, OutputPosition
from .matmul_blocks import KBlock, LineSource, PanelBlock, PanelColumns, RowGaps, RowsOfTiles
from .register_tiles import (
    RegisterTiles,
    even_register_tiles,
    falling_tiles,
    overlapping_tiles,
    prefetch_per_row,
    prefetch_share,
)

PAGE_LINES = 64
"""Cache lines of a page of memory."""
L1_WEIGHTS_SHARE = 1
"""Share of the L1 for the weights."""
L2_ROWS_SHARE = 1 / 2
"""Share of the L2 for a block of rows."""
MIN_WORKGROUPS = 16
"""Workgroups that a matmul should split into, for threads to share."""
FEW_WORKGROUPS = 8
"""The same if more would cost memory traffic: the more panels a block of rows is multiplied by, the
less often the block is read; the more rows it has, the less often the weights are read."""
FULL_TILES = 4
"""Register tiles that a block of rows should have: with fewer, weights are read too often."""
WORKGROUP_MULTIPLICATIONS = 1 << 18
"""Multiplications of a workgroup, at least, if possible: starting a workgroup costs time."""


@dataclass(frozen=True)
class MatmulShape:
    """``[rows, k] x [k, columns]``, in panels of `nr` columns."""

    rows: int | None
    """None if dynamic."""
    k: int
    columns: int
    nr: int
    lanes: int
    mr: int
    """Maximum rows of a register tile (MR)."""
    cpu: CpuModel
    """The CPU whose caches bound the blocks."""
    element_bytes: int = field(default=4, kw_only=True)
    """Bytes of an element of a panel's line."""
    are_pixels: bool = field(default=False, kw_only=True)
    """True if the rows are dynamic pixels of images, so that there are seldom fewer than `mr`."""

    @property
    def weights_bytes(self) -> int:
        """Budget for the weights of a panel's K block, in bytes."""
        return int(self.cpu.l1_bytes * L1_WEIGHTS_SHARE)

    @property
    def rows_bytes(self) -> int:
        """Budget for a block of rows, in bytes."""
        return int(self.cpu.l2_bytes * L2_ROWS_SHARE)

    @property
    def line(self) -> int:
        """Elements of a panel's line in memory."""
        return self.nr

    @property
    def row_elements(self) -> int:
        """Elements of a row of `x`, each of 4 bytes."""
        return self.k

    @property
    def streamed_rows(self) -> int:
        """Maximum rows of a tile whose speed is that of reading the weights. Their stream is left
        to the hardware: where each line is prefetched, too, this takes up to 1.6 times as long."""
        return max(1, self.lanes // 4)

    @property
    def flops(self) -> int | None:
        return None if self.rows is None else 2 * self.rows * self.k * self.columns

    @property
    def panels(self) -> int:
        return -(-self.columns // self.nr)

    @property
    def mc(self) -> int:
        """Rows in a workgroup: a divisor of all rows, or the maximum if they are dynamic."""
        most = self.rows_bytes // 4 // -(-self.row_elements // self.k_blocks)
        if self.rows is None:
            return max(1, most // self.mr) * self.mr
        divisors = [n for n in range(self.rows, 0, -1) if self.rows % n == 0]
        fitting = [n for n in divisors if self.mr <= n <= most]
        many = [n for n in fitting if self.rows // n * self.panels >= MIN_WORKGROUPS]
        if not many or many[0] < FULL_TILES * self.mr:
            many = [n for n in fitting if self.rows // n * self.panels >= FEW_WORKGROUPS] or many
        return (many or fitting[-1:] or divisors)[0]

    @property
    def m_blocks(self) -> int:
        """Blocks of rows; one if rows are dynamic."""
        return 1 if self.rows is None else self.rows // self.mc

    @property
    def nc_panels(self) -> int:
        """Panels in a workgroup: a divisor of all panels."""
        one = self.mc * self.row_elements * self.nr
        if self.mc * self.row_elements * 4 > self.rows_bytes:
            wanted = self.m_blocks * self.panels // FEW_WORKGROUPS
        else:
            wanted = min(
                -(-WORKGROUP_MULTIPLICATIONS // one), self.m_blocks * self.panels // MIN_WORKGROUPS
            )
        return next(n for n in range(max(1, wanted), 0, -1) if self.panels % n == 0)

    @property
    def n_blocks(self) -> int:
        return self.panels // self.nc_panels

    @property
    def workgroups(self) -> int:
        return self.m_blocks * self.n_blocks

    def count_mc(self, rows: ir.Value) -> ir.Value:
        """The rows in a workgroup for `rows` dynamic rows: whole tiles, few enough that there are
        workgroups for threads to share, fewer workgroups if they would have few tiles, and at most
        `mc`."""

        def share(workgroups: int) -> ir.Value:
            return arith.ceildivui(rows, _index(-(-workgroups // self.n_blocks)))

        many, few = share(MIN_WORKGROUPS), share(FEW_WORKGROUPS)
        least = _index(FULL_TILES * self.mr)
        is_low = arith.cmpi(arith.CmpIPredicate.ult, many, least)
        tiles = arith.ceildivui(arith.select(is_low, few, many), _index(self.mr))
        even = arith.muli(arith.maxui(tiles, _index(1)), _index(self.mr))
        return arith.minui(even, _index(self.mc))

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        return arith.muli(arith.ceildivui(rows, self.count_mc(rows)), _index(self.n_blocks))

    @property
    def k_blocks(self) -> int:
        """K blocks: the weights of one stay in their cache."""
        most = max(1, self.weights_bytes // (self.line * self.element_bytes))
        return -(-self.k // most)

    @property
    def kc(self) -> int:
        """Lines in a K block (KC); the last may have fewer."""
        return -(-self.k // self.k_blocks)

    @property
    def tiles(self) -> list[tuple[int, int]]:
        """The register tiles of a block of rows: (number, rows)."""
        return even_tiles(self.mc, self.mr)


class MatmulEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: MatmulShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.x, self.weights, self.output = shape, x, weights, output
        self.epilogue = epilogue

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`; the groups of panels of a block of rows are
        consecutive."""
        shape = self.shape
        block = arith.divui(workgroup_id, self.index(shape.n_blocks))
        group = arith.remui(workgroup_id, self.index(shape.n_blocks))
        first = self.times(group, shape.nc_panels)
        lines = self._even_lines(block) if rows is None else self._lines(block, rows)
        self._blocks(first, lines)

    def rows(
        self,
        first: ir.Value,
        result: ir.Value,
        panel: ir.Value,
        count: ir.Value | None = None,
        gaps: RowGaps | None = None,
    ) -> None:
        """Multiply a block of rows, or `count` rows, from row `first` on, by a group of panels,
        from `panel` on, into the result rows from `result` on, which may have gaps between them."""
        lines = (
            RowsOfTiles(first, self._even_tiles(), result)
            if count is None
            else self._dynamic_lines(first, count, result)
        )
        self._blocks(panel, replace(lines, gaps=gaps))

    def _blocks(self, first: ir.Value, lines: RowsOfTiles) -> None:
        """Multiply a block of rows by a group of panels, from panel `first` on."""
        blocks = self.shape.k_blocks
        self.repeat(0, blocks, lambda at: self._panels(self._k_block(at), first, lines))

    def _even_lines(self, block: ir.Value) -> RowsOfTiles:
        """The rows of a block; all blocks are equal."""
        return RowsOfTiles(self.times(block, self.shape.mc), self._even_tiles())

    def _even_tiles(self) -> list[RegisterTiles]:
        return even_register_tiles(self.shape.mc, self.shape.mr)

    def _lines(self, block: ir.Value, rows: ir.Value) -> RowsOfTiles:
        """The dynamic rows of a block, of which the last block may have fewer."""
        size = self.shape.count_mc(rows)
        first = arith.muli(block, size)
        count = arith.minui(size, arith.subi(rows, first))
        return self._dynamic_lines(first, count, before=first)

    def _dynamic_lines(
        self,
        first: ir.Value,
        count: ir.Value,
        result: ir.Value | None = None,
        before: ir.Value | None = None,
    ) -> RowsOfTiles:
        """`count` rows from row `first` on, that may be none, and follow `before` others."""
        shape = self.shape
        if shape.are_pixels and shape.k_blocks == 1:  # no partial sums would be added up twice
            tiles = overlapping_tiles(self, count, shape.mr, before or self.index(0))
        else:
            tiles = falling_tiles(self, count, shape.mr)
        ahead = prefetch_per_row(self, shape.kc * shape.line, count)
        return RowsOfTiles(first, tiles, result, ahead)

    def _k_block(self, number: ir.Value) -> KBlock:
        """K block `number`."""
        shape = self.shape
        block, blocks = shape.kc, shape.k_blocks
        if blocks == 1:
            return KBlock(self.index(0), self.index(shape.k))
        start = self.times(number, block)
        left = arith.subi(self.index(shape.k), start)
        length = arith.minui(left, self.index(block)) if shape.k % block else None
        return KBlock(
            start,
            self.index(block) if length is None else length,
            continues=self.compare(arith.CmpIPredicate.ne, number, 0),
            ends=self.compare(arith.CmpIPredicate.eq, number, blocks - 1),
        )

    def _panels(self, k_block: KBlock, first: ir.Value, lines: RowsOfTiles) -> None:
        """Multiply a block of rows by one K block of each panel of a group."""

        def emit(panel: ir.Value, columns: PanelColumns) -> None:
            self._rows(k_block, panel, lines, columns)

        self.each_panel(first, arith.addi(first, self.index(self.shape.nc_panels)), emit)

    def each_panel(
        self,
        first: ir.Value,
        last: ir.Value,
        emit: Callable[[ir.Value, PanelColumns], None],
    ) -> None:
        """Emit a loop over the panels from `first` to `last`, of which the last one of all may be
        partial."""
        shape = self.shape

        def panel(number: ir.Value, columns: int) -> None:
            parts = self.parts(columns)
            masks = [self.first_lanes(part.count) for part in parts]
            emit(number, PanelColumns(self.times(number, shape.nr), parts, masks))

        rest = shape.columns % shape.nr
        if not rest:
            return self.repeat(first, last, lambda number: panel(number, shape.nr))
        full = arith.minui(last, self.index(shape.panels - 1))
        self.repeat(first, full, lambda number: panel(number, shape.nr))
        return self.repeat(full, last, lambda number: panel(number, rest))

    def _rows(
        self, k_block: KBlock, panel: ir.Value, lines: RowsOfTiles, columns: PanelColumns
    ) -> None:
        """Multiply a block of rows by one K block of one panel."""
        weights = self.weights_of(panel, k_block.start, k_block.length)
        following = self.following(panel, weights, k_block)
        self.multiply_tiles(PanelBlock(panel, k_block, columns, weights, following), lines)

    def multiply_tiles(self, block: PanelBlock, lines: RowsOfTiles) -> None:
        """Multiply all register tiles of a block of rows by a K block of a panel."""
        for tiles in lines.tiles:
            held = block
            if tiles.size == 1:
                held = replace(block, columns=block.columns.in_order(self.lanes))

            def tile(
                number: ir.Value, tiles: RegisterTiles = tiles, block: PanelBlock = held
            ) -> None:
                self.multiply_tile(number, tiles, block, lines)

            self.repeat(0, tiles.count, tile)

    def multiply_tile(
        self,
        number: ir.Value,
        tiles: RegisterTiles,
        block: PanelBlock,
        lines: RowsOfTiles,
        source: LineSource | None = None,
    ) -> None:
        """Multiply tile `number` of `tiles` by a K block of a panel, whose lines come from
        `source` if that is given."""
        k_block, columns = block.k_block, block.columns
        line = tiles.line(self, number)
        row = self.add(lines.first, line)
        result = row if lines.result is None else self.add(lines.result, line)
        positions = self._positions(result, tiles.size, columns)
        if lines.gaps is not None:
            positions = self._behind_gaps(positions, line, tiles.size, lines.gaps)
        rows = self.left(row, k_block.start, tiles.size)
        zeros = self.zeros(tiles.size, columns.parts)
        accumulators = self._start(positions, zeros, k_block)
        ahead = self.ahead(block.weights, block.following, line, tiles, lines)
        if source is None:
            accumulators = self.multiply(
                rows, self.weights, block.weights, k_block.length, accumulators, ahead
            )
        else:
            ahead = None if ahead is None else replace(ahead, memory=self.weights)
            accumulators = source.multiply(self, rows, k_block.length, accumulators, ahead)
        self._finish(positions, accumulators, k_block)

    def following(self, panel: ir.Value, weights: ir.Value, k_block: KBlock) -> ir.Value:
        """The first of the weights that are read after those of a K block of a panel."""
        del panel, k_block
        shape = self.shape
        distance = shape.kc if shape.nc_panels == 1 else shape.k
        return self.add(weights, distance * shape.line)

    def weights_of(self, panel: ir.Value, start: ir.Value, length: ir.Value) -> ir.Value:
        """The first weight of a K block of a panel: `length` lines, from line `start` on."""
        del length
        shape = self.shape
        return self.add(self.times(panel, shape.k * shape.line), self.times(start, shape.line))

    def left(self, row: ir.Value, start: ir.Value, count: int) -> LhsBlock:
        """`count` rows, from `row` on, of a K block that begins at line `start` of a panel."""
        shape = self.shape
        at = self.add(self.times(row, shape.k), start)
        return LhsBlock(self.x, at, count, shape.k, shape.line)

    def ahead(
        self,
        weights: ir.Value,
        following: ir.Value,
        line: ir.Value,
        tiles: RegisterTiles,
        lines: RowsOfTiles,
    ) -> Prefetch | None:
        """The memory to prefetch, if any, while a tile at row `line` of a block is multiplied by
        `weights`: a part of the `following` ones, or of the same if they are streamed."""
        shape = self.shape
        is_streamed = tiles.size <= shape.streamed_rows
        if lines.ahead is None:
            count = sum(count for count, _ in shape.tiles)
            if is_streamed and count == 1:
                return Prefetch(self._page_ahead(weights), shape.line, lines=1)
            share = -(-shape.kc * shape.line // shape.mc)
            step = max(1, -(-shape.line // count))
            return Prefetch(self.add(following, self.times(line, share)), step)
        full = tiles.size if tiles.size == shape.mr else None
        part = prefetch_share(self, following, line, lines.ahead, full, shape.kc, shape.line)
        if full or not is_streamed:
            return part
        least = self.index(-(-shape.kc * shape.line // shape.streamed_rows))
        is_only = arith.cmpi(arith.CmpIPredicate.uge, lines.ahead, least)
        start = arith.select(is_only, self._page_ahead(weights), part.start)
        step = arith.select(is_only, self.index(shape.line), self.index(part.step))
        return Prefetch(start, step, most=shape.line, lines=1)

    def _page_ahead(self, weights: ir.Value) -> ir.Value:
        """The weights a page behind `weights`: the hardware prefetches streams up to pages."""
        return self.add(weights, PAGE_LINES * elements_of_cache_line(self.weights))

    def parts(self, columns: int) -> list[VectorSlice]:
        """The vectors that hold `columns` columns of a panel: as long as instructions take, if they
        are to be widened."""
        cut = long_vectors if self.shape.element_bytes == 4 else short_vectors
        return cut(columns, self.lanes)

    def _positions(self, row: ir.Value, size: int, columns: PanelColumns) -> list[OutputPosition]:
        """Result positions of the registers of a tile, which hold the columns of a panel."""
        shape, parts = self.shape, columns.parts
        offset = self.add(self.times(row, shape.columns), columns.first)
        features = [self.add(columns.first, part.start) for part in parts]
        return [
            OutputPosition(
                at, self.add(offset, line * shape.columns + part.start), part.lanes, mask
            )
            for line in range(size)
            for part, at, mask in zip(parts, features, columns.masks, strict=True)
        ]

    def _behind_gaps(
        self, positions: list[OutputPosition], line: ir.Value, size: int, gaps: RowGaps
    ) -> list[OutputPosition]:
        """`positions` of the `size` rows from row `line` of a block on, in a result with gaps."""
        lines = [self.add(line, number) for number in range(size)]
        behind = [self.times(gaps.before(self, each), self.shape.columns) for each in lines]
        parts = len(positions) // size
        return [
            replace(position, offset=self.add(position.offset, behind[number // parts]))
            for number, position in enumerate(positions)
        ]

    def _start(
        self, positions: Sequence[OutputPosition], zeros: Registers, k_block: KBlock
    ) -> Registers:
        """The initial accumulators: zeros, or the partial sums of earlier K blocks."""
        if k_block.continues is None:
            return zeros

        def so_far() -> Registers:
            return [
                self.load(self.output, position.offset, position.mask, position.lanes)
                for position in positions
            ]

        return self.when(k_block.continues, so_far, zeros)

    def _finish(
        self, positions: list[OutputPosition], accumulators: Registers, k_block: KBlock
    ) -> None:
        """Store the accumulators, after the epilogue if this is the last K block."""
        values = (
            self.epilogue(positions, accumulators)
            if k_block.ends is None
            else self.when(
                k_block.ends, lambda: list(self.epilogue(positions, accumulators)), accumulators
            )
        )
        for position, value in zip(positions, values, strict=True):
            self.store(value, self.output, position.offset, position.mask)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
