"""Matmuls of 8-bit integers on vectors, and of 16-bit ones by 8-bit weights, byte by byte."""

from dataclasses import dataclass, replace

from ...mlir import arith, ir
from .emitter import LhsBlock, Prefetch, Registers
from .group_dot import INT8_DOTS, GroupDot
from .scalar_functions import integer_like
from .vnni_matmul import VnniMatmulEmitter, VnniMatmulShape


@dataclass(frozen=True)
class QuadsMatmulShape(VnniMatmulShape):
    """A matmul whose K is counted in groups of four."""

    dot: GroupDot = INT8_DOTS["avx512vnni"]

    @property
    def k_blocks(self) -> int:
        """One, so that the epilogue finds the accumulators in registers: a panel's weights are a
        quarter of those of f32, and the L2 is fast enough for them."""
        return 1


class WordsMatmulEmitter(VnniMatmulEmitter):
    """Emits the kernel for rows of u16, of which a row of low bytes and one of high bytes are
    adjacent. A register tile has accumulators for both."""

    def left(self, row: ir.Value, start: ir.Value, count: int) -> LhsBlock:
        """See `MatmulEmitter`."""
        return super().left(self.times(row, 2), start, count)

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
        """See `VectorEmitter`."""
        parts = len(accumulators) // left.count
        both = replace(left, count=2 * left.count)
        zeros = [self.splat(0, element=self.accumulator)] * parts
        registers: Registers = []
        for first in range(0, len(accumulators), parts):
            registers += [*accumulators[first : first + parts], *zeros]
        return joined_bytes(super().multiply(both, right, start, k, registers, ahead, mask), parts)


def joined_bytes(sums: Registers, parts: int) -> Registers:
    """Sums of products of u16 from those of their low and their high bytes, `parts` registers of
    each in turn."""
    results: Registers = []
    for first in range(0, len(sums), 2 * parts):
        low, high = sums[first : first + parts], sums[first + parts : first + 2 * parts]
        results += [
            arith.addi(a, arith.shli(b, integer_like(8, b))) for a, b in zip(low, high, strict=True)
        ]
    return results
