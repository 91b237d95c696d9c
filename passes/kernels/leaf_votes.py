"""The weights of leaves, reduced over the trees of an ensemble: shared by its kernels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...dialects.symbolic import Dim, maximum
from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter, VectorSlice
from .sizes import Index, ceil_quotient, index, larger, product, quotient, smaller

Size = int | Dim

MOST_REGISTERS = 4
"""Vectors of results of a row that are held while its trees vote; more are in memory."""
MOST_ROWS = 64
"""Rows of a workgroup at most, which stay in cache from tree to tree."""
LEAST_STEPS = 8192
"""Steps of a workgroup at least, which take some microseconds."""
LEAST_SHARE = 2048
"""Steps of a workgroup at least, of several that have a part of the trees each for the same rows:
where there are only some rows, no one else has work."""


@dataclass(frozen=True, kw_only=True)
class LeafVotesShape(ABC):
    """`rows` of `columns` features, for which trees vote with `targets` weights each."""

    rows: Size
    columns: Size
    targets: int
    reduction: str
    lanes: int
    threads: int = 1
    """Threads that share the work."""

    flops = 0

    @property
    @abstractmethod
    def steps(self) -> int:
        """The steps of a row from node to node at most, or what takes as long."""

    @property
    @abstractmethod
    def most_parts(self) -> int:
        """The parts that the trees can be divided into."""

    @property
    def shares_trees(self) -> bool:
        """True if workgroups may walk a part of the trees each: a row has steps enough for two."""
        return min(self.threads, self.steps // LEAST_SHARE, self.most_parts) > 1

    @property
    def block(self) -> int:
        """The rows of a workgroup."""
        return min(max(-(-LEAST_STEPS // self.steps), 1), MOST_ROWS)

    @property
    def partial_rows(self) -> Size:
        """The rows of the result, each as often as there are parts of the trees, at most."""
        if not self.shares_trees:
            return self.rows
        if isinstance(self.rows, int):
            parts = self.parts(self.rows)
            assert isinstance(parts, int)
            return self.rows * parts
        return maximum(self.rows, self.threads * self.block)

    def parts(self, rows: Index) -> Index:
        """The parts of the trees for `rows` rows: so many that all threads have a workgroup."""
        if not self.shares_trees:
            return 1
        idle = quotient(self.threads, larger(ceil_quotient(rows, self.block), 1))
        long = quotient(product(smaller(rows, self.block), self.steps), LEAST_SHARE)
        return larger(smaller(smaller(idle, long), self.most_parts), 1)

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        given = (self.rows, self.columns)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def workgroups(self) -> int:
        assert isinstance(self.rows, int)
        parts = self.parts(self.rows)
        assert isinstance(parts, int)
        return -(-self.rows // self.block) * parts

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        if isinstance(self.rows, int):
            return arith.constant(ir.IndexType.get(), self.workgroups)
        rows = dict(zip(self.sizes, dynamic, strict=True))[self.rows]
        return index(product(ceil_quotient(rows, self.block), self.parts(rows)))


class LeafVotesEmitter(VectorEmitter):
    """Emits what kernels of ensembles have in common: whose rows, which trees, and the votes."""

    def __init__(self, shape: LeafVotesShape, weights: ir.Value, result: ir.Value):
        super().__init__(shape.lanes, ir.MemRefType(result.type).element_type)
        self.shape, self.weights, self.result = shape, weights, result
        self.zero = self.index(0)
        self.slices = _slices(shape.targets, shape.lanes)
        self.row_length: Index = 0
        """The number of features."""
        self.skipped: ir.Value | None = None
        """Rows of the results of other parts of the trees, before those of this one."""

    def _start(
        self, workgroup_id: ir.Value, dynamic: Sequence[ir.Value], units: int
    ) -> tuple[tuple[ir.Value, ir.Value], tuple[ir.Value, ir.Value]]:
        """The rows of a workgroup and which of `units`, trees or blocks of them, it computes: the
        first and the end of each. The results of the rows become neutral."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        rows, self.row_length = (
            known[size] if isinstance(size, Dim) else size for size in (shape.rows, shape.columns)
        )
        parts = shape.parts(rows)
        block, own_units = workgroup_id, (self.index(0), self.index(units))
        if parts != 1:
            block = arith.divui(workgroup_id, self.index(parts))
            part = arith.remui(workgroup_id, self.index(parts))
            own_units = self._share(part, units, parts)
            self.skipped = arith.muli(part, self.index(rows))
        first = self.times(block, shape.block)
        end = arith.minui(self.add(first, shape.block), self.index(rows))
        self.repeat(self._target(first), self._target(end), self._clear)
        return (first, end), own_units

    def _share(self, part: ir.Value, units: int, parts: Index) -> tuple[ir.Value, ir.Value]:
        """The first of the `units` of one of `parts`, and their end."""

        def start(part: ir.Value) -> ir.Value:
            return arith.divui(self.times(part, units), self.index(parts))

        return start(part), start(self.add(part, 1))

    def _target(self, row: ir.Value) -> ir.Value:
        """The first of the results of a row."""
        own = row if self.skipped is None else arith.addi(row, self.skipped)
        return self.times(own, self.shape.targets)

    def _clear(self, at: ir.Value) -> None:
        memref.store(
            arith.constant(self.element, _NEUTRAL[self.shape.reduction]), self.result, [at]
        )

    def _neutral(self) -> Registers:
        neutral = _NEUTRAL[self.shape.reduction]
        return [self.splat(neutral, part.lanes, self.element) for part in self.slices]

    def _vote(self, row: ir.Value, leaf: ir.Value) -> Registers:
        """Combine the weights of a leaf with the results of a row in memory; no registers."""
        target, source = self._target(row), self.times(leaf, self.shape.targets)
        whole = self.shape.targets // self.lanes * self.lanes if self._are_many else 0

        def combine(offset: ir.Value | int, lanes: int) -> None:
            old = self.load(self.result, self.add(target, offset), lanes=lanes)
            new = self.load(self.weights, self.add(source, offset), lanes=lanes)
            self.store(self._combined(old, new), self.result, self.add(target, offset))

        def vector(offset: ir.Value, registers: Registers) -> Registers:
            combine(offset, self.lanes)
            return registers

        if whole:
            self.loop((self.zero, self.index(whole)), [], vector, step=self.lanes)
        for part in self.slices:
            if part.start >= whole:
                combine(part.start, part.lanes)
        return []

    @property
    def _are_many(self) -> bool:
        """True if there are too many results of a row for registers."""
        return len(self.slices) > MOST_REGISTERS

    def _voted(self, totals: Registers, leaf: ir.Value) -> Registers:
        """`totals`, combined with the weights of a leaf."""
        source = self.times(leaf, self.shape.targets)
        return [
            self._combined(
                old, self.load(self.weights, self.add(source, part.start), lanes=part.lanes)
            )
            for old, part in zip(totals, self.slices, strict=True)
        ]

    def _results(self, row: ir.Value) -> Registers:
        """The results of a row so far."""
        at = self._target(row)
        return [
            self.load(self.result, self.add(at, part.start), lanes=part.lanes)
            for part in self.slices
        ]

    def _store(self, totals: Registers, row: ir.Value) -> None:
        """Store the `totals` of a row, if they are in registers."""
        at = self._target(row)
        for part, value in zip(self.slices, totals, strict=False):
            self.store(value, self.result, self.add(at, part.start))

    def _combined(self, old: ir.Value, new: ir.Value) -> ir.Value:
        return _COMBINE[self.shape.reduction](old, new)

    def _read(self, table: ir.Value, at: Index) -> ir.Value:
        """An integer of a table, as an index with its sign."""
        return self._as_index(memref.load(table, [self.index(at)]))

    def _as_index(self, number: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IndexType.get(), number)


