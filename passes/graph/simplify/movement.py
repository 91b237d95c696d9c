"""Data movements that do nothing, and two in a row that become one. All are exact."""

from typing import Any

from ....dialects import graph
from ...analysis.permutations import compose, moves_only_units
from ...infra.query import producer, same_type
from ...infra.rewrite import rewrite


@rewrite(graph.TransposeOp)
def identity_transpose(op: graph.TransposeOp) -> Any:
    """``transpose(x) {perm = [0, 1, ...]}  -->  x``."""
    perm = op.attrs["perm"]
    return op.x if perm == tuple(range(len(perm))) else None


@rewrite(graph.TransposeOp)
def transpose_of_transpose(op: graph.TransposeOp) -> Any:
    """``transpose(transpose(x))  -->  transpose(x)`` by both permutations."""
    inner = producer(op.x, graph.TransposeOp)
    if inner is None:
        return None
    return graph.transpose(inner.x, perm=compose(inner.attrs["perm"], op.attrs["perm"]))


@rewrite(graph.TransposeOp)
def transpose_of_unit_axes(op: graph.TransposeOp) -> Any:
    """``transpose(x)  -->  reshape(x)`` if the order of all axes longer than 1 stays."""
    if not moves_only_units(graph.type_of(op.x).shape, op.attrs["perm"]):
        return None
    return graph.reshape(op.x, shape=graph.type_of(op.operation.results[0]).shape)


@rewrite(graph.ReshapeOp)
def identity_reshape(op: graph.ReshapeOp) -> Any:
    """``reshape(x) to the shape of x  -->  x``."""
    return op.x if same_type(op.x, op.operation.results[0]) else None


@rewrite(graph.ReshapeOp)
def reshape_of_reshape(op: graph.ReshapeOp) -> Any:
    """``reshape(reshape(x))  -->  reshape(x)`` to the outer shape."""
    inner = producer(op.x, graph.ReshapeOp)
    return graph.reshape(inner.x, shape=op.attrs["shape"]) if inner is not None else None


@rewrite(graph.ExpandOp)
def identity_expand(op: graph.ExpandOp) -> Any:
    """``expand(x) to the shape of x  -->  x``."""
    return op.x if same_type(op.x, op.operation.results[0]) else None


@rewrite(graph.ExpandOp)
def expand_of_expand(op: graph.ExpandOp) -> Any:
    """``expand(expand(x))  -->  expand(x)`` to the outer shape."""
    inner = producer(op.x, graph.ExpandOp)
    return graph.expand(inner.x, shape=op.attrs["shape"]) if inner is not None else None


REWRITES = (
    identity_transpose,
    transpose_of_transpose,
    transpose_of_unit_axes,
    identity_reshape,
    reshape_of_reshape,
    identity_expand,
    expand_of_expand,
)
