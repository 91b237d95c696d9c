"""Transients of one size class hold what they would hold alone."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import graphc


@pytest.mark.parametrize("threads", [1, 2])
def test_readers_see_the_result_alone(threads):
    """The order that a sort writes has half the size of its scratch memory, and is in one class
    with it. What is gathered by it has the size of the order, and a neighbour in memory."""
    model = _sort_beside_another()
    session = ort.InferenceSession(model.SerializeToString())
    random = np.random.default_rng(0)
    with graphc.compile(model, threads=threads) as compiled:
        assert compiled.report.rewrites["transient-size-classes"].nodes == ["TopK_3"]
        for size in (40, 3, 24, 64, 129, 40):
            feeds = {name: random.permutation(size).astype(np.int64) for name in "xp"}
            (expected,) = session.run(None, feeds)
            np.testing.assert_array_equal(compiled.run(None, feeds)[0], expected)


def _sort_beside_another():
    """A model in which ``last`` takes memory of the sort while ``first``, behind that, is still to
    be read."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"]),
        helper.make_node("Gather", ["x", "p"], ["first"]),
        helper.make_node("Gather", ["p", "first"], ["kept"]),
        helper.make_node("TopK", ["first", "n"], ["sorted", "order"], axis=0, largest=0),
        helper.make_node("Gather", ["x", "order"], ["last"]),
        helper.make_node("Gather", ["kept", "last"], ["read"]),
        helper.make_node("Gather", ["first", "read"], ["y"]),
    ]
    x, p, y = (helper.make_tensor_value_info(n, TensorProto.INT64, ["n"]) for n in "xpy")
    graph = helper.make_graph(nodes, "sort", [x, p], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
