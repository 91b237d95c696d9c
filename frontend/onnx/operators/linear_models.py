"""Linear models and support vector machines of ``ai.onnx.ml``."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from .pairwise_coupling import coupled
from .scores import as_floats, as_matrix, integer_labels, label_by_sign, label_of_largest
from .scores import post_transform as transformed

_DOMAIN = "ai.onnx.ml"


def _matrix(values: Sequence[float], rows: int, like: ir.Value) -> np.ndarray:
    """`values` as a matrix of `rows`, in the element type of `like`."""
    if rows < 1 or not values or len(values) % rows:
        raise graph.TypeRuleError(f"{len(values)} numbers do not make {rows} rows")
    return np.array(values, graph.type_of(like).dtype).reshape(rows, -1)


def _linear(x: ir.Value, rows: np.ndarray, offsets: Sequence[float] | None) -> ir.Value:
    """``x rows' + offsets``."""
    y = graph.matmul(x, graph.constant(value=np.ascontiguousarray(rows.T)))
    return y if not offsets else graph.add(y, graph.constant(value=np.array(offsets, rows.dtype)))


def _f32(x: ir.Value) -> ir.Value:
    return x if graph.type_of(x).dtype == np.float32 else graph.cast(x, to=np.float32)


@onnx_op("LinearRegressor", domain=_DOMAIN)
def linear_regressor(x, *, coefficients=None, intercepts=None, post_transform="NONE", targets=1):
    x = as_floats(as_matrix(x))
    scores = _linear(x, _matrix(coefficients or [], targets, x), intercepts)
    return _f32(transformed(scores, post_transform))


@onnx_op("LinearClassifier", domain=_DOMAIN)
def linear_classifier(
    x,
    *,
    coefficients,
    classlabels_ints=None,
    classlabels_strings=None,
    intercepts=None,
    multi_class=0,
    post_transform="NONE",
):
    """Labels and scores; one row of coefficients for two classes is that of the second."""
    del multi_class
    labels = integer_labels(classlabels_ints, classlabels_strings)
    x = as_floats(as_matrix(x))
    columns = graph.type_of(x).shape[1]
    count = len(intercepts) if intercepts else len(labels)
    rows = count if not isinstance(columns, int) else len(coefficients) // max(columns, 1)
    scores = _linear(x, _matrix(coefficients, rows, x), intercepts)
    if rows > 1:
        return label_of_largest(scores, labels), _f32(transformed(scores, post_transform))
    if len(labels) == 1:
        label = label_by_sign(scores, 0, (0, int(labels[0])))
        return label, _f32(transformed(scores, post_transform))
    label = label_by_sign(scores, 0, (int(labels[0]), int(labels[1])))
    if post_transform == "NONE":  # as ONNX Runtime completes the two; ONNX does not say
        other = graph.sub(graph.splat_like(1, scores), scores)
    else:
        other = graph.neg(scores)
    pair = graph.concat([other, scores], axis=1)
    return label, _f32(transformed(pair, post_transform))


def _kernel(x: ir.Value, vectors: np.ndarray, kind: str, parameters: Sequence[float]) -> ir.Value:
    """The kernel of each row of `x` with each of `vectors`."""
    gamma, offset, degree = parameters if len(parameters) == 3 else (0.0, 0.0, 0.0)
    scale = graph.splat_like(gamma, x)
    if kind == "RBF":  # of the differences, which the expanded square would cancel
        rows, width = graph.type_of(x).shape
        apart = graph.sub(graph.reshape(x, shape=[rows, 1, width]), graph.constant(value=vectors))
        square = graph.reduce_sum(graph.mul(apart, apart), axes=[2], keepdims=False)
        return graph.exp(graph.mul(graph.neg(scale), square))
    product = _linear(x, vectors, None)
    if kind == "LINEAR":
        return product
    inner = graph.add(graph.mul(product, scale), graph.splat_like(offset, x))
    if kind == "SIGMOID":
        return graph.tanh(inner)
    if kind == "POLY":
        return graph.pow_(inner, graph.splat_like(degree, x))
    raise graph.TypeRuleError(f"kernel_type '{kind}' is unknown")


@onnx_op("SVMRegressor", domain=_DOMAIN)
def svm_regressor(
    x,
    *,
    coefficients=None,
    kernel_params=None,
    kernel_type="LINEAR",
    n_supports=0,
    one_class=0,
    post_transform="NONE",
    rho=None,
    support_vectors=None,
):
    """Without support vectors, a linear model."""
    x = as_floats(as_matrix(x))
    if n_supports:
        vectors = _matrix(support_vectors or [], n_supports, x)
        x = _kernel(x, vectors, kernel_type, kernel_params or [])
    scores = _linear(x, _matrix(coefficients or [], 1, x), (rho or [0.0])[:1])
    if one_class:
        zero, one = graph.splat_like(0, x), graph.splat_like(1, x)
        scores = graph.where(graph.greater(scores, zero), one, graph.neg(one))
    return _f32(transformed(scores, post_transform))


@onnx_op("SVMClassifier", domain=_DOMAIN)
def svm_classifier(
    x,
    *,
    node,
    classlabels_ints=None,
    classlabels_strings=None,
    coefficients=None,
    kernel_params=None,
    kernel_type="LINEAR",
    post_transform="NONE",
    prob_a=None,
    prob_b=None,
    rho=None,
    support_vectors=None,
    vectors_per_class=None,
):
    """Labels and scores: by votes of all pairs of classes, or without vectors a linear model.

    With `prob_a` and `prob_b` the scores are probabilities of the classes.
    """
    labels = integer_labels(classlabels_ints, classlabels_strings)
    x = as_floats(as_matrix(x))
    if not vectors_per_class or not sum(vectors_per_class):
        scores = _linear(x, _matrix(coefficients or [], len(labels), x), (rho or [0.0])[:1])
        return label_of_largest(scores, labels), _f32(transformed(scores, post_transform))
    if len(vectors_per_class) != len(labels):
        raise graph.TypeRuleError(f"vectors of {len(vectors_per_class)} for {len(labels)} classes")
    vectors = _matrix(support_vectors or [], sum(vectors_per_class), x)
    kernels = _kernel(x, vectors, kernel_type, kernel_params or [])
    pairs, votes = _pairs(coefficients or [], vectors_per_class, kernels)
    scores = _linear(kernels, pairs, rho)
    won = graph.greater(scores, graph.splat_like(0, scores))
    signs = graph.where(won, graph.splat_like(1, scores), graph.splat_like(-1, scores))
    label = label_of_largest(_linear(signs, votes, None), labels)
    if prob_a:
        scores = coupled(scores, prob_a, prob_b or [], len(labels), node.fresh_name)
    elif len(labels) == 2:
        scores = graph.concat([graph.neg(scores), scores], axis=1)
    return label, _f32(transformed(scores, post_transform))


def _pairs(
    coefficients: Sequence[float], counts: Sequence[int], like: ir.Value
) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of classes its weights of all vectors; for each class its sign in each pair.

    `coefficients` has a row for each of the other classes that a vector is weighed against.
    """
    classes, ends = len(counts), np.cumsum(counts)
    table = _matrix(coefficients, classes - 1, like)
    owned = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    rows = np.zeros((len(pairs), int(ends[-1])), table.dtype)
    votes = np.zeros((classes, len(pairs)), table.dtype)
    for row, vote, (i, j) in zip(rows, votes.T, pairs, strict=True):
        row[owned[i]] = table[j - 1, owned[i]]
        row[owned[j]] = table[i, owned[j]]
        vote[i], vote[j] = 1, -1
    return rows, votes
