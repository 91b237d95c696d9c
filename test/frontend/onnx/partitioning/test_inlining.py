"""Functions in place of their calls: the nodes mean what they meant."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from graphc.errors import InvalidModelError, LimitError
from graphc.frontend.onnx.partitioning.inlining import WRAPPED, inline_functions

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
node = helper.make_node


def function(name, inputs, outputs, nodes, opset=18, domain="own", overload="", **attributes):
    """A function; `attributes` have defaults, or None where there is none."""
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    defaults = [helper.make_attribute(n, v) for n, v in attributes.items() if v is not None]
    made = helper.make_function(
        domain, name, inputs, outputs, nodes, imports,
        [n for n, v in attributes.items() if v is None], defaults,
    )  # fmt: skip
    made.overload = overload
    return made


def model(nodes, functions, outputs=("y",)) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    return helper.make_model(
        helper.make_graph(nodes, "g", [x], results), functions=functions, ir_version=10,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)],
    )  # fmt: skip


def run(proto: onnx.ModelProto) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": X})


def check(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Inline in `proto`, which gives the same as before."""
    expected = run(proto)
    inline_functions(proto)
    assert {f.domain for f in proto.functions} <= {WRAPPED}
    for ours, theirs in zip(run(proto), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return proto


def reference(each: onnx.NodeProto, attribute: str, parameter: str, kind: int) -> onnx.NodeProto:
    each.attribute.add(name=attribute, ref_attr_name=parameter, type=kind)
    return each


def test_nested_functions_with_attributes():
    """Passed on, by default, or left to the operator; names of the body are also the caller's."""
    kind = onnx.AttributeProto.FLOAT
    leaky = reference(node("LeakyRelu", ["x"], ["y"]), "alpha", "slope", kind)
    inner = function("Inner", ["x"], ["y"], [leaky], slope=None)
    passed = reference(node("Inner", ["a"], ["x"], domain="own"), "slope", "s", kind)
    plain = node("Inner", ["x"], ["t"], domain="own")
    outer = function("Outer", ["a"], ["sum"], [passed, plain, node("Sum", ["x", "t"], ["sum"])],
                     s=0.5)  # fmt: skip
    nodes = [
        node("Outer", ["x"], ["t"], domain="own", name="first"),
        node("Outer", ["t"], ["y"], domain="own", s=0.25),
    ]
    inlined = check(model(nodes, [inner, outer]))
    assert inlined.graph.node[0].name == "first/Inner_0/LeakyRelu_0"
    assert not inlined.functions


def test_subgraphs_in_functions_and_calls_in_subgraphs():
    """Names that a branch defines are kept apart from those that the call gives."""

    def branch(name, *nodes):
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph(nodes, name, [], [info])

    zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0])
    choose = [
        node("Constant", [], ["none"], value=zero),
        node("ReduceSum", ["a"], ["sum"], keepdims=0),
        node("Greater", ["sum", "none"], ["is"]),
        node("If", ["is"], ["chosen"],
             then_branch=branch("x", node("Neg", ["a"], ["x"])),
             else_branch=branch("v", node("Twice", ["a"], ["t"], domain="own"),
                                node("Add", ["t", "none"], ["v"]))),
    ]  # fmt: skip
    functions = [
        function("Twice", ["t"], ["d"], [node("Add", ["t", "t"], ["d"])]),
        function("Choose", ["a"], ["chosen"], choose),
    ]
    nodes = [
        node("Choose", ["x"], ["v"], domain="own"),
        node("Neg", ["v"], ["t"]),
        node("Choose", ["t"], ["none"], domain="own"),
        node("Sub", ["none", "v"], ["y"]),
    ]
    check(model(nodes, functions))


