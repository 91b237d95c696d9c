"""The op of IREE's ``util`` dialect that keeps what stands before it from what comes after."""

from collections.abc import Sequence

from ...mlir import ir


def optimization_barrier(x: ir.Value, sizes: Sequence[ir.Value]) -> ir.Value:
    """`x`, with dynamic `sizes`, computed and stored before anything that uses it.

    Like ``flow.dispatch.region``, it is created without a definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    op = ir.Operation.create("util.optimization_barrier", results=[x.type], operands=[x])
    if not sizes:
        return op.result
    # The barrier hides the sizes as well.
    tied = ir.Operation.create(
        "flow.tensor.tie_shape", results=[x.type], operands=[op.result, *sizes]
    )
    return tied.result
