"""Which values nodes read."""

from collections.abc import Iterator

import onnx


def read_names(node: onnx.NodeProto) -> dict[str, None]:
    """What `node` reads, in order: its inputs, and what its subgraphs take from around it."""
    names = dict.fromkeys(name for name in node.input if name)
    if node.op_type == "Gradient":  # which alone names what it works on in its attributes
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
    for node in graph.node:
        yield from (name for name in read_names(node) if name not in known)
        known |= set(node.output)
    yield from (output.name for output in graph.output if output.name not in known)
