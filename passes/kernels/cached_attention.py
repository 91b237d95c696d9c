"""Attention to a cache: a kernel that reads the keys and values in use, and no others.

A workgroup computes some heads of queries that share a head of keys. For each query, the scores of
all keys that it sees go to scratch; they become exponentials, whose sum with the values as factors
is divided by their sum. The features of a key, or a value, are vectors: with one query there are
no others to fill a vector with.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .sizes import Index
from .vector_functions import exp_below_zero

Size = int | Dim
MIN_WORKGROUPS = 8
"""Workgroups for threads to share: with fewer heads of keys, heads that share keys are apart."""
TOGETHER = 4
"""Keys whose scores are computed together, which hides the latency of sums across lanes."""


@dataclass(frozen=True)
class CachedAttentionShape:
    """The sizes of an attention of ``[batch, heads, queries, head_size]`` to ``[batch, shared,
    keys, head_size]`` and ``[batch, shared, keys, width]``."""

    batch: Size
    heads: int
    shared: int
    queries: Size
    keys: Size
    head_size: int
    width: int
    scale: float
    window: int
    one_past: bool
    """True if one past length serves all batches."""
    one_last: bool
    """True if one last position serves all batches."""
    lanes: int

    @property
    def flops(self) -> int | None:
        """FLOPs; None, as the number of keys in use is known at run time only."""
        return None

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        given = (self.batch, self.queries, self.keys)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def parts(self) -> int:
        """Workgroups of a head of keys."""
        batch = self.batch if isinstance(self.batch, int) else 1
        return 1 if batch * self.shared >= MIN_WORKGROUPS else self.heads // self.shared

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of batches is known."""
        assert isinstance(self.batch, int)
        return self.batch * self.shared * self.parts

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        index = ir.IndexType.get()
        if isinstance(self.batch, int):
            return arith.constant(index, self.workgroups)
        batch = dict(zip(self.sizes, dynamic, strict=True))[self.batch]
        return arith.muli(batch, arith.constant(index, self.shared * self.parts))

    @property
    def scratch(self) -> Size:
        """Scratch elements of a workgroup: scores, filled up to whole vectors."""
        return self.keys + self.lanes


