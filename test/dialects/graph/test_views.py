"""Tensors that are read where another one lies."""

import numpy as np
import pytest
from graph_programs import ALIVE, build_module, ops_of

from graphc.dialects import graph
from graphc.mlir import ir


@pytest.fixture
def context():
    with ir.Context() as context, ir.Location.unknown():
        graph.Graph.load()
        yield context
        ALIVE.clear()


def _whole(x):
    return graph.reshape(x, shape=[4, 30])


def _slice(x):
    rows = graph.slice_(x, starts=[1, 0, 4], sizes=[2, 5, 3], steps=[1, 1, -2])
    return graph.transpose(rows, perm=[2, 0, 1])


def _merge_apart(x):
    return graph.reshape(graph.transpose(x, perm=[0, 2, 1]), shape=[4, 30])


@pytest.mark.parametrize("moved", [_whole, _slice])
def test_a_view_gives_what_its_ops_give(context, moved):
    ops = ops_of(build_module(moved, "4x5x6xf32"))
    x = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
    expected = x
    for op in ops:
        expected = type(op).evaluate(expected, **op.attrs)
    view = graph.View.through((4, 5, 6), ops)
    assert view is not None
    assert view.fits((4, 5, 6))
    assert not view.fits((2, 5, 6))
    assert view.is_whole == (moved is _whole)
    np.testing.assert_array_equal(view.of(x), expected)


def test_what_is_no_view(context):
    """Axes that are apart cannot be one."""
    ops = ops_of(build_module(_merge_apart, "4x5x6xf32"))
    assert graph.View.through((4, 5, 6), ops) is None
