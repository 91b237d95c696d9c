"""Conversion of a model to float64."""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.inliner import inline_selected_functions

NARROW, WIDE = TensorProto.FLOAT, TensorProto.DOUBLE
TYPE_ATTRIBUTES = ("to", "dtype", "stash_type", "output_dtype")
"""Attributes that name an element type."""


EXPANDED = ("MeanVarianceNormalization",)
"""ONNX functions that its evaluator expands, with float32 constants in their bodies."""


def to_float64(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` with float64 for float32: inputs, weights, casts and results."""
    copy = onnx.ModelProto()
    copy.CopyFrom(_without_functions(model))
    _widen_graph(copy.graph)
    for function in copy.functions:
        for node in function.node:
            _widen_node(node)
    return copy


def _without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with the functions in `EXPANDED` inlined."""
    if not any(node.op_type in EXPANDED for node in model.graph.node):
        return model
    names = [("", name) for name in EXPANDED]
    return inline_selected_functions(model, names, inline_schema_functions=True)


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type == NARROW:
            info.type.tensor_type.elem_type = WIDE
    for node in graph.node:
        _widen_node(node)


def _widen_node(node: onnx.NodeProto) -> None:
    if node.op_type == "Constant":
        _widen_constant(node)
    elif node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(
            onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1)))
        )
    for attribute in node.attribute:
        if attribute.HasField("t"):
            _widen_tensor(attribute.t)
        if attribute.HasField("g"):
            _widen_graph(attribute.g)
        for inner in attribute.graphs:
            _widen_graph(inner)
        if attribute.name in TYPE_ATTRIBUTES and attribute.i == NARROW:
            attribute.i = WIDE


def _widen_constant(node: onnx.NodeProto) -> None:
    """Replace ``value_float``, which is always float32, by a float64 ``value``."""
    for attribute in node.attribute:
        if attribute.name in ("value_float", "value_floats"):
            scalar = attribute.name == "value_float"
            array = np.array(attribute.f if scalar else list(attribute.floats), np.float64)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(array)))


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == NARROW:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
