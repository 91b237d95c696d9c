"""Matmuls and convolutions on the tensor cores of NVIDIA GPUs, by ``mma.sync``.

Operands of f32 are multiplied as TF32, or split into two terms each, for the precision of f32
(`split_floats`). The unit truncates sums, so that errors of one sign add up: then the sums of a few
products are added to the accumulators by ordinary additions.

A workgroup computes a tile of the result. Its steps along K are a software pipeline: while the
products of one step are accumulated, the operands of the next ones are on their way to shared
memory by ``cp.async``. At the end the accumulators are exchanged through shared memory, so that
each thread applies the epilogue to neighbouring columns and stores them at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, vector
from .emitter import Registers
from .mma_operands import ImageWindows, Matrix, SharedTile, TileCopy
from .split_floats import PRODUCTS, TERMS, split
from .thread_emitter import SUBGROUP, Finish, Number, Prepare, ThreadEmitter

F32 = np.dtype(np.float32)
MMA = (16, 8, 16)
"""M, N and K of the instruction ``mma.sync`` for elements of 16 bits."""
STORED = 8
"""Columns that a thread stores at once."""
SUMMED = 4
"""Instructions along K whose products are summed by the unit before they are added to the
accumulators, for f32 of split operands."""
SKEW = 8
"""Elements between the rows of accumulators in shared memory, beyond their number: the eight rows
that a warp stores at once are in different banks."""


@dataclass(frozen=True)
class MmaTile:
    """The tile of a workgroup: `rows` by `columns` of the result, in steps of `k` along K, of which
    `stages` are in shared memory or on their way there. `across` is its grid of warps."""

    rows: int
    columns: int
    k: int
    across: tuple[int, int]
    stages: int

    @property
    def warp(self) -> tuple[int, int]:
        """The rows and columns of a warp."""
        return self.rows // self.across[0], self.columns // self.across[1]

    @property
    def threads(self) -> int:
        return SUBGROUP * math.prod(self.across)

    least_stages = 2
    """Stages that the pipeline needs."""
    control = 0
    """Bytes of shared memory before the operands and the accumulators."""

    @property
    def alignment(self) -> int:
        """Bytes of whose multiple the operands in shared memory start."""
        return 128

    def shared_bytes(self, itemsize: int) -> int:
        """Bytes of shared memory for operands of `itemsize` bytes an element."""
        operands = itemsize * self.stages * (self.rows + self.columns) * self.k
        return max(operands, 4 * self.accumulators)

    @property
    def accumulators(self) -> int:
        """Elements of the accumulators in shared memory."""
        return self.rows * (self.columns + SKEW * self.across[1])


@dataclass(frozen=True)
class MmaShape:
    """`batch` matmuls ``[M, K] x [K, N]``, operands of `dtype`, accumulators in f32.

    The rows of the left operand are in memory, or those of `windows`. The right operand is stored
    as ``[N, K]`` if `k_innermost`, else as ``[K, N]``. K is split into `parts`, whose products are
    results of their own. Operands of f32 are multiplied in `products` of TF32: 1 or 3.
    """

    m: int
    n: int
    k: int
    dtype: np.dtype
    tile: MmaTile
    batch: int = 1
    windows: ImageWindows | None = None
    k_innermost: bool = True
    parts: int = 1
    products: int = 1

    @property
    def tiles(self) -> tuple[int, int]:
        """The tiles along M and N."""
        return -(-self.m // self.tile.rows), -(-self.n // self.tile.columns)

    @property
    def workgroups(self) -> int:
        return self.batch * self.parts * math.prod(self.tiles)

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def steps(self) -> int:
        """Steps along K of a workgroup."""
        return -(-self.k // (self.tile.k * self.parts))

    @property
    def vector(self) -> int:
        """Elements of the operands in 16 bytes."""
        return 16 // self.dtype.itemsize

    @property
    def left(self) -> Matrix | ImageWindows:
        return self.windows or Matrix(self.m, self.k, self.k, vector=self.vector)

    @property
    def right(self) -> Matrix:
        """The right operand as it is stored."""
        rows, columns = (self.n, self.k) if self.k_innermost else (self.k, self.n)
        return Matrix(rows, columns, columns, vector=self.vector)

    @property
    def stored(self) -> int:
        """Columns that a thread stores at once."""
        return math.gcd(STORED, self.n)


@dataclass(frozen=True)
class _StoredVector:
    """A vector of the result that a thread stores: where its accumulators are in shared memory, the
    condition that it is inside the result, and the function that stores it."""

    exchanged: Number
    valid: ir.Value | None
    finish: Finish


class MmaMatmulEmitter(ThreadEmitter):
    """Emits the kernel."""

    def __init__(self, shape: MmaShape, left: ir.Value, right: ir.Value):
        super().__init__()
        self.shape, self.tile = shape, shape.tile
        tile, thread = shape.tile, self.thread()
        warp, self.lane = self.divide(thread, SUBGROUP)
        self.warp_row, self.warp_column = self._warp_position(warp)
        sizes = [tile.stages * size * tile.k for size in (tile.rows, tile.columns)]
        operands = [(shape.dtype, size) for size in sizes]
        first = [(np.dtype(np.int8), tile.control)] if tile.control else []
        regions = [[*first, *operands], [*first, (F32, tile.accumulators)]]
        (*control, a, b), (*_, self.exchanged) = self.shared(regions, tile.alignment)
        self.control = control[0] if control else None
        self.a = SharedTile(self, a, tile.rows, tile.k, shape.vector)
        self.b = self._right_tile(b)
        self.copy_a = TileCopy(self.a, shape.left, left, thread, tile.threads)
        self.copy_b = TileCopy(self.b, shape.right, right, thread, tile.threads)

    def _tile_position(self, number: Number) -> tuple[Number, Number, Number]:
        """The batch and part of workgroup `number`, and its tile along M and N."""
        tiles_m, tiles_n = self.shape.tiles
        rest, n = self.divide(number, tiles_n)
        outer, m = self.divide(rest, tiles_m)
        return outer, m, n

    def _warp_position(self, warp: Number) -> tuple[Number, Number]:
        """The row and the column of a warp in the grid of the tile."""
        return self.divide(warp, self.tile.across[1])

    def _right_tile(self, memory: ir.Value) -> SharedTile:
        tile, vector_ = self.tile, self.shape.vector
        if self.shape.k_innermost:
            return SharedTile(self, memory, tile.columns, tile.k, vector_)
        across = MMA[1] // vector_  # a fragment has so many vectors of each row
        return SharedTile(self, memory, tile.k, tile.columns, vector_, across)

    def workgroup(self, number: ir.Value, prepare: Prepare) -> None:
        """Emit the workgroup with the given number. `prepare` is called for vectors of
        ``shape.stored`` accumulators."""
        shape, tile = self.shape, self.tile
        outer, m, n = self._tile_position(arith.index_castui(self.i32, number))
        batch, part = self.divide(outer, shape.parts)
        row, column = self.multiply(m, tile.rows), self.multiply(n, tile.columns)
        first = self.multiply(part, shape.steps * tile.k)
        copy = self._copies(batch, first, row, column)
        accumulators = self._accumulate(copy)
        # All that a thread loads from memory is on its way before it stores anything.
        vectors = self._vectors(prepare, outer, row, column)
        self._exchange(accumulators)
        for vector_ in vectors:
            self._store(vector_)

    def _copies(
        self, batch: Number, first: Number, row: Number, column: Number
    ) -> Callable[[Number, Number], None]:
        """A function that starts the copies of a step along K to a slot."""
        shape = self.shape
        base_a = self.multiply(batch, shape.m * shape.k)
        base_b = self.multiply(batch, shape.k * shape.n)
        a = self.copy_a.rows_from(row)
        b = self.copy_b.rows_from(column) if shape.k_innermost else None

        def copy(step: Number, slot: Number) -> None:
            k = self.add(first, self.multiply(step, self.tile.k))
            self.copy_a.start(a, slot, k, base_a)
            if b is not None:
                self.copy_b.start(b, slot, k, base_b)
            else:
                self.copy_b.start(self.copy_b.rows_from(k), slot, column, base_b)

        return copy

    def _accumulate(self, copy: Callable[[Number, Number], None]) -> Registers:
        """The accumulators after all steps along K, fragment by fragment."""
        zeros = [self._zero()] * math.prod(self._fragments)
        return self._pipeline(copy, zeros, self.tile.stages - 1)

    def _pipeline(
        self, copy: Callable[[Number, Number], None], accumulators: Registers, ahead: int
    ) -> Registers:
        """The `accumulators` after all steps along K, each multiplied while the copies of the
        `ahead` next ones are on their way."""
        steps = self.shape.steps
        group = self.commit_copies()
        for step in range(ahead):
            if step < steps:
                copy(step, step)
            group = self.commit_copies()

        def body(step: ir.Value, registers: Registers) -> Registers:
            group, *accumulators = registers
            self.wait_for_copies(group, ahead - 1)
            self._publish_copies(step)
            self.barrier()  # the operands are there, and those of the last step are done with
            following = self.add(step, ahead)
            _, slot = self.divide(following, self.tile.stages)
            self.when(self.below(following, steps), lambda: copy(following, slot))
            group = self.commit_copies()
            _, slot = self.divide(step, self.tile.stages)
            return [group, *self._multiply(slot, accumulators)]

        _, *accumulators = self.loop(steps, body, [group, *accumulators])
        return accumulators

    def _publish_copies(self, step: ir.Value) -> None:
        """Let the unit see what this thread has copied for `step`, beyond the barrier that
        follows: nothing for ``mma.sync``."""
        del step

    @property
    def _fragments(self) -> tuple[int, int]:
        """The fragments of a warp's accumulators along M and N."""
        rows, columns = self.tile.warp
        return rows // MMA[0], columns // MMA[1]

    def _zero(self) -> ir.Value:
        type_ = ir.VectorType.get([2, 2], ir.F32Type.get())
        return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get_f32(0)))

    def _multiply(self, slot: Number, accumulators: Registers) -> Registers:
        """Accumulate the products of the tiles in `slot`."""
        steps = range(self.tile.k // (2 * self.shape.vector))
        if self.shape.products == PRODUCTS:
            for first in steps[::SUMMED]:
                following = steps[first : first + SUMMED]
                accumulators = self._multiply_split(slot, following, accumulators)
            return accumulators
        along_m, along_n = self._fragments
        for k in steps:
            a = [self._left(slot, i, k) for i in range(along_m)]
            b = self._columns(slot, k)
            accumulators = [
                self.multiply_fragments(a[i], b[j], accumulators[i * along_n + j])
                for i in range(along_m)
                for j in range(along_n)
            ]
        return accumulators

    def _multiply_split(
        self, slot: Number, steps: Sequence[int], accumulators: Registers
    ) -> Registers:
        """Add the products of `steps` along K of operands that are split into terms."""
        along_m, along_n = self._fragments
        columns = [[split(b) for b in self._columns(slot, k)] for k in steps]
        found: Registers = []
        for i in range(along_m):
            sums = [self._zero()] * along_n
            for k, b in zip(steps, columns, strict=True):
                a = split(self._left(slot, i, k))
                for left, right in TERMS:
                    sums = [
                        self.multiply_fragments(a[left], b[j][right], sums[j])
                        for j in range(along_n)
                    ]
            row = accumulators[i * along_n : (i + 1) * along_n]
            found += [arith.addf(total, sum_) for total, sum_ in zip(row, sums, strict=True)]
        return found

    def _columns(self, slot: Number, k: int) -> list[ir.Value]:
        """The fragments of the right operand along N."""
        return [x for j in range(self._fragments[1] // 2) for x in self._right(slot, j, k)]

    def _left(self, slot: Number, i: int, k: int) -> ir.Value:
        """The fragment of the left operand, 16 by two vectors: of the four matrices, the second is
        below the first, and the other two on their right."""
        half, row = self.divide(self.lane, MMA[0])
        row = self.add(self.multiply(self.warp_row, self.tile.warp[0]), self.add(row, i * MMA[0]))
        vector_ = self.add(half, 2 * k)
        return self.load_fragments(self.a.memory, self.a.at(slot, row, vector_), 4)

    def _right(self, slot: Number, j: int, k: int) -> list[ir.Value]:
        """Two neighbouring fragments of the right operand, two vectors by 8."""
        first = self.add(self.multiply(self.warp_column, self.tile.warp[1]), j * 2 * MMA[1])
        if not self.shape.k_innermost and self.shape.dtype == F32:
            return [self._right_by_elements(slot, self.add(first, n), k) for n in (0, MMA[1])]
        if self.shape.k_innermost:
            upper, row = self.divide(self.lane, MMA[1])
            right, lower = self.divide(upper, 2)
            row = self.add(first, self.add(row, self.multiply(right, MMA[1])))
            at = self.b.at(slot, row, self.add(lower, 2 * k))
        else:
            half, row = self.divide(self.lane, MMA[2])
            first_vector, _ = self.divide(first, self.shape.vector)
            at = self.b.at(slot, self.add(row, k * MMA[2]), self.add(first_vector, half))
        both = self.load_fragments(self.b.memory, at, 4, transpose=not self.shape.k_innermost)
        lanes = ir.VectorType(both.type).shape[1]
        type_ = ir.VectorType.get([2, lanes], ir.VectorType(both.type).element_type)
        return [vector.extract_strided_slice(type_, both, [start], [2], [1]) for start in (0, 2)]

    def _right_by_elements(self, slot: Number, first: Number, k: int) -> ir.Value:
        """The fragment of the right operand from column `first` on, f32 and its rows in memory,
        which ``ldmatrix`` does not transpose."""
        column, row = self.divide(self.lane, 4)
        at_vector, within = self.divide(self.add(first, column), self.shape.vector)
        elements: list[ir.Value] = []
        for below in (0, 4):
            at_row = self.add(row, k * MMA[1] + below)
            at = self.add(self.b.at(slot, at_row, at_vector), within)
            elements.append(vector.extract(self.load(self.b.memory, at, 1), [], [0]))
        return vector.from_elements(ir.VectorType.get([2, 1], ir.F32Type.get()), elements)

    def _vectors(
        self, prepare: Prepare, outer: Number, first_row: Number, first_column: Number
    ) -> "list[_StoredVector]":
        """The vectors of the result that a thread stores."""
        shape, (rows, columns) = self.shape, self.tile.warp
        count, width = shape.stored, columns // shape.stored
        row_0 = self.add(first_row, self.multiply(self.warp_row, rows))
        column_0 = self.add(first_column, self.multiply(self.warp_column, columns))
        found: list[_StoredVector] = []
        for first in range(0, rows * width, SUBGROUP):
            row, part = self.divide(self.add(self.lane, first), width)
            in_warp = self.multiply(part, count)
            at_row, column = self.add(row_0, row), self.add(column_0, in_warp)
            valid = self.all_of(
                [
                    self.below(at_row, shape.m) if shape.m % self.tile.rows else None,
                    self.below(column, shape.n) if shape.n % self.tile.columns else None,
                ]
            )
            line = self.add(self.multiply(outer, shape.m), at_row)
            at = self.add(self.multiply(line, shape.n), column)
            if valid is not None:
                at = arith.select(valid, self.value(at), self.value(0))
                column = arith.select(valid, self.value(column), self.value(0))
            exchanged = self._exchanged(row, in_warp)
            found.append(_StoredVector(exchanged, valid, prepare(at, column, count)))
        return found

    def _store(self, stored: "_StoredVector") -> None:
        """Store a vector whose accumulators are in shared memory."""
        accumulators = self.load(self.exchanged, stored.exchanged, self.shape.stored)
        self.when(stored.valid, lambda: stored.finish(accumulators))

    def _exchange(self, accumulators: Registers) -> None:
        """Put the accumulators into shared memory; a fragment has eight rows of a warp, two
        neighbouring columns of each in a thread, and the eight rows below."""
        self.barrier()  # nobody reads operands from this memory any more
        along_n = self._fragments[1]
        row, pair = self.divide(self.lane, 4)
        for number, fragment in enumerate(accumulators):
            i, j = divmod(number, along_n)
            for half in range(2):
                below = i * MMA[0] + half * MMA[0] // 2
                column = self.add(self.multiply(pair, 2), j * MMA[1])
                at = self._exchanged(self.add(row, below), column)
                self.store(vector.extract(fragment, [], [half]), self.exchanged, at)
        self.barrier()

    def _exchanged(self, row: Number, column: Number) -> Number:
        """The index in shared memory of an accumulator of the warp."""
        rows, columns = self.tile.warp
        width = columns + SKEW
        warp = self.add(self.multiply(self.warp_row, self.tile.across[1]), self.warp_column)
        line = self.add(self.multiply(warp, rows), row)
        return self.add(self.multiply(line, width), column)
