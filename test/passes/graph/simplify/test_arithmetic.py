"""Simplifications of arithmetic and casts."""

import numpy as np
import pytest
from simplify_examples import INT, Example, c, check_example

from graphc.dialects import graph

EXAMPLES = [
    Example("sub-zero", lambda x: graph.sub(x, c(0)), []),
    Example("mul-one", lambda x: graph.mul(c([1]), x), []),
    Example("mul-one", lambda x: graph.mul(x, c(1, np.int32)), [], INT),
    Example("div-one", lambda x: graph.div(x, c(1)), []),
    Example("double-negation", lambda x: graph.neg(graph.neg(x)), []),
    Example("double-negation", lambda x: graph.not_(graph.not_(x)), [], ("4xi1",)),
    Example("double-negation", lambda x: graph.bitwise_not(graph.bitwise_not(x)), [], INT),
    Example("abs-of-sign-free", lambda x: graph.abs_(graph.neg(x)), ["abs"]),
    Example("abs-of-sign-free", lambda x: graph.abs_(graph.abs_(x)), ["abs"]),
    Example("add-negated", lambda x, y: graph.add(x, graph.neg(y)), ["sub"], ("4xf32", "4xf32")),
    Example("add-negated", lambda x, y: graph.add(graph.neg(x), y), ["sub"], ("4xf32", "4xf32")),
    Example("pow-one", lambda x: graph.pow_(x, c(1)), []),
    Example("pow-two", lambda x: graph.pow_(x, c(2)), ["mul"]),
    Example("pow-half", lambda x: graph.pow_(graph.abs_(x), c(0.5)), ["abs", "sqrt"], exact=False),
    Example("pow-minus-one", lambda x: graph.pow_(x, c(-1)), ["reciprocal"], exact=False),
    Example(
        "mul-chain",
        lambda x: graph.mul(c(3, np.int32), graph.mul(x, c(1 << 30, np.int32))),
        ["mul"],
        INT,
    ),
    Example("mul-chain", lambda x: graph.mul(graph.mul(x, c(-4)), c(0.1)), ["mul"], exact=False),
    Example(
        "add-chain",
        lambda x: graph.add(graph.add(c(2**31 - 1, np.int32), x), c(5, np.int32)),
        ["add"],
        INT,
    ),
    Example("div-by-power-of-two", lambda x: graph.div(x, c(8)), ["mul"]),
    Example("div-by-power-of-two", lambda x: graph.div(x, c(-0.25)), ["mul"]),
    Example("cast-to-same", lambda x: graph.cast(x, to=np.float32), []),
    Example(
        "cast-chain",
        lambda x: graph.cast(graph.cast(x, to=np.float64), to=np.float16),
        ["cast"],
    ),
    Example("cast-chain", lambda x: graph.cast(graph.cast(x, to=np.int64), to=np.int32), [], INT),
    Example(
        "cast-chain",
        lambda x: graph.cast(graph.cast(x, to=np.float32), to=np.int32),
        ["cast"],
        ("4xi1",),
    ),
    Example(
        "commuted",
        lambda x, y: graph.sub(graph.mul(x, y), graph.exp(graph.mul(y, x))),
        ["mul", "exp", "sub"],
        ("4x3xf32", "3xf32"),
    ),
    Example("add-zero", lambda x: graph.add(c(0, np.int32), x), [], INT),
    Example("add-zero", lambda x: graph.add(x, c(-0.0)), []),
    Example("add-zero", lambda x: graph.add(x, c([0], np.int64)), ["reshape"], ("i64",)),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
