"""The live sets of a program that may take the most memory."""

import pytest
from graph_programs import build_module, main_of

from graphc.cpu_model import GENERIC_CPU
from graphc.dialects import graph
from graphc.dialects.symbolic import Dim, floordiv
from graphc.passes.analysis import live_sets
from graphc.passes.analysis.live_sets import largest_live_sets


def greatest(body, *types):
    return largest_live_sets(main_of(build_module(body, *types)), GENERIC_CPU)


def through(x, *sizes):
    """`x` [n, 4], widened to each of `sizes` in turn."""
    for size in sizes:
        x = graph.expand(
            graph.reduce_max(x, axes=[1], keepdims=True), shape=[*graph.type_of(x).shape[:1], size]
        )
    return graph.reduce_max(x, axes=[1], keepdims=False)


@pytest.mark.usefixtures("context")
def test_known_sizes_have_one():
    (live_set,) = greatest(lambda x: through(x, 64, 1024, 16), "8x4xf32")
    assert ("graph.expand", 8 * 1024 * 4) in live_set
    assert sum(size for _, size in live_set) >= 8 * 1024 * 4 + 8 * 4


@pytest.mark.usefixtures("context")
def test_named_sizes_have_one_for_each_that_may_be_the_greatest():
    def body(x, y):
        return through(x, 64, 1024), through(y, 512, 2048)

    n, m = Dim.symbol("n"), Dim.symbol("m")
    sets = greatest(body, "nx4xf32", "mx4xf32")
    largest = [{size for _, size in live_set} for live_set in sets]
    assert any(n * 4096 in sizes for sizes in largest)
    assert any(m * 8192 in sizes for sizes in largest)
    assert not any(n * 256 in sizes and m * 8192 not in sizes for sizes in largest)


@pytest.mark.usefixtures("context")
def test_work_is_proportional_to_the_number_of_outputs(monkeypatch):
    """All outputs are alive from the beginning to the end."""
    asked = []
    size_of = live_sets._size
    monkeypatch.setattr(live_sets, "_size", lambda buffer: asked.append(buffer) or size_of(buffer))
    work = []
    for count in (20, 40):
        asked.clear()
        (live_set,) = greatest(lambda x, n=count: [graph.neg(x) for _ in range(n)], "nx4xf32")
        assert len(live_set) == count
        work.append(len(asked))
    assert work[1] < 3 * work[0]


@pytest.mark.usefixtures("context")
def test_quotients_of_sizes_are_compared_by_examples():
    """Steps whose sizes are quotients that have no common bound: few may take the most."""
    h, w = Dim.symbol("h"), Dim.symbol("w")

    def body(x):
        for step in range(3, 9):
            shape = [-1 * floordiv(-1 * h, step) * floordiv(-1 * w, step), 4 * step]
            x = graph.expand(graph.reduce_max(x, axes=[0, 1], keepdims=True), shape=shape)
            x = graph.neg(x)
        return graph.reduce_max(x, axes=[1], keepdims=False)

    live_sets_found = greatest(body, "hxwxf32")
    assert 1 <= len(live_sets_found) <= 3


@pytest.mark.usefixtures("context")
def test_sizes_that_divide_by_zero_are_no_examples():
    """Windows of an image, in number ``h // 8``, share channels: none has images of 5 rows."""
    h = Dim.symbol("h")

    def body(x):
        channels = floordiv(4096 * h, floordiv(h, 8))
        row = graph.reduce_max(x, axes=[0], keepdims=True)
        return graph.neg(graph.expand(row, shape=[channels, 4]))

    (live_set,) = greatest(body, "hx4xf32")
    assert live_set
