"""Broken models that were found by drawing them (test/robustness), each with what it once led
to."""

import time

import numpy as np
import onnx
import pytest
from importing import model_of, refused, relu, returned
from numerics import build_model
from onnx import TensorProto, helper

import graphc
from graphc.errors import (
    ConversionError,
    InvalidModelError,
    LimitError,
    UnsupportedModelError,
)

INT64 = TensorProto.INT64


def with_constants(model: onnx.ModelProto, **constants) -> onnx.ModelProto:
    for name, values in constants.items():
        array = np.asarray(values)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_sizes_divided_by_zero(operator):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node(operator, ["s", "zero"], ["t"]),
        helper.make_node("ConstantOfShape", ["t"], ["y"]),
    ]
    for dims in ([2], ["n"]):
        model = build_model(nodes, {"x": (np.float32, dims)}, ["y"])
        assert returned(with_constants(model, zero=[0])) == ["shape_0xf32"]  # the run will say


def test_a_size_of_more_than_64_bits():
    model = with_constants(
        model_of(helper.make_node("Range", ["a", "b", "c"], ["y"])),
        a=np.float64(-1e300), b=np.float64(1e300), c=np.float64(1e-300),
    )  # fmt: skip
    with pytest.raises(InvalidModelError):
        graphc.import_onnx(model)


def test_a_condition_that_is_no_bool():
    branch = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["r"])], "b", [], [onnx.ValueInfoProto(name="r")]
    )
    node = helper.make_node("If", ["x"], ["y"], name="if", then_branch=branch, else_branch=branch)
    model = build_model([node], {"x": (np.float32, [])}, ["y"])
    assert "node 'if' (If): a condition is one bool, not f32" in refused(model)


@pytest.mark.parametrize("version", [-1, 1 << 40])
@pytest.mark.parametrize("domain", ["", "com.example"])
def test_an_opset_that_is_none(version, domain):
    model = relu()
    del model.opset_import[:]
    model.opset_import.add(domain="", version=20)
    model.opset_import.add(domain=domain, version=version)
    assert f"{version} is no version of the domain" in refused(model)


def test_inputs_of_complex_numbers():
    model = relu()
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.COMPLEX128
    assert "inputs of complex128 are not supported" in refused(model, UnsupportedModelError)


