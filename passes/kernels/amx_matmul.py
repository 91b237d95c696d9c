"""A matmul kernel on the tile registers of AMX, with 32x32 accumulators in registers.

A workgroup computes a block of rows by some panels of columns. Each panel is multiplied by all rows
of the block, two tiles of rows at a time: two tiles of rows by two of weights give four tiles of
accumulators. These pass through memory into vectors for the epilogue.
"""

from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...mlir import arith, ir, memref
from . import amx
from .amx import TILES_BF16, Address, TileDot, TileRegisters
from .emitter import Registers, VectorEmitter, long_vectors
from .epilogue import Epilogue, OutputPosition

WIDTH = 2 * amx.ROW_ACCUMULATORS
"""Columns of a panel (NR)."""
ROWS = 2 * amx.ROWS
"""Rows that are multiplied at a time (MR)."""
L2_ROWS_SHARE = 1
"""Share of the L2 for a block of rows."""
MIN_WORKGROUPS = 8
"""Workgroups that a matmul should split into, for threads to share."""

_ACCUMULATORS = ((0, 1), (2, 3))
_ROWS = (4, 5)
_WEIGHTS = (6, 7)
_TERM_PAIRS = {1: ((0, 0),), 2: ((0, 1), (0, 0), (1, 0))}
"""Pairs of terms (rows, weights) that are multiplied, ordered so that few are loaded twice."""


