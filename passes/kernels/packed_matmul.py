"""Matmul by packed weights: a kernel that keeps an MR x NR tile of the result in registers.

A workgroup computes a block of rows by some panels of columns. It iterates over K in blocks (KC)
that keep the weights of a panel in the L1 while all rows of the block are multiplied by them;
between K blocks, the partial sums are in the result buffer. Rows are cut into register tiles whose
heights differ by at most one; for dynamic rows, full tiles are followed by ever smaller ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...mlir import arith, ir
from .emitter import (
    Ahead,
    Part,
    Registers,
    Rows,
    VectorEmitter,
    even_tiles,
    long_vectors,
)
from .epilogue import Finish, Place

L1_WEIGHTS_SHARE = 1
"""Share of the L1 for the weights."""
L2_ROWS_SHARE = 1 / 2
"""Share of the L2 for a block of rows."""
MIN_PIECES = 16
"""Workgroups that a matmul should split into, for threads to share."""
FEW_PIECES = 8
"""The same if more would cost memory traffic: the more panels a block of rows is multiplied by, the
less often the block is read; the more rows it has, the less often the weights are read."""
FULL_TILES = 4
"""Register tiles that a block of rows should have: with fewer, weights are read too often."""
FEW_TILES = 8
"""Register tiles assumed in a block of dynamic rows, over which prefetches are spread."""
PIECE_PRODUCTS = 1 << 18
"""Multiplications of a workgroup, at least, if possible: starting a workgroup costs time."""


@dataclass(frozen=True)
class Product:
    """``[rows, depth] x [depth, columns]``, in panels of `width` columns."""

    rows: int | None
    """None if dynamic."""
    depth: int
    columns: int
    width: int
    lanes: int
    tile: int
    """Maximum rows of a register tile (MR)."""
    cpu: CpuModel
    """The CPU whose caches bound the blocks."""

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
        return self.width

    @property
    def flops(self) -> int | None:
        return None if self.rows is None else 2 * self.rows * self.depth * self.columns

    @property
    def panels(self) -> int:
        return -(-self.columns // self.width)

    @property
    def block(self) -> int:
        """Rows in a workgroup: a divisor of all rows, or the maximum if they are dynamic."""
        most = self.rows_bytes // 4 // self.depth_block
        if self.rows is None:
            return max(1, most // self.tile) * self.tile
        divisors = [n for n in range(self.rows, 0, -1) if self.rows % n == 0]
        fitting = [n for n in divisors if self.tile <= n <= most]
        many = [n for n in fitting if self.rows // n * self.panels >= MIN_PIECES]
        if not many or many[0] < FULL_TILES * self.tile:
            many = [n for n in fitting if self.rows // n * self.panels >= FEW_PIECES] or many
        return (many or fitting[-1:] or divisors)[0]

    @property
    def blocks(self) -> int:
        """Blocks of rows; one if rows are dynamic."""
        return 1 if self.rows is None else self.rows // self.block

    @property
    def group(self) -> int:
        """Panels in a workgroup: a divisor of all panels."""
        one = self.block * self.depth * self.width
        if self.block * self.depth * 4 > self.rows_bytes:
            wanted = self.blocks * self.panels // FEW_PIECES
        else:
            wanted = min(-(-PIECE_PRODUCTS // one), self.blocks * self.panels // MIN_PIECES)
        return next(n for n in range(max(1, wanted), 0, -1) if self.panels % n == 0)

    @property
    def groups(self) -> int:
        return self.panels // self.group

    @property
    def pieces(self) -> int:
        return self.blocks * self.groups

    def count_block(self, rows: ir.Value) -> ir.Value:
        """The rows in a workgroup for `rows` dynamic rows: whole tiles, few enough that there are
        workgroups for threads to share, and at most `block`."""
        wanted = -(-MIN_PIECES // self.groups)
        share = arith.ceildivui(rows, _index(wanted))
        tiles = arith.ceildivui(share, _index(self.tile))
        even = arith.muli(arith.maxui(tiles, _index(1)), _index(self.tile))
        return arith.minui(even, _index(self.block))

    def count_pieces(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        return arith.muli(arith.ceildivui(rows, self.count_block(rows)), _index(self.groups))

    @property
    def depth_blocks(self) -> int:
        """K blocks: the weights of one stay in their cache."""
        most = max(1, self.weights_bytes // (self.line * 4))
        return -(-self.depth // most)

    @property
    def depth_block(self) -> int:
        """Lines in a K block (KC); the last may have fewer."""
        return -(-self.depth // self.depth_blocks)

    @property
    def tiles(self) -> list[tuple[int, int]]:
        """The register tiles of a block of rows: (number, rows)."""
        return even_tiles(self.block, self.tile)


class MatmulEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        product: Product,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        finish: Finish,
    ):
        super().__init__(product.lanes)
        self.product, self.x, self.weights, self.output = product, x, weights, output
        self.finish = finish

    def piece(self, number: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `number`; the groups of panels of a block of rows are consecutive."""
        product = self.product
        block = arith.divui(number, self.index(product.groups))
        group = arith.remui(number, self.index(product.groups))
        first = self.times(group, product.group)
        lines = self._even_lines(block) if rows is None else self._lines(block, rows)
        self._blocks(first, lines)

    def rows(self, first: ir.Value, result: ir.Value, panel: ir.Value) -> None:
        """Multiply a block of rows, from row `first` on, by a group of panels, from `panel` on,
        into the result rows from `result` on."""
        self._blocks(panel, _Lines(first, self._even_tiles(), result))

    def _blocks(self, first: ir.Value, lines: "_Lines") -> None:
        """Multiply a block of rows by a group of panels, from panel `first` on."""
        blocks = self.product.depth_blocks
        self.repeat(0, blocks, lambda at: self._panels(self._depth(at), first, lines))

    def _even_lines(self, block: ir.Value) -> "_Lines":
        """The rows of a block; all blocks are equal."""
        return _Lines(self.times(block, self.product.block), self._even_tiles())

    def _even_tiles(self) -> list["_Tiles"]:
        tiles, done = [], 0
        for count, size in self.product.tiles:
            tiles.append(_Tiles(count, size, done))
            done += count * size
        return tiles

    def _lines(self, block: ir.Value, rows: ir.Value) -> "_Lines":
        """The dynamic rows of a block, of which the last block may have fewer: in full tiles, then
        in ever smaller ones."""
        product, zero = self.product, self.index(0)
        size = product.count_block(rows)
        first = arith.muli(block, size)
        left = arith.minui(size, arith.subi(rows, first))
        tiles, done, height = [], zero, product.tile
        while True:
            count = arith.divui(left, self.index(height))
            tiles.append(_Tiles(count, height, done))
            taken = self.times(count, height)
            left, done = arith.subi(left, taken), arith.addi(done, taken)
            if height == 1:
                return _Lines(first, tiles)
            height = 1 << (height - 1).bit_length() - 1  # the next smaller power of two

    def _depth(self, number: ir.Value) -> "_Depth":
        """K block `number`."""
        product = self.product
        block, blocks = product.depth_block, product.depth_blocks
        if blocks == 1:
            return _Depth(self.index(0), self.index(product.depth))
        start = self.times(number, block)
        left = arith.subi(self.index(product.depth), start)
        length = arith.minui(left, self.index(block)) if product.depth % block else None
        return _Depth(
            start,
            self.index(block) if length is None else length,
            continues=self.compare(arith.CmpIPredicate.ne, number, 0),
            ends=self.compare(arith.CmpIPredicate.eq, number, blocks - 1),
        )

    def _panels(self, depth: "_Depth", first: ir.Value, lines: "_Lines") -> None:
        """Multiply a block of rows by one K block of each panel of a group."""
        product = self.product

        def whole(panel: ir.Value) -> None:
            self._rows(depth, panel, lines, product.width)

        last = arith.addi(first, self.index(product.group))
        rest = product.columns % product.width
        if not rest:
            return self.repeat(first, last, whole)
        full = arith.minui(last, self.index(product.panels - 1))
        self.repeat(first, full, whole)

        def partial(panel: ir.Value) -> None:
            self._rows(depth, panel, lines, rest)

        return self.repeat(full, last, partial)

    def _rows(self, depth: "_Depth", panel: ir.Value, lines: "_Lines", columns: int) -> None:
        """Multiply a block of rows by one K block of one panel."""
        product = self.product
        weights = self.add(
            self.times(panel, product.depth * product.line),
            self.times(depth.start, product.line),
        )
        feature, parts = self.times(panel, product.width), self.parts(columns)
        for tiles in lines.tiles:

            def tile(number: ir.Value, tiles: _Tiles = tiles) -> None:
                line = self.add(self.times(number, tiles.size), tiles.first)
                row = self.add(lines.first, line)
                result = row if lines.result is None else self.add(lines.result, line)
                places = self._places(result, tiles.size, feature, parts)
                at = self.add(self.times(row, product.depth), depth.start)
                rows = Rows(self.x, at, tiles.size, product.depth, product.line)
                sums = self._start(places, self.zeros(tiles.size, parts), depth)
                ahead = self._ahead(line, weights)
                sums = self.multiply(rows, self.weights, weights, depth.length, sums, ahead)
                self._finish(places, sums, depth)

            self.repeat(0, tiles.count, tile)

    def _ahead(self, line: ir.Value, weights: ir.Value) -> Ahead:
        """The part of the next weights to prefetch while the tile at row `line` of a block is
        multiplied."""
        product = self.product
        if product.rows is None:
            tiles, lines = FEW_TILES, FEW_TILES * product.tile
        else:
            tiles, lines = sum(count for count, _ in product.tiles), product.block
        step = max(1, -(-product.line // tiles))
        distance = product.depth_block if product.group == 1 else product.depth
        next_ = self.add(weights, distance * product.line)
        per_line = -(-product.depth_block * product.line // lines)
        return Ahead(self.add(next_, self.times(line, per_line)), step)

    def parts(self, columns: int) -> list[Part]:
        """The vectors that hold `columns` columns of a panel."""
        return long_vectors(columns, self.lanes)

    def _places(
        self, row: ir.Value, size: int, feature: ir.Value, parts: Sequence[Part]
    ) -> list[Place]:
        """Result positions of the registers of a tile, which hold `parts` of a panel."""
        product = self.product
        offset = self.add(self.times(row, product.columns), feature)
        masks = [self.first_lanes(part.count) for part in parts]
        features = [self.add(feature, part.start) for part in parts]
        return [
            Place(at, self.add(offset, line * product.columns + part.start), part.lanes, mask)
            for line in range(size)
            for part, at, mask in zip(parts, features, masks, strict=True)
        ]

    def _start(self, places: Sequence[Place], zeros: Registers, depth: "_Depth") -> Registers:
        """The initial accumulators: zeros, or the partial sums of earlier K blocks."""
        if depth.continues is None:
            return zeros

        def so_far() -> Registers:
            return [
                self.load(self.output, place.offset, place.mask, place.lanes) for place in places
            ]

        return self.when(depth.continues, so_far, zeros)

    def _finish(self, places: list[Place], sums: Registers, depth: "_Depth") -> None:
        """Store the accumulators, after the epilogue if this is the last K block."""
        values = (
            self.finish(places, sums)
            if depth.ends is None
            else self.when(depth.ends, lambda: self.finish(places, sums), sums)
        )
        for place, value in zip(places, values, strict=True):
            self.store(value, self.output, place.offset, place.mask)


@dataclass(frozen=True)
class _Depth:
    """A K block: its first line and its length; whether blocks precede it (`continues`), and
    whether it is the last (`ends`). Both flags are None if it is the only block."""

    start: ir.Value
    length: ir.Value
    continues: ir.Value | None = None
    ends: ir.Value | None = None


@dataclass(frozen=True)
class _Tiles:
    """`count` register tiles of `size` rows, from row `first` of a block on."""

    count: int | ir.Value
    size: int
    first: int | ir.Value


@dataclass(frozen=True)
class _Lines:
    """A block of rows: its first row, its register tiles, and its first row of the result, if that
    differs."""

    first: ir.Value
    tiles: list[_Tiles]
    result: ir.Value | None = None


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
