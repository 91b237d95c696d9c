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

    zero: int
    unsigned: bool
    clamps: bool
    """True if magnitudes may be 2^31 or more, which have no i32, so that `x` is clamped first."""

    def pack(self, x: ir.Value) -> ir.Value:
        """The bytes of `x`, a multiple of 16 elements; of NaN the smallest one."""
        lanes = lanes_of(x)
        whole = -(-lanes // LANES) * LANES
        padded = x if whole == lanes else vector.shuffle(x, x, [n % lanes for n in range(whole)])
        packed = joined([self._pack(part) for part in cut(padded, LANES)])
        return packed if whole == lanes else cut(packed, lanes)[0]

    def _pack(self, x: ir.Value) -> ir.Value:
        """`pack` of four vectors."""
        if self.clamps:
            least = 0 if self.unsigned else -128
            x = clamp(x, like(least - self.zero, x), like(least + 255 - self.zero, x))
        a, b, c, d = map(_rounded, cut(x, VECTOR))
        words_type = _integers(2 * VECTOR, 16)
        words = [_call(words_type, "packssdw.512", pair) for pair in ((a, b), (c, d))]
        if self.zero:
            words = [_saturating_sum(each, self.zero) for each in words]
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


def _saturating_sum(words: ir.Value, number: int) -> ir.Value:
    name = "llvm.sadd.sat.v32i16"
    return llvm.call_intrinsic(words.type, name, [words, integer_like(number, words)], [], [])


def _integers(lanes: int, bits: int) -> ir.VectorType:
    return ir.VectorType.get([lanes], ir.IntegerType.get_signless(bits))


def _call(type_: ir.Type, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    return llvm.call_intrinsic(type_, f"llvm.x86.avx512.{name}", list(operands), [], [])
