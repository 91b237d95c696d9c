"""Elements along an axis, taken from a sequence of them."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import TensorProto, helper

import graphc
from graphc.frontend.onnx.importing.unbinding import without_unbinding

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
AT = {
    "first": np.array(0), "last": np.array(-1), "one": np.array(1), "list": np.array([1, 1]),
    "two": np.array(2),
}  # fmt: skip


def _model(outputs=("y", "z"), split=(), **attributes):
    nodes = [
        helper.make_node("SplitToSequence", ["x", *split], ["s"], **attributes),
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


def test_a_scalar_that_says_single_rows():
    """ONNX Runtime leaves out the axis then."""
    model = _model(split=["one"], axis=1, keepdims=0)
    compiled = graphc.compile(model, target="interpret")
    assert all(part.native for part in compiled.parts)
    results, wanted = compiled.run(None, {"x": X}), run_onnxruntime(model, {"x": X})
    np.testing.assert_array_equal(results[0], wanted[0])


def test_a_loop_over_elements():
    infos = [
        helper.make_tensor_value_info(name, *type_)
        for name, type_ in {
            "number": (TensorProto.INT64, []), "goes": (TensorProto.BOOL, []),
            "sum": (TensorProto.FLOAT, [3, 4]), "goes_on": (TensorProto.BOOL, []),
            "next": (TensorProto.FLOAT, [3, 4]),
        }.items()
    ]  # fmt: skip
    nodes = [
        helper.make_node("SequenceAt", ["s", "number"], ["row"]),
        helper.make_node("Add", ["row", "sum"], ["next"]),
        helper.make_node("Identity", ["goes"], ["goes_on"]),
    ]
    body = helper.make_graph(nodes, "round", infos[:3], infos[3:])
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], keepdims=0),
        helper.make_node("SequenceLength", ["s"], ["count"]),
        helper.make_node("Loop", ["count", "", "start"], ["y"], body=body),
    ]
    start = {"start": np.zeros((3, 4), np.float32)}
    model = build_model(nodes, {"x": (np.float32, ["n", 3, 4])}, ["y"], start)
    compiled = graphc.compile(model, target="interpret")
    assert all(part.native for part in compiled.parts)
    np.testing.assert_array_equal(compiled.run(None, {"x": X})[0], X.sum(0))


SPLITS = [{"split": ["list"], "axis": 0}, {"split": ["two"], "axis": 0}]


@pytest.mark.parametrize(
    "model", [_model(), _model(("s",), keepdims=1), *(_model(keepdims=0, **s) for s in SPLITS)]
)
def test_rows_that_keep_their_axis_stay(model):
    assert without_unbinding(model) is model


def test_a_sequence_with_another_use_stays():
    model = _model(keepdims=0)
    model.graph.node.append(helper.make_node("SequenceErase", ["s"], ["l"]))
    kept = [node.op_type for node in without_unbinding(model).graph.node]
    assert kept == ["SplitToSequence", "Gather", "Gather", "SequenceErase"]
