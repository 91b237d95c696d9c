"""A kernel that packs a matrix of i8 for the integer dot products of a CPU."""

import math
from dataclasses import dataclass, field

from ...mlir import arith, ir, scf, vector
from .group_dot import GROUP_BYTES
from .rows import RowChunks
from .sizes import Index, index

LANES = 16
"""Columns of a vector, at most."""


@dataclass(frozen=True)
class PackInt8:
    """A matrix of `k` rows by `columns`, in panels of `width` columns."""

    k: int
    columns: int
    width: int

    flops = None
    rows: RowChunks = field(init=False)
    """The groups of rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", RowChunks(self.groups, GROUP_BYTES * self.columns))

    @property
    def groups(self) -> int:
        """Groups of rows in a panel."""
        return -(-self.k // GROUP_BYTES)

    @property
    def lanes(self) -> int:
        """Columns of a vector: a divisor of the width of a panel."""
        return math.gcd(self.width, LANES)

    @property
    def workgroups(self) -> int:
        """Workgroups, each of some groups of rows."""
        return self.rows.workgroups


class PackInt8Emitter:
    """Emits the kernel: four rows at a time, whose bytes become words of 32 bits."""

    def __init__(self, shape: PackInt8, source: ir.Value, target: ir.Value):
        self.shape, self.source, self.target = shape, source, target
        i8, i32 = (ir.IntegerType.get_signless(bits) for bits in (8, 32))
        self.bytes = ir.VectorType.get([shape.lanes], i8)
        self.words = ir.VectorType.get([shape.lanes], i32)
        self.stored = ir.VectorType.get([shape.lanes * GROUP_BYTES], i8)

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        self.shape.rows.for_each_row(workgroup_id, (), self._group)

    def _group(self, start: ir.Value, length: Index) -> None:
        """Emit the group of rows that begins at `start`."""
        del length
        shape = self.shape
        first = arith.divui(start, index(shape.columns))
        whole, rest = divmod(shape.columns, shape.width)
        if whole:
            loop = scf.ForOp(index(0), index(whole), index(1))
            with ir.InsertionPoint(loop.body):
                self._panel(first, loop.induction_variable, shape.width)
                scf.YieldOp([])
        if rest:
            self._panel(first, index(whole), rest)

    def _panel(self, first: ir.Value, panel: ir.Value, columns: int) -> None:
        """Emit the group whose `first` row is given, for the first `columns` columns of `panel`."""
        shape = self.shape
        group = arith.addi(
            arith.muli(panel, index(shape.groups)), arith.divui(first, index(GROUP_BYTES))
        )
        target = arith.muli(group, index(shape.width * GROUP_BYTES))
        for column in range(0, shape.width, shape.lanes):
            at = arith.addi(arith.muli(panel, index(shape.width)), index(column))
            count = min(max(columns - column, 0), shape.lanes)
            packed = vector.bitcast(self.stored, self._words(first, at, count))
            vector.store(packed, self.target, [arith.addi(target, index(column * GROUP_BYTES))])

    def _words(self, first: ir.Value, column: ir.Value, count: int) -> ir.Value:
        """The bytes of `count` columns of four rows as words, and zeros behind them."""
        words = self._constant(self.words, 0)
        for row in range(GROUP_BYTES if count else 0):
            byte = self._row(arith.addi(first, index(row)), column, count)
            shift = self._constant(self.words, 8 * row)
            words = arith.ori(words, arith.shli(arith.extui(self.words, byte), shift))
        return words

    def _row(self, row: ir.Value, column: ir.Value, count: int) -> ir.Value:
        """The bytes of `count` columns of `row`; zeros for one behind the last."""
        shape, zeros = self.shape, self._constant(self.bytes, 0)
        if not shape.k % GROUP_BYTES:
            return self._load(row, column, count)
        last = arith.minui(row, index(shape.k - 1))
        exists = arith.cmpi(arith.CmpIPredicate.ult, row, index(shape.k))
        return arith.select(exists, self._load(last, column, count), zeros)

    def _load(self, row: ir.Value, column: ir.Value, count: int) -> ir.Value:
        at = arith.addi(arith.muli(row, index(self.shape.columns)), column)
        if count == self.shape.lanes:
            return vector.load(self.bytes, self.source, [at])
        mask = vector.create_mask(
            ir.VectorType.get([self.shape.lanes], ir.IntegerType.get_signless(1)), [index(count)]
        )
        zeros = self._constant(self.bytes, 0)
        return vector.maskedload(self.bytes, self.source, [at], mask, zeros)

    @staticmethod
    def _constant(type_: ir.VectorType, value: int) -> ir.Value:
        element = ir.IntegerAttr.get(type_.element_type, value)
        return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))
