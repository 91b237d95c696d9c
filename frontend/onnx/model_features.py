"""Features of models for cost models: which kinds of heavy nodes there are, and how large."""

import math
from collections import Counter
from collections.abc import Mapping

import onnx

_KINDS = {
    "MatMul": "matmul", "Gemm": "matmul", "Attention": "attention", "Softmax": "softmax",
    "ConvTranspose": "conv-transposed", "LSTM": "recurrent", "GRU": "recurrent",
    "RNN": "recurrent", "LayerNormalization": "normalization", "DequantizeLinear": "quantized",
    "QLinearConv": "quantized", "QLinearMatMul": "quantized", "MatMulInteger": "quantized",
}  # fmt: skip


def model_features(model: onnx.ModelProto) -> dict[str, float]:
    """The share of each kind of node among the heavy ones, and sizes as logarithms to base 2."""
    graph = model.graph
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    counts = Counter(kind for node in graph.node if (kind := _kind(node, shapes)))
    total = counts.total() or 1
    shares = {f"share of {kind}": round(count / total, 4) for kind, count in counts.items()}
    weights = sum(math.prod(shape) for shape in shapes.values())
    inputs = sum(_elements(each) for each in graph.input if each.name not in shapes)
    sizes = {"heavy nodes": counts.total(), "weights": weights, "input elements": inputs}
    return {**shares, **{name: round(math.log2(1 + size), 2) for name, size in sizes.items()}}


def _kind(node: onnx.NodeProto, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    if node.op_type != "Conv":
        return _KINDS.get(node.op_type)
    weights = shapes.get(node.input[1])
    if weights is None:
        return "conv of computed weights"
    attributes = {each.name: each for each in node.attribute}
    if "group" in attributes and attributes["group"].i > 1 and weights[1] == 1:
        return "depthwise conv"
    strided = "strides" in attributes and max(attributes["strides"].ints, default=1) > 1
    return f"{'strided ' if strided else ''}conv {'x'.join(map(str, weights[2:]))}"


def _elements(info: onnx.ValueInfoProto) -> int:
    """The number of elements, with 1 for sizes that have a name."""
    return math.prod(max(dim.dim_value, 1) for dim in info.type.tensor_type.shape.dim)
