"""Ensembles of decision trees: walks from roots to leaves, and the reduction of their weights.

The next node of a walk depends on memory that the last one named, so that a single walk waits most
of the time. Several walks therefore go on together: of several rows through one tree, whose nodes
then stay in cache, or, for few rows, of one row through several trees.

No step of a walk branches on data: each comparison would be mispredicted half of the time. Leaves
lead to themselves, so that walks that have ended need not be told from others, and outcomes of
comparisons are combined as integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.graph.trees import (
    EQUAL,
    FEATURE_BITS,
    GREATER,
    LEAF_WORDS,
    LESS,
    NODE_WORDS,
    UNORDERED,
    leaf_words,
)  # fmt: skip
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter
from .loops import while_
from .sizes import Index

Size = int | Dim

WALKS = 8
"""Walks that go on together."""
MOST_ROWS = 64
"""Rows of a workgroup at most, which stay in cache from tree to tree."""
LEAST_STEPS = 8192
"""Steps of a workgroup at least, which take some microseconds."""

_PREDICATES = {
    0: "AlwaysFalse", LESS: "OLT", LESS | EQUAL: "OLE", GREATER: "OGT", GREATER | EQUAL: "OGE",
    EQUAL: "OEQ",
    LESS | GREATER: "ONE", LESS | UNORDERED: "ULT", LESS | EQUAL | UNORDERED: "ULE",
    GREATER | UNORDERED: "UGT", GREATER | EQUAL | UNORDERED: "UGE", EQUAL | UNORDERED: "UEQ",
    LESS | GREATER | UNORDERED: "UNE", LESS | EQUAL | GREATER: "ORD", UNORDERED: "UNO",
    LESS | EQUAL | GREATER | UNORDERED: "AlwaysTrue",
}  # fmt: skip


@dataclass(frozen=True)
class TreeVotesShape:
    """`rows` of `columns` features through `trees` in a table of `words` with `leaves`; see
    `graph.tree_votes`."""

    rows: Size
    columns: Size
    trees: int
    words: int
    leaves: int
    targets: int
    depth: int
    outcomes: int
    varying: int
    reduction: str
    lanes: int
    is_cached: bool
    """True if the trees stay in a cache; others are read from memory for each workgroup."""

    flops = 0

    @property
    def block(self) -> int:
        """The rows of a workgroup."""
        if not self.is_cached:
            return MOST_ROWS
        steps = max(self.trees * self.depth, 1)
        return min(max(-(-LEAST_STEPS // steps), WALKS), MOST_ROWS)

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        given = (self.rows, self.columns)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def workgroups(self) -> int:
        assert isinstance(self.rows, int)
        return -(-self.rows // self.block)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        if isinstance(self.rows, int):
            return arith.constant(ir.IndexType.get(), self.workgroups)
        rows = dict(zip(self.sizes, dynamic, strict=True))[self.rows]
        return arith.ceildivui(rows, arith.constant(ir.IndexType.get(), self.block))


class TreeVotesEmitter(VectorEmitter):
    """Emits the kernel."""

    def __init__(
        self,
        shape: TreeVotesShape,
        x: ir.Value,
        roots: ir.Value,
        nodes: ir.Value,
        weights: ir.Value,
        result: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(result.type).element_type)
        self.shape, self.x, self.roots, self.nodes = shape, x, roots, nodes
        self.weights, self.result = weights, result
        self.word = ir.MemRefType(nodes.type).element_type
        self.zero = self.index(0)

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the rows of workgroup `workgroup_id`."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        rows, self.row_length = (
            known[size] if isinstance(size, Dim) else size for size in (shape.rows, shape.columns)
        )
        self.last_feature = arith.subi(self.index(self.row_length), self.index(1))
        first = self.times(workgroup_id, shape.block)
        end = arith.minui(self.add(first, shape.block), self.index(rows))
        together = arith.subi(end, arith.remui(arith.subi(end, first), self.index(WALKS)))
        self.repeat(
            self.times(first, shape.targets), self.times(end, shape.targets), self._clear
        )  # fmt: skip
        self.repeat(0, shape.trees, lambda tree: self._rows_of_tree(tree, first, together))
        self.repeat(together, end, self._trees_of_row)

    def _clear(self, at: ir.Value) -> None:
        neutral = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}[self.shape.reduction]
        memref.store(arith.constant(self.element, neutral), self.result, [at])

    def _rows_of_tree(self, tree: ir.Value, first: ir.Value, end: ir.Value) -> None:
        """Emit the walks of the rows from `first` to `end` through one tree."""

        def walk(row: ir.Value, registers: Registers) -> Registers:
            self._walk([self.add(row, n) for n in range(WALKS)], [tree] * WALKS)
            return registers

        self.loop((first, end), [], walk, step=WALKS)

    def _trees_of_row(self, row: ir.Value) -> None:
        """Emit the walks of one row through all trees."""
        whole = self.shape.trees // WALKS * WALKS

        def walk(tree: ir.Value, registers: Registers) -> Registers:
            self._walk([row] * WALKS, [self.add(tree, n) for n in range(WALKS)])
            return registers

        self.loop((self.zero, self.index(whole)), [], walk, step=WALKS)
        rest = [self.index(tree) for tree in range(whole, self.shape.trees)]
        if rest:
            self._walk([row] * len(rest), rest)

    def _walk(self, rows: Sequence[ir.Value], trees: Sequence[ir.Value]) -> None:
        """Walk from the roots of `trees`, each for one of `rows`, and add the weights of the
        leaves."""
        starts = [self.times(row, self.row_length) for row in rows]
        roots = [self._read(self.roots, tree) for tree in trees]

        def goes_on(steps: ir.Value, *at: ir.Value) -> ir.Value:
            all_of = at[0]
            for other in at[1:]:
                all_of = arith.andi(all_of, other)
            some_left = arith.cmpi(arith.CmpIPredicate.sge, all_of, self.zero)
            below = arith.cmpi(arith.CmpIPredicate.ult, steps, self.index(self.shape.depth))
            return arith.andi(some_left, below)

        def step(steps: ir.Value, *at: ir.Value) -> Registers:
            following = [self._next(*each) for each in zip(starts, at, strict=True)]
            return [self.add(steps, 1), *following]

        _, *leaves = while_([self.zero, *roots], goes_on, step)
        for row, at in zip(rows, leaves, strict=True):
            self._vote(self.times(row, self.shape.targets), at)

    def _next(self, start: ir.Value, at: ir.Value) -> ir.Value:
        """The offset after `at` for the features from `start` on. What a table says is clamped,
        because none is trusted."""
        word = self.add(at, leaf_words(self.shape.leaves))
        word = self._within(word, self.shape.words - NODE_WORDS + 1)
        threshold = arith.bitcast(self.element, memref.load(self.nodes, [word]))
        told = memref.load(self.nodes, [self.add(word, 1)])
        feature = arith.andi(told, self._number((1 << FEATURE_BITS) - 1))
        feature = arith.minui(self._as_index(feature), self.last_feature)
        value = memref.load(self.x, [arith.addi(start, feature)])
        hit = self._is_hit(value, threshold, told)
        side = arith.select(hit, self.index(2), self.index(3))
        return self._read(self.nodes, arith.addi(word, side))

    def _is_hit(self, value: ir.Value, threshold: ir.Value, told: ir.Value) -> ir.Value:
        """True (an i1) if the comparison has one of the outcomes of the node."""
        hit = _compare(_PREDICATES[self.shape.outcomes], value, threshold)
        for outcome in (LESS, EQUAL, GREATER, UNORDERED):
            if self.shape.varying & outcome:
                seen = _compare(_PREDICATES[outcome], value, threshold)
                wanted = arith.andi(told, self._number(outcome << FEATURE_BITS))
                is_wanted = arith.cmpi(arith.CmpIPredicate.ne, wanted, self._number(0))
                hit = arith.ori(hit, arith.andi(seen, is_wanted))
        return hit

    def _vote(self, target: ir.Value, at: ir.Value) -> None:
        """Combine the weights of the leaf at offset `at` with the results from `target` on."""
        targets = self.shape.targets
        is_node = arith.cmpi(arith.CmpIPredicate.sge, at, self.zero)
        number = arith.divui(arith.subi(self.index(-2 * LEAF_WORDS), at), self.index(LEAF_WORDS))
        leaf = arith.select(is_node, self.zero, number)
        source = self.times(self._within(leaf, self.shape.leaves), targets)
        whole = targets // self.lanes * self.lanes

        def vector(offset: ir.Value, registers: Registers) -> Registers:
            old = self.load(self.result, arith.addi(target, offset))
            new = self.load(self.weights, arith.addi(source, offset))
            self.store(self._combined(old, new), self.result, arith.addi(target, offset))
            return registers

        if whole:
            self.loop((self.zero, self.index(whole)), [], vector, step=self.lanes)
        for offset in range(whole, targets):
            old = memref.load(self.result, [self.add(target, offset)])
            new = memref.load(self.weights, [self.add(source, offset)])
            memref.store(self._combined(old, new), self.result, [self.add(target, offset)])

    def _combined(self, old: ir.Value, new: ir.Value) -> ir.Value:
        combine = {"sum": arith.addf, "max": arith.maximumf, "min": arith.minimumf}
        return combine[self.shape.reduction](old, new)

    def _within(self, number: ir.Value, count: int) -> ir.Value:
        return arith.minui(number, self.index(count - 1))

    def _read(self, table: ir.Value, at: Index) -> ir.Value:
        """An integer of a table, as an index with its sign."""
        return self._as_index(memref.load(table, [self.index(at)]))

    def _as_index(self, number: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IndexType.get(), number)

    def _number(self, value: int) -> ir.Value:
        return arith.constant(self.word, value)


def _compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate), a, b)
