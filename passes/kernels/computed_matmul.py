"""Matmul of two computed matrices, the right one read as it is in memory or from packed panels.

A workgroup computes a block of rows by some columns of one matrix of the batch. Few rows leave no
time to pack the right matrix, whose elements are used once for each of them. So the kernel reads it
line by line, some vectors of columns at a time, with accumulators for MR rows; or, if its columns
are contiguous, by dot products (`matmul_dots`). For many rows it is packed first (`pack_matrix`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .computed_matmul_shape import BLOCK_ROWS, ComputedMatmulShape, Size, is_packed
from .emitter import CACHE_LINE, Registers, VectorEmitter
from .matmul_dots import DotEmitter, DotOperands
from .register_tiles import RegisterTiles, even_register_tiles, falling_tiles
from .vector_registers import register_tile

PREFETCHED_LINES = 2
"""Distance in lines at which the right matrix is prefetched, as each line is on another page: a row
by 768x3072 takes 1.0 of ONNX Runtime's time so, 1.2 with 8 or 16, and 1.6 without."""


class ComputedMatmulEmitter(VectorEmitter):
    """Emits the kernel; `value` gives sizes at the insertion point."""

    def __init__(
        self,
        shape: ComputedMatmulShape,
        value: Callable[[Size], ir.Value],
        left: ir.Value,
        right: ir.Value,
        result: ir.Value,
        packed: ir.Value | None = None,
    ):
        """`packed` are the panels of the right operand, if that may be packed."""
        super().__init__(shape.lanes)
        self.shape, self._value = shape, value
        self.left, self.right, self.result = left, right, result
        self.packed = packed
        self.rows, self.k, self.column_count = map(value, (shape.rows, shape.k, shape.columns))

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; those of a matrix of the batch are consecutive."""
        shape = self.shape
        row_blocks, column_blocks = shape.blocks(self.rows, self.k, self.column_count)
        block = arith.divui(workgroup_id, column_blocks)
        matrix = _Matrix(*self._starts(arith.divui(block, row_blocks)))
        first = self.times(arith.remui(block, row_blocks), BLOCK_ROWS)
        count = arith.minui(self.index(BLOCK_ROWS), arith.subi(self.rows, first))
        rows = _Rows(first, count)
        groups = shape.groups(self.k)
        group = arith.muli(arith.remui(workgroup_id, column_blocks), groups)
        last = arith.ceildivui(self.column_count, self.index(shape.width))
        end = arith.minui(arith.addi(group, groups), last)

        def each(compute: Callable[["_Matrix", ir.Value, "_Rows"], None]) -> None:
            self.repeat(group, end, lambda at: compute(matrix, self.times(at, shape.width), rows))

        unpacked = self._dots if shape.is_transposed else self._lines
        if self.packed is None:
            each(unpacked)
        elif isinstance(shape.rows, int):
            each(self._panels)
        else:
            self.choose(is_packed(self.rows), lambda: each(self._panels), lambda: each(unpacked))

    def _starts(self, matrix: ir.Value) -> list[ir.Value]:
        """The first elements of matrix number `matrix` of the batch, in both operands and the
        result, and its first packed panel."""
        shape = self.shape
        numbers: list[ir.Value | None] = [None, None]
        strides = [self.index(1), self.index(1)]
        left = matrix
        for axis in range(len(shape.batch) - 1, -1, -1):
            size = self._value(shape.batch[axis])
            at = left if axis == 0 else arith.remui(left, size)
            left = left if axis == 0 else arith.divui(left, size)
            for operand, sizes in enumerate((shape.left, shape.right)):
                own = sizes[axis]
                if own == 1:
                    continue
                extent = self._value(own)
                position = at if own == shape.batch[axis] else self._repeated(at, extent)
                position = arith.muli(position, strides[operand])
                before = numbers[operand]
                numbers[operand] = position if before is None else arith.addi(before, position)
                strides[operand] = arith.muli(strides[operand], extent)
        sizes = [arith.muli(self.rows, self.k), arith.muli(self.k, self.column_count)]
        starts = [
            self.index(0) if number is None else arith.muli(number, size)
            for number, size in zip(numbers, sizes, strict=True)
        ]
        panels = arith.ceildivui(self.column_count, self.index(shape.panel))
        packed = self.index(0) if numbers[1] is None else arith.muli(numbers[1], panels)
        return [*starts, arith.muli(matrix, arith.muli(self.rows, self.column_count)), packed]

    def _repeated(self, at: ir.Value, extent: ir.Value) -> ir.Value:
        """Position `at` on an axis of `extent`, which repeats if that is 1."""
        is_one = self.compare(arith.CmpIPredicate.eq, extent, 1)
        return arith.select(is_one, self.index(0), at)

    def _tiles(self, rows: "_Rows") -> list[RegisterTiles]:
        """The register tiles of the rows of a block."""
        known, most = self.shape.rows, register_tile(self.shape.cpu).rows
        if isinstance(known, int) and known <= BLOCK_ROWS:
            return even_register_tiles(known, most)
        return falling_tiles(self, rows.count, most)

    def _dots(self, matrix: "_Matrix", column: ir.Value, rows: "_Rows") -> None:
        """Multiply rows by a group of columns, each of which is contiguous."""
        operands = DotOperands(
            self.left, self.right, self.result, matrix.left, matrix.right, matrix.result
        )
        DotEmitter(self.shape, operands, self.k, self.column_count, self._entry).group(
            column, rows.first, rows.count
        )

    def _lines(self, matrix: "_Matrix", column: ir.Value, rows: "_Rows") -> None:
        """Multiply rows by a group of columns of the lines of the right matrix: by all columns at
        once, or by half of them, or vector by vector."""
        shape, half = self.shape, self.shape.panel
        tiles = self._tiles(rows)
        few = [each for each in tiles if 2 * each.size <= register_tile(shape.cpu).rows]
        many = [each for each in tiles if each not in few]

        def multiply(
            at: ir.Value,
            tiles: Sequence[RegisterTiles],
            columns: int,
            mask: ir.Value | None = None,
        ) -> None:
            start = self.add(matrix.right, at)
            lines = _Lines(self.right, start, self.column_count, PREFETCHED_LINES, mask)
            target = _Target(matrix, at, [mask] * (columns // self.lanes))
            self._multiply_tiles(lines, rows.first, tiles, target)

        def whole() -> None:
            for part in range(0, shape.width, half):
                multiply(self.add(column, part), many, half)
            multiply(column, few, shape.width)

        def partial() -> None:
            left = arith.subi(self.column_count, column)
            halves = arith.divui(left, self.index(half))
            self.repeat(
                self.index(0),
                halves,
                lambda number: multiply(self.add(column, self.times(number, half)), tiles, half),
            )
            done = self.times(halves, half)

            def part(number: ir.Value) -> None:
                at = self.add(done, self.times(number, self.lanes))
                mask = self.lanes_below(arith.subi(left, at))
                multiply(self.add(column, at), tiles, self.lanes, mask)

            rest = arith.ceildivui(arith.subi(left, done), self.index(self.lanes))
            self.repeat(self.index(0), rest, part)

        if isinstance(shape.columns, int) and shape.columns % shape.width == 0:
            whole()
        elif isinstance(shape.columns, int) and shape.columns < shape.width:
            partial()
        else:
            end = self.add(column, shape.width)
            is_whole = arith.cmpi(arith.CmpIPredicate.ule, end, self.column_count)
            self.choose(is_whole, whole, partial)

    def _panels(self, matrix: "_Matrix", column: ir.Value, rows: "_Rows") -> None:
        """Multiply rows by the packed panels of a group of columns."""
        shape, packed = self.shape, self.packed
        assert packed is not None
        tiles, vectors = self._tiles(rows), shape.panel // self.lanes
        size = self.times(self.k, shape.panel)
        for part in range(0, shape.width, shape.panel):
            at = self.add(column, part)
            number = self.add(matrix.packed, arith.divui(at, self.index(shape.panel)))
            lines = _Lines(packed, arith.muli(number, size), self.index(shape.panel))
            left = arith.subi(self.column_count, at)

            def whole(lines: "_Lines" = lines, at: ir.Value = at) -> None:
                target = _Target(matrix, at, [None] * vectors)
                self._multiply_tiles(lines, rows.first, tiles, target)

            def partial(lines: "_Lines" = lines, at: ir.Value = at, left: ir.Value = left) -> None:
                starts = [part * self.lanes for part in range(vectors)]
                masks = [self.lanes_below(self.add(left, -start)) for start in starts]
                target = _Target(matrix, at, masks)
                some = self.compare(arith.CmpIPredicate.sgt, left, 0)
                self.choose(
                    some,
                    lambda: self._multiply_tiles(lines, rows.first, tiles, target),
                    lambda: None,
                )

            if isinstance(shape.columns, int) and shape.columns % shape.width == 0:
                whole()
            else:
                is_whole = self.compare(arith.CmpIPredicate.sge, left, shape.panel)
                self.choose(is_whole, whole, partial)

    def _multiply_tiles(
        self,
        lines: "_Lines",
        first: ir.Value,
        tiles: Sequence[RegisterTiles],
        target: "_Target",
    ) -> None:
        """Multiply tiles of rows from `first` on by `lines`, in blocks of K that stay in the L1."""
        if not tiles:
            return
        vectors = len(target.masks)
        kc = max(1, self.shape.cpu.l1_bytes // (4 * vectors * self.lanes))

        def block(number: ir.Value) -> None:
            start = self.times(number, kc)
            length = arith.minui(self.index(kc), arith.subi(self.k, start))
            continues = self.compare(arith.CmpIPredicate.ne, number, 0)
            right = self.add(lines.start, arith.muli(start, lines.stride))
            for each in tiles:

                def tile(at: ir.Value, tiles: RegisterTiles = each) -> None:
                    row = self.add(first, self.add(self.times(at, tiles.size), tiles.first))
                    outputs, masks = self._outputs(target, row, tiles.size)

                    def so_far() -> Registers:
                        pairs = zip(outputs, masks, strict=True)
                        return [self.load(self.result, output, mask) for output, mask in pairs]

                    accumulators = self.when(continues, so_far, [self.splat(0)] * len(outputs))
                    at_k = arith.addi(arith.muli(row, self.k), start)
                    left = self.add(target.matrix.left, at_k)
                    accumulators = self._accumulate(
                        left, lines, right, tiles.size, length, accumulators
                    )
                    for value, output, mask in zip(accumulators, outputs, masks, strict=True):
                        self.store(value, self.result, output, mask)

                self.repeat(0, each.count, tile)

        blocks = arith.maxui(arith.ceildivui(self.k, self.index(kc)), self.index(1))
        self.repeat(self.index(0), blocks, block)

    def _outputs(
        self, target: "_Target", row: ir.Value, size: int
    ) -> tuple[list[ir.Value], list[ir.Value | None]]:
        """The offsets of the vectors of a tile in the result, row by row, and their masks."""
        outputs = []
        line = arith.addi(arith.muli(row, self.column_count), target.column)
        line = self.add(target.matrix.result, line)
        for number in range(size):
            outputs += [self.add(line, part * self.lanes) for part in range(len(target.masks))]
            if number + 1 < size:
                line = arith.addi(line, self.column_count)
        return outputs, list(target.masks) * size

    def _accumulate(
        self,
        left: ir.Value,
        lines: "_Lines",
        right: ir.Value,
        size: int,
        length: ir.Value,
        accumulators: Registers,
    ) -> Registers:
        """Accumulate the products of `size` rows, from `left` on, by `length` of the `lines`, from
        `right` on."""
        vectors = len(accumulators) // size
        starts = [left]
        for _ in range(size - 1):
            starts.append(arith.addi(starts[-1], self.k))
        ahead = self.times(lines.stride, lines.ahead) if lines.ahead else None

        def step(index: ir.Value, registers: Registers) -> Registers:
            line = arith.addi(right, arith.muli(index, lines.stride))
            columns = [
                self.load(lines.memory, self.add(line, part * self.lanes), lines.mask)
                for part in range(vectors)
            ]
            if ahead is not None:
                for more in range(0, vectors * self.lanes, CACHE_LINE):
                    at = self.add(arith.addi(line, ahead), more)
                    memref.prefetch(
                        lines.memory, [at], is_write=False, locality_hint=3, is_data_cache=True
                    )
            registers = list(registers)
            for row, start in enumerate(starts):
                scalar = memref.load(self.left, [arith.addi(start, index)])
                self.multiply_add(scalar, columns, registers, row * vectors)
            return registers

        return self.loop((self.index(0), length), accumulators, step)


@dataclass(frozen=True)
class _Matrix:
    """The first elements of a matrix of the batch in the operands and the result, and the first of
    its packed panels."""

    left: ir.Value
    right: ir.Value
    result: ir.Value
    packed: ir.Value


@dataclass(frozen=True)
class _Rows:
    """`count` rows from `first` on."""

    first: ir.Value
    count: ir.Value


@dataclass(frozen=True)
class _Lines:
    """The lines of a panel, `stride` elements apart. If `ahead` is not 0, the line so many lines
    ahead is prefetched. Vectors are read under `mask`."""

    memory: ir.Value
    start: ir.Value
    stride: ir.Value
    ahead: int = 0
    mask: ir.Value | None = None


@dataclass(frozen=True)
class _Target:
    """The vectors of the result from `column` on, each under a mask."""

    matrix: _Matrix
    column: ir.Value
    masks: Sequence[ir.Value | None]
