"""Questions about single nodes of an ONNX graph, for rewrites of a model before its import."""

from collections.abc import Iterator

import onnx

from ....onnx_names import subgraphs

ONNX_DOMAINS = ("", "ai.onnx")
"""Names of the domain of ONNX's own operators."""


def is_op(node: onnx.NodeProto | None, *op_types: str) -> bool:
    """Return whether `node` is one of ONNX's operators `op_types`."""
    return node is not None and node.op_type in op_types and node.domain in ONNX_DOMAINS


def int_attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    """The integer attribute `name` of `node`, or `default` if it has none."""
    return next((each.i for each in node.attribute if each.name == name), default)


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of `graph`, and of the graphs of its nodes."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from all_nodes(inner)
