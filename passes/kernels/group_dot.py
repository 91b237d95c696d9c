"""Dot products of groups of adjacent factors, 32 bits of them in place of each f32 (the VNNI
layout).

Every element of a vector of accumulators takes the products of a group of adjacent factors of a
row by one of a column. VDPBF16PS has groups of two bf16 and f32 accumulators, VPDPBUSD groups of
four u8 by four i8 and i32 accumulators.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from ...cpu_model import CpuModel
from ...mlir import arith, ir, llvm, vector

GROUP_BYTES = 4
WORD_PRODUCTS = {8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}
"""VPMADDWD, which adds the products of pairs of i16, by the pairs in a vector."""


@dataclass(frozen=True)
class GroupDot(ABC):
    """A way to add the dot products of groups to accumulators, and its types."""

    size: int
    """Factors of a group."""
    lanes: int
    """Groups in a vector."""

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
        return ir.VectorType.get([self.size * self.lanes], self.factor)

    def free_registers(self, cpu: CpuModel) -> CpuModel:
        """`cpu` with the registers that are left to accumulators, lines and factors."""
        return cpu

    def load(self, memory: ir.Value, at: ir.Value, count: int | None = None) -> ir.Value:
        """Load a vector of groups from the element `at` on. Only `count` groups are read, if that
        is given, and the others are zero."""
        if count is None or count == self.lanes:
            return vector.load(self.groups, memory, [at])
        read = self.size * count
        type_ = ir.VectorType.get([read], self.factor)
        zeros = arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, _zero(self.factor)))
        order = [min(index, read) for index in range(self.size * self.lanes)]
        return vector.shuffle(vector.load(type_, memory, [at]), zeros, order)

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
        many = vector.broadcast(ir.VectorType.get([self.lanes], group.type), group)
        return vector.bitcast(self.groups, many)

    @abstractmethod
    def multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """Add the dot products of the groups of `a` and `b` to `total`."""


@dataclass(frozen=True)
class DotInstruction(GroupDot):
    """One instruction, by the name of its intrinsic."""

    name: str

    def multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """See `GroupDot`."""
        type_ = ir.VectorType.get([self.lanes], self.accumulator)
        return llvm.call_intrinsic(type_, f"llvm.x86.{self.name}", [total, a, b], [], [])


@dataclass(frozen=True)
class WideningDot(GroupDot):
    """Products of u8 by i8 with instructions for i16 (VPMADDWD), half of a group at a time.

    VPMADDUBSW multiplies bytes, but its sums saturate. These are exact.
    """

    HELD = 4
    """Registers for operands as i16 and for products."""

    def free_registers(self, cpu: CpuModel) -> CpuModel:
        """See `GroupDot`."""
        return replace(cpu, vector_registers=cpu.registers - self.HELD)

    def multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """See `GroupDot`."""
        for left, right in zip(self._halves(a, False), self._halves(b, True), strict=True):
            total = add_word_products(total, left, right)
        return total

    def _halves(self, groups: ir.Value, signed: bool) -> tuple[ir.Value, ir.Value]:
        """The even and the odd factors of `groups`, as i16."""
        i16 = ir.IntegerType.get_signless(16)
        type_ = ir.VectorType.get([2 * self.lanes], i16)
        pairs = vector.bitcast(type_, groups)
        splat = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(i16, 8))
        byte = arith.constant(type_, splat)
        shift = arith.shrsi if signed else arith.shrui
        return shift(arith.shli(pairs, byte), byte), shift(pairs, byte)


def _zero(type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.IntegerType):
        return ir.IntegerAttr.get(type_, 0)
    return ir.FloatAttr.get(type_, 0)


def add_word_products(total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """Add to each i32 of `total` the products of two adjacent i16 of `a` by those of `b`."""
    (lanes,) = ir.VectorType(total.type).shape
    name = f"llvm.x86.{WORD_PRODUCTS[lanes]}"
    return arith.addi(total, llvm.call_intrinsic(total.type, name, [a, b], [], []))


DOT_BF16 = DotInstruction(2, 16, "avx512bf16.dpbf16ps.512")
INT8_DOTS = {
    "avx512vnni": DotInstruction(4, 16, "avx512.vpdpbusd.512"),
    "avxvnni": DotInstruction(4, 8, "avx512.vpdpbusd.256"),
    "avx2": WideningDot(4, 8),
}
"""The products of u8 by i8, by the unit that multiplies them."""
