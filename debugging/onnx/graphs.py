"""Nodes of graphs and of their subgraphs, and the values that they read."""

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


def read_names(node: onnx.NodeProto) -> list[str]:
    """The names of the values that `node` reads, including its subgraphs."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            inner = {name for each in graph.node for name in each.output}
            inner |= {info.name for info in graph.input} | {t.name for t in graph.initializer}
            read = [name for each in graph.node for name in read_names(each)]
            read += [info.name for info in graph.output]
            names += [name for name in read if name not in inner]
    return names


def value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    """The declaration of an input with the type and shape of `array`."""
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, dtype, array.shape)
