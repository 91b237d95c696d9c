"""Strassen-like matmul with fewer multiplications: sums of blocks, their products, sums of these.

A workgroup computes a block of rows by some panels of columns. For each panel, the sums of row
blocks are multiplied by the sums of weight blocks, product by product, into scratch memory of the
workgroup. The blocks of the result are sums of these products.
"""

import math
from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...dialects.graph.bilinear import ALGORITHMS, BilinearAlgorithm
from ...dialects.graph.strassen import terms_size
from ...mlir import arith, ir
from .emitter import (
    Ahead,
    Registers,
    Rows,
    VectorEmitter,
    even_tiles,
    lanes_of,
    long_vectors,
)
from .epilogue import Finish, Place

SCRATCH_SHARE = 7 / 16
"""Share of the L2 for the products of a block of rows by a panel."""
WEIGHTS_SHARE = 1 / 16
"""Share of the L2 for the part of a panel that is read repeatedly, its K block."""
FEW_ROWS = 32
"""Rows that a workgroup should have: with fewer, weights are read too often."""
LANES = 16
"""Elements in a vector of sums of rows; CPUs with narrower registers use several for one."""
TERM_ELEMENTS = 1 << 15
"""Elements of a factor in a workgroup of the kernel that sums its blocks."""


class InBlocks:
    """`rows` cut into blocks by the algorithm named `blocks`."""

    rows: int
    blocks: str

    @property
    def algorithm(self) -> BilinearAlgorithm:
        return ALGORITHMS[self.blocks]

    @property
    def height(self) -> int:
        """Rows of a block."""
        return -(-self.rows // self.algorithm.rows)


@dataclass(frozen=True)
class TermsShape(InBlocks):
    """The sums of blocks of `rows` x `depth` elements."""

    rows: int
    depth: int
    blocks: str
    copies: int = 1

    @property
    def lanes(self) -> int:
        return math.gcd(LANES, self.width)

    @property
    def width(self) -> int:
        """Elements in a row of a block."""
        return self.depth // self.algorithm.depth

    @property
    def chunk(self) -> int:
        """Rows of a block in a workgroup, at most."""
        return min(self.height, max(1, TERM_ELEMENTS // (self.algorithm.rows * self.depth)))

    @property
    def pieces(self) -> int:
        return self.copies * self.chunks

    @property
    def chunks(self) -> int:
        """Workgroups per copy."""
        return -(-self.height // self.chunk)

    @property
    def product(self) -> int:
        """Stride from the sums of one product to those of the next, in elements."""
        return terms_size(self.height, self.width)

    def write(self, number: ir.Value, x: ir.Value, result: ir.Value) -> None:
        """Emit workgroup `number`."""
        TermsEmitter(self, x, result).piece(number)


class TermsEmitter(VectorEmitter):
    """Emits the kernel that sums blocks of rows. Indices count elements."""

    def __init__(self, shape: TermsShape, x: ir.Value, result: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.x, self.result = shape, x, result

    def piece(self, number: ir.Value) -> None:
        """Emit workgroup `number`: some rows of all sums. The last blocks may lack the last row."""
        shape = self.shape
        copy = arith.divui(number, self.index(shape.chunks))
        target = self.times(copy, shape.algorithm.products * shape.product)
        first = self.times(arith.remui(number, self.index(shape.chunks)), shape.chunk)
        last = arith.minui(self.add(first, shape.chunk), self.index(shape.height))
        missing = shape.height * shape.algorithm.rows - shape.rows
        full = arith.minui(last, self.index(shape.height - (1 if missing else 0)))
        self.repeat(first, full, lambda row: self._row(row, shape.algorithm.rows, target))
        if missing:
            present = shape.algorithm.rows - missing
            self.repeat(full, last, lambda row: self._row(row, present, target))

    def _row(self, row: ir.Value, present: int, target: ir.Value) -> None:
        """Emit one row of each sum; only the first `present` rows of blocks have that row."""
        shape, algorithm = self.shape, self.shape.algorithm
        starts = [
            self.add(self.times(self.add(row, down * shape.height), shape.depth), across)
            for down in range(present)
            for across in range(0, shape.depth, shape.width)
        ]

        def vectors(at: ir.Value) -> None:
            held = [self.load(self.x, arith.addi(start, at)) for start in starts]
            for product, signs in enumerate(algorithm.left):
                place = self.add(self.times(row, shape.width), product * shape.product)
                place = arith.addi(place, target)
                total = self.signed_sum(signs[: len(held)], held)
                self.store(total, self.result, arith.addi(place, at))

        self.loop(
            (self.index(0), self.index(shape.width)), [],
            lambda at, registers: (vectors(at), registers)[1], step=self.lanes,
        )  # fmt: skip


@dataclass(frozen=True)
class StrassenShape(InBlocks):
    """``[rows, depth] x [depth, columns]``, where `depth` is the K of a block."""

    rows: int
    depth: int
    columns: int
    blocks: str
    width: int
    lanes: int
    mr: int
    """Maximum rows of a register tile (MR)."""
    wanted: int
    """Workgroups wanted, for threads to share."""
    cpu: CpuModel
    copies: int = 1
    """Copies of the sums of rows; each share of the workgroups reads its own."""

    @property
    def breadth(self) -> int:
        """Columns of a block of the result."""
        return -(-self.columns // self.algorithm.columns)

    @property
    def panels(self) -> int:
        return -(-self.breadth // self.width)

    @property
    def flops(self) -> int:
        """FLOPs of the products, without the sums."""
        return 2 * self.algorithm.products * self.height * self.depth * self.breadth

    @property
    def terms(self) -> int:
        """Stride from the sums of rows of one product to those of the next, in elements."""
        return terms_size(self.height, self.depth)

    @property
    def block(self) -> int:
        """Rows in a workgroup: a divisor of the rows of a block that gives enough workgroups."""
        held = int(self.cpu.l2_bytes * SCRATCH_SHARE)
        most = max(1, held // (self.algorithm.products * self.width * 4))
        divisors = [n for n in range(min(most, self.height), 0, -1) if self.height % n == 0]
        many = [n for n in divisors if self.height // n * self.panels >= self.wanted]
        return next((n for n in many if n >= FEW_ROWS), divisors[0])

    @property
    def row_blocks(self) -> int:
        """Row blocks over which the workgroups are split."""
        return self.height // self.block

    @property
    def group(self) -> int:
        """Panels in a workgroup: a divisor of all panels."""
        wanted = max(1, self.row_blocks * self.panels // self.wanted)
        return next(n for n in range(wanted, 0, -1) if self.panels % n == 0)

    @property
    def groups(self) -> int:
        return self.panels // self.group

    @property
    def pieces(self) -> int:
        return self.row_blocks * self.groups

    @property
    def depth_blocks(self) -> int:
        """K blocks, all of equal size."""
        most = max(1, int(self.cpu.l2_bytes * WEIGHTS_SHARE) // (self.width * 4))
        wanted = -(-self.depth // most)
        return next(n for n in range(wanted, self.depth + 1) if self.depth % n == 0)

    @property
    def depth_block(self) -> int:
        """Lines in a K block (KC)."""
        return self.depth // self.depth_blocks

    @property
    def product(self) -> int:
        """Elements of one product, padded by a vector: buffers a power of two apart would compete
        for too few cache sets."""
        return self.block * self.width + self.lanes

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup."""
        return self.algorithm.products * self.product


class StrassenEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: StrassenShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        finish: Finish,
    ):
        super().__init__(shape.lanes)
        self.shape, self.x, self.weights, self.output = shape, x, weights, output
        self.scratch, self.finish = scratch, finish

    def piece(self, number: ir.Value) -> None:
        """Emit workgroup `number`; the groups of panels of a block of rows are consecutive."""
        shape = self.shape
        block = arith.divui(number, self.index(shape.groups))
        group = arith.remui(number, self.index(shape.groups))
        first = self.times(block, shape.block)
        start = self.times(group, shape.group)
        held = self.times(number, shape.scratch)
        terms = self.times(self._share(number), shape.algorithm.products * shape.terms)

        def panel(number: ir.Value) -> None:
            def product(at: ir.Value) -> None:
                rows = arith.addi(terms, self.times(at, shape.terms))
                rows = arith.addi(rows, self.times(first, shape.depth))
                self._multiply(at, number, rows, held)

            self.repeat(0, shape.algorithm.products, product)
            self.repeat(0, shape.block, lambda row: self._combine(row, number, first, held))

        self.repeat(start, self.add(start, shape.group), panel)

    def _share(self, number: ir.Value) -> ir.Value:
        """The share of workgroup `number`, of equal shares as those of `work-stealing-dispatch`."""
        shape = self.shape
        end = self.add(self.times(number, shape.copies), shape.copies - 1)
        return arith.divui(end, self.index(shape.pieces))

    def _multiply(self, product: ir.Value, panel: ir.Value, rows: ir.Value, held: ir.Value) -> None:
        """Emit one product: the rows at `rows` by a panel, into scratch from `held` on."""
        shape = self.shape
        number = arith.addi(self.times(panel, shape.algorithm.products), product)
        weights = self.times(number, shape.depth * shape.width)
        target = arith.addi(held, self.times(product, shape.product))

        def block(number: ir.Value) -> None:
            start = self.times(number, shape.depth_block)
            line = arith.addi(weights, self.times(start, shape.width))
            continues = None
            if shape.depth_blocks > 1:
                continues = self.compare(arith.CmpIPredicate.ne, number, 0)
            self._tiles(arith.addi(rows, start), line, target, continues)

        self.repeat(0, shape.depth_blocks, block)

    def _tiles(
        self, rows: ir.Value, weights: ir.Value, target: ir.Value, continues: ir.Value | None
    ) -> None:
        """Multiply one K block, the elements at `rows` and at `weights`, into scratch at `target`,
        accumulating where `continues` holds."""
        shape = self.shape
        parts, done = long_vectors(shape.width, shape.lanes), 0
        for count, size in even_tiles(shape.block, shape.mr):

            def tile(number: ir.Value, size: int = size, done: int = done) -> None:
                line = self.add(self.times(number, size), done)
                at = arith.addi(rows, self.times(line, shape.depth))
                place = arith.addi(target, self.times(line, shape.width))
                factors = Rows(self.x, at, size, shape.depth, shape.width)
                sums = self._start(place, self.zeros(size, parts), continues)
                sums = self.multiply(
                    factors, self.weights, weights, shape.depth_block, sums,
                    self._ahead(weights, line),
                )  # fmt: skip
                self.store_all(sums, self.scratch, place)

            self.repeat(0, count, tile)
            done += count * size

    def _start(self, place: ir.Value, zeros: Registers, continues: ir.Value | None) -> Registers:
        """The initial accumulators: zeros, or the partial sums from `place` on."""
        if continues is None:
            return zeros
        lanes = [lanes_of(zero) for zero in zeros]
        return self.when(continues, lambda: self.load_all(self.scratch, place, lanes), zeros)

    def _ahead(self, weights: ir.Value, line: ir.Value) -> Ahead:
        """The part of the next weights to prefetch while the tile at row `line` of the block is
        multiplied."""
        shape = self.shape
        next_ = self.add(weights, shape.depth_block * shape.width)
        tiles = sum(count for count, _ in even_tiles(shape.block, shape.mr))
        per_line = -(-shape.depth_block * shape.width // shape.block)
        start = self.add(next_, self.times(line, per_line))
        return Ahead(start, max(1, -(-shape.width // tiles)))

    def _combine(self, row: ir.Value, panel: ir.Value, first: ir.Value, held: ir.Value) -> None:
        """Emit one row of each block of the result, for the columns of a panel."""
        shape, algorithm = self.shape, self.shape.algorithm
        line = arith.addi(held, self.times(row, shape.width))

        def vectors(part: ir.Value, registers: Registers) -> Registers:
            at = arith.addi(line, part)
            products = [
                self.load(self.scratch, self.add(at, product * shape.product))
                for product in range(algorithm.products)
            ]
            feature = arith.addi(self.times(panel, shape.width), part)
            for down in range(algorithm.rows):
                signs = algorithm.result[down * algorithm.columns :][: algorithm.columns]
                sums = [self.signed_sum(each, products) for each in signs]
                self._store(down, arith.addi(first, row), feature, sums)
            return registers

        self.loop((self.index(0), self.index(shape.width)), [], vectors, step=self.lanes)

    def _store(self, down: int, row: ir.Value, feature: ir.Value, sums: Registers) -> None:
        """Apply the epilogue to `sums`, one for each block in block row `down` of the result, and
        store them, unless the result lacks that row."""
        shape = self.shape
        line = self.add(row, down * shape.height)
        places = []
        for across in range(shape.algorithm.columns):
            column = self.add(feature, across * shape.breadth)
            mask = self._mask(across, feature)
            offset = arith.addi(self.times(line, shape.columns), column)
            places.append(Place(column, offset, shape.lanes, mask))

        def store() -> None:
            for place, value in zip(places, self.finish(places, sums), strict=True):
                self.store(value, self.output, place.offset, place.mask)

        if (down + 1) * shape.height <= shape.rows:
            return store()
        there = self.compare(arith.CmpIPredicate.ult, line, shape.rows)
        return self.choose(there, store, lambda: None)

    def _mask(self, across: int, feature: ir.Value) -> ir.Value | None:
        """The mask of the lanes from `feature` on that lie within block column `across`."""
        shape = self.shape
        columns = min(shape.breadth, shape.columns - across * shape.breadth)
        if columns == shape.panels * shape.width:
            return None
        return self.lanes_below(arith.subi(self.index(columns), feature))
