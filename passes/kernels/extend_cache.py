"""Extending tensors by rows: old rows, new ones behind them, and zeros, each written once."""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from .emitter import VectorEmitter

Size = int | Dim
MIN_WORKGROUPS = 8
"""Workgroups for threads to share: with fewer blocks of rows, blocks are divided."""
UNROLL = 4
"""Vectors that a loop moves at a time."""


@dataclass(frozen=True)
class ExtendCacheShape:
    """``[batch, outer, size, inner]`` of ``[batch, outer, room, inner]`` and ``[batch, outer,
    count, inner]``."""

    batch: Size
    outer: int
    room: Size
    count: Size
    size: Size
    inner: int
    shared: bool
    """True if one number of rows serves all batches."""
    lanes: int

    flops = 0

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        given = (self.batch, self.room, self.count, self.size)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def parts(self) -> int:
        """Workgroups of a block of rows."""
        blocks = self.outer * (self.batch if isinstance(self.batch, int) else 1)
        return -(-MIN_WORKGROUPS // max(blocks, 1))

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of batches is known."""
        assert isinstance(self.batch, int)
        return self.batch * self.outer * self.parts

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        index = ir.IndexType.get()
        if isinstance(self.batch, int):
            return arith.constant(index, self.workgroups)
        batch = dict(zip(self.sizes, dynamic, strict=True))[self.batch]
        return arith.muli(batch, arith.constant(index, self.outer * self.parts))


class ExtendCacheEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: ExtendCacheShape,
        past: ir.Value,
        new: ir.Value,
        begin: ir.Value,
        result: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(result.type).element_type)
        self.shape, self.past, self.new, self.begin = shape, past, new, begin
        self.result = result

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; those of a block are consecutive."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        room, count, size = (
            self.index(known[size] if isinstance(size, Dim) else size)
            for size in (shape.room, shape.count, shape.size)
        )
        block = arith.divui(workgroup_id, self.index(shape.parts))
        part = arith.remui(workgroup_id, self.index(shape.parts))
        old = arith.maxsi(arith.minsi(self._kept(block), room), self.index(0))
        used = arith.minui(arith.addi(old, count), size)
        rows = arith.ceildivui(size, self.index(shape.parts))
        first = arith.minui(arith.muli(part, rows), size)
        last = arith.minui(arith.addi(first, rows), size)
        at = arith.muli(block, size)

        def span(low: ir.Value, high: ir.Value) -> tuple[ir.Value, ir.Value]:
            """The rows of this workgroup within [`low`, `high`)."""
            start = arith.maxui(first, low)
            return start, arith.maxui(arith.minui(last, high), start)

        def copied(source: ir.Value, row: ir.Value, low: ir.Value, high: ir.Value) -> None:
            """Copy the rows of `source` from `row` on to those of the block within the bounds."""
            start, end = span(low, high)
            row = arith.addi(row, arith.subi(start, low))
            begin, target = (self.times(x, shape.inner) for x in (row, arith.addi(at, start)))
            self._each(
                self.times(arith.subi(end, start), shape.inner), target,
                lambda n, lanes: self.load(source, arith.addi(begin, n), lanes=lanes),
            )  # fmt: skip

        copied(self.past, arith.muli(block, room), self.index(0), old)
        copied(self.new, arith.muli(block, count), old, used)
        start, end = span(used, size)
        self._each(
            self.times(arith.subi(end, start), shape.inner),
            self.times(arith.addi(at, start), shape.inner),
            lambda _, lanes: self.splat(0, lanes),
        )

    def _kept(self, block: ir.Value) -> ir.Value:
        """The number of old rows of the batch of a block."""
        batch = arith.divui(block, self.index(self.shape.outer))
        which = self.index(0) if self.shape.shared else batch
        return arith.index_cast(ir.IndexType.get(), memref.load(self.begin, [which]))

    def _each(
        self, count: ir.Value, target: ir.Value, value: Callable[[ir.Value, int], ir.Value]
    ) -> None:
        """Store `count` elements from `target` on: in long vectors, in vectors, and one by one."""
        done = self.index(0)
        for lanes in dict.fromkeys((self.lanes * UNROLL, self.lanes, 1)):
            end = arith.subi(count, arith.remui(count, self.index(lanes)))

            def step(at: ir.Value, registers: list[ir.Value], lanes: int = lanes):
                self.store(value(at, lanes), self.result, arith.addi(target, at))
                return registers

            self.loop((done, end), [], step, step=lanes)
            done = end
            if self.shape.inner % lanes == 0:
                return


def extend_cache_shape(
    past: tuple[Size, ...], count: Size, size: Size, axis: int, shared: bool, lanes: int
) -> ExtendCacheShape:
    """The kernel's shape to extend a tensor of shape `past`, whose other sizes than the batch and
    the rows are static, by `count` rows to `size` rows along `axis`."""
    outer, inner = (_product(part) for part in (past[1:axis], past[axis + 1 :]))
    return ExtendCacheShape(past[0], outer, past[axis], count, size, inner, shared, lanes)


def _product(sizes: tuple[Size, ...]) -> int:
    total = 1
    for size in sizes:
        assert isinstance(size, int)
        total *= size
    return total
