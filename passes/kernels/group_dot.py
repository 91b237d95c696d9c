"""Dot products of groups of adjacent factors, 32 bits of them in place of each f32 (the VNNI
layout).

Every element of a vector of accumulators takes the products of a group of adjacent factors of a
row by one of a column. VDPBF16PS has groups of two bf16 and f32 accumulators, VPDPBUSD groups of
four u8 by four i8 and i32 accumulators.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cpu_model import CpuModel
from ...mlir import arith, ir, llvm, vector
from .emitter import Registers, VectorEmitter

GROUP_BYTES = 4
WORD_PRODUCTS = {8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}
"""VPMADDWD, which adds the products of pairs of i16, by the pairs in a vector."""

MOST_OF_PAIR = np.iinfo(np.int16).max // np.iinfo(np.uint8).max
"""The magnitude of the sum of two weights by which products with u8 fit in 16 bits together, at
most."""

BYTE_PRODUCTS = {8: "avx2.pmadd.ub.sw"}
"""VPMADDUBSW, which adds the products of pairs of u8 and i8 in i16."""


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

    def broadcast(self, memory: ir.Value, at: ir.Value, count: int | None = None) -> ir.Value:
        """Broadcast the group at the element `at` to a vector; for `count` see `load_one`."""
        return self.repeated(self.load_one(memory, at, count))

    def load_one(self, memory: ir.Value, at: ir.Value, count: int | None = None) -> ir.Value:
        """Load the group at the element `at`, as an i32. Only `count` factors are read, if that is
        given, and the others are zero."""
        i32 = ir.IntegerType.get_signless(32)
        group = vector.load(ir.VectorType.get([count or self.size], self.factor), memory, [at])
        if count is not None:
            zeros = arith.constant(
                group.type, ir.DenseElementsAttr.get_splat(group.type, _zero(self.factor))
            )
            group = vector.shuffle(group, zeros, [min(n, count) for n in range(self.size)])
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
    """Products of u8 by i8 with instructions for i16.

    VPMADDUBSW multiplies bytes, but saturates the sums of pairs of products at 16 bits. It is for
    weights with which they fit (`in_pairs`), as most do (`exceeds_pairs`). VPMADDWD multiplies the
    even and the odd factors of a group exactly.
    """

    HELD = 4
    """Registers for operands as i16 and for products."""
    in_pairs: bool = False
    is_balanced: bool = False
    """True if columns take the factors of a block in an order of their own (`balanced_blocks`)."""

    def free_registers(self, cpu: CpuModel) -> CpuModel:
        """See `GroupDot`."""
        return replace(cpu, vector_registers=cpu.registers - self.HELD)

    def multiply_add(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """See `GroupDot`."""
        if self.in_pairs:
            return self._add_pairs(total, a, b)
        for left, right in zip(self._halves(a, False), self._halves(b, True), strict=True):
            total = add_word_products(total, left, right)
        return total

    def _add_pairs(self, total: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        i16 = ir.IntegerType.get_signless(16)
        words = ir.VectorType.get([2 * self.lanes], i16)
        name = f"llvm.x86.{BYTE_PRODUCTS[self.lanes]}"
        pairs = llvm.call_intrinsic(words, name, [a, b], [], [])
        ones = ir.DenseElementsAttr.get_splat(words, ir.IntegerAttr.get(i16, 1))
        return add_word_products(total, pairs, arith.constant(words, ones))

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


def exceeds_pairs(w: np.ndarray) -> np.ndarray:
    """Tell lines of weights ``[.., n, 4]`` of i8 in which some pair of products with u8 may exceed
    16 bits: ``[..]``."""
    sums = w[..., ::2].astype(np.int16) + w[..., 1::2]
    # of two signs, they are in the range of one weight
    return np.asarray((np.abs(sums) > MOST_OF_PAIR).any((-2, -1)))


def shuffled(block: ir.Value, order: ir.Value) -> ir.Value:
    """The bytes of both halves of `block` at the places in `order`."""
    return llvm.call_intrinsic(block.type, "llvm.x86.avx2.pshuf.b", [block, order], [], [])


def add_all_products(
    emitter: VectorEmitter,
    dot: GroupDot,
    totals: Registers,
    factors: Sequence[Callable[[], ir.Value]],
    columns: Registers,
    exact: ir.Value | None = None,
    orders: Registers | None = None,
) -> Registers:
    """Add the products of each of the `factors` by all `columns` to `totals`: in pairs unless
    `exact`, an i8, is not zero, if that is given. With `orders`, one for each of `columns`, the
    factors are blocks (`balanced_blocks`)."""

    is_widening = isinstance(dot, WideningDot)
    values = [] if is_widening else [factor() for factor in factors]

    def by(dot: GroupDot) -> Registers:
        results, left = list[ir.Value](), iter(totals)
        for number, factor in enumerate(factors):
            # one at a time, where products take registers, too
            row = factor() if is_widening else values[number]
            for column, order in zip(columns, orders or [None] * len(columns), strict=True):
                value = row if order is None else shuffled(row, order)
                results.append(dot.multiply_add(next(left), value, column))
        return results

    if exact is None:
        return by(dot)
    assert isinstance(dot, WideningDot)
    zero, types = arith.constant(exact.type, 0), [total.type for total in totals]
    condition = arith.cmpi(arith.CmpIPredicate.ne, exact, zero)
    slow = replace(dot, in_pairs=False)
    return emitter.branch(condition, types, lambda: by(slow), lambda: by(dot))


DOT_BF16 = DotInstruction(2, 16, "avx512bf16.dpbf16ps.512")
INT8_DOTS = {
    "avx512vnni": DotInstruction(4, 16, "avx512.vpdpbusd.512"),
    "avxvnni": DotInstruction(4, 8, "avx512.vpdpbusd.256"),
    "avx2": WideningDot(4, 8),
}
"""The products of u8 by i8, by the unit that multiplies them."""
