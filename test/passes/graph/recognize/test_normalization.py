"""Normalisations and softmax in all the ways in which they are written."""

import numpy as np
import pytest
from rewriting import number, rewrite, weights

from graphc.dialects import graph

PASSES = ["graph-recognize", "graph-simplify,graph-recognize"]
EPSILON = 1e-5


def mean(x, axes=(2,)):
    return graph.reduce_mean(x, axes=axes, keepdims=True)


def mean_then_reshape(x):
    reduced = graph.reduce_mean(x, axes=(2,), keepdims=False)
    return graph.reshape(reduced, shape=(*graph.type_of(x).shape[:2], 1))


def plus_epsilon(x):
    return graph.add(x, number(EPSILON, x))


def squared(x):
    return graph.mul(x, x)


def powered(x):
    return graph.pow_(x, number(2, x))


DIVIDED = {
    "sqrt": lambda d, v: graph.div(d, graph.sqrt(v)),
    "rsqrt": lambda d, v: graph.mul(graph.rsqrt(v), d),
    "reciprocal": lambda d, v: graph.mul(d, graph.reciprocal(graph.sqrt(v))),
    "one over": lambda d, v: graph.mul(d, graph.div(number(1, d), graph.sqrt(v))),
    "power": lambda d, v: graph.mul(d, graph.pow_(v, number(-0.5, d))),
    "over power": lambda d, v: graph.div(d, graph.pow_(v, number(0.5, d))),
}


def layer_norm(x, divided="sqrt", square=powered, mean=mean):
    centred = graph.sub(x, mean(x))
    return DIVIDED[divided](centred, plus_epsilon(mean(square(centred))))


def rms_norm(x, divided="rsqrt", square=powered, mean=mean):
    return DIVIDED[divided](x, plus_epsilon(mean(square(x))))


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("square", [squared, powered])
@pytest.mark.parametrize("divided", DIVIDED)
def test_cores(divided, square, passes):
    def body(x):
        return layer_norm(x, divided, square), rms_norm(x, divided, square)

    outcome = rewrite(body, "2x3x8xf32", passes=passes)
    assert outcome.ops == {"layer_norm": 1, "rms_norm": 1}
    for name in outcome.ops:
        attributes = outcome.attributes(name)
        assert attributes["axis"] == 2
        assert attributes["epsilon"] == pytest.approx(EPSILON)


@pytest.mark.parametrize("size", ["n", "3"])
def test_axes_kept_by_a_reshape(size):
    def body(x):
        return layer_norm(x, mean=mean_then_reshape), rms_norm(x, mean=mean_then_reshape)

    outcome = rewrite(body, f"2x{size}x8xf32", passes="graph-recognize")
    assert outcome.ops == {"layer_norm": 1, "rms_norm": 1}


def test_several_axes():
    def last_two(x):
        return mean(x, (1, 2))

    outcome = rewrite(lambda x: layer_norm(x, mean=last_two), "2x3x8xf32", passes="graph-recognize")
    assert outcome.ops == {"layer_norm": 1}
    assert outcome.attributes("layer_norm")["axis"] == 1


def test_scale_and_bias_are_taken_in():
    def body(x):
        normal = graph.mul(weights(8), layer_norm(x))
        return graph.add(normal, weights(1, 1, 8)), graph.mul(rms_norm(x), weights(8))

    outcome = rewrite(body, "2x3x8xf32", passes="graph-recognize")
    assert outcome.ops == {"layer_norm": 1, "rms_norm": 1}
    assert outcome.counts == {
        "recognize-layer-norm": 1,
        "recognize-rms-norm": 1,
        "recognize-norm-scale": 2,
        "recognize-norm-bias": 1,
    }


def test_scale_within_the_product():
    def body(x):
        inverse = graph.mul(graph.rsqrt(plus_epsilon(mean(squared(x)))), weights(8))
        return graph.mul(x, inverse)

    assert rewrite(body, "2x3x8xf32", passes="graph-recognize").ops == {"rms_norm": 1}


def test_scales_and_biases_of_existing_norms_are_combined():
    def body(x):
        normal = graph.layer_norm(x, weights(8), weights(8), axis=2, epsilon=EPSILON)
        return graph.add(graph.mul(normal, weights(8, seed=1)), weights(8, seed=2))

    assert rewrite(body, "2x3x8xf32", passes="graph-recognize").ops == {"layer_norm": 1}


def test_line_form():
    """``x * inv + (beta - mean * inv)``."""

    def body(x):
        average = mean(x)
        variance = mean(squared(graph.sub(x, average)))
        inverse = graph.mul(graph.rsqrt(plus_epsilon(variance)), weights(8))
        shift = graph.sub(weights(8, seed=1), graph.mul(average, inverse))
        return graph.add(graph.mul(x, inverse), shift)

    outcome = rewrite(body, "2x3x8xf32", passes="graph-recognize", tolerance=1e-5)
    assert outcome.ops == {"layer_norm": 1}


