"""Pools in several steps compute what one step does."""

import numpy as np
import pytest
from graph_programs import build_module, op_names
from simplify_examples import LAST, Example, N, c, check_example, window

from graphc.dialects import graph
from graphc.passes.infra.pipeline import run_pipeline

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


MOVED = [
    Example(
        "pool-before-transpose",
        lambda x: graph.max_pool(
            graph.transpose(x, perm=[0, 2, 3, 1]),
            **(window([3, 2], low=[1, 0], high=[0, 1]) | {"strides": [2, 2]}),
            layout=LAST,
        ),
        ["reshape", "max_pool", "reshape", "transpose", "max_pool"],
        ("nx3x9x16xf32",),
    ),
    Example(
        "pool-before-transpose",
        lambda x: graph.max_pool(
            graph.pad(
                graph.transpose(x, perm=[0, 2, 3, 4, 1]),
                c(-np.inf), low=[0, 2, 0, 0, 0], high=[0, N, 0, 1, 0],
            ),
            **(window([3, 2, 1]) | {"strides": [2, 3, 1]}),
            layout=LAST,
        ),
        ["reshape", "pad", "max_pool", "reshape", "transpose", "pad", "reshape"],
        ("2x3xnx5x17xf32",),
    ),
    Example(
        "pool-before-transpose",
        lambda x: graph.average_pool(
            graph.transpose(x, perm=[0, 2, 3, 1]),
            **(window([2, 1], low=[1, 0], high=[0, 0]) | {"strides": [2, 2]}),
            extra=[0, 0],
            count_include_pad=False,
            layout=LAST,
        ),
        ["reshape", "average_pool", "reshape", "transpose", "average_pool"],
        ("2x3x9x20xf32",),
        exact=False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("example", MOVED)
def test_rows_are_pooled_before_they_are_transposed(context, example):
    check_example(example, "graph-split-pools{rows=true},graph-simplify")


@pytest.mark.parametrize(
    ("shape", "strides"),
    [("2x3x9x16xf32", [1, 2]), ("2x3x9x8xf32", [2, 2]), ("2x3x9xnxf32", [2, 2])],
)
def test_what_would_not_be_faster_stays(context, shape, strides):
    """As much to transpose, short rows, and those of unknown length."""

    def body(x):
        moved = graph.transpose(x, perm=[0, 2, 3, 1])
        return graph.max_pool(moved, **(window([3, 2]) | {"strides": strides}), layout=LAST)

    module = build_module(body, shape)
    run_pipeline(module, "graph-split-pools{rows=true}")
    assert op_names(module) == ["transpose", "max_pool"]
