"""Batch normalisation and channel constants, folded into weights: numbers and reasons."""

import numpy as np
import pytest
from rewriting import number, rewrite, weights

from graphc.dialects import graph

PASS = "graph-fold-batch-norm"


def conv(x, w, layout="channels_first", groups=1):
    spatial = graph.type_of(x).rank - 2
    return graph.conv(
        x, w, strides=[1] * spatial, dilations=[1] * spatial, low=[1] * spatial,
        high=[0] * spatial, groups=groups, layout=layout,
    )  # fmt: skip


def conv_transpose(x, w, layout="channels_first", groups=1):
    spatial = graph.type_of(x).rank - 2
    return graph.conv_transpose(
        x, w, strides=[2] * spatial, dilations=[1] * spatial, low=[0] * spatial,
        high=[1] * spatial, output_padding=[0] * spatial, groups=groups, layout=layout,
    )  # fmt: skip


def batch_norm(x, axis=1, seed=10):
    type_ = graph.type_of(x)
    random = np.random.default_rng(seed)
    size = type_.shape[axis]
    scale, bias, mean = (random.standard_normal(size).astype(type_.dtype) for _ in range(3))
    variance = random.random(size).astype(type_.dtype) + type_.dtype.type(0.5)
    statistics = (graph.constant(value=array) for array in (scale, bias, mean, variance))
    return graph.batch_norm(x, *statistics, axis=axis, epsilon=1e-3)


PRODUCERS = {
    "conv": (lambda x: conv(x, weights(6, 4, 2, 2)), "2x4x5x5xf32", 1),
    "conv in groups": (lambda x: conv(x, weights(6, 2, 2, 2), groups=2), "2x4x5x5xf32", 1),
    "depthwise": (lambda x: conv(x, weights(4, 1, 2), groups=4), "2x4x5xf32", 1),
    "conv, channels last": (
        lambda x: conv(x, weights(2, 2, 4, 6), "channels_last"),
        "nx5x5x4xf32",
        3,
    ),
    "conv_transpose": (lambda x: conv_transpose(x, weights(4, 6, 2, 2)), "2x4x5x5xf32", 1),
    "conv_transpose in groups": (
        lambda x: conv_transpose(x, weights(4, 3, 3), groups=2),
        "2x4x5xf32",
        1,
    ),
    "conv_transpose, channels last": (
        lambda x: conv_transpose(x, weights(4, 3, 2, 2), "channels_last", groups=2),
        "2x5x5x4xf32",
        3,
    ),
    "matmul": (lambda x: graph.matmul(x, weights(4, 6)), "nx4xf32", 1),
    "matmul of rank 3": (lambda x: graph.matmul(x, weights(4, 6)), "2x5x4xf32", 2),
    "half precision": (lambda x: conv(x, weights(6, 4, 2, dtype=np.float16)), "2x4x5xf16", 1),
}


@pytest.mark.parametrize("name", PRODUCERS)
def test_into_weights(name):
    producer, type_, axis = PRODUCERS[name]
    tolerance = 3e-2 if "f16" in type_ else 1e-5
    outcome = rewrite(
        lambda x: batch_norm(producer(x), axis), type_, passes=PASS, tolerance=tolerance
    )
    assert outcome.counts == {"batch-norm-into-weights": 1}
    assert "batch_norm" not in outcome.ops
    assert outcome.ops["add"] == 1


@pytest.mark.parametrize("name", PRODUCERS)
def test_bias_scale_and_shift(name):
    """Bias, normalisation, scale, divisor, and two more constants: one op and one addition."""
    producer, type_, axis = PRODUCERS[name]

    def body(x):
        y = producer(x)
        rank, size = graph.type_of(y).rank, graph.type_of(y).shape[axis]

        def constant(seed):
            shape = [size if i == axis else 1 for i in range(rank)][1:]
            return weights(*shape, seed=seed, dtype=graph.type_of(y).dtype)

        y = batch_norm(graph.add(constant(1), y), axis)
        y = graph.div(graph.mul(y, constant(2)), number(3, y))
        return graph.sub(graph.add(constant(3), y), constant(4))

    tolerance = 5e-2 if "f16" in type_ else 2e-5
    outcome = rewrite(body, type_, passes=PASS, tolerance=tolerance)
    assert outcome.counts == {
        "batch-norm-into-weights": 1,
        "scale-into-weights": 2,
        "merge-biases": 2,
    }
    assert sum(outcome.ops.values()) == 2


@pytest.mark.parametrize("type_", ["2x4x5xf32", "2x4xnxf16", "4x4xf64"])
def test_without_producer(type_):
    outcome = rewrite(lambda x: batch_norm(graph.relu(x)), type_, passes=PASS)
    casts = {"cast": 2} if "f16" in type_ else {}
    assert outcome.ops == {"relu": 1, "mul": 1, "add": 1, **casts}
    assert outcome.counts == {"batch-norm-to-line": 1}


def test_computed_statistics_stay():
    def body(x, mean):
        ones, zeros = (graph.constant(value=np.full(4, v, np.float32)) for v in (1, 0))
        return graph.batch_norm(x, ones, zeros, mean, ones, axis=1, epsilon=1e-5)

    outcome = rewrite(body, "2x4xf32", "4xf32", passes=PASS)
    assert outcome.counts == {}


def test_declined():
    def body(x, y):
        shared = weights(5, 5, 2)
        first, second = conv(x, weights(5, 5, 2)), graph.matmul(y, weights(5, 5))
        return (
            batch_norm(first),
            graph.relu(first),
            batch_norm(second, axis=1),
            batch_norm(conv(x, shared)),
            conv(x, shared),
        )

    outcome = rewrite(body, "2x5x5xf32", "2x4x5xf32", passes=PASS, tolerance=1e-5)
    assert outcome.counts == {"batch-norm-to-line": 3}
    assert outcome.reasons == {
        "what it is applied to is used elsewhere",
        "it normalises axis 1, but the channels are axis 2",
        "the weights are shared",
    }


def test_weights_that_would_overflow_stay():
    def body(x):
        large = graph.constant(value=np.full((4, 2), 60000, np.float16))
        return graph.mul(graph.matmul(x, large), number(2, x))

    outcome = rewrite(body, "2x4xf16", passes=PASS)
    assert outcome.counts == {}
    assert outcome.reasons == {"the constants would leave the range of float16"}


def test_constants_along_other_axes_stay():
    def body(x):
        y = conv(x, weights(6, 4, 2))
        return (
            graph.mul(y, weights(5)),
            graph.mul(conv(x, weights(6, 4, 2)), weights(2, 1, 1)),
            graph.add(conv(x, weights(6, 4, 2)), weights(6, 5)),
            graph.mul(conv(x, weights(6, 4, 2)), weights(1, 1, 1, 1)),
            graph.div(weights(6, 1), conv(x, weights(6, 4, 2))),
        )

    outcome = rewrite(body, "2x4x5xf32", passes=PASS)
    assert (outcome.counts, outcome.reasons) == ({}, set())


def test_channels_whose_number_has_a_name():
    """The statistics' size must not become that of the result."""

    def body(x):
        parts = (graph.constant(value=np.ones(3, np.float32)) for _ in range(4))
        return graph.batch_norm(x, *parts, axis=1, epsilon=1e-3)

    outcome = rewrite(body, "2xcx5xf32", passes=PASS)
    assert outcome.counts == {}
    assert outcome.reasons == {"the number of channels is c, not 3, as the statistics say"}
