"""Matmul kernels on vectors that multiply groups of adjacent factors (the VNNI layout): the f32
kernel with a group of 32 bits in place of each factor.

VDPBF16PS adds the products of two adjacent bf16 of a row by two lines of a column to an f32
accumulator, VPDPBUSD those of four u8 by four i8 to an i32 accumulator. The f32 kernel counts K in
elements of four bytes; these count it in groups.
"""

from dataclasses import dataclass

from ...mlir import ir, llvm, memref, vector
from .emitter import LhsBlock, Prefetch, Registers, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import product

GROUP_LANES = 16
"""Groups in a vector of 512 bits."""
GROUP_BYTES = 4


@dataclass(frozen=True)
class GroupDot:
    """An instruction that adds the dot products of groups to accumulators, and its types."""

    name: str
    size: int
    """Factors of a group."""

    @property
    def factor(self) -> ir.Type:
        """The type of a factor; integers have no sign."""
        bits = 8 * GROUP_BYTES // self.size
        return ir.BF16Type.get() if bits == 16 else ir.IntegerType.get_signless(bits)

    @property
    def accumulator(self) -> ir.Type:
        if self.size == 2:
            return ir.F32Type.get()
        return ir.IntegerType.get_signless(32)

    @property
    def groups(self) -> ir.VectorType:
        """The type of a vector of groups."""
        return ir.VectorType.get([self.size * GROUP_LANES], self.factor)

    def load(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load a vector of groups from the element `at` on."""
        return vector.load(self.groups, memory, [at])

    def broadcast(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Broadcast the group at the element `at` to a vector."""
        return self.repeated(self.load_one(memory, at))

    def load_one(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load the group at the element `at`, as an i32."""
        i32 = ir.IntegerType.get_signless(32)
        group = vector.load(ir.VectorType.get([self.size], self.factor), memory, [at])
        return vector.extract(vector.bitcast(ir.VectorType.get([1], i32), group), [], [0])

    def repeated(self, group: ir.Value) -> ir.Value:
        """A vector of groups equal to `group`, an i32."""
        many = vector.broadcast(ir.VectorType.get([GROUP_LANES], group.type), group)
        return vector.bitcast(self.groups, many)

    def multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """Add the dot products of the groups of `a` and `b` to `total`."""
        type_ = ir.VectorType.get([GROUP_LANES], self.accumulator)
        return llvm.call_intrinsic(type_, f"llvm.x86.{self.name}", [total, a, b], [], [])


DOT_BF16 = GroupDot("avx512bf16.dpbf16ps.512", 2)
DOT_INT8 = GroupDot("avx512.vpdpbusd.512", 4)
"""Multiplies u8 by i8."""


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
