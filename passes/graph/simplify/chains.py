"""Merging of two consecutive constants."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.graph.types import is_float, is_integer
from ...infra.query import has_one_use, producer
from ...infra.rewrite import Decline, Rewrite, rewrite
from .operands import is_finite_normal, right_scalar, scalar_constant, scalar_operand


class MulChain(Rewrite):
    """``(x * c) * d  -->  x * (c * d)``.

    Exact for integers. For floats where one of the constants is a power of two, so that there is
    one rounding either way; declined when ``c * d`` leaves the normal range, because then a finite
    result could become infinite, or lose its digits.
    """

    name = "mul-chain"
    root = graph.MulOp

    def pattern(self, op: graph.BinaryOp) -> dict[str, Any] | None:
        outer = scalar_operand(op)
        if outer is None or not has_one_use(outer[0]):
            return None
        inner_op = producer(outer[0], graph.MulOp)
        inner = scalar_operand(inner_op) if inner_op is not None else None
        return None if inner is None else {"x": inner[0], "c": inner[1], "d": outer[1]}

    def check(self, op: graph.BinaryOp, x: Any, c: Any, d: Any) -> str | None:
        return _problem(op, c, d)

    def rewrite(self, op: graph.BinaryOp, x: Any, c: Any, d: Any) -> Any:
        return graph.mul(x, scalar_constant(_product(c, d), x))


@rewrite(graph.AddOp)
def add_chain(op: graph.BinaryOp) -> Any:
    """``(x + c) + d  -->  x + (c + d)`` for integers, which wrap around alike. Exact.

    Not for floats: ``(x + 1e20) - 1e20`` is not ``x``.
    """
    outer = scalar_operand(op)
    if outer is None or not is_integer(graph.type_of(op.a).dtype) or not has_one_use(outer[0]):
        return None
    inner_op = producer(outer[0], graph.AddOp)
    inner = scalar_operand(inner_op) if inner_op is not None else None
    if inner is None:
        return None
    with np.errstate(over="ignore"):
        total = inner[1] + outer[1]
    return graph.add(inner[0], scalar_constant(total, inner[0]))


@rewrite(graph.DivOp)
def div_by_power_of_two(op: graph.BinaryOp) -> Any:
    """``x / c  -->  x * (1 / c)`` for floats where ``c`` is a power of two. Exact."""
    c = right_scalar(op)
    if c is None or not is_float(graph.type_of(op.a).dtype) or not is_finite_normal(c):
        return None
    if not _is_power_of_two(c):
        return None
    inverse = np.asarray(1 / float(c)).astype(graph.type_of(op.a).dtype)
    if not is_finite_normal(inverse):
        return Decline("the reciprocal leaves the normal range")
    return graph.mul(op.a, scalar_constant(inverse, op.a))


def _product(c: Any, d: Any) -> Any:
    with np.errstate(all="ignore"):
        return c * d


def _is_power_of_two(c: Any) -> bool:
    return abs(np.frexp(float(c))[0]) == 0.5


def _problem(op: Any, c: Any, d: Any) -> str | None:
    if is_integer(graph.type_of(op.a).dtype):
        return None
    if not is_finite_normal(_product(c, d)):
        return "the product of the constants leaves the normal range"
    if not (_is_power_of_two(c) or _is_power_of_two(d)):
        return "each product of these constants is rounded"
    return None


REWRITES = (MulChain(), add_chain, div_by_power_of_two)