def test_results_that_are_inputs_or_given_twice():
    both = function("Both", ["a", "b"], ["a", "s", "b"], [node("Add", ["a", "b"], ["s"])])
    nodes = [node("Neg", ["x"], ["n"]), node("Both", ["x", "n"], ["p", "q", "r"], domain="own")]
    inlined = model(nodes, [both], ["p", "q", "r"])
    inline_functions(inlined)
    for given, expected in zip(run(inlined), (X, np.zeros_like(X), -X), strict=True):
        np.testing.assert_array_equal(given, expected)


def test_inputs_and_outputs_that_are_left_out():
    body = [node("Clip", ["a", "low", "high"], ["c"]), node("Neg", ["c"], ["m"])]
    clip = function("Bound", ["a", "low", "high"], ["c", "m"], body)
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0])
    nodes = [
        node("Constant", [], ["z"], value=zero),
        node("Bound", ["x", "", "z"], ["", "y"], domain="own"),
    ]
    inlined = model(nodes, [clip])
    inline_functions(inlined)
    np.testing.assert_array_equal(run(inlined)[0], -np.minimum(X, 0))


def test_overloads_and_functions_in_place_of_operators():
    functions = [
        function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])], overload="minus"),
        function("F", ["a"], ["b"], [node("Abs", ["a"], ["b"])], overload="size"),
        function("Softplus", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], domain=""),
    ]
    calls = [node("F", ["x"], [name], domain="own", overload=name) for name in ("minus", "size")]
    inlined = model(
        [*calls, node("Softplus", ["x"], ["plus"])], functions, ["minus", "size", "plus"]
    )
    inline_functions(inlined)
    assert [each.op_type for each in inlined.graph.node] == ["Neg", "Abs", "Add"]


def test_other_opsets():
    """A function of its own for the operator of another version; the model's opset for the rest."""
    body = [
        node("Neg", ["a"], ["n"]),
        node("ReduceMax", ["n"], ["s"], axes=[1], keepdims=1),
        node("Relu", ["s"], ["c"]),
        node("Sum", ["c", "n"], ["t"]),
    ]
    total = function("Total", ["a"], ["t"], body, opset=17)
    nodes = [node("Total", ["x"], ["y"], domain="own", name="call")]
    inlined = model(nodes, [total])
    inline_functions(inlined)
    kinds = [(each.domain, each.op_type.split("_")[0]) for each in inlined.graph.node]
    assert kinds == [("", "Neg"), (WRAPPED, "ReduceMax"), ("", "Relu"), ("", "Sum")]
    (wrapper,) = inlined.functions
    assert {entry.domain: entry.version for entry in wrapper.opset_import}[""] == 17


def test_functions_bring_their_domains():
    binarize = node("Binarizer", ["a"], ["b"], domain="ai.onnx.ml", threshold=0.5)
    made = function("F", ["a"], ["b"], [binarize])
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    check(model([node("F", ["x"], ["y"], domain="own")], [made]))


def test_what_cannot_be_inlined():
    again = function("F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="own")])
    with pytest.raises(InvalidModelError, match="F calls itself"):
        inline_functions(model([node("F", ["x"], ["y"], domain="own")], [again]))
    relu = function("F", ["a"], ["c"], [node("Relu", ["a"], ["b"])])
    with pytest.raises(InvalidModelError, match="function 'F' uses 'c'"):
        inline_functions(model([node("F", ["x"], ["y"], domain="own")], [relu]))
    with pytest.raises(InvalidModelError, match="F takes at most 1 inputs"):
        inline_functions(model([node("F", ["x", "x"], ["y"], domain="own")], [relu]))


def test_no_more_nodes_than_the_limit(monkeypatch):
    """Functions that call the next one twice each."""
    monkeypatch.setenv("GRAPHC_LIMITS", "nodes=1000")
    functions = [function("F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])])]
    for level in range(1, 20):
        calls = [node(f"F{level - 1}", [a], [b], domain="own") for a, b in ("ac", "cb")]
        functions.append(function(f"F{level}", ["a"], ["b"], calls))
    with pytest.raises(LimitError, match="too many nodes"):
        inline_functions(model([node("F19", ["x"], ["y"], domain="own")], functions))
