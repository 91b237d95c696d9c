"""Functions of a model and bodies of operators take the place of their nodes."""

import numpy as np
import onnx
from importing import X, refused, returned
from numerics import build_model, compare_with_onnxruntime
from onnx import helper

from graphc.errors import (
    UnsupportedModelError,
)
from graphc.frontend.onnx import import_onnx


def _with_functions(nodes, functions, opset: int = 18) -> onnx.ModelProto:
    model = build_model(nodes, X, ["y"], opset=opset)
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.functions.extend(functions)
    return model


def _function(name, inputs, outputs, nodes, attributes=(), defaults=()) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function(
        "local", name, inputs, outputs, nodes, imports, list(attributes), list(defaults)
    )


def _reference(node: onnx.NodeProto, attribute: str, parameter: str, kind: int) -> onnx.NodeProto:
    node.attribute.add(name=attribute, ref_attr_name=parameter, type=kind)
    return node


def test_model_local_functions():
    """Nested, with attributes that are passed on, have defaults, or are left to the operator."""
    kind = onnx.AttributeProto.FLOAT
    leaky = _reference(helper.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", kind)
    inner = _function("Inner", ["a"], ["b"], [leaky], ["slope"])
    passed = _reference(helper.make_node("Inner", ["p"], ["q"], domain="local"), "slope", "s", kind)
    plain = helper.make_node("Inner", ["q"], ["r"], domain="local")
    total = helper.make_node("Sum", ["q", "r"], ["t"])
    outer = _function("Outer", ["p"], ["t"], [passed, plain, total], [],
                      [helper.make_attribute("s", 0.5)])  # fmt: skip
    nodes = [
        helper.make_node("Outer", ["x"], ["u"], domain="local"),
        helper.make_node("Outer", ["u"], ["y"], domain="local", s=0.25),
    ]
    model = _with_functions(nodes, [outer, inner])
    assert returned(model) == ["2x3xf32"]
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    compare_with_onnxruntime(model, {"x": x})


def test_functions_take_precedence_over_operators():
    """A model may say itself what an operator does."""
    double = _function("Relu", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])])
    double.domain = ""
    model = _with_functions([helper.make_node("Relu", ["x"], ["y"])], [double])
    assert "graph.add" in str(import_onnx(model))


def test_functions_see_only_what_they_are_given():
    body = [helper.make_node("Add", ["a", "x"], ["b"], name="reach")]
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], body)],
    )
    error = refused(model)
    assert "node 'call/reach' uses 'x', which nothing before it defines" in error


def test_functions_with_too_many_inputs_or_missing_outputs():
    relu = helper.make_node("Relu", ["a"], ["b"])
    call = helper.make_node("F", ["x", "x"], ["y"], domain="local", name="call")
    error = refused(_with_functions([call], [_function("F", ["a"], ["b"], [relu])]))
    assert "F takes at most 1 inputs" in error
    call = helper.make_node("F", ["x"], ["y"], domain="local", name="call")
    error = refused(_with_functions([call], [_function("F", ["a"], ["c"], [relu])]))
    assert "function 'F' uses 'c'" in error
    assert "node 'call'" in error


def test_functions_that_call_themselves():
    call = helper.make_node("F", ["a"], ["b"], domain="local", name="again")
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], [call])],
    )
    assert "F calls itself" in refused(model)


def test_unsupported_nodes_within_functions():
    bogus = helper.make_node("Bogus", ["a"], ["b"], name="inside")
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], [bogus])],
    )
    error = refused(model, UnsupportedModelError)
    assert "at node 'call/inside'" in error


def test_operators_with_a_standard_body():
    """Operators without a converter are expanded as ONNX defines them, with their default
    attributes."""
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    labels = np.array([1, 2])
    nodes = [helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"], name="loss")]
    inputs = {**X, "labels": (np.int64, [2])}
    model = build_model(nodes, inputs, ["y"], opset=13)
    compare_with_onnxruntime(model, {"x": x, "labels": labels})
