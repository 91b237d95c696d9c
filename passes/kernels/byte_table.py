"""Lookup of vectors of bytes in a table of 256 bytes, in registers.

VPSHUFB looks up the low half of each index in 16 of the bytes. The results of all 16 parts of the
table are selected by the bits of the high half, pair by pair: some 40 instructions for a vector,
half a cycle for a byte on Zen 3. There, a load for each byte takes 1.2 cycles, VPGATHERDD 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, llvm, vector
from .emitter import Registers, lanes_of
from .scalar_functions import integer_like

PART = 16
"""Bytes of the table that one instruction indexes."""


@dataclass(frozen=True)
class ByteShuffle:
    """An instruction that indexes 16 bytes by each element of a vector of `size` bytes."""

    size: int
    name: str
    """The name of its intrinsic."""

    def parts(self, table: Sequence[int], low: ir.Value) -> Registers:
        """The elements of each part of `table` at the indices `low`, which are less than 16."""
        name = f"llvm.x86.{self.name}"
        parts = [self._repeated(table[n : n + PART]) for n in range(0, len(table), PART)]
        return [llvm.call_intrinsic(low.type, name, [part, low], [], []) for part in parts]

    def _repeated(self, part: Sequence[int]) -> ir.Value:
        """A vector that holds `part` in each of its 128 bits."""
        i8 = ir.IntegerType.get_signless(8)
        type_ = ir.VectorType.get([self.size], i8)
        elements = [ir.IntegerAttr.get(i8, byte) for byte in [*part] * (self.size // PART)]
        return arith.constant(type_, ir.DenseElementsAttr.get(elements, type_))


BYTE_SHUFFLES = {
    "avx2": ByteShuffle(32, "avx2.pshuf.b"),
    "avx512bw": ByteShuffle(64, "avx512.pshuf.b.512"),
}
"""By the unit of `graph.table`."""


def look_up(x: ir.Value, table: Sequence[int], shuffle: ByteShuffle) -> ir.Value:
    """The bytes of `table` for `x`, a vector of any number of bytes (i8)."""
    lanes, size = lanes_of(x), shuffle.size
    table = [byte - 256 if byte > 127 else byte for byte in table]
    whole = -(-lanes // size) * size
    padded = x if whole == lanes else vector.shuffle(x, x, [n % lanes for n in range(whole)])
    pieces = [_look_up_vector(piece, table, shuffle) for piece in cut(padded, size)]
    found = joined(pieces)
    return found if whole == lanes else vector.shuffle(found, found, list(range(lanes)))


def _look_up_vector(x: ir.Value, table: Sequence[int], shuffle: ByteShuffle) -> ir.Value:
    """`look_up` of a vector of the shuffle's size."""
    found = shuffle.parts(table, arith.andi(x, integer_like(PART - 1, x)))
    bit = PART
    while len(found) > 1:
        is_set = arith.cmpi(
            arith.CmpIPredicate.ne,
            arith.andi(x, integer_like(bit - 256 if bit > 127 else bit, x)),
            integer_like(0, x),
        )
        pairs = zip(found[::2], found[1::2], strict=True)
        found = [arith.select(is_set, high, low) for low, high in pairs]
        bit *= 2
    return found[0]


def joined(vectors: Sequence[ir.Value]) -> ir.Value:
    """One vector of the elements of `vectors`."""
    first, *others = vectors
    for other in others:
        lanes = lanes_of(first) + lanes_of(other)
        first = vector.shuffle(first, other, list(range(lanes)))
    return first


def cut(x: ir.Value, lanes: int) -> Registers:
    """The elements of `x` as vectors of `lanes`, which divide it."""
    if lanes_of(x) == lanes:
        return [x]
    type_ = ir.VectorType.get([lanes], ir.VectorType(x.type).element_type)
    starts = range(0, lanes_of(x), lanes)
    return [vector.extract_strided_slice(type_, x, [at], [lanes], [1]) for at in starts]
