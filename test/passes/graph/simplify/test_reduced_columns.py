"""Columns that are reduced by few, side by side."""

import numpy as np
import pytest
from graph_programs import build_module, op_names
from simplify_examples import Example, c, check_example

from graphc.dialects import graph
from graphc.passes.infra.pipeline import run_pipeline

REDUCE = ["gather", "reduce_max"]


def _columns(x, *positions):
    return graph.gather(x, c(positions, np.int64), axis=1)


def _largest(x, keepdims=True):
    return graph.reduce_max(x, axes=[1], keepdims=keepdims)


def _part(x, starts, steps=(1, 1)):
    return graph.slice_(x, starts=list(starts), sizes=[4, 2], steps=list(steps))


def _joined(*parts):
    return graph.concat(list(parts), axis=1)


def _twenty(x):
    """More operands than one concatenation has."""
    return _joined(*[_largest(_columns(x, i % 3, i // 7)) for i in range(20)])


_NAME = "concat-of-reduced"
EXAMPLES = [
    Example(
        _NAME,
        lambda x: _joined(_largest(_columns(x, 0, -1)), _largest(_columns(x, 1, 1))),
        REDUCE,
    ),
    Example(
        _NAME,
        lambda x: _joined(_largest(_part(x, (0, 1))), _largest(_part(x, (0, 0)))),
        REDUCE,
    ),
    Example(_NAME, _twenty, REDUCE),
    Example(  # others beside them
        _NAME,
        lambda x: _joined(x, *[_largest(_columns(x, 2, i)) for i in (0, 2)], x),
        [*REDUCE, "concat"],
    ),
    Example(  # of two lengths
        _NAME,
        lambda x: _joined(*[_largest(_columns(x, *each)) for each in ((0, 2), (1, 1), (2, 0, 2))]),
        ["gather", "reduce_max", "gather", "reduce_max", "concat"],
    ),
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_rewrite(example, context):
    check_example(example)


LEFT_ALONE = {
    "rows in another order": lambda x: _joined(
        *[_largest(_part(x, (3, i), (-1, 1))) for i in (0, 1)]
    ),
    "along rows": lambda x: graph.concat(
        [graph.reduce_max(graph.gather(x, c([0, i], np.int64), axis=0), axes=[0], keepdims=True)
         for i in (2, 3)],
        axis=0,
    ),
    "two kinds": lambda x: _joined(
        _largest(_columns(x, 0, 2)),
        graph.reduce_min(_columns(x, 2, 0), axes=[1], keepdims=True),
    ),
    "many terms": lambda x: _joined(*[_largest(_columns(x, *[0, 2] * 5, i)) for i in (0, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(body, context):
    module = build_module(body, "4x3xf32")
    before = [name for name in op_names(module) if name.startswith(("reduce", "concat"))]
    run_pipeline(module, "graph-simplify,canonicalize")
    assert [name for name in op_names(module) if name.startswith(("reduce", "concat"))] == before
