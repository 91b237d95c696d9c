"""Attention of queries to a cache, one by one.

For each query, the scores of all keys that it sees go to scratch; they become exponentials, whose
sum with the values as factors is divided by their sum. The features of a key, or a value, are
vectors: with one query there are no others to fill a vector with. The products of a query with as
many keys as a vector has lanes are summed across lanes together, so that their scores are a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, vector
from .cached_operands import CacheReader, HeadOfKeys
from .emitter import Registers
from .vector_functions import exp_below_zero

MIN_SUMS = 8
"""Sums of values that are accumulated independently, which hides the latency of additions."""


@dataclass(frozen=True)
class _Query:
    """A query, number `row` of all, which sees the keys from `first` to `end`."""

    row: ir.Value
    head: ir.Value
    first: ir.Value
    end: ir.Value
    mask: ir.Value | None
    """The start of its line in the mask."""


class CachedQueries:
    """The queries of the heads of a workgroup, one by one; scores go to scratch."""

    def __init__(self, emit: CacheReader, keys: HeadOfKeys, scratch: ir.Value):
        self.emit, self.shape, self.memory = emit, emit.shape, emit.memory
        self.keys, self.scratch = keys, scratch

    def write(self, first: ir.Value) -> None:
        """Emit the heads from `first` on."""
        end = self.emit.add(first, self.shape.group)
        self.emit.repeat(first, end, self._head)

    def _head(self, head: ir.Value) -> None:
        """Emit all queries of a head of a batch."""
        queries = self.emit.size(self.shape.queries)
        former = self.emit.add(self.emit.times(self.keys.batch, self.shape.heads), head)
        row = self.emit.times(former, queries)
        self.emit.repeat(
            0, queries, lambda query: self._query(self.emit.add(row, query), head, query)
        )

    def _query(self, row: ir.Value, head: ir.Value, number: ir.Value) -> None:
        """Emit one query, which is row `row` of all queries."""
        first, end = self.emit.seen(number, number, self.keys)
        mask = self.emit.mask_start(self.keys.batch, head, number)
        query = _Query(row, head, first, end, mask)
        top, sink = self._scores(query), self.emit.sink(head)
        top = top if sink is None else arith.maxnumf(top, sink)
        total = self._weights(query, top, sink)
        self._result(query, total)

    # Scores

    def _scores(self, query: _Query) -> ir.Value:
        """Write the scores of the keys that `query` sees, and return the largest.

        The maximum may ignore NaN: a NaN minus the maximum is still a NaN.
        """
        lanes = self.emit.lanes
        count = arith.subi(query.end, query.first)
        rest = arith.remui(count, self.emit.index(lanes))
        middle = arith.subi(query.end, rest)

        def whole(key: ir.Value, tops: Registers) -> Registers:
            scores = self._several(query, lambda n: self.emit.add(key, n))
            return self._noted(self._adjusted(scores, query, key, None), query, key, tops[0])

        (top,) = self.emit.loop((query.first, middle), [self._lowest()], whole, step=lanes)

        def partial() -> Registers:
            last = self.emit.add(query.end, -1)
            scores = self._several(query, lambda n: arith.minui(self.emit.add(middle, n), last))
            within = self.emit.lanes_below(rest)
            scores = self._adjusted(scores, query, middle, within)
            scores = arith.select(within, scores, self.emit.splat(float("-inf")))
            return self._noted(scores, query, middle, top)

        is_rest = self.emit.compare(arith.CmpIPredicate.ne, rest, 0)
        (top,) = self.emit.when(is_rest, partial, [top])
        return vector.reduction(self.emit.element, vector.CombiningKind.MAXNUMF, top)

    def _lowest(self) -> ir.Value:
        return self.emit.splat(float(np.finfo(np.float32).min))

    def _several(self, query: _Query, place: Callable[[int], ir.Value]) -> ir.Value:
        """The products of a query and as many keys as there are lanes; key ``n`` of them is at
        ``place(n)``."""
        size = self.shape.head_size
        start = self.emit.times(query.row, size)
        rows = [self.emit.key_row(self.keys, place(n), size) for n in range(self.emit.lanes)]
        totals: Registers = [self.emit.splat(0)] * self.emit.lanes
        for at in range(0, size, self.emit.lanes):
            part = self.emit.load_f32(self.memory.q, self.emit.add(start, at))
            totals = [
                vector.fma(part, self.emit.load_f32(self.memory.k, self.emit.add(row, at)), total)
                for row, total in zip(rows, totals, strict=True)
            ]
        return self.emit.sums_across(totals)

    def _adjusted(
        self, scores: ir.Value, query: _Query, key: ir.Value, within: ir.Value | None
    ) -> ir.Value:
        """Scale, cap and mask the scores of the keys from `key` on, of which those `within` are
        read from the mask."""
        shape = self.shape
        scores = self.emit.capped(arith.mulf(scores, self.emit.splat(shape.scale)))
        if shape.mask is None:
            return scores
        assert query.mask is not None
        assert self.memory.mask is not None
        if shape.mask[3] == 1:
            return arith.addf(
                scores, self.emit.broadcast(self.memory.mask, self.emit.lanes, query.mask)
            )
        return arith.addf(
            scores, self.emit.load(self.memory.mask, arith.addi(query.mask, key), within)
        )

    def _noted(self, scores: ir.Value, query: _Query, key: ir.Value, top: ir.Value) -> Registers:
        """Store the scores of the keys from `key` on, and return the larger ones of them and
        `top`."""
        place = self.emit.add(self.scratch, arith.subi(key, query.first))
        self.emit.store(scores, self.memory.scratch, place)
        return [arith.maxnumf(top, scores)]

    # Weights

    def _weights(self, query: _Query, top: ir.Value, sink: ir.Value | None) -> ir.Value:
        """Turn the scores into exponentials, and return their sum with that of the sink."""
        spread = vector.broadcast(self.emit.vector_type, top)

        def power(at: ir.Value, totals: Registers) -> Registers:
            place = self.emit.add(self.scratch, at)
            weight = exp_below_zero(arith.subf(self.emit.load(self.memory.scratch, place), spread))
            self.emit.store(weight, self.memory.scratch, place)
            return [arith.addf(totals[0], weight)]

        bounds = (self.emit.index(0), arith.subi(query.end, query.first))
        (totals,) = self.emit.loop(bounds, [self.emit.splat(0)], power, step=self.emit.lanes)
        flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
        kind = vector.CombiningKind.ADD
        total = vector.reduction(self.emit.element, kind, totals, fastmath=flags)
        if sink is None:
            return total
        share = exp_below_zero(vector.broadcast(self.emit.vector_type, arith.subf(sink, top)))
        return arith.addf(total, vector.extract(share, [], [0]))

    # Values

    def _result(self, query: _Query, total: ir.Value) -> None:
        """Write the sum of the values by their weights, over `total`."""
        width, lanes = self.shape.width, self.emit.lanes
        parts = width // lanes
        together = -(-MIN_SUMS // parts)

        def several(count: int) -> Callable[[ir.Value, Registers], Registers]:
            def body(key: ir.Value, sums: Registers) -> Registers:
                added = [self._added(query, self.emit.add(key, n)) for n in range(count)]
                return [
                    added[n // parts](n % parts, each) if n < count * parts else each
                    for n, each in enumerate(sums)
                ]

            return body

        count = arith.subi(query.end, query.first)
        middle = arith.subi(query.end, arith.remui(count, self.emit.index(together)))
        sums = [self.emit.splat(0)] * (parts * together)
        sums = self.emit.loop((query.first, middle), sums, several(together), step=together)
        sums = self.emit.loop((middle, query.end), sums, several(1))
        zero, one = (arith.constant(self.emit.element, float(n)) for n in (0, 1))
        none = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
        share = arith.divf(one, arith.select(none, one, total))
        spread, start = (
            vector.broadcast(self.emit.vector_type, share),
            self.emit.times(query.row, width),
        )
        for number in range(parts):
            value = sums[number]
            for more in sums[number + parts :: parts]:
                value = arith.addf(value, more)
            at = self.emit.add(start, number * lanes)
            self.emit.store(arith.mulf(value, spread), self.memory.y, at)

    def _added(self, query: _Query, key: ir.Value) -> Callable[[int, ir.Value], ir.Value]:
        """A function that adds a part of the value of `key`, by its weight, to a sum."""
        place = self.emit.add(self.scratch, arith.subi(key, query.first))
        weight = self.emit.broadcast(self.memory.scratch, self.emit.lanes, place)
        start = self.emit.key_row(self.keys, key, self.shape.width)

        def add(part: int, total: ir.Value) -> ir.Value:
            value = self.emit.load_f32(self.memory.v, self.emit.add(start, part * self.emit.lanes))
            return vector.fma(weight, value, total)

        return add
