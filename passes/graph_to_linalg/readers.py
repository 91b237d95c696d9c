"""The readers of a value."""

from ...dialects import graph
from ...mlir import ir


def is_read_by_kernels(value: ir.Value) -> bool:
    """Return whether kernels or the caller alone read `value`: nothing that the backend would fuse
    with its computation."""
    users = [use.owner for use in value.uses]
    return bool(users) and all(
        user.operation.name == "func.return"
        or isinstance(graph.graph_op(user), graph.KernelContraction)
        for user in users
    )
