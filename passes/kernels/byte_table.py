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

BYTES = 256
PART = 16
"""Bytes of the table that one instruction indexes."""


@dataclass(frozen=True)
class ByteShuffle:
    """An instruction that indexes 16 bytes by each element of a vector of `size` bytes."""

    size: int
    name: str
    """The name of its intrinsic."""

    def index(self, parts: Registers, low: ir.Value) -> Registers:
        """The elements of each of `parts` at the indices `low`, which are less than 16."""
        name = f"llvm.x86.{self.name}"
        return [llvm.call_intrinsic(low.type, name, [part, low], [], []) for part in parts]

    def constants(self, table: Sequence[int]) -> Registers:
        """The parts of `table`, each in all lanes of 128 bits of a vector."""
        i8 = ir.IntegerType.get_signless(8)
        type_ = ir.VectorType.get([self.size], i8)
        parts = (table[n : n + PART] for n in range(0, len(table), PART))
        repeated = ([byte - 256 if byte > 127 else byte for byte in part] for part in parts)
        elements = (
            [ir.IntegerAttr.get(i8, byte) for byte in part * (self.size // PART)]
            for part in repeated
        )
        return [arith.constant(type_, ir.DenseElementsAttr.get(each, type_)) for each in elements]

    def loaded(self, table: ir.Value) -> Registers:
        """The same of the 256 bytes in the buffer `table`."""
        type_ = ir.VectorType.get([PART], ir.IntegerType.get_signless(8))
        order = list(range(PART)) * (self.size // PART)
        starts = [arith.constant(ir.IndexType.get(), n) for n in range(0, BYTES, PART)]
        parts = [vector.load(type_, table, [start]) for start in starts]
        return [vector.shuffle(part, part, order) for part in parts]


BYTE_SHUFFLES = {
    "avx2": ByteShuffle(32, "avx2.pshuf.b"),
    "avx512bw": ByteShuffle(64, "avx512.pshuf.b.512"),
}
"""By the unit of `graph.table`."""


def look_up(x: ir.Value, table: Sequence[int] | ir.Value, shuffle: ByteShuffle) -> ir.Value:
    """The bytes of `table`, numbers or a buffer, for `x`, a vector of any number of bytes (i8)."""
    lanes, size = lanes_of(x), shuffle.size
    is_read = isinstance(table, ir.Value)
    parts = shuffle.loaded(table) if is_read else shuffle.constants(table)
    whole = -(-lanes // size) * size
    padded = x if whole == lanes else vector.shuffle(x, x, [n % lanes for n in range(whole)])
    pieces = [_look_up_vector(piece, parts, shuffle) for piece in cut(padded, size)]
    found = joined(pieces)
    return found if whole == lanes else vector.shuffle(found, found, list(range(lanes)))


def _look_up_vector(x: ir.Value, parts: Registers, shuffle: ByteShuffle) -> ir.Value:
    """`look_up` of a vector of the shuffle's size in the `parts` of a table."""
    found = shuffle.index(parts, arith.andi(x, integer_like(PART - 1, x)))
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
