"""Graphs are imported with their names, and damaged ones refused with an error that says where."""

import numpy as np
import onnx
import pytest
from importing import X, model_of, refused, relu, returned
from numerics import build_model, compile_model, evaluate
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.errors import (
    UnsupportedModelError,
)
from graphc.frontend.onnx import import_onnx, make_plan


def test_undefined_names():
    model = model_of(helper.make_node("Add", ["x", "nothing"], ["y"], name="sum"))
    assert "node 'sum' uses 'nothing', which nothing before it defines" in refused(model)
    model = relu()
    model.graph.output[0].name = "z"
    assert "graph output uses 'z', which nothing before it defines" in refused(model)


def test_use_before_definition():
    """A cycle is also a use before a definition."""
    first = helper.make_node("Relu", ["b"], ["a"], name="first")
    second = helper.make_node("Relu", ["a"], ["b"], name="second")
    last = helper.make_node("Add", ["x", "a"], ["y"])
    assert "node 'first' uses 'b', which nothing before it" in refused(
        model_of(first, second, last)
    )


def test_names_defined_twice():
    node = helper.make_node("Relu", ["x"], ["y"], name="again")
    assert "node 'again' defines 'y', which is already defined" in refused(model_of(node, node))
    model = model_of(helper.make_node("Relu", ["x"], ["x"], name="same"))
    assert "node 'same' defines 'x', which is already" in refused(model)
    model = relu()
    model.graph.input.append(model.graph.input[0])
    assert "graph input defines 'x', which is already defined" in refused(model)


def test_initializers_in_every_form():
    """The last one of a name counts, one without a name is none, and sparse ones have zeros."""
    nodes = [helper.make_node("Mul", ["x", name], [f"{name}_y"]) for name in ("w", "s", "t")]
    model = build_model(nodes, X, ["w_y", "s_y", "t_y"], {"w": [1.0], "": [3.0]})
    model.graph.initializer.append(numpy_helper.from_array(np.float32([5]), "w"))
    for name, coordinates in (("s", [1]), ("t", [[0, 1]])):
        sparse = model.graph.sparse_initializer.add(dims=[1, 3])
        sparse.values.CopyFrom(numpy_helper.from_array(np.float32([4]), name))
        sparse.indices.CopyFrom(numpy_helper.from_array(np.array(coordinates)))
    x = np.array([[1, 2, 3], [-4, 5, 6]], np.float32)
    expected = [x * 5, x * [0, 4, 0], x * [0, 4, 0]]
    for got, want in zip(evaluate(model, {"x": x}), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    model.graph.node[2].CopyFrom(helper.make_node("Cast", ["t"], ["t_y"], to=TensorProto.STRING))
    *_, text = graphc.compile(model, "interpret").run(None, {"x": x})
    assert [float(t) for t in text.ravel()] == [0, 4, 0]
    node = helper.make_node("Constant", [], ["t_y"], sparse_value=sparse)
    np.testing.assert_array_equal(
        evaluate(build_model([node], X, ["t_y"]), {"x": x})[0], [[0, 4, 0]]
    )
    for broken in ([3], [-1]):
        sparse.indices.CopyFrom(numpy_helper.from_array(np.array(broken)))
        assert "sparse tensor 't' is damaged" in refused(model)


def test_outputs_that_nobody_asked_for():
    nodes = [helper.make_node("Dropout", ["x"], ["y", ""]), helper.make_node("Relu", ["x"], [""])]
    assert returned(model_of(*nodes)) == ["2x3xf32"]


def test_inputs_may_be_outputs():
    model = build_model([], X, ["x"])
    assert returned(model) == ["2x3xf32"]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Relu", ["x", "x"], ["y"]), "too many positional arguments"),
        (helper.make_node("Add", ["x"], ["y"]), "missing a required argument: 'b'"),
        (helper.make_node("Add", ["x", ""], ["y"]), "('b') is left out"),
        (helper.make_node("Concat", ["x", ""], ["y"], axis=0), "input 1 ('xs') is left out"),
        (helper.make_node("Relu", ["x"], ["y"], slope=1.0), "unexpected keyword argument 'slope'"),
        (helper.make_node("Squeeze", ["x"], ["y"], axes=[0]), "'axes' is an input, not an attr"),
        (helper.make_node("Concat", ["x"], ["y"]), "missing a required argument: 'axis'"),
        (helper.make_node("Concat", ["x"], ["y"], axis=0.5), "'axis' is of kind FLOAT, not INT"),
        (helper.make_node("LeakyRelu", ["x"], ["y"], alpha="1"), "kind STRING, not FLOAT"),
        (helper.make_node("Concat", ["x"], ["y"], axis=2), "axis 2 is outside"),
    ],
)  # fmt: skip
def test_nodes_that_do_not_fit_their_operator(node, message):
    node.name = "odd one"
    error = refused(model_of(node))
    assert message in error
    assert "node 'odd one'" in error


def test_attributes_given_twice_or_without_a_kind():
    node = helper.make_node("Concat", ["x"], ["y"], axis=0, name="joined")
    node.attribute.append(node.attribute[0])
    assert "node 'joined' (Concat): attribute 'axis' is doubled" in refused(model_of(node))
    node = helper.make_node("Concat", ["x"], ["y"], axis=0, name="joined")
    node.attribute[0].type = onnx.AttributeProto.UNDEFINED
    assert "attribute 'axis' has no type" in refused(model_of(node))


def test_domains_must_be_imported():
    node = helper.make_node("Relu", ["x"], ["y"], domain="com.acme")
    assert "domain 'com.acme' is not among the opset imports" in refused(model_of(node))


