"""Tests that run-time errors name the node of the model, whatever the model runs on."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.errors import ExecutionError, OutOfMemoryError

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
WEIGHTS = {"w": np.ones((2, 3, 3, 3), np.float32), "zero": np.array([0])}


def node(op_type: str, inputs: str, output: str, **attributes) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], name=f"the {output}", **attributes)


def value(name: str, kind: int, *shape: "str | int") -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def body() -> onnx.GraphProto:
    nodes = [
        node("Identity", "going", "on"),
        node("Reshape", "x shape", "again"),
        node("Add", "carried again", "next"),
    ]
    inputs = [
        value("count", INT),
        value("going", TensorProto.BOOL),
        value("carried", FLOAT, "p", "q"),
    ]
    outputs = [value("on", TensorProto.BOOL), value("next", FLOAT, "p", "q")]
    return helper.make_graph(nodes, "body", inputs, outputs)


def failing() -> onnx.ModelProto:
    """Nodes that all run, where sizes are right."""
    nodes = [
        node("Add", "x y", "sum"),
        node("MatMul", "x z", "product"),
        node("Where", "x_is y z_like", "choice"),
        node("Conv", "image w", "filtered"),
        node("MaxPool", "image", "pooled", kernel_shape=[3, 3]),
        node("Concat", "x y", "joined", axis=1),
        node("Reshape", "x shape", "folded"),
        node("Expand", "one shape", "wide"),
        node("ConstantOfShape", "shape", "zeros"),
        node("Attention", "q k k", "attended"),
        node("Loop", "trips  x", "looped", body=body()),
    ]
    nodes[-1].input[:] = ["trips", "", "x"]
    nodes.insert(0, node("Cast", "x", "x_is", to=TensorProto.BOOL))
    nodes.insert(1, node("Identity", "y", "z_like"))
    inputs = [
        value("x", FLOAT, "a", "k"),
        value("y", FLOAT, "b", "n"),
        value("z", FLOAT, "l", 4),
        value("one", FLOAT, 1, 1),
        value("image", FLOAT, 1, "c", "h", 6),
        value("shape", INT, 2),
        value("trips", INT),
        value("q", FLOAT, "e", 2, "s", 8),
        value("k", FLOAT, "f", 2, "t", 8),
    ]
    outputs = [value(each.output[0], FLOAT) for each in nodes[2:]]
    for each in outputs:
        each.type.tensor_type.ClearField("shape")
    initializers = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()]
    graph = helper.make_graph(nodes, "failing", inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 23)])


RIGHT = {
    "x": np.ones((2, 5), np.float32),
    "y": np.ones((2, 5), np.float32),
    "z": np.ones((5, 4), np.float32),
    "one": np.ones((1, 1), np.float32),
    "image": np.ones((1, 3, 7, 6), np.float32),
    "shape": np.array([2, 5]),
    "trips": np.int64(2),
    "q": np.ones((2, 2, 3, 8), np.float32),
    "k": np.ones((1, 2, 4, 8), np.float32),
}


@pytest.fixture(scope="module", params=["cpu", "interpret"])
def model(request):
    return graphc.compile(failing(), target=request.param, opt_level=0, threads=1, cache=False)


def test_sizes_that_are_right_are_taken(model):
    results = dict(zip((spec.name for spec in model.outputs), model.run(None, RIGHT), strict=True))
    np.testing.assert_array_equal(results["sum"], np.full((2, 5), 2))
    np.testing.assert_array_equal(results["looped"], np.full((2, 5), 3))
    assert results["filtered"].shape == (1, 2, 5, 4)
    np.testing.assert_allclose(results["attended"], np.ones((2, 2, 3, 8)), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "where", "problem"),
    [
        ({"y": np.ones((3, 5), np.float32)}, "sum", "sizes a and b do not broadcast"),
        ({"y": np.ones((2, 4), np.float32)}, "sum", "sizes k and n do not broadcast"),
        ({"z": np.ones((4, 4), np.float32)}, "product", "sizes k and l differ"),
        ({"image": np.ones((1, 2, 7, 6), np.float32)}, "filtered", "sizes 3 and c differ"),
        ({"image": np.ones((1, 3, 1, 6), np.float32)}, "filtered", "size h - 2 of the result is"),
        ({"k": np.ones((3, 2, 4, 8), np.float32)}, "attended", "sizes f and e do not broadcast"),
        ({"shape": np.array([2, 4])}, "folded", "a*k elements do not reshape"),
    ],
)
def test_a_failure_names_its_node(model, wrong, where, problem):
    with pytest.raises(ExecutionError) as caught:
        model.run(None, RIGHT | wrong)
    text = str(caught.value)
    assert f"the {where}" in text
    if not model.target.startswith("interpret"):
        assert text.startswith("model 'model' failed at node ")
        assert problem in text
    assert len(model.run(None, RIGHT)) == len(model.outputs)


def test_negative_sizes_name_one_of_their_nodes(model):
    with pytest.raises(ExecutionError, match=r"the (folded|wide|zeros)") as caught:
        model.run(None, RIGHT | {"shape": np.array([-2, -5])})
    if not model.target.startswith("interpret"):
        text = str(caught.value)
        assert text.startswith("model 'model' failed at node ")
        assert "is negative" in text or "a*k elements do not reshape" in text
    assert len(model.run(None, RIGHT)) == len(model.outputs)


def one(
    made: onnx.NodeProto, inputs: list[onnx.ValueInfoProto], kind: int = FLOAT
) -> onnx.ModelProto:
    output = value(made.output[0], kind)
    output.type.tensor_type.ClearField("shape")
    graph = helper.make_graph([made], "one", inputs, [output])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def test_an_input_of_another_size_than_its_nodes_need_is_named():
    inputs = [value("x", FLOAT, "n", 4), value("weights", FLOAT, "k", 3)]
    made = one(node("MatMul", "x weights", "y"), inputs)
    with graphc.compile(made, opt_level=0, cache=False) as model:
        wrong = "input 'weights' has 3 elements along axis 0, where the nodes .* need 4"
        with pytest.raises(ExecutionError, match=wrong):
            model(np.ones((2, 4), np.float32), np.ones((3, 3), np.float32))


@pytest.mark.parametrize(("op_type", "where"), [("Range", "node the y"), ("Expand", "outputs")])
def test_what_does_not_fit_the_memory_of_the_interpreter(op_type, where):
    """The interpreter expands without memory; the caller gets an array."""
    if op_type == "Range":
        arrays = {"first": np.int64(0), "limit": np.int64(1 << 55), "step": np.int64(1)}
        made = one(node("Range", " ".join(arrays), "y"), [value(n, INT) for n in arrays], INT)
    else:
        arrays = {"x": np.ones((1, 1), np.float32), "shape": np.array([1 << 25, 1 << 25])}
        made = one(
            node("Expand", "x shape", "y"), [value("x", FLOAT, 1, 1), value("shape", INT, 2)]
        )
    with (
        graphc.compile(made, target="interpret") as model,
        pytest.raises(OutOfMemoryError, match=f"there is no memory .*{where}"),
    ):
        model.run(None, arrays)


def test_what_does_not_fit_is_predicted_node_by_node():
    """Products of all rows with all: 2**48 elements, of 1 PiB."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["wide"], name="widen"),
        helper.make_node("Transpose", ["wide"], ["turned"], name="turn"),
        helper.make_node("MatMul", ["wide", "turned"], ["square"], name="all pairs"),
        helper.make_node("ReduceMax", ["square"], ["y"], name="nearest", keepdims=0),
    ]
    weights = [numpy_helper.from_array(np.ones((1, 4), np.float32), "w")]
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, "n", 1)], [value("y", FLOAT)], weights)
    made = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    with graphc.compile(made, opt_level=0, cache=False) as model:
        with pytest.raises(OutOfMemoryError) as caught:
            model(np.ones((1 << 24, 1), np.float32))
        text = str(caught.value)
        assert text.startswith("model 'model' failed: there is no memory for it on cpu; with n = ")
        assert "n = 16777216, by prediction, tensors of 1024." in text
        assert "are alive at once (1024.0 TiB for 'all pairs'; " in text
        assert "use smaller inputs" in text
        assert model(np.ones((2, 1), np.float32)) == 4


def test_a_step_of_zero_is_told_alike():
    arrays = {"first": np.int64(0), "limit": np.int64(5), "step": np.int64(0)}
    made = one(node("Range", " ".join(arrays), "y"), [value(n, INT) for n in arrays], INT)
    for target in ("cpu", "interpret"):
        with (
            graphc.compile(made, target=target, opt_level=0, cache=False) as model,
            pytest.raises(ExecutionError, match=r"at node the y: a delta of 0$"),
        ):
            model.run(None, arrays)


def test_sizes_whose_bytes_cannot_be_counted():
    """Four times 2**62 elements is 2**64 bytes, for which an allocator would be asked for none."""
    made = one(node("ConstantOfShape", "shape", "y"), [value("shape", INT, 2)])
    with graphc.compile(made, opt_level=0, cache=False) as model:
        for sizes in ([1 << 31, 1 << 31], [1 << 62, 4], [1 << 62, 1]):
            with pytest.raises(ExecutionError, match=r"at node the y: a tensor of .* is too large"):
                model(np.array(sizes))
        assert model(np.array([2, 3])).shape == (2, 3)
