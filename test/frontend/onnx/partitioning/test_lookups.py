"""Nodes that are split into a look-up and a numeric node, and nodes that stay unchanged."""

import onnx
import pytest
from onnx import TensorProto, helper

from graphc.frontend.onnx.partitioning.lookup_types import lookup_types
from graphc.frontend.onnx.partitioning.lookups import split_lookups

ML = "ai.onnx.ml"
LISTS = {
    "LinearClassifier": {"classlabels_strings": ["a", "b"], "coefficients": [1.0]},
    "OneHotEncoder": {"cats_strings": ["a", "b"]},
}


def split(*nodes, taken=()) -> list[onnx.NodeProto]:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in taken]
    model = helper.make_model(helper.make_graph(nodes, "g", infos, []))
    split_lookups(model)
    return list(model.graph.node)


def test_names_are_new():
    node = helper.make_node(
        "LinearClassifier", ["x"], ["y", "z"], domain=ML, **LISTS["LinearClassifier"]
    )
    classifier, look_up = split(node, taken=["x", "y/index", "y/labels"])
    assert list(classifier.output) == ["y/index_", "z"]
    assert list(look_up.input) == ["y/labels_", "y/index_"]
    assert {a.name for a in classifier.attribute} == {"coefficients", "classlabels_ints"}


@pytest.mark.parametrize("op_type", LISTS)
@pytest.mark.parametrize(("inputs", "outputs"), [(["x"], []), (["x"], [""]), ([], [])])
def test_nodes_that_give_nothing_stay(op_type, inputs, outputs):
    node = helper.make_node(op_type, inputs, outputs, domain=ML, **LISTS[op_type])
    assert split(node) == [node]


def test_numbers_stay():
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_int64s=[1, 2])
    other = helper.make_node("OneHotEncoder", ["x"], ["z"], domain="own", cats_strings=["a"])
    assert split(node, other) == [node, other]


@pytest.mark.parametrize(
    ("node", "x", "expected"),
    [
        (("CastMap", ML, {"cast_to": "TO_STRING"}), None, (TensorProto.STRING, [1, None])),
        (("CastMap", ML, {"map_form": "SPARSE", "max_map": 5}), None, (TensorProto.FLOAT, [1, 5])),
        (
            ("MurmurHash3", "com.microsoft", {"positive": 0}),
            ["n", 2],
            (TensorProto.INT32, ["n", 2]),
        ),
        (("Tokenizer", "com.microsoft", {}), ["n"], (TensorProto.STRING, ["n", None])),
        (("Tokenizer", "com.microsoft", {}), None, None),
    ],
)
def test_types(node, x, expected):
    op_type, domain, attributes = node
    made = helper.make_node(op_type, ["x"], ["y"], domain=domain, **attributes)
    given = None if x is None else helper.make_tensor_type_proto(TensorProto.STRING, x)
    wanted = {} if expected is None else {"y": helper.make_tensor_type_proto(*expected)}
    assert lookup_types(made, {"x": given}) == wanted
    del made.output[:]
    assert lookup_types(made, {"x": given}) == {}