@dataclass(frozen=True)
class CacheMemory:
    """The buffers of the operands, the result and scratch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    past: ir.Value
    last: ir.Value
    y: ir.Value
    scratch: ir.Value


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
        first = self.add(self.times(block, group), self.times(part, group // shape.parts))
        past = self._number(self.memory.past, batch, shape.one_past)
        last = self._number(self.memory.last, batch, shape.one_last)
        scratch = self.times(workgroup_id, self._size(shape.scratch))
        keys = _Keys(block, self._size(shape.keys), past, last, self.index(scratch))
        end = self.add(first, group // shape.parts)
        self.repeat(first, end, lambda head: self._head(head, keys))

    def _size(self, size: Size) -> Index:
        if isinstance(size, int):
            return size
        if size == self.shape.scratch:
            return self.add(self.index(self._size(self.shape.keys)), self.shape.lanes)
        return self._known[size]

    def _number(self, memory: ir.Value, batch: ir.Value, is_one: bool) -> ir.Value:
        which = self.index(0) if is_one else batch
        return arith.index_cast(ir.IndexType.get(), memref.load(memory, [which]))

    def _head(self, head: ir.Value, keys: "_Keys") -> None:
        """Emit all queries of a head, the number of which counts those of former batches."""
        queries = self._size(self.shape.queries)
        row = self.times(head, queries)
        self.repeat(0, queries, lambda query: self._query(self.add(row, query), query, keys))

    def _query(self, row: ir.Value, query: ir.Value, keys: "_Keys") -> None:
        """Emit one query, which is row `row` of all queries."""
        bounds = self._seen(query, keys)
        count = arith.subi(bounds[1], bounds[0])
        top = self._scores(row, bounds, keys)
        total = self._weights(keys.scratch, count, top)
        self._result(row, bounds, keys, total)

    def _seen(self, query: ir.Value, keys: "_Keys") -> tuple[ir.Value, ir.Value]:
        """The first key that a query sees, and the one behind the last."""
        zero, one = self.index(0), self.index(1)
        own = arith.addi(keys.past, query)
        end = arith.addi(arith.minsi(own, keys.last), one)
        end = arith.maxsi(arith.minsi(end, self.index(keys.count)), zero)
        if not self.shape.window:
            return zero, end
        first = arith.subi(own, self.index(self.shape.window - 1))
        return arith.minsi(arith.maxsi(first, zero), end), end

    def _scores(self, row: ir.Value, bounds: tuple[ir.Value, ir.Value], keys: "_Keys") -> ir.Value:
        """Write the scores of the keys within `bounds`, and return the largest."""
        shape = self.shape
        first, end = bounds
        start = self.times(row, shape.head_size)
        query: Registers = [
            arith.mulf(self._f32(self.memory.q, self.add(start, at)), self.splat(shape.scale))
            for at in range(0, shape.head_size, self.lanes)
        ]
        count = arith.subi(end, first)
        whole = arith.subi(count, arith.remui(count, self.index(TOGETHER)))
        middle = arith.addi(first, whole)

        def several(number: int) -> Callable[[ir.Value, Registers], Registers]:
            def body(key: ir.Value, tops: Registers) -> Registers:
                top = tops[0]
                for offset in range(number):
                    at = self.add(key, offset)
                    score = self._score(query, at, keys)
                    place = self.add(keys.scratch, arith.subi(at, first))
                    memref.store(score, self.memory.scratch, [place])
                    top = arith.maxnumf(top, score)
                return [top]

            return body

        lowest = arith.constant(self.element, ir.FloatAttr.get(self.element, -3.0e38))
        tops = self.loop((first, middle), [lowest], several(TOGETHER), step=TOGETHER)
        (top,) = self.loop((middle, end), tops, several(1))
        padding = self.splat(float("-inf"))
        self.store(padding, self.memory.scratch, self.add(keys.scratch, count))
        return top

    def _score(self, query: Registers, key: ir.Value, keys: "_Keys") -> ir.Value:
        """The product of a query and a key."""
        start = keys.row(self, key, self.shape.head_size)
        total = self.splat(0)
        for number, part in enumerate(query):
            features = self._f32(self.memory.k, self.add(start, number * self.lanes))
            total = vector.fma(part, features, total)
        return self._across(total)

    def _f32(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load features as f32."""
        value = self.load(memory, at)
        if ir.VectorType(value.type).element_type == self.element:
            return value
        return arith.extf(self.vector_type, value)

    def _across(self, x: ir.Value) -> ir.Value:
        """The sum across lanes."""
        flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
        return vector.reduction(self.element, vector.CombiningKind.ADD, x, fastmath=flags)

    def _weights(self, scratch: ir.Value, count: ir.Value, top: ir.Value) -> ir.Value:
        """Turn `count` scores into exponentials, and return their sum."""
        spread = vector.broadcast(self.vector_type, top)

        def power(at: ir.Value, totals: Registers) -> Registers:
            place = self.add(scratch, at)
            weight = exp_below_zero(arith.subf(self.load(self.memory.scratch, place), spread))
            self.store(weight, self.memory.scratch, place)
            return [arith.addf(totals[0], weight)]

        bounds = (self.index(0), count)
        return self._across(self.loop(bounds, [self.splat(0)], power, step=self.lanes)[0])

    def _result(
        self,
        row: ir.Value,
        bounds: tuple[ir.Value, ir.Value],
        keys: "_Keys",
        total: ir.Value,
    ) -> None:
        """Write the sum of the values by their weights, over `total`."""
        first, _ = bounds
        width, lanes = self.shape.width, self.lanes

        def add(key: ir.Value, registers: Registers) -> Registers:
            place = self.add(keys.scratch, arith.subi(key, first))
            weight = memref.load(self.memory.scratch, [place])
            start = keys.row(self, key, width)
            spread = vector.broadcast(self.vector_type, weight)
            return [
                vector.fma(spread, self._f32(self.memory.v, self.add(start, n * lanes)), register)
                for n, register in enumerate(registers)
            ]

        sums = self.loop(bounds, [self.splat(0)] * (width // lanes), add)
        zero, one = (arith.constant(self.element, float(n)) for n in (0, 1))
        none = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
        share = arith.divf(one, arith.select(none, one, total))
        spread, start = vector.broadcast(self.vector_type, share), self.times(row, width)
        for number, value in enumerate(sums):
            at = self.add(start, number * lanes)
            self.store(arith.mulf(value, spread), self.memory.y, at)


@dataclass(frozen=True)
class _Keys:
    """The keys of a head: number `block` of all heads of keys, with `count` rows in memory. Scores
    start at `scratch`."""

    block: ir.Value
    count: Index
    past: ir.Value
    last: ir.Value
    scratch: ir.Value

    def row(self, emit: VectorEmitter, key: ir.Value, width: int) -> ir.Value:
        """The first element of row `key` of `width` elements."""
        return emit.times(emit.add(emit.times(self.block, self.count), key), width)
