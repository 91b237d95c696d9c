"""The axes of operands that are broadcast at run time, or repeated, and their expansion by a
kernel."""

from collections.abc import Mapping, Sequence

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.broadcast import BroadcastEmitter
from ..kernels.broadcast_shape import (
    LANES,
    VECTOR_BYTES,
    AxisAccess,
    BroadcastOperand,
    BroadcastRows,
    DynamicSize,
    Extent,
)
from .kernel_calls import run_emitter
from .lowering import Lowering, Size

ONE = AxisAccess("one")
MASKED_BYTES = 4
"""Bytes of the least elements that all CPUs load in masked vectors."""


def has_expansion_kernel(ctx: Lowering, type_: graph.TensorType) -> bool:
    """Return whether `expand_by_kernel` makes tensors of `type_`."""
    has_vectors = ctx.cpu.has_vectors and not (ctx.gpu or ctx.in_kernel)
    return has_vectors and type_.rank > 0 and 0 not in type_.shape


def expand_by_kernel(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, result: graph.TensorType
) -> ir.Value:
    """`x`, of the type `source`, broadcast to `result`, along axes that the run decides."""
    padded: PaddedOperand = [(1, 1)] * (result.rank - source.rank)
    padded += [(size, 1) for size in source.shape]
    layout = BroadcastLayout(result, [padded], [source])
    shape = layout.rows()
    return run_emitter(
        ctx, "expand", shape, (), [(x, source)], [result], layout.dynamic,
        lambda *buffers: BroadcastEmitter(shape, buffers, lambda elements, lanes: elements[0]),
    )  # fmt: skip


PaddedOperand = list[tuple[Size, int]]
"""The size of an operand along each axis of the result, and how often its elements are repeated."""


def padded_operand(
    value: ir.Value, repeats: Mapping[ir.Value, graph.RepeatOp], rank: int
) -> PaddedOperand:
    """The operand `value`, or what is repeated to make it, of a result of this `rank`."""
    op = repeats.get(value)
    shape = graph.type_of(value if op is None else op.x).shape
    counts = [1] * len(shape) if op is None else op.repeats
    return [(1, 1)] * (rank - len(shape)) + list(zip(shape, counts, strict=True))


class BroadcastLayout:
    """The axes of a result and its operands, merged where all are contiguous."""

    def __init__(
        self,
        result: graph.TensorType,
        operands: Sequence[PaddedOperand],
        types: Sequence[graph.TensorType],
    ):
        """`types` are those of the operands."""
        self.dynamic: list[Dim] = []
        """The sizes that are scalars of the kernel."""
        self._itemsizes = [each.dtype.itemsize for each in (result, *types)]
        self._sizes: list[Size] = []
        self._extents: list[list[Size]] = [[] for _ in operands]
        self._accesses: list[list[AxisAccess]] = [[] for _ in operands]
        for axis, size in enumerate(result.shape):
            if size != 1 or axis == result.rank - 1:
                along = [operand[axis] for operand in operands]
                self._add(size, [n for n, _ in along], [_access(*each, size) for each in along])

    def _add(self, size: Size, extents: Sequence[Size], accesses: Sequence[AxisAccess]) -> None:
        """Add an axis, to the axis before if it can be merged with that."""
        merges = bool(self._sizes) and all(
            access.is_plain and access == before[-1]
            for access, before in zip(accesses, self._accesses, strict=True)
        )
        if not merges:
            for each in (self._sizes, *self._extents):
                each.append(1)
        self._sizes[-1] = self._sizes[-1] * size
        for number, (extent, access) in enumerate(zip(extents, accesses, strict=True)):
            self._extents[number][-1] = self._extents[number][-1] * extent
            if not merges:
                self._accesses[number].append(access)

    def rows(self) -> BroadcastRows:
        """The shape of the kernel."""
        operands = [
            BroadcastOperand(tuple(map(self._extent, extents)), tuple(accesses))
            for extents, accesses in zip(self._extents, self._accesses, strict=True)
        ]
        return BroadcastRows(
            tuple(map(self._extent, self._sizes)),
            tuple(operands),
            max(LANES, VECTOR_BYTES // max(self._itemsizes)),
            min(self._itemsizes) >= MASKED_BYTES,
        )

    def _extent(self, size: Size) -> Extent:
        if isinstance(size, int):
            return size
        if size not in self.dynamic:
            self.dynamic.append(size)
        return DynamicSize(self.dynamic.index(size))


def _access(size: Size, repeats: int, wanted: Size) -> AxisAccess:
    """The access to an operand of `size` elements, each repeated, along an axis of `wanted`."""
    if size == 1:
        return ONE
    return AxisAccess("whole" if size * repeats == wanted else "either", repeats)
