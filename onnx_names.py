"""The names of values that the nodes of an ONNX graph read."""

from collections.abc import Iterator

import onnx


def read_names(node: onnx.NodeProto) -> dict[str, None]:
    """The names that `node` reads, in order: its inputs, and the outer values of its subgraphs."""
    names = dict.fromkeys(name for name in node.input if name)
    if node.op_type == "Gradient":  # the only operator that names its operands in attributes
        names |= dict.fromkeys(_named_values(node))
    for subgraph in subgraphs(node):
        names |= dict.fromkeys(_free_names(subgraph))
    return names


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs among the attributes of `node`."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _named_values(node: onnx.NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        if attribute.name in ("xs", "zs", "y"):
            yield from (name.decode() for name in (*attribute.strings, attribute.s) if name)


def _free_names(graph: onnx.GraphProto) -> Iterator[str]:
    known = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    known |= {tensor.values.name for tensor in graph.sparse_initializer}
    known |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        yield from (name for name in read_names(node) if name not in known)
    yield from (output.name for output in graph.output if output.name not in known)
