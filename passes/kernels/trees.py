"""Ensembles of decision trees: walks from roots to leaves, and the reduction of their weights.

The next node of a walk depends on memory that the last one named, so that a single walk waits most
of the time. Several walks therefore go on together: of several rows through one tree, whose nodes
then stay in cache, or, for few rows, of one row through several trees. There, a walk that ends goes
on with another tree; rows end a tree together, as they mostly take paths of the same length.

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
    LESS,
    NODE_WORDS,
    UNORDERED,
    leaf_words,
)  # fmt: skip
from ...mlir import arith, ir, memref
from .emitter import Registers
from .leaf_votes import LEAST_STEPS, MOST_ROWS, LeafVotesEmitter, LeafVotesShape
from .loops import while_

WALKS = 8
"""Walks that go on together."""
MOST_TREES = 1024
"""Trees of which the leaves are kept before they vote; 8 KiB of the stack."""
_PREDICATES = {
    0: "AlwaysFalse", LESS: "OLT", LESS | EQUAL: "OLE", GREATER: "OGT", GREATER | EQUAL: "OGE",
    EQUAL: "OEQ",
    LESS | GREATER: "ONE", LESS | UNORDERED: "ULT", LESS | EQUAL | UNORDERED: "ULE",
    GREATER | UNORDERED: "UGT", GREATER | EQUAL | UNORDERED: "UGE", EQUAL | UNORDERED: "UEQ",
    LESS | GREATER | UNORDERED: "UNE", LESS | EQUAL | GREATER: "ORD", UNORDERED: "UNO",
    LESS | EQUAL | GREATER | UNORDERED: "AlwaysTrue",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TreeVotesShape(LeafVotesShape):
    """`trees` in a table with `leaves`; see `graph.tree_votes`."""

    trees: int
    leaves: int
    depth: int
    outcomes: int
    varying: int
    is_cached: bool
    """True if the trees stay in a cache; others are read from memory for each workgroup."""

    @property
    def steps(self) -> int:
        return max(self.trees * self.depth, 1)

    @property
    def most_parts(self) -> int:
        return self.trees // WALKS

    @property
    def block(self) -> int:
        if not self.is_cached:
            return MOST_ROWS
        return min(max(-(-LEAST_STEPS // self.steps), WALKS), MOST_ROWS)


class TreeVotesEmitter(LeafVotesEmitter):
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
        super().__init__(shape, weights, result)
        self.shape: TreeVotesShape = shape
        self.x, self.roots, self.nodes = x, roots, nodes
        self.word = ir.MemRefType(nodes.type).element_type
        self.leaves = memref.alloca(ir.MemRefType.get([MOST_TREES + 1], self.word), [], [])
        """The leaves of a row in several trees, and one more."""
        self.trees = (self.zero, self.index(shape.trees))
        """The first tree to walk, and the end."""

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the rows of workgroup `workgroup_id`."""
        (first, end), self.trees = self._start(workgroup_id, dynamic, self.shape.trees)
        together = arith.subi(end, arith.remui(arith.subi(end, first), self.index(WALKS)))
        self.repeat(*self.trees, lambda tree: self._rows_of_tree(tree, first, together))
        self.repeat(together, end, self._trees_of_row)

    def _rows_of_tree(self, tree: ir.Value, first: ir.Value, end: ir.Value) -> None:
        """Emit the walks of the rows from `first` to `end` through one tree."""

        def walk(row: ir.Value, registers: Registers) -> Registers:
            rows = [self.add(row, n) for n in range(WALKS)]
            for each, leaf in zip(rows, self._walk(rows, [tree] * WALKS), strict=True):
                self._vote(each, leaf)
            return registers

        self.loop((first, end), [], walk, step=WALKS)

    def _trees_of_row(self, row: ir.Value) -> None:
        """Emit the walks of one row through all trees of the workgroup, and add up their leaves."""
        first, end = self.trees

        def walk(tree: ir.Value, totals: Registers) -> Registers:
            count = arith.minui(arith.subi(end, tree), self.index(MOST_TREES))
            self._walk_trees(row, tree, count)

            def vote(number: ir.Value, totals: Registers) -> Registers:
                leaf = self._leaf(self._read(self.leaves, number))
                return self._voted(totals, leaf) if totals else self._vote(row, leaf)

            return self.loop((self.zero, count), totals, vote)

        totals = [] if self._are_many else self._neutral()
        self._store(self.loop((first, end), totals, walk, step=MOST_TREES), row)

    def _walk_trees(self, row: ir.Value, tree: ir.Value, count: ir.Value) -> None:
        """Walk from the roots of `count` trees from `tree` on, into `leaves`.

        Each of several walks has every n-th of them. After its last one, it goes on with what
        follows them, into an element of `leaves` that nobody reads.
        """
        start = self.times(row, self.row_length)
        first = [arith.minui(self.index(number), count) for number in range(WALKS)]
        rounds = arith.ceildivui(count, self.index(WALKS))
        bound = self.times(rounds, max(self.shape.depth, 1))  # a leaf alone takes a step

        def root(number: ir.Value) -> ir.Value:
            return self._read(self.roots, arith.addi(tree, number))

        def goes_on(steps: ir.Value, *state: ir.Value) -> ir.Value:
            least = state[WALKS]
            for number in state[WALKS + 1 :]:
                least = arith.minui(least, number)
            some_left = arith.cmpi(arith.CmpIPredicate.ult, least, count)
            return arith.andi(some_left, arith.cmpi(arith.CmpIPredicate.ult, steps, bound))

        def step(steps: ir.Value, *state: ir.Value) -> Registers:
            nodes, numbers = [], []
            for at, number in zip(state[:WALKS], state[WALKS:], strict=True):
                child = self._next(start, at)
                memref.store(self._as_word(child), self.leaves, [number])
                ends = arith.cmpi(arith.CmpIPredicate.slt, child, self.zero)
                following = arith.minui(self.add(number, WALKS), count)
                numbers.append(arith.select(ends, following, number))
                nodes.append(arith.select(ends, root(numbers[-1]), child))
            return [self.add(steps, 1), *nodes, *numbers]

        while_([self.zero, *map(root, first), *first], goes_on, step)

    def _walk(self, rows: Sequence[ir.Value], trees: Sequence[ir.Value]) -> list[ir.Value]:
        """Walk from the roots of `trees`, each for one of `rows`; the leaves that they reach."""
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
        return list(map(self._leaf, leaves))

    def _leaf(self, at: ir.Value) -> ir.Value:
        """The number of the leaf at offset `at`, or of the first one for a node."""
        is_node = arith.cmpi(arith.CmpIPredicate.sge, at, self.zero)
        number = arith.divui(arith.subi(self.index(-NODE_WORDS), at), self.index(NODE_WORDS))
        return self._within(arith.select(is_node, self.zero, number), self.shape.leaves)

    def _next(self, start: ir.Value, at: ir.Value) -> ir.Value:
        """The offset after `at` for the features from `start` on."""
        word = self.add(at, leaf_words(self.shape.leaves))
        threshold = arith.bitcast(self.element, memref.load(self.nodes, [word]))
        told = memref.load(self.nodes, [self.add(word, 1)])
        feature = arith.andi(told, self._number((1 << FEATURE_BITS) - 1))
        value = memref.load(self.x, [arith.addi(start, self._as_index(feature))])
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

    def _within(self, number: ir.Value, count: int) -> ir.Value:
        return arith.minui(number, self.index(count - 1))

    def _as_word(self, number: ir.Value) -> ir.Value:
        return arith.index_cast(self.word, number)

    def _number(self, value: int) -> ir.Value:
        return arith.constant(self.word, value)


def _compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate), a, b)
