"""The op of IREE's ``util`` dialect that keeps what stands before it from what comes after."""

from ...mlir import ir


def optimization_barrier(x: ir.Value) -> ir.Value:
    """`x`, computed and stored before anything that uses it.

    Like ``flow.dispatch.region``, it is created without a definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    op = ir.Operation.create("util.optimization_barrier", results=[x.type], operands=[x])
    return op.result
