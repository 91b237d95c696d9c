"""Operands of matmuls on tensor cores: where their elements are, and how tiles of them reach shared
memory.

A tile in shared memory has rows of vectors of 16 bytes. The vectors of a row are swizzled, by XOR
with the number of the row, so that the eight threads of ``ldmatrix`` that read one column
of them find all banks.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol

from ...mlir import ir
from .thread_emitter import Number, ThreadEmitter

VECTOR = 8
"""Elements of 16 bits in a vector of 16 bytes."""
LINE = 8
"""Vectors of 16 bytes in the width of all banks of shared memory."""


class TileSource(Protocol):
    """A matrix, possibly one that is only computed as it is copied."""

    @property
    def copied(self) -> int:
        """Elements that one thread copies at once: consecutive ones of a row."""
        ...

    def row(self, emitter: ThreadEmitter, row: Number, tile: tuple[int, int]) -> "Row":
        """The row with the number `row`, or beyond the last.

        It is read for tiles of `tile`, rows and columns, which begin at multiples of both.
        """
        ...


class Row(Protocol):
    """A row of an operand."""

    def element(self, column: Number, step: Number) -> tuple[Number, ir.Value | None]:
        """The index of element ``step + column`` in memory, and the condition that it is valid.

        `step` is equal for all threads.
        """
        ...


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory, ``[rows, columns]``, with `stride` elements from row to row."""

    rows: int
    columns: int
    stride: int
    aligned: int = VECTOR
    """Elements of which the start of the matrix is a multiple."""
    vector: int = VECTOR
    """Elements in 16 bytes."""

    @property
    def copied(self) -> int:
        return widest_copy(math.gcd(self.columns, self.stride, self.aligned), self.vector)

    def row(self, emitter: ThreadEmitter, row: Number, tile: tuple[int, int]) -> "Row":
        inside = emitter.below(row, self.rows) if self.rows % tile[0] else None
        return _MatrixRow(emitter, self, emitter.multiply(row, self.stride), inside, tile[1])


@dataclass(frozen=True)
class _MatrixRow:
    emitter: ThreadEmitter
    matrix: Matrix
    start: Number
    inside: ir.Value | None
    column_tile: int

    def element(self, column: Number, step: Number) -> tuple[Number, ir.Value | None]:
        at, columns = self.emitter.add(step, column), self.matrix.columns
        whole = columns % self.column_tile == 0
        valid = [self.inside, None if whole else self.emitter.below(at, columns)]
        return self.emitter.add(self.start, at), self.emitter.all_of(valid)


@dataclass(frozen=True)
class ImageWindows:
    """The windows of an image ``[N, spatial..., C]`` as the rows of a matrix: one for each output
    position, its columns the taps of the kernel and the channels of each.

    `low` is the padding before the image; what is outside the image is zero.
    """

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    positions: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    vector: int = field(default=VECTOR, kw_only=True)
    """Elements in 16 bytes."""

    @property
    def channels(self) -> int:
        return self.image[-1]

    @property
    def rows(self) -> int:
        return self.image[0] * math.prod(self.positions)

    @property
    def columns(self) -> int:
        return math.prod(self.kernel) * self.channels

    @property
    def copied(self) -> int:
        return widest_copy(self.channels, self.vector)

    def row(self, emitter: ThreadEmitter, row: Number, tile: tuple[int, int]) -> "Row":
        inside = emitter.below(row, self.rows) if self.rows % tile[0] else None
        origins: list[Number] = []
        for count, stride, low in reversed(
            list(zip(self.positions, self.strides, self.low, strict=True))
        ):
            row, position = emitter.divide(row, count)
            origins.append(emitter.add(emitter.multiply(position, stride), -low))
        start = emitter.multiply(row, math.prod(self.image[1:]))
        return _Window(emitter, self, start, tuple(reversed(origins)), inside, tile[1])

    def misses_image(self, axis: int) -> bool:
        """Return whether some window has taps outside the image along spatial `axis`."""
        last = (self.positions[axis] - 1) * self.strides[axis] - self.low[axis]
        last += (self.kernel[axis] - 1) * self.dilations[axis]
        return self.low[axis] > 0 or last >= self.image[1 + axis]


