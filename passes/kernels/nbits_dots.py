"""Products of weights of few bits by activations of 8 bits, by the instructions of a unit.

VPDPBUSD adds products to sums of 32 bits. With AVX2, VPMADDUBSW adds those of pairs of bytes in 16
bits, where the sums of several groups fit if weights have few bits. Weights of 8 bits enter by
their magnitudes, and their signs move to the activations (VPSIGNB): pairs of products of 255 by 127
would exceed 16 bits, of 128 by 127 they do not.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, llvm, math
from .group_dot import BYTE_PRODUCTS, INT8_DOTS, DotInstruction, GroupDot, add_word_products

MOST_BITS_OF_PAIRS = 4
"""Bits of a weight, at most, for the sums of several groups to fit in 16 bits."""
_LARGEST_ACTIVATION = 127
_LARGEST_SUM = np.iinfo(np.int16).max


@dataclass(frozen=True)
class NbitsDot(ABC):
    """A way to add the products of vectors of weights and of activations to sums of i32."""

    dot: GroupDot
    """The types of vectors, and their products."""

    together: int = 1
    """Groups whose products are held before they are added to the sums."""
    unroll: int = 8
    """Lines of a block that a step of a loop multiplies, at most."""
    is_signed: bool = False
    """True if weights enter as integers with sign."""

    @abstractmethod
    def hold(self, total: ir.Value) -> ir.Value | None:
        """The value that products are added to before they are added to `total`; None for none."""

    @abstractmethod
    def multiply_add(self, held: ir.Value | None, weights: ir.Value, factors: ir.Value) -> ir.Value:
        """Add the products of `weights` and `factors` to `held`."""

    @abstractmethod
    def add(self, total: ir.Value, held: ir.Value) -> ir.Value:
        """Add what is `held` to `total`."""


@dataclass(frozen=True)
class InstructionDot(NbitsDot):
    """One instruction (VPDPBUSD)."""

    def hold(self, total: ir.Value) -> ir.Value | None:
        """See `NbitsDot`; products are added to the sums."""
        return total

    def multiply_add(self, held: ir.Value | None, weights: ir.Value, factors: ir.Value) -> ir.Value:
        """See `NbitsDot`."""
        assert held is not None
        return self.dot.multiply_add(held, weights, factors)

    def add(self, total: ir.Value, held: ir.Value) -> ir.Value:
        """See `NbitsDot`."""
        del total
        return held


@dataclass(frozen=True)
class PairDot(NbitsDot):
    """VPMADDUBSW, of weights without sign, and VPMADDWD at last."""

    def hold(self, total: ir.Value) -> ir.Value | None:
        """See `NbitsDot`."""
        del total
        return None

    def multiply_add(self, held: ir.Value | None, weights: ir.Value, factors: ir.Value) -> ir.Value:
        """See `NbitsDot`."""
        pairs = self._pairs(weights, factors)
        return pairs if held is None else arith.addi(held, pairs)

    def add(self, total: ir.Value, held: ir.Value) -> ir.Value:
        """See `NbitsDot`."""
        one = ir.IntegerAttr.get(ir.IntegerType.get_signless(16), 1)
        ones = arith.constant(held.type, ir.DenseElementsAttr.get_splat(held.type, one))
        return add_word_products(total, held, ones)

    def _pairs(self, weights: ir.Value, factors: ir.Value) -> ir.Value:
        """The sums of products of pairs, of weights without sign."""
        words = ir.VectorType.get([2 * self.dot.lanes], ir.IntegerType.get_signless(16))
        name = f"llvm.x86.{BYTE_PRODUCTS[self.dot.lanes]}"
        return llvm.call_intrinsic(words, name, [weights, factors], [], [])


@dataclass(frozen=True)
class SignedPairDot(PairDot):
    """The same of weights of 8 bits with sign, by their magnitudes."""

    def multiply_add(self, held: ir.Value | None, weights: ir.Value, factors: ir.Value) -> ir.Value:
        """See `NbitsDot`."""
        assert held is None
        signed = llvm.call_intrinsic(
            factors.type, "llvm.x86.avx2.psign.b", [factors, weights], [], []
        )
        return self._pairs(math.absi(weights), signed)


def nbits_dot(unit: str, bits: int, lanes: int) -> NbitsDot | None:
    """The products by weights of `bits` bits on vectors of `lanes` words, by the unit that
    multiplies 8 bits; None if it has none."""
    dot = INT8_DOTS.get(unit)
    if dot is None or dot.lanes != lanes:
        return None
    if isinstance(dot, DotInstruction):
        return InstructionDot(dot)
    if bits > MOST_BITS_OF_PAIRS:  # products of more lines take more registers than there are
        return SignedPairDot(dot, unroll=1, is_signed=True)
    largest = 2 * _LARGEST_ACTIVATION * ((1 << bits) - 1)
    return PairDot(dot, together=_LARGEST_SUM // largest)
