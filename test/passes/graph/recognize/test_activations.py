"""Activations in all the ways in which they are written."""

import numpy as np
import pytest
from rewriting import number, rewrite

from graphc.dialects import graph

K = np.sqrt(2 / np.pi)


def erf_term(x):
    return graph.add(graph.erf(graph.div(x, number(np.sqrt(2), x))), number(1, x))


def cubic(x, power):
    x3 = graph.pow_(x, number(3, x)) if power else graph.mul(graph.mul(x, x), x)
    return graph.add(x, graph.mul(number(0.044715, x), x3))


def tanh_term(x, inner):
    return graph.add(number(1, x), graph.tanh(inner))


GELU = {
    "half last": lambda x: graph.mul(graph.mul(x, erf_term(x)), number(0.5, x)),
    "half first": lambda x: graph.mul(erf_term(x), graph.mul(number(0.5, x), x)),
    "half between": lambda x: graph.mul(x, graph.mul(number(0.5, x), erf_term(x))),
    "over two": lambda x: graph.div(graph.mul(erf_term(x), x), number(2, x)),
    "half inside": lambda x: graph.mul(
        x,
        graph.add(
            number(0.5, x),
            graph.mul(number(0.5, x), graph.erf(graph.mul(x, number(0.70710678, x)))),
        ),
    ),
    "expanded": lambda x: graph.add(
        graph.mul(x, number(0.5, x)),
        graph.mul(graph.mul(x, number(0.5, x)), graph.erf(graph.mul(number(0.70710678, x), x))),
    ),
}

TANH_GELU = {
    "cube": lambda x: graph.mul(
        graph.mul(number(0.5, x), x),
        tanh_term(x, graph.mul(number(K, x), cubic(x, power=False))),
    ),
    "power": lambda x: graph.mul(
        graph.mul(x, number(0.5, x)),
        tanh_term(x, graph.mul(cubic(x, power=True), number(K, x))),
    ),
    "factored": lambda x: graph.mul(
        x,
        graph.mul(
            number(0.5, x),
            tanh_term(
                x,
                graph.mul(
                    graph.mul(x, number(0.7978845608, x)),
                    graph.add(number(1, x), graph.mul(graph.mul(number(0.044715, x), x), x)),
                ),
            ),
        ),
    ),
    "sigmoid": lambda x: graph.mul(
        x, graph.sigmoid(graph.mul(number(2 * K, x), cubic(x, power=False)))
    ),
}


@pytest.mark.parametrize("name", GELU)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_gelu(name, dtype):
    outcome = rewrite(GELU[name], f"4x5x{dtype}", passes="graph-recognize")
    assert outcome.ops == {"gelu": 1}
    assert outcome.attributes("gelu") == {"approximate": "none"}
    assert outcome.counts == {"recognize-gelu": 1}


@pytest.mark.parametrize("name", GELU)
def test_gelu_after_simplification(name):
    outcome = rewrite(GELU[name], "nx5xf32", passes="graph-simplify,graph-recognize")
    assert outcome.ops == {"gelu": 1}


@pytest.mark.parametrize("name", TANH_GELU)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_tanh_gelu(name, dtype):
    outcome = rewrite(
        TANH_GELU[name], f"4x5x{dtype}", passes="graph-simplify,graph-recognize", tolerance=8e-3
    )
    assert outcome.ops == {"gelu": 1}
    assert outcome.attributes("gelu") == {"approximate": "tanh"}


def test_gelu_of_a_product():
    """The operand may itself be a product, or hold a constant that is not the formula's."""

    def body(x, y):
        product = graph.mul(graph.mul(x, y), number(3, x))
        return graph.mul(graph.mul(product, erf_term(product)), number(0.5, x))

    assert rewrite(body, "4xf32", "4xf32", passes="graph-recognize").ops == {"mul": 2, "gelu": 1}


NOT_GELU = {
    "other factor": lambda x: graph.mul(graph.mul(x, erf_term(x)), number(0.6, x)),
    "other scale": lambda x: graph.mul(
        graph.mul(x, number(0.5, x)),
        graph.add(graph.erf(graph.mul(x, number(0.75, x))), number(1, x)),
    ),
    "other offset": lambda x: graph.mul(
        graph.mul(x, number(0.5, x)),
        graph.add(graph.erf(graph.mul(x, number(0.70710678, x))), number(1.01, x)),
    ),
    "other operand": lambda x: graph.mul(graph.mul(graph.abs_(x), number(0.5, x)), erf_term(x)),
    "squared": lambda x: graph.mul(graph.mul(graph.mul(x, x), number(0.5, x)), erf_term(x)),
}


@pytest.mark.parametrize("name", NOT_GELU)
def test_not_gelu(name):
    outcome = rewrite(NOT_GELU[name], "4xf32", passes="graph-recognize")
    assert (outcome.counts, outcome.reasons) == ({}, set())


