"""Attention to a cache: a kernel that reads the keys and values in use, and no others.

A workgroup computes some heads of queries that share a head of keys. For each query, the scores of
all keys that it sees go to scratch; they become exponentials, whose sum with the values as factors
is divided by their sum. The features of a key, or a value, are vectors: with one query there are
no others to fill a vector with. The products of a query with as many keys as a vector has lanes are
summed across lanes together, so that their scores are a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .cached_attention_shape import CachedAttentionShape
from .emitter import Registers, VectorEmitter
from .scalar_functions import tanh
from .sizes import Index
from .vector_functions import exp_below_zero

Size = int | Dim
MIN_SUMS = 8
"""Sums of values that are accumulated independently, which hides the latency of additions."""


@dataclass(frozen=True)
class CacheMemory:
    """The buffers of the operands, the result and scratch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    past: ir.Value
    last: ir.Value
    mask: ir.Value | None
    sink: ir.Value | None
    cache_batch: ir.Value | None
    y: ir.Value
    scratch: ir.Value


@dataclass(frozen=True)
class _Keys:
    """The keys of a head: number `block` of all heads of keys, in batch `batch`. Scores start at
    `scratch`."""

    batch: ir.Value
    block: ir.Value
    past: ir.Value
    last: ir.Value
    scratch: ir.Value


@dataclass(frozen=True)
class _Query:
    """A query, number `row` of all, which sees the keys from `first` to `end`."""

    row: ir.Value
    head: ir.Value
    first: ir.Value
    end: ir.Value
    mask: ir.Value | None
    """The start of its line in the mask."""


class CachedAttentionEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(self, shape: CachedAttentionShape, memory: CacheMemory):
        super().__init__(shape.lanes)
        self.shape, self.memory = shape, memory
        self._known: dict[Dim, ir.Value] = {}

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; those of a batch are consecutive."""
        shape = self.shape
        self._known = dict(zip(shape.sizes, dynamic, strict=True))
        block = arith.divui(workgroup_id, self.index(shape.parts))
        part = arith.remui(workgroup_id, self.index(shape.parts))
        batch = arith.divui(block, self.index(shape.shared))
        group = shape.heads // shape.shared
        heads = self.times(arith.remui(block, self.index(shape.shared)), group)
        first = self.add(heads, self.times(part, group // shape.parts))
        past = self._number(self.memory.past, batch, shape.one_past)
        last = self._number(self.memory.last, batch, shape.one_last)
        scratch = self.times(workgroup_id, self._size(shape.scratch))
        keys = _Keys(batch, self._keys_of(block, batch), past, last, self.index(scratch))
        end = self.add(first, group // shape.parts)
        self.repeat(first, end, lambda head: self._head(head, keys))

    def _keys_of(self, block: ir.Value, batch: ir.Value) -> ir.Value:
        """The heads of keys of a block of heads, which the cache may have in another batch."""
        shape, memory = self.shape, self.memory
        if memory.cache_batch is None:
            return block
        assert shape.cache_batches is not None
        number = self.index_below(memory.cache_batch, batch, self._size(shape.cache_batches))
        head = arith.remui(block, self.index(shape.shared))
        return self.add(self.times(number, shape.shared), head)

    def _size(self, size: Size) -> Index:
        if isinstance(size, int):
            return size
        if size == self.shape.scratch:
            return self.add(self.index(self._size(self.shape.keys)), self.shape.lanes)
        return self._known[size]

    def _number(self, memory: ir.Value, batch: ir.Value, is_one: bool) -> ir.Value:
        which = self.index(0) if is_one else batch
        return arith.index_cast(ir.IndexType.get(), memref.load(memory, [which]))

    def _head(self, head: ir.Value, keys: _Keys) -> None:
        """Emit all queries of a head of a batch."""
        queries = self._size(self.shape.queries)
        former = self.add(self.times(keys.batch, self.shape.heads), head)
        row = self.times(former, queries)
        self.repeat(0, queries, lambda query: self._query(self.add(row, query), head, query, keys))

    def _query(self, row: ir.Value, head: ir.Value, number: ir.Value, keys: _Keys) -> None:
        """Emit one query, which is row `row` of all queries."""
        first, end = self._seen(number, keys)
        mask = self._mask_start(keys.batch, head, number)
        query = _Query(row, head, first, end, mask)
        top, sink = self._scores(query, keys), self._sink(head)
        top = top if sink is None else arith.maxnumf(top, sink)
        total = self._weights(query, keys, top, sink)
        self._result(query, keys, total)

    def _seen(self, number: ir.Value, keys: _Keys) -> tuple[ir.Value, ir.Value]:
        """The first key that a query sees, and the one behind the last."""
        shape, zero, one = self.shape, self.index(0), self.index(1)
        own = arith.addi(keys.past, number)
        last = keys.last
        if shape.right >= 0:
            last = arith.minsi(last, self.add(own, shape.right))
        end = arith.minsi(arith.addi(last, one), self.index(self._size(shape.keys)))
        if shape.mask is not None and shape.mask[3] not in (1, shape.keys):
            end = arith.minsi(end, self.index(self._size(shape.mask[3])))
        end = arith.maxsi(end, zero)
        if shape.left < 0:
            return zero, end
        first = arith.subi(own, self.index(shape.left))
        return arith.minsi(arith.maxsi(first, zero), end), end

    def _mask_start(self, *numbers: ir.Value) -> ir.Value | None:
        """The start of the line of the mask for a batch, a head and a query."""
        if self.shape.mask is None:
            return None
        start = self.index(0)
        for number, stride in zip(numbers, self.shape.mask_strides, strict=True):
            start = start if stride == 0 else self.add(start, self._times(number, stride))
        return start

    def _times(self, number: ir.Value, stride: Size) -> ir.Value:
        return self.times(number, self._size(stride))

    # Scores

    def _scores(self, query: _Query, keys: _Keys) -> ir.Value:
        """Write the scores of the keys that `query` sees, and return the largest.

        The maximum may ignore NaN: a NaN minus the maximum is still a NaN.
        """
        lanes = self.lanes
        count = arith.subi(query.end, query.first)
        rest = arith.remui(count, self.index(lanes))
        middle = arith.subi(query.end, rest)

        def whole(key: ir.Value, tops: Registers) -> Registers:
            scores = self._several(query, keys, lambda n: self.add(key, n))
            return self._noted(self._adjusted(scores, query, key, None), query, keys, key, tops[0])

        (top,) = self.loop((query.first, middle), [self._lowest()], whole, step=lanes)

        def partial() -> Registers:
            last = self.add(query.end, -1)
            scores = self._several(query, keys, lambda n: arith.minui(self.add(middle, n), last))
            within = self.lanes_below(rest)
            scores = self._adjusted(scores, query, middle, within)
            scores = arith.select(within, scores, self.splat(float("-inf")))
            return self._noted(scores, query, keys, middle, top)

        is_rest = self.compare(arith.CmpIPredicate.ne, rest, 0)
        (top,) = self.when(is_rest, partial, [top])
        return vector.reduction(self.element, vector.CombiningKind.MAXNUMF, top)

    def _lowest(self) -> ir.Value:
        return self.splat(float(np.finfo(np.float32).min))

    def _several(self, query: _Query, keys: _Keys, place: Callable[[int], ir.Value]) -> ir.Value:
        """The products of a query and as many keys as there are lanes; key ``n`` of them is at
        ``place(n)``."""
        size = self.shape.head_size
        start = self.times(query.row, size)
        rows = [self._row(keys, place(n), size) for n in range(self.lanes)]
        totals: Registers = [self.splat(0)] * self.lanes
        for at in range(0, size, self.lanes):
            part = self._f32(self.memory.q, self.add(start, at))
            totals = [
                vector.fma(part, self._f32(self.memory.k, self.add(row, at)), total)
                for row, total in zip(rows, totals, strict=True)
            ]
        return self.sums_across(totals)

    def _row(self, keys: _Keys, key: ir.Value, width: int) -> ir.Value:
        """The first element of row `key` of `width` elements."""
        rows = self.times(keys.block, self._size(self.shape.keys))
        return self.times(self.add(rows, key), width)

    def _f32(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load features as f32."""
        value = self.load(memory, at)
        if ir.VectorType(value.type).element_type == self.element:
            return value
        return arith.extf(self.vector_type, value)

    def _adjusted(
        self, scores: ir.Value, query: _Query, key: ir.Value, within: ir.Value | None
    ) -> ir.Value:
        """Scale, cap and mask the scores of the keys from `key` on, of which those `within` are
        read from the mask."""
        shape = self.shape
        scores = arith.mulf(scores, self.splat(shape.scale))
        if shape.softcap:
            scores = arith.mulf(scores, self.splat(1 / shape.softcap))
            scores = arith.mulf(tanh(scores), self.splat(shape.softcap))
        if shape.mask is None:
            return scores
        assert query.mask is not None
        assert self.memory.mask is not None
        if shape.mask[3] == 1:
            return arith.addf(scores, self.broadcast(self.memory.mask, self.lanes, query.mask))
        return arith.addf(scores, self.load(self.memory.mask, arith.addi(query.mask, key), within))

    def _noted(
        self, scores: ir.Value, query: _Query, keys: _Keys, key: ir.Value, top: ir.Value
    ) -> Registers:
        """Store the scores of the keys from `key` on, and return the larger ones of them and
        `top`."""
        place = self.add(keys.scratch, arith.subi(key, query.first))
        self.store(scores, self.memory.scratch, place)
        return [arith.maxnumf(top, scores)]

    # Weights

    def _sink(self, head: ir.Value) -> ir.Value | None:
        """The score of the sink of a head."""
        if not self.shape.has_sink:
            return None
        assert self.memory.sink is not None
        value = memref.load(self.memory.sink, [head])
        return value if value.type == self.element else arith.extf(self.element, value)

    def _weights(
        self, query: _Query, keys: _Keys, top: ir.Value, sink: ir.Value | None
    ) -> ir.Value:
        """Turn the scores into exponentials, and return their sum with that of the sink."""
        spread = vector.broadcast(self.vector_type, top)

        def power(at: ir.Value, totals: Registers) -> Registers:
            place = self.add(keys.scratch, at)
            weight = exp_below_zero(arith.subf(self.load(self.memory.scratch, place), spread))
            self.store(weight, self.memory.scratch, place)
            return [arith.addf(totals[0], weight)]

        bounds = (self.index(0), arith.subi(query.end, query.first))
        (totals,) = self.loop(bounds, [self.splat(0)], power, step=self.lanes)
        flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
        kind = vector.CombiningKind.ADD
        total = vector.reduction(self.element, kind, totals, fastmath=flags)
        if sink is None:
            return total
        share = exp_below_zero(vector.broadcast(self.vector_type, arith.subf(sink, top)))
        return arith.addf(total, vector.extract(share, [], [0]))

    # Values

    def _result(self, query: _Query, keys: _Keys, total: ir.Value) -> None:
        """Write the sum of the values by their weights, over `total`."""
        width, lanes = self.shape.width, self.lanes
        parts = width // lanes
        together = -(-MIN_SUMS // parts)

        def several(count: int) -> Callable[[ir.Value, Registers], Registers]:
            def body(key: ir.Value, sums: Registers) -> Registers:
                added = [self._added(query, keys, self.add(key, n)) for n in range(count)]
                return [
                    added[n // parts](n % parts, each) if n < count * parts else each
                    for n, each in enumerate(sums)
                ]

            return body

        count = arith.subi(query.end, query.first)
        middle = arith.subi(query.end, arith.remui(count, self.index(together)))
        sums = [self.splat(0)] * (parts * together)
        sums = self.loop((query.first, middle), sums, several(together), step=together)
        sums = self.loop((middle, query.end), sums, several(1))
        zero, one = (arith.constant(self.element, float(n)) for n in (0, 1))
        none = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
        share = arith.divf(one, arith.select(none, one, total))
        spread, start = vector.broadcast(self.vector_type, share), self.times(query.row, width)
        for number in range(parts):
            value = sums[number]
            for more in sums[number + parts :: parts]:
                value = arith.addf(value, more)
            at = self.add(start, number * lanes)
            self.store(arith.mulf(value, spread), self.memory.y, at)

    def _added(
        self, query: _Query, keys: _Keys, key: ir.Value
    ) -> Callable[[int, ir.Value], ir.Value]:
        """A function that adds a part of the value of `key`, by its weight, to a sum."""
        place = self.add(keys.scratch, arith.subi(key, query.first))
        weight = self.broadcast(self.memory.scratch, self.lanes, place)
        start = self._row(keys, key, self.shape.width)

        def add(part: int, total: ir.Value) -> ir.Value:
            value = self._f32(self.memory.v, self.add(start, part * self.lanes))
            return vector.fma(weight, value, total)

        return add
