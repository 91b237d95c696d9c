"""Starts of slices that kernels take as arguments, because kernels are equal but for them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...mlir import ir, tensor
from ..graph_to_linalg.aliasing import kernel_of, ops_within
from ..graph_to_linalg.dispatch import VIEWS, origin
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .hidden_constants import HiddenConstants

FEWEST = 4
"""Different starts from which on they become arguments. A kernel takes 40 ms to compile."""
_DYNAMIC = ir.ShapedType.get_dynamic_size()


@register
@dataclass(frozen=True)
class VaryingStarts(Pass):
    """Hide from the backend where slices start that are equal otherwise.

    %1 = tensor.extract_slice %0[0, 5] [8, 1] [1, 1]
    -->
    %c5 = util.optimization_barrier 5
    %1 = tensor.extract_slice %0[0, %c5] [8, 1] [1, 1]

    The backend computes a slice in the kernel that reads it, and compiles a kernel for each start.
    An exporter that unrolls a recurrence slices each step from the whole sequence. Now starts are
    arguments of one kernel. An axis along which all start alike keeps its constant. Slices of
    constants keep all: the backend computes them once, when it compiles. So do contiguous ones that
    kernels of ours read, in place.
    """

    name = "linalg-varying-starts"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        groups = defaultdict[object, list[ir.Operation]](list)
        for each in ops_within(op.operation):
            if _is_computed_slice(each):
                groups[_form(each)].append(each)
        hidden = HiddenConstants(op.entry_block)
        for slices in groups.values():
            starts = [_static(each, "offsets") for each in slices]
            if len(set(starts)) >= FEWEST:
                axes = [len(set(column)) > 1 for column in zip(*starts, strict=True)]
                for each in slices:
                    _replace(each, axes, hidden)


def _is_computed_slice(op: ir.Operation) -> bool:
    """Return whether a kernel of the backend computes `op`, a slice of something that is no
    constant."""
    if op.name != "tensor.extract_slice" or kernel_of(op) is not None:
        return False
    source = origin(op.operands[0], VIEWS).owner
    is_constant = not isinstance(source, ir.Block) and source.operation.name == "arith.constant"
    return not is_constant and (not _is_contiguous(op) or _has_loops_alone(op.results[0]))


def _is_contiguous(op: ir.Operation) -> bool:
    """Return whether the slice `op` may be one run of memory: behind the first axis of several
    elements, it has all of each axis."""
    extents = ir.RankedTensorType(op.operands[0].type).shape
    sizes = _static(op, "sizes")
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    return sizes[first + 1 :] == tuple(extents[first + 1 :])


def _has_loops_alone(x: ir.Value) -> bool:
    """Return whether all that reads `x`, in any shape, are loops of the backend."""
    readers = [use.owner.operation for use in x.uses]
    return all(
        _has_loops_alone(each.results[0]) if each.name in VIEWS else each.name.startswith("linalg.")
        for each in readers
    )


def _form(op: ir.Operation) -> object:
    """All of a slice but its static starts."""
    moving = tuple(start == _DYNAMIC for start in _static(op, "offsets"))
    types = (op.operands[0].type, op.results[0].type)
    return *map(str, types), moving, _static(op, "sizes"), _static(op, "strides")


def _static(op: ir.Operation, name: str) -> tuple[int, ...]:
    return tuple(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))


def _replace(op: ir.Operation, axes: Sequence[bool], hidden: HiddenConstants) -> None:
    """Hide the static starts of the slice `op` along the axes that `axes` marks."""
    view = op.opview
    assert isinstance(view, tensor.ExtractSliceOp)
    given, values = iter(view.offsets), list[ir.Value]()
    starts = list(_static(op, "offsets"))
    for axis, (start, is_hidden) in enumerate(zip(starts, axes, strict=True)):
        if start == _DYNAMIC:
            values.append(next(given))
        elif is_hidden:
            values.append(hidden[ir.IntegerAttr.get(ir.IndexType.get(), start)])
            starts[axis] = _DYNAMIC
    with ir.InsertionPoint(op), op.location:
        moved = tensor.extract_slice(
            op.results[0].type, op.operands[0], values, list(view.sizes), list(view.strides),
            starts, list(_static(op, "sizes")), list(_static(op, "strides")),
        )  # fmt: skip
    op.results[0].replace_all_uses_with(moved)
    op.erase()
