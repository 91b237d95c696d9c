"""Programs that no simplification may change."""

import ml_dtypes
import numpy as np
import pytest
from graph_programs import build_module, op_names
from simplify_examples import FIRST, N, c, column, counted

from graphc.dialects import graph
from graphc.passes.infra.pipeline import run_pipeline


def _conv(x, w):
    """A convolution without padding and strides."""
    around = {"strides": [1, 1], "dilations": [1, 1], "low": [0, 0], "high": [0, 0]}
    return graph.conv(x, w, **around, groups=1, layout=FIRST)


def _computed_table():
    return graph.exp(c([[1, 2], [3, 4], [5, 6]]))


def _with_two_readers():
    table = _computed_table()
    rows = graph.gather(table, c([2, 0], np.int64), axis=0)
    return graph.sub(rows, graph.reduce_max(table, axes=[0], keepdims=True))


LEFT_ALONE = [
    (
        "rows of two joined tensors",
        lambda x, y: graph.slice_(graph.concat([x, y], axis=0), starts=[2], sizes=[2], steps=[1]),
        ("3xf32", "2xf32"),
    ),
    ("products that both round", lambda x: graph.mul(graph.mul(x, c(3)), c(0.1)), ("4xf32",)),
    ("quotients that both round", lambda x: graph.div(graph.div(x, c(3)), c(7)), ("4xf32",)),
    (
        "a wide integer kept within a narrow one",
        lambda x: graph.cast(graph.cast(x, to=np.float64), to=np.int8),
        ("4xi32",),
    ),
    (
        "infinite float8 that become finite",
        lambda x: graph.cast(graph.cast(x, to=np.float32), to=ml_dtypes.float8_e5m2),
        ("4xf8E5M2",),
    ),
    (
        "a zero point that broadcasts bytes",
        lambda: graph.mul(
            graph.sub(graph.cast(c([[1, 2]], np.int8), to=np.float32), c([[1], [2]])), c(3)
        ),
        (),
    ),
    (
        "a computed table of which more rows are read than it has",
        lambda: graph.gather(_computed_table(), c([1, 0, 2, 0], np.int64), axis=0),
        (),
    ),
    (
        "a computed table that others read, too",
        _with_two_readers,
        (),
    ),
    ("indices that go back", lambda x: graph.gather(x, c([1, 0], np.int64), axis=0), ("3xf32",)),
    (
        "updates of parts of rows",
        lambda x, updates: graph.scatter_elements(
            x, c([[1, 1]], np.int64), updates, axis=0, reduction="none"
        ),
        ("3x4xf32", "1x2xf32"),
    ),
    (
        "elements of a row that go to several",
        lambda x, updates: graph.scatter_elements(
            x, c([[1, 0]], np.int64), updates, axis=0, reduction="none"
        ),
        ("3x2xf32", "1x2xf32"),
    ),
    ("indices outside", lambda x: graph.gather(x, c([2, 3], np.int64), axis=0), ("3xf32",)),
    ("of no known size", lambda x: graph.gather(x, c(0, np.int64), axis=0), ("nxf32",)),
    ("a constant that broadcasts", lambda x: graph.mul(x, c([[1.0]])), ("3xf32",)),
    ("another constant", lambda x: graph.add(x, c(1)), ("3xf32",)),
    (
        "a column convolved by dequantized weights",
        lambda x, w: _conv(x, graph.dequantize(w, c(0.5), c(0, np.int8), to=np.dtype(np.float32))),
        ("1x2x5x1xf32", "3x2x3x1xi8"),
    ),
    (
        "a pixel and its tap",
        _conv,
        ("nx2x1x1xf32", "3x2x1x1xf32"),
    ),
    ("a constant tensor", lambda x: graph.mul(x, c([1, 1, 1])), ("3xf32",)),
    ("0 - x", lambda x: graph.sub(c(0), x), ("3xf32",)),
    ("1 / x", lambda x: graph.div(c(1), x), ("3xf32",)),
    ("float sums", lambda x: graph.add(graph.add(x, c(1e20)), c(-1e20)), ("3xf32",)),
    ("not a power of two", lambda x: graph.div(x, c(3)), ("3xf32",)),
    ("its reciprocal is subnormal", lambda x: graph.div(x, c(2.0**127)), ("3xf32",)),
    ("integer division", lambda x: graph.div(x, c(4, np.int32)), ("3xi32",)),
    ("overflow", lambda x: graph.mul(graph.mul(x, c(1e30)), c(1e30)), ("3xf32",)),
    ("underflow", lambda x: graph.mul(graph.mul(x, c(1e-30)), c(1e-30)), ("3xf32",)),
    (
        "narrowing casts",
        lambda x: graph.cast(graph.cast(x, to=np.float16), to=np.float32),
        ("3xf32",),
    ),
    ("a transpose that moves data", lambda x: graph.transpose(x, perm=[1, 0]), ("3x4xf32",)),
    ("an unknown size is not 1", lambda x: graph.transpose(x, perm=[1, 0]), ("nx4xf32",)),
    ("a slice from 1", lambda x: graph.slice_(x, starts=[1], sizes=[2], steps=[1]), ("3xf32",)),
    ("a reversed slice", lambda x: graph.slice_(x, starts=[2], sizes=[3], steps=[-1]), ("3xf32",)),
    ("a bound above 0", lambda x: graph.relu(graph.max_(x, c(1))), ("3xf32",)),
    ("min of max", lambda x: graph.min_(graph.max_(x, c(1)), c(6)), ("3xf32",)),
    (
        "joins along two axes",
        lambda x: graph.concat([graph.concat([x, x], axis=0), c(np.ones((8, 1)))], axis=1),
        ("4x3xf32",),
    ),
    (
        "more operands than one op takes",
        lambda x: graph.concat([graph.concat([x] * 5, axis=0)] + [x] * 5, axis=0),
        ("2xf32",),
    ),
    (
        "indices out of order",
        lambda x: graph.gather(x, c([0, 2, 1], np.int64), axis=0),
        ("3xf32",),
    ),
    (
        "some of the indices",
        lambda x: graph.gather(x, counted(N), axis=0),
        ("8xf32",),
    ),
    (
        "coordinates out of order",
        lambda x: graph.gather_nd(
            x,
            graph.concat(
                [
                    graph.expand(graph.reshape(counted(4), shape=[1, 4, 1]), shape=[3, 4, 1]),
                    graph.expand(graph.reshape(counted(3), shape=[3, 1, 1]), shape=[3, 4, 1]),
                ],
                axis=2,
            ),
            batch_dims=0,
        ),
        ("4x3xf32",),
    ),
    (
        "a triangle",
        lambda x: graph.and_(x, graph.less_or_equal(counted(4), column(4))),
        ("4x4xi1",),
    ),
    (
        "a condition that differs",
        lambda x, y: graph.where(c([True, False, True], np.bool_), x, y),
        ("3xf32", "3xf32"),
    ),
]


@pytest.mark.parametrize(
    ("body", "types"), [row[1:] for row in LEFT_ALONE], ids=[r[0] for r in LEFT_ALONE]
)
def test_leaves_alone(context, body, types):
    module = build_module(body, *types)
    text = str(module)
    run_pipeline(module, "graph-simplify")
    assert str(module) == text


def test_inner_results_with_other_uses_stay(context):
    def body(x):
        inner = graph.mul(x, c(3))
        return graph.mul(inner, c(5)), inner

    module = build_module(body, "4xf32")
    run_pipeline(module, "graph-simplify")
    assert op_names(module) == ["mul", "mul"]


def test_excepted_rewrites_do_not_run(context):
    module = build_module(lambda x: graph.neg(graph.neg(graph.relu(graph.relu(x)))), "4xf32")
    run_pipeline(module, "graph-simplify{except=double-negation,relu-of-relu}")
    assert op_names(module) == ["relu", "relu", "neg", "neg"]
