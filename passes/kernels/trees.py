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
from itertools import pairwise

from ...dialects.graph.trees import (
    EQUAL,
    FEATURE_BITS,
    GREATER,
    LESS,
    NODE_WORDS,
    UNORDERED,
    leaf_words,
)  # fmt: skip
from ...dialects.symbolic import Dim, maximum
from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter, VectorSlice
from .loops import while_
from .sizes import Index, ceil_quotient, index, larger, product, quotient, smaller

Size = int | Dim

WALKS = 8
"""Walks that go on together."""
MOST_TREES = 1024
"""Trees of which the leaves are kept before they vote; 8 KiB of the stack."""
MOST_REGISTERS = 4
"""Vectors of results of a row that are held while its trees are walked; more are in memory."""
MOST_ROWS = 64
"""Rows of a workgroup at most, which stay in cache from tree to tree."""
LEAST_STEPS = 8192
"""Steps of a workgroup at least, which take some microseconds."""
LEAST_SHARE = 2048
"""Steps of a workgroup at least, of several that walk a part of the trees each for the same rows:
where there are only some rows, no one else has work."""

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
    """`rows` of `columns` features through `trees` in a table with `leaves`; see
    `graph.tree_votes`."""

    rows: Size
    columns: Size
    trees: int
    leaves: int
    targets: int
    depth: int
    outcomes: int
    varying: int
    reduction: str
    lanes: int
    is_cached: bool
    """True if the trees stay in a cache; others are read from memory for each workgroup."""
    threads: int = 1
    """Threads that share the work."""

    flops = 0

    @property
    def steps(self) -> int:
        """The steps of a row, at most."""
        return max(self.trees * self.depth, 1)

    @property
    def shares_trees(self) -> bool:
        """True if workgroups may walk a part of the trees each: a row has steps enough for two."""
        return min(self.threads, self.steps // LEAST_SHARE, self.trees // WALKS) > 1

    @property
    def block(self) -> int:
        """The rows of a workgroup."""
        if not self.is_cached:
            return MOST_ROWS
        return min(max(-(-LEAST_STEPS // self.steps), WALKS), MOST_ROWS)

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
        return larger(smaller(smaller(idle, long), self.trees // WALKS), 1)

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
        self.leaves = memref.alloca(ir.MemRefType.get([MOST_TREES + 1], self.word), [], [])
        """The leaves of a row in several trees, and one more."""
        self.slices = _slices(shape.targets, shape.lanes)
        self.trees: tuple[Index, Index] = (0, shape.trees)
        """The first tree to walk, and the end."""
        self.skipped: ir.Value | None = None
        """Rows of the results of other parts of the trees, before those of this one."""

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the rows of workgroup `workgroup_id`."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        rows, self.row_length = (
            known[size] if isinstance(size, Dim) else size for size in (shape.rows, shape.columns)
        )
        parts = shape.parts(rows)
        block = workgroup_id
        if parts != 1:
            block = arith.divui(workgroup_id, self.index(parts))
            part = arith.remui(workgroup_id, self.index(parts))
            self.trees = self._share(part, parts)
            self.skipped = arith.muli(part, self.index(rows))
        first = self.times(block, shape.block)
        end = arith.minui(self.add(first, shape.block), self.index(rows))
        together = arith.subi(end, arith.remui(arith.subi(end, first), self.index(WALKS)))
        self.repeat(self._target(first), self._target(end), self._clear)
        self.repeat(*self.trees, lambda tree: self._rows_of_tree(tree, first, together))
        self.repeat(together, end, self._trees_of_row)

    def _share(self, part: ir.Value, parts: Index) -> tuple[Index, Index]:
        """The first of the trees of one of `parts`, and their end."""

        def start(part: ir.Value) -> ir.Value:
            return arith.divui(self.times(part, self.shape.trees), self.index(parts))

        return start(part), start(self.add(part, 1))

    def _target(self, row: ir.Value) -> ir.Value:
        """The first of the results of a row."""
        own = row if self.skipped is None else arith.addi(row, self.skipped)
        return self.times(own, self.shape.targets)

    def _clear(self, at: ir.Value) -> None:
        memref.store(
            arith.constant(self.element, _NEUTRAL[self.shape.reduction]), self.result, [at]
        )

    def _neutral(self, part: VectorSlice) -> ir.Value:
        return self.splat(_NEUTRAL[self.shape.reduction], part.lanes, self.element)

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
        first, end = map(self.index, self.trees)

        def walk(tree: ir.Value, totals: Registers) -> Registers:
            count = arith.minui(arith.subi(end, tree), self.index(MOST_TREES))
            self._walk_trees(row, tree, count)

            def vote(number: ir.Value, totals: Registers) -> Registers:
                leaf = self._leaf(self._read(self.leaves, number))
                return self._voted(totals, leaf) if totals else self._vote(row, leaf)

            return self.loop((self.zero, count), totals, vote)

        totals = [] if self._are_many else list(map(self._neutral, self.slices))
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

    def _store(self, totals: Registers, row: ir.Value) -> None:
        """Store the `totals` of a row, if they are in registers."""
        at = self._target(row)
        for part, value in zip(self.slices, totals, strict=False):
            self.store(value, self.result, self.add(at, part.start))

    def _combined(self, old: ir.Value, new: ir.Value) -> ir.Value:
        return _COMBINE[self.shape.reduction](old, new)

    def _within(self, number: ir.Value, count: int) -> ir.Value:
        return arith.minui(number, self.index(count - 1))

    def _read(self, table: ir.Value, at: Index) -> ir.Value:
        """An integer of a table, as an index with its sign."""
        return self._as_index(memref.load(table, [self.index(at)]))

    def _as_word(self, number: ir.Value) -> ir.Value:
        return arith.index_cast(self.word, number)

    def _as_index(self, number: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IndexType.get(), number)

    def _number(self, value: int) -> ir.Value:
        return arith.constant(self.word, value)


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

    votes: TreeVotesShape

    flops = 0
    workgroups = 1

    @property
    def sizes(self) -> list[Dim]:
        """See `TreeVotesShape`."""
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


def _compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate), a, b)
