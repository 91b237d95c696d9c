"""Simplifications of gathers whose indices are known."""

import numpy as np
import pytest
from simplify_examples import Example, N, c, check_example, column, counted

from graphc.dialects import graph

EXAMPLES = [
    Example(
        "gather-of-sizes",
        lambda x: graph.gather(graph.sizes(sizes=[N, 7]), c([[1], [-2]], np.int64), axis=0),
        ["sizes", "reshape"],
        ("nxf32",),
    ),
    Example(
        "gather-in-order",
        lambda x: graph.gather(
            graph.reshape(x, shape=[2 * N]),
            graph.add(
                graph.mul(column(2), graph.sizes(sizes=[N])),
                graph.reshape(counted(N), shape=[1, N]),
            ),
            axis=0,
        ),
        [],
        ("2xnxf32",),
    ),
    Example(
        "gather-in-order",
        lambda x: graph.gather(x, c([[0], [1], [2]], np.int64), axis=1),
        ["reshape"],
    ),
    Example(
        "gather-of-run",
        lambda x: graph.gather(x, c(-1, np.int64), axis=0),
        ["slice", "reshape"],
    ),
    Example(
        "gather-of-run",
        lambda x: graph.gather(x, c([[1], [2]], np.int32), axis=1),
        ["slice", "reshape"],
        ("nx3xf32",),
    ),
    Example(
        "gather-nd-in-order",
        lambda x: graph.gather_nd(
            x,
            graph.concat(
                [
                    graph.expand(graph.reshape(counted(4), shape=[4, 1, 1, 1]), shape=[4, 1, 3, 1]),
                    graph.expand(graph.reshape(counted(3), shape=[1, 1, 3, 1]), shape=[4, 1, 3, 1]),
                ],
                axis=3,
            ),
            batch_dims=0,
        ),
        ["reshape"],
    ),
    Example(
        "scatter-of-rows",
        lambda x, i, updates: graph.scatter_elements(
            x,
            graph.expand(graph.reshape(i, shape=[N, 1]), shape=[N, 4]),
            updates,
            axis=0,
            reduction="add",
        ),
        ["reshape", "scatter_nd"],
        ("6x4xf32", "nxi64", "nx4xf32"),
    ),
    Example(
        "scatter-of-rows",
        lambda x, updates: graph.scatter_elements(
            x, c([[2, 2], [-1, -1], [0, 0]], np.int64), updates, axis=0, reduction="none"
        ),
        ["scatter_nd"],
        ("3x2xf32", "3x2xf32"),
    ),
    Example(
        "scatter-of-slice",
        lambda x, updates, _: graph.scatter_elements(
            x,
            graph.expand(
                graph.reshape(graph.add(counted(2), graph.sizes(sizes=[N])), shape=[1, 2, 1]),
                shape=[3, 2, 4],
            ),
            updates,
            axis=1,
            reduction="none",
        ),
        ["sizes", "tensor_scatter"],
        ("3x9x4xf32", "3x2x4xf32", "nxf32"),
    ),
    Example(
        "range-of-one",
        lambda x: graph.range_(x, c(1, np.int64), size=1),
        ["reshape"],
        ("i64",),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
