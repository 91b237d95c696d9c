"""Slices whose elements lie apart, which are read at computed places."""

from dataclasses import dataclass
from typing import Any

from ..dialects import iree
from ..mlir import ir
from .base import FUNCTION, Pass, PassState
from .graph_to_linalg.aliasing import all_ops, kernel_of
from .graph_to_linalg.dispatch import VIEWS
from .registry import register


@register
@dataclass(frozen=True)
class StoreStridedSlices(Pass):
    """Store slices whose elements lie apart before single ones are read.

    %1 = tensor.extract_slice %0[0] [%n] [2]
    %2 = linalg.generic { tensor.extract %1[%i] }
    -->
    %1 = tensor.extract_slice %0[0] [%n] [2]
    %2 = iree_tensor_ext.compute_barrier.end %1
    %3 = linalg.generic { tensor.extract %2[%i] }

    The backend would read several elements at once through the slice, and fails where they do not
    lie side by side.
    """

    name = "store-strided-slices"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in list(all_ops(op.entry_block)):
            if each.name == "tensor.extract_slice" and _has_step(each) and kernel_of(each) is None:
                _store(each)


def _store(op: ir.Operation) -> None:
    readers = [(use.owner.operation, use.operand_number) for use in op.result.uses]
    if any(_is_read_by_element(reader) for reader, _ in readers):
        with ir.InsertionPoint.after(op), op.location:
            stored = iree.compute_barrier(op.result, iree.dynamic_sizes(op.result))
        for reader, position in readers:
            reader.operands[position] = stored


def _has_step(op: ir.Operation) -> bool:
    """Whether the elements of a row are apart: by steps, or as one of each row of the source."""
    sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])) for name in ("sizes", "strides")
    )
    source = ir.RankedTensorType(op.operands[0].type).shape
    apart = False
    for size, stride, extent in zip(*map(reversed, (sizes, strides, source)), strict=True):
        if size != 1:
            return apart or stride != 1
        apart = apart or extent != 1
    return False


def _is_read_by_element(reader: ir.Operation) -> bool:
    if reader.name in VIEWS:
        return any(_is_read_by_element(use.owner.operation) for use in reader.result.uses)
    return reader.name == "tensor.extract"
