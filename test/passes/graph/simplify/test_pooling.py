"""Simplifications of pooling windows that reach beyond the image."""

import pytest
from simplify_examples import FIRST, LAST, Example, check_example, window

from graphc.dialects import graph

EXAMPLES = [
    Example(
        "clip-pool-window",
        lambda x: graph.max_pool(x, **window([9, 2], low=[1, 0], high=[1, 0]), layout=FIRST),
        ["max_pool"],
        ("1x2x7x3xf32",),
    ),
    Example(
        "clip-pool-window",
        lambda x: graph.lp_pool(x, **window([4], high=[1]), p=2, layout=LAST),
        ["lp_pool"],
        ("2x3x2xf32",),
        exact=False,
    ),
    Example(
        "clip-average-window",
        lambda x: graph.average_pool(
            x,
            **window([90, 90], high=[5, 0]),
            extra=[78, 87],
            count_include_pad=False,
            layout=FIRST,
        ),
        ["average_pool"],
        ("1x2x7x3xf32",),
        exact=False,
    ),
    Example(
        "clip-average-window",
        lambda x: graph.average_pool(
            x,
            **window([90, 2], low=[2, 0], high=[5, 0]),
            extra=[76, 0],
            count_include_pad=True,
            layout=LAST,
        ),
        ["average_pool", "mul"],
        ("1x7x3x2xf32",),
        exact=False,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
