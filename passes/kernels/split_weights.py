"""Weights of f32 as 24 bits and the 8 bits of the rest (`graph.split_words`): few rows are
multiplied by the first 24 bits, for more rows the elements are joined in a buffer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...dialects.graph.f24_matmul import F24_WIDTH, F24_WORDS
from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .register_tiles import RegisterTiles
from .sizes import Index

LANES = F24_WIDTH // 4
"""Elements of the vectors for which the words of a line are laid out."""


class SplitWords:
    """Loads of split weights; `memory` has words, or f32 that are such."""

    def __init__(self, emitter: VectorEmitter, memory: ir.Value):
        self._emitter, self._memory = emitter, memory
        self._type = ir.VectorType.get([LANES], ir.IntegerType.get_signless(32))
        self._floats = ir.VectorType.get([LANES], ir.F32Type.get())

    def first(self, line: ir.Value, count: int = 4) -> Registers:
        """The first `count` vectors of the line of f24 at `line`, from three loads."""
        low, high, rest = (self._load(line, number) for number in range(3))

        def upper(number: int) -> ir.Value:
            """The upper 16 bits of a column, in their position."""
            source = (low, high)[number // 2]
            if number % 2:
                return arith.andi(source, self._splat(-1 << 16))
            return arith.shli(source, self._splat(16))

        def next_(number: int) -> ir.Value:
            """The next 8 bits of a column, in their position."""
            move = 8 * (1 - number)
            placed = rest
            if move:
                placed = (arith.shli if move > 0 else arith.shrui)(rest, self._splat(abs(move)))
            return arith.andi(placed, self._splat(0xFF00))

        return self._as_floats([arith.ori(upper(n), next_(n)) for n in range(count)])

    def joined(self, line: ir.Value, rest: ir.Value) -> Registers:
        """The vectors of the line of f24 at `line`, with the rest of their bits, which is at
        `rest`."""
        words = self._load(rest, 0)

        def last(number: int) -> ir.Value:
            """The last 8 bits of a column, which have a sign."""
            move = 8 * (3 - number)
            placed = arith.shli(words, self._splat(move)) if move else words
            return arith.shrsi(placed, self._splat(24))

        firsts = [arith.bitcast(self._type, each) for each in self.first(line)]
        return self._as_floats([arith.addi(each, last(n)) for n, each in enumerate(firsts)])

    def _load(self, line: ir.Value, number: int) -> ir.Value:
        at = self._emitter.add(line, number * LANES)
        element = ir.MemRefType(self._memory.type).element_type
        held = vector.load(ir.VectorType.get([LANES], element), self._memory, [at])
        return held if held.type == self._type else arith.bitcast(self._type, held)

    def _splat(self, value: int) -> ir.Value:
        element = ir.IntegerAttr.get(self._type.element_type, value)
        return arith.constant(self._type, ir.DenseElementsAttr.get_splat(self._type, element))

    def _as_floats(self, words: Sequence[ir.Value]) -> Registers:
        return [arith.bitcast(self._floats, each) for each in words]


LineReader = Callable[[ir.Value], Registers]
"""A function from the number of a line to its vectors."""


@dataclass(frozen=True)
class SplitLines:
    """Lines of split weights in `memory`: the f24 from `first` and the rest from `rest` on."""

    emitter: VectorEmitter
    memory: ir.Value
    first: ir.Value
    rest: ir.Value
    target: ir.Value
    ahead: int
    """The number of lines by which the rest is prefetched; the f24 is prefetched as others are."""

    def join(self, line: ir.Value) -> Registers:
        """Join the elements of a line, and write them to `target`."""
        add, times = self.emitter.add, self.emitter.times
        at, beside = times(line, F24_WORDS), times(line, LANES)
        words = SplitWords(self.emitter, self.memory)
        ahead = add(add(self.rest, beside), self.ahead * LANES)
        memref.prefetch(self.memory, [ahead], is_write=False, locality_hint=2, is_data_cache=True)
        vectors = words.joined(add(self.first, at), add(self.rest, beside))
        self.emitter.store_all(vectors, self.target, times(line, F24_WIDTH))
        return vectors


def fill_with_first_tile(
    emitter: VectorEmitter,
    tiles: Sequence[RegisterTiles],
    lines: Index,
    fill: Callable[[Callable[[LineReader], None]], None],
    multiply: Callable[[LineReader], None],
) -> None:
    """Fill a buffer with `lines` while the first full tile is multiplied by them, or if there is
    none, beforehand: what the memory does and what the units do go on together.

    `fill` calls its argument with the function that reads a line and writes it to the buffer.
    """

    def only_fill(read: LineReader) -> None:
        def line(number: ir.Value) -> None:
            read(number)

        emitter.repeat(0, lines, line)

    count = emitter.index(tiles[0].count)
    has_full = emitter.compare(arith.CmpIPredicate.ne, count, 0)
    emitter.choose(has_full, lambda: fill(multiply), lambda: fill(only_fill))


def remaining_tiles(tiles: Sequence[RegisterTiles]) -> Iterator[tuple[int, RegisterTiles]]:
    """The tiles, with the number of those of each kind that `fill_with_first_tile` has
    multiplied."""
    return ((int(number == 0), each) for number, each in enumerate(tiles))
