"""Matmul of a dynamic number of rows: as it is, or from some number of rows on by a Strassen-like
algorithm. One kernel has both, and one copy of the weights serves both: of the blocks of the right
factor, the algorithm multiplies by some as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...dialects.graph.bilinear import ALGORITHMS, BilinearAlgorithm
from ...mlir import arith, ir
from .emitter import VectorEmitter, short_vectors
from .epilogue import Epilogue
from .packed_matmul import KBlock, MatmulEmitter, MatmulShape, PanelColumns
from .strassen import StrassenEmitter
from .strassen_shape import StrassenShape


@dataclass(frozen=True)
class PlacedStrassenShape(StrassenShape):
    """A matmul by panels of `graph.pack_sums_and_blocks`."""

    @property
    def slots(self) -> tuple[int, ...]:
        """See `StrassenShape`."""
        return self.algorithm.slots


@dataclass(frozen=True)
class PlacedMatmulShape(MatmulShape):
    """A matmul by the blocks in panels of `graph.pack_sums_and_blocks`; panel by panel, those of
    all block columns."""

    blocks: str = field(kw_only=True)

    @property
    def algorithm(self) -> BilinearAlgorithm:
        return ALGORITHMS[self.blocks]

    @property
    def breadth(self) -> int:
        """Columns of a block."""
        return -(-self.columns // self.algorithm.columns)

    @property
    def panels(self) -> int:
        """See `MatmulShape`."""
        return self.algorithm.columns * -(-self.breadth // self.nr)

    @property
    def is_even(self) -> bool:
        """True if all panels are full."""
        return not (self.columns % self.algorithm.columns or self.breadth % self.nr)

    @property
    def sums(self) -> int:
        """Elements of the sums in front of the blocks of a panel."""
        return self.algorithm.sums * self.k // self.algorithm.k * self.nr


class PlacedMatmulEmitter(MatmulEmitter):
    """Emits the kernel without sums."""

    shape: PlacedMatmulShape

    def each_panel(
        self,
        first: ir.Value,
        last: ir.Value,
        emit: Callable[[ir.Value, PanelColumns], None],
    ) -> None:
        """See `MatmulEmitter`; the last panel of each block column may be partial."""
        shape = self.shape

        def panel(number: ir.Value) -> None:
            inner, column = self._place(number)
            start, skipped = self.times(column, shape.breadth), self.times(inner, shape.nr)
            feature = self.add(start, skipped)

            def whole() -> None:
                parts = self.parts(shape.nr)
                emit(number, PanelColumns(feature, parts, [None] * len(parts)))

            if shape.is_even:
                return whole()
            left = arith.subi(self.index(shape.columns), start)
            left = arith.subi(arith.minui(left, self.index(shape.breadth)), skipped)

            def partial() -> None:
                parts = short_vectors(shape.nr, shape.lanes)
                counts = [self.add(left, -part.start) for part in parts]
                emit(number, PanelColumns(feature, parts, list(map(self.lanes_below, counts))))

            is_full = self.compare(arith.CmpIPredicate.sge, left, shape.nr)
            return self.choose(is_full, whole, partial)

        self.repeat(first, last, panel)

    def _place(self, panel: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The number of a panel among those of its block column, and the block column."""
        columns = self.index(self.shape.algorithm.columns)
        return arith.divui(panel, columns), arith.remui(panel, columns)

    def weights_of(self, panel: ir.Value, start: ir.Value, length: ir.Value) -> ir.Value:
        """See `MatmulEmitter`."""
        shape = self.shape
        inner, _ = self._place(panel)
        skipped = self.times(self.add(inner, 1), shape.sums)
        return arith.addi(skipped, super().weights_of(panel, start, length))

    def following(self, panel: ir.Value, weights: ir.Value, k_block: KBlock) -> ir.Value:
        """See `MatmulEmitter`; behind the last block column, the sums of another panel are
        skipped."""
        shape = self.shape
        _, column = self._place(panel)
        skips = self.compare(arith.CmpIPredicate.eq, column, shape.algorithm.columns - 1)
        if shape.nc_panels == 1 and k_block.ends is not None:
            skips = arith.andi(skips, k_block.ends)
        skipped = arith.select(skips, self.index(shape.sums), self.index(0))
        return arith.addi(super().following(panel, weights, k_block), skipped)


@dataclass(frozen=True)
class PlainOrStrassenShape:
    """A matmul of dynamic rows."""

    plain: PlacedMatmulShape
    strassen: PlacedStrassenShape
    least: int
    """Rows from which sums of blocks are multiplied."""

    flops = None

    def pays(self, rows: ir.Value) -> ir.Value:
        """True (an i1) if `rows` rows are multiplied as sums of blocks."""
        least = arith.constant(ir.IndexType.get(), self.least)
        return arith.cmpi(arith.CmpIPredicate.uge, rows, least)

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        return arith.select(
            self.pays(rows), self.strassen.count_workgroups(rows), self.plain.count_workgroups(rows)
        )


class PlainOrStrassenEmitter(VectorEmitter):
    """Emits both kernels."""

    def __init__(
        self,
        shape: PlainOrStrassenShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        scratch: ir.Value,
        epilogue: Epilogue,
        terms: ir.Value,
    ):
        """`terms` are the sums of blocks of `x`, if it has rows enough."""
        super().__init__(shape.plain.lanes)
        self.shape = shape
        self.plain = PlacedMatmulEmitter(shape.plain, x, weights, output, epilogue)
        self.strassen = StrassenEmitter(
            shape.strassen, terms, weights, output, scratch, epilogue
        )  # fmt: skip

    def workgroup(self, workgroup_id: ir.Value, rows: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.choose(
            self.shape.pays(rows),
            lambda: self.strassen.workgroup(workgroup_id, rows),
            lambda: self.plain.workgroup(workgroup_id, rows),
        )
