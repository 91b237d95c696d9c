"""The op of IREE's ``util`` dialect that hides where a value comes from."""

from ...mlir import ir


def optimization_barrier(x: ir.Value) -> ir.Value:
    """`x`, a scalar or a tensor whose type says its sizes, of which nothing is known after this.

    The host waits for it. Like ``flow.dispatch.region``, it is created without a definition.
    """
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Operation.create("util.optimization_barrier", results=[x.type], operands=[x]).result
