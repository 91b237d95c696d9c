"""Simplifications of choices, bounds and logic."""

import numpy as np
import pytest
from simplify_examples import INT, Example, N, c, check_example, column, counted

from graphc.dialects import graph

EXAMPLES = [
    Example(
        "if-of-one-value",
        lambda x, holds: graph.if_(holds, lambda: [x], lambda: [x], lambda hint: hint)[0],
        [],
        ("nxf32", "i1"),
    ),
    Example(
        "where-decided",
        lambda x, y: graph.where(c([[True]], np.bool_), x, y),
        ["expand"],
        ("3xf32", "4x3xf32"),
    ),
    Example(
        "where-decided",
        lambda x, y: graph.where(c([False, False, False], np.bool_), x, y),
        [],
        ("3xf32", "4x3xf32"),
    ),
    Example(
        "where-decided",
        lambda m, x: graph.where(m, x, x),
        [],
        ("4x3xi1", "4x3xf32"),
    ),
    Example("relu-of-relu", lambda x: graph.relu(graph.relu(x)), ["relu"]),
    Example("relu-of-max", lambda x: graph.relu(graph.max_(x, c(-1))), ["relu"]),
    Example("bound-chain", lambda x: graph.max_(graph.max_(x, c(1)), c(2)), ["max"]),
    Example("bound-chain", lambda x: graph.min_(c(1), graph.min_(x, c(2))), ["min"]),
    Example("max-zero-to-relu", lambda x: graph.max_(c(0, np.int32), x), ["relu"], INT),
    Example("max-of-relu", lambda x: graph.max_(graph.relu(x), c(-1)), ["relu"]),
    Example("max-of-relu", lambda x: graph.max_(graph.relu(x), c(2)), ["max"]),
    Example(
        "comparison-decided",
        lambda x: graph.and_(x, graph.greater_or_equal(counted(N), c(0, np.int64))),
        [],
        ("nxi1",),
    ),
    Example(
        "comparison-decided",
        lambda x: graph.and_(x, graph.less(c(-1, np.int64), graph.sub(column(4), c(0, np.int64)))),
        [],
        ("4x3xi1",),
    ),
    Example("logical-constant", lambda x: graph.and_(c(True, np.bool_), x), [], ("nxi1",)),
    Example("logical-constant", lambda x: graph.or_(x, c([False], np.bool_)), [], ("nxi1",)),
    Example(
        "logical-constant",
        lambda x: graph.and_(c([[True], [True]], np.bool_), x),
        ["expand"],
        ("nxi1",),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
