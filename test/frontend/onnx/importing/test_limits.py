"""Tests that models that ask for too much are refused by name, before any work is done."""

import itertools
import re
import time

import numpy as np
import onnx
import pytest
from importing import FLOAT, X, model_of, refused, relu, returned
from numerics import build_model
from onnx import TensorProto, helper

import graphc
from graphc.errors import InvalidModelError, LimitError, UsageError


def doubling(depth: int, times: int = 2) -> onnx.ModelProto:
    """Functions each of which calls the next `times` times: ``times ** depth`` nodes."""
    functions = []
    for level in range(depth):
        callee = "Neg" if level + 1 == depth else f"f{level + 1}"
        values = ["x", *(f"v{i}" for i in range(times - 1)), "y"]
        nodes = [
            helper.make_node(callee, [a], [b], domain="" if callee == "Neg" else "f")
            for a, b in itertools.pairwise(values)
        ]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
        functions.append(helper.make_function("f", f"f{level}", ["x"], ["y"], nodes, opsets))
    model = model_of(helper.make_node("f0", ["x"], ["y"], domain="f", name="call"))
    model.opset_import.add(domain="f", version=1)
    model.functions.extend(functions)
    return model


def nested(depth: int, kind: str = "If") -> onnx.ModelProto:
    """A node within `depth` conditionals or loops."""
    node = helper.make_node("Neg", ["x"], ["r"])
    result = onnx.ValueInfoProto(name="r")
    for level in range(depth):
        if kind == "If":
            branch = helper.make_graph([node], "b", [], [result])
            node = helper.make_node("If", ["c"], ["r"], then_branch=branch, else_branch=branch)
            continue
        ends = [helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"g{level}", TensorProto.BOOL, [])]  # fmt: skip
        body = helper.make_graph([node], "b", ends, [onnx.ValueInfoProto(name=f"g{level}")])
        node = helper.make_node("Loop", ["n", ""], [], body=body)
    nodes = [node] if kind == "If" else [node, helper.make_node("Neg", ["x"], ["r"])]
    model = build_model(nodes, X, ["r"])
    model.graph.initializer.append(helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    model.graph.initializer.append(helper.make_tensor("n", TensorProto.INT64, [], [2]))
    return model


@pytest.mark.parametrize(("depth", "times"), [(20, 2), (30, 10)])
def test_functions_that_multiply(depth, times):
    start = time.perf_counter()
    message = refused(doubling(depth, times), LimitError)
    assert "too many nodes" in message
    assert "the limit nodes is 200,000" in message
    with pytest.raises(LimitError):  # by the other way, which inlines them first
        graphc.check(doubling(depth, times))
    assert time.perf_counter() - start < 5


def test_functions_that_call_one_another_in_a_circle():
    model = doubling(3)
    model.functions[-1].node[0].op_type = "f0"
    model.functions[-1].node[0].domain = "f"
    assert "function f0 calls itself" in refused(model)


def test_functions_of_one_name_in_two_domains():
    model = doubling(2, times=1)
    model.functions[1].name, model.functions[1].domain = "f0", "g"
    model.functions[0].node[0].op_type, model.functions[0].node[0].domain = "f0", "g"
    model.functions[0].opset_import.add(domain="g", version=1)
    assert returned(model) == ["2x3xf32"]


@pytest.mark.parametrize("depth", [33, 200])
def test_calls_within_calls(depth):
    assert "the limit nesting is 32" in refused(doubling(depth, times=1), LimitError)


@pytest.mark.parametrize(("kind", "depth"), [("If", 10), ("Loop", 28)])
def test_nesting_that_is_allowed(kind, depth):
    assert returned(nested(depth, kind)) == ["2x3xf32"]


def test_subgraphs_within_subgraphs(monkeypatch):
    monkeypatch.setenv("GRAPHC_LIMITS", "nesting=8")  # protobuf has a limit of its own, above ours
    assert returned(nested(8, "Loop")) == ["2x3xf32"]
    assert "is nested too deeply" in refused(nested(9, "Loop"), LimitError)


def test_subgraphs_in_functions_in_subgraphs():
    inner, outer = nested(20, "Loop"), nested(20, "Loop")
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    nodes = [helper.make_node("Constant", [], ["n"], value_int=2), *inner.graph.node]
    outer.functions.append(helper.make_function("f", "f", ["x"], ["r"], nodes, opsets))
    outer.opset_import.add(domain="f", version=1)
    body = outer.graph.node[0]
    while body.op_type == "Loop":
        body = body.attribute[0].g.node[0]
    body.op_type, body.domain = "f", "f"
    assert "the limit nesting is 32" in refused(outer, LimitError)


def test_many_nodes(monkeypatch):
    nodes = [helper.make_node("Neg", ["x"], [f"v{i}"]) for i in range(9)]
    model = build_model([*nodes, helper.make_node("Neg", ["x"], ["y"])], X, ["y"])
    monkeypatch.setenv("GRAPHC_LIMITS", "nodes=9")
    assert "10 where the limit nodes is 9" in refused(model, LimitError)
    monkeypatch.setenv("GRAPHC_LIMITS", "nodes=10")
    assert returned(model) == ["2x3xf32"]


def test_nodes_of_loops_count_each_time_they_are_imported(monkeypatch):
    node = helper.make_node("Concat", ["c", "c"], ["c_out"], axis=0)
    ends = [helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("g", TensorProto.BOOL, []),
            onnx.ValueInfoProto(name="c")]  # fmt: skip
    results = [onnx.ValueInfoProto(name=name) for name in ("g", "c_out")]
    body = helper.make_graph([node], "b", ends, results)
    model = model_of(helper.make_node("Loop", ["n", "", "x"], ["y"], body=body))
    model.graph.initializer.append(helper.make_tensor("n", TensorProto.INT64, [], [2]))
    monkeypatch.setenv("GRAPHC_LIMITS", "nodes=2")  # as the model holds
    assert "the limit nodes is 2" in refused(model, LimitError)


def test_long_names():
    model = relu()
    model.graph.node[0].name = "n" * 9000
    assert "the limit name-bytes is 8,192" in refused(model, LimitError)


def test_names_that_grow_as_they_are_nested():
    model = doubling(20, times=1)
    for function in model.functions:
        function.node[0].name = "n" * 1000
    assert "names are too long" in refused(model, LimitError)


@pytest.mark.parametrize("name", [b"act", b"the graph"])
def test_a_name_that_is_no_text(name):
    model = relu()
    model.graph.name = "the graph"
    damaged = name[:-2] + b"\xff\xfe"
    assert "is not UTF-8 text" in refused(model.SerializeToString().replace(name, damaged))


@pytest.mark.parametrize(
    "sizes", [[1 << 41], [1 << 20, 1 << 20, 1 << 10], [1 << 40, 1 << 40, 1 << 40], [1 << 62] * 6]
)
def test_tensors_that_are_too_large(sizes):
    model = model_of(helper.make_node("ConstantOfShape", ["sizes"], ["y"], name="fill"))
    model.graph.initializer.append(
        helper.make_tensor("sizes", TensorProto.INT64, [len(sizes)], sizes)
    )
    with pytest.raises(InvalidModelError) as caught:
        graphc.import_onnx(model)
    assert "node 'fill'" in str(caught.value)
    assert re.search("absurdly large|the limit tensor-bytes is", str(caught.value))


def test_products_of_sizes_that_would_overflow():
    x = {"x": (np.float32, [1 << 32, 1, "n"]), "w": (np.float32, [1, 1 << 32, 1])}
    model = build_model([helper.make_node("Mul", ["x", "w"], ["y"])], x, ["y"])
    assert "absurdly large" in refused(model)


def test_more_axes_than_numpy_has():
    model = build_model(
        [helper.make_node("Neg", ["x"], ["y"])], {"x": (np.float32, [1] * 65)}, ["y"]
    )
    assert "64 being the most" in refused(model)
    model = model_of(helper.make_node("Reshape", ["x", "sizes"], ["y"]))
    model.graph.initializer.append(
        helper.make_tensor("sizes", TensorProto.INT64, [65], [2, 3, *[1] * 63])
    )
    assert "64 being the most" in refused(model)


def test_data_in_files_that_is_named_again_and_again(monkeypatch, tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(1 << 12))
    model = model_of(helper.make_node("Neg", ["x"], ["y"]))
    for serial in range(9):
        tensor = model.graph.initializer.add(name=f"w{serial}", data_type=FLOAT, dims=[1 << 10])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert returned(path) == ["2x3xf32"]
    monkeypatch.setenv("GRAPHC_LIMITS", "constant-bytes=16K")
    assert "up to tensor 'w4'" in refused(path, LimitError)


@pytest.mark.parametrize("operator", ["Mul", "Add"])
def test_sizes_that_are_computed_again_and_again(operator):
    """Neither formulas nor numbers grow without limit."""
    for dims in (["n", "m"], [2, 3]):
        steps = [helper.make_node(operator, [f"s{i}", f"s{i}"], [f"s{i + 1}"]) for i in range(80)]
        nodes = [
            helper.make_node("Shape", ["x"], ["s0"]),
            *steps,
            helper.make_node("ConstantOfShape", ["s80"], ["y"]),
        ]
        start = time.perf_counter()
        returned(build_model(nodes, {"x": (np.float32, dims)}, ["y"]))
        assert time.perf_counter() - start < 3


def test_a_power_of_sizes():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Pow", ["s", "e"], ["t"]),
        helper.make_node("ConstantOfShape", ["t"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, ["n"])}, ["y"])
    model.graph.initializer.append(helper.make_tensor("e", TensorProto.INT64, [1], [2**62]))
    assert returned(model) == ["shape_0xf32"]


