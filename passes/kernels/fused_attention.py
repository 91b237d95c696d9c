"""Attention: a kernel in which each lane of a vector is a query.

A workgroup computes some blocks of queries of one head, one after the other. The queries of a block
are scaled and transposed to [head_size, queries]. The scores of the block, [keys, queries], are the
products of the keys by these; the mask is added in registers. Softmax over the keys then needs
neither reductions across lanes nor a transposed copy of the keys. The weights [keys, queries], read
transposed, are multiplied by the values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .attention_shape import AttentionShape
from .emitter import LhsBlock, Registers, VectorEmitter
from .sizes import Index, product
from .vector_functions import exp_below_zero


@dataclass(frozen=True)
class AttentionMemory:
    """The buffers of queries, keys, values, mask, result and scratch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    mask: ir.Value | None
    y: ir.Value
    scratch: ir.Value


class AttentionEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(self, shape: AttentionShape, memory: AttentionMemory):
        super().__init__(shape.lanes)
        self.shape, self.memory = shape, memory
        self._known: dict[Dim, ir.Value] = {}

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that are `dynamic`; the workgroups of a head
        are consecutive."""
        shape = self.shape
        self._known = dict(zip(shape.sizes, dynamic, strict=True))
        queries = self.size(shape.queries)
        blocks, together = shape.blocks(queries), shape.together(queries)
        head = arith.divui(workgroup_id, self.index(shape.parts))
        first = self.times(arith.remui(workgroup_id, self.index(shape.parts)), together)
        last = arith.minui(self.add(first, self.index(together)), self.index(blocks))
        held = self.add(self.index(self.size(shape.keys)), 1 + shape.head_size)
        scratch = arith.muli(workgroup_id, self.times(held, shape.block))
        if isinstance(queries, int):
            self._known_blocks(queries, (first, last), head, scratch)
        else:
            self._blocks(queries, (first, last), head, scratch)

    def _known_blocks(
        self, queries: int, bounds: tuple[ir.Value, ir.Value], head: ir.Value, scratch: ir.Value
    ) -> None:
        """Emit the blocks within `bounds` of a known number of `queries`."""
        shape, (first, last) = self.shape, bounds
        whole, rest = divmod(queries, shape.block)

        def block(at: ir.Value, count: int) -> None:
            _Block(self, head, self.times(at, shape.block), count, scratch).write()

        if whole:
            end = arith.minui(last, self.index(whole)) if rest else last
            self.repeat(first, end, lambda at: block(at, shape.block))
        if rest:
            start = arith.maxui(first, self.index(whole))
            self.repeat(start, last, lambda at: block(at, rest))

    def _blocks(
        self,
        queries: ir.Value,
        bounds: tuple[ir.Value, ir.Value],
        head: ir.Value,
        scratch: ir.Value,
    ) -> None:
        """Emit the blocks within `bounds` of a dynamic number of `queries`, the last of which
        overlaps the one before it, or has as many vectors as few queries need."""
        shape = self.shape
        most = self.index(shape.block)
        first = arith.subi(arith.maxui(queries, most), most)
        count = arith.minui(queries, most)

        def block(at: ir.Value, vectors: int) -> None:
            start = arith.minui(self.times(at, shape.block), first)
            _Block(self, head, start, count, scratch, vectors).write()

        few = self.compare(arith.CmpIPredicate.ule, queries, shape.lanes)
        self.choose(
            few,
            lambda: self.repeat(*bounds, lambda at: block(at, 1)),
            lambda: self.repeat(*bounds, lambda at: block(at, shape.vectors)),
        )

    def size(self, size: int | Dim) -> Index:
        """A size or stride of the shape."""
        return size if isinstance(size, int) else self._resolved(size)

    def _resolved(self, size: Dim) -> ir.Value:
        """A dynamic size: a scalar of the kernel, or what is computed from such."""
        if size not in self._known:
            raise LookupError(f"the kernel is not given the size {size}")
        return self._known[size]

    def start(self, head: ir.Value, first: int | Dim, strides: Sequence[int | Dim]) -> ir.Value:
        """The start of a head in memory: the first head starts at `first`, and heads along the
        leading axes are `strides` apart."""
        total, rest = self.index(self.size(first)), head
        axes = [axis for axis in zip(self.shape.lead, strides, strict=True) if axis[0] != 1]
        for number, (size, stride) in enumerate(reversed(axes)):
            is_last = number == len(axes) - 1
            held = self.index(self.size(size))
            position = rest if is_last else arith.remui(rest, held)
            if stride != 0:
                total = arith.addi(total, self.times(position, self.size(stride)))
            rest = rest if is_last else arith.divui(rest, held)
        return total


class _Block:
    """`count` queries of a head, from query `first` on. If their number is dynamic, they fill at
    most `vectors` vectors."""

    def __init__(
        self,
        emit: AttentionEmitter,
        head: ir.Value,
        first: ir.Value,
        count: Index,
        scratch: ir.Value,
        vectors: int | None = None,
    ):
        shape = emit.shape
        self.emit, self.shape, self.memory = emit, shape, emit.memory
        self.head, self.first, self.count, self.scratch = head, first, count, scratch
        if isinstance(count, int):
            self.vectors = -(-count // shape.lanes)
        else:
            assert vectors is not None
            self.vectors = vectors
        self.end = self._end()
        self.factors = emit.add(
            scratch, self.emit.index(product(emit.size(shape.keys), shape.block))
        )
        self.queries = emit.add(self.factors, shape.block)

    def _end(self) -> ir.Value:
        """The end of the visible keys."""
        keys = self.emit.index(self.emit.size(self.shape.keys))
        if not self.shape.causal:
            return keys
        return arith.minui(keys, self.emit.add(self.first, self.count))

    def write(self) -> None:
        self._lay_queries()
        self._tiles(self.end, self.shape.mr, self._scores)
        self._weigh()
        rows = self.shape.mr if isinstance(self.count, ir.Value) else min(self.shape.mr, self.count)
        self._tiles(self.emit.index(self.count), rows, self._results)

    def _tiles(self, count: ir.Value, rows: int, body: Callable[[ir.Value, int], None]) -> None:
        """Emit `body` for each tile of `rows` rows, given its first row and their number; the last
        may overlap. There may be fewer rows if sizes are dynamic."""
        if self.emit.shape.sizes:
            enough = self.emit.compare(arith.CmpIPredicate.uge, count, rows)
            self.emit.choose(
                enough,
                lambda: self._overlapping(count, rows, body),
                lambda: self._overlapping(count, 1, body),
            )
        else:
            self._overlapping(count, rows, body)

    def _overlapping(
        self, count: ir.Value, rows: int, body: Callable[[ir.Value, int], None]
    ) -> None:
        emit = self.emit
        last = arith.subi(count, emit.index(rows))
        tiles = arith.ceildivui(count, emit.index(rows))
        emit.repeat(0, tiles, lambda tile: body(arith.minui(emit.times(tile, rows), last), rows))

    def _mask_within(self, first: int) -> ir.Value | None:
        """The mask of the lanes of the vector of queries from `first` on that there are."""
        if isinstance(self.count, int):
            return self.emit.first_lanes(self.count - first)
        return self.emit.lanes_below(self.emit.add(self.count, -first))

    # Queries

    def _lay_queries(self) -> None:
        """Store the scaled queries to scratch as [features, queries], padded with zeros."""
        shape = self.shape
        whole, rest = divmod(shape.head_size, shape.lanes)

        def tile(feature: ir.Value, features: int) -> None:
            for first in range(0, self.vectors * shape.lanes, shape.lanes):
                self._lay_tile(feature, first, features)

        self.emit.repeat(0, whole, lambda at: tile(self.emit.times(at, shape.lanes), shape.lanes))
        if rest:
            tile(self.emit.index(whole * shape.lanes), rest)

    def _lay_tile(self, feature: ir.Value, first: int, features: int) -> None:
        """Transpose a tile: as many queries as lanes, from `first` on, by `features` features."""
        emit, shape = self.emit, self.shape
        mask = emit.first_lanes(features)
        rows = [
            emit.load(self.memory.q, emit.add(at, feature), mask)
            for at in self._query_starts(first)
        ]
        rows += [emit.splat(0)] * (shape.lanes - len(rows))
        for number, row in enumerate(emit.transposed(rows)[:features]):
            if shape.scale != 1:
                row = arith.mulf(row, emit.splat(shape.scale))
            line = emit.times(emit.add(feature, number), shape.block)
            emit.store(row, self.memory.scratch, emit.add(arith.addi(self.queries, line), first))

    def _query_starts(self, first: int) -> list[ir.Value]:
        """The starts of the queries of a vector, from `first` on; instead of queries that there are
        not, the last one repeats if their number is dynamic."""
        emit, shape = self.emit, self.shape
        stride = emit.size(shape.q.strides[-2])
        start = emit.start(self.head, shape.q.start, shape.q.strides[:-2])
        if isinstance(self.count, int):
            start = emit.add(start, emit.times(self.first, stride))
            there = range(min(shape.lanes, self.count - first))
            return [emit.add(start, product(stride, first + n)) for n in there]
        last = emit.add(self.count, -1)
        places = [arith.minui(emit.index(first + n), last) for n in range(shape.lanes)]
        return [
            emit.add(start, emit.times(emit.add(self.first, place), stride)) for place in places
        ]

    # Scores

    def _scores(self, key: ir.Value, count: int) -> None:
        """Compute the scores of a tile of `count` keys, from `key` on, into scratch."""
        emit, shape = self.emit, self.shape
        *lead, between, step = shape.k.strides
        start = emit.start(self.head, shape.k.start, lead)
        start = emit.add(start, emit.times(key, emit.size(between)))
        rows = LhsBlock(
            self.memory.k, start, count, emit.size(between), shape.block, emit.size(step)
        )
        accumulators = [emit.splat(0)] * (count * self.vectors)
        accumulators = emit.multiply(
            rows, self.memory.scratch, self.queries, shape.head_size, accumulators
        )
        added = self._added()
        for row in range(count):
            at = emit.add(key, row)
            line = self._line(at)
            for part in range(self.vectors):
                score = added(accumulators[row * self.vectors + part], at, part)
                emit.store(score, self.memory.scratch, emit.add(line, part * shape.lanes))

    def _line(self, key: ir.Value) -> ir.Value:
        """The offset of a key's weights in scratch."""
        return self.emit.add(self.scratch, self.emit.times(key, self.shape.block))

    def _added(self) -> Callable[[ir.Value, ir.Value, int], ir.Value]:
        """A function that masks the scores of a key for the queries of one vector."""
        shape = self.shape
        start = None
        if shape.mask is not None:
            start = self.emit.start(self.head, 0, shape.mask_strides)

        def added(score: ir.Value, at: ir.Value, part: int) -> ir.Value:
            if start is not None:
                score = arith.addf(score, self._mask_of(start, at, part))
            return self._causal(score, at, part) if shape.causal else score

        return added

    def _mask_of(self, start: ir.Value, key: ir.Value, part: int) -> ir.Value:
        """The mask values to add to the scores of a key."""
        emit, shape = self.emit, self.shape
        assert shape.mask is not None
        assert self.memory.mask is not None
        if not shape.mask.per_query:
            scalar = memref.load(self.memory.mask, [emit.add(start, key)])
            return vector.broadcast(emit.vector_type, scalar)
        line = emit.times(key, emit.size(shape.queries))
        at = emit.add(emit.add(start, line), self.first)
        within = self._mask_within(part * shape.lanes)
        return emit.load(self.memory.mask, emit.add(at, part * shape.lanes), within)

    def _causal(self, score: ir.Value, key: ir.Value, part: int) -> ir.Value:
        """Set the scores of a key to minus infinity for the queries before it."""
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
        """Turn scores into exponentials, and store the reciprocals of their sums.

        The maximum may ignore NaN: a NaN minus the maximum is still a NaN.
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
        """Compute the results of `rows` queries of the block, from `query` on."""
        emit, shape = self.emit, self.shape
        *lead, between, _ = shape.v.strides
        left = LhsBlock(
            self.memory.scratch, emit.add(self.scratch, query), rows, 1,
            emit.size(between), shape.block,
        )  # fmt: skip
        values = emit.start(self.head, shape.v.start, lead)
        *lead, line, _ = shape.y.strides
        target = emit.start(self.head, 0, lead)
        between_rows = emit.size(line)
        target = emit.add(target, emit.times(emit.add(self.first, query), between_rows))
        for start, parts in self._panels():
            accumulators = [emit.splat(0)] * (rows * parts)
            accumulators = emit.multiply(
                left, self.memory.v, emit.add(values, start), self.end, accumulators
            )
            for row in range(rows):
                position = emit.add(emit.add(self.factors, query), row)
                factor = vector.broadcast(
                    emit.vector_type, memref.load(self.memory.scratch, [position])
                )
                for part in range(parts):
                    at = emit.add(target, product(between_rows, row))
                    at = emit.add(at, start + part * shape.lanes)
                    value = arith.mulf(accumulators[row * parts + part], factor)
                    emit.store(value, self.memory.y, at)

    def _panels(self) -> list[tuple[int, int]]:
        """The panels of a value's features: the start of each, and its number of vectors. What is
        left behind whole vectors is a vector that overlaps the one before it."""
        width, lanes, most = self.shape.width, self.shape.lanes, self.shape.vectors
        vectors = width // lanes
        whole = [(first * lanes, min(most, vectors - first)) for first in range(0, vectors, most)]
        return [*whole, (width - lanes, 1)] if width % lanes else whole


def memory_of(mask: bool, buffers: list[Any]) -> AttentionMemory:
    """The buffers from the arguments of a kernel: operands, result, scratch."""
    q, k, v, *given, y, scratch = buffers
    return AttentionMemory(q, k, v, given[0] if mask else None, y, scratch)
