"""Where the elements of a tensor are that slices, transposes and reshapes make from another one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...mlir import ir


@dataclass(frozen=True)
class StridedView:
    """Element ``[i, j, ...]`` is the one at ``offset + i * strides[0] + j * strides[1] + ...`` of
    `source` in row-major order."""

    source: ir.Value
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def strided_view(value: ir.Value) -> StridedView:
    """The view that the tensor `value`, of static shape, is of the first tensor before it that no
    op that only moves elements makes."""
    sizes = tuple(ir.RankedTensorType(value.type).shape)
    plain = StridedView(value, 0, sizes, row_major(sizes))
    if isinstance(value.owner, ir.Block):
        return plain
    op = value.owner.operation
    if op.name not in _RULES or not ir.RankedTensorType(op.operands[0].type).has_static_shape:
        return plain
    found = _RULES[op.name](op, strided_view(op.operands[0]))
    return plain if found is None else found


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of `sizes` in memory."""
    return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def _transpose(op: ir.Operation, view: StridedView) -> StridedView:
    order = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
    sizes, strides = view.sizes, view.strides
    return replace(
        view, sizes=tuple(sizes[i] for i in order), strides=tuple(strides[i] for i in order)
    )


def _extract_slice(op: ir.Operation, view: StridedView) -> StridedView | None:
    starts, sizes, steps = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if len(op.operands) > 1:  # something is dynamic
        return None
    offset = view.offset + sum(a * b for a, b in zip(starts, view.strides, strict=True))
    strides = [a * b for a, b in zip(steps, view.strides, strict=True)]
    wanted = list(ir.RankedTensorType(op.results[0].type).shape)
    kept: list[tuple[int, int]] = []
    dropped = len(sizes) - len(wanted)
    for size, stride in zip(sizes, strides, strict=True):
        if dropped and size == 1 and wanted[len(kept) : len(kept) + 1] != [1]:
            dropped -= 1
        else:
            kept.append((size, stride))
    if [size for size, _ in kept] != wanted:
        return None
    return replace(
        view, offset=offset, sizes=tuple(wanted), strides=tuple(stride for _, stride in kept)
    )


def _expand_shape(op: ir.Operation, view: StridedView) -> StridedView:
    shape = list(ir.RankedTensorType(op.results[0].type).shape)
    strides: list[int] = []
    for group, stride in zip(_reassociation(op), view.strides, strict=True):
        strides += [stride * inner for inner in row_major([shape[axis] for axis in group])]
    return replace(view, sizes=tuple(shape), strides=tuple(strides))


def _collapse_shape(op: ir.Operation, view: StridedView) -> StridedView | None:
    sizes, strides = list[int](), list[int]()
    for group in _reassociation(op):
        axes = [(view.sizes[axis], view.strides[axis]) for axis in group if view.sizes[axis] != 1]
        inner = axes[-1][1] if axes else 0
        count = 1
        for size, stride in reversed(axes):
            if stride != inner * count:
                return None
            count *= size
        sizes.append(count)
        strides.append(inner)
    return replace(view, sizes=tuple(sizes), strides=tuple(strides))


def _reassociation(op: ir.Operation) -> list[list[int]]:
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    return [[ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)] for group in groups]


_RULES = {
    "linalg.transpose": _transpose,
    "tensor.extract_slice": _extract_slice,
    "tensor.expand_shape": _expand_shape,
    "tensor.collapse_shape": _collapse_shape,
}