@dataclass(frozen=True)
class AmxMatmulShape:
    """``[rows, k] x [k, columns]``, where `k` is a multiple of a tile's."""

    rows: int | None
    """None if dynamic."""
    k: int
    columns: int
    cpu: CpuModel
    terms: int = 1
    """Terms that sum to a factor; two terms take three products."""
    dot: TileDot = TILES_BF16

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.terms * self.k

    @property
    def panel(self) -> int:
        """Elements of a panel."""
        return self.terms * self.k * WIDTH

    @property
    def flops(self) -> int | None:
        return None if self.rows is None else 2 * self.rows * self.k * self.columns

    @property
    def panels(self) -> int:
        return -(-self.columns // WIDTH)

    @property
    def mc(self) -> int:
        """Rows in a workgroup, at most."""
        row_bytes = self.dot.factor_bytes * self.row
        held = int(self.cpu.l2_bytes * L2_ROWS_SHARE) // row_bytes
        most = max(1, held // ROWS) * ROWS
        if self.rows is None:
            return most
        even = -(-self.rows // -(-self.rows // most))
        return min(-(-even // ROWS) * ROWS, self.rows)

    @property
    def tiles(self) -> int:
        """Steps in which the rows of a block are multiplied by a panel."""
        return -(-self.mc // ROWS)

    @property
    def nc_panels(self) -> int:
        """Panels in a workgroup, except the last one of a block."""
        blocks = 1 if self.rows is None else -(-self.rows // self.mc)
        return -(-self.panels // -(-MIN_WORKGROUPS // blocks))

    @property
    def n_blocks(self) -> int:
        return -(-self.panels // self.nc_panels)

    @property
    def workgroups(self) -> int:
        assert self.rows is not None
        return -(-self.rows // self.mc) * self.n_blocks

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        blocks = arith.ceildivui(rows, _index(self.mc))
        return arith.muli(blocks, _index(self.n_blocks))


class AmxMatmulEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: AmxMatmulShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(amx.ROW_ACCUMULATORS)
        self.shape, self.output, self.epilogue = shape, output, epilogue
        self.tiles = TileRegisters()
        self.accumulators = memref.alloca(
            ir.MemRefType.get([ROWS * WIDTH], shape.dot.accumulator), [], [], alignment=64
        )
        self.weights = weights
        self._x, self._weights = Address(x), Address(weights)
        self._accumulators = Address(self.accumulators)

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`; the groups of panels of a block of rows are
        consecutive."""
        shape = self.shape
        if rows is None:
            assert shape.rows is not None
            rows = self.index(shape.rows)
        block = arith.divui(workgroup_id, self.index(shape.n_blocks))
        group = arith.remui(workgroup_id, self.index(shape.n_blocks))
        first = self.times(block, shape.mc)
        lines = arith.minui(self.index(shape.mc), arith.subi(rows, first))
        start = self.times(group, shape.nc_panels)
        last = arith.minui(self.add(start, shape.nc_panels), self.index(shape.panels))
        self.tiles.request()
        self.tiles.configure()
        self.group(start, last, first, lines)
        self.tiles.release()

    def group(self, start: ir.Value, last: ir.Value, first: ir.Value, lines: ir.Value) -> None:
        """Multiply a block of rows, the `lines` from `first` on, by the panels from `start` to
        `last`."""
        full = arith.minui(last, self.index(self.shape.columns // WIDTH))
        self.repeat(start, full, lambda panel: self.panel(panel, first, lines, WIDTH))
        if rest := self.shape.columns % WIDTH:
            self.repeat(full, last, lambda panel: self.panel(panel, first, lines, rest))

    def panel(self, panel: ir.Value, first: ir.Value, lines: ir.Value, columns: int) -> None:
        """Multiply a block of rows, the `lines` from `first` on, by a panel."""
        whole = arith.divui(lines, self.index(ROWS))
        self.repeat(
            self.index(0),
            whole,
            lambda at: self._tile(panel, self.add(first, self.times(at, ROWS)), ROWS, columns),
        )
        done = self.times(whole, ROWS)
        left = arith.subi(lines, done)
        one = arith.divui(left, self.index(amx.ROWS))
        first = self.add(first, done)
        self.repeat(self.index(0), one, lambda _: self._tile(panel, first, amx.ROWS, columns))
        done = self.times(one, amx.ROWS)
        left, first = arith.subi(left, done), self.add(first, done)
        some = arith.minui(left, self.index(1))
        self.repeat(self.index(0), some, lambda _: self._rest(panel, first, left, columns))

    def _rest(self, panel: ir.Value, row: ir.Value, count: ir.Value, columns: int) -> None:
        """Multiply fewer rows than a tile has."""
        self.tiles.configure(count, of=(*_ACCUMULATORS[0], _ROWS[0]))
        self._tile(panel, row, amx.ROWS, columns, count)
        self.tiles.configure()

    def _tile(
        self,
        panel: ir.Value,
        row: ir.Value,
        rows: int,
        columns: int,
        count: ir.Value | None = None,
    ) -> None:
        """Multiply one or two tiles of rows by a panel; `count` rows exist, all if it is None."""
        shape, tiles = self.shape, self.tiles
        step_size = shape.dot.step
        used = range(rows // amx.ROWS)
        for part in used:
            for accumulators in _ACCUMULATORS[part]:
                tiles.zero(accumulators)
        start, weights = self.row_start(row), self.panel_start(panel)

        def step(number: ir.Value) -> None:
            self.prefetch(panel, row, number)
            at = self.add(start, self.step_offset(number))
            line = self.add(weights, self.times(number, step_size * WIDTH))
            held: tuple[int | None, int | None] = (None, None)
            for x_term, w_term in _TERM_PAIRS[shape.terms]:
                if w_term != held[1]:
                    self._load_weights(self.add(line, w_term * shape.k * WIDTH))
                if x_term != held[0]:
                    self._load_rows(self.add(at, x_term * shape.k), used)
                held = (x_term, w_term)
                for part in used:
                    for accumulators, groups in zip(_ACCUMULATORS[part], _WEIGHTS, strict=True):
                        tiles.multiply(shape.dot, accumulators, _ROWS[part], groups)

        self.repeat(self.index(0), self.index(shape.k // step_size), step)
        for part in used:
            for column, accumulators in enumerate(_ACCUMULATORS[part]):
                position = part * amx.ROWS * WIDTH + column * amx.ROW_ACCUMULATORS
                tiles.store(accumulators, self._accumulators.rows(self.index(position), WIDTH))
        self._finish(panel, row, self.index(rows) if count is None else count, columns)

    def row_start(self, row: ir.Value) -> ir.Value:
        """The first element of row `row`."""
        return self.times(row, self.shape.row)

    def panel_start(self, panel: ir.Value) -> ir.Value:
        """The first element of a panel."""
        return self.times(panel, self.shape.panel)

    def step_offset(self, number: ir.Value) -> ir.Value:
        """The distance of step `number` along K from the start of a row."""
        return self.times(number, self.shape.dot.step)

    def result_row(self, row: ir.Value) -> ir.Value:
        """The row of the result for row `row` of the operand."""
        return row

    def store_row(
        self, row: ir.Value, positions: list[OutputPosition], accumulators: Registers
    ) -> None:
        """Apply the epilogue to the accumulators of row `row` at `positions`, and store them."""
        for position, value in zip(positions, self.epilogue(positions, accumulators), strict=True):
            self.store(value, self.output, position.offset, position.mask)

    def _load_weights(self, line: ir.Value) -> None:
        """Load one step along K of a panel, from the element `line` on."""
        group = self.shape.dot.group
        for part, register in enumerate(_WEIGHTS):
            groups = self.add(line, part * group * amx.ROW_ACCUMULATORS)
            self.tiles.load(register, self._weights.rows(groups, group * WIDTH))

    def _load_rows(self, at: ir.Value, tiles: range) -> None:
        """Load one step along K of one or two tiles of rows, from the element `at` on."""
        for part in tiles:
            position = self.add(at, part * amx.ROWS * self.shape.row)
            self.tiles.load(_ROWS[part], self._x.rows(position, self.shape.row))

    def _ahead(self, panel: ir.Value, row: ir.Value) -> ir.Value:
        """The part of the next panel to prefetch while the rows from `row` on are multiplied."""
        shape = self.shape
        tile = arith.divui(row, self.index(ROWS))
        tile = arith.remui(tile, self.index(shape.tiles))
        next_ = self.times(self.add(panel, 1), shape.panel)
        return self.add(next_, self.times(tile, -(-shape.panel // shape.tiles)))

    def prefetch(self, panel: ir.Value, row: ir.Value, step: ir.Value) -> None:
        """Prefetch a part of the next panel in step `step` of a tile that starts at `row`."""
        start = self._ahead(panel, row)
        lines = -(-self.shape.dot.step * self.shape.terms // self.shape.tiles)
        at = self.add(start, self.times(step, lines * WIDTH))
        for line in range(lines):
            position = self.add(at, line * WIDTH)
            memref.prefetch(
                self.weights, [position], is_write=False, locality_hint=2, is_data_cache=True
            )

    def _finish(self, panel: ir.Value, row: ir.Value, rows: ir.Value, columns: int) -> None:
        """Apply the epilogue to the accumulators of `rows` rows, and store the results."""
        feature = self.times(panel, WIDTH)
        parts = long_vectors(columns, self.lanes)

        def line(number: ir.Value) -> None:
            at = self.add(row, number)
            offset = self.add(self.times(self.result_row(at), self.shape.columns), feature)
            held = self.times(number, WIDTH)
            positions = [
                OutputPosition(
                    self.add(feature, part.start),
                    self.add(offset, part.start),
                    part.lanes,
                    self.first_lanes(part.count),
                )
                for part in parts
            ]
            accumulators = self.load_all(self.accumulators, held, [part.lanes for part in parts])
            self.store_row(at, positions, accumulators)

        self.repeat(self.index(0), rows, line)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
