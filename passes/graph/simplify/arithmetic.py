"""Neutral operands and operations that undo themselves."""

from typing import Any

from ....dialects import graph
from ...infra.query import constant_scalar, producer
from ...infra.rewrite import rewrite
from .operands import right_scalar, scalar_operand


@rewrite(graph.AddOp)
def add_zero(op: graph.BinaryOp) -> Any:
    """``x + 0  -->  x``, reshaped if the zero has more axes, as Paddle copies scalars. Exact, but
    ``-0.0 + 0.0`` stays ``-0.0``."""
    shape = graph.type_of(op.operation.results[0]).shape
    for x, c in ((op.a, op.b), (op.b, op.a)):
        is_whole = graph.element_count(graph.type_of(x).shape) == graph.element_count(shape)
        if is_whole and constant_scalar(c) == 0:
            return x if graph.type_of(x).shape == shape else graph.reshape(x, shape=shape)
    return None


@rewrite(graph.SubOp)
def sub_zero(op: graph.BinaryOp) -> Any:
    """``x - 0  -->  x``. Exact, but ``-0.0 - -0.0`` stays ``-0.0``."""
    return op.a if right_scalar(op) == 0 else None


@rewrite(graph.MulOp)
def mul_one(op: graph.BinaryOp) -> Any:
    """``x * 1  -->  x``. Exact."""
    found = scalar_operand(op)
    return found[0] if found is not None and found[1] == 1 else None


@rewrite(graph.DivOp)
def div_one(op: graph.BinaryOp) -> Any:
    """``x / 1  -->  x``. Exact."""
    return op.a if right_scalar(op) == 1 else None


@rewrite(graph.NegOp, graph.NotOp, graph.BitwiseNotOp)
def double_negation(op: graph.UnaryOp) -> Any:
    """``-(-x)  -->  x``, also for logical and bitwise not. Exact."""
    inner = producer(op.x, type(op))
    return inner.x if inner is not None else None


@rewrite(graph.AbsOp)
def abs_of_sign_free(op: graph.UnaryOp) -> Any:
    """``|-x|  -->  |x|`` and ``||x||  -->  |x|``. Exact."""
    if producer(op.x, graph.AbsOp) is not None:
        return op.x
    inner = producer(op.x, graph.NegOp)
    return graph.abs_(inner.x) if inner is not None else None


@rewrite(graph.AddOp)
def add_negated(op: graph.BinaryOp) -> Any:
    """``a + -b  -->  a - b``. Exact."""
    inner = producer(op.b, graph.NegOp)
    if inner is not None:
        return graph.sub(op.a, inner.x)
    inner = producer(op.a, graph.NegOp)
    return graph.sub(op.b, inner.x) if inner is not None else None


REWRITES = (
    add_zero,
    sub_zero,
    mul_one,
    div_one,
    double_negation,
    abs_of_sign_free,
    add_negated,
)
