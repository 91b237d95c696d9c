"""Labels and transformed scores of the classifiers and regressors of ``ai.onnx.ml``."""

import math

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError


def post_transform(scores: ir.Value, kind: str) -> ir.Value:
    """`scores` (examples by classes) transformed as the attribute of that name says."""
    match kind:
        case "NONE":
            return scores
        case "LOGISTIC":
            return graph.sigmoid(scores)
        case "SOFTMAX":
            return graph.softmax(scores, axis=1)
        case "SOFTMAX_ZERO":
            return _softmax_zero(scores)
        case "PROBIT":
            return _probit(scores)
    raise graph.TypeRuleError(f"post_transform '{kind}' is unknown")


def _softmax_zero(x: ir.Value) -> ir.Value:
    """Softmax in which what is 0 stays 0; one half each where all are."""
    largest = graph.reduce_max(x, axes=[1], keepdims=True)
    is_zero = graph.less_or_equal(graph.abs_(x), graph.splat_like(1e-7, x))
    vanishing = graph.mul(x, graph.exp(graph.neg(largest)))
    powers = graph.where(is_zero, vanishing, graph.exp(graph.sub(x, largest)))
    total = graph.reduce_sum(powers, axes=[1], keepdims=True)
    none = graph.equal(total, graph.splat_like(0, x))
    return graph.where(none, graph.splat_like(0.5, x), graph.div(powers, total))


def _probit(x: ir.Value) -> ir.Value:
    """The inverse of the normal distribution, by Winitzki's approximation of that of erf."""
    one, half = graph.splat_like(1, x), graph.splat_like(0.5, x)
    y = graph.sub(graph.mul(x, graph.splat_like(2, x)), one)
    log = graph.log(graph.mul(graph.sub(one, y), graph.add(one, y)))
    a = graph.add(graph.splat_like(2 / (math.pi * 0.147), x), graph.mul(log, half))
    b = graph.mul(log, graph.splat_like(1 / 0.147, x))
    root = graph.sqrt(graph.sub(graph.sqrt(graph.sub(graph.mul(a, a), b)), a))
    signed = graph.where(graph.less(y, graph.splat_like(0, x)), graph.neg(root), root)
    return graph.mul(signed, graph.splat_like(math.sqrt(2), x))


def integer_labels(ints: list[int] | None, strings: list[str] | None) -> np.ndarray:
    """The class labels of a classifier. UnsupportedError when they are strings."""
    if strings:
        raise UnsupportedError("string labels")
    if not ints:
        raise graph.TypeRuleError("a classifier needs class labels")
    return np.array(ints, np.int64)


def label_of_largest(scores: ir.Value, labels: np.ndarray) -> ir.Value:
    """For each row of `scores`, the label of the first of the largest."""
    best = graph.arg_max(scores, axis=1, keepdims=False, last_index=False)
    return graph.gather(graph.constant(value=labels), best, axis=0)


def label_by_sign(score: ir.Value, threshold: float, labels: tuple[int, int]) -> ir.Value:
    """The second of `labels` where `score` (one column) is above `threshold`, else the first."""
    column = graph.reshape(score, shape=graph.type_of(score).shape[:1])
    above = graph.greater(column, graph.splat_like(threshold, score))
    below, beyond = (graph.constant(value=np.array(label, np.int64)) for label in labels)
    return graph.where(above, beyond, below)


def as_floats(x: ir.Value) -> ir.Value:
    """`x`, of any numeric type, as f32 or f64."""
    dtype = graph.type_of(x).dtype
    if dtype in (np.float32, np.float64):
        return x
    return graph.cast(x, to=np.float32)


def as_matrix(x: ir.Value) -> ir.Value:
    """`x` with one example in each row; a vector is one example."""
    shape = graph.type_of(x).shape
    if len(shape) == 1:
        return graph.reshape(x, shape=[1, *shape])
    if len(shape) != 2:
        raise graph.TypeRuleError(f"needs a row for each example, not {graph.type_of(x)}")
    return x
