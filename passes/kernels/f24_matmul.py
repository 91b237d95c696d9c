"""Matmul by weights of 24 bits: the packed-weights kernel with its own loads of a panel's line."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .emitter import Registers, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape


@dataclass(frozen=True)
class F24MatmulShape(MatmulShape):
    """A matmul by panels of `graph.pack_f24`."""

    @property
    def line(self) -> int:
        """See `MatmulShape`; in words of 32 bits."""
        return self.nr * 24 // 32


class F24MatmulEmitter(MatmulEmitter):
    """Emits the kernel."""

    def parts(self, columns: int) -> list[VectorSlice]:
        """See `MatmulEmitter`: the words of a line are laid out for vectors of `lanes`."""
        return short_vectors(columns, self.lanes)

    def columns(
        self, weights: ir.Value, line: ir.Value, lanes: Sequence[int], mask: ir.Value | None
    ) -> Registers:
        """See `VectorEmitter`: the vectors of a line, from three loads. The padding behind the last
        column is zero."""
        words = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(32))
        low, high, rest = (
            vector.load(words, weights, [self.add(line, number * self.lanes)])
            for number in range(3)
        )

        def splat(value: int) -> ir.Value:
            element = ir.IntegerAttr.get(words.element_type, value)
            return arith.constant(words, ir.DenseElementsAttr.get_splat(words, element))

        def first(number: int) -> ir.Value:
            """The upper 16 bits of a column, in their position."""
            source = (low, high)[number // 2]
            if number % 2:
                return arith.andi(source, splat(-1 << 16))
            return arith.shli(source, splat(16))

        def next_(number: int) -> ir.Value:
            """The next 8 bits of a column, in their position."""
            move = 8 * (1 - number)
            placed = rest
            if move:
                placed = (arith.shli if move > 0 else arith.shrui)(rest, splat(abs(move)))
            return arith.andi(placed, splat(0xFF00))

        return [
            arith.bitcast(self.vector_type, arith.ori(first(number), next_(number)))
            for number in range(len(lanes))
        ]
