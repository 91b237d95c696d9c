"""The op of IREE's ``iree_tensor_ext`` dialect that keeps what stands before it from what comes
after."""

from collections.abc import Sequence

from ...mlir import ir


def compute_barrier(x: ir.Value, sizes: Sequence[ir.Value]) -> ir.Value:
    """The tensor `x`, with dynamic `sizes`, computed and stored before anything that uses it.

    Nothing is fused or moved across. The device goes on by itself, while for a
    ``util.optimization_barrier`` the host would wait. Like ``flow.dispatch.region``, it is created
    without a definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    op = ir.Operation.create(
        "iree_tensor_ext.compute_barrier.end", results=[x.type], operands=[x, *sizes]
    )
    return op.result
