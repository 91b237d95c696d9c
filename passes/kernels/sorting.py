"""Selection and sorting of rows of keys.

The first `k` of `n` keys, in order, equal ones in the order of their positions. Keys are unsigned
integers, and smaller ones come first. Few keys are inserted into a sorted list (`insertion.py`),
few of many into one in registers (`best_list.py`); otherwise candidates are sorted by radix
(`radix_sort.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, memref, scf
from .best_list import LIST, write_first_of_row
from .insertion import insert_in_order
from .radix_sort import sort_by_radix
from .selected_row import LEAST_CAPACITY, SelectedRow

_FEW_KEYS = 32
"""Keys given up to which insertion is faster."""


@dataclass(frozen=True)
class RowSelection:
    """The kernel that writes the positions of the first elements of rows.

    Their keys have `bits` bits; `key` emits that of an element.
    """

    bits: int
    key: Callable[[ir.Value], ir.Value]
    lanes: int = 1
    """Elements of vectors of which `key` emits that of keys, too; 1 if it does not."""
    is_limited: bool = False
    """Each row has a limit of its own for the elements wanted, with -1 behind them."""
    is_bounded: bool = False
    """Elements wanted come before a threshold."""

    def write(
        self,
        workgroup: ir.Value,
        workgroups: ir.Value,
        rows: ir.Value,
        count: ir.Value,
        wanted: ir.Value,
        capacity: ir.Value,
        elements: ir.Value,
        *memory: ir.Value,
    ) -> None:
        """Emit one of `workgroups`.

        `elements` are rows by count. The rest of `memory` is `limits` (i64, one for each row), if
        it `is_limited`; the threshold, if it `is_bounded`; `order`, rows by wanted (i64); and for
        each workgroup twice `capacity` (see `capacity_of`) `keys` and `positions` (i32), and
        `DIGITS` `counters` (i32).
        """
        *given, order, keys, positions, counters = memory
        limits = given[0] if self.is_limited else None
        sizes, scratch = (count, wanted, capacity), (keys, positions, counters)
        row = SelectedRow(
            workgroup, self.bits, self.lanes, self.key, sizes, elements, order, scratch
        )
        bound = self.key(memref.load(given[-1], [row.zero])) if self.is_bounded else None
        loop = scf.ForOp(workgroup, rows, workgroups, [])
        with ir.InsertionPoint(loop.body):
            number = loop.induction_variable
            start, target = arith.muli(number, count), arith.muli(number, wanted)
            if limits is not None:
                _limit(row, row.load(limits, number, row.zero), wanted, capacity)
            _select(row, start, target, bound)
            none = row.i64(-1)
            row.emit.repeat(row.wanted, wanted, lambda i: row.save(none, order, target, i))
            scf.YieldOp([])


def _select(row: SelectedRow, start: ir.Value, target: ir.Value, bound: ir.Value | None) -> None:
    """Write the positions wanted of the row that begins at `start`."""
    few_keys = row.below(row.count, row.emit.index(_FEW_KEYS + 1))
    few_wanted = row.below(row.wanted, row.emit.index(LIST + 1))

    def insert() -> None:
        _store(row, insert_in_order(row, start), target)

    def sort() -> None:
        _store(row, sort_by_radix(row, start, bound), target)

    if row.lanes == 1:
        return row.emit.choose(arith.ori(few_keys, few_wanted), insert, sort)

    def among_many() -> None:
        row.emit.choose(few_wanted, lambda: write_first_of_row(row, start, target), sort)

    return row.emit.choose(few_keys, insert, among_many)


def _limit(row: SelectedRow, limit: ir.Value, wanted: ir.Value, capacity: ir.Value) -> None:
    """Have `row` select at most `limit` (i64) of `wanted`, with candidates for that."""
    limit = arith.index_cast(ir.IndexType.get(), arith.maxsi(limit, row.i64(0)))
    row.wanted = arith.minui(limit, wanted)
    enough = arith.maxui(row.emit.times(row.wanted, 3), row.emit.index(LEAST_CAPACITY))
    row.capacity = arith.minui(capacity, enough)


def _store(row: SelectedRow, source: ir.Value, target: ir.Value) -> None:
    """Write the positions wanted, which scratch memory holds from `source` on."""
    i64 = ir.IntegerType.get_signless(64)

    def store(i: ir.Value) -> None:
        position = row.load(row.positions, source, i)
        row.save(arith.extui(i64, position), row.order, target, i)

    row.emit.repeat(row.zero, row.wanted, store)
