"""Ops that cannot be lowered: one without a rule, one whose rule fails."""

from graphc.dialects import graph
from graphc.passes.graph_to_linalg.lowering import lowers


class UnloweredOp(graph.GraphOp, name="unlowered"):
    """No rule."""

    x: graph.base.Tensor

    @staticmethod
    def infer(x):
        return x


class FailingOp(graph.GraphOp, name="failing"):
    """A rule that raises."""

    x: graph.base.Tensor

    @staticmethod
    def infer(x):
        return x


@lowers(FailingOp)
def failing(ctx, op, x):
    raise ZeroDivisionError("no luck")
