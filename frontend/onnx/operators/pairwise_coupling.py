"""Probabilities of classes from those of pairs of classes, as LIBSVM couples them."""

from collections.abc import Callable, Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir

_CLOSEST = 1e-7
"""The minimum distance of a pair's probability from 0 and 1."""


def coupled(
    scores: ir.Value,
    slopes: Sequence[float],
    offsets: Sequence[float],
    classes: int,
    fresh: Callable[[str], str],
) -> ir.Value:
    """Probabilities ``[N, classes]`` from the scores ``[N, pairs]`` of each class against another.

    Those of pairs, by Platt's sigmoids, contradict each other; the vector that fits them best
    minimizes ``p' Q p`` (Wu, Lin and Weng 2004), found by coordinate descent to LIBSVM's
    tolerance.
    """
    pairs = classes * (classes - 1) // 2
    if len(slopes) != pairs or len(offsets) != pairs:
        raise graph.TypeRuleError(f"{len(slopes)} and {len(offsets)} parameters of {pairs} pairs")
    rows, dtype = graph.type_of(scores).shape[0], graph.type_of(scores).dtype
    matrix = _matrix(_by_pairs(_sigmoids(scores, slopes, offsets), classes))
    start = graph.constant(value=np.full((1, classes, 1), 1 / classes, dtype))
    enough = graph.constant(value=np.array(0.005 / classes, dtype))

    def improve(_: Dim, p: ir.Value) -> graph.Iteration:
        product, total = _products(matrix, p)
        error = graph.abs_(graph.sub(product, total))
        goes_on = graph.greater_or_equal(graph.reduce_max(error, axes=[1], keepdims=True), enough)
        better = _descended(matrix, p, product, total, fresh)
        flags = graph.cast(goes_on, to=np.int32)
        any_ = graph.reduce_max(flags, axes=[0, 1, 2], keepdims=False)
        again = graph.greater(any_, graph.splat_like(0, any_))
        return graph.Iteration(again, [graph.where(goes_on, better, p)], [])

    start = graph.expand(start, shape=[rows, classes, 1])
    (p,) = graph.loop([start], improve, fresh, max(100, classes))
    return graph.reshape(p, shape=[rows, classes])


def _sigmoids(scores: ir.Value, slopes: Sequence[float], offsets: Sequence[float]) -> ir.Value:
    dtype = graph.type_of(scores).dtype
    slope, offset = (graph.constant(value=-np.array(v, dtype)) for v in (slopes, offsets))
    y = graph.sigmoid(graph.add(graph.mul(scores, slope), offset))
    y = graph.max_(y, graph.splat_like(_CLOSEST, y))
    return graph.min_(y, graph.splat_like(1 - _CLOSEST, y))


def _by_pairs(won: ir.Value, classes: int) -> ir.Value:
    """``[N, i, j]``: how likely it is class i, if it is i or j; 0 for one with itself."""
    rows, pairs = graph.type_of(won).shape
    assert isinstance(pairs, int)
    indices = np.full((classes, classes), 2 * pairs)
    upper = np.triu_indices(classes, 1)
    indices[upper] = np.arange(pairs)
    indices.T[upper] = pairs + np.arange(pairs)
    one = graph.splat_like(1, won)
    none = graph.expand(graph.splat_like(0, won), shape=[rows, 1])
    every = graph.concat([won, graph.sub(one, won), none], axis=1)
    return graph.gather(every, graph.constant(value=indices), axis=1)


def _matrix(pairs: ir.Value) -> ir.Value:
    """Q ``[N, classes, classes]``."""
    lost = graph.transpose(pairs, perm=[0, 2, 1])
    own = graph.reduce_sum(graph.mul(lost, lost), axes=[2], keepdims=True)
    diagonal = graph.mul(own, _identity(graph.type_of(pairs)))
    return graph.sub(diagonal, graph.mul(lost, pairs))


def _identity(like: graph.TensorType) -> ir.Value:
    classes = like.shape[1]
    assert isinstance(classes, int)
    return graph.constant(value=np.eye(classes, dtype=like.dtype)[None])


def _products(matrix: ir.Value, p: ir.Value) -> tuple[ir.Value, ir.Value]:
    """``Q p`` and ``p' Q p``."""
    product = graph.matmul(matrix, p)
    return product, graph.reduce_sum(graph.mul(p, product), axes=[1], keepdims=True)


def _descended(
    matrix: ir.Value, p: ir.Value, product: ir.Value, total: ir.Value, fresh: Callable[[str], str]
) -> ir.Value:
    """`p` improved in each coordinate in turn, and its products with it."""
    classes = graph.type_of(p).shape[1]
    assert isinstance(classes, int)
    unit = _identity(graph.type_of(p))

    def part(x: ir.Value, row: Dim, column: int | Dim) -> ir.Value:
        batch = graph.type_of(x).shape[0]
        return graph.slice_(x, starts=[0, row, column], sizes=[batch, 1, 1], steps=[1, 1, 1])

    def column(x: ir.Value, at: Dim) -> ir.Value:
        batch = graph.type_of(x).shape[0]
        return graph.slice_(x, starts=[0, 0, at], sizes=[batch, classes, 1], steps=[1, 1, 1])

    def step(at: Dim, p: ir.Value, product: ir.Value, total: ir.Value) -> graph.Iteration:
        own, here = part(matrix, at, at), part(product, at, 0)
        change = graph.div(graph.sub(total, here), own)
        whole = graph.add(change, graph.splat_like(1, change))
        twice = graph.add(here, here)
        more = graph.mul(change, graph.add(graph.mul(change, own), twice))
        total = graph.div(graph.add(total, more), graph.mul(whole, whole))
        moved = graph.add(product, graph.mul(change, column(matrix, at)))
        p = graph.add(p, graph.mul(change, column(unit, at)))
        return graph.Iteration(None, [graph.div(p, whole), graph.div(moved, whole), total], [])

    return graph.loop([p, product, total], step, fresh, classes)[0]
