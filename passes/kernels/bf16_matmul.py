"""A bf16 matmul kernel on vectors: the f32 kernel with a pair of factors in place of each one.

VDPBF16PS adds the products of two adjacent elements of a row by two lines of a column to an f32
accumulator. The f32 kernel counts K in elements of four bytes; this one counts it in pairs.
"""

from dataclasses import dataclass

from ...mlir import ir, llvm, memref, vector
from .emitter import LhsBlock, Prefetch, Registers, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import product

PAIR_LANES = 16
"""Pairs in a vector of 512 bits."""
L2_WEIGHTS_SHARE = 3 / 32
"""Share of the L2 for the weights. The L2 is fast enough, and with a single K block the epilogue
finds the accumulators in registers and may round them."""


@dataclass(frozen=True)
class PairsMatmulShape(MatmulShape):
    """A matmul whose K is counted in pairs."""

    @property
    def weights_bytes(self) -> int:
        """See `MatmulShape`."""
        return int(self.cpu.l2_bytes * L2_WEIGHTS_SHARE)

    @property
    def flops(self) -> int | None:
        pairs = super().flops
        return None if pairs is None else 2 * pairs


class PairsMatmulEmitter(MatmulEmitter):
    """Emits the kernel for a matmul whose K is counted in pairs."""

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
        parts = len(accumulators) // left.count

        def step(index: ir.Value, registers: Registers) -> Registers:
            line = self.add(start, self.times(index, left.panel_width))
            starts = [self.add(line, part * self.lanes) for part in range(parts)]
            columns = [self._pairs(right, at) for at in starts]
            element = self.add(left.start, self.times(index, left.step))
            if ahead is not None:
                at = self.times(self.add(ahead.start, self.times(index, ahead.step)), 2)
                memref.prefetch(right, [at], is_write=False, locality_hint=2, is_data_cache=True)
            results = []
            for row in range(left.count):
                factor = self._broadcast(left.memory, self.add(element, product(left.stride, row)))
                for part, column in enumerate(columns):
                    total = registers[row * parts + part]
                    results.append(self._multiply_add(total, factor, column))
            return results

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)

    @property
    def _pairs_type(self) -> ir.VectorType:
        return ir.VectorType.get([2 * self.lanes], ir.BF16Type.get())

    def _pairs(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load a vector of pairs, from pair `at` on."""
        return vector.load(self._pairs_type, memory, [self.times(at, 2)])

    def _broadcast(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Broadcast the pair `at` to a vector."""
        i32 = ir.IntegerType.get_signless(32)
        pair = vector.load(ir.VectorType.get([2], ir.BF16Type.get()), memory, [self.times(at, 2)])
        bits = vector.bitcast(ir.VectorType.get([1], i32), pair)
        bits = vector.extract(bits, [], [0])
        many = vector.broadcast(ir.VectorType.get([self.lanes], i32), bits)
        return vector.bitcast(self._pairs_type, many)

    def _multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        name = "llvm.x86.avx512bf16.dpbf16ps.512"
        return llvm.call_intrinsic(self.vector_type, name, [total, a, b], [], [])
