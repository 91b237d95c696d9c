"""Matmul by packed weights of few bits on the tile registers of AMX.

A workgroup multiplies all rows by some panels of columns. It splits rows into a high and a low bf16
term, a block of rows at a time, and a panel of weights likewise, both to scratch memory: the more
rows there are, the less widening the weights costs.
"""

from dataclasses import dataclass, field

from ...dialects import graph
from ...mlir import arith, ir, vector
from . import amx
from .amx_matmul import ROWS, WIDTH, AmxMatmulEmitter, AmxMatmulShape
from .epilogue import Epilogue
from .nbits_weights import NbitsReader, Scaling

_L2_ROWS_SHARE = 1
"""Share of the L2 for the terms of a block of rows."""
_PARTS = WIDTH // amx.ROW_ACCUMULATORS
"""Vectors of a panel's columns."""


@dataclass(frozen=True)
class NbitsAmxShape(AmxMatmulShape):
    """A matmul by panels of `layout`, in two terms."""

    terms: int = 2
    layout: graph.NbitsFormat = field(kw_only=True)

    @property
    def mc(self) -> int:
        """Rows whose terms are in scratch memory at a time."""
        held = int(self.cpu.l2_bytes * _L2_ROWS_SHARE) // (self.dot.factor_bytes * self.row)
        most = max(1, held // ROWS) * ROWS
        return most if self.rows is None else min(most, -(-self.rows // ROWS) * ROWS)

    @property
    def workgroups(self) -> int:
        """See `AmxMatmulShape`: one for each group of panels."""
        return self.n_blocks

    @property
    def nc_panels(self) -> int:
        """See `AmxMatmulShape`; whole panels of the layout."""
        share = -(-self.panels // 8)
        together = self.layout.nr // WIDTH
        return -(-share // together) * together

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup, of bf16: rows, and a panel."""
        return (self.mc + WIDTH) * self.row


class NbitsAmxEmitter(AmxMatmulEmitter):
    """Emits the kernel."""

    shape: NbitsAmxShape

    def __init__(
        self,
        shape: NbitsAmxShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape, scratch, scratch, output, epilogue)
        self.x, self.words, self.scratch = x, weights, scratch
        self._base = self._first_row = self.index(0)

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self.shape
        count = self.index(shape.rows) if rows is None and shape.rows is not None else rows
        assert count is not None
        self._base = self.times(workgroup_id, shape.scratch)
        start = self.times(workgroup_id, shape.nc_panels)
        last = arith.minui(self.add(start, shape.nc_panels), self.index(shape.panels))
        self.tiles.request()
        self.tiles.configure()
        blocks = arith.ceildivui(count, self.index(shape.mc))

        def block(number: ir.Value) -> None:
            first = self._first_row = self.times(number, shape.mc)
            lines = arith.minui(self.index(shape.mc), arith.subi(count, first))
            self.repeat(0, lines, self._split_row)
            self.group(start, last, first, lines)

        self.repeat(self.index(0), blocks, block)
        self.tiles.release()

    def row_start(self, row: ir.Value) -> ir.Value:
        """See `AmxMatmulEmitter`."""
        return self.add(self._base, self.times(arith.subi(row, self._first_row), self.shape.row))

    def panel_start(self, panel: ir.Value) -> ir.Value:
        """See `AmxMatmulEmitter`: one panel is in scratch memory."""
        del panel
        return self.add(self._base, self.shape.mc * self.shape.row)

    def prefetch(self, panel: ir.Value, row: ir.Value, step: ir.Value) -> None:
        """See `AmxMatmulEmitter`: scratch memory is in a cache."""

    def panel(self, panel: ir.Value, first: ir.Value, lines: ir.Value, columns: int) -> None:
        """See `AmxMatmulEmitter`."""
        self._split_panel(panel)
        super().panel(panel, first, lines, columns)

    def _split_row(self, line: ir.Value) -> None:
        """Write the terms of row `line` of the block to scratch memory."""
        k = self.shape.k
        source = self.times(self.add(self._first_row, line), k)
        target = self.add(self._base, self.times(line, self.shape.row))

        def split(at: ir.Value) -> None:
            at = self.times(at, self.lanes)
            high, low = self._terms(self.load(self.x, self.add(source, at)))
            to = self.add(target, at)
            self.store(high, self.scratch, to)
            self.store(low, self.scratch, self.add(to, k))

        self.repeat(0, k // self.lanes, split)

    def _terms(self, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """`x` rounded to bf16, and the rounding error; infinities have none."""
        type_ = ir.VectorType.get([self.lanes], ir.BF16Type.get())
        rounded = self._rounded(x)
        exact = arith.cmpf(arith.CmpFPredicate.OEQ, x, rounded)
        rest = arith.select(exact, self.splat(0), arith.subf(x, rounded))
        return arith.truncf(type_, rounded), arith.truncf(type_, rest)

    def _rounded(self, x: ir.Value) -> ir.Value:
        """`x` rounded to bf16, by its bits: the backend drops a cast there and back. What a NaN
        becomes does not matter, as the rounding error is NaN."""
        i32 = ir.IntegerType.get_signless(32)
        bits = arith.bitcast(self.vector_of(self.lanes, i32), x)
        splat = {n: self.splat(n, element=i32) for n in (1, 16, 0x7FFF, -1 << 16)}
        odd = arith.andi(arith.shrui(bits, splat[16]), splat[1])
        up = arith.addi(arith.addi(bits, splat[0x7FFF]), odd)
        return arith.bitcast(x.type, arith.andi(up, splat[-1 << 16]))

    def _split_panel(self, panel: ir.Value) -> None:
        """Write the terms of a panel's weights to scratch memory, in pairs along K."""
        layout = self.shape.layout
        together = self.index(layout.nr // WIDTH)
        first = self.times(arith.remui(panel, together), _PARTS)
        reader = NbitsReader(self, self.words, layout, _PARTS, first)
        blocks = self.shape.k // layout.block
        held = self.times(arith.divui(panel, together), blocks * layout.words)
        target = self.panel_start(panel)

        def block(number: ir.Value) -> None:
            start = self.add(held, self.times(number, layout.words))
            scaling = reader.scaling(start, exact=False)
            row = self.add(target, self.times(number, layout.block * WIDTH))

            def line(index: ir.Value) -> None:
                words = reader.words(start, index)
                self._split_line(
                    reader, scaling, words,
                    self.add(row, self.times(index, layout.per_word * WIDTH)),
                )  # fmt: skip

            self.repeat(0, layout.lines, line)

        self.repeat(0, blocks, block)

    def _split_line(
        self, reader: NbitsReader, scaling: Scaling, words: list[ir.Value], target: ir.Value
    ) -> None:
        """Write the terms of a line of words from `target` on."""
        pair = 2 * self.lanes
        for number in range(0, self.shape.layout.per_word, 2):
            for part, word in enumerate(words):
                weights = [
                    scaling.weight(reader.integers(word, number + k), part) for k in range(2)
                ]
                terms = zip(*map(self._terms, weights), strict=True)
                at = self.add(target, number * WIDTH + part * pair)
                for term, (even, odd) in enumerate(terms):
                    position = self.add(at, term * self.shape.k * WIDTH)
                    self.store(vector.interleave(even, odd), self.scratch, position)
