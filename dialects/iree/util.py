"""The optimization barrier of IREE's ``util`` dialect."""

from ...mlir import ir


def optimization_barrier(x: ir.Value) -> ir.Value:
    """`x`, a scalar or a tensor of static sizes, opaque to the optimizer from here on.

    The host waits for it. Like ``flow.dispatch.region``, it is created without a definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Operation.create("util.optimization_barrier", results=[x.type], operands=[x]).result
