"""Selections that are decided at compile time, and consecutive bounds. All are exact."""

from typing import Any

import numpy as np

from ....dialects import graph
from ...infra.query import constant_array, has_one_use, producer, same_type
from ...infra.rewrite import Rewrite, rewrite
from .operands import scalar_constant, scalar_operand


@rewrite(graph.WhereOp)
def where_decided(op: graph.WhereOp) -> Any:
    """``where(true, a, b)  -->  a``, ``where(false, a, b)  -->  b``, expanded if they broadcast;
    and ``where(c, a, a)  -->  a``."""
    if op.a == op.b:
        return _as_result(op, op.a)
    condition = constant_array(op.condition)
    if condition is None or condition.size == 0:
        return None
    if condition.all():
        return _as_result(op, op.a)
    return _as_result(op, op.b) if not condition.any() else None


@rewrite(graph.IfOp)
def if_of_one_value(op: graph.IfOp) -> Any:
    """``if(c) { a } else { a }  -->  a``, of values from outside. (The backend would merge the
    branches, and lose what they yield.)"""
    then, otherwise = (list(graph.terminator(body).operands) for body in op.bodies)
    alike = then == otherwise and all(map(same_type, then, op.operation.results))
    return then if alike else None


@rewrite(graph.ReluOp)
def relu_of_relu(op: graph.UnaryOp) -> Any:
    """``relu(relu(x))  -->  relu(x)``."""
    return op.x if producer(op.x, graph.ReluOp) is not None else None


@rewrite(graph.MaxOp)
def max_zero_to_relu(op: graph.BinaryOp) -> Any:
    """``max(x, 0)  -->  relu(x)``. A ``-0.0`` may become ``0.0``."""
    found = scalar_operand(op)
    return graph.relu(found[0]) if found is not None and found[1] == 0 else None


@rewrite(graph.ReluOp)
def relu_of_max(op: graph.UnaryOp) -> Any:
    """``relu(max(x, c))  -->  relu(x)`` for ``c <= 0``."""
    inner = producer(op.x, graph.MaxOp)
    found = scalar_operand(inner) if inner is not None else None
    return graph.relu(found[0]) if found is not None and found[1] <= 0 else None


class BoundChain(Rewrite):
    """``max(max(x, c), d)  -->  max(x, max(c, d))``, and the same for min."""

    name = "bound-chain"
    root = (graph.MaxOp, graph.MinOp)

    def pattern(self, op: graph.BinaryOp) -> dict[str, Any] | None:
        outer = scalar_operand(op)
        if outer is None or not has_one_use(outer[0]):
            return None
        inner_op = producer(outer[0], type(op))
        inner = scalar_operand(inner_op) if inner_op is not None else None
        return None if inner is None else {"x": inner[0], "c": inner[1], "d": outer[1]}

    def rewrite(self, op: graph.BinaryOp, x: Any, c: Any, d: Any) -> Any:
        if isinstance(op, graph.MaxOp):
            return graph.max_(x, scalar_constant(np.maximum(c, d), x))
        return graph.min_(x, scalar_constant(np.minimum(c, d), x))


@rewrite(graph.MaxOp)
def max_of_relu(op: graph.BinaryOp) -> Any:
    """``max(relu(x), c)  -->  relu(x)`` for ``c <= 0``, and ``max(x, c)`` for ``c > 0``."""
    found = scalar_operand(op)
    inner = producer(found[0], graph.ReluOp) if found is not None else None
    if inner is None:
        return None
    x, c = found  # type: ignore[misc]
    if c <= 0:
        return x
    return graph.max_(inner.x, scalar_constant(c, x)) if c > 0 and has_one_use(x) else None


def _as_result(op: Any, value: Any) -> Any:
    result = op.operation.results[0]
    if same_type(value, result):
        return value
    return graph.expand(value, shape=graph.type_of(result).shape)


REWRITES = (
    where_decided,
    if_of_one_value,
    relu_of_relu,
    relu_of_max,
    BoundChain(),
    max_zero_to_relu,
    max_of_relu,
)