def _slices(count: int, lanes: int) -> list[VectorSlice]:
    """Cut `count` elements into whole vectors of `lanes` and, for the rest, of powers of two."""
    parts: list[VectorSlice] = []
    for start, end in pairwise([*range(0, count, lanes), count]):
        left = end - start
        while left:
            size = 1 << left.bit_length() - 1
            parts.append(VectorSlice(end - left, size, size))
            left -= size
    return parts


@dataclass(frozen=True)
class TreePartsShape:
    """The reduction of what parts of the trees have added up, for the rows of `votes`."""

    votes: LeafVotesShape

    flops = 0
    workgroups = 1

    @property
    def sizes(self) -> list[Dim]:
        """See `LeafVotesShape`."""
        return [self.votes.rows] if isinstance(self.votes.rows, Dim) else []

    @staticmethod
    def count_workgroups(*dynamic: ir.Value) -> ir.Value:
        """One: where there are many rows, a row has had many steps before."""
        del dynamic
        return index(1)


class TreePartsEmitter(VectorEmitter):
    """Emits the kernel."""

    def __init__(self, shape: TreePartsShape, partial: ir.Value, result: ir.Value):
        super().__init__(shape.votes.lanes, ir.MemRefType(result.type).element_type)
        self.shape, self.partial, self.result = shape.votes, partial, result

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the only workgroup."""
        del workgroup_id
        rows: Index | Dim = dynamic[0] if dynamic else self.shape.rows
        assert not isinstance(rows, Dim)
        count = self.times(self.index(rows), self.shape.targets)
        parts = self.index(self.shape.parts(rows))

        def element(at: ir.Value) -> None:
            def add(part: ir.Value, registers: Registers) -> Registers:
                source = arith.addi(arith.muli(part, count), at)
                new = memref.load(self.partial, [source])
                return [_COMBINE[self.shape.reduction](registers[0], new)]

            first = memref.load(self.partial, [at])
            (total,) = self.loop((self.index(1), parts), [first], add)
            memref.store(total, self.result, [at])

        self.repeat(0, count, element)


_NEUTRAL = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}
_COMBINE = {"sum": arith.addf, "max": arith.maximumf, "min": arith.minimumf}
