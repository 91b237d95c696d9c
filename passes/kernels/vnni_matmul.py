"""Matmul kernels on vectors that multiply groups of adjacent factors: the f32 kernel with a group
of 32 bits in place of each factor. The f32 kernel counts K in elements of four bytes; these count
it in groups.
"""

from dataclasses import dataclass

from ...mlir import ir, memref
from .emitter import LhsBlock, Prefetch, Registers, VectorSlice, short_vectors
from .group_dot import DOT_BF16, GroupDot
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import product


@dataclass(frozen=True)
class VnniMatmulShape(MatmulShape):
    """A matmul whose K is counted in groups."""

    dot: GroupDot = DOT_BF16

    @property
    def flops(self) -> int | None:
        groups = super().flops
        return None if groups is None else self.dot.size * groups


class VnniMatmulEmitter(MatmulEmitter):
    """Emits the kernel for a matmul whose K is counted in groups."""

    shape: VnniMatmulShape

    @property
    def accumulator(self) -> ir.Type:
        """See `VectorEmitter`."""
        return self.shape.dot.accumulator

    def parts(self, columns: int) -> list[VectorSlice]:
        """See `MatmulEmitter`: vectors of the length that the instruction takes."""
        return short_vectors(columns, self.lanes)

    def multiply(
        self,
        left: LhsBlock,
        right: ir.Value,
        start: ir.Value,
        k: int | ir.Value,
        accumulators: Registers,
        ahead: Prefetch | None = None,
        mask: ir.Value | None = None,
    ) -> Registers:
        """See `VectorEmitter`. Nothing is masked, because panels are padded."""
        assert mask is None
        dot, parts = self.shape.dot, len(accumulators) // left.count

        def step(index: ir.Value, registers: Registers) -> Registers:
            line = self.add(start, self.times(index, left.panel_width))
            starts = [self.add(line, part * self.lanes) for part in range(parts)]
            columns = [dot.load(right, self.times(at, dot.size)) for at in starts]
            element = self.add(left.start, self.times(index, left.step))
            if ahead is not None:
                at = self.add(ahead.start, self.times(index, ahead.step))
                at = self.times(at, dot.size)
                memref.prefetch(right, [at], is_write=False, locality_hint=2, is_data_cache=True)
            results = []
            for row in range(left.count):
                at = self.add(element, product(left.stride, row))
                factor = dot.broadcast(left.memory, self.times(at, dot.size))
                for part, column in enumerate(columns):
                    total = registers[row * parts + part]
                    results.append(dot.multiply_add(total, factor, column))
            return results

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)
