"""Writing rows into a tensor in place, for each batch from a position of its own on."""

from dataclasses import dataclass

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref
from .emitter import VectorEmitter
from .sizes import Index

Size = int | Dim


@dataclass(frozen=True)
class TensorScatterShape:
    """Rows ``[batch, outer, count, inner]`` that are written to ``[batch, outer, room, inner]``."""

    batch: Size
    outer: int
    count: Size
    room: Size
    inner: int
    shared: bool
    """True if one position serves all batches."""
    cache_batches: Size | None
    """Batches of the tensor, of which those to write to are given; None if they are all."""
    lanes: int

    flops = 0

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        given = (self.batch, self.count, self.room, self.cache_batches)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def workgroups(self) -> int:
        """One for each batch, if their number is known."""
        assert isinstance(self.batch, int)
        return self.batch

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        if isinstance(self.batch, int):
            return arith.constant(ir.IndexType.get(), self.batch)
        return dict(zip(self.sizes, dynamic, strict=True))[self.batch]


class TensorScatterEmitter(VectorEmitter):
    """Emits the kernel."""

    def __init__(
        self,
        shape: TensorScatterShape,
        updates: ir.Value,
        begin: ir.Value,
        cache_batch: ir.Value | None,
        memory: ir.Value,
    ):
        super().__init__(shape.lanes, ir.MemRefType(memory.type).element_type)
        self.shape, self.updates, self.begin, self.memory = shape, updates, begin, memory
        self.cache_batch = cache_batch

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit the rows of batch `workgroup_id`."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        count, room = (
            known[size] if isinstance(size, Dim) else size for size in (shape.count, shape.room)
        )
        which = self.index(0) if shape.shared else workgroup_id
        first = arith.index_cast(ir.IndexType.get(), memref.load(self.begin, [which]))
        blocks = self.times(workgroup_id, shape.outer)
        written = blocks
        if self.cache_batch is not None:
            assert shape.cache_batches is not None
            held = shape.cache_batches
            batches = known[held] if isinstance(held, Dim) else held
            number = self.index_below(self.cache_batch, workgroup_id, batches)
            written = self.times(number, shape.outer)

        def block(number: ir.Value) -> None:
            source, target = self.add(blocks, number), self.add(written, number)
            self.repeat(0, count, lambda row: self._row((source, target), row, first, count, room))

        self.repeat(0, shape.outer, block)

    def _row(
        self,
        blocks: tuple[ir.Value, ir.Value],
        row: ir.Value,
        first: ir.Value,
        count: Index,
        room: Index,
    ) -> None:
        """Copy row `row` of the first of two blocks to the second, unless it would lie outside of
        the room."""
        position = self.add(first, row)
        inside = arith.cmpi(arith.CmpIPredicate.ult, position, self.index(room))
        source = self._start(blocks[0], row, count)
        target = self._start(blocks[1], position, room)

        def copy() -> None:
            whole = self.shape.inner // self.lanes * self.lanes
            for start in range(0, whole, self.lanes):
                value = self.load(self.updates, self.add(source, start))
                self.store(value, self.memory, self.add(target, start))
            for start in range(whole, self.shape.inner):
                element = memref.load(self.updates, [self.add(source, start)])
                memref.store(element, self.memory, [self.add(target, start)])

        self.choose(inside, copy, lambda: None)

    def _start(self, block: ir.Value, row: ir.Value, rows: Index) -> ir.Value:
        """The first element of row `row` of a block of `rows`."""
        return self.times(self.add(self.times(block, rows), row), self.shape.inner)


MAX_INNER = 1024
"""Maximum elements of a row, whose copy is unrolled."""


def tensor_scatter_shape(
    shape: tuple[Size, ...],
    updates: tuple[Size, ...],
    axis: int,
    shared: bool,
    is_indexed: bool,
    lanes: int,
) -> TensorScatterShape | None:
    """The kernel's shape to write `updates` along `axis` to a tensor of `shape`, to batches that
    are given if it `is_indexed`; None if other sizes than the batch and the room are dynamic, or
    rows are long."""
    outer, inner = shape[1:axis], shape[axis + 1 :]
    outer_count, inner_count = (graph.element_count(part) for part in (outer, inner))
    if isinstance(outer_count, Dim) or isinstance(inner_count, Dim):
        return None
    if not 0 < inner_count <= MAX_INNER:
        return None
    return TensorScatterShape(
        updates[0], outer_count, updates[axis], shape[axis], inner_count, shared,
        shape[0] if is_indexed else None, lanes,
    )  # fmt: skip
