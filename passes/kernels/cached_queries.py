"""Attention of few queries to a cache, one by one, of several heads at once.

For each query, the scores of all keys that it sees go to scratch; they become exponentials, whose
sum with the values as factors is divided by their sum. The features of a key, or a value, are
vectors: with one query there are no others to fill a vector with. The products of a query with as
many keys as a vector has lanes are summed across lanes together, so that their scores are a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, memref, vector
from .cached_attention_shape import MAX_HEADS
from .cached_operands import CacheReader, HeadOfKeys
from .emitter import Registers, elements_of_cache_line, even_tiles
from .vector_functions import exp_below_zero

MIN_SUMS = 4
"""Sums of values that are accumulated independently, which hides the latency of additions."""
AHEAD = 32
"""Cache lines by which rows are fetched ahead of their use: the hardware stops at pages."""


@dataclass(frozen=True)
class _Query:
    """A query of a head, number `row` of all; its scores start at `scratch`."""

    row: ir.Value
    head: ir.Value
    mask: ir.Value | None
    """The start of its line in the mask."""
    scratch: ir.Value


@dataclass(frozen=True)
class _Queries:
    """Queries of several heads that see the same keys, from `first` to `end`."""

    each: list[_Query]
    first: ir.Value
    end: ir.Value


class CachedQueries:
    """The queries of the heads of a workgroup; scores go to scratch."""

    def __init__(self, emit: CacheReader, keys: HeadOfKeys, scratch: ir.Value):
        self.emit, self.shape, self.memory = emit, emit.shape, emit.memory
        self.keys, self.scratch = keys, scratch

    def write(self, first: ir.Value) -> None:
        """Emit the heads from `first` on."""
        emit, start = self.emit, first
        queries = emit.size(self.shape.queries)
        for count, heads in even_tiles(self.shape.group, MAX_HEADS):

            def some(at: ir.Value, start: ir.Value = start, heads: int = heads) -> None:
                head = emit.add(start, emit.times(at, heads))
                emit.repeat(0, queries, lambda number: self._queries(head, heads, number))

            emit.repeat(0, count, some)
            start = emit.add(start, count * heads)

    def _queries(self, first: ir.Value, heads: int, number: ir.Value) -> None:
        """Emit query `number` of some heads."""
        emit = self.emit
        line = emit.size(self.shape.line)
        each = []
        for n in range(heads):
            head = emit.add(first, n)
            mask = emit.mask_start(self.keys.batch, head, number)
            own = emit.add(self.emit.times(self.keys.batch, self.shape.heads), head)
            scratch = emit.add(self.scratch, emit.times(own, line))
            each.append(_Query(emit.query_row(head, number, self.keys), head, mask, scratch))
        queries = _Queries(each, *emit.seen(number, number, self.keys))
        tops = self._scores(queries)
        totals = []
        for query, top in zip(each, tops, strict=True):
            sink = emit.sink(query.head)
            top = top if sink is None else arith.maxnumf(top, sink)
            totals.append(self._weights(query, queries, top, sink))
        self._results(queries, totals)

    # Scores

    def _scores(self, queries: _Queries) -> Registers:
        """Write the scores of the keys that the queries see, and return the largest of each.

        The maximum may ignore NaN: a NaN minus the maximum is still a NaN.
        """
        emit, lanes = self.emit, self.emit.lanes
        count = arith.subi(queries.end, queries.first)
        rest = arith.remui(count, emit.index(lanes))
        middle = arith.subi(queries.end, rest)
        parts = [self._parts(query) for query in queries.each]

        def whole(key: ir.Value, tops: Registers) -> Registers:
            scores = self._several(parts, lambda n: emit.add(key, n))
            return self._noted(self._adjusted(scores, queries, key, None), queries, key, tops)

        tops = [emit.splat(float(np.finfo(np.float32).min))] * len(queries.each)
        tops = emit.loop((queries.first, middle), tops, whole, step=lanes)

        def partial() -> Registers:
            last = emit.add(queries.end, -1)
            scores = self._several(parts, lambda n: arith.minui(emit.add(middle, n), last))
            within = emit.lanes_below(rest)
            scores = [
                arith.select(within, score, emit.splat(float("-inf")))
                for score in self._adjusted(scores, queries, middle, within)
            ]
            return self._noted(scores, queries, middle, tops)

        is_rest = emit.compare(arith.CmpIPredicate.ne, rest, 0)
        tops = emit.when(is_rest, partial, tops)
        return [vector.reduction(emit.element, vector.CombiningKind.MAXNUMF, top) for top in tops]

    def _parts(self, query: _Query) -> Registers:
        """The features of a query."""
        emit, size = self.emit, self.shape.head_size
        start = emit.times(query.row, size)
        return [
            emit.load_f32(self.memory.q, emit.add(start, at)) for at in range(0, size, emit.lanes)
        ]

    def _several(self, parts: list[Registers], place: Callable[[int], ir.Value]) -> Registers:
        """The products of queries and as many keys as there are lanes; key ``n`` of them is at
        ``place(n)``."""
        emit, size = self.emit, self.shape.head_size

        def row(number: int) -> Registers:
            start = emit.key_row(self.keys, place(number), size)
            self._prefetch(self.memory.k, start, size)
            totals: Registers = [emit.splat(0)] * len(parts)
            for at in range(0, size, emit.lanes):
                key = emit.load_f32(self.memory.k, emit.add(start, at))
                totals = [
                    vector.fma(own[at // emit.lanes], key, total)
                    for own, total in zip(parts, totals, strict=True)
                ]
            return totals

        return emit.sums_across(row)

    def _prefetch(self, memory: ir.Value, start: ir.Value, width: int) -> None:
        """Fetch the row that comes some rows behind that which starts at `start`."""
        line = elements_of_cache_line(memory)
        rows = max(1, AHEAD * line // width)
        for at in range(0, width, line):
            place = self.emit.add(start, rows * width + at)
            memref.prefetch(memory, [place], is_write=False, locality_hint=2, is_data_cache=True)

    def _adjusted(
        self, scores: Registers, queries: _Queries, key: ir.Value, within: ir.Value | None
    ) -> Registers:
        """Scale, cap and mask the scores of the keys from `key` on, of which those `within` are
        read from the mask."""
        emit, shape, memory = self.emit, self.shape, self.memory.mask
        scores = [emit.capped(arith.mulf(score, emit.splat(shape.scale))) for score in scores]
        if shape.mask is None:
            return scores
        assert memory is not None
        masked = []
        for score, query in zip(scores, queries.each, strict=True):
            assert query.mask is not None
            if shape.mask[3] == 1:
                mask = emit.broadcast(memory, emit.lanes, query.mask)
            else:
                mask = emit.load(memory, arith.addi(query.mask, key), within)
            masked.append(arith.addf(score, mask))
        return masked

    def _noted(
        self, scores: Registers, queries: _Queries, key: ir.Value, tops: Registers
    ) -> Registers:
        """Store the scores of the keys from `key` on, and return the larger ones of them and
        `tops`."""
        at = arith.subi(key, queries.first)
        for score, query in zip(scores, queries.each, strict=True):
            self.emit.store(score, self.memory.scratch, arith.addi(query.scratch, at))
        return [arith.maxnumf(*pair) for pair in zip(tops, scores, strict=True)]

    # Weights

    def _weights(
        self, query: _Query, queries: _Queries, top: ir.Value, sink: ir.Value | None
    ) -> ir.Value:
        """Turn the scores into exponentials, and return their sum with that of the sink."""
        emit, spread = self.emit, self.emit.spread(top)

        def power(at: ir.Value, totals: Registers) -> Registers:
            place = arith.addi(query.scratch, at)
            weight = exp_below_zero(arith.subf(emit.load(self.memory.scratch, place), spread))
            emit.store(weight, self.memory.scratch, place)
            return [arith.addf(totals[0], weight)]

        bounds = (emit.index(0), arith.subi(queries.end, queries.first))
        (totals,) = emit.loop(bounds, [emit.splat(0)], power, step=emit.lanes)
        flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
        kind = vector.CombiningKind.ADD
        total = vector.reduction(emit.element, kind, totals, fastmath=flags)
        if sink is None:
            return total
        share = exp_below_zero(emit.spread(arith.subf(sink, top)))
        return arith.addf(total, vector.extract(share, [], [0]))

    # Values

    def _results(self, queries: _Queries, totals: Registers) -> None:
        """Write the sums of the values by their weights, over `totals`."""
        emit, parts = self.emit, self.shape.width // self.emit.lanes
        held = parts * len(totals)
        together = -(-MIN_SUMS // parts)  # which does not depend on what is computed beside

        def several(count: int) -> Callable[[ir.Value, Registers], Registers]:
            def body(key: ir.Value, sums: Registers) -> Registers:
                for n in range(count):
                    some = sums[n * held : (n + 1) * held]
                    added = self._added(queries, emit.add(key, n), some)
                    sums = [*sums[: n * held], *added, *sums[(n + 1) * held :]]
                return sums

            return body

        count = arith.subi(queries.end, queries.first)
        middle = arith.subi(queries.end, arith.remui(count, emit.index(together)))
        sums = [emit.splat(0)] * (held * together)
        sums = emit.loop((queries.first, middle), sums, several(together), step=together)
        sums = emit.loop((middle, queries.end), sums, several(1))
        for number, (query, total) in enumerate(zip(queries.each, totals, strict=True)):
            self._result(query, total, sums[number * parts :], held)

    def _added(self, queries: _Queries, key: ir.Value, sums: Registers) -> Registers:
        """Add the value of `key` by its weights to the sums of each query."""
        emit, at = self.emit, arith.subi(key, queries.first)
        weights = [
            emit.broadcast(self.memory.scratch, emit.lanes, arith.addi(query.scratch, at))
            for query in queries.each
        ]
        start = emit.key_row(self.keys, key, self.shape.width)
        self._prefetch(self.memory.v, start, self.shape.width)
        parts = self.shape.width // emit.lanes
        values = [
            emit.load_f32(self.memory.v, emit.add(start, part * emit.lanes))
            for part in range(parts)
        ]
        pairs = [(weight, value) for weight in weights for value in values]
        return [vector.fma(*pair, total) for pair, total in zip(pairs, sums, strict=True)]

    def _result(self, query: _Query, total: ir.Value, sums: Registers, stride: int) -> None:
        """Write the result of a query, whose parts are the sums of every `stride`-th of `sums`."""
        emit, width = self.emit, self.shape.width
        zero, one = (arith.constant(emit.element, float(n)) for n in (0, 1))
        none = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
        share = emit.spread(arith.divf(one, arith.select(none, one, total)))
        start = emit.times(query.row, width)
        for number in range(width // emit.lanes):
            value = sums[number]
            for more in sums[number + stride :: stride]:
                value = arith.addf(value, more)
            at = emit.add(start, number * emit.lanes)
            emit.store(arith.mulf(value, share), self.memory.y, at)
