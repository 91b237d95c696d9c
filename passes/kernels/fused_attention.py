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

from ...dialects.graph import View
from ...mlir import arith, ir, memref, vector
from .emitter import LhsBlock, Registers, VectorEmitter
from .vector_functions import exp_below_zero

MIN_WORKGROUPS = 8
"""Workgroups that attention should split into, for threads to share."""


@dataclass(frozen=True)
class MaskShape:
    """The mask added to the scores: one number per key, or per key and query."""

    lead: tuple[int, ...]
    """Leading axes of the mask, as many as those of the queries."""
    per_query: bool


@dataclass(frozen=True)
class AttentionShape:
    """The sizes, views and tiles of an attention."""

    lead: tuple[int, ...]
    """Leading axes, of batches and heads."""
    queries: int
    keys: int
    head_size: int
    """Features of a query and a key."""
    width: int
    """Features of a value."""
    q: View
    k: View
    v: View
    order: tuple[int, ...]
    """The axes of the result, [*lead, queries, width], as they are stored."""
    scale: float
    causal: bool
    mask: MaskShape | None
    mr: int
    """Rows of a register tile."""
    vectors: int
    """Vectors of a register tile."""
    lanes: int

    @property
    def flops(self) -> int:
        return 2 * self.heads * self.queries * self.keys * (self.head_size + self.width)

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
        """Blocks of a head in a workgroup."""
        parts = -(-MIN_WORKGROUPS // self.heads)
        return -(-self.blocks // min(parts, self.blocks))

    @property
    def parts(self) -> int:
        """Workgroups of a head."""
        return -(-self.blocks // self.together)

    @property
    def workgroups(self) -> int:
        return self.heads * self.parts

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup: the weights of a block, their scale factors, and its
        queries."""
        return (self.keys + 1 + self.head_size) * self.block

    @property
    def y(self) -> View:
        """The view of the result in its stored order."""
        logical = (*self.lead, self.queries, self.width)
        stored = View.whole(logical[axis] for axis in self.order)
        strides = [0] * len(logical)
        for axis, stride in zip(self.order, stored.strides, strict=True):
            strides[axis] = stride
        return View(logical, 0, tuple(strides))


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

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; the workgroups of a head are consecutive."""
        shape = self.shape
        head = arith.divui(workgroup_id, self.index(shape.parts))
        first = self.times(arith.remui(workgroup_id, self.index(shape.parts)), shape.together)
        last = arith.minui(self.add(first, shape.together), self.index(shape.blocks))
        scratch = self.times(workgroup_id, shape.scratch)
        whole, rest = divmod(shape.queries, shape.block)

        def block(at: ir.Value, count: int) -> None:
            _Block(self, head, self.times(at, shape.block), count, scratch).write()

        if whole:
            end = arith.minui(last, self.index(whole)) if rest else last
            self.repeat(first, end, lambda at: block(at, shape.block))
        if rest:
            start = arith.maxui(first, self.index(whole))
            self.repeat(start, last, lambda at: block(at, rest))

    def start(self, head: ir.Value, first: int, strides: Sequence[int]) -> ir.Value:
        """The start of a head in memory: the first head starts at `first`, and heads along the
        leading axes are `strides` apart."""
        total, rest = self.index(first), head
        left = self.shape.heads
        for size, stride in zip(reversed(self.shape.lead), reversed(strides), strict=True):
            if size == 1:
                continue
            left //= size
            position = arith.remui(rest, self.index(size)) if left > 1 else rest
            if stride:
                total = arith.addi(total, self.times(position, stride))
            rest = arith.divui(rest, self.index(size)) if left > 1 else rest
        return total


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
        self.queries = emit.add(self.factors, shape.block)

    def _end(self) -> ir.Value:
        """The end of the visible keys."""
        keys = self.emit.index(self.shape.keys)
        if not self.shape.causal:
            return keys
        return arith.minui(keys, self.emit.add(self.first, self.count))

    def write(self) -> None:
        self._lay_queries()
        self._tiles(self.end, self.shape.mr, self._scores)
        self._weigh()
        rows = min(self.shape.mr, self.count)
        self._tiles(self.emit.index(self.count), rows, lambda row: self._results(row, rows))

    def _tiles(self, count: ir.Value, rows: int, body: Callable[[ir.Value], None]) -> None:
        """Emit `body` for each tile of `rows` rows, given its first row; the last may overlap."""
        emit = self.emit
        last = arith.subi(count, emit.index(rows))
        tiles = arith.ceildivui(count, emit.index(rows))
        emit.repeat(0, tiles, lambda tile: body(arith.minui(emit.times(tile, rows), last)))

    # Queries

    def _lay_queries(self) -> None:
        """Store the scaled queries to scratch as [features, queries], padded with zeros."""
        emit, shape = self.emit, self.shape
        stride = shape.q.strides[-2]
        start = emit.start(self.head, shape.q.start, shape.q.strides[:-2])
        start = emit.add(start, emit.times(self.first, stride))
        whole, rest = divmod(shape.head_size, shape.lanes)

        def tile(feature: ir.Value, features: int) -> None:
            for first in range(0, self.count, shape.lanes):
                at = arith.addi(emit.add(start, first * stride), feature)
                self._lay_tile(at, feature, first, features)

        emit.repeat(0, whole, lambda at: tile(emit.times(at, shape.lanes), shape.lanes))
        if rest:
            tile(emit.index(whole * shape.lanes), rest)

    def _lay_tile(self, at: ir.Value, feature: ir.Value, first: int, features: int) -> None:
        """Transpose a tile: as many queries as lanes, from `first` on, by `features` features."""
        emit, shape = self.emit, self.shape
        mask, stride = emit.first_lanes(features), shape.q.strides[-2]
        there = range(min(shape.lanes, self.count - first))
        rows = [emit.load(self.memory.q, emit.add(at, n * stride), mask) for n in there]
        rows += [emit.splat(0)] * (shape.lanes - len(rows))
        for number, row in enumerate(emit.transposed(rows)[:features]):
            if shape.scale != 1:
                row = arith.mulf(row, emit.splat(shape.scale))
            line = emit.times(emit.add(feature, number), shape.block)
            emit.store(row, self.memory.scratch, emit.add(arith.addi(self.queries, line), first))

    # Scores

    def _scores(self, key: ir.Value) -> None:
        """Compute the scores of a tile of keys, from `key` on, into scratch."""
        emit, shape = self.emit, self.shape
        *lead, between, step = shape.k.strides
        start = emit.start(self.head, shape.k.start, lead)
        start = emit.add(start, emit.times(key, between))
        rows = LhsBlock(self.memory.k, start, shape.mr, between, shape.block, step)
        accumulators = [emit.splat(0)] * (shape.mr * self.vectors)
        accumulators = emit.multiply(
            rows, self.memory.scratch, self.queries, shape.head_size, accumulators
        )
        added = self._added(key)
        for row in range(shape.mr):
            at = emit.add(key, row)
            line = self._line(at)
            for part in range(self.vectors):
                score = added(accumulators[row * self.vectors + part], at, part)
                emit.store(score, self.memory.scratch, emit.add(line, part * shape.lanes))

    def _line(self, key: ir.Value) -> ir.Value:
        """The offset of a key's weights in scratch."""
        return self.emit.add(self.scratch, self.emit.times(key, self.shape.block))

    def _added(self, key: ir.Value) -> Callable[[ir.Value, ir.Value, int], ir.Value]:
        """A function that masks the scores of a key for the queries of one vector."""
        start = self._mask_start()

        def added(score: ir.Value, at: ir.Value, part: int) -> ir.Value:
            if start is not None:
                score = arith.addf(score, self._mask_of(start, at, part))
            return self._causal(score, at, part) if self.shape.causal else score

        return added

    def _mask_start(self) -> ir.Value | None:
        """The start of this head's mask; None if there is no mask."""
        emit, shape = self.emit, self.shape
        if shape.mask is None:
            return None
        one, strides = shape.keys * (shape.queries if shape.mask.per_query else 1), []
        for held in reversed(shape.mask.lead):
            strides.append(0 if held == 1 else one)
            one *= held
        return emit.start(self.head, 0, strides[::-1])

    def _mask_of(self, start: ir.Value, key: ir.Value, part: int) -> ir.Value:
        """The mask values to add to the scores of a key."""
        emit, shape = self.emit, self.shape
        assert shape.mask is not None
        assert self.memory.mask is not None
        if not shape.mask.per_query:
            scalar = memref.load(self.memory.mask, [emit.add(start, key)])
            return vector.broadcast(emit.vector_type, scalar)
        at = emit.add(emit.add(start, emit.times(key, shape.queries)), self.first)
        mask = self.mask if part == self.vectors - 1 else None
        return emit.load(self.memory.mask, emit.add(at, part * shape.lanes), mask)

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
            self.memory.scratch, emit.add(self.scratch, query), rows, 1, between, shape.block
        )
        values = emit.start(self.head, shape.v.start, lead)
        *lead, line, _ = shape.y.strides
        target = emit.start(self.head, 0, lead)
        target = emit.add(target, emit.times(emit.add(self.first, query), line))
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
                    at = emit.add(target, row * line + start + part * shape.lanes)
                    value = arith.mulf(accumulators[row * parts + part], factor)
                    emit.store(value, self.memory.y, at)

    def _panels(self) -> list[tuple[int, int]]:
        """The panels of a value's features: the start of each, and its number of vectors."""
        vectors = self.shape.width // self.shape.lanes
        most = self.shape.vectors
        return [
            (first * self.shape.lanes, min(most, vectors - first))
            for first in range(0, vectors, most)
        ]


def memory_of(mask: bool, buffers: list[Any]) -> AttentionMemory:
    """The buffers from the arguments of a kernel: operands, result, scratch."""
    q, k, v, *given, y, scratch = buffers
    return AttentionMemory(q, k, v, given[0] if mask else None, y, scratch)
