"""Softmax that exporters decompose."""

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Rewrite
from .algebra import Product, product
from .uses import used_elsewhere


class Softmax(Rewrite):
    """``exp(x - max(x)) / sum(exp(x - max(x)))  -->  softmax(x)``, also without the maximum.

    Exact but for rounding. If ``exp`` overflows because there is no maximum, the new result is the
    correct one.
    """

    name = "recognize-softmax"
    root = (graph.MulOp, graph.DivOp)

    def pattern(self, op: graph.BinaryOp):
        whole = product(op.result)
        for value, exponent in whole.powers.items():
            total = producer(value, graph.ReduceSumOp)
            if total is None or exponent != -1 or not total.attrs["keepdims"]:
                continue
            exp = producer(total.x, graph.ExpOp)
            if exp is not None and whole == Product(1.0, {exp.result: 1.0, value: -1.0}):
                axes = total.attrs["axes"]
                return {"x": _without_maximum(exp.x, axes), "exp": exp, "axes": axes}
        return None

    def check(self, op: graph.BinaryOp, *, x: ir.Value, exp: graph.UnaryOp, axes):
        if len(axes) != 1:
            return f"it sums over {len(axes)} axes"
        return used_elsewhere(op, [x], exp.result)

    def rewrite(self, op: graph.BinaryOp, *, x, exp, axes):
        return graph.softmax(x, axis=axes[0])


REWRITES = (Softmax,)


def _without_maximum(x: ir.Value, axes: tuple[int, ...]) -> ir.Value:
    """``x`` if the value is ``x - max(x)`` over `axes`; otherwise the value itself."""
    sub = producer(x, graph.SubOp)
    largest = None if sub is None else producer(sub.b, graph.ReduceMaxOp)
    if sub is None or largest is None or largest.x != sub.a:
        return x
    same = largest.attrs == {"axes": axes, "keepdims": True}
    return sub.a if same else x
