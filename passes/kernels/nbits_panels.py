"""Matmul of many rows by packed weights of few bits, which are widened to scratch memory.

The kernel is that of packed f32 weights. Before a block of rows is multiplied by a K block of a
panel, that is widened to f32, and stays in the L1: the more rows there are, the less that costs.
"""

from dataclasses import dataclass, field
from typing import Any

from ...dialects import graph
from ...mlir import arith, ir
from .emitter import Prefetch
from .epilogue import Epilogue
from .nbits_weights import NbitsReader
from .packed_matmul import MatmulEmitter, MatmulShape


@dataclass(frozen=True)
class WidenedPanelsShape(MatmulShape):
    """A matmul by panels of `layout`, a K block of which is in scratch memory at a time."""

    layout: graph.NbitsFormat = field(kw_only=True)

    @property
    def block_lines(self) -> int:
        """Lines of a block of the layout in scratch memory."""
        return self.layout.block

    @property
    def workgroups(self) -> int:
        """See `MatmulShape`; of dynamic rows, each multiplies all."""
        return self.n_blocks if self.rows is None else super().workgroups

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup, each of 4 bytes."""
        return self.kc * self.line


@dataclass(frozen=True)
class NbitsPanelsShape(WidenedPanelsShape):
    """A matmul by weights that are widened to f32; K is a multiple of the layout's block."""

    exact: bool = field(kw_only=True)
    """True if zero points are subtracted before weights are scaled."""

    @property
    def kc(self) -> int:
        """See `MatmulShape`; whole blocks of the layout."""
        lines = self.weights_bytes // (4 * self.line)
        return max(1, lines // self.layout.block) * self.layout.block

    @property
    def k_blocks(self) -> int:
        """See `MatmulShape`."""
        return -(-self.k // self.kc)


class NbitsPanelsEmitter(MatmulEmitter):
    """Emits the kernel."""

    shape: WidenedPanelsShape

    def __init__(
        self,
        shape: WidenedPanelsShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
    ):
        super().__init__(shape, x, scratch, output, epilogue)
        self.words, self.scratch = weights, scratch
        self._base = self.index(0)

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self.shape
        self._base = self.times(workgroup_id, shape.scratch)
        if rows is None:
            super().workgroup(workgroup_id)
            return
        panel = self.times(workgroup_id, shape.nc_panels)

        def block(number: ir.Value) -> None:
            first = self.times(number, shape.mc)
            count = arith.minui(self.index(shape.mc), arith.subi(rows, first))
            self.rows(first, first, panel, count)

        self.repeat(self.index(0), arith.ceildivui(rows, self.index(shape.mc)), block)

    def weights_of(self, panel: ir.Value, start: ir.Value, length: ir.Value) -> ir.Value:
        """See `MatmulEmitter`; the weights are widened first."""
        shape, layout = self.shape, self.shape.layout
        size = self.index(shape.block_lines)
        blocks = shape.k // shape.block_lines
        number = self.add(self.times(panel, blocks), arith.divui(start, size))
        held = self.times(number, layout.words)
        reader = NbitsReader(self, self.words, layout, layout.nr // self.lanes, self.index(0))

        def block(number: ir.Value) -> None:
            self.widen(
                reader,
                self.add(held, self.times(number, layout.words)),
                self.add(self._base, self.times(number, shape.block_lines * shape.line)),
            )

        self.repeat(self.index(0), arith.divui(length, size), block)
        return self._base

    def widen(self, reader: NbitsReader, block: ir.Value, target: ir.Value) -> None:
        """Write the weights of the block that starts at word `block` from `target` on."""
        layout = self.shape.layout
        assert isinstance(self.shape, NbitsPanelsShape)
        scaling = reader.scaling(block, self.shape.exact)

        def line(index: ir.Value) -> None:
            to = self.add(target, self.times(index, layout.per_word * layout.nr))
            words = reader.words(block, index)
            for number in range(layout.per_word):
                for part, word in enumerate(words):
                    weights = scaling.weight(reader.integers(word, number), part)
                    at = self.add(to, number * layout.nr + part * self.lanes)
                    self.store(weights, self.scratch, at)

        self.repeat(0, layout.lines, line)

    def ahead(self, *_: Any) -> Prefetch | None:
        """See `MatmulEmitter`: scratch memory is in a cache."""
        return None
