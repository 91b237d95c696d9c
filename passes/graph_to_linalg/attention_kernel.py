"""Attention: a kernel in which a lane of a vector is a query.

A piece of work is some blocks of queries of one head, and goes through them one after the other.
The scores of a block, [keys, queries], are products of the keys by the transposed queries; what is
hidden is added to them in registers. Their exponentials need neither sums across lanes nor a copy
of the keys. The weights [keys, queries], read across, are then multiplied by the values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mlir import arith, ir, memref, vector
from .vector_emitter import Registers, Rows, VectorEmitter
from .vector_functions import exp_below_zero

MIN_PIECES = 8
"""Pieces of work that attention should split into, for threads to share."""


@dataclass(frozen=True)
class MaskShape:
    """What is added to the scores: one number for each key, or for each key and query."""

    lead: tuple[int, ...]
    """Its leading axes, as many as those of the queries."""
    per_query: bool


@dataclass(frozen=True)
class AttentionShape:
    """The numbers of an attention."""

    lead: tuple[int, ...]
    """Leading axes, of batches and heads."""
    queries: int
    keys: int
    depth: int
    """Features of a query and a key."""
    width: int
    """Features of a value."""
    causal: bool
    mask: MaskShape | None
    rows: int
    """Rows of a register tile."""
    vectors: int
    """Vectors of a register tile."""
    lanes: int

    @property
    def flops(self) -> int:
        return 2 * self.heads * self.queries * self.keys * (self.depth + self.width)

    @property
    def heads(self) -> int:
        return int(np.prod(self.lead))

    @property
    def block(self) -> int:
        """Queries in a block."""
        return self.vectors * self.lanes

    @property
    def blocks(self) -> int:
        """Blocks of a head, the last of which may have fewer queries."""
        return -(-self.queries // self.block)

    @property
    def together(self) -> int:
        """Blocks of a head in a piece of work."""
        parts = -(-MIN_PIECES // self.heads)
        return -(-self.blocks // min(parts, self.blocks))

    @property
    def parts(self) -> int:
        """Pieces of work of a head."""
        return -(-self.blocks // self.together)

    @property
    def pieces(self) -> int:
        return self.heads * self.parts

    @property
    def scratch(self) -> int:
        """Elements of memory for a piece of work: the weights of a block, and what divides them."""
        return (self.keys + 1) * self.block


@dataclass(frozen=True)
class Memory:
    """The buffers: queries [heads, depth, queries], already scaled, keys [heads, keys, depth],
    values [heads, keys, width], what is added, result [heads, queries, width], scratch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    mask: ir.Value | None
    y: ir.Value
    scratch: ir.Value


class AttentionEmitter(VectorEmitter):
    """Writes the kernel. Indices are of elements, from the start of a buffer."""

    def __init__(self, shape: AttentionShape, memory: Memory):
        super().__init__(shape.lanes)
        self.shape, self.memory = shape, memory

    def piece(self, number: ir.Value) -> None:
        """The piece of work `number`: the parts of a head follow each other."""
        shape = self.shape
        head = arith.divui(number, self.index(shape.parts))
        first = self.times(arith.remui(number, self.index(shape.parts)), shape.together)
        last = arith.minui(self.add(first, shape.together), self.index(shape.blocks))
        scratch = self.times(number, shape.scratch)
        whole, rest = divmod(shape.queries, shape.block)

        def block(at: ir.Value, count: int) -> None:
            _Block(self, head, self.times(at, shape.block), count, scratch).write()

        if whole:
            end = arith.minui(last, self.index(whole)) if rest else last
            self.repeat(first, end, lambda at: block(at, shape.block))
        if rest:
            start = arith.maxui(first, self.index(whole))
            self.repeat(start, last, lambda at: block(at, rest))


