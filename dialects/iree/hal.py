"""Imports of buffers as tensors, in IREE's ``hal`` dialect."""

from collections.abc import Sequence

from ...mlir import ir


def import_tensor(buffer: ir.Value, type_: ir.Type, sizes: Sequence[ir.Value]) -> ir.Value:
    """The memory of `buffer`, a ``!hal.buffer`` that is handed over, as a tensor of `type_` with
    the dynamic `sizes`. Like ``flow.dispatch.region``, it is created without a definition."""
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Operation.create(
        "hal.tensor.import",
        results=[type_],
        operands=[buffer, *sizes],
        attributes={
            "consume": ir.UnitAttr.get(),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(sizes), 0, 0]),
            "target_encoding": ir.TypeAttr.get(type_),
        },
    ).result
