"""Slices whose elements lie apart, which are read at computed places."""

from dataclasses import dataclass
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import VIEWS, origin
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import store


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
    lie side by side. Where the elements of %0 are read one by one themselves, %0 is stored: the
    backend would compute them in the loop that reads the slice, with memory for all of them.
    """

    name = "store-strided-slices"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in list(ops_within(op.operation)):
            if _is_strided(each):
                if _reads_by_element(each.operands[0]):
                    store(each.operands[0], _is_strided)
                if any(_is_read_by_element(use.owner.operation) for use in each.result.uses):
                    store(each.result)


def _is_strided(op: ir.Operation) -> bool:
    return op.name == "tensor.extract_slice" and _has_step(op) and kernel_of(op) is None


def _reads_by_element(x: ir.Value) -> bool:
    """Whether whoever computes `x` reads single elements."""
    owner = origin(x, (*VIEWS, "linalg.transpose")).owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.generic":
        return False
    return any(op.name == "tensor.extract" for op in ops_within(owner.operation))


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