def test_sizes_by_the_million_that_are_not_known():
    doubled = [helper.make_node("Concat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], axis=0)
               for i in range(20)]  # fmt: skip
    nodes = [
        helper.make_node("Shape", ["x"], ["s0"]),
        *doubled,
        helper.make_node("ConstantOfShape", ["s20"], ["y"]),
    ]
    start = time.perf_counter()
    message = refused(build_model(nodes, {"x": (np.float32, ["n"])}, ["y"]))
    assert "a shape of 1048576 elements" in message
    assert time.perf_counter() - start < 5


def test_a_table_that_is_too_large():
    """Resize computes indices and weights for each row of its result."""
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    model = build_model([node], {"x": (np.float32, [2])}, ["y"], opset=13)
    with_constants(model, sizes=[1 << 36])
    assert "the limit computed-bytes is 1,073,741,824" in refused(model, LimitError)


def test_loops_within_loops(monkeypatch):
    """Each works out its types twice, and once for each time that the one around it does."""
    inner = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    for level in range(12):
        ends = [helper.make_tensor_value_info(f"i{level}", INT64, []),
                helper.make_tensor_value_info(f"c{level}", TensorProto.BOOL, []),
                onnx.ValueInfoProto(name="x")]  # fmt: skip
        results = [onnx.ValueInfoProto(name=name) for name in (f"c{level}", "y")]
        body = helper.make_graph([inner], "b", ends, results)
        inner = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    model = with_constants(build_model([inner], {"x": (np.float32, [2])}, ["y"]), n=np.array(3))
    monkeypatch.setenv("GRAPHC_LIMITS", "subgraphs=50")
    assert "the limit subgraphs is 50" in refused(model, LimitError)


def test_two_nodes_that_ask_for_the_same_computed_sizes():
    nodes = [
        helper.make_node("NonZero", ["x"], ["indices"]),
        helper.make_node("ReduceMax", ["indices"], ["t"], axes=[1], keepdims=0),
        helper.make_node("ConstantOfShape", ["t"], ["a"]),
        helper.make_node("ConstantOfShape", ["t"], ["b"]),
    ]
    model = build_model(nodes, {"x": (np.float32, [2, 3])}, ["a", "b"], opset=13)
    first, second = returned(model)
    assert first == second


def test_ranks_that_a_converter_does_not_look_for():
    node = helper.make_node("NonMaxSuppression", ["x", "x"], ["y"], name="nms")
    message = refused(build_model([node], {"x": (np.float32, [2, 3])}, ["y"]), ConversionError)
    assert "node 'nms' (NonMaxSuppression) cannot be imported with operands 2x3xf32" in message


def test_errors_in_loops_in_loops_name_the_node_once():
    model = relu()
    inner = helper.make_node("Concat", ["x", "nowhere"], ["y"], axis=0, name="inner")
    for level in range(3):
        body = helper.make_graph([inner], "b", [], [onnx.ValueInfoProto(name="y")])
        inner = helper.make_node("If", ["c"], ["y"], name=f"n{level}", then_branch=body,
                                 else_branch=body)  # fmt: skip
    model.graph.node[0].CopyFrom(inner)
    message = refused(with_constants(model, c=np.array(True)))
    assert message == "node 'n2/n1/n0/inner' uses 'nowhere', which nothing before it defines"


# Models of which a part runs on the host, which are looked at in another way


def on_host(*nodes: onnx.NodeProto, inputs=None, outputs=("y",)) -> onnx.ModelProto:
    """A model of `nodes` with an operator that runs on the host."""
    split = helper.make_node("SplitToSequence", ["x"], ["s"], name="split", axis=1)
    return build_model([split, *nodes], inputs or {"x": (np.float32, [2, 3])}, list(outputs))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("SequenceAt", ["s", "nowhere"], ["y"]), "uses 'nowhere'"),
        (helper.make_node("SequenceAt", ["s", "x"], ["s"]), "'s', which is already defined"),
        (helper.make_node("SequenceLength", ["s", "s"], ["y"]), "input size 2 not in range"),
        (helper.make_node("SequenceLength", ["s"], ["z"]), "uses 'y', which nothing defines"),
    ],
)
def test_values_of_nodes_on_the_host(node, message):
    with pytest.raises(InvalidModelError, match=message):
        graphc.check(on_host(node))


def test_an_input_without_a_type():
    model = on_host(helper.make_node("SequenceLength", ["s"], ["y"]))
    model.graph.input[0].type.Clear()
    model.graph.input[0].type.tensor_type.elem_type = 0
    with pytest.raises(InvalidModelError):
        graphc.check(model)


def test_a_size_below_0_that_onnx_infers_on():
    """It says that the size is not known, as in what the model declares."""
    node = helper.make_node("StringSplit", ["x"], ["y", "z"], delimiter=" ")
    model = build_model([node], {"x": (np.float32, [-100])}, ["y", "z"])
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    assert [str(node.where) for node in graphc.check(model).nodes] == ["host"]


def test_data_of_a_host_node_in_a_file_that_is_not_there(tmp_path):
    """`onnx` would look for it in the folder that the program runs in."""
    node = helper.make_node("Constant", [], ["c"])
    tensor = node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t
    tensor.CopyFrom(TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[2]))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../c.bin")
    model = on_host(node, helper.make_node("SequenceAt", ["s", "c"], ["y"]))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InvalidModelError, match="lies outside the model's folder"):
        graphc.check(path)


def test_outputs_that_are_not_counted():
    """ONNX's own rule for the types of these outputs ends the process."""
    node = helper.make_node("Split", ["x"], ["a", "b"], name="parts", num_outputs=1)
    model = build_model([node], {"x": (np.float32, [2, 6])}, ["b"], opset=18)
    with pytest.raises(InvalidModelError, match="num_outputs is 1, but it has 2 outputs"):
        graphc.compile(model)
