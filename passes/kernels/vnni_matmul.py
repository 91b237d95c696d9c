"""Matmul kernels on vectors that multiply groups of adjacent factors: the f32 kernel with a group
of 32 bits in place of each factor. The f32 kernel counts K in elements of four bytes; these count
it in groups.
"""

from dataclasses import dataclass
from functools import partial

from ...mlir import arith, ir, memref
from .balanced_blocks import BesideWeights, FirstLine, block_loops, load_block
from .emitter import CACHE_LINE, LhsBlock, Prefetch, Registers, VectorSlice, short_vectors
from .epilogue import Epilogue
from .group_dot import DOT_BF16, GroupDot, add_all_products
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import product


@dataclass(frozen=True)
class VnniMatmulShape(MatmulShape):
    """A matmul whose K is counted in groups."""

    dot: GroupDot = DOT_BF16
    factors: int = 0
    """Factors of a row, if they do not fill the last group of `k`; that is in one K block then."""

    @property
    def rest(self) -> int:
        """Factors in the last group; 0 if it is full."""
        return self.factors % self.dot.size

    @property
    def full_lines(self) -> int:
        """Lines whose groups are full."""
        return self.k - bool(self.rest)

    @property
    def streamed_rows(self) -> int:
        """See `MatmulShape`; of a known number of rows each tile prefetches one line in a step."""
        return super().streamed_rows if self.rows is None else 0

    @property
    def flops(self) -> int | None:
        groups = super().flops
        return None if groups is None else self.dot.size * groups


class VnniMatmulEmitter(MatmulEmitter):
    """Emits the kernel for a matmul whose K is counted in groups."""

    shape: VnniMatmulShape

    def __init__(
        self,
        shape: VnniMatmulShape,
        x: ir.Value,
        weights: ir.Value,
        output: ir.Value,
        epilogue: Epilogue,
        *beside: ir.Value,
    ):
        """`beside` are the buffers of `BesideWeights`."""
        super().__init__(shape, x, weights, output, epilogue)
        self.beside = BesideWeights.of(shape.dot, beside)

    @property
    def accumulator(self) -> ir.Type:
        """See `VectorEmitter`."""
        return self.shape.dot.accumulator

    def parts(self, columns: int) -> list[VectorSlice]:
        """See `MatmulEmitter`: vectors of the length that the instruction takes."""
        return short_vectors(columns, self.lanes)

    def multiply(
        self,
        left: LhsBlock,
        right: ir.Value,
        start: ir.Value,
        k: int | ir.Value,
        accumulators: Registers,
        ahead: Prefetch | None = None,
        mask: ir.Value | None = None,
    ) -> Registers:
        """See `VectorEmitter`. Nothing is masked, because panels are padded."""
        assert mask is None
        dot, parts = self.shape.dot, len(accumulators) // left.count
        order = self.beside.order

        def step(
            index: ir.Value,
            registers: Registers,
            count: int | None = None,
            first_of: FirstLine | None = None,
        ) -> Registers:
            line = self.add(start, self.times(index, left.panel_width))
            starts = [self.times(self.add(line, n * self.lanes), dot.size) for n in range(parts)]
            columns = [dot.load(right, at) for at in starts]
            first = index if first_of is None else first_of(index)
            element = self.add(left.start, self.times(first, dot.size))
            if ahead is not None:
                for more in ahead.offsets(CACHE_LINE) if ahead.most else (0,):
                    at = self.add(ahead.start, self.add(self.times(index, ahead.step), more))
                    at = self.times(at, dot.size)
                    memref.prefetch(
                        right, [at], is_write=False, locality_hint=2, is_data_cache=True
                    )
            ats = [self.add(element, product(left.stride, row)) for row in range(left.count)]
            exact = self._exact(start, index)
            if order is not None and first_of is not None:
                blocks = [partial(load_block, left.memory, at) for at in ats]
                orders = [dot.load(order, at) for at in starts]
                return add_all_products(self, dot, registers, blocks, columns, exact, orders)
            factors = [partial(dot.broadcast, left.memory, at, count) for at in ats]
            return add_all_products(self, dot, registers, factors, columns, exact)

        rest = self.shape.rest
        end = self.index(self.shape.k - 1 if rest else k)
        if order is None:
            accumulators = self.loop((self.index(0), end), accumulators, step)
        else:
            for first, last, first_of in block_loops(self.shape.full_lines):
                bounds = self.index(first), self.index(last)
                accumulators = self.loop(bounds, accumulators, partial(step, first_of=first_of))
        return step(end, accumulators, rest) if rest else accumulators

    def left(self, row: ir.Value, start: ir.Value, count: int) -> LhsBlock:
        """See `MatmulEmitter`. Places in rows count factors."""
        shape, size = self.shape, self.shape.dot.size
        length = shape.factors or shape.k * size
        at = self.add(self.times(row, length), self.times(start, size))
        return LhsBlock(self.x, at, count, length, shape.line, size)

    def _exact(self, start: ir.Value, number: ir.Value) -> ir.Value | None:
        """The flag of line `number` of those that begin at `start`, if there are any."""
        if self.beside.exact is None:
            return None
        first = arith.divui(start, self.index(self.shape.line))
        return memref.load(self.beside.exact, [arith.addi(first, number)])
