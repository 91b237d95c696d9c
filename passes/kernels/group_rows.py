"""Rows by their groups: a sort by counting."""

from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .emitter import VectorEmitter


@dataclass(frozen=True)
class GroupRows:
    """The kernel that orders `rows` rows, None if dynamic, by their groups, numbers below `count`;
    see `graph.group_rows`."""

    count: int
    repeat: int
    rows: int | None

    def write(self, workgroup: ir.Value, *arguments: ir.Value) -> None:
        """Emit the only workgroup. Other numbers than those of groups count as the last group's."""
        del workgroup
        *sizes, groups, source, place, starts = arguments
        emit = VectorEmitter(1)
        rows = sizes[0] if sizes else emit.index(self.rows or 0)
        index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
        zero, one = (arith.constant(i64, value) for value in (0, 1))

        def group_of(row: ir.Value) -> ir.Value:
            group = arith.index_cast(index, memref.load(groups, [row]))
            return arith.minui(group, emit.index(self.count - 1))

        def clear(at: ir.Value) -> None:
            memref.store(zero, starts, [at])

        def count(row: ir.Value) -> None:
            at = [emit.add(group_of(row), 1)]
            memref.store(arith.addi(memref.load(starts, at), one), starts, at)

        def accumulate(at: ir.Value) -> None:
            before = memref.load(starts, [emit.add(at, -1)])
            memref.store(arith.addi(before, memref.load(starts, [at])), starts, [at])

        def put(row: ir.Value) -> None:
            group = group_of(row)
            to = memref.load(starts, [group])
            memref.store(arith.addi(to, one), starts, [group])
            memref.store(to, place, [row])
            token = arith.divui(row, emit.index(self.repeat))
            memref.store(arith.index_cast(i64, token), source, [arith.index_cast(index, to)])

        def shift(number: ir.Value) -> None:
            at = arith.subi(emit.index(self.count), number)
            memref.store(memref.load(starts, [emit.add(at, -1)]), starts, [at])

        emit.repeat(emit.index(0), emit.index(self.count + 1), clear)
        emit.repeat(emit.index(0), rows, count)
        emit.repeat(emit.index(1), emit.index(self.count + 1), accumulate)
        emit.repeat(emit.index(0), rows, put)  # after which each group begins where the next did
        emit.repeat(emit.index(0), emit.index(self.count), shift)
        memref.store(zero, starts, [emit.index(0)])
