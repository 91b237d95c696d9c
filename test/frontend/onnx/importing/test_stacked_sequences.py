"""Sequences that loops fill and that are stacked behind them, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import TensorProto, helper

import graphc
from graphc.frontend.onnx.importing.stacked_sequences import without_stacked

X = np.arange(30, dtype=np.float32).reshape(5, 2, 3)
CONSTANTS = {
    "count": np.int64(4), "holds": np.bool_(True), "one": np.int64(1), "last": np.int64(-1),
    "zero": np.int64(0), "start": np.ones((2, 3), np.float32), "limit": np.float32(60),
}  # fmt: skip
STACK = ("ConcatFromSequence", ["parts"], ["y"], {"axis": 0, "new_axis": 1})
EMPTY = ("SequenceEmpty", [], ["none"])


def _body(insert=(), until=False):
    """A round: the sum of the rows so far is appended to a sequence."""
    nodes = [
        helper.make_node("Gather", ["x", "number"], ["row"]),
        helper.make_node("Add", ["sum", "row"], ["next"]),
        helper.make_node("SequenceInsert", ["before", "next", *insert], ["after"]),
        helper.make_node("ReduceMax", ["next"], ["most"], keepdims=0),
        helper.make_node("Less", ["most", "limit"], ["small"]),
        helper.make_node("Identity", ["small" if until else "holds"], ["goes_on"]),
    ]
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    inputs = [
        helper.make_tensor_value_info("number", TensorProto.INT64, []),
        helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
        helper.make_value_info("before", sequence),
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, [2, 3]),
    ]
    outputs = [
        helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
        helper.make_value_info("after", sequence),
        helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 3]),
    ]
    return helper.make_graph(nodes, "round", inputs, outputs)


def _loop(initial="none", **form):
    names = ["count", "holds", initial, "start"]
    return ("Loop", names, ["parts", "total"], {"body": _body(**form)})


def _model(nodes, outputs):
    made = [helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes]
    return build_model(made, {"x": (np.float32, ["n", 2, 3])}, outputs, CONSTANTS, opset=17)


def _check(model, x=X):
    compiled = graphc.compile(model, target="interpret")
    assert all(part.native for part in compiled.parts)
    wanted = run_onnxruntime(model, {"x": x})
    for found, expected in zip(compiled.run(None, {"x": x}), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_stacks_along_any_axis(axis):
    stack = ("ConcatFromSequence", ["parts"], ["y"], {"axis": axis, "new_axis": 1})
    _check(_model([EMPTY, _loop(), stack], ["y", "total"]))


def test_a_condition_ends_the_loop():
    _check(_model([EMPTY, _loop(until=True), STACK], ["y", "total"]))


def test_elements_before_the_loop():
    first = ("SequenceConstruct", ["start", "start"], ["two"])
    _check(_model([first, _loop("two"), STACK], ["y", "total"]))


def test_elements_at_the_front():
    first = ("SequenceConstruct", ["start"], ["some"])
    _check(_model([EMPTY, _loop(insert=["zero"]), STACK], ["y", "total"]))
    _check(_model([first, _loop("some", insert=["zero"]), STACK], ["y", "total"]))


def test_a_loop_in_a_branch():
    nodes = [
        helper.make_node(*node[:3], **(node[3] if node[3:] else {}))
        for node in [EMPTY, _loop(), STACK]
    ]
    other = [helper.make_node("Identity", ["x"], ["z"])]
    branches = {
        f"{name}_branch": helper.make_graph(
            made, name, [], [helper.make_empty_tensor_value_info(y)]
        )
        for name, made, y in (("then", nodes, "y"), ("else", other, "z"))
    }
    branch = [("Size", ["x"], ["size"]), ("Greater", ["size", "one"], ["is_large"])]
    _check(_model([*branch, ("If", ["is_large"], ["w"], branches)], ["w"]))


def test_elements_and_length_of_what_is_stacked():
    nodes = [
        EMPTY, _loop(), STACK,
        ("SequenceAt", ["parts", "one"], ["a"]),
        ("SequenceAt", ["parts", "last"], ["b"]),
        ("SequenceLength", ["parts"], ["length"]),
    ]  # fmt: skip
    _check(_model(nodes, ["y", "a", "b", "length"]))


@pytest.mark.parametrize(
    "nodes",
    [
        [_loop(), ("SequenceAt", ["parts", "one"], ["y"])],  # elements may differ in shape
        [_loop(), ("ConcatFromSequence", ["parts"], ["y"], {"axis": 0})],
        [_loop(), STACK, ("SequenceErase", ["parts"], ["less"])],
        [_loop(insert=["one"]), STACK],
    ],
)
def test_other_sequences_stay(nodes):
    model = _model([EMPTY, *nodes], ["y"])
    assert without_stacked(model) is model
