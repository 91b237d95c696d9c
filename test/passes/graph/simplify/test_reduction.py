"""Simplifications of reductions."""

import pytest
from simplify_examples import Example, check_example

from graphc.dialects import graph

EXAMPLES = [
    Example(
        "drop-unit-reduction",
        lambda x: graph.reduce_sum(x, axes=[1, 3], keepdims=False),
        ["reshape"],
        ("3x1x2x1xf32",),
    ),
    Example(
        "drop-unit-reduction",
        lambda x: graph.reduce_mean(x, axes=[2], keepdims=False),
        ["reshape"],
        ("4x2x1xi32",),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
