"""Scaled dot-product attention that exporters decompose."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Rewrite
from . import masks
from .algebra import constant_number, without_casts
from .uses import used_elsewhere
from .views import swapped


@dataclass(frozen=True)
class Scores:
    """``matmul(q, k_transposed) * scale``, and the mask of the products."""

    q: ir.Value
    k_transposed: ir.Value
    scale: float
    products: ir.Value
    bias: ir.Value | None = None
    """Mask that is added to the scores."""
    condition: ir.Value | None = None
    keeps: bool = True
    """Value of the condition for which scores are kept; elsewhere they are `filler`."""
    filler: ir.Value | None = None


class Attention(Rewrite):
    """``softmax(q @ transpose(k) * scale + mask) @ v  -->  attention(q, k, v, mask) {scale}``.

    The scale may be applied before or after the matmul, on one side or both; the mask may be added,
    or selected by ``where``; the softmax may be guarded, ``where(isnan(p), 0, p)``, and converted.
    Constant masks that hide nothing are dropped; causal ones become the attribute.

    Exact but for rounding: scores and weights stay in f32. A hidden position has no weight at
    all, which differs from a mask of -10000 only where scores are that far apart. Rows whose
    positions are all hidden, by minus infinity, give 0 instead of NaN where they were not guarded;
    NaN among the operands is not replaced by 0 where they were.
    """

    name = "recognize-attention"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp):
        softmax = _softmax(op.a)
        if softmax is None or softmax.attrs["axis"] != graph.type_of(softmax.x).rank - 1:
            return None
        scores = _read_scores(softmax.x)
        return None if scores is None else {"scores": scores, "v": op.b}

    def check(self, op: graph.MatmulOp, *, scores, v):
        if scores.bias is not None and scores.condition is not None:
            return "it has two masks"
        problem = _type_problem(op, scores, v)
        if problem is not None:
            return problem
        leaves = [scores.q, scores.k_transposed, v, scores.bias, scores.condition]
        return used_elsewhere(op, [x for x in leaves if x is not None], scores.products)

    def rewrite(self, op: graph.MatmulOp, *, scores, v):
        given = scores.condition if scores.bias is None else scores.bias
        causal = given is not None and masks.is_causal(given, scores.keeps)
        is_needed = (
            given is not None and not causal and not masks.hides_nothing(given, scores.keeps)
        )
        mask = _mask(scores) if is_needed else None
        k = swapped(scores.k_transposed)
        return graph.attention(scores.q, k, v, mask, scale=scores.scale, causal=causal)


REWRITES = (Attention,)


def _softmax(weights: ir.Value) -> graph.SoftmaxOp | None:
    """The softmax before conversions and a guard against NaN."""
    value = without_casts(weights)
    guard = producer(value, graph.WhereOp)
    if guard is not None and constant_number(guard.a) == 0:
        test = producer(guard.condition, graph.IsNanOp)
        value = without_casts(guard.b)
        if test is None or without_casts(test.x) != value:
            return None
    return producer(value, graph.SoftmaxOp)


def _read_scores(value: ir.Value) -> Scores | None:
    """Read the operand of the softmax."""
    value = without_casts(value)
    op: Any = graph.graph_op(value.owner)
    if isinstance(op, graph.AddOp):
        for inner, bias in ((op.a, op.b), (op.b, op.a)):
            scores = _read_scores(inner) if inner.type == value.type else None
            if scores is not None and scores.bias is None:
                return replace(scores, bias=bias)
        return None
    if isinstance(op, graph.WhereOp):
        for inner, filler, keeps in ((op.a, op.b, True), (op.b, op.a, False)):
            if masks.is_hidden(filler) and inner.type == value.type:
                scores = _read_scores(inner)
                if scores is not None and scores.condition is None:
                    return replace(scores, condition=op.condition, keeps=keeps, filler=filler)
        return None
    return _read_matmul(value)


def _read_matmul(value: ir.Value) -> Scores | None:
    scale, value = _without_scale(value)
    matmul = producer(without_casts(value), graph.MatmulOp)
    if matmul is None:
        return None
    q_scale, q = _without_scale(matmul.a)
    k_scale, k_transposed = _without_scale(matmul.b)
    return Scores(q, k_transposed, scale * q_scale * k_scale, matmul.result)


def _without_scale(value: ir.Value) -> tuple[float, ir.Value]:
    """Split `value` into a scalar constant and a value of the same type."""
    scale = 1.0
    while True:
        op: Any = graph.graph_op(value.owner)
        if isinstance(op, graph.MulOp):
            factors = [(op.a, constant_number(op.b)), (op.b, constant_number(op.a))]
        elif isinstance(op, graph.DivOp) and (divisor := constant_number(op.b)):
            factors = [(op.a, 1 / divisor)]
        else:
            return scale, value
        found = [(x, c) for x, c in factors if c is not None and x.type == value.type]
        if not found:
            return scale, value
        value, factor = found[0]
        scale *= factor


def _type_problem(op: Any, scores: Scores, v: ir.Value) -> str | None:
    """The reason why the types do not form an attention of the type of `op`, or None."""
    q, k_transposed = graph.type_of(scores.q), graph.type_of(scores.k_transposed)
    k = k_transposed.with_shape((*k_transposed.shape[:-2], *k_transposed.shape[:-3:-1]))
    mask = _mask_type(scores)
    try:
        types = [q, k, graph.type_of(v), mask]
        (result,) = graph.AttentionOp.infer_types(types, {"scale": 1.0, "causal": False})
    except graph.TypeRuleError as error:
        return str(error)
    wanted = graph.type_of(op.result)
    return None if result == wanted else f"it would be a {result}, not a {wanted}"


def _mask_type(scores: Scores) -> graph.TensorType | None:
    if scores.bias is not None:
        return graph.type_of(scores.bias)
    if scores.condition is None or scores.filler is None:
        return None
    type_ = graph.type_of(scores.condition)
    filler = graph.type_of(scores.filler)
    return type_ if masks.is_minus_infinity(scores.filler) else type_.with_dtype(filler.dtype)


def _mask(scores: Scores) -> ir.Value | None:
    """The mask, built from the condition if there is one.

    A finite `filler` is added instead of selected: the two differ only in fully hidden rows.
    """
    if scores.bias is not None or scores.condition is None or scores.filler is None:
        return scores.bias
    if masks.is_minus_infinity(scores.filler):
        return scores.condition if scores.keeps else graph.not_(scores.condition)
    zero = graph.constant(value=np.zeros((), graph.type_of(scores.filler).dtype))
    choices = (zero, scores.filler) if scores.keeps else (scores.filler, zero)
    return graph.where(scores.condition, *choices)