def test_a_long_chain_of_sizes():
    """Longer than Python's stack is deep."""
    chain = [helper.make_node("Add", [f"s{i}", "one"], [f"s{i + 1}"]) for i in range(1200)]
    nodes = [
        helper.make_node("Shape", ["x"], ["s0"]),
        *chain,
        helper.make_node("ConstantOfShape", ["s1200"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, ["n"])}, ["y"])
    model.graph.initializer.append(helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    assert returned(model) == ["n + 1200xf32"]


@pytest.mark.parametrize(
    "text",
    ["(" * 300 + "n" + ")" * 300, "-" * 3000 + "n", "*".join(["(n+m+1)"] * 300), "n" * 5000,
     "*".join(f"(a{i}+b{i})" for i in range(40)), "+".join(f"a{i}" for i in range(3000))],
)  # fmt: skip
def test_sizes_with_long_formulas(text):
    model = build_model([helper.make_node("Neg", ["x"], ["y"])], {"x": (np.float32, [text])}, ["y"])
    try:
        (type_,) = returned(model)
    except LimitError as error:
        type_ = str(error)
    assert re.search("xf32$|^input 'x', axis 0: |the limit name-bytes", type_)


@pytest.mark.parametrize(
    ("text", "message"),
    [("knots=3", "no limit is called 'knots'; there are: nodes,"),
     ("nodes=many", "'many' is no number"), ("nodes=", "'' is no number")],
)  # fmt: skip
def test_limits_that_are_none(monkeypatch, text, message):
    monkeypatch.setenv("GRAPHC_LIMITS", text)
    with pytest.raises(UsageError, match=message):
        graphc.import_onnx(relu())


def test_limits_are_checked_quickly():
    from graphc.frontend.onnx.importing.limits import Limits, check_model

    nodes = [helper.make_node("Neg", ["x"], [f"v{i}"], name=f"n{i}") for i in range(5000)]
    model = build_model([*nodes, helper.make_node("Neg", ["x"], ["y"])], X, ["y"])
    start = time.perf_counter()
    check_model(model, Limits())
    assert time.perf_counter() - start < 1
