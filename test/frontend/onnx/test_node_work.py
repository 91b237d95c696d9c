"""Operations, bytes and classes of regions of ONNX models."""

import onnx
import pytest
from onnx import TensorProto, helper, shape_inference

from graphc.frontend.onnx.node_work import GraphSizes, OpClass

FLOAT, INT8 = TensorProto.FLOAT, TensorProto.INT8


def _work(nodes, inputs, weights=()):
    """The work of all `nodes` as one region; inputs and weights map names to shapes."""
    infos = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
    result = onnx.ValueInfoProto(name=nodes[-1].output[0])
    result.type.tensor_type.elem_type = FLOAT
    constants = [helper.make_tensor(name, type_, shape, bytes(_size(shape, type_)), raw=True)
                 for name, type_, shape in weights]  # fmt: skip
    proto = helper.make_graph(nodes, "work", infos, [result], constants)
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)])
    graph = shape_inference.infer_shapes(model, strict_mode=True).graph
    return GraphSizes.of(graph, {}).work(nodes, inputs, [result.name])


def _size(shape, type_):
    size = 4 if type_ == FLOAT else 1
    for each in shape:
        size *= each
    return size


def test_a_matmul_with_its_activation():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    work = _work(nodes, {"x": [8, 16]}, [("w", FLOAT, [16, 32])])
    assert work.main is OpClass.MATMUL
    assert work.flops == {OpClass.MATMUL: 2 * 8 * 16 * 32, OpClass.ELEMENTWISE: 8 * 32}
    assert work.bytes == 4 * (8 * 16 + 16 * 32 + 8 * 32)
    assert not work.int8


@pytest.mark.parametrize(
    ("x", "weight", "attributes", "expected"),
    [
        ([1, 8, 9, 9], [4, 8, 3, 3], {}, OpClass.CONVOLUTION_3X3),
        ([1, 8, 9, 9], [4, 8, 3, 3], {"strides": [2, 2]}, OpClass.CONVOLUTION),
        ([1, 8, 9, 9], [4, 8, 3, 3], {"dilations": [2, 2]}, OpClass.CONVOLUTION),
        ([1, 8, 9, 9], [4, 4, 3, 3], {"group": 2}, OpClass.CONVOLUTION),
        ([1, 8, 9, 9], [4, 8, 5, 5], {}, OpClass.CONVOLUTION),
        ([1, 8, 9, 9], [4, 8, 1, 1], {}, OpClass.POINTWISE),
        ([1, 8, 9, 9], [8, 1, 3, 3], {"group": 8}, OpClass.DEPTHWISE),
        ([1, 8, 9], [4, 8, 3], {}, OpClass.CONVOLUTION),
    ],
)
def test_classes_of_convolutions(x, weight, attributes, expected):
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    assert _work([node], {"x": x}, [("w", FLOAT, weight)]).main is expected


def test_classes_of_matmuls():
    node = helper.make_node("MatMul", ["x", "z"], ["y"])
    assert _work([node], {"x": [2, 8, 16], "z": [2, 16, 8]}).main is OpClass.BATCH_MATMUL
    row = helper.make_node("MatMul", ["x", "w"], ["y"])
    assert _work([row], {"x": [1, 16]}, [("w", FLOAT, [16, 8])]).main is OpClass.MATVEC


def test_eight_bits_before_a_dequantization():
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale"], ["d"]),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    work = _work(nodes, {"x": [8, 16]}, [("w", INT8, [16, 32]), ("scale", FLOAT, [])])
    assert work.int8
    assert work.main is OpClass.MATMUL
    assert set(work.flops) == {OpClass.MATMUL}  # the weights are dequantized ahead of time
    assert work.bytes == 4 * 8 * 16 + 16 * 32 + 4 + 4 * 8 * 32


def test_of_a_table_the_rows_that_are_looked_up_count():
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32),
        helper.make_node("Gather", ["table", "i"], ["y"]),
    ]
    assert _work(nodes, {"x": [3]}, [("table", FLOAT, [1000, 8])]).bytes == 4 * (3 + 2 * 3 * 8)


def test_views_are_free():
    node = helper.make_node("Flatten", ["x"], ["y"])
    assert _work([node], {"x": [2, 3, 4]}).flops == {}


def test_a_window_is_no_larger_than_what_is_pooled():
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[640, 640], ceil_mode=1,
                            pads=[320] * 4, strides=[640, 640])  # fmt: skip
    work = _work([node], {"x": [1, 8, 7, 7]})
    assert work.flops[OpClass.POOLING] == (8 * 2 * 2) * (7 * 7)
