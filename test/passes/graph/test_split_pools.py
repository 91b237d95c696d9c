"""Pools in several steps compute what one step does."""

import numpy as np
import pytest
from simplify_examples import LAST, Example, N, c, check_example, window

from graphc.dialects import graph

EXAMPLES = [
    Example(
        "split-deep-pool",
        lambda x: graph.max_pool(
            graph.pad(x, c(-np.inf), low=[0, 2, 0, 0, 0], high=[0, N, 0, 1, 0]),
            **(window([3, 2, 1]) | {"strides": [2, 3, 1]}),
            layout=LAST,
        ),
        ["reshape", "pad", "max_pool", "reshape", "pad", "max_pool", "reshape"],
        ("2xnx5x3x2xf32",),
    ),
    Example(
        "split-deep-pool",
        lambda x: graph.max_pool(
            x,
            **(window([3, 2, 1], low=[1, 0, 0], high=[2, 0, 0]) | {"strides": [2, 3, 1]}),
            layout=LAST,
        ),
        ["reshape", "max_pool", "reshape", "max_pool", "reshape"],
        ("nx4x5x3x2xf32",),
    ),
    Example(
        "split-deep-pool",
        lambda x: graph.max_pool(x, **window([1, 2, 2]), layout=LAST),
        ["reshape", "max_pool", "reshape"],
        ("2x4x5x3x2xf32",),
    ),
    *(
        Example(
            "split-deep-pool",
            lambda x, counted=counted: graph.average_pool(
                x,
                **window([3, 2, 2], low=[1, 1, 0], high=[2, 0, 0]),
                extra=[0, 1, 0],
                count_include_pad=counted,
                layout=LAST,
            ),
            ["reshape", "average_pool", "reshape", "average_pool", "reshape"],
            ("2x4x5x3x2xf32",),
            exact=False,
        )
        for counted in (False, True)
    ),
    Example(
        "split-wide-pool",
        lambda x: graph.max_pool(
            x, **(window([5, 5], low=[2, 1], high=[2, 3]) | {"dilations": [1, 2]}), layout=LAST
        ),
        ["max_pool", "max_pool"],
        ("2xnx12x2xf32",),
    ),
    Example(
        "split-wide-pool",
        lambda x: graph.average_pool(
            x,
            **(window([9, 9], low=[4, 4], high=[4, 4]) | {"strides": [2, 2]}),
            extra=[0, 1],
            count_include_pad=False,
            layout=LAST,
        ),
        ["average_pool", "average_pool"],
        ("2x11x12x2xf32",),
        exact=False,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example, "graph-split-pools{wide=true},graph-simplify")
