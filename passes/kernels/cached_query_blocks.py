"""Attention of many queries to a cache: each lane of a vector is a query.

A block is some vectors of queries, also of several heads that share keys. Its queries are scaled
and transposed to ``[features, queries]``. The keys that one of them sees are read in blocks, whose
scores ``[keys, queries]`` stay in the L1: products of the keys, where they are, by the queries.
Scores become exponentials of their distance from the largest so far, and the products of these by
the values are added to the results, which are scaled down when a larger score is found.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, vector
from .cached_operands import CacheReader, HeadOfKeys
from .emitter import LhsBlock, Registers, even_tiles
from .scalar_functions import integer_like
from .vector_functions import exp_below_zero

_FLAGS = "#arith.fastmath<nnan>"
"""Maxima may ignore NaN: a NaN minus the maximum is still a NaN."""


@dataclass(frozen=True)
class _Queries:
    """A vector of queries of a head, the first of which is number `number` of the head, and row
    `row` of all."""

    head: ir.Value
    number: ir.Value
    row: ir.Value


@dataclass(frozen=True)
class _Keys:
    """A block of keys, from `first` to `end`, and where they and their values are in memory."""

    first: ir.Value
    count: ir.Value
    k: tuple[ir.Value, ir.Value]
    v: tuple[ir.Value, ir.Value]


class CachedQueryBlocks:
    """The heads of a workgroup from `first` on."""

    def __init__(self, emit: CacheReader, keys: HeadOfKeys, scratch: ir.Value, first: ir.Value):
        self.emit, self.shape, self.memory = emit, emit.shape, emit.memory
        self.keys, self.first = keys, first
        shape = self.shape
        self.width = shape.block * shape.lanes
        sizes = (
            shape.head_size * self.width, shape.key_block * self.width, self.width * shape.width,
            self.width, shape.key_block * shape.head_size,
        )  # fmt: skip
        starts = [emit.add(scratch, sum(sizes[:n])) for n in range(len(sizes) + 1)]
        self.queries, self.scores, self.results, self.factors, self.wide_k, self.wide_v = starts

    def write(self) -> None:
        """Emit all blocks."""
        emit, shape = self.emit, self.shape
        queries = emit.index(emit.size(shape.queries))
        of_head = arith.ceildivui(queries, emit.index(shape.lanes))
        vectors = emit.times(of_head, shape.group)

        def block(at: ir.Value) -> None:
            last = emit.add(vectors, -1)
            numbers = (emit.add(emit.times(at, shape.block), n) for n in range(shape.block))
            _Block(self, [self._vector(arith.minui(n, last), of_head) for n in numbers]).write()

        emit.repeat(0, arith.ceildivui(vectors, emit.index(shape.block)), block)

    def _vector(self, number: ir.Value, of_head: ir.Value) -> _Queries:
        """Vector `number` of the heads; the last one of a head may overlap."""
        emit, shape = self.emit, self.shape
        head = emit.add(self.first, arith.divui(number, of_head))
        start = emit.times(arith.remui(number, of_head), shape.lanes)
        last = arith.subi(emit.index(emit.size(shape.queries)), emit.index(shape.lanes))
        start = arith.minui(start, last)
        return _Queries(head, start, emit.query_row(head, start, self.keys))


class _Block:
    """Vectors of queries that are computed together."""

    def __init__(self, blocks: CachedQueryBlocks, vectors: list[_Queries]):
        self.blocks, self.vectors = blocks, vectors
        self.emit, self.shape, self.memory = blocks.emit, blocks.shape, blocks.memory
        self.width, self.lanes = blocks.width, self.shape.lanes
        numbers = [each.number for each in vectors]
        self.least, self.most = numbers[0], numbers[0]
        for number in numbers[1:]:
            self.least = arith.minui(self.least, number)
            self.most = arith.maxui(self.most, number)
        last = self.emit.add(self.most, self.lanes - 1)
        self.begin, self.end = self.emit.seen(self.least, last, blocks.keys)

    def write(self) -> None:
        """Emit the block."""
        emit, count = self.emit, len(self.vectors)
        for part, vector_ in enumerate(self.vectors):
            self._lay(vector_, part * self.lanes)
        self._clear()

        def step(first: ir.Value, state: Registers) -> Registers:
            left = arith.minui(arith.subi(self.end, first), emit.index(self.shape.key_block))
            keys = self._keys(first, left)
            self._scores(keys)
            tops = self._largest(keys, state[:count])
            return [*tops, *self._weigh(keys, state[:count], tops, state[count:])]

        bounds, size = (self.begin, self.end), self.shape.key_block
        state = emit.loop(bounds, self._sinks(), step, step=size)
        self._finish(state[count:])

    # Queries

    def _lay(self, queries: _Queries, to: int) -> None:
        """Store scaled queries to scratch, transposed."""
        emit, shape = self.emit, self.shape

        def tile(at: ir.Value) -> None:
            feature = emit.times(at, self.lanes)
            rows = [
                emit.load_f32(
                    self.memory.q, emit.add(self._of(queries, n, shape.head_size), feature)
                )
                for n in range(self.lanes)
            ]
            for number, line in enumerate(emit.transposed(rows)):
                if not shape.softcap and shape.scale != 1:
                    line = arith.mulf(line, emit.splat(shape.scale))
                at = emit.times(emit.add(feature, number), self.width)
                emit.store(
                    line, self.memory.scratch, emit.add(emit.add(self.blocks.queries, at), to)
                )

        emit.repeat(0, shape.head_size // self.lanes, tile)

    def _of(self, queries: _Queries, number: int, features: int) -> ir.Value:
        """The first feature of one of `queries`, or of its result."""
        return self.emit.times(self.emit.add(queries.row, number), features)

    def _clear(self) -> None:
        """Set the results to zero."""
        emit, size = self.emit, self.width * self.shape.width

        def clear(at: ir.Value) -> None:
            place = emit.add(self.blocks.results, emit.times(at, self.lanes))
            emit.store(emit.splat(0), self.memory.scratch, place)

        emit.repeat(0, size // self.lanes, clear)

    def _sinks(self) -> Registers:
        """The largest score, and the sum of exponentials, of each query before all keys."""
        emit, count = self.emit, len(self.vectors)
        lowest = emit.splat(float(np.finfo(np.float32).min))
        sinks = [emit.sink(each.head) for each in self.vectors]
        if not self.shape.has_sink:
            return [lowest] * count + [emit.splat(0)] * count
        ends = [emit.spread(sink) for sink in sinks if sink is not None]
        tops = [self._larger(each, lowest) for each in ends]
        sums = [exp_below_zero(arith.subf(*pair)) for pair in zip(ends, tops, strict=True)]
        return [*tops, *sums]

    # Keys

    def _keys(self, first: ir.Value, count: ir.Value) -> _Keys:
        """A block of keys; if they have 16 bits, they are widened to scratch."""
        emit, shape, memory = self.emit, self.shape, self.memory
        k, v = (
            (buffer, emit.key_row(self.blocks.keys, first, features))
            for buffer, features in ((memory.k, shape.head_size), (memory.v, shape.width))
        )
        if not shape.is_half:
            return _Keys(first, count, k, v)
        wide_k = self._widened(k, self.blocks.wide_k, emit.times(count, shape.head_size))
        wide_v = self._widened(v, self.blocks.wide_v, emit.times(count, shape.width))
        return _Keys(first, count, wide_k, wide_v)

    def _widened(
        self, source: tuple[ir.Value, ir.Value], to: ir.Value, count: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Copy `count` elements to scratch, as f32."""
        emit, (memory, start) = self.emit, source

        def copy(at: ir.Value, none: Registers) -> Registers:
            wide = emit.load_f32(memory, arith.addi(start, at))
            emit.store(wide, self.memory.scratch, arith.addi(to, at))
            return none

        emit.loop((emit.index(0), count), [], copy, step=self.lanes)
        return self.memory.scratch, to

    # Scores

    def _scores(self, keys: _Keys) -> None:
        """Write the products of keys and queries."""
        emit, rows = self.emit, self.shape.rows_beside(len(self.vectors))
        enough = emit.compare(arith.CmpIPredicate.uge, keys.count, rows)
        emit.choose(enough, lambda: self._tiles(keys, rows), lambda: self._tiles(keys, 1))

    def _tiles(self, keys: _Keys, rows: int) -> None:
        """Write the products of tiles of `rows` keys, the last of which may overlap."""
        emit, size = self.emit, self.shape.head_size
        last = arith.subi(keys.count, emit.index(rows))
        memory, start = keys.k

        def tile(at: ir.Value) -> None:
            key = arith.minui(emit.times(at, rows), last)
            left = LhsBlock(memory, emit.add(start, emit.times(key, size)), rows, size, self.width)
            sums = [emit.splat(0)] * (rows * len(self.vectors))
            sums = emit.multiply(left, self.memory.scratch, self.blocks.queries, size, sums)
            for row in range(rows):
                line = sums[row * len(self.vectors) : (row + 1) * len(self.vectors)]
                emit.store_all(line, self.memory.scratch, self._line(emit.add(key, row)))

        emit.repeat(0, arith.ceildivui(keys.count, emit.index(rows)), tile)

    def _line(self, key: ir.Value) -> ir.Value:
        """The scores of a key of a block of keys."""
        return self.emit.add(self.blocks.scores, self.emit.times(key, self.width))

    def _load_line(self, key: ir.Value) -> Registers:
        return self.emit.load_all(
            self.memory.scratch, self._line(key), [self.lanes] * len(self.vectors)
        )

    def _larger(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return arith.maxnumf(a, b, fastmath=ir.Attribute.parse(_FLAGS))

    def _largest(self, keys: _Keys, tops: Registers) -> Registers:
        """Cap and mask scores, and return the largest of each query, `tops` included."""
        emit = self.emit
        plain = self._seen_by_all(keys)

        def seen(key: ir.Value, tops: Registers) -> Registers:
            return [self._larger(*pair) for pair in zip(self._load_line(key), tops, strict=True)]

        def masked(key: ir.Value, tops: Registers) -> Registers:
            scores = [
                self._masked(emit.add(keys.first, key), score, queries)
                for score, queries in zip(self._load_line(key), self.vectors, strict=True)
            ]
            emit.store_all(scores, self.memory.scratch, self._line(key))
            return [self._larger(*pair) for pair in zip(scores, tops, strict=True)]

        tops = emit.loop((emit.index(0), plain), tops, seen)
        return emit.loop((plain, keys.count), tops, masked)

    def _seen_by_all(self, keys: _Keys) -> ir.Value:
        """The number of the first keys of a block that all queries see, if their scores are what
        products are."""
        emit, shape = self.emit, self.shape
        if shape.mask is not None or shape.softcap or shape.left >= 0:
            return emit.index(0)
        if shape.right < 0:
            return keys.count
        own = arith.addi(self.blocks.keys.past, self.least)
        seen = arith.subi(emit.add(own, shape.right + 1), keys.first)
        return arith.minsi(arith.maxsi(seen, emit.index(0)), keys.count)

    def _masked(self, key: ir.Value, score: ir.Value, queries: _Queries) -> ir.Value:
        """Cap the scores of a key, add the mask, and hide them from queries that do not see it."""
        emit, shape = self.emit, self.shape
        if shape.softcap:
            score = emit.capped(arith.mulf(score, emit.splat(shape.scale)))
        if shape.mask is not None:
            score = arith.addf(score, self._mask(key, queries))
        if shape.right < 0 and shape.left < 0:
            return score
        i32 = ir.IntegerType.get_signless(32)
        own = arith.addi(self.blocks.keys.past, queries.number)
        distance = arith.index_cast(i32, arith.subi(key, own))
        distances = vector.broadcast(ir.VectorType.get([self.lanes], i32), distance)
        distances = arith.subi(distances, self._lane_numbers(i32))
        hidden: list[ir.Value] = []
        if shape.right >= 0:
            limit = integer_like(shape.right, distances)
            hidden.append(arith.cmpi(arith.CmpIPredicate.sgt, distances, limit))
        if shape.left >= 0:
            limit = integer_like(-shape.left, distances)
            hidden.append(arith.cmpi(arith.CmpIPredicate.slt, distances, limit))
        for each in hidden:
            score = arith.select(each, emit.splat(float("-inf")), score)
        return score

    def _lane_numbers(self, element: ir.Type) -> ir.Value:
        type_ = ir.VectorType.get([self.lanes], element)
        numbers = [ir.IntegerAttr.get(element, n) for n in range(self.lanes)]
        return arith.constant(type_, ir.DenseElementsAttr.get(numbers, type_))

    def _mask(self, key: ir.Value, queries: _Queries) -> ir.Value:
        """The mask of a key for a vector of queries."""
        emit, shape, memory = self.emit, self.shape, self.memory.mask
        assert shape.mask is not None
        assert memory is not None
        start = emit.mask_start(self.blocks.keys.batch, queries.head, queries.number)
        assert start is not None
        start = start if shape.mask[3] == 1 else arith.addi(start, key)
        stride = shape.mask_strides[2]
        if stride == 0:
            return emit.broadcast(memory, self.lanes, start)
        index = ir.IndexType.get()
        places = vector.broadcast(
            ir.VectorType.get([self.lanes], index), emit.index(emit.size(stride))
        )
        places = arith.muli(places, self._lane_numbers(index))
        all_lanes = emit.lanes_below(emit.index(self.lanes))
        return vector.gather(emit.vector_type, memory, [start], places, all_lanes, emit.splat(0))

    # Weights and values

    def _weigh(self, keys: _Keys, old: Registers, tops: Registers, sums: Registers) -> Registers:
        """Turn scores into exponentials, add values by them to the results, and return the sums of
        all of them."""
        emit = self.emit

        def power(key: ir.Value, sums: Registers) -> Registers:
            pairs = zip(self._load_line(key), tops, strict=True)
            weights = [exp_below_zero(arith.subf(*pair)) for pair in pairs]
            emit.store_all(weights, self.memory.scratch, self._line(key))
            return [arith.addf(*pair) for pair in zip(sums, weights, strict=True)]

        factors = [exp_below_zero(arith.subf(*pair)) for pair in zip(old, tops, strict=True)]
        emit.store_all(factors, self.memory.scratch, self.blocks.factors)
        sums = [arith.mulf(*pair) for pair in zip(sums, factors, strict=True)]
        sums = emit.loop((emit.index(0), keys.count), sums, power)
        self._each_tile(lambda row, rows: self._accumulate(keys, row, rows))
        return sums

    def _each_tile(self, body: Callable[[ir.Value, int], None]) -> None:
        """Emit `body` for the tiles of queries."""
        emit, first = self.emit, 0
        for count, rows in even_tiles(self.width, self.shape.tile.rows):

            def tile(at: ir.Value, first: int = first, rows: int = rows) -> None:
                body(emit.add(emit.times(at, rows), first), rows)

            emit.repeat(0, count, tile)
            first += count * rows

    def _panels(self) -> list[tuple[int, int]]:
        """The panels of features: the start of each, and its number of vectors."""
        vectors, most = self.shape.width // self.lanes, self.shape.tile.vectors
        return [(n * self.lanes, min(most, vectors - n)) for n in range(0, vectors, most)]

    def _accumulate(self, keys: _Keys, row: ir.Value, rows: int) -> None:
        """Add the values of keys to the results of `rows` queries, from `row` on."""
        emit, scratch, width = self.emit, self.memory.scratch, self.shape.width
        memory, start = keys.v
        weights = LhsBlock(scratch, emit.add(self.blocks.scores, row), rows, 1, width, self.width)
        for first, parts in self._panels():
            places = [self._result(emit.add(row, n), first) for n in range(rows)]
            sums: Registers = []
            for number, place in enumerate(places):
                factor = self._factor(emit.add(row, number))
                held = emit.load_all(scratch, place, [self.lanes] * parts)
                sums += [arith.mulf(each, factor) for each in held]
            sums = emit.multiply(weights, memory, emit.add(start, first), keys.count, sums)
            for number, place in enumerate(places):
                emit.store_all(sums[number * parts : (number + 1) * parts], scratch, place)

    def _result(self, row: ir.Value, feature: int) -> ir.Value:
        """A feature of the result of a query in scratch."""
        at = self.emit.times(row, self.shape.width)
        return self.emit.add(self.emit.add(self.blocks.results, at), feature)

    def _factor(self, row: ir.Value) -> ir.Value:
        at = self.emit.add(self.blocks.factors, row)
        return self.emit.broadcast(self.memory.scratch, self.lanes, at)

    def _finish(self, sums: Registers) -> None:
        """Write the results, each over the sum of its exponentials."""
        emit, shape = self.emit, self.shape
        one = emit.splat(1)
        for part, total in enumerate(sums):
            none = arith.cmpf(arith.CmpFPredicate.OEQ, total, emit.splat(0))
            factor = arith.divf(one, arith.select(none, one, total))
            place = emit.add(self.blocks.factors, part * self.lanes)
            emit.store(factor, self.memory.scratch, place)
        for part, queries in enumerate(self.vectors):

            def row(number: ir.Value, queries: _Queries = queries, part: int = part) -> None:
                own = emit.add(number, part * self.lanes)
                to = emit.times(emit.add(queries.row, number), shape.width)
                factor = self._factor(own)
                for feature in range(0, shape.width, self.lanes):
                    value = emit.load(self.memory.scratch, self._result(own, feature))
                    emit.store(arith.mulf(value, factor), self.memory.y, emit.add(to, feature))

            emit.repeat(0, self.lanes, row)
