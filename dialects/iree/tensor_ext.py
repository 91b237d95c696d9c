"""The compute barrier of IREE's ``iree_tensor_ext`` dialect."""

from collections.abc import Sequence

from ...mlir import ir


def compute_barrier(x: ir.Value, sizes: Sequence[ir.Value]) -> ir.Value:
    """The tensor `x`, with dynamic `sizes`, materialized before its users run.

    Nothing is fused or moved across. The device does not wait for the host, unlike with a
    ``util.optimization_barrier``. Like ``flow.dispatch.region``, it is created without a
    definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    op = ir.Operation.create(
        "iree_tensor_ext.compute_barrier.end", results=[x.type], operands=[x, *sizes]
    )
    return op.result