class _Block:
    """`count` queries of a head, from query `first` on."""

    def __init__(
        self, emit: AttentionEmitter, head: ir.Value, first: ir.Value, count: int, scratch: ir.Value
    ):
        shape = emit.shape
        self.emit, self.shape, self.memory = emit, shape, emit.memory
        self.head, self.first, self.count, self.scratch = head, first, count, scratch
        self.vectors = -(-count // shape.lanes)
        self.mask = emit.first_lanes(count - (self.vectors - 1) * shape.lanes)
        self.end = self._end()
        self.factors = emit.add(scratch, shape.keys * shape.block)

    def _end(self) -> ir.Value:
        """The keys that are seen are before this one."""
        keys = self.emit.index(self.shape.keys)
        if not self.shape.causal:
            return keys
        return arith.minui(keys, self.emit.add(self.first, self.count))

    def write(self) -> None:
        self._tiles(self.end, self.shape.rows, self._scores)
        self._weigh()
        rows = min(self.shape.rows, self.count)
        self._tiles(self.emit.index(self.count), rows, lambda row: self._results(row, rows))

    def _tiles(self, count: ir.Value, rows: int, body: Callable[[ir.Value], None]) -> None:
        """Run `body` for tiles of `rows` rows, by their first one; the last one may overlap."""
        emit = self.emit
        last = arith.subi(count, emit.index(rows))
        tiles = arith.ceildivui(count, emit.index(rows))
        emit.repeat(0, tiles, lambda tile: body(arith.minui(emit.times(tile, rows), last)))

    # Scores

    def _scores(self, key: ir.Value) -> None:
        """The scores of a tile of keys from `key` on, to scratch memory."""
        emit, shape = self.emit, self.shape
        keys = emit.add(emit.times(self.head, shape.keys), key)
        rows = Rows(
            self.memory.k, emit.times(keys, shape.depth), shape.rows, shape.depth, shape.queries
        )
        start = emit.add(emit.times(self.head, shape.depth * shape.queries), self.first)
        sums = [emit.splat(0)] * (shape.rows * self.vectors)
        sums = emit.multiply(rows, self.memory.q, start, shape.depth, sums, mask=self.mask)
        added = self._added(key)
        for row in range(shape.rows):
            at = emit.add(key, row)
            line = self._line(at)
            for part in range(self.vectors):
                score = added(sums[row * self.vectors + part], at, part)
                emit.store(score, self.memory.scratch, emit.add(line, part * shape.lanes))

    def _line(self, key: ir.Value) -> ir.Value:
        """Where the weights of a key are."""
        return self.emit.add(self.scratch, self.emit.times(key, self.shape.block))

    def _added(self, key: ir.Value) -> Callable[[ir.Value, ir.Value, int], ir.Value]:
        """What to do with the scores of a key, for the queries of one vector."""
        start = self._mask_start()

        def added(score: ir.Value, at: ir.Value, part: int) -> ir.Value:
            if start is not None:
                score = arith.addf(score, self._mask_of(start, at, part))
            return self._causal(score, at, part) if self.shape.causal else score

        return added

    def _mask_start(self) -> ir.Value | None:
        """Where the mask of this head begins, None if there is none."""
        emit, shape = self.emit, self.shape
        if shape.mask is None:
            return None
        one = shape.keys * (shape.queries if shape.mask.per_query else 1)
        total, rest = emit.index(0), self.head
        for size, held in zip(reversed(shape.lead), reversed(shape.mask.lead), strict=True):
            if held != 1:
                place = arith.remui(rest, emit.index(size))
                total = emit.add(total, emit.times(place, one))
                one *= held
            rest = arith.divui(rest, emit.index(size))
        return total

    def _mask_of(self, start: ir.Value, key: ir.Value, part: int) -> ir.Value:
        """What is added to the scores of a key."""
        emit, shape = self.emit, self.shape
        assert shape.mask is not None
        if not shape.mask.per_query:
            scalar = memref.load(self.memory.mask, [emit.add(start, key)])
            return vector.broadcast(emit.vector_type, scalar)
        at = emit.add(emit.add(start, emit.times(key, shape.queries)), self.first)
        mask = self.mask if part == self.vectors - 1 else None
        return emit.load(self.memory.mask, emit.add(at, part * shape.lanes), mask)

    def _causal(self, score: ir.Value, key: ir.Value, part: int) -> ir.Value:
        """The scores of a key, minus infinity for the queries before it."""
        emit, shape = self.emit, self.shape
        i32 = ir.IntegerType.get_signless(32)
        integers = ir.VectorType.get([shape.lanes], i32)
        numbers = [ir.IntegerAttr.get(i32, part * shape.lanes + n) for n in range(shape.lanes)]
        offsets = arith.constant(integers, ir.DenseElementsAttr.get(numbers, integers))
        distance = arith.index_cast(i32, arith.subi(key, self.first))
        hidden = arith.cmpi(arith.CmpIPredicate.slt, offsets, vector.broadcast(integers, distance))
        return arith.select(hidden, emit.splat(float("-inf")), score)

    # Weights

    def _weigh(self) -> None:
        """Turn scores into exponentials, and keep what is to divide their sums of values.

        NaN need not win the maximum: what is taken from a NaN stays one.
        """
        emit, shape = self.emit, self.shape
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        starts = [part * shape.lanes for part in range(self.vectors)]
        bounds = (emit.index(0), self.end)

        def larger(key: ir.Value, tops: Registers) -> Registers:
            line = self._line(key)
            scores = [emit.load(self.memory.scratch, emit.add(line, start)) for start in starts]
            pairs = zip(scores, tops, strict=True)
            return [arith.maxnumf(score, top, fastmath=flags) for score, top in pairs]

        lowest = float(np.finfo(np.float32).min)
        tops = emit.loop(bounds, [emit.splat(lowest)] * self.vectors, larger)

        def power(key: ir.Value, totals: Registers) -> Registers:
            line = self._line(key)
            results = []
            for start, top, total in zip(starts, tops, totals, strict=True):
                at = emit.add(line, start)
                score = emit.load(self.memory.scratch, at)
                weight = exp_below_zero(arith.subf(score, top))
                emit.store(weight, self.memory.scratch, at)
                results.append(arith.addf(total, weight))
            return results

        totals = emit.loop(bounds, [emit.splat(0)] * self.vectors, power)
        for start, total in zip(starts, totals, strict=True):
            none = arith.cmpf(arith.CmpFPredicate.OEQ, total, emit.splat(0))
            factor = arith.divf(emit.splat(1), arith.select(none, emit.splat(1), total))
            emit.store(factor, self.memory.scratch, emit.add(self.factors, start))

    # Results

    def _results(self, query: ir.Value, rows: int) -> None:
        """The results of `rows` queries of the block, from `query` on."""
        emit, shape = self.emit, self.shape
        left = Rows(
            self.memory.scratch, emit.add(self.scratch, query), rows, 1, shape.width, shape.block
        )
        values = emit.times(self.head, shape.keys * shape.width)
        line = emit.add(emit.times(self.head, shape.queries), emit.add(self.first, query))
        target = emit.times(line, shape.width)
        for start, parts in self._panels():
            sums = [emit.splat(0)] * (rows * parts)
            sums = emit.multiply(left, self.memory.v, emit.add(values, start), self.end, sums)
            for row in range(rows):
                place = emit.add(emit.add(self.factors, query), row)
                factor = vector.broadcast(
                    emit.vector_type, memref.load(self.memory.scratch, [place])
                )
                for part in range(parts):
                    at = emit.add(target, row * shape.width + start + part * shape.lanes)
                    value = arith.mulf(sums[row * parts + part], factor)
                    emit.store(value, self.memory.y, at)

    def _panels(self) -> list[tuple[int, int]]:
        """The features of a value, in panels: where each begins, and its vectors."""
        vectors = self.shape.width // self.shape.lanes
        most = self.shape.vectors
        return [
            (first * self.shape.lanes, min(most, vectors - first))
            for first in range(0, vectors, most)
        ]


def memory_of(mask: bool, buffers: list[Any]) -> Memory:
    """The buffers as a kernel receives them: operands, result, scratch."""
    q, k, v, *given, y, scratch = buffers
    return Memory(q, k, v, given[0] if mask else None, y, scratch)