@dataclass(frozen=True)
class _Window:
    """A window: the index of its image in memory, and the coordinates of its first tap."""

    emitter: ThreadEmitter
    windows: ImageWindows
    start: Number
    origins: tuple[Number, ...]
    inside: ir.Value | None
    column_tile: int

    def element(self, column: Number, step: Number) -> tuple[Number, ir.Value | None]:
        emitter, windows = self.emitter, self.windows
        valid = [self.inside]
        if windows.channels % self.column_tile == 0:  # all of the step is in one tap
            tap, channel = emitter.divide(step, windows.channels)
            channel = emitter.add(channel, column)
        else:
            at = emitter.add(step, column)
            tap, channel = emitter.divide(at, windows.channels)
            if windows.columns % self.column_tile:
                valid.append(emitter.below(at, windows.columns))
        taps: list[Number] = []
        for size in reversed(windows.kernel[1:]):
            tap, inner = emitter.divide(tap, size)
            taps.append(inner)
        taps.append(tap)
        index: Number = 0
        for axis, (tap, origin) in enumerate(zip(reversed(taps), self.origins, strict=True)):
            size = windows.image[1 + axis]
            at = emitter.add(origin, emitter.multiply(tap, windows.dilations[axis]))
            if windows.misses_image(axis):
                valid.append(emitter.below(at, size))
            index = emitter.add(emitter.multiply(index, size), at)
        index = emitter.add(emitter.multiply(index, windows.channels), channel)
        return emitter.add(self.start, index), emitter.all_of(valid)


def widest_copy(columns: int, vector: int = VECTOR) -> int:
    """Elements that ``cp.async`` copies at once from rows of `columns` elements, of which `vector`
    are 16 bytes: 16 bytes, 8 or 4; 0 if rows do not start at multiples of 4 bytes."""
    count = math.gcd(columns, vector)
    return count if 4 * count >= vector else 0


class SharedTile:
    """Tiles of `rows` by `columns` elements in shared memory, one behind the other.

    `vector` elements are 16 bytes. Threads that read a column find all banks, as long as they read
    `across` neighbouring vectors of each row.
    """

    def __init__(
        self,
        emitter: ThreadEmitter,
        memory: ir.Value,
        rows: int,
        columns: int,
        vector: int = VECTOR,
        across: int = 1,
    ):
        self.emitter, self.memory = emitter, memory
        self.rows, self.columns = rows, columns
        self.vector, self.across = vector, across

    def at(self, slot: Number, row: Number, vector: Number) -> Number:
        """The index of a vector of tile `slot`."""
        emitter, vectors = self.emitter, self.columns // self.vector
        shared = max(1, LINE // vectors)  # rows within the width of all banks
        line, _ = emitter.divide(row, shared)
        _, swizzle = emitter.divide(line, max(1, min(vectors, LINE) // self.across))
        swizzled = emitter.xor(vector, emitter.multiply(swizzle, self.across))
        start = emitter.add(emitter.multiply(slot, self.rows), row)
        start = emitter.multiply(start, self.columns)
        return emitter.add(start, emitter.multiply(swizzled, self.vector))


class TileCopy:
    """Copies of tiles of an operand to shared memory by `threads` threads: of all columns of a
    tile, or the first `columns`."""

    def __init__(
        self,
        tile: SharedTile,
        operand: TileSource,
        memory: ir.Value,
        thread: ir.Value,
        threads: int,
        columns: int | None = None,
    ):
        self.tile, self.operand, self.memory = tile, operand, memory
        emitter, self.width = tile.emitter, operand.copied
        parts = (columns or tile.columns) // self.width
        count = tile.rows * parts
        self.chunks: list[tuple[Number, Number, ir.Value | None]] = []
        """The row and the first column of each copy of a thread, and whether it takes part."""
        for first in range(0, count, threads):
            number = emitter.add(thread, first)
            takes_part = emitter.below(number, count) if first + threads > count else None
            row, part = emitter.divide(number, parts)
            self.chunks.append((row, emitter.multiply(part, self.width), takes_part))

    def rows_from(self, first: Number) -> list[Row]:
        """The rows of the operand of which each chunk has elements, for tiles whose first row
        is `first`."""
        emitter = self.tile.emitter
        tile = self.tile.rows, self.tile.columns
        return [
            self.operand.row(emitter, emitter.add(first, row), tile) for row, _, _ in self.chunks
        ]

    def start(self, rows: list[Row], slot: Number, step: Number, base: Number) -> None:
        """Start the copy of the elements of `rows` from column `step` on to tile `slot`. The
        operand begins at index `base` of memory."""
        emitter, tile = self.tile.emitter, self.tile
        for (row, column, takes_part), source in zip(self.chunks, rows, strict=True):

            def copy(row: Number = row, column: Number = column, source: Row = source) -> None:
                vector, within = emitter.divide(column, tile.vector)
                target = emitter.add(tile.at(slot, row, vector), within)
                at, valid = source.element(column, step)
                at = emitter.add(base, at)
                emitter.copy_async(self.memory, at, tile.memory, target, self.width, valid)

            emitter.when(takes_part, copy)
