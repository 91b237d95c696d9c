"""Constants for each channel that follow a linear op."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.rewrite import Rewrite
from ..affine_op import Linear, channel_constant, channel_vector, linear


class ScaleIntoWeights(Rewrite):
    """``(conv(x, w) + b) * c  -->  conv(x, w * c) + b * c``.

    For constants `c` along the channels only, also as divisors; for convolutions, transposed
    convolutions and matmuls with constant weights. Exact but for rounding: the new constants are
    computed in f64 and rounded once.
    """

    name = "scale-into-weights"
    root = (graph.MulOp, graph.DivOp)

    def pattern(self, op: graph.BinaryOp):
        for inner, other in _operand_orders(op):
            found = linear(inner)
            factor = None if found is None else channel_vector(other, found.type, found.axis)
            if factor is not None:
                with np.errstate(divide="ignore"):
                    factor = 1 / factor if isinstance(op, graph.DivOp) else factor
                return {"linear": found, "factor": factor}
        return None

    def check(self, op: graph.BinaryOp, *, linear: Linear, factor: np.ndarray) -> str | None:
        return linear.problem()

    def rewrite(self, op: graph.BinaryOp, *, linear, factor):
        bias = None if linear.bias is None else linear.bias * factor
        return linear.rebuilt(linear.scaled(factor), bias)


class MergeBiases(Rewrite):
    """``(conv(x, w) + b) + c  -->  conv(x, w) + (b + c)``, also for ``- c``.

    Exact but for rounding: the sum is computed in f64 and rounded once.
    """

    name = "merge-biases"
    root = (graph.AddOp, graph.SubOp)

    def pattern(self, op: graph.BinaryOp):
        for inner, other in _operand_orders(op):
            found = linear(inner)
            if found is None or found.bias is None:
                continue
            shift = channel_vector(other, found.type, found.axis)
            if shift is not None:
                minus = isinstance(op, graph.SubOp)
                return {"linear": found, "shift": -shift if minus else shift}
        return None

    def check(self, op: graph.BinaryOp, *, linear: Linear, shift: np.ndarray) -> str | None:
        return linear.use_problem()

    def rewrite(self, op: graph.BinaryOp, *, linear, shift):
        bias = channel_constant(linear.bias + shift, linear.type, linear.axis)
        return graph.add(linear.op.result, bias)


REWRITES = (ScaleIntoWeights, MergeBiases)


def _operand_orders(op: Any) -> list[tuple[ir.Value, ir.Value]]:
    """The possible orders of the operands whose first operand has the type of the result."""
    commutes = isinstance(op, graph.MulOp | graph.AddOp)
    orders = [(op.a, op.b), (op.b, op.a)] if commutes else [(op.a, op.b)]
    return [(a, b) for a, b in orders if a.type == op.result.type]
