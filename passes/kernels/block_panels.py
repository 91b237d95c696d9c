"""Matmul by panels of packed weights of few bits, which are read as they are.

K counts blocks of weights that have their scales in common. What a kernel makes of the weights of a
block, and of the rows, is its own.
"""

from dataclasses import dataclass, field

from ...dialects import graph
from ...mlir import ir, memref
from .emitter import CACHE_LINE, Prefetch, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape


@dataclass(frozen=True)
class BlockPanelsShape(MatmulShape):
    """A matmul by panels of `layout`, whose `k` is counted in blocks."""

    layout: graph.NbitsFormat = field(kw_only=True)

    @property
    def line(self) -> int:
        """See `MatmulShape`; the words of a block."""
        return self.layout.words

    @property
    def flops(self) -> int | None:
        """See `MatmulShape`."""
        blocks = super().flops
        return None if blocks is None else self.layout.block * blocks

    @property
    def k_blocks(self) -> int:
        """One, so that accumulators stay in registers: a panel is a fraction of that of f32, and
        the L2 is fast enough for it."""
        return 1


class BlockPanelsEmitter(MatmulEmitter):
    """Emits what kernels of such panels have in common."""

    shape: BlockPanelsShape

    def parts(self, columns: int) -> list[VectorSlice]:
        """See `MatmulEmitter`: vectors of the length that the instructions take."""
        return short_vectors(columns, self.lanes)

    def prefetch_block(self, memory: ir.Value, ahead: Prefetch, index: ir.Value) -> None:
        """Prefetch what lies `ahead` of block `index` of a panel."""
        for more in ahead.offsets(CACHE_LINE):
            at = self.add(ahead.start, self.add(self.times(index, ahead.step), more))
            memref.prefetch(memory, [at], is_write=False, locality_hint=2, is_data_cache=True)
