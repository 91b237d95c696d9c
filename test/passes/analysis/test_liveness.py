"""Tests of the memory use of programs: live values over time, and the peak."""

import numpy as np
import pytest
from graph_programs import build_module, main_of

from graphc.dialects import graph
from graphc.passes.analysis.liveness import liveness

KB = 1024


def live(body, *types, sizes=None):
    return liveness(main_of(build_module(body, *types)), sizes)


@pytest.mark.usefixtures("context")
def test_a_chain_holds_two_tensors():
    found = live(lambda x: graph.exp(graph.relu(graph.neg(x))), "256xf32")
    assert found.inputs == KB
    # The result is there from the beginning: beside it neg alone, then neg and relu, then relu.
    assert found.live == [2 * KB, 3 * KB, 2 * KB]
    assert found.peak == 3 * KB
    assert [(b.kind, b.begin, b.end) for b in found.buffers] == [
        ("input", -1, 0),
        ("intermediate", 0, 1),
        ("intermediate", 1, 2),
        ("output", -1, 3),
    ]


@pytest.mark.usefixtures("context")
def test_views_are_no_memory_and_keep_what_they_view_alive():
    def body(x):
        y = graph.reshape(graph.neg(x), shape=[16, 16])
        z = graph.relu(x)
        return graph.add(graph.reshape(y, shape=[256]), z)

    found = live(body, "256xf32")
    assert len(found.steps) == 3
    assert found.live == [2 * KB, 3 * KB, 3 * KB]


@pytest.mark.usefixtures("context")
def test_weights_and_what_is_computed_of_them_count_as_constants():
    def body(x):
        w = graph.constant(value=np.zeros((4, 256), np.float32))
        return graph.add(x, graph.transpose(w, perm=[1, 0]))

    found = live(body, "256x4xf32")
    assert found.constants == 8 * KB
    assert found.peak == 4 * KB
    assert [step.position for step in found.steps] == [2]


@pytest.mark.usefixtures("context")
def test_named_sizes_are_given_or_assumed():
    body = lambda x: graph.exp(graph.neg(x))  # noqa: E731
    found = live(body, "nx256xf32", sizes={"n": 8})
    assert (found.peak, found.assumed, found.sizes) == (16 * KB, (), {"n": 8})
    assumed = live(body, "nx256xf32", sizes={"other": 8})
    assert (assumed.peak, assumed.assumed, assumed.sizes) == (2 * KB, ("n",), {"n": 1})


@pytest.mark.usefixtures("context")
def test_a_branch_needs_what_is_inside_of_it():
    names = iter("abcdef")

    def body(x, c):
        def then():
            return [graph.exp(graph.neg(graph.neg(x)))]

        return graph.if_(c, then, lambda: [graph.neg(x)], lambda hint: next(names))

    found = live(body, "256xf32", "i1")
    assert found.steps[0].scratch == 2 * KB  # the result of the branch, and what is before it
    assert found.peak == 3 * KB


@pytest.mark.usefixtures("context")
def test_attention_needs_its_scores():
    def body(q, k, v):
        return graph.attention(q, k, v, None, scale=1.0, causal=False)

    found = live(body, "2x64x8xf32", "2x32x8xf32", "2x32x8xf32")
    assert found.peak == 2 * 64 * 8 * 4 + 2 * (2 * 64 * 32 * 4)


@pytest.mark.usefixtures("context")
def test_arguments_that_are_returned_are_the_callers():
    found = live(lambda x: x, "256xf32")
    assert (found.peak, found.live, found.inputs) == (0, [], KB)


@pytest.mark.usefixtures("context")
def test_a_kernel_needs_its_scratch_memory():
    def body(x):
        kernel = np.zeros((3, 3, 16, 16), np.float32)
        w = graph.constant(value=graph.winograd_kernel(kernel, 2, 16))
        window = {"low": [1, 1], "high": [1, 1]}
        y = graph.winograd_conv(x, w, **window, tile=2, mr=4, lanes=16)
        return graph.relu(y)

    found = live(body, "1x8x8x16xf32")
    (scratch,) = [buffer for buffer in found.buffers if buffer.kind == "scratch"]
    assert (scratch.begin, scratch.end) == (0, 0)
    assert scratch.bytes == found.steps[0].scratch
    # 16 products of each tile: of its channels, then of a panel of its features.
    assert scratch.bytes >= 16 * 16 * (16 + 16) * 4
    assert found.live[0] == 2 * 8 * 8 * 16 * 4 + scratch.bytes


@pytest.mark.usefixtures("context")
def test_a_fusion_needs_the_scratch_memory_of_what_it_fuses():
    def body(x):
        w = graph.constant(value=graph.winograd_kernel(np.zeros((3, 3, 16, 16), np.float32), 2, 16))
        window = {"low": [1, 1], "high": [1, 1]}
        y = graph.winograd_conv(x, w, **window, tile=2, mr=4, lanes=16)
        ops = [graph.graph_op(y.owner), graph.graph_op(graph.relu(y).owner)]
        fused = graph.fuse(ops, kind="epilogue")
        for op in reversed(ops):
            op.operation.erase()
        return fused

    found = live(body, "1x8x8x16xf32")
    assert found.steps[0].scratch == found.peak - 8 * 8 * 16 * 4 > 0


@pytest.mark.usefixtures("context")
def test_a_pool_copies_its_image_to_where_there_is_a_border():
    def body(x):
        window = {"kernel": [3, 3], "strides": [2, 2], "dilations": [1, 1]}
        border = {"low": [1, 1], "high": [0, 0]}
        return graph.max_pool(graph.neg(x), **window, **border, layout="channels_last")

    found = live(body, "1x8x8x16xf32")
    assert [step.position for step in found.steps] == [0, 1, 1]
    image, copy, result = 8 * 8 * 16 * 4, 9 * 9 * 16 * 4, 4 * 4 * 16 * 4
    assert found.live == [image + result, image + copy + result, copy + result]


@pytest.mark.usefixtures("context")
def test_sizes_that_the_assumed_ones_cannot_have():
    """Half of one element is none, which does not broadcast to two: it counts as one."""
    body = lambda x, y: graph.exp(graph.add(x, y))  # noqa: E731
    found = live(body, "floordiv(n, 2)xf32", "m + 1xf32")
    assert (found.assumed, [buffer.bytes for buffer in found.buffers]) == (("n", "m"), [0, 8, 4, 4])
    with pytest.raises(ValueError, match="do not broadcast"):
        live(body, "floordiv(n, 2)xf32", "m + 1xf32", sizes={"n": 1, "m": 1})
