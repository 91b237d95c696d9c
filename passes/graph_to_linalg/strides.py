"""Slices of every other element, or of fewer, which are read at computed places."""

from ...dialects import iree
from ...mlir import ir
from .aliasing import all_ops, kernel_of
from .dispatch import VIEWS


def store_strided_slices(block: ir.Block) -> None:
    """Store those slices within `block` before they are read.

    The backend would read several elements at once through the slice, and fails where they do not
    lie side by side.
    """
    for op in list(all_ops(block)):
        if op.name == "tensor.extract_slice" and _has_step(op) and kernel_of(op) is None:
            readers = [(use.owner.operation, use.operand_number) for use in op.result.uses]
            if any(_is_read_by_element(reader) for reader, _ in readers):
                with ir.InsertionPoint.after(op), op.location:
                    stored = iree.compute_barrier(op.result, iree.dynamic_sizes(op.result))
                for reader, position in readers:
                    reader.operands[position] = stored


def _has_step(op: ir.Operation) -> bool:
    """Whether the elements of a row are apart."""
    strides = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    return bool(strides) and strides[-1] != 1


def _is_read_by_element(reader: ir.Operation) -> bool:
    if reader.name in VIEWS:
        return any(_is_read_by_element(use.owner.operation) for use in reader.result.uses)
    return reader.name == "tensor.extract"
