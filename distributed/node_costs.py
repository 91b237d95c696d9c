"""Predicted cost of the nodes of an ONNX model, from the shapes that ONNX infers."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import onnx
from onnx import helper

from ..onnx_names import read_names

FLOPS_PER_BYTE = 8
"""Arithmetic operations that take as long as reading a byte: one core with vectors of 256 bits."""


@dataclass(frozen=True)
class GraphSizes:
    """Shapes and sizes of the values of a graph; sizes that are unknown count as 1."""

    shapes: Mapping[str, tuple[int, ...]]
    item_bytes: Mapping[str, float]
    weights: frozenset[str]

    @classmethod
    def of(cls, graph: onnx.GraphProto, dims: Mapping[str, int]) -> "GraphSizes":
        """The sizes of a graph with inferred shapes, for these sizes of named dimensions."""
        infos = [*graph.input, *graph.value_info, *graph.output]
        tensors = {info.name: info.type.tensor_type for info in infos}
        shapes = {name: tuple(dim.dim_value or dims.get(dim.dim_param, 1) for dim in each.shape.dim)
                  for name, each in tensors.items()}  # fmt: skip
        types = {name: each.elem_type for name, each in tensors.items()}
        for each in graph.initializer:
            shapes[each.name], types[each.name] = tuple(each.dims), each.data_type
        item_bytes = {name: _item_bytes(type_) for name, type_ in types.items()}
        return cls(shapes, item_bytes, frozenset(each.name for each in graph.initializer))

    def elements(self, name: str) -> int:
        """Number of elements; 0 for a value of unknown shape."""
        return math.prod(self.shapes[name]) if name in self.shapes else 0

    def bytes(self, name: str) -> float:
        """Size in bytes."""
        return self.elements(name) * self.item_bytes.get(name, 0)

    def crossing_bytes(self, names: Iterable[str]) -> float:
        """Size of these values together; infinite if the type of one is unknown."""
        return sum(self.bytes(name) if name in self.shapes else math.inf for name in names)

    def time(self, node: onnx.NodeProto) -> float:
        """Predicted time of `node`, of its arithmetic or its memory traffic, whichever is longer;
        the unit is the time for a byte."""
        values = [*read_names(node), *node.output]
        return max(self._flops(node) / FLOPS_PER_BYTE, sum(map(self.bytes, values)))

    def _flops(self, node: onnx.NodeProto) -> float:
        results = sum(map(self.elements, node.output))
        if node.op_type in ("MatMul", "Gemm"):
            transposed = any(each.name == "transA" and each.i for each in node.attribute)
            shape = self.shapes.get(node.input[0], ())
            return 2.0 * results * (shape[0 if transposed else -1] if shape else 1)
        if node.op_type in ("Conv", "ConvTranspose"):
            kernel = self.shapes.get(node.input[1], ())
            return 2.0 * results * math.prod(kernel[1:])
        return float(results)


def _item_bytes(elem_type: int) -> float:
    if elem_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return 0
    return helper.tensor_dtype_to_np_dtype(elem_type).itemsize
