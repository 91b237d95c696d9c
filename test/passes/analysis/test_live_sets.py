"""The live sets of a program that may take the most memory."""

import pytest
from graph_programs import build_module, main_of

from graphc.cpu_model import GENERIC_CPU
from graphc.dialects import graph
from graphc.dialects.symbolic import Dim
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
    live_sets = greatest(body, "nx4xf32", "mx4xf32")
    largest = [{size for _, size in live_set} for live_set in live_sets]
    assert any(n * 4096 in sizes for sizes in largest)
    assert any(m * 8192 in sizes for sizes in largest)
    assert not any(n * 256 in sizes and m * 8192 not in sizes for sizes in largest)


@pytest.mark.usefixtures("context")
def test_work_is_proportional_to_the_number_of_outputs(monkeypatch):
    """All outputs are alive from the beginning to the end."""
    added = []
    add = Dim.__add__
    monkeypatch.setattr(Dim, "__add__", lambda a, b: added.append(a) or add(a, b))
    work = []
    for count in (20, 40):
        added.clear()
        (live_set,) = greatest(lambda x, n=count: [graph.neg(x) for _ in range(n)], "nx4xf32")
        assert len(live_set) == count
        work.append(len(added))
    assert work[1] < 3 * work[0]
