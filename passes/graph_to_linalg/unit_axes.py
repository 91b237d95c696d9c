"""Unit axes of tensors that are inserted into a filled tensor.

IREE drops these axes from the inserted tensor, and then miscomputes the larger tensor in two cases:

* A convolution or pool and the insertion of its result into a ``linalg.fill`` are one dispatch,
  which writes into the larger tensor. There an axis for the batch is added again and folded into
  the type of the larger tensor (IREE 3.13, ``Codegen/Common/ReshapePatterns.cpp``,
  ``FoldCollapseShapeIntoInterfaceTensorStoreFullSlice``), whose sizes are taken from its first axis
  on instead of from behind the dropped ones: [1, H, W + 1, C] becomes [1, 1, H, H, W + 1]. Nothing
  is folded, and all is well, where H has a border, too, or where no leading axis is dropped.
* An insertion of an insertion, into the same number both, becomes one with the sum of the offsets
  (``DispatchCreation/FusionPreprocessing.cpp``, ``FoldSuccessiveTensorInsertSliceOps``); these are
  not as many where axes were dropped from one of the two. With two numbers, both may end up in one
  dispatch, which the backend fails at.
"""

from collections.abc import Iterator, Sequence

from ...dialects import iree
from ...mlir import ir, tensor
from .dispatch import VIEWS, is_windowed, origin


def common_ones(x: ir.Value, into: ir.Value) -> list[int]:
    """The common unit axes of `x` and the filled tensor `into`, but at least one axis is left."""
    if not _is_filled(into):
        return []
    ones = [axis for axis, sizes in enumerate(_sizes(x, into)) if sizes == (1, 1)]
    return ones[: ir.RankedTensorType(x.type).rank - 1]


def is_stored_before(x: ir.Value, into: ir.Value) -> bool:
    """Return whether `x` must be materialized before its insertion into the filled `into`."""
    if not _is_filled(into):
        return False
    first = next(_sizes(x, into))
    return _is_inserted(x) or (first[0] == 1 != first[1] and is_windowed(x))


def _is_inserted(x: ir.Value) -> bool:
    """Return whether `x` is an insertion; transposes that move only unit axes count as views."""
    x = origin(x, VIEWS)
    while _is_from(x, "linalg.transpose") and _moves_ones(ir.OpResult(x).owner.operation):
        x = origin(ir.OpResult(x).owner.operands[0], VIEWS)
    return _is_from(x, "tensor.insert_slice")


def _moves_ones(transpose: ir.Operation) -> bool:
    shape = ir.RankedTensorType(transpose.operands[0].type).shape
    axes = ir.DenseI64ArrayAttr(transpose.attributes["permutation"])
    long = [axis for axis in axes if shape[axis] != 1]
    return long == sorted(long)


def _is_filled(x: ir.Value) -> bool:
    return _is_from(origin(x, VIEWS), "linalg.fill")


def _is_from(x: ir.Value, name: str) -> bool:
    return not isinstance(x.owner, ir.Block) and x.owner.operation.name == name


def _sizes(x: ir.Value, into: ir.Value) -> Iterator[tuple[int, int]]:
    return zip(ir.RankedTensorType(x.type).shape, ir.RankedTensorType(into.type).shape, strict=True)


def without_axes(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """`x` without the unit axes `axes`."""
    type_ = ir.RankedTensorType(x.type)
    shape = [size for axis, size in enumerate(type_.shape) if axis not in axes]
    inner = ir.RankedTensorType.get(shape, type_.element_type)
    return tensor.collapse_shape(inner, x, _groups(axes, type_.rank))


def with_axes(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """`x` with unit axes inserted at `axes` of the result."""
    type_ = ir.RankedTensorType(x.type)
    shape = type_.shape
    for axis in axes:
        shape.insert(axis, 1)
    outer = ir.RankedTensorType.get(shape, type_.element_type)
    groups, sizes = _groups(axes, len(shape)), iree.dynamic_sizes(x)
    return tensor.expand_shape(outer, x, groups, sizes, shape)


def _groups(axes: Sequence[int], rank: int) -> list[list[int]]:
    """The reassociation that merges `axes` into the next other axis, or at the end into the
    last."""
    kept = [axis for axis in range(rank) if axis not in axes]
    starts = [0, *(axis + 1 for axis in kept[:-1])]
    return [
        list(range(start, stop)) for start, stop in zip(starts, [*starts[1:], rank], strict=True)
    ]
