"""Queries of the simplifications about operands."""

from typing import Any

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_scalar, same_type


def right_scalar(op: Any) -> Any:
    """The scalar constant that is the second operand of `op`, if the first has the result's type.

    None otherwise: a constant of shape 1x1 may still change the rank.
    """
    return constant_scalar(op.b) if same_type(op.a, op.operation.results[0]) else None


def scalar_operand(op: Any) -> tuple[ir.Value, Any] | None:
    """The operands of a commutative op as a tensor of the result's type and a scalar constant."""
    result = op.operation.results[0]
    for x, c in ((op.a, op.b), (op.b, op.a)):
        if same_type(x, result) and (scalar := constant_scalar(c)) is not None:
            return x, scalar
    return None


def scalar_constant(value: Any, like: ir.Value) -> ir.Value:
    """A scalar constant of the element type of `like`."""
    return graph.constant(value=np.asarray(value).astype(graph.type_of(like).dtype))


def is_finite_normal(value: Any) -> bool:
    """Return whether a float scalar is neither zero, subnormal, infinite nor NaN."""
    value = np.asarray(value)
    smallest = float(ml_dtypes.finfo(value.dtype).smallest_normal)
    return bool(np.isfinite(value)) and abs(float(value)) >= smallest