@pytest.mark.parametrize(
    ("domain", "op_type"), [("com.microsoft", "Gelu"), ("ai.onnx.ml", "Binarizer")]
)
def test_domains_that_onnxruntime_knows_need_no_import(domain, op_type):
    model = model_of(helper.make_node(op_type, ["x"], ["y"], domain=domain))
    assert {each.domain for each in model.opset_import} == {""}
    assert returned(model) == ["2x3xf32"]


def test_the_standard_domain_has_two_names():
    model = model_of(helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx"))
    assert returned(model) == ["2x3xf32"]


@pytest.mark.parametrize(("opset", "known"), [(28, True), (29, False), (999, False)])
def test_opsets_that_are_too_new(opset, known):
    model = relu(opset=opset)
    if known:
        assert returned(model) == ["2x3xf32"]
    else:
        assert f"uses opset {opset} of ai.onnx; this version knows up to 28" in refused(model)


def test_all_unsupported_nodes_are_listed():
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["a"], name="text"),
        helper.make_node("Wobble", ["x"], ["b"], name="w1", domain="com.acme"),
        helper.make_node("Relu", ["b"], ["c"], name="behind"),
        helper.make_node("Wiggle", ["c"], ["d"], name="w2", domain="org.other"),
        helper.make_node("Gelu", ["x"], ["e"], name="form", approximate="cubic"),
        helper.make_node("Bogus", ["e"], ["f"], name="unknown"),
        helper.make_node("Relu", ["x"], ["y"], name="fine"),
    ]
    model = model_of(*nodes, opset=20)
    model.opset_import.extend(helper.make_opsetid(d, 3) for d in ("com.acme", "org.other"))
    with pytest.raises(UnsupportedModelError) as caught:
        import_onnx(model)
    found = {node.name: node for node in caught.value.nodes}
    assert list(found) == ["text", "w1", "w2", "form", "unknown"]
    assert (found["w2"].domain, found["w2"].op_type, found["w2"].opset) == (
        "org.other",
        "Wiggle",
        3,
    )
    assert found["form"].reason == "approximate='cubic'"
    assert found["unknown"].reason == "no such operator is known"
    message = str(caught.value)
    assert message.startswith("5 unsupported node(s):")
    assert "com.acme.Wobble (opset 3) at node 'w1'" in message
    assert "ai.onnx.StringNormalizer (opset 20) at node 'text'" in message


def test_nodes_without_names_are_named_by_place():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Bogus", ["a"], ["y"])]
    with pytest.raises(UnsupportedModelError, match="at node 'Bogus_1'"):
        import_onnx(model_of(*nodes))


def test_names_of_inputs_outputs_and_nodes_are_kept():
    model = model_of(
        helper.make_node("Relu", ["x"], ["a"], name="layer/0/act"),
        helper.make_node("Add", ["a", "w"], ["y"], name='odd "name"\n'),
        initializers={"w": [1.0]},
    )
    module = import_onnx(model)
    text = module.operation.get_asm(enable_debug_info=True)
    assert 'graph.name = "x"' in text
    assert 'graph.name = "y"' in text
    assert '"layer/0/act"' in text
    assert r"odd \22name\22\0A" in text


def test_nodes_in_any_order():
    """Converters to f16 append the casts that others read; runtimes sort them."""
    neg, relu_, exp = (
        helper.make_node(op, [x], [y])
        for op, x, y in (("Neg", "b", "y"), ("Relu", "x", "a"), ("Exp", "a", "b"))
    )
    text = str(import_onnx(model_of(neg, exp, relu_)))
    assert text.index("graph.relu") < text.index("graph.exp") < text.index("graph.neg")
    inner = helper.make_graph([neg, exp, relu_], "g", [], [onnx.ValueInfoProto(name="y")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    late = helper.make_node("Constant", [], ["c"], value_ints=[1], name="late")
    cast = helper.make_node("Cast", ["c0"], ["c"], to=onnx.TensorProto.BOOL)
    late.output[0] = "c0"
    assert returned(model_of(node, cast, late)) == ["2x3xf32"]


def test_nodes_in_any_order_between_parts():
    """Some nodes run on the host, and a subgraph reads an outer value before its definition."""
    nodes = [
        helper.make_node("StringConcat", ["t", "t"], ["y"]),
        helper.make_node("Cast", ["r"], ["t"], to=onnx.TensorProto.STRING),
        helper.make_node("Relu", ["x"], ["r"]),
    ]
    plan = make_plan(model_of(*nodes), dims=None, why_not=lambda _: None)
    names = [[node.name for node in plan.nodes(piece.part)] for piece in plan.parts]
    assert names == [["Relu_2"], ["Cast_1", "StringConcat_0"]]


def test_outputs_in_any_number():
    """One twice, one that is an input, one that is a constant."""
    model = model_of(helper.make_node("Relu", ["x"], ["y"]), initializers={"w": [1.0]})
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in "yxwyx")
    x = np.array([[-1, 0, 1], [2, -3, 4]], np.float32)
    compiled = compile_model(model)
    results = compiled.run(None, {"x": x})
    y = np.maximum(x, 0)
    for result, expected in zip(results, [y, x, np.float32([1]), y, x], strict=True):
        np.testing.assert_array_equal(result, expected)
    assert not any(np.shares_memory(a, b) for a in results for b in (x, *results) if a is not b)
    assert [spec.name for spec in compiled.outputs] == [*"yxwyx"]
    assert len(compiled.run(["y", "w"], {"x": x})) == 2