def llama(x, scale):
    """Half-precision RMS normalisation as language models write it."""
    wide = graph.cast(x, to=np.float32)
    normal = graph.cast(rms_norm(wide), to=graph.type_of(x).dtype)
    return graph.mul(scale, normal)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_in_f32_between_conversions(dtype):
    def body(x):
        scale = weights(8, dtype=graph.type_of(x).dtype)
        wide = graph.cast(x, to=np.float32)
        normal = graph.mul(layer_norm(wide), graph.cast(scale, to=np.float32))
        return llama(x, scale), graph.cast(normal, to=graph.type_of(x).dtype)

    passes = "graph-fold-constants,graph-recognize"
    outcome = rewrite(body, f"2x3x8x{dtype}", passes=passes)
    assert outcome.ops == {"layer_norm": 1, "rms_norm": 1}


def test_conversions_elsewhere():
    """Only the mean is computed in f32; and the input stays f32 while the result is f16."""

    def body(x, y):
        wide = graph.cast(x, to=np.float32)
        inverse = graph.rsqrt(plus_epsilon(mean(squared(wide))))
        first = graph.mul(x, graph.cast(inverse, to=np.float16))
        return first, graph.cast(rms_norm(y), to=np.float16)

    outcome = rewrite(body, "2x3x8xf16", "2x3x8xf32", passes="graph-recognize")
    assert outcome.ops == {"rms_norm": 2, "cast": 1}


def test_a_wide_scale_stays_wide():
    def body(x):
        normal = graph.mul(layer_norm(graph.cast(x, to=np.float32)), weights(8))
        return graph.cast(normal, to=np.float16)

    outcome = rewrite(body, "2x3x8xf16", passes="graph-recognize")
    assert outcome.ops == {"cast": 2, "layer_norm": 1}
    assert outcome.reasons == {"its scale or bias is not a constant that float16 can hold"}


def test_declines():
    def body(x, y):
        centred = graph.sub(x, mean(x))
        shared = graph.div(centred, graph.sqrt(plus_epsilon(mean(squared(centred)))))
        first_axis = layer_norm(x, mean=lambda value: mean(value, (1,)))
        gated = graph.mul(x, graph.mul(graph.rsqrt(plus_epsilon(mean(squared(x)))), y))
        normal = rms_norm(y)
        scaled = graph.mul(normal, weights(8))
        return shared, graph.neg(centred), first_axis, gated, scaled, normal

    outcome = rewrite(body, "2x3x8xf32", "2x3x8xf32", passes="graph-recognize")
    assert outcome.counts == {"recognize-rms-norm": 1}
    assert outcome.reasons == {
        "'graph.sub' is used elsewhere",
        "it normalises axes [1], which are not the last ones",
        "a factor is not a constant that broadcasts to the normalised axes",
        "the result without the constant is used elsewhere",
    }


def test_near_misses():
    def body(x, y):
        other_mean = graph.sub(x, mean(y))
        return (
            graph.div(other_mean, graph.sqrt(plus_epsilon(mean(squared(graph.sub(x, mean(x))))))),
            graph.div(x, plus_epsilon(graph.sqrt(mean(squared(x))))),
            graph.mul(x, graph.rsqrt(graph.reduce_sum(squared(x), axes=(2,), keepdims=True))),
            graph.mul(squared(x), graph.rsqrt(plus_epsilon(mean(squared(x))))),
            graph.mul(x, graph.sqrt(plus_epsilon(mean(squared(x))))),
        )

    outcome = rewrite(body, "2x3x8xf32", "2x3x8xf32", passes="graph-recognize")
    assert (outcome.counts, outcome.reasons) == ({}, set())


def softmax(x, axes=(2,), shifted=True):
    largest = graph.reduce_max(x, axes=axes, keepdims=True)
    powers = graph.exp(graph.sub(x, largest) if shifted else x)
    return graph.div(powers, graph.reduce_sum(powers, axes=axes, keepdims=True))


def test_softmax():
    def body(x):
        powers = graph.exp(x)
        total = graph.reduce_sum(powers, axes=(0,), keepdims=True)
        return (
            softmax(x, (1,)),
            softmax(x, shifted=False),
            graph.mul(powers, graph.reciprocal(total)),
        )

    outcome = rewrite(body, "2x3x8xf32", passes="graph-recognize")
    assert outcome.ops == {"softmax": 3}


def test_softmax_declines_when_the_exponential_is_used_elsewhere():
    def body(x):
        return softmax(x), graph.exp(graph.sub(x, graph.reduce_max(x, axes=(2,), keepdims=True)))

    outcome = rewrite(body, "2x3x8xf32", passes="cse,graph-recognize")
    assert outcome.counts == {}
    assert outcome.reasons == {"'graph.exp' is used elsewhere"}


def test_softmax_of_several_axes_stays():
    outcome = rewrite(lambda x: softmax(x, (1, 2)), "2x3x8xf32", passes="graph-recognize")
    assert outcome.reasons == {"it sums over 2 axes"}


def test_softmax_with_another_shift():
    """Whatever is subtracted before the exponential stays subtracted."""

    def body(x):
        shift = graph.reduce_max(x, axes=(1,), keepdims=True)
        powers = graph.exp(graph.sub(x, shift))
        return graph.div(powers, graph.reduce_sum(powers, axes=(2,), keepdims=True))

    outcome = rewrite(body, "2x3x8xf32", passes="graph-recognize")
    assert outcome.ops == {"reduce_max": 1, "sub": 1, "softmax": 1}