def test_gelu_declines_when_its_core_is_used_elsewhere():
    def body(x):
        term = erf_term(x)
        return graph.mul(graph.mul(x, term), number(0.5, x)), graph.neg(term)

    outcome = rewrite(body, "4xf32", passes="graph-recognize")
    assert outcome.counts == {}
    assert outcome.reasons == {"'graph.add' is used elsewhere"}


def test_gelu_may_share_what_is_cheap():
    def body(x):
        half = graph.mul(x, number(0.5, x))
        return graph.mul(half, erf_term(x)), graph.neg(half)

    assert rewrite(body, "4xf32", passes="graph-recognize").ops == {"mul": 1, "neg": 1, "gelu": 1}


def test_gelu_declines_when_its_constants_broadcast():
    def body(x):
        half = graph.constant(value=np.full((1, 1, 1), 0.5, np.float32))
        return graph.mul(graph.mul(x, erf_term(x)), half)

    outcome = rewrite(body, "4xf32", passes="graph-recognize")
    assert outcome.reasons == {"its constants broadcast the operand to another shape"}


def exp_sigmoid(x, dividend):
    return graph.div(dividend, graph.add(number(1, x), graph.exp(graph.neg(x))))


OTHERS = {
    "silu": (lambda x: graph.mul(graph.sigmoid(x), x), {"swish": 1}),
    "quick gelu": (
        lambda x: graph.mul(x, graph.sigmoid(graph.mul(number(1.702, x), x))),
        {"swish": 1},
    ),
    "silu by tanh": (
        lambda x: graph.mul(
            graph.mul(number(0.5, x), x),
            graph.add(number(1, x), graph.tanh(graph.div(x, number(2, x)))),
        ),
        {"swish": 1},
    ),
    "silu by exp": (lambda x: exp_sigmoid(x, x), {"swish": 1}),
    "sigmoid": (lambda x: exp_sigmoid(x, number(1, x)), {"sigmoid": 1}),
    "sigmoid by reciprocal": (
        lambda x: graph.reciprocal(graph.add(graph.exp(graph.mul(x, number(-2, x))), number(1, x))),
        {"mul": 1, "neg": 1, "sigmoid": 1},
    ),
    "softplus": (lambda x: graph.log(graph.add(graph.exp(x), number(1, x))), {"softplus": 1}),
    "mish": (
        lambda x: graph.mul(graph.tanh(graph.log(graph.add(number(1, x), graph.exp(x)))), x),
        {"mish": 1},
    ),
    "hard sigmoid": (
        lambda x: graph.div(clip(graph.add(x, number(3, x)), 0, 6), number(6, x)),
        {"hard_sigmoid": 1},
    ),
    "hard sigmoid, scaled before": (
        lambda x: clip(
            graph.add(graph.mul(number(0.2, x), x), number(0.5, x)), 0, 1, max_first=False
        ),
        {"hard_sigmoid": 1},
    ),
    "hard swish": (
        lambda x: graph.div(graph.mul(x, clip(graph.add(x, number(3, x)), 0, 6)), number(6, x)),
        {"hard_sigmoid": 1, "mul": 1},
    ),
    "hard swish, factored": (
        lambda x: graph.mul(x, graph.mul(clip(graph.add(x, number(3, x)), 0, 6), number(1 / 6, x))),
        {"hard_sigmoid": 1, "mul": 1},
    ),
}


def clip(x, low, high, max_first=True):
    if max_first:
        return graph.min_(graph.max_(x, number(low, x)), number(high, x))
    return graph.max_(graph.min_(x, number(high, x)), number(low, x))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("passes", ["graph-recognize", "graph-simplify,graph-recognize"])
def test_others(name, passes):
    body, expected = OTHERS[name]
    outcome = rewrite(body, "4x6xf32", passes=passes)
    assert outcome.ops == expected


def test_swish_keeps_its_factor():
    outcome = rewrite(OTHERS["quick gelu"][0], "4xf32", passes="graph-recognize")
    assert outcome.attributes("swish")["alpha"] == pytest.approx(1.702)


def test_gates_stay():
    """``sigmoid(x) * y`` gates, and a plain clip is not a sigmoid."""

    def body(x, y):
        return graph.mul(graph.sigmoid(x), y), clip(x, 0, 1), clip(x, 0, 6)

    outcome = rewrite(body, "4xf32", "4xf32", passes="graph-recognize")
    assert outcome.counts == {}
    assert outcome.ops == {"sigmoid": 1, "mul": 1, "max": 2, "min": 2}


def test_integers_are_left_alone():
    def body(x):
        return graph.mul(x, graph.div(clip(x, 0, 6), number(6, x)))

    assert rewrite(body, "4xi32", passes="graph-recognize").counts == {}
