"""Scaled dot-product attention that exporters decompose."""

import functools
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
from .views import Reshaped, SplitHeads, as_it_is, merged_heads, reshaped, split_heads, with_heads


@dataclass(frozen=True)
class Scores:
    """``matmul(q, k_transposed) * scale``, and their mask."""

    q: Reshaped
    k_transposed: Reshaped
    scale: float
    products: ir.Value
    biases: tuple[Reshaped, ...] = ()
    """Masks that are added to the scores."""
    condition: ir.Value | None = None
    keeps: bool = True
    """Value of the condition for which scores are kept; elsewhere they are `filler`."""
    filler: ir.Value | None = None


class Attention(Rewrite):
    """``softmax(q @ transpose(k) * scale + mask) @ v  -->  attention(q, k, v, mask) {scale}``.

    The scale may be applied before or after the matmul, on one side or both; the mask may be added,
    or selected by ``where``; the softmax may be guarded, ``where(isnan(p), 0, p)``, and converted.
    Several masks that are added become one. Constant masks that hide nothing are dropped; causal
    ones become the attribute. Matmuls may have heads and batches in one axis, ``[B * H, S, T]``.

    Exact but for rounding: scores and weights stay in f32. A hidden position has no weight at
    all, which differs from a mask of -10000 only where scores are that far apart. Rows whose
    positions are all hidden, by minus infinity, give 0 instead of NaN where they were not guarded;
    NaN among the operands is not replaced by 0 where they were.
    """

    name = "recognize-attention"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp):
        heads = split_heads(op.a)
        softmax = _softmax(op.a if heads is None else heads.x)
        if softmax is None or softmax.attrs["axis"] != graph.type_of(softmax.x).rank - 1:
            return None
        scores = _read_scores(softmax.x)
        if scores is None:
            return None
        v, result = as_it_is(op.b), as_it_is(op.result)
        if heads is not None:
            v, result = (with_heads(x, heads.sizes) for x in (v, result))
        return {"scores": scores, "v": v, "result": result}

    def check(self, op: graph.MatmulOp, *, scores, v, result):
        if scores.biases and scores.condition is not None:
            return "it has two masks"
        problem = _type_problem(scores, v, result)
        if problem is not None:
            return problem
        operands = [scores.q, scores.k_transposed, v, *scores.biases]
        leaves = [each.x for each in operands]
        if scores.condition is not None:
            leaves.append(scores.condition)
        return used_elsewhere(op, leaves, scores.products)

    def rewrite(self, op: graph.MatmulOp, *, scores, v, result):
        given = [x for x in scores.biases if not masks.hides_nothing(x.x)]
        causal = len(given) == 1 and masks.is_causal(given[0].x)
        mask = None
        if scores.condition is not None:
            causal = masks.is_causal(scores.condition, scores.keeps)
            if not causal and not masks.hides_nothing(scores.condition, scores.keeps):
                mask = _selected(scores)
        elif given and not causal:
            mask = functools.reduce(graph.add, [x.build() for x in given])
        k = scores.k_transposed.swapped()
        y = graph.attention(scores.q.build(), k, v.build(), mask, scale=scores.scale, causal=causal)
        return reshaped(y, graph.type_of(op.result).shape)


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
            if scores is not None:
                return replace(scores, biases=(*scores.biases, as_it_is(bias)))
        return None
    if isinstance(op, graph.WhereOp):
        for inner, filler, keeps in ((op.a, op.b, True), (op.b, op.a, False)):
            if masks.is_hidden(filler) and inner.type == value.type:
                scores = _read_scores(inner)
                if scores is not None and scores.condition is None:
                    return replace(scores, condition=op.condition, keeps=keeps, filler=filler)
        return None
    heads = merged_heads(value)
    if heads is None:
        return _read_matmul(value)
    scores = _read_scores(heads.x)
    return None if scores is None or scores.condition is not None else _with_heads(scores, heads)


def _with_heads(scores: Scores, heads: SplitHeads) -> Scores:
    """The scores of batches and heads in one axis, with an axis for each."""
    q, k, *biases = (
        with_heads(x, heads.sizes) for x in (scores.q, scores.k_transposed, *scores.biases)
    )
    return replace(scores, q=q, k_transposed=k, biases=tuple(biases))


def _read_matmul(value: ir.Value) -> Scores | None:
    scale, value = _without_scale(value)
    matmul = producer(without_casts(value), graph.MatmulOp)
    if matmul is None:
        return None
    q_scale, q = _without_scale(matmul.a)
    k_scale, k_transposed = _without_scale(matmul.b)
    operands = as_it_is(q), as_it_is(k_transposed)
    return Scores(*operands, scale * q_scale * k_scale, matmul.result)


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


def _type_problem(scores: Scores, v: Reshaped, result: Reshaped) -> str | None:
    """The reason why the types do not form an attention with the type of `result`, or None."""
    q, k_transposed = scores.q.type, scores.k_transposed.type
    k = k_transposed.with_shape((*k_transposed.shape[:-2], *k_transposed.shape[:-3:-1]))
    try:
        types = [q, k, v.type, _mask_type(scores)]
        (found,) = graph.AttentionOp.infer_types(types, {"scale": 1.0, "causal": False})
    except graph.TypeRuleError as error:
        return str(error)
    return None if found == result.type else f"it would be a {found}, not a {result.type}"


def _mask_type(scores: Scores) -> graph.TensorType | None:
    """The type of the mask. Raises `TypeRuleError` where masks do not broadcast."""
    if scores.biases:
        return functools.reduce(graph.AddOp.infer, [each.type for each in scores.biases])
    if scores.condition is None or scores.filler is None:
        return None
    type_ = graph.type_of(scores.condition)
    filler = graph.type_of(scores.filler)
    return type_ if masks.is_minus_infinity(scores.filler) else type_.with_dtype(filler.dtype)


def _selected(scores: Scores) -> ir.Value:
    """The mask of the condition.

    A finite `filler` is added instead of selected: the two differ only in fully hidden rows.
    """
    assert scores.condition is not None
    assert scores.filler is not None
    if masks.is_minus_infinity(scores.filler):
        return scores.condition if scores.keeps else graph.not_(scores.condition)
    zero = graph.constant(value=np.zeros((), graph.type_of(scores.filler).dtype))
    choices = (zero, scores.filler) if scores.keeps else (scores.filler, zero)
    return graph.where(scores.condition, *choices)
