"""Elements along an axis, taken from a sequence of them."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.frontend.onnx.importing.unbinding import without_unbinding

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
AT = {"first": np.array(0), "last": np.array(-1)}


def _model(outputs=("y", "z"), **attributes):
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], **attributes),
        helper.make_node("SequenceAt", ["s", "first"], ["y"], "one"),
        helper.make_node("SequenceAt", ["s", "last"], ["z"]),
    ]
    return build_model(nodes, {"x": (np.float32, ["n", 3, 4])}, outputs, AT)


@pytest.mark.parametrize(("axis", "at"), [(0, np.s_[0]), (1, np.s_[:, 0]), (-1, np.s_[..., 0])])
def test_elements_are_compiled(axis, at):
    model = graphc.compile(_model(axis=axis, keepdims=0), target="interpret")
    assert all(part.native for part in model.parts)
    first, last = model.run(None, {"x": X})
    np.testing.assert_array_equal(first, X[at])
    np.testing.assert_array_equal(last, np.take(X, -1, axis))


def test_names_of_nodes_stay():
    changed = without_unbinding(_model(keepdims=0)).graph.node
    assert [(node.op_type, node.name) for node in changed] == [
        ("Gather", "one"),
        ("Gather", "SequenceAt_2"),
    ]


@pytest.mark.parametrize("model", [_model(), _model(("s",), keepdims=1)])
def test_rows_that_keep_their_axis_stay(model):
    assert without_unbinding(model) is model


def test_a_sequence_with_another_use_stays():
    model = _model(keepdims=0)
    model.graph.node.append(helper.make_node("SequenceLength", ["s"], ["l"]))
    kept = [node.op_type for node in without_unbinding(model).graph.node]
    assert kept == ["SplitToSequence", "Gather", "Gather", "SequenceLength"]
