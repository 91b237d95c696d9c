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
    LhsBlock,
    Prefetch,
    Registers,
    VectorEmitter,
    even_tiles,
    lanes_of,
    long_vectors,
)
from .epilogue import Epilogue, OutputPosition
from .register_tiles import RegisterTiles, even_register_tiles

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


class RowBlocks:
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
class TermsShape(RowBlocks):
    """The sums of blocks of `rows` x `k` elements."""

    rows: int
    k: int
    blocks: str
    replicas: int = 1

    @property
    def lanes(self) -> int:
        return math.gcd(LANES, self.width)

    @property
    def width(self) -> int:
        """Elements in a row of a block."""
        return self.k // self.algorithm.k

    @property
    def chunk(self) -> int:
        """Rows of a block in a workgroup, at most."""
        return min(self.height, max(1, TERM_ELEMENTS // (self.algorithm.rows * self.k)))

    @property
    def workgroups(self) -> int:
        return self.replicas * self.chunks

    @property
    def chunks(self) -> int:
        """Workgroups per copy."""
        return -(-self.height // self.chunk)

    @property
    def product(self) -> int:
        """Stride from the sums of one product to those of the next, in elements."""
        return terms_size(self.height, self.width)

    def write(self, workgroup_id: ir.Value, x: ir.Value, result: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        TermsEmitter(self, x, result).workgroup(workgroup_id)


class TermsEmitter(VectorEmitter):
    """Emits the kernel that sums blocks of rows. Indices count elements."""

    def __init__(self, shape: TermsShape, x: ir.Value, result: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.x, self.result = shape, x, result

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`: some rows of all sums. The last blocks may lack the last
        row."""
        shape = self.shape
        copy = arith.divui(workgroup_id, self.index(shape.chunks))
        target = self.times(copy, shape.algorithm.products * shape.product)
        first = self.times(arith.remui(workgroup_id, self.index(shape.chunks)), shape.chunk)
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
            self.add(self.times(self.add(row, down * shape.height), shape.k), across)
            for down in range(present)
            for across in range(0, shape.k, shape.width)
        ]

        def vectors(at: ir.Value) -> None:
            held = [self.load(self.x, arith.addi(start, at)) for start in starts]
            for product, signs in enumerate(algorithm.left):
                position = self.add(self.times(row, shape.width), product * shape.product)
                position = arith.addi(position, target)
                total = self.signed_sum(signs[: len(held)], held)
                self.store(total, self.result, arith.addi(position, at))

        self.loop(
            (self.index(0), self.index(shape.width)), [],
            lambda at, registers: (vectors(at), registers)[1], step=self.lanes,
        )  # fmt: skip


@dataclass(frozen=True)
class StrassenShape(RowBlocks):
    """``[rows, k] x [k, columns]``, where `k` is the K of a block."""

    rows: int
    k: int
    columns: int
    blocks: str
    nr: int
    lanes: int
    mr: int
    """Maximum rows of a register tile (MR)."""
    wanted: int
    """Workgroups wanted, for threads to share."""
    cpu: CpuModel
    replicas: int = 1
    """Copies of the sums of rows; each share of the workgroups reads its own."""

    @property
    def breadth(self) -> int:
        """Columns of a block of the result."""
        return -(-self.columns // self.algorithm.columns)

    @property
    def panels(self) -> int:
        return -(-self.breadth // self.nr)

    @property
    def flops(self) -> int:
        """FLOPs of the products, without the sums."""
        return 2 * self.algorithm.products * self.height * self.k * self.breadth

    @property
    def terms(self) -> int:
        """Stride from the sums of rows of one product to those of the next, in elements."""
        return terms_size(self.height, self.k)

    @property
    def mc(self) -> int:
        """Rows in a workgroup: a divisor of the rows of a block that gives enough workgroups."""
        held = int(self.cpu.l2_bytes * SCRATCH_SHARE)
        most = max(1, held // (self.algorithm.products * self.nr * 4))
        divisors = [n for n in range(min(most, self.height), 0, -1) if self.height % n == 0]
        many = [n for n in divisors if self.height // n * self.panels >= self.wanted]
        return next((n for n in many if n >= FEW_ROWS), divisors[0])

    @property
    def m_blocks(self) -> int:
        """Row blocks over which the workgroups are split."""
        return self.height // self.mc

    @property
    def nc_panels(self) -> int:
        """Panels in a workgroup: a divisor of all panels."""
        wanted = max(1, self.m_blocks * self.panels // self.wanted)
        return next(n for n in range(wanted, 0, -1) if self.panels % n == 0)

    @property
    def n_blocks(self) -> int:
        return self.panels // self.nc_panels

    @property
    def workgroups(self) -> int:
        return self.m_blocks * self.n_blocks

    @property
    def k_blocks(self) -> int:
        """K blocks, all of equal size."""
        most = max(1, int(self.cpu.l2_bytes * WEIGHTS_SHARE) // (self.nr * 4))
        wanted = -(-self.k // most)
        return next(n for n in range(wanted, self.k + 1) if self.k % n == 0)

    @property
    def kc(self) -> int:
        """Lines in a K block (KC)."""
        return self.k // self.k_blocks

    @property
    def product(self) -> int:
        """Elements of one product, padded by a vector: buffers a power of two apart would compete
        for too few cache sets."""
        return self.mc * self.nr + self.lanes

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
        epilogue: Epilogue,
    ):
        super().__init__(shape.lanes)
        self.shape, self.x, self.weights, self.output = shape, x, weights, output
        self.scratch, self.epilogue = scratch, epilogue

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the groups of panels of a block of rows are
        consecutive."""
        shape = self.shape
        block = arith.divui(workgroup_id, self.index(shape.n_blocks))
        group = arith.remui(workgroup_id, self.index(shape.n_blocks))
        first = self.times(block, shape.mc)
        start = self.times(group, shape.nc_panels)
        held = self.times(workgroup_id, shape.scratch)
        terms = self.times(self._share(workgroup_id), shape.algorithm.products * shape.terms)

        def panel(panel: ir.Value) -> None:
            def product(at: ir.Value) -> None:
                rows = arith.addi(terms, self.times(at, shape.terms))
                rows = arith.addi(rows, self.times(first, shape.k))
                self._multiply(at, panel, rows, held)

            self.repeat(0, shape.algorithm.products, product)
            self.repeat(0, shape.mc, lambda row: self._combine(row, panel, first, held))

        self.repeat(start, self.add(start, shape.nc_panels), panel)

    def _share(self, workgroup_id: ir.Value) -> ir.Value:
        """The share of workgroup `workgroup_id`, of equal shares as those of
        `work-stealing-dispatch`."""
        shape = self.shape
        end = self.add(self.times(workgroup_id, shape.replicas), shape.replicas - 1)
        return arith.divui(end, self.index(shape.workgroups))

    def _multiply(self, product: ir.Value, panel: ir.Value, rows: ir.Value, held: ir.Value) -> None:
        """Emit one product: the rows at `rows` by a panel, into scratch from `held` on."""
        shape = self.shape
        number = arith.addi(self.times(panel, shape.algorithm.products), product)
        weights = self.times(number, shape.k * shape.nr)
        target = arith.addi(held, self.times(product, shape.product))

        def block(number: ir.Value) -> None:
            start = self.times(number, shape.kc)
            line = arith.addi(weights, self.times(start, shape.nr))
            continues = None
            if shape.k_blocks > 1:
                continues = self.compare(arith.CmpIPredicate.ne, number, 0)
            self._tiles(arith.addi(rows, start), line, target, continues)

        self.repeat(0, shape.k_blocks, block)

    def _tiles(
        self, rows: ir.Value, weights: ir.Value, target: ir.Value, continues: ir.Value | None
    ) -> None:
        """Multiply one K block, the elements at `rows` and at `weights`, into scratch at `target`,
        accumulating where `continues` holds."""
        shape = self.shape
        parts = long_vectors(shape.nr, shape.lanes)
        for tiles in even_register_tiles(shape.mc, shape.mr):

            def tile(number: ir.Value, tiles: RegisterTiles = tiles) -> None:
                line = self.add(self.times(number, tiles.size), tiles.first)
                at = arith.addi(rows, self.times(line, shape.k))
                position = arith.addi(target, self.times(line, shape.nr))
                factors = LhsBlock(self.x, at, tiles.size, shape.k, shape.nr)
                accumulators = self._start(position, self.zeros(tiles.size, parts), continues)
                accumulators = self.multiply(
                    factors, self.weights, weights, shape.kc, accumulators,
                    self._ahead(weights, line),
                )  # fmt: skip
                self.store_all(accumulators, self.scratch, position)

            self.repeat(0, tiles.count, tile)

    def _start(self, position: ir.Value, zeros: Registers, continues: ir.Value | None) -> Registers:
        """The initial accumulators: zeros, or the partial sums from `position` on."""
        if continues is None:
            return zeros
        lanes = [lanes_of(zero) for zero in zeros]
        return self.when(continues, lambda: self.load_all(self.scratch, position, lanes), zeros)

    def _ahead(self, weights: ir.Value, line: ir.Value) -> Prefetch:
        """The part of the next weights to prefetch while the tile at row `line` of the block is
        multiplied."""
        shape = self.shape
        next_ = self.add(weights, shape.kc * shape.nr)
        tiles = sum(count for count, _ in even_tiles(shape.mc, shape.mr))
        per_line = -(-shape.kc * shape.nr // shape.mc)
        start = self.add(next_, self.times(line, per_line))
        return Prefetch(start, max(1, -(-shape.nr // tiles)))

    def _combine(self, row: ir.Value, panel: ir.Value, first: ir.Value, held: ir.Value) -> None:
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
                self._store(down, arith.addi(first, row), feature, sums)
            return registers

        self.loop((self.index(0), self.index(shape.nr)), [], vectors, step=self.lanes)

    def _store(self, down: int, row: ir.Value, feature: ir.Value, sums: Registers) -> None:
        """Apply the epilogue to `sums`, one for each block in block row `down` of the result, and
        store them, unless the result lacks that row."""
        shape = self.shape
        line = self.add(row, down * shape.height)
        positions = []
        for across in range(shape.algorithm.columns):
            column = self.add(feature, across * shape.breadth)
            mask = self._mask(across, feature)
            offset = arith.addi(self.times(line, shape.columns), column)
            positions.append(OutputPosition(column, offset, shape.lanes, mask))

        def store() -> None:
            for position, value in zip(positions, self.epilogue(positions, sums), strict=True):
                self.store(value, self.output, position.offset, position.mask)

        if (down + 1) * shape.height <= shape.rows:
            return store()
        there = self.compare(arith.CmpIPredicate.ult, line, shape.rows)
        return self.choose(there, store, lambda: None)

    def _mask(self, across: int, feature: ir.Value) -> ir.Value | None:
        """The mask of the lanes from `feature` on that lie within block column `across`."""
        shape = self.shape
        columns = min(shape.breadth, shape.columns - across * shape.breadth)
        if columns == shape.panels * shape.nr:
            return None
        return self.lanes_below(arith.subi(self.index(columns), feature))
