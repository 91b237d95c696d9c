"""Floats rounded and saturated to bytes by the packs of AVX-512: 4 conversions and 4 or 6 other
instructions for 64 elements, where clamping, rounding and narrowing vectors of 16 takes 24.

VPACKSSDW and VPACKUSWB saturate. They take 128 bits of each operand in turn, which VPERMD undoes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, llvm, vector
from .byte_table import cut, joined
from .emitter import lanes_of
from .scalar_functions import clamp, integer_like, like

LANES = 64
"""Elements that are packed at a time."""
VECTOR = 16
"""Elements of a vector of 32 bits."""
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

    def pack(self, x: ir.Value, zero: ir.Value) -> ir.Value:
        """The bytes of `x`, a multiple of 16 elements; of NaN the smallest one. `zero` is a vector
        of at least 32 bytes."""
        lanes = lanes_of(x)
        whole = -(-lanes // LANES) * LANES
        padded = x if whole == lanes else vector.shuffle(x, x, [n % lanes for n in range(whole)])
        added = self._zero_words(zero)
        packed = joined([self._pack(part, added) for part in cut(padded, LANES)])
        return packed if whole == lanes else cut(packed, lanes)[0]

    def _zero_words(self, zero: ir.Value) -> ir.Value:
        """The zero point as 32 words of 16 bits."""
        type_ = _integers(2 * VECTOR, 16)
        if self.zero is not None:
            element = ir.IntegerAttr.get(type_.element_type, self.zero)
            return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))
        extend = arith.extui if self.unsigned else arith.extsi
        return extend(type_, cut(zero, 2 * VECTOR)[0])

    def _ends(self, x: ir.Value, added: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The numbers that round to the smallest and the largest byte."""
        least = 0 if self.unsigned else -128
        limits = least, least + 255
        if self.zero is not None:
            low, high = (like(limit - self.zero, x) for limit in limits)
            return low, high
        words = cut(added, VECTOR)[0]
        zero = joined([arith.sitofp(cut(x, VECTOR)[0].type, words)] * (lanes_of(x) // VECTOR))
        low, high = (arith.subf(like(limit, x), zero) for limit in limits)
        return low, high

    def _pack(self, x: ir.Value, added: ir.Value) -> ir.Value:
        """`pack` of four vectors, with the zero point `added`."""
        if self.clamps:
            x = clamp(x, *self._ends(x, added))
        a, b, c, d = map(_rounded, cut(x, VECTOR))
        words_type = _integers(2 * VECTOR, 16)
        words = [_call(words_type, "packssdw.512", pair) for pair in ((a, b), (c, d))]
        if self.zero != 0:
            words = [_saturating_sum(each, added) for each in words]
        name = "packuswb.512" if self.unsigned else "packsswb.512"
        packed = _call(_integers(LANES, 8), name, words)
        groups = vector.bitcast(_integers(VECTOR, 32), packed)
        order = [4 * lane + part for part in range(4) for lane in range(4)]
        return vector.bitcast(packed.type, vector.shuffle(groups, groups, order))


def _rounded(x: ir.Value) -> ir.Value:
    """`x`, 16 f32, rounded to i32."""
    type_, i16 = _integers(VECTOR, 32), ir.IntegerType.get_signless(16)
    everywhere = arith.constant(i16, -1)
    how = arith.constant(ir.IntegerType.get_signless(32), CURRENT_ROUNDING)
    given = integer_like(0, arith.bitcast(type_, x))
    return _call(type_, "mask.cvtps2dq.512", [x, given, everywhere, how])


def _saturating_sum(words: ir.Value, others: ir.Value) -> ir.Value:
    name = "llvm.sadd.sat.v32i16"
    return llvm.call_intrinsic(words.type, name, [words, others], [], [])


def _integers(lanes: int, bits: int) -> ir.VectorType:
    return ir.VectorType.get([lanes], ir.IntegerType.get_signless(bits))


def _call(type_: ir.Type, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    return llvm.call_intrinsic(type_, f"llvm.x86.avx512.{name}", list(operands), [], [])
