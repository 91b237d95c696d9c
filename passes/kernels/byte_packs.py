"""Floats rounded and saturated to bytes by packs: 4 conversions and 4 or 6 other instructions for
four vectors, 64 elements with AVX-512, where clamping, rounding and narrowing them takes 24, and 32
elements with AVX2, where that takes 30.

VPACKSSDW and VPACKUSWB saturate. They take 128 bits of each operand in turn, which VPERMD undoes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, llvm, vector
from .byte_table import cut, joined
from .emitter import lanes_of
from .scalar_functions import clamp, integer_like, like

VECTORS = 4
"""Vectors that are packed at a time."""
CURRENT_ROUNDING = 4
"""Rounding as the CPU is set to: halves to even."""


@dataclass(frozen=True)
class BytePacking:
    """``saturate(round(x) + zero)`` of f32, as i8 or as u8."""

    zero: int | None
    """None if it is not known when compiling."""
    unsigned: bool
    clamps: bool
    """True if magnitudes may be 2^31 or more, which have no i32, so that `x` is clamped first."""
    vector: int = 16
    """Elements of a vector of 32 bits: 16 with AVX-512, or 8."""

    @property
    def lanes(self) -> int:
        """Elements that are packed at a time."""
        return VECTORS * self.vector

    def pack(self, x: ir.Value, zero: ir.Value) -> ir.Value:
        """The bytes of `x`, whole vectors; of NaN the smallest one. `zero` is a vector of bytes, as
        many as two vectors have elements or more."""
        lanes = lanes_of(x)
        whole = -(-lanes // self.lanes) * self.lanes
        padded = x if whole == lanes else vector.shuffle(x, x, [n % lanes for n in range(whole)])
        added = self._zero_words(zero)
        packed = joined([self._pack(part, added) for part in cut(padded, self.lanes)])
        return packed if whole == lanes else cut(packed, lanes)[0]

    def _zero_words(self, zero: ir.Value) -> ir.Value:
        """The zero point as words of 16 bits, a vector of them."""
        type_ = _integers(2 * self.vector, 16)
        if self.zero is not None:
            element = ir.IntegerAttr.get(type_.element_type, self.zero)
            return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))
        extend = arith.extui if self.unsigned else arith.extsi
        return extend(type_, cut(zero, 2 * self.vector)[0])

    def _ends(self, x: ir.Value, added: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The numbers that round to the smallest and the largest byte."""
        least = 0 if self.unsigned else -128
        limits = least, least + 255
        if self.zero is not None:
            low, high = (like(limit - self.zero, x) for limit in limits)
            return low, high
        size = self.vector
        words = cut(added, size)[0]
        zero = joined([arith.sitofp(cut(x, size)[0].type, words)] * (lanes_of(x) // size))
        low, high = (arith.subf(like(limit, x), zero) for limit in limits)
        return low, high

    def _pack(self, x: ir.Value, added: ir.Value) -> ir.Value:
        """`pack` of four vectors, with the zero point `added`."""
        if self.clamps:
            x = clamp(x, *self._ends(x, added))
        a, b, c, d = map(self._rounded, cut(x, self.vector))
        words_type = _integers(2 * self.vector, 16)
        words = [self._call(words_type, "packssdw", pair) for pair in ((a, b), (c, d))]
        if self.zero != 0:
            words = [_saturating_sum(each, added) for each in words]
        name = "packuswb" if self.unsigned else "packsswb"
        packed = self._call(_integers(self.lanes, 8), name, words)
        groups = vector.bitcast(_integers(self.vector, 32), packed)
        order = [
            VECTORS * lane + part for part in range(VECTORS) for lane in range(self.vector // 4)
        ]
        return vector.bitcast(packed.type, vector.shuffle(groups, groups, order))

    def _rounded(self, x: ir.Value) -> ir.Value:
        """`x`, a vector of f32, rounded to i32."""
        type_, i16 = _integers(self.vector, 32), ir.IntegerType.get_signless(16)
        if self.vector == 8:
            return llvm.call_intrinsic(type_, "llvm.x86.avx.cvt.ps2dq.256", [x], [], [])
        everywhere = arith.constant(i16, -1)
        how = arith.constant(ir.IntegerType.get_signless(32), CURRENT_ROUNDING)
        given = integer_like(0, arith.bitcast(type_, x))
        return self._call(type_, "mask.cvtps2dq", [x, given, everywhere, how])

    def _call(self, type_: ir.Type, name: str, operands: Sequence[ir.Value]) -> ir.Value:
        full = f"avx2.{name}" if self.vector == 8 else f"avx512.{name}.512"
        return llvm.call_intrinsic(type_, f"llvm.x86.{full}", list(operands), [], [])


def _saturating_sum(words: ir.Value, others: ir.Value) -> ir.Value:
    name = f"llvm.sadd.sat.v{lanes_of(words)}i16"
    return llvm.call_intrinsic(words.type, name, [words, others], [], [])


def _integers(lanes: int, bits: int) -> ir.VectorType:
    return ir.VectorType.get([lanes], ir.IntegerType.get_signless(bits))
