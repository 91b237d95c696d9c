"""Nodes of graphs and of their subgraphs, and declarations of values."""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of `graph` and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    """The declaration of an input with the type and shape of `array`."""
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, dtype, array.shape)
