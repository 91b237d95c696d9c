"""Powers with an exponent that has an op of its own."""

from typing import Any

from ....dialects import graph
from ....dialects.graph.types import is_float
from ...infra.rewrite import rewrite
from .operands import right_scalar


@rewrite(graph.PowOp)
def pow_one(op: graph.BinaryOp) -> Any:
    """``x ** 1  -->  x``. Exact."""
    return op.a if right_scalar(op) == 1 else None


@rewrite(graph.PowOp)
def pow_two(op: graph.BinaryOp) -> Any:
    """``x ** 2  -->  x * x``. Exact wherever the power is rounded correctly."""
    return graph.mul(op.a, op.a) if right_scalar(op) == 2 else None


@rewrite(graph.PowOp)
def pow_half(op: graph.BinaryOp) -> Any:
    """``x ** 0.5  -->  sqrt(x)``. One rounding; the square root of ``-0.0`` is ``-0.0``, and that
    of minus infinity is NaN where the power is plus infinity."""
    return graph.sqrt(op.a) if right_scalar(op) == 0.5 else None


@rewrite(graph.PowOp)
def pow_minus_one(op: graph.BinaryOp) -> Any:
    """``x ** -1  -->  reciprocal(x)``, for floats. One rounding."""
    floats = is_float(graph.type_of(op.a).dtype)
    return graph.reciprocal(op.a) if floats and right_scalar(op) == -1 else None


REWRITES = (pow_one, pow_two, pow_half, pow_minus_one)
