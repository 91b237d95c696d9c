"""Ensembles of decision trees by QuickScorer (Lucchese et al., SIGIR 2015).

Where walks wait for the node that the last one named, this kernel scans thresholds: those of a
feature are in order, so that a scan ends at the first that is not exceeded, and only there a branch
is mispredicted. What it reads follows one another in memory; what it writes, a word for each tree,
stays in the first cache.
"""

from dataclasses import dataclass

from ...mlir import arith, ir, math, memref, vector
from .emitter import Registers
from .leaf_votes import LeafVotesEmitter, LeafVotesShape
from .loops import while_

NODES_PER_STEP = 17
"""Nodes of a table that take as long, half of them read, as a step of a walk."""
MOST_TREES = 2048
"""Trees of a block; 16 KiB of the stack."""
_WORD_LANES = 8


@dataclass(frozen=True, kw_only=True)
class QuickscorerShape(LeafVotesShape):
    """`trees` in blocks of `block_trees`, with `nodes` that compare `features`; see
    `graph.quickscorer_votes`."""

    trees: int
    block_trees: int
    nodes: int
    features: int
    strict: bool

    @property
    def steps(self) -> int:
        return max(self.nodes // NODES_PER_STEP, 1)

    @property
    def most_parts(self) -> int:
        return -(-self.trees // self.block_trees)


@dataclass(frozen=True)
class QuickscorerTables:
    """The tables of `graph.quickscorer_votes`, in memory."""

    columns: ir.Value
    offsets: ir.Value
    thresholds: ir.Value
    trees: ir.Value
    masks: ir.Value
    unordered: ir.Value
    leaves: ir.Value


class QuickscorerEmitter(LeafVotesEmitter):
    """Emits the kernel."""

    def __init__(
        self,
        shape: QuickscorerShape,
        x: ir.Value,
        tables: QuickscorerTables,
        weights: ir.Value,
        result: ir.Value,
    ):
        super().__init__(shape, weights, result)
        self.shape: QuickscorerShape = shape
        self.x, self.tables = x, tables
        self.word = ir.MemRefType(tables.masks.type).element_type
        room = -(-shape.block_trees // _WORD_LANES) * _WORD_LANES
        self.left = memref.alloca(ir.MemRefType.get([room], self.word), [], [], alignment=64)
        """The leaves that are left of each tree of a block."""

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the rows of workgroup `workgroup_id`, all of them for one block after another."""
        rows, blocks = self._start(workgroup_id, dynamic, self.shape.most_parts)

        def block(number: ir.Value) -> None:
            self.repeat(*rows, lambda row: self._row(row, number))

        self.repeat(*blocks, block)

    def _row(self, row: ir.Value, block: ir.Value) -> None:
        """Emit a block of trees for a row."""
        shape = self.shape
        first = self.times(block, shape.block_trees)
        count = arith.minui(
            self.index(shape.block_trees), arith.subi(self.index(shape.trees), first)
        )
        all_leaves = self.splat(-1, _WORD_LANES, self.word)

        def fill(at: ir.Value, registers: Registers) -> Registers:
            vector.store(all_leaves, self.left, [at])
            return registers

        self.loop((self.zero, count), [], fill, step=_WORD_LANES)
        start, segments = self.times(row, self.row_length), self.times(block, shape.features)
        self.repeat(0, shape.features, lambda feature: self._scan(start, segments, feature))
        self._sum(row, first, count)

    def _scan(self, start: ir.Value, segments: ir.Value, feature: ir.Value) -> None:
        """Rule out leaves by the nodes that compare a feature."""
        tables, segment = self.tables, arith.addi(segments, feature)
        column = self._read(tables.columns, feature)
        value = memref.load(self.x, [arith.addi(start, column)])
        first = self._read(tables.offsets, segment)
        predicates = arith.CmpFPredicate
        predicate = predicates.OLE if self.shape.strict else predicates.OLT

        def fails(at: ir.Value) -> ir.Value:
            threshold = memref.load(tables.thresholds, [at])
            return arith.cmpf(predicate, threshold, value)

        def step(at: ir.Value) -> Registers:
            self._rule_out(at, memref.load(tables.masks, [at]))
            return [self.add(at, 1)]

        while_([first], fails, step)
        is_nan = arith.cmpf(arith.CmpFPredicate.UNO, value, value)

        def all_nodes() -> Registers:
            end = self.add(self._read(tables.offsets, self.add(segment, 1)), -1)
            self.repeat(first, end, self._rule_out_unordered)
            return []

        self.when(is_nan, all_nodes, [])

    def _rule_out_unordered(self, at: ir.Value) -> None:
        """Rule out leaves by a node that compares NaN."""
        holds = self._read(self.tables.unordered, at)
        fails = arith.cmpi(arith.CmpIPredicate.eq, holds, self.zero)
        mask = memref.load(self.tables.masks, [at])
        self._rule_out(at, arith.select(fails, mask, arith.constant(self.word, -1)))

    def _rule_out(self, at: ir.Value, mask: ir.Value) -> None:
        tree = self._read(self.tables.trees, at)
        left = memref.load(self.left, [tree])
        memref.store(arith.andi(left, mask), self.left, [tree])

    def _sum(self, row: ir.Value, first: ir.Value, count: ir.Value) -> None:
        """Reduce the weights of the leaves that the trees from `first` on have left."""

        def vote(tree: ir.Value, totals: Registers) -> Registers:
            lowest = math.cttz(memref.load(self.left, [tree]))
            start = self._read(self.tables.leaves, arith.addi(first, tree))
            leaf = arith.addi(start, arith.index_cast(ir.IndexType.get(), lowest))
            return self._voted(totals, leaf) if totals else self._vote(row, leaf)

        totals = [] if self._are_many else self._results(row)
        self._store(self.loop((self.zero, count), totals, vote), row)
