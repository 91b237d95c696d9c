"""Strassen-like matmul with fewer multiplications: sums of blocks, their products, sums of these.

A workgroup computes a block of rows by some panels of columns. For each panel, the sums of row
blocks are multiplied by the sums of weight blocks, product by product, into scratch memory of the
workgroup. The blocks of the result are sums of these products.
"""

from dataclasses import dataclass, replace

from ...mlir import arith, ir
from .emitter import (
    LhsBlock,
    Prefetch,
    Registers,
    VectorEmitter,
    even_tiles,
    lanes_of,
    long_vectors,
    short_vectors,
)
from .epilogue import Epilogue, OutputPosition
from .matmul_blocks import LineSource
from .register_tiles import (
    RegisterTiles,
    even_register_tiles,
    falling_tiles,
    prefetch_per_row,
    prefetch_share,
)
from .sizes import Index
from .sizes import product as product_of
from .strassen_shape import Sharing, StrassenShape


class StrassenEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: StrassenShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.x, self.weights, self.output = shape, x, weights, output
        self.scratch, self.epilogue = scratch, epilogue

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`; the groups of panels of a block of rows are
        consecutive."""
        shape, sharing = self.shape, self.shape.sharing(rows)
        block = arith.divui(workgroup_id, self.index(sharing.n_blocks))
        group = arith.remui(workgroup_id, self.index(sharing.n_blocks))
        start = self.times(group, sharing.nc_panels)
        end = self.add(start, sharing.nc_panels)
        if rows is not None:
            end = arith.minui(end, self.index(shape.panels))
        held = self.times(workgroup_id, shape.scratch)
        copy = self._share(workgroup_id, sharing)
        terms = self.times(copy, product_of(sharing.terms, shape.algorithm.products))
        lines = self._lines(self.times(block, sharing.mc), sharing)

        def panel(panel: ir.Value) -> None:
            def multiply(at: ir.Value) -> None:
                rows = arith.addi(terms, self.times(at, sharing.terms))
                rows = arith.addi(rows, self.times(lines.first, shape.k))
                self._multiply(at, panel, rows, held, lines)

            self.repeat(0, shape.algorithm.products, multiply)
            self.repeat(0, lines.count, lambda row: self._combine(row, panel, lines, held, sharing))

        self.repeat(start, end, panel)

    def _lines(self, first: ir.Value, sharing: Sharing) -> "RowsOfBlocks":
        """The rows of a workgroup from row `first` on."""
        shape = self.shape
        if isinstance(sharing.mc, int):
            return RowsOfBlocks(first, sharing.mc, even_register_tiles(sharing.mc, shape.mr))
        left = arith.subi(self.index(sharing.height), first)
        count = arith.minui(sharing.mc, left)
        ahead = prefetch_per_row(self, shape.kc * shape.nr, count)
        return RowsOfBlocks(first, count, falling_tiles(self, count, shape.mr), ahead)

    def _share(self, workgroup_id: ir.Value, sharing: Sharing) -> ir.Value:
        """The share of workgroup `workgroup_id`, of equal shares as those of
        `work-stealing-dispatch`."""
        copies = sharing.replicas
        more = copies - 1 if isinstance(copies, int) else arith.subi(copies, self.index(1))
        end = self.add(self.times(workgroup_id, copies), more)
        return arith.divui(end, self.index(sharing.workgroups))

    def _multiply(
        self,
        product: ir.Value,
        panel: ir.Value,
        rows: ir.Value,
        held: ir.Value,
        lines: "RowsOfBlocks",
    ) -> None:
        """Emit one product: the rows at `rows` by a panel, into scratch from `held` on."""
        shape = self.shape
        weights, stride = self.weights_of(panel, product), self.stride(product)
        target = arith.addi(held, self.times(product, shape.product))

        def block(number: ir.Value) -> None:
            start = self.times(number, shape.kc)
            line = arith.addi(weights, self.times(start, stride))
            continues = None
            if shape.k_blocks > 1:
                continues = self.compare(arith.CmpIPredicate.ne, number, 0)
            next_ = self.add(line, product_of(shape.kc, stride))
            if self._gaps:
                is_last = self.compare(arith.CmpIPredicate.eq, number, shape.k_blocks - 1)
                following = self.weights_of(panel, self.add(product, 1))
                next_ = arith.select(is_last, following, next_)
            at = KBlockOfProduct(
                product, panel, start, line, next_, arith.addi(rows, start), continues
            )
            self.multiply_tiles(at, target, lines)

        self.repeat(0, shape.k_blocks, block)

    @property
    def _gaps(self) -> list[int]:
        """The places of weights that belong to no product."""
        slots = self.shape.slots
        return sorted(set(range(slots[-1])) - set(slots))

    def weights_of(self, panel: ir.Value, product: ir.Value) -> ir.Value:
        """The first weight of a product in a panel; behind the last product, that of the next
        panel."""
        shape = self.shape
        place = arith.addi(self.times(panel, shape.slots[-1]), self.place(product))
        return self.times(place, shape.k * shape.nr)

    def place(self, product: ir.Value) -> ir.Value:
        """The place of the weights of a product in a panel."""
        place = product
        for gap in self._gaps:
            is_behind = self.compare(arith.CmpIPredicate.uge, place, gap)
            place = arith.addi(place, arith.index_castui(ir.IndexType.get(), is_behind))
        return place

    def stride(self, product: ir.Value) -> Index:
        """The elements from one line of the weights of a product to the next."""
        del product
        return self.shape.nr

    def multiply_tiles(
        self, block: "KBlockOfProduct", target: ir.Value, lines: "RowsOfBlocks"
    ) -> None:
        """Multiply all register tiles of a block of rows by a K block, into scratch at `target`."""
        for tiles in lines.tiles:

            def tile(number: ir.Value, tiles: RegisterTiles = tiles) -> None:
                self.multiply_tile(number, tiles, block, target, lines)

            self.repeat(0, tiles.count, tile)

    def multiply_tile(
        self,
        number: ir.Value,
        tiles: RegisterTiles,
        block: "KBlockOfProduct",
        target: ir.Value,
        lines: "RowsOfBlocks",
        source: LineSource | None = None,
    ) -> None:
        """Multiply tile `number` of `tiles` by a K block, whose lines come from `source` if that is
        given, into scratch at `target`, accumulating where earlier K blocks have."""
        shape = self.shape
        line = self.add(self.times(number, tiles.size), tiles.first)
        at = arith.addi(block.rows, self.times(line, shape.k))
        position = arith.addi(target, self.times(line, shape.nr))
        factors = LhsBlock(self.x, at, tiles.size, shape.k, shape.nr)
        is_read = source is not None and source.read is not None
        parts = (short_vectors if is_read else long_vectors)(shape.nr, shape.lanes)
        zeros = self.zeros(tiles.size, parts)
        accumulators = self._start(position, zeros, block.continues)
        ahead = self._ahead(block.following, line, tiles.size, lines)
        if source is None:
            accumulators = self.multiply(
                factors, self.weights, block.weights, shape.kc, accumulators, ahead
            )
        else:
            accumulators = source.multiply(self, factors, shape.kc, accumulators, ahead)
        self.store_all(accumulators, self.scratch, position)

    def _start(self, position: ir.Value, zeros: Registers, continues: ir.Value | None) -> Registers:
        """The initial accumulators: zeros, or the partial sums from `position` on."""
        if continues is None:
            return zeros
        lanes = [lanes_of(zero) for zero in zeros]
        return self.when(continues, lambda: self.load_all(self.scratch, position, lanes), zeros)

    def _ahead(self, next_: ir.Value, line: ir.Value, size: int, lines: "RowsOfBlocks") -> Prefetch:
        """The part of the weights at `next_` to prefetch while the tile of `size` rows at row
        `line` of the block is multiplied."""
        shape = self.shape
        if lines.ahead is not None:
            full = size if size == shape.mr else None
            part = prefetch_share(self, next_, line, lines.ahead, full, shape.kc, shape.nr)
            return replace(part, memory=self.weights)
        tiles = sum(count for count, _ in even_tiles(shape.mc, shape.mr))
        per_line = -(-shape.kc * shape.nr // shape.mc)
        start = self.add(next_, self.times(line, per_line))
        return Prefetch(start, max(1, -(-shape.nr // tiles)), memory=self.weights)

    def _combine(
        self,
        row: ir.Value,
        panel: ir.Value,
        lines: "RowsOfBlocks",
        held: ir.Value,
        sharing: Sharing,
    ) -> None:
        """Emit one row of each block of the result, for the columns of a panel."""
        shape, algorithm = self.shape, self.shape.algorithm
        line = arith.addi(held, self.times(row, shape.nr))

        def vectors(part: ir.Value, registers: Registers) -> Registers:
            at = arith.addi(line, part)
            products = [
                self.load(self.scratch, self.add(at, product * shape.product))
                for product in range(algorithm.products)
            ]
            feature = arith.addi(self.times(panel, shape.nr), part)
            for down in range(algorithm.rows):
                signs = algorithm.result[down * algorithm.columns :][: algorithm.columns]
                sums = [self.signed_sum(each, products) for each in signs]
                self._store(down, arith.addi(lines.first, row), feature, sums, sharing)
            return registers

        self.loop((self.index(0), self.index(shape.nr)), [], vectors, step=self.lanes)

    def _store(
        self, down: int, row: ir.Value, feature: ir.Value, sums: Registers, sharing: Sharing
    ) -> None:
        """Apply the epilogue to `sums`, one for each block in block row `down` of the result, and
        store them, unless the result lacks that row."""
        shape = self.shape
        line = self.add(row, product_of(sharing.height, down)) if down else row
        positions = []
        for across in range(shape.algorithm.columns):
            column = self.add(feature, across * shape.breadth)
            mask = self._mask(across, feature)
            offset = arith.addi(self.times(line, shape.columns), column)
            positions.append(OutputPosition(column, offset, shape.lanes, mask))

        def store() -> None:
            for position, value in zip(positions, self.epilogue(positions, sums), strict=True):
                self.store(value, self.output, position.offset, position.mask)

        rows, height = sharing.rows, sharing.height
        if not down:
            return store()
        if isinstance(rows, int) and isinstance(height, int) and (down + 1) * height <= rows:
            return store()
        there = self.compare(arith.CmpIPredicate.ult, line, rows)
        return self.choose(there, store, lambda: None)

    def _mask(self, across: int, feature: ir.Value) -> ir.Value | None:
        """The mask of the lanes from `feature` on that lie within block column `across`."""
        shape = self.shape
        columns = min(shape.breadth, shape.columns - across * shape.breadth)
        if columns == shape.panels * shape.nr:
            return None
        return self.lanes_below(arith.subi(self.index(columns), feature))


@dataclass(frozen=True)
class KBlockOfProduct:
    """A K block of a product: the number of the product, the panel, the first line, the first
    weight, that of what is read after it, the first element of the rows, and whether other blocks
    precede it."""

    product: ir.Value
    panel: ir.Value
    start: ir.Value
    weights: ir.Value
    following: ir.Value
    rows: ir.Value
    continues: ir.Value | None


@dataclass(frozen=True)
class RowsOfBlocks:
    """The rows of a workgroup: the first one, their number, their register tiles, and the elements
    of the next weights to prefetch per row, if rows are dynamic."""

    first: ir.Value
    count: Index
    tiles: list[RegisterTiles]
    ahead: ir.Value | None = None
