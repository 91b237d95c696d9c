"""Matmul by weights of 24 bits: the packed-weights kernel with its own loads of a panel's line."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import ir
from .emitter import Registers, VectorSlice, short_vectors
from .packed_matmul import MatmulEmitter, MatmulShape
from .split_weights import SplitWords


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
        """See `VectorEmitter`: the vectors of a line. The padding behind the last column is
        zero."""
        del mask
        return SplitWords(self, weights).first(line, len(lanes))
