"""Axes of one element, around what is inserted into a filled tensor.

IREE drops them from what is inserted, and loses its way in the larger tensor, twice:

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
    """The axes of which `x` and the filled tensor `into` have one element; not all axes."""
    if not _is_filled(into):
        return []
    ones = [axis for axis, sizes in enumerate(_sizes(x, into)) if sizes == (1, 1)]
    return ones[: ir.RankedTensorType(x.type).rank - 1]


def is_stored_before(x: ir.Value, into: ir.Value) -> bool:
    """True if `x` must be stored before it is inserted into the filled tensor `into`."""
    if not _is_filled(into):
        return False
    first = next(_sizes(x, into))
    return _is_inserted(x) or (first[0] == 1 != first[1] and is_windowed(x))


def _is_inserted(x: ir.Value) -> bool:
    """True if `x` is the result of an insertion; transposes that move unit axes count as views."""
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
    """`x` without `axes`, of one element each."""
    type_ = ir.RankedTensorType(x.type)
    shape = [size for axis, size in enumerate(type_.shape) if axis not in axes]
    inner = ir.RankedTensorType.get(shape, type_.element_type)
    return tensor.collapse_shape(inner, x, _groups(axes, type_.rank))


def with_axes(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """`x` with `axes` of one element each, at their places in the result."""
    type_ = ir.RankedTensorType(x.type)
    shape = type_.shape
    for axis in axes:
        shape.insert(axis, 1)
    outer = ir.RankedTensorType.get(shape, type_.element_type)
    groups, sizes = _groups(axes, len(shape)), iree.dynamic_sizes(x)
    return tensor.expand_shape(outer, x, groups, sizes, shape)


def _groups(axes: Sequence[int], rank: int) -> list[list[int]]:
    """Each other axis, together with those of `axes` before it; the last with those behind it."""
    kept = [axis for axis in range(rank) if axis not in axes]
    starts = [0, *(axis + 1 for axis in kept[:-1])]
    return [
        list(range(start, stop)) for start, stop in zip(starts, [*starts[1:], rank], strict=True)
    ]
