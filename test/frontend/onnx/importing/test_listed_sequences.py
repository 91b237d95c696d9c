"""Sequences whose elements are known, and loops that build such, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.frontend.onnx.importing.listed_sequences import without_listed

X = np.arange(30, dtype=np.float32).reshape(5, 6)
CONSTANTS = {
    "zero": np.int64(0), "one": np.int64(1), "last": np.int64(-1), "bounds": np.int64([0, 2, 4]),
    "two": np.int64([2]), "holds": np.bool_(True), "axis": np.int64([1]), "unit": np.int64([1]),
}  # fmt: skip


def _round(declared):
    """A round of what PyTorch exports for ``tensor_split``: the part between two bounds."""
    nodes = [
        helper.make_node("Add", ["number", "unit"], ["next"]),
        helper.make_node("Gather", ["bounds", "number"], ["start"]),
        helper.make_node("Gather", ["bounds", "next"], ["end"]),
        helper.make_node("Slice", ["x", "start", "end", "axis"], ["part"]),
        helper.make_node("SequenceInsert", ["before", "part"], ["after"]),
        helper.make_node("Identity", ["holds"], ["goes_on"]),
    ]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    inputs = [
        helper.make_tensor_value_info("number", TensorProto.INT64, declared),
        helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
        helper.make_value_info("before", sequence),
    ]
    outputs = [
        helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
        helper.make_value_info("after", sequence),
    ]
    return helper.make_graph(nodes, "round", inputs, outputs)


def _model(nodes, outputs, opset=17, **inputs):
    nodes = [helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes]
    given = {"x": (np.float32, ["n", 6]), **inputs}
    return build_model(nodes, given, outputs, CONSTANTS, opset=opset)


def _check(model, feed=None, is_native=True):
    feed = feed or {"x": X}
    compiled = graphc.compile(model, target="interpret")
    assert all(part.native for part in compiled.parts) == is_native
    for found, wanted in zip(compiled.run(None, feed), run_onnxruntime(model, feed), strict=True):
        np.testing.assert_array_equal(found, wanted)


SPLIT = [
    ("SequenceEmpty", [], ["none"]),
    ("Loop", ["two", "holds", "none"], ["parts"], {"body": _round([1])}),
]


def test_split_by_a_loop():
    """Two parts by a loop, and the rest behind them."""
    rest = ("Slice", ["x", "rest", "width", "axis"], ["rest_part"])
    nodes = [
        ("Constant", [], ["rest"], {"value_ints": [4]}),
        ("Constant", [], ["width"], {"value_ints": [6]}),
        *SPLIT,
        rest,
        ("SequenceInsert", ["parts", "rest_part"], ["all"]),
        ("SequenceAt", ["all", "zero"], ["a"]),
        ("SequenceAt", ["all", "one"], ["b"]),
        ("SequenceAt", ["all", "last"], ["c"]),
        ("SequenceLength", ["all"], ["count"]),
    ]
    model = _model(nodes, ["a", "b", "c", "count"])
    kept = {node.op_type for node in without_listed(model).graph.node}
    assert not {each for each in kept if each == "Loop" or each.startswith("Sequence")}
    _check(model)


def test_constants_of_a_loop_are_written_once():
    body = _round([1])
    body.node[0].input[1] = "step"
    body.initializer.append(numpy_helper.from_array(np.int64([1]), "step"))
    nodes = [
        SPLIT[0],
        ("Loop", ["two", "holds", "none"], ["parts"], {"body": body}),
        ("SequenceAt", ["parts", "one"], ["y"]),
    ]
    model = _model(nodes, ["y"])
    made = [name for node in without_listed(model).graph.node for name in node.output]
    assert sum("step" in name for name in made) == 1
    _check(model)


def test_inserted_and_erased():
    nodes = [
        ("Neg", ["x"], ["m"]),
        ("SequenceConstruct", ["x", "m"], ["s"]),
        ("SequenceInsert", ["s", "m", "zero"], ["t"]),
        ("SequenceInsert", ["t", "x", "last"], ["u"]),
        ("SequenceErase", ["u", "one"], ["v"]),
        ("SequenceErase", ["v"], ["w"]),
        ("ConcatFromSequence", ["v"], ["y"], {"axis": 1}),
        ("ConcatFromSequence", ["w"], ["z"], {"axis": 0}),
    ]
    _check(_model(nodes, ["y", "z"]))


def _states(at):
    """A round that replaces an element of a list by the sum of the others."""
    nodes = [
        helper.make_node("SequenceAt", ["before", "zero"], ["a"]),
        helper.make_node("SequenceAt", ["before", at], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("SequenceErase", ["before", "zero"], ["less"]),
        helper.make_node("SequenceInsert", ["less", "c", "one"], ["after"]),
        helper.make_node("Identity", ["goes"], ["goes_on"]),
    ]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    inputs = [
        helper.make_tensor_value_info("number", TensorProto.INT64, []),
        helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
        helper.make_value_info("before", sequence),
    ]
    outputs = [
        helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
        helper.make_value_info("after", sequence),
    ]
    return helper.make_graph(nodes, "round", inputs, outputs)


@pytest.mark.parametrize(("at", "is_native"), [("last", True), ("which", False)])
def test_a_list_of_states(at, is_native):
    """A loop of an unknown number of rounds carries the elements of a list. An element that data
    choose is taken of the list."""
    nodes = [
        ("Neg", ["x"], ["m"]),
        ("SequenceConstruct", ["x", "m", "x"], ["s"]),
        ("Loop", ["count", "", "s"], ["states"], {"body": _states(at)}),
        ("SequenceAt", ["states", "one"], ["y"]),
        ("SequenceLength", ["states"], ["length"]),
    ]
    model = _model(nodes, ["y", "length"], count=(np.int64, []), which=(np.int64, []))
    for count in (0, 3):
        _check(model, {"x": X, "count": np.array(count), "which": np.array(1)}, is_native)


def test_a_list_that_grows_is_carried():
    nodes = [
        ("SequenceConstruct", ["x"], ["s"]),
        ("Loop", ["count", "holds", "s"], ["parts"], {"body": _round([])}),
        ("SequenceAt", ["parts", "last"], ["y"]),
    ]
    model = _model(nodes, ["y"], count=(np.int64, []))
    assert without_listed(model) is model


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stacked(axis, opset):
    nodes = [
        ("SequenceConstruct", ["x", "x"], ["s"]),
        ("ConcatFromSequence", ["s"], ["y"], {"axis": axis, "new_axis": 1}),
    ]
    _check(_model(nodes, ["y"], opset=opset))


@pytest.mark.parametrize(
    "nodes",
    [
        [("SequenceConstruct", ["x", "x"], ["s"]), ("SequenceAt", ["s", "i"], ["y"])],
        [("SequenceEmpty", [], ["none"]), ("Loop", ["i", "holds", "none"], ["s"],
         {"body": _round([])}), ("SequenceAt", ["s", "zero"], ["y"])],
    ],
)  # fmt: skip
def test_what_is_not_known_stays(nodes):
    model = _model(nodes, ["y"], i=(np.int64, []))
    assert without_listed(model) is model
    if nodes[-1][0] == "SequenceAt" and nodes[0][0] == "SequenceConstruct":
        _check(model, {"x": X, "i": np.array(1)}, is_native=False)


def test_a_sequence_with_another_use_stays():
    model = _model([*SPLIT, ("SequenceAt", ["parts", "zero"], ["y"])], ["y"])
    model.graph.node.append(helper.make_node("SplitToSequence", ["y"], ["other"]))
    model.graph.node.append(helper.make_node("Identity", ["parts"], ["again"]))
    model.graph.node.append(helper.make_node("SequenceAt", ["again", "where"], ["z"]))
    model.graph.input.append(helper.make_tensor_value_info("where", TensorProto.INT64, []))
    kept = [node.op_type for node in without_listed(model).graph.node]
    assert kept.count("SequenceInsert") == 2
    assert kept.count("SequenceAt") == 1
